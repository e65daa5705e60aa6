"""Why a result is what it is: exact value, neighbours, which way it rounded, in one sentence.

Values are fractions throughout, so that nothing is rounded before the one rounding explained.
The result itself comes from the reference.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import ceil, floor

import numpy as np

from fmacost.reports.exact import Value, parse_value
from fmacost.sim.codec import (
    Codes,
    decode,
    decode_integers,
    encode,
    encode_fixed,
    encode_integers,
)
from fmacost.sim.formats import FixedFormat, FloatFormat, Format
from fmacost.sim.operation import Kind, Operation, Overflow, Rounding
from fmacost.sim.reference import compute


@dataclass(frozen=True, slots=True)
class Coded:
    """A value with its code in hexadecimal and in fields; both None where it has no code."""

    value: Value
    code: str | None = None
    bits: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return ``code`` and ``value``."""
        return {"code": self.code, "value": self.value.to_json()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """One rounding, explained.

    ``neighbours`` are the values around the exact result, in ascending order; one without a code
    is the value that would come next if the format had more exponents.
    """

    title: str
    operands: tuple[Coded, ...]
    exact: Value
    result: Coded
    invalid: bool | None = None  # None: nothing invalid can arise
    neighbours: tuple[Coded, ...] = ()
    reason: str = ""
    names: tuple[str, ...] = field(default=("value",))

    @property
    def bits(self) -> dict[str, str]:
        """The codes split into sign, exponent and fraction, by the name of the port."""
        named = zip((*self.names, "result"), (*self.operands, self.result), strict=True)
        return {name: coded.bits for name, coded in named if coded.bits is not None}

    def to_json(self) -> dict[str, object]:
        """Return the explanation as plain data for a JSON document."""
        document: dict[str, object] = {
            "unit": self.title,
            "operands": [operand.to_json() for operand in self.operands],
            "exact": self.exact.to_json(),
            "result": self.result.to_json(),
            "reason": self.reason,
            "neighbours": [neighbour.to_json() for neighbour in self.neighbours],
            "bits": self.bits,
        }
        if self.invalid is not None:
            document["invalid"] = self.invalid
        return document

    def to_text(self) -> str:
        """Return the explanation as an aligned table and a sentence, for people."""
        rows = [
            (name, coded.code or "", coded.bits or "", coded.value.short())
            for name, coded in zip(self.names, self.operands, strict=True)
        ]
        rows.append(("exact", "", "", self.exact.short()))
        for place in self.neighbours:
            note = "" if place.code else "  (has no code)"
            rows.append(
                ("neighbour", place.code or "", place.bits or "", place.value.short() + note)
            )
        note = "  (invalid)" if self.invalid else ""
        result = self.result
        rows.append(("result", result.code or "", result.bits or "", result.value.short() + note))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [
            "  "
            + "  ".join([*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), row[3]])
            for row in rows
        ]
        return "\n".join([self.title, *lines, self.reason])


# --- entries -------------------------------------------------------------------------------------


def explain_operation(operation: Operation, codes: Sequence[int | str]) -> Explanation:
    """Explain one result of an operation.

    Parameters
    ----------
    codes : one code for each operand, as a number or as text such as ``0x38``

    Raises
    ------
    ValueError
        If the number of codes does not fit, or one is no number or out of range.
    """
    formats = operation.operands
    if operation.random_bits:
        raise ValueError(f"{operation}: stochastic rounding cannot be explained here")
    if len(codes) != len(formats):
        raise ValueError(f"{operation} takes {len(formats)} codes, not {len(codes)}")
    numbers = [parse_code(code, fmt) for code, fmt in zip(codes, formats, strict=True)]
    operands = [_coded(fmt, code) for fmt, code in zip(formats, numbers, strict=True)]
    names = tuple(operation.input_widths)
    values, notes = _flush_operands(operation, [coded.value for coded in operands], names)
    exact, note = _exact_result(operation, values, names)
    arrays = [_array(fmt, code) for fmt, code in zip(formats, numbers, strict=True)]
    code = int(compute(operation, *arrays)[0])
    explanation = Explanation(
        title=str(operation),
        names=names,
        operands=tuple(operands),
        exact=exact,
        result=Coded(exact),
        invalid=False if operation.has_invalid else None,
    )
    return _explain_rounding(explanation, operation, code, [*notes, *note])


def explain_value(
    text_value: str,
    fmt: Format,
    rounding: Rounding = Rounding.RNE,
    overflow: Overflow = Overflow.IEEE,
    *,
    ftz: bool = False,
) -> Explanation:
    """Explain what a value becomes in a format.

    Parameters
    ----------
    text_value : see ``parse_value``

    Raises
    ------
    ValueError
        If the text is no value, or the overflow policy does not fit the format.
    """
    exact = parse_value(text_value)
    title = f"{text_value.strip()} -> {fmt}"
    return _explain_conversion(title, Coded(exact), _Policy(fmt, rounding, overflow, ftz))


def explain_conversion(
    code: int | str,
    from_fmt: Format,
    to_fmt: Format,
    rounding: Rounding = Rounding.RNE,
    overflow: Overflow = Overflow.IEEE,
    *,
    ftz: bool = False,
) -> Explanation:
    """Explain what a code of one format becomes in another.

    Raises
    ------
    ValueError
        If the code is no number or out of range, or the overflow policy does not fit.
    """
    operand = _coded(from_fmt, parse_code(code, from_fmt))
    title = f"{from_fmt} -> {to_fmt}"
    return _explain_conversion(title, operand, _Policy(to_fmt, rounding, overflow, ftz))


def parse_code(code: int | str, fmt: Format) -> int:
    """Return a code of a format; text may be hexadecimal (``0x38``), binary or decimal.

    Raises
    ------
    ValueError
        If it is no number or out of range.
    """
    try:
        number = int(code, 0) if isinstance(code, str) else int(code)
    except ValueError:
        raise ValueError(f"'{code}' is no code: expected a number such as 0x38") from None
    if not 0 <= number < 1 << fmt.width:
        raise ValueError(
            f"code {code} is out of range: {fmt} has codes 0x0..{(1 << fmt.width) - 1:#x}"
        )
    return number


# --- codes and values ----------------------------------------------------------------------------


def _array(fmt: Format, code: int) -> Codes:
    return np.array([code], np.uint64 if fmt.width <= 64 else object)


def _coded(fmt: Format, code: int) -> Coded:
    return Coded(_value(fmt, code), f"0x{code:0{-(-fmt.width // 4)}x}", split_bits(fmt, code))


def _value(fmt: Format, code: int) -> Value:
    if isinstance(fmt, FixedFormat):
        return Value.of(
            Fraction(int(decode_integers(fmt, _array(fmt, code))[0]), 1 << fmt.frac_bits)
        )
    double = float(decode(fmt, _array(fmt, code))[0])
    negative = bool(np.signbit(double))
    if not np.isfinite(double):
        return Value(None, negative and not np.isnan(double), bool(np.isnan(double)))
    return Value.of(Fraction(double), negative=negative)


def split_bits(fmt: Format, code: int) -> str:
    """Return the bits of a code in fields: ``0|0111|000``, ``-`` for an empty one; ``0101.11``."""
    bits = f"{code:0{fmt.width}b}"
    if isinstance(fmt, FixedFormat):
        return f"{bits[: fmt.int_bits]}.{bits[fmt.int_bits :]}" if fmt.frac_bits else bits
    return "|".join([bits[0], bits[1 : 1 + fmt.exp_bits] or "-", bits[1 + fmt.exp_bits :] or "-"])


# --- exact results -------------------------------------------------------------------------------


def _flush_operands(
    operation: Operation, values: list[Value], names: tuple[str, ...]
) -> tuple[list[Value], list[str]]:
    """Apply DAZ."""
    notes = []
    for i, (fmt, name) in enumerate(zip(operation.operands, names, strict=True)):
        value = values[i]
        if operation.daz and _is_subnormal(fmt, value.size):
            values[i] = Value.of(Fraction(0), negative=value.negative)
            notes.append(f"{name} = {value.short()} is subnormal, DAZ takes it as {values[i]}")
    return values, notes


def _is_subnormal(fmt: Format, size: Fraction) -> bool:
    return (
        isinstance(fmt, FloatFormat) and fmt.has_subnormals and 0 < size < Fraction(2) ** fmt.emin
    )


def _exact_result(
    operation: Operation, values: list[Value], names: tuple[str, ...]
) -> tuple[Value, list[str]]:
    """Return the exact result and what is special about it."""
    nans = [name for name, value in zip(names, values, strict=True) if value.nan]
    if nans:
        return Value(None, nan=True), [
            f"{' and '.join(nans)} {'is' if len(nans) == 1 else 'are'} NaN"
        ]
    terms = values
    if operation.product:
        product = _times(values[0], values[1])
        if product.nan:
            return product, ["zero times infinity is NaN"]
        terms = [product, *values[2:]]
    if operation.kind is Kind.MUL:
        return terms[0], []
    return _plus(terms[0], terms[1], operation.rounding)


def _times(x: Value, y: Value) -> Value:
    negative = x.negative != y.negative
    if x.number is None or y.number is None:
        if x.number == 0 or y.number == 0:
            return Value(None, nan=True)
        return Value(None, negative)
    return Value.of(x.number * y.number, negative=negative)


def _plus(x: Value, y: Value, rounding: Rounding) -> tuple[Value, list[str]]:
    if x.number is None or y.number is None:
        if x.infinite and y.infinite and x.negative != y.negative:
            return Value(None, nan=True), ["infinity minus infinity is NaN"]
        return (x if x.infinite else y), []
    total = x.number + y.number
    if total or x.negative == y.negative:
        return Value.of(total, negative=x.negative), []
    zero = Value.of(total, negative=rounding is Rounding.RDN)
    return zero, [
        f"the terms cancel, which {rounding.upper()} takes as {'+' * (not zero.negative)}{zero}"
    ]


# --- rounding ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Policy:
    """How to round, for conversions and operations alike."""

    result: Format
    rounding: Rounding
    overflow: Overflow
    ftz: bool


def _explain_conversion(title: str, operand: Coded, policy: _Policy) -> Explanation:
    fmt, exact = policy.result, operand.value
    saturates = policy.overflow is Overflow.SAT
    if isinstance(fmt, FixedFormat):
        policy = replace(policy, overflow=Overflow.SAT if saturates else Overflow.WRAP)
    elif policy.overflow is Overflow.WRAP:
        raise ValueError("'wrap' is for integer and fixed-point results only")
    options = [str(policy.rounding)] * (policy.rounding is not Rounding.RNE)
    options += ["sat"] * saturates + ["ftz"] * policy.ftz
    explanation = Explanation(
        title=",".join([title, *options]),
        operands=(operand,),
        exact=exact,
        result=operand,
        invalid=False if exact.number is None and not fmt.has_nan else None,
    )
    return _explain_rounding(explanation, policy, _round(policy, exact), [])


def _round(policy: _Policy, exact: Value) -> int:
    """Return the code of a value, the flag ``invalid`` on top of it."""
    fmt = policy.result
    if exact.number is None:
        invalid = isinstance(fmt, FixedFormat) or (exact.nan and not fmt.has_nan)
        if isinstance(fmt, FixedFormat) or invalid:
            return 1 << fmt.width
        special = np.array([np.nan if exact.nan else -np.inf if exact.negative else np.inf])
        return int(encode(fmt, special, policy.rounding, policy.overflow)[0])
    # Two bits below the last one, the lower of them sticky, round as the value itself does.
    exponent = fmt.quantum_exponent - 2
    scaled = exact.size / Fraction(2) ** exponent
    integer = floor(scaled) | (scaled.denominator != 1)
    if isinstance(fmt, FixedFormat):
        signed = np.array([-integer if exact.negative else integer], object)
        return int(encode_fixed(fmt, signed, exponent, policy.rounding, policy.overflow)[0])
    return int(
        encode_integers(
            fmt,
            np.array([integer], object),
            np.array([exact.negative]),
            exponent,
            policy.rounding,
            policy.overflow,
            ftz=policy.ftz,
        )[0]
    )


def _explain_rounding(
    explanation: Explanation, policy: _Policy | Operation, code: int, notes: list[str]
) -> Explanation:
    """Fill in result, neighbours and reason."""
    fmt, exact = policy.result, explanation.exact
    invalid = bool(code >> fmt.width)
    result = _coded(fmt, code & ((1 << fmt.width) - 1))
    neighbours: tuple[Coded, ...] = ()
    if invalid:
        what = "NaN" if exact.nan else "infinity"
        sentence = f"{fmt} has no code for {what}: code 0, and the flag 'invalid' is set"
    elif exact.number is None:
        sentence = _special_sentence(fmt, exact, result.value, policy.overflow)
    elif isinstance(fmt, FixedFormat):
        neighbours = _fixed_neighbours(fmt, exact.number)
        sentence = _fixed_sentence(fmt, exact, result.value, neighbours, policy)
    elif fmt.is_sign_only:
        neighbours = (_coded(fmt, 1), _coded(fmt, 0))
        sentence = _sign_sentence(fmt, exact, result.value, policy.rounding)
    else:
        neighbours = _float_neighbours(fmt, exact)
        sentence = _float_sentence(fmt, exact, result.value, neighbours, policy)
    return replace(
        explanation,
        result=result,
        neighbours=neighbours,
        reason="; ".join([*notes, sentence]),
        invalid=explanation.invalid if explanation.invalid is None else invalid,
    )


def _special_sentence(fmt: Format, exact: Value, result: Value, overflow: Overflow) -> str:
    if exact.nan:
        return f"the result is the one canonical NaN of {fmt}"
    if result.infinite:
        return f"{exact} stays infinite"
    if result.nan:
        return f"{exact} becomes NaN: {fmt} has no infinity"
    why = (
        "'sat' clamps infinity" if overflow is Overflow.SAT else f"{fmt} has no infinity and no NaN"
    )
    return f"{exact} becomes {result.short()}: {why}"


def _sign_sentence(fmt: FloatFormat, exact: Value, result: Value, rounding: Rounding) -> str:
    if exact.number == result.number:
        return f"{exact.short()} is a value of {fmt}: exact"
    one = Value.of(fmt.max_value)
    rule = {
        Rounding.RDN: f"RDN gives {one} only from {one} upwards",
        Rounding.RUP: f"RUP gives -{one} only from -{one} downwards",
    }.get(rounding, "the result keeps the sign of the exact value")
    return f"{fmt} is a sign alone, -{one} or {one}: {rule}, so {exact.short()} becomes {result}"


def _float_neighbours(fmt: FloatFormat, exact: Value) -> tuple[Coded, ...]:
    """Return the values next to an exact one, or around it if it is a value itself."""
    policy = _Policy(fmt, Rounding.RTZ, Overflow.SAT, ftz=False)
    below = _round(policy, Value.of(exact.size))
    if exact.size > fmt.max_value:
        places = [_place(fmt, below, exact.negative)]
        beyond = _place(fmt, below + 1, exact.negative)
        if exact.size < beyond.value.size:
            places.append(beyond)
        elif fmt.has_infinity:
            places.append(_coded(fmt, fmt.inf_code | exact.negative << (fmt.width - 1)))
    elif exact.size != _value(fmt, below).size:
        places = [_place(fmt, below + i, exact.negative) for i in (0, 1)]
    elif below == 0:
        places = [_place(fmt, 1, negative=False), _place(fmt, 1, negative=True)]
        return tuple(reversed(places))
    else:
        places = [_place(fmt, below + i, exact.negative) for i in (-1, 1)]
    return tuple(reversed(places) if exact.negative else places)


def _place(fmt: FloatFormat, magnitude: int, negative: bool) -> Coded:
    """Return the value of a magnitude code, or the one that would follow the largest."""
    if magnitude > fmt.max_code:
        size = fmt.max_value + Fraction(2) ** fmt.max_exponent
        return Coded(Value.of(-size if negative else size))
    signed = negative and (magnitude > 0 or fmt.has_negative_zero)
    return _coded(fmt, magnitude | signed << (fmt.width - 1))


def _float_sentence(
    fmt: FloatFormat,
    exact: Value,
    result: Value,
    neighbours: tuple[Coded, ...],
    policy: _Policy | Operation,
) -> str:
    unflushed = _value(fmt, _round(_Policy(fmt, policy.rounding, policy.overflow, False), exact))
    largest = Value.of(-fmt.max_value if exact.negative else fmt.max_value).short()
    if exact.size >= fmt.max_value + Fraction(2) ** fmt.max_exponent:
        sentence = f"{exact.short()} is beyond the largest value {largest}"
        sentence += _overflow_clause(fmt, unflushed, policy)
    elif exact.number == unflushed.number:
        is_lost = exact.negative and not unflushed.negative
        sentence = f"{'0' if is_lost else exact.short()} is a value of {fmt}: exact"
    else:
        chosen = _chosen(exact, neighbours, policy.rounding)
        sentence = _between(exact, neighbours, chosen, policy.rounding, fmt.precision)
        if chosen.code is None:
            sentence += f", beyond the largest value {largest}"
            sentence += _overflow_clause(fmt, unflushed, policy)
        elif exact.size > fmt.max_value:
            sentence += ", so it does not overflow"
    if unflushed.size and result.number == 0:
        sentence += f"; {unflushed.short()} is subnormal, FTZ makes it {result}"
    elif exact.negative and result.number == 0 and not result.negative:
        sentence += f"; {fmt} has no -0"
    return sentence


def _overflow_clause(fmt: FloatFormat, result: Value, policy: _Policy | Operation) -> str:
    if result.infinite:
        return ": overflow to infinity"
    if result.nan:
        return f": {fmt} has no infinity, overflow gives NaN"
    if policy.overflow is Overflow.SAT:
        return ": saturates"
    if not fmt.has_nan:
        return f": {fmt} has no infinity and no NaN, it saturates"
    return f": {policy.rounding.upper()} does not overflow on this side, the largest value stays"


def _fixed_neighbours(fmt: FixedFormat, number: Fraction) -> tuple[Coded, ...]:
    scaled = number * 2**fmt.frac_bits
    low, high = floor(scaled), ceil(scaled)
    if low == high:
        low, high = low - 1, high + 1
    return tuple(_fixed_place(fmt, integer) for integer in (low, high))


def _fixed_place(fmt: FixedFormat, integer: int) -> Coded:
    if fmt.min_integer <= integer <= fmt.max_integer:
        return _coded(fmt, integer & ((1 << fmt.width) - 1))
    return Coded(Value.of(Fraction(integer, 1 << fmt.frac_bits)))


def _fixed_sentence(
    fmt: FixedFormat,
    exact: Value,
    result: Value,
    neighbours: tuple[Coded, ...],
    policy: _Policy | Operation,
) -> str:
    if (exact.size * 2**fmt.frac_bits).denominator == 1:
        rounded = exact
        grid = f"a multiple of 2^-{fmt.frac_bits}" if fmt.frac_bits else "an integer"
        sentence = f"{exact.short()} is {grid}: exact"
    else:
        chosen = _chosen(exact, neighbours, policy.rounding)
        rounded = chosen.value
        sentence = _between(exact, neighbours, chosen, policy.rounding, fmt.width)
    if rounded.number == result.number:
        return sentence
    low = Value.of(Fraction(fmt.min_integer, 1 << fmt.frac_bits)).short()
    sentence += f"; {rounded.short()} is outside {low}..{Value.of(fmt.max_value).short()}"
    if policy.overflow is Overflow.SAT:
        return f"{sentence} and saturates to {result.short()}"
    return f"{sentence} and wraps modulo 2^{fmt.int_bits} to {result.short()}"


def _chosen(exact: Value, neighbours: tuple[Coded, ...], rounding: Rounding) -> Coded:
    """Return the neighbour that a value goes to, whether it has a code or not."""
    near, far = sorted(neighbours, key=lambda place: place.value.size)
    step = far.value.size - near.value.size
    steps = exact.size / step - floor(near.value.size / step / 2) * 2  # in 0..2, parity kept
    signed = Value.of(-steps if exact.negative else steps)
    counter = FixedFormat(4)
    rounded = _value(counter, _round(_Policy(counter, rounding, Overflow.WRAP, False), signed))
    return far if rounded.size > steps else near


def _between(
    exact: Value, neighbours: tuple[Coded, ...], chosen: Coded, rounding: Rounding, precision: int
) -> str:
    """Return which neighbour of an inexact value is taken, and why."""
    places = " and ".join(
        place.value.short() + ("" if place.code else " (would be next)") for place in neighbours
    )
    sentence, target = f"{exact.short()} lies between {places}", chosen.value.short()
    low, high = (place.value.number for place in neighbours)
    assert low is not None
    assert high is not None
    assert exact.number is not None
    match rounding:
        case Rounding.RTZ:
            return f"{sentence}: RTZ goes toward zero, to {target}"
        case Rounding.RDN | Rounding.RUP:
            way = "down" if rounding is Rounding.RDN else "up"
            return f"{sentence}: {rounding.upper()} goes {way}, to {target}"
        case _ if exact.number - low != high - exact.number:
            return f"{sentence}: nearest is {target}"
        case Rounding.RMM:
            return f"{sentence}, a tie: RMM goes away from zero, to {target}"
        case _ if precision == 1 and 0 not in (low, high):
            why = "with one significant digit neither is even, the larger one is taken"
            return f"{sentence}, a tie: {why}, {target}"
    return f"{sentence}, a tie: ties to even give {target}"
