"""Clocked netlists: how long a cycle must be, from register to register.

Whatever feeds the inputs of a netlist is a register too, and so is whatever takes its outputs:
a path is clock to output, logic, setup, wherever it begins and ends. There are no wires, the clock
comes everywhere at once.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fmacost.hw.characterisation import Arc, Characterisation, Edge
from fmacost.hw.technology import Technology, TechnologyError
from fmacost.hw.timing import FO4_TAU
from fmacost.sim.netlist import Cell, Netlist

Node = tuple[int, int]  # a net, and an edge: 0 for a rise or for both alike, 1 for a fall
Terminal = tuple[str, int]  # a pin, and an edge
Arcs = Mapping[tuple[Terminal, Terminal], float]
_RISE, _FALL = 0, 1


@dataclass(frozen=True, slots=True)
class Delays:
    """Delays in a netlist as it is wired: FO4, or ps in a technology that knows them.

    Attributes
    ----------
    arcs : by name of cell, from an edge of an input pin to one of an output pin; registers have
        none
    held : the same where the output drives a register and nothing else
    launch : of each net, from the clock edge to the output of a register that drives it
    setup : how long before the clock edge the input of a register must be there
    """

    arcs: Mapping[str, Arcs]
    held: Mapping[str, Arcs]
    launch: Mapping[Node, float]
    setup: float


def find_delays(netlist: Netlist, technology: Technology) -> Delays:
    """Return the delays of a netlist, with registers or without.

    In ps, where arcs meet, the slowest slew goes on.

    Raises
    ------
    TechnologyError
        If the technology has no flip-flop, or does not know the delays of a cell that is used.
    """
    if technology.characterisation is not None:
        return _characterised(netlist, technology, technology.characterisation)
    return _logical_effort(netlist, technology)


def arrivals(netlist: Netlist, delays: Delays) -> dict[Node, float]:
    """Return when each net is there at the latest, after the clock edge; constants never arrive."""
    starts = {net for nets in netlist.inputs.values() for net in nets}
    for cell in netlist.registers:
        starts |= {cell.pins[pin] for pin, _ in netlist.library[cell.type].outputs}
    found = {node: time for node, time in delays.launch.items() if node[0] in starts}
    for cell in netlist.levelised():
        for ((pin, cause), (sink, effect)), delay in delays.arcs.get(cell.name, {}).items():
            source, node = (cell.pins[pin], cause), (cell.pins[sink], effect)
            if source in found:
                found[node] = max(found.get(node, 0.0), found[source] + delay)
    return found


def period(netlist: Netlist, delays: Delays) -> float:
    """Return the shortest clock period of a netlist, in the unit of the delays."""
    ends = {net for nets in netlist.outputs.values() for net in nets}
    for cell in netlist.registers:
        kind = netlist.library[cell.type]
        ends |= {cell.pins[pin] for pin in kind.inputs if pin != kind.clock}
    times = (time for node, time in arrivals(netlist, delays).items() if node[0] in ends)
    return max(times, default=0.0) + delays.setup


def _loads(
    netlist: Netlist, capacitance: Callable[[str, str], float], data: tuple[str, str]
) -> dict[int, float]:
    """Return what hangs on each net; an output port is the input of a register."""
    loads: dict[int, float] = defaultdict(float)
    for cell in netlist.cells:
        for pin in netlist.library[cell.type].inputs:
            loads[cell.pins[pin]] += capacitance(cell.type, pin)
    for nets in netlist.outputs.values():
        for net in nets:
            loads[net] += capacitance(*data)
    return loads


def _nets(netlist: Netlist) -> set[int]:
    ports = (*netlist.inputs.values(), *netlist.outputs.values())
    return {net for c in netlist.cells for net in c.pins.values()}.union(*ports)


def _logical_effort(netlist: Netlist, technology: Technology) -> Delays:
    flip_flop, drive = technology.register, technology.drive
    unknown = ({flip_flop.cell} | netlist.count().keys()) - drive.keys()
    if unknown or flip_flop.setup_fo4 is None:
        name = min(unknown, default=flip_flop.cell)
        raise TechnologyError(f"technology {technology.name}: the delays of {name} are unknown")
    register = drive[flip_flop.cell]
    (launch,) = register.delay_tau.values()
    data = flip_flop.cell, flip_flop.pins["D"]
    loads = _loads(netlist, lambda cell, pin: drive[cell].load[pin], data)

    def arcs(load: Callable[[int], float]) -> dict[str, Arcs]:
        return {
            cell.name: {
                ((source, _RISE), (sink, _RISE)): (delay + load(cell.pins[sink])) / FO4_TAU
                for (source, sink), delay in drive[cell.type].delay_tau.items()
            }
            for cell in netlist.cells
            if cell.type != flip_flop.cell
        }

    held = register.load[flip_flop.pins["D"]]
    launches = {(net, _RISE): (launch + loads[net]) / FO4_TAU for net in _nets(netlist)}
    return Delays(arcs(loads.__getitem__), arcs(lambda _: held), launches, flip_flop.setup_fo4)


def _characterised(netlist: Netlist, technology: Technology, known: Characterisation) -> Delays:
    flip_flop = technology.register
    unknown = ({flip_flop.cell} | netlist.count().keys()) - known.arcs.keys()
    if unknown or flip_flop.cell not in known.setup_ps:
        name = min(unknown, default=flip_flop.cell)
        raise TechnologyError(f"technology {technology.name}: the delays of {name} are unknown")
    data = flip_flop.cell, flip_flop.pins["D"]
    loads = [_loads(netlist, _capacitance(known, edge), data) for edge in (_RISE, _FALL)]
    launch: dict[Node, float] = {}
    slews: dict[Node, float] = defaultdict(lambda: known.fo4_ps)
    starts = {net for nets in netlist.inputs.values() for net in nets}
    starts |= {cell.pins[flip_flop.pins["Q"]] for cell in netlist.registers}
    for arc in known.arcs[flip_flop.cell]:
        for effect, edge in _edges(arc) if arc.sink == flip_flop.pins["Q"] else ():
            for net in _nets(netlist):
                launch[net, effect] = edge.delay.at(known.fo4_ps, loads[effect][net])
                if net in starts:
                    slews[net, effect] = _slew(edge, known.fo4_ps, loads[effect][net], known)
    at_register = [_capacitance(known, edge)(*data) for edge in (_RISE, _FALL)]
    arcs: dict[str, Arcs] = {}
    held: dict[str, Arcs] = {}
    for cell in netlist.levelised():
        if cell.type != flip_flop.cell:
            alone = [{net: load for net in cell.pins.values()} for load in at_register]
            held[cell.name], _ = _arcs(cell, known, slews, alone)
            arcs[cell.name], worst = _arcs(cell, known, slews, loads)
            slews |= worst
    return Delays(arcs, held, launch, known.setup_ps[flip_flop.cell])


def _arcs(
    cell: Cell,
    known: Characterisation,
    slews: Mapping[Node, float],
    loads: Sequence[Mapping[int, float]],
) -> tuple[Arcs, dict[Node, float]]:
    """Return the delays from inputs to outputs of a cell, and the slews of its outputs."""
    found: dict[tuple[Terminal, Terminal], float] = {}
    worst: dict[Node, float] = {}
    for arc in known.arcs[cell.type]:
        net, source = cell.pins[arc.sink], cell.pins[arc.source]
        for effect, edge in _edges(arc):
            for cause in _causes(arc, effect):
                slew_ps = worst.get((source, cause), slews[source, cause])
                slew = _slew(edge, slew_ps, loads[effect][net], known)
                worst[net, effect] = max(slew, worst.get((net, effect), 0.0))
                begin, end = (arc.source, cause), (arc.sink, effect)
                # an arc may begin at another output, where earlier ones end
                before = {first: d for (first, last), d in found.items() if last == begin}
                for first, before_ps in (before or {begin: 0.0}).items():
                    delay = before_ps + edge.delay.at(slew_ps, loads[effect][net])
                    found[first, end] = max(delay, found.get((first, end), 0.0))
    return found, worst


def _capacitance(known: Characterisation, edge: int) -> Callable[[str, str], float]:
    """Return the capacitance in fF of a pin of a cell at one of its edges."""

    def of_pin(cell: str, pin: str) -> float:
        mean = known.capacitance_ff[cell][pin]
        return known.edge_capacitance_ff.get(cell, {}).get(pin, (mean, mean))[edge]

    return of_pin


def _edges(arc: Arc) -> list[tuple[int, Edge]]:
    """Return the edges that an arc gives its output."""
    return [(i, edge) for i, edge in ((_RISE, arc.rise), (_FALL, arc.fall)) if edge is not None]


def _causes(arc: Arc, effect: int) -> tuple[int, ...]:
    """Return the edges of an arc's input that make its output do this."""
    if arc.sense == "both":
        return (_RISE, _FALL)
    return (effect if arc.sense == "positive" else _RISE + _FALL - effect,)


def _slew(edge: Edge, slew_ps: float, load_ff: float, known: Characterisation) -> float:
    """Return the slew of an output; where slews do not matter any will do."""
    return known.fo4_ps if edge.slew is None else max(edge.slew.at(slew_ps, load_ff), 0.0)
