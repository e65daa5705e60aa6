"""A stand-in for synthesis: builds the netlist of a tiny unit from the reference, at once.

It lets the command line, the cache and the rows be tested without Yosys.
"""

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from fmacost.hw.technology import Technology
from fmacost.sim.netlist import Cell, Netlist
from fmacost.sim.operation import Operation
from fmacost.sim.reference import compute

MAX_INPUT_BITS = 10


@dataclass(frozen=True)
class Candidate:
    architecture: str
    recipe: str
    cost: float
    delay_fo4: float


@dataclass(frozen=True)
class Synthesis:
    netlist: Netlist
    architecture: str
    recipe: str
    candidates: tuple[Candidate, ...]
    left_out: int
    yosys_seconds: float


@dataclass(frozen=True)
class Made:
    netlist: Netlist
    candidate: Candidate


@dataclass(frozen=True)
class Exploration:
    made: tuple[Made, ...]
    left_out: int
    yosys_seconds: float


class _Builder:
    """Multiplexer trees over constants, in either technology."""

    def __init__(self, technology: Technology, first_net: int) -> None:
        self.technology, self.next_net = technology, first_net
        self.cells: list[Cell] = []

    def gate(self, kind: str, *inputs: int) -> int:
        net, self.next_net = self.next_net, self.next_net + 1
        cell = self.technology.cells[kind]
        pins = dict(zip((*cell.inputs, cell.outputs[0][0]), (*inputs, net), strict=True))
        self.cells.append(Cell(f"g{net}", kind, pins))
        return net

    def choose(self, select: int, low: int, high: int) -> int:
        if low == high:
            return low
        if "MUX2" in self.technology.cells:
            return self.gate("MUX2", low, high, select)
        if_low = self.gate("NAND", low, self.gate("NOT", select))
        return self.gate("NAND", if_low, self.gate("NAND", high, select))

    def tree(self, table: tuple[int, ...], selects: tuple[int, ...]) -> int:
        if len(table) == 1:
            return table[0]
        half = len(table) // 2
        low, high = (self.tree(part, selects[:-1]) for part in (table[:half], table[half:]))
        return self.choose(selects[-1], low, high)


def build(operation: Operation, technology: Technology, flip: int = 0) -> Netlist:
    """Return a netlist that equals the reference but for ``flip`` on the first result."""
    if operation.input_bits > MAX_INPUT_BITS:
        raise ValueError(f"the stand-in takes at most {MAX_INPUT_BITS} bits, not {operation}")
    index = np.arange(1 << operation.input_bits, dtype=np.uint64)
    inputs: dict[str, tuple[int, ...]] = {}
    operands, net = [], 2
    for name, width in operation.input_widths.items():
        operands.append((index >> np.uint64(net - 2)) & np.uint64((1 << width) - 1))
        inputs[name] = tuple(range(net, net + width))
        net += width
    codes = compute(operation, *operands)
    codes[0] ^= np.uint64(flip)
    builder = _Builder(technology, net)
    selects = tuple(range(2, net))
    bits = [
        builder.tree(tuple(int(code) >> bit & 1 for code in codes), selects)
        for bit in range(operation.output_bits)
    ]
    width = operation.result.width
    outputs = {"result": tuple(bits[:width])}
    if operation.has_invalid:
        outputs["invalid"] = (bits[width],)
    return Netlist("unit", inputs, outputs, tuple(builder.cells), dict(technology.cells))


@dataclass
class FakeHardware:
    """What the stand-in should do, and how often it was asked."""

    calls: int = 0
    flip: int = 0
    left_out: int = 0
    error: BaseException | None = None

    def synthesise(
        self,
        operation: Operation,
        technology: Technology,
        *,
        objective: str = "area",
        effort: str = "normal",
        jobs: int | None = None,
        timeout_s: float = 120.0,
        progress: Callable[[int, int], None] | None = None,
    ) -> Synthesis:
        self.calls += 1
        if self.error is not None:
            raise self.error
        netlist = build(operation, technology, self.flip)
        size = technology.transistor_count(netlist)
        candidates = tuple(Candidate("mux", f"r{i}", size + 10 * i, 1.0) for i in range(3))
        return Synthesis(netlist, "mux", "r0", candidates, self.left_out, 0.25)

    def explore(
        self,
        operation: Operation,
        technology: Technology,
        *,
        effort: str = "normal",
        jobs: int | None = None,
        timeout_s: float = 120.0,
        progress: Callable[[int, int], None] | None = None,
    ) -> Exploration:
        self.calls += 1
        if self.error is not None:
            raise self.error
        netlist = build(operation, technology, self.flip)
        size = technology.cost(netlist)
        made = tuple(Made(netlist, Candidate("mux", f"r{i}", size, 1.0)) for i in range(3))
        return Exploration(made, self.left_out, 0.25)


def install(monkeypatch: pytest.MonkeyPatch) -> FakeHardware:
    """Put the stand-in where ``reports`` imports synthesis from."""
    fake = FakeHardware()
    module = types.ModuleType("fmacost.hw.synthesis")
    synthesise: Callable[..., Synthesis] = fake.synthesise
    module.synthesise = synthesise  # type: ignore[attr-defined]
    explore: Callable[..., Exploration] = fake.explore
    module.explore = explore  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fmacost.hw.synthesis", module)
    return fake
