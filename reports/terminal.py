"""Where text goes: results to stdout, notices and progress to stderr, bars on terminals only."""

import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.measure import Measurement

from fmacost.reports.errors import printable

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, TaskID

PROSE_WIDTH = 100
_UNLIMITED = 100_000


class Terminal:
    """The two streams of a command.

    Parameters
    ----------
    quiet : whether notices and progress are left out; errors never are
    """

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._live: Progress | None = None

    def show(self, *parts: RenderableType) -> None:
        """Write a result for people: tables as wide as their content, prose wrapped."""
        self.write(rendered(Console(markup=False, highlight=False, emoji=False), *parts))

    def write(self, text: str) -> None:
        """Write text to stdout as it is, in one piece."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def notify(self, text: str) -> None:
        """Write a notice of one line to stderr unless the user wants quiet."""
        if not self.quiet:
            self.complain(text)

    def complain(self, text: str) -> None:
        """Write one line to stderr, quiet or not."""
        lines = "\n".join(printable(line) for line in text.split("\n"))
        if self._live is not None:
            self._live.console.print(lines, markup=False, highlight=False, soft_wrap=True)
        else:
            sys.stderr.write(f"{lines}\n")
            sys.stderr.flush()

    @contextmanager
    def progress(self, total: int) -> "Iterator[UnitWatcher]":
        """Give a watcher for the measurement of ``total`` units, with a bar on a terminal."""
        if self.quiet or total == 0 or not sys.stderr.isatty():
            yield UnitWatcher(self, None, None)
            return
        from rich.progress import TextColumn, TimeElapsedColumn

        count = TextColumn("{task.completed}/{task.total}")
        with self._bar([count], [TimeElapsedColumn()], total) as (live, task):
            yield UnitWatcher(self, live, task)

    @contextmanager
    def bar(self, total: int) -> "Iterator[Callable[[int, str], None] | None]":
        """Give what moves a bar and changes its text; None where there is no terminal."""
        if self.quiet or not sys.stderr.isatty():
            yield None
            return
        with self._bar([], [], total) as (live, task):
            yield lambda done, text: live.update(task, completed=done, description=text)

    @contextmanager
    def _bar(
        self, before: "list[ProgressColumn]", after: "list[ProgressColumn]", total: int
    ) -> "Iterator[tuple[Progress, TaskID]]":
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (BarColumn(bar_width=24), TextColumn("{task.description}", markup=False))
        console = Console(stderr=True)
        with Progress(*before, *columns, *after, console=console, transient=True) as live:
            self._live = live
            try:
                yield live, live.add_task("", total=total)
            finally:
                self._live = None


class UnitWatcher:
    """Tells the user how far the measurement of several units is."""

    def __init__(self, terminal: Terminal, live: "Progress | None", task: "TaskID | None") -> None:
        self._terminal, self._live, self._task = terminal, live, task
        self._name = self._stage = ""

    def begin(self, name: str) -> None:
        """Say which unit is next."""
        self._name = name
        self.stage("")

    def finish(self, notice: str | None) -> None:
        """Say that a unit is done."""
        if self._live is not None and self._task is not None:
            self._live.advance(self._task)
        if notice:
            self.notify(notice)

    def stage(self, text: str) -> None:
        """Say what is being done now."""
        self._stage = text
        self._describe(text)

    def part(self, done: int, total: int) -> None:
        """Say how much of a stage is done."""
        self._describe(f"{self._stage} {100 * done // max(total, 1)} %")

    def notify(self, text: str) -> None:
        """Write a notice."""
        self._terminal.notify(text)

    def _describe(self, text: str) -> None:
        if self._live is not None and self._task is not None:
            self._live.update(self._task, description=f"{self._name} {text}".strip())


def rendered(console: Console, *parts: RenderableType) -> str:
    """Return what a console would show: tables as wide as their content, prose wrapped."""
    room = console.width if console.is_terminal else PROSE_WIDTH
    with console.capture() as captured:
        for part in parts:
            console.width = _UNLIMITED
            if isinstance(part, str):
                console.print(_wrapped(part, min(room, PROSE_WIDTH)))
            else:
                natural = Measurement.get(console, console.options, part).maximum
                console.width = max(natural, 1)
                console.print(part)
    return "\n".join(line.rstrip() for line in captured.get().split("\n"))


def _wrapped(text: str, width: int) -> str:
    return "\n".join(
        textwrap.fill(
            line, width, subsequent_indent="  " if line.startswith("- ") else "",
            break_long_words=False, break_on_hyphens=False,
        )
        for line in text.split("\n")
    )  # fmt: skip
