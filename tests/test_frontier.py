"""Frontiers: what nothing beats, spread evenly, and the smallest that meets a target."""

from dataclasses import replace
from itertools import pairwise

import pytest

from fmacost.hw import frontier
from fmacost.hw.frontier import Point, curve, make_point, meet, pareto, thinned, trimmed
from fmacost.hw.sizing import grown
from fmacost.hw.technology import TECHNOLOGIES
from fmacost.sim.netlist import Cell, Netlist
from tests.test_sizing import NANGATE, fan_out

CMOS = TECHNOLOGIES["cmos"]
EMPTY = Netlist("unit", {"a": (2,)}, {"y": (2,)}, (), {})


def points(*places: tuple[float, float]) -> list[Point]:
    return [Point(EMPTY, "a", f"r{i}", *place) for i, place in enumerate(places)]


def places(found: tuple[Point, ...]) -> list[tuple[float, float]]:
    return [(point.cost, point.delay) for point in found]


def test_what_another_beats_is_left_out() -> None:
    some = points((3, 3), (1, 9), (2, 9), (2, 5), (4, 3), (3, 4), (9, 1), (2, 5))
    assert places(pareto(some)) == [(1, 9), (2, 5), (3, 3), (9, 1)]
    assert pareto([]) == ()


@pytest.mark.parametrize("most", [2, 3, 6, 12])
def test_ends_stay_when_points_are_left_out(most: int) -> None:
    some = pareto(points(*((1.1**i, 2.0 ** (9 - i / 7)) for i in range(60))))
    found = thinned(some, most)
    assert (found[0], found[-1]) == (some[0], some[-1])
    assert len(found) == most
    gaps = [b.cost / a.cost for a, b in pairwise(found)]
    assert max(gaps) < min(gaps) * 1.5
    assert thinned(some[:most], most) == some[:most]


def test_a_frontier_has_sizes_in_a_technology_with_ps() -> None:
    start = make_point(fan_out(NANGATE, 24), NANGATE, "a", "r")
    found = curve([start], NANGATE, 6)
    assert found[0] == start
    assert 3 <= len(found) <= 6
    for before, after in pairwise(found):
        assert after.cost > before.cost
        assert after.delay < before.delay
        assert after.recipe == "r+sizes"
        assert (NANGATE.cost(after.netlist), make_point(after.netlist, NANGATE, "", "").delay) == (
            after.cost, after.delay,
        )  # fmt: skip
    in_fo4 = make_point(fan_out(CMOS, 24), CMOS, "a", "r")
    assert curve([in_fo4], CMOS, 6) == (in_fo4,)


def test_the_smallest_that_meets_a_target() -> None:
    start = make_point(fan_out(NANGATE, 24), NANGATE, "a", "r")
    *_, last = grown(start.netlist, NANGATE)
    fastest = make_point(last, NANGATE, "", "").delay
    relaxed = meet([start], NANGATE, start.delay)
    middle = meet([start], NANGATE, 0.8 * start.delay)
    tight = meet([start], NANGATE, fastest)
    assert relaxed == start
    assert middle.delay <= 0.8 * start.delay
    assert tight.delay <= fastest
    assert start.cost < middle.cost < tight.cost
    missed = meet([start], NANGATE, 1.0)
    assert missed.delay == pytest.approx(fastest)
    assert trimmed(start, NANGATE, 1e6) == start


def test_a_smaller_point_that_meets_the_target_comes_first() -> None:
    slow, fast = fan_out(NANGATE, 24), fan_out(NANGATE, 8)
    more = [Cell(f"m{i}", "INV_X1", {"A": 2, "ZN": 100 + i}) for i in range(30)]
    outputs = {**fast.outputs, "z": tuple(range(100, 130))}
    large = replace(fast, cells=(*fast.cells, *more), outputs=outputs)
    starts = [make_point(netlist, NANGATE, "a", "r") for netlist in (slow, large)]
    assert starts[1].delay < starts[0].delay
    assert meet(starts, NANGATE, starts[0].delay) == starts[0]
    assert meet(starts, NANGATE, starts[1].delay).delay <= starts[1].delay


def test_a_cycle_is_met_by_the_smallest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontier, "refined", lambda points, technology: tuple(points))
    asked: list[str] = []
    copies = [Netlist(f"n{i}", {"a": (2,)}, {"y": (2,)}, (), {}) for i in range(20)]
    made = [Point(n, "a", "r", i + 1.0, 100.0 - i) for i, n in enumerate(copies)]

    def meets(limit: float) -> str:
        def cycle_ps(netlist: Netlist) -> float:
            asked.append(netlist.name)
            return 200.0 - int(netlist.name[1:])

        return meet(made, NANGATE, limit, cycle_ps).netlist.name

    assert [meets(limit) for limit in (200, 190, 181)] == ["n0", "n10", "n19"]
    assert meets(5) == "n19"  # the fastest, where none does
    assert len(asked) <= 4 * 5
