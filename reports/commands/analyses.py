"""The commands that look into units: stages, energies, features, accumulators, known figures."""

from typing import Annotated

import typer

from fmacost.reports.clocked import read_registers
from fmacost.reports.commands.shared import (
    TOOL_FAILED,
    at_clock,
    check_plot,
    epilog,
    leave,
    measure_all,
    notify_all,
    open_cache,
    open_technologies,
    read_exports,
    read_notes,
    read_units,
    write_exports,
    write_json,
    write_plot,
)
from fmacost.reports.export import write_output
from fmacost.reports.measure import ENERGY_VECTORS, Settings
from fmacost.reports.options import (
    DEFAULT_TECHNOLOGIES,
    AsJson,
    ClockPs,
    Effort,
    EffortName,
    ExportCsv,
    ExportJson,
    ExportMd,
    ExportTex,
    Jobs,
    NoCache,
    Objective,
    ObjectiveName,
    PipelineRanks,
    PlotFile,
    PlotKind,
    ProcessingElement,
    Quiet,
    TechnologyNames,
    TimeoutSeconds,
    UnitTexts,
)
from fmacost.reports.terminal import Terminal
from fmacost.sim.operation import parse_unit, unit_notes

app = typer.Typer()


@app.command(
    epilog=epilog(
        "fmacost breakdown fma:e4m3fn\n"
        "fmacost breakdown fma:e4m3fn fma:int8+int32 --plot stages.svg",
        ("transistors", "verification"),
    )
)
def breakdown(
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

    operations = read_units(units)
    exports = read_exports(json=export_json, csv=export_csv, md=export_md)
    check_plot(plot)
    terminal = Terminal(quiet)
    (technology,) = open_technologies(DEFAULT_TECHNOLOGIES[:1])
    settings = Settings(objective=objective, effort=effort, jobs=jobs, timeout_s=timeout_s)
    store = open_cache(not no_cache, terminal)
    measured = measure_all(operations, [technology], settings, store, terminal)
    found = []
    with terminal.progress(len(operations)) as watcher:
        for operation, made in zip(operations, measured, strict=True):
            watcher.begin(f"stages of {operation}")
            found.append(
                stages.break_down(operation, technology, made.row, store, timeout_s=timeout_s)
            )
            watcher.finish(None)
    notes = read_notes(units)
    if json:
        notify_all(notes, terminal)
        write_json(stages.records(found), terminal)
    else:
        notes += stages.breakdown_notes(found)
        rows = [b.row for b in found]
        terminal.show(stages.breakdown_table(found), "", tables.row_notes(rows, notes))
    for export in exports:
        write_output(export.path, stages.EXPORTERS[export.kind](found))
    write_plot(plot, stages.records(found), PlotKind.BARS)
    leave(measured, terminal)


@app.command(
    epilog=epilog(
        "fmacost path fma:e4m3fn\n"
        "fmacost path fma:e4m3fn -t nangate45 --clock-ps 1500\n"
        "fmacost path fma:e4m3fn -t nangate45 --objective delay --pipeline 2\n"
        "fmacost path fma:int8+int32 --technology sky130hd --objective delay --export-csv path.csv",
        ("stage", "fan_out", "load_ff", "slew_ps", "increment_ps", "arrival_ps", "likeness"),
    )
)
def path(
    *,
    units: UnitTexts,
    technology: TechnologyNames = None,
    objective: ObjectiveName = Objective.AREA,
    pipeline: PipelineRanks = None,
    pe: ProcessingElement = False,
    clock_ps: ClockPs = None,
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
    """Show the critical path of units cell by cell, and what each stage takes. Default: cmos.

    With registers it leads from one to the next, and is as long as the clock period.
    """
    from fmacost.reports import path as paths
    from fmacost.reports import tables

    operations = read_units(units)
    terminal = Terminal(quiet)
    store = open_cache(not no_cache, terminal)
    technologies = open_technologies(technology or DEFAULT_TECHNOLOGIES[:1], store)
    exports = read_exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    paths.check_delays(technologies)
    registers = read_registers(pipeline, pe, operations, technologies)
    settings = Settings(
        objective=objective, effort=effort, jobs=jobs, timeout_s=timeout_s, with_netlist=True,
        registers=registers,
    )  # fmt: skip
    settings = at_clock(settings, clock_ps, technologies)
    measured = measure_all(operations, technologies, settings, store, terminal)
    pairs = [(operation, technology) for operation in operations for technology in technologies]
    found = [
        paths.critical_path(
            operation, technology, made.row, made.netlist, registers=registers, timeout_s=timeout_s
        )
        for (operation, technology), made in zip(pairs, measured, strict=True)
        if made.netlist is not None
    ]
    notes = read_notes(units)
    records = [each.to_json() for each in found]
    if json:
        notify_all(notes, terminal)
        write_json(records, terminal)
    else:
        for each in found:
            terminal.show(*paths.shown(each))
        notes += paths.path_notes(found)
        terminal.show(tables.row_notes([m.row for m in measured], notes))
    flat = [line for each in found for line in each.records()]
    for export in exports:
        write_exports([export], records if export.kind == "json" else flat)
    leave(measured, terminal)


@app.command(
    epilog=epilog(
        "fmacost energy fma:int8+int32 fma:e4m3fn\n"
        "fmacost energy fma:e4m3fn --stream gaussian --glitches --vectors 100000\n"
        "fmacost energy mul:int8 --stream operands.npy\n"
        "fmacost energy fma:int8+int32 fma:e4m3fn+fp32 -t nangate45 --pe",
        (
            "toggles",
            "register_energy_fj",
            "clock_energy_fj",
            "energy_fj",
            "switched_capacitance",
            "ratio_energy",
            "leakage_nw",
        ),
    )
)
def energy(
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
    ] = ENERGY_VECTORS,
    seed: Annotated[int, typer.Option(min=0, help="Seed of streams, and of sampled checks.")] = 0,
    glitches: Annotated[
        bool, typer.Option("--glitches", help="Count glitches too, by a unit-delay model.")
    ] = False,
    pipeline: PipelineRanks = None,
    pe: ProcessingElement = False,
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

    operations = read_units(units)
    sources = energies.parse_sources(stream or energies.BUILT_IN, vectors, seed)
    terminal = Terminal(quiet)
    store = open_cache(not no_cache, terminal)
    technologies = open_technologies(technology or DEFAULT_TECHNOLOGIES[:1], store)
    registers = read_registers(pipeline, pe, operations, technologies)
    for source in sources:
        for operation in operations:
            source.check(operation, registers)
    exports = read_exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    settings = Settings(
        objective=objective, effort=effort, seed=seed, jobs=jobs, timeout_s=timeout_s,
        with_netlist=True, registers=registers,
    )  # fmt: skip
    measured = measure_all(operations, technologies, settings, store, terminal)
    found = energies.measure_all(
        measured, operations, technologies, sources, registers=registers, glitches=glitches
    )
    notes = read_notes(units)
    records = energies.records(found)
    if json:
        notify_all(notes, terminal)
        write_json(records, terminal)
    else:
        text = tables.row_notes([m.row for m in measured], [*notes, *energies.energy_notes(found)])
        terminal.show(energies.energy_table(found), "", text)
    write_exports(exports, records)
    leave(measured, terminal)


@app.command(
    epilog=epilog(
        "fmacost calibrate --effort quick\nfmacost calibrate --only evoapprox --export-csv k.csv",
        ("theirs", "ours", "ratio_theirs", "why"),
    )
)
def calibrate(
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
    exports = read_exports(json=export_json, csv=export_csv, md=export_md)
    terminal = Terminal(quiet)
    settings = Settings(effort=effort, jobs=jobs, timeout_s=timeout_s)
    units = known.units_in(references)
    technologies = open_technologies(units)
    store = open_cache(not no_cache, terminal)
    measured = [
        made
        for technology in technologies
        for made in measure_all(units[technology.name], [technology], settings, store, terminal)
    ]
    rows = {(made.row.unit, made.row.technology): made.row for made in measured}
    found = known.calibrate(references, rows, {t.name: t for t in technologies})
    records = [one.to_json() for one in found]
    if json:
        write_json(records, terminal)
    else:
        notes = known.calibration_notes(found, technologies)
        text = tables.row_notes(list(rows.values()), notes)
        terminal.show(known.calibration_table(found), "", text)
    write_exports(exports, records)
    leave(measured, terminal)


@app.command(
    epilog=epilog(
        "fmacost ablate fma:e4m3fn\nfmacost ablate fma:int8+int32 --export-md features.md",
        ("transistors", "verification"),
    )
)
def ablate(
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
    exports = read_exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    terminal = Terminal(quiet)
    found = features.variants(operation)
    settings = Settings(objective=objective, effort=effort, jobs=jobs, timeout_s=timeout_s)
    operations = [variant.operation for variant in found]
    technologies = open_technologies(DEFAULT_TECHNOLOGIES[:1])
    store = open_cache(not no_cache, terminal)
    measured = measure_all(operations, technologies, settings, store, terminal)
    rows = {made.row.unit: made.row for made in measured}
    records = features.records(found, rows)
    notes = [*unit_notes(unit), *features.left_out(operation)]
    if json:
        notify_all(notes, terminal)
        write_json(records, terminal)
    else:
        text = tables.row_notes(list(rows.values()), notes)
        terminal.show(features.ablation_table(found, rows), "", text)
    write_exports(exports, records)
    leave(measured, terminal)


@app.command(
    epilog=epilog(
        "fmacost accumulators\nfmacost accumulators --operands int8,e4m3fn --plot accumulators.svg",
        ("accumulator", "transistors", "verification"),
    )
)
def accumulators(
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
    exports = read_exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    check_plot(plot)
    terminal = Terminal(quiet)
    lines = matrices.expand_matrix(formats)
    settings = Settings(objective=objective, effort=effort, jobs=jobs, timeout_s=timeout_s)
    (technology,) = open_technologies(DEFAULT_TECHNOLOGIES[:1])
    failures: dict[str, str] = {}
    store = open_cache(not no_cache, terminal)
    measured = measure_all(units_of(lines), [technology], settings, store, terminal, failures)
    matrix = matrices.Matrix(formats, lines, {m.row.unit: m.row for m in measured}, failures)
    if json:
        write_json(matrix.records(), terminal)
    else:
        text = "\n".join(f"- {note}" for note in matrices.accumulator_notes(matrix))
        rows = tables.verification_note(list(matrix.rows.values()))
        published = matrices.beside_published(matrix)
        terminal.show(
            matrices.accumulator_table(matrix), "", f"{text}\n- {rows}",
            *(["", published] if published else []),
        )  # fmt: skip
    write_exports(exports, matrix.records())
    write_plot(plot, matrix.records(), PlotKind.BARS, x="operands", series="accumulator")
    leave(measured, terminal)
    if failures:
        raise typer.Exit(TOOL_FAILED)
