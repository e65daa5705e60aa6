"""Area against delay: the netlists of a unit that no other one beats in both.

What the portfolios of all objectives find is the start. In a technology with delays in ps these
netlists are made faster step by step (``hw.sizing``), and each step is a netlist of its own.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fmacost.hw.static_timing import delay_ps
from fmacost.hw.technology import Technology
from fmacost.hw.timing import delay_fo4
from fmacost.sim.netlist import Netlist

_MOST_GROWN = 12  # netlists that are made faster, spread over the frontier; of large ones fewer
_CELLS_GROWN = 8000  # that these have together, as long as there are ``_FEWEST_GROWN``
_FEWEST_GROWN = 4
_MOST_CELLS = 4000  # beyond, sizing takes longer than synthesis


@dataclass(frozen=True, slots=True)
class Point:
    """A netlist, how it was made, and where it is in the plane of cost and delay.

    Attributes
    ----------
    cost : area in µm², or transistors in a technology without areas
    delay : in ps, or in FO4 in a technology without ps
    """

    netlist: Netlist
    architecture: str
    recipe: str
    cost: float
    delay: float


def make_point(netlist: Netlist, technology: Technology, architecture: str, recipe: str) -> Point:
    """Return the point of a netlist; raise TechnologyError if a delay is not known."""
    timed = delay_ps if technology.characterisation is not None else delay_fo4
    cost, delay = technology.cost(netlist), timed(netlist, technology)
    return Point(netlist, architecture, recipe, cost, delay)


def pareto(points: Iterable[Point]) -> tuple[Point, ...]:
    """Return the points that no other one beats: costs rise and delays fall, both strictly."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda p: (p.cost, p.delay)):
        if not kept or point.delay < kept[-1].delay:
            kept.append(point)
    return tuple(kept)


def thinned(points: Sequence[Point], most: int) -> tuple[Point, ...]:
    """Return at most so many points of a frontier, evenly spread over its costs and delays.

    Both ends stay; ``most`` is at least two.
    """
    if len(points) <= most:
        return tuple(points)
    costs, delays = ([math.log(max(value, 1e-9)) for value in axis] for axis in (
        [p.cost for p in points], [p.delay for p in points]
    ))  # fmt: skip
    places = [
        (cost - costs[0]) / (costs[-1] - costs[0]) + (delay - delays[0]) / (delays[-1] - delays[0])
        for cost, delay in zip(costs, delays, strict=True)
    ]  # from 0 to 2 along the frontier
    wanted = [2 * i / (most - 1) for i in range(most)]
    nearest = {min(range(len(places)), key=lambda i: abs(places[i] - at)) for at in wanted}
    return tuple(points[i] for i in sorted({0, *nearest, len(points) - 1}))


def refined(
    points: Sequence[Point], technology: Technology, *, target_ps: float = 0.0
) -> tuple[Point, ...]:
    """Return a frontier with what sizing makes of it.

    Parameters
    ----------
    target_ps : no netlist is made faster than that
    """
    if technology.characterisation is None:
        return pareto(points)
    from fmacost.hw.sizing import grown

    usable = [p for p in points if len(p.netlist.cells) <= _MOST_CELLS]
    found = list(points)
    largest = max((len(p.netlist.cells) for p in usable), default=0)
    count = min(_MOST_GROWN, max(_FEWEST_GROWN, _CELLS_GROWN // max(largest, 1)))
    for start in thinned(usable, count):
        found += [
            make_point(netlist, technology, start.architecture, f"{start.recipe}+sizes")
            for netlist in grown(start.netlist, technology, target_ps=target_ps)
        ]
    return pareto(found)


def trimmed(point: Point, technology: Technology, target_ps: float) -> Point:
    """Return a point with smaller cells wherever a delay of ``target_ps`` allows."""
    from fmacost.hw.sizing import shrunk

    if technology.characterisation is None or len(point.netlist.cells) > _MOST_CELLS:
        return point
    netlist = shrunk(point.netlist, technology, target_ps)
    made = make_point(netlist, technology, point.architecture, point.recipe)
    return made if made.cost < point.cost else point


def curve(points: Sequence[Point], technology: Technology, most: int) -> tuple[Point, ...]:
    """Return at most so many points from the smallest to the fastest, sizes included."""
    found = thinned(refined(pareto(points), technology), most)
    return pareto(trimmed(point, technology, point.delay) for point in found)


def meet(
    points: Sequence[Point],
    technology: Technology,
    target_ps: float,
    cycle_ps: Callable[[Netlist], float] | None = None,
) -> Point:
    """Return the smallest point that meets a target, or the fastest one where none does.

    Parameters
    ----------
    cycle_ps : what must be within the target, None for the delay of the netlist; it is asked by
        bisection, as if a faster netlist never had a longer cycle
    """
    if cycle_ps is None:
        found = refined(pareto(points), technology, target_ps=target_ps)
        best = next((p for p in found if p.delay <= target_ps), found[-1])
        return trimmed(best, technology, max(target_ps, best.delay))
    found = thinned(refined(pareto(points), technology), 2 * _MOST_GROWN)
    cycles: dict[int, float] = {}

    def is_met(index: int) -> bool:
        cycles[index] = cycle_ps(found[index].netlist)
        return cycles[index] <= target_ps

    index = bisect_left(range(len(found)), True, key=is_met)
    if index == len(found):
        index = min(cycles, key=lambda i: cycles[i])
    return found[index]
