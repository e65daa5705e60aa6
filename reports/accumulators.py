"""The cost of accumulating: formats of the operands against formats of the addend."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table
from rich.text import Text

from fmacost.reports.compare import Line, expand
from fmacost.reports.metrics import show_count, show_ratio
from fmacost.reports.row import Row
from fmacost.reports.tables import UNPROVEN, table
from fmacost.sim.formats import Format, parse_format
from fmacost.sim.operation import (
    Kind,
    Operation,
    OperationError,
    exact_format,
    with_addend,
)

OPERANDS = (
    "int4", "int8", "e2m1fn", "e2m3fn", "e3m2fn", "e4m3fn", "e5m2", "bf16", "fp16",
)  # fmt: skip
EXACT_PRODUCTS = (1, 32, 4096)
BASE = "int8"
# van Baalen et al. 2023, FP8 versus INT8 for efficient deep learning inference.
PUBLISHED = "van Baalen et al. 2023 (arXiv:2303.17951, figures second-hand)"
PUBLISHED_RATIOS = {"e4m3fn+fp16": 1.53, "e4m3fn+fp32": 2.83}
_FIXED_POINT = f"exact, {EXACT_PRODUCTS[-1]} products"


def expand_matrix(formats: Sequence[Format]) -> tuple[Line, ...]:
    """Return a line for each addend: same, 16-bit, 32-bit, exact for each number of products."""
    narrow = [line for line in expand(formats) if not line.accumulator.startswith("exact")]
    exact = [
        Line(
            f"exact, {n} product{'s' * (n > 1)}",
            tuple(_with_exact(fmt, n) for fmt in formats),
        )
        for n in EXACT_PRODUCTS
    ]
    return (*narrow, *exact)


def _with_exact(fmt: Format, products: int) -> Operation | None:
    try:
        return with_addend(
            Operation(Kind.FMA, (fmt, fmt, fmt), fmt), exact_format((fmt, fmt), products)
        )
    except OperationError:
        return None


@dataclass(frozen=True, slots=True)
class Matrix:
    """Operands against addends.

    Attributes
    ----------
    lines : one for each addend, with a unit for each format
    rows : by unit name; every unit has a row or a failure
    failures : why a unit has no row, by unit name
    """

    formats: tuple[Format, ...]
    lines: tuple[Line, ...]
    rows: Mapping[str, Row]
    failures: Mapping[str, str]

    @property
    def base(self) -> int:
        """Place of the operands that ratios are over: int8 if it is there, else the first."""
        names = [fmt.name for fmt in self.formats]
        return names.index(BASE) if BASE in names else 0

    def row(self, line: Line, side: int) -> Row | None:
        """Return the row of a format with an addend, None if there is none or it failed."""
        return self.rows.get(str(line.units[side]))

    def ratio(self, line: Line, side: int) -> float | None:
        """Return the transistors over those of the base with the same kind of addend."""
        row, base = self.row(line, side), self.row(line, self.base)
        if row is None or base is None or base.counted_transistors == 0:
            return None
        return row.counted_transistors / base.counted_transistors

    def records(self) -> list[dict[str, Any]]:
        """Return the JSON of every row with its addend and ratio; failures have their reason."""
        found: list[dict[str, Any]] = []
        for side in range(len(self.formats)):
            for line in self.lines:
                unit = line.units[side]
                if unit is None:
                    continue
                row, ratio = self.row(line, side), self.ratio(line, side)
                content = row.to_json() if row else {"unit": str(unit)}
                reason = {} if row else {"error": self.failures.get(str(unit), "not measured")}
                extra = {} if ratio is None else {"ratio_transistors": round(ratio, 6)}
                found.append({"accumulator": line.accumulator, **content, **reason, **extra})
        return found


def accumulator_table(matrix: Matrix) -> Table:
    """Return operands as lines and addends as pairs of columns; failures and unproven are red."""
    headings = [("operands", False)]
    for line in matrix.lines:
        headings += [(line.accumulator, True), (f"/ {matrix.formats[matrix.base].name}", True)]
    body: list[list[str | Text]] = []
    for side, fmt in enumerate(matrix.formats):
        cells: list[str | Text] = [fmt.name]
        for line in matrix.lines:
            row, ratio = matrix.row(line, side), matrix.ratio(line, side)
            if row is None:
                failed = str(line.units[side]) in matrix.failures
                cells += [Text("FAILED", UNPROVEN) if failed else "-", ""]
                continue
            style = "" if row.verification.is_proven else UNPROVEN
            cells.append(Text(show_count(row.counted_transistors), style))
            cells.append("" if ratio is None else show_ratio(ratio))
        body.append(cells)
    return table(headings, body)


def accumulator_notes(matrix: Matrix) -> list[str]:
    """Return what the table needs beside it: widths, and the reason of each failure."""
    widths = []
    for side, fmt in enumerate(matrix.formats):
        units = [line.units[side] for line in matrix.lines if line.accumulator.startswith("exact")]
        bits = [str(unit.result.width) if unit else "-" for unit in units]
        widths.append(f"{fmt.name} {'/'.join(bits)}")
    products = "/".join(map(str, EXACT_PRODUCTS))
    notes = [
        f"bits of the exact accumulators for {products} products: {', '.join(widths)}",
        "16-bit is int16 or fp16, 32-bit int32 or fp32; a ratio is over the same column",
    ]
    failed = [f"FAILED {unit}: {reason}" for unit, reason in matrix.failures.items()]
    return [*notes, *failed]


def beside_published(matrix: Matrix) -> str:
    """Return our ratios beside the published ones, and why they differ; empty without both."""
    names = [fmt.name for fmt in matrix.formats]
    if BASE not in names or "e4m3fn" not in names:
        return ""
    by_name = {line.accumulator: line for line in matrix.lines}
    base = matrix.row(by_name[_FIXED_POINT], names.index(BASE))
    wide = [matrix.row(by_name[bits], names.index("e4m3fn")) for bits in ("16-bit", "32-bit")]
    if base is None or base.counted_transistors == 0:
        return ""
    parts = [
        f"{row.unit} takes {show_percent(row.counted_transistors / base.counted_transistors)}"
        f" ({show_count(row.counted_transistors)} transistors)"
        for row in wide
        if row is not None
    ]
    if not parts:
        return ""
    fp16, fp32 = (show_percent(ratio) for ratio in PUBLISHED_RATIOS.values())
    return (
        f"Over {base.unit}, an int8 unit with a fixed-point accumulator for "
        f"{EXACT_PRODUCTS[-1]} products ({show_count(base.counted_transistors)} transistors), "
        f"{' and '.join(parts)}. {PUBLISHED} give {fp16} with an FP16 accumulator and {fp32} with "
        "an FP32 accumulator. The figures answer different questions. Theirs are two-input gates, "
        "counted per stage on paper, for one MAC; ours are transistors of mapped cells, in which "
        "an adder bit and a multiplexer have other weights, and which are optimised across all "
        "stages. Ours are flat and for area alone with no limit on delay: that flatters the long "
        "chains of a float, but also lets the integer do without a final adder, and the smaller "
        "the integer the larger the ratio. And here every product has an aligner, a normaliser and "
        "a rounder of its own, subnormals and NaN included; the lanes of a dot product that share "
        "them pay less than either figure says."
    )


def show_percent(ratio: float) -> str:
    """Return a ratio as what it is above one, such as +53 %."""
    return f"{100 * (ratio - 1):+.0f} %"


def parse_operands(text: str | None) -> tuple[Format, ...]:
    """Return the formats of a list with commas, each once; the standard ones for None.

    Raises
    ------
    FormatError
        If one is no format.
    """
    names = OPERANDS if text is None else [name.strip() for name in text.split(",")]
    return tuple(dict.fromkeys(parse_format(name) for name in names))
