"""The golden cases that one rounding can express, as operations and conversions."""

import csv
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from fmacost.sim.codec import decode, encode, encode_integers, is_nan_code
from fmacost.sim.formats import FixedFormat, FloatFormat, Format, parse_format
from fmacost.sim.operation import Kind, Operation, Overflow, Rounding
from fmacost.sim.reference import compute, flush_subnormals

FILE = Path(__file__).parent / "golden" / "golden.csv"
FP64 = "fp64"  # a source of conversions, no format of ours


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must come out, and what a usual mistake gives."""

    id: str
    result: Format
    expected: int
    any_nan: bool
    naive_wrong: int | None
    why: str

    def accepts(self, code: int) -> bool:
        if self.any_nan:
            return bool(is_nan_code(self.result, np.array([code], np.uint64))[0])
        return code == self.expected


@dataclass(frozen=True, slots=True)
class Row:
    """A case of an operation."""

    operation: Operation
    codes: tuple[int, ...]
    expectation: Expectation

    def reference(self) -> int:
        return int(compute(self.operation, *(np.array([c], np.uint64) for c in self.codes))[0])


@dataclass(frozen=True, slots=True)
class Conversion:
    """A case of a conversion into a float format; ``source`` None is fp64."""

    source: Format | None
    target: FloatFormat
    rounding: Rounding
    overflow: Overflow
    daz: bool
    ftz: bool
    code: int
    expectation: Expectation

    def reference(self) -> int:
        codes = np.array([self.code], np.uint64)
        if isinstance(self.source, FixedFormat):
            value = np.array([self.integer()], object)
            converted = encode_integers(
                self.target,
                abs(value),
                value < 0,
                0,
                self.rounding,
                self.overflow,
                ftz=self.ftz,
            )
        else:
            values = codes.view(np.float64) if self.source is None else decode(self.source, codes)
            if self.daz and self.source is not None:
                values = flush_subnormals(self.source, values)
            converted = encode(self.target, values, self.rounding, self.overflow, ftz=self.ftz)
        return int(converted[0])

    def integer(self) -> int:
        assert isinstance(self.source, FixedFormat)
        assert self.source.frac_bits == 0
        return self.code - ((self.code >> (self.source.width - 1)) << self.source.width)

    def as_product(self) -> Row | None:
        """The same case as a product with one, None where the source is not a format of ours."""
        source, code = self.source, self.code
        if source is None:
            return None
        if isinstance(source, FixedFormat) and source.width > 32:
            source = FixedFormat(32)
            if not source.min_integer <= self.integer() <= source.max_integer:
                return None
            code = self.integer() % 2**32
        operation = Operation(
            Kind.MUL,
            (source, FixedFormat(2)),
            self.target,
            self.rounding,
            self.overflow,
            self.daz,
            self.ftz,
        )
        return Row(operation, (code, 1), self.expectation)


@cache
def rows() -> tuple[Row, ...]:
    """The cases of mul, add, fma, fnmadd and imac, in the order of the file."""
    return tuple(_row(line) for line in _lines() if line["op"] != "cvt")


@cache
def conversions() -> tuple[Conversion, ...]:
    """The cases of cvt, in the order of the file."""
    return tuple(_conversion(line) for line in _lines() if line["op"] == "cvt")


def netlist_rows() -> dict[Operation, list[Row]]:
    """All that a unit can compute, conversions as products with one, grouped by operation."""
    products = (conversion.as_product() for conversion in conversions())
    groups: dict[Operation, list[Row]] = defaultdict(list)
    for row in (*rows(), *(product for product in products if product is not None)):
        groups[row.operation].append(row)
    return dict(groups)


def _lines() -> list[dict[str, str]]:
    with FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _format(name: str) -> Format:
    return parse_format("float8_e4m3" if name == "e4m3" else name)  # bare e4m3 is IEEE-like there


def _options(line: dict[str, str]) -> tuple[Rounding, Overflow]:
    rounding = Rounding.RNE if line["rounding"] == "-" else Rounding(line["rounding"].lower())
    return rounding, Overflow(line["overflow"])


def _expectation(line: dict[str, str]) -> Expectation:
    naive = line["naive_wrong_bits"]
    return Expectation(
        line["id"],
        _format(line["acc_format"]),
        int(line["expected_bits"], 16),
        line["compare"] == "isnan",
        int(naive, 16) if naive else None,
        line["why"],
    )


def _row(line: dict[str, str]) -> Row:
    a, b, result = (_format(line[key]) for key in ("format", "b_format", "acc_format"))
    codes = [int(line[f"{key}_bits"], 16) for key in "abc" if line[f"{key}_bits"]]
    if line["op"] == "fnmadd":  # -(a*b) - c, rounded once: the signs of a and c flipped
        codes = [codes[0] ^ 1 << (a.width - 1), codes[1], codes[2] ^ 1 << (result.width - 1)]
    kind = {"mul": Kind.MUL, "add": Kind.ADD}.get(line["op"], Kind.FMA)
    operands = (a, b, result)[: len(codes)]
    rounding, overflow = _options(line)
    daz, ftz = line["subnormals"] == "daz", line["subnormals"] == "ftz"
    operation = Operation(kind, operands, result, rounding, overflow, daz, ftz)
    return Row(operation, tuple(codes), _expectation(line))


def _conversion(line: dict[str, str]) -> Conversion:
    target = _format(line["acc_format"])
    assert isinstance(target, FloatFormat)
    source = None if line["format"] == FP64 else _format(line["format"])
    rounding, overflow = _options(line)
    daz, ftz = line["subnormals"] == "daz", line["subnormals"] == "ftz"
    code = int(line["a_bits"], 16)
    return Conversion(source, target, rounding, overflow, daz, ftz, code, _expectation(line))
