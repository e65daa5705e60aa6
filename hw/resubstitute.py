"""Smaller netlists by resubstitution under all the freedom that the outputs leave.

Logic optimisation sees don't-cares in a window around a gate. Here a gate may change whenever no
output changes for any input, and any net of the netlist may feed its replacement. Candidates are
found on sampled input vectors (Mishchenko et al. 2011, "Scalable don't-care-based logic
optimization and resynthesis", with simulation in the place of SAT) and kept only when all
``2**input_bits`` vectors give the same outputs. Vectors that refute changes join the sample. So it
serves netlists of at most ``MAX_INPUT_BITS`` inputs; what it returns is equal to what it was given
by exhaustion. Larger netlists are taken window by window.

Among the changes of a gate one is drawn by simulated annealing (Kirkpatrick et al. 1983): at a
temperature above zero also changes that save nothing, or cost a little, are made, because they
open the way to others.
"""

import json
import math
import sys
from bisect import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate, combinations, permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fmacost.hw.yosys import Finished, Job
from fmacost.sim.evaluate import Program, exhaustive_planes
from fmacost.sim.netlist import Cell, CellType, Netlist

MAX_INPUT_BITS = 24
_SAMPLE_WORDS = 768  # of 64 vectors
_SAMPLED_BITS = 16  # inputs up to which all vectors are the sample
_CHUNK_WORDS = 1 << 13
_MAX_SAMPLE_WORDS = 4096
_DIVISORS = 12  # nets near a gate that are tried as inputs of a new gate, three and four at a time
_CLASS_LIMIT = 160  # literals that are tried in pairs
_FEW_WORDS = 48  # words that sort out most nets
_EVERY = 4  # of them, one in so many sorts out most pairs
_WINDOW_INPUTS, _WINDOW_GATES = 12, 60
_LEAST_GAIN = 1e-6  # of costs that are added up in another order
_UNPROVEN = 16  # changes after which all inputs are compared
_STAYING = 2.0  # weight of no change beside a change that saves nothing
_POWERS = 1 << np.arange(16, dtype=np.int64)

_GIVEN, _RESULT = "given.json", "result.json"  # files of a job

Row = NDArray[np.uint64]
Places = NDArray[np.intp]
Function = Callable[[Sequence[Row]], Row]


def resubstitute(
    netlist: Netlist,
    cost: Mapping[str, float],
    *,
    sweeps: int,
    temperature: float = 0.0,
    seed: int = 0,
) -> Netlist:
    """Return an equal netlist, most often a cheaper one, of at most ``MAX_INPUT_BITS`` inputs.

    Parameters
    ----------
    cost : cost of each cell that may be used; others of the netlist stay as they are
    sweeps : how often every gate is visited; deterministic for a seed
    temperature : of all sweeps but the last, in costs of the cheapest gate of two inputs. The
        last one has none; with none in all, what is returned never costs more

    Raises
    ------
    ValueError
        If the netlist has more than ``MAX_INPUT_BITS`` inputs.
    """
    bits = sum(len(nets) for nets in netlist.inputs.values())
    if bits > MAX_INPUT_BITS:
        raise ValueError(f"resubstitution needs at most {MAX_INPUT_BITS} input bits, not {bits}")
    if any(len(netlist.library[cell.type].outputs) > 1 for cell in netlist.cells):
        return netlist
    search = _Search(netlist, cost, seed)
    for sweep in range(sweeps):
        search.sweep(temperature if sweep < sweeps - 1 else 0.0)
    return search.netlist()


def resubstitution_job(
    netlist: Netlist, cost: Mapping[str, float], *, sweeps: int, temperature: float, seed: int
) -> Job:
    """Return the job that resubstitutes a netlist in a child; ``read_result`` reads it.

    A netlist of more than ``MAX_INPUT_BITS`` inputs is taken window by window.
    """
    cells = {name: [kind.inputs, kind.outputs] for name, kind in netlist.library.items()}
    options = {"sweeps": sweeps, "temperature": temperature, "seed": seed}
    content = json.dumps(
        {
            "netlist": netlist.to_yosys_json(),
            "cells": cells,
            "cost": dict(cost),
            "options": options,
        }
    )
    command = (sys.executable, "-I", "-m", "fmacost.hw.resubstitute")
    return Job("", {_GIVEN: content}, (_RESULT,), command)


def read_result(done: Finished, library: Mapping[str, CellType]) -> Netlist:
    """Return the netlist that a job of ``resubstitution_job`` made."""
    return Netlist.from_yosys_json(json.loads(done.outputs[_RESULT]), library)


def _main() -> None:
    """Do the job whose files are in the current folder."""
    given = json.loads(Path(_GIVEN).read_text(encoding="utf-8"))
    library = {
        name: CellType(name, tuple(inputs), tuple((pin, text) for pin, text in outputs))
        for name, (inputs, outputs) in given["cells"].items()
    }
    netlist = Netlist.from_yosys_json(given["netlist"], library)
    is_small = sum(map(len, netlist.inputs.values())) <= MAX_INPUT_BITS
    change = resubstitute if is_small else resubstitute_windows
    made = change(netlist, given["cost"], **given["options"])
    Path(_RESULT).write_text(json.dumps(made.to_yosys_json()), encoding="utf-8")


def resubstitute_windows(
    netlist: Netlist,
    cost: Mapping[str, float],
    *,
    sweeps: int,
    temperature: float = 0.0,
    seed: int = 0,
) -> Netlist:
    """Return an equal netlist, most often a cheaper one, of any number of inputs.

    Windows of gates, each a netlist of at most ``_WINDOW_INPUTS`` inputs, are resubstituted one by
    one, as if nothing were known of the nets around them. Cells of several outputs stay as they
    are, between windows. The arguments are those of ``resubstitute``.
    """
    rng = np.random.default_rng(seed)
    whole = _Whole(netlist)
    for window in whole.windows(rng):
        part = whole.part(window)
        seed = int(rng.integers(1 << 32))
        smaller = resubstitute(part, cost, sweeps=sweeps, temperature=temperature, seed=seed)
        whole.replace(window, part, smaller)
    return whole.netlist()


class _Whole:
    """A netlist whose windows are replaced; a window is the nets that its gates drive."""

    def __init__(self, netlist: Netlist) -> None:
        self._original = netlist
        self._inputs = {kind.name: kind.inputs for kind in netlist.library.values()}
        self._outputs = dict(netlist.outputs)
        self._gates: dict[int, Cell] = {}
        self._fixed: list[Cell] = []
        for cell in netlist.cells:
            pins = netlist.library[cell.type].outputs
            if len(pins) == 1:
                self._gates[cell.pins[pins[0][0]]] = cell
            else:
                self._fixed.append(cell)

    def _sources(self, cell: Cell) -> set[int]:
        """Return the nets that feed a cell, without the constants."""
        return {cell.pins[pin] for pin in self._inputs[cell.type]} - {0, 1}

    def _readers(self) -> dict[int, list[int]]:
        readers: dict[int, list[int]] = {}
        for net, gate in self._gates.items():
            for source in self._sources(gate):
                readers.setdefault(source, []).append(net)
        return readers

    def windows(self, rng: np.random.Generator) -> Iterable[list[int]]:
        """Yield disjoint windows that together hold every gate, grown from random ones."""
        readers = self._readers()
        sources = {net: self._sources(gate) for net, gate in self._gates.items()}
        free = dict.fromkeys(rng.permutation(np.array(list(sources), np.int64)).tolist())
        while free:
            seed = next(iter(free))
            window, leaves = {seed: None}, sources[seed]
            while len(window) < _WINDOW_GATES:
                near = dict.fromkeys(sorted(leaves))
                near |= dict.fromkeys(reader for net in window for reader in readers.get(net, ()))
                # Next comes the gate that adds the fewest inputs.
                grown = [
                    (len((leaves | sources[net]) - window.keys() - {net}), i, net)
                    for i, net in enumerate(near)
                    if net in free and net not in window
                ]
                if not grown or min(grown)[0] > _WINDOW_INPUTS:
                    break
                window[min(grown)[2]] = None
                leaves = (leaves | sources[min(grown)[2]]) - window.keys()
            free = {net: None for net in free if net not in window}
            yield list(window)

    def part(self, window: Sequence[int]) -> Netlist:
        """Return a window as a netlist of its own, in which nets keep their numbers."""
        gates = [self._gates[net] for net in window]
        leaves = set().union(*map(self._sources, gates)) - set(window)
        outside = [gate for net, gate in self._gates.items() if net not in set(window)]
        read = {net for nets in self._outputs.values() for net in nets}
        read.update(*map(self._sources, (*outside, *self._fixed)))
        ends = tuple(net for net in window if net in read)
        library = self._original.library
        return Netlist("window", {"i": tuple(sorted(leaves))}, {"o": ends}, tuple(gates), library)

    def replace(self, window: Sequence[int], part: Netlist, smaller: Netlist) -> None:
        """Put a smaller netlist in a window's place, unless gates outside close a loop with it."""
        moved = dict(zip(part.outputs["o"], smaller.outputs["o"], strict=True))
        before = self._gates, self._fixed, self._outputs
        gates = {net: gate for net, gate in self._gates.items() if net not in set(window)}
        for cell in smaller.cells:
            gates[cell.pins[smaller.library[cell.type].outputs[0][0]]] = cell
        if any(old != new for old, new in moved.items()):
            gates = {net: self._moved(gate, moved) for net, gate in gates.items()}
            self._fixed = [self._moved(cell, moved) for cell in self._fixed]
            self._outputs = {
                name: tuple(moved.get(net, net) for net in nets)
                for name, nets in self._outputs.items()
            }
        self._gates = gates
        if self._has_loop():
            self._gates, self._fixed, self._outputs = before

    def _moved(self, cell: Cell, moved: Mapping[int, int]) -> Cell:
        inputs = {pin: cell.pins[pin] for pin in self._inputs[cell.type]}
        pins = cell.pins | {pin: moved.get(net, net) for pin, net in inputs.items()}
        return Cell(cell.name, cell.type, pins)

    def _has_loop(self) -> bool:
        graph = {net: self._sources(gate) for net, gate in self._gates.items()}
        for cell in self._fixed:
            for pin, _ in self._original.library[cell.type].outputs:
                graph[cell.pins[pin]] = self._sources(cell)
        try:
            TopologicalSorter(graph).prepare()
        except CycleError:
            return True
        return False

    def netlist(self) -> Netlist:
        """Return the netlist as it now is."""
        kept = self._original
        cells = (*self._fixed, *self._gates.values())
        return Netlist(kept.name, kept.inputs, self._outputs, cells, kept.library)


@dataclass(frozen=True, slots=True)
class _Gate:
    type: str
    inputs: tuple[int, ...]


_Choice = tuple[str, tuple[int, ...]]  # a type, and which of some nets feeds each of its pins
_GateTables = tuple[NDArray[np.uint64], list[_Choice]]


class _Search:
    def __init__(self, netlist: Netlist, cost: Mapping[str, float], seed: int) -> None:
        self._original = netlist
        self._cost = cost
        self._library = netlist.library
        single = {name: kind for name, kind in netlist.library.items() if len(kind.outputs) == 1}
        self._functions = {name: _function(kind) for name, kind in single.items()}
        cheapest_first = sorted(cost, key=lambda name: (cost[name], name))
        types = [single[name] for name in cheapest_first if name in single]
        self._tables = {size: _gate_tables(types, size) for size in (1, 2, 3, 4)}
        self._matches: dict[tuple[int, int, int], list[_Choice]] = {}
        self._literal_gates: dict[tuple[int, int, bool], _Choice | None] = {}
        self._rng = np.random.default_rng(seed)
        self._cheapest_gate = min(
            (c for n, c in cost.items() if len(netlist.library[n].inputs) == 2), default=0.0
        )
        self._gates: dict[int, _Gate] = {}
        for cell in netlist.cells:
            kind = netlist.library[cell.type]
            ((pin, _),) = kind.outputs
            self._gates[cell.pins[pin]] = _Gate(cell.type, tuple(cell.pins[p] for p in kind.inputs))
        self._outputs = {name: list(nets) for name, nets in netlist.outputs.items()}
        self._inputs = [net for nets in netlist.inputs.values() for net in nets]
        self._is_sample_whole = len(self._inputs) <= _SAMPLED_BITS
        self._expected = [] if self._is_sample_whole else self._exhaust(netlist)
        self._set_sample(self._first_sample())
        self._wanted = [self._values[net] for nets in self._outputs.values() for net in nets]
        self._proven, self._unproven = self._state(), 0

    # Simulation of the sample -------------------------------------------------------------------

    def _first_sample(self) -> NDArray[np.uint64]:
        """Every vector if they are few, else random ones: some mostly zeros, some mostly ones."""
        if self._is_sample_whole:
            return exhaustive_planes(len(self._inputs), 0, _words(len(self._inputs)))
        shape = (len(self._inputs), _SAMPLE_WORDS)
        words = [self._rng.integers(0, 1 << 64, shape, dtype=np.uint64) for _ in range(3)]
        sample = words[0]
        third = _SAMPLE_WORDS // 3
        sample[:, :third] &= words[1][:, :third]
        sample[:, third : 2 * third] |= words[2][:, third : 2 * third]
        return sample

    def _set_sample(self, sample: NDArray[np.uint64]) -> None:
        self._sample = sample
        words = sample.shape[1]
        self._values: dict[int, Row] = {
            0: np.zeros(words, np.uint64),
            1: np.full(words, ~np.uint64(0)),
        }
        self._values |= dict(zip(self._inputs, sample, strict=True))
        self._refresh()

    def _refresh(self) -> None:
        """Order the gates, simulate them, and count who reads what."""
        self._order = self._topological()
        for net in self._order:
            self._values[net] = self._evaluate(self._gates[net], self._values)
        self._readers: dict[int, list[int]] = {}
        for net in self._order:
            for source in set(self._gates[net].inputs):
                self._readers.setdefault(source, []).append(net)
        self._counts = {net: len(readers) for net, readers in self._readers.items()}
        for output in (net for nets in self._outputs.values() for net in nets):
            self._counts[output] = self._counts.get(output, 0) + 1
        self._place = {net: i for i, net in enumerate(self._order)}
        self._kept = {net for nets in self._outputs.values() for net in nets}
        self._known = [0, 1, *self._inputs, *self._order]
        self._matrix = np.stack([self._values[net] for net in self._known])

    def _evaluate(self, gate: _Gate, values: Mapping[int, Row]) -> Row:
        return self._functions[gate.type]([values[net] for net in gate.inputs])

    def _topological(self) -> list[int]:
        order: list[int] = []
        seen: set[int] = set()
        for output in (net for nets in self._outputs.values() for net in nets):
            stack = [(output, False)]
            while stack:
                net, done = stack.pop()
                if done:
                    order.append(net)
                elif net in self._gates and net not in seen:
                    seen.add(net)
                    stack.append((net, True))
                    stack += [(source, False) for source in self._gates[net].inputs]
        self._gates = {net: self._gates[net] for net in order}
        return order

    def _cone(self, net: int) -> set[int]:
        """Return the nets that a net feeds, itself included."""
        cone, stack = {net}, [net]
        while stack:
            for reader in self._readers.get(stack.pop(), ()):
                if reader not in cone:
                    cone.add(reader)
                    stack.append(reader)
        return cone

    def _care(self, net: int, cone: set[int]) -> Row:
        """Return the sampled vectors for which an output depends on a net."""
        changed = {net: ~self._values[net]}
        care = np.zeros_like(changed[net])
        for reader in sorted(cone - {net}, key=self._place.__getitem__):
            inputs = [changed.get(s, self._values[s]) for s in self._gates[reader].inputs]
            changed[reader] = self._functions[self._gates[reader].type](inputs)
        for output in self._kept & cone:
            care |= changed[output] ^ self._values[output]
        return care

    # Search -------------------------------------------------------------------------------------

    def sweep(self, temperature: float) -> None:
        """Visit every gate once in random order; afterwards the netlist is proven."""
        for net in self._rng.permutation(np.array(self._order)).tolist():
            while net in self._gates and self._visit(net, temperature * self._cheapest_gate):
                pass
        self._prove()

    def _visit(self, net: int, temperature: float) -> bool:
        """Draw a change of a gate, or none; return whether it saved something."""
        now = self._gates[net]
        scored = [(self._gain(net, g), g) for g in self._candidates(net, temperature) if g != now]
        gain, gate = max(scored, key=lambda s: s[0], default=(0.0, now))
        if temperature:
            weights = [math.exp((g - max(gain, 0)) / temperature) for g, _ in scored]
            staying = _STAYING * math.exp(-max(gain, 0) / temperature)
            drawn = self._rng.random() * (staying + sum(weights)) - staying
            if drawn < 0:
                return False
            place = min(bisect(list(accumulate(weights)), drawn), len(scored) - 1)
            gain, gate = scored[place]
        elif gain <= _LEAST_GAIN:
            return False
        self._change(net, gate)
        return gain > _LEAST_GAIN

    def _candidates(self, net: int, temperature: float) -> list[_Gate]:
        """Return gates that could drive a net, as far as the sample says; names "" are nets."""
        cone = self._cone(net)
        # What a replacement for nothing would save, and what one may cost beyond.
        bound = self._gain(net, _Gate("", ())) + 2 * temperature
        care = self._care(net, cone)
        on, off = self._values[net] & care, ~self._values[net] & care
        few = np.flatnonzero(care)[:_FEW_WORDS]
        allowed = np.flatnonzero([known not in cone for known in self._known])
        on_cover, off_cover = (self._covering(part, few, allowed) for part in (on, off))
        candidates = list(self._single(on_cover, off_cover))
        if bound > self._cheapest_gate:
            candidates += [
                *self._pairs(on_cover, off, few, is_inverted=False),
                *self._pairs(off_cover, on, few, is_inverted=True),
                *self._local(net, on, off, cone, bound),
            ]
        return candidates

    def _covering(self, target: Row, few: Places, allowed: Places) -> tuple[Places, Places]:
        """Return the nets that are one, and those that are zero, wherever ``target`` is one."""
        found = []
        for flip in (~np.uint64(0), np.uint64(0)):
            rows = self._matrix[np.ix_(allowed, few)]  # most nets fail in a few words
            index = allowed[~((rows ^ flip) & target[few]).any(axis=1)]
            found.append(index[~((self._matrix[index] ^ flip) & target).any(axis=1)])
        return found[0], found[1]

    def _single(
        self, on_cover: tuple[Places, Places], off_cover: tuple[Places, Places]
    ) -> Iterable[_Gate]:
        """Yield nets, plain or inverted, that may take a net's place."""
        for i in np.intersect1d(on_cover[0], off_cover[1]).tolist():
            yield _Gate("", (self._known[i],))
        inverter = self._cheapest(1, 0b01)
        for i in np.intersect1d(on_cover[1], off_cover[0]).tolist():
            if inverter is not None and self._known[i] > 1:
                yield _Gate(inverter[0], (self._known[i],))

    def _pairs(
        self, cover: tuple[Places, Places], rest: Row, few: Places, *, is_inverted: bool
    ) -> Iterable[_Gate]:
        """Yield two-input gates: conjunctions of two literals that cover a target, not the rest.

        De Morgan: inverted, they are the disjunctions for a target that is the rest.
        """
        plain, negated = (places[places > 1] for places in cover)  # 0 and 1 are the constants
        index = np.concatenate([plain, negated])[:_CLASS_LIMIT]
        if len(index) < 2:
            return
        flip = np.arange(len(index)) >= len(plain)
        rows = (self._matrix[index] ^ -flip[:, None].astype(np.uint64)) & rest
        few_rows = np.ascontiguousarray(rows[:, few[::_EVERY]])
        bits = np.unpackbits(few_rows.view(np.uint8), axis=1).astype(np.float32)
        for x, y in np.argwhere(np.triu(bits @ bits.T == 0, 1)).tolist():
            if (rows[x] & rows[y]).any():
                continue
            choice = self._literal_gate(int(flip[x]), int(flip[y]), is_inverted)
            if choice is None:
                continue
            name, order = choice
            nets = (self._known[index[x]], self._known[index[y]])
            yield _Gate(name, tuple(nets[k] for k in order))

    def _literal_gate(self, flip_x: int, flip_y: int, is_inverted: bool) -> _Choice | None:
        key = flip_x, flip_y, is_inverted
        if key not in self._literal_gates:
            table = _conjunction(flip_x, flip_y) ^ (0b1111 if is_inverted else 0)
            self._literal_gates[key] = self._cheapest(2, table)
        return self._literal_gates[key]

    def _local(self, net: int, on: Row, off: Row, cone: set[int], bound: float) -> Iterable[_Gate]:
        """Yield gates of any type fed by nets near a net."""
        near = self._near(net, cone)
        if len(near) < 2:
            return
        # Each cared vector in one number: bit by bit, what the nets near and then the net are.
        number = np.unpackbits(on.view(np.uint8)).astype(np.uint16) << len(near)
        for k, n in enumerate(near):
            number |= np.unpackbits(self._values[n].view(np.uint8)).astype(np.uint16) << k
        cared = np.unpackbits((on | off).view(np.uint8)).astype(np.bool_)
        present = np.flatnonzero(np.bincount(number[cared], minlength=1))
        bits = np.stack([present >> k & 1 for k in range(len(near) + 1)])
        for size in range(2, min(len(near), 4) + 1):
            choices = np.array(list(combinations(range(len(near)), size)))
            pattern = np.broadcast_to(bits[-1] << size, (len(choices), len(present))).copy()
            for k in range(size):
                pattern |= bits[choices[:, k]] << k
            seen = np.zeros((len(choices), 2 << size), np.bool_)
            seen[np.arange(len(choices))[:, None], pattern] = True
            is_zero, is_one = seen[:, : 1 << size], seen[:, 1 << size :]
            places = np.flatnonzero(~(is_zero & is_one).any(axis=1))
            weights = _POWERS[: 1 << size]
            ones, zeros = is_one[places] @ weights, is_zero[places] @ weights
            for i, one, zero in zip(places.tolist(), ones.tolist(), zeros.tolist(), strict=True):
                for name, order in self._matching(size, one, zero):
                    if self._cost[name] > bound:
                        break
                    yield _Gate(name, tuple(near[choices[i, k]] for k in order))

    def _near(self, net: int, cone: set[int]) -> list[int]:
        gate = self._gates[net]
        near = dict.fromkeys(gate.inputs)
        for source in gate.inputs:
            if source in self._gates:
                near |= dict.fromkeys(self._gates[source].inputs)
        for source in gate.inputs:
            near |= dict.fromkeys(self._readers.get(source, ()))
        return [n for n in near if n not in cone and n > 1][:_DIVISORS]

    def _matching(self, size: int, one: int, zero: int) -> Sequence[_Choice]:
        """Return the two cheapest gates whose truth tables have some ones and some zeros."""
        key = size, one, zero
        if key not in self._matches:
            tables, entries = self._tables[size]
            fits = ((tables & np.uint64(zero)) == 0) & ((~tables & np.uint64(one)) == 0)
            self._matches[key] = [entries[i] for i in np.flatnonzero(fits)[:2]]
        return self._matches[key]

    def _cheapest(self, size: int, table: int) -> _Choice | None:
        """Return the cheapest gate of a truth table, None in a library that has none."""
        tables, entries = self._tables[size]
        found = np.flatnonzero(tables == np.uint64(table))
        return entries[int(found[0])] if len(found) else None

    # Changes ------------------------------------------------------------------------------------

    def _gain(self, net: int, gate: _Gate) -> float:
        """Return what is saved when a gate takes the place of a net's driver."""
        change: dict[int, int] = dict.fromkeys(gate.inputs, 1)
        freed, stack = 0.0, [net]
        while stack:
            dead = self._gates[stack.pop()]
            freed += self._cost[dead.type]
            for source in set(dead.inputs):
                change[source] = change.get(source, 0) - 1
                if self._counts.get(source, 0) + change[source] == 0 and source in self._gates:
                    stack.append(source)
        return freed - (self._cost[gate.type] if gate.type else 0)

    def _change(self, net: int, gate: _Gate) -> None:
        """Let a gate drive a net, or let another net take its place."""
        if gate.type:
            self._gates[net] = gate
        else:
            (other,) = gate.inputs
            del self._gates[net]
            for reader in self._readers.get(net, ()):
                old = self._gates[reader]
                self._gates[reader] = _Gate(
                    old.type, tuple(other if n == net else n for n in old.inputs)
                )
            for nets in self._outputs.values():
                nets[:] = [other if n == net else n for n in nets]
        self._refresh()
        self._unproven += 1
        if self._unproven == _UNPROVEN:
            self._prove()

    def _state(self) -> tuple[dict[int, _Gate], dict[str, list[int]]]:
        return dict(self._gates), {name: list(nets) for name, nets in self._outputs.items()}

    def _prove(self) -> None:
        """Compare on every input; take back the changes since the last time if outputs differ."""
        refuting = self._refute() if self._unproven else None
        if refuting is None:
            self._proven = self._state()
        else:
            self._gates, self._outputs = self._proven
            self._proven = self._state()
            sample = np.concatenate([self._sample, refuting], axis=1)
            self._set_sample(sample[:, -_MAX_SAMPLE_WORDS:])
        self._unproven = 0

    def _exhaust(self, netlist: Netlist) -> list[dict[str, NDArray[np.uint64]]]:
        program = Program.compile(netlist)
        return [program.run(planes) for _, planes in self._chunks()]

    def _chunks(self) -> Iterable[tuple[int, dict[str, NDArray[np.uint64]]]]:
        total = _words(len(self._inputs))
        for start in range(0, total, _CHUNK_WORDS):
            planes = exhaustive_planes(len(self._inputs), start, min(_CHUNK_WORDS, total))
            given, at = {}, 0
            for name, nets in self._original.inputs.items():
                given[name] = planes[at : at + len(nets)]
                at += len(nets)
            yield start, given

    def _refute(self) -> NDArray[np.uint64] | None:
        """Return words of input vectors that now give other outputs, None if there are none."""
        if self._is_sample_whole:
            nets = [net for nets in self._outputs.values() for net in nets]
            same = all(map(np.array_equal, (self._values[net] for net in nets), self._wanted))
            return None if same else self._sample[:, :0]
        program = Program.compile(self.netlist())
        for (_, given), expected in zip(self._chunks(), self._expected, strict=True):
            got = program.run(given)
            wrong = np.zeros(1, np.uint64)
            for name, planes in expected.items():
                wrong = wrong | np.bitwise_or.reduce(planes ^ got[name], axis=0)
            words = np.flatnonzero(wrong)[:32]
            if len(words):
                return np.concatenate([planes[:, words] for planes in given.values()])
        return None

    def netlist(self) -> Netlist:
        """Return the netlist as it now is."""
        cells = []
        for net in self._order:
            gate = self._gates[net]
            kind = self._library[gate.type]
            pins = dict(zip(kind.inputs, gate.inputs, strict=True)) | {kind.outputs[0][0]: net}
            cells.append(Cell(f"g{net}", gate.type, pins))
        outputs = {name: tuple(nets) for name, nets in self._outputs.items()}
        return Netlist(
            self._original.name, self._original.inputs, outputs, tuple(cells), self._library
        )


def _words(input_bits: int) -> int:
    """Return how many words of 64 hold every vector."""
    return max((1 << input_bits) // 64, 1)


def _conjunction(flip_x: int, flip_y: int) -> int:
    """Return the truth table of the conjunction of two literals; x is the lowest bit."""
    return sum((((p & 1) ^ flip_x) & ((p >> 1) ^ flip_y)) << p for p in range(4))


def _gate_tables(types: Sequence[CellType], size: int) -> _GateTables:
    """Return the truth tables of gates with so many inputs in every order, each by the first type.

    An entry names the type and, for each of its pins, which of the inputs feeds it.
    """
    found: dict[int, _Choice] = {}
    for kind in types:
        if len(kind.inputs) != size:
            continue
        table = kind.truth_table(kind.outputs[0][0])
        for order in permutations(range(size)):
            permuted = 0
            for pattern in range(1 << size):
                pins = sum((pattern >> source & 1) << pin for pin, source in enumerate(order))
                permuted |= (table >> pins & 1) << pattern
            found.setdefault(permuted, (kind.name, order))
    return np.array(list(found), dtype=np.uint64), list(found.values())


@cache
def _function(kind: CellType) -> Function:
    """Return a function that evaluates a one-output cell on rows of vectors."""
    return _decompose(kind.truth_table(kind.outputs[0][0]), len(kind.inputs))


def _decompose(table: int, size: int) -> Function:
    """Shannon's expansion on the last input, with the special cases that save operations."""
    ones = (1 << (1 << size)) - 1
    if size == 0 or table in (0, ones):
        filler = np.uint64(0) if table == 0 else ~np.uint64(0)
        return lambda rows: np.full_like(rows[0], filler)
    half = 1 << (size - 1)
    low, high = table & ((1 << half) - 1), table >> half
    last = size - 1
    if low == high:
        return _decompose(low, last)
    full = (1 << half) - 1
    f_low, f_high = _decompose(low, last), _decompose(high, last)
    match (low, high):
        case (0, _) if high == full:
            return lambda rows: rows[last]
        case (_, 0) if low == full:
            return lambda rows: ~rows[last]
        case (0, _):
            return lambda rows: rows[last] & f_high(rows)
        case (_, 0):
            return lambda rows: f_low(rows) & ~rows[last]
        case _ if high == full:
            return lambda rows: rows[last] | f_low(rows)
        case _ if low == full:
            return lambda rows: ~rows[last] | f_high(rows)
        case _ if low == full ^ high:
            return lambda rows: rows[last] ^ f_low(rows)
        case _:
            return lambda rows: (rows[last] & f_high(rows)) | (~rows[last] & f_low(rows))


if __name__ == "__main__":
    _main()
