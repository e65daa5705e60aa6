"""The committed tables of the named studies: what is kept of a sweep, and how it is read."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fmacost.reports.errors import InputError
from fmacost.reports.export import to_csv
from fmacost.reports.row import Record
from fmacost.reports.saved import read_table
from fmacost.reports.studies import STUDIES

STAGES = "stages"  # a breakdown, and no sweep
TABLES = (*STUDIES, STAGES)
# Digests change with every source, the others are long and can be had again.
_DROPPED = ("digest", "cell_counts", "semantics", "candidates")
_PROOF = ("method", "vectors", "mismatches")


def lean_csv(records: Iterable[Record]) -> str:
    """Return what is committed of a sweep's rows."""
    return to_csv([_lean(record) for record in records])


def _lean(record: Record) -> dict[str, Any]:
    kept = {name: value for name, value in record.items() if name not in _DROPPED}
    if "verification" in kept:
        kept["verification"] = {name: kept["verification"][name] for name in _PROOF}
    return kept


@dataclass(frozen=True, slots=True)
class StudyTables:
    """The tables in a folder, each read when it is first asked for."""

    folder: Path
    _known: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        """Return the file of a table."""
        return self.folder / f"{name}.csv"

    def __call__(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a study.

        Raises
        ------
        InputError
            If there is no such table, or a point of it failed.
        """
        if name not in self._known:
            rows = read_table(self.path(name))
            failed = [row["unit"] for row in rows if "error" in row]
            if failed:
                raise InputError(f"{self.path(name)}: {failed[0]} failed: measure it again")
            self._known[name] = rows
        return self._known[name]

    def sizes(self, name: str, metric: str = "transistors") -> dict[str, float]:
        """Return a number of every unit of a study with one technology."""
        return {row["unit"]: row[metric] for row in self(name)}
