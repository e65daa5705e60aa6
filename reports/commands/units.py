"""The commands that make units: what they cost, how fast they get, whether they are right."""

from pathlib import Path
from typing import Annotated

import typer

from fmacost.reports.clocked import check_clock, read_registers
from fmacost.reports.commands.shared import (
    at_clock,
    check_plot,
    epilog,
    leave,
    measure_all,
    measure_curves,
    notify_all,
    open_cache,
    open_technologies,
    read_exports,
    read_notes,
    read_units,
    show_rows,
    write_exports,
    write_json,
    write_plot,
)
from fmacost.reports.interchange.forms import FORMS, check_forms, write_forms
from fmacost.reports.measure import Settings, check_exhaustive
from fmacost.reports.options import (
    DEFAULT_TECHNOLOGIES,
    AsJson,
    ClockPs,
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
    OneTechnology,
    PipelineRanks,
    PlotFile,
    PlotKind,
    ProcessingElement,
    Quiet,
    Seed,
    TechnologyNames,
    TimeoutSeconds,
    UnitTexts,
)
from fmacost.reports.terminal import Terminal
from fmacost.sim.formats import alias_note

app = typer.Typer()

_COMPARED_COLUMNS = (
    "cells", "gates_ge", "transistors", "ratio_transistors", "area_um2", "delay_ps", "ratio_delay",
    "slack_ps", "energy_fj", "ratio_energy", "logic_depth", "verification",
)  # fmt: skip


_SYNTH_COLUMNS = (
    "cells", "gates_ge", "transistors", "area_um2", "candidates", "logic_depth", "delay_fo4",
    "delay_ps", "energy_fj", "leakage_nw", "flip_flops", "latency_cycles", "period_fo4",
    "slack_ps", "verification",
)  # fmt: skip


@app.command(
    epilog=epilog(
        "fmacost compare int8 e4m3fn\n"
        "fmacost compare int4 e2m1fn e3m0f --export-md table.md\n"
        "fmacost compare int8 e4m3fn --technology sky130hd --technology asap7\n"
        "fmacost compare int8 e4m3fn --technology nangate45 --clock-ps 1500\n"
        "fmacost compare int8 e4m3fn --plot comparison.svg",
        _COMPARED_COLUMNS,
    )
)
def compare(
    *,
    formats: FormatTexts,
    technology: TechnologyNames = None,
    objective: ObjectiveName = Objective.AREA,
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
    plot: PlotFile = None,
    quiet: Quiet = False,
) -> None:
    """Compare the FMAs of formats: same-format, 16-bit, 32-bit and exact accumulators.

    The first format is what the others are compared with, the first technology gives the headline.
    """
    from fmacost.reports.compare import Comparison, expand, explain_names, read_formats, units_of

    chosen = read_formats(formats)
    terminal = Terminal(quiet)
    store = open_cache(not no_cache, terminal)
    technologies = open_technologies(technology or DEFAULT_TECHNOLOGIES, store)
    exports = read_exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    check_plot(plot)
    settings = Settings(objective=objective, effort=effort, jobs=jobs, timeout_s=timeout_s)
    settings = at_clock(settings, clock_ps, technologies)
    lines = expand(chosen)
    measured = measure_all(units_of(lines), technologies, settings, store, terminal)
    rows = {(m.row.unit, m.row.technology): m.row for m in measured}
    comparison = Comparison(chosen, lines, tuple(t.name for t in technologies), rows)
    records = comparison.records()
    if json:
        notify_all(filter(None, map(alias_note, formats)), terminal)
        write_json(records, terminal)
    else:
        from fmacost.reports import tables

        terminal.show(
            tables.comparison_table(comparison),
            "",
            comparison.answer(),
            "",
            tables.comparison_notes(comparison, explain_names(formats, chosen), technologies),
        )
    write_exports(exports, records)
    write_plot(plot, records, PlotKind.BARS)
    leave(measured, terminal)


@app.command(
    epilog=epilog(
        "fmacost synth fma:e4m3fn\n"
        "fmacost synth fma:int8+int32 fma:e4m3fn+fp32 -t cmos -t cmos2 --export-csv rows.csv\n"
        "fmacost synth fma:e4m3fn --objective delay --pipeline 3\n"
        "fmacost synth fma:int8+int32 fma:e4m3fn+fp32 --pe\n"
        "fmacost synth fma:int8+int32 fma:e4m3fn -t nangate45 --clock-ps 1000",
        _SYNTH_COLUMNS,
    )
)
def synth(
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
    pipeline: PipelineRanks = None,
    pe: ProcessingElement = False,
    clock_ps: ClockPs = None,
    quiet: Quiet = False,
) -> None:
    """Synthesise units, check the mapped netlists, print what they cost. Default: cmos."""
    operations = read_units(units)
    terminal = Terminal(quiet)
    store = open_cache(not no_cache, terminal)
    technologies = open_technologies(technology or DEFAULT_TECHNOLOGIES[:1], store)
    exports = read_exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    check_exhaustive(operations if exhaustive else [])
    registers = read_registers(pipeline, pe, operations, technologies)
    settings = Settings(
        objective=objective, effort=effort, exhaustive=exhaustive, seed=seed, jobs=jobs,
        timeout_s=timeout_s, registers=registers,
    )  # fmt: skip
    settings = at_clock(settings, clock_ps, technologies)
    measured = measure_all(operations, technologies, settings, store, terminal)
    show_rows(measured, units, terminal, as_json=json, is_check=False)
    write_exports(exports, [m.row.to_json() for m in measured])
    leave(measured, terminal)


@app.command(
    epilog=epilog(
        "fmacost curve fma:int8+int32 fma:e4m3fn --technology nangate45\n"
        "fmacost curve fma:int8+int32 fma:e4m3fn -t nangate45 --clock 1000 --clock 700\n"
        "fmacost curve fma:int8+int32 fma:e4m3fn+fp32 --plot curve.svg",
        ("transistors", "area_um2", "delay_fo4", "delay_ps", "slack_ps", "verification"),
    )
)
def curve(
    *,
    units: UnitTexts,
    technology: OneTechnology = DEFAULT_TECHNOLOGIES[0],
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

    operations = read_units(units)
    clocks = [check_clock(each, "--clock") for each in clock or ()]
    terminal = Terminal(quiet)
    store = open_cache(not no_cache, terminal)
    (chosen,) = open_technologies([technology], store)
    exports = read_exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    check_plot(plot)
    check_exhaustive(operations if exhaustive else [])
    settings = Settings(
        effort=effort, exhaustive=exhaustive, seed=seed, jobs=jobs, timeout_s=timeout_s
    )
    measured = measure_curves(operations, chosen, settings, store, terminal)
    made = [curves.make_curve(unit, (m.row for m in points)) for unit, points in measured.items()]
    found = [each for each in made if each is not None]
    notes = read_notes(units)
    if found:
        clocked = curves.at_clocks(found, clocks or curves.common_clocks(found))
        records = curves.records(found, clocked)
        if json:
            notify_all(notes, terminal)
            write_json(records, terminal)
        else:
            rows = [row for each in found for row in each.rows]
            text = tables.row_notes(rows, [*notes, *curves.curve_notes(found)])
            terminal.show(
                curves.curve_table(found), "", curves.clock_table(found, clocked), "", text
            )
        write_exports(exports, records)
        write_plot(plot, records, PlotKind.FRONTIER)
    leave([m for points in measured.values() for m in points], terminal)


@app.command(
    epilog=epilog(
        "fmacost verify fma:e4m3fn\n"
        "fmacost verify mul:fp16 --exhaustive\n"
        "fmacost verify fma:fp32 fma:bf16,rtz --seed 7",
        ("verification_method", "vectors", "mismatches", "regions"),
    )
)
def verify(
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
    operations = read_units(units)
    terminal = Terminal(quiet)
    store = open_cache(not no_cache, terminal)
    technologies = open_technologies(technology or DEFAULT_TECHNOLOGIES[:1], store)
    exports = read_exports(json=export_json, csv=export_csv, md=export_md, tex=export_tex)
    check_exhaustive(operations if exhaustive else [])
    settings = Settings(
        objective=objective, effort=effort, exhaustive=exhaustive, seed=seed, jobs=jobs,
        timeout_s=timeout_s, recheck=True,
    )  # fmt: skip
    measured = measure_all(operations, technologies, settings, store, terminal)
    show_rows(measured, units, terminal, as_json=json, is_check=True)
    write_exports(exports, [m.row.to_json() for m in measured])
    leave(measured, terminal)


@app.command(
    epilog=epilog(
        "fmacost export fma:e4m3fn -o fma.v -o fma.tb.v\n"
        "fmacost export fma:int8+int32 -o mac.rtl.v -o mac.aig -o mac.sp\n"
        "fmacost export fma:e4m3fn --objective delay --pipeline 2 -o pipeline.v\n"
        "fmacost export fma:e4m3fn -t nangate45 -o fma.py\n"
        "fmacost export fma:e4m3fn -t nangate45 -o fma.csv -o nangate45.table.yaml"
    )
    + "\n\n\b\nForms, by the end of a file's name:\n"
    + "\n".join(f"  {suffix:<11} {form.text}" for suffix, form in FORMS.items())
)
def export(
    *,
    unit: Annotated[str, typer.Argument(metavar="UNIT", help="Such as fma:e4m3fn, mul:fp16,rtz.")],
    output: Annotated[
        list[Path],
        typer.Option("--output", "-o", metavar="FILE", help="Several times for several forms."),
    ],
    technology: OneTechnology = DEFAULT_TECHNOLOGIES[0],
    objective: ObjectiveName = Objective.AREA,
    effort: EffortName = Effort.NORMAL,
    seed: Seed = 0,
    jobs: Jobs = None,
    timeout_s: TimeoutSeconds = 120.0,
    no_cache: NoCache = False,
    pipeline: PipelineRanks = None,
    pe: ProcessingElement = False,
    clock_ps: ClockPs = None,
    quiet: Quiet = False,
) -> None:
    """Write one unit and its proven netlist for other tools: Verilog, BLIF, AIGER, SPICE, ..."""
    (operation,) = read_units([unit])
    terminal = Terminal(quiet)
    store = open_cache(not no_cache, terminal)
    technologies = open_technologies([technology], store)
    registers = read_registers(pipeline, pe, [operation], technologies)
    settings = Settings(
        objective=objective, effort=effort, seed=seed, jobs=jobs, timeout_s=timeout_s,
        with_netlist=True, registers=registers,
    )  # fmt: skip
    settings = at_clock(settings, clock_ps, technologies)
    check_forms(output, technologies[0], registers)
    (made,) = measure_all([operation], technologies, settings, store, terminal)
    from fmacost.reports.interchange.design import make_design

    assert made.netlist is not None  # it was asked for
    write_forms(
        output, make_design(operation, technologies[0], registers, made.row, made.netlist, seed)
    )
    leave([made], terminal)
