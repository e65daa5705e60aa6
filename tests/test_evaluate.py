"""Bit-parallel evaluation against one vector and one bit at a time."""

from __future__ import annotations

import itertools
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from fmacost.sim import evaluate as module
from fmacost.sim.evaluate import Program, exhaustive_planes, pack_planes, unpack_planes
from fmacost.sim.netlist import Cell, CellType, Netlist
from tests.test_netlist import LIBRARY, adder, awkward, random_netlist
from tests.test_netlist import evaluate as evaluate_vector

Ports: TypeAlias = dict[str, tuple[int, ...]]

# Planes.


def random_codes(width: int, count: int) -> NDArray[Any]:
    rng = random.Random(width * 1000 + count)
    codes = [rng.getrandbits(width) if width else 0 for _ in range(count)]
    return np.array(codes, dtype=object if width > 64 else np.uint64)


@pytest.mark.parametrize("width", [0, 1, 7, 8, 9, 31, 63, 64, 65, 100, 128])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 200])
def test_planes_hold_vector_j_in_bit_j(width: int, count: int) -> None:
    codes = random_codes(width, count)
    planes = pack_planes(codes, width)
    assert planes.dtype == np.uint64
    assert planes.shape == (width, -(-count // 64))
    for i, plane in enumerate(planes):
        expected = sum((int(code) >> i & 1) << j for j, code in enumerate(codes))
        assert sum(int(word) << 64 * w for w, word in enumerate(plane)) == expected
    unpacked = unpack_planes(planes, count)
    assert unpacked.dtype == codes.dtype
    np.testing.assert_array_equal(unpacked, codes)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, object, bool])
def test_pack_takes_any_integers(dtype: type) -> None:
    codes: NDArray[Any] = np.array([1, 0, 1, 1], dtype=dtype)
    assert pack_planes(codes, 1).tolist() == [[0b1101]]


@pytest.mark.parametrize(
    ("codes", "width", "message"),
    [
        ([4], 2, r"codes must be in 0\.\.2\*\*2 - 1, not 4\.\.4"),
        ([1], 0, r"codes must be in 0\.\.2\*\*0 - 1, not 1\.\.1"),
        ([-1, 3], 64, r"codes must be in 0\.\.2\*\*64 - 1, not -1\.\.3"),
        ([2**65], 65, "not 36893488147419103232"),
        ([[1]], 2, "codes must have 1 dimension, not 2"),
        ([0.5], 2, "codes must be integers, not float64"),
    ],
)
def test_pack_refuses(codes: object, width: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pack_planes(np.array(codes), width)


@pytest.mark.parametrize("count", [-1, 129])
def test_unpack_refuses_a_count_beyond_the_planes(count: int) -> None:
    with pytest.raises(ValueError, match=rf"count must be in 0\.\.128, not {count}"):
        unpack_planes(np.zeros((3, 2), np.uint64), count)


@pytest.mark.parametrize("width", [0, 1, 6, 7, 10, 13])
@pytest.mark.parametrize(("start", "words"), [(0, 1), (0, 16), (3, 9), (8, 8), (5, 0), (127, 2)])
def test_exhaustive_planes_count(width: int, start: int, words: int) -> None:
    codes: NDArray[np.uint64] = np.arange(
        64 * start, 64 * (start + words), dtype=np.uint64
    ) % np.uint64(2**width)
    np.testing.assert_array_equal(
        exhaustive_planes(width, start, words), pack_planes(codes, width).reshape(width, words)
    )


def test_exhaustive_planes_count_far_up() -> None:
    planes = exhaustive_planes(40, 2**33 + 5, 2)
    assert unpack_planes(planes, 128)[[0, 127]].tolist() == [64 * (2**33 + 5), 64 * (2**33 + 7) - 1]


# Programs.


def run_codes(netlist: Netlist, codes: dict[str, NDArray[Any]], count: int) -> dict[str, list[int]]:
    inputs = {name: pack_planes(codes[name], len(nets)) for name, nets in netlist.inputs.items()}
    outputs = Program.compile(netlist).run(inputs)
    return {name: unpack_planes(planes, count).tolist() for name, planes in outputs.items()}


def run_every_pattern(kind: CellType) -> dict[str, int]:
    """Return the truth table of each output, found by running the cell alone."""
    size = len(kind.inputs)
    pins = {pin: 2 + i for i, pin in enumerate(kind.pins)}
    inputs: Ports = {"x": tuple(pins[pin] for pin in kind.inputs)}
    outputs: Ports = {pin: (pins[pin],) for pin, _ in kind.outputs}
    netlist = Netlist("one", inputs, outputs, (Cell("u", kind.name, pins),), {kind.name: kind})
    words = -(-(1 << size) // 64)
    ran = Program.compile(netlist).run({"x": exhaustive_planes(size, 0, words)})
    return {
        pin: sum(int(bit) << i for i, bit in enumerate(unpack_planes(planes, 1 << size)))
        for pin, planes in ran.items()
    }


@pytest.mark.parametrize("kind", LIBRARY.values(), ids=lambda kind: kind.name)
def test_each_cell_equals_its_truth_table(kind: CellType) -> None:
    assert run_every_pattern(kind) == {pin: kind.truth_table(pin) for pin, _ in kind.outputs}


def sum_of_products(table: int, inputs: tuple[str, ...]) -> str:
    terms = [
        " & ".join(pin if pattern >> i & 1 else f"~{pin}" for i, pin in enumerate(inputs))
        for pattern in range(1 << len(inputs))
        if table >> pattern & 1
    ]
    return " | ".join(terms) or "1'b0"


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6])
def test_functions_of_up_to_six_inputs(size: int) -> None:
    inputs = tuple("abcdef"[:size])
    every = range(1 << (1 << size)) if size <= 3 else ()
    rng = random.Random(size)
    for table in (*every, *(rng.getrandbits(1 << size) for _ in range(40))):
        kind = CellType("T", inputs, (("Y", sum_of_products(table, inputs)),))
        assert kind.truth_table("Y") == table
        assert run_every_pattern(kind) == {"Y": table}


@pytest.mark.parametrize("seed", range(8))
def test_random_netlists_equal_scalar_evaluation(seed: int) -> None:
    netlist = random_netlist(seed, 20 * (seed + 1), (4, 3, 0, 2))
    every = list(itertools.product(*(range(2 ** len(n)) for n in netlist.inputs.values())))
    columns = np.array(every, dtype=np.uint64).T
    got = run_codes(netlist, dict(zip(netlist.inputs, columns, strict=True)), len(every))
    for j, codes in enumerate(every):
        expected = evaluate_vector(netlist, dict(zip(netlist.inputs, codes, strict=True)))
        assert {name: column[j] for name, column in got.items()} == expected


def test_ports_that_are_constants_inputs_or_empty() -> None:
    codes = {"reg": np.array([0, 1, 0, 1]), "ab": np.array([0, 0, 1, 1]), "void": np.zeros(4, int)}
    expected = [
        evaluate_vector(awkward(), {n: int(c[j]) for n, c in codes.items()}) for j in range(4)
    ]
    assert run_codes(awkward(), codes, 4) == {
        n: [e[n] for e in expected] for n in awkward().outputs
    }


def test_wide_adder_over_several_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", 4)  # 11 words: two whole chunks, then one that overlaps
    a, b = random_codes(2, 700), random_codes(2, 700) ^ np.uint64(1)
    assert run_codes(adder(), {"a": a, "b": b}, 700)["y"] == (a + b).tolist()


def test_no_vectors_and_no_inputs() -> None:
    empty = np.zeros((2, 0), np.uint64)
    assert Program.compile(adder()).run({"a": empty, "b": empty})["y"].shape == (3, 0)
    tie = Netlist("tie", {}, {"y": (2, 0)}, (Cell("u", "TIE1", {"Y": 2}),), LIBRARY)
    assert Program.compile(tie).run({})["y"].tolist() == [[2**64 - 1], [0]]


def test_one_program_in_two_threads() -> None:
    netlist = random_netlist(3, 200, (9, 5))
    shared = Program.compile(netlist)
    # NumPy lets other threads run during operations on more than 500 words.
    sizes = [4000] * 20 + [1, 50, 9000, 7]
    inputs = [exhaustive_planes(14, 11 * i, words) for i, words in enumerate(sizes)]

    def run(planes: NDArray[np.uint64], program: Program = shared) -> NDArray[np.uint64]:
        return np.concatenate([*program.run({"in0": planes[:9], "in1": planes[9:]}).values()])

    with ThreadPoolExecutor(2) as executor:
        results = list(executor.map(run, inputs))
    for planes, result in zip(inputs, results, strict=True):
        np.testing.assert_array_equal(result, run(planes, Program.compile(netlist)))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"a": (2, 1)}, r"inputs must be \['a', 'b'\], not \['a'\]"),
        ({"a": (2, 1), "b": (2, 1), "c": (2, 1)}, "inputs must be"),
        ({"a": (2, 1), "b": (1, 1)}, r"input b must be uint64 of shape \(2, 1\), .* \(1, 1\)"),
        ({"a": (2, 1), "b": (2, 3)}, r"input b must be uint64 of shape \(2, 1\), .* \(2, 3\)"),
        ({"a": (2, 1), "b": (2,)}, r"input b must be uint64 of shape"),
    ],
)
def test_run_refuses(inputs: dict[str, tuple[int, ...]], message: str) -> None:
    planes = {name: np.zeros(shape, np.uint64) for name, shape in inputs.items()}
    with pytest.raises(ValueError, match=message):
        Program.compile(adder()).run(planes)


def test_run_refuses_other_types() -> None:
    planes = {"a": np.zeros((2, 1), np.int64), "b": np.zeros((2, 1), np.uint64)}
    with pytest.raises(ValueError, match=r"input a must be uint64 of shape .* not int64"):
        Program.compile(adder()).run(planes)  # type: ignore[arg-type]


# Cost: what makes a run fast is the number of operations.


def operations(*cells: Cell) -> list[str]:
    inputs: Ports = {"x": tuple(range(2, 7))}
    outputs: Ports = {
        f"y{i}": (net,)
        for i, net in enumerate(n for c in cells for n in c.pins.values())
        if net > 6
    }
    netlist = Netlist("cost", inputs, outputs, cells, LIBRARY)
    return sorted(
        gate.__name__.removeprefix("bitwise_") for gate, _ in Program.compile(netlist).operations
    )


def test_full_adder_takes_five_operations() -> None:
    assert operations(Cell("u", "FA", {"A": 2, "B": 3, "CI": 4, "CO": 7, "S": 8})) == [
        "and", "and", "xor", "xor", "xor",
    ]  # fmt: skip


def test_inversions_cost_nothing() -> None:
    cells = (
        Cell("u", "NAND2", {"A": 2, "B": 3, "Y": 7}),
        Cell("v", "NAND2", {"A": 4, "B": 5, "Y": 8}),
        Cell("w", "NAND2", {"A": 7, "B": 8, "Y": 9}),
        Cell("x", "XNOR2", {"A": 7, "B": 9, "Y": 10}),
        Cell("y", "MUXI2", {"A": 10, "B": 9, "S": 7, "Y": 11}),
    )
    assert "invert" not in operations(*cells)


def test_equal_gates_are_computed_once() -> None:
    cells = (
        Cell("u", "NAND2", {"A": 2, "B": 3, "Y": 7}),
        Cell("v", "HA", {"A": 3, "B": 2, "CO": 8, "S": 9}),
        Cell("w", "XNOR2", {"A": 2, "B": 3, "Y": 10}),
    )
    assert operations(*cells) == ["and", "xor"]


def test_what_no_output_needs_is_not_computed() -> None:
    netlist = adder(outputs={"y": (6,)})
    assert len(Program.compile(netlist).operations) == 1
