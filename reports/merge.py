"""Tables of several machines put together."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fmacost.reports.errors import InputError, printable
from fmacost.reports.row import Row, RowError
from fmacost.reports.saved import read_rows
from fmacost.reports.sweep import sort_records

_NAMES = ("unit", "technology", "objective", "effort")


def merge_tables(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the rows of JSON tables, each point once, in the order of tables.

    A point that failed in one table and has a row in another one has that row.

    Raises
    ------
    InputError
        If a file is no table of this schema, two versions made them, or they contradict.
    """
    rows: dict[tuple[object, ...], dict[str, Any]] = {}
    versions: tuple[dict[str, str], Path] | None = None
    for path in paths:
        for record in read_points(path):
            if "error" not in record:
                versions = versions or (record["versions"], path)
                if record["versions"] != versions[0]:
                    raise InputError(
                        f"{path} was made with {_versions(record['versions'])}, {versions[1]} "
                        f"with {_versions(versions[0])}: such rows are no one table"
                    )
            key = _key(record)
            known = rows.get(key)
            if known is None or "error" in known:
                rows[key] = record
            elif "error" not in record and record != known:
                raise InputError(
                    f"{path} has another row of {record['unit']} in {record['technology']} than "
                    "a table before it"
                )
    return sort_records(rows.values())


def read_points(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSON table, which need not be trusted; raise InputError if it is none.

    Rows that failed have only what names them and their error.
    """
    found = []
    for i, record in enumerate(read_rows(path)):
        try:
            found.append(_read(record))
        except RowError as error:
            raise InputError(printable(f"{path}: row {i + 1}: {error}")) from None
    return found


def is_table(path: Path) -> bool:
    """Tell whether a file is a JSON table of ours."""
    try:
        read_points(path)
    except InputError:
        return False
    return True


def _read(record: Mapping[str, Any]) -> dict[str, Any]:
    if "error" not in record:
        return Row.from_json(record).to_json()
    names = (*_NAMES, "architecture", "error")
    failed = {name: record[name] for name in names if name in record}
    if not failed.keys() >= {*_NAMES, "error"} or not all(
        isinstance(value, str) for value in failed.values()
    ):
        raise RowError("a point that failed needs unit, technology, objective and effort as text")
    return failed


def _key(record: Mapping[str, Any]) -> tuple[object, ...]:
    """Return what names a point: registers are the end of the architecture."""
    registers = record.get("architecture", "").rpartition(", ")[2]
    is_clocked = registers == "pe" or registers.startswith("pipeline ")
    return (*(record[name] for name in _NAMES), registers if is_clocked else "")


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
