"""The reference against a slow witness, ml_dtypes and the C library's fmaf."""

import ctypes
import ctypes.util
from collections.abc import Iterator
from itertools import cycle, product
from typing import Any

import gfloat
import gfloat.formats
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmacost.sim.codec import codes_of, decode
from fmacost.sim.formats import FixedFormat, FloatFormat, Format, Specials, parse_format
from fmacost.sim.operation import DETERMINISTIC, Kind, Operation, Overflow, Rounding, parse_unit
from fmacost.sim.reference import compute, flush_subnormals
from tests import witness
from tests.witness import small_formats, steady

POLICIES = [
    (rounding, overflow, daz, ftz)
    for rounding in DETERMINISTIC
    for overflow in (Overflow.IEEE, Overflow.SAT)
    for daz in (False, True)
    for ftz in (False, True)
]


def check(operation: Operation, *codes: Any) -> int:
    """Compare with the witness on each vector; return the number of vectors."""
    got = compute(operation, *codes).tolist()
    vectors = list(zip(*(c.tolist() for c in codes), strict=True))
    assert len(got) == len(vectors)
    for vector, code in zip(vectors, got, strict=True):
        expected = witness.compute(operation, *vector)
        assert code == expected, f"{operation} {[hex(c) for c in vector]}: {code:#x} {expected:#x}"
    return len(vectors)


@pytest.mark.parametrize(
    "unit",
    ["mul:e2m1fn,sr3", "add:e2m1fn,sr1", "mul:e2m2f,sr2", "mul:e1m2f,sr2", "add:e0m3f,sr2",
     "mul:e2m2fnuz,sr4", "add:e2m2fn,sr2,sat", "mul:e3m1ieee,sr3,daz,ftz", "fma:e2m1fn,sr2",
     "mul:e3m0f,sr2", "mul:e0m0f,sr1"],
)  # fmt: skip
def test_stochastic_rounding_on_every_input(unit: str) -> None:
    operation = parse_unit(unit)
    grids = np.meshgrid(*(codes_of(fmt) for fmt in operation.inputs), indexing="ij")
    assert check(operation, *(grid.ravel() for grid in grids)) == 1 << operation.input_bits


@pytest.mark.parametrize(
    "unit",
    ["fma:fp16,sr8", "fma:e4m3fn+fp32,sr16", "fma:fp32,sr10", "mul:int40->fp16,sr5",
     "fma:int30+int62->bf16,sr3"],
)  # fmt: skip
def test_stochastic_rounding_of_wide_units(unit: str) -> None:
    operation = parse_unit(unit)
    rng = np.random.default_rng(5)
    codes = sampled_input(operation, 400, 5)
    random = rng.integers(0, 1 << operation.random_bits, 400, dtype=np.uint64)
    assert check(operation, *codes, random) == 400


def test_stochastic_rounding_is_as_likely_as_the_part_that_is_dropped() -> None:
    """One and 3/8 of its last place goes up for three of eight random numbers."""
    operation = parse_unit("add:e4m3fn,sr3")
    one, part = 0x38, 0x14  # 1 and 3/64; after 1 comes 9/8
    results = compute(operation, np.full(8, one), np.full(8, part), np.arange(8, dtype=np.uint64))
    assert results.tolist() == [one] * 5 + [one + 1] * 3


def test_stochastic_rounding_equals_gfloat() -> None:
    """Every e4m3fn plus a part of its last place, down to subnormals, for every random number."""
    operation = parse_unit("add:fp32+fp32->e4m3fn,sr4")
    values = decode(parse_format("e4m3fn"), np.arange(126, dtype=np.uint64))
    sums = values[:, None] + np.linspace(0, 2**-4, 30) * np.maximum(values, 2.0**-6)[:, None]
    sums, random = np.broadcast_arrays(sums.astype(np.float32)[..., None], np.arange(16))
    sums, random = sums.ravel(), random.ravel().astype(np.uint64)
    codes = compute(operation, sums.view(np.uint32), np.zeros_like(random), random)
    got = decode(parse_format("e4m3fn"), codes)
    info = gfloat.formats.format_info_ocp_e4m3
    mode = gfloat.RoundMode.StochasticFastest
    wanted = [
        gfloat.round_float(info, float(v), mode, False, int(r), 4)
        for v, r in zip(sums, random, strict=True)
    ]
    assert len(got) == 126 * 30 * 16
    assert got.tolist() == wanted


def every_input(operation: Operation) -> list[Any]:
    """Return the codes of all inputs, one array for each operand."""
    grids = np.meshgrid(*(codes_of(fmt) for fmt in operation.operands), indexing="ij")
    return [grid.ravel() for grid in grids]


def sampled_input(operation: Operation, count: int, seed: int) -> list[Any]:
    """Return random codes, half of them with equal or near exponents and special codes."""
    rng = np.random.default_rng(seed)
    arrays = []
    for fmt in operation.operands:
        codes = random_codes(fmt, count, rng)
        specials = np.array(special_codes(fmt), codes.dtype)
        directed = rng.random(count) < 0.3
        arrays.append(np.where(directed, rng.choice(specials, count), codes))
    if isinstance(operation.operands[-1], FloatFormat):  # provoke cancellation and ties
        _bring_addend_near(operation, arrays, rng)
    return arrays


def random_codes(fmt: Format, count: int, rng: np.random.Generator) -> Any:
    if fmt.width <= 64:
        return rng.integers(0, 2**fmt.width - 1, count, np.uint64, endpoint=True)
    parts = [int.from_bytes(rng.bytes(fmt.width // 8 + 1), "little") for _ in range(count)]
    return np.array([part % 2**fmt.width for part in parts], object)


def special_codes(fmt: Format) -> list[int]:
    top = 1 << fmt.width - 1
    if isinstance(fmt, FixedFormat):
        return [0, 1, top - 1, top, 2 * top - 1]
    sizes = [0, 1, 2, fmt.max_code, max(fmt.max_code - 1, 0), top - 1]
    sizes += [(1 << fmt.frac_bits) - 1, 1 << fmt.frac_bits, (1 << fmt.frac_bits) + 1]
    if fmt.has_infinity:
        sizes += [fmt.inf_code, fmt.inf_code + 1, fmt.inf_code - 1]
    sizes = [size & (top - 1) for size in sizes]
    return [*sizes, *(size | top for size in sizes)]


def _bring_addend_near(operation: Operation, arrays: list[Any], rng: np.random.Generator) -> None:
    """Replace half of the addends by values near minus what they are added to."""
    first = Kind.MUL if operation.kind is Kind.FMA else None
    addend = operation.operands[-1]
    if first is None or not isinstance(addend, FloatFormat):
        return
    inner = Operation(Kind.MUL, operation.operands[:2], addend, Rounding.RNE, Overflow.SAT)
    near = compute(inner, *arrays[:2]) & np.uint64((1 << addend.width) - 1)
    near = near ^ np.uint64(1 << (addend.width - 1))
    near = (near + rng.integers(0, 3, len(near)).astype(np.uint64)) % np.uint64(1 << addend.width)
    arrays[-1] = np.where(rng.random(len(near)) < 0.4, near, arrays[-1])


# --- every small format --------------------------------------------------------------------------


def small_operations(policies: Iterator[Any]) -> Iterator[Operation]:
    for fmt, kind in product(small_formats(4), Kind):
        operands = (fmt,) * (3 if kind is Kind.FMA else 2)
        yield Operation(kind, operands, fmt)
        if fmt.width < 4 or kind is not Kind.FMA:
            yield Operation(kind, operands, fmt, *next(policies))


FAST = list(dict.fromkeys(small_operations(cycle(POLICIES[i * 7 % 40] for i in range(40)))))
EVERY = list(
    dict.fromkeys(
        Operation(kind, (fmt,) * (3 if kind is Kind.FMA else 2), fmt, *policy)
        for fmt, kind, policy in product(small_formats(4), Kind, POLICIES)
    )
)


@pytest.mark.parametrize("operation", FAST, ids=str)
def test_every_input_of_small_formats(operation: Operation) -> None:
    assert check(operation, *every_input(operation)) == 2**operation.input_bits


def thinned(operations: list[Operation]) -> list[Any]:
    """Return one in seven, which 40 policies do not divide, for slow tests, the rest for sweeps."""
    marks = (pytest.mark.sweep, pytest.mark.slow)
    return [pytest.param(op, marks=marks[i % 7 == 0]) for i, op in enumerate(operations)]


@pytest.mark.parametrize("operation", thinned(EVERY), ids=str)
def test_every_input_of_small_formats_in_every_mode(operation: Operation) -> None:
    assert check(operation, *every_input(operation)) == 2**operation.input_bits


@pytest.mark.slow
@pytest.mark.parametrize("first", small_formats(4), ids=str)
def test_every_pair_of_small_formats(first: FloatFormat) -> None:
    policies = cycle(POLICIES[i * 7 % 40] for i in range(40))
    count = 0
    for second, result in product(small_formats(4), small_formats(4)):
        operation = Operation(Kind.MUL, (first, second), result, *next(policies))
        count += check(operation, *every_input(operation))
        operation = Operation(Kind.ADD, (first, second), result, *next(policies))
        count += check(operation, *every_input(operation))
    assert count > 0


MIXED = [
    "fma:e2m1fn*e1m1fnuz+e2m1ieee",
    "fma:e2m1ieee*e2m1fn+e3m0f->e1m2f",
    "fma:e2m1ieee+e1m1fn->e2m1f,rup",
    "fma:e2m1ieee*e0m0f+e2m0fnuz->e0m0f,rdn",
    "fma:e2m1ieee->e0m3f,rmm",
    "fma:e2m1ieee->e1m0fn,rtz",
    "fma:e2m1ieee->e1m0fnuz",
    "fma:e0m0f*e0m0f+int2->int3",
    "fma:e0m0f->e0m2f",
    "fma:e0m3f*int3+int4",
    "fma:int3*e2m1f+e2m1ieee,rdn",
    "fma:int3*uint2+e2m1fnuz,rdn",
    "fma:int2*int2+e1m1f->e2m1f,rdn",
    "fma:e2m1ieee*int3+int4->fixed3.1,rmm",
    "fma:e2m1ieee*e1m2f+fixed2.2->fixed2.1,sat",
    "fma:e2m1ieee*e2m1ieee+fixed2.1->int3,rup",
    "fma:e2m1fn+e2m1ieee->fixed3.0,rdn,sat",
    "fma:e3m0fnuz+int4->uint3,sat",
    "fma:e3m0fnuz+int4->uint3,rtz",
    "fma:e1m1b3fn*e2m1b-3f+e0m2b5f->e2m1ieee,rup",
    "fma:e2m1b3ieee*e2m1fn+e2m1ieee,daz,rdn",
    "fma:e2m1ieee,daz,ftz,rup",
    "fma:e2m1fn*e2m1fn+e2m1ieee->fixed4.2,daz",
    "fma:int4",
    "fma:int3+int4,sat",
    "fma:uint3+uint4,sat",
    "fma:uint3*int2+int4->uint4,sat",
    "fma:fixed2.2+fixed3.1->fixed3.1",
    "fma:fixed2.2+fixed3.1->fixed2.1,rmm,sat",
    "fma:fixed1.3+fixed1.3->ufixed0.2,rup",
    "fma:int1*int1+uint1->int1",
    "fma:int4*int4+int4->e2m1fn",
    "fma:int4*int4+int4->e5m2,rdn",
    "add:int4+e2m1ieee,rdn",
    "add:e2m1ieee+int4,rtz",
    "add:e2m1ieee+e2m1fnuz->e3m0fn,ftz",
    "add:e2m1ieee+e2m1fn->uint2,sat",
    "add:fixed2.2+fixed3.3->fixed2.1",
    "add:int4+uint4->int3,sat",
    "mul:e2m1ieee*int4->int5",
    "mul:int4*int4->int5,sat",
    "mul:uint4*int4->uint5",
    "mul:e2m1ieee->fixed3.2,rup",
    "mul:int4*e0m0f->fp16,rup",
    "mul:e4m3fn*e2m1f->e0m0f,rup",
    "mul:e5m2*e2m1f->int64",
    "mul:e5m2*e0m1f->fixed60.40",
]


@pytest.mark.parametrize("text", MIXED)
def test_every_input_of_mixed_operations(text: str) -> None:
    operation = parse_unit(text)
    assert check(operation, *every_input(operation)) == 2**operation.input_bits


EIGHT_BITS = ["e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e3m2fn", "e2m3fn", "e0m7f", "e7m0fn"]
PAIRS = list(product(EIGHT_BITS, ["mul", "add"]))


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_eight_bit_pairs_at_a_stride(name: str, kind: str) -> None:
    operation = parse_unit(f"{kind}:{name}")
    a, b = every_input(operation)
    assert check(operation, a[::61], b[::61]) > 0


@pytest.mark.parametrize(
    "stride",
    [pytest.param(97, marks=pytest.mark.slow), pytest.param(19, marks=pytest.mark.sweep)],
)
@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_eight_bit_pairs_in_every_mode(name: str, kind: str, stride: int) -> None:
    fmt = parse_format(name)
    for start, policy in enumerate(POLICIES):
        operation = Operation(Kind(kind), (fmt, fmt), fmt, *policy)
        a, b = every_input(operation)
        assert check(operation, a[start::stride], b[start::stride]) > 0


# --- wide formats, sampled -----------------------------------------------------------------------

WIDE = [
    "fma:fp16",
    "fma:fp16,rtz",
    "fma:bf16",
    "fma:bf16,rup",
    "fma:bf16,rmm,sat,daz,ftz",
    "fma:fp32",
    "fma:fp32,rdn",
    "fma:fp32,rup,ftz",
    "fma:fp32,rtz",
    "fma:fp32,rmm,daz",
    "mul:fp32,rmm",
    "add:fp32,rtz",
    "mul:tf32",
    "mul:fp32->bf16",
    "fma:e4m3fn+fp32",
    "fma:e5m2+fp32->bf16,rdn",
    "fma:e4m3fn+fp16",
    "fma:e5m2",
    "fma:bf16*int8+fp32",
    "fma:int8+fp32,rup",
    "fma:int32*int16+bf16",
    "fma:int32*int32+fp32",
    "mul:int32*int32->fp32",
    "mul:int64*int64->bf16,rdn",
    "fma:int64*fp32+fp32,rup",
    "fma:int8+int32",
    "fma:int8+int32,sat",
    "fma:int32+int64,sat",
    "fma:int64",
    "fma:uint64+int64->uint64,sat",
    "fma:int16*fixed8.8+fixed20.12->fixed10.3,rmm,sat",
    "fma:e2m1fn+exact1",
    "fma:e2m1ieee+exact2",
    "fma:e4m3fn+exact32",
    "fma:e5m2+exact4096",
    "fma:e5m2+exact4096->fp32",
    "fma:e5m2+exact4096->e4m3fn,rup",
    "fma:fp32->int64,rtz,sat",
    "fma:fp32->fixed100.60,rne",
    "fma:fp16+exact8",
    "fma:e8m23b-127f*e8m23b300f+e8m23f",
    "add:e8m23b-127f+e8m23b300f->e8m23f,rup",
    "mul:e8m23b-127f->e8m23b-127f",
    "mul:e8m23b300f->e8m23b300f,rup",
]


@pytest.mark.parametrize("text", WIDE)
def test_samples_of_wide_operations(text: str) -> None:
    operation = parse_unit(text)
    assert check(operation, *sampled_input(operation, 80, seed=1)) == 80


@pytest.mark.slow
@pytest.mark.parametrize("text", WIDE)
def test_many_samples_of_wide_operations(text: str) -> None:
    operation = parse_unit(text)
    assert check(operation, *sampled_input(operation, 6000, seed=2)) == 6000


def test_fp32_equals_the_c_library() -> None:
    path = ctypes.util.find_library("m")
    if path is None:
        pytest.skip("no C library with fmaf here")
    fmaf = ctypes.CDLL(path).fmaf
    fmaf.argtypes, fmaf.restype = [ctypes.c_float] * 3, ctypes.c_float
    operation = parse_unit("fma:fp32")
    fp32 = parse_format("fp32")
    triples = np.array(list(product(special_codes(fp32), repeat=3)), np.uint64)
    arrays = [
        np.concatenate(pair)
        for pair in zip(triples.T, sampled_input(operation, 100_000, seed=3), strict=True)
    ]
    with np.errstate(invalid="ignore"):
        floats = [decode(fp32, codes).tolist() for codes in arrays]
    expected = np.fromiter(map(fmaf, *floats), np.float32)
    got = compute(operation, *arrays)
    assert len(expected) > 100_000
    nan = np.isnan(expected)
    assert set(got[nan].tolist()) == {0x7FC00000}
    np.testing.assert_array_equal(got[~nan], expected.view(np.uint32)[~nan])


# --- every triple of eight bits ------------------------------------------------------------------


def slabs(name: str) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield a, b, c codes and the fp32 results of all triples, one value of a at a time."""
    fmt = parse_format(name)
    codes = codes_of(fmt)
    values = decode(fmt, codes).astype(np.float32)
    b, c = (grid.ravel() for grid in np.meshgrid(codes, codes, indexing="ij"))
    with np.errstate(invalid="ignore"):
        for code in codes:
            a = np.full(b.shape, code)
            yield a, b, c, values[a.astype(int)] * values[b.astype(int)] + values[c.astype(int)]


@pytest.mark.slow
def test_every_e4m3fn_triple_equals_ml_dtypes() -> None:
    operation = parse_unit("fma:e4m3fn")
    count = 0
    for a, b, c, through_fp32 in slabs("e4m3fn"):
        got = compute(operation, a, b, c)
        with np.errstate(invalid="ignore", over="ignore"):
            cast = through_fp32.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
        expected = np.where(cast & 0x7F == 0x7F, 0x7F, cast)
        np.testing.assert_array_equal(got, expected)
        count += len(got)
    assert count == 2**24


@pytest.mark.slow
def test_e5m2_through_fp32_is_wrong_where_ours_is_exact() -> None:
    operation = parse_unit("fma:e5m2")
    count = different = 0
    for a, b, c, through_fp32 in slabs("e5m2"):
        got = compute(operation, a, b, c)
        with np.errstate(invalid="ignore", over="ignore"):
            cast = through_fp32.astype(ml_dtypes.float8_e5m2).view(np.uint8)
        expected = np.where(cast & 0x7F > 0x7C, 0x7E, cast)
        (where,) = np.nonzero(got != expected)
        different += check(operation, a[where], b[where], c[where])
        count += len(got)
    assert count == 2**24
    assert different == 18_960


# --- the policies --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "codes", "result"),
    [
        ("mul:e4m3fn->e0m0f", (0x00, 0x80), 1),  # -0 keeps its sign
        ("mul:e4m3fn->e0m0f,rdn", (0x00, 0x00), 1),  # +0 < 1
        ("mul:e4m3fn->e0m0f,rdn", (0x38, 0x37), 1),  # 0.9375 < 1
        ("mul:e4m3fn->e0m0f,rdn", (0x38, 0x38), 0),
        ("mul:e4m3fn->e0m0f,rup", (0x38, 0xB7), 0),  # -0.9375 > -1
        ("mul:e4m3fn->e0m0f,rup", (0x38, 0xB8), 1),
        ("mul:e4m3fn->e0m0f", (0x38, 0x7F), 0b10),  # NaN: code 0 and invalid
        ("add:e5m2->e2m1fn", (0x7C, 0x7C), 7),  # infinity saturates
        ("add:e5m2->e2m1fn", (0x7C, 0xFC), 0b10000),  # inf - inf
        ("add:e5m2->e4m3fn", (0x7C, 0x7C), 0x7F),  # no infinity, yet a NaN
        ("add:e5m2->e4m3fn,sat", (0xFC, 0xFC), 0xFE),
        ("add:e5m2->e5m2,sat", (0xFC, 0xFC), 0xFB),
        ("add:e5m2->int8", (0x7C, 0x7C), 0x100),  # infinity is no integer
        ("add:e5m2->int8,sat", (0x7C, 0x7C), 0x100),
        ("add:e5m2,rtz", (0x7B, 0x7B), 0x7B),  # directed modes stop at the largest
        ("add:e5m2,rdn", (0x7B, 0x7B), 0x7B),
        ("add:e5m2,rup", (0x7B, 0x7B), 0x7C),
        ("add:e5m2,rdn", (0xFB, 0xFB), 0xFC),
        ("add:e4m3fn,rtz", (0x7E, 0x7E), 0x7E),
        ("add:e4m3fn,rup", (0x7E, 0x7E), 0x7F),
        ("fma:int4*int4+e2m1ieee", (0xF, 0x0, 0x8), 0x8),  # (-1*0) + -0 = -0
        ("fma:int4*int4+e2m1ieee", (0x1, 0x0, 0x8), 0x0),
        ("fma:int4*int4+e2m1ieee,rdn", (0x1, 0x0, 0x8), 0x8),
        ("add:e4m3fnuz,rdn", (0x40, 0xC0), 0x00),  # no -0
        ("mul:e2m0fnuz->e3m0f", (0b01, 0b01), 0b0001),
    ],
)
def test_policies(text: str, codes: tuple[int, ...], result: int) -> None:
    operation = parse_unit(text)
    got = compute(operation, *(np.array([code], np.uint64) for code in codes))
    assert got.tolist() == [result]
    assert witness.compute(operation, *codes) == result


def test_integer_products_into_wide_floats_keep_zero() -> None:
    operation = parse_unit("mul:int64*int64->bf16")
    zero, minus = np.array([0], np.uint64), np.array([2**64 - 1], np.uint64)
    assert compute(operation, zero, zero).tolist() == [0]
    assert compute(operation, zero, minus).tolist() == [0x8000]


def test_flush_keeps_signs_and_normal_values() -> None:
    fmt = parse_format("e2m1ieee")
    values = flush_subnormals(fmt, decode(fmt, codes_of(fmt)))
    assert values[[1, 9]].tolist() == [0.0, -0.0]
    assert np.signbit(values[[1, 9]]).tolist() == [False, True]
    assert values[[2, 10]].tolist() == [1.0, -1.0]
    integers = np.array([1.0])
    assert flush_subnormals(parse_format("int4"), integers) is integers


# --- properties ----------------------------------------------------------------------------------

same_formats = st.sampled_from(["e4m3fn", "e5m2", "e3m4f", "bf16", "fp32", "e0m7f"])


def code_array(name: str, count: int) -> st.SearchStrategy[list[int]]:
    top = (1 << parse_format(name).width) - 1
    return st.lists(st.integers(0, top), min_size=count, max_size=count)


MIRRORED = {Rounding.RDN: Rounding.RUP, Rounding.RUP: Rounding.RDN}


@steady
@given(st.data(), same_formats, st.sampled_from(DETERMINISTIC))
def test_negating_all_terms_negates_the_result(
    data: st.DataObject, name: str, rounding: Rounding
) -> None:
    fmt = parse_format(name)
    a, b, c = (np.array([code], np.uint64) for code in data.draw(code_array(name, 3)))
    sign = np.uint64(1 << (fmt.width - 1))
    there = compute(Operation(Kind.FMA, (fmt,) * 3, fmt, rounding), a, b, c)
    mirrored = MIRRORED.get(rounding, rounding)
    back = compute(Operation(Kind.FMA, (fmt,) * 3, fmt, mirrored), a ^ sign, b, c ^ sign)
    np.testing.assert_array_equal(decode(fmt, there), -decode(fmt, back))


@steady
@given(st.data(), same_formats, st.sampled_from(DETERMINISTIC), st.sampled_from(["mul", "add"]))
def test_operands_commute(data: st.DataObject, name: str, rounding: Rounding, kind: str) -> None:
    fmt = parse_format(name)
    a, b = (np.array([code], np.uint64) for code in data.draw(code_array(name, 2)))
    operation = Operation(Kind(kind), (fmt, fmt), fmt, rounding)
    assert compute(operation, a, b).tolist() == compute(operation, b, a).tolist()


@steady
@given(st.data(), same_formats, st.sampled_from(DETERMINISTIC))
def test_addition_is_monotonic(data: st.DataObject, name: str, rounding: Rounding) -> None:
    fmt = parse_format(name)
    a, b, c = (np.array([code], np.uint64) for code in data.draw(code_array(name, 3)))
    operation = Operation(Kind.ADD, (fmt, fmt), fmt, rounding)
    codes = a, b, compute(operation, a, c), compute(operation, b, c)
    low, high, left, right = (float(decode(fmt, code)[0]) for code in codes)
    if not np.isnan([low, high, left, right]).any() and low <= high:
        assert left <= right


def test_shapes_broadcast_and_may_be_empty() -> None:
    operation = parse_unit("fma:e4m3fn")
    a, b = np.zeros((2, 1), np.uint64), np.zeros(3, np.uint64)
    assert compute(operation, a, b, b).shape == (2, 3)
    empty = np.zeros(0, np.uint64)
    assert compute(operation, empty, empty, empty).shape == (0,)
    wide = parse_unit("fma:int8*int8+fixed70.0")
    assert compute(wide, empty, empty, empty.astype(object)).shape == (0,)


def test_wrong_arguments_are_refused() -> None:
    operation = parse_unit("fma:e4m3fn")
    one, large = np.array([1], np.uint64), np.array([256], np.uint64)
    with pytest.raises(ValueError, match="takes 3 operands"):
        compute(operation, one, one)
    with pytest.raises(ValueError, match=r"0\.\.0xff"):
        compute(operation, one, large, one)


def test_every_suffix_is_among_the_small_formats() -> None:
    formats = small_formats(4)
    assert {fmt.specials for fmt in formats} == set(Specials)
    assert len(formats) == 22
