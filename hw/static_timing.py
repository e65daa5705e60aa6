"""Static timing of a mapped netlist, in picoseconds."""

from collections import defaultdict

from fmacost.hw.characterisation import Arc, Edge
from fmacost.hw.technology import Technology, TechnologyError
from fmacost.hw.timing import OUTPUT_LOAD
from fmacost.sim.netlist import Netlist

# Whether the input of an arc rises (0) or falls (1), when its output does.
_CAUSES = {
    "positive": ((0, 0), (1, 1)),
    "negative": ((1, 0), (0, 1)),
    "both": ((0, 0), (1, 0), (0, 1), (1, 1)),
}


def delay_ps(netlist: Netlist, technology: Technology) -> float:
    """Return the delay of a netlist's longest path in ps; 0 without cells.

    Inputs come from ideal sources, each bit of an output port is a load of ``OUTPUT_LOAD``
    inverters, there are no wires. Rising and falling outputs are told apart.

    Raises
    ------
    TechnologyError
        If the technology does not know the delays of a cell that is used.
    """
    known = technology.characterisation
    missing = netlist.count().keys() - (known.arcs.keys() if known else set())
    if known is None or missing:
        what = f"the delays of {min(missing)}" if missing else "delays"
        raise TechnologyError(f"technology {technology.name} does not know {what} in ps")
    loads_ff = _loads_ff(netlist, technology)
    arrivals: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])  # ports, constants: at 0
    for cell in netlist.levelised():
        for arc in known.arcs[cell.type]:
            net = cell.pins[arc.sink]
            source, sink = arrivals[cell.pins[arc.source]], arrivals[net]
            for cause, effect in _CAUSES[arc.sense]:
                edge = _edge(arc, effect)
                if edge is not None:
                    delay = edge.delay.at(known.fo4_ps, loads_ff[net])
                    sink[effect] = max(sink[effect], source[cause] + delay)
    ends = (net for nets in netlist.outputs.values() for net in nets)
    return max((max(arrivals[net]) for net in ends), default=0.0)


def _edge(arc: Arc, effect: int) -> Edge | None:
    return arc.fall if effect else arc.rise


def _loads_ff(netlist: Netlist, technology: Technology) -> dict[int, float]:
    """Return the capacitance on each net."""
    loads: dict[int, float] = defaultdict(float)
    assert technology.characterisation is not None
    for cell in netlist.cells:
        for pin, load in technology.characterisation.capacitance_ff[cell.type].items():
            loads[cell.pins[pin]] += load
    output_ff = OUTPUT_LOAD * technology.inverter_ff
    for nets in netlist.outputs.values():
        for net in nets:
            loads[net] += output_ff
    return loads
