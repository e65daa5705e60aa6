"""Units as mapped netlists against the reference: every mode, mixed formats, tiny formats."""

from itertools import product

import numpy as np
import pytest

from fmacost.hw.architecture import DEFAULT_ARCHITECTURE
from fmacost.hw.units.build import build_unit
from fmacost.sim.evaluate import Program, pack_planes, unpack_planes
from fmacost.sim.operation import DETERMINISTIC, Kind, Operation, Overflow, parse_unit
from tests import golden
from tests.units import check_units, mapped, tiny_formats

MODES = [str(mode) for mode in DETERMINISTIC]
POLICIES = ["", ",sat", ",daz", ",ftz", ",sat,daz,ftz"]
SIX_BITS = ["fma:e3m2ieee", "fma:e2m2fn", "fma:e2m2fnuz", "fma:e2m2f"]
EIGHT_BITS = ["fma:e4m3fn", "fma:e5m2", "fma:e4m3fnuz", "fma:e4m3f"]
EIGHT_BIT_PAIRS = [
    f"{kind}:{fmt}" for kind in ("mul", "add") for fmt in ("e4m3fn", "e5m2", "e4m3fnuz", "e3m4ieee")
]


def check_modes(units: list[str], shifts: tuple[int, ...]) -> None:
    """Check each unit in every mode, each time with as many policies as there are shifts.

    Other units have the modes with other policies: five units and one shift have all pairs.
    """
    made = [
        f"{unit},{mode}{POLICIES[(i + place + shift) % len(POLICIES)]}"
        for place, unit in enumerate(units)
        for i, mode in enumerate(MODES)
        for shift in shifts
    ]
    assert len(set(made)) == len(units) * len(MODES) * len(shifts)
    assert check_units(made) == sum(1 << parse_unit(unit).input_bits for unit in made)


def test_eight_bit_floats_on_every_input() -> None:
    units = ["fma:e4m3fn", "fma:e5m2", "fma:e4m3fnuz", "fma:e2m1fn", "fma:e3m2fn", "fma:e2m3fn"]
    assert check_units(units) > 3 * 2**24


def test_integers() -> None:
    units = ["fma:int8", "fma:int4+int16", "mul:int8", "add:int8", "fma:uint4*int4+int16,sat"]
    units += ["fma:int8+int32", "fma:int8+int32,sat", "mul:uint8", "fma:int16+int64", "mul:int16"]
    assert check_units(units) > 2**24


def test_modes_and_policies_of_six_bit_floats() -> None:
    check_modes(SIX_BITS, (0, 2))


@pytest.mark.slow
def test_modes_and_policies_of_eight_bit_floats() -> None:
    check_modes(EIGHT_BITS, (0, 2))


@pytest.mark.slow
def test_modes_and_policies_of_eight_bit_products_and_sums() -> None:
    check_modes(EIGHT_BIT_PAIRS, (0,))


@pytest.mark.sweep
@pytest.mark.parametrize("unit", SIX_BITS + EIGHT_BITS + EIGHT_BIT_PAIRS)
def test_every_mode_with_every_policy(unit: str) -> None:
    check_modes([unit], tuple(range(len(POLICIES))))


def test_wide_and_mixed_units() -> None:
    units = ["mul:fp16", "fma:fp16", "fma:e4m3fn+fp16", "fma:e4m3fn+fp32->bf16", "add:fp16+fp32"]
    units += ["fma:e4m3fn+exact32", "fma:e5m2+exact1", "fma:e4m3fn->fixed8.4,rup"]
    assert check_units(units) >= 50_000 * len(units)


def test_stochastic_rounding() -> None:
    units = [
        "fma:e2m1fn,sr3",
        "fma:e2m2f,sr1",
        "mul:e4m3fn,sr4",
        "add:e3m2ieee,sr5",
        "mul:e5m2,sr2",
    ]
    units += ["fma:e3m2fnuz,sr2,sat", "fma:e1m2f,sr3", "add:e0m3f,sr3", "mul:e3m0f,sr4,ftz"]
    units += ["fma:e4m3fn,sr4", "fma:e4m3fn+fp16,sr8", "fma:bf16,sr16", "mul:int8->e4m3fn,sr5"]
    assert check_units(units) > 2**20


@pytest.mark.slow
def test_fp32_units() -> None:
    units = ["fma:fp32", "mul:fp32", "add:fp32,rdn", "fma:bf16*int8+fp32,rup", "fma:bf16,daz"]
    units += ["fma:bf16", "fma:e4m3fn+fp32", "fma:fp32,rtz,sat,daz,ftz", "fma:bf16+exact32"]
    assert check_units(units) >= 50_000 * len(units)


@pytest.mark.sweep
def test_more_wide_units() -> None:
    units = ["fma:tf32+fp32,rmm", "fma:e5m2+fp32,rup", "fma:fp32,rdn", "fma:bf16*int8+fp32"]
    units += ["add:fp32", "add:tf32", "fma:e5m2+fp32", "fma:fp16+fp32,rup"]
    assert check_units(units) >= 50_000 * len(units)


def test_tiny_formats_with_themselves_on_every_input() -> None:
    formats = tiny_formats(4)
    assert len(formats) == 30
    units = [Operation(Kind.FMA, (f, f, f), f) for f in formats]
    units += [Operation(kind, (f, f), f) for f in formats for kind in (Kind.MUL, Kind.ADD)]
    assert check_units(units) > 0


def _tiny_pairs(kind: Kind) -> list[Operation]:
    """Return a unit for every pair of tiny formats, with all modes and policies among them."""
    formats = tiny_formats(4)
    modes = DETERMINISTIC
    units = []
    for i, (a, b) in enumerate(product(formats, repeat=2)):
        operands = (a, b, a) if kind is Kind.FMA else (a, b)
        overflow = Overflow.SAT if i % 3 == 0 else Overflow.IEEE
        units.append(Operation(kind, operands, b, modes[i % len(modes)], overflow))
    assert len(units) == 900
    return units


@pytest.mark.slow
def test_pairs_of_tiny_formats_on_every_input() -> None:
    """Each format with four others on each side; the sweep below has all pairs of every kind."""
    kinds = [_tiny_pairs(kind) for kind in Kind]
    count = len(tiny_formats(4))
    places = [i for i in range(count**2) if (i // count + i) % 7 == 3]
    units = [kinds[n % len(kinds)][i] for n, i in enumerate(places)]
    for side in (0, 1):
        assert len({unit.operands[side] for unit in units}) == count
    assert check_units(units) > 0


@pytest.mark.sweep
@pytest.mark.parametrize("kind", list(Kind))
def test_all_pairs_of_tiny_formats_on_every_input(kind: Kind) -> None:
    assert check_units(_tiny_pairs(kind)) > 0


def _check_golden(groups: dict[Operation, list[golden.Row]]) -> int:
    ran = 0
    for operation, netlist in mapped(list(groups)):
        program = Program.compile(netlist)
        rows = groups[operation]
        planes = {
            port: pack_planes(np.array([row.codes[i] for row in rows], np.uint64), width)
            for i, (port, width) in enumerate(operation.input_widths.items())
        }
        results = unpack_planes(program.run(planes)["result"], len(rows))
        for row, code in zip(rows, results, strict=True):
            assert row.expectation.accepts(int(code)), f"{row.expectation.id}: got {int(code):#x}"
            ran += 1
    return ran


def _is_wide(operation: Operation) -> bool:
    return operation.input_bits > 32


def test_golden_rows_on_the_netlist() -> None:
    groups = {op: rows for op, rows in golden.netlist_rows().items() if not _is_wide(op)}
    assert _check_golden(groups) >= 42


@pytest.mark.slow
def test_golden_rows_of_wide_units_on_the_netlist() -> None:
    groups = {op: rows for op, rows in golden.netlist_rows().items() if _is_wide(op)}
    assert _check_golden(groups) >= 62


@pytest.mark.parametrize("unit", ["fma:uint1*int1+e1m0fn->uint4,sat", "fma:int2+int3->uint5,sat"])
def test_unsigned_results_saturate_at_zero(unit: str) -> None:
    assert check_units([unit]) > 0


def test_a_unit_says_what_it_cannot_be() -> None:
    from fmacost.hw.units.fixed_unit import FixedUnit
    from fmacost.hw.units.float_unit import FloatUnit
    from fmacost.sim.operation import parse_unit

    with pytest.raises(ValueError, match="no float result"):
        FloatUnit(parse_unit("mul:int8"), DEFAULT_ARCHITECTURE)
    with pytest.raises(ValueError, match="no fixed-point result"):
        FixedUnit(parse_unit("mul:fp16"), DEFAULT_ARCHITECTURE)
    assert isinstance(build_unit(parse_unit("mul:fp16")), FloatUnit)
