"""The cost rows behind the documents: measured, or as they are kept in ``docs/``."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from fmacost.hw.technology import get_technology
from fmacost.reports import breakdown
from fmacost.reports.cache import Cache
from fmacost.reports.clocked import Registers
from fmacost.reports.documents.study_tables import StudyTables
from fmacost.reports.errors import InputError
from fmacost.reports.measure import Measured, Settings, measure
from fmacost.reports.options import DEFAULT_TECHNOLOGIES
from fmacost.reports.row import SCHEMA, Row, RowError
from fmacost.reports.saved import read_rows
from fmacost.reports.terminal import UnitWatcher
from fmacost.sim.operation import parse_unit

STUDIES_FOLDER = Path("docs") / "studies"
_NO_DIGEST = "0" * 64


class DocumentError(ValueError):
    """A document whose regions cannot be made. The message is one line."""


class Key(NamedTuple):
    """What a row is asked for by."""

    unit: str
    technology: str = DEFAULT_TECHNOLOGIES[0]
    objective: str = "area"
    effort: str = "normal"
    registers: str = ""

    def __str__(self) -> str:
        """Return the key as a message names it."""
        registers = f", {self.registers}" if self.registers else ""
        return f"{self.unit}{registers} in {self.technology}, {self.objective}, {self.effort}"


@dataclass(frozen=True)
class Rows:
    """Proven cost rows, measured when they are first asked for.

    Parameters
    ----------
    store : None measures everything anew
    kept : rows that are taken as they are
    tables : those of the named studies
    """

    store: Cache | None
    watcher: UnitWatcher
    kept: Mapping[Key, Row] = field(default_factory=dict)
    known: dict[Key, Row] = field(default_factory=dict)
    tables: StudyTables = field(default_factory=lambda: StudyTables(STUDIES_FOLDER))

    def __call__(
        self,
        unit: str,
        technology: str = DEFAULT_TECHNOLOGIES[0],
        objective: str = "area",
        effort: str = "normal",
        registers: Registers | None = None,
    ) -> Row:
        """Return the row of a unit; raise DocumentError if its netlist is not proven."""
        key = Key(unit, technology, objective, effort, str(registers or ""))
        if key not in self.known:
            settings = Settings(objective=objective, effort=effort, registers=registers)
            row = self.kept.get(key)
            self.known[key] = row or self.measured(unit, technology, settings).row
        return self.known[key]

    def measured(self, unit: str, technology: str, settings: Settings) -> Measured:
        """Return what ``measure`` gives; raise DocumentError if it is not proven."""
        self.watcher.begin(f"{unit} in {technology}")
        made = measure(
            parse_unit(unit), get_technology(technology), settings, self.store, self.watcher
        )
        if not made.row.verification.is_proven:
            raise DocumentError(f"{unit} in {technology} is not proven: {made.counterexample}")
        return made

    def stages(self, unit: str) -> breakdown.Breakdown:
        """Return the stages of a unit beside its row, measured; raise as a call does."""
        technology = DEFAULT_TECHNOLOGIES[0]
        row = self.measured(unit, technology, Settings()).row
        self.watcher.begin(f"stages of {unit}")
        return breakdown.break_down(
            parse_unit(unit),
            get_technology(technology),
            row,
            self.store,
            timeout_s=Settings().timeout_s,
        )


def rows_text(rows: Mapping[Key, Row]) -> str:
    """Return the file of kept rows: what ``--export-json`` writes, a row in each line."""
    lines = ",\n".join(
        json.dumps(_lean(key, row), ensure_ascii=False, allow_nan=False)
        for key, row in sorted(rows.items())
    )
    return f'{{"schema": {SCHEMA}, "rows": [\n{lines}\n]}}\n'


def read_kept(path: Path) -> dict[Key, Row]:
    """Return the rows of a file, in its order; raise DocumentError if it has others."""
    found = {}
    try:
        for record in read_rows(path):
            row = Row.from_json({**record, "digest": _NO_DIGEST})
            registers = str(record.get("registers", ""))
            found[Key(row.unit, row.technology, row.objective, row.effort, registers)] = row
    except (InputError, RowError) as error:
        raise DocumentError(f"{path}: {error}") from None
    return found


def moved(kept: Mapping[Key, Row], known: Mapping[Key, Row]) -> Iterable[Key]:
    """Yield the keys of rows that are not what is kept."""
    for key, row in known.items():
        if key not in kept or _lean(key, row) != _lean(key, kept[key]):
            yield key


def _lean(key: Key, row: Row) -> dict[str, Any]:
    """Return a row without its digest, which changes with every source."""
    kept = {
        name: value
        for name, value in row.to_json().items()
        if name != "digest" and value is not None
    }
    return kept | ({"registers": key.registers} if key.registers else {})
