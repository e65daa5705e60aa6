"""The reference: exact results, rounded once, on NumPy arrays.

Floats are added exactly as a pair of doubles (sum and error, Knuth's TwoSum) which is squeezed
into one double by rounding to odd; that double then rounds to at most 24 bits as the pair would
(Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded sums", theorem 1). Everything
else is counted in quanta with integers of any size. IEEE 754-2019 6.1 to 6.3 settle infinities,
NaN and the sign of zero; a double's own arithmetic already follows them.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fmacost.sim.codec import (
    Codes,
    Integers,
    Values,
    check_codes,
    decode,
    decode_integers,
    encode,
    encode_fixed,
    encode_integers,
    is_nan_code,
)
from fmacost.sim.formats import FixedFormat, FloatFormat, Format
from fmacost.sim.operation import Kind, Operation, Rounding

_DOUBLE_PRECISION = 53
_INT64_SAFE_BITS = 62


def compute(operation: Operation, *operands: Codes) -> Codes:
    """Return the result codes of an operation.

    Parameters
    ----------
    operands : one unsigned integer array of codes for each operand, then one of random bits where
        the rounding is stochastic; shapes that broadcast

    Returns
    -------
    uint64 array (Python integers above 64 bits). Where ``operation.has_invalid``, bit
    ``result.width`` of a code is the flag ``invalid`` and the code below it is then zero.

    Raises
    ------
    ValueError
        If a code is out of range or the number of arrays does not fit.
    """
    if len(operands) != len(operation.inputs):
        raise ValueError(f"{operation} takes {len(operation.inputs)} operands")
    for fmt, codes in zip(operation.inputs, operands, strict=True):
        check_codes(fmt, codes)
    if isinstance(operation.result, FloatFormat) and _fits_doubles(operation):
        return _compute_doubles(operation, operation.result, *operands)
    return _compute_integers(operation, *operands)


def _fits_doubles(operation: Operation) -> bool:
    """Whether every operand and the product is exact in a double."""
    bits = [_significant_bits(f) for f in operation.operands]
    product = bits[0] + bits[1] if operation.product else 0
    return max(product, *bits) <= _DOUBLE_PRECISION


def _significant_bits(fmt: Format) -> int:
    return fmt.width if isinstance(fmt, FixedFormat) else fmt.precision


def _compute_doubles(operation: Operation, result: FloatFormat, *operands: Codes) -> Codes:
    values = [
        flush_subnormals(f, decode(f, codes)) if operation.daz else decode(f, codes)
        for f, codes in zip(operation.operands, operands, strict=False)
    ]
    with np.errstate(invalid="ignore"):
        match operation.kind:
            case Kind.MUL:
                exact = values[0] * values[1]
            case Kind.ADD:
                exact = _add_to_odd(operation, values[0], values[1])
            case Kind.FMA:
                exact = _add_to_odd(operation, values[0] * values[1], values[2])
    rounded, rounding = exact, operation.rounding
    if rounding is Rounding.SR:
        rounded = _round_by_chance(result, exact, operands[-1], operation.random_bits)
        rounding = Rounding.RNE  # what is left to settle is overflow
    codes = encode(result, rounded, rounding, operation.overflow, ftz=operation.ftz)
    if operation.has_invalid:
        codes |= np.isnan(exact).astype(np.uint64) << np.uint64(result.width)
    return codes


def flush_subnormals(fmt: Format, values: Values) -> Values:
    """Return values with subnormals replaced by zeros of their sign (DAZ)."""
    if not isinstance(fmt, FloatFormat) or not fmt.has_subnormals:
        return values
    return np.where(np.abs(values) < 2.0**fmt.emin, np.copysign(0.0, values), values)


def _round_by_chance(fmt: FloatFormat, values: Values, random: Codes, bits: int) -> Values:
    """Return values of the format's precision, as if it had no largest one.

    A magnitude is counted in ``2**-bits`` of the last place, rounded down; the random number is
    added and what is then below the last place is dropped.
    """
    finite = np.where(np.isfinite(values), values, 0.0)
    _, exponents = np.frexp(finite)  # magnitudes are in [1/2, 1) * 2**exponents
    last_place = np.maximum(exponents - fmt.precision, fmt.quantum_exponent)
    counted = np.floor(np.ldexp(np.abs(finite), bits - last_place)) + random.astype(np.float64)
    kept = np.ldexp(np.floor(np.ldexp(counted, -bits)), last_place)
    return np.where(np.isfinite(values), np.copysign(kept, values), values)


def _add_to_odd(operation: Operation, x: Values, y: Values) -> Values:
    """Return x + y rounded to odd: exact, or inexact with a last bit of one."""
    total = x + y
    if not _sum_is_exact(operation):
        part = total - x
        error = (x - (total - part)) + (y - part)
        inexact = (error != 0) & np.isfinite(total)
        bits = total.view(np.int64)
        truncated = bits - (inexact & (np.signbit(error) != np.signbit(total)))
        total = np.where(inexact, truncated | 1, bits).view(np.float64)
    if operation.rounding is Rounding.RDN:  # IEEE 754-2019, 6.3: x + (-x) is -0
        opposite = (total == 0) & (np.signbit(x) != np.signbit(y))
        total = np.where(opposite, -0.0, total)
    return total


def _sum_is_exact(operation: Operation) -> bool:
    """Whether every finite sum is a multiple of a quantum that 53 bits of a double reach."""
    largest = [_largest_exponent(f) for f in operation.operands]
    terms = largest if operation.kind is Kind.ADD else [largest[0] + largest[1], largest[2]]
    return max(terms) + 1 - operation.grid_exponent <= _DOUBLE_PRECISION


def _largest_exponent(fmt: Format) -> int:
    """Return E with every finite magnitude at most 2**E."""
    if isinstance(fmt, FixedFormat):
        return fmt.width + fmt.quantum_exponent
    return fmt.max_exponent + fmt.precision


@dataclass(frozen=True, slots=True)
class _Term:
    """An exact term: signs, magnitudes counted in ``2**exponent``, and what is no number."""

    negative: NDArray[np.bool_]
    magnitude: Integers
    exponent: int
    nan: NDArray[np.bool_]
    infinite: NDArray[np.bool_]

    def times(self, other: "_Term") -> "_Term":
        zero_by_infinity = (self.infinite & (other.magnitude == 0) & ~other.infinite) | (
            other.infinite & (self.magnitude == 0) & ~self.infinite
        )
        return _Term(
            self.negative ^ other.negative,
            self.magnitude * other.magnitude,
            self.exponent + other.exponent,
            self.nan | other.nan | zero_by_infinity.astype(np.bool_),
            self.infinite | other.infinite,
        )

    def signed(self, exponent: int) -> Integers:
        integers = self.magnitude << (self.exponent - exponent)
        return np.where(self.negative, -integers, integers)


def _compute_integers(operation: Operation, *operands: Codes) -> Codes:
    wide = _grid_bits(operation) > _INT64_SAFE_BITS
    terms = [
        _term(f, codes, wide, operation.daz)
        for f, codes in zip(operation.operands, operands, strict=False)
    ]
    if operation.product:
        terms = [terms[0].times(terms[1]), *terms[2:]]
    grid = operation.grid_exponent
    total = terms[0].signed(grid)
    nan, infinite, negative = terms[0].nan, terms[0].infinite, terms[0].negative
    if len(terms) == 2:
        x, y = terms
        total = total + y.signed(grid)
        nan = nan | y.nan | (x.infinite & y.infinite & (x.negative != y.negative))
        negative = np.where(x.infinite, x.negative, np.where(y.infinite, y.negative, total < 0))
        same = (x.negative == y.negative) & (total == 0) & ~x.infinite & ~y.infinite
        negative = np.where(same, x.negative, negative)
        if operation.rounding is Rounding.RDN:
            opposite = (total == 0) & (x.negative != y.negative) & ~x.infinite & ~y.infinite
            negative = negative | opposite
        infinite = infinite | y.infinite
    if operation.random_bits:
        total = _round_counts_by_chance(operation, total, operands[-1])
        operation = replace(operation, rounding=Rounding.RNE, random_bits=0)  # settles overflow
    return _round_integers(operation, total, negative.astype(np.bool_), nan, infinite)


def _round_counts_by_chance(operation: Operation, counts: Integers, random: Codes) -> Integers:
    """Return exact results, counted in grid quanta, rounded to the precision of the result."""
    fmt, grid, bits = operation.result, operation.grid_exponent, operation.random_bits
    assert isinstance(fmt, FloatFormat)

    def round_one(count: int, chance: int) -> int:
        magnitude = abs(count)
        last_place = max(magnitude.bit_length() + grid - fmt.precision, fmt.quantum_exponent)
        dropped = last_place - grid
        if dropped <= 0:
            return count
        kept = (((magnitude << bits) >> dropped) + chance) >> bits << dropped
        return -kept if count < 0 else kept

    each = np.frompyfunc(lambda count, chance: round_one(int(count), int(chance)), 2, 1)
    rounded: Integers = each(counts, random)
    return rounded


def _round_integers(
    operation: Operation,
    total: Integers,
    negative: NDArray[np.bool_],
    nan: NDArray[np.bool_],
    infinite: NDArray[np.bool_],
) -> Codes:
    result, grid = operation.result, operation.grid_exponent
    if isinstance(result, FixedFormat):
        invalid = nan | infinite
        codes = encode_fixed(result, total, grid, operation.rounding, operation.overflow)
    else:
        invalid = nan
        codes = encode_integers(
            result,
            abs(total),
            negative,
            grid,
            operation.rounding,
            operation.overflow,
            ftz=operation.ftz,
        )
        special = np.where(nan, np.nan, np.where(negative, -np.inf, np.inf))
        others = encode(result, special, operation.rounding, operation.overflow)
        codes = np.where(nan | infinite, others, codes)
    if not operation.has_invalid:
        return codes
    flag = 1 << result.width
    wide = operation.output_bits > 64
    codes = np.where(invalid, 0, codes.astype(object) if wide else codes)
    flags = np.where(invalid, flag, 0) if not wide else invalid.astype(object) * flag
    return codes | flags if wide else codes.astype(np.uint64) | flags.astype(np.uint64)


def _grid_bits(operation: Operation) -> int:
    """Bits of the largest exact result counted in grid quanta, and of the result itself."""
    sizes = [_largest_exponent(f) for f in operation.operands]
    terms = [sizes[0] + sizes[1], *sizes[2:]] if operation.product else sizes
    bits = max(terms) + 2 - operation.grid_exponent
    if isinstance(operation.result, FloatFormat):
        return _INT64_SAFE_BITS + 1  # rounding integers to floats is done one by one
    return max(bits, operation.result.width)


def _term(fmt: Format, codes: Codes, wide: bool, daz: bool) -> _Term:
    if isinstance(fmt, FixedFormat):
        integers = decode_integers(fmt, codes)
        no = np.zeros(codes.shape, dtype=np.bool_)
        magnitude = abs(integers.astype(object) if wide else integers)
        return _Term((integers < 0).astype(np.bool_), magnitude, fmt.quantum_exponent, no, no)
    values = decode(fmt, codes)
    if daz:
        values = flush_subnormals(fmt, values)
    finite = np.where(np.isfinite(values), np.abs(values), 0.0)
    if wide:
        scaled = np.frompyfunc(lambda v: _quanta(float(v), fmt.quantum_exponent), 1, 1)
        magnitude = scaled(finite)
    else:
        magnitude = np.ldexp(finite, -fmt.quantum_exponent).astype(np.int64)
    nan = is_nan_code(fmt, codes)
    return _Term(np.signbit(values) & ~nan, magnitude, fmt.quantum_exponent, nan, np.isinf(values))


def _quanta(value: float, quantum_exponent: int) -> int:
    """Return ``value / 2**quantum_exponent`` as an integer; it is one."""
    numerator, denominator = value.as_integer_ratio()
    if quantum_exponent < 0:
        numerator <<= -quantum_exponent
    else:
        denominator <<= quantum_exponent
    return numerator // denominator
