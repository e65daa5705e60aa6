"""The command that makes a page of what the others measure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fmacost.reports.breakdown import break_down
from fmacost.reports.cache import Cache
from fmacost.reports.commands.shared import (
    epilog,
    leave,
    measure_all,
    measure_curves,
    open_cache,
    open_technologies,
    read_units,
)
from fmacost.reports.errors import InputError
from fmacost.reports.export import check_writable, to_csv, to_json, write_output
from fmacost.reports.measure import ENERGY_VECTORS, Measured, Settings
from fmacost.reports.options import (
    DEFAULT_TECHNOLOGIES,
    Effort,
    EffortName,
    Jobs,
    NoCache,
    Objective,
    ObjectiveName,
    Quiet,
    TechnologyNames,
    TimeoutSeconds,
)
from fmacost.reports.path import critical_path
from fmacost.reports.row import Records
from fmacost.reports.saved import read_rows, read_table
from fmacost.reports.terminal import Terminal
from fmacost.sim.operation import Operation

if TYPE_CHECKING:
    from fmacost.hw.technology import Technology
    from fmacost.reports.page.contents import Contents
    from fmacost.sim.formats import Format

PAGE, TABLE = "index.html", "table"
STAGES, PATHS, ENERGIES, WIDTHS = "stages", "paths", "energies", "widths"

app = typer.Typer()


@app.command(
    epilog=epilog(
        "fmacost report int8 e4m3fn -o report\n"
        "fmacost report fma:int8+int32 fma:e4m3fn+fp32 -t nangate45 --curve -o report\n"
        "fmacost report --from table.json --from stages.json -o report"
    )
)
def report(
    *,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="UNIT... | FORMAT...",
            help="Units, or two or more formats to compare.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Made if it is not there.")
    ] = Path("report"),
    saved: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="TABLE",
            help="Measure nothing, take saved JSON; several times.",
            show_default=False,
        ),
    ] = None,
    widths: Annotated[
        Path | None,
        typer.Option(
            metavar="TABLE",
            help="Show curves by width too, of what 'sweep widths' exported.",
            show_default=False,
        ),
    ] = None,
    curve: Annotated[
        bool,
        typer.Option(
            "--curve", help="Show size against delay as curves too: minutes, as 'curve' takes."
        ),
    ] = False,
    technology: TechnologyNames = None,
    objective: ObjectiveName = Objective.AREA,
    effort: EffortName = Effort.NORMAL,
    jobs: Jobs = None,
    timeout_s: TimeoutSeconds = 120.0,
    no_cache: NoCache = False,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page, and the tables that it is made from; print where it is.

    The page needs nothing else: it works from disk and asks nothing of the network. Tables of
    compare, synth, sweep, curve, breakdown, path and energy may be saved ones.
    """
    from fmacost.reports.page.charts import check_charts, draw_charts
    from fmacost.reports.page.contents import make_contents
    from fmacost.reports.page.document import to_html

    if bool(what) == bool(saved):
        raise InputError("report needs either units or formats, or saved tables by --from")
    if saved and curve:
        raise InputError("--curve measures, --from does not: give a table of 'curve' by --from")
    check_charts()
    by_width = [] if widths is None else read_table(widths)
    terminal = Terminal(quiet)
    measured: list[Measured] = []
    records: Records
    if saved:
        records = [record for path in saved for record in read_rows(path)]
        _make_folder(output)
    else:
        settings = Settings(
            objective=objective, effort=effort, jobs=jobs, timeout_s=timeout_s, with_netlist=True
        )
        store = open_cache(not no_cache, terminal)
        question = _read(what or [], technology, store, has_curves=curve)
        _make_folder(output)
        measured, records = _measure(question, settings, store, terminal)
    contents = make_contents(records, by_width)
    page = to_html(contents, draw_charts(contents))
    for name, rows in _tables(contents, by_width):
        if rows:
            write_output(output / f"{name}.json", to_json(rows))
    write_output(output / f"{TABLE}.csv", to_csv(contents.records))
    write_output(output / PAGE, page)
    terminal.write(f"{output / PAGE}\n")
    leave(measured, terminal)


def _tables(contents: "Contents", by_width: Records) -> Iterator[tuple[str, Records]]:
    """Yield the tables that a page is made from."""
    yield TABLE, contents.records
    yield STAGES, contents.stages
    yield PATHS, contents.paths
    yield ENERGIES, contents.energies
    yield WIDTHS, by_width


def _make_folder(folder: Path) -> None:
    """Make a folder; raise InputError early if it cannot have the files of a page."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make folder {folder}: {error.strerror or error}") from None
    tables = (f"{name}.json" for name in (TABLE, STAGES, PATHS, ENERGIES, WIDTHS))
    for name in (PAGE, f"{TABLE}.csv", *tables):
        check_writable(folder / name)


@dataclass(frozen=True, slots=True)
class _Question:
    """What is measured: the units of ``formats``, or units where there are none."""

    formats: "tuple[Format, ...]"
    operations: Sequence[Operation]
    technologies: "Sequence[Technology]"
    has_curves: bool


def _read(
    texts: Sequence[str], names: Sequence[str] | None, store: Cache | None, *, has_curves: bool
) -> _Question:
    """Return what a user asks for; raise InputError where it cannot be measured."""
    from fmacost.reports.compare import expand, read_formats, units_of

    formats = () if any(":" in text for text in texts) else read_formats(texts)
    operations = units_of(expand(formats)) if formats else read_units(texts)
    defaults = DEFAULT_TECHNOLOGIES if formats else DEFAULT_TECHNOLOGIES[:1]
    technologies = open_technologies(names or defaults, store)
    return _Question(formats, operations, technologies, has_curves)


def _measure(
    question: _Question, settings: Settings, store: Cache | None, terminal: Terminal
) -> tuple[list[Measured], list[dict[str, Any]]]:
    """Return what was measured, and its rows.

    Among them are stages and paths in the first technology, energies of streams where a technology
    has energies, and if wanted the points of curves where one has delays.
    """
    from fmacost.reports import energy as energies
    from fmacost.reports.compare import Comparison, expand

    operations, technologies = question.operations, question.technologies
    measured = measure_all(operations, technologies, settings, store, terminal)
    records = [made.row.to_json() for made in measured]
    if question.formats:
        rows = {(made.row.unit, made.row.technology): made.row for made in measured}
        chosen = tuple(technology.name for technology in technologies)
        records = Comparison(question.formats, expand(question.formats), chosen, rows).records()
    of_units = {str(operation): operation for operation in operations}
    with terminal.progress(len(operations)) as watcher:
        for made in measured:
            if made.row.technology != technologies[0].name:
                continue
            watcher.begin(f"stages and path of {made.row.unit}")
            operation = of_units[made.row.unit]
            records += _look_into(operation, technologies[0], made, store, settings.timeout_s)
            watcher.finish(None)
    spending = [t for t in technologies if t.characterisation is not None]
    sources = energies.parse_sources(energies.BUILT_IN, ENERGY_VECTORS, settings.seed)
    records += energies.records(
        energies.measure_all(measured, operations, spending, sources, glitches=False)
    )
    for technology in technologies if question.has_curves else ():
        if technology.has_delays:
            curves = measure_curves(operations, technology, settings, store, terminal)
            measured += [point for points in curves.values() for point in points]
            records += [point.row.to_json() for points in curves.values() for point in points]
    return measured, records


def _look_into(
    operation: Operation,
    technology: "Technology",
    made: Measured,
    store: Cache | None,
    timeout_s: float,
) -> Iterator[dict[str, Any]]:
    """Yield the stages and the critical path of a unit, where the technology has what they take."""
    if technology.transistors:
        yield break_down(operation, technology, made.row, store, timeout_s=timeout_s).to_json()
    if technology.has_delays and made.netlist is not None:
        path = critical_path(operation, technology, made.row, made.netlist, timeout_s=timeout_s)
        yield path.to_json()
