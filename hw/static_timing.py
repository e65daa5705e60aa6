"""Static timing in picoseconds: the longest path of a mapped netlist.

Every net has an arrival and a slew for each of its edges. The delay of a cell depends on the slew
of its input and on the load of its output: the pin capacitances there, for the edge in question.
Where arcs meet, the latest arrival and the slowest slew go on, each by itself, as in OpenSTA: a
bound, not the delay of any one vector. Constants never arrive. Wires weigh nothing unless one says
what they do. What is outside of the netlist is made of the technology's smallest inverter, see
``fan_out_of_four_surroundings``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from fmacost.hw.characterisation import Arc, Characterisation, Edge
from fmacost.hw.technology import Technology, TechnologyError
from fmacost.sim.netlist import Cell, Netlist

EdgeName = Literal["rise", "fall"]

_NOT = 0b01  # truth table of an inverter
_FANOUT = 4
_SETTLED_PS = 1e-6
_MOST_STAGES = 200
_OPPOSITE: Mapping[EdgeName, EdgeName] = {"rise": "fall", "fall": "rise"}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a netlist is connected to.

    Attributes
    ----------
    input_slew_ps : of both edges of every input bit, which all arrive at 0
    output_load_ff : at every output bit
    wire_ff_per_sink : of a net, for each pin and output bit that it drives
    """

    input_slew_ps: float
    output_load_ff: float
    wire_ff_per_sink: float = 0.0


class FanOutOfFour(NamedTuple):
    """A stage of a chain of inverters in which each drives four of its kind."""

    delay_ps: float
    slew_ps: float
    load_ff: float


class Step(NamedTuple):
    """A cell on the critical path: from which pin, and what its output is like.

    Attributes
    ----------
    edge : of the output
    arrival_ps, slew_ps : of that edge
    load_ff : what the output drives at that edge
    """

    cell: str
    type: str
    source: str
    sink: str
    edge: EdgeName
    arrival_ps: float
    slew_ps: float
    load_ff: float


def delay_ps(
    netlist: Netlist, technology: Technology, surroundings: Surroundings | None = None
) -> float:
    """Return the delay of a netlist's longest path in ps; 0 without cells.

    Parameters
    ----------
    surroundings : None takes ``fan_out_of_four_surroundings``

    Raises
    ------
    TechnologyError
        If the technology does not know the delays of a cell that is used.
    """
    path = critical_path_ps(netlist, technology, surroundings)
    return path[-1].arrival_ps if path else 0.0


def critical_path_ps(
    netlist: Netlist, technology: Technology, surroundings: Surroundings | None = None
) -> tuple[Step, ...]:
    """Return the cells of the longest path, from input to output; raise as ``delay_ps``."""
    facts = technology.characterisation
    for name in netlist.count():
        if facts is None or name not in facts.arcs or name not in facts.capacitance_ff:
            raise TechnologyError(f"technology {technology.name} has no delays of {name} in ps")
    if facts is None:
        return ()
    around = surroundings or fan_out_of_four_surroundings(technology)
    loads = _loads(netlist, facts, around)
    start = Event(0.0, around.input_slew_ps, None)
    events: _Events = {
        net: {"rise": start, "fall": start} for nets in netlist.inputs.values() for net in nets
    }
    for cell in netlist.levelised():
        propagate(cell, facts.arcs[cell.type], events, loads)
    ends = [(n, e) for nets in netlist.outputs.values() for n in nets for e in events.get(n, ())]
    if not ends:
        return ()
    return trace(events, loads, *max(ends, key=lambda end: events[end[0]][end[1]].arrival_ps))


def fan_out_of_four_surroundings(technology: Technology) -> Surroundings:
    """Return surroundings of fan-out-of-four inverters.

    Inputs have the slew that settles in a chain of such inverters, outputs drive four of them, and
    wires weigh nothing.

    Raises
    ------
    TechnologyError
        If the technology has no inverter with delays.
    """
    facts = technology.characterisation
    inverters = [
        cell
        for cell in technology.cells.values()
        if facts is not None
        and cell.name in facts.arcs
        and [len(cell.inputs), *(cell.truth_table(pin) for pin, _ in cell.outputs)] == [1, _NOT]
    ]
    if facts is None or not inverters:
        raise TechnologyError(f"technology {technology.name} has no inverter with delays in ps")
    smallest = min(inverters, key=lambda cell: technology.cell_cost[cell.name])
    load = sum(facts.capacitance_ff[smallest.name].values())
    stage = settle(facts.arcs[smallest.name], load)
    return Surroundings(stage.slew_ps, stage.load_ff)


def settle(arcs: Sequence[Arc], capacitance_ff: float) -> FanOutOfFour:
    """Return what settles in a chain of inverters that drive four of their kind each.

    Parameters
    ----------
    arcs : of the inverter
    capacitance_ff : of its input pin

    Returns
    -------
    FanOutOfFour
        Its delay and slew are means of rise and fall.

    Raises
    ------
    ValueError
        If the arcs are not those of an inverter.
    """
    arc = next((arc for arc in arcs if arc.sense != "positive"), None)
    if arc is None or arc.rise is None or arc.fall is None:
        raise ValueError("an inverter must have an arc whose output rises and falls")
    load = _FANOUT * capacitance_ff
    rise, fall, before = 0.0, 0.0, -1.0
    for _ in range(_MOST_STAGES):  # each two stages of the chain
        if abs(rise - before) < _SETTLED_PS:
            break
        before = rise
        fall = _slew(arc.fall, rise, load)
        rise = _slew(arc.rise, fall, load)
    delays = arc.rise.delay.at(fall, load), arc.fall.delay.at(rise, load)
    return FanOutOfFour(sum(delays) / 2, (rise + fall) / 2, load)


class Event(NamedTuple):
    """An edge of a net, and the cell, arc and edge before that bring it last."""

    arrival_ps: float
    slew_ps: float
    before: tuple[Cell, Arc, EdgeName] | None


_Events = dict[int, dict[EdgeName, Event]]
_Loads = dict[EdgeName, dict[int, float]]


def _loads(netlist: Netlist, facts: Characterisation, around: Surroundings) -> _Loads:
    """Return what each net drives when it rises and when it falls, in fF."""
    loads: _Loads = {"rise": defaultdict(float), "fall": defaultdict(float)}
    for cell in netlist.cells:
        means = facts.capacitance_ff[cell.type]
        edges = facts.edge_capacitance_ff.get(cell.type, {})
        for pin in netlist.library[cell.type].inputs:
            rise, fall = edges.get(pin, (means[pin], means[pin]))
            loads["rise"][cell.pins[pin]] += rise + around.wire_ff_per_sink
            loads["fall"][cell.pins[pin]] += fall + around.wire_ff_per_sink
    for nets in netlist.outputs.values():
        for net in nets:
            for of_edge in loads.values():
                of_edge[net] += around.output_load_ff + around.wire_ff_per_sink
    return loads


def propagate(cell: Cell, arcs: Sequence[Arc], events: _Events, loads: _Loads) -> None:
    """Bring the edges at a cell's inputs to its outputs."""
    for arc in arcs:
        before = events.get(cell.pins[arc.source])
        if before is None:  # a constant
            continue
        net = cell.pins[arc.sink]
        for edge, tables in edges_of(arc):
            for start in causes(arc, edge):
                if start in before:
                    event = _after(before[start], tables, loads[edge][net], (cell, arc, start))
                    at_net = events.setdefault(net, {})
                    at_net[edge] = _worst(at_net.get(edge), event)


def edges_of(arc: Arc) -> list[tuple[EdgeName, Edge]]:
    """Return the edges that an arc gives its output."""
    edges: tuple[tuple[EdgeName, Edge | None], ...] = (("rise", arc.rise), ("fall", arc.fall))
    return [(name, edge) for name, edge in edges if edge is not None]


def causes(arc: Arc, edge: EdgeName) -> tuple[EdgeName, ...]:
    """Return the edges of an arc's input that make its output do this."""
    if arc.sense == "both":
        return ("rise", "fall")
    return (edge if arc.sense == "positive" else _OPPOSITE[edge],)


def _after(before: Event, tables: Edge, load_ff: float, step: tuple[Cell, Arc, EdgeName]) -> Event:
    delay = tables.delay.at(before.slew_ps, load_ff)
    return Event(before.arrival_ps + delay, _slew(tables, before.slew_ps, load_ff), step)


def _slew(tables: Edge, slew_ps: float, load_ff: float) -> float:
    """Return the output's slew; a table that is left at its low end may give less than none."""
    return max(tables.slew.at(slew_ps, load_ff), 0.0) if tables.slew else 0.0


def _worst(known: Event | None, new: Event) -> Event:
    """Return the later of two events with the slower slew of both."""
    if known is None:
        return new
    later = new if new.arrival_ps > known.arrival_ps else known
    return later._replace(slew_ps=max(known.slew_ps, new.slew_ps))


def trace(events: _Events, loads: _Loads, net: int, edge: EdgeName) -> tuple[Step, ...]:
    """Return the path that ends with an edge of a net, from its input on."""
    path = []
    while (event := events[net][edge]).before is not None:
        cell, arc, start = event.before
        path.append(
            Step(
                cell.name,
                cell.type,
                arc.source,
                arc.sink,
                edge,
                event.arrival_ps,
                event.slew_ps,
                loads[edge][net],
            )
        )
        net, edge = cell.pins[arc.source], start
    return tuple(reversed(path))
