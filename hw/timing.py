"""Delay without a technology: logical effort (Sutherland, Sproull, Harris, 1999).

Delays are in tau, the delay of an ideal inverter that drives its equal; loads and pin capacitances
are in the input capacitance of the unit inverter. A fan-out-of-four inverter takes 1 + 4 = 5 tau:
one FO4. Every cell has the drive of the unit inverter, so its delay is its parasitic delay plus
the sum of the capacitances it drives. There are no wires and no other sizes. An input port is
driven by an ideal source; an output port is an FO4 load.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fmacost.sim.netlist import Cell, CellType, Netlist

if TYPE_CHECKING:
    from fmacost.hw.technology import Technology

FO4_TAU = 5.0
OUTPUT_LOAD = 4.0  # unit inverters at each bit of an output port
_P_TO_N = 2.0  # width of a pMOS transistor that conducts as an nMOS transistor of width 1
_UNIT = 1 + _P_TO_N  # input capacitance, and drain capacitance, of the unit inverter
_TOKEN = re.compile(r"\w+|\S")


@dataclass(frozen=True, slots=True)
class Drive:
    """What the delay of a cell depends on.

    Attributes
    ----------
    load : capacitance of each input pin: its logical effort, for the drive is the unit inverter's
    delay_tau : from an input pin to an output pin that drives nothing; pairs that have no path
        are absent
    """

    load: Mapping[str, float]
    delay_tau: Mapping[tuple[str, str], float]


class Arrival(NamedTuple):
    """A cell on the critical path, from which pin to which, and when its output is there.

    Attributes
    ----------
    load : what the output drives, in input capacitances of the unit inverter
    """

    cell: str
    type: str
    source: str
    sink: str
    fo4: float
    load: float


def delay_fo4(netlist: Netlist, technology: Technology) -> float:
    """Return the delay of a netlist's longest path in FO4; 0 without cells.

    A technology without logical efforts, but with delays in ps, has the delay in ps over that of
    its own fan-out-of-four inverter; so has a netlist with larger cells, which have no efforts.

    Raises
    ------
    ValueError
        If the technology does not know the drive of a cell that is used.
    """
    known = technology.characterisation
    if known is not None and not netlist.count().keys() <= technology.drive.keys():
        from fmacost.hw.static_timing import delay_ps

        return delay_ps(netlist, technology) / known.fo4_ps
    path = critical_path(netlist, technology)
    return path[-1].fo4 if path else 0.0


def critical_path(netlist: Netlist, technology: Technology) -> tuple[Arrival, ...]:
    """Return the cells of the longest path, from input to output; raise as ``delay_fo4``."""
    loads = _loads(netlist, technology)
    arrivals: dict[int, float] = defaultdict(float)  # ports and constants are there at 0
    reached: dict[int, tuple[Cell, str, str]] = {}  # what drives a net, from its latest pin
    for cell in netlist.levelised():
        for (source, sink), delay in technology.drive[cell.type].delay_tau.items():
            net = cell.pins[sink]
            arrival = arrivals[cell.pins[source]] + delay + loads[net]
            if net not in reached or arrival > arrivals[net]:
                arrivals[net], reached[net] = arrival, (cell, source, sink)
    ends = [net for nets in netlist.outputs.values() for net in nets if net in reached]
    path = []
    net = max(ends, key=lambda end: arrivals[end], default=-1)
    while net in reached:
        cell, source, sink = reached[net]
        fo4 = arrivals[net] / FO4_TAU
        path.append(Arrival(cell.name, cell.type, source, sink, fo4, loads[net]))
        net = cell.pins[source]
    return tuple(reversed(path))


def _loads(netlist: Netlist, technology: Technology) -> dict[int, float]:
    """Return what is connected to each net, in unit inverters."""
    loads: dict[int, float] = defaultdict(float)
    for cell in netlist.cells:
        if cell.type not in technology.drive:
            raise ValueError(f"technology {technology.name}: the drive of {cell.type} is unknown")
        for pin, load in technology.drive[cell.type].load.items():
            loads[cell.pins[pin]] += load
    for nets in netlist.outputs.values():
        for net in nets:
            loads[net] += OUTPUT_LOAD
    return loads


# The efforts of a cell, from its transistors.


@dataclass(frozen=True, slots=True)
class Stage:
    """One inverting stage: ``output = ~network``, the network of its nMOS transistors.

    Attributes
    ----------
    network : a pin or the output of an earlier stage, or ``("&", ...)`` of networks in series, or
        ``("|", ...)`` of networks in parallel
    """

    output: str
    network: Network

    @property
    def transistors(self) -> int:
        """Each leaf of the network is an nMOS and a pMOS transistor."""
        return 2 * len(list(_widths(self.network)))


Network = str | tuple[str, tuple["Network", ...]]


def parse_stages(text: str) -> tuple[Stage, ...]:
    """Read the structure of a cell, such as ``N=~(A & B); Y=~N``.

    Each stage is an inverted expression of ``&``, ``|`` and parentheses.

    Raises
    ------
    ValueError
        If it is anything else.
    """
    return tuple(_parse_stage(part.strip()) for part in text.split(";"))


def derive_drive(cell: CellType, stages: Sequence[Stage]) -> Drive:
    """Return loads and delays of a cell that is built from stages, all of the unit drive.

    A transistor is as wide as the longest series of transistors through it is long. The effort of
    a pin is the gate width on it, the parasitic delay of a stage the drain width on its output,
    both over those of the unit inverter. A stage loads those before it by its efforts. The pull-up
    network is the dual of the pull-down network, or its mirror image where the function is its own
    dual (carry and sum of the mirror full adder), which makes the longest series shorter.
    """
    efforts = {stage.output: _efforts(stage.network) for stage in stages}
    inside: dict[str, float] = defaultdict(float)
    for pins in efforts.values():
        for pin, effort in pins.items():
            inside[pin] += effort
    delays: dict[tuple[str, str], float] = {}
    for source in cell.inputs:
        arrivals = {source: 0.0}
        for stage in stages:
            reached = [arrivals[pin] for pin in efforts[stage.output] if pin in arrivals]
            if reached:
                parasitic = _parasitic(stage.network)
                arrivals[stage.output] = max(reached) + parasitic + inside[stage.output]
        for sink, _ in cell.outputs:
            if sink in arrivals:
                delays[source, sink] = arrivals[sink]
    return Drive({pin: inside[pin] for pin in cell.inputs}, delays)


def _efforts(network: Network) -> dict[str, float]:
    efforts: dict[str, float] = defaultdict(float)
    for pin, width in _widths(network):
        efforts[pin] += width / _UNIT
    for pin, width in _widths(pull_up(network)):
        efforts[pin] += _P_TO_N * width / _UNIT
    return efforts


def _parasitic(network: Network) -> float:
    return (_drain(network) + _P_TO_N * _drain(pull_up(network))) / _UNIT


def pull_up(network: Network) -> Network:
    """Return the network of pMOS transistors over one of nMOS transistors, see ``derive_drive``."""
    dual = _dual(network)
    pins = sorted({pin for pin, _ in _widths(network)})
    patterns = [dict(zip(pins, _bits(i, len(pins)), strict=True)) for i in range(2 ** len(pins))]
    is_own_dual = all(_conducts(network, p) == _conducts(dual, p) for p in patterns)
    return network if is_own_dual else dual


def _widths(network: Network, series: int = 0) -> list[tuple[str, int]]:
    """Return each leaf and the width of its transistor; ``series`` more are in series with it."""
    if isinstance(network, str):
        return [(network, series + 1)]
    operator, parts = network
    length = sum(map(_length, parts)) if operator == "&" else 0
    return [
        leaf
        for part in parts
        for leaf in _widths(part, series + (length - _length(part) if operator == "&" else 0))
    ]


def _drain(network: Network, series: int = 0) -> int:
    """Return the transistor width on the output; of parts in series the narrowest is put there."""
    if isinstance(network, str):
        return series + 1
    operator, parts = network
    if operator == "|":
        return sum(_drain(part, series) for part in parts)
    length = sum(map(_length, parts))
    return min(_drain(part, series + length - _length(part)) for part in parts)


def _length(network: Network) -> int:
    """Return the number of transistors in the longest series."""
    if isinstance(network, str):
        return 1
    operator, parts = network
    lengths = map(_length, parts)
    return sum(lengths) if operator == "&" else max(lengths)


def _dual(network: Network) -> Network:
    if isinstance(network, str):
        return network
    operator, parts = network
    return {"&": "|", "|": "&"}[operator], tuple(map(_dual, parts))


def _conducts(network: Network, pattern: Mapping[str, bool]) -> bool:
    if isinstance(network, str):
        return pattern[network]
    operator, parts = network
    values = [_conducts(part, pattern) for part in parts]
    return all(values) if operator == "&" else any(values)


def _bits(number: int, width: int) -> list[bool]:
    return [bool(number >> i & 1) for i in range(width)]


def _parse_stage(text: str) -> Stage:
    output, _, inverted = text.partition("=")
    tokens = ["", *reversed(_TOKEN.findall(inverted))]  # the next one is the last
    if not output.isidentifier() or tokens.pop() != "~":
        raise ValueError(f"a stage must be 'output=~network', not {text!r}")
    network = _parse_operand(tokens)
    if tokens.pop():
        raise ValueError(f"a stage must be one inverted network, not {text!r}")
    return Stage(output, network)


def _parse_operand(tokens: list[str]) -> Network:
    token = tokens.pop()
    if token != "(":
        if not token.isidentifier():
            raise ValueError(f"expected a pin or '(', not {token!r}")
        return token
    network = _parse_network(tokens, "|")
    if tokens.pop() != ")":
        raise ValueError("expected ')'")
    return network


def _parse_network(tokens: list[str], operator: str) -> Network:
    def part() -> Network:
        return _parse_network(tokens, "&") if operator == "|" else _parse_operand(tokens)

    parts = [part()]
    while tokens[-1] == operator:
        tokens.pop()
        parts.append(part())
    return parts[0] if len(parts) == 1 else (operator, tuple(parts))
