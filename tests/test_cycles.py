"""Netlists with registers: what they may be, how they run, and what is left without them."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fmacost.sim.cycles import check_pipeline, simulate, unregistered
from fmacost.sim.evaluate import Program
from fmacost.sim.netlist import Cell, CellType, Netlist, NetlistError
from fmacost.sim.operation import parse_unit

DFF = CellType("DFF", ("D", "CLK"), (("Q", "D"),), clock="CLK")
DFFN = CellType("DFFN", ("D", "CLK"), (("QN", "~D"),), clock="CLK")
INV = CellType("INV", ("A",), (("Y", "~A"),))
XOR = CellType("XOR", ("A", "B"), (("Y", "A ^ B"),))
LIBRARY = {kind.name: kind for kind in (DFF, DFFN, INV, XOR)}
CLOCK, A, Q = 2, 3, 10


def chain(registers: int, kind: str = "DFF") -> Netlist:
    """Return a row of registers behind input a."""
    nets = [A, *range(Q, Q + registers)]
    output = LIBRARY[kind].outputs[0][0]
    cells = tuple(
        Cell(f"r{i}", kind, {"D": nets[i], "CLK": CLOCK, output: nets[i + 1]})
        for i in range(registers)
    )
    return Netlist("row", {"clk": (CLOCK,), "a": (A,)}, {"y": (nets[-1],)}, cells, LIBRARY)


def parity() -> Netlist:
    """Return a register that takes itself exclusive-or the input."""
    cells = (
        Cell("sum", "XOR", {"A": A, "B": Q, "Y": 11}),
        Cell("state", "DFF", {"D": 11, "CLK": CLOCK, "Q": Q}),
    )
    return Netlist("parity", {"a": (A,), "clk": (CLOCK,)}, {"y": (Q,)}, cells, LIBRARY)


def words(cycles: int, seed: int = 0) -> np.ndarray[tuple[int, int, int], np.dtype[np.uint64]]:
    return np.random.default_rng(seed).integers(0, 1 << 64, (cycles, 1, 1), np.uint64)


@pytest.mark.parametrize("registers", [0, 1, 2, 5])
def test_row_of_registers_delays_by_its_length(registers: int) -> None:
    a = words(20)
    got = simulate(chain(registers), {"a": a} if registers else {"a": a, "clk": a})["y"]
    np.testing.assert_array_equal(got[registers:], a[: len(a) - registers])


def test_register_with_an_inverted_output() -> None:
    a = words(20)
    got = simulate(chain(1, "DFFN"), {"a": a})["y"]
    np.testing.assert_array_equal(got[1:], ~a[:-1])


def test_feedback_through_a_register() -> None:
    a = words(50)
    got = simulate(parity(), {"a": a})["y"]
    expected = np.bitwise_xor.accumulate(np.concatenate([got[:1], a]), axis=0)[:-1]
    np.testing.assert_array_equal(got, expected)


def test_registers_start_with_the_values_of_a_seed() -> None:
    starts = {int(simulate(parity(), {"a": words(1)}, seed)["y"][0, 0, 0]) for seed in (1, 2, 1)}
    assert len(starts) == 2


def test_netlist_with_registers_is_data_as_any_other() -> None:
    netlist = parity()
    assert netlist.count() == {"DFF": 1, "XOR": 1}
    assert netlist.depth == 1
    assert [cell.name for cell in netlist.levelised()] == ["state", "sum"]
    assert Netlist.from_yosys_json(netlist.to_yosys_json(), LIBRARY) == netlist
    with pytest.raises(ValueError, match=r"netlist parity has registers; sim.cycles simulates"):
        Program.compile(netlist)


def test_model_of_a_register_in_verilog() -> None:
    assert (
        chain(1)
        .to_verilog()
        .endswith(
            "module DFF(D, CLK, Q);\n"
            "  input D;\n"
            "  input CLK;\n"
            "  output Q;\n"
            "  reg Q;\n"
            "  always @(posedge CLK) begin Q <= D; end\n"
            "endmodule\n"
        )
    )


@pytest.mark.parametrize(
    ("pins", "outputs", "message"),
    [
        ({"CLK": A}, {}, "registers must have one clock, an input port of one bit"),
        ({"CLK": 11}, {}, "registers must have one clock, an input port of one bit"),
        ({"CLK": 1}, {}, "registers must have one clock, an input port of one bit"),
        ({"D": CLOCK}, {}, "pin D of cell state reads clock clk"),
        ({}, {"c": (CLOCK,)}, "output c reads clock clk"),
    ],
)
def test_bad_clock_is_refused(
    pins: dict[str, int], outputs: dict[str, tuple[int, ...]], message: str
) -> None:
    good = parity()
    gate, state = good.cells
    cells = gate, replace(state, pins=state.pins | pins), Cell("other", "DFF", {
        "D": A, "CLK": CLOCK, "Q": 12
    })  # fmt: skip
    with pytest.raises(NetlistError, match=message):
        replace(good, cells=cells, outputs=good.outputs | outputs)


def test_clock_must_be_a_pin() -> None:
    with pytest.raises(ValueError, match="cell type DFF: clock 'CK' is not an input pin"):
        replace(DFF, clock="CK")


def test_row_without_its_registers() -> None:
    netlist, latency = unregistered(chain(3))
    assert latency == 3
    assert not netlist.cells
    assert netlist.outputs == {"y": (A,)}
    assert list(netlist.inputs) == ["a"]


def uneven() -> Netlist:
    cells = (
        *chain(1).cells,
        Cell("sum", "XOR", {"A": A, "B": Q, "Y": 11}),
    )
    return replace(chain(1), cells=cells, outputs={"y": (11,)})


@pytest.mark.parametrize(
    ("netlist", "message"),
    [
        (uneven(), "inputs of cell sum are 0 and 1 cycles late"),
        (parity(), "inputs of cell sum are 0 and 1 cycles late"),
        (replace(chain(2), outputs={"y": (A,), "z": (11,)}), "outputs are 0 and 2 cycles late"),
        (chain(1, "DFFN"), r"cell r0 \(DFFN\) is no plain register"),
        (
            replace(chain(1), cells=(Cell("r0", "DFF", {"D": Q, "CLK": CLOCK, "Q": Q}),)),
            "net 10 is a register that no input reaches",
        ),
    ],
)
def test_what_is_no_pipeline_is_refused(netlist: Netlist, message: str) -> None:
    with pytest.raises(NetlistError, match=message):
        unregistered(netlist)


def product_of_bits(registers: int) -> Netlist:
    """Return ``mul:uint1`` with registers behind it."""
    row = chain(registers)
    both = CellType("AND", ("A", "B"), (("Y", "A & B"),))
    gate = Cell("and", "AND", {"A": 4, "B": 5, "Y": A})
    return Netlist(
        "mul",
        {"clk": (CLOCK,), "a": (4,), "b": (5,)},
        {"result": (*row.outputs["y"], 0)},
        (gate, *row.cells),
        LIBRARY | {"AND": both},
    )


def test_streams_line_up_with_the_latency_and_no_other() -> None:
    operation = parse_unit("mul:uint1")
    checked = check_pipeline(operation, product_of_bits(2), 2, cycles=64, words=2)
    assert checked.mismatches == 0
    assert checked.counterexample is None
    assert checked.cycles == 64 * 128
    assert 0.7 * 62 * 128 < checked.operations < 0.8 * 62 * 128
    for latency in (1, 3):
        wrong = check_pipeline(operation, product_of_bits(2), latency)
        assert wrong.mismatches > wrong.operations / 4
        assert wrong.counterexample is not None
        a, b = wrong.counterexample.operands
        assert wrong.counterexample.expected == a * b != wrong.counterexample.got


@pytest.mark.skipif(not shutil.which("iverilog"), reason="needs Icarus Verilog")
def test_registers_in_icarus_equal_the_simulation(tmp_path: Path) -> None:
    a = words(200)[:, 0, 0] & np.uint64(1)
    bench = [
        "module bench;",
        "reg clk = 0, a;",
        "wire y;",
        "parity dut(.a(a), .clk(clk), .y(y));",
        "initial begin",
        "dut.state.Q = 0;",
        *(f'a = {bit}; #1 $display("%b", y); clk = 1; #1 clk = 0;' for bit in a),
        "end endmodule",
    ]
    source, program = tmp_path / "bench.v", tmp_path / "bench.vvp"
    source.write_text("\n".join([*bench, parity().to_verilog()]))
    subprocess.run(["iverilog", "-g2012", "-Wall", "-o", program, source], check=True)
    run = subprocess.run(["vvp", "-n", program], check=True, capture_output=True, text=True)
    expected = np.bitwise_xor.accumulate(np.concatenate([a[:1] ^ a[:1], a]))[:-1]
    assert [int(line) for line in run.stdout.split()] == expected.tolist()
