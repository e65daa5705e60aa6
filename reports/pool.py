"""Processes of this machine that measure points, each one at a time and warm.

Every process has a pipe of its own. So it is known which point was in flight when one is killed,
and a process whose client is gone ends by itself: its pipe ends.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import FrameType, ModuleType
from typing import NoReturn, Protocol

from fmacost.reports.task import Outcome, Task, maker, run_task, warm_up

MAX_DEATHS = 3  # of processes with one point; then the point has failed
_PATIENCE_S = 5.0


def usable_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Executor(Protocol):
    """Something that measures points."""

    @property
    def workers(self) -> int:
        """How many points it measures at the same time."""

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, Outcome], None, None]:
        """Yield the place of each task and its outcome, as they come; begin with the first."""

    def close(self) -> None:
        """End what it started."""


class Pool:
    """Measures points in ``workers`` processes of this machine.

    What a process was measuring when it was killed is given to a new one, ``MAX_DEATHS`` times.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._running: list[_Worker] = []

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, Outcome], None, None]:
        """Yield the place of each task and its outcome, as they come."""
        waiting = deque(range(len(tasks)))
        deaths = [0] * len(tasks)
        self._running = [_start() for _ in range(min(self.workers, len(tasks)))]
        try:
            while waiting or any(worker.place is not None for worker in self._running):
                for worker in self._running:
                    if worker.place is None and waiting:
                        worker.give(waiting.popleft(), tasks)
                busy = {w.connection: w for w in self._running if w.place is not None}
                for connection in wait(list(busy)):
                    worker = busy[connection]  # type: ignore[index]
                    place = worker.place
                    assert place is not None
                    outcome = worker.take()
                    if outcome is not None:
                        yield place, outcome
                        continue
                    self._running[self._running.index(worker)] = _start()
                    deaths[place] += 1
                    if deaths[place] < MAX_DEATHS:
                        waiting.appendleft(place)
                        continue
                    text = f"its process {worker.death()}, {MAX_DEATHS} times"
                    yield place, Outcome(maker=maker(), error=text)
        finally:
            self.close()

    def close(self) -> None:
        """End all processes; what they measure is given up, and their children end with them."""
        for worker in self._running:
            worker.connection.close()
            worker.process.terminate()
        for worker in self._running:
            worker.process.join(_PATIENCE_S)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._running = []


@dataclass(slots=True)
class _Worker:
    """A process, our end of its pipe, and the place of what it measures."""

    process: BaseProcess
    connection: Connection
    place: int | None = None

    def give(self, place: int, tasks: Sequence[Task]) -> None:
        self.place = place
        with contextlib.suppress(OSError):  # it was killed: its pipe says so when it is read
            self.connection.send(tasks[place])

    def take(self) -> Outcome | None:
        """Return what it sends; None if it was killed."""
        self.place = None
        try:
            outcome: Outcome = self.connection.recv()
        except (EOFError, OSError):
            self.connection.close()
            self.process.join(_PATIENCE_S)
            return None
        return outcome

    def death(self) -> str:
        code = self.process.exitcode
        return f"was killed by signal {-code}" if code and code < 0 else f"ended with {code}"


def _start() -> _Worker:
    # Not forked: we may have threads, and NumPy may have some.
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs,), daemon=True)
    with _without_interrupts(), _without_script():
        process.start()
    theirs.close()
    return _Worker(process, ours)


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let what is started here ignore Ctrl-C from its first moment: we end it ourselves."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def _without_script() -> Iterator[None]:
    """Let what is started here not import the script that runs: it may be no file, or measure."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def serve(connection: Connection) -> None:
    """Measure what comes through a pipe until it ends."""
    signal.signal(signal.SIGTERM, _end)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: processes share the cores
    warm_up()
    with contextlib.suppress(EOFError, OSError):
        while True:
            connection.send(run_task(connection.recv()))


def _end(signum: int, frame: FrameType | None) -> NoReturn:
    """End as if by an exception, so that children are ended and their folders removed."""
    raise SystemExit(128 + signum)
