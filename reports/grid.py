"""What a sweep measures: patterns of units, in every combination with technologies and so on."""

import difflib
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from fmacost.reports.clocked import Registers
from fmacost.reports.errors import InputError, printable
from fmacost.reports.options import DEFAULT_TECHNOLOGIES, Effort, Objective
from fmacost.sim.formats import FormatError
from fmacost.sim.operation import Operation, OperationError, parse_unit

MAX_POINTS = 1_000_000
_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d{1,6})\.\.(\d{1,6})(?:\.\.(\d{1,6}))?")
_SHARD = re.compile(r"(\d{1,9})/(\d{1,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A sweep before it is expanded: its points are all combinations.

    Attributes
    ----------
    units : unit strings, in which ``{2..16}``, ``{0..8..2}`` and ``{a,b}`` stand for several texts
    pipeline : ranks of registers; none is a combinational unit
    """

    units: tuple[str, ...]
    technology: tuple[str, ...] = DEFAULT_TECHNOLOGIES[:1]
    objective: tuple[str, ...] = ("area",)
    effort: tuple[str, ...] = ("normal",)
    pipeline: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement of a sweep."""

    operation: Operation
    technology: str
    objective: str
    effort: str
    registers: Registers | None

    @property
    def identity(self) -> tuple[str, ...]:
        """What names the point, whatever the versions of the tools."""
        return (
            str(self.operation), self.technology, self.objective, self.effort,
            str(self.registers or ""),
        )  # fmt: skip

    def __str__(self) -> str:
        """Return the point as notices name it."""
        unit, technology, *how = self.identity
        return f"{unit} in {technology} ({', '.join(filter(None, how))})"


@dataclass(frozen=True, slots=True)
class Expansion:
    """The units of patterns.

    Attributes
    ----------
    skipped : combinations that name no unit
    reason : why the first of them does not
    """

    operations: tuple[Operation, ...]
    skipped: int
    reason: str


def expand_pattern(pattern: str) -> Iterator[str]:
    """Yield the texts that a pattern stands for, the last braces changing fastest.

    Raises
    ------
    InputError
        If the braces are not well formed.
    """
    parts = _split(pattern)
    choices = [_choices(part, pattern) if i % 2 else (part,) for i, part in enumerate(parts)]
    return map("".join, product(*choices))


def pattern_size(pattern: str) -> int:
    """Return how many texts a pattern stands for; raise as ``expand_pattern``."""
    return prod(len(_choices(part, pattern)) for part in _split(pattern)[1::2])


def _split(pattern: str) -> list[str]:
    """Return texts outside and inside braces in turn."""
    parts = _BRACES.split(pattern)
    if any(brace in part for part in parts for brace in "{}"):
        raise InputError(f"'{pattern}' has braces without a partner, or braces in braces")
    return parts


def _choices(inside: str, pattern: str) -> Sequence[str]:
    found: list[str] = []
    for item in inside.split(","):
        if match := _RANGE.fullmatch(item.strip()):
            first, last, step = int(match[1]), int(match[2]), int(match[3] or 1)
            if step < 1:
                raise InputError(f"'{{{inside}}}' in '{pattern}': the step must be 1 or more")
            found += map(str, range(first, last + 1, step))
        elif ".." in item:
            raise InputError(
                f"'{{{inside}}}' in '{pattern}' is no range; expected such as {{2..16}} or {{a,b}}"
            )
        else:
            found.append(item.strip())
    return found


def expand_units(patterns: Iterable[str]) -> Expansion:
    """Return the units that patterns stand for, each once, in their order.

    Combinations that no format allows are skipped and counted, a unit without braces is not.

    Raises
    ------
    InputError
        If there are too many, or a pattern stands for no unit at all.
    OperationError
        If a unit without braces is none.
    """
    patterns = tuple(patterns)
    total = sum(pattern_size(pattern) for pattern in patterns)
    if total > MAX_POINTS:
        raise InputError(f"the patterns stand for {total:,} units, at most {MAX_POINTS:,} are done")
    known: dict[Operation, None] = {}
    skipped, reason = 0, ""
    for pattern in patterns:
        is_empty, why = True, "the range is empty"
        for text in expand_pattern(pattern):
            try:
                known[parse_unit(text)] = None
                is_empty = False
            except (OperationError, FormatError) as error:
                if text == pattern:
                    raise
                why = str(error)
                skipped, reason = skipped + 1, reason or why
        if is_empty:
            raise InputError(f"'{pattern}' stands for no unit: {why}")
    return Expansion(tuple(known), skipped, reason)


def expand(grid: Grid, operations: Sequence[Operation], technologies: Iterable[str]) -> list[Point]:
    """Return all points of a grid.

    Parameters
    ----------
    operations : what its units stand for
    technologies : names that its technologies have once they are opened

    Raises
    ------
    InputError
        If there are none, or too many.
    """
    registers: list[Registers | None] = [Registers(ranks=ranks) for ranks in grid.pipeline]
    names = tuple(dict.fromkeys(technologies))
    axes = (operations, names, grid.objective, grid.effort, registers or [None])
    total = prod(len(axis) for axis in axes)
    if not 1 <= total <= MAX_POINTS:
        raise InputError(f"a sweep has 1 to {MAX_POINTS:,} points, this one has {total:,}")
    return [Point(*combination) for combination in product(*axes)]


def read_grid(path: Path) -> Grid:
    """Return the grid that a TOML file describes: its keys are the fields of ``Grid``.

    Raises
    ------
    InputError
        Naming the first key or value that is wrong, and the nearest that is right.
    """
    import tomllib

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(printable(f"{path} is not TOML: {error}")) from None
    known = [field.name for field in fields(Grid)]
    for key in content:
        if key not in known:
            raise InputError(printable(f"{path}: unknown key '{key}'{near(key, known)}"))
    if "units" not in content:
        raise InputError(f"{path}: 'units' is missing, a list such as ['fma:int{{2..16}}']")
    try:
        return checked(Grid(**{key: _values(key, value) for key, value in content.items()}))
    except InputError as error:
        raise InputError(printable(f"{path}: {error}")) from None


def override(grid: Grid, **changes: Sequence[Any] | None) -> Grid:
    """Return a grid with those axes replaced that are given; raise as ``checked``."""
    given = {name: tuple(values) for name, values in changes.items() if values is not None}
    return checked(replace(grid, **given))


def checked(grid: Grid) -> Grid:
    """Return a grid, its axes without repetition; raise InputError where a value is none."""
    for objective in grid.objective:
        check_known("objective", objective, list(Objective))
    for effort in grid.effort:
        check_known("effort", effort, list(Effort))
    if grid.pipeline:
        from fmacost.hw.pipeline import MAX_RANKS  # it loads NumPy
    for ranks in grid.pipeline:
        if not 0 <= ranks <= MAX_RANKS:
            raise InputError(f"pipeline must be in 0..{MAX_RANKS}, not {ranks}")
    return Grid(
        **{field.name: tuple(dict.fromkeys(getattr(grid, field.name))) for field in fields(Grid)}
    )


def _values(key: str, value: object) -> tuple[Any, ...]:
    kind, what = (int, "numbers") if key == "pipeline" else (str, "texts")
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(v, kind) and not isinstance(v, bool) for v in values):
        raise InputError(f"'{key}' must be a list of {what}, not {value!r:.60}")
    return tuple(values)


def check_known(what: str, value: str, known: Sequence[str]) -> None:
    """Raise InputError, with the nearest that is right, unless a name is known."""
    if value not in known:
        raise InputError(f"unknown {what} '{value}'{near(value, known)}")


def near(text: str, known: Sequence[str]) -> str:
    """Return the end of a message: the nearest that is right, and all that are."""
    found = difflib.get_close_matches(text, known, n=1)
    hint = f"; did you mean {found[0]}?" if found else ""
    return f"{hint} (expected {', '.join(known)})"


@dataclass(frozen=True, slots=True)
class Shard:
    """The ``index``-th of ``count`` parts of a sweep, counted from 1."""

    index: int
    count: int

    def __contains__(self, point: object) -> bool:
        """Tell whether a point belongs to it: by what names it, whatever else is swept."""
        if not isinstance(point, Point):
            return False
        digest = hashlib.sha256(" ".join(point.identity).encode()).digest()
        return int.from_bytes(digest[:8], "big") % self.count == self.index - 1


def parse_shard(text: str) -> Shard:
    """Return the shard that ``i/N`` names; raise InputError if it is none."""
    match = _SHARD.fullmatch(text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise InputError(f"--shard must be i/N with i in 1..N, such as 1/8, not '{text}'")
    return Shard(int(match[1]), int(match[2]))
