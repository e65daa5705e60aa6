"""Units of others, as the tables of peers quote them."""

from typing import NamedTuple


class Peer(NamedTuple):
    """A unit of others, mapped by Yosys 0.70 as cmos2 is. Quoted, not measured here."""

    name: str
    source: str
    configuration: str
    cells: int | None
    transistors: int
    depth: int | None


# All are IEEE e4m3 (infinity, 240 the largest), with subnormals, RNE tied, flags left open, no
# registers, and right on all 2^24 inputs but for the payloads of NaN.
FLOAT_PEERS = (
    Peer(
        "Muntjac, repaired", "https://github.com/lowRISC/muntjac",
        "two mends: a zero factor, one more guard bit; as published wrong on 21,060 inputs",
        1384, 5158, 108,
    ),
    Peer(
        "HardFloat, recoded", "https://github.com/bsg-external/HardFloat",
        "operands and result stay in its own 9-bit code", 1492, 5674, 88,
    ),
    Peer(
        "FPnew (CVFPU)", "https://github.com/pulp-platform/cvfpu",
        "`fpnew_fma`, one format", 1532, 5796, 104,
    ),
    Peer(
        "CORE-V Wally", "https://github.com/openhwgroup/cvw",
        "unpack, fma, postprocess", 1635, 6134, 77,
    ),
    Peer(
        "HardFloat", "https://github.com/bsg-external/HardFloat",
        "with converters from and to IEEE codes", 1669, 6306, 97,
    ),
)  # fmt: skip
# int8 * int8 + int32, wraps; multipliers right on all 2^16 inputs, `a*b+c` on 2^20 of them.
INTEGER_PEERS = (
    Peer(
        "ArithsGen", "https://github.com/ehw-fit/ariths-gen",
        "signed Dadda, ripple carry, then `+c`", 1173, 4288, 83,
    ),
    Peer(
        "ArithsGen", "https://github.com/ehw-fit/ariths-gen",
        "signed array, then `+c`", 1203, 4506, 86,
    ),
    Peer(
        "ArithsGen", "https://github.com/ehw-fit/ariths-gen",
        "signed Wallace, ripple carry, then `+c`", 1211, 4510, 70,
    ),
    Peer(
        "ArithsGen", "https://github.com/ehw-fit/ariths-gen",
        "signed carry-save array, ripple carry, then `+c`", 1231, 4510, 72,
    ),
    Peer(
        "Yosys", "https://github.com/YosysHQ/yosys",
        "`a*b+c`, `synth -booth`", None, 4580, None,
    ),
    Peer(
        "EvoApproxLib", "https://github.com/ehw-fit/evoapproxlib",
        "`mul8s_1KV8`, its exact one, then `+c`", 1342, 5098, 80,
    ),
    Peer(
        "Yosys", "https://github.com/YosysHQ/yosys",
        "`a*b+c`, `synth` as it is", 2207, 8316, 71,
    ),
)  # fmt: skip


class AreaPeer(NamedTuple):
    """A unit of others in Nangate45: by Yosys' own mapping, and by its best small recipe."""

    unit: str  # ours that it is compared with
    name: str
    plain_um2: int
    best_um2: int
    recipe: str


# The smallest of those whose netlist is right, for each unit. S1: rounds of resubstitution and
# rewriting, then `dch; amap -m`; S2: the same with `&deepsyn -T 20`. Yosys 0.70. Floats are in
# the manner of IEEE 754, with subnormals, RNE tied and flags left open, as in ``FLOAT_PEERS``.
AREA_PEERS = (
    AreaPeer("fma:e4m3fn", "Muntjac, repaired", 660, 522, "S2"),
    AreaPeer("fma:e5m2", "Muntjac, repaired", 612, 459, "S1"),
    AreaPeer("fma:bf16", "FPnew (CVFPU)", 1560, 1306, "S1"),
    AreaPeer("fma:fp16", "FPnew (CVFPU)", 2128, 1757, "S1"),
    AreaPeer("fma:e4m3fn+fp16", "Muntjac, repaired", 1059, 876, "S1"),
    AreaPeer("fma:e4m3fn+fp32", "Muntjac, repaired", 2056, 1632, "S1"),
    AreaPeer("fma:int8+int32", "ArithsGen, Dadda, then `+c`", 508, 464, "S1"),
    AreaPeer("mul:int8", "EvoApproxLib, its exact one", 409, 310, "S1"),
)
