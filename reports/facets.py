"""What a row of a table can be grouped by: fields of its own, and parts of its unit's name."""

from collections.abc import Callable, Iterable, Mapping

from fmacost.reports.errors import InputError, printable
from fmacost.reports.grid import near
from fmacost.reports.row import Record
from fmacost.sim.formats import FloatFormat, FormatError
from fmacost.sim.operation import Operation, OperationError, parse_unit

_OWN = ("unit", "technology", "objective", "effort", "accumulator", "stage", "stream")


def operation_of(record: Record) -> Operation:
    """Return the operation of a record; raise InputError if its unit is none."""
    try:
        return parse_unit(record["unit"])
    except (OperationError, FormatError) as error:
        raise InputError(printable(f"the table has a unit that is none: {error}")) from None


def _operands(operation: Operation) -> str:
    return "*".join(dict.fromkeys(fmt.name for fmt in operation.operands[:2]))


def _addend(operation: Operation) -> str:
    """Return the format of the addend, ``same`` where it is that of the others, or ``none``."""
    if operation.addend is None:
        return "none"
    return "same" if len(set(operation.operands)) == 1 else operation.addend.name


def _options(operation: Operation) -> str:
    return ",".join(str(operation).split(",")[1:]) or "rne"


def _split(operation: Operation) -> str:
    """Return exponent and fraction bits of the first operand, an integer by its name."""
    fmt = operation.operands[0]
    if isinstance(fmt, FloatFormat):
        return f"e{fmt.exp_bits}m{fmt.frac_bits}"
    return fmt.name


def _specials(operation: Operation) -> str:
    fmt = operation.operands[0]
    return str(fmt.specials) if isinstance(fmt, FloatFormat) else "integer"


def _width(operation: Operation) -> str:
    return str(operation.operands[0].width)


_DERIVED: Mapping[str, Callable[[Operation], str]] = {
    "kind": lambda operation: str(operation.kind),
    "operands": _operands,
    "addend": _addend,
    "options": _options,
    "split": _split,
    "specials": _specials,
    "width": _width,
}
FACETS = (*_OWN, *_DERIVED)


def facet(record: Record, name: str) -> str:
    """Return what a record is grouped by; ``name`` is one of ``FACETS``.

    Raises
    ------
    InputError
        If the unit of the record is none.
    """
    if name in _DERIVED:
        return _DERIVED[name](operation_of(record))
    return str(record.get(name, ""))


def facet_name(text: str) -> str:
    """Return a name of ``FACETS``; raise InputError if it is none."""
    if text not in FACETS:
        raise InputError(printable(f"nothing can be grouped by '{text}'{near(text, FACETS)}"))
    return text


def choose(records: Iterable[Record], conditions: Iterable[str]) -> list[Record]:
    """Return the records for which every ``NAME=VALUE,...`` holds.

    Raises
    ------
    InputError
        If a condition is none, or nothing is left.
    """
    left = list(records)
    for text in conditions:
        name, sign, values = text.partition("=")
        if not sign:
            raise InputError(printable(f"'{text}' is no condition: expected such as kind=fma,mul"))
        known = list(dict.fromkeys(facet(record, facet_name(name)) for record in left))
        left = [record for record in left if facet(record, name) in values.split(",")]
        if not left:
            raise InputError(printable(f"no row has {text}{near(values, known[:20])}"))
    return left
