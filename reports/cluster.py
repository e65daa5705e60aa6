"""A Dask cluster that measures points: its workers need fmacost, and no shared disk."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from fmacost.reports.errors import InputError, SweepError, printable
from fmacost.reports.sweep import check_maker
from fmacost.reports.task import Outcome, Task, maker, run_task

_CONNECT_S = 10
_AHEAD = 1000  # tasks that wait on the cluster: one that grows by need must see a queue


class Cluster:
    """Measures points on the workers of a Dask scheduler, which may come and go.

    What a lost worker was measuring is given to another one, as often as the scheduler allows.

    Raises
    ------
    InputError
        If distributed is not installed, or no scheduler answers.
    SweepError
        If a worker has no fmacost, or another one.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ModuleNotFoundError:
            raise InputError(
                "--scheduler needs distributed: pip install 'fmacost[cluster]'"
            ) from None
        self._dask: Any = distributed  # few of its functions have types
        try:
            self._client = self._dask.Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(
                printable(f"no Dask scheduler answers at {address}: {error}")
            ) from None
        try:
            self._check_workers()
        except BaseException:
            self.close()
            raise

    @property
    def workers(self) -> int:
        """How many points are measured at the same time now, at least one."""
        threads: dict[str, int] = self._client.nthreads()
        return max(sum(threads.values()), 1)

    def run(self, tasks: Sequence[Task]) -> Generator[tuple[int, Outcome], None, None]:
        """Yield the place of each task and its outcome, as they come."""
        waiting = iter(range(len(tasks)))
        places: dict[Any, int] = {}
        finished = self._dask.as_completed([], loop=self._client.loop)

        def send(count: int) -> None:
            for place, _ in zip(waiting, range(count), strict=False):
                future = self._client.submit(run_task, tasks[place], pure=False, priority=-place)
                places[future] = place
                finished.add(future)

        try:
            send(_AHEAD)
            for future in finished:
                place = places.pop(future)
                yield place, self._outcome(future)
                send(1)
        finally:
            self._client.cancel(list(places))

    def close(self) -> None:
        """Leave the cluster; it goes on without us."""
        self._client.close()

    def _check_workers(self) -> None:
        """Refuse workers that would measure otherwise; those that come later say so themselves."""
        try:
            found = self._client.run(maker)
        except Exception as error:  # whatever a worker raised
            raise SweepError(
                printable(f"a worker cannot run this fmacost: {type(error).__name__}: {error}")
            ) from None
        for address, what in sorted(found.items()):
            check_maker(what, f"worker {address}")

    def _outcome(self, future: Any) -> Outcome:
        try:
            outcome: Outcome = future.result()
        except self._dask.scheduler.KilledWorker:
            return Outcome(maker=maker(), error="the workers that measured it died")
        except Exception as error:  # not of the point: such errors are in the outcome
            raise SweepError(
                printable(f"the cluster failed: {type(error).__name__}: {error}")
            ) from None
        return outcome
