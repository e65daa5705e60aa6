"""What is on a page, made from the JSON of saved tables and from nothing else.

Everything here is text and numbers for people; the template lays it out, ``charts`` draws.
"""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fmacost.reports.breakdown import INTEGER_STAGES, Breakdown
from fmacost.reports.compare import RATIOS, SAME, Comparison, Line, expand, units_of
from fmacost.reports.curve import at_clocks, common_clocks, delay, delay_metric, make_curve
from fmacost.reports.errors import InputError, printable
from fmacost.reports.metrics import OBJECTIVE_TEXTS, Better, Metric, metric, show_count
from fmacost.reports.row import Record, Row, RowError
from fmacost.reports.tables import verification_note
from fmacost.reports.widths import Panel, panels
from fmacost.sim.formats import FormatError
from fmacost.sim.operation import OperationError, parse_unit

_Key = tuple[str, str, str, str, float | None, str]

# What an integer unit does too; all else is what makes a float of it.
ARITHMETIC = (*INTEGER_STAGES, "partial products", "compression", "final add")
_COLUMNS = (
    "unit", "technology", "accumulator", "cells", "gates_ge", "transistors", "ratio_transistors",
    "area_um2", "ratio_area", "logic_depth", "delay_fo4", "delay_ps", "ratio_delay", "energy_fj",
    "ratio_energy", "leakage_nw", "flip_flops", "latency_cycles", "period_fo4", "period_ps",
    "fmax_ghz", "clock_ps", "slack_ps", "objective", "effort", "verification", "candidates",
    "recipe", "architecture",
)  # fmt: skip
_HEADLINE = ("unit", "technology", "gates_ge", "transistors", "area_um2", "delay_fo4", "delay_ps",
             "energy_fj", "verification")  # fmt: skip
_DETAILS = (
    "transistors", "area_um2", "gates_ge", "cells", "logic_depth", "delay_fo4", "delay_ps",
    "energy_fj", "leakage_nw", "flip_flops", "period_ps", "slack_ps", "architecture", "recipe",
    "candidates", "versions",
)  # fmt: skip
# What the facts of a unit are called, where headings of tables are shorter.
_LABELS = {
    "area_um2": "area, µm²", "gates_ge": "gate equivalents", "delay_fo4": "delay, FO4",
    "delay_ps": "delay, ps", "energy_fj": "energy, fJ", "leakage_nw": "leakage, nW",
    "period_ps": "period, ps", "slack_ps": "slack, ps",
}  # fmt: skip
# What other commands add to a row.
_ADDED = (
    "stages", "groups", "stages_sum", "saved_by_flattening", "path_start", "path_end", "path",
    "path_stages",
)  # fmt: skip
_ENERGIES = ("energy_fj", "switched_capacitance")  # the second where a technology has no energies
_SAID_ABOVE = ("objective", "effort")  # among the facts, where it is the same for all rows
_MOST_NAMED = 4  # units in the sentence of a page that compares no formats
_SHOWN_HEADLINE = 12


@dataclass(frozen=True, slots=True)
class Heading:
    """A column: its name in exports, what people read, and whether it is of numbers."""

    name: str
    text: str
    is_number: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """What people read, and what is sorted and copied."""

    text: str
    value: object = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a table; ``anchor`` is what links to it name, empty where there is none."""

    cells: tuple[Cell, ...]
    anchor: str = ""
    is_proven: bool = True
    is_last: bool = False  # of a group


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and lines."""

    headings: tuple[Heading, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Titled:
    """A table in a section of charts."""

    section: str
    title: str
    note: str
    table: Table


@dataclass(frozen=True, slots=True)
class Tile:
    """A ratio that stands for a line of a comparison."""

    label: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class StagePart:
    """A stage of a unit and its share of the sum of all, 0 ... 1."""

    name: str
    transistors: int
    share: float
    is_arithmetic: bool


@dataclass(frozen=True, slots=True)
class Known:
    """A row, its JSON as it was saved, and the name that links to it have."""

    row: Row
    record: Record
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPart:
    """The critical path of one row of a unit.

    Attributes
    ----------
    title : where it is, from where to where, and how long
    stages : name, cells, delay, and share of the whole, 0 ... 1
    steps : stage, cell, pins, fan-out, delay and arrival of each cell
    """

    title: str
    unit: str
    stages: tuple[tuple[str, str, str, float], ...]
    steps: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitPart:
    """A section about one unit.

    Attributes
    ----------
    inputs, result : ports with their formats; empty if the unit is no name of ours
    made : title and anchor of each of its rows
    facts : what is known of them, by name one text for each
    stages : in the order in which data passes; what works side by side is one group
    """

    name: str
    anchor: str
    semantics: tuple[str, ...]
    inputs: tuple[str, ...]
    result: str
    made: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, tuple[str, ...]], ...]
    stages: tuple[tuple[StagePart, ...], ...]
    breakdown: Breakdown | None
    paths: tuple[PathPart, ...]


@dataclass(frozen=True, slots=True)
class TechnologyPart:
    """What is known of a technology."""

    name: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """All that a page says.

    Attributes
    ----------
    comparison : None where the tables compare no formats
    beside : tables in the sections of charts
    paths : JSON of rows whose critical path is known
    energies : JSON of rows with a stream of operands and what it takes
    widths : integers beside floats of as many bits, of other units
    failures : points without numbers, with ``unit``, ``technology`` and ``error``
    """

    title: str
    answer: str
    verification: str
    is_proven: bool
    facts: tuple[tuple[str, str], ...]
    comparison: Comparison | None
    tiles: tuple[Tile, ...]
    headline: Table
    table: Table
    known: tuple[Known, ...]
    breakdowns: tuple[Breakdown, ...]
    units: tuple[UnitPart, ...]
    technologies: tuple[TechnologyPart, ...]
    definitions: tuple[Metric, ...]
    failures: tuple[Record, ...]
    beside: tuple[Titled, ...]
    paths: tuple[Record, ...]
    energies: tuple[Record, ...]
    widths: tuple[Panel, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, each once."""
        return tuple(one.row for one in self.known)

    @property
    def records(self) -> list[Record]:
        """JSON of all rows, and of the points without numbers."""
        return [*(one.record for one in self.known), *self.failures]

    @property
    def stages(self) -> list[Record]:
        """JSON of the units whose stages are known."""
        return [breakdown.to_json() for breakdown in self.breakdowns]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the technologies, the headline's first."""
        return tuple(dict.fromkeys(row.technology for row in self.rows))


def make_contents(records: Iterable[Record], widths: Iterable[Record] = ()) -> Contents:
    """Return what a page says of the rows of saved tables.

    Parameters
    ----------
    records : rows as ``compare``, ``synth``, ``sweep``, ``curve``, ``breakdown``, ``path`` and
        ``energy`` export them as JSON; one with ``stages``, a ``path`` or a ``stream`` adds them to
        a row that is otherwise the same
    widths : flat records of a sweep over widths

    Raises
    ------
    InputError
        If a record is no cost row, or none is left.
    """
    known, breakdowns, paths, energies, failures = _read(records)
    if not known:
        raise InputError("there is no row to report, expected at least one")
    rows = tuple(one.row for one in known)
    comparison = find_comparison(known)
    return Contents(
        title=_title(rows, comparison),
        answer=_answer(rows) if comparison is None else comparison.answer(),
        verification=verification_note(rows),
        is_proven=all(row.verification.is_proven for row in rows),
        facts=tuple(_facts(rows)),
        comparison=comparison,
        tiles=() if comparison is None else tuple(_tiles(comparison)),
        headline=_headline(known) if comparison is None else _compared(comparison, known),
        table=_table(known, _COLUMNS),
        known=tuple(known),
        breakdowns=tuple(breakdowns.values()),
        units=tuple(_units(known, breakdowns, paths)),
        technologies=tuple(map(_technology, dict.fromkeys(row.technology for row in rows))),
        definitions=tuple(replace(m, heading=_text(m)) for m in _present(known, _COLUMNS)),
        failures=tuple(failures),
        beside=(*_at_clocks(rows), *_energies(energies, comparison)),
        paths=tuple(paths.values()),
        energies=tuple(energies),
        widths=tuple(panel for panel in panels(widths) if len(panel.widths) > 1),
    )


def _read(
    records: Iterable[Record],
) -> tuple[
    list[Known], dict[_Key, Breakdown], dict[_Key, Record], list[Record], list[Record]
]:  # fmt: skip
    """Return rows, each once, stages, paths and energies of some, and points without numbers."""
    known: dict[_Key, Known] = {}
    breakdowns: dict[_Key, Breakdown] = {}
    paths: dict[_Key, Record] = {}
    energies = []
    failures = []
    anchors: set[str] = set()
    for i, record in enumerate(records):
        if "error" in record:
            failures.append(record)
            continue
        try:
            row = Row.from_json(record)
            breakdown = _breakdown(row, record)
            if "path" in record:
                _path(record)
                paths[_key(row)] = record
            if "stream" in record:  # what it takes is of the stream, not of the row
                energy_field(record)
                energies.append(record)
                row = replace(row, energy_fj=None)
                record = row.to_json()
        except RowError as error:
            raise InputError(f"row {i + 1} is no cost row: {printable(str(error))}") from None
        if breakdown is not None:
            breakdowns[_key(row)] = breakdown
        if _key(row) not in known:
            name = slug(f"row {row.unit} {row.technology}")
            anchor = next(a for a in _numbered(name) if a not in anchors)
            anchors.add(anchor)
            own = {name: value for name, value in record.items() if name not in _ADDED}
            known[_key(row)] = Known(row, own, anchor)
    return list(known.values()), breakdowns, paths, energies, failures


def energy_field(record: Record) -> str:
    """Return the field that says what a stream takes; raise RowError if there is none."""
    name = next((name for name in _ENERGIES if record.get(name) is not None), "")
    if not isinstance(record["stream"], str) or not name:
        raise RowError("a stream must have a name and energy_fj, or switched_capacitance")
    _number(record, name, "a stream")
    return name


def find_comparison(known: Sequence[Known]) -> Comparison | None:
    """Return the comparison that rows were exported from, None if there is none or a part of it."""
    compared = [one for one in known if "accumulator" in one.record]
    same = [one.row.unit for one in compared if one.record["accumulator"] == SAME]
    try:
        formats = tuple(dict.fromkeys(parse_unit(unit).result for unit in same))
    except (OperationError, FormatError):
        return None
    if len(formats) < 2:
        return None
    rows = {(one.row.unit, one.row.technology): one.row for one in compared}
    technologies = tuple(dict.fromkeys(technology for _, technology in rows))
    lines = expand(formats)
    needed = {(str(unit), name) for unit in units_of(lines) for name in technologies}
    return Comparison(formats, lines, technologies, rows) if needed <= rows.keys() else None


def slug(text: str) -> str:
    """Return text as an address may have it: lower case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def show_times(ratio: float) -> str:
    """Return a ratio as the page has it."""
    return f"{ratio:.2f}×"


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{i}" for i in itertools.count(2))


def _key(row: Row) -> _Key:
    """Return what tells rows apart."""
    return (row.unit, row.technology, row.objective, row.effort, row.clock_ps, row.digest)


def _breakdown(row: Row, record: Record) -> Breakdown | None:
    stages = record.get("stages")
    if stages is None:
        return None
    is_counts = isinstance(stages, Mapping) and all(
        type(count) is int and count >= 0 for count in stages.values()
    )
    if not is_counts or row.transistors is None:
        raise RowError("stages must be counts of transistors")
    return Breakdown(row, {str(name): count for name, count in stages.items()})


def _title(rows: Sequence[Row], comparison: Comparison | None) -> str:
    if comparison is not None:
        first, *others = (fmt.name for fmt in comparison.formats)
        return f"{first} against {_listed(others)}"
    units = list(dict.fromkeys(row.unit for row in rows))
    return _listed(units) if len(units) <= _MOST_NAMED else f"{len(units):,} units"


def _listed(texts: Sequence[str]) -> str:
    *most, last = texts
    return f"{', '.join(most)} and {last}" if most else last


def _answer(rows: Sequence[Row]) -> str:
    """Return a sentence on the sizes of units that no comparison of formats has."""
    head = rows[0]
    name = head.size_metric
    chosen = [r for r in rows if r.technology == head.technology and r.size_metric == name]
    unit = f" {metric(name).unit}"
    start = f"In {head.technology}, optimised for {OBJECTIVE_TEXTS.get(head.objective, '?')}, "
    if len({row.unit for row in chosen}) < len(chosen) or len(chosen) > _MOST_NAMED:
        low, high = min(chosen, key=_size), max(chosen, key=_size)
        return (
            f"{start}{len(chosen):,} rows range from {metric(name).show(low.size)}{unit} "
            f"({low.unit}) to {metric(name).show(high.size)} ({high.unit})."
        )
    parts = [f"{head.unit} takes {metric(name).show(head.size)}{unit}"]
    for row in chosen[1:]:
        times = f", {row.size / head.size:.2f} times as much" if head.size else ""
        parts.append(f"{row.unit} {metric(name).show(row.size)}{times}")
    return f"{start}{'; '.join(parts)}."


def _size(row: Row) -> float:
    return row.size


def _facts(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield what all numbers depend on."""
    yield "Technology", _each(row.technology for row in rows)
    yield "Optimised for", _each(OBJECTIVE_TEXTS.get(r.objective, r.objective) for r in rows)
    yield "Effort", _each(row.effort for row in rows)
    yield "Made with", _each(metric("versions").text(row.to_json()) for row in rows)


def _each(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts))


def _tiles(comparison: Comparison) -> Iterator[Tile]:
    """Yield the ratios of a comparison of two formats in the first technology."""
    if len(comparison.formats) != 2:
        return
    technology = comparison.technologies[0]
    for line in comparison.lines:
        ratio = comparison.ratio(line, 1, technology)
        sides = [comparison.row(line, side, technology) for side in (0, 1)]
        if ratio is None or None in sides:
            continue
        rows = [row for row in sides if row is not None]
        sizes = [metric(row.size_metric).show(row.size) for row in rows]
        unit = metric(rows[0].size_metric).unit
        yield Tile(line.accumulator, f"{ratio:.2f}", f"{' → '.join(sizes)} {unit}")


def _heading(declared: Metric, text: str = "") -> Heading:
    is_number = declared.better is not Better.NONE or declared.name in ("vectors", "clock_ps")
    return Heading(declared.name, text or _text(declared), is_number)


def _text(declared: Metric) -> str:
    """Return the heading of a column; of a ratio with what it is a ratio of."""
    of = next((name for name, ratio in RATIOS.items() if ratio == declared.name), None)
    return declared.heading if of is None else f"{metric(of).heading} ratio"


def _present(known: Iterable[Known], names: Iterable[str]) -> tuple[Metric, ...]:
    """Return the metrics that a row has."""
    found = [one.record for one in known]
    present = (m for m in map(metric, names) if any(m.value(r) is not None for r in found))
    return tuple(
        m for m in present
        if m.name not in _SAID_ABOVE or len({m.value(r) for r in found}) > 1
    )  # fmt: skip


def _table(known: Sequence[Known], names: Iterable[str]) -> Table:
    """Return a line for each row, with its anchor."""
    columns = _present(known, names)
    entries = []
    for one in known:
        cells = [_cell(column, one) for column in columns]
        entries.append(Entry(tuple(cells), one.anchor, one.row.verification.is_proven))
    return Table(tuple(map(_heading, columns)), tuple(entries))


def _cell(column: Metric, one: Known) -> Cell:
    value = column.value(one.record)
    plain = column.show(value) if isinstance(value, Mapping) else value
    link = f"unit-{slug(one.row.unit)}" if column.name == "unit" else ""
    text = column.text(one.record)
    if column.name.startswith("ratio"):
        text = "" if value is None else show_times(value)
    return Cell(text, "" if plain is None else plain, link)


def _headline(known: Sequence[Known]) -> Table:
    """Return the first rows, with what is looked at first."""
    table = _table(known[:_SHOWN_HEADLINE], _HEADLINE)
    return Table(table.headings, tuple(replace(entry, anchor="") for entry in table.entries))


def _compared(comparison: Comparison, known: Iterable[Known]) -> Table:
    """Return the lines of a comparison: sizes in each technology, and their ratios."""
    first = comparison.formats[0].name
    anchors = {(one.row.unit, one.row.technology): one.anchor for one in known}
    headings = [Heading("accumulator", "accumulator", False), Heading("unit", "unit", False)]
    for technology in comparison.technologies:
        for name in comparison.metrics(technology):
            headings.append(_heading(metric(name), f"{metric(name).heading}, {technology}"))
            if name in RATIOS:
                headings.append(Heading(RATIOS[name], f"/ {first}", True))
    headings.append(Heading("verification", "verified", False))
    entries = []
    for line in comparison.lines:
        for side in range(len(comparison.formats)):
            rows = [comparison.row(line, side, name) for name in comparison.technologies]
            cells = [Cell(line.accumulator if side == 0 else "")]
            if rows[0] is None:
                cells += [Cell("–")] + [Cell("")] * (len(headings) - 2)
            else:
                anchor = anchors[rows[0].unit, rows[0].technology]
                cells.append(Cell(rows[0].unit, link=anchor))
                cells += _compared_cells(comparison, line, side)
                cells.append(Cell(metric("verification").text(rows[0].to_json())))
            is_proven = all(row is None or row.verification.is_proven for row in rows)
            is_last = side + 1 == len(comparison.formats)
            entries.append(Entry(tuple(cells), "", is_proven, is_last))
    return Table(tuple(headings), tuple(entries))


def _compared_cells(comparison: Comparison, line: Line, side: int) -> Iterator[Cell]:
    for technology in comparison.technologies:
        row = comparison.row(line, side, technology)
        for name in comparison.metrics(technology):
            yield Cell("" if row is None else metric(name).text(row.to_json()))
            if name in RATIOS:
                ratio = comparison.ratio(line, side, technology, name) if side else None
                yield Cell("" if ratio is None else show_times(ratio))


def _at_clocks(rows: Iterable[Row]) -> Iterator[Titled]:
    """Yield what units take at equal clocks, where there are curves of two or more."""
    points: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        if row.objective == "curve" and row.clock_ps is None:
            points.setdefault(row.technology, {}).setdefault(row.unit, []).append(row)
    for technology, units in points.items():
        made = (make_curve(unit, found) for unit, found in units.items())
        curves = [curve for curve in made if curve is not None]
        if len(curves) < 2:
            continue
        head = curves[0].rows[0]
        size, slowness = metric(head.size_metric), metric(delay_metric(head))
        headings = (
            Heading("clock", f"clock, {slowness.heading}", True), Heading("unit", "unit", False),
            _heading(size), Heading("ratio", f"/ {curves[0].unit}", True), _heading(slowness),
            Heading("slack", f"slack, {slowness.heading}", True),
        )  # fmt: skip
        entries = []
        for i, found in enumerate(at_clocks(curves, common_clocks(curves))):
            texts = (
                slowness.show(found.clock) if i % len(curves) == 0 else "", found.row.unit,
                metric(size.name).show(found.row.size) if found.is_met else "–",
                "" if found.ratio is None else show_times(found.ratio),
                slowness.show(delay(found.row)), f"{found.slack:+,.1f}",
            )  # fmt: skip
            is_last = (i + 1) % len(curves) == 0
            entries.append(Entry(tuple(map(Cell, texts)), is_last=is_last))
        yield Titled(
            "delay", f"At equal clocks in {technology}",
            "The smallest point of each curve that meets a clock; clocks that every unit meets.",
            Table(headings, tuple(entries)),
        )  # fmt: skip


def _energies(energies: Sequence[Record], comparison: Comparison | None) -> Iterator[Titled]:
    """Yield what operations take in each technology, a column for each stream."""
    partners = {} if comparison is None else {
        str(unit): str(line.units[0]) for line in comparison.lines for unit in line.units
    }  # fmt: skip
    for technology in dict.fromkeys(record["technology"] for record in energies):
        chosen = [record for record in energies if record["technology"] == technology]
        field = metric(energy_field(chosen[0]))
        known: dict[tuple[str, str], Any] = {
            (r["unit"], r["stream"]): r[field.name] for r in chosen if field.name in r
        }
        units = list(dict.fromkeys(record["unit"] for record in chosen))
        streams = list(dict.fromkeys(record["stream"] for record in chosen))
        over = units[0] if comparison is None else comparison.formats[0].name
        headings = [Heading("unit", "unit", False)]
        for stream in streams:
            headings.append(_heading(field, f"{stream}, {field.heading}"))
            headings.append(Heading("ratio", f"/ {over}", True))
        entries = []
        for unit in units:
            cells = [Cell(unit, link=f"unit-{slug(unit)}")]
            partner = partners.get(unit, units[0])
            for stream in streams:
                value, other = known.get((unit, stream)), known.get((partner, stream))
                cells.append(Cell("" if value is None else field.show(value)))
                ratio = (
                    "" if unit == partner or not (value and other) else show_times(value / other)
                )
                cells.append(Cell(ratio))
            entries.append(Entry(tuple(cells), is_last=True))
        yield Titled(
            "energy", f"By stream of operands in {technology}",
            "Means over a stream, without glitches unless the table has them. Uniform: every code "
            "is as likely. Gaussian: normal operands, rounded. Stationary: one factor is held.",
            Table(tuple(headings), tuple(entries)),
        )  # fmt: skip


def _units(
    known: Sequence[Known], breakdowns: Mapping[_Key, Breakdown], paths: Mapping[_Key, Record]
) -> Iterator[UnitPart]:
    of_unit: dict[str, list[Known]] = {}
    for one in known:
        of_unit.setdefault(one.row.unit, []).append(one)
    for name, rows in of_unit.items():
        rows = [one for one in rows if one.row.objective != "curve"] or rows[:1]  # not each point
        found = (breakdowns.get(_key(one.row)) for one in rows)
        breakdown = next((each for each in found if each is not None), None)
        inputs, result = _ports(name)
        yield UnitPart(
            name=name,
            anchor=f"unit-{slug(name)}",
            semantics=tuple(rows[0].row.semantics.split("; ")),
            inputs=inputs,
            result=result,
            made=tuple((_target(one.row), one.anchor) for one in rows),
            facts=tuple(_unit_facts(rows)),
            stages=() if breakdown is None else tuple(_flow(breakdown)),
            breakdown=breakdown,
            paths=tuple(_path(paths[key]) for one in rows if (key := _key(one.row)) in paths),
        )


def _ports(unit: str) -> tuple[tuple[str, ...], str]:
    """Return inputs and result of a unit with their formats."""
    try:
        operation = parse_unit(unit)
    except (OperationError, FormatError):
        return (), ""
    named = zip(operation.input_widths, operation.inputs, strict=True)
    return tuple(f"{name} {fmt.name}" for name, fmt in named), operation.result.name


def _target(row: Row) -> str:
    return f"{row.technology}, {OBJECTIVE_TEXTS.get(row.objective, row.objective)}"


def _unit_facts(known: Sequence[Known]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield a name and one text for each row of a unit."""
    for declared in _present(known, _DETAILS):
        label = _LABELS.get(declared.name, declared.heading)
        yield label, tuple(declared.text(one.record) for one in known)
    proofs = [one.row.verification for one in known]
    yield (
        "verified",
        tuple(f"{p.method}, {p.compared:,} inputs, {p.mismatches:,} differ" for p in proofs),
    )
    for region in dict.fromkeys(name for proof in proofs for name in proof.regions):
        yield f"in region {region}", tuple(show_count(p.regions.get(region, 0)) for p in proofs)


def _flow(breakdown: Breakdown) -> Iterator[tuple[StagePart, ...]]:
    """Yield the stages of a unit as data passes them, those side by side together."""
    side_by_side: list[StagePart] = []
    for name, transistors in breakdown.stages.items():
        if not transistors:  # a tree that leaves one bit a column needs no final adder
            continue
        part = StagePart(name, transistors, breakdown.share(transistors), name in ARITHMETIC)
        if name in INTEGER_STAGES:
            side_by_side.append(part)
            continue
        if side_by_side:
            yield tuple(side_by_side)
            side_by_side = []
        yield (part,)
    if side_by_side:
        yield tuple(side_by_side)


def _path(record: Record) -> PathPart:
    """Return the critical path of a row that ``path`` exported; raise RowError if it is none."""
    steps, stages = record.get("path"), record.get("path_stages")
    for found in (steps, stages):
        if not isinstance(found, list) or not all(isinstance(step, Mapping) for step in found):
            raise RowError("path and path_stages must be lists of objects")
    assert isinstance(steps, list)
    assert isinstance(stages, list)
    in_ps = any("arrival_ps" in step for step in steps)
    increment, arrival = ("increment_ps", "arrival_ps") if in_ps else (
        "increment_fo4", "arrival_fo4"
    )  # fmt: skip
    unit = "ps" if in_ps else "FO4"
    total = _number(steps[-1], arrival) if steps else 0.0
    ends = f"from {record.get('path_start')} to {record.get('path_end')}"
    return PathPart(
        title=f"{record['technology']}: {ends}, {total:,.1f} {unit} through "
        f"{len(steps)} cells",
        unit=unit,
        stages=tuple(
            (
                str(stage.get("stage")), show_count(int(_number(stage, "cells"))),
                f"{_number(stage, increment):,.1f}",
                min(_number(stage, increment) / total, 1) if total else 0.0,
            )
            for stage in stages
        ),
        steps=tuple(
            (
                str(step.get("stage")), str(step.get("cell_type")),
                f"{step.get('from_pin')} → {step.get('to_pin')}", str(step.get("fan_out")),
                f"{_number(step, increment):,.1f}", f"{_number(step, arrival):,.1f}",
            )
            for step in steps
        ),
    )  # fmt: skip


def _number(record: Record, name: str, of: str = "a path") -> float:
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise RowError(f"{name} of {of} must be a number that is not negative")
    return float(value)


def _technology(name: str) -> TechnologyPart:
    """Return what is known of a technology: of a file that is not here, its name alone."""
    from fmacost.hw.technology import TechnologyError, get_technology
    from fmacost.reports.tables import technology_notes

    try:
        known = get_technology(name)
    except TechnologyError:
        return TechnologyPart(name, ())
    return TechnologyPart(name, (known.description, *technology_notes(known)))
