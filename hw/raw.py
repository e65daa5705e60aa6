"""What is known of a decoded operand before any bit of it is: ranges, not values.

A decoded operand is sign, significand and exponent, with the value
``significand * 2**(quantum + exponent - 1)`` where there is an exponent (at least one) and
``significand * 2**quantum`` where there is none. Every width of a unit follows from these ranges.
"""

from dataclasses import dataclass

from fmacost.sim.formats import FixedFormat, Format


@dataclass(frozen=True, slots=True)
class Case:
    """One class of non-zero operands.

    Attributes
    ----------
    lead : lowest place of the leading one in the significand
    top : largest exponent of the least significant bit
    """

    lead: int
    top: int


@dataclass(frozen=True, slots=True)
class RawRange:
    """The ranges of a decoded operand.

    Attributes
    ----------
    significand_bits : width of the significand
    exponent_bits : width of the exponent field, 0 where the exponent is fixed
    quantum : exponent of the least significant bit at the smallest exponent
    top : the same at the largest exponent (that of infinity and NaN included)
    normal, small : operands with a leading one in the top place, and those without
    """

    significand_bits: int
    exponent_bits: int
    quantum: int
    top: int
    normal: Case | None
    small: Case | None

    @property
    def cases(self) -> tuple[Case, ...]:
        """The classes of non-zero operands that occur."""
        return tuple(case for case in (self.normal, self.small) if case)

    @property
    def max_significand(self) -> int:
        """Largest significand."""
        return (1 << self.significand_bits) - 1

    @property
    def normalising_stages(self) -> int:
        """Stages of a shifter, by powers of two, that moves any leading one to the top place."""
        return (self.significand_bits - 1).bit_length() if self.small else 0

    @property
    def normalised_exponents(self) -> tuple[int, int]:
        """Range of the exponent less that shift; zero is shifted by every stage."""
        return 2 - (1 << self.normalising_stages), self.top - self.quantum + 1


def raw_range(fmt: Format, *, daz: bool) -> RawRange:
    """Return the ranges of the decoded operands of a format; ``daz`` as in the operation."""
    q = fmt.quantum_exponent
    if isinstance(fmt, FixedFormat):
        return RawRange(fmt.width, 0, q, q, None, Case(0, q))
    p = fmt.precision
    if fmt.is_sign_only:
        return RawRange(1, 0, q, q, Case(0, q), None)
    if fmt.exp_bits <= 1:
        flushed = daz and fmt.exp_bits == 1
        normal = Case(p - 1, q)
        return RawRange(p, 0, q, q, normal, None if flushed or p == 1 else Case(0, q))
    top = q + (1 << fmt.exp_bits) - 2
    small = None if daz or fmt.frac_bits == 0 else Case(0, q)
    return RawRange(p, fmt.exp_bits, q, top, Case(p - 1, top), small)
