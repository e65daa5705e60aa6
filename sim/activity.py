"""Switching activity: how often each net of a netlist changes as operands follow one another.

Bit-parallel, one lane for each *step* from a vector to the next, so steps are as independent as
vectors are in ``sim.evaluate``. Without delays a net changes at most once in a step. In the
unit-delay model every cell takes one unit of time to pass on what changes at its inputs, however
short it lasts (transport delay), so a net may change several times before it settles: the changes
beyond those without delays are glitches.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from fmacost.sim.codec import Codes
from fmacost.sim.evaluate import Planes, Program, pack_planes
from fmacost.sim.netlist import Cell, CellType, Netlist

_BLOCK = 1 << 16  # steps at once: 8 KiB a net
_NETS = "*"  # the port of all nets


@dataclass(frozen=True)
class Activity:
    """Changes of nets over a stream.

    Attributes
    ----------
    steps : from one vector to the next, one fewer than there are vectors
    toggles : changes of each net, constants 0 and 1 included, over all steps
    idle : for each cell and input pin (their names), changes of the pin that no output of the
        cell follows
    """

    steps: int
    toggles: dict[int, int]
    idle: dict[tuple[str, str], int]


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
    toggles: Counter[int] = Counter(dict.fromkeys(machine.nets, 0))
    idle: Counter[tuple[str, str]] = Counter()
    for start in range(0, steps, _BLOCK):
        end = min(start + _BLOCK, steps)
        before, after = (
            machine.settle({name: port[i : end + i - start] for name, port in codes.items()})
            for i in (start, start + 1)
        )
        for changes, answers in machine.waves(before, after, glitches=glitches):
            toggles.update({net: _ones(change) for net, change in changes.items()})
            idle.update(dict(machine.idle(changes, answers)))
    return Activity(steps, dict(toggles), dict(idle))


# What a cell does in answer to changes of its inputs: the changes of its outputs.
_Answers: TypeAlias = list[tuple[Cell, list[Planes]]]


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

    def settle(self, codes: Mapping[str, Codes]) -> dict[int, Planes]:
        """Return the settled value of each net for every vector."""
        inputs = {
            name: pack_planes(codes[name], len(nets)) for name, nets in self._netlist.inputs.items()
        }
        return dict(zip(self.nets, self._all.run(inputs)[_NETS], strict=True))

    def waves(
        self, before: Mapping[int, Planes], after: Mapping[int, Planes], *, glitches: bool
    ) -> Iterator[tuple[Mapping[int, Planes], _Answers]]:
        """Yield the changes of nets at each moment, with what cells do in answer to them."""
        if not glitches:
            changes = {net: before[net] ^ after[net] for net in self.nets}
            cells = self._netlist.cells
            yield changes, [(cell, [changes[net] for net in self._outputs(cell)]) for cell in cells]
            return
        values = dict(before)
        new = {net: after[net] for port in self._netlist.inputs.values() for net in port}
        while new:
            moved = {net: values[net] ^ plane for net, plane in new.items()}
            changes = {net: change for net, change in moved.items() if change.any()}
            values |= {net: new[net] for net in changes}
            new, answers = self._react(values, changes)
            yield changes, answers

    def _react(
        self, values: Mapping[int, Planes], changes: Mapping[int, Planes]
    ) -> tuple[dict[int, Planes], _Answers]:
        """Return the outputs, one unit of time later, of the cells that see a change."""
        new: dict[int, Planes] = {}
        answers = []
        for cell in {cell.name: cell for net in changes for cell in self._readers[net]}.values():
            nets = self._outputs(cell)
            operands = [values[cell.pins[pin]] for pin in self._kinds[cell.type].inputs]
            outputs = dict(zip(nets, _run(self._programs[cell.type], operands), strict=True))
            answers.append((cell, [values[net] ^ plane for net, plane in outputs.items()]))
            new |= outputs
        return new, answers

    def idle(
        self, changes: Mapping[int, Planes], answers: _Answers
    ) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield for each cell and input pin the changes that no output follows."""
        for cell, outputs in answers:
            still = ~np.bitwise_or.reduce(outputs)
            for pin in self._kinds[cell.type].inputs:
                if cell.pins[pin] in changes:
                    yield (cell.name, pin), _ones(changes[cell.pins[pin]] & still)

    def _outputs(self, cell: Cell) -> list[int]:
        return [cell.pins[pin] for pin, _ in self._kinds[cell.type].outputs]


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


def _ones(plane: Planes) -> int:
    return int(np.bitwise_count(plane).sum())
