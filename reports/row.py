"""Cost rows: the one record that everything here makes, keeps, shows and exports."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self, TypeVar

_T = TypeVar("_T")

# A row as JSON values, as it is saved (nested) or read back (flat), maybe with fields beside.
Record = Mapping[str, Any]
Records = Sequence[Record]

SCHEMA = 1
METHODS = ("exhaustive", "sampled", "none")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_KIND_NAMES: dict[type, str] = {
    str: "text",
    int: "an integer",
    float: "a number",
    dict: "an object",
}


class RowError(ValueError):
    """A JSON value that is no cost row. The message is one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Transistors (or areas, in a technology that has them) of all candidates of a synthesis."""

    count: int
    min: float
    median: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How the mapped netlist was compared with the reference, and what came of it."""

    method: str
    vectors: int
    mismatches: int
    regions: dict[str, int]
    cycles: int | None = None  # of streams, where there are registers

    @property
    def compared(self) -> int:
        """How many inputs there were, those of streams included."""
        return self.vectors + (self.cycles or 0)

    @property
    def is_proven(self) -> bool:
        """Whether something was compared and nothing differed."""
        return self.method != "none" and self.vectors > 0 and self.mismatches == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one unit costs in one technology. ``metrics.METRICS`` defines the fields."""

    unit: str
    technology: str
    objective: str
    effort: str
    recipe: str
    architecture: str
    cells: int
    transistors: int | None = None  # where the library says how many its cells have
    area_um2: float | None = None  # in a technology that has areas
    gates_ge: float  # cost over that of the technology's NAND2
    logic_depth: int
    delay_fo4: float | None = None  # in a technology that has delays
    delay_ps: float | None = None  # in one that has them in ps
    energy_fj: float | None = None  # an operation, uniform codes, every net settling at once
    leakage_nw: float | None = None
    cell_counts: dict[str, int]
    flip_flops: int | None = None  # this and the next of clocked units alone
    latency_cycles: int | None = None
    period_fo4: float | None = None
    period_ps: float | None = None  # and the next in a technology that knows them
    fmax_ghz: float | None = None
    clock_ps: float | None = None  # this and the next where a clock was to be met
    slack_ps: float | None = None  # negative where it was missed
    candidates: Spread
    verification: Proof
    semantics: str
    versions: dict[str, str]
    digest: str
    schema: int = SCHEMA

    @property
    def size_metric(self) -> str:
        """Name of the field that says how large the unit is: area where it is known."""
        return "transistors" if self.area_um2 is None else "area_um2"

    @property
    def size(self) -> float:
        """Value of that field."""
        return self.counted_transistors if self.area_um2 is None else self.area_um2

    @property
    def counted_transistors(self) -> int:
        """The transistors; RowError where the technology does not say them."""
        if self.transistors is None:
            raise RowError(f"{self.technology} does not say the transistors of {self.unit}")
        return self.transistors

    def to_json(self) -> dict[str, Any]:
        """Return the row as JSON values, its fields in order of declaration."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: object) -> Self:
        """Return the row that ``to_json`` gave. Unknown fields are ignored.

        Parameters
        ----------
        record : any parsed JSON value, it need not be trusted

        Raises
        ------
        RowError
            Naming the first field that is missing or wrong.
        """
        if not isinstance(record, Mapping):
            raise RowError(f"a row must be an object, not {_kind(record)}")
        schema = _member(record, "schema", int)
        if schema != SCHEMA:
            raise RowError(f"schema must be {SCHEMA}, not {schema}")
        digest = _member(record, "digest", str)
        if not _DIGEST.fullmatch(digest):
            raise RowError(f"digest must be 64 hexadecimal digits, not {digest[:80]!r}")
        return cls(
            unit=_member(record, "unit", str),
            technology=_member(record, "technology", str),
            objective=_member(record, "objective", str),
            effort=_member(record, "effort", str),
            recipe=_member(record, "recipe", str),
            architecture=_member(record, "architecture", str),
            cells=_count(record, "cells"),
            transistors=_optional_count(record, "transistors"),
            area_um2=_optional(record, "area_um2"),
            gates_ge=_quantity(record, "gates_ge"),
            logic_depth=_count(record, "logic_depth"),
            delay_fo4=_optional(record, "delay_fo4"),
            delay_ps=_optional(record, "delay_ps"),
            energy_fj=_optional(record, "energy_fj"),
            leakage_nw=_optional(record, "leakage_nw"),
            cell_counts=_counts(record, "cell_counts"),
            flip_flops=_optional_count(record, "flip_flops"),
            latency_cycles=_optional_count(record, "latency_cycles"),
            period_fo4=_optional(record, "period_fo4"),
            period_ps=_optional(record, "period_ps"),
            fmax_ghz=_optional(record, "fmax_ghz"),
            clock_ps=_optional(record, "clock_ps"),
            slack_ps=_signed(record, "slack_ps"),
            candidates=read_spread(_member(record, "candidates", dict)),
            verification=_proof(_member(record, "verification", dict)),
            semantics=_member(record, "semantics", str),
            versions=_texts(record, "versions"),
            digest=digest,
            schema=schema,
        )


def document(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the JSON document that holds records."""
    return {"schema": SCHEMA, "rows": records}


def read_spread(record: Mapping[str, Any]) -> Spread:
    """Return the spread of parsed JSON; raise RowError if it is none."""
    where = "candidates"
    low, median, high = (_quantity(record, name, where) for name in ("min", "median", "max"))
    return Spread(count=_count(record, "count", where), min=low, median=median, max=high)


def _proof(record: Mapping[str, Any]) -> Proof:
    where = "verification"
    method = _member(record, "method", str, where)
    if method not in METHODS:
        raise RowError(f"verification.method must be one of {', '.join(METHODS)}, not {method!r}")
    vectors, mismatches = (_count(record, name, where) for name in ("vectors", "mismatches"))
    cycles = _optional_count(record, "cycles", where)
    if mismatches > vectors + (cycles or 0):
        raise RowError(f"verification.mismatches must be at most {vectors}, not {mismatches}")
    regions = _counts(record, "regions", where)
    return Proof(
        method=method, vectors=vectors, mismatches=mismatches, regions=regions, cycles=cycles
    )


def _member(record: Mapping[str, Any], name: str, kind: type[_T], where: str = "") -> _T:
    path = f"{where}.{name}" if where else name
    if name not in record:
        raise RowError(f"{path} is missing")
    value = record[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RowError(f"{path} must be {_KIND_NAMES[kind]}, not {_kind(value)}")
    return value


def _count(record: Mapping[str, Any], name: str, where: str = "") -> int:
    value = _member(record, name, int, where)
    if value < 0:
        raise RowError(f"{where}{'.' * bool(where)}{name} must not be negative, got {value}")
    return value


def _quantity(record: Mapping[str, Any], name: str, where: str = "") -> float:
    path = f"{where}.{name}" if where else name
    value = record.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise RowError(f"{path} must be a number, not {_kind(value)}")
    if not 0 <= value < float("inf"):
        raise RowError(f"{path} must be finite and not negative, got {value}")
    return value


def _optional(record: Mapping[str, Any], name: str) -> float | None:
    return None if record.get(name) is None else _quantity(record, name)


def _signed(record: Mapping[str, Any], name: str) -> float | None:
    """Return a quantity that may be negative."""
    value = record.get(name)
    if value is None:
        return None
    size = _quantity(
        {name: -value if isinstance(value, int | float) and value < 0 else value}, name
    )
    return -size if value < 0 else size


def _optional_count(record: Mapping[str, Any], name: str, where: str = "") -> int | None:
    return None if record.get(name) is None else _count(record, name, where)


def _counts(record: Mapping[str, Any], name: str, where: str = "") -> dict[str, int]:
    counts = _member(record, name, dict, where)
    return {str(key): _count(counts, key, name) for key in counts}


def _texts(record: Mapping[str, Any], name: str) -> dict[str, str]:
    texts = _member(record, name, dict)
    return {str(key): _member(texts, key, str, name) for key in texts}


def _kind(value: object) -> str:
    return "nothing" if value is None else f"{type(value).__name__} {value!r:.40}"
