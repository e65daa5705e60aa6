"""Exact values: fractions with the sign of a zero, infinities and NaN; from text and as text."""

import re
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

from fmacost.sim.formats import format_value

_SHORT = 40  # longer values are rounded in sentences
_MAX_TEXT = 400  # characters of a value
_MAX_EXPONENT = 4000  # keeps a value below the 4300 digits that Python converts
_DECIMAL = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d+))?", re.ASCII)
_RATIO = re.compile(r"[+-]?\d+/\d+", re.ASCII)
_HEX = re.compile(r"[+-]?0x([0-9a-f]*)(?:\.([0-9a-f]*))?p([+-]?\d+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Value:
    """An exact number with the sign of its zero; ``number`` None is an infinity or NaN."""

    number: Fraction | None
    negative: bool = False
    nan: bool = False

    @classmethod
    def of(cls, number: Fraction, *, negative: bool = False) -> "Value":
        """Make a finite value; ``negative`` is the sign of a zero."""
        return cls(number, number < 0 or (number == 0 and negative))

    @property
    def infinite(self) -> bool:
        """Whether it is an infinity."""
        return self.number is None and not self.nan

    @property
    def size(self) -> Fraction:
        """Magnitude of a finite value."""
        return abs(self.number or Fraction(0))

    def __str__(self) -> str:
        """Return the exact value as text: ``448``, ``-0``, ``1/3``, ``3*2^-149``, ``inf``."""
        if self.nan:
            return "nan"
        sign = "-" if self.negative else ""
        return f"{sign}inf" if self.number is None else f"{sign}{_number_text(self.size)}"

    def short(self) -> str:
        """Return the value for a sentence: exact, or to six digits where that is too long."""
        text = str(self)
        if len(text) <= _SHORT or self.number is None:
            return text
        about = Context(prec=9).divide(
            Decimal(self.number.numerator), Decimal(self.number.denominator)
        )
        return f"about {about:.6g}"

    def to_json(self) -> int | float | str:
        """Return a JSON number where a double holds the value, else exact text."""
        if self.number is None:
            return str(self)
        if self.number == 0:
            return -0.0 if self.negative else 0
        if self.number.denominator == 1 and self.size < 2**53:
            return self.number.numerator
        try:
            double = float(self.number)
        except OverflowError:
            return str(self)
        return double if Fraction(double) == self.number else str(self)


def parse_value(text: str) -> Value:
    """Return the exact value of ``464``, ``-0.1e3``, ``1/3``, ``0x1.8p3``, ``inf`` or ``nan``.

    Raises
    ------
    ValueError
        If the text is none of these, or too long or too large to be taken exactly.
    """
    word = text.strip().lower()
    negative, bare = word.startswith("-"), word.lstrip("+-")
    if bare in ("inf", "infinity", "nan") and len(word) - len(bare) <= 1:
        nan = bare == "nan"
        return Value(None, negative and not nan, nan)
    if len(word) > _MAX_TEXT:
        raise ValueError(f"a value may have {_MAX_TEXT} characters, not {len(word)}")
    if match := _HEX.fullmatch(word):
        whole, part, exponent = match[1], match[2] or "", _exponent(match[3], word)
        if whole or part:
            size = int(whole + part, 16) * Fraction(2) ** (exponent - 4 * len(part))
            return Value.of(-size if negative else size, negative=negative)
    elif _RATIO.fullmatch(word):
        if int(word.partition("/")[2]) == 0:
            raise ValueError(f"'{text}' divides by zero")
        return Value.of(Fraction(word), negative=negative)
    elif match := _DECIMAL.fullmatch(word):
        _exponent(match[1] or "0", word)
        return Value.of(Fraction(word), negative=negative)
    hint = "; for a code say which format it is of" if bare.startswith("0x") else ""
    raise ValueError(
        f"'{text}' is no value: expected a number such as 464, 1e-3, 1/3, 0x1.8p3, inf or nan{hint}"
    )


def _exponent(digits: str, text: str) -> int:
    exponent = int(digits)
    if abs(exponent) > _MAX_EXPONENT - _MAX_TEXT:
        raise ValueError(f"the exponent of '{text}' is beyond {_MAX_EXPONENT - _MAX_TEXT}")
    return exponent


def _number_text(size: Fraction) -> str:
    rest, fives = size.denominator, 0
    twos = (rest & -rest).bit_length() - 1
    rest >>= twos
    if rest == 1:
        return _dyadic_text(size)
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest > 1 or places > _SHORT:
        return f"{size.numerator}/{size.denominator}"
    digits = str(size.numerator * 10**places // size.denominator).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def _dyadic_text(size: Fraction) -> str:
    if size == 0:
        return "0"
    twos = (size.numerator & -size.numerator).bit_length() - size.denominator.bit_length()
    odd = size / Fraction(2) ** twos
    if odd < 1 << _SHORT * 3:  # what is longer in binary is not shorter in decimal
        text = format_value(size).removeprefix("1*")
        if len(text) <= _SHORT:
            return text
    if size.denominator == 1 and size < 10**_SHORT:
        return str(size)
    return f"{odd}*2^{twos}"
