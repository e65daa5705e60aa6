"""Processing elements against a loop of the reference, and what they are made of."""

from dataclasses import replace
from functools import cache

import pytest

from fmacost.hw.clocking import find_delays, period
from fmacost.hw.pe import check_accumulates, processing_element
from fmacost.hw.technology import TechnologyError, get_technology
from fmacost.sim.cycles import check_accumulator
from fmacost.sim.netlist import Cell, Netlist
from fmacost.sim.operation import OperationError, parse_unit
from tests.units import CMOS, mapped

UNITS = (
    "fma:int1", "fma:uint2", "fma:int2+int6", "fma:e2m1fn", "fma:e2m1fn+e5m2", "fma:e3m0f,ftz",
    "fma:e2m1fn+exact32", "fma:e2m2ieee+exact4",
)  # fmt: skip


@cache
def element(unit: str) -> tuple[Netlist, Netlist]:
    ((operation, netlist),) = mapped([unit])
    return netlist, processing_element(operation, netlist, CMOS)


@pytest.mark.parametrize("unit", UNITS)
def test_accumulates_as_a_loop_of_the_reference(unit: str) -> None:
    checked = check_accumulator(parse_unit(unit), element(unit)[1])
    assert checked.operations == 254 * 64
    assert checked.mismatches == 0, checked.counterexample


@pytest.mark.parametrize("unit", UNITS)
def test_registers_and_gates_around_a_unit(unit: str) -> None:
    operation = parse_unit(unit)
    inside, outside = element(unit)
    a, b, c = operation.input_widths.values()
    kept = operation.output_bits  # more than c where there is ``invalid``
    assert len(outside.registers) == a + b + kept + 1
    added = 24 * (a + b + kept + 1) + 6 * kept + 2 * -(-c // 8) + 6 * (kept - c)
    assert CMOS.transistor_count(outside) == CMOS.transistor_count(inside) + added
    bare = period(inside, find_delays(inside, CMOS))
    assert bare * 0.9 < period(outside, find_delays(outside, CMOS)) < bare + 5


def swapped(netlist: Netlist, old: Cell, *new: Cell) -> Netlist:
    others = (cell for cell in netlist.cells if cell != old)
    return replace(netlist, cells=(*others, *new))


@pytest.mark.parametrize("unit", ["fma:int2+int6", "fma:e2m1fn", "fma:e2m2ieee+exact4"])
def test_faults_around_the_unit_are_found(unit: str) -> None:
    operation, good = parse_unit(unit), element(unit)[1]
    gates = [cell for cell in good.cells if cell.type == "AND2" and cell.name.startswith("gate")]
    inverters = [c for c in good.cells if c.type == "INV" and c.name.startswith("gate")]
    flags = [c for c in good.cells if c.type == "OR2" and c.name.startswith("gate")]
    mutants = [
        swapped(good, gate, replace(gate, pins=gate.pins | {"B": 1})) for gate in gates
    ]  # not cleared
    mutants += [swapped(good, c, replace(c, pins=c.pins | {"A": 0})) for c in inverters + flags]
    mutants += [swapped(good, c, replace(c, pins=c.pins | {"B": 0})) for c in flags]
    for register in good.registers:  # stuck, and late by a cycle
        new = 1 + max(net for cell in good.cells for net in cell.pins.values())
        stuck = replace(register, pins=register.pins | {"D": 0})
        first = replace(register, name="first", pins=register.pins | {"Q": new})
        second = replace(register, pins=register.pins | {"D": new})
        mutants += [swapped(good, register, stuck), swapped(good, register, second, first)]
    for mutant in mutants:
        assert check_accumulator(operation, mutant, cycles=64).mismatches


def test_result_that_is_an_operand() -> None:
    operation = parse_unit("fma:uint1")  # c + a b in one bit
    xor = Cell("xor", "XOR2", {"A": 5, "B": 4, "Y": 6})
    gate = Cell("and", "AND2", {"A": 2, "B": 3, "Y": 5})
    inputs: dict[str, tuple[int, ...]] = {"a": (2,), "b": (3,), "c": (4,)}
    netlist = Netlist("unit", inputs, {"result": (6,)}, (xor, gate), dict(CMOS.cells))
    assert (
        check_accumulator(operation, processing_element(operation, netlist, CMOS)).mismatches == 0
    )
    wire = replace(netlist, outputs={"result": (4,)})
    around = processing_element(operation, wire, CMOS)
    (held,) = (cell for cell in around.registers if cell.pins["Q"] in around.outputs["result"])
    (gate,) = (
        cell for cell in around.cells if cell.name.startswith("gate") and cell.type == "AND2"
    )
    assert held.pins["D"] == gate.pins["Y"]


@pytest.mark.parametrize(
    ("unit", "reason"),
    [
        ("mul:e4m3fn", "mul:e4m3fn cannot accumulate: it adds no addend to a product"),
        ("add:e4m3fn", "add:e4m3fn cannot accumulate: it adds no addend to a product"),
        ("fma:e4m3fn+fp32->bf16", "its result is bf16, its addend fp32"),
        ("fma:e0m0f", "e0m0f has no zero to start from"),
        ("fma:e4m3fn,sr4", "it needs random bits"),
    ],
)
def test_what_cannot_accumulate_is_refused(unit: str, reason: str) -> None:
    with pytest.raises(OperationError, match=reason):
        check_accumulates(parse_unit(unit))


def test_technology_without_flip_flop_is_refused() -> None:
    with pytest.raises(TechnologyError, match="technology cmos2 has no flip-flop"):
        processing_element(parse_unit("fma:int1"), element("fma:int1")[0], get_technology("cmos2"))


def test_technology_without_and_is_refused() -> None:
    cells = {name: kind for name, kind in CMOS.cells.items() if name != "AND2"}
    with pytest.raises(TechnologyError, match="technology cmos has no AND"):
        processing_element(
            parse_unit("fma:int1"), element("fma:int1")[0], replace(CMOS, cells=cells)
        )
