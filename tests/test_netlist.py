"""Netlists: cell functions, checks, order, and what is read and written."""

from __future__ import annotations

import copy
import itertools
import json
import random
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from fmacost.sim.netlist import Cell, CellType, Netlist, NetlistError

LIBRARY = {
    cell.name: cell
    for cell in (
        CellType("TIE1", (), (("Y", "1'b1"),)),
        CellType("INV", ("A",), (("Y", "~A"),)),
        CellType("NAND2", ("A", "B"), (("Y", "~(A & B)"),)),
        CellType("NOR3", ("A", "B", "C"), (("Y", "~(A | B | C)"),)),
        CellType("AOI21", ("A1", "A2", "B"), (("Y", "~((A1 & A2) | B)"),)),
        CellType("OAI22", ("A1", "A2", "B1", "B2"), (("Y", "~((A1 | A2) & (B1 | B2))"),)),
        CellType("NOR2B", ("A", "B"), (("Y", "~(A | ~B)"),)),
        CellType("XNOR2", ("A", "B"), (("Y", "~A & ~B | A & B"),)),
        CellType("MUXI2", ("A", "B", "S"), (("Y", "~(S & B | ~S & A)"),)),
        CellType("HA", ("A", "B"), (("CO", "A & B"), ("S", "A ^ B"))),
        CellType(
            "FA",
            ("A", "B", "CI"),
            (("CO", "(A & B) | (A & CI) | (B & CI)"), ("S", "A ^ B ^ CI")),
        ),
    )
}


def witness(function: str, values: dict[str, int]) -> int:
    """Evaluate with Python's own parser, whose precedence of these operators is Verilog's."""
    return int(eval(compiled(function), {}, values)) & 1


@cache
def compiled(function: str) -> CodeType:
    return compile(function.replace("1'b", "").strip(), function, "eval")


def evaluate(netlist: Netlist, inputs: dict[str, int]) -> dict[str, int]:
    """Evaluate one vector, bit by bit, whatever the order of the cells."""
    values = {0: 0, 1: 1}
    for name, nets in netlist.inputs.items():
        values |= {net: inputs[name] >> i & 1 for i, net in enumerate(nets)}
    pending = list(netlist.cells)
    while pending:
        cell = pending.pop(0)
        kind = netlist.library[cell.type]
        if not all(cell.pins[pin] in values for pin in kind.inputs):
            pending.append(cell)
            continue
        pins = {pin: values[cell.pins[pin]] for pin in kind.inputs}
        values |= {cell.pins[pin]: witness(function, pins) for pin, function in kind.outputs}
    return {
        name: sum(values[net] << i for i, net in enumerate(nets))
        for name, nets in netlist.outputs.items()
    }


def random_netlist(seed: int, cells: int, widths: tuple[int, ...]) -> Netlist:
    """Build a netlist of random cells, whose outputs may also be inputs and constants."""
    rng = random.Random(seed)
    fresh = itertools.count(2)
    inputs = {f"in{i}": tuple(next(fresh) for _ in range(w)) for i, w in enumerate(widths)}
    nets = [0, 1, *(net for port in inputs.values() for net in port)]
    instances = []
    for i in range(cells):
        kind = rng.choice(list(LIBRARY.values()))
        # A window of recent nets makes deep netlists, in which gates meet again.
        pins = {pin: rng.choice(nets[-12:] if rng.random() < 0.8 else nets) for pin in kind.inputs}
        driven = {pin: next(fresh) for pin, _ in kind.outputs}
        instances.append(Cell(f"u{i}", kind.name, pins | driven))
        nets += driven.values()
    rng.shuffle(instances)
    outputs = {
        "y": tuple(rng.choices(nets, k=9)),
        "z": tuple(nets[-3:]),
        "aliases": (0, 1, nets[2]),
    }
    return Netlist(f"random{seed}", inputs, outputs, tuple(instances), LIBRARY)


def adder(**changes: Any) -> Netlist:
    """Return ``y = a + b`` of two bits, made of a half and a full adder."""
    fields: dict[str, Any] = {
        "name": "adder",
        "inputs": {"a": (2, 3), "b": (4, 5)},
        "outputs": {"y": (6, 8, 9)},
        "cells": (
            Cell("high", "FA", {"A": 3, "B": 5, "CI": 7, "S": 8, "CO": 9}),
            Cell("low", "HA", {"A": 2, "B": 4, "S": 6, "CO": 7}),
        ),
        "library": LIBRARY,
    }
    return Netlist(**(fields | changes))


# Cell functions.


@pytest.mark.parametrize(
    "function",
    [
        "~A",
        "~~A",
        "A & B",
        "A | B",
        "A ^ B",
        "A|B^C&A",
        "A&B^C|A",
        "A ^ B & C ^ ~B",
        "~(A | B) & ~C",
        "((A))&(~(B^~C))",
        "A & 1'b1 | 1'b0 ^ B",
        "1'b0",
        "~1'b0",
        "C",
    ],
)
def test_truth_table_equals_python_on_every_pattern(function: str) -> None:
    table = CellType("T", ("A", "B", "C"), (("Y", function),)).truth_table("Y")
    for pattern in range(8):
        values = {pin: pattern >> i & 1 for i, pin in enumerate("ABC")}
        assert table >> pattern & 1 == witness(function, values), (function, values)
    assert table < 2**8


def test_truth_table_of_a_constant_without_inputs() -> None:
    assert LIBRARY["TIE1"].truth_table("Y") == 1


@pytest.mark.parametrize(
    ("function", "token"),
    [
        ("A &", "end of expression"),
        ("", "end of expression"),
        ("A B", "'B'"),
        ("A & & B", "'&'"),
        ("A && B", "'&'"),
        ("A ~ B", "'~'"),
        ("(A | B", "end of expression"),
        ("A)", r"'\)'"),
        ("A & D", "'D'"),
        ("A & Y", "'Y'"),
        ("A + B", r"'\+'"),
        ("1'b2", "'1'"),
        ("1", "'1'"),
        ("__import__('os')", "'__import__'"),
        ("(" * 5000 + "A" + ")" * 5000, "parentheses"),
    ],
)
def test_malformed_function_names_cell_and_token(function: str, token: str) -> None:
    with pytest.raises(ValueError, match=rf"cell type T, output Y: .*{token}"):
        CellType("T", ("A", "B"), (("Y", function),))


@pytest.mark.parametrize(
    ("inputs", "output", "message"),
    [
        (("A", "A"), "Y", "pin A appears 2 times"),
        (("A",), "A", "pin A appears 2 times"),
        (("A[0]",), "Y", r"pin 'A\[0\]' is not an identifier"),
        (tuple(f"A{i}" for i in range(11)), "Y", r"inputs must be 0\.\.10, not 11"),
    ],
)
def test_bad_pins_are_refused(inputs: tuple[str, ...], output: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"cell type T: {message}"):
        CellType("T", inputs, ((output, "1'b0"),))


def test_truth_table_of_unknown_pin() -> None:
    with pytest.raises(ValueError, match="INV has no output 'A'"):
        LIBRARY["INV"].truth_table("A")


# Order and counts.


def test_adder_adds() -> None:
    for a, b in itertools.product(range(4), repeat=2):
        assert evaluate(adder(), {"a": a, "b": b}) == {"y": a + b}


def test_levelised_depth_and_count() -> None:
    netlist = adder()
    assert [cell.name for cell in netlist.levelised()] == ["low", "high"]
    assert netlist.depth == 2
    assert list(netlist.count().items()) == [("FA", 1), ("HA", 1)]
    assert adder(outputs={"y": (2,)}, cells=()).depth == 0


def test_depth_is_that_of_the_longest_path() -> None:
    ends = {"A": 2, "B": 5, "C": 3}
    chain = [Cell(f"i{net}", "INV", {"A": net, "Y": net + 1}) for net in (2, 3, 4)]
    cells = (Cell("end", "NOR3", ends | {"Y": 6}), *reversed(chain))
    netlist = Netlist("chain", {"a": (2,)}, {"y": (6,)}, cells, LIBRARY)
    assert netlist.depth == 4
    assert [cell.name for cell in netlist.levelised()] == ["i2", "i3", "i4", "end"]


@pytest.mark.parametrize("seed", range(5))
def test_levelised_puts_drivers_first(seed: int) -> None:
    netlist = random_netlist(seed, 80, (5, 3))
    known = {0, 1, *(net for port in netlist.inputs.values() for net in port)}
    for cell in netlist.levelised():
        kind = LIBRARY[cell.type]
        assert all(cell.pins[pin] in known for pin in kind.inputs)
        known |= {cell.pins[pin] for pin, _ in kind.outputs}
    assert sorted(c.name for c in netlist.levelised()) == sorted(c.name for c in netlist.cells)


# Checks.

HIGH = {"A": 3, "B": 5, "CI": 7, "S": 8, "CO": 9}
LOW = {"A": 2, "B": 4, "S": 6, "CO": 7}


def replaced(**pins: int) -> tuple[Cell, ...]:
    return Cell("high", "FA", HIGH | pins), Cell("low", "HA", LOW)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cells": (Cell("u", "NAND9", {}),)}, "cell u: type NAND9 is not in the library$"),
        ({"cells": (Cell("u", "$_DFF_P_", {}),)}, "cell u: .* registers are not supported"),
        ({"cells": (Cell("high", "FA", LOW),)}, r"cell high \(FA\): pin CI is not connected"),
        ({"cells": replaced(Z=2)}, r"cell high \(FA\) has no pin Z"),
        ({"cells": replaced(CI=77)}, "net 77 is not driven, but read by pin CI of cell high"),
        (
            {"cells": replaced(S=6)},
            "net 6 is driven by pin S of cell high and by pin S of cell low",
        ),
        ({"cells": replaced(S=0)}, "net 0 is driven by constant 0 and by pin S of cell high"),
        ({"cells": replaced(S=5)}, r"net 5 is driven by input b\[1\] and by pin S of cell high"),
        ({"inputs": {"a": (2, 2)}}, r"net 2 is driven by input a\[0\] and by input a\[1\]"),
        ({"inputs": {"a": (2, 3, 1), "b": (4, 5)}}, "net 1 is driven by constant 1 and by input"),
        ({"outputs": {"y": (6, 99)}}, r"net 99 is not driven, but read by output y\[1\]"),
        ({"outputs": {"y": (99,)}, "net_names": {99: "sum"}}, r"net 99 \(sum\) is not driven"),
        ({"outputs": {"a": (6,)}}, "port a appears 2 times"),
        ({"cells": replaced()[:1] * 2}, "cell high appears 2 times"),
        ({"cells": replaced(CI=8)}, "cell high is on a combinational loop"),
    ],
)
def test_invalid_netlist_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(NetlistError, match=message):
        adder(**changes)


def test_loop_error_names_a_cell_on_the_loop_not_behind_it() -> None:
    cells = (
        Cell("after", "INV", {"A": 4, "Y": 5}),
        Cell("loop1", "NAND2", {"A": 2, "B": 4, "Y": 3}),
        Cell("loop2", "INV", {"A": 3, "Y": 4}),
    )
    with pytest.raises(NetlistError, match=r"cell loop[12] is on a combinational loop"):
        Netlist("ring", {"a": (2,)}, {"y": (5,)}, cells, LIBRARY)


# Yosys JSON.


@pytest.mark.parametrize("seed", range(5))
def test_yosys_json_round_trips(seed: int) -> None:
    netlist = random_netlist(seed, 40, (3, 1, 0))
    document = json.loads(json.dumps(netlist.to_yosys_json()))
    assert Netlist.from_yosys_json(document, LIBRARY) == netlist


def document() -> dict[str, Any]:
    """Return the adder as Yosys writes it, with what else a real document holds."""
    result = adder().to_yosys_json()
    module = result["modules"]["adder"]
    module["cells"]["scope"] = {"type": "$scopeinfo", "connections": {}}
    module["netnames"]["$carry"] = {"hide_name": 1, "bits": [7]}
    module["netnames"]["carry"] = {"hide_name": 0, "bits": [7, "x"]}
    result["modules"]["FA"] = {"attributes": {"blackbox": f"{1:032b}"}}
    return result


def test_reading_skips_what_is_no_hardware() -> None:
    netlist = Netlist.from_yosys_json(document(), LIBRARY)
    assert netlist == adder()
    assert netlist.net_names[7] == "carry[0]"
    assert Netlist.from_yosys_json(document(), LIBRARY, top="adder") == adder()


def _set(*path: str | int) -> Callable[[dict[str, Any], object], None]:
    def change(document: dict[str, Any], value: object) -> None:
        record: Any = document["modules"]["adder"]
        for key in path[:-1]:
            record = record[key]
        record[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("ports",), [], "module adder: 'ports' must be a dict, not list"),
        (("cells",), None, "module adder: 'cells' must be a dict, not NoneType"),
        (("ports", "a"), 3, "port a must be a JSON object, not int"),
        (("ports", "a", "direction"), "inout", "port a must be input or output, not 'inout'"),
        (("ports", "a", "direction"), 1, "port a: 'direction' must be a str, not int"),
        (("ports", "a", "bits"), "01", "port a: 'bits' must be a list, not str"),
        (("ports", "y", "bits", 1), "x", r"port y\[1\] is undefined \('x'\)"),
        (("ports", "y", "bits", 1), 0, r"port y\[1\] must be a net number above 1, .* not 0"),
        (("ports", "y", "bits", 1), True, r"port y\[1\] must be a net number"),
        (("ports", "y", "bits", 1), [], r"port y\[1\] must be a net number"),
        (("ports", "y", "bits", 1), 2.5, r"port y\[1\] must be a net number"),
        (("ports", "a", "bits", 0), "0", "net 0 is driven by constant 0 and by input"),
        (("cells", "low"), [], "cell low must be a JSON object, not list"),
        (("cells", "low", "type"), ["HA"], "cell low: 'type' must be a str, not list"),
        (("cells", "low", "type"), "\n\x1b[2J", r"type \\n\\x1b\[2J is not in the library"),
        (("cells", "low", "type"), "$dff", r"cell low: type \$dff .* registers are not supported"),
        (("cells", "low", "connections"), {}, r"cell low \(HA\): pin A is not connected"),
        (("cells", "low", "connections"), 7, "cell low: 'connections' must be a dict, not int"),
        (("cells", "low", "connections", "A"), 2, "cell low: 'A' must be a list, not int"),
        (("cells", "low", "connections", "A"), [], "pin A of cell low must have 1 bit, not 0"),
        (("cells", "low", "connections", "A"), [2, 3], "pin A of cell low must have 1 bit, not 2"),
        (("cells", "low", "connections", "A"), ["z"], r"pin A of cell low is undefined \('z'\)"),
        (("cells", "low", "connections", "CO"), [40], r"net 7 \(carry\[0\]\) is not driven"),
        (("netnames",), [], "module: 'netnames' must be a dict, not list"),
        (("netnames", "carry"), {}, "netname carry: 'bits' must be a list, not missing"),
        (("memories",), {"m": {}}, "module adder has memories"),
        (("attributes",), {"blackbox": "1"}, "must have one top module, not 0"),
    ],
)
def test_malformed_document_is_refused(
    path: tuple[str | int, ...], value: object, message: str
) -> None:
    changed = copy.deepcopy(document())
    _set(*path)(changed, value)
    with pytest.raises(NetlistError, match=message) as error:
        Netlist.from_yosys_json(changed, LIBRARY)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "document must be a JSON object, not NoneType"),
        ([], "document must be a JSON object, not list"),
        ({}, "document: 'modules' must be a dict, not missing"),
        ({"modules": {}}, "must have one top module, not 0"),
        ({"modules": {"a": {}, "b": {}}}, "must have one top module, not 2"),
        ({"modules": {"a": 1}}, "modules: 'a' must be a dict, not int"),
        ({"modules": {"a": {}}}, "module a: 'ports' must be a dict, not missing"),
    ],
)
def test_document_of_wrong_shape_is_refused(value: object, message: str) -> None:
    with pytest.raises(NetlistError, match=message):
        Netlist.from_yosys_json(value, LIBRARY)


def test_unknown_top_is_refused() -> None:
    with pytest.raises(NetlistError, match="document has no module mul"):
        Netlist.from_yosys_json(document(), LIBRARY, top="mul")


# Verilog.


def awkward() -> Netlist:
    """Return a netlist whose names are keywords, clash, or need escapes."""
    library = {
        "wire": CellType("wire", ("reg", "do"), (("B", "~reg & do | 1'b0"),)),
        "$inv": CellType("$inv", ("b1",), (("n4", "~b1"),)),
    }
    cells = (
        Cell("reg", "wire", {"reg": 2, "do": 3, "B": 4}),
        Cell("n4", "$inv", {"b1": 4, "n4": 5}),
        Cell("a.b[0]", "$inv", {"b1": 1, "n4": 6}),
    )
    outputs = {"n5": (5, 4), "logic": (6,), "copy": (2, 1, 0, 5), "none": ()}
    return Netlist("top.x", {"reg": (2,), "ab": (3,), "void": ()}, outputs, cells, library)


def simulate_with_icarus(netlist: Netlist, vectors: list[dict[str, int]], tmp_path: Path) -> str:
    """Return the outputs of each vector as Icarus prints them, in hexadecimal."""

    def connect(ports: dict[str, tuple[int, ...]]) -> list[str]:
        return [f".\\{name} ({name}__)" for name, nets in ports.items() if nets]

    widths = {n: len(v) for n, v in (netlist.inputs | netlist.outputs).items() if v}
    outputs = [name for name in netlist.outputs if name in widths]
    lines = [
        "module bench;",
        *(f"reg [{w - 1}:0] {n}__;" for n, w in widths.items() if n in netlist.inputs),
        *(f"wire [{w - 1}:0] {n}__;" for n, w in widths.items() if n in netlist.outputs),
        f"\\{netlist.name} dut({', '.join(connect(netlist.inputs) + connect(netlist.outputs))});",
        "initial begin",
    ]
    for vector in vectors:
        lines += [f"{n}__ = {widths[n]}'d{code};" for n, code in vector.items() if n in widths]
        formats = " ".join(["%h"] * len(outputs))
        lines.append(f'#1 $display("{formats}", {", ".join(f"{n}__" for n in outputs)});')
    source = tmp_path / "bench.v"
    source.write_text("\n".join([*lines, "end", "endmodule", netlist.to_verilog()]))
    program = tmp_path / "bench.vvp"
    subprocess.run(["iverilog", "-g2012", "-Wall", "-o", program, source], check=True)
    run = subprocess.run(["vvp", "-n", program], check=True, capture_output=True, text=True)
    return run.stdout


@pytest.mark.skipif(not shutil.which("iverilog"), reason="needs Icarus Verilog")
@pytest.mark.parametrize(
    "netlist", [awkward(), adder(), random_netlist(1, 120, (4, 3, 1)), random_netlist(2, 60, (8,))]
)
def test_verilog_in_icarus_equals_evaluation(netlist: Netlist, tmp_path: Path) -> None:
    ports = {name: range(2 ** len(nets)) for name, nets in netlist.inputs.items()}
    vectors = [dict(zip(ports, codes, strict=True)) for codes in itertools.product(*ports.values())]
    printed = simulate_with_icarus(netlist, vectors, tmp_path).splitlines()
    assert len(printed) == len(vectors)
    names = [name for name, nets in netlist.outputs.items() if nets]
    for vector, line in zip(vectors, printed, strict=True):
        expected = evaluate(netlist, vector)
        assert [int(code, 16) for code in line.split()] == [expected[n] for n in names], vector


@pytest.mark.skipif(not shutil.which("verilator"), reason="needs Verilator")
@pytest.mark.parametrize("netlist", [awkward(), adder(), random_netlist(1, 120, (4, 3, 1))])
def test_verilog_passes_verilator(netlist: Netlist, tmp_path: Path) -> None:
    source = tmp_path / "netlist.v"
    source.write_text(netlist.to_verilog())
    subprocess.run(["verilator", "--lint-only", source], check=True)


def test_verilog_of_adder_is_this_text() -> None:
    text = (
        "module adder(a, b, y);\n"
        "  input [1:0] a;\n"
        "  input [1:0] b;\n"
        "  output [2:0] y;\n"
        "  wire n9;\n"
        "  wire n8;\n"
        "  wire n7;\n"
        "  wire n6;\n"
        "  FA high (.A(a[1]), .B(b[1]), .CI(n7), .S(n8), .CO(n9));\n"
        "  HA low (.A(a[0]), .B(b[0]), .S(n6), .CO(n7));\n"
        "  assign y[0] = n6;\n"
    )
    assert adder(cells=replaced()).to_verilog().startswith(text)


@pytest.mark.parametrize("name", ["a b", "a\nendmodule", "", "é"])
def test_name_that_verilog_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(NetlistError, match="Verilog cannot hold the name"):
        adder(name=name).to_verilog()


def test_netlist_named_as_its_cell_is_refused() -> None:
    with pytest.raises(NetlistError, match="netlist FA has the name of a cell type it uses"):
        adder(name="FA").to_verilog()
