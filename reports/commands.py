"""The commands: read arguments, call what computes, show what came out. Nothing else."""

import json as json_module
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import fmacost
from fmacost.reports.cache import Cache, cache_folder
from fmacost.reports.clocked import check_clock, check_clocks, read_registers
from fmacost.reports.errors import InputError
from fmacost.reports.export import EXPORTERS, check_writable, write_output
from fmacost.reports.measure import (
    Measured,
    Settings,
    check_exhaustive,
    measure,
    measure_curve,
)
from fmacost.reports.metrics import definitions, metric
from fmacost.reports.options import (
    DEFAULT_TECHNOLOGIES,
    AsJson,
    Effort,
    EffortName,
    Exhaustive,
    ExportCsv,
    ExportJson,
    ExportMd,
    ExportTex,
    FormatTexts,
    Jobs,
    NoCache,
    Objective,
    ObjectiveName,
    Quiet,
    Seed,
    TechnologyNames,
    TimeoutSeconds,
    UnitTexts,
)
from fmacost.reports.row import document
from fmacost.reports.terminal import Terminal
from fmacost.sim.formats import alias_note, parse_format, standard_formats
from fmacost.sim.operation import Operation, Overflow, Rounding, parse_unit, unit_notes

if TYPE_CHECKING:
    from fmacost.hw.technology import Technology

MISMATCH, USAGE, TOOL_FAILED = 1, 2, 3


def _epilog(examples: str, columns: Sequence[str] = ()) -> str:
    """Return the end of a help text: examples, and what the columns mean."""
    # \b is typer's mark for lines that are not to be filled
    parts = ["\b\nExamples:", *(f"  {line}" for line in examples.strip().split("\n"))]
    if columns:
        parts += ["", "\b\nColumns:", *(f"  {line}" for line in definitions(*columns).split("\n"))]
    return "\n".join(parts)


app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_epilog("fmacost compare int8 e4m3fn\nfmacost explain 464 --to e4m3fn\nfmacost doctor"),
)
PlotFile = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw it: .png, .svg or .pdf.", show_default=False),
]
_COMPARED_COLUMNS = (
    "cells", "gates_ge", "transistors", "ratio_transistors", "area_um2", "delay_ps", "ratio_delay",
    "energy_fj", "ratio_energy", "logic_depth", "verification",
)  # fmt: skip
_SYNTH_COLUMNS = (
    "cells", "gates_ge", "transistors", "area_um2", "candidates", "logic_depth", "delay_fo4",
    "delay_ps", "energy_fj", "leakage_nw", "flip_flops", "latency_cycles", "period_fo4",
    "slack_ps", "verification",
)  # fmt: skip


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    quiet: Quiet = False,
) -> None:
    """How many gates and transistors a multiply-add unit takes, on proven netlists."""
    context.obj = quiet
    if version:
        typer.echo(f"fmacost {fmacost.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(USAGE)


@app.command(
    epilog=_epilog(
        "fmacost compare int8 e4m3fn\n"
        "fmacost compare int4 e2m1fn e3m0f --export-md table.md\n"
        "fmacost compare int8 e4m3fn --technology sky130hd --technology asap7\n"
        "fmacost compare int8 e4m3fn --plot comparison.svg",
        _COMPARED_COLUMNS,
    )
)
def compare(
    context: typer.Context,
    *,
    formats: FormatTexts,
    technology: TechnologyNames = None,
    objective: ObjectiveName = Objective.AREA,
    effort: EffortName = Effort.NORMAL,
    jobs: Jobs = None,
    timeout_s: TimeoutSeconds = 120.0,
    no_cache: NoCache = False,
    json: AsJson = False,
    export_json: ExportJson = None,
    export_csv: ExportCsv = None,
    export_md: ExportMd = None,
    export_tex: ExportTex = None,
    plot: PlotFile = None,
    quiet: Quiet = False,
) -> None:
    """Compare the FMAs of formats: same-format, 16-bit, 32-bit and exact accumulators.

    The first format is what the others are compared with, the first technology gives the headline.
    """
    from fmacost.reports.compare import Comparison, expand, explain_names, units_of

    chosen = tuple(parse_format(text) for text in formats)
    if len(set(chosen)) < max(2, len(chosen)):
        raise InputError(f"compare needs two or more different formats, got {' '.join(formats)}")
    terminal = Terminal(quiet or bool(context.obj))
    store = _store(not no_cache, terminal)
    technologies = _technologies(technology or DEFAULT_TECHNOLOGIES, store)
    exports = _exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    _check_plot(plot)
    lines = expand(chosen)
    settings = Settings(objective=objective, effort=effort, jobs=jobs, timeout_s=timeout_s)
    measured = _measure_all(units_of(lines), technologies, settings, not no_cache, terminal)
    rows = {(m.row.unit, m.row.technology): m.row for m in measured}
    comparison = Comparison(chosen, lines, tuple(t.name for t in technologies), rows)
    records = comparison.records()
    if json:
        _notify_all(filter(None, map(alias_note, formats)), terminal)
        _write_json(records, terminal)
    else:
        from fmacost.reports import tables

        terminal.show(
            tables.comparison_table(comparison),
            "",
            comparison.answer(),
            "",
            tables.comparison_notes(comparison, explain_names(formats, chosen), technologies),
        )
    _write_exports(exports, records)
    if plot is not None:
        from fmacost.reports.plot import write_plot

        write_plot(comparison, plot)
    _leave(measured, terminal)


@app.command(
    epilog=_epilog(
        "fmacost synth fma:e4m3fn\n"
        "fmacost synth fma:int8+int32 fma:e4m3fn+fp32 -t cmos -t cmos2 --export-csv rows.csv\n"
        "fmacost synth fma:e4m3fn --write-netlist fma.v\n"
        "fmacost synth fma:e4m3fn --objective delay --pipeline 3\n"
        "fmacost synth fma:int8+int32 fma:e4m3fn+fp32 --pe\n"
        "fmacost synth fma:int8+int32 fma:e4m3fn -t nangate45 --clock-ps 1000",
        _SYNTH_COLUMNS,
    )
)
def synth(
    context: typer.Context,
    *,
    units: UnitTexts,
    technology: TechnologyNames = None,
    objective: ObjectiveName = Objective.AREA,
    effort: EffortName = Effort.NORMAL,
    exhaustive: Exhaustive = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    timeout_s: TimeoutSeconds = 120.0,
    no_cache: NoCache = False,
    json: AsJson = False,
    export_json: ExportJson = None,
    export_csv: ExportCsv = None,
    export_md: ExportMd = None,
    export_tex: ExportTex = None,
    write_netlist: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the mapped netlist of one unit: .json (Yosys) or .v (with cell models).",
            show_default=False,
        ),
    ] = None,
    pipeline: Annotated[
        int | None,
        typer.Option(
            metavar="RANKS", help="Ranks of registers inside, 0 to 32.", show_default=False
        ),
    ] = None,
    pe: Annotated[
        bool, typer.Option("--pe", help="With the registers of a processing element.")
    ] = False,
    clock_ps: Annotated[
        float | None,
        typer.Option(
            metavar="PS",
            help="The smallest unit that meets this delay, or period if it has registers.",
            show_default=False,
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Synthesise units, check the mapped netlists, print what they cost. Default: cmos."""
    operations = _operations(units)
    terminal = Terminal(quiet or bool(context.obj))
    store = _store(not no_cache, terminal)
    technologies = _technologies(technology or DEFAULT_TECHNOLOGIES[:1], store)
    exports = _exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    if write_netlist is not None:
        _check_netlist_file(write_netlist, len(operations) * len(technologies))
    check_exhaustive(operations if exhaustive else [])
    registers = read_registers(pipeline, pe, operations, technologies)
    check_clocks(clock_ps, objective, technologies)
    settings = Settings(
        objective=objective if clock_ps is None else "clock", clock_ps=clock_ps,
        effort=effort, exhaustive=exhaustive, seed=seed, jobs=jobs,
        timeout_s=timeout_s,
        with_netlist=write_netlist is not None, registers=registers,
    )  # fmt: skip
    measured = _measure_all(operations, technologies, settings, not no_cache, terminal)
    _show_rows(measured, units, terminal, as_json=json, is_check=False)
    _write_exports(exports, [m.row.to_json() for m in measured])
    if write_netlist is not None:
        write_output(write_netlist, _netlist_text(measured[0], write_netlist))
    _leave(measured, terminal)


@app.command(
    epilog=_epilog(
        "fmacost curve fma:int8+int32 fma:e4m3fn --technology nangate45\n"
        "fmacost curve fma:int8+int32 fma:e4m3fn -t nangate45 --clock 1000 --clock 700\n"
        "fmacost curve fma:int8+int32 fma:e4m3fn+fp32 --plot curve.svg",
        ("transistors", "area_um2", "delay_fo4", "delay_ps", "slack_ps", "verification"),
    )
)
def curve(
    context: typer.Context,
    *,
    units: UnitTexts,
    technology: Annotated[
        str, typer.Option("--technology", "-t", metavar="NAME|FILE", help="One technology.")
    ] = DEFAULT_TECHNOLOGIES[0],
    clock: Annotated[
        list[float] | None,
        typer.Option(
            metavar="PERIOD",
            help="Compare at this clock: ps, or FO4 in cmos; several times.",
            show_default="three that all meet",
        ),
    ] = None,
    effort: EffortName = Effort.NORMAL,
    exhaustive: Exhaustive = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    timeout_s: TimeoutSeconds = 600.0,
    no_cache: NoCache = False,
    json: AsJson = False,
    export_json: ExportJson = None,
    export_csv: ExportCsv = None,
    export_md: ExportMd = None,
    export_tex: ExportTex = None,
    plot: PlotFile = None,
    quiet: Quiet = False,
) -> None:
    """Show size against delay, proven points from the smallest to the fastest, and equal clocks.

    The first unit is what the others are compared with.
    """
    from fmacost.reports import curve as curves
    from fmacost.reports import tables

    operations = _operations(units)
    clocks = [check_clock(each, "--clock") for each in clock or ()]
    terminal = Terminal(quiet or bool(context.obj))
    (chosen,) = _technologies([technology], _store(not no_cache, terminal))
    exports = _exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    _check_plot(plot)
    check_exhaustive(operations if exhaustive else [])
    settings = Settings(
        effort=effort, exhaustive=exhaustive, seed=seed, jobs=jobs, timeout_s=timeout_s
    )
    measured = _measure_curves(operations, chosen, settings, not no_cache, terminal)
    made = [curves.make_curve(unit, (m.row for m in points)) for unit, points in measured.items()]
    found = [each for each in made if each is not None]
    notes = list(dict.fromkeys(note for unit in units for note in unit_notes(unit)))
    if found:
        clocked = curves.at_clocks(found, clocks or curves.common_clocks(found))
        records = curves.records(found, clocked)
        if json:
            _notify_all(notes, terminal)
            _write_json(records, terminal)
        else:
            rows = [row for each in found for row in each.rows]
            text = tables.row_notes(rows, [*notes, *curves.curve_notes(found)])
            terminal.show(
                curves.curve_table(found), "", curves.clock_table(found, clocked), "", text
            )
        _write_exports(exports, records)
        if plot is not None:
            from fmacost.reports.plot import draw_curves

            write_output(plot, draw_curves(found, plot.suffix.lower()))
    _leave([m for points in measured.values() for m in points], terminal)


@app.command(
    epilog=_epilog(
        "fmacost verify fma:e4m3fn\n"
        "fmacost verify mul:fp16 --exhaustive\n"
        "fmacost verify fma:fp32 fma:bf16,rtz --seed 7",
        ("verification_method", "vectors", "mismatches", "regions"),
    )
)
def verify(
    context: typer.Context,
    *,
    units: UnitTexts,
    technology: TechnologyNames = None,
    exhaustive: Exhaustive = False,
    seed: Seed = 0,
    objective: ObjectiveName = Objective.AREA,
    effort: EffortName = Effort.NORMAL,
    jobs: Jobs = None,
    timeout_s: TimeoutSeconds = 120.0,
    no_cache: NoCache = False,
    json: AsJson = False,
    export_json: ExportJson = None,
    export_csv: ExportCsv = None,
    export_md: ExportMd = None,
    export_tex: ExportTex = None,
    quiet: Quiet = False,
) -> None:
    """Compare the mapped netlists of units with the exact reference, now. Default: cmos.

    Up to 2^24 inputs every one is run, beyond that corners and seeded random inputs unless
    --exhaustive. A mismatch prints the operands with both results and exits with 1.
    """
    operations = _operations(units)
    terminal = Terminal(quiet or bool(context.obj))
    store = _store(not no_cache, terminal)
    technologies = _technologies(technology or DEFAULT_TECHNOLOGIES[:1], store)
    exports = _exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    check_exhaustive(operations if exhaustive else [])
    settings = Settings(
        objective=objective, effort=effort, exhaustive=exhaustive, seed=seed, jobs=jobs,
        timeout_s=timeout_s,
        recheck=True,
    )  # fmt: skip
    measured = _measure_all(operations, technologies, settings, not no_cache, terminal)
    _show_rows(measured, units, terminal, as_json=json, is_check=True)
    _write_exports(exports, [m.row.to_json() for m in measured])
    _leave(measured, terminal)


@app.command(
    epilog=_epilog(
        "fmacost breakdown fma:e4m3fn\n"
        "fmacost breakdown fma:e4m3fn fma:int8+int32 --plot stages.svg",
        ("transistors", "verification"),
    )
)
def breakdown(
    context: typer.Context,
    *,
    units: UnitTexts,
    objective: ObjectiveName = Objective.AREA,
    effort: EffortName = Effort.NORMAL,
    jobs: Jobs = None,
    timeout_s: TimeoutSeconds = 120.0,
    no_cache: NoCache = False,
    json: AsJson = False,
    export_json: ExportJson = None,
    export_csv: ExportCsv = None,
    export_md: ExportMd = None,
    plot: PlotFile = None,
    quiet: Quiet = False,
) -> None:
    """Show where transistors go: each stage by itself, beside the flattened unit. In cmos."""
    from fmacost.reports import breakdown as stages
    from fmacost.reports import tables

    operations = _operations(units)
    exports = _exports(json=export_json, csv=export_csv, md=export_md)
    _check_plot(plot)
    terminal = Terminal(quiet or bool(context.obj))
    (technology,) = _technologies(DEFAULT_TECHNOLOGIES[:1])
    settings = Settings(objective=objective, effort=effort, jobs=jobs, timeout_s=timeout_s)
    measured = _measure_all(operations, [technology], settings, not no_cache, terminal)
    store = _store(not no_cache, terminal)
    found = []
    with terminal.progress(len(operations)) as watcher:
        for operation, made in zip(operations, measured, strict=True):
            watcher.begin(f"stages of {operation}")
            found.append(
                stages.break_down(operation, technology, made.row, store, timeout_s=timeout_s)
            )
            watcher.finish(None)
    notes = list(dict.fromkeys(note for unit in units for note in unit_notes(unit)))
    if json:
        _notify_all(notes, terminal)
        _write_json(stages.records(found), terminal)
    else:
        notes += stages.breakdown_notes(found)
        rows = [b.row for b in found]
        terminal.show(stages.breakdown_table(found), "", tables.row_notes(rows, notes))
    for export in exports:
        write_output(export.path, stages.EXPORTERS[export.kind](found))
    if plot is not None:
        from fmacost.reports.plot import draw_breakdown

        write_output(plot, draw_breakdown(found, plot.suffix.lower()))
    _leave(measured, terminal)


@app.command(
    epilog=_epilog(
        "fmacost energy fma:int8+int32 fma:e4m3fn\n"
        "fmacost energy fma:e4m3fn --stream gaussian --glitches --vectors 100000\n"
        "fmacost energy mul:int8 --stream operands.npy",
        ("toggles", "energy_fj", "switched_capacitance", "ratio_energy", "leakage_nw"),
    )
)
def energy(
    context: typer.Context,
    *,
    units: UnitTexts,
    technology: TechnologyNames = None,
    stream: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="uniform, gaussian, stationary, or a .npy file of codes; several times.",
            show_default="the three",
        ),
    ] = None,
    vectors: Annotated[
        int, typer.Option(min=2, max=10_000_000, help="Length of a stream that is made here.")
    ] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of streams, and of sampled checks.")] = 0,
    glitches: Annotated[
        bool, typer.Option("--glitches", help="Count glitches too, by a unit-delay model.")
    ] = False,
    objective: ObjectiveName = Objective.AREA,
    effort: EffortName = Effort.NORMAL,
    jobs: Jobs = None,
    timeout_s: TimeoutSeconds = 120.0,
    no_cache: NoCache = False,
    json: AsJson = False,
    export_json: ExportJson = None,
    export_csv: ExportCsv = None,
    export_md: ExportMd = None,
    export_tex: ExportTex = None,
    quiet: Quiet = False,
) -> None:
    """Show the energy of an operation, from toggles of the proven netlist. Default: cmos.

    In a technology without energies it is switched gate capacitance. The first unit is what the
    others are compared with.
    """
    from fmacost.reports import energy as energies
    from fmacost.reports import tables

    operations = _operations(units)
    sources = energies.parse_sources(stream or energies.BUILT_IN, vectors, seed)
    energies.check_files(sources, operations)
    technologies = _technologies(technology or DEFAULT_TECHNOLOGIES[:1])
    exports = _exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    terminal = Terminal(quiet or bool(context.obj))
    settings = Settings(
        objective=objective, effort=effort, seed=seed, jobs=jobs, timeout_s=timeout_s,
        with_netlist=True,
    )  # fmt: skip
    measured = _measure_all(operations, technologies, settings, not no_cache, terminal)
    found = energies.measure_all(measured, operations, technologies, sources, glitches=glitches)
    notes = list(dict.fromkeys(note for unit in units for note in unit_notes(unit)))
    records = energies.records(found)
    if json:
        _notify_all(notes, terminal)
        _write_json(records, terminal)
    else:
        text = tables.row_notes([m.row for m in measured], [*notes, *energies.energy_notes(found)])
        terminal.show(energies.energy_table(found), "", text)
    _write_exports(exports, records)
    _leave(measured, terminal)


@app.command(
    epilog=_epilog(
        "fmacost calibrate --effort quick\nfmacost calibrate --only evoapprox --export-csv k.csv",
        ("theirs", "ours", "ratio_theirs", "why"),
    )
)
def calibrate(
    context: typer.Context,
    *,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="One source: horowitz, evoapprox, formatscope, chen or vanbaalen.",
            show_default=False,
        ),
    ] = None,
    effort: EffortName = Effort.NORMAL,
    jobs: Jobs = None,
    timeout_s: TimeoutSeconds = 120.0,
    no_cache: NoCache = False,
    json: AsJson = False,
    export_json: ExportJson = None,
    export_csv: ExportCsv = None,
    export_md: ExportMd = None,
    quiet: Quiet = False,
) -> None:
    """Compare known figures of others with ours, and say why they differ.

    Ours are measured on proven netlists, for area. Whole tables take minutes at effort normal.
    """
    from fmacost.reports import calibrate as known
    from fmacost.reports import tables

    references = known.chosen(only)
    exports = _exports(json=export_json, csv=export_csv, md=export_md)
    terminal = Terminal(quiet or bool(context.obj))
    settings = Settings(effort=effort, jobs=jobs, timeout_s=timeout_s)
    units = known.units_in(references)
    technologies = _technologies(units)
    measured = [
        made
        for technology in technologies
        for made in _measure_all(
            units[technology.name], [technology], settings, not no_cache, terminal
        )
    ]
    rows = {(made.row.unit, made.row.technology): made.row for made in measured}
    found = known.calibrate(references, rows, {t.name: t for t in technologies})
    records = [one.to_json() for one in found]
    if json:
        _write_json(records, terminal)
    else:
        notes = known.calibration_notes(found, technologies)
        text = tables.row_notes(list(rows.values()), notes)
        terminal.show(known.calibration_table(found), "", text)
    _write_exports(exports, records)
    _leave(measured, terminal)


@app.command(
    epilog=_epilog(
        "fmacost ablate fma:e4m3fn\nfmacost ablate fma:int8+int32 --export-md features.md",
        ("transistors", "verification"),
    )
)
def ablate(
    context: typer.Context,
    *,
    unit: Annotated[str, typer.Argument(metavar="UNIT", help="Such as fma:e4m3fn.")],
    objective: ObjectiveName = Objective.AREA,
    effort: EffortName = Effort.NORMAL,
    jobs: Jobs = None,
    timeout_s: TimeoutSeconds = 120.0,
    no_cache: NoCache = False,
    json: AsJson = False,
    export_json: ExportJson = None,
    export_csv: ExportCsv = None,
    export_md: ExportMd = None,
    export_tex: ExportTex = None,
    quiet: Quiet = False,
) -> None:
    """Show what each feature costs: the same unit without it, proven as such. In cmos."""
    from fmacost.reports import ablate as features
    from fmacost.reports import tables

    operation = parse_unit(unit)
    exports = _exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    terminal = Terminal(quiet or bool(context.obj))
    found = features.variants(operation)
    settings = Settings(objective=objective, effort=effort, jobs=jobs, timeout_s=timeout_s)
    measured = _measure_all(
        [variant.operation for variant in found],
        _technologies(DEFAULT_TECHNOLOGIES[:1]), settings, not no_cache, terminal,
    )  # fmt: skip
    rows = {made.row.unit: made.row for made in measured}
    records = features.records(found, rows)
    notes = [*unit_notes(unit), *features.left_out(operation)]
    if json:
        _notify_all(notes, terminal)
        _write_json(records, terminal)
    else:
        text = tables.row_notes(list(rows.values()), notes)
        terminal.show(features.ablation_table(found, rows), "", text)
    _write_exports(exports, records)
    _leave(measured, terminal)


@app.command(
    epilog=_epilog(
        "fmacost accumulators\nfmacost accumulators --operands int8,e4m3fn --plot accumulators.svg",
        ("accumulator", "transistors", "verification"),
    )
)
def accumulators(
    context: typer.Context,
    *,
    operands: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="Formats with commas.", show_default="int4,int8,e2m1fn,...,fp16"
        ),
    ] = None,
    objective: ObjectiveName = Objective.AREA,
    effort: EffortName = Effort.NORMAL,
    jobs: Jobs = None,
    timeout_s: TimeoutSeconds = 120.0,
    no_cache: NoCache = False,
    json: AsJson = False,
    export_json: ExportJson = None,
    export_csv: ExportCsv = None,
    export_md: ExportMd = None,
    export_tex: ExportTex = None,
    plot: PlotFile = None,
    quiet: Quiet = False,
) -> None:
    """Show what accumulating costs: formats of the operands against addends. In cmos.

    A unit that fails is shown with its reason, the others are measured all the same, and the exit
    code is 3.
    """
    from fmacost.reports import accumulators as matrices
    from fmacost.reports import tables
    from fmacost.reports.compare import units_of

    formats = matrices.parse_operands(operands)
    exports = _exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    _check_plot(plot)
    terminal = Terminal(quiet or bool(context.obj))
    lines = matrices.expand_matrix(formats)
    settings = Settings(objective=objective, effort=effort, jobs=jobs, timeout_s=timeout_s)
    (technology,) = _technologies(DEFAULT_TECHNOLOGIES[:1])
    failures: dict[str, str] = {}
    measured = _measure_all(
        units_of(lines), [technology], settings, not no_cache, terminal, failures
    )
    matrix = matrices.Matrix(formats, lines, {m.row.unit: m.row for m in measured}, failures)
    if json:
        _write_json(matrix.records(), terminal)
    else:
        text = "\n".join(f"- {note}" for note in matrices.accumulator_notes(matrix))
        rows = tables.verification_note(list(matrix.rows.values()))
        published = matrices.beside_published(matrix)
        terminal.show(
            matrices.accumulator_table(matrix), "", f"{text}\n- {rows}",
            *(["", published] if published else []),
        )  # fmt: skip
    _write_exports(exports, matrix.records())
    if plot is not None:
        from fmacost.reports.plot import draw_accumulators

        write_output(plot, draw_accumulators(matrix, plot.suffix.lower()))
    _leave(measured, terminal)
    if failures:
        raise typer.Exit(TOOL_FAILED)


@app.command(
    context_settings={"ignore_unknown_options": True},  # -1.5 is a value
    epilog=_epilog(
        "fmacost explain fma:e4m3fn 0x38 0xb9 0x10\n"
        "fmacost explain 464 --to e4m3fn\n"
        "fmacost explain -1.5 --to e2m1fn --rounding rtz\n"
        "fmacost explain 0x7e --from e4m3fn --to e5m2"
    ),
)
def explain(
    *,
    subject: Annotated[
        list[str], typer.Argument(metavar="UNIT CODE... | VALUE | CODE", show_default=False)
    ],
    to: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="Convert into it.", show_default=False)
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="FORMAT", help="Format of a code.", show_default=False),
    ] = None,
    rounding: Annotated[
        Rounding | None, typer.Option(help="Of a conversion.", show_default="rne")
    ] = None,
    overflow: Annotated[
        Overflow | None, typer.Option(help="Of a conversion.", show_default="ieee")
    ] = None,
    json: AsJson = False,
) -> None:
    """Explain one operation or conversion: bits, exact value, neighbours, and the rounding."""
    unknown = [text for text in subject if text.startswith("--")]
    if unknown:
        raise InputError(f"No such option: {unknown[0]}; 'fmacost explain --help' explains")
    from fmacost.reports.explain_request import explain_request

    found = explain_request(subject, to, from_, rounding, overflow)
    terminal = Terminal()
    if json:
        _write_json([found.to_json()], terminal)
    else:
        terminal.write(f"{found.to_text().rstrip()}\n")


@app.command(epilog=_epilog("fmacost formats\nfmacost formats e3m4ieee fixed4.4 int6 --json"))
def formats(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FORMAT...]", help="Any format name.", show_default="standard ones"
        ),
    ] = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """List formats with their range, precision and special codes.

    Any name works: int<N>, uint<N>, fixed<I>.<F>, e<X>m<Y>[b<bias>] with ieee, fn, fnuz or f.
    """
    from fmacost.reports import tables

    chosen = [parse_format(text) for text in names] if names else list(standard_formats())
    terminal = Terminal(quiet or bool(context.obj))
    _notify_all(filter(None, map(alias_note, names or [])), terminal)
    if json:
        _write_json([tables.format_record(fmt) for fmt in chosen], terminal)
    else:
        terminal.show(tables.format_table(chosen))


@app.command(epilog=_epilog("fmacost technologies\nfmacost technologies sky130hd --json"))
def technologies(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", show_default="a table of all")
    ] = None,
    json: AsJson = False,
) -> None:
    """List the technologies that are there, or the cells of some and what each one costs.

    A name is a built-in technology, a Liberty file (.lib or .lib.gz), or a library found where kits
    are kept: NAME@pdk in PDK_ROOT, ~/.ciel or ~/.volare, NAME@orfs in ORFS_ROOT, NAME@qflow.
    """
    from fmacost.reports import tables
    from fmacost.reports.libraries import list_technologies

    terminal = Terminal()
    store = _store(True, terminal)
    if names:
        chosen = _technologies(names, store)
        if json:
            _write_json([tables.technology_record(t) for t in chosen], terminal)
        else:
            terminal.show(*tables.technology_parts(chosen))
    else:
        listed = list_technologies(store)
        if json:
            _write_json([tables.listed_record(entry) for entry in listed], terminal)
        else:
            terminal.show(tables.listed_table(listed))


@app.command(epilog=_epilog("fmacost doctor\nfmacost doctor --json"))
def doctor(context: typer.Context, json: AsJson = False, quiet: Quiet = False) -> None:
    """Say what is installed, which Yosys runs, and whether a tiny synthesis works."""
    from fmacost.reports.doctor import examine
    from fmacost.reports.tables import check_table

    terminal = Terminal(quiet or bool(context.obj))
    with terminal.progress(1) as watcher:
        watcher.begin("doctor")
        checks = list(examine(watcher))
    if json:
        _write_json([check._asdict() for check in checks], terminal)
    else:
        terminal.show(check_table(checks))
    if any(check.ok is False for check in checks):
        raise typer.Exit(TOOL_FAILED)


@app.command(epilog=_epilog("fmacost cache\nfmacost cache clear"))
def cache(
    context: typer.Context,
    action: Annotated[str, typer.Argument(metavar="[info|clear]")] = "info",
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show or clear the cache of results. FMACOST_CACHE_DIR says where it is."""
    from fmacost.reports.tables import cache_record

    terminal = Terminal(quiet or bool(context.obj))
    store = Cache(cache_folder(), terminal.notify)
    if action == "clear":
        try:
            removed = store.clear()
        except OSError as error:
            raise InputError(f"cannot clear the cache: {error}") from None
        terminal.notify(f"removed {removed} files from {store.folder}")
    elif action != "info":
        raise InputError(f"unknown cache action '{action}'; expected info or clear")
    info = store.info()
    record = cache_record(str(info.folder), info.entries, info.size_bytes)
    if json:
        _write_json([record], terminal)
    elif action == "info":
        terminal.write("".join(f"{name}: {value}\n" for name, value in record.items()))


def _measure_all(
    operations: Sequence[Operation],
    technologies: Sequence["Technology"],
    settings: Settings,
    use_cache: bool,
    terminal: Terminal,
    failures: dict[str, str] | None = None,
) -> list[Measured]:
    """Measure every unit in every technology, one after the other.

    With ``failures`` a unit that fails is left out and its reason put there, by its name.
    """
    from fmacost.hw.yosys import YosysError

    store = _store(use_cache, terminal)
    pairs = [(operation, technology) for operation in operations for technology in technologies]
    measured = []
    with terminal.progress(len(pairs)) as watcher:
        for operation, technology in pairs:
            name = f"{operation} in {technology.name}"
            watcher.begin(name)
            try:
                made = measure(operation, technology, settings, store, watcher)
            except YosysError as error:
                if failures is None:
                    raise YosysError(f"{name}: {error}") from error
                failures[str(operation)] = str(error)
                terminal.complain(f"{name}: {error}")
                watcher.finish(None)
                continue
            watcher.finish(None if made.is_cached else _finish_notice(name, made))
            measured.append(made)
    return measured


def _measure_curves(
    operations: Sequence[Operation],
    technology: "Technology",
    settings: Settings,
    use_cache: bool,
    terminal: Terminal,
) -> dict[str, list[Measured]]:
    """Return the points of each unit, by its name."""
    from fmacost.hw.yosys import YosysError

    store = _store(use_cache, terminal)
    found: dict[str, list[Measured]] = {}
    with terminal.progress(len(operations)) as watcher:
        for operation in operations:
            name = f"{operation} in {technology.name}"
            watcher.begin(name)
            try:
                points = measure_curve(operation, technology, settings, store, watcher)
            except YosysError as error:
                raise YosysError(f"{name}: {error}") from error
            last = points[-1]
            notice = f"{name}: {len(points)} points in {last.seconds:.2f} s"
            watcher.finish(None if last.is_cached else notice)
            found[str(operation)] = points
    return found


def _finish_notice(name: str, made: Measured) -> str:
    sizes = [
        f"{metric(field).show(value)} {unit}"
        for field, unit in (("transistors", "transistors"), ("area_um2", "µm²"))
        if (value := getattr(made.row, field)) is not None
    ]
    return (
        f"{name}: {', '.join(sizes)} in {made.seconds:.2f} s, "
        f"Yosys ran {made.yosys_seconds:.2f} s over all processes"
    )


def _show_rows(
    measured: Sequence[Measured],
    units: Sequence[str],
    terminal: Terminal,
    *,
    as_json: bool,
    is_check: bool,
) -> None:
    notes = list(dict.fromkeys(note for unit in units for note in unit_notes(unit)))
    rows = [m.row for m in measured]
    if as_json:
        _notify_all(notes, terminal)
        _write_json([row.to_json() for row in rows], terminal)
        return
    from fmacost.reports import tables

    columns = tables.VERIFY_COLUMNS if is_check else tables.SYNTH_COLUMNS
    terminal.show(tables.row_table(rows, columns), "", tables.row_notes(rows, notes))


def _leave(measured: Iterable[Measured], terminal: Terminal) -> None:
    """Exit with 1, and every counterexample on stderr, if a netlist is wrong."""
    wrong = [m for m in measured if m.row.verification.mismatches]
    for made in wrong:
        row = made.row
        terminal.complain(
            f"MISMATCH: {row.unit} in {row.technology} differs from the reference on "
            f"{row.verification.mismatches:,} of {row.verification.compared:,} inputs"
        )
        if made.counterexample:
            terminal.complain(made.counterexample)
    if wrong:
        raise typer.Exit(MISMATCH)


def _check_plot(path: Path | None) -> None:
    if path is not None:
        from fmacost.reports.plot import check_plot

        check_plot(path)


def _operations(units: Sequence[str]) -> list[Operation]:
    return list(dict.fromkeys(parse_unit(text) for text in units))


def _store(use_cache: bool, terminal: Terminal) -> Cache | None:
    return Cache(cache_folder(), terminal.notify) if use_cache else None


def _technologies(names: Iterable[str], store: Cache | None = None) -> list["Technology"]:
    """Return what was named, each once; ``store`` keeps what was read of files."""
    from fmacost.reports.libraries import open_technology

    opened = [open_technology(name, store) for name in dict.fromkeys(names)]
    known: dict[str, Technology] = {}
    for technology in opened:
        if known.setdefault(technology.name, technology) is not technology:
            raise InputError(f"two technologies are named {technology.name}: give one at a time")
    return opened


@dataclass(frozen=True, slots=True)
class _Export:
    kind: str
    path: Path


def _exports(**paths: Path | None) -> list[_Export]:
    """Return the wanted exports; raise InputError early if one cannot be written."""
    exports = [_Export(kind, path) for kind, path in paths.items() if path is not None]
    for export in exports:
        check_writable(export.path)
    return exports


def _write_exports(exports: Iterable[_Export], records: Sequence[Mapping[str, Any]]) -> None:
    for export in exports:
        write_output(export.path, EXPORTERS[export.kind](records))


def _check_netlist_file(path: Path, count: int) -> None:
    if path.suffix not in (".json", ".v"):
        raise InputError(f"cannot write a netlist to {path}: the name must end in .json or .v")
    if count != 1:
        raise InputError(f"--write-netlist takes one unit in one technology, not {count}")
    check_writable(path)


def _netlist_text(made: Measured, path: Path) -> str:
    if made.netlist is None:
        raise RuntimeError(f"no netlist of {made.row.unit}")
    if path.suffix == ".v":
        return made.netlist.to_verilog()
    return json_module.dumps(made.netlist.to_yosys_json(), indent=1) + "\n"


def _notify_all(notes: Iterable[str], terminal: Terminal) -> None:
    for note in notes:
        terminal.notify(f"note: {note}")


def _write_json(records: list[dict[str, Any]], terminal: Terminal) -> None:
    terminal.write(json_module.dumps(document(records), indent=2) + "\n")
