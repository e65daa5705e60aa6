"""Operations: *what* a unit computes, and nothing about how. One parser, one canonical spelling."""

import difflib
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from fmacost.sim.formats import (
    MAX_FIXED_BITS,
    FixedFormat,
    FloatFormat,
    Format,
    FormatError,
    alias_note,
    describe,
    parse_format,
)


class OperationError(ValueError):
    """A unit string that names no operation."""


class Kind(StrEnum):
    """The arithmetic."""

    MUL = "mul"  # a * b
    ADD = "add"  # a + b
    FMA = "fma"  # a * b + c, rounded once; on integers the multiply-accumulate


class Rounding(StrEnum):
    """IEEE 754-2019, 4.3: the five rounding-direction attributes; and stochastic rounding."""

    RNE = "rne"  # to nearest, ties to even
    RTZ = "rtz"  # toward zero
    RDN = "rdn"  # toward minus infinity
    RUP = "rup"  # toward plus infinity
    RMM = "rmm"  # to nearest, ties away from zero
    SR = "sr"  # away from zero where the discarded bits and random bits together carry


# Those whose result depends on the operands alone.
DETERMINISTIC = tuple(mode for mode in Rounding if mode is not Rounding.SR)


class Overflow(StrEnum):
    """What a result beyond the largest finite value becomes."""

    IEEE = "ieee"  # infinity, else NaN, else the largest finite value
    SAT = "sat"  # the nearest end of the range, infinite operands included
    WRAP = "wrap"  # modulo 2**width: integers and fixed point


@dataclass(frozen=True, slots=True)
class Operation:
    """One rounding of an exact ``a*b``, ``a+b`` or ``a*b+c`` into a result format.

    Stochastic rounding adds an unsigned number of ``random_bits`` bits, an input of its own, to as
    many discarded bits of the magnitude (the rest of them is dropped) and rounds away from zero
    where that carries: ``RoundMode.StochasticFastest`` of the package gfloat. Given the random
    bits, it is exact; on average it is too small by what is dropped.

    Options that cannot change any result (a rounding mode for exact integers, DAZ without
    subnormals) are put back to their defaults, so that equal operations compare equal.

    Raises
    ------
    OperationError
        If the number of operands does not fit the kind, the overflow policy the result, or the
        random bits the rounding.
    """

    kind: Kind
    operands: tuple[Format, ...]
    result: Format
    rounding: Rounding = Rounding.RNE
    overflow: Overflow = Overflow.IEEE
    daz: bool = False  # subnormal operands count as zero, sign kept
    ftz: bool = False  # a subnormal rounded result becomes zero, sign kept
    random_bits: int = 0  # of stochastic rounding

    def __post_init__(self) -> None:
        expected = 3 if self.kind is Kind.FMA else 2
        if len(self.operands) != expected:
            raise OperationError(f"{self.kind} takes {expected} operands, not {len(self.operands)}")
        self._check_random_bits()
        normal = {
            "overflow": self._effective_overflow(),
            "rounding": Rounding.RNE if self._is_exact() else self.rounding,
            "daz": self.daz and any(f.has_subnormals for f in self.operands),
            "ftz": self.ftz and self.result.has_subnormals,
        }
        for name, value in normal.items():
            object.__setattr__(self, name, value)

    def _check_random_bits(self) -> None:
        if self.rounding is not Rounding.SR:
            object.__setattr__(self, "random_bits", 0)
        elif not isinstance(self.result, FloatFormat):
            raise OperationError("stochastic rounding is for float results only")
        elif not 1 <= self.random_bits <= MAX_RANDOM_BITS:
            raise OperationError(
                f"stochastic rounding takes 1 to {MAX_RANDOM_BITS} random bits, "
                f"not {self.random_bits}"
            )

    def _effective_overflow(self) -> Overflow:
        if isinstance(self.result, FixedFormat):
            return Overflow.SAT if self.overflow is Overflow.SAT else Overflow.WRAP
        if self.overflow is Overflow.WRAP:
            raise OperationError("'wrap' is for integer and fixed-point results only")
        return self.overflow if self.result.has_nan else Overflow.IEEE

    def _is_exact(self) -> bool:
        if not isinstance(self.result, FixedFormat):
            return False
        return self.result.quantum_exponent <= self.grid_exponent

    def _has_default_result(self) -> bool:
        try:
            return self.result == _default_result(self.kind, self.operands)
        except FormatError:  # an exact product wider than any fixed point
            return False

    @property
    def product(self) -> tuple[Format, Format] | None:
        """The two factors, None for ``add``."""
        return None if self.kind is Kind.ADD else (self.operands[0], self.operands[1])

    @property
    def addend(self) -> Format | None:
        """The format of the term that is added, None for ``mul``."""
        return None if self.kind is Kind.MUL else self.operands[-1]

    @property
    def grid_exponent(self) -> int:
        """Binary logarithm of a quantum of which every exact finite result is a multiple."""
        quanta = [f.quantum_exponent for f in self.operands]
        match self.kind:
            case Kind.ADD:
                return min(quanta)
            case Kind.MUL:
                return quanta[0] + quanta[1]
            case _:
                return min(quanta[0] + quanta[1], quanta[2])

    @property
    def is_integer(self) -> bool:
        """Whether no float is involved: no rounding modes of floats, no special values."""
        return not any(isinstance(f, FloatFormat) for f in (*self.operands, self.result))

    @property
    def has_invalid(self) -> bool:
        """Whether a NaN can arise that the result cannot hold: one more output bit says so."""
        return not self.result.has_nan and any(f.has_nan for f in self.operands)

    @property
    def input_widths(self) -> dict[str, int]:
        """Width of each input port: the operands in their order, then the random bits."""
        widths = {name: fmt.width for name, fmt in zip("abc", self.operands, strict=False)}
        return {**widths, "random": self.random_bits} if self.random_bits else widths

    @property
    def inputs(self) -> tuple[Format, ...]:
        """Format of each input port: the operands, then the random bits as an integer."""
        if not self.random_bits:
            return self.operands
        return (*self.operands, FixedFormat(self.random_bits, signed=False))

    @property
    def input_bits(self) -> int:
        """Bits of all inputs together: there are 2**input_bits inputs."""
        return sum(self.input_widths.values())

    @property
    def output_bits(self) -> int:
        """Bits of a result code, ``invalid`` (on top) included."""
        return self.result.width + self.has_invalid

    def __str__(self) -> str:
        """Return the canonical spelling, which ``parse_unit`` reads back."""
        names = [f.name for f in self.operands]
        if self.kind is Kind.ADD:
            text = names[0] if names[0] == names[1] else "+".join(names)
        else:
            text = names[0] if names[0] == names[1] else f"{names[0]}*{names[1]}"
            if self.kind is Kind.FMA and not names[0] == names[1] == names[2]:
                text += f"+{names[2]}"
        if not self._has_default_result():
            text += f"->{self.result.name}"
        options = (
            [] if self.rounding is Rounding.RNE else [f"{self.rounding}{self.random_bits or ''}"]
        )
        options += ["sat"] * (self.overflow is Overflow.SAT)
        options += ["daz"] * self.daz + ["ftz"] * self.ftz
        return f"{self.kind}:{','.join([text, *options])}"


MAX_RANDOM_BITS = 16
_EXACT_PATTERN = re.compile(r"exact(\d{1,7})")
_EXPECTED = (
    "expected KIND:A[*B][+C][->R][,OPTION...] such as fma:e4m3fn, fma:int8+int32, "
    "mul:e4m3fn, add:fp16, fma:bf16*int8+fp32->bf16,rtz,sat"
)
_OPTIONS: dict[str, dict[str, object]] = {
    **{str(mode): {"rounding": mode} for mode in DETERMINISTIC},
    **{
        f"sr{bits}": {"rounding": Rounding.SR, "random_bits": bits}
        for bits in range(1, MAX_RANDOM_BITS + 1)
    },
    "sat": {"overflow": Overflow.SAT},
    "daz": {"daz": True},
    "ftz": {"ftz": True},
}


def parse_unit(text: str) -> Operation:
    """Return the operation that a unit string names.

    Raises
    ------
    OperationError
        Naming the offending token and what was expected.
    """
    kind_text, colon, rest = text.partition(":")
    if not colon:
        raise OperationError(f"'{text}' is no unit: {_EXPECTED}")
    if kind_text not in list(Kind):
        raise OperationError(
            f"unknown operation '{kind_text}' in '{text}'; expected {', '.join(Kind)}"
        )
    formats_text, *options = rest.split(",")
    kind = Kind(kind_text)
    operands_text, arrow, result_text = formats_text.partition("->")
    try:
        operands = _parse_operands(kind, operands_text, text)
        result = parse_format(result_text) if arrow else _default_result(kind, operands)
    except FormatError as error:
        raise OperationError(f"{error} (in '{text}')") from None
    if result is None:
        raise OperationError(
            f"'{text}' has operands of two formats: say the result, as in {kind}:A*B->R"
        )
    operation = Operation(kind, operands, result)
    return _with_options(operation, options, text) if options else operation


def unit_notes(text: str) -> tuple[str, ...]:
    """Return a note for every format of a valid unit string that was not spelled canonically."""
    names = re.split(r"[*+,:]|->", text)[1:]
    known = [n for n in names if n and n not in _OPTIONS and not _EXACT_PATTERN.fullmatch(n)]
    notes = (alias_note(name) for name in dict.fromkeys(known))
    return tuple(note for note in notes if note)


def exact_format(factors: tuple[Format, Format], products: int) -> FixedFormat:
    """Return the narrowest signed fixed point that holds any sum of ``products`` products.

    This is Kulisch's exact accumulator without its guard bits (Kulisch 2002, ch. 8).

    Raises
    ------
    OperationError
        If ``products`` is not positive or the format would be wider than the limit.
    """
    if products < 1:
        raise OperationError(f"exact<N> needs N >= 1 products, not {products}")
    fraction = -(factors[0].quantum_exponent + factors[1].quantum_exponent)
    low, high = _product_range(factors)
    low, high = products * low, products * high  # in quanta
    width = max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0) + 1
    if fraction < 0:  # a quantum above one: the point stands right of it all the same
        width, fraction = width - fraction, 0
    if width > MAX_FIXED_BITS:
        raise OperationError(f"exact{products} would need {width} bits, at most {MAX_FIXED_BITS}")
    return FixedFormat(max(width - fraction, 1), fraction)


def semantics(operation: Operation) -> str:
    """Return in one line everything that a number's meaning depends on."""
    formats = dict.fromkeys((*operation.operands, operation.result))
    parts = ["; ".join(f"{f.name}: {describe(f)}" for f in formats)]
    if operation._is_exact():
        parts.append("exact")
    else:
        parts.append(f"rounded once, {_rounding_text(operation)}")
    parts.append(f"overflow: {_overflow_text(operation)}")
    if any(f.has_subnormals for f in (*operation.operands, operation.result)):
        flushed = ["DAZ (operands)"] * operation.daz + ["FTZ (result)"] * operation.ftz
        parts.append(f"subnormals {'flushed: ' + ', '.join(flushed) if flushed else 'kept'}")
    if operation.has_invalid:
        parts.append("NaN sets the output bit 'invalid'")
    return "; ".join(parts)


def with_addend(operation: Operation, addend: Format) -> Operation:
    """Return the FMA with another addend, which is its result format too."""
    factors = operation.operands[:2]
    return replace(operation, kind=Kind.FMA, operands=(*factors, addend), result=addend)


def _parse_operands(kind: Kind, text: str, unit: str) -> tuple[Format, ...]:
    product_text, plus, addend_text = text.partition("+")
    factor_texts = product_text.split("*")
    if kind is Kind.ADD:
        if len(factor_texts) != 1:
            raise OperationError(f"'add' multiplies nothing: '*' is not expected in '{unit}'")
        first = parse_format(product_text)
        return (first, parse_format(addend_text) if plus else first)
    if len(factor_texts) > 2:
        raise OperationError(f"expected at most two factors in '{unit}', got {len(factor_texts)}")
    factors = (parse_format(factor_texts[0]), parse_format(factor_texts[-1]))
    if kind is Kind.MUL:
        if plus:
            raise OperationError(f"'mul' adds nothing: '+' is not expected in '{unit}'; use fma")
        return factors
    if match := _EXACT_PATTERN.fullmatch(addend_text):
        return (*factors, exact_format(factors, int(match[1])))
    if plus:
        return (*factors, parse_format(addend_text))
    if factors[0] != factors[1]:
        raise OperationError(
            f"'{unit}' has factors of two formats: say the addend, as in fma:bf16*int8+fp32"
        )
    return (*factors, factors[0])


def _default_result(kind: Kind, operands: tuple[Format, ...]) -> Format | None:
    if kind is not Kind.MUL:
        return operands[-1]
    a, b = operands
    if isinstance(a, FixedFormat) and isinstance(b, FixedFormat):
        return FixedFormat(a.int_bits + b.int_bits, a.frac_bits + b.frac_bits, a.signed or b.signed)
    return a if a == b else None


def _with_options(operation: Operation, options: list[str], unit: str) -> Operation:
    seen: set[str] = set()
    for option in options:
        if option not in _OPTIONS:
            near = difflib.get_close_matches(option.lower(), _OPTIONS, n=1)
            hint = f" (near: {near[0]})" if near else ""
            expected = [name for name in _OPTIONS if not name.startswith("sr")]
            raise OperationError(
                f"unknown option '{option}'{hint} in '{unit}'; expected {', '.join(expected)}, or "
                f"sr1 to sr{MAX_RANDOM_BITS} (stochastic, so many random bits)"
            )
        field = next(iter(_OPTIONS[option]))
        if field in seen:
            raise OperationError(f"'{option}' in '{unit}' sets {field} a second time")
        seen.add(field)
    changes = {name: value for option in options for name, value in _OPTIONS[option].items()}
    return replace(operation, **changes)  # type: ignore[arg-type]


def _product_range(factors: tuple[Format, Format]) -> tuple[int, int]:
    ranges = []
    for fmt in factors:
        if isinstance(fmt, FixedFormat):
            ranges.append((fmt.min_integer, fmt.max_integer))
        else:
            largest = int(fmt.max_value / Fraction(2) ** fmt.quantum_exponent)
            ranges.append((-largest, largest))
    corners = [x * y for x in ranges[0] for y in ranges[1]]
    return min(corners), max(corners)


def _rounding_text(operation: Operation) -> str:
    if operation.rounding is Rounding.SR:
        return f"stochastically by {operation.random_bits} random bits"
    return operation.rounding.upper()


def _overflow_text(operation: Operation) -> str:
    result, kind = operation.result, operation.kind
    if isinstance(result, FixedFormat):
        if kind is Kind.MUL and result == _default_result(kind, operation.operands):
            return "impossible"
        return "saturates" if operation.overflow is Overflow.SAT else "wraps"
    if operation.overflow is Overflow.SAT or not result.has_nan:
        return "saturates"
    beyond = "infinity" if result.has_infinity else "NaN"
    match operation.rounding:
        case Rounding.RTZ:
            return f"largest finite value ({beyond} from infinity)"
        case Rounding.RDN | Rounding.RUP:
            return f"{beyond}, or the largest finite value on the side that rounds toward zero"
        case _:
            return beyond
