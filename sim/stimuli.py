"""Sampled stimuli: directed corners, and random operands aimed at the regions where units fail.

Operands are made by construction, then counted by their exact result: a region's count is what
the vectors do, not what they were meant to do.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fmacost.sim.codec import Codes, Integers, Values, decode, decode_integers, encode
from fmacost.sim.formats import FixedFormat, FloatFormat, Format
from fmacost.sim.operation import Kind, Operation, Overflow, Rounding
from fmacost.sim.reference import compute, flush_subnormals

Operands: TypeAlias = tuple[Codes, ...]
Mask: TypeAlias = NDArray[np.bool_]

_DOUBLE_PRECISION = 53
_MIN_CANDIDATES, _MAX_CANDIDATES = 1 << 11, 1 << 16
_MAX_ROUNDS = 24
_EMPTY_ROUNDS = 2  # that many rounds without a hit: the region is empty, or as good as


@dataclass(frozen=True)
class Sample:
    """Inputs with the results of the reference.

    Attributes
    ----------
    operands : one array of codes for each operand, all of the same length
    expected : result codes of ``compute``
    regions : how many of the vectors are in each region; 0 where the operation has no such input
    """

    operands: Operands
    expected: Codes
    regions: dict[str, int]


def sampled(operation: Operation, seed: int = 0, per_region: int = 10_000) -> Sample:
    """Return corners, random operands, and at least ``per_region`` vectors of every region.

    The corners do not count towards a region's minimum. Equal arguments give equal samples.

    Raises
    ------
    ValueError
        If ``per_region`` is negative.
    """
    if per_region < 0:
        raise ValueError(f"per_region must be at least 0, not {per_region}")
    if operation.random_bits:
        return _with_random_bits(operation, seed, per_region)
    source = _Source(operation, np.random.default_rng(seed))
    with np.errstate(all="ignore"):  # aiming may divide by zero or miss the range
        corners = _judge(operation, _all_corners(operation))
        general = [source.uniform, source.spread, *([source.close] if operation.addend else [])]
        parts = [_judge(operation, generate(per_region)) for generate in general]
        for region in corners.masks:
            missing = per_region - sum(part.count(region) for part in parts)
            if not _is_impossible(operation, region):
                parts += _aimed(operation, region, source.aim(region), missing)
    parts = [corners, *parts]
    return Sample(
        tuple(np.concatenate(codes) for codes in zip(*(p.operands for p in parts), strict=True)),
        np.concatenate([part.expected for part in parts]),
        {region: sum(part.count(region) for part in parts) for region in corners.masks},
    )


def _with_random_bits(operation: Operation, seed: int, per_region: int) -> Sample:
    """Return the sample of the unit that rounds to nearest, each vector with random bits."""
    nearest = replace(operation, rounding=Rounding.RNE, random_bits=0)
    sample = sampled(nearest, seed, per_region)
    largest = (1 << operation.random_bits) - 1
    rng = np.random.default_rng(seed)
    random = rng.integers(0, largest, len(sample.expected), dtype=np.uint64, endpoint=True)
    ends = rng.random(len(random))
    random = np.where(ends < 0.1, 0, np.where(ends > 0.9, largest, random)).astype(np.uint64)
    operands = (*sample.operands, random)
    return Sample(operands, compute(operation, *operands), sample.regions)


def classify(operation: Operation, operands: Operands, expected: Codes) -> dict[str, Mask]:
    """Tell for each vector and region whether the one is in the other.

    - ``cancellation``: the sum is at most half of its larger term, and neither term is zero
    - ``ties``: the exact result is half way between two neighbours of the result format
    - ``subnormal``: the result is subnormal and not zero (with FTZ: would be)
    - ``overflow``: the exact result is finite and rounds to beyond the range
    - ``special``: an operand is NaN or infinite
    - ``corner``: an operand is at an end of its range (integers)
    - ``zero``: the result is a zero

    Parameters
    ----------
    expected : what ``compute`` returns for the operands

    Returns
    -------
    dict of region to mask; floats have no ``corner``, integers neither ``special`` nor
    ``subnormal``
    """
    exact = _exact(operation, operands)
    result = operation.result
    regions = {"cancellation": exact.cancels(), "ties": exact.is_tie(result)}
    codes = expected & ((1 << result.width) - 1) if operation.has_invalid else expected
    overflow = exact.is_beyond(result, operation.rounding)
    if isinstance(result, FloatFormat):
        magnitude = codes & np.uint64((1 << (result.width - 1)) - 1)
        tiny = (magnitude > 0) & (magnitude < 1 << result.frac_bits)
        if operation.ftz:
            tiny = exact.is_subnormal(result)
        overflow |= ~exact.special & ~np.isfinite(decode(result, codes))
        zero = (magnitude == 0) & result.has_zero & ((codes == 0) | result.has_negative_zero)
        if not result.has_nan:
            zero &= ~exact.special
        regions["subnormal"] = tiny & result.has_subnormals & ~exact.special
    else:
        zero = (codes == 0) & ~exact.special
    regions["overflow"] = overflow
    if operation.is_integer:
        ends = zip(operation.operands, operands, strict=True)
        regions["corner"] = np.logical_or.reduce([_is_end(f, c) for f, c in ends])
    else:
        regions["special"] = exact.special
    regions["zero"] = zero.astype(np.bool_)
    return regions


def corner_codes(fmt: Format) -> list[int]:
    """Return the codes at which formats change their ways, ascending.

    Zeros, ends of the subnormal and normal numbers, around one, powers of two, all fraction bits
    set, infinities, NaNs; for fixed point zero, one, the ends, alternating bits and one bit.
    """
    ones = (1 << fmt.width) - 1
    if isinstance(fmt, FixedFormat):
        top = 1 << (fmt.width - 1)
        alternating = int("01" * fmt.width, 2) & ones
        chosen = [0, 1, 2, 3, ones, ones - 1, top, top + 1, top - 1, top - 2, top >> 1]
        chosen += [alternating, ones ^ alternating, 1 << fmt.width // 2]
        return sorted({code & ones for code in chosen})
    normal, sign = 1 << fmt.frac_bits, 1 << (fmt.width - 1)
    one = max(-fmt.quantum_exponent - fmt.frac_bits + 1, 0) << fmt.frac_bits
    chosen = [0, 1, 2, normal - 1, normal, normal + 1, 2 * normal - 1, one - 1, one, one + 1]
    chosen += [one + normal - 1, one + normal, one + normal // 2]
    chosen += [fmt.max_code, fmt.max_code - 1, fmt.max_code >> fmt.frac_bits << fmt.frac_bits]
    if fmt.has_infinity:
        chosen += [fmt.inf_code, fmt.inf_code + 1]
    chosen += [sign - 1, fmt.nan_code if fmt.has_nan else 0]
    magnitudes = {code & (sign - 1) for code in chosen if code >= 0}
    return sorted(code | s for code in magnitudes for s in (0, sign))


def _all_corners(operation: Operation) -> Operands:
    """Return every combination of corner codes."""
    grid = np.array(list(product(*(corner_codes(f) for f in operation.operands))), dtype=object)
    return tuple(_as_codes(f, grid[:, i]) for i, f in enumerate(operation.operands))


def _as_codes(fmt: Format, integers: Integers) -> Codes:
    """Return integers modulo 2**width, in the type that codes of the format have."""
    if fmt.width > 64:
        return np.asarray(integers.astype(object) & ((1 << fmt.width) - 1))
    if integers.dtype == object:
        return (integers & ((1 << fmt.width) - 1)).astype(np.uint64)
    return integers.astype(np.uint64) & np.uint64((1 << fmt.width) - 1)


def _is_end(fmt: Format, codes: Codes) -> Mask:
    assert isinstance(fmt, FixedFormat)
    ends = [end & ((1 << fmt.width) - 1) for end in (fmt.min_integer, fmt.max_integer)]
    return np.asarray((codes == ends[0]) | (codes == ends[1]), dtype=np.bool_)


@dataclass(frozen=True)
class _Judged:
    """Vectors with their results and regions."""

    operands: Operands
    expected: Codes
    masks: dict[str, Mask]

    def count(self, region: str) -> int:
        return int(np.count_nonzero(self.masks[region]))

    def select(self, index: NDArray[np.intp]) -> "_Judged":
        return _Judged(
            tuple(codes[index] for codes in self.operands),
            self.expected[index],
            {region: mask[index] for region, mask in self.masks.items()},
        )


def _judge(operation: Operation, operands: Operands) -> _Judged:
    expected = compute(operation, *operands)
    return _Judged(operands, expected, classify(operation, operands, expected))


def _is_impossible(operation: Operation, region: str) -> bool:
    """Whether no input of the operation is in a region, as far as that is plain."""
    match region:
        case "cancellation":
            return operation.kind is Kind.MUL
        case "ties":
            fixed = isinstance(operation.result, FixedFormat)
            return fixed and operation.result.quantum_exponent <= operation.grid_exponent
        case "subnormal":
            return not operation.result.has_subnormals
        case "special":
            return not any(f.has_nan or f.has_infinity for f in operation.operands)
        case _:
            return False


def _aimed(
    operation: Operation, region: str, generate: Callable[[int], Operands], missing: int
) -> Iterable[_Judged]:
    """Return ``missing`` vectors of a region, fewer only if they are too rare to be found."""
    parts: list[_Judged] = []
    found = tried = 0
    for round_number in range(_MAX_ROUNDS):
        wanted = missing - found
        if wanted <= 0 or (not found and round_number == _EMPTY_ROUNDS):
            break
        count = wanted * (tried + 1) // (found + 1) if tried else 2 * wanted
        count = min(max(count * 9 // 8, _MIN_CANDIDATES), _MAX_CANDIDATES)
        candidates = _judge(operation, generate(count))
        hits = np.flatnonzero(candidates.masks[region])[:wanted]
        parts.append(candidates.select(hits))
        found, tried = found + len(hits), tried + count
    return parts


@dataclass(frozen=True)
class _Exact:
    """Exact terms and their sum, counted in ``2**unit``: doubles, or integers of any size.

    Attributes
    ----------
    terms : one or two arrays; zero where ``special``
    total : their sum; a double that rounded it where ``rounded``
    """

    terms: list[NDArray[Any]]
    total: NDArray[Any]
    rounded: Mask
    special: Mask
    unit: int

    def cancels(self) -> Mask:
        if len(self.terms) == 1:
            return np.zeros(self.special.shape, np.bool_)
        x, y = (abs(term) for term in self.terms)
        small = 2 * abs(self.total) <= np.maximum(x, y)
        return np.asarray(small & (x != 0) & (y != 0) & ~self.special, dtype=np.bool_)

    def is_tie(self, fmt: Format) -> Mask:
        top, low = self._ends()
        if isinstance(fmt, FixedFormat):
            half = np.full(top.shape, fmt.quantum_exponent - 1)
        elif fmt.is_sign_only:  # between -1 and +1
            return np.asarray((self.total == 0) & ~self.special, dtype=np.bool_)
        else:
            half = np.maximum(top, fmt.emin) - fmt.precision
        tie: Mask = ~self.rounded & ~self.special & (self.total != 0) & (low == half)
        for sign, end in _range_ends(fmt):
            tie &= ~self._exceeds(sign, end + _last_step(fmt) / 2, strictly=True)
        return tie

    def is_beyond(self, fmt: Format, rounding: Rounding) -> Mask:
        """Tell which finite sums round to beyond the range."""
        beyond = np.zeros(self.special.shape, np.bool_)
        step = _last_step(fmt)
        for sign, end in _range_ends(fmt):
            outward = Rounding.RUP if sign > 0 else Rounding.RDN
            if rounding is outward:
                beyond |= self._exceeds(sign, end, strictly=True)
            elif rounding in (Rounding.RNE, Rounding.RMM):
                to_end = rounding is Rounding.RNE and end / step % 2 == 0
                beyond |= self._exceeds(sign, end + step / 2, strictly=to_end)
            else:
                beyond |= self._exceeds(sign, end + step, strictly=False)
        return beyond & ~self.special

    def is_subnormal(self, fmt: FloatFormat) -> Mask:
        """Tell which sums are subnormal, or would be."""
        tiny = np.zeros(self.special.shape, np.bool_)
        for sign in (1, -1):
            quantum, normal = (Fraction(2) ** e for e in (fmt.quantum_exponent, fmt.emin))
            above, below = (self._exceeds(sign, v, strictly=False) for v in (quantum, normal))
            tiny |= above & ~below
        return tiny & ~self.special

    def _exceeds(self, sign: int, value: Fraction, *, strictly: bool) -> Mask:
        """Tell where ``sign * sum`` is at least ``value``, or above it."""
        value = value / Fraction(2) ** self.unit
        size = self.total if sign > 0 else -self.total
        if self.total.dtype == object:
            whole = value.numerator // value.denominator
            least = whole + 1 if strictly or whole < value else whole
            return np.asarray(size >= least, dtype=np.bool_)
        limit = float(value)
        return np.asarray(size > limit if strictly else size >= limit, dtype=np.bool_)

    def _ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the exponents of the highest and of the lowest bit that is set."""
        if self.total.dtype == object:
            top = np.frompyfunc(lambda n: abs(n).bit_length() - 1, 1, 1)(self.total)
            low = np.frompyfunc(lambda n: (n & -n).bit_length() - 1, 1, 1)(self.total)
            return top.astype(np.int64) + self.unit, low.astype(np.int64) + self.unit
        return _bit_range(self.total)


def _bit_range(values: Values) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the exponents of the highest and of the lowest bit that is set in finite doubles."""
    significand, exponent = np.frexp(values)
    integer = np.ldexp(significand, _DOUBLE_PRECISION).astype(np.int64)
    lowest = np.frexp((integer & -integer).astype(np.float64))[1] - 1
    top = exponent.astype(np.int64) - 1
    return top, top + 1 - _DOUBLE_PRECISION + lowest


def _range_ends(fmt: Format) -> tuple[tuple[int, Fraction], tuple[int, Fraction]]:
    """Return the sign of each end of the range, and how far out on that side it is."""
    low = fmt.max_value
    if isinstance(fmt, FixedFormat):
        low = -fmt.min_integer * Fraction(2) ** fmt.quantum_exponent
    return (1, fmt.max_value), (-1, low)


def _last_step(fmt: Format) -> Fraction:
    """Return the distance of the largest values."""
    exponent = fmt.quantum_exponent if isinstance(fmt, FixedFormat) else fmt.max_exponent
    return Fraction(2) ** exponent


def _fits_doubles(operation: Operation) -> bool:
    """Whether operands and product are exact in doubles."""
    sizes = [f.width if isinstance(f, FixedFormat) else f.precision for f in operation.operands]
    together = sizes[0] + sizes[1] if operation.product else 0
    return max(together, *sizes) <= _DOUBLE_PRECISION


def _exact(operation: Operation, operands: Operands) -> _Exact:
    pairs = list(zip(operation.operands, operands, strict=True))
    special = np.logical_or.reduce([~_is_finite(f, codes) for f, codes in pairs])
    doubles = _fits_doubles(operation)
    if doubles:
        terms: list[NDArray[Any]] = [_doubles(f, codes, operation.daz) for f, codes in pairs]
    else:
        terms = [_integers(f, codes, operation.daz) for f, codes in pairs]
    units = [f.quantum_exponent for f in operation.operands]
    if operation.product:
        terms = [terms[0] * terms[1], *terms[2:]]
        units = [units[0] + units[1], *units[2:]]
    grid = operation.grid_exponent
    if not doubles:
        terms = [term << (unit - grid) for term, unit in zip(terms, units, strict=True)]
    terms = [np.where(special, 0, term) for term in terms]
    total, rounded = terms[0], np.zeros(special.shape, np.bool_)
    if len(terms) == 2:
        x, y = terms
        total = x + y
        if doubles:  # Knuth's TwoSum: is there an error?
            part = total - x
            rounded = (x - (total - part)) + (y - part) != 0
    return _Exact(terms, total, rounded, special, 0 if doubles else grid)


def _is_finite(fmt: Format, codes: Codes) -> Mask:
    if isinstance(fmt, FixedFormat):
        return np.ones(codes.shape, np.bool_)
    return np.isfinite(decode(fmt, codes))


def _doubles(fmt: Format, codes: Codes, daz: bool = False) -> Values:
    """Return finite values as doubles, zero for others; fixed point beyond 53 bits is rounded."""
    if isinstance(fmt, FixedFormat) and fmt.width > _DOUBLE_PRECISION:
        integers = decode_integers(fmt, codes.astype(object)).astype(np.float64)
        return np.ldexp(integers, fmt.quantum_exponent)
    values = decode(fmt, codes)
    if daz:
        values = flush_subnormals(fmt, values)
    return np.where(np.isfinite(values), values, 0.0)


def _integers(fmt: Format, codes: Codes, daz: bool = False) -> Integers:
    """Return finite values in quanta, as Python integers; zero for others."""
    if isinstance(fmt, FixedFormat):
        return decode_integers(fmt, codes).astype(object)
    return _whole(_doubles(fmt, codes, daz), fmt.quantum_exponent)


def _whole(values: Values, unit: int) -> Integers:
    """Return doubles counted in ``2**unit`` as Python integers, rounded down."""
    significand, exponent = np.frexp(values)
    integers = np.ldexp(significand, _DOUBLE_PRECISION).astype(np.int64).astype(object)
    shift = (exponent.astype(np.int64) - _DOUBLE_PRECISION - unit).astype(object)
    return np.asarray((integers << np.maximum(shift, 0)) >> np.maximum(-shift, 0))


def random_codes(rng: np.random.Generator, fmt: Format, count: int) -> Codes:
    """Return codes of a format, each as likely."""
    limbs = [
        rng.integers(0, 1 << min(32, fmt.width - low), count, dtype=np.uint64)
        for low in range(0, fmt.width, 32)
    ]
    codes: Codes = np.zeros(count, object if fmt.width > 64 else np.uint64)
    for limb in reversed(limbs):
        codes = codes << 32 | limb.astype(codes.dtype)
    return codes


def nearest_codes(fmt: Format, values: Values) -> Codes:
    """Return the codes of the finite numbers next to given values; NaN counts as zero."""
    if isinstance(fmt, FloatFormat):
        return encode(fmt, np.nan_to_num(values), overflow=Overflow.SAT)
    values = np.nan_to_num(np.ldexp(values, -fmt.quantum_exponent))
    if fmt.width > _DOUBLE_PRECISION:
        return _clipped(fmt, _whole(values, 0))
    low, high = float(fmt.min_integer), float(fmt.max_integer)
    return _as_codes(fmt, np.clip(np.rint(values), low, high).astype(np.int64))


def _clipped(fmt: FixedFormat, integers: Integers) -> Codes:
    """Return the codes of Python integers, the ends of the range for those beyond."""
    return _as_codes(fmt, np.clip(integers, fmt.min_integer, fmt.max_integer))


def _precision(fmt: Format) -> int:
    """Return the significant bits that a number of the format can have, at most 53."""
    bits = max(fmt.width - fmt.signed, 1) if isinstance(fmt, FixedFormat) else fmt.precision
    return min(bits, _DOUBLE_PRECISION)


@dataclass(frozen=True)
class _Source:
    """Random operands of one operation.

    The *first term* is the product, or the first operand of a sum. Methods without underscore take
    the number of vectors and return all operands.
    """

    operation: Operation
    rng: np.random.Generator

    def aim(self, region: str) -> Callable[[int], Operands]:
        """Return what generates operands for a region."""
        return {
            "cancellation": self.cancelling,
            "ties": self.tying,
            "subnormal": self.tiny,
            "overflow": self.overflowing,
            "special": self.special,
            "corner": self.corner,
            "zero": self.zero,
        }[region]

    def uniform(self, count: int) -> Operands:
        """Draw every code as likely."""
        return tuple(random_codes(self.rng, f, count) for f in self.operation.operands)

    def spread(self, count: int) -> Operands:
        """Draw finite operands of every size, with few significant bits as likely as many."""
        return tuple(self._few_bits(f, count) for f in self.operation.operands)

    def close(self, count: int) -> Operands:
        """Make the terms about the same size, or some bits apart; either sign."""
        first = self._first(count)
        factor = self._signs(count) * 2.0 ** self.rng.uniform(-4, 4, count)
        apart = self.rng.integers(0, 2, count) * self.rng.integers(-30, 31, count)
        values = np.ldexp(self._term(first) * factor, apart)
        return (*first, nearest_codes(self.operation.operands[-1], values))

    def cancelling(self, count: int) -> Operands:
        """Put the addend some steps from the opposite of the first term."""
        fmt = self.operation.operands[-1]
        first = self._choose(
            self._first(count), self._factors(-_doubles(fmt, self._finite(fmt, count)))
        )
        *_, last = self._completed(first, np.zeros(count))
        bits = (fmt.width + 1) // 2 if isinstance(fmt, FixedFormat) else fmt.precision
        steps = self.rng.integers(-4, 5, count) << self.rng.integers(0, bits, count)
        if last.dtype == object:
            return (*first, _as_codes(fmt, last + steps.astype(object)))
        return (*first, _as_codes(fmt, last.astype(np.int64) + steps))

    def tying(self, count: int) -> Operands:
        """Put the exact result half way between two neighbours of the result format."""
        match self.operation.kind:
            case Kind.MUL:
                return self._choose(self._odd_factors(count), self._half_step_factors(count))
            case Kind.ADD:
                return self._choose(self._odd_sum(count), self._from_midpoint(count))
        factors = self._choose(self._odd_factors(count), self._half_step_factors(count))
        sums = self._choose(self._odd_sum(count), self._from_midpoint(count))
        return self._choose(self._same_parity(factors), sums)

    def tiny(self, count: int) -> Operands:
        """Put the result about a subnormal number."""
        result = self.operation.result
        assert isinstance(result, FloatFormat)
        steps = np.floor(2.0 ** self.rng.uniform(0, result.frac_bits, count))
        steps += self.rng.integers(0, 2, count) * self.rng.uniform(-0.75, 0.75, count)
        target = self._signs(count) * np.ldexp(steps, result.quantum_exponent)
        if self.operation.kind is Kind.MUL:
            return self._factors(target)
        near = self._factors(target * self._signs(count) * 2.0 ** self.rng.uniform(-3, 3, count))
        others = self._choose(self._first(count), self._zero_term(count))
        return self._completed(self._choose(near, others), target)

    def overflowing(self, count: int) -> Operands:
        """Put the result about an end of the range, most often beyond."""
        result = self.operation.result
        step = float(_last_step(result))
        high, low = (sign * float(end) for sign, end in _range_ends(result))
        excess = np.where(
            self.rng.integers(0, 2, count),
            step * np.floor(2.0 ** self.rng.uniform(0, 6, count)),
            high * self.rng.uniform(0, 3, count),
        )
        target = np.where(self.rng.integers(0, 2, count), high + excess, low - excess)
        if self.operation.kind is Kind.MUL:
            return self._factors(target)
        near = self._factors(target * self.rng.uniform(0.25, 1.5, count))
        operands = self._completed(self._choose(near, self._first(count)), target)
        last = nearest_codes(
            self.operation.operands[-1], target
        )  # its end, for the directed roundings
        return self._choose(operands, (*self._first(count), last))

    def special(self, count: int) -> Operands:
        """Make an operand infinite or NaN; others may be too, or zero."""
        formats = self.operation.operands
        with_special = [i for i, f in enumerate(formats) if f.has_nan or f.has_infinity]
        chosen = self.rng.choice(with_special, count)
        operands = []
        for i, (fmt, codes) in enumerate(zip(formats, self.uniform(count), strict=True)):
            zero = self.rng.random(count) < 0.1
            codes = np.where(zero, nearest_codes(fmt, np.zeros(count)), codes)
            if i in with_special and isinstance(fmt, FloatFormat):
                replaced = (chosen == i) | (self.rng.random(count) < 0.2)
                codes = np.where(replaced, self._special_codes(fmt, count), codes)
            operands.append(codes)
        return tuple(operands)

    def corner(self, count: int) -> Operands:
        """Put an integer operand at an end of its range."""
        formats = self.operation.operands
        chosen = self.rng.integers(0, len(formats), count)
        operands = []
        for i, (fmt, codes) in enumerate(zip(formats, self.spread(count), strict=True)):
            assert isinstance(fmt, FixedFormat)
            ends = np.array([fmt.min_integer, fmt.max_integer], dtype=object)
            end = _as_codes(fmt, ends[self.rng.integers(0, 2, count)])
            operands.append(np.where(chosen == i, end, codes))
        return tuple(operands)

    def zero(self, count: int) -> Operands:
        """Make the sum zero, or a factor, or let the product underflow."""
        grid = 2.0**self.operation.result.quantum_exponent
        underflow = self._factors(self._signs(count) * grid * self.rng.uniform(0, 0.5, count))
        first = self._choose(self._zero_term(count), underflow)
        if self.operation.kind is Kind.MUL:
            return first
        nothing = np.copysign(0.0, self._signs(count))
        operands = (*first, nearest_codes(self.operation.operands[-1], nothing))
        return self._choose(operands, self._completed(self._first(count), np.zeros(count)))

    def _odd_factors(self, count: int) -> Operands:
        """Make a product of one bit more than the result keeps, the lowest bit set."""
        a, b = self.operation.operands[:2]
        kept = _precision(self.operation.result)
        low = min(max(1, kept + 1 - _precision(b)), _precision(a))
        bits = self.rng.integers(low, max(min(_precision(a), kept + 1), low) + 1, count)
        others = kept + 1 + self.rng.integers(0, 2, count) - bits
        return (self._with_bits(a, bits), self._with_bits(b, np.clip(others, 1, _precision(b))))

    def _half_step_factors(self, count: int) -> Operands:
        """Make a product whose lowest bit is worth half a quantum of the result."""
        a, b = self.operation.operands[:2]
        codes = self._few_bits(a, count)
        _, low = _bit_range(_doubles(a, codes))
        odd = self._odd(self.rng.integers(1, _precision(b) + 1, count))
        exponent = self.operation.result.quantum_exponent - 1 - low
        return codes, nearest_codes(b, np.ldexp(self._signs(count) * odd, exponent))

    def _same_parity(self, factors: Operands) -> Operands:
        """Add a multiple of twice the product's lowest bit, often zero."""
        count = len(factors[0])
        _, low = _bit_range(self._term(factors))
        bits = self.rng.uniform(-2, _precision(self.operation.result), count)
        multiple = self._signs(count) * np.floor(2.0**bits)
        return (*factors, nearest_codes(self.operation.operands[-1], np.ldexp(multiple, low + 1)))

    def _odd_sum(self, count: int) -> Operands:
        """Make a sum of one bit more than the result keeps, down to the first term's lowest bit."""
        result = self.operation.result
        first = tuple(self._few_bits(f, count) for f in self.operation.operands[:-1])
        _, low = _bit_range(self._term(first))
        half = result.quantum_exponent - 1
        bits = np.full(count, _precision(result) + 1)
        if isinstance(result, FixedFormat):
            low = np.full(count, half)
            bits = self.rng.integers(1, _precision(result) + 1, count)
        else:
            bits = np.where(low <= half, self.rng.integers(1, bits + 1, count), bits)
        return self._completed(first, np.ldexp(self._signs(count) * self._odd(bits), low))

    def _from_midpoint(self, count: int) -> Operands:
        """Put the sum in the middle of a random number of the result format and its neighbour."""
        result = self.operation.result
        values = _doubles(result, self._finite(result, count))
        step = np.full(count, result.quantum_exponent)
        if isinstance(result, FloatFormat):
            step = np.maximum(_bit_range(values)[0] + 1 - result.precision, step)
        target = values + np.copysign(np.ldexp(0.5, step), values)
        near = self._factors(target * self._signs(count) * 2.0 ** self.rng.uniform(-6, 2, count))
        return self._completed(self._choose(near, self._first(count)), target)

    def _completed(self, first: Operands, target: Values) -> Operands:
        """Append the addend that brings the sum closest to a target."""
        operation, fmt = self.operation, self.operation.operands[-1]
        if _fits_doubles(operation):
            return (*first, nearest_codes(fmt, target - self._term(first)))
        grid = operation.grid_exponent
        unit = sum(f.quantum_exponent for f in operation.operands[:-1])
        numbers = [_integers(f, c) for f, c in zip(operation.operands, first, strict=False)]
        difference = _whole(target, grid) - (np.prod(numbers, axis=0) << (unit - grid))
        if isinstance(fmt, FloatFormat):
            return (*first, nearest_codes(fmt, np.ldexp(difference.astype(np.float64), grid)))
        return (*first, _clipped(fmt, difference >> (fmt.quantum_exponent - grid)))

    def _first(self, count: int) -> Operands:
        """Return finite operands of the first term."""
        formats = self.operation.operands[: 2 if self.operation.product else 1]
        return self._choose(
            tuple(self._finite(f, count) for f in formats),
            tuple(self._few_bits(f, count) for f in formats),
        )

    def _factors(self, values: Values) -> Operands:
        """Return operands whose first term is about the given values."""
        formats = self.operation.operands
        if not self.operation.product:
            return (nearest_codes(formats[0], values),)
        other = self._few_bits(formats[0], len(values))
        return other, nearest_codes(formats[1], values / _doubles(formats[0], other))

    def _zero_term(self, count: int) -> Operands:
        """Return operands of the first term of which one is zero, either sign."""
        first = self._first(count)
        chosen = self.rng.integers(0, len(first), count)
        zero = np.copysign(0.0, self._signs(count))
        return tuple(
            np.where(chosen == i, nearest_codes(fmt, zero), codes)
            for i, (fmt, codes) in enumerate(zip(self.operation.operands, first, strict=False))
        )

    def _term(self, first: Operands) -> Values:
        values = [_doubles(f, c) for f, c in zip(self.operation.operands, first, strict=False)]
        return values[0] * values[1] if self.operation.product else values[0]

    def _choose(self, these: Operands, those: Operands) -> Operands:
        """Return for each vector the one or the other operands."""
        which = self.rng.integers(0, 2, len(these[0])).astype(np.bool_)
        return tuple(np.where(which, x, y) for x, y in zip(these, those, strict=True))

    def _finite(self, fmt: Format, count: int) -> Codes:
        codes = random_codes(self.rng, fmt, count)
        return np.where(_is_finite(fmt, codes), codes, self._few_bits(fmt, count))

    def _few_bits(self, fmt: Format, count: int) -> Codes:
        """Return numbers with any number of significant bits, and of any exponent."""
        return self._with_bits(fmt, self.rng.integers(1, _precision(fmt) + 1, count))

    def _with_bits(self, fmt: Format, bits: NDArray[np.int64]) -> Codes:
        """Return numbers with so many significant bits, the lowest set, and of any exponent.

        A subnormal may have fewer.
        """
        low = np.full(bits.shape, fmt.quantum_exponent)
        if isinstance(fmt, FixedFormat):
            high = low + max(fmt.width - fmt.signed, 1)
            low = np.minimum(low + bits, high) - 1
        else:
            high = low + (fmt.max_exponent - fmt.quantum_exponent + fmt.precision)
        exponent = self.rng.integers(low, high) - bits + 1
        return nearest_codes(fmt, np.ldexp(self._signs(len(bits)) * self._odd(bits), exponent))

    def _odd(self, bits: NDArray[np.int64]) -> Values:
        """Return odd numbers with so many bits, 1 to 53."""
        top = np.left_shift(1, bits - 1)
        return np.asarray((top + self.rng.integers(0, top)) | 1, dtype=np.float64)

    def _signs(self, count: int) -> Values:
        return np.asarray(1 - 2 * self.rng.integers(0, 2, count), dtype=np.float64)

    def _special_codes(self, fmt: FloatFormat, count: int) -> Codes:
        """Return infinities and NaNs, as far as the format has them, NaNs with any fraction."""
        if not fmt.has_infinity:
            codes = np.full(count, fmt.nan_code, np.uint64)
            if not fmt.has_negative_zero:
                return codes
        else:
            fraction = self.rng.integers(0, 1 << fmt.frac_bits, count, dtype=np.uint64)
            fraction *= self.rng.integers(0, 2, count, dtype=np.uint64)
            codes = np.uint64(fmt.inf_code) | fraction
        sign = self.rng.integers(0, 2, count, dtype=np.uint64)
        return codes | (sign << np.uint64(fmt.width - 1))
