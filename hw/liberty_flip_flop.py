"""Flip-flops of Liberty cells: which pins hold data, clock and state, and what else must be tied.

Syntax: Liberty Reference Manual, group ``ff``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from fmacost.hw.characterisation import Arc, Characterisation, Edge, FlipFlop, Lookup, Quantity
from fmacost.hw.liberty_function import translate_function
from fmacost.hw.liberty_tables import Unusable
from fmacost.hw.liberty_text import Group
from fmacost.hw.technology import Technology
from fmacost.sim.netlist import CellType

_FACTS = (
    "capacitance_ff",
    "edge_capacitance_ff",
    "arcs",
    "leakage_nw",
    "output_energy_fj",
    "input_energy_fj",
    "setup_ps",
)  # of a ``Characterisation``, by cell
_STATES = (0b10, 0b01)  # state 0 with its complement, state 1 with its complement


class Register(NamedTuple):
    """A flip-flop, and whether its output has the inverse of what its data pin had."""

    flip_flop: FlipFlop
    inverted: bool


def read_flip_flop(cell: Group, inputs: Sequence[str], area_um2: float) -> Register:
    """Return a flip-flop of which a rising clock edge stores one data pin.

    Further inputs (reset, scan, enable) are tied to what makes it plain. An output that is not
    inverted is preferred.

    Raises
    ------
    Unusable
        If the cell is no such flip-flop.
    """
    (ff,) = cell.of_kind("ff") if len(cell.of_kind("ff")) == 1 else (None,)
    if ff is None or cell.has("latch", "latch_bank", "ff_bank", "statetable", "memory"):
        raise Unusable("sequential, and not one flip-flop")
    states = ff.name.split()
    if len(states) != 2 or "clocked_on_also" in ff.attributes:
        raise Unusable("sequential, and not one flip-flop")
    try:
        clock = translate_function(ff.text("clocked_on"), list(inputs))
        others = [pin for pin in inputs if pin != clock]
        data, tied, inverting = _plain(_next_state(ff, others, states), others)
        output, inverted = _output(cell, states)
    except (KeyError, ValueError) as error:
        raise Unusable(f"sequential, and its functions cannot be read: {error}") from None
    if clock not in inputs:
        raise Unusable("sequential, and not clocked by a rising edge")
    pins = {"D": data, "CLK": clock, "Q": output}
    flip_flop = FlipFlop(cell.name, pins, transistors=None, area_um2=area_um2, tied=tied)
    return Register(flip_flop, inverting != inverted)


def with_inverter(technology: Technology) -> Technology:
    """Return a technology whose flip-flop inverts with one that does not.

    It stands for the flip-flop and the smallest inverter behind it: all that is known of both is
    put together, so that whoever places a register need not know of two cells.

    Raises
    ------
    TechnologyError
        If there is no flip-flop or no inverter.
    """
    flip_flop, inverter = technology.register, technology.cells[technology.inverter]
    (source,), ((sink, _),) = inverter.inputs, inverter.outputs
    inputs = {flip_flop.pins["D"], flip_flop.pins["CLK"], *flip_flop.tied}
    combined = replace(
        flip_flop,
        cell=f"{flip_flop.cell}_{inverter.name}",
        pins={**flip_flop.pins, "Q": flip_flop.pins["Q"] if sink in inputs else sink},
        area_um2=(flip_flop.area_um2 or 0) + technology.cell_cost[inverter.name],
    )
    known = technology.characterisation
    if known is not None:
        known = _combine(known, flip_flop, (inverter.name, source, sink), combined)
    return replace(technology, flip_flop=combined, characterisation=known)


def _combine(
    known: Characterisation, first: FlipFlop, second: tuple[str, str, str], combined: FlipFlop
) -> Characterisation:
    """Return facts with those of a flip-flop, and of the inverter behind it, as of one cell."""
    inverter, source, sink = second
    output, name = first.pins["Q"], combined.cell
    mean = known.capacitance_ff[inverter][source]
    loads = known.edge_capacitance_ff.get(inverter, {}).get(source, (mean, mean))
    (clocked,) = known.arcs[first.cell]
    behind = next(arc for arc in known.arcs[inverter] if arc.sense != "positive")
    arc = Arc(
        clocked.source,
        combined.pins["Q"],
        "both",
        _in_a_row(clocked.fall, behind.rise, loads[1]),
        _in_a_row(clocked.rise, behind.fall, loads[0]),
    )
    between_fj = mean * known.voltage_v**2 / 2 + known.input_energy_fj[inverter][source]
    energy = known.output_energy_fj[first.cell][output] + between_fj
    energy += known.output_energy_fj[inverter][sink]
    facts: dict[str, Any] = {fact: dict(getattr(known, fact)) for fact in _FACTS}
    own = {fact: cells.pop(first.cell) for fact, cells in facts.items() if first.cell in cells}
    own |= {"arcs": (arc,), "output_energy_fj": {combined.pins["Q"]: energy}}
    own["leakage_nw"] += known.leakage_nw[inverter]
    for fact, value in own.items():
        facts[fact][name] = value
    return replace(known, **facts)


def _in_a_row(first: Edge | None, second: Edge | None, load_ff: float) -> Edge | None:
    """Return an edge of a cell behind another, which drives ``load_ff`` then, as one of both."""
    if first is None or second is None or first.slew is None or second.slew is None:
        return None
    if not isinstance(first.delay, Lookup):
        raise TypeError("tables of a flip-flop are needed")
    slews = first.delay.slew_ps
    before = [first.delay.at(slew, load_ff) for slew in slews]
    between = [max(first.slew.at(slew, load_ff), 0.0) for slew in slews]

    def table(of: Quantity, bases: Sequence[float]) -> Lookup:
        if not isinstance(of, Lookup):
            raise TypeError("tables of an inverter are needed")
        rows = [
            tuple(base + of.at(slew, load) for load in of.load_ff)
            for base, slew in zip(bases, between, strict=True)
        ]
        return Lookup(slews, of.load_ff, tuple(rows))

    return Edge(table(second.delay, before), table(second.slew, [0.0] * len(slews)))


def _next_state(ff: Group, others: Sequence[str], states: Sequence[str]) -> CellType:
    """Return what a clock edge, ``clear`` and ``preset`` do, as a cell of three outputs."""
    names = [*states, *others]
    functions = [
        (f"{attribute}_", translate_function(ff.text(attribute) or "0", names))
        for attribute in ("next_state", "clear", "preset")
    ]
    return CellType("ff", tuple(names), tuple(functions))


def _plain(ff: CellType, others: Sequence[str]) -> tuple[str, dict[str, int], bool]:
    """Return the data pin, what to tie the other pins to, and whether the state is inverted."""
    table = ff.truth_table("next_state_")
    forced = ff.truth_table("clear_") | ff.truth_table("preset_")
    for data, tied in _settings(others):
        base = sum(value << ff.inputs.index(pin) for pin, value in tied.items())
        low = {base | state for state in _STATES}
        high = {pattern | 1 << ff.inputs.index(data) for pattern in low}
        if any(forced >> pattern & 1 for pattern in low | high):
            continue
        nexts = [{table >> pattern & 1 for pattern in patterns} for patterns in (low, high)]
        if nexts in ([{0}, {1}], [{1}, {0}]):
            return data, tied, nexts[0] == {1}
    raise Unusable("sequential, and stores no data pin")


def _settings(others: Sequence[str]) -> Iterator[tuple[str, dict[str, int]]]:
    for data in others:
        rest = [pin for pin in others if pin != data]
        for values in product((0, 1), repeat=len(rest)):
            yield data, dict(zip(rest, values, strict=True))


def _output(cell: Group, states: Sequence[str]) -> tuple[str, bool]:
    """Return an output pin that shows the state, and whether it is inverted."""
    found = []
    for pin in cell.of_kind("pin"):
        text = pin.text("function")
        if pin.text("direction") != "output" or not text or pin.is_set("three_state"):
            continue
        try:
            function = translate_function(text, list(states))
        except KeyError:  # of inputs: a scan output
            continue
        table = CellType("state", tuple(states), (("output_", function),)).truth_table("output_")
        shown = [table >> state & 1 for state in _STATES]
        if shown[0] != shown[1]:
            found.append((shown == [1, 0], pin.name))
    if not found:
        raise Unusable("sequential, and no output shows its state")
    inverted, name = min(found)
    return name, inverted
