"""Figures of others that ours are compared with: data with its source, nothing measured here."""

from collections.abc import Mapping
from dataclasses import dataclass

from fmacost.reports import accumulators, analytic

HOROWITZ, EVOAPPROX, FORMATSCOPE, CHEN, BAALEN = SOURCES = (
    "horowitz",
    "evoapprox",
    "formatscope",
    "chen",
    "vanbaalen",
)
CITATIONS: Mapping[str, str] = {
    HOROWITZ: "Horowitz, Computing's energy problem, ISSCC 2014, the table of 45 nm at 0.9 V; the "
    "areas are those usually printed beside it, second-hand",
    EVOAPPROX: "EvoApproxLib, exact circuits of https://github.com/ehw-fit/evoapproxlib, its "
    "figures for PDK45",
    FORMATSCOPE: "FormatScope, https://github.com/SiHeonOh/FormatScope, results/breakdown.csv of "
    "2026-09-17 over 32 lanes",
    CHEN: "Chen et al. 2025, arXiv:2510.25602, table 6 and equations 44 and 45: a model, not a "
    "measurement",
    BAALEN: accumulators.PUBLISHED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One figure of others, and the unit of ours that is closest to it.

    Attributes
    ----------
    source : one of ``SOURCES``
    what : in a few words, for a table
    quantity : field of a row that it is compared with
    value : in the unit of that field, or a ratio if there are two ``units``
    technology, configuration : theirs
    units : ours; of two, the first over the second
    measured_in : technology of ours
    voltage_v : theirs, where energies have to be brought to one voltage
    why : one sentence on the difference to expect
    """

    source: str
    what: str
    quantity: str
    value: float
    technology: str
    configuration: str
    units: tuple[str, ...]
    measured_in: str
    why: str
    voltage_v: float | None = None


_INTEGER_AREA = (
    "another 45 nm library and a clock that the table does not give; ours are made for area alone, "
    "with no limit on delay"
)
_FLOAT_AREA = (
    "his floats presumably hold a fast clock, and neither their subnormals nor their rounding are "
    "given; ours are combinational, for area alone, with subnormals and one rounding"
)
_ENERGY = (
    "operands, clock and wires of his are not given; ours is the mean over uniform codes, without "
    "wires and without glitches, brought to his voltage by its square"
)
_CELLS = (
    "arrays of AND, half and full adder cells of another 45 nm library, in which an adder takes "
    "8.8 µm² a bit; ours are recoded or share logic, in cells of minimum drive"
)
_DELAY = "theirs is what their cells reach; ours is that of the smallest netlist, with no sizing"
_SCOPE = (
    "the same library, mapped stage by stage in their own flow of Yosys 0.68 and ABC; ours is the "
    "smallest of a portfolio of structures and recipes"
)
_SCOPE_FLOAT = (
    "theirs is decode and product stage, which leave the product as sign, exponent and magnitude; "
    "ours also normalises subnormals and packs a bf16"
)
_MODEL = (
    "the model counts one AND and one full adder for each bit of the array, in cmos cells of 6 and "
    "28 transistors; ours are recoded and optimised across them"
)
_MODEL_FLOAT = (
    "the model has significands and exponents alone; ours decodes, keeps subnormals and NaN, "
    "normalises and packs"
)
_MODEL_MAC = (
    "the model has a 24-bit window and one normaliser, no rounding and no special values; ours is "
    "a whole FMA with a 16-bit addend, and its integer is far below the array of the model"
)
_GATES = (
    "theirs are two-input gates counted by stage on paper, with fixed-point int8 as base; ours are "
    "transistors of whole units for area alone, whose integer is small"
)
_ADDERS = "; effort quick dissolves full adders into logic, which an adder alone pays for"
_LIBRARY, _LANES = "nangate45", 32


def _horowitz() -> list[Reference]:
    table = [  # what, unit, µm², pJ
        ("int8 add", "add:int8", 36, 0.03),
        ("int32 add", "add:int32", 137, 0.1),
        ("int8 mult", "mul:int8", 282, 0.2),
        ("int32 mult", "mul:int32", 3495, 3.1),
        ("fp16 add", "add:fp16", 1360, 0.4),
        ("fp32 add", "add:fp32", 4184, 0.9),
        ("fp16 mult", "mul:fp16", 1640, 1.1),
        ("fp32 mult", "mul:fp32", 7700, 3.7),
    ]
    found = []
    for what, unit, area_um2, energy_pj in table:
        why = _FLOAT_AREA if what.startswith("fp") else _INTEGER_AREA
        more = _ADDERS if unit.startswith("add:int") else ""
        for quantity, value, reason in (
            ("area_um2", area_um2, why),
            ("energy_fj", round(1000 * energy_pj), _ENERGY),
        ):
            found.append(
                Reference(
                    source=HOROWITZ, what=what, quantity=quantity, value=value,
                    technology="45 nm, 0.9 V", configuration="operator alone", units=(unit,),
                    measured_in=_LIBRARY, why=reason + more, voltage_v=0.9,
                )
            )  # fmt: skip
    return found


def _evoapprox() -> list[Reference]:
    table = [  # circuit, what, unit, quantity, value
        ("mul8u_1JJQ", "8x8 unsigned", "mul:uint8", "area_um2", 709.6),
        ("mul8u_1JJQ", "8x8 unsigned", "mul:uint8", "delay_ps", 1430),
        ("mul8s_1KV6", "8x8 signed", "mul:int8", "area_um2", 729.8),
        ("mul8s_1KV6", "8x8 signed", "mul:int8", "delay_ps", 1480),
        ("mul8x4u_2DB", "8x4 unsigned", "mul:uint8*uint4", "area_um2", 342.6),
        ("the exact one", "11x11 unsigned", "mul:uint11", "area_um2", 1340.8),
        ("mul16u_BMC", "16x16 unsigned", "mul:uint16", "area_um2", 3203.0),
        ("add8u_1HG", "8+8 unsigned, 9 bits", "add:uint8->uint9", "area_um2", 70.4),
    ]
    return [
        Reference(
            source=EVOAPPROX, what=what, quantity=quantity, value=value,
            technology="PDK45, 45 nm", configuration=circuit, units=(unit,),
            measured_in=_LIBRARY,
            why=(_CELLS if quantity == "area_um2" else _DELAY)
            + (_ADDERS if unit.startswith("add:") else ""),
        )
        for circuit, what, unit, quantity, value in table
    ]  # fmt: skip


def _formatscope() -> list[Reference]:
    int8, int4 = 76637.2512 / _LANES, 16706.0224 / _LANES
    e4m3 = (17991.0048 + 4484.3008) / _LANES  # stages mul and decode
    float_unit = "mul:e4m3fn->bf16"
    table = [
        ("int8 mult of a lane", int8, "stage mul", ("mul:int8",), _SCOPE),
        ("int4 mult of a lane", int4, "stage mul", ("mul:int4",), _SCOPE),
        ("e4m3 mult of a lane", e4m3, "stages mul, decode", (float_unit,), _SCOPE_FLOAT),
        ("e4m3 over int8 mult", e4m3 / int8, "the same", (float_unit, "mul:int8"), _SCOPE_FLOAT),
    ]
    return [
        Reference(
            source=FORMATSCOPE, what=what, quantity="area_um2", value=value,
            technology="sky130hd, typical, 1.8 V", configuration=configuration, units=units,
            measured_in="sky130hd", why=why,
        )
        for what, value, configuration, units, why in table
    ]  # fmt: skip


def _chen() -> list[Reference]:
    from fmacost.hw.technology import get_technology

    cells = get_technology("cmos").transistors
    int8, e4m3 = (analytic.multiplier_cost(s, cells) for s in (analytic.INT8, analytic.E4M3))
    mac, macs = analytic.unit_ratio(1, cells), ("fma:e4m3fn+fp16", "fma:int8+int16")
    table = [
        ("int8 mult", int8, ("mul:int8",), _MODEL),
        ("e4m3 mult", e4m3, ("mul:e4m3fn->bf16",), _MODEL_FLOAT),
        ("e4m3 over int8 mult", e4m3 / int8, ("mul:e4m3fn->bf16", "mul:int8"), _MODEL_FLOAT),
        ("e4m3 over int8 MAC", mac, macs, _MODEL_MAC),
    ]
    return [
        Reference(
            source=CHEN, what=what, quantity="transistors", value=value,
            technology="the model in cmos cells", configuration="one lane", units=units,
            measured_in="cmos", why=why,
        )
        for what, value, units, why in table
    ]  # fmt: skip


def _baalen() -> list[Reference]:
    return [
        Reference(
            source=BAALEN, what=f"{addend} over int8 MAC", quantity="transistors", value=ratio,
            technology="two-input gates", configuration="a MAC of its own, E4M3",
            units=(f"fma:{addend}", "fma:int8+int28"), measured_in="cmos", why=_GATES,
        )
        for addend, ratio in accumulators.PUBLISHED_RATIOS.items()
    ]  # fmt: skip


def references() -> tuple[Reference, ...]:
    """Return every figure, by source."""
    return (*_horowitz(), *_evoapprox(), *_formatscope(), *_chen(), *_baalen())
