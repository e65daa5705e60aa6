"""Integers against floats of as many bits: what of a table belongs side by side.

A float of N bits has a sign, E exponent bits and M fraction bits, N = 1 + E + M: there is not one
float of N bits but a line of them, from ``e0mNf``, which is an integer with a sign, to one that
holds powers of two alone. So three of them stand for all: the smallest there is, the smallest with
at least two exponent bits (with fewer it is no float: its grid is uniform), and the *usual* one,
split as the standard formats are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fmacost.reports.errors import InputError, printable
from fmacost.reports.facets import operation_of
from fmacost.reports.row import Record
from fmacost.sim.formats import FixedFormat, FloatFormat
from fmacost.sim.operation import Kind, Operation

Split = tuple[int, int]  # exponent and fraction bits
SENSES = ("smallest", "smallest with 2 or more exponent bits", "usual split")
SMALLEST, FLOATING, USUAL = SENSES
_MOST_EXP_BITS = 5  # of the usual split: fp16's


@dataclass(frozen=True, slots=True)
class Panel:
    """Units of one kind whose sums have one width.

    Attributes
    ----------
    integers : by width
    floats : by width, then by exponent and fraction bits
    """

    name: str
    integers: Mapping[int, Record]
    floats: Mapping[int, Mapping[Split, Record]]

    @property
    def widths(self) -> list[int]:
        """Widths with an integer and a float."""
        return sorted(self.integers.keys() & self.floats.keys())

    def best(self, width: int, sense: str, field: str) -> tuple[Split, Record] | None:
        """Return the float that stands for all of a width, in one of the ``SENSES``."""
        known = self.floats.get(width, {})
        if sense == USUAL:
            split = usual_split(width)
            return (split, known[split]) if split in known else None
        chosen = [s for s in known if sense == SMALLEST or s[0] >= 2]
        if not chosen:
            return None
        split = min(chosen, key=lambda s: (known[s][field], s))
        return split, known[split]

    def ratio(self, width: int, sense: str, field: str) -> float | None:
        """Return the float's cost over the integer's, None where there is no such float."""
        found = self.best(width, sense, field)
        integer = self.integers[width][field]
        return found[1][field] / integer if found and integer else None

    def gap(self, width: int, sense: str, field: str) -> float | None:
        """Return the float's cost less the integer's."""
        found = self.best(width, sense, field)
        return found[1][field] - self.integers[width][field] if found else None


def usual_split(width: int) -> Split:
    """Return half of the bits as exponent, at most 5: e2m1, e3m2, e4m3 and e5m10 among them."""
    exp_bits = min(width // 2, _MOST_EXP_BITS)
    return exp_bits, width - 1 - exp_bits


def panels(records: Iterable[Record]) -> list[Panel]:
    """Return a table's units side by side, those with other results or options left out.

    Raises
    ------
    InputError
        If two rows have the same place.
    """
    found: dict[tuple[Kind, int], tuple[dict[int, Record], dict[int, dict[Split, Record]]]] = {}
    for record in records:
        operation = operation_of(record)
        addend = _addend_width(operation)
        fmt = operation.operands[0]
        if addend is None or set(operation.operands[:2]) != {fmt}:
            continue
        integers, floats = found.setdefault((operation.kind, addend), ({}, {}))
        if isinstance(fmt, FloatFormat):
            of_width = floats.setdefault(fmt.width, {})
            split = fmt.exp_bits, fmt.frac_bits
            _put(of_width, split, record)
        elif fmt.frac_bits == 0 and fmt.signed:
            _put(integers, fmt.width, record)
    order = {kind: i for i, kind in enumerate(Kind)}
    return [
        Panel(f"{kind}, {addend}-bit addend" if addend else str(kind), *found[kind, addend])
        for kind, addend in sorted(found, key=lambda key: (order[key[0]], key[1]))
    ]


def _addend_width(operation: Operation) -> int | None:
    """Return the width of an addend of its own, 0 for the operands', None for what is left out."""
    if "," in str(operation) or "->" in str(operation):
        return None
    addend = operation.addend
    if addend is None or addend in operation.operands[:1]:
        return 0
    is_like = isinstance(addend, FixedFormat) == isinstance(operation.operands[0], FixedFormat)
    return addend.width if is_like and operation.kind is Kind.FMA else None


def _put(places: dict[Any, Record], place: object, record: Record) -> None:
    other = places.setdefault(place, record)
    if other is not record:
        same = other["unit"] == record["unit"]
        what = f"two rows for {record['unit']}" if same else f"{other['unit']} and {record['unit']}"
        raise InputError(
            printable(f"the table has {what}: choose one, such as --where technology=cmos")
        )
