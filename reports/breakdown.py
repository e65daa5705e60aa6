"""Where the transistors of a unit go: its stages beside the flattened, proven netlist."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from fmacost.reports.cache import Cache
from fmacost.reports.export import to_json
from fmacost.reports.metrics import show_count
from fmacost.reports.row import Row
from fmacost.reports.tables import UNPROVEN, table
from fmacost.sim.operation import Operation

if TYPE_CHECKING:
    from fmacost.hw.technology import Technology

# The claim: a float is two integers, and a lot of complexity around them.
INTEGER_STAGES = ("significand multiply", "exponent add")
INTEGERS, COMPLEXITY = "the two integers", "the complexity"
SUM, FLATTENED = "sum of the stages", "flattened"


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The stages of one unit.

    Attributes
    ----------
    row : the flattened unit
    stages : transistors of each stage mapped by itself, in the order in which data passes
    """

    row: Row
    stages: Mapping[str, int]

    @property
    def total(self) -> int:
        """Sum of the stages."""
        return sum(self.stages.values())

    @property
    def saved(self) -> int:
        """Transistors that flattening saves: what the borders between stages cost."""
        return self.total - self.row.counted_transistors

    def share(self, transistors: int) -> float:
        """Return a part of the sum of the stages, 0 ... 1."""
        return transistors / max(self.total, 1)

    @property
    def groups(self) -> dict[str, int]:
        """The two integers of a float product and all else; empty for other units."""
        if INTEGER_STAGES[0] not in self.stages:
            return {}
        integers = sum(self.stages.get(stage, 0) for stage in INTEGER_STAGES)
        return {INTEGERS: integers, COMPLEXITY: self.total - integers}

    def to_json(self) -> dict[str, Any]:
        """Return the row of the flattened unit with its stages."""
        return {
            **self.row.to_json(),
            "stages": dict(self.stages),
            "groups": self.groups,
            "stages_sum": self.total,
            "saved_by_flattening": self.saved,
        }


def break_down(
    operation: Operation,
    technology: "Technology",
    row: Row,
    store: Cache | None,
    *,
    timeout_s: float,
) -> Breakdown:
    """Return the stages of a unit, from the cache or by mapping each of them.

    Parameters
    ----------
    row : the flattened unit; its digest is the key, for it covers all that stages depend on

    Raises
    ------
    YosysError
        If synthesis fails or takes too long.
    """
    key = {"breakdown": row.digest}
    known = None if store is None else store.load("rows", key)
    if isinstance(known, dict) and all(type(n) is int and n >= 0 for n in known.values()):
        return Breakdown(row, known)
    from fmacost.hw.breakdown import parse_architecture, stage_transistors

    architecture = parse_architecture(row.architecture)
    counted = stage_transistors(
        operation, technology, architecture=architecture, timeout_s=timeout_s
    )
    stages = {str(stage): transistors for stage, transistors in counted.items()}
    if store is not None and row.verification.is_proven:
        store.store("rows", key, stages)
    return Breakdown(row, stages)


def stage_names(breakdowns: Sequence[Breakdown]) -> list[str]:
    """Return every stage that some unit has, each once, in the order in which data passes."""
    from fmacost.hw.breakdown import Stage

    return [str(stage) for stage in Stage if any(str(stage) in b.stages for b in breakdowns)]


def breakdown_table(breakdowns: Sequence[Breakdown]) -> Table:
    """Return the stages as lines, two columns a unit: transistors, and the share of their sum."""
    headings = [("stage", False)]
    for b in breakdowns:
        headings += [(b.row.unit, True), ("%", True)]
    made = table(headings, [])

    def add(name: str, transistors: Sequence[int | None], *, is_last: bool = False) -> None:
        cells: list[str] = []
        for b, n in zip(breakdowns, transistors, strict=True):
            cells += ["", ""] if n is None else [show_count(n), f"{b.share(n):.1%}"]
        made.add_row(name, *cells, end_section=is_last)

    names = stage_names(breakdowns)
    for name in names:
        add(name, [b.stages.get(name) for b in breakdowns], is_last=name == names[-1])
    if any(b.groups for b in breakdowns):
        for group in (INTEGERS, COMPLEXITY):
            add(group, [b.groups.get(group) for b in breakdowns], is_last=group == COMPLEXITY)
    add(SUM, [b.total for b in breakdowns])
    add("saved by flattening", [b.saved for b in breakdowns])
    cells: list[str | Text] = []
    for b in breakdowns:
        style = "" if b.row.verification.is_proven else UNPROVEN
        flat = b.row.counted_transistors
        cells += [Text(show_count(flat), style), f"{b.share(flat):.1%}"]
    made.add_row(FLATTENED, *cells)
    return made


def breakdown_notes(breakdowns: Sequence[Breakdown]) -> list[str]:
    """Return what the numbers of a breakdown mean."""
    notes = [
        "every stage is mapped by itself, in the architecture of the flattened unit, by the best "
        "of a few recipes; shares are of the sum of the stages",
        "the flattened netlist is the one that is proven and compared; flattening shares logic "
        "across stages and removes what never happens",
    ]
    if any(b.groups for b in breakdowns):
        integers = " and ".join(INTEGER_STAGES)
        notes.append(
            f"{INTEGERS}: {integers} (both exponents and the offset); {COMPLEXITY}: all else, the "
            "exponent difference included (align)"
        )
    if any(b.stages.get("final add") == 0 for b in breakdowns):
        notes.append(
            "final add 0: the tree compresses every column to one bit, so that no adder follows"
        )
    for b in breakdowns:
        if b.groups:
            shares = [f"{name} {b.share(n):.1%}" for name, n in b.groups.items()]
            notes.append(f"{b.row.unit}: {', '.join(shares)}")
    return notes


def records(breakdowns: Sequence[Breakdown]) -> list[dict[str, Any]]:
    """Return the JSON of each unit with its stages."""
    return [b.to_json() for b in breakdowns]


def to_csv(breakdowns: Sequence[Breakdown]) -> str:
    """Return one line for each stage of each unit, then its sum and the flattened unit."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["unit", "technology", "stage", "transistors", "share"])
    for b in breakdowns:
        lines = {**b.stages, SUM: b.total, FLATTENED: b.row.counted_transistors}
        for stage, n in lines.items():
            writer.writerow([b.row.unit, b.row.technology, stage, n, round(b.share(n), 6)])
    return out.getvalue()


def to_markdown(breakdowns: Sequence[Breakdown]) -> str:
    """Return the table as Markdown, stages as lines and units as columns."""
    units = [f"`{b.row.unit}`" for b in breakdowns]
    lines = [["stage", *units], ["---", *("---:" for _ in units)]]
    for name in stage_names(breakdowns):
        counts = (b.stages.get(name) for b in breakdowns)
        lines.append([name, *("" if n is None else show_count(n) for n in counts)])
    for group in (INTEGERS, COMPLEXITY):
        if any(b.groups for b in breakdowns):
            lines.append([group, *(_with_share(b, b.groups.get(group)) for b in breakdowns)])
    lines.append([SUM, *(show_count(b.total) for b in breakdowns)])
    lines.append(["saved by flattening", *(show_count(b.saved) for b in breakdowns)])
    lines.append([FLATTENED, *(show_count(b.row.counted_transistors) for b in breakdowns)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _with_share(b: Breakdown, transistors: int | None) -> str:
    if transistors is None:
        return ""
    return f"{show_count(transistors)} ({b.share(transistors):.1%})"


EXPORTERS: Mapping[str, Callable[[Sequence[Breakdown]], str]] = {
    "json": lambda breakdowns: to_json(records(breakdowns)),
    "csv": to_csv,
    "md": to_markdown,
}
