"""Bit-parallel evaluation of netlists: 64 input vectors in each word of a plane.

A *plane* holds one bit of a port for every vector: vector j is bit ``j % 64`` of word ``j // 64``.
The planes of a port are a uint64 array of shape (width, words), least significant bit first.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fmacost.sim.netlist import Netlist

Planes: TypeAlias = NDArray[np.uint64]

# 8x8 bit transposition in a word: swap the off-diagonal blocks of 1, 2 and 4 bits.
_BLOCK_SWAPS = tuple(
    (np.uint64(shift), np.uint64(mask))
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0))
)
# Planes 0..5 of a counter are the same in every word.
_COUNTER = tuple(
    np.uint64(0xFFFFFFFFFFFFFFFF // ((1 << (1 << i)) + 1) << (1 << i)) for i in range(6)
)


def pack_planes(codes: ArrayLike, width: int) -> Planes:
    """Turn codes into planes.

    Parameters
    ----------
    codes : integers, shape (count,), in ``[0, 2**width)``; Python ints when ``width > 64``
    width : int, at least 0

    Returns
    -------
    uint64 array, shape (width, ceil(count / 64)); bits beyond ``count`` are 0

    Raises
    ------
    ValueError
        If a code is no integer or out of range, or ``codes`` is not one-dimensional.
    """
    vector = np.asarray(codes)
    if vector.ndim != 1:
        raise ValueError(f"codes must have 1 dimension, not {vector.ndim}")
    count = len(vector)
    if count and vector.dtype.kind not in "biuO":
        raise ValueError(f"codes must be integers, not {vector.dtype}")
    if count and (int(vector.min()) < 0 or int(vector.max()) >> width):
        raise ValueError(f"codes must be in 0..2**{width} - 1, not {vector.min()}..{vector.max()}")
    words = -(-count // 64)
    groups = -(-width // 8)
    columns = np.zeros((groups, words * 64), np.uint8)
    columns[:, :count] = _code_bytes(vector, groups).T
    rows = _transpose_bits(columns.reshape(groups, words * 8, 8))
    planes = np.ascontiguousarray(rows.transpose(0, 2, 1)).reshape(groups * 8, words * 8)
    return planes.view("<u8")[:width].astype(np.uint64, copy=False)


def unpack_planes(planes: Planes, count: int) -> NDArray[Any]:
    """Turn planes into codes, undoing ``pack_planes``.

    Parameters
    ----------
    planes : uint64 array, shape (width, words)
    count : int in ``0..64 * words``

    Returns
    -------
    uint64 array, shape (count,); an object array of Python ints when ``width > 64``

    Raises
    ------
    ValueError
        If ``count`` is out of range.
    """
    width, words = planes.shape
    if not 0 <= count <= 64 * words:
        raise ValueError(f"count must be in 0..{64 * words}, not {count}")
    groups = -(-width // 8)
    padded = np.zeros((groups * 8, words), "<u8")
    padded[:width] = planes
    rows = padded.view(np.uint8).reshape(groups, 8, words * 8)
    columns = _transpose_bits(np.ascontiguousarray(rows.transpose(0, 2, 1)))
    size = max(groups, 8)
    records = np.zeros((words * 64, size), np.uint8)
    records[:, :groups] = columns.reshape(groups, words * 64).T
    if size == 8:
        return records.view("<u8")[:count, 0].astype(np.uint64, copy=False)
    codes = np.empty(count, object)
    codes[:] = [int.from_bytes(record.tobytes(), "little") for record in records[:count]]
    return codes


def exhaustive_planes(width: int, start_word: int, words: int) -> Planes:
    """Return the planes of a counter: vector j of word w has the code ``64 * w + j``.

    All ``2**width`` input vectors are words ``0..2**(width - 6) - 1``; below a width of 6 they
    repeat within word 0.

    Parameters
    ----------
    width : int, the number of planes
    start_word, words : the first word and how many

    Returns
    -------
    uint64 array, shape (width, words)
    """
    planes = np.empty((width, words), np.uint64)
    index = np.arange(start_word, start_word + words, dtype=np.uint64)
    for i, plane in enumerate(planes):
        bit = i - len(_COUNTER)
        if bit < 0:
            plane[:] = _COUNTER[i]
        elif words and start_word >> bit == (start_word + words - 1) >> bit:
            plane[:] = np.uint64(0xFFFFFFFFFFFFFFFF * (start_word >> bit & 1))
        else:
            np.right_shift(index, np.uint64(bit), out=plane)
            plane &= np.uint64(1)
            np.negative(plane, out=plane)
    return planes


def _code_bytes(vector: NDArray[Any], groups: int) -> NDArray[np.uint8]:
    """Return the low ``groups`` bytes of each code, shape (count, groups)."""
    if groups > 8:
        data = b"".join(int(code).to_bytes(groups, "little") for code in vector)
        return np.frombuffer(data, np.uint8).reshape(-1, groups)
    return vector.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :groups]


def _transpose_bits(octets: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Transpose the 8x8 bit matrix in each run of 8 bytes: bit k of byte i becomes bit i of k."""
    words = octets.view("<u8")
    for shift, mask in _BLOCK_SWAPS:
        swap = (words ^ (words >> shift)) & mask
        words = words ^ swap ^ (swap << shift)
    return words.view(np.uint8)


# Words a row. Measured on two cores with 2 MiB of L2 each: 4 Ki to 8 Ki is best for one thread,
# 8 Ki and more for two, since each operation hands the interpreter lock over.
_CHUNK = 8192

# A literal is 2 * node + complement. Node 0 is constant 0, so literal 0 is false and 1 true.
_FALSE, _TRUE = 0, 1
_Gate: TypeAlias = tuple[np.ufunc, int, int]


class _Graph:
    """AND and XOR gates over literals; equal gates are one node, and inversions cost nothing.

    Nodes below ``leaves`` are the constant and the input bits, the others ``gates`` in order.
    """

    def __init__(self, leaves: int) -> None:
        self.leaves = leaves
        self.gates: list[_Gate] = []
        self._known: dict[_Gate, int] = {}

    def both(self, a: int, b: int) -> int:
        """Return the literal of ``a & b``."""
        if a > b:
            a, b = b, a
        if a == _FALSE or a ^ b == 1:
            return _FALSE
        return b if a in (_TRUE, b) else self._node(np.bitwise_and, a, b)

    def differ(self, a: int, b: int) -> int:
        """Return the literal of ``a ^ b``."""
        flip = (a ^ b) & 1
        a, b = sorted((a & ~1, b & ~1))
        if a == b:
            return flip
        return flip ^ (b if a == _FALSE else self._node(np.bitwise_xor, a, b))

    def function(self, table: int, literals: tuple[int, ...]) -> int:
        """Return the literal of a truth table over ``literals``, the first the least significant.

        Works on the function, not on how it is written. Peels off inputs that enter through a
        single gate, then pairs of inputs that act as one. What is left becomes a multiplexer, whose
        XOR form has no inverter; so a majority shares its XOR with the sum of the same inputs.
        """
        size = len(literals)
        ones = (1 << (1 << size)) - 1
        if table in (0, ones):
            return table & 1
        half = (1 << (1 << size >> 1)) - 1
        for i in reversed(range(size)):
            low, high = _cofactors(table, i, size)
            x, rest = literals[i], literals[:i] + literals[i + 1 :]
            if low == high:
                return self.function(low, rest)
            if low == 0:
                return self.both(x, self.function(high, rest))
            if high == 0:
                return self.both(x ^ 1, self.function(low, rest))
            if low == half:
                return 1 ^ self.both(x, self.function(high ^ half, rest))
            if high == half:
                return 1 ^ self.both(x ^ 1, self.function(low ^ half, rest))
            if low ^ high == half:
                return self.differ(x, self.function(low, rest))
        return self._merge_pair(table, literals) or self._split(table, literals)

    def _merge_pair(self, table: int, literals: tuple[int, ...]) -> int | None:
        """Build a function in which two inputs act only through a function of both."""
        size = len(literals)
        for j, i in combinations(reversed(range(size)), 2):
            quarters = _quarters(table, i, j, size)
            first = quarters[0]
            others = {quarter for quarter in quarters if quarter != first}
            if len(others) == 1:
                pair = sum(1 << k for k, quarter in enumerate(quarters) if quarter != first)
                merged = self.function(pair, (literals[i], literals[j]))
                rest = literals[:i] + literals[i + 1 : j] + literals[j + 1 :]
                return self.function(first | others.pop() << (1 << size >> 2), (*rest, merged))
        return None

    def _split(self, table: int, literals: tuple[int, ...]) -> int:
        """Build ``x ? high : low`` as ``low ^ (x & (low ^ high))``, for the simplest x."""
        size = len(literals)
        i = min(reversed(range(size)), key=lambda i: _split_cost(table, i, size))
        low, high = _cofactors(table, i, size)
        x, rest = literals[i], literals[:i] + literals[i + 1 :]
        if x & 1:  # the plain literal is likelier to be at hand
            x, low, high = x ^ 1, high, low
        change = self.both(x, self.function(low ^ high, rest))
        return self.differ(change, self.function(low, rest))

    def _node(self, gate: np.ufunc, a: int, b: int) -> int:
        key = (gate, a, b)
        if key not in self._known:
            self._known[key] = 2 * (self.leaves + len(self.gates))
            self.gates.append(key)
        return self._known[key]


@lru_cache(maxsize=1 << 14)
def _cofactors(table: int, i: int, size: int) -> tuple[int, int]:
    """Return a truth table of ``size`` inputs with input ``i`` set to 0 and to 1."""
    block = 1 << i
    mask = (1 << block) - 1
    low = high = 0
    for k in range(1 << (size - 1 - i)):
        low |= (table >> 2 * k * block & mask) << k * block
        high |= (table >> (2 * k + 1) * block & mask) << k * block
    return low, high


def _quarters(table: int, i: int, j: int, size: int) -> tuple[int, int, int, int]:
    """Return the cofactors for inputs ``i < j``, in the order of their joint pattern."""
    low, high = (_cofactors(half, i, size - 1) for half in _cofactors(table, j, size))
    return *low, *high


def _split_cost(table: int, i: int, size: int) -> tuple[int, int]:
    """Count the inputs that the parts of a split depend on: in all, and the low one alone."""
    low, high = _cofactors(table, i, size)
    direct, change = (
        sum(len(set(_cofactors(half, k, size - 1))) - 1 for k in range(size - 1))
        for half in (low, low ^ high)
    )
    return direct + change, direct


# A step (gate, operands) fills a row from others. Rows below ``leaves`` are as the nodes.
_Step: TypeAlias = tuple[np.ufunc, tuple[int, ...]]


def _lower(graph: _Graph, outputs: Iterable[int]) -> tuple[dict[int, _Step], list[int]]:
    """Return the steps by the row they fill, and for each output the literal of its row.

    A literal of a row is ``2 * row``, or one more if the row holds the complement. Each node is
    held in the polarity that costs nothing: ``a & b`` from two complements is an OR that yields the
    complement. Only an AND of one literal and the complement of another takes an inversion, which
    later gates share.
    """
    steps: dict[int, _Step] = {}
    rows = {2 * leaf: leaf for leaf in range(graph.leaves)}

    def emit(literal: int, gate: np.ufunc, *operands: int) -> None:
        rows[literal] = graph.leaves + len(steps)
        steps[rows[literal]] = gate, tuple(rows[operand] for operand in operands)

    for node, (gate, a, b) in _needed(graph, outputs):
        if gate is np.bitwise_xor:
            a, b = (literal if literal in rows else literal ^ 1 for literal in (a, b))
            emit(2 * node ^ (a ^ b) & 1, gate, a, b)
        elif a ^ 1 in rows and b ^ 1 in rows:
            emit(2 * node + 1, np.bitwise_or, a ^ 1, b ^ 1)
        else:
            for literal in (a, b):
                if literal not in rows:
                    emit(literal, np.invert, literal ^ 1)
            emit(2 * node, gate, a, b)
    return steps, [2 * rows[o] if o in rows else 2 * rows[o ^ 1] + 1 for o in outputs]


def _needed(graph: _Graph, outputs: Iterable[int]) -> list[tuple[int, _Gate]]:
    """Return the gates that the outputs depend on, with their nodes, in order of creation."""
    wanted = {literal >> 1 for literal in outputs}
    needed = []
    for index in reversed(range(len(graph.gates))):
        node = graph.leaves + index
        if node in wanted:
            _, a, b = graph.gates[index]
            wanted |= {a >> 1, b >> 1}
            needed.append((node, graph.gates[index]))
    return needed[::-1]


def _depth_first(steps: Mapping[int, _Step], results: Iterable[int]) -> list[int]:
    """Order the rows to fill by need, so that few are alive at once."""
    order: dict[int, None] = {}
    stack = sorted(set(results) & steps.keys())
    while stack:
        row = stack[-1]
        missing = [r for r in steps[row][1] if r in steps and r not in order]
        if row in order or not missing:
            order[stack.pop()] = None
        else:
            stack.append(missing[-1])
    return list(order)


def _allocate(
    steps: Mapping[int, _Step], order: Iterable[int], leaves: int, results: Iterable[int]
) -> dict[int, int]:
    """Give each row a slot which no row has that is still to be read."""
    last_reader = {operand: row for row in order for operand in steps[row][1]}
    last_reader |= dict.fromkeys(results, -1)
    slots = {leaf: leaf for leaf in range(leaves)}
    free = [leaf for leaf in range(leaves) if leaf not in last_reader]
    for row in order:
        free += [slots[r] for r in set(steps[row][1]) if last_reader[r] == row]
        slots[row] = free.pop() if free else 1 + max(slots.values())
    return slots


@dataclass(frozen=True)
class Program:
    """A netlist compiled to NumPy operations. Several threads may run one program at a time.

    Attributes
    ----------
    inputs, outputs : dict of port name to width
    operations : tuple of (ufunc, slots of the operands and of the result)
    results : for each output bit ``2 * slot``, or one more for the slot's complement
    slots : how many rows are alive at once; slot 0 starts as constant 0, then come the inputs
    """

    inputs: dict[str, int]
    outputs: dict[str, int]
    operations: tuple[tuple[np.ufunc, tuple[int, ...]], ...]
    results: tuple[int, ...]
    slots: int
    _local: threading.local = field(default_factory=threading.local, repr=False, compare=False)

    @classmethod
    def compile(cls, netlist: Netlist) -> Program:
        """Compile a netlist, in some tens of milliseconds for a thousand cells.

        Raises
        ------
        ValueError
            If the netlist has registers.
        """
        if netlist.registers:
            raise ValueError(f"netlist {netlist.name} has registers; sim.cycles simulates those")
        nets = [0, *(net for port in netlist.inputs.values() for net in port)]
        literals = {net: 2 * leaf for leaf, net in enumerate(nets)} | {1: _TRUE}
        graph = _Graph(len(nets))
        for cell in netlist.levelised():
            kind = netlist.library[cell.type]
            operands = tuple(literals[cell.pins[pin]] for pin in kind.inputs)
            for pin, _ in kind.outputs:
                literals[cell.pins[pin]] = graph.function(kind.truth_table(pin), operands)
        ports = netlist.outputs.values()
        steps, results = _lower(graph, [literals[net] for port in ports for net in port])
        rows = [literal >> 1 for literal in results]
        order = _depth_first(steps, rows)
        slots = _allocate(steps, order, graph.leaves, rows)
        return cls(
            {name: len(port) for name, port in netlist.inputs.items()},
            {name: len(port) for name, port in netlist.outputs.items()},
            tuple((steps[r][0], tuple(slots[row] for row in (*steps[r][1], r))) for r in order),
            tuple(2 * slots[literal >> 1] + (literal & 1) for literal in results),
            1 + max(slots.values()),
        )

    def run(self, inputs: Mapping[str, Planes]) -> dict[str, Planes]:
        """Evaluate the outputs for all vectors.

        Uses one thread. Each thread that calls keeps its own scratch rows, at most 64 KiB times
        ``slots``.

        Parameters
        ----------
        inputs : dict of port name to planes, all with the same number of words

        Returns
        -------
        dict of port name to planes, with as many words as the inputs; one word if there are none

        Raises
        ------
        ValueError
            If a port is missing or unknown, or its planes have the wrong type or shape.
        """
        words = self._check(inputs)
        outputs = {
            name: np.empty((width, words), np.uint64) for name, width in self.outputs.items()
        }
        sources = [plane for name in self.inputs for plane in inputs[name]]
        targets = [plane for planes in outputs.values() for plane in planes]
        chunk = min(words, _CHUNK)
        rows, operations = self._bind(chunk)
        for start in range(0, words, chunk or 1):
            part = slice(min(start, words - chunk), min(start + chunk, words))
            for row, source in zip(rows[1:], sources, strict=False):
                row[:] = source[part]
            for gate, operands in operations:
                gate(*operands)
            for literal, target in zip(self.results, targets, strict=True):
                copy = np.invert if literal & 1 else np.positive
                copy(rows[literal >> 1], target[part])
        return outputs

    def _check(self, inputs: Mapping[str, Planes]) -> int:
        """Check the inputs and return their number of words."""
        if inputs.keys() != self.inputs.keys():
            raise ValueError(f"inputs must be {sorted(self.inputs)}, not {sorted(inputs)}")
        words = next(iter(inputs.values())).shape[-1] if inputs else 1
        for name, width in self.inputs.items():
            planes = inputs[name]
            if planes.dtype != np.uint64 or planes.shape != (width, words):
                raise ValueError(
                    f"input {name} must be uint64 of shape {(width, words)}, "
                    f"not {planes.dtype} of shape {planes.shape}"
                )
        return words

    def _bind(self, chunk: int) -> tuple[list[Planes], list[tuple[np.ufunc, list[Planes]]]]:
        """Return this thread's scratch rows, and the operations with their rows filled in."""
        if getattr(self._local, "chunk", None) != chunk:
            scratch = np.empty(self.slots * chunk + 7, np.uint64)
            skip = -scratch.ctypes.data % 64 // 8  # rows on cache lines are faster
            rows = list(scratch[skip : skip + self.slots * chunk].reshape(self.slots, chunk))
            rows[0][:] = 0
            bound = [(gate, [rows[slot] for slot in slots]) for gate, slots in self.operations]
            self._local.chunk, self._local.rows, self._local.bound = chunk, rows, bound
        return self._local.rows, self._local.bound
