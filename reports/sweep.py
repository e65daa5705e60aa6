"""The sweep engine: what of many points is known, measure the rest, one tidy table.

The cache is the store. Every point is kept there as it is finished, so that the same sweep goes on
where it ended, however it ended; and two sweeps that share a store only share work.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fmacost.reports.cache import digest_of
from fmacost.reports.errors import SweepError
from fmacost.reports.measure import Settings, load_row, row_key
from fmacost.reports.task import Outcome, Task, maker
from fmacost.reports.times import Times

if TYPE_CHECKING:
    from fmacost.hw.technology import Technology
    from fmacost.reports.cache import Cache
    from fmacost.reports.grid import Point
    from fmacost.reports.pool import Executor
    from fmacost.reports.row import Row

_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Points, and all that is the same for them.

    Attributes
    ----------
    technologies : by the names that points have
    common : settings; objective, effort and registers are those of the point
    """

    points: Sequence[Point]
    technologies: Mapping[str, Technology]
    common: Settings
    store: Cache | None

    @cached_property
    def times(self) -> Times:
        """What is known of how long points take."""
        return Times(self.store)

    def settings(self, point: Point) -> Settings:
        """Return how a point is measured: alone in its process, whose core is its own."""
        return replace(
            self.common, objective=point.objective, effort=point.effort,
            registers=point.registers, jobs=1,
        )  # fmt: skip

    def key(self, point: Point) -> dict[str, object]:
        """Return what the row of a point depends on."""
        technology = self.technologies[point.technology]
        return row_key(point.operation, technology, self.settings(point))

    def task(self, point: Point, *, is_local: bool) -> Task:
        """Return what a process is sent to measure a point."""
        from fmacost.hw.technology import TECHNOLOGIES

        technology = self.technologies[point.technology]
        is_known = TECHNOLOGIES.get(point.technology) is technology
        store = self.store.folder if is_local and self.store is not None else None
        return Task(
            operation=point.operation, technology=point.technology if is_known else technology,
            settings=self.settings(point), store=store,
        )  # fmt: skip

    def missing(self) -> list[Point]:
        """Return the points that have no entry in the store; none is read."""
        if self.store is None:
            return list(self.points)
        kept = self.store.digests("rows")
        return [p for p in self.points if not kept or digest_of(self.key(p)) not in kept]


@dataclass(slots=True)
class Result:
    """What a sweep came to: each point has a row or an error."""

    rows: dict[Point, Row] = field(default_factory=dict)
    errors: dict[Point, str] = field(default_factory=dict)
    counterexamples: dict[Point, str | None] = field(default_factory=dict)
    point_seconds: float = 0.0

    def records(self) -> list[dict[str, Any]]:
        """Return the JSON of the table."""
        rows = [row.to_json() for row in self.rows.values()]
        return sort_records([*rows, *(_failed(p, e) for p, e in self.errors.items())])


def load(sweep: Sweep) -> tuple[Result, list[Point]]:
    """Return the rows that are kept, and the points that are to be measured."""
    result, missing = Result(), []
    kept = set() if sweep.store is None else sweep.store.digests("rows")
    for point in sweep.points:
        row = None
        if sweep.store is not None and kept:
            key = sweep.key(point)
            row = load_row(sweep.store, key) if digest_of(key) in kept else None
        if row is None:
            missing.append(point)
        else:
            result.rows[point] = row
    return result, missing


def run(
    sweep: Sweep,
    executor: Executor,
    *,
    is_local: bool,
    result: Result,
    missing: Sequence[Point],
    finished: Callable[[Point, Outcome], None],
) -> None:
    """Measure points, the longest first, and put what they come to into a result.

    Parameters
    ----------
    is_local : whether the executor's processes can reach the store; else what comes back is kept
        here
    finished : called as each point is done

    Raises
    ------
    SweepError
        If a row cannot be kept, or was measured by another version of fmacost.
    """
    ordered = longest_first(missing, sweep.times)
    tasks = [sweep.task(point, is_local=is_local) for point in ordered]
    with closing(executor.run(tasks)) as outcomes:
        for place, outcome in outcomes:
            point = ordered[place]
            check_maker(outcome.maker, "a worker")
            _keep(sweep, point, outcome, is_local)
            result.point_seconds += outcome.seconds
            if outcome.row is None:
                result.errors[point] = outcome.error
            else:
                result.rows[point] = outcome.row
                if outcome.row.verification.mismatches:
                    result.counterexamples[point] = outcome.counterexample
            finished(point, outcome)


def longest_first(points: Iterable[Point], times: Times) -> list[Point]:
    """Return points in the order in which they should start: unknown times count as long."""

    def order(point: Point) -> tuple[float, int]:
        seconds = times.estimate(point)
        bits = point.operation.input_bits + point.operation.output_bits
        return (math.inf if seconds is None else seconds, bits)

    return sorted(points, key=order, reverse=True)


def check_maker(found: Mapping[str, str], who: str) -> None:
    """Raise SweepError unless something measures as this process would."""
    ours = maker()
    if found != ours:
        raise SweepError(
            f"{who} has {_maker_text(found, ours)}, this client {_maker_text(ours, found)}: "
            "install the same fmacost and tools on both"
        )


def _maker_text(maker: Mapping[str, str], other: Mapping[str, str]) -> str:
    """Return the version of fmacost, and of what else differs."""
    names = ["fmacost", *(n for n in maker if n != "fmacost" and maker[n] != other.get(n))]
    return ", ".join(f"{name} {maker.get(name, 'unknown')}" for name in names)


def _keep(sweep: Sweep, point: Point, outcome: Outcome, is_local: bool) -> None:
    store, row = sweep.store, outcome.row
    if store is None:
        return
    if row is not None and not is_local:
        key = sweep.key(point)
        if row.digest != digest_of(key):
            raise SweepError(f"a worker sent the row of another point than {point}")
        if row.verification.is_proven:
            store.store("rows", key, row.to_json())
    if outcome.is_timed:
        sweep.times.keep(point, outcome.seconds)
    if lost := outcome.lost or store.failure:
        raise SweepError(
            f"cannot keep {point}: {lost}; what was finished before is kept, "
            "mend it and the same command goes on"
        )


def _failed(point: Point, error: str) -> dict[str, Any]:
    unit, technology, objective, effort, registers = point.identity
    record: dict[str, Any] = {
        "unit": unit, "technology": technology, "objective": objective, "effort": effort,
    }  # fmt: skip
    return {**record, **({"architecture": registers} if registers else {}), "error": error}


def sort_records(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows in the one order of tables: by unit, its numbers as numbers, and so on.

    So a table does not depend on the order of a grid, on who finished first, or on shards.
    """

    def order(record: Mapping[str, Any]) -> list[Any]:
        latency = record.get("latency_cycles")
        names = ("unit", "technology", "objective", "effort")
        texts = [_natural(str(record.get(name, ""))) for name in names]
        return [*texts, -1 if latency is None else latency, str(record.get("architecture", ""))]

    return sorted(records, key=order)


def _natural(text: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(text)]


class Clock:
    """How long a sweep will still take: estimates, put right by what points have taken so far."""

    def __init__(self, points: Iterable[Point], times: Times, workers: int) -> None:
        self._left = {point: times.estimate(point) for point in points}
        self._workers = workers
        self._seconds = self._known_seconds = self._expected = 0.0
        self._done = 0

    def finish(self, point: Point, seconds: float) -> None:
        """Take note of a point that is done."""
        expected = self._left.pop(point)
        self._done += 1
        self._seconds += seconds
        if expected is not None:
            self._expected += expected
            self._known_seconds += seconds

    def left(self) -> float | None:
        """Return seconds of wall time, None where nothing can be said."""
        known = [seconds for seconds in self._left.values() if seconds is not None]
        unknown = len(self._left) - len(known)
        if unknown and not self._done:
            return None
        slower = self._known_seconds / self._expected if self._expected else 1.0
        total = math.fsum(known) * slower
        if unknown:
            total += unknown * self._seconds / self._done
        return total / min(self._workers, max(len(self._left), 1))
