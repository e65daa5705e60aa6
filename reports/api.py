"""The pipeline for programs and notebooks: what the commands of the same names do, as tables.

Nothing is printed, and results come from the same cache as those of the command line. What can be
wrong with an argument is a ``ValueError`` of one line.
"""

import html
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fmacost.reports import tables
from fmacost.reports.clocked import read_registers
from fmacost.reports.commands.shared import (
    at_clock,
    measure_all,
    mismatch_text,
    open_cache,
    open_technologies,
    read_units,
)
from fmacost.reports.compare import Comparison, expand, read_formats, units_of
from fmacost.reports.errors import InputError, MismatchError
from fmacost.reports.export import to_html, to_pandas
from fmacost.reports.grid import check_known, expand_units, override
from fmacost.reports.grid import expand as expand_grid
from fmacost.reports.measure import Settings, check_exhaustive
from fmacost.reports.options import DEFAULT_TECHNOLOGIES, Effort, Objective
from fmacost.reports.row import Row
from fmacost.reports.terminal import Terminal, rendered

if TYPE_CHECKING:
    import pandas
    from rich.console import RenderableType

    from fmacost.hw.technology import Technology
    from fmacost.sim.operation import Operation

Names = str | Sequence[str]
_QUIET = Terminal(quiet=True)


@dataclass(frozen=True, slots=True, repr=False)
class Table:
    """Cost rows, all of them proven. It iterates over them, and Jupyter shows it.

    Attributes
    ----------
    rows : what was measured
    records : the same as JSON values, as ``--json`` prints them: with ratios, and with the points
        of a sweep that failed
    note : a sentence about them, or empty
    """

    rows: tuple[Row, ...]
    records: tuple[Mapping[str, Any], ...]
    note: str
    _shown: "RenderableType"

    def to_pandas(self) -> "pandas.DataFrame":
        """Return a data frame with the columns of the CSV that ``--export-csv`` writes.

        Raises
        ------
        InputError
            If pandas is not installed; ``pip install 'fmacost[pandas]'``.
        """
        return to_pandas(self.records)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> Row:
        return self.rows[index]

    def __repr__(self) -> str:
        from rich.console import Console

        plain = Console(
            markup=False, highlight=False, emoji=False, color_system=None,
            force_terminal=False, force_jupyter=False,
        )  # fmt: skip
        note = ("", self.note) if self.note else ()
        return rendered(plain, self._shown, *note).rstrip("\n")

    def _repr_html_(self) -> str:
        note = f"<p>{html.escape(self.note)}</p>" if self.note else ""
        return to_html(self.records) + note


def compare(
    *formats: str,
    technology: Names = DEFAULT_TECHNOLOGIES,
    objective: str = "area",
    effort: str = "normal",
    clock_ps: float | None = None,
    jobs: int | None = None,
    timeout_s: float = 120.0,
    use_cache: bool = True,
) -> Table:
    """Compare the FMAs of formats: same-format, 16-bit, 32-bit and exact accumulators.

    Parameters
    ----------
    formats : two or more; the first is what the others are compared with
    technology : names or Liberty files; the first gives the headline
    objective : ``area``, ``delay`` or ``adp``
    effort : ``quick``, ``normal`` or ``max``
    clock_ps : a delay to be met with the smallest area, ps
    jobs : Yosys processes at once; None takes all cores
    timeout_s : limit of one Yosys run, seconds

    Returns
    -------
    A table whose note is the answer in one sentence.

    Raises
    ------
    ValueError
        If an argument cannot be used.
    MismatchError
        If a mapped netlist differs from the reference.
    YosysError
        If synthesis fails.
    """
    chosen = read_formats(formats)
    lines = expand(chosen)
    technologies = _open(technology, use_cache)
    settings = _settings(
        technologies, objective, clock_ps, effort=effort, jobs=jobs, timeout_s=timeout_s
    )
    rows = _measure(units_of(lines), technologies, settings, use_cache)
    known = {(row.unit, row.technology): row for row in rows}
    made = Comparison(chosen, lines, tuple(t.name for t in technologies), known)
    return Table(rows, tuple(made.records()), made.answer(), tables.comparison_table(made))


def synth(
    *units: str,
    technology: Names = DEFAULT_TECHNOLOGIES[:1],
    objective: str = "area",
    effort: str = "normal",
    clock_ps: float | None = None,
    pipeline: int | None = None,
    pe: bool = False,
    exhaustive: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    timeout_s: float = 120.0,
    use_cache: bool = True,
) -> Table:
    """Synthesise units, compare the mapped netlists with the reference, count them.

    Parameters
    ----------
    units : such as ``fma:e4m3fn``
    clock_ps : the delay to be met with the smallest area, or the period if there are registers
    pipeline : ranks of registers inside
    pe : whether to add the registers of a processing element
    exhaustive : whether to check every input, up to 2^32 of them
    seed : of sampled inputs

    Other parameters, and what is raised, as in ``compare``.
    """
    operations, technologies = read_units(units), _open(technology, use_cache)
    settings = _settings(
        technologies, objective, clock_ps, effort=effort, exhaustive=exhaustive, seed=seed,
        jobs=jobs, timeout_s=timeout_s,
        registers=read_registers(pipeline, pe, operations, technologies),
    )  # fmt: skip
    rows = _measure(operations, technologies, settings, use_cache)
    return _table(rows, tables.SYNTH_COLUMNS)


def verify(
    *units: str,
    technology: Names = DEFAULT_TECHNOLOGIES[:1],
    objective: str = "area",
    effort: str = "normal",
    exhaustive: bool = False,
    seed: int = 0,
    jobs: int | None = None,
    timeout_s: float = 120.0,
    use_cache: bool = True,
) -> Table:
    """Compare the mapped netlists of units with the exact reference, whatever is known of them.

    Parameters, and what is raised, as in ``synth``.
    """
    operations, technologies = read_units(units), _open(technology, use_cache)
    settings = _settings(
        technologies, objective, None, effort=effort, exhaustive=exhaustive, seed=seed, jobs=jobs,
        timeout_s=timeout_s, recheck=True,
    )  # fmt: skip
    rows = _measure(operations, technologies, settings, use_cache)
    return _table(rows, tables.VERIFY_COLUMNS)


def sweep(
    *units: str,
    study: str | None = None,
    technology: Names | None = None,
    objective: Names | None = None,
    effort: Names | None = None,
    pipeline: Sequence[int] | None = None,
    exhaustive: bool = False,
    seed: int = 0,
    workers: int | None = None,
    timeout_s: float = 120.0,
    use_cache: bool = True,
) -> Table:
    """Measure a grid in processes of this machine; what is known is not measured again.

    Parameters
    ----------
    units : patterns such as ``"fma:int{2..8}"``
    study : instead of units, a named study or a TOML file
    technology, objective, effort, pipeline : all combinations are measured; None takes those of
        the study, else cmos, area, normal and no registers
    workers : points at once; None takes all cores

    Other parameters as in ``synth``.

    Returns
    -------
    A table. Points that failed are among its ``records`` with the reason, and not in ``rows``.

    Raises
    ------
    ValueError
        If an argument cannot be used.
    MismatchError
        If a mapped netlist differs from the reference.
    SweepError
        If the sweep cannot go on; what was finished is kept.
    """
    from fmacost.reports.pool import Pool, usable_cores
    from fmacost.reports.studies import find_grid
    from fmacost.reports.sweep import Sweep, load, run

    grid = override(
        find_grid(study, units), technology=_names(technology), objective=_names(objective),
        effort=_names(effort), pipeline=pipeline,
    )  # fmt: skip
    expansion = expand_units(grid.units)
    check_exhaustive(expansion.operations if exhaustive else [])
    store = open_cache(use_cache, _QUIET)
    technologies = {t.name: t for t in open_technologies(grid.technology, store)}
    made = Sweep(
        points=expand_grid(grid, expansion.operations, technologies), technologies=technologies,
        store=store, common=Settings(exhaustive=exhaustive, seed=seed, timeout_s=timeout_s),
    )  # fmt: skip
    result, missing = load(made)
    if missing:
        with closing(Pool(workers or usable_cores())) as pool:
            run(
                made, pool, is_local=True, result=result, missing=missing,
                finished=lambda point, outcome: None,
            )  # fmt: skip
    for point, counterexample in result.counterexamples.items():
        raise MismatchError(mismatch_text(result.rows[point], counterexample))
    rows = [result.rows[point] for point in made.points if point in result.rows]
    failed = f"{len(result.errors):,} of {len(made.points):,} points failed"
    return replace(
        _table(rows, tables.SYNTH_COLUMNS),
        records=tuple(result.records()), note=failed if result.errors else "",
    )  # fmt: skip


def _names(names: Names | None) -> Sequence[str] | None:
    return [names] if isinstance(names, str) else names


def _open(technology: Names, use_cache: bool) -> "list[Technology]":
    return open_technologies(_names(technology) or (), open_cache(use_cache, _QUIET))


def _settings(
    technologies: "Sequence[Technology]", objective: str, clock_ps: float | None, **others: Any
) -> Settings:
    """Return settings; raise InputError where one of them cannot be."""
    check_known("objective", objective, list(Objective))
    check_known("effort", others["effort"], list(Effort))
    return at_clock(Settings(objective=objective, **others), clock_ps, technologies)


def _measure(
    operations: "Sequence[Operation]",
    technologies: "Sequence[Technology]",
    settings: Settings,
    use_cache: bool,
) -> tuple[Row, ...]:
    """Return proven rows; raise MismatchError where a netlist is wrong."""
    if not operations or not technologies:
        raise InputError("give one unit and one technology at least")
    check_exhaustive(operations if settings.exhaustive else [])
    made = measure_all(operations, technologies, settings, open_cache(use_cache, _QUIET), _QUIET)
    for one in made:
        if one.row.verification.mismatches:
            raise MismatchError(mismatch_text(one.row, one.counterexample))
    return tuple(one.row for one in made)


def _table(rows: Sequence[Row], columns: Sequence[str]) -> Table:
    records = tuple(row.to_json() for row in rows)
    return Table(tuple(rows), records, "", tables.row_table(rows, columns))
