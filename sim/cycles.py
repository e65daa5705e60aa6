"""Cycle by cycle: netlists with registers, many independent streams at once.

A *stream* is the sequence of inputs that one copy of the circuit gets. Streams lie side by side in
the bits of a plane, as vectors do in ``sim.evaluate``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmacost.sim.check import ALWAYS_EXHAUSTIVE_BITS, Counterexample
from fmacost.sim.codec import Codes
from fmacost.sim.evaluate import Planes, Program, pack_planes, unpack_planes
from fmacost.sim.netlist import Cell, Netlist, NetlistError
from fmacost.sim.operation import Operation
from fmacost.sim.reference import compute
from fmacost.sim.stimuli import sampled

STATE, NEXT = "registers", "registers_next"  # ports of the logic between the registers
_GAPS = 4  # one cycle in so many has no operation
_PER_REGION = 200  # vectors of each region of sim.stimuli that streams are drawn from


def simulate(netlist: Netlist, inputs: Mapping[str, Planes], seed: int = 0) -> dict[str, Planes]:
    """Run a netlist cycle by cycle; all registers take their values at the end of a cycle.

    Parameters
    ----------
    inputs : of each input port but the clock, uint64 of shape (cycles, width, words): 64 streams
        in each word
    seed : of the values that the registers start with

    Returns
    -------
    dict of output port to uint64 of shape (cycles, width, words), as they are before the clock edge

    Raises
    ------
    ValueError
        If a port is missing or unknown, or its planes have the wrong type or shape.
    """
    program = Program.compile(between_registers(netlist))
    cycles, _, words = next(iter(inputs.values())).shape
    rng = np.random.default_rng(seed)
    state = rng.integers(0, 1 << 64, (program.inputs[STATE], words), np.uint64)
    outputs = {
        name: np.empty((cycles, len(nets), words), np.uint64)
        for name, nets in netlist.outputs.items()
    }
    for cycle in range(cycles):
        made = program.run({name: p[cycle] for name, p in inputs.items()} | {STATE: state})
        state = made.pop(NEXT)
        for name, planes in made.items():
            outputs[name][cycle] = planes
    return outputs


def between_registers(netlist: Netlist) -> Netlist:
    """Return what happens within a cycle: registers lose their clock, which cuts them in two.

    Their outputs become an input port; what they take over becomes an output port.
    """
    next_net = 1 + max([1, *(net for cell in netlist.cells for net in cell.pins.values())])
    cells: list[Cell] = []
    state: list[int] = []
    following: list[int] = []
    for cell in netlist.cells:
        kind = netlist.library[cell.type]
        pins = dict(cell.pins)
        for pin, _ in kind.outputs if kind.clock else ():
            state.append(pins[pin])
            following.append(next_net)
            pins[pin] = next_net
            next_net += 1
        if kind.clock:
            pins[kind.clock] = 0
        cells.append(replace(cell, pins=pins))
    inputs = {name: nets for name, nets in netlist.inputs.items() if name != netlist.clock}
    return Netlist(
        netlist.name,
        inputs | {STATE: tuple(state)},
        netlist.outputs | {NEXT: tuple(following)},
        tuple(cells),
        {name: replace(kind, clock=None) for name, kind in netlist.library.items()},
    )


def unregistered(netlist: Netlist) -> tuple[Netlist, int]:
    """Return a pipeline without its registers, and how many are on each path from input to output.

    If the netlist that comes out computes an operation, the pipeline computes it too, on every
    stream, so many cycles later: all that meets anywhere in it began in one cycle.

    Raises
    ------
    NetlistError
        If paths with different numbers of registers meet, as they do where a register feeds itself.
    """
    source = {}  # net behind a register: the net before it
    for cell in netlist.registers:
        kind = netlist.library[cell.type]
        ((output, function),) = kind.outputs
        if function not in kind.inputs or function == kind.clock:
            raise NetlistError(f"cell {cell.name} ({cell.type}) is no plain register")
        source[cell.pins[output]] = cell.pins[function]
    ages = _ages(netlist, source)
    cells = [cell for cell in netlist.cells if not netlist.library[cell.type].clock]

    def origin(net: int) -> int:
        while net in source:
            net = source[net]
        return net

    outputs = {name: tuple(map(origin, nets)) for name, nets in netlist.outputs.items()}
    ends = {ages[net] for nets in netlist.outputs.values() for net in nets if net in ages}
    if len(ends) > 1:
        raise NetlistError(f"outputs are {' and '.join(map(str, sorted(ends)))} cycles late")
    return (
        Netlist(
            netlist.name,
            {name: nets for name, nets in netlist.inputs.items() if name != netlist.clock},
            outputs,
            tuple(
                replace(cell, pins={pin: origin(net) for pin, net in cell.pins.items()})
                for cell in cells
            ),
            netlist.library,
            netlist.net_names,
        ),
        max(ends, default=0),
    )


def _ages(netlist: Netlist, source: Mapping[int, int]) -> dict[int, int]:
    """Return how many registers are on the way from the inputs to each net.

    Constants have no age, nor has what depends on them alone.
    """
    ages = {
        net: 0 for name, nets in netlist.inputs.items() if name != netlist.clock for net in nets
    }
    waiting = dict(source)
    logic = [cell for cell in netlist.levelised() if not netlist.library[cell.type].clock]
    while True:
        for cell in logic:
            kind = netlist.library[cell.type]
            fanin = {ages[net] for pin in kind.inputs if (net := cell.pins[pin]) in ages}
            if len(fanin) > 1:
                raise NetlistError(
                    f"inputs of cell {cell.name} are {' and '.join(map(str, sorted(fanin)))} "
                    "cycles late"
                )
            for pin, _ in kind.outputs if fanin else ():
                ages[cell.pins[pin]] = min(fanin)
        ready = {q: d for q, d in waiting.items() if d in ages}
        if not ready and waiting:
            raise NetlistError(f"net {min(waiting)} is a register that no input reaches")
        if not ready:
            return ages
        for q, d in ready.items():
            ages[q] = ages[d] + 1
            del waiting[q]


@dataclass(frozen=True, slots=True)
class Streams:
    """What came of running streams through a netlist.

    Attributes
    ----------
    cycles : of all streams together
    operations : results that were compared
    mismatches : results that differ from the reference
    counterexample : the earliest of them, None if there is none
    """

    cycles: int
    operations: int
    mismatches: int
    counterexample: Counterexample | None


def check_pipeline(
    operation: Operation,
    netlist: Netlist,
    latency: int,
    *,
    cycles: int = 256,
    words: int = 1,
    seed: int = 0,
) -> Streams:
    """Compare random streams through a pipeline with the reference, bit for bit.

    A result belongs to the operands of ``latency`` cycles before. One cycle in four is a gap: what
    is at the inputs then is as random, and nobody looks at its result.

    Parameters
    ----------
    cycles : of each stream
    words : 64 streams each
    """
    rng = np.random.default_rng(seed)
    shape = cycles, 64 * words
    operands = _draw(operation, rng, cycles * 64 * words)
    valid = rng.integers(0, _GAPS, shape) > 0
    valid[cycles - latency :] = False  # their results come too late
    widths = operation.input_widths
    inputs = {
        name: _stream_planes(codes, width, cycles)
        for (name, width), codes in zip(widths.items(), operands, strict=True)
    }
    made = simulate(netlist, inputs, seed)
    got = _results(made)
    expected = compute(operation, *operands)
    wrong = _differences(expected, got[latency:], valid)
    return _streams(operands, expected, got[latency:], wrong, int(valid.sum()))


def _draw(operation: Operation, rng: np.random.Generator, count: int) -> tuple[Codes, ...]:
    """Return random operands: uniform codes, or where those say little, of ``sim.stimuli``."""
    if operation.input_bits <= ALWAYS_EXHAUSTIVE_BITS:
        return tuple(
            rng.integers(0, 1 << width, count, np.uint64)
            for width in operation.input_widths.values()
        )
    pool = sampled(operation, int(rng.integers(1 << 32)), _PER_REGION)
    chosen = rng.integers(0, len(pool.expected), count)
    return tuple(codes[chosen] for codes in pool.operands)


def _stream_planes(codes: Codes, width: int, cycles: int) -> Planes:
    """Return codes, those of the first cycle first, as planes of each cycle."""
    planes = pack_planes(codes, width).reshape(width, cycles, -1)
    return np.ascontiguousarray(planes.transpose(1, 0, 2))


def _results(made: Mapping[str, Planes]) -> Planes:
    """Return the result in each cycle, with ``invalid`` on top where there is one."""
    return np.concatenate([made[name] for name in ("result", "invalid") if name in made], axis=1)


def _differences(expected: Codes, got: Planes, valid: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which of the results that count differ, shape (cycles, streams)."""
    width = got.shape[1]
    planes = _stream_planes(expected, width, len(valid))[: len(got)]
    words = np.bitwise_or.reduce(planes ^ got, axis=1).astype("<u8")
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(np.bool_)
    return bits & valid[: len(got)]


def _streams(
    operands: tuple[Codes, ...],
    expected: Codes,
    got: Planes,
    wrong: NDArray[np.bool_],
    operations: int,
) -> Streams:
    found = np.flatnonzero(wrong.ravel())
    example = None
    if found.size:
        cycle, stream = divmod(int(found[0]), wrong.shape[1])
        code: Any = unpack_planes(got[cycle], wrong.shape[1])[stream]
        codes = tuple(int(c[found[0]]) for c in operands)
        example = Counterexample(codes, int(expected[found[0]]), int(code))
    return Streams(len(expected), operations, int(found.size), example)


def check_accumulator(
    operation: Operation, netlist: Netlist, *, cycles: int = 256, words: int = 1, seed: int = 0
) -> Streams:
    """Compare random streams through a processing element with a loop of the reference.

    The netlist takes ``a``, ``b`` and ``clear`` in each cycle and gives them to its neighbours one
    cycle later. One cycle after that ``result`` is the operation on them and the former result,
    or on zero where ``clear`` was set: at the start and then in one cycle in four. ``invalid``, if
    the operation has it, is set from an invalid result on until the next ``clear``.

    Parameters
    ----------
    cycles : of each stream
    words : 64 streams each
    """
    rng = np.random.default_rng(seed)
    streams = 64 * words
    a, b = (codes.reshape(cycles, -1) for codes in _draw(operation, rng, cycles * streams)[:2])
    clear = (rng.integers(0, _GAPS, (cycles, streams)) == 0) | (np.arange(cycles) == 0)[:, None]
    accumulator = _draw(operation, rng, streams)[2]
    invalid = np.zeros_like(clear[0])
    addends, sums = [], []
    width = operation.result.width
    for cycle in range(cycles):
        addends.append(np.where(clear[cycle], np.zeros_like(accumulator), accumulator))
        code = compute(operation, a[cycle], b[cycle], addends[-1])
        accumulator = (code & ((1 << width) - 1)).astype(accumulator.dtype)
        invalid = (code >> width != 0) | (invalid & ~clear[cycle])
        sums.append(code | invalid.astype(code.dtype) << width if operation.has_invalid else code)
    operands = a.ravel(), b.ravel(), np.concatenate(addends)
    widths = operation.input_widths
    inputs = {
        "a": _stream_planes(operands[0], widths["a"], cycles),
        "b": _stream_planes(operands[1], widths["b"], cycles),
        "clear": _stream_planes(clear.ravel().astype(np.uint64), 1, cycles),
    }
    made = simulate(netlist, inputs, seed)
    expected, got = np.concatenate(sums), _results(made)[2:]
    valid = np.ones((cycles, streams), np.bool_)
    wrong = _differences(expected, got, valid)
    for name, planes in inputs.items():
        if (made[f"{name}_out"][1:] != planes[:-1]).any():
            wrong[:] = True  # a neighbour gets something else
    return _streams(operands, expected, got, wrong, got.shape[0] * streams)
