"""How far a sweep is: a bar on a terminal, a line now and then elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fmacost.reports.terminal import Terminal

_PLAIN_S = 10.0  # between two lines


class Progress:
    """Says how many points are done, and how long the others will take.

    Parameters
    ----------
    left : returns the seconds that are left, None where nothing can be said
    show : called with a line as each point is done
    """

    def __init__(
        self, total: int, left: Callable[[], float | None], show: Callable[[int, str], None]
    ) -> None:
        self._total, self._left, self._show = total, left, show
        self._start = time.monotonic()
        self._done = self._failed = 0

    def advance(self, *, has_failed: bool) -> None:
        """Count a point."""
        self._done += 1
        self._failed += has_failed
        self._show(self._done, self.text())

    def text(self) -> str:
        """Return how far the sweep is."""
        left = self._left()
        parts = [f"{self._done:,} of {self._total:,} points"]
        parts += [f"{self._failed:,} failed"] * bool(self._failed)
        parts.append(f"{show_seconds(time.monotonic() - self._start)} so far")
        if self._done < self._total:
            parts.append("time left unknown" if left is None else f"{show_seconds(left)} left")
        return ", ".join(parts)


@contextmanager
def progress(
    terminal: Terminal, total: int, left: Callable[[], float | None]
) -> Iterator[Progress]:
    """Give a ``Progress`` that shows itself as the terminal allows."""
    with terminal.bar(total) as bar:
        if bar is not None:
            yield Progress(total, left, bar)
            return
        last = time.monotonic()

        def show(done: int, text: str) -> None:
            nonlocal last
            if time.monotonic() - last >= _PLAIN_S or done == total:
                last = time.monotonic()
                terminal.notify(text)

        yield Progress(total, left, show)


def show_seconds(seconds: float) -> str:
    """Return a time as people say it, with two digits or so."""
    if seconds < 99.5:
        return f"{seconds:.0f} s" if seconds >= 9.95 else f"{seconds:.1f} s"
    if seconds < 99.5 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"
