"""Results as tables and prose for people. Nothing here computes a result."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from fmacost.reports.compare import RATIOS, Comparison, units_of
from fmacost.reports.errors import printable
from fmacost.reports.metrics import OBJECTIVE_TEXTS, Better, metric, show_ratio
from fmacost.reports.row import Row
from fmacost.sim.formats import FixedFormat, FloatFormat, Format, describe, format_value
from fmacost.sim.operation import Operation, semantics

if TYPE_CHECKING:
    from fmacost.hw.technology import Technology
    from fmacost.reports.bench import Figure
    from fmacost.reports.libraries import Listed

UNPROVEN = "bold red"
SYNTH_COLUMNS = (
    "unit", "technology", "cells", "gates_ge", "transistors", "area_um2", "candidates",
    "logic_depth", "delay_fo4", "delay_ps", "energy_fj", "leakage_nw", "flip_flops",
    "latency_cycles", "period_fo4", "period_ps", "fmax_ghz", "clock_ps", "slack_ps", "recipe",
    "verification",
)  # fmt: skip
_CLOCKED = (
    "plain D flip-flops, no reset, no enable, no clock tree; a period is from register to "
    "register, those of the neighbours before the inputs and behind the outputs included, which "
    "are not counted; depth and FO4 are those of the unit without its registers"
)
VERIFY_COLUMNS = ("unit", "technology", "verification_method", "vectors", "mismatches", "regions")
FORMAT_COLUMNS = (
    "name", "bits", "precision", "emin", "emax", "min_positive", "min", "max", "specials",
)  # fmt: skip


def table(headings: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str | Text]]) -> Table:
    """Return a plain table; a heading comes with whether its column is of numbers."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading, is_number in headings:
        made.add_column(heading, justify="right" if is_number else "left", no_wrap=True)
    for row in rows:
        made.add_row(*row)
    return made


def row_table(rows: Sequence[Row], columns: Sequence[str]) -> Table:
    """Return rows as a table of the named metrics; what is not proven is red."""
    records = [row.to_json() for row in rows]
    named = [metric(name) for name in columns]
    chosen = [column for column in named if any(column.value(r) is not None for r in records)]
    body = []
    for row, record in zip(rows, records, strict=True):
        style = "" if row.verification.is_proven else UNPROVEN
        body.append([Text(column.text(record), style) for column in chosen])
    is_number = ("vectors", *(c.name for c in chosen if c.better is not Better.NONE))
    return table([(c.heading, c.name in is_number) for c in chosen], body)


def comparison_table(comparison: Comparison) -> Table:
    """Return the lines of a comparison, one row for each side, its ratios to the first side."""
    headline, *others = comparison.technologies
    first = comparison.formats[0].name
    headings = [("accumulator", False), ("unit", False), ("cells", True), ("GE", True)]
    for technology in comparison.technologies:
        for name in comparison.metrics(technology):
            headings.append((f"{metric(name).heading} {technology}", True))
            if name in RATIOS:
                headings.append((f"/ {first}", True))
    headings += [("depth", True), ("verified", False)]
    made = table(headings, [])
    for line in comparison.lines:
        for side in range(len(comparison.formats)):
            label = line.accumulator if side == 0 else ""
            row = comparison.row(line, side, headline)
            is_last = side == len(comparison.formats) - 1
            if row is None:
                made.add_row(label, "-", end_section=is_last)
                continue
            rest = [comparison.row(line, side, technology) for technology in others]
            cells = [row.unit, _text("cells", row), _text("gates_ge", row)]
            for technology, entry in zip(comparison.technologies, [row, *rest], strict=True):
                for name in comparison.metrics(technology):
                    cells.append("-" if entry is None else _text(name, entry))
                    if name in RATIOS:
                        ratio = comparison.ratio(line, side, technology, name) if side else None
                        cells.append("" if ratio is None else show_ratio(ratio))
            unproven = [r for r in (row, *rest) if r and not r.verification.is_proven]
            verified = _text("verification", (unproven or [row])[0])
            style = UNPROVEN if unproven else ""
            cells += [_text("logic_depth", row), verified]
            made.add_row(label, *(Text(c, style) for c in cells), end_section=is_last)
    return made


def comparison_notes(
    comparison: Comparison, names: Sequence[str], technologies: Sequence["Technology"]
) -> str:
    """Return what the numbers of a comparison mean: everything that they depend on."""
    headline = technologies[0]
    rows = list(comparison.rows.values())
    objective = OBJECTIVE_TEXTS[rows[0].objective] if rows else OBJECTIVE_TEXTS["area"]
    is_clocked = any(row.clock_ps is not None for row in rows)
    limit = "no limit on delay" if objective == OBJECTIVE_TEXTS["area"] else "no other limit"
    lines = ["What the numbers mean", *(f"- {name}" for name in names)]
    lines += [f"- {text}" for text in _unit_notes(units_of(comparison.lines), comparison.formats)]
    for t in technologies:
        lines.append(f"- {t.name}: {t.description} (source: {t.source})")
        lines += [f"- {t.name}: {note}" for note in _delay_notes(t)]
        lines.append(f"- {t.name}: {_recipe_note([r for r in rows if r.technology == t.name])}")
    unit = "transistors" if headline.area_um2 is None else "µm²"
    lines.append(
        f"- cells, GE and depth are those of {headline.name}; one GE is a {headline.nand2} of "
        f"{headline.cell_cost[headline.nand2]:g} {unit}"
    )
    beside = "slack: where a clock is missed, the fastest is shown" if is_clocked else "depth"
    lines.append(
        f"- combinational units without registers, synthesised for {objective} with {limit}: "
        f"read the ratio beside the {beside}"
    )
    lines.append(f"- architecture: {'; '.join(dict.fromkeys(row.architecture for row in rows))}")
    versions = dict.fromkeys(metric("versions").text(row.to_json()) for row in rows)
    lines.append(f"- made with {'; '.join(versions)}")
    lines.append(f"- {verification_note(rows)}")
    return "\n".join(lines)


def _unit_notes(units: Sequence[Operation], known: Sequence[Format]) -> list[str]:
    """Return what units compute: each further format once, then the policies they share."""
    formats = dict.fromkeys(f for unit in units for f in (*unit.operands, unit.result))
    notes = [f"{fmt.name}: {describe(fmt)}" for fmt in formats if fmt not in known]
    policies: dict[str, list[str]] = {}
    for unit in units:
        own = dict.fromkeys((*unit.operands, unit.result))
        prefix = "; ".join(f"{fmt.name}: {describe(fmt)}" for fmt in own)
        policies.setdefault(semantics(unit).removeprefix(f"{prefix}; "), []).append(str(unit))
    return notes + [f"{', '.join(names)}: {policy}" for policy, names in policies.items()]


def _recipe_note(rows: Sequence[Row]) -> str:
    """Return how the rows of one technology came to be the smallest, and the spread."""
    efforts = ", ".join(sorted({row.effort for row in rows}))
    tried = sorted({row.candidates.count for row in rows})
    recipes = ", ".join(sorted({row.recipe for row in rows}))
    spread = max(row.candidates.max / max(row.candidates.min, 1) for row in rows)
    if tried == [1]:
        return f"effort {efforts}, one recipe and no choice: {recipes}"
    return (
        f"effort {efforts}, for every unit the smallest of {' or '.join(map(str, tried))} "
        f"candidates, of which the largest was up to {show_ratio(spread)} as large; winning "
        f"recipes: {recipes}"
    )


def verification_note(rows: Sequence[Row]) -> str:
    """Return a sentence on how the rows were verified."""
    proven = [row for row in rows if row.verification.is_proven]
    full = sum(row.verification.method == "exhaustive" for row in proven)
    parts = [f"{full} on every input"] if full else []
    if len(proven) > full:
        parts.append(f"{len(proven) - full} on corners and seeded random inputs")
    text = (
        f"{len(proven)} of {len(rows)} mapped netlists equal the exact reference"
        f"{': ' if parts else ''}{' and '.join(parts)}"
    )
    return text if len(proven) == len(rows) else f"{text}; rows in red do NOT, or were not checked"


def row_notes(rows: Sequence[Row], notes: Sequence[str]) -> str:
    """Return what each unit computes, what made the numbers and how they were verified."""
    units = dict.fromkeys(f"{row.unit}: {row.semantics}" for row in rows)
    made = "; ".join(dict.fromkeys(metric("versions").text(row.to_json()) for row in rows))
    built = "; ".join(dict.fromkeys(row.architecture for row in rows))
    aims = "; ".join(dict.fromkeys(OBJECTIVE_TEXTS[row.objective] for row in rows))
    efforts = "; ".join(dict.fromkeys(row.effort for row in rows))
    how = f"architecture: {built}; synthesised for {aims}; effort: {efforts}"
    clocked = [_CLOCKED] if any(row.flip_flops is not None for row in rows) else []
    lines = [*notes, *units, how, *clocked, f"made with {made}", verification_note(rows)]
    return "\n".join(f"- {line}" for line in lines)


def format_record(fmt: Format) -> dict[str, Any]:
    """Return the JSON of a format: range, precision and special codes."""
    record: dict[str, Any] = {"name": fmt.name, "bits": fmt.width}
    if isinstance(fmt, FixedFormat):
        quantum = format_value(fmt.max_value / fmt.max_integer) if fmt.max_integer else "1"
        low = fmt.min_integer * (fmt.max_value / fmt.max_integer) if fmt.max_integer else -1
        record |= {
            "precision": fmt.width - fmt.signed,
            "emin": None,
            "emax": None,
            "min_positive": quantum,
            "min": str(low) if isinstance(low, int) else format_value(low),
            "max": format_value(fmt.max_value),
            "special_codes": {},
        }
    else:
        low = -fmt.max_value
        record |= {
            "precision": fmt.precision,
            "emin": fmt.emin,
            "emax": fmt.max_exponent + fmt.precision - 1,
            "min_positive": None if fmt.min_positive is None else format_value(fmt.min_positive),
            "min": format_value(low),
            "max": format_value(fmt.max_value),
            "bias": fmt.bias,
            "special_codes": _special_codes(fmt),
        }
    return record | {"description": describe(fmt)}


def format_table(formats: Sequence[Format]) -> Table:
    """Return formats with their range, precision and special codes."""
    headings = [
        (name.replace("_", " "), name not in ("name", "specials")) for name in FORMAT_COLUMNS
    ]
    body = []
    for record in map(format_record, formats):
        specials = " ".join(f"{name}={code}" for name, code in record["special_codes"].items())
        cells = {**record, "specials": specials or "-"}
        body.append(["-" if cells[n] is None else str(cells[n]) for n in FORMAT_COLUMNS])
    return table(headings, body)


def technology_record(technology: "Technology") -> dict[str, Any]:
    """Return the JSON of a technology, its cells and what they cost included."""
    return {
        "name": technology.name,
        "description": technology.description,
        **_summary(technology),
        "gate_equivalent": technology.nand2,
        "cells": {name: technology.transistors.get(name) for name in technology.cells},
        "area_um2": None if technology.area_um2 is None else dict(technology.area_um2),
    }


def listed_record(entry: "Listed") -> dict[str, Any]:
    """Return the JSON of a technology in a list of what is there."""
    if entry.technology is None:
        return {"name": entry.name, "source": entry.source, "error": entry.error}
    summary = {**_summary(entry.technology), "source": entry.source}
    count = len(entry.technology.cells)
    return {"name": entry.name, **summary, "cell_count": count, "corners": [*entry.corners]}


def _summary(technology: "Technology") -> dict[str, Any]:
    known = technology.characterisation
    has_area = technology.area_um2 is not None
    return {
        "source": technology.source,
        "licence": technology.licence or None,
        "nand2_um2": technology.cell_cost[technology.nand2] if has_area else None,
        "fo4_ps": None if known is None else known.fo4_ps,
        "corner": None if known is None else known.corner,
        "fit": None if known is None else known.fit,
    }


def listed_table(listed: Sequence["Listed"]) -> Table:
    """Return what technologies there are: built in, then found."""
    headings = [("technology", False), ("cells", True), ("NAND2 µm²", True), ("FO4 ps", True)]
    headings += [("corner", False), ("licence", False), ("source", False)]
    fields = ("cell_count", "nand2_um2", "fo4_ps", "corner", "licence")

    def cells(entry: "Listed") -> list[str | Text]:
        record = listed_record(entry)
        if entry.technology is None:
            reason = Text(entry.error, UNPROVEN)
            return [entry.name, *(["-"] * len(fields)), reason]
        known = ("-" if record[name] is None else record[name] for name in fields)
        shown = [f"{value:.5g}" if isinstance(value, float) else str(value) for value in known]
        return [entry.name, *shown, printable(entry.source)]

    return table(headings, map(cells, listed))


def corner_notes(listed: Sequence["Listed"]) -> list[str]:
    """Return a line for each library of which several corners are there."""
    return [
        f"{entry.name}: corners {', '.join(map(printable, entry.corners))}"
        for entry in listed
        if len(entry.corners) > 1
    ]


def technology_parts(technologies: Sequence["Technology"]) -> list[str]:
    """Return a paragraph for each technology."""
    parts = []
    for t in technologies:
        lines = [f"{t.name}: {t.description}", *(f"- {note}" for note in technology_notes(t))]
        if t.transistors:
            lines.append(f"- transistors: {_pairs(t.transistors)}")
        if t.area_um2 is not None:
            lines.append(f"- areas in µm²: {_pairs(t.area_um2)}")
        parts.append("\n".join([*lines, ""]))
    return parts


def technology_notes(technology: "Technology") -> list[str]:
    """Return where a technology is from, how good its delays are, and what one GE is."""
    notes = [f"source: {technology.source}"]
    if technology.licence:
        notes.append(f"licence of the facts: {technology.licence}")
    notes += _delay_notes(technology)
    if technology.flip_flop is not None:
        notes.append(f"flip-flop: {technology.flip_flop.cell}")
    return [*notes, f"gate equivalent: {technology.nand2}"]


def _delay_notes(technology: "Technology") -> list[str]:
    """Return the corner of a library, how good its delays are, and what its energies are of."""
    known = technology.characterisation
    if known is None:
        return []
    fit = f"; delays are fitted: {known.fit}" if known.fit else ""
    return [
        f"corner {known.corner}, FO4 {known.fo4_ps:g} ps{fit}",
        "fJ are an operation on uniform codes, without glitches and leakage: see fmacost energy",
    ]


def _pairs(costs: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {cost:g}" for name, cost in costs.items())


def check_table(checks: Sequence[tuple[str, bool | None, str]]) -> Table:
    """Return the checks of ``doctor``: ok, missing (optional) or FAILED."""
    words = {
        True: Text("ok", "green"),
        None: Text("missing", "yellow"),
        False: Text("FAILED", UNPROVEN),
    }
    return table(
        [("check", False), ("", False), ("detail", False)],
        ([name, words[ok], detail] for name, ok, detail in checks),
    )


def bench_table(figures: Sequence["Figure"]) -> Table:
    """Return measured ratios of times, with what they should be."""
    headings = [
        ("what", False),
        ("ratio", True),
        ("goal", True),
        ("seconds", True),
        ("note", False),
    ]

    def cells(figure: "Figure") -> list[str]:
        times = [t for t in (figure.other_seconds, figure.seconds) if t is not None]
        ratio = "-" if figure.ratio is None else f"{figure.ratio:.2f}"
        seconds = " / ".join(f"{t:.2f}" for t in times)
        return [figure.name, ratio, figure.goal, seconds, figure.note]

    return table(headings, map(cells, figures))


def _special_codes(fmt: FloatFormat) -> dict[str, str]:
    digits = -(-fmt.width // 4)
    codes = {}
    if fmt.has_negative_zero:
        codes["-0"] = 1 << (fmt.width - 1)
    if fmt.has_infinity:
        codes["inf"] = fmt.inf_code
    if fmt.has_nan:
        codes["nan"] = fmt.nan_code
    return {name: f"{code:#0{digits + 2}x}" for name, code in codes.items()}


def _text(name: str, row: Row) -> str:
    return metric(name).text(row.to_json())


def cache_record(folder: str, entries: Mapping[str, int], size_bytes: int) -> dict[str, Any]:
    """Return the JSON of what the cache holds."""
    return {"folder": folder, **entries, "size_bytes": size_bytes}
