"""Switching activity: how often each net of a netlist changes as operands follow one another.

Bit-parallel, one lane for each *step* from a vector to the next, so steps are as independent as
vectors are in ``sim.evaluate``. Without delays a net changes at most once in a step. In the
unit-delay model every cell takes one unit of time to pass on what changes at its inputs, however
short it lasts (transport delay), so a net may change several times before it settles: the changes
beyond those without delays are glitches. A netlist with registers runs cycle by cycle, pieces of
the stream side by side in the bits of a word.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from fmacost.sim.codec import Codes
from fmacost.sim.cycles import NEXT, STATE, between_registers
from fmacost.sim.evaluate import Planes, Program, pack_planes
from fmacost.sim.netlist import Cell, CellType, Netlist

_BLOCK = 1 << 16  # steps at once: 8 KiB for each net
_NETS = "*"  # the port of all nets
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


_Values: TypeAlias = dict[int, Planes]  # of nets


@dataclass(frozen=True)
class Activity:
    """Changes of nets over a stream.

    Attributes
    ----------
    steps : from one vector to the next, one fewer than there are vectors
    toggles : changes of each net, constants 0 and 1 included, over all steps
    """

    steps: int
    toggles: dict[int, int]


def replay(netlist: Netlist, codes: Mapping[str, Codes], *, glitches: bool = False) -> Activity:
    """Count what changes while a stream of vectors passes through a netlist.

    Parameters
    ----------
    codes : for each input port a code for each vector, in ``[0, 2**width)``; at least two
    glitches : whether cells take one unit of time, or none

    Raises
    ------
    ValueError
        If the ports are others, a code is out of range, there are fewer than two vectors, or
        ports have different numbers of them.
    """
    lengths = sorted({len(port) for port in codes.values()})
    if codes.keys() != netlist.inputs.keys():
        raise ValueError(f"inputs must be {sorted(netlist.inputs)}, not {sorted(codes)}")
    if len(lengths) != 1 or lengths[0] < 2:
        raise ValueError(f"every input needs the same number of vectors, at least 2, not {lengths}")
    steps = lengths[0] - 1
    machine = _Machine(netlist)
    toggles = dict.fromkeys(machine.nets, 0)
    for start in range(0, steps, _BLOCK):
        end = min(start + _BLOCK, steps)
        before, after = (
            machine.settle(_planes(netlist, codes, slice(i, end + i - start)))
            for i in (start, start + 1)
        )
        _count(toggles, machine, before, after, _ALL, glitches=glitches)
    return Activity(steps, toggles)


def replay_cycles(
    netlist: Netlist,
    codes: Mapping[str, Codes],
    starts: ArrayLike,
    latency: int,
    *,
    glitches: bool = False,
) -> Activity:
    """Count what changes while a stream passes through a netlist with registers.

    Inputs and registers change at the clock edge, all at once, and the clock twice in a step. The
    stream is cut into pieces that run side by side, each for ``latency`` cycles into the next one.
    Steps before those of the first piece are not counted.

    Parameters
    ----------
    codes : for each input port but the clock a code for each cycle, in ``[0, 2**width)``
    starts : rising cycles: what was before one does not matter ``latency`` cycles after it
    glitches : whether cells take one unit of time, or none

    Raises
    ------
    ValueError
        If a code is out of range, or there is no step to count.
    """
    count = min(map(len, codes.values()))
    first = np.asarray(starts)
    last = np.append(first[1:] + latency, count - 1).clip(max=count - 1)
    steps = count - 1 - int(first[0]) - latency
    if steps < 1:
        raise ValueError(f"{count} cycles are too few for a latency of {latency}")
    logic = between_registers(netlist)
    machine = _Machine(logic)
    toggles = dict.fromkeys(machine.nets, 0)
    words = -(-len(first) // 64)
    rng = np.random.default_rng(0)
    state = rng.integers(0, 1 << 64, (len(logic.inputs[STATE]), words), np.uint64)
    before: _Values = {}
    waiting: list[tuple[_Values, _Values, Planes]] = []
    cycles = int((last - first).max())
    for cycle in range(cycles + 1):
        inputs = _planes(netlist, codes, (first + cycle).clip(max=count - 1))
        after = machine.settle({**inputs, STATE: state})
        if cycle > latency:
            waiting.append((before, after, pack_planes(first + cycle <= last, 1)[0]))
        if waiting and (cycle == cycles or len(waiting) * words * 64 >= _BLOCK):
            _count(toggles, machine, *_joined(waiting), glitches=glitches)
            waiting.clear()
        before = after
        state = np.array([after[net] for net in logic.outputs[NEXT]], np.uint64).reshape(-1, words)
    for net in logic.outputs[NEXT]:  # no net of the netlist
        del toggles[net]
    for net in netlist.inputs.get(netlist.clock or "", ()):
        toggles[net] = 2 * steps
    return Activity(steps, toggles)


def _joined(parts: Sequence[tuple[_Values, _Values, Planes]]) -> tuple[_Values, _Values, Planes]:
    """Return steps that were made one after the other side by side."""
    before, after = (
        {net: np.concatenate([part[i][net] for part in parts]) for net in parts[0][i]}
        for i in (0, 1)
    )
    return before, after, np.concatenate([counted for _, _, counted in parts])


def _count(
    toggles: dict[int, int],
    machine: _Machine,
    before: _Values,
    after: _Values,
    counted: Planes | np.uint64,
    *,
    glitches: bool,
) -> None:
    """Add the changes of each net in the steps that are counted."""
    for changes in machine.waves(before, after) if glitches else [_changes(before, after)]:
        for net, change in changes.items():
            toggles[net] += int(np.bitwise_count(change & counted).sum())


def _planes(netlist: Netlist, codes: Mapping[str, Codes], at: Any) -> dict[str, Planes]:
    """Return the planes of each port at some vectors."""
    return {name: pack_planes(port[at], len(netlist.inputs[name])) for name, port in codes.items()}


class _Machine:
    """A netlist that can settle at once, or in steps of one unit of time."""

    def __init__(self, netlist: Netlist) -> None:
        self._netlist = netlist
        self.nets = list(
            dict.fromkeys(
                [0, 1]
                + [net for port in netlist.inputs.values() for net in port]
                + [net for cell in netlist.cells for net in cell.pins.values()]
            )
        )
        self._all = Program.compile(replace(netlist, outputs={_NETS: tuple(self.nets)}))
        self._kinds = {name: netlist.library[name] for name in netlist.count()}
        self._programs = {name: _compile_cell(kind) for name, kind in self._kinds.items()}
        self._readers: dict[int, list[Cell]] = defaultdict(list)
        for cell in netlist.cells:
            for pin in self._kinds[cell.type].inputs:
                self._readers[cell.pins[pin]].append(cell)

    def settle(self, inputs: Mapping[str, Planes]) -> _Values:
        """Return the settled value of each net for every vector."""
        return dict(zip(self.nets, self._all.run(inputs)[_NETS], strict=True))

    def waves(self, before: _Values, after: _Values) -> Iterator[_Values]:
        """Yield the changes of nets at each unit of time, until none is left."""
        values = dict(before)
        new = {net: after[net] for port in self._netlist.inputs.values() for net in port}
        while new:
            changes = {n: change for n, change in _changes(values, new).items() if change.any()}
            yield changes
            values |= {net: new[net] for net in changes}
            cells = {cell.name: cell for net in changes for cell in self._readers[net]}
            new = dict(item for cell in cells.values() for item in self._react(cell, values))

    def _react(self, cell: Cell, values: _Values) -> Iterator[tuple[int, Planes]]:
        """Return the nets that a cell drives, with their values one unit of time later."""
        kind = self._kinds[cell.type]
        outputs = _run(self._programs[cell.type], [values[cell.pins[pin]] for pin in kind.inputs])
        return zip((cell.pins[pin] for pin, _ in kind.outputs), outputs, strict=True)


def _changes(before: _Values, after: _Values) -> _Values:
    """Return the changes of the nets that are in ``after``."""
    return {net: before[net] ^ plane for net, plane in after.items()}


def _compile_cell(kind: CellType) -> Program:
    """Compile one cell: its inputs are port ``i``, its outputs port ``o``."""
    pins = {pin: 2 + i for i, pin in enumerate(kind.pins)}
    nets = tuple(pins.values())
    count = len(kind.inputs)
    cell = Cell("cell", kind.name, pins)
    return Program.compile(
        Netlist("one", {"i": nets[:count]}, {"o": nets[count:]}, (cell,), {kind.name: kind})
    )


def _run(program: Program, inputs: Sequence[Planes]) -> list[Planes]:
    """Return the outputs of a small program as new planes; the inputs stay as they are."""
    rows = {0: np.zeros_like(inputs[0])} | dict(enumerate(inputs, 1))
    for gate, (*sources, target) in program.operations:
        rows[target] = gate(*(rows[source] for source in sources))
    return [~rows[r >> 1] if r & 1 else rows[r >> 1] for r in program.results]
