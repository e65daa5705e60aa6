"""Explanations: exact values, neighbours and reasons."""

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmacost.reports.exact import Value, parse_value
from fmacost.reports.explain import (
    Explanation,
    explain_conversion,
    explain_operation,
    explain_value,
    parse_code,
    split_bits,
)
from fmacost.sim.codec import decode
from fmacost.sim.formats import FixedFormat, parse_format
from fmacost.sim.operation import DETERMINISTIC, Overflow, Rounding, parse_unit
from fmacost.sim.reference import compute
from tests import witness
from tests.witness import Extended, small_formats, steady


def of_value(text: str, name: str, *options: Any, **more: Any) -> Explanation:
    return explain_value(text, parse_format(name), *options, **more)


def neighbours(explanation: Explanation) -> list[tuple[str | None, str]]:
    return [(place.code, str(place.value)) for place in explanation.neighbours]


# --- the examples of the documentation -----------------------------------------------------------


def test_464_ties_to_448() -> None:
    explanation = of_value("464", "e4m3fn")
    assert explanation.result.code == "0x7e"
    assert str(explanation.result.value) == "448"
    assert neighbours(explanation) == [("0x7e", "448"), (None, "480")]
    assert explanation.reason == (
        "464 lies between 448 and 480 (would be next), a tie: ties to even give 448, "
        "so it does not overflow"
    )


def test_an_fma_is_explained() -> None:
    explanation = explain_operation(parse_unit("fma:e4m3fn"), ["0x38", "0xb9", "0x10"])
    assert explanation.to_json() == {
        "unit": "fma:e4m3fn",
        "operands": [
            {"code": "0x38", "value": 1},
            {"code": "0xb9", "value": -1.125},
            {"code": "0x10", "value": 0.03125},
        ],
        "exact": -1.09375,
        "result": {"code": "0xb9", "value": -1.125},
        "reason": "-1.09375 lies between -1.125 and -1: nearest is -1.125",
        "neighbours": [{"code": "0xb9", "value": -1.125}, {"code": "0xb8", "value": -1}],
        "bits": {"a": "0|0111|000", "b": "1|0111|001", "c": "0|0010|000", "result": "1|0111|001"},
    }
    assert explanation.to_text().splitlines() == [
        "fma:e4m3fn",
        "  a          0x38  0|0111|000  1",
        "  b          0xb9  1|0111|001  -1.125",
        "  c          0x10  0|0010|000  0.03125",
        "  exact                        -1.09375",
        "  neighbour  0xb9  1|0111|001  -1.125",
        "  neighbour  0xb8  1|0111|000  -1",
        "  result     0xb9  1|0111|001  -1.125",
        "-1.09375 lies between -1.125 and -1: nearest is -1.125",
    ]


# --- reasons -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "options", "code", "words"),
    [
        ("465", "e4m3fn", (), "0x7f", ["nearest is 480", "no infinity", "NaN"]),
        ("465", "e4m3fn", (Rounding.RNE, Overflow.SAT), "0x7e", ["480", "saturates"]),
        ("-465", "e4m3fn", (Rounding.RTZ,), "0xfe", ["toward zero", "-448"]),
        ("500", "e4m3fn", (), "0x7f", ["beyond the largest value 448", "NaN"]),
        ("500", "e4m3fn", (Rounding.RDN,), "0x7e", ["RDN does not overflow on this side"]),
        ("-500", "e4m3fn", (Rounding.RDN,), "0x7f", ["beyond", "-448", "NaN"]),
        ("61440", "e5m2", (), "0x7c", ["a tie", "65536", "overflow to infinity"]),
        ("-1e30", "e5m2", (), "0xfc", ["beyond the largest value -57344", "infinity"]),
        ("-inf", "e5m2", (Rounding.RNE, Overflow.SAT), "0xfb", ["'sat' clamps infinity"]),
        ("inf", "e5m2", (), "0x7c", ["stays infinite"]),
        ("inf", "e2m1fn", (), "0x7", ["no infinity and no NaN", "6"]),
        ("7", "e2m1fn", (), "0x7", ["a tie", "8", "saturates"]),
        ("nan", "e4m3fnuz", (), "0x80", ["NaN"]),
        ("nan", "e2m1fn", (), "0x0", ["no code for NaN", "invalid"]),
        ("inf", "int8", (), "0x00", ["no code for infinity", "invalid"]),
        ("1.5", "e4m3fn", (), "0x3c", ["is a value of e4m3fn", "exact"]),
        ("-0", "e4m3fn", (), "0x80", ["-0 is a value"]),
        ("-0.0", "e4m3fnuz", (), "0x00", ["0 is a value of e4m3fnuz: exact; e4m3fnuz has no -0"]),
        ("-1e-9", "e4m3fnuz", (), "0x00", ["nearest is 0", "has no -0"]),
        ("4.25", "e4m3fn", (), "0x48", ["between 4 and 4.5", "ties to even give 4"]),
        ("4.25", "e4m3fn", (Rounding.RMM,), "0x49", ["a tie", "away from zero, to 4.5"]),
        ("-4.3", "e4m3fn", (Rounding.RUP,), "0xc8", ["RUP goes up, to -4"]),
        ("-4.3", "e4m3fn", (Rounding.RDN,), "0xc9", ["RDN goes down, to -4.5"]),
        ("1/3", "bf16", (), "0x3eab", ["1/3 lies between 0.33203125 and 0.333984375"]),
        ("0x1.8p0", "e3m0f", (), "0x4", ["a tie", "neither is even", "2"]),
        ("0.125", "e3m0f", (), "0x0", ["ties to even give 0"]),
        ("0.3", "e0m0f", (), "0x0", ["sign alone", "keeps the sign"]),
        ("0.3", "e0m0f", (Rounding.RDN,), "0x1", ["RDN gives 1 only from 1 upwards"]),
        ("-1", "e0m0f", (Rounding.RUP,), "0x1", ["exact"]),
        ("2.5", "int8", (), "0x02", ["between 2 and 3", "ties to even"]),
        ("-2.5", "int8", (Rounding.RMM,), "0xfd", ["away from zero, to -3"]),
        ("300", "int8", (), "0x2c", ["outside -128..127", "wraps modulo 2^8 to 44"]),
        ("300", "int8", (Rounding.RNE, Overflow.SAT), "0x7f", ["saturates to 127"]),
        ("127.5", "int8", (Rounding.RNE, Overflow.SAT), "0x7f", ["128", "saturates"]),
        ("1/3", "fixed2.2", (), "0x1", ["1/3 lies between 0.25 and 0.5: nearest is 0.25"]),
        ("0.75", "fixed2.2", (), "0x3", ["0.75 is a multiple of 2^-2: exact"]),
        ("-1/8", "fixed2.2", (Rounding.RDN,), "0xf", ["RDN goes down, to -0.25"]),
        ("1e3000", "fp32", (), "0x7f800000", ["about 1.00000e+3000 is beyond"]),
        ("1e-3000", "fp32", (Rounding.RUP,), "0x00000001", ["RUP goes up, to 2^-149"]),
        ("1e3000", "int8", (Rounding.RNE, Overflow.SAT), "0x7f", ["saturates"]),
    ],
)
def test_reasons(text: str, name: str, options: Any, code: str, words: list[str]) -> None:
    explanation = of_value(text, name, *options)
    assert explanation.result.code == code, explanation.reason
    assert [word for word in words if word not in explanation.reason] == [], explanation.reason
    assert json.loads(json.dumps(explanation.to_json(), allow_nan=False))["result"]["code"] == code
    assert explanation.reason in explanation.to_text()


@pytest.mark.parametrize(
    ("unit", "codes", "code", "words"),
    [
        ("mul:e5m2", (0x00, 0x7C), "0x7e", ["zero times infinity is NaN"]),
        ("add:e5m2", (0x7C, 0xFC), "0x7e", ["infinity minus infinity is NaN"]),
        ("add:e5m2", (0x7C, 0x01), "0x7c", ["stays infinite"]),
        ("fma:e4m3fn", (0x7F, 0x01, 0xFF), "0x7f", ["a and c are NaN"]),
        ("fma:e4m3fn", (0x01, 0x7F, 0x01), "0x7f", ["b is NaN"]),
        ("mul:e4m3fn->int8", (0x7F, 0x01), "0x00", ["invalid"]),
        ("add:e5m2->int8", (0x7C, 0x01), "0x00", ["infinity", "invalid"]),
        ("fma:e4m3fn", (0x38, 0x38, 0xB8), "0x00", ["the terms cancel", "+0"]),
        ("fma:e4m3fn,rdn", (0x38, 0x38, 0xB8), "0x80", ["the terms cancel", "-0"]),
        ("add:e4m3fn,daz", (0x81, 0x38), "0x38", ["a = -0.001953125 is subnormal", "DAZ", "-0"]),
        ("fma:e4m3fn,ftz", (0x88, 0x30, 0x80), "0x80", ["-0.0078125 is subnormal, FTZ", "-0"]),
        ("fma:int8+int32", (0x80, 0x80, 0x7FFFFFFF), "0x80003fff", ["wraps modulo 2^32"]),
        ("fma:int8+int32,sat", (0x80, 0x80, 0x7FFFFFFF), "0x7fffffff", ["saturates"]),
        ("fma:int8+int32", (0x80, 0x80, 1), "0x00004001", ["16385 is an integer: exact"]),
        ("fma:e5m2+exact4096", (0x01, 0x01, 0x01), "0x00000000000000000002", ["exact"]),
        ("fma:e5m2", (0x5A, 0x5A, 0x01), "0x79", ["nearest is 40960"]),
        ("fma:fp32", (0x1, 0x1, 0x7F000000), "0x7f000000", ["about 1.70141e+38"]),
    ],
)
def test_reasons_of_operations(
    unit: str, codes: tuple[int, ...], code: str, words: list[str]
) -> None:
    explanation = explain_operation(parse_unit(unit), codes)
    assert explanation.result.code == code
    assert [word for word in words if word not in explanation.reason] == [], explanation.reason
    assert json.dumps(explanation.to_json(), allow_nan=False)


def test_invalid_is_said_where_it_can_arise() -> None:
    fine = explain_operation(parse_unit("mul:e4m3fn->int8"), (0x38, 0x38))
    wrong = explain_operation(parse_unit("mul:e4m3fn->int8"), (0x7F, 0x38))
    assert (fine.invalid, wrong.invalid) == (False, True)
    assert fine.to_json()["invalid"] is False
    assert "(invalid)" in wrong.to_text()
    assert "invalid" not in explain_operation(parse_unit("mul:int8"), (1, 1)).to_json()
    assert of_value("nan", "int8").invalid is True


def test_ftz_of_a_value() -> None:
    explanation = of_value("0.002", "e4m3fn", ftz=True)
    assert explanation.result.code == "0x00"
    assert "0.001953125 is subnormal, FTZ makes it 0" in explanation.reason
    assert explanation.title == "0.002 -> e4m3fn,ftz"


def test_conversions() -> None:
    e5m2, e4m3fn = parse_format("e5m2"), parse_format("e4m3fn")
    explanation = explain_conversion("0x7b", e5m2, e4m3fn, Rounding.RNE, Overflow.SAT)
    assert explanation.title == "e5m2 -> e4m3fn,sat"
    assert explanation.result.code == "0x7e"
    assert explanation.bits == {"value": "0|11110|11", "result": "0|1111|110"}
    assert str(explain_conversion(0x80, parse_format("int8"), e5m2).result.value) == "-128"
    assert (
        explain_conversion(0x7C, e5m2, e4m3fn).reason == "inf becomes NaN: e4m3fn has no infinity"
    )


def test_neighbours_of_a_value_of_the_format_are_the_next_ones() -> None:
    assert neighbours(of_value("1", "e4m3fn")) == [("0x37", "0.9375"), ("0x39", "1.125")]
    assert neighbours(of_value("-1", "e4m3fn")) == [("0xb9", "-1.125"), ("0xb7", "-0.9375")]
    assert neighbours(of_value("0", "int8")) == [("0xff", "-1"), ("0x01", "1")]
    assert neighbours(of_value("0", "e2m1fn")) == [("0x9", "-0.5"), ("0x1", "0.5")]
    assert neighbours(of_value("57344", "e5m2")) == [("0x7a", "49152"), (None, "65536")]
    assert neighbours(of_value("1e9", "e5m2")) == [("0x7b", "57344"), ("0x7c", "inf")]
    assert neighbours(of_value("-1e9", "e4m3fn")) == [("0xfe", "-448")]


# --- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("464", Fraction(464)),
        ("-0.1", Fraction(-1, 10)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        ("1e-3", Fraction(1, 1000)),
        ("+2E2", Fraction(200)),
        (" 1/3 ", Fraction(1, 3)),
        ("-6/4", Fraction(-3, 2)),
        ("0x1.8p3", Fraction(12)),
        ("-0X.8P-1", Fraction(-1, 4)),
        ("0x1.0000000000000000001p0", 1 + Fraction(1, 2**76)),
        ("0.1000000000000000055511151231257827021181583404541015625", Fraction(0.1)),
    ],
)
def test_values_are_taken_exactly(text: str, number: Fraction) -> None:
    assert parse_value(text) == Value.of(number)


def test_special_values_and_signed_zeros() -> None:
    assert parse_value("-inf") == Value(None, negative=True)
    assert parse_value("+Infinity") == Value(None)
    assert parse_value("-nan") == parse_value("NaN") == Value(None, nan=True)
    for text in ("-0", "-0.0", "-0/5", "-0x0p0"):
        assert parse_value(text) == Value(Fraction(0), negative=True)
    assert not parse_value("+0").negative


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is no value"),
        ("abc", "'abc' is no value"),
        ("0x38", "say which format"),
        ("0xp3", "is no value"),
        ("1/0", "divides by zero"),
        ("1/2/3", "is no value"),
        ("1_000", "is no value"),
        ("--1", "is no value"),
        ("--inf", "is no value"),
        ("١٢", "is no value"),
        ("1e99999999", "exponent"),
        ("0x1p-99999999", "exponent"),
        ("1" * 500, "400 characters"),
        ("1e", "is no value"),
    ],
)
def test_what_is_no_value_is_refused_in_one_line(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        of_value(text, "e4m3fn")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("0x100", "code 0x100 is out of range: e4m3fn has codes 0x0..0xff"),
        (256, "code 256 is out of range"),
        (-1, "code -1 is out of range"),
        ("e4", "'e4' is no code"),
        ("", "'' is no code"),
        ("1.5", "'1.5' is no code"),
    ],
)
def test_bad_codes_are_refused_in_one_line(code: int | str, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        explain_operation(parse_unit("mul:e4m3fn"), [code, 0])
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_bad_input() -> None:
    with pytest.raises(ValueError, match="takes 3 codes, not 2"):
        explain_operation(parse_unit("fma:e4m3fn"), [0, 0])
    with pytest.raises(ValueError, match="'wrap' is for integer"):
        of_value("1", "e4m3fn", Rounding.RNE, Overflow.WRAP)
    assert parse_code("0b101", parse_format("int8")) == 5
    assert parse_code("200", parse_format("int8")) == 200


@pytest.mark.parametrize(
    ("name", "code", "bits"),
    [
        ("e4m3fn", 0xB9, "1|0111|001"),
        ("e3m0f", 0b1010, "1|010|-"),
        ("e0m3f", 0b1010, "1|-|010"),
        ("e0m0f", 1, "1|-|-"),
        ("int4", 5, "0101"),
        ("fixed2.3", 0b01101, "01.101"),
    ],
)
def test_bits_are_split_into_fields(name: str, code: int, bits: str) -> None:
    assert split_bits(parse_format(name), code) == bits


@steady
@given(st.fractions(), st.integers(-300, 300))
def test_values_are_written_exactly(number: Fraction, exponent: int) -> None:
    number *= Fraction(2) ** exponent
    text = str(Value.of(number))
    factor, _, power = text.partition("*2^") if "*" in text else ("1", "", text.lstrip("-")[2:])
    if "2^" in text:
        sign = -1 if text.startswith("-2^") else 1
        assert sign * Fraction(factor) * Fraction(2) ** int(power) == number
    else:
        assert Fraction(text) == number


# --- against the witness -------------------------------------------------------------------------


def as_extended(value: Value) -> Extended | None:
    if value.nan:
        return None
    return Extended(value.negative, None if value.number is None else value.size)


@steady
@given(
    st.sampled_from([*small_formats(5), parse_format("e4m3fn"), parse_format("fp32")]),
    st.fractions(-20, 20) | st.fractions() | st.integers(-32, 32).map(lambda n: Fraction(n, 4)),
    st.sampled_from(DETERMINISTIC),
    st.sampled_from([Overflow.IEEE, Overflow.SAT]),
    st.booleans(),
)
def test_any_fraction_rounds_as_the_witness_says(
    fmt: Any, number: Fraction, rounding: Rounding, overflow: Overflow, ftz: bool
) -> None:
    text = f"{number.numerator}/{number.denominator}"
    explanation = explain_value(text, fmt, rounding, overflow, ftz=ftz)
    exact = Extended(number < 0, abs(number))
    expected = witness.round_float(fmt, exact, rounding, overflow, ftz)
    assert explanation.result.code is not None
    assert int(explanation.result.code, 16) == expected
    check_neighbours(explanation)


@steady
@given(st.fractions(-40, 40), st.sampled_from(DETERMINISTIC), st.sampled_from(["int4", "fixed2.2"]))
def test_any_fraction_rounds_to_fixed_point(
    number: Fraction, rounding: Rounding, name: str
) -> None:
    fmt = parse_format(name)
    assert isinstance(fmt, FixedFormat)
    for overflow in (Overflow.WRAP, Overflow.SAT):
        explanation = explain_value(str(number), fmt, rounding, overflow)
        expected = witness.round_fixed(fmt, witness.extended(number), rounding, overflow)
        assert explanation.result.code is not None
        assert int(explanation.result.code, 16) == expected
        check_neighbours(explanation)


def check_neighbours(explanation: Explanation) -> None:
    """The neighbours are in order, enclose the exact value and are named in the reason."""
    numbers = [place.value.number for place in explanation.neighbours]
    finite = [number for number in numbers if number is not None]
    assert finite == sorted(finite)
    exact = explanation.exact.number
    assert exact is not None
    if len(finite) == 2 and "sign alone" not in explanation.reason:
        assert finite[0] <= exact <= finite[1]
    if "lies between" in explanation.reason:
        for place in explanation.neighbours:
            assert place.value.short() in explanation.reason


UNITS = [
    "fma:e2m1ieee",
    "fma:e2m1ieee,rdn,daz,ftz",
    "add:e2m1ieee+e3m0fnuz->e1m1fn,rmm",
    "mul:e2m1ieee*int4->fixed3.1,rup,sat",
    "fma:e0m0f*e0m3f+int2->e0m0f,rup",
    "fma:e2m1ieee+exact1",
    "fma:e4m3fn+fp32,rtz",
]


@pytest.mark.parametrize("unit", UNITS)
def test_explanations_agree_with_reference_and_witness(unit: str) -> None:
    operation = parse_unit(unit)
    rng = np.random.default_rng(5)
    count = 0
    for _ in range(150):
        codes = tuple(int(rng.integers(0, 1 << fmt.width)) for fmt in operation.operands)
        explanation = explain_operation(operation, codes)
        arrays = [np.array([code], np.uint64) for code in codes]
        full = int(compute(operation, *arrays)[0])
        assert explanation.result.code is not None
        code = int(explanation.result.code, 16)
        assert code | (bool(explanation.invalid) << operation.result.width) == full
        assert as_extended(explanation.exact) == witness.exact_result(operation, codes)
        assert as_extended(explanation.result.value) == witness.value_of(operation.result, code)
        assert explanation.reason
        assert "\n" not in explanation.reason
        if explanation.exact.number is not None:
            check_neighbours(explanation)
        json.dumps(explanation.to_json(), allow_nan=False)
        count += 1
    assert count == 150


def test_values_in_json_are_those_of_the_codes() -> None:
    e4m3fn = parse_format("e4m3fn")
    codes = np.arange(256, dtype=np.uint64)
    for code, value in zip(codes, decode(e4m3fn, codes), strict=True):
        shown = explain_conversion(int(code), e4m3fn, e4m3fn).to_json()["result"]
        assert isinstance(shown, dict)
        np.testing.assert_equal(float(shown["value"]), value)
