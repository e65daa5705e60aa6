"""Flip-flops of Liberty cells: which pins hold data, clock and state, and what else must be tied.

Syntax: Liberty Reference Manual, group ``ff``.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from fmacost.hw.characterisation import FlipFlop
from fmacost.hw.liberty_function import translate_function
from fmacost.hw.liberty_tables import Unusable
from fmacost.hw.liberty_text import Group
from fmacost.sim.netlist import CellType

_STATES = (0b10, 0b01)  # state 0 with its complement, state 1 with its complement


def read_flip_flop(cell: Group, inputs: Sequence[str], area_um2: float) -> FlipFlop:
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
    return FlipFlop(
        cell.name,
        {"D": data, "CLK": clock, "Q": output},
        transistors=None,
        area_um2=area_um2,
        tied=tied,
        inverted=inverting != inverted,
    )


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
