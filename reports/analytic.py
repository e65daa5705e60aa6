"""The gate model of Chen et al. 2025 as an analytical baseline: no netlist, no proof.

INT v.s. FP: A Comprehensive Study of Fine-Grained Low-bit Quantization Formats, arXiv:2510.25602v1,
appendix C: equation 44 and table 6. The paper gives the dominant count of each block up to
constant factors and names its main cells; its cell factors (a TSMC FinFET library), its half adders
and its counts for the FP32 accumulator and the dequantiser are not printed. So here a block is its
count times the main cells below, a choice of ours, and accumulator and dequantiser are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log2

PSUM_BITS = 24  # psum_bit_width "in all evaluations", below equation 44
LANES = 32  # k for the MX formats, same place
# What the paper's table 5 gives for whole units: MXINT8 takes 0.79 of the area of MXFP8.
TABLE_5_AREA_RATIO = 1 / 0.79

# One of the block's count, in the main cells of table 6.
_CELLS: Mapping[str, tuple[str, ...]] = {
    "multiplier": ("AND2", "FA"),
    "adder": ("FA",),
    "exponent adder": ("FA",),
    "exponent subtractor": ("XOR2", "FA"),
    "comparator": ("XOR2", "AND2", "OR2"),
    "aligner": ("MUX2",),
    "normalizer": ("MUX2", "OR2"),
}
MULTIPLIER = ("multiplier", "exponent adder")


@dataclass(frozen=True, slots=True)
class Shape:
    """A format as the model sees it: ``x`` exponent and ``y`` mantissa bits; integers have x = 0.

    Raises
    ------
    ValueError
        If a number of bits is negative, or both are zero.
    """

    x: int
    y: int

    def __post_init__(self) -> None:
        if min(self.x, self.y) < 0 or self.x + self.y == 0:
            raise ValueError(
                f"a shape needs bits, none of them negative, not {self.x} and {self.y}"
            )


INT8, E4M3 = Shape(0, 7), Shape(4, 3)


def aligner_width(shape: Shape) -> int:
    """Return n of equation 44, in bits."""
    return min((2 << shape.x) + 2 * shape.y, PSUM_BITS)


def counts(shape: Shape, lanes: int) -> dict[str, float]:
    """Return the count of each block for all lanes: the rows of table 6.

    Raises
    ------
    ValueError
        If there is no lane.
    """
    if lanes < 1:
        raise ValueError(f"lanes must be at least 1, not {lanes}")
    x, y, k, n = shape.x, shape.y, lanes, aligner_width(shape)
    if x == 0:
        return {"multiplier": k * (x + y + 1) ** 2, "adder": 2 * k * (x + y + 1)}
    return {
        "multiplier": k * (y + 1) ** 2,
        "adder": k * n,
        "exponent adder": k * x,
        "exponent subtractor": k * x,
        "comparator": k * x,
        "aligner": k * n * log2(n),
        "normalizer": n * log2(n),  # shared by the lanes
    }


def cost(blocks: Mapping[str, float], cells: Mapping[str, float]) -> float:
    """Return what blocks cost in cells of these costs: equation 45 without toggle rates."""
    return sum(n * sum(cells[cell] for cell in _CELLS[name]) for name, n in blocks.items())


def multiplier_cost(shape: Shape, cells: Mapping[str, float]) -> float:
    """Return what the multiplier of one lane costs, with the exponent adder of a float."""
    blocks = counts(shape, 1)
    return cost({name: blocks[name] for name in MULTIPLIER if name in blocks}, cells)


def unit_ratio(lanes: int, cells: Mapping[str, float]) -> float:
    """Return the cost of an e4m3 MAC unit over that of an int8 one, both of so many lanes."""
    return cost(counts(E4M3, lanes), cells) / cost(counts(INT8, lanes), cells)
