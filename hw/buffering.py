"""Buffers on nets that drive much: sinks that can wait move behind a buffer.

A greedy walk on the delay model of ``fmacost.hw.timing``; ``fmacost.hw.sizing`` has one on delays
in ps. Each step takes the critical net that
gains most and moves those of its sinks behind a new buffer that are still in time there, so no
step makes the netlist slower; the best state on the way is returned. The function of the netlist
cannot change: a buffer's output equals its input.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from fmacost.hw.technology import Technology
from fmacost.hw.timing import OUTPUT_LOAD, Drive
from fmacost.sim.netlist import Cell, CellType, Netlist

_BUFFER_TABLE = 0b10
_EPSILON_TAU = 1e-6


def buffered(netlist: Netlist, technology: Technology, *, weigh_cost: bool = False) -> Netlist:
    """Return the netlist with buffers that make it faster.

    Parameters
    ----------
    weigh_cost : minimise cost times delay instead of delay alone

    A technology without a buffer cell gives the netlist back as it is. Raises ValueError if the
    drive of a cell is unknown.
    """
    buffer = _buffer_cell(technology)
    if buffer is None or not netlist.cells:
        return netlist
    state = _State(netlist, technology, buffer)
    cost, step_cost = technology.cost(netlist), technology.cell_cost[buffer.name]
    best: tuple[float, list[Cell]] | None = None
    while True:
        timing = state.analyse()
        score = timing.delay_tau * (cost if weigh_cost else 1)
        if best is None or score < best[0] - _EPSILON_TAU:
            best = score, state.snapshot()
        if not state.improve(timing):
            break
        cost += step_cost
    return Netlist(netlist.name, netlist.inputs, netlist.outputs, tuple(best[1]), netlist.library)


def _buffer_cell(technology: Technology) -> CellType | None:
    found = [
        cell
        for name, cell in technology.cells.items()
        if len(cell.inputs) == len(cell.outputs) == 1
        and cell.truth_table(cell.outputs[0][0]) == _BUFFER_TABLE
        and name in technology.drive
    ]
    return min(found, key=lambda cell: technology.cell_cost[cell.name], default=None)


class _Sink(NamedTuple):
    """An input pin that a net drives, ordered by when it must be there."""

    required: float
    position: int
    pin: str


@dataclass
class _Timing:
    """Arrival and required time of each net in tau, and its sinks that are pins of cells."""

    delay_tau: float = 0.0
    arrival: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    required: dict[int, float] = field(default_factory=dict)
    sinks: dict[int, list[_Sink]] = field(default_factory=lambda: defaultdict(list))


class _State:
    """A netlist that changes; its cells stay ordered from inputs to outputs."""

    def __init__(self, netlist: Netlist, technology: Technology, buffer: CellType) -> None:
        missing = netlist.count().keys() - technology.drive.keys()
        if missing:
            raise ValueError(
                f"technology {technology.name}: the drive of {min(missing)} is unknown"
            )
        self._drive, self._buffer = technology.drive, buffer
        self._cells = [Cell(c.name, c.type, dict(c.pins)) for c in netlist.levelised()]
        self._ends = [net for nets in netlist.outputs.values() for net in nets]
        nets = [*self._ends, *(net for cell in self._cells for net in cell.pins.values())]
        self._next_net = max(nets, default=1) + 1
        self._names = {cell.name for cell in self._cells}

    def snapshot(self) -> list[Cell]:
        return [Cell(cell.name, cell.type, dict(cell.pins)) for cell in self._cells]

    def analyse(self) -> _Timing:
        timing = _Timing()
        load: dict[int, float] = defaultdict(float)
        for cell in self._cells:
            for pin, pin_load in self._drive[cell.type].load.items():
                load[cell.pins[pin]] += pin_load
        for net in self._ends:
            load[net] += OUTPUT_LOAD
        arrival = timing.arrival
        for cell in self._cells:
            for (source, sink), delay in self._drive[cell.type].delay_tau.items():
                net = cell.pins[sink]
                arrival[net] = max(arrival[net], arrival[cell.pins[source]] + delay + load[net])
        timing.delay_tau = max((arrival[net] for net in self._ends), default=0.0)
        required = timing.required = dict.fromkeys(self._ends, timing.delay_tau)
        for position in reversed(range(len(self._cells))):
            cell = self._cells[position]
            for pin, time in _pin_times(cell, self._drive[cell.type], required, load).items():
                net = cell.pins[pin]
                required[net] = min(required.get(net, time), time)
                timing.sinks[net].append(_Sink(time, position, pin))
        return timing

    def improve(self, timing: _Timing) -> bool:
        """Insert the buffer that speeds a critical net up most; say whether there is one."""
        best: tuple[float, int, list[_Sink]] | None = None
        for position, cell in enumerate(self._cells):
            inputs = self._drive[cell.type].load
            for net in (net for pin, net in cell.pins.items() if pin not in inputs):
                slack = timing.required.get(net, float("inf")) - timing.arrival[net]
                if slack > _EPSILON_TAU:
                    continue
                gain, moved = self._best_split(net, timing)
                if moved and (best is None or gain > best[0] + _EPSILON_TAU):
                    best = gain, position, moved
        if best is None:
            return False
        self._insert(best[1], best[2])
        return True

    def _best_split(self, net: int, timing: _Timing) -> tuple[float, list[_Sink]]:
        """Return how much a net can gain, and the sinks that move: those required last."""
        drive = self._drive[self._buffer.name]
        (buffer_load,), (buffer_delay,) = drive.load.values(), drive.delay_tau.values()
        sinks = sorted(timing.sinks[net], reverse=True)
        moved_load, best, count = 0.0, _EPSILON_TAU, 0
        for i, sink in enumerate(sinks, 1):
            moved_load += self._drive[self._cells[sink.position].type].load[sink.pin]
            gain = moved_load - buffer_load
            behind = timing.arrival[net] - gain + buffer_delay + moved_load
            slack = sink.required - behind  # of those moved so far it is the most urgent
            if (effective := min(gain, slack)) > best:
                best, count = effective, i
        return best, sinks[:count]

    def _insert(self, position: int, moved: list[_Sink]) -> None:
        net = self._cells[moved[0].position].pins[moved[0].pin]
        for sink in moved:
            self._cells[sink.position].pins[sink.pin] = self._next_net
        name = f"buffer{self._next_net}"
        while name in self._names:
            name += "_"
        self._names.add(name)
        (source,), ((sink_pin, _),) = self._buffer.inputs, self._buffer.outputs
        pins = {source: net, sink_pin: self._next_net}
        self._cells.insert(position + 1, Cell(name, self._buffer.name, pins))
        self._next_net += 1


def _pin_times(
    cell: Cell, drive: Drive, required: dict[int, float], load: dict[int, float]
) -> dict[str, float]:
    """Return when each input of a cell is required."""
    times = dict.fromkeys(drive.load, float("inf"))
    for (source, sink), delay in drive.delay_tau.items():
        net = cell.pins[sink]
        time = required.get(net, float("inf")) - delay - load[net]
        times[source] = min(times[source], time)
    return times
