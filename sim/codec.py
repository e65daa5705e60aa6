"""Codes to values and back, on NumPy arrays, exactly and in every rounding mode.

Values are float64 where 53 bits hold them, which is so for every float of this project, and
otherwise integers counted in quanta. Nothing is rounded on the way in; ``encode`` rounds once.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fmacost.sim.formats import FixedFormat, FloatFormat, Format
from fmacost.sim.operation import Overflow, Rounding

Codes = NDArray[Any]  # uint64, or Python integers (object) for formats wider than 64 bits
Integers = NDArray[Any]  # int64, or Python integers (object)
Values = NDArray[np.float64]

_TABLE_BITS = 16
_DOUBLE_BIAS = 1023
_DOUBLE_FRAC_BITS = 52


def codes_of(fmt: Format) -> Codes:
    """Return every code of a format of at most 24 bits in ascending order."""
    return np.arange(1 << fmt.width, dtype=np.uint64)


def check_codes(fmt: Format, codes: Codes) -> None:
    """Raise ValueError unless every code is in ``[0, 2**width)``."""
    if codes.size and not (codes.min() >= 0 and codes.max() < 1 << fmt.width):
        raise ValueError(f"a code of {fmt} must be in 0..{(1 << fmt.width) - 1:#x}")


def decode(fmt: Format, codes: Codes) -> Values:
    """Return the values of codes, NaN and infinities included.

    Parameters
    ----------
    codes : unsigned integer array, any shape, values in ``[0, 2**width)``

    Returns
    -------
    float64 array, same shape; exact

    Raises
    ------
    ValueError
        If a fixed-point format is wider than the 53 bits of a double.
    """
    if fmt.width <= _TABLE_BITS:
        return _decode_table(fmt).take(codes.astype(np.intp))
    return _decode(fmt, codes)


@lru_cache(maxsize=64)
def _decode_table(fmt: Format) -> Values:
    return _decode(fmt, codes_of(fmt))


def _decode(fmt: Format, codes: Codes) -> Values:
    if isinstance(fmt, FixedFormat):
        if fmt.width > _DOUBLE_FRAC_BITS + 1:
            raise ValueError(f"{fmt} is wider than a double; use decode_integers")
        return np.ldexp(decode_integers(fmt, codes).astype(np.float64), fmt.quantum_exponent)
    codes = codes.astype(np.int64)
    sign = np.where(codes >> (fmt.width - 1) & 1, -1.0, 1.0)
    magnitude = codes & ((1 << (fmt.width - 1)) - 1)
    if fmt.is_sign_only:
        return sign * 2.0**fmt.quantum_exponent
    field = magnitude >> fmt.frac_bits if fmt.exp_bits else np.zeros_like(magnitude)
    hidden = (field > 0).astype(np.int64) << fmt.frac_bits
    significand = hidden + magnitude - (field << fmt.frac_bits)
    exponent = fmt.quantum_exponent + np.maximum(field - 1, 0)
    values = sign * np.ldexp(significand.astype(np.float64), exponent)
    if fmt.has_infinity:
        values = np.where(magnitude == fmt.inf_code, sign * np.inf, values)
    return np.where(is_nan_code(fmt, codes), np.nan, values)


def is_nan_code(fmt: Format, codes: Codes) -> NDArray[np.bool_]:
    """Tell for each code whether it is a NaN."""
    if not isinstance(fmt, FloatFormat) or not fmt.has_nan:
        return np.zeros(codes.shape, dtype=np.bool_)
    if fmt.has_negative_zero:  # ieee and fn: sign is free, magnitude above the last number
        last = fmt.inf_code if fmt.has_infinity else fmt.max_code
        return np.asarray((codes & ((1 << (fmt.width - 1)) - 1)) > last)
    return np.asarray(codes == fmt.nan_code)


def decode_integers(fmt: FixedFormat, codes: Codes) -> Integers:
    """Return fixed-point values counted in quanta: int64 up to 63 bits, objects beyond."""
    wide = fmt.width > 63
    integers = codes.astype(object) if wide else codes.astype(np.int64)
    if not fmt.signed:
        return integers
    half = 1 << (fmt.width - 1)
    return (integers ^ half) - half


def encode(
    fmt: FloatFormat,
    values: Values,
    rounding: Rounding = Rounding.RNE,
    overflow: Overflow = Overflow.IEEE,
    *,
    ftz: bool = False,
) -> Codes:
    """Round values to a float format, once (IEEE 754-2019, 4.3 and 7.4).

    Parameters
    ----------
    values : float64 array, any shape; NaN, infinities and signed zeros count

    Returns
    -------
    uint64 array, same shape. NaN is canonical; in a format without NaN it becomes code 0.
    """
    magnitude, negative = np.abs(values), np.signbit(values)
    biased = (magnitude.view(np.int64) >> _DOUBLE_FRAC_BITS) - (_DOUBLE_BIAS + fmt.emin)
    binade = np.maximum(biased, 0)
    scale = (_DOUBLE_BIAS - fmt.quantum_exponent - binade) << _DOUBLE_FRAC_BITS
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = magnitude * scale.view(np.float64)
        if fmt.quantum_exponent > 0:  # then a tiny value may underflow here, yet still rounds up
            scaled = np.where(scaled == 0, np.minimum(magnitude, 0.25), scaled)
        significand = _round(scaled, negative, rounding)
        code = significand.astype(np.int64)
    code += binade << (fmt.precision - 1)
    return _finish(fmt, code, negative, np.isnan(values), np.isinf(values), rounding, overflow, ftz)


def encode_integers(
    fmt: FloatFormat,
    integers: Integers,
    negative: NDArray[np.bool_],
    exponent: int,
    rounding: Rounding = Rounding.RNE,
    overflow: Overflow = Overflow.IEEE,
    *,
    ftz: bool = False,
) -> Codes:
    """Round ``integers * 2**exponent``, of any size, to a float format, once.

    Parameters
    ----------
    integers : integer array, magnitudes (at least zero); ``negative`` : their signs, also of zero

    Returns
    -------
    uint64 array, same shape
    """
    shift = fmt.quantum_exponent - exponent

    def one(magnitude: int, is_negative: bool) -> int:
        if magnitude == 0:  # has no leading bit that would say the binade
            return 0
        binade = max(int(magnitude).bit_length() - shift - fmt.precision, 0)
        rounded = round_shifted(int(magnitude), shift + binade, bool(is_negative), rounding)
        return min(rounded + (binade << (fmt.precision - 1)), 1 << 40)

    code = np.asarray(np.frompyfunc(one, 2, 1)(integers, negative), dtype=np.int64)
    no = np.zeros(code.shape, dtype=np.bool_)
    return _finish(fmt, code, negative, no, no, rounding, overflow, ftz)


def round_shifted(magnitude: int, shift: int, negative: bool, rounding: Rounding) -> int:
    """Return ``magnitude / 2**shift`` rounded to an integer, exactly, for any size."""
    if shift <= 0:
        return magnitude << -shift
    quotient, rest = magnitude >> shift, magnitude & ((1 << shift) - 1)
    half = 1 << (shift - 1)
    match rounding:
        case Rounding.RNE:
            up = rest > half or (rest == half and quotient & 1 == 1)
        case Rounding.RMM:
            up = rest >= half
        case Rounding.RTZ:
            up = False
        case Rounding.RDN:
            up = negative and rest > 0
        case Rounding.RUP:
            up = not negative and rest > 0
        case Rounding.SR:
            raise ValueError("stochastic rounding needs random bits: see sim.reference")
    return quotient + up


def encode_fixed(
    fmt: FixedFormat, integers: Integers, exponent: int, rounding: Rounding, overflow: Overflow
) -> Codes:
    """Round ``integers * 2**exponent`` to fixed point; wrap or saturate.

    Returns
    -------
    uint64 array (objects above 64 bits), same shape
    """
    shift = fmt.quantum_exponent - exponent
    if shift > 0:
        integers = _round_integers(integers, shift, rounding)
    elif shift < 0:
        integers = integers.astype(object) << -shift
    if overflow is Overflow.SAT:
        integers = np.clip(integers, fmt.min_integer, fmt.max_integer)
    if integers.dtype != object and fmt.width > 63:
        integers = integers.astype(object)
    codes = integers & ((1 << fmt.width) - 1)
    return codes if fmt.width > 64 else codes.astype(np.uint64)


def _round_integers(integers: Integers, shift: int, rounding: Rounding) -> Integers:
    if integers.dtype != object and shift > 61:
        integers = integers.astype(object)
    floor = integers >> shift
    rest = integers - (floor << shift)
    half = 1 << (shift - 1)
    match rounding:
        case Rounding.RNE:
            up = (rest > half) | ((rest == half) & ((floor & 1) == 1))
        case Rounding.RMM:
            up = (rest > half) | ((rest == half) & (integers > 0))
        case Rounding.RTZ:
            up = (rest > 0) & (integers < 0)
        case Rounding.RDN:
            up = rest < 0
        case Rounding.RUP:
            up = rest > 0
        case Rounding.SR:
            raise ValueError("stochastic rounding needs random bits: see sim.reference")
    rounded: Integers = floor + up.astype(np.int64)
    return rounded


def _round(values: Values, negative: NDArray[np.bool_], rounding: Rounding) -> Values:
    """Round non-negative values to integers."""
    match rounding:
        case Rounding.RNE:
            return np.rint(values)
        case Rounding.RTZ:
            return np.floor(values)
        case Rounding.RMM:
            below = np.floor(values)
            return np.where(values - below >= 0.5, below + 1, below)
        case Rounding.RDN:
            return np.where(negative, np.ceil(values), np.floor(values))
        case Rounding.RUP:
            return np.where(negative, np.floor(values), np.ceil(values))
        case Rounding.SR:
            raise ValueError("stochastic rounding needs random bits: see sim.reference")


def _finish(
    fmt: FloatFormat,
    code: NDArray[np.int64],
    negative: NDArray[np.bool_],
    nan: NDArray[np.bool_],
    infinite: NDArray[np.bool_],
    rounding: Rounding,
    overflow: Overflow,
    ftz: bool,
) -> Codes:
    """Turn rounded magnitude codes and signs into codes: overflow, flush, sign, NaN."""
    if ftz and fmt.has_subnormals:
        code = np.where(code < 1 << fmt.frac_bits, 0, code)
    too_large = (code > fmt.max_code) | infinite
    sign_bit = 1 << (fmt.width - 1)
    if too_large.any():
        largest, limit = fmt.max_code, fmt.max_code
        if overflow is not Overflow.SAT and fmt.has_nan:
            limit = fmt.inf_code if fmt.has_infinity else fmt.nan_code
        stays_finite = ~infinite & _overflow_is_finite(negative, rounding)
        code = np.where(too_large, np.where(stays_finite, largest, limit), code)
        if not fmt.has_infinity and limit == fmt.nan_code and fmt.has_nan:
            nan = nan | (too_large & ~stays_finite)
    if fmt.is_sign_only:
        forced = {Rounding.RDN: True, Rounding.RUP: False}.get(rounding)
        negative = negative if forced is None else np.where(code == 0, forced, negative)
        code = np.zeros_like(code)
    if not fmt.has_negative_zero and fmt.has_zero:
        negative = negative & (code != 0)
    codes = (code + np.where(negative, sign_bit, 0)).astype(np.uint64)
    return np.where(nan, np.uint64(fmt.nan_code if fmt.has_nan else 0), codes)


def _overflow_is_finite(negative: NDArray[np.bool_], rounding: Rounding) -> NDArray[np.bool_]:
    match rounding:
        case Rounding.RTZ:
            return np.ones_like(negative)
        case Rounding.RDN:
            return ~negative
        case Rounding.RUP:
            return negative
        case _:
            return np.zeros_like(negative)
