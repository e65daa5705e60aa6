"""From the arguments of ``fmacost explain`` to the explanation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fmacost.reports.errors import InputError
from fmacost.sim.formats import parse_format
from fmacost.sim.operation import Overflow, Rounding, parse_unit

if TYPE_CHECKING:
    from fmacost.reports.explain import Explanation


def explain_request(
    subject: Sequence[str],
    to: str | None,
    source: str | None,
    rounding: Rounding | None,
    overflow: Overflow | None,
) -> "Explanation":
    """Explain a unit with its codes, a value, or a code of one format in another.

    Parameters
    ----------
    subject : ``UNIT CODE...``; or one value, or one code if there is a ``source``
    to, source : names of formats; ``to`` is the source itself where only that is given

    Raises
    ------
    InputError, FormatError, OperationError
        Saying in one line what cannot be explained.
    """
    try:
        if to is not None or source is not None:
            return _conversion(subject, to, source, rounding, overflow)
        return _operation(subject, rounding, overflow)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(str(error)) from None


def _operation(
    subject: Sequence[str], rounding: Rounding | None, overflow: Overflow | None
) -> "Explanation":
    from fmacost.reports.explain import explain_operation

    unit, *codes = subject
    if ":" not in unit:
        raise InputError(
            f"'{unit}' is no unit such as fma:e4m3fn; to convert a value say --to FORMAT"
        )
    operation = parse_unit(unit)
    if rounding is not None or overflow is not None:
        raise InputError(f"options of a unit are part of its name, as in {operation.kind}:...,rtz")
    return explain_operation(operation, codes)


def _conversion(
    subject: Sequence[str],
    to: str | None,
    source: str | None,
    rounding: Rounding | None,
    overflow: Overflow | None,
) -> "Explanation":
    from fmacost.reports.explain import explain_conversion, explain_value

    if len(subject) != 1:
        raise InputError(f"a conversion takes one value or code, got {' '.join(subject)}")
    (text,) = subject
    rounding = rounding or Rounding.RNE
    if rounding is Rounding.SR:
        raise InputError("stochastic rounding needs random bits: no conversion is explained by it")
    overflow = overflow or Overflow.IEEE
    if source is None:
        return explain_value(text, parse_format(to or ""), rounding, overflow)
    return explain_conversion(
        text, parse_format(source), parse_format(to or source), rounding, overflow
    )
