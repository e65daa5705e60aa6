"""Sizes and buffers: a mapped netlist made faster, by the delays in ps of its technology.

Mapping uses the smallest cell of each function. Here a cell on the critical path is replaced by a
larger one of the same function (``Technology.drives``), or those sinks of a critical net that can
wait move behind a buffer, whichever gains most delay for its area. What gains is estimated on the
path alone, then timed in the whole netlist, and taken back where that got slower. The function
cannot change: pins and functions of a larger cell are those of the smaller one, and the output of a
buffer equals its input. Delays are those of ``hw.static_timing``.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from fmacost.hw.characterisation import Arc, Characterisation
from fmacost.hw.static_timing import (
    EdgeName,
    Event,
    Step,
    causes,
    edges_of,
    fan_out_of_four_surroundings,
    propagate,
    trace,
)
from fmacost.hw.technology import Technology, TechnologyError
from fmacost.sim.netlist import Cell, CellType, Netlist

_STEP = 0.02  # delay that two states of a walk differ by, at least
_EPSILON_PS = 1e-6
_PATIENCE = 60  # moves without a gain after which a walk ends
_BUFFER_TABLE = 0b10
_RISE_FALL: tuple[EdgeName, EdgeName] = ("rise", "fall")


def grown(netlist: Netlist, technology: Technology, *, target_ps: float = 0.0) -> Iterator[Netlist]:
    """Yield the netlist faster and faster, until a target is met or nothing helps any more.

    Parameters
    ----------
    target_ps : the last netlist is the first one within it

    Raises
    ------
    TechnologyError
        If the technology does not know the delays of a cell in ps.
    """
    if not netlist.cells:
        return
    state = _State(netlist, technology)
    last = best = state.delay_ps()
    idle = 0
    while best > target_ps and idle < _PATIENCE and state.improve():
        delay = state.delay_ps()
        idle = 0 if delay < best - _EPSILON_PS else idle + 1
        best = min(best, delay)
        if delay <= best and (delay < last * (1 - _STEP) or delay <= target_ps):
            yield state.netlist()
            last = delay
    if state.delay_ps() < last - _EPSILON_PS:
        yield state.netlist()


def buffered(netlist: Netlist, technology: Technology, *, weigh_cost: bool = False) -> Netlist:
    """Return the netlist with buffers that make it faster, and no other change.

    Parameters
    ----------
    weigh_cost : minimise cost times delay instead of delay alone

    Raises
    ------
    TechnologyError
        If the technology does not know the delays of a cell in ps.
    """
    if not netlist.cells:
        return netlist
    state = _State(netlist, replace(technology, drives={}))

    def score(made: Netlist) -> float:
        return state.delay_ps() * (technology.cost(made) if weigh_cost else 1)

    best, least = netlist, score(netlist)
    while state.improve():
        made = state.netlist()
        if (now := score(made)) < least:
            best, least = made, now
    return best


def shrunk(netlist: Netlist, technology: Technology, target_ps: float) -> Netlist:
    """Return the netlist with its larger cells smaller where a target, or its delay, allows."""
    if not netlist.cells:
        return netlist
    state = _State(netlist, technology)
    state.shrink(max(target_ps, state.delay_ps()))
    return state.netlist()


class _Move(NamedTuple):
    """A change of one cell, and what it should gain for its area; ``kind`` None is a buffer."""

    merit: float
    cell: str
    kind: str | None


class _State:
    """A netlist that changes, timed again where a change reaches."""

    def __init__(self, netlist: Netlist, technology: Technology) -> None:
        facts = technology.characterisation
        self._library = dict(technology.sized_cells)
        unknown = [n for n in netlist.count() if facts is None or n not in facts.arcs]
        if facts is None or unknown:
            name = min(unknown, default="any cell")
            raise TechnologyError(f"technology {technology.name} has no delays of {name} in ps")
        self._facts: Characterisation = facts
        self._given, self._technology = netlist, technology
        self._area = technology.cell_cost
        self._around = fan_out_of_four_surroundings(technology)
        self._larger, self._smaller = _ladders(technology)
        self._buffer = _buffer(technology, self._larger)
        self._banned: set[tuple[str, str | None]] = set()
        self._rebuild(list(netlist.levelised()))

    def _rebuild(self, cells: list[Cell]) -> None:
        """Time everything anew; cells are ordered from inputs to outputs."""
        self._cells = {cell.name: cell for cell in cells}
        self._rank = {cell.name: i for i, cell in enumerate(cells)}
        self._driver: dict[int, str] = {}
        self._readers: dict[int, list[tuple[str, str]]] = defaultdict(list)
        self._loads: dict[EdgeName, dict[int, float]] = {
            "rise": defaultdict(float), "fall": defaultdict(float)
        }  # fmt: skip
        for cell in cells:
            kind = self._library[cell.type]
            self._driver |= {cell.pins[pin]: cell.name for pin, _ in kind.outputs}
            for pin in kind.inputs:
                self._readers[cell.pins[pin]].append((cell.name, pin))
            self._add_loads(cell, 1)
        self._ends = [net for nets in self._given.outputs.values() for net in nets]
        for net in self._ends:
            for of_edge in self._loads.values():
                of_edge[net] += self._around.output_load_ff
        start = Event(0.0, self._around.input_slew_ps, None)
        self._events: dict[int, dict[EdgeName, Event]] = {
            net: {"rise": start, "fall": start}
            for nets in self._given.inputs.values()
            for net in nets
        }
        for cell in cells:
            propagate(cell, self._facts.arcs[cell.type], self._events, self._loads)

    def _add_loads(self, cell: Cell, sign: int) -> None:
        for pin in self._library[cell.type].inputs:
            for edge, load in zip(_RISE_FALL, self._pin_ff(cell.type, pin), strict=True):
                self._loads[edge][cell.pins[pin]] += sign * load

    def _pin_ff(self, kind: str, pin: str) -> tuple[float, float]:
        mean = self._facts.capacitance_ff[kind][pin]
        return self._facts.edge_capacitance_ff.get(kind, {}).get(pin, (mean, mean))

    def delay_ps(self) -> float:
        return max(
            (e.arrival_ps for net in self._ends for e in self._events.get(net, {}).values()),
            default=0.0,
        )

    def netlist(self) -> Netlist:
        given = self._given
        cells = tuple(Cell(c.name, c.type, dict(c.pins)) for c in self._cells.values())
        return Netlist(given.name, given.inputs, given.outputs, cells, self._library)

    def improve(self) -> bool:
        """Make one move on the critical path that slows nothing down; say whether there is one."""
        before = self.delay_ps()
        moves = sorted(self._moves(), key=lambda move: -move.merit)
        for move in moves:
            if move.kind is None:
                if self._insert_buffer(move.cell, before):
                    return True
            else:
                old = self._cells[move.cell].type
                self._resize(move.cell, move.kind)
                if self.delay_ps() <= before + _EPSILON_PS:
                    return True
                self._resize(move.cell, old)
            self._banned.add((move.cell, move.kind))
        return False

    def _moves(self) -> Iterator[_Move]:
        path = self._critical_path()
        for i, step in enumerate(path):
            cell = self._cells[step.cell]
            larger = self._larger.get(cell.type)
            if larger is not None and (cell.name, larger) not in self._banned:
                gain = self._gain(path, i, larger)
                cost = self._area[larger] - self._area[cell.type]
                if gain > _EPSILON_PS:
                    yield _Move(gain / max(cost, 1e-3), cell.name, larger)
            if self._buffer is not None and (cell.name, None) not in self._banned:
                gain = self._buffer_gain(path, i)
                if gain > _EPSILON_PS:
                    yield _Move(gain / self._area[self._buffer.name], cell.name, None)

    def _critical_path(self) -> tuple[Step, ...]:
        ends = [(net, edge) for net in self._ends for edge in self._events.get(net, ())]
        if not ends:
            return ()
        net, edge = max(ends, key=lambda end: self._events[end[0]][end[1]].arrival_ps)
        return trace(self._events, self._loads, net, edge)

    def _gain(self, path: tuple[Step, ...], i: int, larger: str) -> float:
        """Return what a larger cell gains on the path: its own delay, less what its pin costs."""
        step, before = path[i], path[i - 1] if i else None
        slew = before.slew_ps if before else self._around.input_slew_ps
        gain = self._arc_ps(step.type, step, slew, step.load_ff)
        gain -= self._arc_ps(larger, step, slew, step.load_ff)
        if before is not None and self._is_input(step):
            edge = _RISE_FALL.index(before.edge)
            pins = (self._pin_ff(kind, step.source)[edge] for kind in (larger, step.type))
            more = next(pins) - next(pins)
            source = path[i - 2].slew_ps if i > 1 else self._around.input_slew_ps
            gain += self._arc_ps(before.type, before, source, before.load_ff)
            gain -= self._arc_ps(before.type, before, source, before.load_ff + more)
        return gain

    def _is_input(self, step: Step) -> bool:
        return step.source in self._library[step.type].inputs

    def _arc_ps(self, kind: str, step: Step, slew_ps: float, load_ff: float) -> float:
        """Return the delay of a step, if its cell were of another kind."""
        delays = (
            edge.delay.at(slew_ps, load_ff)
            for arc in self._facts.arcs[kind]
            if (arc.source, arc.sink) == (step.source, step.sink)
            for name, edge in edges_of(arc)
            if name == step.edge
        )
        return max(delays, default=float("inf"))

    def _resize(self, name: str, kind: str) -> None:
        cell = self._cells[name]
        self._add_loads(cell, -1)
        changed = self._cells[name] = Cell(name, kind, cell.pins)
        self._add_loads(changed, 1)
        inputs = {cell.pins[pin] for pin in self._library[kind].inputs}
        self._retime({name, *(self._driver[net] for net in inputs if net in self._driver)})

    def _retime(self, names: set[str]) -> None:
        """Time some cells again, and all behind them whose inputs change."""
        queue = [(self._rank[name], name) for name in names]
        heapq.heapify(queue)
        queued = set(names)
        while queue:
            _, name = heapq.heappop(queue)
            queued.discard(name)
            cell = self._cells[name]
            outputs = [cell.pins[pin] for pin, _ in self._library[cell.type].outputs]
            before = {net: self._events.pop(net, {}) for net in outputs}
            propagate(cell, self._facts.arcs[cell.type], self._events, self._loads)
            for net in outputs:
                if not _alike(before[net], self._events.get(net, {})):
                    for reader, _ in self._readers[net]:
                        if reader not in queued:
                            queued.add(reader)
                            heapq.heappush(queue, (self._rank[reader], reader))

    def _buffer_gain(self, path: tuple[Step, ...], i: int) -> float:
        """Return what the path gains if all other sinks of a step's output went behind a buffer."""
        step = path[i]
        assert self._buffer is not None
        net = self._cells[step.cell].pins[step.sink]
        if len(self._readers[net]) + self._ends.count(net) < 2 or not self._readers[net]:
            return 0.0
        edge = _RISE_FALL.index(step.edge)
        kept = 0.0
        if i + 1 < len(path) and self._is_input(path[i + 1]):
            kept = self._pin_ff(path[i + 1].type, path[i + 1].source)[edge]
        kept += self._around.output_load_ff * self._ends.count(net)
        pin = self._buffer.inputs[0]
        load = kept + self._pin_ff(self._buffer.name, pin)[edge]
        slew = path[i - 1].slew_ps if i else self._around.input_slew_ps
        return self._arc_ps(step.type, step, slew, step.load_ff) - self._arc_ps(
            step.type, step, slew, load
        )

    def _insert_buffer(self, name: str, before_ps: float) -> bool:
        """Move sinks of a cell's critical output that can wait behind a buffer, if that helps."""
        path = self._critical_path()
        i = next(i for i, step in enumerate(path) if step.cell == name)
        moved = self._best_split(path[i], path[i - 1].slew_ps if i else self._around.input_slew_ps)
        if not moved:
            return False
        before = dict(vars(self))  # a rebuild makes all that changes anew
        net = self._cells[name].pins[path[i].sink]
        self._rebuild(self._with_buffer(list(self._cells.values()), name, net, moved))
        if self.delay_ps() < before_ps - _EPSILON_PS:
            return True
        vars(self).update(before)
        return False

    def _best_split(self, step: Step, slew_ps: float) -> list[tuple[str, str]]:
        """Return the sinks of a net that should move: those which can wait longest."""
        assert self._buffer is not None
        buffer, edge = self._buffer, _RISE_FALL.index(step.edge)
        through = step._replace(type=buffer.name, source=buffer.inputs[0])
        through = through._replace(sink=buffer.outputs[0][0])
        slacks = self._sink_slacks(self._cells[step.cell].pins[step.sink])
        order = sorted(slacks, key=lambda sink: -slacks[sink])
        now = self._arc_ps(step.type, step, slew_ps, step.load_ff)
        moved_ff, best, count = 0.0, _EPSILON_PS, 0
        for k, (cell, pin) in enumerate(order, 1):
            moved_ff += self._pin_ff(self._cells[cell].type, pin)[edge]
            kept_ff = step.load_ff - moved_ff + self._pin_ff(buffer.name, buffer.inputs[0])[edge]
            gain = now - self._arc_ps(step.type, step, slew_ps, kept_ff)
            later = self._arc_ps(buffer.name, through, step.slew_ps, moved_ff) - gain
            if (effective := min(gain, slacks[cell, pin] - later)) > best:
                best, count = effective, k
        return order[:count]

    def _with_buffer(
        self, cells: list[Cell], name: str, net: int, moved: list[tuple[str, str]]
    ) -> list[Cell]:
        assert self._buffer is not None
        nets = {1, *(net for cell in cells for net in cell.pins.values())}
        fresh = max(nets.union(*self._given.inputs.values())) + 1
        title = f"buffer{fresh}"
        while title in self._cells:
            title += "_"
        pins = {self._buffer.inputs[0]: net, self._buffer.outputs[0][0]: fresh}
        made = []
        for cell in cells:
            own = {pin for sink, pin in moved if sink == cell.name}
            changed = {p: fresh if p in own else n for p, n in cell.pins.items()}
            made.append(Cell(cell.name, cell.type, changed) if own else cell)
            if cell.name == name:
                made.append(Cell(title, self._buffer.name, pins))
        return made

    def _sink_slacks(self, net: int) -> dict[tuple[str, str], float]:
        """Return how much later each input pin on a net may be without delaying any output."""
        required = self._required()
        slacks = {}
        for name, pin in self._readers[net]:
            cell, times = self._cells[name], []
            for arc in self._facts.arcs[cell.type]:
                if arc.source != pin:
                    continue
                for edge, tables in edges_of(arc):
                    sink = cell.pins[arc.sink]
                    limit = required.get((sink, edge), float("inf"))
                    for cause in causes(arc, edge):
                        if cause in self._events.get(net, {}):
                            event = self._events[net][cause]
                            delay = tables.delay.at(event.slew_ps, self._loads[edge][sink])
                            times.append(limit - delay - event.arrival_ps)
            slacks[name, pin] = min(times, default=float("inf"))
        return slacks

    def _required(self) -> dict[tuple[int, EdgeName], float]:
        """Return when each edge of each net must be there at the latest."""
        limit = self.delay_ps()
        required: dict[tuple[int, EdgeName], float] = {
            (net, edge): limit for net in self._ends for edge in _RISE_FALL
        }
        for cell in reversed(self._cells.values()):
            for arc in reversed(self._facts.arcs[cell.type]):
                self._require(cell, arc, required)
        return required

    def _require(self, cell: Cell, arc: Arc, required: dict[tuple[int, EdgeName], float]) -> None:
        source, sink = cell.pins[arc.source], cell.pins[arc.sink]
        for edge, tables in edges_of(arc):
            for cause in causes(arc, edge):
                event = self._events.get(source, {}).get(cause)
                if event is None or (sink, edge) not in required:
                    continue
                delay = tables.delay.at(event.slew_ps, self._loads[edge][sink])
                time = required[sink, edge] - delay
                required[source, cause] = min(time, required.get((source, cause), time))

    def shrink(self, target_ps: float) -> None:
        """Make larger cells smaller, those that save most first, as long as a target is met."""
        for name in sorted(self._cells, key=self._saving, reverse=True):
            while self._cells[name].type in self._smaller:
                old = self._cells[name].type
                self._resize(name, self._smaller[old])
                if self.delay_ps() > target_ps + _EPSILON_PS:
                    self._resize(name, old)
                    break

    def _saving(self, name: str) -> float:
        kind = self._cells[name].type
        return self._area[kind] - self._area[self._smaller[kind]] if kind in self._smaller else 0.0


def _alike(one: dict[EdgeName, Event], other: dict[EdgeName, Event]) -> bool:
    return one.keys() == other.keys() and all(
        one[edge][:2] == other[edge][:2]
        for edge in one  # arrival and slew
    )


def _ladders(technology: Technology) -> tuple[dict[str, str], dict[str, str]]:
    """Return the next larger cell of each cell that has one, and the next smaller one."""
    larger: dict[str, str] = {}
    for name, drives in technology.drives.items():
        ladder = [name, *(cell.name for cell in drives)]
        larger |= dict(pairwise(ladder))
    return larger, {high: low for low, high in larger.items()}


def _buffer(technology: Technology, larger: dict[str, str]) -> CellType | None:
    """Return the next larger drive of the smallest buffer, or that buffer; None without any."""
    found = [
        cell
        for cell in technology.cells.values()
        if len(cell.inputs) == len(cell.outputs) == 1
        and cell.truth_table(cell.outputs[0][0]) == _BUFFER_TABLE
    ]
    smallest = min(found, key=lambda cell: technology.cell_cost[cell.name], default=None)
    if smallest is None:
        return None
    return technology.sized_cells[larger.get(smallest.name, smallest.name)]
