"""The bit-exact check: a mapped netlist against the reference, on every input or on a sample."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fmacost.sim.codec import Codes, decode, decode_integers
from fmacost.sim.evaluate import Planes, Program, exhaustive_planes, pack_planes
from fmacost.sim.formats import FixedFormat, Format, format_value
from fmacost.sim.netlist import Netlist
from fmacost.sim.operation import Operation
from fmacost.sim.reference import compute, flush_subnormals
from fmacost.sim.stimuli import sampled

Progress: TypeAlias = Callable[[int, int], None]

ALWAYS_EXHAUSTIVE_BITS = 24
MAX_EXHAUSTIVE_BITS = 32

_BLOCK_BITS = 19  # vectors of a block; its planes fill one pass of Program.run
_PIECE = 1 << 14  # vectors that the reference computes at a time
_MAX_THREADS = 4  # beyond that they wait for the interpreter
_WORD_BITS = 6
_CLASSED_BITS = 20  # pairs of factors that are sorted by their product at most


@dataclass(frozen=True)
class Counterexample:
    """An input on which netlist and reference differ.

    Attributes
    ----------
    operands : code of each operand
    expected, got : code of the result, with the flag ``invalid`` on top where there is one
    """

    operands: tuple[int, ...]
    expected: int
    got: int

    def describe(self, operation: Operation) -> str:
        """Return lines with the operands and both results, as codes and as values."""
        rows = [
            (name, _code_text(fmt, code), _value_text(fmt, code))
            for name, fmt, code in zip(
                operation.input_widths, operation.inputs, self.operands, strict=True
            )
        ]
        for name, code in (("expected", self.expected), ("got", self.got)):
            rows.append((name, *_result_text(operation, code)))
        width = max(len(code) for _, code, _ in rows)
        lines = [f"  {name:<8} {code:>{width}}  {value}" for name, code, value in rows]
        return "\n".join([f"{operation}: the netlist differs from the reference", *lines])


@dataclass(frozen=True)
class Verification:
    """How a netlist was verified, and what came of it.

    Attributes
    ----------
    vectors : inputs that were compared
    mismatches : inputs with another result
    regions : vectors in each region of ``sim.stimuli``; empty if exhaustive
    counterexample : the mismatch with the smallest codes of a, b, c; None without mismatch
    """

    method: Literal["exhaustive", "sampled"]
    vectors: int
    mismatches: int
    regions: dict[str, int]
    counterexample: Counterexample | None


def verify(
    operation: Operation,
    netlist: Netlist,
    *,
    exhaustive: bool = False,
    seed: int = 0,
    vectors_per_region: int = 10_000,
    progress: Progress | None = None,
) -> Verification:
    """Compare a netlist with the reference, bit for bit.

    Up to 24 input bits always compare every input, up to 32 where ``exhaustive`` is set;
    otherwise a sample of ``sim.stimuli``.

    Parameters
    ----------
    netlist : inputs a, b (c, random), outputs ``result`` and, where ``operation.has_invalid``,
        ``invalid``
    progress : called in this thread with the vectors done and their total

    Raises
    ------
    ValueError
        If a port is missing or of the wrong width, or there are too many inputs to compare all.
    """
    _check_ports(operation, netlist)
    if exhaustive and operation.input_bits > MAX_EXHAUSTIVE_BITS:
        raise ValueError(
            f"{operation} has 2^{operation.input_bits} inputs, an exhaustive check takes at most "
            f"2^{MAX_EXHAUSTIVE_BITS}"
        )
    comparison = _Comparison(operation, Program.compile(netlist))
    if exhaustive or operation.input_bits <= ALWAYS_EXHAUSTIVE_BITS:
        tally = _exhaustive(comparison, progress)
        return Verification("exhaustive", tally.vectors, tally.mismatches, {}, tally.example)
    sample = sampled(operation, seed, vectors_per_region)
    total = len(sample.expected)
    step = 1 << _BLOCK_BITS
    parts = (slice(start, start + step) for start in range(0, total, step))
    tallies = (
        comparison.vectors([codes[part] for codes in sample.operands], sample.expected[part])
        for part in parts
    )
    tally = _sum(tallies, total, progress)
    return Verification("sampled", tally.vectors, tally.mismatches, sample.regions, tally.example)


def _check_ports(operation: Operation, netlist: Netlist) -> None:
    """Raise ValueError unless the netlist has the ports of the operation."""
    outputs = {"result": operation.result.width}
    if operation.has_invalid:
        outputs["invalid"] = 1
    wanted = {"input": operation.input_widths, "output": outputs}
    for direction, ports in (("input", netlist.inputs), ("output", netlist.outputs)):
        for name, width in wanted[direction].items():
            if name not in ports:
                raise ValueError(f"netlist {netlist.name} has no {direction} {name}")
            if len(ports[name]) != width:
                raise ValueError(
                    f"{direction} {name} of netlist {netlist.name} must have {width} bits "
                    f"for {operation}, not {len(ports[name])}"
                )
        for name in ports:
            if name not in wanted[direction]:
                raise ValueError(
                    f"netlist {netlist.name} has an {direction} {name} that {operation} has not"
                )


@dataclass(frozen=True)
class _Tally:
    """What a part of the vectors gave."""

    vectors: int = 0
    mismatches: int = 0
    example: Counterexample | None = None

    def __add__(self, other: "_Tally") -> "_Tally":
        examples = [tally.example for tally in (self, other) if tally.example]
        return _Tally(
            self.vectors + other.vectors,
            self.mismatches + other.mismatches,
            min(examples, key=lambda example: example.operands, default=None),
        )


def _sum(tallies: Iterable[_Tally], total: int, progress: Progress | None) -> _Tally:
    done = _Tally()
    for tally in tallies:
        done += tally
        if progress:
            progress(done.vectors, total)
    return done


@dataclass(frozen=True)
class _Block:
    """A rectangle of inputs: codes of all operands but the last, times codes of the last."""

    rows: range
    columns: range


def _exhaustive(comparison: "_Comparison", progress: Progress | None) -> _Tally:
    operation = comparison.operation
    blocks = list(_blocks(operation))
    if operation.inputs[-1].width < _WORD_BITS:
        work = comparison.unpacked
    else:
        _ = comparison.classes  # before there are threads
        work = comparison.block
    pool = ThreadPoolExecutor(min(os.cpu_count() or 1, _MAX_THREADS, len(blocks)))
    try:
        return _sum(pool.map(work, blocks), 1 << operation.input_bits, progress)
    finally:  # an interrupt waits for the blocks at hand, some milliseconds, and drops the rest
        pool.shutdown(cancel_futures=True)


def _blocks(operation: Operation) -> Iterator[_Block]:
    column_bits = operation.inputs[-1].width
    rows = 1 << (operation.input_bits - column_bits)
    columns = 1 << min(column_bits, _BLOCK_BITS)
    height = (1 << _BLOCK_BITS) // columns
    starts = product(range(0, rows, height), range(0, 1 << column_bits, columns))
    for row, column in starts:
        yield _Block(range(row, min(row + height, rows)), range(column, column + columns))


@dataclass(frozen=True)
class _Classes:
    """Pairs of factors, sorted so that those with the same product are next to each other.

    An FMA rounds once: its result depends on the product alone, so that the reference is computed
    once for each product and addend. The netlist sees every pair.

    Attributes
    ----------
    rows : the pairs ``a << width(b) | b`` in the new order
    products : the bits of the products of these pairs, a double each
    """

    rows: NDArray[np.uint64]
    products: NDArray[np.int64]


@dataclass(frozen=True)
class _Comparison:
    """A netlist beside the operation that it should compute."""

    operation: Operation
    program: Program

    @cached_property
    def classes(self) -> _Classes | None:
        """The classes of an FMA whose factors are few, None for other operations."""
        operation = self.operation
        factors = operation.operands[:-1]
        if (
            operation.random_bits
            or len(factors) < 2
            or sum(f.width for f in factors) > _CLASSED_BITS
        ):
            return None
        values = [decode(f, np.arange(1 << f.width, dtype=np.uint64)) for f in factors]
        if operation.daz:
            values = [flush_subnormals(f, v) for f, v in zip(factors, values, strict=True)]
        with np.errstate(invalid="ignore"):
            doubles = np.multiply.outer(*values).ravel()
        products = np.where(np.isnan(doubles), np.nan, doubles).view(np.int64)
        order = np.argsort(products, kind="stable")
        return _Classes(order.astype(np.uint64), products[order])

    def block(self, block: _Block) -> _Tally:
        """Compare the inputs of a block, whose columns fill whole words."""
        rows, firsts, inverse = self._sorted_rows(block.rows)
        columns = _codes(block.columns)
        shape = (len(rows), len(columns) >> _WORD_BITS)
        got = self._run(self._block_planes(rows, block.columns))
        expected = pack_planes(self._results(firsts, columns), self.operation.output_bits)
        wrong = np.zeros(shape, np.uint64)
        for plane, other in zip(expected, got, strict=True):
            wrong |= plane.reshape(-1, shape[1])[inverse] ^ other.reshape(shape)
        vectors, mismatches = len(rows) * len(columns), int(np.bitwise_count(wrong).sum())
        if not mismatches:
            return _Tally(vectors)
        bad = np.flatnonzero(wrong.any(axis=1))
        row = int(bad[np.argmin(rows[bad])])
        column = int(_set_bits(wrong[row])[0])
        operands = [*self._split(rows[row : row + 1]), columns[column : column + 1]]
        example = self._example(operands, got, row * len(columns) + column)
        return _Tally(vectors, mismatches, example)

    def unpacked(self, block: _Block) -> _Tally:
        """Compare the inputs of a block one by one."""
        rows, columns = _codes(block.rows), _codes(block.columns)
        operands = [
            *(np.repeat(codes, len(columns)) for codes in self._split(rows)),
            np.tile(columns, len(rows)),
        ]
        return self.vectors(operands, compute(self.operation, *operands))

    def vectors(self, operands: Sequence[Codes], expected: Codes) -> _Tally:
        """Compare the results of any inputs with the expected ones."""
        widths = self.operation.input_widths.items()
        got = self._run(
            {name: pack_planes(c, width) for (name, width), c in zip(widths, operands, strict=True)}
        )
        planes = pack_planes(expected, self.operation.output_bits)
        wrong = np.zeros(planes.shape[1], np.uint64)
        for plane, other in zip(planes, got, strict=True):
            wrong |= plane ^ other
        bad = _set_bits(wrong)
        bad = bad[bad < len(expected)]
        if not bad.size:
            return _Tally(len(expected))
        first = min(bad.tolist(), key=lambda i: tuple(codes[i] for codes in operands))
        example = self._example([codes[first : first + 1] for codes in operands], got, first)
        return _Tally(len(expected), len(bad), example)

    def _sorted_rows(self, rows: range) -> tuple[Codes, Codes, NDArray[np.intp] | slice]:
        """Return a part of the rows, those to compute, and which of these stands for each row."""
        if self.classes is None:
            return _codes(rows), _codes(rows), slice(None)
        part = slice(rows.start, rows.stop)
        codes = self.classes.rows[part]
        _, first, inverse = np.unique(
            self.classes.products[part], return_index=True, return_inverse=True
        )
        return codes, codes[first], inverse

    def _results(self, rows: Codes, columns: Codes) -> Codes:
        """Return the reference's results, row after row, in pieces that stay in the cache."""
        width = min(len(columns), _PIECE)
        height = _PIECE // width
        pieces = [
            [
                compute(self.operation, *(r[:, None] for r in self._split(part)), piece[None])
                for piece in np.split(columns, len(columns) // width)
            ]
            for part in np.array_split(rows, -(-len(rows) // height))
        ]
        return np.concatenate([np.hstack(row).ravel() for row in pieces])

    def _split(self, rows: Codes) -> list[Codes]:
        """Return the codes of all operands but the last; the first has the highest bits."""
        codes = []
        for fmt in self.operation.inputs[-2::-1]:
            codes.append(rows & np.uint64((1 << fmt.width) - 1))
            rows = rows >> np.uint64(fmt.width)
        return codes[::-1]

    def _block_planes(self, rows: Codes, columns: range) -> dict[str, Planes]:
        """Return the planes of each row's operands with every column."""
        *names, last = self.operation.input_widths
        words = len(columns) >> _WORD_BITS
        planes = {}
        for name, codes in zip(names, self._split(rows), strict=True):
            bits = np.arange(self.operation.input_widths[name], dtype=np.uint64)[:, None]
            planes[name] = np.repeat(-(codes >> bits & np.uint64(1)), words, axis=1)
        width, start = self.operation.input_widths[last], columns.start >> _WORD_BITS
        planes[last] = np.tile(exhaustive_planes(width, start, words), len(rows))
        return planes

    def _run(self, inputs: dict[str, Planes]) -> list[NDArray[np.uint64]]:
        """Return the planes of the result, and of ``invalid`` where there is one."""
        outputs = self.program.run(inputs)
        planes = list(outputs["result"])
        return planes + list(outputs["invalid"]) if self.operation.has_invalid else planes

    def _example(
        self, operands: Sequence[Codes], got: list[NDArray[np.uint64]], index: int
    ) -> Counterexample:
        """Return the counterexample at a vector; ``operands`` are arrays of one code."""
        word, bit = divmod(index, 1 << _WORD_BITS)
        code = sum((int(plane[word]) >> bit & 1) << i for i, plane in enumerate(got))
        expected = compute(self.operation, *operands)
        return Counterexample(tuple(int(c[0]) for c in operands), int(expected[0]), code)


def _codes(codes: range) -> Codes:
    return np.arange(codes.start, codes.stop, dtype=np.uint64)


def _set_bits(words: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Return the vectors whose bit is set in a plane, ascending."""
    return np.flatnonzero(np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little"))


def _result_text(operation: Operation, code: int) -> tuple[str, str]:
    """Return a result's code and value; ``invalid`` is told apart from the code."""
    result = operation.result
    invalid, code = divmod(code, 1 << result.width)
    text = _value_text(result, code)
    return _code_text(result, code), f"{text}, invalid" if invalid else text


def _code_text(fmt: Format, code: int) -> str:
    return f"{code:#0{2 + -(-fmt.width // 4)}x}"


def _value_text(fmt: Format, code: int) -> str:
    """Return the exact value of a code as people write it."""
    if isinstance(fmt, FixedFormat):
        integer = int(decode_integers(fmt, np.array([code], dtype=object))[0])
        return format_value(integer * Fraction(2) ** fmt.quantum_exponent)
    value = float(decode(fmt, np.array([code], dtype=np.uint64))[0])
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{value}"
    sign = "-" if value == 0 and math.copysign(1, value) < 0 else ""
    return sign + format_value(Fraction(value))
