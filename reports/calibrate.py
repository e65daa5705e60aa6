"""Known figures of others beside ours: both, their ratio, and why they differ."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from fmacost.reports import analytic, anchors
from fmacost.reports.anchors import CITATIONS, SOURCES, Reference
from fmacost.reports.errors import InputError
from fmacost.reports.metrics import metric, show_ratio
from fmacost.reports.row import Row, RowError
from fmacost.reports.tables import UNPROVEN, table
from fmacost.sim.operation import Operation, parse_unit

if TYPE_CHECKING:
    from fmacost.hw.technology import Technology

ENERGY = "energy_fj"
RATIO = "1"


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A figure of others with our rows.

    Attributes
    ----------
    rows : of its units, in their order; all proven or shown in red
    scale : what brings our energy to their voltage, else 1
    """

    reference: Reference
    rows: tuple[Row, ...]
    scale: float = 1.0

    @property
    def ours(self) -> float:
        """Our figure, at their voltage; raise RowError if a row does not have it."""
        values = []
        for row in self.rows:
            value = getattr(row, self.reference.quantity)
            if value is None:
                raise RowError(f"{row.unit} in {row.technology} has no {self.reference.quantity}")
            values.append(float(value))
        return self.scale * (values[0] if len(values) == 1 else values[0] / values[1])

    @property
    def ratio(self) -> float:
        """Ours over theirs."""
        return self.ours / self.reference.value

    @property
    def unit(self) -> str:
        """What both are counted in."""
        return RATIO if len(self.rows) > 1 else metric(self.reference.quantity).unit

    @property
    def doubtful(self) -> Row:
        """The row that is not proven if there is one, else the first."""
        return next((row for row in self.rows if not row.verification.is_proven), self.rows[0])

    def to_json(self) -> dict[str, Any]:
        """Return both figures, where they come from, and why they differ."""
        theirs, row = self.reference, self.doubtful
        return {
            "source": theirs.source,
            "citation": CITATIONS[theirs.source],
            "what": theirs.what,
            "quantity": theirs.quantity,
            "counted_in": self.unit,
            "their_technology": theirs.technology,
            "their_configuration": theirs.configuration,
            "unit": " / ".join(row.unit for row in self.rows),
            "technology": row.technology,
            "objective": row.objective,
            "effort": row.effort,
            "theirs": round(theirs.value, 6),
            "ours": round(self.ours, 6),
            "voltage_scale": round(self.scale, 6),
            "ratio_theirs": round(self.ratio, 6),
            "verification": row.to_json()["verification"],
            "why": theirs.why,
            "versions": row.versions,
            "digest": " ".join(row.digest for row in self.rows),
        }


def chosen(only: str | None) -> tuple[Reference, ...]:
    """Return the figures of one source, of all for None; raise InputError for an unknown one."""
    if only is not None and only not in SOURCES:
        raise InputError(f"unknown source '{only}'; expected {', '.join(SOURCES)}")
    return tuple(r for r in anchors.references() if only in (None, r.source))


def units_in(references: Iterable[Reference]) -> dict[str, list[Operation]]:
    """Return the units that figures are compared with, each once, by our technology."""
    found: dict[str, dict[Operation, None]] = {}
    for reference in references:
        units = found.setdefault(reference.measured_in, {})
        units.update(dict.fromkeys(parse_unit(unit) for unit in reference.units))
    return {technology: list(units) for technology, units in found.items()}


def calibrate(
    references: Iterable[Reference],
    rows: Mapping[tuple[str, str], Row],
    technologies: Mapping[str, "Technology"],
) -> list[Calibrated]:
    """Return each figure with our rows.

    Parameters
    ----------
    rows : by canonical unit and technology, one for each unit of each figure
    technologies : by name
    """
    return [
        Calibrated(
            reference,
            tuple(rows[str(parse_unit(u)), reference.measured_in] for u in reference.units),
            _scale(reference, technologies[reference.measured_in]),
        )
        for reference in references
    ]


def _scale(reference: Reference, technology: "Technology") -> float:
    """Return what brings our energy to their voltage: it goes with the square."""
    known = technology.characterisation
    if reference.quantity != ENERGY or reference.voltage_v is None or known is None:
        return 1.0
    return (reference.voltage_v / known.voltage_v) ** 2


def lines(found: Sequence[Calibrated]) -> list[list[str]]:
    """Return the cells of each line: source, what, unit, theirs, ours, ratio, verified, why.

    The reason is a letter, which ``reasons`` spells out.
    """
    letters = {why: letter for letter, why in reasons(found).items()}
    return [
        [
            one.reference.source,
            one.reference.what,
            " / ".join(row.unit for row in one.rows),
            one.unit,
            _show(one, one.reference.value),
            _show(one, one.ours),
            show_ratio(one.ratio),
            metric("verification").text(one.doubtful.to_json()),
            letters[one.reference.why],
        ]
        for one in found
    ]


HEADINGS = ("source", "what", "our unit", "in", "theirs", "ours", "ratio", "verified", "why")
NUMBERS = range(4, 7)


def reasons(found: Iterable[Calibrated]) -> dict[str, str]:
    """Return why figures differ, by a letter each."""
    different = dict.fromkeys(one.reference.why for one in found)
    return {chr(ord("a") + i): why for i, why in enumerate(different)}


def _show(one: Calibrated, value: float) -> str:
    if one.unit == RATIO:
        return f"{value:.2f}"
    return metric(one.reference.quantity).show(
        round(value) if one.reference.quantity == "transistors" else value
    )


def calibration_table(found: Sequence[Calibrated]) -> Table:
    """Return a line for each figure; what is not proven is red."""
    made = table([(text, i in NUMBERS) for i, text in enumerate(HEADINGS)], [])
    cells = lines(found)
    for i, one in enumerate(found):
        style = "" if one.doubtful.verification.is_proven else UNPROVEN
        is_last = i + 1 == len(found) or found[i + 1].reference.source != one.reference.source
        made.add_row(*(Text(text, style) for text in cells[i]), end_section=is_last)
    return made


def calibration_notes(
    found: Sequence[Calibrated], technologies: Iterable["Technology"]
) -> list[str]:
    """Return the reasons, the sources, and what is not compared and why."""
    sources = list(dict.fromkeys(one.reference.source for one in found))
    notes = [f"{letter}: {why}" for letter, why in reasons(found).items()]
    notes += [f"{source}: {CITATIONS[source]}" for source in sources]
    notes += [f"{source}: {_LEFT_OUT[source]}" for source in sources if source in _LEFT_OUT]
    if anchors.CHEN in sources:
        notes.append(f"{anchors.CHEN}: {model_note()}")
    notes += voltage_notes(found, {t.name: t for t in technologies})
    notes.append("a ratio is ours over theirs; in 1 where both are ratios of two units")
    return notes


def voltage_notes(
    found: Iterable[Calibrated], technologies: Mapping[str, "Technology"]
) -> list[str]:
    """Return by what our energies were multiplied, a sentence for each voltage."""
    notes: dict[str, None] = {}
    for one in found:
        known = technologies[one.reference.measured_in].characterisation
        if known is not None and one.scale != 1:
            notes[
                f"{one.reference.source}: our energies are at {known.voltage_v:g} V; they stand "
                f"here times {one.scale:.3f}, for {one.reference.voltage_v:g} V"
            ] = None
    return list(notes)


_LEFT_OUT = {
    anchors.EVOAPPROX: "powers are not compared: the clock behind them is not in the files",
    anchors.FORMATSCOPE: "dot products of 32 lanes, where e4m3 takes 1.13x the area of int8, are "
    "not compared: no unit here has lanes that share an aligner",
}


def model_note() -> str:
    """Return what the gate model gives for whole units, beside the paper's own result."""
    from fmacost.hw.technology import get_technology

    ratio = analytic.unit_ratio(analytic.LANES, get_technology("cmos").transistors)
    return (
        f"the model in cmos cells, {analytic.LANES} lanes: e4m3 takes {show_ratio(ratio)} of int8; "
        f"the paper's table 5 has {show_ratio(analytic.TABLE_5_AREA_RATIO)} for MXFP8 over MXINT8, "
        "in cell factors that are not printed and with accumulator and dequantiser, whose counts "
        "are not printed either"
    )
