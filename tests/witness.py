"""A slow second opinion on codes, rounding and arithmetic, from the definitions alone.

It reads a code as text, keeps every number as a fraction, rounds by looking the neighbours up in
the list of all values of the format, and shares nothing with ``sim`` but the records of formats
and operations. An exact result is an ``Extended``; None is NaN.
"""

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor

from hypothesis import HealthCheck, settings

from fmacost.sim.formats import (
    FixedFormat,
    FloatFormat,
    Format,
    FormatError,
    Specials,
    float_format,
)
from fmacost.sim.operation import Kind, Operation, Overflow, Rounding

# For hypothesis: a test fails for what it computes, never for how busy the machine is.
steady = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@dataclass(frozen=True, slots=True)
class Extended:
    """A real number with the sign that its zero has, or an infinity (``size`` None)."""

    negative: bool
    size: Fraction | None

    @property
    def number(self) -> Fraction:
        assert self.size is not None
        return -self.size if self.negative else self.size


def extended(number: Fraction) -> Extended:
    return Extended(number < 0, abs(number))


def small_formats(max_width: int = 4) -> list[FloatFormat]:
    """Every float format of at most ``max_width`` bits with the default bias."""
    found: dict[FloatFormat, None] = {}
    for width in range(1, max_width + 1):
        for exp_bits in range(width):
            for specials in Specials:
                try:
                    found[float_format(exp_bits, width - 1 - exp_bits, specials)] = None
                except FormatError:
                    continue
    return list(found)


def power(exponent: int) -> Fraction:
    return Fraction(2**exponent) if exponent >= 0 else Fraction(1, 2**-exponent)


@lru_cache(maxsize=1 << 16)
def rung(fmt: FloatFormat, index: int) -> Fraction:
    """The size at a place in the ladder of all sizes, which goes on beyond the last number."""
    if fmt.exp_bits == 0 and fmt.frac_bits == 0:
        return power(-fmt.bias)
    if fmt.exp_bits == 0:  # the grid of e1m(Y-1): the top digit is the hidden bit, spelled out
        return Fraction(index, 2 ** (fmt.frac_bits - 1)) * power(1 - fmt.bias)
    field, fraction = divmod(index, 2**fmt.frac_bits)
    digits = Fraction(fraction, 2**fmt.frac_bits)
    if field == 0:
        return digits * power(1 - fmt.bias)
    return (1 + digits) * power(field - fmt.bias)


def last_rung(fmt: FloatFormat) -> int:
    """The place of the largest number in the ladder."""
    bits = fmt.exp_bits + fmt.frac_bits
    match fmt.specials:
        case Specials.IEEE:
            return int("1" * (fmt.exp_bits - 1) + "0" + "1" * fmt.frac_bits, 2)
        case Specials.FN:
            return int("1" * (bits - 1) + "0", 2)
        case _:
            return int("1" * bits or "0", 2)


def value_of(fmt: Format, code: int) -> Extended | None:
    """What a code means."""
    text = format(code, f"0{fmt.width}b")
    if isinstance(fmt, FixedFormat):
        integer = int(text, 2)
        if fmt.signed and text[0] == "1":
            integer -= 2**fmt.width
        return extended(Fraction(integer, 2**fmt.frac_bits))
    negative, rest = text[0] == "1", text[1:]
    exponent, fraction = rest[: fmt.exp_bits], rest[fmt.exp_bits :]
    match fmt.specials:
        case Specials.IEEE if "0" not in exponent:
            return None if "1" in fraction else Extended(negative, None)
        case Specials.FN if "0" not in rest:
            return None
        case Specials.FNUZ if negative and "1" not in rest:
            return None
    return Extended(negative, rung(fmt, int(rest or "0", 2)))


def canonical_nan(fmt: FloatFormat) -> int | None:
    match fmt.specials:
        case Specials.IEEE:
            return int("0" + "1" * fmt.exp_bits + "1" + "0" * (fmt.frac_bits - 1), 2)
        case Specials.FN:
            return int("0" + "1" * (fmt.exp_bits + fmt.frac_bits), 2)
        case Specials.FNUZ:
            return int("1" + "0" * (fmt.exp_bits + fmt.frac_bits), 2)
        case _:
            return None


def is_subnormal(fmt: Format, size: Fraction) -> bool:
    if not isinstance(fmt, FloatFormat) or fmt.exp_bits == 0:
        return False
    return 0 < size < power(1 - fmt.bias)


def goes_up(rounding: Rounding, negative: bool, past: Fraction, step: Fraction, odd: bool) -> bool:
    """Whether a size ``past`` a neighbour, of a gap ``step``, goes to the larger neighbour."""
    match rounding:
        case Rounding.RTZ:
            return False
        case Rounding.RDN:
            return negative
        case Rounding.RUP:
            return not negative
        case Rounding.RMM:
            return 2 * past >= step
        case Rounding.RNE:
            return 2 * past > step or (2 * past == step and odd)
        case Rounding.SR:
            raise ValueError("see goes_up_by_chance")


def goes_up_by_chance(past: Fraction, step: Fraction, chance: int, bits: int) -> bool:
    """Whether the discarded part, cut to ``bits`` bits, and the random number make a whole."""
    return floor(past / step * 2**bits) + chance >= 2**bits


def round_sign_alone(fmt: FloatFormat, exact: Extended, rounding: Rounding) -> int:
    one = power(-fmt.bias)
    if rounding is Rounding.RDN:
        return 0 if not exact.negative and (exact.size is None or exact.size >= one) else 1
    if rounding is Rounding.RUP:
        return 1 if exact.negative and (exact.size is None or exact.size >= one) else 0
    return int(exact.negative)


def round_float(
    fmt: FloatFormat,
    exact: Extended | None,
    rounding: Rounding = Rounding.RNE,
    overflow: Overflow = Overflow.IEEE,
    ftz: bool = False,
    chance: tuple[int, int] = (0, 0),
) -> int | None:
    """The code that an exact result rounds to; None where it is a NaN that has no code."""
    if exact is None:
        return canonical_nan(fmt)
    if fmt.exp_bits == 0 and fmt.frac_bits == 0:
        return round_sign_alone(fmt, exact, rounding)
    last = last_rung(fmt)
    if exact.size is None:
        return out_of_range(fmt, exact.negative, overflow)
    if exact.size >= rung(fmt, last + 1):
        directed = {Rounding.RTZ: True, Rounding.RDN: not exact.negative}
        directed[Rounding.RUP] = exact.negative
        index = last if directed.get(rounding, False) else last + 1
    else:
        index = bisect_right(range(last + 2), exact.size, key=lambda i: rung(fmt, i)) - 1
        past, step = exact.size - rung(fmt, index), rung(fmt, index + 1) - rung(fmt, index)
        if past:
            # The last digit of the significand; where it is the only one, all but zero are odd
            # and the larger one is delivered (IEEE 754-2019, 4.3.1).
            odd = index > 0 if fmt.exp_bits and not fmt.frac_bits else index % 2 == 1
            if rounding is Rounding.SR:
                index += goes_up_by_chance(past, step, *chance)
            else:
                index += goes_up(rounding, exact.negative, past, step, odd)
    if index > last:
        return out_of_range(fmt, exact.negative, overflow)
    if ftz and is_subnormal(fmt, rung(fmt, index)):
        index = 0
    return signed_code(fmt, exact.negative, index)


def signed_code(fmt: FloatFormat, negative: bool, index: int) -> int:
    code = int(negative) * 2 ** (fmt.width - 1) + index
    return index if value_of(fmt, code) is None else code  # -0 of fnuz is no number


def out_of_range(fmt: FloatFormat, negative: bool, overflow: Overflow) -> int:
    if overflow is Overflow.IEEE:
        if fmt.specials is Specials.IEEE:
            return int(("1" if negative else "0") + "1" * fmt.exp_bits + "0" * fmt.frac_bits, 2)
        nan = canonical_nan(fmt)
        if nan is not None:
            return nan
    return signed_code(fmt, negative, last_rung(fmt))


def round_fixed(
    fmt: FixedFormat, exact: Extended | None, rounding: Rounding, overflow: Overflow
) -> int | None:
    if exact is None or exact.size is None:
        return None
    scaled = exact.number * 2**fmt.frac_bits
    low, high = floor(scaled), ceil(scaled)
    nearest = {scaled - low: low, high - scaled: high}
    integer: int
    match rounding:
        case Rounding.RTZ:
            integer = int(scaled)
        case Rounding.RDN:
            integer = low
        case Rounding.RUP:
            integer = high
        case Rounding.RMM if 2 * scaled % 2 == 1:
            integer = max(low, high, key=abs)
        case Rounding.RNE if 2 * scaled % 2 == 1:
            integer = low if low % 2 == 0 else high
        case _:
            integer = nearest[min(nearest)]
    if overflow is Overflow.SAT:
        top = 1 << (fmt.width - 1 if fmt.signed else fmt.width)
        integer = max(-top if fmt.signed else 0, min(integer, top - 1))
    return integer % (1 << fmt.width)


def times(x: Extended | None, y: Extended | None) -> Extended | None:
    if x is None or y is None:
        return None
    negative = x.negative != y.negative
    if x.size is None or y.size is None:
        return None if x.size == 0 or y.size == 0 else Extended(negative, None)
    return Extended(negative, x.size * y.size)


def plus(x: Extended | None, y: Extended | None, rounding: Rounding) -> Extended | None:
    if x is None or y is None:
        return None
    if x.size is None or y.size is None:
        if x.size is None and y.size is None and x.negative != y.negative:
            return None
        return x if x.size is None else y
    total = x.number + y.number
    if total:
        return extended(total)
    same = x.negative and y.negative
    opposite = x.negative != y.negative
    return Extended(same or (opposite and rounding is Rounding.RDN), Fraction(0))


def exact_result(operation: Operation, codes: tuple[int, ...]) -> Extended | None:
    values = [value_of(f, c) for f, c in zip(operation.operands, codes, strict=True)]
    for i, (fmt, value) in enumerate(zip(operation.operands, values, strict=True)):
        if operation.daz and value and value.size and is_subnormal(fmt, value.size):
            values[i] = Extended(value.negative, Fraction(0))
    match operation.kind:
        case Kind.MUL:
            return times(values[0], values[1])
        case Kind.ADD:
            return plus(values[0], values[1], operation.rounding)
        case Kind.FMA:
            return plus(times(values[0], values[1]), values[2], operation.rounding)


@lru_cache(maxsize=1 << 16)
def rounded(
    result: Format,
    exact: Extended | None,
    rounding: Rounding,
    overflow: Overflow,
    ftz: bool,
    chance: tuple[int, int] = (0, 0),
) -> int | None:
    if isinstance(result, FixedFormat):
        return round_fixed(result, exact, rounding, overflow)
    return round_float(result, exact, rounding, overflow, ftz, chance)


def compute(operation: Operation, *codes: int) -> int:
    """The result code, with ``invalid`` on top where the result has no code for what came out."""
    exact = exact_result(operation, codes[: len(operation.operands)])
    chance = (codes[-1], operation.random_bits) if operation.random_bits else (0, 0)
    code = rounded(
        operation.result, exact, operation.rounding, operation.overflow, operation.ftz, chance
    )
    return 2**operation.result.width if code is None else code
