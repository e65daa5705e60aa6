"""Formats side by side: the rows that people argue about, their ratios, and the answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fmacost.reports.errors import InputError
from fmacost.reports.metrics import OBJECTIVE_TEXTS, metric
from fmacost.reports.row import Row
from fmacost.sim.formats import FixedFormat, FloatFormat, Format, describe, parse_format
from fmacost.sim.operation import (
    Kind,
    Operation,
    OperationError,
    Overflow,
    exact_format,
    with_addend,
)

SAME = "same format"
EXACT_PRODUCTS = 32
# The ratios of a comparison, by the field that is divided.
RATIOS = {
    "transistors": "ratio_transistors",
    "area_um2": "ratio_area",
    "delay_ps": "ratio_delay",
    "energy_fj": "ratio_energy",
}
# Beside the size of a side, where the technology knows them.
_COMPARED_BESIDE = ("delay_ps", "slack_ps", "energy_fj")
_UNITS = {"transistors": " transistors", "area_um2": " µm²"}
_FLOAT_ADDENDS = {16: "fp16", 32: "fp32"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a comparison: what is accumulated in, and the unit of each side.

    A unit is None where the side has none, such as an accumulator narrower than its operands.
    """

    accumulator: str
    units: tuple[Operation | None, ...]


def read_formats(texts: Sequence[str]) -> tuple[Format, ...]:
    """Return the formats to compare; raise InputError unless they are two or more, all different.

    Raises
    ------
    FormatError
        If one of the names is none.
    """
    formats = tuple(parse_format(text) for text in texts)
    if len(set(formats)) < max(2, len(formats)):
        raise InputError(f"compare needs two or more different formats, got {' '.join(texts)}")
    return formats


def expand(formats: Sequence[Format]) -> tuple[Line, ...]:
    """Return the lines of a comparison of FMAs: same-format, 16-bit, 32-bit and exact addends."""
    lines = [Line(SAME, tuple(_fma(fmt) for fmt in formats))]
    for bits in (16, 32):
        lines.append(Line(f"{bits}-bit", tuple(_with_bits(fmt, bits) for fmt in formats)))
    exact = tuple(_with_exact(fmt) for fmt in formats)
    lines.append(Line(f"exact, {EXACT_PRODUCTS} products", exact))
    return tuple(line for line in lines if any(line.units))


def units_of(lines: Sequence[Line]) -> tuple[Operation, ...]:
    """Return each unit of some lines once, in order."""
    return tuple(dict.fromkeys(unit for line in lines for unit in line.units if unit))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Lines with their rows.

    Attributes
    ----------
    technologies : the first is the headline
    rows : by unit name and technology name; complete
    """

    formats: tuple[Format, ...]
    lines: tuple[Line, ...]
    technologies: tuple[str, ...]
    rows: Mapping[tuple[str, str], Row]

    def row(self, line: Line, side: int, technology: str) -> Row | None:
        """Return the row of one side of a line, None where it has no unit."""
        unit = line.units[side]
        return None if unit is None else self.rows[str(unit), technology]

    def ratio(self, line: Line, side: int, technology: str, name: str = "size") -> float | None:
        """Return a field of a side, by default its size, over the first's.

        None without both, and where one of them misses the clock.
        """
        rows = [self.row(line, s, technology) for s in (0, side)]
        if any(row is not None and _misses(row) for row in rows):
            return None
        first, other = (None if row is None else getattr(row, name) for row in rows)
        return None if other is None or not first else float(other / first)

    def size_metric(self, technology: str) -> str:
        """Return the name of the field that says how large a unit is."""
        rows = (row for (_, name), row in self.rows.items() if name == technology)
        return next((row.size_metric for row in rows), "transistors")

    def metrics(self, technology: str) -> tuple[str, ...]:
        """Return the fields to compare: the size, and what else is known of every row."""
        rows = [row for (_, name), row in self.rows.items() if name == technology]
        known = (n for n in _COMPARED_BESIDE if all(getattr(r, n) is not None for r in rows))
        return self.size_metric(technology), *(known if rows else ())

    def records(self) -> list[dict[str, Any]]:
        """Return the JSON of every row, with its line and its ratio."""
        records = []
        for line in self.lines:
            for technology in self.technologies:
                for side in range(len(self.formats)):
                    row = self.row(line, side, technology)
                    if row is None:
                        continue
                    ratios = {
                        RATIOS[name]: round(ratio, 6)
                        for name in (row.size_metric, *_COMPARED_BESIDE)
                        if name in RATIOS
                        and (ratio := self.ratio(line, side, technology, name)) is not None
                    }
                    records.append({"accumulator": line.accumulator, **row.to_json(), **ratios})
        return records

    def answer(self) -> str:
        """Return one sentence that answers in numbers how the sides compare."""
        headline = self._clause(SAME)
        text = f"In {self.technologies[0]}, optimised for {self._objective()}, {headline}"
        wrapping = [u for u in self.lines[0].units if u and u.overflow is Overflow.WRAP]
        wide = self._clause("32-bit")
        if wide:
            reason = ""
            if wrapping:
                names = " and ".join(map(str, wrapping))
                verb = "keeps" if len(wrapping) == 1 else "keep"
                bits = wrapping[0].result.width
                reason = f"but {names} {verb} only the low {bits} bits of product and sum, and "
            text += f"; {reason}with 32-bit accumulators {wide}"
        return f"{text}."

    def _objective(self) -> str:
        row = self.row(self.lines[0], 0, self.technologies[0])
        if row is not None and row.clock_ps is not None:
            return f"{OBJECTIVE_TEXTS[row.objective]} of {metric('clock_ps').show(row.clock_ps)} ps"
        return OBJECTIVE_TEXTS["area" if row is None else row.objective]

    def _clause(self, accumulator: str) -> str:
        line = next((line for line in self.lines if line.accumulator == accumulator), None)
        if line is None:
            return ""
        first = self.row(line, 0, self.technologies[0])
        if first is None:
            return ""
        parts = []
        for side in range(1, len(self.formats)):
            row = self.row(line, side, self.technologies[0])
            if row is not None:
                parts.append(f"{row.unit} {_size(row)}, {self._times(line, side)}")
        text = f"{first.unit} takes {_size(first, _UNITS[first.size_metric])}"
        return f"{text} and {' and '.join(parts)}" if parts else text

    @property
    def _much(self) -> str:
        row = self.row(self.lines[0], 0, self.technologies[0])
        return "many" if row is None or row.area_um2 is None else "much"

    def _times(self, line: Line, side: int) -> str:
        headline, *others = self.technologies
        ratio = self.ratio(line, side, headline)
        elsewhere = [(t, self.ratio(line, side, t)) for t in others]
        notes = [f"{value:.2f} in {name}" for name, value in elsewhere if value is not None]
        times = f"{ratio:.2f} times as {self._much}" if ratio is not None else "not at equal clock"
        return times + (f" ({', '.join(notes)})" if notes else "")


def _misses(row: Row) -> bool:
    """Tell whether a clock was to be met and is not."""
    return row.slack_ps is not None and row.slack_ps < 0


def _size(row: Row, unit: str = "") -> str:
    size = metric(row.size_metric).show(row.size)
    gates = f"{row.gates_ge:,.1f} gate equivalents"
    missed = f", clock missed by {-row.slack_ps:,.1f} ps" if row.slack_ps and _misses(row) else ""
    return f"{size}{unit} ({gates}, {row.cells:,} cells{missed})"


def explain_names(texts: Sequence[str], formats: Sequence[Format]) -> list[str]:
    """Return a line for each format: what the name that was given stands for."""
    lines = []
    for text, fmt in zip(texts, formats, strict=True):
        read_as = "" if text == fmt.name else f" (given as '{text}')"
        lines.append(f"{fmt.name}{read_as}: {describe(fmt)}")
    return lines


def _fma(fmt: Format) -> Operation:
    return Operation(Kind.FMA, (fmt, fmt, fmt), fmt)


def _with_bits(fmt: Format, bits: int) -> Operation | None:
    """Return the FMA of a format with an addend of so many bits of its own kind."""
    if fmt.width > bits:
        return None
    if isinstance(fmt, FloatFormat):
        return with_addend(_fma(fmt), parse_format(_FLOAT_ADDENDS[bits]))
    fraction = 2 * fmt.frac_bits  # that of the products
    if bits - fraction < 1:
        return None
    return with_addend(_fma(fmt), FixedFormat(bits - fraction, fraction, signed=fmt.signed))


def _with_exact(fmt: Format) -> Operation | None:
    try:
        return with_addend(_fma(fmt), exact_format((fmt, fmt), EXACT_PRODUCTS))
    except OperationError:
        return None
