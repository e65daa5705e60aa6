"""A Verilog test bench that checks a unit, mapped or not, against the reference."""

from collections.abc import Iterable, Sequence

import numpy as np

from fmacost.reports.interchange.design import Design
from fmacost.sim.codec import Codes
from fmacost.sim.operation import Operation
from fmacost.sim.reference import compute
from fmacost.sim.stimuli import sampled

EXHAUSTIVE_BITS = 12  # up to that many input bits, every input
MOST_VECTORS = 1 << EXHAUSTIVE_BITS
_PER_REGION = 200
_SHOWN = 10  # mismatches that are printed

_BENCH = """\
// {title}: {how}.
// It checks the netlist as well as the unit: iverilog -g2012 -o bench X.tb.v X.v && ./bench
`timescale 1ns/1ps
module {name}_tb;
{inputs}
{outputs}
  integer wrong;

  {name} dut ({pins});

  task check({arguments});
    begin
      {drive}
      {wait}
      if ({got} !== expected) begin
        if (wrong < {shown})
          $display("MISMATCH: {formats}: expected %h, got %h", {names}, expected, {got});
        wrong = wrong + 1;
      end
    end
  endtask

  initial begin
    wrong = 0;{start}
{checks}
    if (wrong != 0) begin
      $display("FAIL: %0d of {count} inputs differ", wrong);
      $fatal(1);
    end
    $display("PASS: {count} inputs");
    $finish;
  end
endmodule
"""


def to_testbench(design: Design) -> str:
    """Return a self-checking test bench, its vectors and the expected results within.

    Every input where there are few, else corners and seeded random ones. The operands are held
    until a pipeline has passed them on. It prints ``PASS``, or the first mismatches and ``FAIL``
    with an exit code that is not 0.

    Parameters
    ----------
    design : combinational or with ranks of registers, no processing element
    """
    operation, name = design.operation, design.netlist.name
    operands, expected, how = _vectors(operation, design.seed)
    inputs = operation.input_widths
    outputs = {"invalid": 1} if operation.has_invalid else {}
    outputs["result"] = operation.result.width
    clock, latency = design.netlist.clock, design.row.latency_cycles
    registers = {} if clock is None else {clock: 1}
    results = {"expected": operation.output_bits}
    return _BENCH.format(
        title=design.title,
        how=how,
        name=name,
        inputs="\n".join(f"  reg {_sized(*port)};" for port in (inputs | registers).items()),
        outputs="\n".join(f"  wire {_sized(*port)};" for port in outputs.items()),
        pins=", ".join(f".{port}({port})" for port in (*inputs, *registers, *outputs)),
        arguments=", ".join(
            f"input {_sized(*port)}"
            for port in ({f"{n}_next": width for n, width in inputs.items()} | results).items()
        ),
        drive=" ".join(f"{port} = {port}_next;" for port in inputs),
        wait="#1;"
        if clock is None
        else f"repeat ({latency}) begin #1 {clock} = 1; #1 {clock} = 0; end #1;",
        start="" if clock is None else f" {clock} = 0;",
        got=f"{{{', '.join(outputs)}}}",
        shown=_SHOWN,
        formats=" ".join(f"{port}=%h" for port in inputs),
        names=", ".join(inputs),
        checks="\n".join(_checks((*inputs.values(), *results.values()), (*operands, expected))),
        count=len(expected),
    )


def _vectors(operation: Operation, seed: int) -> tuple[tuple[Codes, ...], Codes, str]:
    """Return operands, expected results, and how the operands were chosen."""
    if operation.input_bits <= EXHAUSTIVE_BITS:
        number = np.arange(1 << operation.input_bits, dtype=np.uint64)
        operands, shift = [], operation.input_bits
        for width in operation.input_widths.values():
            shift -= width
            operands.append(number >> np.uint64(shift) & np.uint64((1 << width) - 1))
        return tuple(operands), compute(operation, *operands), f"all {len(number)} inputs"
    sample = sampled(operation, seed, _PER_REGION)
    rng = np.random.default_rng(seed)
    count = min(len(sample.expected), MOST_VECTORS)
    chosen = np.sort(rng.choice(len(sample.expected), count, replace=False))
    text = f"{count} inputs, corners and random ones of seed {seed}"
    return tuple(codes[chosen] for codes in sample.operands), sample.expected[chosen], text


def _checks(widths: Sequence[int], columns: Sequence[Codes]) -> Iterable[str]:
    for codes in zip(*(column.tolist() for column in columns), strict=True):
        literals = (f"{width}'h{code:x}" for width, code in zip(widths, codes, strict=True))
        yield f"    check({', '.join(literals)});"


def _sized(name: str, width: int) -> str:
    return f"[{width - 1}:0] {name}" if width > 1 else name
