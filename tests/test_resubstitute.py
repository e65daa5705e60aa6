"""Resubstitution: smaller, equal, deterministic, and able to see a wrong candidate."""

import pytest

from fmacost.hw import resubstitute as module
from fmacost.hw.resubstitute import resubstitute
from fmacost.hw.synthesis import map_quickly
from fmacost.hw.technology import TECHNOLOGIES
from fmacost.hw.units.build import to_rtlil
from fmacost.sim.check import verify
from fmacost.sim.netlist import Cell, Netlist
from fmacost.sim.operation import parse_unit
from tests.units import CMOS, assert_exact, mapped

COST = {name: count for name, count in CMOS.transistors.items() if name not in CMOS.arithmetic}


@pytest.mark.parametrize("unit", ["mul:e2m2f", "mul:int4", "add:e2m1fn"])
def test_a_netlist_gets_smaller_and_stays_exact(unit: str) -> None:
    ((operation, netlist),) = mapped([unit])
    smaller = resubstitute(netlist, COST, rounds=2)
    assert_exact(operation, verify(operation, smaller))
    assert CMOS.transistor_count(smaller) <= CMOS.transistor_count(netlist)
    if unit == "mul:e2m2f":
        assert CMOS.transistor_count(smaller) < CMOS.transistor_count(netlist)


def test_a_library_without_every_gate_will_do() -> None:
    technology = TECHNOLOGIES["nangate45"]
    operation = parse_unit("mul:e2m2f")
    (netlist,) = map_quickly([to_rtlil(operation)], technology)
    cost = {n: c for n, c in technology.cell_cost.items() if n not in technology.arithmetic}
    smaller = resubstitute(netlist, cost, rounds=2)
    assert_exact(operation, verify(operation, smaller))
    assert technology.cost(smaller) < technology.cost(netlist)


def test_the_same_seed_gives_the_same_netlist() -> None:
    ((_, netlist),) = mapped(["mul:e2m1fn"])
    first, second = (resubstitute(netlist, COST, rounds=1, seed=3) for _ in range(2))
    assert first == second


def test_redundant_gates_go() -> None:
    """(a & b) | (a & ~b) is a; a xor of a with itself is a constant."""
    library = dict(CMOS.cells)
    cells = (
        Cell("n", "INV", {"A": 3, "Y": 4}),
        Cell("g", "AND2", {"A": 2, "B": 3, "Y": 5}),
        Cell("h", "AND2", {"A": 2, "B": 4, "Y": 6}),
        Cell("o", "OR2", {"A": 5, "B": 6, "Y": 7}),
        Cell("x", "XOR2", {"A": 7, "B": 2, "Y": 8}),
    )
    netlist = Netlist("t", {"a": (2,), "b": (3,)}, {"p": (7,), "q": (8,)}, cells, library)
    smaller = resubstitute(netlist, COST, rounds=3)
    assert smaller.cells == ()
    assert smaller.outputs == {"p": (2,), "q": (0,)}


def test_candidates_that_the_sample_allows_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """One word of samples misses most cases; the exhaustive comparison must not."""
    monkeypatch.setattr(module, "_SAMPLE_WORDS", 3)
    ((operation, netlist),) = mapped(["add:e2m1fn"])
    assert_exact(operation, verify(operation, resubstitute(netlist, COST, rounds=1)))


def test_netlists_with_too_many_inputs_are_refused() -> None:
    ((_, netlist),) = mapped(["mul:int16"])
    with pytest.raises(ValueError, match="at most 24 input bits, not 32"):
        resubstitute(netlist, COST, rounds=1)
