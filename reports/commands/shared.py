"""What the commands share: from the names a user gave to what is measured, shown and written."""

import json as json_module
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fmacost.reports.cache import Cache, cache_folder
from fmacost.reports.clocked import check_clocks
from fmacost.reports.errors import InputError
from fmacost.reports.export import EXPORTERS, check_parquet, check_writable, write_output
from fmacost.reports.measure import Measured, Settings, measure, measure_curve
from fmacost.reports.metrics import definitions, metric
from fmacost.reports.options import PlotKind
from fmacost.reports.row import Record, Records, document
from fmacost.reports.terminal import Terminal
from fmacost.sim.operation import Operation, parse_unit, unit_notes

if TYPE_CHECKING:
    from fmacost.hw.technology import Technology
    from fmacost.reports.row import Row

MISMATCH, USAGE, TOOL_FAILED = 1, 2, 3


def epilog(examples: str, columns: Sequence[str] = ()) -> str:
    """Return the end of a help text: examples, and what the columns mean."""
    # \b is typer's mark for lines that are not to be filled
    parts = ["\b\nExamples:", *(f"  {line}" for line in examples.strip().split("\n"))]
    if columns:
        parts += ["", "\b\nColumns:", *(f"  {line}" for line in definitions(*columns).split("\n"))]
    return "\n".join(parts)


def measure_all(
    operations: Sequence[Operation],
    technologies: Sequence["Technology"],
    settings: Settings,
    store: Cache | None,
    terminal: Terminal,
    failures: dict[str, str] | None = None,
) -> list[Measured]:
    """Measure every unit in every technology, one after the other.

    With ``failures`` a unit that fails is left out and its reason put there, by its name.
    """
    from fmacost.hw.yosys import YosysError

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


def show_rows(
    measured: Sequence[Measured],
    units: Sequence[str],
    terminal: Terminal,
    *,
    as_json: bool,
    is_check: bool,
) -> None:
    """Show rows as a table with notes, or as JSON."""
    notes = read_notes(units)
    rows = [m.row for m in measured]
    if as_json:
        notify_all(notes, terminal)
        write_json([row.to_json() for row in rows], terminal)
        return
    from fmacost.reports import tables

    columns = tables.VERIFY_COLUMNS if is_check else tables.SYNTH_COLUMNS
    terminal.show(tables.row_table(rows, columns), "", tables.row_notes(rows, notes))


def leave(measured: Iterable[Measured], terminal: Terminal) -> None:
    """Exit with 1, and every counterexample on stderr, if a netlist is wrong."""
    wrong = [m for m in measured if m.row.verification.mismatches]
    for made in wrong:
        complain_mismatch(made.row, made.counterexample, terminal)
    if wrong:
        raise typer.Exit(MISMATCH)


def complain_mismatch(row: "Row", counterexample: str | None, terminal: Terminal) -> None:
    """Say that a netlist is wrong, and on which operands."""
    terminal.complain(mismatch_text(row, counterexample))


def mismatch_text(row: "Row", counterexample: str | None) -> str:
    """Return that a netlist is wrong, and on which operands."""
    text = (
        f"MISMATCH: {row.unit} in {row.technology} differs from the reference on "
        f"{row.verification.mismatches:,} of {row.verification.compared:,} inputs"
    )
    return f"{text}\n{counterexample}" if counterexample else text


def check_plot(path: Path | None) -> None:
    """Raise InputError early if a plot is wanted and cannot be drawn there."""
    if path is not None:
        from fmacost.reports.plots.style import check_plot

        check_plot(path)


def write_plot(path: Path | None, records: Iterable[Record], kind: PlotKind, **wish: Any) -> None:
    """Draw records if that is wanted: the picture that ``fmacost plot`` makes of their export."""
    if path is not None:
        from fmacost.reports.plots.saved import Wish, draw_table
        from fmacost.reports.saved import flatten

        flat = [line for record in records for line in flatten(record)]
        write_output(path, draw_table(flat, kind, path.suffix.lower(), Wish(**wish)))


def read_units(units: Sequence[str]) -> list[Operation]:
    """Return the operations that were named, each once."""
    return list(dict.fromkeys(parse_unit(text) for text in units))


def read_notes(units: Sequence[str]) -> list[str]:
    """Return how the names of units were read, each note once."""
    return list(dict.fromkeys(note for unit in units for note in unit_notes(unit)))


def at_clock(
    settings: Settings, clock_ps: float | None, technologies: Sequence["Technology"]
) -> Settings:
    """Return settings for a clock if there is one; raise InputError if it cannot be."""
    check_clocks(clock_ps, settings.objective, technologies)
    return settings if clock_ps is None else replace(settings, objective="clock", clock_ps=clock_ps)


def open_cache(use_cache: bool, terminal: Terminal) -> Cache | None:
    """Return the cache of results, None where none is to be used."""
    return Cache(cache_folder(), terminal.notify) if use_cache else None


def open_technologies(names: Iterable[str], store: Cache | None = None) -> list["Technology"]:
    """Return what was named, each once; ``store`` keeps what was read of files."""
    from fmacost.reports.libraries import open_technology

    opened = [open_technology(name, store) for name in dict.fromkeys(names)]
    known: dict[str, Technology] = {}
    for technology in opened:
        if known.setdefault(technology.name, technology) is not technology:
            raise InputError(f"two technologies are named {technology.name}: give one at a time")
    return opened


@dataclass(frozen=True, slots=True)
class Export:
    """A file that is to be written, and in which form: a name of ``EXPORTERS``."""

    kind: str
    path: Path


def read_exports(**paths: Path | None) -> list[Export]:
    """Return the wanted exports; raise InputError early if one cannot be written."""
    exports = [Export(kind, path) for kind, path in paths.items() if path is not None]
    if paths.get("parquet") is not None:
        check_parquet()
    for export in exports:
        check_writable(export.path)
    return exports


def write_exports(exports: Iterable[Export], records: Records) -> None:
    """Write records into the files that were wanted."""
    for export in exports:
        write_output(export.path, EXPORTERS[export.kind](records))


def notify_all(notes: Iterable[str], terminal: Terminal) -> None:
    """Say each note in one line on stderr."""
    for note in notes:
        terminal.notify(f"note: {note}")


def write_json(records: list[dict[str, Any]], terminal: Terminal) -> None:
    """Write one JSON document to stdout."""
    terminal.write(json_module.dumps(document(records), indent=2) + "\n")


def measure_curves(
    operations: Sequence[Operation],
    technology: "Technology",
    settings: Settings,
    store: Cache | None,
    terminal: Terminal,
) -> dict[str, list[Measured]]:
    """Return the points of each unit, by its name."""
    from fmacost.hw.yosys import YosysError

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
