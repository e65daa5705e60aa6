"""How long points take: from those that were measured to those that were not."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fmacost.reports.grid import Point
from fmacost.sim.operation import OperationError, parse_unit

if TYPE_CHECKING:
    from fmacost.reports.cache import Cache
    from fmacost.sim.operation import Operation

_MAX_READ = 5000
_FEW = 3  # times of fewer points say nothing about others


@dataclass(frozen=True, slots=True)
class _Curve:
    """Seconds as a power of a unit's bits, fitted to what was measured."""

    exponent: float
    factor: float
    largest: int

    def at(self, bits: int) -> float:
        return self.factor * math.pow(bits, self.exponent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What points will take.

    Attributes
    ----------
    point_seconds : of all points that anything is known of, added up
    longest : of one point
    unknown : points that nothing is known of
    beyond : points larger than anything of their kind that was measured
    measured : points whose times the estimate is made from
    """

    point_seconds: float
    longest: float
    unknown: int
    beyond: int
    measured: int

    def wall_seconds(self, workers: int) -> float:
        """Return how long it will take on so many workers."""
        return max(self.point_seconds / workers, self.longest)


class Times:
    """Seconds of measured points, kept in the store whatever the versions were."""

    def __init__(self, store: Cache | None) -> None:
        self._store = store
        self._known: dict[tuple[str, ...], float] = {}
        entries = () if store is None else store.entries("times", _MAX_READ)
        for key, content in entries:
            seconds = content.get("seconds") if isinstance(content, Mapping) else None
            identity = key.get("point")
            if isinstance(identity, list) and isinstance(seconds, int | float) and seconds > 0:
                self._known[tuple(map(str, identity))] = float(seconds)
        self._curves = _fit(self._known)

    def keep(self, point: Point, seconds: float) -> None:
        """Remember how long a point took."""
        if self._store is not None:
            key = {"point": list(point.identity)}
            self._store.store("times", key, {"seconds": round(seconds, 3)})

    def estimate(self, point: Point) -> float | None:
        """Return the seconds that a point will take, None where nothing like it was measured."""
        return self._look_up(point)[0]

    def price(self, points: Iterable[Point]) -> Price:
        """Return what points will take."""
        total, longest = 0.0, 0.0
        unknown = beyond = 0
        for point in points:
            seconds, is_beyond = self._look_up(point)
            if seconds is None:
                unknown += 1
                continue
            total += seconds
            longest = max(longest, seconds)
            beyond += is_beyond
        return Price(
            point_seconds=total, longest=longest, unknown=unknown, beyond=beyond,
            measured=len(self._known),
        )  # fmt: skip

    def _look_up(self, point: Point) -> tuple[float | None, bool]:
        """Return the seconds of a point, and whether it is larger than what they are from."""
        if not self._known:
            return None, False
        identity = point.identity
        if identity in self._known:
            return self._known[identity], False
        operation = point.operation
        for group in _groups(operation, identity):
            if (curve := self._curves.get(group)) is not None:
                bits = _bits(operation)
                return curve.at(bits), bits > curve.largest
        return None, False


def _groups(operation: Operation, identity: Sequence[str]) -> list[tuple[object, ...]]:
    """Return the groups that a point is of, from the narrowest: what it is, then how it is made."""
    _, technology, objective, effort, registers = identity
    family = (str(operation.kind), operation.is_integer)
    return [
        (*family, technology, objective, effort, registers),
        (*family, objective, effort),
        (*family, effort),
        (effort,),
    ]


def _bits(operation: Operation) -> int:
    return operation.input_bits + operation.output_bits


def _fit(known: Mapping[tuple[str, ...], float]) -> dict[tuple[object, ...], _Curve]:
    found: dict[tuple[object, ...], list[tuple[int, float]]] = defaultdict(list)
    for identity, seconds in known.items():
        try:
            operation = parse_unit(identity[0])
            groups = _groups(operation, identity)
        except (OperationError, ValueError):
            continue
        for group in groups:
            found[group].append((_bits(operation), seconds))
    return {group: _curve(times) for group, times in found.items() if len(times) >= _FEW}


def _curve(times: Sequence[tuple[int, float]]) -> _Curve:
    bits, seconds = zip(*times, strict=True)
    largest = max(bits)
    if len(set(bits)) == 1:
        return _Curve(0.0, statistics.fmean(seconds), largest)
    fitted = statistics.linear_regression(
        [math.log(b) for b in bits], [math.log(s) for s in seconds]
    )
    exponent = max(fitted.slope, 0.0)
    # The fit is of logarithms, whose mean is not that of the times: keep their sum.
    factor = math.fsum(seconds) / math.fsum(b**exponent for b in bits)
    return _Curve(exponent, factor, largest)
