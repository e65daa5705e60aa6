"""Switching activity: how often each net of a netlist changes as operands follow one another.

Bit-parallel, one lane for each *step* from a vector to the next, so steps are as independent as
vectors are in ``sim.evaluate``. Without delays a net changes at most once in a step. In the
unit-delay model every cell takes one unit of time to pass on what changes at its inputs, however
short it lasts (transport delay), so a net may change several times before it settles: the changes
beyond those without delays are glitches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from fmacost.sim.codec import Codes
from fmacost.sim.evaluate import Planes, Program, pack_planes
from fmacost.sim.netlist import Cell, CellType, Netlist

_BLOCK = 1 << 16  # steps at once: 8 KiB for each net
_NETS = "*"  # the port of all nets


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
            machine.settle({name: port[i : end + i - start] for name, port in codes.items()})
            for i in (start, start + 1)
        )
        waves = machine.waves(before, after) if glitches else [_changes(before, after)]
        for changes in waves:
            for net, change in changes.items():
                toggles[net] += int(np.bitwise_count(change).sum())
    return Activity(steps, toggles)


_Values: TypeAlias = dict[int, Planes]  # of nets


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

    def settle(self, codes: Mapping[str, Codes]) -> _Values:
        """Return the settled value of each net for every vector."""
        inputs = {
            name: pack_planes(codes[name], len(nets)) for name, nets in self._netlist.inputs.items()
        }
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
