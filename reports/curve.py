"""Area against delay: the frontier of each unit, and what units take at equal clocks."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.table import Table

from fmacost.reports.errors import InputError
from fmacost.reports.metrics import metric, show_ratio
from fmacost.reports.row import Row
from fmacost.reports.tables import table

_CLOCKS = 3
_COLUMNS = ("recipe", "architecture", "verification")


@dataclass(frozen=True, slots=True)
class Curve:
    """The proven points of a unit: sizes rise and delays fall, both strictly.

    Attributes
    ----------
    rows : from the smallest to the fastest
    """

    unit: str
    rows: tuple[Row, ...]

    def at(self, clock: float) -> Row:
        """Return the smallest point that meets a clock, or the fastest where none does."""
        return next((row for row in self.rows if delay(row) <= clock), self.rows[-1])


@dataclass(frozen=True, slots=True)
class AtClock:
    """What a unit takes at a clock.

    Attributes
    ----------
    clock : in ps, or in FO4 where the technology knows no ps
    slack : the clock less the delay of the row; negative where no point meets it
    ratio : its size over that of the first unit; None for that, or where one of them misses
    """

    clock: float
    row: Row
    slack: float
    ratio: float | None

    @property
    def is_met(self) -> bool:
        """Whether the unit meets the clock."""
        return self.slack >= 0


def delay_metric(row: Row) -> str:
    """Return the name of the field that says how slow the unit is: ps where they are known."""
    return "delay_fo4" if row.delay_ps is None else "delay_ps"


def delay(row: Row) -> float:
    """Return the value of that field."""
    value = row.delay_fo4 if row.delay_ps is None else row.delay_ps
    if value is None:
        raise InputError(f"technology {row.technology} has no delays, so there is no curve")
    return value


def make_curve(unit: str, rows: Iterable[Row]) -> Curve | None:
    """Return the frontier of rows; what is not proven is left out. None if nothing is left."""
    kept: list[Row] = []
    for row in sorted(rows, key=lambda row: (row.size, delay(row))):
        if row.verification.is_proven and not (kept and delay(row) >= delay(kept[-1])):
            kept.append(row)
    return Curve(unit, tuple(kept)) if kept else None


def common_clocks(curves: Sequence[Curve]) -> tuple[float, ...]:
    """Return three clocks that every unit meets, the fastest first.

    The first is what the slowest unit can do at best, the last leaves every unit its smallest
    point, the other is between them. Each is rounded up to three digits.
    """
    fastest = max(delay(curve.rows[-1]) for curve in curves)
    slowest = max(delay(curve.rows[0]) for curve in curves)
    if fastest <= 0:
        return (fastest,)
    step = (slowest / fastest) ** (1 / (_CLOCKS - 1))
    return tuple(dict.fromkeys(_rounded_up(fastest * step**i) for i in range(_CLOCKS)))


def _rounded_up(value: float) -> float:
    """Return a positive value with three digits, not less than it is."""
    digits = 2 - math.floor(math.log10(value))
    scaled = round(value * 10.0**digits, 6)
    return round(math.ceil(scaled) / 10.0**digits, max(digits, 0))


def at_clocks(curves: Sequence[Curve], clocks: Iterable[float]) -> list[AtClock]:
    """Return what each unit takes at each clock."""
    return [found for clock in clocks for found in _at_clock(curves, clock)]


def _at_clock(curves: Sequence[Curve], clock: float) -> Iterator[AtClock]:
    first: Row | None = None
    for i, curve in enumerate(curves):
        row = curve.at(clock)
        slack = round(clock - delay(row), 3)
        if i == 0 and slack >= 0:
            first = row
        ratio = row.size / first.size if i and first and first.size and slack >= 0 else None
        yield AtClock(clock, row, slack, ratio)


def records(curves: Sequence[Curve], clocked: Iterable[AtClock]) -> list[dict[str, Any]]:
    """Return the JSON of every point, then of every unit at every clock.

    Those at a clock have ``clock_ps`` and ``slack_ps``, or the same in FO4.
    """
    made = [row.to_json() for curve in curves for row in curve.rows]
    for found in clocked:
        if found.row.delay_ps is not None:
            timed = replace(found.row, clock_ps=found.clock, slack_ps=found.slack).to_json()
        else:
            timed = {**found.row.to_json(), "clock_fo4": found.clock, "slack_fo4": found.slack}
        name = "ratio_area" if found.row.area_um2 is not None else "ratio_transistors"
        ratio = {} if found.ratio is None else {name: round(found.ratio, 6)}
        made.append(timed | ratio)
    return made


def curve_table(curves: Sequence[Curve]) -> Table:
    """Return the points of each unit, from the smallest to the fastest."""
    head = curves[0].rows[0]
    fields = (head.size_metric, delay_metric(head), "cells")
    named = [metric(name) for name in (*fields, *_COLUMNS)]
    made = table([("unit", False), *((m.heading, m.name in fields) for m in named)], [])
    for curve in curves:
        for i, row in enumerate(curve.rows):
            cells = [m.text(row.to_json()) for m in named]
            made.add_row(curve.unit if i == 0 else "", *cells, end_section=i + 1 == len(curve.rows))
    return made


def clock_table(curves: Sequence[Curve], clocked: Sequence[AtClock]) -> Table:
    """Return the size of each unit at each clock, and by how much a clock was missed."""
    head = curves[0].rows[0]
    size, slowness = metric(head.size_metric), metric(delay_metric(head))
    unit = slowness.heading
    columns = [(f"clock {unit}", True), ("unit", False), (size.heading, True)]
    columns += [(f"/ {curves[0].unit}", True), (unit, True), (f"slack {unit}", True), ("", False)]
    made = table(columns, [])
    for i, found in enumerate(clocked):
        row = found.row.to_json()
        ratio = "" if found.ratio is None else show_ratio(found.ratio)
        made.add_row(
            slowness.show(found.clock) if i % len(curves) == 0 else "",
            found.row.unit,
            size.text(row) if found.is_met else "-",
            ratio,
            slowness.text(row),
            f"{found.slack:+,.1f}",
            "" if found.is_met else f"missed by {-found.slack:,.1f} {unit}: the fastest is shown",
            end_section=(i + 1) % len(curves) == 0,
        )
    return made


def curve_notes(curves: Sequence[Curve]) -> list[str]:
    """Return what a frontier is, and what its numbers leave out."""
    head = curves[0].rows[0]
    count = metric("candidates").text(head.to_json()).rpartition(" ")[2]
    notes = [
        f"points: of the netlists that the portfolios for area, delay and their product give "
        f"({count} for {head.unit}), and of what sizing and buffers make of them, those that no "
        "other one beats in both; each is proven, at most a dozen of a unit are taken",
        "at a clock: the smallest point that meets it, as a combinational unit; no registers",
    ]
    if head.delay_ps is None:
        notes.append("by logical effort: buffers, and no sizes")
    return notes
