"""Sweeps: resumed, killed, damaged, out of space, shared, in parts and on a cluster."""

import errno
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fmacost.reports import cache
from fmacost.reports.cli import run
from fmacost.reports.export import write_atomic
from fmacost.reports.pool import MAX_DEATHS, Pool
from fmacost.reports.task import Outcome, Task
from tests.test_cli import command, fmacost

pytestmark = pytest.mark.usefixtures("private_cache")
Capture = pytest.CaptureFixture[str]
UNITS = ("--units", "{mul,add}:int{1..3}", "--units", "mul:e{0..1}m{0..1}f", "--effort", "quick")
COUNT = 10
SMALL_DISK_KIB = 40


@pytest.fixture
def private_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(folder))
    return folder


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The table that every disturbed sweep must end with."""
    folder = tmp_path_factory.mktemp("undisturbed")
    environment = os.environ | {"FMACOST_CACHE_DIR": str(folder)}
    done = fmacost("sweep", *UNITS, "--json", "-j1", env=environment)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert len(rows) == COUNT
    assert all(row["verification"]["method"] == "exhaustive" for row in rows)
    return done.stdout


def entries(folder: Path, kind: str = "rows") -> list[Path]:
    return sorted((folder / kind).glob("*.json.gz"))


def wait_for(folder: Path, count: int) -> None:
    deadline = time.monotonic() + 120
    while len(entries(folder)) < count:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def assert_resumes(undisturbed: str) -> None:
    done = fmacost("sweep", *UNITS, "--json", "-j2")
    assert done.returncode == 0, done.stderr
    assert done.stdout == undisturbed


def test_a_warm_sweep_measures_nothing(
    private_cache: Path, undisturbed: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert_resumes(undisturbed)
    before = {path: path.stat().st_mtime_ns for path in entries(private_cache)}
    assert len(before) == COUNT

    def refuse(*_: Any) -> None:
        raise AssertionError("a point that is known was measured again")

    monkeypatch.setattr(Pool, "run", refuse)
    assert run(["sweep", *UNITS, "--json"]) == 0
    out, err = capsys.readouterr()
    assert out == undisturbed
    assert f"all {COUNT} points are known" in err
    assert {path: path.stat().st_mtime_ns for path in entries(private_cache)} == before


def test_a_killed_client_loses_what_was_in_flight_alone(
    private_cache: Path, undisturbed: str
) -> None:
    with subprocess.Popen(
        command("sweep", *UNITS, "-j1"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as client:
        wait_for(private_cache, 3)
        client.send_signal(signal.SIGKILL)
    time.sleep(0.5)  # a worker may end its point before it sees that nobody listens
    kept = {path: path.read_bytes() for path in entries(private_cache)}
    assert 3 <= len(kept) < COUNT
    assert_resumes(undisturbed)
    assert all(path.read_bytes() == content for path, content in kept.items())


def test_an_interrupted_sweep_says_how_to_go_on(private_cache: Path, undisturbed: str) -> None:
    with subprocess.Popen(
        command("sweep", *UNITS, "-j1"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as client:  # fmt: skip
        wait_for(private_cache, 1)
        os.killpg(client.pid, signal.SIGINT)  # as a terminal does
        _, err = client.communicate(timeout=60)
    assert client.returncode == 130
    assert "the same command goes on" in err
    assert "Traceback" not in err
    assert_resumes(undisturbed)


def test_a_killed_worker_costs_no_point(private_cache: Path, undisturbed: str) -> None:
    with subprocess.Popen(
        command("sweep", *UNITS, "-j1", "--json"),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as client:  # fmt: skip
        wait_for(private_cache, 2)
        children = Path(f"/proc/{client.pid}/task/{client.pid}/children").read_text().split()
        workers = [
            int(child) for child in children
            if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()
        ]  # fmt: skip
        assert len(workers) == 1
        os.kill(workers[0], signal.SIGKILL)
        out, _ = client.communicate(timeout=120)
    assert client.returncode == 0
    assert out == undisturbed


def test_a_point_that_kills_its_process_fails_after_some_times() -> None:
    pool = Pool(1)
    task: Any = _Deadly()
    ((place, outcome),) = pool.run([task])
    assert place == 0
    assert outcome.row is None
    assert "killed by signal 9" in outcome.error
    assert f"{MAX_DEATHS} times" in outcome.error
    assert multiprocessing.active_children() == []


class _Deadly:
    """A task whose process dies of it when it is read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _die, ()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_damaged_point_is_measured_again(private_cache: Path, undisturbed: str) -> None:
    assert_resumes(undisturbed)
    whole, cut, *_ = entries(private_cache)
    whole.write_bytes(b"not gzip")
    cut.write_bytes(cut.read_bytes()[:40])
    assert_resumes(undisturbed)
    assert len(entries(private_cache)) == COUNT


def test_a_full_disk_stops_the_sweep_in_one_line(
    private_cache: Path, undisturbed: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    from fmacost.reports.task import run_task

    class Here:
        """Measures in this process, whose disk is full after three rows."""

        workers = 1

        def run(self, tasks: list[Task]) -> Iterator[tuple[int, Outcome]]:
            yield from ((i, run_task(task)) for i, task in enumerate(tasks))

        def close(self) -> None:
            pass

    written: list[Path] = []

    def write(path: Path, content: bytes) -> None:
        if path.parent.name == "rows" and len(written) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        written.extend([path] if path.parent.name == "rows" else [])
        original(path, content)

    original = write_atomic
    with monkeypatch.context() as patch:
        patch.setattr(cache, "write_atomic", write)
        patch.setattr("fmacost.reports.pool.Pool", lambda _: Here())
        assert run(["sweep", *UNITS]) == 3
    err = capsys.readouterr().err
    assert "No space left on device" in err
    assert "the same command goes on" in err
    assert "Traceback" not in err
    assert len(entries(private_cache)) == 3
    assert_resumes(undisturbed)


@pytest.fixture
def small_disk(private_cache: Path) -> Iterator[Path]:
    """The cache's folder on a disk of its own that holds a few entries; skip without the right."""
    private_cache.mkdir()
    disk = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_KIB}k", "tmpfs", str(private_cache)]
    done = shutil.which("mount") and subprocess.run(disk, check=False, capture_output=True)
    if not done or done.returncode:
        pytest.skip("mounting a small disk is not allowed here")
    yield private_cache
    subprocess.run(["umount", str(private_cache)], check=True)


def test_a_disk_that_is_really_full_loses_no_finished_point(
    small_disk: Path, undisturbed: str, capsys: Capture
) -> None:
    assert run(["sweep", *UNITS, "-j1"]) == 3
    err = capsys.readouterr().err
    assert "No space left on device" in err
    assert "Traceback" not in err
    kept = {path: path.read_bytes() for path in entries(small_disk)}
    assert 1 <= len(kept) < COUNT
    assert not [path for path in small_disk.rglob("*") if path.name.endswith(".tmp")]
    larger = ["mount", "-o", "remount,size=16m", str(small_disk)]
    subprocess.run(larger, check=True)
    assert_resumes(undisturbed)
    assert all(path.read_bytes() == content for path, content in kept.items())


def test_two_sweeps_share_a_store(private_cache: Path, undisturbed: str) -> None:
    clients = [
        subprocess.Popen(
            command("sweep", *UNITS, "-j1", "--json"),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    outs = [client.communicate(timeout=200)[0] for client in clients]
    assert [client.returncode for client in clients] == [0, 0]
    assert outs == [undisturbed] * 2
    assert len(entries(private_cache)) == COUNT
    assert not [path for path in private_cache.rglob("*") if path.name.endswith(".tmp")]


def test_shards_merge_to_the_whole(tmp_path: Path, undisturbed: str, capsys: Capture) -> None:
    parts = [tmp_path / f"{i}.json" for i in (1, 2)]
    for i, part in enumerate(parts, 1):
        assert run(["sweep", *UNITS, "--shard", f"{i}/2", "--export-json", str(part)]) == 0
    sizes = [len(json.loads(part.read_text())["rows"]) for part in parts]
    assert sum(sizes) == COUNT
    assert min(sizes) > 0
    capsys.readouterr()
    assert run(["merge", *map(str, reversed(parts)), "--json"]) == 0
    assert capsys.readouterr().out == undisturbed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "has no list 'rows'"),
        ('{"schema": 99, "rows": []}', "its schema is '99'"),
        ("[", "not JSON"),
        ('{"schema": 1, "rows": [{"unit": 3}]}', "row 1"),
        ('{"schema": 1, "rows": [{"error": "x"}]}', "row 1"),
    ],
)
def test_merge_takes_tables_alone(
    tmp_path: Path, content: str, message: str, capsys: Capture
) -> None:
    path = tmp_path / "table.json"
    path.write_text(content)
    assert run(["merge", str(path), "--json"]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert (out, err.count("\n")) == ("", 1)


def test_a_failed_point_is_a_row_with_its_reason(capsys: Capture) -> None:
    arguments = ["sweep", "--units", "mul:int{8..9}", "--timeout", "0.1", "--json", "-j1"]
    assert run(arguments) == 3
    out, err = capsys.readouterr()
    rows = json.loads(out)["rows"]
    assert [row["unit"] for row in rows] == ["mul:int8", "mul:int9"]
    assert all("0.1 s" in row["error"] for row in rows)
    assert err.count("FAILED: ") == 2


def test_a_plan_measures_nothing(private_cache: Path, capsys: Capture) -> None:
    assert run(["sweep", *UNITS, "--plan", "--workers", "4", "--json"]) == 0
    (plan,) = json.loads(capsys.readouterr().out)["rows"]
    assert (plan["points"], plan["cached"], plan["to_measure"]) == (COUNT, 0, COUNT)
    assert (plan["unknown"], plan["workers"]) == (COUNT, 4)
    assert not entries(private_cache)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep"], "one of them alone"),
        (["sweep", "width"], "did you mean widths"),
        (["sweep", "widths", "--shard", "3/2"], "i/N"),
        (["sweep", "--units", "mul:int{5..2}"], "stands for no unit"),
        (["sweep", "--units", "mul:int1", "--technology", "cmoss"], "cmoss"),
        (["sweep", "--units", "mul:int1", "--effort", "lots"], "unknown effort 'lots'"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, capsys: Capture) -> None:
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert (out, err.count("\n")) == ("", 1)


def test_an_output_folder_must_be_ours(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "table.csv").write_text("somebody's\n")
    arguments = ["sweep", "--units", "mul:int1", "--effort", "quick", "--output", str(tmp_path)]
    assert run(arguments) == 2
    assert "table" in capsys.readouterr().err
    assert (tmp_path / "table.csv").read_text() == "somebody's\n"


class TestCluster:
    """On a Dask cluster of processes on this machine."""

    def test_a_scheduler_that_is_not_there_is_one_line(
        self, capsys: Capture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("distributed")
        monkeypatch.setattr("fmacost.reports.cluster._CONNECT_S", 1)
        arguments = ["sweep", *UNITS, "--scheduler", "tcp://127.0.0.1:1"]
        assert run(arguments) == 2
        assert "no Dask scheduler answers" in capsys.readouterr().err

    @pytest.mark.slow
    def test_rows_are_the_same_and_a_worker_may_die(self, undisturbed: str) -> None:
        distributed = pytest.importorskip("distributed")
        with distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            address = cluster.scheduler_address
            with subprocess.Popen(
                command("sweep", *UNITS, "--json", "--scheduler", address),
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            ) as client:  # fmt: skip
                wait_for(Path(os.environ["FMACOST_CACHE_DIR"]), 2)
                os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
                out, err = client.communicate(timeout=200)
        assert client.returncode == 0, err
        assert out == undisturbed

    @pytest.mark.slow
    def test_four_processes_give_the_same_rows(self, undisturbed: str) -> None:
        distributed = pytest.importorskip("distributed")
        with distributed.LocalCluster(
            n_workers=4, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            done = fmacost("sweep", *UNITS, "--json", "--scheduler", cluster.scheduler_address)
        assert done.returncode == 0, done.stderr
        assert done.stdout == undisturbed
