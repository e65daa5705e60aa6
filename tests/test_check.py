import os
import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from fmacost.sim import check
from fmacost.sim.check import Counterexample, verify
from fmacost.sim.netlist import Cell, CellType, Netlist
from fmacost.sim.operation import Operation, parse_unit
from fmacost.sim.reference import compute

NARROW = ["mul:e1m0f", "mul:int2", "add:e2m1fn", "fma:e1m0f", "fma:int3", "mul:int1", "mul:e0m0f"]
WIDE_LAST = [  # the last operand fills whole words
    "mul:int3*int6->int5",
    "mul:e1m0fn*e2m3fn->int4",
    "fma:int2+int6",
    "fma:e1m1f*int1+e3m2fn",
    "fma:e1m0fn+int6",  # the product may be NaN: an output invalid
    "fma:e1m1f*e0m0f+e3m2fn,rdn,daz",
    "add:e1m0f+e4m3fn,rup",
]


def from_truth_table(operation: Operation) -> Netlist:
    """Build one cell for each output bit out of the reference's results."""
    widths = operation.input_widths
    vectors = np.arange(1 << operation.input_bits, dtype=np.uint64)
    operands, shift = {}, 0
    for name, width in widths.items():
        operands[name] = vectors >> np.uint64(shift) & np.uint64((1 << width) - 1)
        shift += width
    results = compute(operation, *operands.values())
    pins = [f"{name}{i}" for name, width in widths.items() for i in range(width)]
    nets = iter(range(2, 100))
    inputs = {name: tuple(next(nets) for _ in range(width)) for name, width in widths.items()}
    connected = dict(zip(pins, (net for port in inputs.values() for net in port), strict=True))
    cells, library, outputs = [], {}, []
    for bit in range(operation.output_bits):
        ones = [v for v, result in enumerate(results.tolist()) if result >> bit & 1]
        terms = ["&".join(p if v >> i & 1 else f"~{p}" for i, p in enumerate(pins)) for v in ones]
        function = "|".join(terms) or "1'b0"
        library[f"BIT{bit}"] = CellType(f"BIT{bit}", tuple(pins), (("Y", function),))
        outputs.append(next(nets))
        cells.append(Cell(f"cell{bit}", f"BIT{bit}", {**connected, "Y": outputs[-1]}))
    width = operation.result.width
    ports = {"result": tuple(outputs[:width])}
    if operation.has_invalid:
        ports["invalid"] = tuple(outputs[width:])
    return Netlist("table", inputs, ports, tuple(cells), library)


def with_wrong_vector(netlist: Netlist, bit: int, vector: int) -> Netlist:
    """Flip one output bit for one input; ``vector`` has the first operand in its lowest bits."""
    good = netlist.library[f"BIT{bit}"]
    term = "&".join(p if vector >> i & 1 else f"~{p}" for i, p in enumerate(good.inputs))
    bad = CellType(good.name, good.inputs, (("Y", f"({good.outputs[0][1]})^({term})"),))
    return replace(netlist, library={**netlist.library, good.name: bad})


def split(operation: Operation, vector: int) -> tuple[int, ...]:
    codes = []
    for width in operation.input_widths.values():
        codes.append(vector & ((1 << width) - 1))
        vector >>= width
    return tuple(codes)


@pytest.fixture(scope="module")
def ripple_int8() -> Netlist:
    """An array multiplier whose first row of sums starts from c, modulo 256."""
    library = {
        "AND2": CellType("AND2", ("A", "B"), (("Y", "A&B"),)),
        "FA": CellType("FA", ("A", "B", "C"), (("S", "A^B^C"), ("CO", "A&B|A&C|B&C"))),
    }
    nets = iter(range(2, 1000))
    inputs = {name: tuple(next(nets) for _ in range(8)) for name in "abc"}
    total, cells = list(inputs["c"]), []
    for i in range(8):
        carry = 0
        for j in range(8 - i):
            bit, added, carried = next(nets), next(nets), next(nets)
            pins = {"A": inputs["a"][j], "B": inputs["b"][i], "Y": bit}
            cells.append(Cell(f"and{i}_{j}", "AND2", pins))
            pins = {"A": total[i + j], "B": bit, "C": carry, "S": added, "CO": carried}
            cells.append(Cell(f"add{i}_{j}", "FA", pins))
            total[i + j], carry = added, carried
    return Netlist("ripple", inputs, {"result": tuple(total)}, tuple(cells), library)


def mutants(netlist: Netlist) -> Iterator[Netlist]:
    """Swap an AND for an OR, or cut a carry, one at a time."""
    library = {**netlist.library, "OR2": CellType("OR2", ("A", "B"), (("Y", "A|B"),))}
    for i, cell in enumerate(netlist.cells):
        if cell.type == "AND2":
            wrong = replace(cell, type="OR2")
        else:
            wrong = replace(cell, pins={**cell.pins, "C": 1 - min(cell.pins["C"], 1)})
        cells = (*netlist.cells[:i], wrong, *netlist.cells[i + 1 :])
        yield replace(netlist, cells=cells, library=library)


@pytest.mark.parametrize("unit", NARROW + WIDE_LAST)
def test_a_right_netlist_passes_on_every_input(unit: str) -> None:
    operation = parse_unit(unit)
    verification = verify(operation, from_truth_table(operation))
    assert verification.method == "exhaustive"
    assert verification.vectors == 1 << operation.input_bits > 0
    assert verification.mismatches == 0
    assert verification.counterexample is None


@pytest.mark.parametrize("unit", NARROW + WIDE_LAST)
def test_one_wrong_bit_is_found_wherever_it_is(unit: str) -> None:
    operation = parse_unit(unit)
    right = from_truth_table(operation)
    rng = np.random.default_rng(0)
    last = (1 << operation.input_bits) - 1
    for vector in (0, last, *rng.integers(0, last, 3).tolist()):
        bit = int(rng.integers(operation.output_bits))
        verification = verify(operation, with_wrong_vector(right, bit, vector))
        codes = split(operation, vector)
        expected = int(compute(operation, *(np.array([c], np.uint64) for c in codes))[0])
        assert verification.mismatches == 1
        assert verification.vectors == last + 1
        assert verification.counterexample == Counterexample(codes, expected, expected ^ 1 << bit)


@pytest.mark.parametrize("unit", ["fma:int2+int6", "fma:int3"])
def test_small_blocks_give_the_same(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operation = parse_unit(unit)
    netlist = from_truth_table(operation)
    for vector in (3, 77, 200):
        netlist = with_wrong_vector(netlist, 0, vector)
    whole = verify(operation, netlist)
    monkeypatch.setattr(check, "_BLOCK_BITS", 6)
    monkeypatch.setattr(check, "_PIECE", 16)
    calls: list[tuple[int, int]] = []
    assert verify(operation, netlist, progress=lambda *call: calls.append(call)) == whole
    assert whole.mismatches == 3
    total = 1 << operation.input_bits
    assert calls == [(done, total) for done in range(64, total + 1, 64)]


def test_the_counterexample_has_the_smallest_codes() -> None:
    operation = parse_unit("fma:int2+int6")
    netlist = from_truth_table(operation)
    wrong = [(1, 3, 9), (1, 2, 60), (3, 0, 0), (1, 2, 61)]
    for a, b, c in wrong:
        netlist = with_wrong_vector(netlist, 2, a | b << 2 | c << 4)
    verification = verify(operation, netlist)
    assert verification.mismatches == len(wrong)
    assert verification.counterexample is not None
    assert verification.counterexample.operands == (1, 2, 60)


def test_all_inputs_of_fma_int8(ripple_int8: Netlist) -> None:
    verification = verify(parse_unit("fma:int8"), ripple_int8)
    assert (verification.method, verification.vectors) == ("exhaustive", 1 << 24)
    assert verification.mismatches == 0


def test_wrong_gates_are_caught_on_all_inputs(ripple_int8: Netlist) -> None:
    for mutant in list(mutants(ripple_int8))[::13]:
        assert verify(parse_unit("fma:int8"), mutant).mismatches > 0


def sign_extended(netlist: Netlist) -> Netlist:
    """Give c, whose higher bits do not matter modulo 256, a ninth bit."""
    c = (*netlist.inputs["c"], 5000)
    return replace(netlist, inputs={**netlist.inputs, "c": c})


def test_a_sample_passes_and_catches_wrong_gates(ripple_int8: Netlist) -> None:
    operation = parse_unit("fma:int8+int9->int8")  # 25 bits
    netlist = sign_extended(ripple_int8)
    verification = verify(operation, netlist)
    assert verification.method == "sampled"
    assert verification.mismatches == 0
    assert verification.vectors > 30_000
    assert verification.regions["cancellation"] >= 10_000
    assert verification.regions["overflow"] >= 10_000
    for mutant in list(mutants(netlist))[::2]:
        found = verify(operation, mutant, vectors_per_region=100)
        assert found.vectors > 0
        assert found.mismatches > 0
        example = found.counterexample
        assert example is not None
        codes = [np.array([c], np.uint64) for c in example.operands]
        assert compute(operation, *codes).tolist() == [example.expected] != [example.got]


def test_exhaustive_on_request(ripple_int8: Netlist) -> None:
    verification = verify(
        parse_unit("fma:int8+int9->int8"), sign_extended(ripple_int8), exhaustive=True
    )
    assert (verification.method, verification.vectors) == ("exhaustive", 1 << 25)
    assert verification.mismatches == 0


def test_samples_depend_on_the_seed_alone(ripple_int8: Netlist) -> None:
    operation = parse_unit("fma:int8+int9->int8")
    wrong = next(mutants(sign_extended(ripple_int8)))
    results = [verify(operation, wrong, seed=seed, vectors_per_region=500) for seed in (0, 0, 1)]
    assert results[0] == results[1]
    assert results[0].mismatches != results[2].mismatches


@pytest.mark.parametrize("where", ["first", "last"])
def test_an_interrupt_stops_the_threads(
    where: str, ripple_int8: Netlist, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "_BLOCK_BITS", 16)
    before = threading.active_count()
    calls = []

    def interrupt(done: int, total: int) -> None:
        assert threading.current_thread() is threading.main_thread()
        calls.append(done)
        if where == "first" or done == total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify(parse_unit("fma:int8"), ripple_int8, progress=interrupt)
    assert len(calls) == (1 if where == "first" else 256)
    assert threading.active_count() == before


def test_an_error_in_a_thread_is_raised(
    ripple_int8: Netlist, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(check._Comparison, "_results", broken)
    with pytest.raises(MemoryError, match="no room"):
        verify(parse_unit("fma:int8"), ripple_int8)


def test_one_processor_will_do(ripple_int8: Netlist, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert verify(parse_unit("fma:int8"), ripple_int8).mismatches == 0


def test_describe_shows_codes_and_values() -> None:
    example = Counterexample((0x38, 0xB9, 0x80), 0xB9, 0x7F)
    assert example.describe(parse_unit("fma:e4m3fn")).splitlines() == [
        "fma:e4m3fn: the netlist differs from the reference",
        "  a        0x38  1",
        "  b        0xb9  -1.125",
        "  c        0x80  -0",
        "  expected 0xb9  -1.125",
        "  got      0x7f  NaN",
    ]


def test_describe_shows_integers_infinities_and_invalid() -> None:
    integers = Counterexample((0xFF, 0x80, 0x7FFFFFFF), 0x8000007F, 0)
    text = integers.describe(parse_unit("fma:int8+int32"))
    assert "  b        " in text
    for value in (
        " 0xff  -1",
        " 0x80  -128",
        " 2147483647",
        " 0x8000007f  -2147483521",
        " 0x00000000  0",
    ):
        assert value in text
    invalid = Counterexample((0xFC, 0x01), 0x10, 0x03)
    text = invalid.describe(parse_unit("mul:e5m2*int4->int4"))
    assert text.splitlines()[1:] == [
        "  a        0xfc  -inf",
        "  b         0x1  1",
        "  expected  0x0  0, invalid",
        "  got       0x3  3",
    ]
    wide = Counterexample((0x01, 0x01, 1 << 69), 1 << 69 | 1, 1 << 69)
    assert "  got      0x200000000000000000  -137438953472" in wide.describe(
        parse_unit("fma:e5m2+exact32")
    )


def test_ports_must_fit(ripple_int8: Netlist) -> None:
    fits = from_truth_table(parse_unit("fma:e1m0fn+int6"))
    cases = [
        (
            "fma:int8->int9",
            ripple_int8,
            "output result of netlist ripple must have 9 bits .*, not 8",
        ),
        ("mul:int8->int8", ripple_int8, "netlist ripple has an input c that mul:int8->int8 has no"),
        ("fma:int8+int9", ripple_int8, "input c of netlist ripple must have 9 bits .*, not 8"),
        ("fma:int1", replace(fits, inputs={}, outputs={}, cells=()), "has no input a"),
        ("fma:e1m0f+int6", fits, "has an output invalid that fma:e1m0f"),
        ("fma:e1m0fn+int6", replace(fits, outputs={"result": fits.outputs["result"]}), "no output"),
    ]
    for unit, netlist, message in cases:
        with pytest.raises(ValueError, match=message):
            verify(parse_unit(unit), netlist)


def test_too_many_inputs_are_refused(ripple_int8: Netlist) -> None:
    operation = parse_unit("fma:int8+int32->int8")
    nets = (*ripple_int8.inputs["c"], *range(5000, 5024))
    netlist = replace(ripple_int8, inputs={**ripple_int8.inputs, "c": nets})
    with pytest.raises(ValueError, match=r"has 2\^48 inputs, .* at most 2\^32"):
        verify(operation, netlist, exhaustive=True)
