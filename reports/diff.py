"""Two saved tables: what moved between them, what appeared, what went, and what got worse."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from fmacost.reports.errors import InputError
from fmacost.reports.metrics import METRICS, Better, Metric
from fmacost.reports.row import Record, Records
from fmacost.reports.saved import is_proven
from fmacost.reports.tables import UNPROVEN, table

# What says which row of one table is the same as one of the other.
KEY = (
    "source", "what", "quantity", "accumulator", "unit", "stage", "technology", "objective",
    "effort", "stream", "stream_vectors", "seed", "clock_ps", "clock_fo4", "registers", "point",
)  # fmt: skip
# A table of others' figures holds them as they are; whatever is wrong is told by is_proven.
_RANKED = {m.name: m for m in METRICS if m.better is not Better.NONE and m.name not in ("theirs",)}
_LIMIT = re.compile(r"(?P<name>\w+):(?P<amount>\d+(?:\.\d+)?)(?P<percent>\s*%)?")
_REGISTERS = re.compile(r"(?:^|, )(pe|pipeline \d+)$")
_EPSILON = 1e-9  # of a change, so that decimal limits mean what they say


@dataclass(frozen=True, slots=True)
class Limit:
    """How much worse a metric may get.

    Attributes
    ----------
    amount : in per cent of the old value, or in the unit of the metric
    """

    metric: Metric
    amount: float
    is_percent: bool

    def is_exceeded(self, old: float, new: float) -> bool:
        """Return whether a value got worse by more than this."""
        worse = new - old if self.metric.better is Better.LOWER else old - new
        allowed = self.amount * abs(old) / 100 if self.is_percent else self.amount
        return worse > allowed + _EPSILON * max(abs(old), abs(new))

    def __str__(self) -> str:
        amount = f"{self.amount:g}"
        return f"{amount} %" if self.is_percent else f"{amount} {self.metric.unit}".rstrip()


def parse_limit(text: str) -> Limit:
    """Return the limit that ``transistors:2%`` or ``delay_ps:5`` means.

    Raises
    ------
    InputError
        If it is none, or the metric is unknown or has no better direction.
    """
    match = _LIMIT.fullmatch(text.strip())
    if match is None:
        raise InputError(
            "--fail-on takes METRIC:AMOUNT or METRIC:PERCENT%, such as transistors:2%, "
            f"not '{text}'"
        )
    name = match["name"]
    if name not in _RANKED:
        near = difflib.get_close_matches(name, _RANKED, n=1)
        known = any(m.name == name for m in METRICS)
        reason = "is no better when larger or smaller" if known else "is no metric"
        hint = f"did you mean {near[0]}?" if near else f"such are {', '.join(list(_RANKED)[:5])}"
        raise InputError(f"--fail-on: '{name}' {reason}; {hint}")
    return Limit(_RANKED[name], float(match["amount"]), match["percent"] is not None)


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two tables.

    Attributes
    ----------
    what : moved, appeared, went, failed (no number or no proof any more) or mended
    key : fields of ``KEY`` by name, what the row is
    metric : of what moved, else None; so are old and new
    is_regression : whether a limit is exceeded
    note : the reason where there is one
    """

    what: str
    key: Mapping[str, Any]
    metric: Metric | None = None
    old: float | None = None
    new: float | None = None
    is_regression: bool = False
    note: str = ""

    @property
    def percent(self) -> float | None:
        """The change in per cent of the old value; None without one, or where it is zero."""
        if self.old is None or self.new is None or self.old == 0:
            return None
        return 100 * (self.new - self.old) / abs(self.old)

    @property
    def verdict(self) -> str:
        """One word: better, worse, REGRESSION, or what happened."""
        if self.is_regression:
            return "REGRESSION"
        if self.metric is None or self.old is None or self.new is None:
            return self.what
        is_less = self.new < self.old
        return "better" if is_less is (self.metric.better is Better.LOWER) else "worse"

    def to_json(self) -> dict[str, Any]:
        """Return the change as JSON values."""
        found = {"change": self.what, **self.key, "verdict": self.verdict}
        if self.metric is not None:
            percent = None if self.percent is None else round(self.percent, 6)
            found |= {"metric": self.metric.name, "old": self.old, "new": self.new}
            found["change_percent"] = percent
        return found | ({"note": self.note} if self.note else {})


@dataclass(frozen=True, slots=True)
class Difference:
    """All changes from one table to another.

    Attributes
    ----------
    same : rows that are in both and did not change
    moved : rows that are in both and did
    only_old, only_new : metrics that only one of the tables has; these are not compared
    """

    changes: tuple[Change, ...]
    same: int
    moved: int
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]

    @property
    def regressions(self) -> int:
        """How many changes exceed a limit."""
        return sum(change.is_regression for change in self.changes)

    def summary(self) -> str:
        """Return one sentence of counts."""
        counts = {
            name: sum(c.what == name for c in self.changes)
            for name in ("appeared", "went", "failed", "mended")
        }
        parts = [f"{n:,} {name}" for name, n in counts.items() if n]
        text = ", ".join([f"{self.moved:,} rows moved", f"{self.same:,} did not", *parts])
        bad = self.regressions
        return f"{text}; {bad:,} regression{'s' * (bad > 1)}." if bad else f"{text}."


def compare_tables(old: Records, new: Records, limits: Sequence[Limit] = ()) -> Difference:
    """Return what changed from one table to another, in the order of the new one, then what went.

    A row that lost its numbers or its proof is a regression if there is any limit at all; one that
    is in one table only never is.
    """
    before, after = _by_key(old), _by_key(new)
    names = [_known(before.values()), _known(after.values())]
    changes: list[Change] = []
    same = moved = 0
    for key, record in after.items():
        if key not in before:
            changes.append(Change("appeared", dict(key), note=record.get("error", "")))
            continue
        found = list(_between(dict(key), before[key], record, limits))
        moved += any(change.what == "moved" for change in found)
        same += not found
        changes += found
    changes += [Change("went", dict(key)) for key in before if key not in after]
    return Difference(
        tuple(changes), same, moved,
        tuple(n for n in names[0] if n not in names[1]),
        tuple(n for n in names[1] if n not in names[0]),
    )  # fmt: skip


def _between(
    key: Mapping[str, Any], old: Record, new: Record, limits: Sequence[Limit]
) -> Iterator[Change]:
    was, is_now = is_proven(old), is_proven(new)
    if was and not is_now:
        note = new.get("error") or "its netlist is not proven"
        yield Change("failed", key, is_regression=bool(limits), note=note)
    elif is_now and not was:
        yield Change("mended", key)
    for name, declared in _RANKED.items():
        if name not in old or name not in new or old[name] == new[name]:
            continue
        values = old[name], new[name]
        exceeded = any(x.metric.name == name and x.is_exceeded(*values) for x in limits)
        yield Change("moved", key, declared, *values, exceeded)


def _known(records: Iterable[Record]) -> list[str]:
    """Return the metrics that some record has, in order of declaration."""
    present = {name for record in records for name in record}
    return [name for name in _RANKED if name in present]


def _by_key(records: Records) -> dict[tuple[tuple[str, Any], ...], Record]:
    """Return records by what they are of; those of one name are numbered, as points of a curve."""
    found: dict[tuple[tuple[str, Any], ...], Record] = {}
    for record in records:
        named = dict(record)
        registers = _REGISTERS.search(str(record.get("architecture", "")))
        if registers:
            named["registers"] = registers[1]
        base = tuple((name, named[name]) for name in KEY if name in named)
        key, point = base, 1
        while key in found:
            point += 1
            key = (*base, ("point", point))
        found[key] = record
    return found


def _columns(changes: Sequence[Change]) -> list[str]:
    """Return the fields that tell rows apart: those here, and what is not the same everywhere."""
    kept = []
    for name in KEY:
        values = {change.key.get(name) for change in changes}
        if name in ("unit", "technology") or len(values) > 1:
            kept.append(name)
    return kept


_HEADINGS = (("metric", False), ("old", True), ("new", True), ("change", True), ("", False))


def _cells(change: Change, columns: Sequence[str]) -> list[str]:
    texts = [str(change.key.get(name, "")) for name in columns]
    if change.metric is None or change.old is None or change.new is None:
        verdict = f"{change.verdict}: {change.note}" if change.note else change.verdict
        return [*texts, "", "", "", "", verdict]
    show = change.metric.show
    percent = "" if change.percent is None else f"{change.percent:+.1f} %"
    return [*texts, change.metric.heading, show(change.old), show(change.new), percent,
            change.verdict]  # fmt: skip


def diff_table(difference: Difference) -> Table:
    """Return every change as a line; regressions are red."""
    columns = _columns(difference.changes)
    body = (
        [Text(text, UNPROVEN if c.is_regression else "") for text in _cells(c, columns)]
        for c in difference.changes
    )
    return table([*((name, False) for name in columns), *_HEADINGS], body)


def diff_notes(difference: Difference, limits: Sequence[Limit]) -> list[str]:
    """Return the summary, and what was compared with what."""
    notes = [difference.summary()]
    if limits:
        texts = [f"{limit.metric.name} worse by more than {limit}" for limit in limits]
        notes.append(f"A regression is {', '.join(texts)}, or a row without numbers or proof.")
    for names, which in ((difference.only_old, "old"), (difference.only_new, "new")):
        if names:
            notes.append(f"Only in the {which} table, not compared: {', '.join(names)}.")
    return notes


def to_markdown(difference: Difference, limits: Sequence[Limit]) -> str:
    """Return what a pull request shows: the summary, regressions first, the rest folded away."""
    worst = [change for change in difference.changes if change.is_regression]
    rest = [change for change in difference.changes if not change.is_regression]
    columns = _columns(difference.changes)
    parts = [f"**fmacost diff**: {difference.summary()}"]
    if worst:
        parts.append(_markdown_table(worst, columns))
    if rest:
        rows = _markdown_table(rest, columns)
        parts.append(f"<details><summary>{len(rest):,} changes</summary>\n\n{rows}\n</details>")
    parts += diff_notes(difference, limits)[1:]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _markdown_table(changes: Sequence[Change], columns: Sequence[str]) -> str:
    from fmacost.reports.export import escape_markdown

    headings = [*((name, False) for name in columns), *_HEADINGS]
    lines = [
        [name for name, _ in headings],
        ["---:" if is_number else "---" for _, is_number in headings],
        *([escape_markdown(cell) for cell in _cells(change, columns)] for change in changes),
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
