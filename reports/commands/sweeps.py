"""The commands that measure many points, and put tables of several machines together."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fmacost.reports.commands.shared import (
    MISMATCH,
    TOOL_FAILED,
    Export,
    complain_mismatch,
    epilog,
    open_cache,
    open_technologies,
    read_exports,
    write_exports,
    write_json,
)
from fmacost.reports.errors import InputError
from fmacost.reports.measure import Settings, check_exhaustive
from fmacost.reports.options import (
    AsJson,
    Exhaustive,
    ExportCsv,
    ExportJson,
    ExportMd,
    ExportParquet,
    NoCache,
    Quiet,
    Seed,
    TimeoutSeconds,
)
from fmacost.reports.studies import STUDIES, find_grid
from fmacost.reports.terminal import Terminal

if TYPE_CHECKING:
    from fmacost.reports.pool import Executor
    from fmacost.reports.sweep import Result, Sweep

_SHOWN_ROWS = 40
_LIST = "; several with commas"

app = typer.Typer()


@app.command(
    epilog=epilog(
        "fmacost sweep widths --export-csv widths.csv\n"
        "fmacost sweep --units 'fma:int{2..16}' --units 'fma:e{2..5}m{1..4}f+fp32' "
        "-t cmos,sky130hd\n"
        "fmacost sweep grid.toml --plan --workers 64\n"
        "fmacost sweep widths --shard 3/8 --export-json part3.json\n"
        "fmacost sweep widths --scheduler tcp://node1:8786",
        ("transistors", "area_um2", "delay_fo4", "delay_ps", "verification", "error"),
    )
    + "\n\n\b\nStudies:\n"
    + "\n".join(f"  {study.name:<12}  {study.question}" for study in STUDIES.values())
)
def sweep(
    *,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[STUDY|FILE.toml]", help="A named study, or a grid.", show_default=False
        ),
    ] = None,
    units: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Such as 'fma:int{2..16}'; several times.", show_default=False
        ),
    ] = None,
    technology: Annotated[
        list[str] | None,
        typer.Option("--technology", "-t", metavar="NAME|FILE", help=f"Default: cmos{_LIST}."),
    ] = None,
    objective: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"area, delay or adp; default: area{_LIST}."),
    ] = None,
    effort: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help=f"quick, normal or max; default: normal{_LIST}."),
    ] = None,
    pipeline: Annotated[
        list[str] | None,
        typer.Option(metavar="RANKS", help=f"Ranks of registers inside{_LIST}."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-j", min=1, help="Points at once.", show_default="all cores"),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="tcp://HOST:PORT", help="Measure on a Dask cluster.", show_default=False
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="i/N", help="Only part i of N of the points.", show_default=False),
    ] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Say what it takes, measure nothing.")] = (
        False
    ),
    exhaustive: Exhaustive = False,
    seed: Seed = 0,
    timeout_s: TimeoutSeconds = 120.0,
    no_cache: NoCache = False,
    json: AsJson = False,
    export_json: ExportJson = None,
    export_csv: ExportCsv = None,
    export_md: ExportMd = None,
    export_parquet: ExportParquet = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Write table.json and table.csv there.", show_default=False
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Measure a grid of units, technologies and objectives; go on where the last run ended.

    Every point is kept in the cache as it is finished. One that fails is a row with its reason;
    the exit code is then 3.
    """
    from fmacost.reports.grid import expand, expand_units, override, parse_shard
    from fmacost.reports.pool import usable_cores
    from fmacost.reports.sweep import Sweep, load

    terminal = Terminal(quiet)
    exports = read_exports(json=export_json, csv=export_csv, md=export_md, parquet=export_parquet)
    exports += _output_files(output)
    part = None if shard is None else parse_shard(shard)
    grid = override(
        find_grid(what, units), technology=_split(technology), objective=_split(objective),
        effort=_split(effort), pipeline=_ranks(pipeline),
    )  # fmt: skip
    expansion = expand_units(grid.units)
    if expansion.skipped:
        terminal.notify(
            f"skipped {expansion.skipped:,} combinations that are no unit, such as: "
            f"{expansion.reason}"
        )
    check_exhaustive(expansion.operations if exhaustive else [])
    store = open_cache(not no_cache, terminal)
    technologies = {t.name: t for t in open_technologies(grid.technology, store)}
    points = expand(grid, expansion.operations, technologies)
    if part is not None:
        points = [point for point in points if point in part]
    made = Sweep(
        points=points, technologies=technologies, store=store,
        common=Settings(exhaustive=exhaustive, seed=seed, timeout_s=timeout_s),
    )  # fmt: skip
    count = workers or usable_cores()
    if plan:
        _show_plan(made, expansion.skipped, count, terminal, as_json=json)
        return
    result, missing = load(made)
    if missing:
        executor, is_local = _executor(scheduler, count)
        _run(made, result, missing, executor, is_local, terminal)
    else:
        terminal.notify(f"all {len(points):,} points are known")
    records = result.records()
    if json:
        write_json(records, terminal)
    elif result.rows:
        from fmacost.reports import tables

        rows = [result.rows[point] for point in points if point in result.rows][:_SHOWN_ROWS]
        terminal.show(tables.row_table(rows, tables.SYNTH_COLUMNS))
        if len(result.rows) > _SHOWN_ROWS:
            more = len(result.rows) - _SHOWN_ROWS
            terminal.show(f"and {more:,} more: --json, --export-csv and --output give all")
    write_exports(exports, records)
    for point, counterexample in result.counterexamples.items():
        complain_mismatch(result.rows[point], counterexample, terminal)
    for point, error in result.errors.items():
        terminal.complain(f"FAILED: {point}: {error}")
    if result.counterexamples:
        raise typer.Exit(MISMATCH)
    if result.errors:
        raise typer.Exit(TOOL_FAILED)


@app.command(
    epilog=epilog(
        "fmacost merge part1.json part2.json --export-csv all.csv\n"
        "fmacost merge parts/*.json --json > all.json"
    )
)
def merge(
    *,
    tables: Annotated[list[Path], typer.Argument(metavar="TABLE.json...", help="JSON tables.")],
    json: AsJson = False,
    export_json: ExportJson = None,
    export_csv: ExportCsv = None,
    export_md: ExportMd = None,
    export_parquet: ExportParquet = None,
    quiet: Quiet = False,
) -> None:
    """Put the tables of shards together: the table that one sweep would have made."""
    from fmacost.reports.merge import merge_tables

    terminal = Terminal(quiet)
    exports = read_exports(json=export_json, csv=export_csv, md=export_md, parquet=export_parquet)
    if not exports and not json:
        raise InputError("merge writes what it is asked for: give --json or --export-csv FILE")
    records = merge_tables(tables)
    if json:
        write_json(records, terminal)
    write_exports(exports, records)
    failed = sum("error" in record for record in records)
    terminal.notify(f"{len(records):,} rows of {len(tables)} tables, {failed:,} failed")


def _split(texts: Sequence[str] | None) -> list[str] | None:
    if texts is None:
        return None
    return [part.strip() for text in texts for part in text.split(",")]


def _ranks(texts: Sequence[str] | None) -> list[int] | None:
    try:
        return None if texts is None else [int(text) for text in _split(texts) or ()]
    except ValueError:
        raise InputError(
            f"--pipeline must be numbers such as 0,1,2, not '{','.join(texts or ())}'"
        ) from None


def _executor(scheduler: str | None, workers: int) -> "tuple[Executor, bool]":
    """Return what measures, and whether it can reach the store."""
    if scheduler is not None:
        from fmacost.reports.cluster import Cluster

        return Cluster(scheduler), False
    from fmacost.reports.pool import Pool

    return Pool(workers), True


def _run(
    made: "Sweep",
    result: "Result",
    missing: Sequence[Any],
    executor: "Executor",
    is_local: bool,
    terminal: Terminal,
) -> None:
    from fmacost.reports.grid import Point
    from fmacost.reports.progress import progress, show_seconds
    from fmacost.reports.sweep import Clock, run
    from fmacost.reports.task import Outcome

    clock = Clock(missing, made.times, executor.workers)
    left = clock.left()
    terminal.notify(
        f"{len(made.points):,} points, {len(result.rows):,} known, {len(missing):,} to measure "
        f"on {executor.workers} workers: "
        + ("no times known" if left is None else f"about {show_seconds(left)}")
    )
    with progress(terminal, len(missing), clock.left) as shown:

        def finished(point: Point, outcome: Outcome) -> None:
            for notice in outcome.notices:
                terminal.notify(f"{point}: {notice}")
            clock.finish(point, outcome.seconds)
            shown.advance(has_failed=outcome.row is None)

        try:
            run(
                made, executor, is_local=is_local, result=result, missing=missing,
                finished=finished,
            )  # fmt: skip
        except KeyboardInterrupt:
            terminal.notify("what was finished is kept: the same command goes on")
            raise
        finally:
            executor.close()


def _show_plan(
    made: "Sweep", skipped: int, workers: int, terminal: Terminal, *, as_json: bool
) -> None:
    from fmacost.reports.progress import show_seconds

    missing = made.missing()
    price = made.times.price(missing)
    record = {
        "points": len(made.points),
        "skipped": skipped,
        "cached": len(made.points) - len(missing),
        "to_measure": len(missing),
        "unknown": price.unknown,
        "beyond": price.beyond,
        "measured_times": price.measured,
        "workers": workers,
        "point_seconds": round(price.point_seconds, 1),
        "wall_seconds": round(price.wall_seconds(workers), 1),
    }
    if as_json:
        write_json([record], terminal)
        return
    lines = [
        f"{record['points']:,} points, {record['cached']:,} known, "
        f"{record['to_measure']:,} to measure"
    ]
    if price.unknown < len(missing):
        lines.append(
            f"about {show_seconds(price.wall_seconds(workers))} on {workers} workers "
            f"({show_seconds(price.point_seconds)} of one), from the times of {price.measured:,} "
            "points"
        )
    if price.beyond:
        lines.append(f"{price.beyond:,} are larger than what was measured: their times are guesses")
    if price.unknown:
        lines.append(f"{price.unknown:,} are like nothing that was measured, and not in the time")
    terminal.show("\n".join(lines))


def _output_files(folder: Path | None) -> list[Export]:
    """Return the files of an output folder; raise InputError unless it is new, empty or ours."""
    if folder is None:
        return []
    from fmacost.reports.merge import is_table

    table = folder / "table.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = {path.name for path in folder.iterdir()} - {"table.json", "table.csv"}
    except OSError as error:
        raise InputError(f"cannot write into {folder}: {error.strerror or error}") from None
    if others or ((folder / "table.csv").exists() and not is_table(table)):
        what = f"it has {min(others)}" if others else "its table is not ours"
        raise InputError(f"{folder} is no folder of a sweep: {what}; give a new or empty one")
    return read_exports(json=table, csv=folder / "table.csv")
