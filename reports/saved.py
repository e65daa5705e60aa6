"""Tables that were exported, read back: flat records, whatever the file was written as.

A record has the fields that ``metrics.METRICS`` declares, nested ones under their flat name. A line
of a breakdown has ``stage`` too, a point of a sweep that failed ``error`` instead of numbers.
"""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from fmacost.reports.breakdown import FLATTENED, SUM
from fmacost.reports.errors import InputError, printable
from fmacost.reports.metrics import METRICS, Better
from fmacost.reports.row import SCHEMA, Record

# Summaries of other fields, and text in flat tables: nothing to read.
_LEFT_OUT = ("verification", "candidates", "regions", "cell_counts", "versions")
_FIELDS = {m.name: m for m in METRICS if m.name not in (*_LEFT_OUT, "error")}
_FACTS = ("vectors", "cycles", "stream_vectors", "seed", "clock_ps", "clock_fo4")
_NUMBERS = {name for name, m in _FIELDS.items() if m.better is not Better.NONE or name in _FACTS}
_OF_STAGES = ("unit", "technology", "verification_method", "vectors", "mismatches")
_EXPECTED = "expected what --export-json or --export-csv writes"


def read_table(path: Path) -> list[dict[str, Any]]:
    """Return the records of a table in a JSON or CSV file that need not be trusted.

    Raises
    ------
    InputError
        If the file cannot be read, is no table of ours, or has another schema version.
    """
    with _reading(path) as text:
        is_json = text.lstrip().startswith(("{", "["))
        found = list(_from_json(text) if is_json else _from_csv(text))
        if not found:
            raise _TableError("it has no rows")
    return found


def read_rows(path: Path) -> list[Mapping[str, Any]]:
    """Return the rows of a JSON file as they stand there, maybe none; raise as ``read_table``."""
    with _reading(path) as text:
        return _rows(text)


@contextmanager
def _reading(path: Path) -> Iterator[str]:
    """Give the text of a file; what is wrong with it becomes an InputError that names the file."""
    name = printable(str(path))
    try:
        yield path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{name} is no table of fmacost: not text; {_EXPECTED}") from None
    except _TableError as error:
        raise InputError(f"{name} is no table of fmacost: {error}") from None


def flatten(record: Record) -> Iterator[dict[str, Any]]:
    """Yield the flat record of one JSON row, before it one for each of its stages."""
    flat = {
        name: value
        for name, declared in _FIELDS.items()
        if (value := declared.value(record)) is not None
    }
    if "error" in record:
        flat["error"] = str(record["error"])
    stages = record.get("stages")
    if not isinstance(stages, Mapping):
        yield _checked(flat)
        return
    kept = {name: flat[name] for name in _OF_STAGES if name in flat}
    total = record.get("stages_sum")
    lines = {**stages, **({} if total is None else {SUM: total})}
    for stage, transistors in lines.items():
        yield _checked({**kept, "stage": stage, "transistors": transistors})
    yield _checked({**kept, "stage": FLATTENED, "transistors": flat.get("transistors")})


def is_proven(record: Record) -> bool:
    """Return whether nothing in a record says that its netlist is not proven."""
    if record.get("mismatches"):
        return False
    is_compared = record.get("verification_method") != "none" and record.get("vectors", 1) > 0
    return "error" not in record and is_compared


class _TableError(ValueError):
    """Why a file is no table of ours: the rest of a line."""


def _from_json(text: str) -> Iterator[dict[str, Any]]:
    for i, record in enumerate(_rows(text)):
        with _at(f"row {i + 1}"):
            yield from flatten(record)


def _rows(text: str) -> list[Mapping[str, Any]]:
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise _TableError(f"not JSON: {reason}; expected what --export-json writes") from None
    if not isinstance(document, Mapping) or not isinstance(document.get("rows"), list):
        raise _TableError(f"it has no list 'rows'; {_EXPECTED}")
    _check_schema(document.get("schema"))
    for i, record in enumerate(document["rows"]):
        if not isinstance(record, Mapping):
            raise _TableError(f"row {i + 1} must be an object, not {str(record)[:40]!r}")
    rows: list[Mapping[str, Any]] = document["rows"]
    return rows


def _from_csv(text: str) -> Iterator[dict[str, Any]]:
    lines = csv.reader(io.StringIO(text, newline=""))
    try:
        header = next(lines, [])
        if "unit" not in header:
            raise _TableError(f"its first line has no column 'unit'; {_EXPECTED}")
        if len(set(header)) < len(header):
            raise _TableError("two columns have the same name")
        for cells in lines:
            if len(cells) != len(header):
                raise _TableError(
                    f"line {lines.line_num} has {len(cells)} cells, the first line {len(header)}"
                )
            record = dict(zip(header, cells, strict=True))
            with _at(f"line {lines.line_num}"):
                if record.get("schema"):
                    _check_schema(_number("schema", record["schema"]))
                yield _checked(_known(record))
    except csv.Error as error:
        raise _TableError(f"line {lines.line_num}: {error}") from None


def _known(record: Mapping[str, str]) -> dict[str, Any]:
    """Return what a line of a flat table says, its numbers as numbers."""
    kept = (*_FIELDS, "stage", "error")
    return {
        name: _number(name, text) if name in _NUMBERS else text
        for name, text in record.items()
        if text and name in kept
    }


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _TableError(f"{name} must be a number, not {text[:40]!r}") from None
    return int(text) if text.strip().lstrip("+-").isdecimal() else value


def _checked(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record; raise _TableError where a field is of the wrong kind."""
    for name, value in record.items():
        if name in _NUMBERS:
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (is_number and math.isfinite(value)):
                raise _TableError(f"{name} must be a finite number, not {str(value)[:40]!r}")
        elif not isinstance(value, str) and name in ("unit", "technology", "stage", "error"):
            raise _TableError(f"{name} must be text, not {str(value)[:40]!r}")
    if "unit" not in record:
        raise _TableError("it has no unit")
    return record


def _check_schema(schema: object) -> None:
    if schema != SCHEMA or isinstance(schema, bool):
        raise _TableError(
            f"its schema is {str(schema)[:40]!r}, this fmacost reads {SCHEMA}; "
            "export it again with this version"
        )


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Say where in a file it is that something is wrong."""
    try:
        yield
    except _TableError as error:
        raise _TableError(f"{place}: {error}") from None


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")
