"""Resubstitution: smaller, equal, deterministic, and able to see a wrong candidate."""

import pytest

from fmacost.hw import resubstitute as module
from fmacost.hw.resubstitute import resubstitute, resubstitute_windows
from fmacost.hw.synthesis import map_quickly
from fmacost.hw.technology import TECHNOLOGIES, Technology
from fmacost.hw.units.build import to_rtlil
from fmacost.sim.check import verify
from fmacost.sim.netlist import Cell, Netlist
from fmacost.sim.operation import parse_unit
from tests.units import CMOS, assert_exact, mapped


def cost_of(technology: Technology) -> dict[str, float]:
    """Return the costs of the cells that logic may use."""
    cells = technology.cells.keys() - set(technology.arithmetic)
    return {name: technology.cell_cost[name] for name in sorted(cells)}


COST = cost_of(CMOS)


@pytest.mark.parametrize("unit", ["mul:e2m2f", "mul:int4", "add:e2m1fn"])
def test_a_netlist_gets_smaller_and_stays_exact(unit: str) -> None:
    ((operation, netlist),) = mapped([unit])
    smaller = resubstitute(netlist, COST, sweeps=2)
    assert_exact(operation, verify(operation, smaller))
    assert CMOS.transistor_count(smaller) <= CMOS.transistor_count(netlist)
    if unit == "mul:e2m2f":
        assert CMOS.transistor_count(smaller) < CMOS.transistor_count(netlist)


def test_a_library_without_every_gate_will_do() -> None:
    technology = TECHNOLOGIES["nangate45"]
    operation = parse_unit("mul:e2m2f")
    (netlist,) = map_quickly([to_rtlil(operation)], technology)
    cost = cost_of(technology)
    smaller = resubstitute(netlist, cost, sweeps=2)
    assert_exact(operation, verify(operation, smaller))
    assert technology.cost(smaller) < technology.cost(netlist)


def test_the_same_seed_gives_the_same_netlist() -> None:
    ((_, netlist),) = mapped(["mul:e2m1fn"])
    first, second = (resubstitute(netlist, COST, sweeps=1, seed=3) for _ in range(2))
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
    smaller = resubstitute(netlist, COST, sweeps=3)
    assert smaller.cells == ()
    assert smaller.outputs == {"p": (2,), "q": (0,)}


def test_candidates_that_the_sample_allows_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """One word of samples misses most cases; the exhaustive comparison must not."""
    monkeypatch.setattr(module, "_SAMPLED_BITS", 0)
    monkeypatch.setattr(module, "_SAMPLE_WORDS", 3)
    ((operation, netlist),) = mapped(["add:e2m1fn"])
    assert_exact(operation, verify(operation, resubstitute(netlist, COST, sweeps=1)))


def test_netlists_with_too_many_inputs_are_refused() -> None:
    ((_, netlist),) = mapped(["mul:int16"])
    with pytest.raises(ValueError, match="at most 24 input bits, not 32"):
        resubstitute(netlist, COST, sweeps=1)


@pytest.mark.parametrize("temperature", [0.0, 0.3])
def test_windows_keep_wide_netlists_exact(temperature: float) -> None:
    """Adder cells stay between the windows; a random netlist of many inputs has many windows."""
    technology = TECHNOLOGIES["nangate45"]
    operation = parse_unit("fma:int4+int16")
    (netlist,) = map_quickly([to_rtlil(operation)], technology)
    cost = cost_of(technology)
    changed = resubstitute_windows(netlist, cost, sweeps=2, temperature=temperature)
    assert_exact(operation, verify(operation, changed))
    assert changed != netlist
    if not temperature:
        assert technology.cost(changed) < technology.cost(netlist)


def test_a_window_never_closes_a_loop() -> None:
    """Two windows whose gates feed each other: each alone may change, never both in a ring."""
    ((operation, netlist),) = mapped(["fma:e3m2fn"])
    for seed in range(2):
        changed = resubstitute_windows(netlist, COST, sweeps=3, temperature=1.0, seed=seed)
        assert_exact(operation, verify(operation, changed))


def test_a_high_temperature_costs_before_it_saves() -> None:
    ((operation, netlist),) = mapped(["mul:e2m2f"])
    hot = module._Search(netlist, COST, 0)
    for _ in range(3):
        hot.sweep(temperature=20.0)
    assert_exact(operation, verify(operation, hot.netlist()))
    assert CMOS.transistor_count(hot.netlist()) > CMOS.transistor_count(netlist)
    assert resubstitute(netlist, COST, sweeps=1, seed=1) != resubstitute(
        netlist, COST, sweeps=4, temperature=0.3, seed=1
    )
