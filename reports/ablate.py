"""What each feature of a unit costs: the same unit without it, one feature at a time.

Every variant is an ordinary operation, so it is proven against the reference of that operation,
which lacks the same feature.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.table import Table
from rich.text import Text

from fmacost.reports.compare import SAME, expand
from fmacost.reports.metrics import metric, show_count
from fmacost.reports.row import Row
from fmacost.reports.tables import UNPROVEN, table
from fmacost.sim.formats import FixedFormat, FloatFormat, Format, FormatError, Specials
from fmacost.sim.operation import (
    Kind,
    Operation,
    OperationError,
    Overflow,
    Rounding,
)

WHOLE = "whole unit"
_RANDOM_BITS = 4  # of stochastic rounding: what is below the last place counts to a sixteenth


@dataclass(frozen=True, slots=True)
class Variant:
    """A unit without one feature.

    Attributes
    ----------
    feature : what is removed or changed; ``WHOLE`` for the unit itself
    """

    feature: str
    operation: Operation


def variants(operation: Operation) -> tuple[Variant, ...]:
    """Return the unit itself, then every variant of it that is another operation."""
    found: dict[Operation, Variant] = {operation: Variant(WHOLE, operation)}
    for feature, other in _candidates(operation):
        found.setdefault(other, Variant(feature, other))
    return tuple(found.values())


def left_out(operation: Operation) -> list[str]:
    """Return the features that cannot be removed, and why."""
    notes = []
    if not operation.is_integer:
        notes.append("sign: left out, there are no unsigned floats here")
    return notes


def _candidates(operation: Operation) -> Iterator[tuple[str, Operation]]:
    if operation.is_integer:
        yield from _integer_features(operation)
    else:
        yield from _float_features(operation)
    if operation.kind is Kind.FMA and operation.result == operation.operands[2]:
        yield from _addends(operation)


def _float_features(operation: Operation) -> Iterator[tuple[str, Operation]]:
    yield "subnormal operands (daz)", replace(operation, daz=True)
    yield "subnormal results (ftz)", replace(operation, ftz=True)
    yield "subnormals (daz, ftz)", replace(operation, daz=True, ftz=True)
    finite = _with_specials(operation, Specials.FINITE)
    if finite is not None:
        yield "NaN and infinity (every code a number)", finite
    yield "rounding: truncation instead (rtz)", replace(operation, rounding=Rounding.RTZ)
    if isinstance(operation.result, FloatFormat) and operation.rounding is not Rounding.RTZ:
        by_chance = replace(operation, rounding=Rounding.SR, random_bits=_RANDOM_BITS)
        yield f"rounding: stochastic instead (sr{_RANDOM_BITS})", by_chance
    yield "overflow: saturation instead (sat)", _saturating(operation)
    kinds = {f.specials for f in _formats(operation) if isinstance(f, FloatFormat)}
    if kinds == {Specials.FN}:
        no_zero = _with_specials(operation, Specials.FNUZ)
        if no_zero is not None:
            yield "negative zero (NaN has its code)", no_zero
    bare = replace(finite or operation, daz=True, ftz=True, rounding=Rounding.RTZ)
    yield "all of these", _saturating(bare)


def _integer_features(operation: Operation) -> Iterator[tuple[str, Operation]]:
    if operation.overflow is Overflow.SAT:
        yield "saturation (wraps)", replace(operation, overflow=Overflow.WRAP)
    else:
        yield "wrapping: saturation instead (sat)", _saturating(operation)
    unsigned = _replace_formats(
        operation, lambda f: replace(f, signed=False) if isinstance(f, FixedFormat) else f
    )
    if unsigned is not None:
        yield "sign (unsigned)", unsigned


def _addends(operation: Operation) -> Iterator[tuple[str, Operation]]:
    a, b, _ = operation.operands
    for line in expand((a,)):
        addend = line.units[0].addend if line.units[0] else None
        if addend is not None:
            name = "as the factors" if line.accumulator == SAME else line.accumulator
            yield f"addend: {name} instead", _with_result(operation, Kind.FMA, (a, b, addend))
    if a == b and (result := _product_result(a, b)) is not None:
        yield "addition (product alone)", _with_result(operation, Kind.MUL, (a, b), result)


def _with_result(
    operation: Operation, kind: Kind, operands: tuple[Format, ...], result: Format | None = None
) -> Operation:
    """Return another operation with the same policies; what wraps becomes IEEE for floats."""
    overflow = Overflow.IEEE if operation.overflow is Overflow.WRAP else operation.overflow
    result = result or operands[-1]
    return replace(operation, kind=kind, operands=operands, result=result, overflow=overflow)


def _product_result(a: Format, b: Format) -> Format | None:
    """Return what a product alone is rounded to: the floats' own format, all bits of integers."""
    if not isinstance(a, FixedFormat) or not isinstance(b, FixedFormat):
        return a
    try:
        return FixedFormat(a.int_bits + b.int_bits, a.frac_bits + b.frac_bits, a.signed or b.signed)
    except FormatError:
        return None


def _saturating(operation: Operation) -> Operation:
    return replace(operation, overflow=Overflow.SAT)


def _formats(operation: Operation) -> tuple[Format, ...]:
    return (*operation.operands, operation.result)


def _with_specials(operation: Operation, specials: Specials) -> Operation | None:
    """Return the operation with the same widths and biases, but other special values."""
    return _replace_formats(
        operation, lambda f: replace(f, specials=specials) if isinstance(f, FloatFormat) else f
    )


def _replace_formats(operation: Operation, change: Callable[[Format], Format]) -> Operation | None:
    try:
        *operands, result = map(change, _formats(operation))
        return replace(operation, operands=tuple(operands), result=result)
    except (FormatError, OperationError):
        return None


def records(found: Sequence[Variant], rows: Mapping[str, Row]) -> list[dict[str, Any]]:
    """Return the JSON of every variant's row, with its difference from the whole unit."""
    whole = rows[str(found[0].operation)].counted_transistors
    return [
        {
            "feature": variant.feature,
            **rows[str(variant.operation)].to_json(),
            "difference_transistors": rows[str(variant.operation)].counted_transistors - whole,
            "ratio_transistors": round(
                rows[str(variant.operation)].counted_transistors / max(whole, 1), 6
            ),
        }
        for variant in found
    ]


def ablation_table(found: Sequence[Variant], rows: Mapping[str, Row]) -> Table:
    """Return the variants as lines; what is not proven is red."""
    whole = rows[str(found[0].operation)].counted_transistors
    body = []
    for variant in found:
        row = rows[str(variant.operation)]
        difference = row.counted_transistors - whole
        is_whole = variant.feature == WHOLE
        cells = [
            variant.feature,
            row.unit,
            show_count(row.counted_transistors),
            "" if is_whole else f"{difference:+,}",
            "" if is_whole else f"{difference / max(whole, 1):+.1%}",
            metric("verification").text(row.to_json()),
        ]
        style = "" if row.verification.is_proven else UNPROVEN
        body.append([Text(cell, style) for cell in cells])
    headings = [
        ("removed or changed", False),
        ("unit", False),
        ("transistors", True),
        ("difference", True),
    ]
    return table([*headings, ("%", True), ("verified", False)], body)
