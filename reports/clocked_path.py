"""The critical path of a clocked netlist: clock to output, logic, setup, as the period has it.

The delays are those of ``hw.clocking``, which the period of a row comes from too. What feeds the
inputs and takes the outputs of a unit is a register of a neighbour, which goes by the name of the
port's bit.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from fmacost.hw.clocking import Node, arrivals, find_delays
from fmacost.reports.clocked import Registers
from fmacost.reports.path import PathStep, fan_outs, port_bits
from fmacost.sim.netlist import Netlist

if TYPE_CHECKING:
    from fmacost.hw.technology import Technology

LAUNCH, SETUP = "clock to output", "setup"
_EDGES = ("rise", "fall")
_OPERANDS = {"a": "a_out", "b": "b_out", "c": "result"}  # where registers of an element show them


def register_to_register(netlist: Netlist, technology: "Technology") -> tuple[PathStep, ...]:
    """Return the path that decides the clock period, from a register to a register.

    The first step is the register that it begins at, the last the setup of the one it ends at; the
    steps between have no stage yet. The last arrival is the period.

    Raises
    ------
    TechnologyError
        If the technology has no flip-flop, or does not know the delays of a cell that is used.
    """
    delays = find_delays(netlist, technology)
    register, in_ps = technology.register, technology.characterisation is not None
    data, clock, output = (register.pins[role] for role in ("D", "CLK", "Q"))
    starts = dict(port_bits({n: p for n, p in netlist.inputs.items() if n != netlist.clock}))
    starts |= {cell.pins[output]: cell.name for cell in netlist.registers}
    ends = dict(port_bits(netlist.outputs))
    ends |= {cell.pins[data]: cell.name for cell in netlist.registers}
    latest = arrivals(netlist, delays)
    reached = [node for node in latest if node[0] in ends]
    if not reached:  # all outputs are constant
        return ()
    node = max(reached, key=latest.__getitem__)
    readers = fan_outs(netlist)

    def step(stage: str, cell: str, kind: str, pins: tuple[str, str], node: Node) -> PathStep:
        return PathStep(
            stage=stage,
            cell=cell,
            cell_type=kind,
            from_pin=pins[0],
            to_pin=pins[1],
            edge=_EDGES[node[1]] if in_ps else None,
            fan_out=readers[node[0]],
            load=_load(netlist, technology, node),
            slew_ps=None,
            increment=0.0,
            arrival=latest[node],
        )

    arrival = latest[node] + delays.setup
    setup = replace(
        step(SETUP, ends[node[0]], register.cell, (data, clock), node),
        fan_out=None, load=None, likeness=None, arrival=arrival,
    )  # fmt: skip
    steps = [setup]
    drivers = {
        cell.pins[pin]: cell
        for cell in netlist.cells
        if cell.name in delays.arcs
        for pin, _ in netlist.library[cell.type].outputs
    }
    while node[0] in drivers:
        cell = drivers[node[0]]
        node, pin, sink, after = next(
            (source, pin, sink, node)
            for ((pin, cause), (sink, effect)), delay in delays.arcs[cell.name].items()
            if (cell.pins[sink], effect) == node
            and (source := (cell.pins[pin], cause)) in latest
            and latest[source] + delay == latest[node]
        )
        steps.append(step("", cell.name, cell.type, (pin, sink), after))
    launch = step(LAUNCH, starts[node[0]], register.cell, (clock, output), node)
    steps = [replace(launch, likeness=None), *reversed(steps)]
    times = [0.0, *(each.arrival for each in steps)]
    return tuple(
        replace(each, increment=each.arrival - time)
        for each, time in zip(steps, times, strict=False)
    )


def unclocked(netlist: Netlist, registers: Registers) -> Netlist:
    """Return a netlist without its registers, whose inputs are the operands.

    An element has its clear tied to 0, so that the accumulator is the addend.
    """
    from fmacost.sim.cycles import unregistered

    if registers.ranks is not None:
        return unregistered(netlist)[0]
    ports = netlist.outputs
    tied = dict.fromkeys((*ports["clear_out"], *ports.get("invalid", ())), 0)
    return replace(
        netlist,
        inputs={name: ports[port] for name, port in _OPERANDS.items()},
        outputs={},
        cells=tuple(
            replace(cell, pins={pin: tied.get(net, net) for pin, net in cell.pins.items()})
            for cell in netlist.cells
            if not netlist.library[cell.type].clock
        ),
    )


def _load(netlist: Netlist, technology: "Technology", node: Node) -> float:
    """Return what a net drives at an edge, a port being a register: fF, or unit inverters."""
    facts, register = technology.characterisation, technology.register

    def of_pin(cell: str, pin: str) -> float:
        if facts is None:
            return technology.drive[cell].load[pin]
        mean = facts.capacitance_ff[cell][pin]
        return facts.edge_capacitance_ff.get(cell, {}).get(pin, (mean, mean))[node[1]]

    ports = sum(nets.count(node[0]) for nets in netlist.outputs.values())
    return ports * of_pin(register.cell, register.pins["D"]) + sum(
        of_pin(cell.type, pin)
        for cell in netlist.cells
        for pin in netlist.library[cell.type].inputs
        if cell.pins[pin] == node[0]
    )
