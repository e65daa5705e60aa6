"""Clocked netlists: how long a cycle must be, from register to register.

Whatever feeds the inputs of a netlist is a register too, and so is whatever takes its outputs:
a path is clock to output, logic, setup, wherever it begins and ends. There are no wires, the clock
comes everywhere at once.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from fmacost.hw.characterisation import Arc, Characterisation
from fmacost.hw.technology import Technology, TechnologyError
from fmacost.hw.timing import FO4_TAU
from fmacost.sim.netlist import Cell, Netlist


@dataclass(frozen=True, slots=True)
class Delays:
    """Delays in a netlist as it is wired: FO4, or ps in a technology that knows them.

    Attributes
    ----------
    arcs : by name of cell, from input pin to output pin; registers have none
    launch : of each net, from the clock edge to the output of a register that drives it
    setup : how long before the clock edge the input of a register must be there
    """

    arcs: Mapping[str, Mapping[tuple[str, str], float]]
    launch: Mapping[int, float]
    setup: float


def find_delays(netlist: Netlist, technology: Technology) -> Delays:
    """Return the delays of a netlist, with registers or without.

    In ps a cell's delay is that of its slower edge, with the slowest slew at each input.

    Raises
    ------
    TechnologyError
        If the technology has no flip-flop, or does not know the delays of a cell that is used.
    """
    if technology.characterisation is not None:
        return _characterised(netlist, technology, technology.characterisation)
    return _logical_effort(netlist, technology)


def period(netlist: Netlist, delays: Delays) -> float:
    """Return the shortest clock period of a netlist, in the unit of the delays."""
    arrivals = dict.fromkeys((0, 1), 0.0)
    for nets in netlist.inputs.values():
        arrivals |= {net: delays.launch.get(net, 0.0) for net in nets}
    ends = [net for nets in netlist.outputs.values() for net in nets]
    for cell in netlist.levelised():
        kind = netlist.library[cell.type]
        if kind.clock:
            ends += [cell.pins[pin] for pin in kind.inputs if pin != kind.clock]
            arrivals |= {cell.pins[pin]: delays.launch[cell.pins[pin]] for pin, _ in kind.outputs}
        for (source, sink), delay in delays.arcs.get(cell.name, {}).items():
            net = cell.pins[sink]
            arrivals[net] = max(arrivals.get(net, 0.0), arrivals[cell.pins[source]] + delay)
    return max((arrivals[net] for net in ends), default=0.0) + delays.setup


def _loads(
    netlist: Netlist, capacitance: Mapping[str, Mapping[str, float]], output: float
) -> dict[int, float]:
    """Return what hangs on each net, an output port being the input of a register."""
    loads: dict[int, float] = defaultdict(float)
    for cell in netlist.cells:
        for pin in netlist.library[cell.type].inputs:
            loads[cell.pins[pin]] += capacitance[cell.type][pin]
    for nets in netlist.outputs.values():
        for net in nets:
            loads[net] += output
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
    capacitance = {name: cell.load for name, cell in drive.items()}
    loads = _loads(netlist, capacitance, register.load[flip_flop.pins["D"]])
    return Delays(
        {
            cell.name: {
                arc: (delay + loads[cell.pins[arc[1]]]) / FO4_TAU
                for arc, delay in drive[cell.type].delay_tau.items()
            }
            for cell in netlist.cells
            if cell.type != flip_flop.cell
        },
        {net: (launch + loads[net]) / FO4_TAU for net in _nets(netlist)},
        flip_flop.setup_fo4,
    )


def _characterised(netlist: Netlist, technology: Technology, known: Characterisation) -> Delays:
    flip_flop = technology.register
    unknown = ({flip_flop.cell} | netlist.count().keys()) - known.arcs.keys()
    if unknown or flip_flop.cell not in known.setup_ps:
        name = min(unknown, default=flip_flop.cell)
        raise TechnologyError(f"technology {technology.name}: the delays of {name} are unknown")
    capacitance = known.capacitance_ff
    loads = _loads(netlist, capacitance, capacitance[flip_flop.cell][flip_flop.pins["D"]])
    launches = {net: _launch(technology, known, loads[net]) for net in _nets(netlist)}
    slews: dict[int, float] = defaultdict(lambda: known.fo4_ps)
    for nets in netlist.inputs.values():
        slews |= {net: launches[net][1] for net in nets}
    arcs: dict[str, dict[tuple[str, str], float]] = {}
    for cell in netlist.levelised():
        if cell.type == flip_flop.cell:
            net = cell.pins[flip_flop.pins["Q"]]
            slews[net] = launches[net][1]
            continue
        arcs[cell.name] = _arcs(cell, known, slews, loads)
    launch = {net: delay for net, (delay, _) in launches.items()}
    return Delays(arcs, launch, known.setup_ps[flip_flop.cell])


def _arcs(
    cell: Cell, known: Characterisation, slews: dict[int, float], loads: Mapping[int, float]
) -> dict[tuple[str, str], float]:
    """Return the delays from inputs to outputs of a cell, and add the slews of its outputs."""
    found: dict[tuple[str, str], float] = {}
    worst: dict[int, float] = {}
    for arc in known.arcs[cell.type]:
        net, source = cell.pins[arc.sink], cell.pins[arc.source]
        slew_ps = worst.get(source, slews[source])
        delay, slew = _slower(arc, slew_ps, loads[net], known.fo4_ps)
        worst[net] = max(slew, worst.get(net, 0.0))
        # an arc may begin at another output, where earlier ones end
        before = {start: d for (start, end), d in found.items() if end == arc.source}
        for start, delay_before in (before or {arc.source: 0.0}).items():
            key = start, arc.sink
            found[key] = max(delay_before + delay, found.get(key, 0.0))
    slews |= worst
    return found


def _launch(technology: Technology, known: Characterisation, load_ff: float) -> tuple[float, float]:
    """Return clock to output and slew of a flip-flop that drives a load."""
    flip_flop = technology.register
    found = [
        _slower(arc, known.fo4_ps, load_ff, known.fo4_ps)
        for arc in known.arcs[flip_flop.cell]
        if arc.sink == flip_flop.pins["Q"]
    ]
    return max(delay for delay, _ in found), max(slew for _, slew in found)


def _slower(arc: Arc, slew_ps: float, load_ff: float, fo4_ps: float) -> tuple[float, float]:
    """Return delay and output slew of the slower edge; without slews they are one FO4."""
    edges = [edge for edge in (arc.rise, arc.fall) if edge is not None]
    return (
        max(edge.delay.at(slew_ps, load_ff) for edge in edges),
        max(fo4_ps if e.slew is None else e.slew.at(slew_ps, load_ff) for e in edges),
    )
