"""Pipelines: the same function so many cycles later, in shorter cycles, for counted registers."""

import itertools
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from fmacost.hw.characterisation import Arc, Characterisation, Edge, FlipFlop, Linear
from fmacost.hw.clocking import find_delays, period
from fmacost.hw.pipeline import Pipeline, insert_registers, pipelined
from fmacost.hw.technology import Technology, TechnologyError, get_technology
from fmacost.hw.timing import FO4_TAU
from fmacost.sim.cycles import check_pipeline, unregistered
from fmacost.sim.netlist import Cell, CellType, Netlist, NetlistError
from fmacost.sim.operation import parse_unit
from fmacost.sim.reference import compute
from tests.units import CMOS, mapped

SMALLEST = ("fma:int1", "mul:e0m0f", "fma:int2", "fma:e2m1fn", "add:e3m0f", "fma:uint2+uint5")


@cache
def unit(name: str) -> Netlist:
    ((_, netlist),) = mapped([name])
    return netlist


@cache
def pipeline(name: str, ranks: int) -> Pipeline:
    return pipelined(unit(name), CMOS, ranks)


def inverters(count: int, technology: Technology = CMOS) -> Netlist:
    """Return a row of inverters from a to y."""
    cells = tuple(Cell(f"i{i}", "INV", {"A": 2 + i, "Y": 3 + i}) for i in range(count))
    return Netlist("row", {"a": (2,)}, {"y": (2 + count,)}, cells, dict(technology.cells))


# The period by hand.


def test_period_of_a_row_of_inverters() -> None:
    # clock to output with an FO4 load is 3.8 FO4 of 5 tau; the inverter is a load of 1, not of 4
    launch = 3.8 * 5 - 4 + 1
    inverter, last = 1 + 1, 1 + 0.7  # the last one drives the input of a flip-flop
    expected = (launch + 2 * inverter + last) / 5 + 1.2
    assert pipelined(inverters(3), CMOS, 0).period == pytest.approx(expected)


def test_register_in_the_middle_of_a_row() -> None:
    made = pipelined(inverters(4), CMOS, 1)
    assert made.flip_flops == made.ranks == 1
    expected = (3.8 * 5 - 4 + 1 + 2 + 1.7) / 5 + 1.2
    assert made.period == pytest.approx(expected)
    assert period(made.netlist, find_delays(made.netlist, CMOS)) == made.period


def test_net_with_many_readers_is_held_before_them() -> None:
    """A register behind it drives them all instead of the inverter, which then is quick."""
    row = inverters(2)
    readers = tuple(Cell(f"r{i}", "INV", {"A": 4, "Y": 10 + i}) for i in range(40))
    fan = replace(row, cells=(*row.cells, *readers), outputs={"y": tuple(range(10, 50))})
    made = pipelined(fan, CMOS, 1)
    assert made.flip_flops == 1
    assert made.period == pytest.approx((3.8 * 5 - 4 + 40 + 1.7) / 5 + 1.2)


def test_wire_from_input_to_output_takes_a_register_a_rank() -> None:
    wire = replace(inverters(0), outputs={"y": (2, 2), "constant": (1, 0)})
    made = pipelined(wire, CMOS, 3)
    assert made.flip_flops == 3
    assert made.period == pytest.approx((3.8 * 5 - 4 + 2 * 0.7) / 5 + 1.2)
    assert made.netlist.outputs["constant"] == (1, 0)


def test_netlist_of_constants_needs_no_clock() -> None:
    netlist = replace(inverters(0), outputs={"y": (1, 0)})
    assert pipelined(netlist, CMOS, 2).netlist.inputs == {"a": (2,)}


def characterised() -> Technology:
    """Return two cells with delays in ps, the same for both edges."""
    edge = {
        name: Edge(Linear(base, resistance), None)
        for name, base, resistance in (("INV", 10.0, 2.0), ("DFF", 50.0, 4.0))
    }
    facts = Characterisation(
        corner="none",
        voltage_v=1.0,
        fo4_ps=18.0,
        capacitance_ff={"INV": {"A": 1.0}, "DFF": {"D": 0.5, "CLK": 1.0}},
        arcs={
            "INV": (Arc("A", "Y", "negative", edge["INV"], edge["INV"]),),
            "DFF": (Arc("CLK", "Q", "both", edge["DFF"], edge["DFF"]),),
        },
        leakage_nw={},
        output_energy_fj={},
        setup_ps={"DFF": 7.0},
    )
    cells = {"INV": CMOS.cells["INV"]}
    flip_flop = FlipFlop("DFF", {"D": "D", "CLK": "CLK", "Q": "Q"}, 24, 4.5)
    return Technology(
        "toy", "", "", "INV", cells, {"INV": 2}, area_um2={"INV": 0.5}, flip_flop=flip_flop,
        characterisation=facts,
    )  # fmt: skip


def test_period_in_picoseconds() -> None:
    toy = characterised()
    row = inverters(4, toy)
    launch, inverter, last = 50 + 4 * 1.0, 10 + 2 * 1.0, 10 + 2 * 0.5
    assert pipelined(row, toy, 0).period == pytest.approx(launch + 3 * inverter + last + 7)
    made = pipelined(row, toy, 1)
    assert made.period == pytest.approx(launch + inverter + last + 7)
    assert toy.area(made.netlist) == 4 * 0.5 + 4.5
    assert toy.transistor_count(made.netlist) == 4 * 2 + 24


# The function.


@pytest.mark.parametrize("name", SMALLEST)
@pytest.mark.parametrize("ranks", range(5))
def test_without_registers_it_is_the_same_netlist(name: str, ranks: int) -> None:
    made = pipeline(name, ranks)
    netlist, latency = unregistered(made.netlist)
    assert latency == made.ranks == ranks
    before = unit(name)
    assert netlist.cells == before.cells
    assert (netlist.inputs, netlist.outputs) == (before.inputs, before.outputs)


@pytest.mark.parametrize("name", SMALLEST)
@pytest.mark.parametrize("ranks", range(1, 5))
def test_streams_equal_the_reference(name: str, ranks: int) -> None:
    checked = check_pipeline(parse_unit(name), pipeline(name, ranks).netlist, ranks)
    assert checked.mismatches == 0, checked.counterexample
    assert checked.operations > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("ranks", range(1, 5))
def test_million_cycles_of_e4m3fn(ranks: int) -> None:
    operation = parse_unit("fma:e4m3fn")
    netlist = pipeline("fma:e4m3fn", ranks).netlist
    checked = check_pipeline(operation, netlist, ranks, cycles=4100, words=4)
    assert checked.cycles > 10**6
    assert checked.operations > 0.7 * 10**6
    assert checked.mismatches == 0, checked.counterexample


def bridged(netlist: Netlist, dropped: Cell, source: int) -> Netlist:
    """Return the netlist without a register; what it drove reads another net."""
    sink = dropped.pins["Q"]

    def bridge(net: int) -> int:
        return source if net == sink else net

    cells = [
        Cell(c.name, c.type, {pin: bridge(net) for pin, net in c.pins.items()})
        for c in netlist.cells
        if c != dropped
    ]
    outputs = {name: tuple(map(bridge, nets)) for name, nets in netlist.outputs.items()}
    return replace(netlist, cells=tuple(cells), outputs=outputs)


def with_double(netlist: Netlist, doubled: Cell) -> Netlist:
    """Return the netlist with one register twice in a row."""
    new = 1 + max(net for cell in netlist.cells for net in cell.pins.values())
    first = replace(doubled, name="first", pins=doubled.pins | {"Q": new})
    second = replace(doubled, pins=doubled.pins | {"D": new})
    cells = tuple(second if cell == doubled else cell for cell in netlist.cells)
    return replace(netlist, cells=(*cells, first))


@pytest.mark.parametrize("name", ["fma:int2", "fma:e2m1fn"])
def test_any_register_too_few_or_too_many_is_found(name: str) -> None:
    good, operation = pipeline(name, 2).netlist, parse_unit(name)
    unseen = []
    for register in good.registers:
        mutants = bridged(good, register, register.pins["D"]), with_double(good, register)
        for bad in mutants:
            with pytest.raises(NetlistError, match="cycles late"):
                unregistered(bad)
        if not all(check_pipeline(operation, bad, 2, cycles=64).mismatches for bad in mutants):
            unseen.append(register)
    for register in unseen:  # right are only those whose value no output shows
        for constant in (0, 1):
            stuck = bridged(good, register, constant)
            assert not check_pipeline(operation, stuck, 2).mismatches, register
    assert len(unseen) <= 1


@pytest.mark.skipif(not shutil.which("iverilog"), reason="needs Icarus Verilog")
def test_pipeline_in_icarus(tmp_path: Path) -> None:
    operation, ranks, cycles = parse_unit("fma:e2m1fn"), 3, 400
    rng = np.random.default_rng(0)
    operands = [rng.integers(0, 16, cycles, np.uint64) for _ in "abc"]
    netlist = pipeline("fma:e2m1fn", ranks).netlist
    bench = [
        "module bench;",
        "reg clk = 0; reg [3:0] a, b, c; wire [3:0] result;",
        f"{netlist.name} dut(.a(a), .b(b), .c(c), .result(result), .clk(clk));",
        "initial begin",
        *(
            f'a = {a}; b = {b}; c = {c}; #1 $display("%h", result); clk = 1; #1 clk = 0;'
            for a, b, c in zip(*operands, strict=True)
        ),
        "end endmodule",
    ]
    source, program = tmp_path / "bench.v", tmp_path / "bench.vvp"
    source.write_text("\n".join([*bench, netlist.to_verilog()]))
    subprocess.run(["iverilog", "-g2012", "-Wall", "-o", program, source], check=True)
    run = subprocess.run(["vvp", "-n", program], check=True, capture_output=True, text=True)
    printed = run.stdout.split()
    assert len(printed) == cycles
    got = [int(code, 16) for code in printed[ranks:]]
    assert got == compute(operation, *operands)[: cycles - ranks].tolist()


# How good it is.


def test_period_falls_and_registers_cost() -> None:
    made = [pipeline("fma:e4m3fn", ranks) for ranks in range(5)]
    periods = [m.period for m in made]
    assert all(later < 0.9 * earlier for earlier, later in itertools.pairwise(periods))
    counts = [m.flip_flops for m in made]
    assert counts[0] == 0
    assert all(later >= earlier + 8 for earlier, later in itertools.pairwise(counts))
    bare = CMOS.transistor_count(unit("fma:e4m3fn"))
    for m in made:
        assert CMOS.transistor_count(m.netlist) == bare + 24 * m.flip_flops


def least_registers(netlist: Netlist, ranks: int, limit: float) -> tuple[float, int]:
    """Try all stages of all cells; return the least period, and registers for it or ``limit``."""
    best = (float("inf"), 0)
    found = []
    cells = netlist.levelised()
    driver = {net: c.name for c in cells for net in c.pins.values() if net in (c.pins["Y"],)}
    for choice in itertools.product(range(ranks + 1), repeat=len(cells)):
        stages = {cell.name: stage for cell, stage in zip(cells, choice, strict=True)}
        if any(
            stages[driver[net]] > stages[cell.name]
            for cell in cells
            for pin, net in cell.pins.items()
            if pin != "Y" and net in driver
        ):
            continue
        made = insert_registers(netlist, CMOS, stages, ranks)
        found.append((period(made, find_delays(made, CMOS)), len(made.registers)))
    best = min(found)
    return best[0], min(count for time, count in found if time <= max(limit, best[0]) + 1e-9)


@pytest.mark.parametrize(("name", "ranks"), [("fma:int1", 1), ("fma:int1", 3), ("add:int2", 2)])
def test_no_choice_of_stages_is_much_better(name: str, ranks: int) -> None:
    made = pipeline(name, ranks)
    least, registers = least_registers(unit(name), ranks, made.period)
    assert made.period <= 1.05 * least
    assert made.flip_flops <= registers + 1


def test_each_register_moves_values_by_one_stage() -> None:
    stages = {"i0": 0, "i1": 2, "i2": 2}
    made = insert_registers(inverters(3), CMOS, stages, 4)
    assert len(made.registers) == 4
    assert made.clock == "clk"
    assert unregistered(made)[1] == 4


# What is refused.


@pytest.mark.parametrize("ranks", [-1, 33])
def test_number_of_ranks_has_limits(ranks: int) -> None:
    with pytest.raises(ValueError, match=rf"pipeline must be in 0..32, not {ranks}$"):
        pipelined(inverters(2), CMOS, ranks)


def test_technology_without_flip_flop_is_refused() -> None:
    with pytest.raises(TechnologyError, match="technology cmos2 has no flip-flop"):
        pipelined(inverters(0), get_technology("cmos2"), 1)


def test_further_inputs_of_a_flip_flop_are_tied() -> None:
    toy = characterised()
    assert toy.characterisation is not None
    capacitance = toy.characterisation.capacitance_ff
    capacitance = {**capacitance, "DFF": {**capacitance["DFF"], "R": 2.0}}
    tied = replace(
        toy,
        flip_flop=replace(toy.register, tied={"R": 1}),
        characterisation=replace(toy.characterisation, capacitance_ff=capacitance),
    )
    made = pipelined(inverters(4, tied), tied, 1)
    assert made.period == pipelined(inverters(4, toy), toy, 1).period
    assert [cell.pins["R"] for cell in made.netlist.registers] == [1]
    assert unregistered(made.netlist)[1] == 1


def test_rising_and_falling_edges_are_told_apart() -> None:
    toy = characterised()
    facts = toy.characterisation
    assert facts is not None
    slow, quick = Edge(Linear(30.0, 0.0), None), Edge(Linear(10.0, 0.0), None)
    arcs = {**facts.arcs, "INV": (Arc("A", "Y", "negative", slow, quick),)}
    uneven = replace(toy, characterisation=replace(facts, arcs=arcs))
    made = pipelined(inverters(4, uneven), uneven, 0)
    assert made.period == 50 + 4 * 1.0 + 2 * (30 + 10) + 7  # not four slow edges
    assert pipelined(inverters(3, uneven), uneven, 0).period == 50 + 4 * 1.0 + 30 + 10 + 30 + 7


def test_capacitances_of_edges_are_told_apart() -> None:
    toy = characterised()
    facts = toy.characterisation
    assert facts is not None
    edges = {"INV": {"A": (0.8, 1.2)}}
    uneven = replace(toy, characterisation=replace(facts, edge_capacitance_ff=edges))
    # the first inverter rises or falls later, as its input falls or rises with 1.2 or 0.8 fF
    late = 50 + 4 * 1.2 + (10 + 2 * 0.8) + (10 + 2 * 0.5) + 7
    assert pipelined(inverters(2, uneven), uneven, 0).period == pytest.approx(late)


def test_arc_from_one_output_to_another() -> None:
    """An adder cell whose sum comes after its carry."""
    toy = characterised()
    facts = toy.characterisation
    assert facts is not None
    edge, late = Edge(Linear(10.0, 1.0), None), Edge(Linear(5.0, 0.0), None)
    arcs = Arc("A", "CO", "both", edge, edge), Arc("CO", "S", "both", late, late)
    kind = CellType("HA", ("A", "B"), (("CO", "A & B"), ("S", "A ^ B")))
    adder = replace(
        toy,
        cells={**toy.cells, "HA": kind},
        characterisation=replace(
            facts,
            arcs={**facts.arcs, "HA": arcs},
            capacitance_ff={**facts.capacitance_ff, "HA": {"A": 1.0, "B": 1.0}},
        ),
    )
    cells = (Cell("h", "HA", {"A": 2, "B": 3, "S": 4, "CO": 5}),)
    netlist = Netlist("sum", {"a": (2, 3)}, {"y": (4, 5)}, cells, dict(adder.cells))
    found = find_delays(netlist, adder).arcs["h"]
    assert {(source, sink): d for ((source, _), (sink, _)), d in found.items()} == {
        ("A", "CO"): 10.5, ("A", "S"): 15.5,
    }  # fmt: skip
    assert pipelined(netlist, adder, 0).period == 50 + 4 * 1.0 + 15.5 + 7


def test_cell_of_unknown_delay_is_refused() -> None:
    bare = replace(CMOS, drive={"DFF": CMOS.drive["DFF"]})
    with pytest.raises(TechnologyError, match="technology cmos: the delays of INV are unknown"):
        pipelined(inverters(2), bare, 1)


def test_flip_flop_of_cmos_is_counted_and_timed() -> None:
    flip_flop = CMOS.register
    assert flip_flop.transistors == 24
    (delay,) = CMOS.drive["DFF"].delay_tau.values()
    assert (delay + 4) / FO4_TAU == flip_flop.clock_to_output_fo4
    assert CMOS.digest != replace(CMOS, flip_flop=replace(flip_flop, transistors=28)).digest
    assert "DFF" not in CMOS.genlib()
