"""Number formats: what a code (bit pattern) stands for, as data.

A format is one frozen record; everything else is derived from it. Nothing here computes with
values: the reference and the hardware share this description and no algorithm.
"""

import difflib
import re
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

MAX_EXP_BITS = 8
MAX_FRAC_BITS = 23
MAX_INT_BITS = 64
MAX_FIXED_BITS = 1024  # an exact sum of 4096 products of e8m23 operands needs 637
# OCP Microscaling 1.0, 5.3: FP6 and FP4 are called "fn" by ml_dtypes and LLVM, yet have no NaN.
_FINITE_FN = {(3, 2), (2, 3), (2, 1)}
BIAS_RANGE = range(-127, 301)  # keeps every product of two operands inside a double's range


class FormatError(ValueError):
    """A format name or a combination of parameters that describes no format."""


class Specials(StrEnum):
    """Which codes of a float are not numbers."""

    IEEE = "ieee"  # exponent all ones: infinity and NaNs
    FN = "fn"  # all ones: NaN; no infinity
    FNUZ = "fnuz"  # the code of -0: NaN; no infinity, no negative zero
    FINITE = "f"  # every code is a number


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A signed binary float: sign, ``exp_bits`` of exponent, ``frac_bits`` of fraction.

    The magnitude part of a code is ``(field << frac_bits) | fraction``. With ``exp_bits`` of at
    least one, a field of zero has no hidden bit and the exponent of field one (subnormals). With
    no exponent bits there is no hidden bit either: the code is sign and magnitude, on the grid
    of ``e1m(Y-1)``; ``e0m0f`` is a sign alone, with the values -1 and +1.

    Raises
    ------
    FormatError
        If a field is out of range or ``specials`` cannot be kept with these widths.
    """

    exp_bits: int
    frac_bits: int
    bias: int
    specials: Specials

    def __post_init__(self) -> None:
        x, y = self.exp_bits, self.frac_bits
        if not 0 <= x <= MAX_EXP_BITS:
            raise FormatError(f"exponent bits must be in 0..{MAX_EXP_BITS}, not {x}")
        if not 0 <= y <= MAX_FRAC_BITS:
            raise FormatError(f"fraction bits must be in 0..{MAX_FRAC_BITS}, not {y}")
        if self.bias not in BIAS_RANGE:
            raise FormatError(
                f"bias must be in {BIAS_RANGE.start}..{BIAS_RANGE.stop - 1}, not {self.bias}"
            )
        if self.specials is Specials.IEEE and (x < 2 or y < 1):
            raise FormatError(
                f"'ieee' needs at least 2 exponent bits and 1 fraction bit to hold numbers, "
                f"infinity and NaN, e{x}m{y} has not"
            )
        if self.specials is Specials.FN and (x, y) in _FINITE_FN:
            raise FormatError(f"e{x}m{y}fn is the OCP format without NaN: use Specials.FINITE")
        if self.specials in (Specials.FN, Specials.FNUZ) and x < 1:
            raise FormatError(f"'{self.specials}' needs at least 1 exponent bit, e{x}m{y} has none")

    @property
    def width(self) -> int:
        """Bits of a code, sign included."""
        return 1 + self.exp_bits + self.frac_bits

    @property
    def is_sign_only(self) -> bool:
        """Whether the format is ``e0m0f``, a sign alone."""
        return self.exp_bits == 0 and self.frac_bits == 0

    @property
    def precision(self) -> int:
        """Width of the significand with its leading bit."""
        return max(1, self.frac_bits + (self.exp_bits > 0))

    @property
    def emin(self) -> int:
        """Exponent of the smallest normal number (of the top magnitude bit without exponent)."""
        return self.quantum_exponent + self.precision - 1

    @property
    def quantum_exponent(self) -> int:
        """Binary logarithm of the distance of the values next to zero."""
        if self.is_sign_only:
            return -self.bias
        return (1 if self.exp_bits else 2) - self.bias - self.frac_bits

    @property
    def max_field(self) -> int:
        """Largest value of the exponent field that a finite number has."""
        return self.max_code >> self.frac_bits if self.exp_bits else 0

    @property
    def max_code(self) -> int:
        """Magnitude part of the code of the largest finite number."""
        ones = (1 << (self.width - 1)) - 1
        if self.is_sign_only:
            return 1  # counted in quanta, as in every format with at most one exponent bit
        match self.specials:
            case Specials.IEEE:
                return self.inf_code - 1
            case Specials.FN:
                return ones - 1
            case _:
                return ones

    @property
    def max_exponent(self) -> int:
        """Quantum exponent of the largest finite numbers."""
        return self.quantum_exponent + max(self.max_field - 1, 0)

    @property
    def max_value(self) -> Fraction:
        """Largest finite value, exact."""
        if self.exp_bits == 0:
            return self.max_code * Fraction(2) ** self.quantum_exponent
        field, fraction = divmod(self.max_code, 1 << self.frac_bits)
        significand = fraction + (1 << self.frac_bits if field else 0)
        return significand * Fraction(2) ** (self.quantum_exponent + max(field - 1, 0))

    @property
    def min_normal(self) -> Fraction | None:
        """Smallest positive normal value, None without normal numbers."""
        return Fraction(2) ** self.emin if self.max_field else None

    @property
    def min_positive(self) -> Fraction | None:
        """Smallest positive value, None where zero is the only finite value."""
        if self.max_code == 0:
            return None
        smallest = self.quantum_exponent
        return Fraction(2) ** smallest

    @property
    def has_subnormals(self) -> bool:
        """Whether some non-zero value has an exponent field of zero and could be flushed."""
        return self.exp_bits > 0 and self.frac_bits > 0

    @property
    def has_infinity(self) -> bool:
        """Whether infinity has a code."""
        return self.specials is Specials.IEEE

    @property
    def has_nan(self) -> bool:
        """Whether NaN has a code."""
        return self.specials is not Specials.FINITE

    @property
    def has_zero(self) -> bool:
        """Whether zero has a code; only a sign alone has none."""
        return not self.is_sign_only

    @property
    def has_negative_zero(self) -> bool:
        """Whether -0 has a code of its own."""
        return self.has_zero and self.specials is not Specials.FNUZ

    @property
    def inf_code(self) -> int:
        """Magnitude part of the code of infinity; only with ``has_infinity``."""
        return ((1 << self.exp_bits) - 1) << self.frac_bits

    @property
    def nan_code(self) -> int:
        """Code of the canonical NaN: positive and quiet; only with ``has_nan``."""
        match self.specials:
            case Specials.IEEE:
                return self.inf_code | 1 << (self.frac_bits - 1)
            case Specials.FN:
                return (1 << (self.width - 1)) - 1
            case _:
                return 1 << (self.width - 1)

    @property
    def name(self) -> str:
        """Canonical name, such as ``e4m3fn``, ``bf16`` or ``e3m4b5f``."""
        return _STANDARD_NAMES.get(self) or _general_name(self)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class FixedFormat:
    """Two's complement (or unsigned) fixed point: integers where ``frac_bits`` is zero.

    Parameters
    ----------
    int_bits : bits before the point, sign included
    frac_bits : bits after the point

    Raises
    ------
    FormatError
        If a width is out of range.
    """

    int_bits: int
    frac_bits: int = 0
    signed: bool = True

    def __post_init__(self) -> None:
        if self.int_bits < (1 if self.signed else 0) or self.frac_bits < 0:
            raise FormatError(
                f"fixed point needs at least 1 bit before the point and 0 after, "
                f"not {self.int_bits} and {self.frac_bits}"
            )
        if not 1 <= self.width <= MAX_FIXED_BITS:
            raise FormatError(
                f"fixed point may have 1..{MAX_FIXED_BITS} bits in all, not {self.width}"
            )

    @property
    def width(self) -> int:
        """Bits of a code."""
        return self.int_bits + self.frac_bits

    @property
    def quantum_exponent(self) -> int:
        """Binary logarithm of the distance of neighbouring values."""
        return -self.frac_bits

    @property
    def min_integer(self) -> int:
        """Smallest value, counted in quanta."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def max_integer(self) -> int:
        """Largest value, counted in quanta."""
        return (1 << (self.width - self.signed)) - 1

    @property
    def max_value(self) -> Fraction:
        """Largest value, exact."""
        return self.max_integer * Fraction(2) ** self.quantum_exponent

    @property
    def has_nan(self) -> bool:
        """Whether NaN has a code: never."""
        return False

    @property
    def has_infinity(self) -> bool:
        """Whether infinity has a code: never."""
        return False

    @property
    def has_subnormals(self) -> bool:
        """Whether flushing changes a value: never."""
        return False

    @property
    def name(self) -> str:
        """Canonical name: ``int8``, ``uint4``, ``fixed24.18``."""
        if self.frac_bits == 0 and self.int_bits <= MAX_INT_BITS:
            return f"{'int' if self.signed else 'uint'}{self.int_bits}"
        return f"{'' if self.signed else 'u'}fixed{self.int_bits}.{self.frac_bits}"

    def __str__(self) -> str:
        return self.name


Format = FloatFormat | FixedFormat


def default_bias(exp_bits: int, specials: Specials) -> int:
    """Return the bias that goes without saying: 2**(X-1) - 1, one more for ``fnuz``, 0 for X = 0.

    Sources: IEEE 754-2019, 3.3; OCP OFP8 1.0, 5.2; Graphcore/AMD FNUZ, arXiv:2206.02915.
    """
    if exp_bits == 0:
        return 0
    return (1 << (exp_bits - 1)) - (0 if specials is Specials.FNUZ else 1)


def float_format(
    exp_bits: int, frac_bits: int, specials: Specials, bias: int | None = None
) -> FloatFormat:
    """Make a float format; ``bias`` None is the default bias. Raises FormatError."""
    if (exp_bits, frac_bits) in _FINITE_FN and specials is Specials.FN:
        specials = Specials.FINITE  # the OCP names e3m2fn, e2m3fn, e2m1fn: every code a number
    if bias is None:
        bias = default_bias(exp_bits, specials)
    return FloatFormat(exp_bits, frac_bits, bias, specials)


_STANDARD = {
    "e4m3fn": float_format(4, 3, Specials.FN),
    "e5m2": float_format(5, 2, Specials.IEEE),
    "e4m3fnuz": float_format(4, 3, Specials.FNUZ),
    "e5m2fnuz": float_format(5, 2, Specials.FNUZ),
    "e3m2fn": float_format(3, 2, Specials.FINITE),
    "e2m3fn": float_format(2, 3, Specials.FINITE),
    "e2m1fn": float_format(2, 1, Specials.FINITE),
    "fp16": float_format(5, 10, Specials.IEEE),
    "bf16": float_format(8, 7, Specials.IEEE),
    "tf32": float_format(8, 10, Specials.IEEE),
    "fp32": float_format(8, 23, Specials.IEEE),
}
_STANDARD_NAMES = {fmt: name for name, fmt in _STANDARD.items()}

_ALIASES = {
    "e4m3": "e4m3fn",
    "fp8_e4m3": "e4m3fn",
    "fp8_e4m3fn": "e4m3fn",
    "fp8_e5m2": "e5m2",
    "fp6_e3m2": "e3m2fn",
    "fp6_e2m3": "e2m3fn",
    "fp4": "e2m1fn",
    "fp4_e2m1": "e2m1fn",
    "e5m10": "fp16",
    "e8m7": "bf16",
    "e8m10": "tf32",
    "e8m23": "fp32",
    "half": "fp16",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    # ml_dtypes' full names keep ml_dtypes' meaning: without "fn" they are IEEE-style.
    "float8_e3m4": "e3m4ieee",
    "float8_e4m3": "e4m3ieee",
    "float8_e4m3fn": "e4m3fn",
    "float8_e4m3fnuz": "e4m3fnuz",
    "float8_e4m3b11fnuz": "e4m3b11fnuz",
    "float8_e5m2": "e5m2",
    "float8_e5m2fnuz": "e5m2fnuz",
    "float6_e2m3fn": "e2m3fn",
    "float6_e3m2fn": "e3m2fn",
    "float4_e2m1fn": "e2m1fn",
}

_FLOAT_PATTERN = re.compile(r"e(\d{1,2})m(\d{1,2})(?:b(-?\d{1,3}))?(ieee|fnuz|fn|f)?")
_INT_PATTERN = re.compile(r"(u?)int(\d{1,4})")
_FIXED_PATTERN = re.compile(r"(u?)fixed(\d{1,4})\.(\d{1,4})")
_SUFFIXES = (
    "'ieee' (infinity and NaNs), 'fn' (no infinity, NaN at all ones), "
    "'fnuz' (no infinity, no -0, NaN at the code of -0) or 'f' (every code a number)"
)


def standard_formats() -> tuple[Format, ...]:
    """Return the formats that have a name in the field, integers first."""
    integers = [FixedFormat(bits, signed=s) for s in (True, False) for bits in (4, 8, 16, 32)]
    return (*integers, *_STANDARD.values())


@lru_cache(maxsize=4096)
def parse_format(text: str) -> Format:
    """Return the format that ``text`` names.

    Raises
    ------
    FormatError
        Naming what was wrong, what is expected, and near names.
    """
    name = _ALIASES.get(text, text)
    if name in _STANDARD:
        return _STANDARD[name]
    if match := _INT_PATTERN.fullmatch(name):
        bits = int(match[2])
        if not 1 <= bits <= MAX_INT_BITS:
            raise FormatError(f"'{text}': integers have 1..{MAX_INT_BITS} bits, not {bits}")
        return FixedFormat(bits, signed=not match[1])
    if match := _FIXED_PATTERN.fullmatch(name):
        return FixedFormat(int(match[2]), int(match[3]), signed=not match[1])
    if match := _FLOAT_PATTERN.fullmatch(name):
        return _parse_float(text, match)
    raise FormatError(_unknown(text))


def alias_note(text: str) -> str | None:
    """Return a sentence that says what an ambiguous name was read as, None for clear names."""
    fmt = parse_format(text)
    if text == fmt.name or not isinstance(fmt, FloatFormat):
        return None
    return f"'{text}' is read as {fmt.name} ({describe(fmt)})"


def describe(fmt: Format) -> str:
    """Return one line on range and special values, for reports."""
    if isinstance(fmt, FixedFormat):
        kind = "two's complement" if fmt.signed else "unsigned"
        return f"{kind}, {fmt.width} bits, quantum 2^{fmt.quantum_exponent}"
    origin = {"e4m3fn": "OCP E4M3, ", "e5m2": "OCP E5M2, "}.get(fmt.name, "")
    special = {
        Specials.IEEE: "infinity and NaNs",
        Specials.FN: "no infinity, NaN at all ones",
        Specials.FNUZ: "no infinity, no -0, one NaN",
        Specials.FINITE: "every code a number",
    }[fmt.specials]
    largest = format_value(fmt.max_value)
    return (
        f"{origin}max {largest if len(largest) < 12 else f'{float(fmt.max_value):.5g}'}, {special}"
    )


def format_value(value: Fraction) -> str:
    """Return an exact value as people write it: 448, 0.001953125, 1.5*2^-130."""
    if value == 0 or 2**-20 <= abs(value) < 2**40:
        if value.denominator == 1:
            return str(value.numerator)
        digits = value.denominator.bit_length() - 1  # a power of two: as many decimal places
        scaled = str(abs(value.numerator) * 10**digits // value.denominator).rjust(digits + 1, "0")
        return f"{'-' if value < 0 else ''}{scaled[:-digits]}.{scaled[-digits:]}".rstrip("0")
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    if abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    return f"{format_value(value / Fraction(2) ** exponent)}*2^{exponent}"


def _parse_float(text: str, match: re.Match[str]) -> FloatFormat:
    exp_bits, frac_bits, suffix = int(match[1]), int(match[2]), match[4]
    if suffix is None:
        raise FormatError(f"'{text}' is no standard name; say which special values: {_SUFFIXES}")
    bias = None if match[3] is None else int(match[3])
    try:
        return float_format(exp_bits, frac_bits, Specials(suffix), bias)
    except FormatError as error:
        raise FormatError(f"'{text}': {error}") from None


def _unknown(text: str) -> str:
    if text in ("float8_e8m0fnu", "e8m0", "e8m0fnu"):
        return f"'{text}' is an unsigned block scale, not an operand format; 'e8m0f' has a sign"
    known = [*_STANDARD, *_ALIASES, *(f"{u}int{n}" for u in ("", "u") for n in (1, 2, 4, 8, 16))]
    near = difflib.get_close_matches(text.lower(), known, n=3, cutoff=0.5)
    hint = f"; near names: {', '.join(near)}" if near else ""
    return (
        f"unknown format '{text}'{hint}; expected int<N>, uint<N>, fixed<I>.<F>, "
        f"a standard name such as e4m3fn, or e<X>m<Y>[b<bias>] with a suffix"
    )


def _general_name(fmt: FloatFormat) -> str:
    bias = "" if fmt.bias == default_bias(fmt.exp_bits, fmt.specials) else f"b{fmt.bias}"
    return f"e{fmt.exp_bits}m{fmt.frac_bits}{bias}{fmt.specials}"
