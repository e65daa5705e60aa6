"""Smaller netlists by resubstitution under all the freedom that the outputs leave.

Logic optimisation sees don't-cares in a window around a gate. Here a gate may change whenever no
output changes for any input, and any net of the netlist may feed its replacement. Candidates are
found on sampled input vectors (Mishchenko et al. 2011, "Scalable don't-care-based logic
optimization and resynthesis", with simulation in the place of SAT) and accepted only when all
``2**input_bits`` vectors give the same outputs. Vectors that refute a candidate join the sample.
So it serves netlists of at most ``MAX_INPUT_BITS`` inputs; what it returns is equal to what it was
given by exhaustion.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fmacost.hw.yosys import Finished, Job
from fmacost.sim.evaluate import Program, exhaustive_planes
from fmacost.sim.netlist import Cell, CellType, Netlist

MAX_INPUT_BITS = 24
_SAMPLE_WORDS = 768  # of 64 vectors
_CHUNK_WORDS = 1 << 13
_MAX_SAMPLE_WORDS = 4096
_DIVISORS = 12  # nets near a gate that are tried as inputs of a new gate, three and four at a time
_CLASS_LIMIT = 160  # literals that are tried in pairs
_FEW_WORDS = 48  # words that sort out most nets
_EVERY = 4  # of them, one in so many sorts out most pairs
_LEAST_GAIN = 1e-6
_TRIED = 4  # changes of a gate that are compared on every input
_POWERS = np.uint64(1) << np.arange(16, dtype=np.uint64)

_GIVEN, _RESULT = "given.json", "result.json"  # files of a job

Row = NDArray[np.uint64]
Places = NDArray[np.intp]
Function = Callable[[Sequence[Row]], Row]


def resubstitute(
    netlist: Netlist,
    cost: Mapping[str, float],
    *,
    rounds: int,
    seed: int = 0,
    wander: float = 0.0,
) -> Netlist:
    """Return an equal netlist that costs no more.

    Parameters
    ----------
    cost : cost of each cell that may be used; others of the netlist stay as they are
    rounds : how often every gate is visited; deterministic for a seed
    wander : probability of a change that saves nothing, where none saves; it may open the way

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
    search = _Search(netlist, cost, seed, wander)
    for _ in range(rounds):
        if not search.sweep() and wander == 0:
            break
    return search.netlist()


def resubstitution_job(
    netlist: Netlist, cost: Mapping[str, float], *, seed: int, wander: float
) -> Job:
    """Return the job that resubstitutes a netlist once in a child; ``read_result`` reads it."""
    cells = {name: [kind.inputs, kind.outputs] for name, kind in netlist.library.items()}
    settings = {"cost": dict(cost), "seed": seed, "wander": wander}
    content = json.dumps({"netlist": netlist.to_yosys_json(), "cells": cells, **settings})
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
    made = resubstitute(
        netlist, given["cost"], rounds=1, seed=given["seed"], wander=given["wander"]
    )
    Path(_RESULT).write_text(json.dumps(made.to_yosys_json()), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class _Gate:
    type: str
    inputs: tuple[int, ...]


_Choice = tuple[str, tuple[int, ...]]  # a type, and which of some nets feeds each of its pins
_GateTables = tuple[NDArray[np.uint64], list[_Choice]]


class _Search:
    def __init__(
        self, netlist: Netlist, cost: Mapping[str, float], seed: int, wander: float
    ) -> None:
        self._original = netlist
        self._cost = cost
        self._library = netlist.library
        single = {name: kind for name, kind in netlist.library.items() if len(kind.outputs) == 1}
        self._functions = {name: _function(kind) for name, kind in single.items()}
        cheapest_first = sorted(cost, key=lambda name: (cost[name], name))
        types = [single[name] for name in cheapest_first if name in single]
        self._tables = {size: _gate_tables(types, size) for size in (1, 2, 3, 4)}
        self._literal_gates: dict[tuple[int, int, bool], _Choice | None] = {}
        self._rng = np.random.default_rng(seed)
        self._wander = wander
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
        self._expected = self._exhaust(netlist)
        self._next_net = max([1, *self._inputs, *self._gates]) + 1
        self._set_sample(self._first_sample())

    # Simulation of the sample -------------------------------------------------------------------

    def _first_sample(self) -> NDArray[np.uint64]:
        """Random vectors, some mostly zeros or mostly ones, so that rare cases occur."""
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

    def sweep(self) -> float:
        """Visit every gate once in random order; return what was saved."""
        saved = 0.0
        for net in self._rng.permutation(np.array(self._order)).tolist():
            while net in self._gates and (gain := self._improve(net)):
                saved += gain
        return saved

    def _improve(self, net: int) -> float:
        cone = self._cone(net)
        bound = self._gain(net, _Gate("", ()))  # what a replacement for nothing would save
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
        scored = [(self._gain(net, gate), i) for i, gate in enumerate(candidates)]
        for gain, i in sorted(scored, key=lambda s: (-s[0], s[1]))[:_TRIED]:
            if gain > _LEAST_GAIN and self._try(net, candidates[i]):
                return gain
        # Now and then a change that saves nothing: it may open the way to one that does.
        even = [
            i
            for gain, i in scored
            if abs(gain) <= _LEAST_GAIN and candidates[i] != self._gates[net]
        ]
        if even and self._rng.random() < self._wander:
            self._try(net, candidates[int(self._rng.choice(even))])
        return 0

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
            weights = _POWERS[: 1 << size]
            for i in np.flatnonzero(~(is_zero & is_one).any(axis=1)).tolist():
                must_one, must_zero = weights[is_one[i]].sum(), weights[is_zero[i]].sum()
                for name, order in self._matching(size, must_one, must_zero):
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

    def _matching(self, size: int, one: np.uint64, zero: np.uint64) -> Iterable[_Choice]:
        tables, entries = self._tables[size]
        fits = ((tables & zero) == 0) & ((~tables & one) == 0)
        for i in np.flatnonzero(fits)[:2]:  # cheapest first
            yield entries[i]

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

    def _try(self, net: int, gate: _Gate) -> bool:
        """Make a change and keep it if no output changes for any input."""
        before = dict(self._gates), {name: list(nets) for name, nets in self._outputs.items()}
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
        refuting = self._refute()
        if refuting is None:
            return True
        self._gates, self._outputs = before
        sample = np.concatenate([self._sample, refuting], axis=1)
        self._set_sample(sample[:, -_MAX_SAMPLE_WORDS:])
        return False

    def _exhaust(self, netlist: Netlist) -> list[dict[str, NDArray[np.uint64]]]:
        program = Program.compile(netlist)
        return [program.run(planes) for _, planes in self._chunks()]

    def _chunks(self) -> Iterable[tuple[int, dict[str, NDArray[np.uint64]]]]:
        total = max((1 << len(self._inputs)) // 64, 1)
        for start in range(0, total, _CHUNK_WORDS):
            planes = exhaustive_planes(len(self._inputs), start, min(_CHUNK_WORDS, total))
            given, at = {}, 0
            for name, nets in self._original.inputs.items():
                given[name] = planes[at : at + len(nets)]
                at += len(nets)
            yield start, given

    def _refute(self) -> NDArray[np.uint64] | None:
        """Return words of input vectors that now give other outputs, None if there are none."""
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
