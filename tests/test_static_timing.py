"""Static timing: against numbers worked by hand, and against OpenSTA."""

import gzip
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from fmacost.hw.characterisation import Arc, Characterisation, Edge, Linear
from fmacost.hw.liberty import read_liberty
from fmacost.hw.static_timing import (
    FanOutOfFour,
    Step,
    Surroundings,
    critical_path_ps,
    delay_ps,
    fan_out_of_four_surroundings,
    settle,
)
from fmacost.hw.synthesis import synthesise
from fmacost.hw.technology import Technology, TechnologyError, get_technology
from fmacost.sim.netlist import Cell, CellType, Netlist
from fmacost.sim.operation import parse_unit
from tests.hand_library import FA, HALF, XOR, hand_library
from tests.liberty_files import LIBRARIES, library_path
from tests.opensta import worst_delay_ps, worst_path

HAND = hand_library(XOR, FA, HALF)
AROUND = Surroundings(input_slew_ps=10, output_load_ff=5)


@pytest.fixture
def hand(tmp_path: Path) -> Technology:
    path = tmp_path / "hand.lib"
    path.write_text(HAND)
    return read_liberty(path).technology


def netlist(technology: Technology, inputs: int, outputs: tuple[int, ...], *cells: Cell) -> Netlist:
    nets = tuple(range(2, 2 + inputs))
    return Netlist("unit", {"a": nets}, {"y": outputs}, cells, dict(technology.cells))


def three_gates(technology: Technology) -> Netlist:
    """Return ~~(a & ~b)."""
    return netlist(
        technology,
        2,
        (6,),
        Cell("o", "INV", {"A": 5, "Y": 6}),
        Cell("i", "INV", {"A": 3, "Y": 4}),
        Cell("n", "NAND2", {"A": 2, "B": 4, "Y": 5}),
    )


def test_a_path_worked_by_hand(hand: Technology) -> None:
    """The slew that counts comes from the pin that is not on the path.

    n1, behind i, drives 3 fF: it rises at 10 + 2 * 3 = 16 (slew 8 + 6) and falls at 5 + 3 = 8
    (slew 4 + 3). n2, behind n, drives a rise of 2 and a fall of 1 fF: it rises at 8 + 1 + 3 * 2 =
    15 from B (slew 6), at 2 + 6 = 8 from A (slew 60); it falls at 16 + 14 + 1 = 31 (slew 4). The
    output drives 5 fF: it falls at 15 + 60 / 2 + 5 = 50, and rises at 31 + 4 + 10 = 45.
    """
    assert critical_path_ps(three_gates(hand), hand, AROUND) == (
        Step("i", "INV", "A", "Y", "fall", 8, 7, 3),
        Step("n", "NAND2", "B", "Y", "rise", 15, 60, 2),
        Step("o", "INV", "A", "Y", "fall", 50, 9, 5),
    )
    assert delay_ps(three_gates(hand), hand, AROUND) == 50


def test_wires_load_their_drivers(hand: Technology) -> None:
    """Each net of the path has one sink: 1 ps more at n1, 3 at n2, 1 at the output."""
    around = replace(AROUND, wire_ff_per_sink=1)
    assert delay_ps(three_gates(hand), hand, around) == 55


def test_a_net_drives_all_its_sinks(hand: Technology) -> None:
    """The pins of two gates and an output: 5 / 2 + 2 + 3 + 1 ... of a fall, 5 of them outside."""
    cells = (
        Cell("i", "INV", {"A": 2, "Y": 3}),
        Cell("n", "NAND2", {"A": 3, "B": 3, "Y": 4}),
        Cell("j", "INV", {"A": 3, "Y": 5}),
    )
    path = critical_path_ps(netlist(hand, 1, (3,), *cells), hand, AROUND)
    # a rise of 1 + 3 + 2 + 5 fF after a fall of slew 10
    assert path == (Step("i", "INV", "A", "Y", "rise", 10 + 2 * 11, 8 + 2 * 11, 11),)


def test_conditional_arcs_keep_their_edges(hand: Technology) -> None:
    """From A, XOR2 rises 10 after a rise and 30 after a fall; INV makes the latter the later."""
    xor = Cell("x", "XOR2", {"A": 3, "B": 0, "Y": 4})
    invert = Cell("i", "INV", {"A": 2, "Y": 3})
    path = critical_path_ps(netlist(hand, 1, (4,), xor, invert), hand, AROUND)
    # the net between rises at 10 + 4 and falls at 5 + 2; then 20 and 10, or 30 and 20
    assert [step.edge for step in path] == ["fall", "rise"]
    assert path[-1].arrival_ps == 37


def test_an_output_may_follow_another(hand: Technology) -> None:
    """The carry takes 40 + 2 * 5, the sum 15 more, and 20 from the inputs."""
    half = Cell("h", "HA", {"A": 2, "B": 3, "S": 4, "CON": 5})
    path = critical_path_ps(netlist(hand, 2, (4, 5), half), hand, AROUND)
    assert [(step.source, step.sink, step.arrival_ps) for step in path] == [
        ("A", "CON", 50),
        ("CON", "S", 65),
    ]


def test_constants_never_arrive(hand: Technology) -> None:
    """From A it would be 25 + 6 + ...: only B counts, and of its edges the rise, 1 + 3 * 5."""
    tied = netlist(hand, 1, (3,), Cell("n", "NAND2", {"A": 1, "B": 2, "Y": 3}))
    assert delay_ps(tied, hand, AROUND) == 16
    fixed = netlist(hand, 0, (3,), Cell("n", "NAND2", {"A": 1, "B": 0, "Y": 3}))
    assert critical_path_ps(fixed, hand, AROUND) == ()


def test_no_cells_no_delay(hand: Technology) -> None:
    assert delay_ps(netlist(hand, 1, (2,)), hand, AROUND) == 0


def test_only_paths_to_outputs_count(hand: Technology) -> None:
    cells = (Cell("i", "INV", {"A": 2, "Y": 3}), Cell("j", "INV", {"A": 3, "Y": 4}))
    assert [s.cell for s in critical_path_ps(netlist(hand, 1, (3,), *cells), hand)] == ["i"]


def test_fan_out_of_four(hand: Technology) -> None:
    """An INV with a pin of 1.5 fF drives 6.

    It rises in s + 12 with a slew of 20 and falls in s / 2 + 6 with a slew of 10, so a rise takes
    10 + 12 = 22 and a fall 20 / 2 + 6 = 16.
    """
    facts = hand.characterisation
    assert facts is not None
    assert settle(facts.arcs["INV"], 1.5) == FanOutOfFour(19, 15, 6)
    assert facts.fo4_ps == 19
    assert fan_out_of_four_surroundings(hand) == Surroundings(15, 6)


def linear_technology(*, inverter: bool = True) -> Technology:
    """Return cells with delays 10 + 2 l to rise and 5 + l to fall, pins of 3 fF, without slews."""
    cells = {
        "INV": CellType("INV", ("A",), (("Y", "~A"),)),
        "BUF": CellType("BUF", ("A",), (("Y", "A"),)),
    }
    edges = Edge(Linear(10, 2), None), Edge(Linear(5, 1), None)
    arcs = {
        "INV": (Arc("A", "Y", "negative", *edges),),
        "BUF": (Arc("A", "Y", "positive", *edges),),
    }
    if not inverter:
        del cells["INV"]
    facts = Characterisation(
        "toy",
        1.0,
        17 + 4.5,
        {name: {"A": 3.0} for name in cells},
        {name: arcs[name] for name in cells},
        {},
        {},
    )
    return Technology("toy", "", "", "INV", cells, dict.fromkeys(cells, 2), characterisation=facts)


def test_linear_delays_need_no_slews() -> None:
    technology = linear_technology()
    cells = (Cell("i", "INV", {"A": 2, "Y": 3}), Cell("j", "BUF", {"A": 3, "Y": 4}))
    # outputs drive four pins: 10 + 2 * 3, then 10 + 2 * 12
    path = critical_path_ps(netlist(technology, 1, (4,), *cells), technology)
    assert [(step.arrival_ps, step.slew_ps) for step in path] == [(16, 0), (50, 0)]
    facts = technology.characterisation
    assert facts
    assert settle(facts.arcs["INV"], 3) == FanOutOfFour((10 + 24 + 5 + 12) / 2, 0, 12)


def test_what_is_not_known_is_refused(hand: Technology) -> None:
    with pytest.raises(TechnologyError, match="technology cmos has no delays of INV in ps"):
        delay_ps(three_gates(hand), get_technology("cmos"))
    with pytest.raises(TechnologyError, match="technology toy has no delays of NAND2 in ps"):
        delay_ps(three_gates(hand), linear_technology())
    with pytest.raises(TechnologyError, match="technology toy has no inverter with delays in ps"):
        fan_out_of_four_surroundings(linear_technology(inverter=False))
    with pytest.raises(TechnologyError, match="technology cmos has no inverter with delays"):
        fan_out_of_four_surroundings(get_technology("cmos"))
    with pytest.raises(ValueError, match="an inverter must have an arc"):
        settle((), 1)


def random_netlist(technology: Technology, seed: int, *, size: int = 60) -> Netlist:
    """Return cells of all types on random nets; what nobody reads is an output."""
    choose = random.Random(seed)
    nets = list(range(2, 10))
    cells: list[Cell] = []
    types = list(technology.cells.values())
    for i in range(size):
        kind = choose.choice(types)
        pins = {pin: choose.choice(nets[-12:]) for pin in kind.inputs}
        for pin, _ in kind.outputs:
            pins[pin] = 2 + len(nets)
            nets.append(pins[pin])
        cells.append(Cell(f"c{i}", kind.name, pins))
    read = {cell.pins[pin] for cell in cells for pin in technology.cells[cell.type].inputs}
    outputs = tuple(net for net in nets[8:] if net not in read)
    return netlist(technology, 8, outputs, *cells)


@pytest.mark.parametrize("seed", range(6))
def test_opensta_agrees_on_random_netlists(hand: Technology, seed: int, tmp_path: Path) -> None:
    unit = random_netlist(hand, seed)
    expected = worst_delay_ps(unit, HAND, AROUND, tmp_path)
    assert delay_ps(unit, hand, AROUND) == pytest.approx(expected, rel=1e-6)


def test_opensta_agrees_on_what_was_worked_by_hand(hand: Technology, tmp_path: Path) -> None:
    assert worst_delay_ps(three_gates(hand), HAND, AROUND, tmp_path) == pytest.approx(50)


def assert_same_path(found: Sequence[Step], expected: Sequence[Step]) -> None:
    """Compare cell by cell: OpenSTA computes in single precision and prints six decimals."""
    assert [(s.cell, s.type, s.sink, s.edge) for s in found] == [
        (s.cell, s.type, s.sink, s.edge) for s in expected
    ]
    for quantity in ("arrival_ps", "slew_ps", "load_ff"):
        assert [getattr(s, quantity) for s in found] == pytest.approx(
            [getattr(s, quantity) for s in expected], rel=1e-5, abs=1e-5
        )


def test_opensta_has_the_same_path(hand: Technology, tmp_path: Path) -> None:
    unit = three_gates(hand)
    expected = worst_path(unit, HAND, AROUND, tmp_path)
    assert len(expected) == 3
    assert_same_path(critical_path_ps(unit, hand, AROUND), expected)


def test_opensta_gets_no_commands_from_names(hand: Technology, tmp_path: Path) -> None:
    names = ("[exec$IFS$()touch$IFS$()owned]", "};exec,touch,owned;{", "$x;exit\\", '"exit')
    cells = (Cell(name, "INV", {"A": 2 + i, "Y": 3 + i}) for i, name in enumerate(names))
    chain = netlist(hand, 1, (2 + len(names),), *cells)
    expected = worst_delay_ps(chain, HAND, AROUND, tmp_path)
    assert delay_ps(chain, hand, AROUND) == pytest.approx(expected, rel=1e-6)
    assert not (tmp_path / "owned").exists()


UNITS = ("mul:e2m1fn", "fma:e2m1fn", "mul:int4", "mul:int8", "mul:e4m3fn", "fma:e4m3fn")


@cache
def real_technology(name: str) -> Technology:
    return read_liberty(library_path(name)).technology


def adder_chain(technology: Technology, bits: int) -> Netlist:
    """Return a ripple of full adder cells."""
    adder = technology.full_adder
    assert adder is not None
    a, b, carry = tuple(range(2, 2 + bits)), tuple(range(100, 100 + bits)), 200
    cells = []
    for i in range(bits):
        # with inverted outputs it adds something else, in as much time
        nets = {"A": a[i], "B": b[i], "CI": carry + i, "S": 300 + i, "CO": carry + i + 1}
        cells.append(Cell(f"f{i}", adder.cell, {adder.pins[pin]: n for pin, n in nets.items()}))
    outputs = (*range(300, 300 + bits), carry + bits)
    ports = {"a": a, "b": b, "c": (carry,)}
    return Netlist("unit", ports, {"y": outputs}, tuple(cells), dict(technology.cells))


@pytest.mark.slow
@pytest.mark.parametrize("unit", [*UNITS, "ripple"])
@pytest.mark.parametrize("name", LIBRARIES)
def test_opensta_agrees_in_real_libraries(name: str, unit: str, tmp_path: Path) -> None:
    """OpenSTA computes in single precision; 1 % is what is promised."""
    technology = real_technology(name)
    if unit != "ripple":
        mapped = synthesise(parse_unit(unit), technology, effort="quick", jobs=1).netlist
    elif technology.full_adder:
        mapped = adder_chain(technology, 16)
    else:
        pytest.skip(f"{name} has no full adder")
    around = fan_out_of_four_surroundings(technology)
    liberty = gzip.decompress(library_path(name).read_bytes()).decode()
    expected = worst_delay_ps(mapped, liberty, around, tmp_path)
    assert delay_ps(mapped, technology) == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARIES)
def test_opensta_has_the_same_path_in_real_libraries(name: str, tmp_path: Path) -> None:
    technology = real_technology(name)
    unit = synthesise(parse_unit("fma:e2m1fn"), technology, effort="quick", jobs=1).netlist
    liberty = gzip.decompress(library_path(name).read_bytes()).decode()
    around = fan_out_of_four_surroundings(technology)
    expected = worst_path(unit, liberty, around, tmp_path)
    assert len(expected) > 20
    assert_same_path(critical_path_ps(unit, technology), expected)
