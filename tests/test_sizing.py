"""Sizes and buffers: faster, of the same function, timed as static timing does, for less area."""

import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from fmacost.hw.liberty import read_liberty
from fmacost.hw.sizing import _State, buffered, grown, shrunk
from fmacost.hw.static_timing import critical_path_ps, delay_ps
from fmacost.hw.synthesis import map_quickly, synthesise
from fmacost.hw.technology import TECHNOLOGIES, Technology, TechnologyError
from fmacost.hw.timing import delay_fo4
from fmacost.hw.units.build import to_rtlil
from fmacost.sim.check import verify
from fmacost.sim.netlist import Cell, Netlist
from fmacost.sim.operation import parse_unit
from tests.hand_library import BUFFER, XOR, hand_library
from tests.test_built_in import NAMES
from tests.units import assert_exact

NANGATE = TECHNOLOGIES["nangate45"]
MULTIPLIER = parse_unit("mul:int3")


def fan_out(technology: Technology, sinks: int, stages: int = 2) -> Netlist:
    """Return an inverter that drives the first of a chain and many that end at once."""
    inverter = technology.cells[technology.inverter]
    (source,), ((sink, _),) = inverter.inputs, inverter.outputs
    cells = [Cell("root", inverter.name, {source: 2, sink: 3})]
    cells += [Cell(f"s{i}", inverter.name, {source: 3, sink: 4 + i}) for i in range(sinks)]
    chain = [4, *(3 + sinks + i for i in range(1, stages))]
    cells += [Cell(f"c{net}", inverter.name, {source: a, sink: net}) for a, net in pairwise(chain)]
    outputs = {"y": (*range(5, 4 + sinks), chain[-1])}
    return Netlist("unit", {"a": (2,)}, outputs, tuple(cells), dict(technology.cells))


@pytest.fixture(scope="module")
def multiplier() -> Netlist:
    return map_quickly([to_rtlil(MULTIPLIER)], NANGATE)[0]


@NAMES
def test_larger_drives_do_the_same_faster(name: str) -> None:
    technology = TECHNOLOGIES[name]
    known = technology.characterisation
    assert known is not None
    assert technology.inverter in technology.drives
    load = 16 * technology.inverter_ff

    def slowest(cell: str) -> float:
        edges = (edge for arc in known.arcs[cell] for edge in (arc.rise, arc.fall) if edge)
        return max(edge.delay.at(known.fo4_ps, load) for edge in edges)

    for smallest, drives in technology.drives.items():
        assert not {cell.name for cell in drives} & technology.cells.keys()
        for before, cell in pairwise([technology.cells[smallest], *drives]):
            assert set(cell.inputs) == set(before.inputs)
            for pin, _ in before.outputs:
                alike = replace(cell, inputs=before.inputs)
                assert alike.truth_table(pin) == before.truth_table(pin)
            assert technology.cell_cost[cell.name] >= technology.cell_cost[before.name]
            assert slowest(cell.name) < slowest(before.name)
            assert technology.transistors[cell.name] == technology.transistors[smallest]
            assert cell.name in technology.library
            assert cell.name not in technology.genlib()


def test_a_heavy_net_gets_a_larger_driver_or_a_buffer() -> None:
    netlist = fan_out(NANGATE, 24)
    states = list(grown(netlist, NANGATE))
    delays = [delay_ps(state, NANGATE) for state in (netlist, *states)]
    assert delays == sorted(delays, reverse=True)
    assert delays[-1] < 0.6 * delays[0]
    counts = states[-1].count()
    assert counts.keys() - {"INV_X1"}
    assert NANGATE.cost(states[-1]) > NANGATE.cost(netlist)


def test_sinks_that_can_wait_go_behind_a_buffer() -> None:
    """Without larger drives a buffer is all that helps."""
    bare = replace(NANGATE, drives={})
    netlist = fan_out(bare, 24, stages=6)
    *_, last = grown(netlist, bare)
    added = {name: n - netlist.count().get(name, 0) for name, n in last.count().items()}
    assert added["INV_X1"] == 0
    assert added["BUF_X1"] > 0
    assert delay_ps(last, bare) < 0.9 * delay_ps(netlist, bare)
    assert {cell.name for cell in netlist.cells} < {cell.name for cell in last.cells}


@NAMES
def test_buffers_alone_make_it_faster(name: str) -> None:
    technology = TECHNOLOGIES[name]
    netlist = fan_out(technology, 24, stages=6)
    fast = buffered(netlist, technology)
    lean = buffered(netlist, technology, weigh_cost=True)
    assert delay_ps(fast, technology) < 0.95 * delay_ps(netlist, technology)
    assert {cell.name: cell.type for cell in netlist.cells}.items() <= {
        cell.name: cell.type for cell in fast.cells
    }.items()
    (buffer,) = fast.count().keys() - netlist.count().keys()
    assert technology.cells[buffer].truth_table(technology.cells[buffer].outputs[0][0]) == 0b10

    def product(made: Netlist) -> float:
        return technology.cost(made) * delay_ps(made, technology)

    assert product(lean) <= min(product(fast), product(netlist))
    assert delay_ps(lean, technology) >= delay_ps(fast, technology)


def test_narrow_nets_are_left_alone() -> None:
    netlist = fan_out(NANGATE, 1)
    assert buffered(netlist, NANGATE) is netlist


@pytest.mark.parametrize("name", ["sky130hd", "a Liberty file"])
def test_units_for_delay_get_buffers(name: str, tmp_path: Path) -> None:
    path = tmp_path / "hand.lib"
    path.write_text(hand_library(XOR, BUFFER))
    technology = TECHNOLOGIES[name] if name in TECHNOLOGIES else read_liberty(path).technology
    made = synthesise(MULTIPLIER, technology, objective="delay", effort="quick")
    plain, with_buffers = sorted(made.candidates, key=lambda candidate: candidate.recipe)
    assert with_buffers.recipe == f"{plain.recipe}+buffers"
    assert with_buffers.delay_fo4 < plain.delay_fo4
    assert_exact(MULTIPLIER, verify(MULTIPLIER, made.netlist))


def test_no_move_makes_it_slower(multiplier: Netlist) -> None:
    state = _State(multiplier, NANGATE)
    before, moves = state.delay_ps(), 0
    while moves < 200 and state.improve():
        assert state.delay_ps() <= before + 1e-6
        before, moves = state.delay_ps(), moves + 1
    assert 10 < moves < 200
    assert not state.improve()


def test_a_walk_ends_at_its_target() -> None:
    netlist = fan_out(NANGATE, 24)
    target = 0.8 * delay_ps(netlist, NANGATE)
    *_, last = grown(netlist, NANGATE, target_ps=target)
    *_, fastest = grown(netlist, NANGATE)
    assert delay_ps(fastest, NANGATE) < delay_ps(last, NANGATE) <= target
    assert NANGATE.cost(last) < NANGATE.cost(fastest)
    assert list(grown(netlist, NANGATE, target_ps=1e6)) == []


def test_what_a_target_does_not_need_is_taken_back() -> None:
    netlist = fan_out(NANGATE, 24)
    *_, fastest = grown(netlist, NANGATE)
    slow = delay_ps(netlist, NANGATE)
    same = shrunk(fastest, NANGATE, 0)
    assert delay_ps(same, NANGATE) <= delay_ps(fastest, NANGATE) + 1e-6
    less = shrunk(fastest, NANGATE, 0.8 * slow)
    assert NANGATE.cost(less) < NANGATE.cost(same) <= NANGATE.cost(fastest)
    assert delay_ps(less, NANGATE) <= 0.8 * slow + 1e-6
    wasted = replace(
        netlist, library=dict(NANGATE.sized_cells),
        cells=(*netlist.cells[:1], *(replace(c, type="INV_X8") for c in netlist.cells[1:])),
    )  # fmt: skip
    assert shrunk(wasted, NANGATE, 1e6).count() == netlist.count()


def test_every_state_is_exact(multiplier: Netlist) -> None:
    states = list(grown(multiplier, NANGATE))
    assert states
    for state in (*states, shrunk(states[-1], NANGATE, 0)):
        assert_exact(MULTIPLIER, verify(MULTIPLIER, state))
    assert delay_ps(states[-1], NANGATE) < 0.95 * delay_ps(multiplier, NANGATE)


@pytest.mark.parametrize("name", ["nangate45", "asap7"])
def test_timing_follows_changes(name: str, multiplier: Netlist) -> None:
    """After any change the delay is that of a netlist timed from scratch."""
    technology = TECHNOLOGIES[name]
    netlist = multiplier
    if name != "nangate45":
        netlist = map_quickly([to_rtlil(MULTIPLIER)], technology)[0]
    state = _State(netlist, technology)
    ladders = {n: [n, *(c.name for c in d)] for n, d in technology.drives.items()}
    sizes = {kind: ladder for ladder in ladders.values() for kind in ladder}
    draw = random.Random(3)
    cells = [cell for cell in netlist.cells if cell.type in sizes]
    for _ in range(60):
        cell = draw.choice(cells)
        state._resize(cell.name, draw.choice(sizes[cell.type]))
        assert state.delay_ps() == pytest.approx(delay_ps(state.netlist(), technology), rel=1e-12)
    path = critical_path_ps(state.netlist(), technology)
    assert [s.cell for s in state._critical_path()] == [s.cell for s in path]


def test_slews_of_a_liberty_file_count(tmp_path: Path) -> None:
    strong = hand_library().partition("cell (INV)")[2].partition("cell (")[0]
    faster = f"cell (INV2) {strong}".replace("area : 2", "area : 3")
    faster = faster.replace('"10, 30", "20, 40"', '"5, 12", "9, 16"')
    faster = faster.replace('"5, 15", "10, 20"', '"4, 9", "8, 13"')
    path = tmp_path / "hand.lib"
    text = hand_library()
    path.write_text(text[: text.rindex("}")] + faster + "}\n")
    technology = read_liberty(path).technology
    assert [cell.name for cell in technology.drives["INV"]] == ["INV2"]
    netlist = fan_out(technology, 3)
    state = _State(netlist, technology)
    state._resize("root", "INV2")
    assert state.delay_ps() == pytest.approx(delay_ps(state.netlist(), technology), rel=1e-12)
    *_, last = grown(netlist, technology)
    assert delay_ps(last, technology) < delay_ps(netlist, technology)


def test_edges_of_use() -> None:
    empty = Netlist("unit", {"a": (2,)}, {"y": (2,)}, (), dict(NANGATE.cells))
    assert list(grown(empty, NANGATE)) == []
    assert shrunk(empty, NANGATE, 1.0) == empty
    cmos = TECHNOLOGIES["cmos"]
    with pytest.raises(TechnologyError, match="cmos has no delays of INV in ps"):
        list(grown(fan_out(cmos, 2), cmos))


def test_fo4_of_larger_cells_are_those_of_the_library() -> None:
    netlist = fan_out(NANGATE, 8)
    *_, last = grown(netlist, NANGATE)
    assert NANGATE.characterisation is not None
    ours = delay_ps(last, NANGATE) / NANGATE.characterisation.fo4_ps
    assert delay_fo4(last, NANGATE) == pytest.approx(ours)
    assert np.isfinite(delay_fo4(netlist, NANGATE))
