"""Decode and encode: a slow witness on every small format, ml_dtypes and gfloat on the rest."""

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import gfloat
import gfloat.formats
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmacost.sim.codec import (
    check_codes,
    codes_of,
    decode,
    encode,
    encode_fixed,
    encode_integers,
    round_shifted,
)
from fmacost.sim.formats import FixedFormat, FloatFormat, Specials, parse_format
from fmacost.sim.operation import DETERMINISTIC, Overflow, Rounding
from tests import witness
from tests.witness import Extended, extended, last_rung, rung, small_formats, steady

FLOAT_POLICIES = [Overflow.IEEE, Overflow.SAT]
FIXED_POLICIES = [Overflow.WRAP, Overflow.SAT]
INFINITY, NAN = float("inf"), float("nan")


def a_float(name: str) -> FloatFormat:
    fmt = parse_format(name)
    assert isinstance(fmt, FloatFormat)
    return fmt


def interesting_sizes(fmt: FloatFormat) -> list[Fraction]:
    """Every size, every midpoint, their close neighbours, and what lies beyond the largest."""
    places = [rung(fmt, index) for index in range(last_rung(fmt) + 3)]
    middles = [(low + high) / 2 for low, high in pairwise(places)]
    largest, smallest = places[-1], Fraction(2) ** fmt.quantum_exponent
    close = [
        size + sign * (size or smallest) / 2**20
        for size in (*places, *middles)
        for sign in (-1, 0, 1)
    ]
    far = [largest * 3, largest * 2**40, smallest * Fraction(5, 16), smallest / 2**40, Fraction(0)]
    return [size for size in (*close, *far) if size >= 0]


def interesting_values(fmt: FloatFormat) -> list[float]:
    sizes = [float(size) for size in interesting_sizes(fmt)]
    assert [Fraction(size) for size in sizes] == interesting_sizes(fmt)
    return [*sizes, *(-size for size in sizes), INFINITY, -INFINITY, NAN]


def as_extended(value: float) -> Extended | None:
    if np.isnan(value):
        return None
    size = None if np.isinf(value) else abs(Fraction(value))
    return Extended(bool(np.signbit(value)), size)


def check_encode(fmt: FloatFormat) -> int:
    """Compare every mode and policy with the witness; return the number of comparisons."""
    values = interesting_values(fmt)
    array, exact = np.array(values), [as_extended(value) for value in values]
    count = 0
    for rounding in DETERMINISTIC:
        for overflow in FLOAT_POLICIES:
            for ftz in (False, True):
                got = encode(fmt, array, rounding, overflow, ftz=ftz).tolist()
                expected = [
                    witness.round_float(fmt, e, rounding, overflow, ftz) or 0 for e in exact
                ]
                assert got == expected, f"{fmt} {rounding} {overflow} ftz={ftz}"
                count += len(got)
    return count


@pytest.mark.parametrize("fmt", small_formats(4), ids=str)
def test_encode_equals_the_witness_on_every_small_format(fmt: FloatFormat) -> None:
    assert check_encode(fmt) > 0


@pytest.mark.parametrize("name", ["e2m1b4f", "e0m2b-3f", "e0m0b2f", "e2m0b-100fnuz", "e1m1b300fn"])
def test_encode_equals_the_witness_with_a_bias(name: str) -> None:
    assert check_encode(a_float(name)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("fmt", small_formats(7), ids=str)
def test_encode_equals_the_witness_up_to_7_bits(fmt: FloatFormat) -> None:
    assert check_encode(fmt) > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e4m3ieee", "e3m4f"])
def test_encode_equals_the_witness_in_8_bits(name: str) -> None:
    assert check_encode(a_float(name)) > 0


@pytest.mark.parametrize("fmt", small_formats(4), ids=str)
def test_encode_integers_equals_the_witness(fmt: FloatFormat) -> None:
    sizes = interesting_sizes(fmt)
    exponent = min(-(size.denominator.bit_length() - 1) for size in sizes)
    counts = [int(size / Fraction(2) ** exponent) for size in sizes]
    integers = np.array(counts * 2, dtype=object)
    negative = np.arange(len(integers)) >= len(counts)
    exact = [Extended(bool(sign), s) for s, sign in zip(sizes * 2, negative, strict=True)]
    assert len(exact) > 0
    for rounding in DETERMINISTIC:
        for overflow in FLOAT_POLICIES:
            ftz = rounding in (Rounding.RNE, Rounding.RUP)
            got = encode_integers(
                fmt, integers, negative, exponent, rounding, overflow, ftz=ftz
            ).tolist()
            expected = [witness.round_float(fmt, e, rounding, overflow, ftz) for e in exact]
            assert got == expected, f"{fmt} {rounding} {overflow}"


def test_encode_integers_rounds_what_no_double_holds() -> None:
    bf16 = a_float("bf16")
    half = 2**127 + 2**119  # a tie
    integers = np.array([half, half + 1, half - 1, 3 * half, 0], dtype=object)
    negative = np.array([False, False, True, False, True])
    got = encode_integers(bf16, integers, negative, 0).tolist()
    exact = [extended(Fraction(int(i))) for i in integers]
    signed = [Extended(bool(n), e.size) for n, e in zip(negative, exact, strict=True)]
    assert got == [witness.round_float(bf16, value) for value in signed]


@pytest.mark.parametrize("rounding", DETERMINISTIC)
@pytest.mark.parametrize("name", ["int1", "int3", "uint1", "uint2", "fixed2.1", "ufixed0.2"])
def test_encode_fixed_equals_the_witness(name: str, rounding: Rounding) -> None:
    fmt = parse_format(name)
    assert isinstance(fmt, FixedFormat)
    for exponent, overflow in product((-5, -2, 0, 3), FIXED_POLICIES):
        integers = np.arange(-80, 81)
        exact = [extended(int(i) * Fraction(2) ** exponent) for i in integers]
        expected = [witness.round_fixed(fmt, value, rounding, overflow) for value in exact]
        for array in (integers, integers.astype(object)):
            got = encode_fixed(fmt, array, exponent, rounding, overflow)
            assert got.tolist() == expected


@pytest.mark.parametrize("rounding", DETERMINISTIC)
@pytest.mark.parametrize("name", ["int63", "int64", "uint64", "fixed60.20", "fixed1.99"])
def test_encode_wide_fixed_equals_the_witness(name: str, rounding: Rounding) -> None:
    fmt = parse_format(name)
    assert isinstance(fmt, FixedFormat)
    edge = 1 << fmt.width - 1
    integers = [sign * (base + d) for base in (0, edge, 2 * edge) for d in range(-3, 4)
                for sign in (1, -1)]  # fmt: skip
    for overflow in FIXED_POLICIES:
        for exponent in (fmt.quantum_exponent, fmt.quantum_exponent - 1, fmt.quantum_exponent + 2):
            got = encode_fixed(fmt, np.array(integers, object), exponent, rounding, overflow)
            exact = [extended(i * Fraction(2) ** exponent) for i in integers]
            expected = [witness.round_fixed(fmt, value, rounding, overflow) for value in exact]
            assert got.tolist() == expected


def test_the_smallest_double_still_rounds_up_in_a_coarse_format() -> None:
    fmt = a_float("e8m23b-127f")
    tiny = np.array([5e-324, -5e-324, 0.0])
    assert encode(fmt, tiny, Rounding.RUP).tolist() == [1, 1 << 31, 0]
    assert encode(fmt, tiny, Rounding.RDN).tolist() == [0, (1 << 31) + 1, 0]


# --- other people's formats ----------------------------------------------------------------------

ML_DTYPES: dict[str, Any] = {
    "e4m3fn": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "e4m3ieee": ml_dtypes.float8_e4m3,
    "e3m4ieee": ml_dtypes.float8_e3m4,
    "e3m2fn": ml_dtypes.float6_e3m2fn,
    "e2m3fn": ml_dtypes.float6_e2m3fn,
    "e2m1fn": ml_dtypes.float4_e2m1fn,
    "bf16": ml_dtypes.bfloat16,
    "fp16": np.float16,
}


def float32_samples(fmt: FloatFormat) -> Any:
    """Values, midpoints, their fp32 neighbours, and fp32 codes at a stride, as float64."""
    every = np.arange(0, 2**32, 1021 * 16, dtype=np.uint32).view(np.float32)
    finite = decode(fmt, codes_of(fmt)[:: 1 if fmt.width <= 8 else 37])
    finite = np.sort(finite[np.isfinite(finite)])
    middles = (finite[1:] + finite[:-1]) / 2
    beyond = [1.5 * finite[-1], -1.5 * finite[-1], INFINITY]
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.concatenate([finite, middles, beyond]).astype(np.float32)
        sides = [np.nextafter(near, np.float32(sign * INFINITY)) for sign in (1, -1)]
        values = np.concatenate([every, near, *sides]).astype(np.float64)
    return values if fmt.has_nan else values[~np.isnan(values)]


@pytest.mark.parametrize("name", ML_DTYPES)
def test_rne_equals_ml_dtypes_casts(name: str) -> None:
    fmt = a_float(name)
    values = float32_samples(fmt)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = values.astype(np.float32).astype(ML_DTYPES[name]).astype(np.float64)
    got = decode(fmt, encode(fmt, values))
    assert len(got) > 1000
    np.testing.assert_array_equal(got, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(expected)[numbers])


def gfloat_format(fmt: FloatFormat) -> gfloat.FormatInfo:
    return gfloat.FormatInfo(
        fmt.name,
        fmt.width,
        fmt.precision,
        bias=fmt.bias,
        is_signed=True,
        domain=gfloat.Domain.Extended if fmt.has_infinity else gfloat.Domain.Finite,
        has_nz=fmt.has_negative_zero,
        num_high_nans={Specials.IEEE: 2**fmt.frac_bits - 1, Specials.FN: 1}.get(fmt.specials, 0),
        has_subnormals=True,
        is_twos_complement=False,
    )


GFLOAT_MODES = {
    Rounding.RNE: gfloat.RoundMode.TiesToEven,
    Rounding.RTZ: gfloat.RoundMode.TowardZero,
    Rounding.RDN: gfloat.RoundMode.TowardNegative,
    Rounding.RUP: gfloat.RoundMode.TowardPositive,
    Rounding.RMM: gfloat.RoundMode.TiesToAway,
}


@pytest.mark.parametrize("overflow", FLOAT_POLICIES)
@pytest.mark.parametrize("rounding", DETERMINISTIC)
@pytest.mark.parametrize("name", ["e4m3fn", "e5m2", "e4m3fnuz", "e2m1fn", "e2m3fn", "fp16"])
def test_every_mode_equals_gfloat(name: str, rounding: Rounding, overflow: Overflow) -> None:
    fmt = a_float(name)
    info, mode = gfloat_format(fmt), GFLOAT_MODES[rounding]
    saturates = overflow is Overflow.SAT or not fmt.has_nan
    if fmt.width <= 8:
        values = np.array(interesting_values(fmt))[::3]
    else:
        values = float32_samples(fmt)[::3001]
    if not fmt.has_nan:
        values = values[~np.isnan(values)]
    expected = [gfloat.round_float(info, float(v), mode, saturates) for v in values]
    assert len(expected) > 20
    got = decode(fmt, encode(fmt, values, rounding, overflow))
    np.testing.assert_array_equal(got, expected)


# --- properties ----------------------------------------------------------------------------------

some_formats = st.sampled_from(
    [a_float(n) for n in ("e4m3fn", "e5m2", "e4m3fnuz", "e0m0f", "e0m4f", "e3m0f", "e1m0fn", "bf16",
                          "fp16", "fp32", "tf32", "e8m23b-127f", "e8m23b300f")]
)  # fmt: skip
doubles = st.floats(allow_nan=False) | st.floats(-500, 500)


@steady
@given(some_formats, st.sampled_from(DETERMINISTIC), doubles, doubles)
def test_rounding_is_monotonic(fmt: FloatFormat, rounding: Rounding, x: float, y: float) -> None:
    pair = np.array(sorted([x, y]))
    low, high = decode(fmt, encode(fmt, pair, rounding, Overflow.SAT))
    if fmt.is_sign_only and pair[0] == pair[1] == 0:
        return  # there the sign of a zero counts
    assert low <= high


MIRRORED = {Rounding.RDN: Rounding.RUP, Rounding.RUP: Rounding.RDN}


@steady
@given(some_formats, st.sampled_from(DETERMINISTIC), st.sampled_from(FLOAT_POLICIES), doubles)
def test_rounding_is_symmetric(
    fmt: FloatFormat, rounding: Rounding, overflow: Overflow, x: float
) -> None:
    there = decode(fmt, encode(fmt, np.array([x]), rounding, overflow))
    mirrored = MIRRORED.get(rounding, rounding)
    back = decode(fmt, encode(fmt, np.array([-x]), mirrored, overflow))
    np.testing.assert_array_equal(there, -back)


@steady
@given(some_formats, doubles)
def test_directed_modes_enclose(fmt: FloatFormat, x: float) -> None:
    if fmt.is_sign_only or np.isinf(x) or abs(Fraction(x)) > fmt.max_value:
        return
    value = np.array([x])
    results = {m: float(decode(fmt, encode(fmt, value, m))[0]) for m in DETERMINISTIC}
    assert results[Rounding.RDN] <= x <= results[Rounding.RUP]
    assert abs(results[Rounding.RTZ]) <= abs(x)
    ends = {results[Rounding.RDN], results[Rounding.RUP]}
    assert {results[Rounding.RNE], results[Rounding.RMM], results[Rounding.RTZ]} <= ends


@pytest.mark.parametrize("fmt", [*small_formats(5), a_float("e4m3fn"), a_float("fp16")], ids=str)
def test_values_of_the_format_encode_to_themselves(fmt: FloatFormat) -> None:
    codes = codes_of(fmt)
    values = decode(fmt, codes)
    numbers = ~np.isnan(values)
    assert numbers.sum() > 0
    for rounding in DETERMINISTIC:
        got = encode(fmt, values, rounding)
        np.testing.assert_array_equal(got[numbers], codes[numbers])
        if fmt.has_nan:
            assert set(got[~numbers].tolist()) == {fmt.nan_code}


def test_shapes_are_kept() -> None:
    fmt = a_float("e4m3fn")
    assert encode(fmt, np.zeros((2, 0, 3))).shape == (2, 0, 3)
    assert decode(fmt, np.zeros((3, 1), np.uint64)).shape == (3, 1)
    assert encode(fmt, np.zeros(())).shape == ()
    assert encode(fmt, np.ones(2)).dtype == np.uint64


@steady
@given(st.integers(0, 2**80), st.integers(-5, 90), st.booleans(), st.sampled_from(DETERMINISTIC))
def test_round_shifted_equals_the_witness(
    magnitude: int, shift: int, negative: bool, rounding: Rounding
) -> None:
    exact = Extended(negative, magnitude / Fraction(2) ** shift)
    wide = FixedFormat(200)
    code = witness.round_fixed(wide, exact, rounding, Overflow.SAT)
    assert code is not None
    integer = code - 2**200 if code >= 2**199 else code
    assert round_shifted(magnitude, shift, negative, rounding) == abs(integer)


@pytest.mark.parametrize("code", [-1, 256])
def test_codes_out_of_range_are_refused(code: int) -> None:
    with pytest.raises(ValueError, match=r"e4m3fn must be in 0\.\.0xff"):
        check_codes(a_float("e4m3fn"), np.array([0, code]))
