"""Formats: names, derived properties and values, against ml_dtypes, gfloat and the definitions."""

from fractions import Fraction
from typing import Any

import gfloat
import gfloat.formats
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmacost.sim.codec import codes_of, decode, decode_integers, is_nan_code
from fmacost.sim.formats import (
    BIAS_RANGE,
    FixedFormat,
    FloatFormat,
    Format,
    FormatError,
    Specials,
    alias_note,
    default_bias,
    describe,
    float_format,
    format_value,
    parse_format,
    standard_formats,
)
from tests.witness import canonical_nan, extended, last_rung, rung, small_formats, steady, value_of

ML_DTYPES: dict[str, Any] = {
    "e4m3fn": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "e3m4ieee": ml_dtypes.float8_e3m4,
    "e4m3ieee": ml_dtypes.float8_e4m3,
    "e3m2fn": ml_dtypes.float6_e3m2fn,
    "e2m3fn": ml_dtypes.float6_e2m3fn,
    "e2m1fn": ml_dtypes.float4_e2m1fn,
    "bf16": ml_dtypes.bfloat16,
    "fp16": np.float16,
    "fp32": np.float32,
}
GFLOAT: dict[str, gfloat.FormatInfo] = {
    "e4m3fn": gfloat.formats.format_info_ocp_e4m3,
    "e5m2": gfloat.formats.format_info_ocp_e5m2,
    "e3m2fn": gfloat.formats.format_info_ocp_e3m2,
    "e2m3fn": gfloat.formats.format_info_ocp_e2m3,
    "e2m1fn": gfloat.formats.format_info_ocp_e2m1,
    "fp16": gfloat.formats.format_info_binary16,
    "bf16": gfloat.formats.format_info_bfloat16,
    "fp32": gfloat.formats.format_info_binary32,
}


def a_float(name: str) -> FloatFormat:
    fmt = parse_format(name)
    assert isinstance(fmt, FloatFormat)
    return fmt


@st.composite
def float_formats(draw: st.DrawFn) -> FloatFormat:
    specials = draw(st.sampled_from(Specials))
    least_x = {Specials.IEEE: 2, Specials.FINITE: 0}.get(specials, 1)
    exp_bits = draw(st.integers(least_x, 8))
    frac_bits = draw(st.integers(1 if specials is Specials.IEEE else 0, 23))
    bias = draw(st.none() | st.integers(BIAS_RANGE.start, BIAS_RANGE.stop - 1))
    return float_format(exp_bits, frac_bits, specials, bias)


fixed_formats = st.builds(
    FixedFormat, st.integers(1, 90), st.integers(0, 90), signed=st.booleans()
) | st.builds(FixedFormat, st.just(0), st.integers(1, 90), signed=st.just(False))


# --- names ---------------------------------------------------------------------------------------


@steady
@given(float_formats() | fixed_formats)
def test_names_round_trip(fmt: Format) -> None:
    assert parse_format(fmt.name) == fmt
    assert str(fmt) == fmt.name


def test_standard_names_round_trip() -> None:
    names = [fmt.name for fmt in standard_formats()]
    assert [parse_format(name).name for name in names] == names
    assert len(set(names)) == len(names) >= 19


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("e4m3", "e4m3fn"),
        ("fp8_e4m3", "e4m3fn"),
        ("float8_e4m3fn", "e4m3fn"),
        ("float8_e4m3", "e4m3ieee"),
        ("float8_e4m3b11fnuz", "e4m3b11fnuz"),
        ("e5m10", "fp16"),
        ("e5m10ieee", "fp16"),
        ("e5m2ieee", "e5m2"),
        ("e8m7", "bf16"),
        ("e8m10", "tf32"),
        ("e8m23", "fp32"),
        ("e4m3b7fn", "e4m3fn"),
        ("e2m1f", "e2m1fn"),
        ("e3m2b3fn", "e3m2fn"),
        ("fixed8.0", "int8"),
        ("ufixed8.0", "uint8"),
        ("fixed65.0", "fixed65.0"),
        ("int08", "int8"),
    ],
)
def test_aliases(alias: str, name: str) -> None:
    assert parse_format(alias).name == name


def test_a_bare_e4m3_is_said_to_be_the_ocp_one() -> None:
    note = alias_note("e4m3")
    assert note is not None
    assert "e4m3fn" in note
    assert "448" in note
    assert alias_note("e4m3fn") is None


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("e4m2", ["e4m2", "'ieee'", "'fn'", "'fnuz'", "'f'"]),
        ("e1m2ieee", ["e1m2ieee", "at least 2 exponent bits"]),
        ("e4m0ieee", ["e4m0ieee", "1 fraction bit"]),
        ("e0m3fn", ["e0m3fn", "'fn'", "at least 1 exponent bit"]),
        ("e0m3fnuz", ["e0m3fnuz", "'fnuz'", "at least 1 exponent bit"]),
        ("e9m3f", ["e9m3f", "0..8", "9"]),
        ("e4m24f", ["e4m24f", "0..23", "24"]),
        ("e4m3b301fn", ["e4m3b301fn", "bias", "301"]),
        ("int0", ["int0", "1..64"]),
        ("int65", ["int65", "1..64"]),
        ("fixed0.4", ["at least 1 bit"]),
        ("fixed1000.25", ["1024", "1025"]),
        ("e4m3fm", ["e4m3fm", "e4m3fn"]),
        ("e8m0fnu", ["e8m0fnu", "block scale"]),
        ("", ["unknown format ''"]),
        ("float", ["float"]),
    ],
)
def test_refusals_name_the_token_and_the_reason(text: str, reasons: list[str]) -> None:
    with pytest.raises(FormatError) as caught:
        parse_format(text)
    message = str(caught.value)
    assert [reason for reason in reasons if reason not in message] == []
    assert "\n" not in message


# --- derived properties --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ML_DTYPES)
def test_properties_equal_ml_dtypes_finfo(name: str) -> None:
    fmt, info = a_float(name), ml_dtypes.finfo(ML_DTYPES[name])
    assert fmt.width == info.bits
    assert fmt.exp_bits == info.nexp
    assert fmt.frac_bits == info.nmant
    assert fmt.max_value == Fraction(float(info.max))
    assert fmt.min_normal == Fraction(float(info.smallest_normal))
    assert fmt.min_positive == Fraction(float(info.smallest_subnormal))
    assert fmt.emin == info.minexp
    assert Fraction(2) ** (1 - fmt.precision) == Fraction(float(info.eps))


@pytest.mark.parametrize("name", GFLOAT)
def test_properties_equal_gfloat(name: str) -> None:
    fmt, info = a_float(name), GFLOAT[name]
    assert fmt.width == info.k
    assert (fmt.precision, fmt.bias, fmt.exp_bits) == (info.precision, info.bias, info.expBits)
    assert fmt.max_value == Fraction(info.max)
    assert fmt.max_code == info.code_of_max
    assert fmt.min_normal == Fraction(info.smallest_normal)
    assert fmt.min_positive == Fraction(info.smallest_subnormal)
    assert fmt.has_nan == (info.num_nans > 0)
    assert fmt.has_infinity == (info.num_infs > 0)
    assert fmt.has_negative_zero == info.has_nz
    if fmt.has_infinity:
        assert fmt.inf_code == info.code_of_posinf


@pytest.mark.parametrize("fmt", small_formats(7), ids=str)
def test_properties_equal_a_list_of_all_values(fmt: FloatFormat) -> None:
    values = [value_of(fmt, code) for code in range(2**fmt.width)]
    sizes = sorted(v.size for v in values if v and v.size is not None and not v.negative)
    assert fmt.max_value == sizes[-1]
    assert fmt.min_positive == next((size for size in sizes if size), None)
    assert fmt.has_nan == (None in values)
    assert fmt.has_infinity == any(v is not None and v.size is None for v in values)
    assert fmt.has_zero == (0 in sizes)
    assert fmt.has_negative_zero == any(
        v is not None and v.negative and v.size == 0 for v in values
    )
    assert all(size % (Fraction(2) ** fmt.quantum_exponent) == 0 for size in sizes)
    if fmt.has_nan:
        assert fmt.nan_code == canonical_nan(fmt)
    if not fmt.is_sign_only:
        assert value_of(fmt, fmt.max_code) == extended(fmt.max_value)
    if fmt.has_infinity:
        infinity = values[fmt.inf_code]
        assert infinity is not None
        assert infinity.size is None
    last = last_rung(fmt)
    assert rung(fmt, last) == sizes[-1]
    if not fmt.is_sign_only:
        assert rung(fmt, last + 1) - rung(fmt, last) == Fraction(2) ** fmt.max_exponent


@pytest.mark.parametrize("exp_bits", range(9))
def test_default_bias(exp_bits: int) -> None:
    half = 2 ** (exp_bits - 1) if exp_bits else 1
    assert default_bias(exp_bits, Specials.FN) == half - 1
    assert default_bias(exp_bits, Specials.FNUZ) == (half if exp_bits else 0)


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in ML_DTYPES if name != "fp32"])
def test_every_code_decodes_as_in_ml_dtypes(name: str) -> None:
    fmt = a_float(name)
    codes = codes_of(fmt)
    storage = np.uint16 if fmt.width > 8 else np.uint8
    with np.errstate(invalid="ignore"):
        expected = codes.astype(storage).view(ML_DTYPES[name]).astype(np.float64)
    got = decode(fmt, codes)
    assert len(got) == 2**fmt.width
    np.testing.assert_array_equal(got, expected)
    numbers = ~np.isnan(got)
    np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("name", [name for name in GFLOAT if name != "fp32"])
def test_every_code_decodes_as_in_gfloat(name: str) -> None:
    fmt = a_float(name)
    codes = codes_of(fmt)
    if fmt.width > 8:
        codes = codes[::37]
    expected = [gfloat.decode_float(GFLOAT[name], int(code)).fval for code in codes]
    assert len(expected) > 0
    np.testing.assert_array_equal(decode(fmt, codes), expected)


@pytest.mark.parametrize("fmt", small_formats(6), ids=str)
def test_every_code_decodes_as_defined(fmt: FloatFormat) -> None:
    codes = codes_of(fmt)
    nan = is_nan_code(fmt, codes)
    assert len(codes) == 2**fmt.width
    for code, got in enumerate(decode(fmt, codes)):
        expected = value_of(fmt, code)
        assert nan[code] == np.isnan(got) == (expected is None)
        if expected is None:
            continue
        assert np.signbit(got) == expected.negative
        assert np.isinf(got) if expected.size is None else Fraction(got) == expected.number


@pytest.mark.parametrize("name", ["fp32", "tf32", "e8m23b-127f", "e8m23b300fnuz", "e7m20fn"])
def test_codes_of_wide_formats_decode_as_defined(name: str) -> None:
    fmt = a_float(name)
    rng = np.random.default_rng(1)
    edges = [0, 1, fmt.max_code, fmt.max_code - 1, (1 << fmt.frac_bits) - 1, 1 << fmt.frac_bits]
    random = rng.integers(0, 2**fmt.width, 500, dtype=np.uint64)
    codes = np.concatenate([np.array(edges, np.uint64), random])
    for code, got in zip(codes, decode(fmt, codes), strict=True):
        expected = value_of(fmt, int(code))
        if expected is None or expected.size is None:
            assert not np.isfinite(got)
        else:
            assert Fraction(got) == expected.number


@pytest.mark.parametrize("name", ["int1", "int3", "uint1", "uint5", "fixed2.3", "ufixed0.4"])
def test_every_fixed_code_decodes_as_defined(name: str) -> None:
    fmt = parse_format(name)
    assert isinstance(fmt, FixedFormat)
    expected = [value_of(fmt, code) for code in range(2**fmt.width)]
    numbers = [value.number for value in expected if value is not None]
    assert len(numbers) == 2**fmt.width
    assert [Fraction(v) for v in decode(fmt, codes_of(fmt))] == numbers
    assert min(numbers) == fmt.min_integer * Fraction(2) ** fmt.quantum_exponent
    assert max(numbers) == fmt.max_value


@pytest.mark.parametrize("name", ["int63", "int64", "uint63", "uint64", "fixed60.40", "fixed1.63"])
def test_wide_fixed_codes_decode_as_defined(name: str) -> None:
    fmt = parse_format(name)
    assert isinstance(fmt, FixedFormat)
    top = 1 << fmt.width
    codes = [0, 1, top // 2 - 1, top // 2, top - 1]
    dtype = np.uint64 if fmt.width <= 64 else object
    for code, got in zip(codes, decode_integers(fmt, np.array(codes, dtype)), strict=True):
        expected = value_of(fmt, code)
        assert expected is not None
        assert int(got) == expected.number * 2**fmt.frac_bits
    with pytest.raises(ValueError, match="wider than a double"):
        decode(fmt, np.array(codes, dtype))


# --- corners -------------------------------------------------------------------------------------


def grid(name: str) -> list[float]:
    fmt = parse_format(name)
    return [float(v) for v in decode(fmt, codes_of(fmt))]


@pytest.mark.parametrize("frac_bits", [1, 2, 3, 7])
def test_without_exponent_the_grid_is_that_of_one_exponent_bit(frac_bits: int) -> None:
    assert grid(f"e0m{frac_bits}f") == grid(f"e1m{frac_bits - 1}f")


@pytest.mark.parametrize("frac_bits", [0, 1, 2, 6])
def test_one_exponent_bit_is_sign_and_magnitude(frac_bits: int) -> None:
    fmt = a_float(f"e1m{frac_bits}f")
    magnitudes = [m * 2.0**fmt.quantum_exponent for m in range(2 ** (frac_bits + 1))]
    assert grid(fmt.name) == [*magnitudes, *(-m for m in magnitudes)]


def test_a_sign_alone_is_one_and_minus_one() -> None:
    assert grid("e0m0f") == [1.0, -1.0]
    assert grid("e0m0b-3f") == [8.0, -8.0]
    fmt = a_float("e0m0f")
    assert (fmt.width, fmt.has_zero, fmt.has_negative_zero, fmt.min_normal) == (
        1,
        False,
        False,
        None,
    )


def test_without_fraction_values_are_powers_of_two() -> None:
    assert grid("e3m0f")[:8] == [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
    values = grid("e3m0fn")
    assert np.isnan(values[7])
    assert values[6] == 8.0
    assert a_float("e3m0fn").max_value == 8


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("e1m0f", [0, 2, -0.0, -2]),
        ("e1m0fnuz", [0, 1, np.nan, -1]),
        ("e1m0fn", [0, np.nan, -0.0, np.nan]),
        ("e0m1f", [0, 2, -0.0, -2]),
        ("e1m1fn", [0, 1, 2, np.nan, -0.0, -1, -2, np.nan]),
        ("e0m2f", [0, 1, 2, 3, -0.0, -1, -2, -3]),
        ("int1", [0, -1]),
        ("uint1", [0, 1]),
        ("e2m1ieee", [0, 0.5, 1, 1.5, 2, 3, np.inf, np.nan]),
    ],
)
def test_small_formats_by_hand(name: str, values: list[float]) -> None:
    np.testing.assert_array_equal(grid(name)[: len(values)], values)


@steady
@given(st.integers(-(2**70), 2**70), st.integers(-150, 100))
def test_values_are_written_exactly(numerator: int, exponent: int) -> None:
    value = numerator * Fraction(2) ** exponent
    significand, _, power = format_value(value).partition("*2^")
    assert Fraction(significand) * Fraction(2) ** int(power or 0) == value


def test_values_are_written_as_people_write_them() -> None:
    assert format_value(Fraction(448)) == "448"
    assert format_value(Fraction(1, 512)) == "0.001953125"
    assert format_value(Fraction(-3, 4)) == "-0.75"
    assert format_value(Fraction(3, 2**131)) == "1.5*2^-130"


@pytest.mark.parametrize("fmt", standard_formats(), ids=str)
def test_descriptions_are_one_line(fmt: Format) -> None:
    assert 10 < len(describe(fmt)) < 80
    assert "\n" not in describe(fmt)
