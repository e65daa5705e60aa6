"""One point of a sweep as a process measures it: what it is sent, and what comes back."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fmacost.reports.cache import Cache
from fmacost.reports.measure import Settings, measure, source_digest, versions

if TYPE_CHECKING:
    from pathlib import Path

    from fmacost.hw.technology import Technology
    from fmacost.reports.row import Row
    from fmacost.sim.operation import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A point to be measured.

    Attributes
    ----------
    technology : the name of one that comes with the package, any other as a whole: the process
        that measures may be on a machine without its file
    store : folder of the cache, None where the process has none
    """

    operation: Operation
    technology: str | Technology
    settings: Settings
    store: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a point: a row, or why there is none.

    Attributes
    ----------
    maker : what measured it, as ``maker`` returns it
    lost : why the row could not be kept in the store, empty if it could
    is_timed : whether ``seconds`` is what the point takes from the beginning
    """

    maker: dict[str, str]
    row: Row | None = None
    error: str = ""
    counterexample: str | None = None
    notices: tuple[str, ...] = ()
    lost: str = ""
    seconds: float = 0.0
    is_timed: bool = False


def maker() -> dict[str, str]:
    """Return what must be the same wherever points of one sweep are measured."""
    return {**versions(), "sources": source_digest()[:12]}


def run_task(task: Task) -> Outcome:
    """Measure a point. Whatever goes wrong is part of the outcome, so that a sweep goes on."""
    start = time.monotonic()
    notices: list[str] = []
    store = None if task.store is None else Cache(task.store, notices.append)
    found: dict[str, Any] = {}
    try:
        made = measure(task.operation, _technology(task), task.settings, store, _Listener(notices))
    except Exception as error:
        found["error"] = _one_line(error)
    else:
        if made.left_out:  # another run may find another row
            found["error"] = (
                f"{made.left_out} candidates took longer than {task.settings.timeout_s:g} s or "
                "failed"
            )
            notices = []
        else:
            found["row"], found["counterexample"] = made.row, made.counterexample
            found["is_timed"] = made.yosys_seconds > 0
    return Outcome(
        maker=maker(),
        notices=tuple(notices),
        lost="" if store is None else store.failure,
        seconds=time.monotonic() - start,
        **found,
    )


def warm_up() -> None:
    """Import what every point needs, so that no point is timed with it."""
    import fmacost.hw.static_timing
    import fmacost.hw.synthesis
    import fmacost.sim.check  # noqa: F401

    maker()


def _technology(task: Task) -> Technology:
    if not isinstance(task.technology, str):
        return task.technology
    from fmacost.hw.technology import get_technology

    return get_technology(task.technology)


def _one_line(error: Exception) -> str:
    from fmacost.hw.technology import TechnologyError
    from fmacost.hw.yosys import YosysError
    from fmacost.reports.errors import InputError
    from fmacost.sim.operation import OperationError

    known = isinstance(error, YosysError | TechnologyError | OperationError | InputError)
    text = str(error) if known else f"internal error: {type(error).__name__}: {error}"
    return " ".join(text.split())


class _Listener:
    """A watcher that keeps notices and drops the rest."""

    def __init__(self, notices: list[str]) -> None:
        self._notices = notices

    def stage(self, text: str) -> None:
        """Take no notice of a stage."""

    def part(self, done: int, total: int) -> None:
        """Take no notice of a part."""

    def notify(self, text: str) -> None:
        """Keep a notice."""
        self._notices.append(text)
