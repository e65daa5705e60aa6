"""Unit strings: one parser, one canonical spelling."""

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmacost.sim.formats import FixedFormat, Format, parse_format
from fmacost.sim.operation import (
    DETERMINISTIC,
    Kind,
    Operation,
    OperationError,
    Overflow,
    Rounding,
    exact_format,
    parse_unit,
    semantics,
    unit_notes,
    with_addend,
)
from tests.witness import steady

NAMES = [
    *("int1", "int4", "int8", "uint8", "int32", "int64", "fixed4.4", "ufixed0.4", "fixed70.0"),
    *("e4m3fn", "e5m2", "e4m3fnuz", "e2m1fn", "fp16", "bf16", "tf32", "fp32"),
    *("e0m0f", "e0m3f", "e1m2f", "e1m0fn", "e3m0f", "e2m1ieee", "e4m3b11fnuz", "e3m4b-5f"),
]
formats = st.sampled_from([parse_format(name) for name in NAMES])


@st.composite
def operations(draw: st.DrawFn) -> Operation:
    kind = draw(st.sampled_from(Kind))
    first = draw(formats)
    operands = tuple(draw(st.just(first) | formats) for _ in range(2 + (kind is Kind.FMA)))
    result = draw(st.sampled_from(operands) | formats)
    policies = [Overflow.IEEE, Overflow.SAT]
    if isinstance(result, FixedFormat):
        policies.append(Overflow.WRAP)
    return Operation(
        kind,
        operands,
        result,
        draw(st.sampled_from(DETERMINISTIC)),
        draw(st.sampled_from(policies)),
        draw(st.booleans()),
        draw(st.booleans()),
    )


@steady
@given(operations())
def test_canonical_spelling_round_trips(operation: Operation) -> None:
    text = str(operation)
    parsed = parse_unit(text)
    assert parsed == operation
    assert hash(parsed) == hash(operation)
    assert str(parsed) == text
    assert re.fullmatch(r"[a-z]+:[\w.*+>,-]+", text)
    assert unit_notes(text) == ()


@steady
@given(operations())
def test_semantics_are_one_line_that_names_every_format(operation: Operation) -> None:
    line = semantics(operation)
    assert "\n" not in line
    assert all(fmt.name in line for fmt in (*operation.operands, operation.result))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("fma:e4m3fn", "fma:e4m3fn"),
        ("fma:e4m3", "fma:e4m3fn"),
        ("fma:e4m3fn*e4m3fn+e4m3fn->e4m3fn", "fma:e4m3fn"),
        ("fma:e4m3fn+fp32", "fma:e4m3fn+fp32"),
        ("fma:e4m3fn*e4m3fn+fp32->fp32", "fma:e4m3fn+fp32"),
        ("fma:bf16*int8+fp32", "fma:bf16*int8+fp32"),
        ("fma:e4m3fn+fp32->bf16", "fma:e4m3fn+fp32->bf16"),
        ("fma:e4m3fn,sat,rtz,daz", "fma:e4m3fn,rtz,sat,daz"),
        ("fma:e4m3fn,rne", "fma:e4m3fn"),
        ("fma:e2m1fn,sat", "fma:e2m1fn"),
        ("fma:int8+int32", "fma:int8+int32"),
        ("fma:int8+int32,rtz,daz,ftz", "fma:int8+int32"),
        ("fma:int8+exact32", "fma:int8+int21"),
        ("fma:e2m1fn+exact1", "fma:e2m1fn+fixed7.2"),
        ("mul:int8", "mul:int8"),
        ("mul:int8->int16", "mul:int8"),
        ("mul:int8->int8", "mul:int8->int8"),
        ("mul:int8*uint4", "mul:int8*uint4"),
        ("mul:uint8", "mul:uint8"),
        ("mul:e4m3fn*e5m2->fp16", "mul:e4m3fn*e5m2->fp16"),
        ("add:fp16", "add:fp16"),
        ("add:fp16+fp16", "add:fp16"),
        ("add:fp16+fp32", "add:fp16+fp32"),
        ("add:fixed4.4+fixed2.6,rtz", "add:fixed4.4+fixed2.6"),
        ("add:fixed2.6+fixed4.4,rtz", "add:fixed2.6+fixed4.4,rtz"),
        ("fma:int8+fp32,rup,ftz", "fma:int8+fp32,rup,ftz"),
    ],
)
def test_canonical_spelling(text: str, canonical: str) -> None:
    assert str(parse_unit(text)) == canonical
    assert parse_unit(text) == parse_unit(canonical)


def test_defaults_of_the_result() -> None:
    assert parse_unit("mul:int8*uint4").result == FixedFormat(12)
    assert parse_unit("mul:uint8").result == FixedFormat(16, signed=False)
    assert parse_unit("mul:fixed2.3").result == FixedFormat(4, 6)
    assert parse_unit("mul:e4m3fn").result == parse_format("e4m3fn")
    assert parse_unit("fma:e4m3fn+fp16").result == parse_format("fp16")
    assert parse_unit("add:fp16+fp32").result == parse_format("fp32")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("fma:int8+int32", "fma:int8+int32,rup"),  # exact: no rounding to choose
        ("fma:int8+int32", "fma:int8+int32,daz"),  # no subnormals
        ("fma:e3m0f", "fma:e3m0f,daz,ftz"),
        ("fma:e2m1fn", "fma:e2m1fn,sat"),  # every code a number: nothing but saturation
        ("fma:fp16", "fma:e5m10ieee"),
        ("fma:e4m3fn+exact4", "fma:e4m3fn+fixed21.18"),
        ("mul:int4*int8->int12", "mul:int4*int8"),
    ],
)
def test_options_that_change_nothing_do_not_distinguish(left: str, right: str) -> None:
    assert parse_unit(left) == parse_unit(right)
    assert str(parse_unit(left)) == str(parse_unit(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("fma:e4m3fn", "fma:e4m3fn,sat"),
        ("fma:e4m3fn", "fma:e4m3fn,daz"),
        ("fma:e4m3fn", "fma:e4m3fn,ftz"),
        ("fma:e4m3fn,daz", "fma:e4m3fn,ftz"),
        ("fma:e4m3fn", "fma:e4m3fn,rmm"),
        ("fma:int8+int32", "fma:int8+int32,sat"),
        ("fma:e4m3fn+fixed4.4", "fma:e4m3fn+fixed4.4,rtz"),  # drops bits: rounds
        ("mul:int8", "mul:uint8"),
        ("add:fp16+fp32->bf16", "add:fp32+fp16->bf16"),
    ],
)
def test_options_that_matter_distinguish(left: str, right: str) -> None:
    assert parse_unit(left) != parse_unit(right)


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("e4m3fn", ["e4m3fn", "KIND:"]),
        ("", ["KIND:"]),
        ("fms:int8", ["fms", "mul, add, fma"]),
        ("fma:", ["unknown format ''", "fma:"]),
        ("fma:int8*", ["unknown format ''"]),
        ("fma:int8+", ["unknown format ''"]),
        ("fma:int8->", ["unknown format ''"]),
        ("fma:e4m3fm", ["e4m3fm", "e4m3fn"]),
        ("fma:e4m2", ["e4m2", "'fnuz'"]),
        ("fma:e9m2f", ["e9m2f", "0..8"]),
        ("fma:int8*int8*int8", ["two factors", "3"]),
        ("fma:int8*int4", ["int8*int4", "addend"]),
        ("mul:e4m3fn*e5m2", ["e4m3fn*e5m2", "say the result"]),
        ("mul:int8+int8", ["'+'", "fma"]),
        ("add:int8*int8", ["'*'"]),
        ("add:int8+exact4", ["exact4"]),
        ("fma:int8+exact0", ["exact<N>", "0"]),
        ("fma:fixed600.0+exact1", ["exact1", "1200 bits", "1024"]),
        ("fma:int8,foo", ["foo", "rne"]),
        ("fma:int8,RNE", ["RNE", "near: rne"]),
        ("fma:int8,", ["unknown option ''"]),
        ("fma:fp16,rne,rtz", ["rtz", "second time"]),
        ("fma:fp16,sat,sat", ["sat", "second time"]),
        ("fma:int8+int32+int32", ["int32+int32"]),
    ],
)
def test_parse_errors_name_the_token(text: str, reasons: list[str]) -> None:
    with pytest.raises(OperationError) as caught:
        parse_unit(text)
    message = str(caught.value)
    assert [reason for reason in reasons if reason not in message] == []
    assert "\n" not in message


@steady
@given(st.text(alphabet="fmauldint:e4m3fnxc8+*->,.0rz", max_size=24))
def test_no_text_does_more_than_raise_an_operation_error(text: str) -> None:
    try:
        operation = parse_unit(text)
    except OperationError as error:
        assert "\n" not in str(error)
    else:
        assert parse_unit(str(operation)) == operation


def test_operations_check_their_arguments() -> None:
    int8, fp16 = parse_format("int8"), parse_format("fp16")
    with pytest.raises(OperationError, match="fma takes 3 operands, not 2"):
        Operation(Kind.FMA, (int8, int8), int8)
    with pytest.raises(OperationError, match="'wrap'"):
        Operation(Kind.ADD, (fp16, fp16), fp16, overflow=Overflow.WRAP)


def test_a_default_result_too_wide_to_exist_is_refused_and_can_be_replaced() -> None:
    with pytest.raises(OperationError, match="1200"):
        parse_unit("mul:fixed600.0")
    text = "mul:fixed600.0->int8"
    assert str(parse_unit(text)) == text


# Kulisch accumulators, two's complement, for N products (published table, see docs).
EXACT_WIDTHS = {
    1: {"e2m1fn": 9, "e2m3fn": 13, "e3m2fn": 19, "e4m3fn": 37, "e5m2": 65, "int4": 8, "int8": 16},
    32: {
        "e2m1fn": 14,
        "e2m3fn": 18,
        "e3m2fn": 24,
        "e4m3fn": 42,
        "e5m2": 70,
        "int4": 13,
        "int8": 21,
    },
    4096: {
        **{"e2m1fn": 21, "e2m3fn": 25, "e3m2fn": 31, "e4m3fn": 49, "e5m2": 77},
        **{"int4": 20, "int8": 28},
    },
}


@pytest.mark.parametrize(
    ("products", "name", "width"),
    [(n, name, width) for n, row in EXACT_WIDTHS.items() for name, width in row.items()],
)
def test_exact_accumulators_have_the_published_widths(products: int, name: str, width: int) -> None:
    addend = parse_unit(f"fma:{name}+exact{products}").addend
    assert isinstance(addend, FixedFormat)
    assert addend.width == width


@pytest.mark.parametrize("pair", ["e4m3fn*int8", "uint4*e2m1fn", "e0m0f*e0m0f", "uint3*uint3"])
@pytest.mark.parametrize("products", [1, 2, 3, 7])
def test_exact_accumulators_are_just_wide_enough(pair: str, products: int) -> None:
    first, second = (parse_format(name) for name in pair.split("*"))
    fmt = exact_format((first, second), products)
    products_of_ends = [x * y for x in _ends(first) for y in _ends(second)]
    low, high = products * min(*products_of_ends, Fraction(0)), products * max(products_of_ends)
    quantum = Fraction(1, 2**fmt.frac_bits)
    assert fmt.min_integer * quantum <= low
    assert high <= fmt.max_value
    narrower = FixedFormat(fmt.int_bits - 1, fmt.frac_bits)
    assert high > narrower.max_value or low < narrower.min_integer * quantum


def _ends(fmt: Format) -> tuple[Fraction, Fraction]:
    if isinstance(fmt, FixedFormat):
        return Fraction(fmt.min_integer, 2**fmt.frac_bits), fmt.max_value
    return -fmt.max_value, fmt.max_value


def test_shapes() -> None:
    operation = parse_unit("fma:e5m2*int8+fp16->int8")
    assert operation.input_widths == {"a": 8, "b": 8, "c": 16}
    assert operation.input_bits == 32
    assert operation.has_invalid
    assert operation.output_bits == 9
    assert not operation.is_integer
    assert operation.product == (parse_format("e5m2"), parse_format("int8"))
    assert operation.addend == parse_format("fp16")
    assert parse_unit("fma:int8+int32").is_integer


@pytest.mark.parametrize(
    ("text", "invalid"),
    [
        ("fma:e4m3fn", False),
        ("fma:e2m1fn", False),
        ("fma:e2m1fn->int8", False),
        ("mul:e4m3fn->e2m1fn", True),
        ("mul:e4m3fn->int8", True),
        ("fma:e2m1fn+fp16->e2m1fn", True),
        ("fma:int8+int32", False),
    ],
)
def test_invalid_is_an_output_where_nan_has_no_code(text: str, invalid: bool) -> None:
    operation = parse_unit(text)
    assert operation.has_invalid is invalid
    assert operation.output_bits == operation.result.width + invalid


def test_with_addend_replaces_addend_and_result() -> None:
    fp32 = parse_format("fp32")
    assert str(with_addend(parse_unit("fma:e4m3fn"), fp32)) == "fma:e4m3fn+fp32"
    assert str(with_addend(parse_unit("mul:e4m3fn,sat"), fp32)) == "fma:e4m3fn+fp32,sat"


def test_notes_say_how_loose_names_were_read() -> None:
    (note,) = unit_notes("fma:e4m3*e4m3+fp32,sat")
    assert "'e4m3' is read as e4m3fn" in note
    assert unit_notes("fma:e4m3fn+exact4") == ()
    assert unit_notes("fma:fixed4.4*int8+int32->int16,rtz") == ()


def test_stochastic_rounding_has_an_input_of_its_own() -> None:
    operation = parse_unit("fma:e4m3fn,sat,sr5")
    assert str(operation) == "fma:e4m3fn,sr5,sat"
    assert operation.input_widths == {"a": 8, "b": 8, "c": 8, "random": 5}
    assert operation.input_bits == 29
    assert "stochastically by 5 random bits" in semantics(operation)
    assert replace(operation, rounding=Rounding.RTZ).random_bits == 0


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        ("fma:e4m3fn,sr", r"unknown option 'sr'.* or sr1 to sr16 \(stochastic"),
        ("fma:e4m3fn,sr17", "unknown option 'sr17'"),
        ("fma:e4m3fn,sr4,rtz", "sets rounding a second time"),
        ("fma:e4m3fn+exact1,sr4", "stochastic rounding is for float results only"),
    ],
)
def test_stochastic_rounding_that_cannot_be(unit: str, message: str) -> None:
    with pytest.raises(OperationError, match=message):
        parse_unit(unit)
