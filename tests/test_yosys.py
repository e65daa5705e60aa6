"""The child process: what it writes, and every way in which it can fail."""

import resource
import shlex
import sys
import time
from pathlib import Path

import pytest

from fmacost.hw import yosys
from fmacost.hw.yosys import Job, YosysError, engine_command, run_yosys, tool_versions


def _run(script: str, outputs: tuple[str, ...] = (), timeout_s: float = 60) -> yosys.Finished:
    return run_yosys([Job(script, {}, outputs)], parallel=1, timeout_s=timeout_s)[0]


def _fake_yosys(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    program = folder / "fake yosys"
    # A first line with a blank in it would not be found, an argument with one is.
    program.write_text(f"#!/bin/sh\nexec {shlex.join([sys.executable, '-c', body])}\n")
    program.chmod(0o755)
    monkeypatch.setenv("YOSYS", str(program))


def test_a_script_runs_and_its_outputs_come_back() -> None:
    finished = _run("design -reset\ntee -o out.txt log hello\n", ("out.txt",))
    assert finished.outputs["out.txt"] == "hello\n"
    assert finished.seconds > 0


def test_jobs_keep_their_order() -> None:
    jobs = [Job(f"tee -o out.txt log job-{i}\n", {}, ("out.txt",)) for i in range(3)]
    texts = [done.outputs["out.txt"] for done in run_yosys(jobs, parallel=2, timeout_s=60)]
    assert [f"job-{i}" in text for i, text in enumerate(texts)] == [True] * 3


def test_an_error_names_what_yosys_said() -> None:
    with pytest.raises(YosysError, match="no_such_command"):
        _run("no_such_command\n")


def test_a_missing_output_is_an_error() -> None:
    with pytest.raises(YosysError, match=r"wrote no out\.json"):
        _run("log hello\n", ("out.json",))


def test_a_hang_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_yosys(tmp_path, monkeypatch, "import time; time.sleep(600)")
    with pytest.raises(YosysError, match="longer than"):
        _run("", timeout_s=0.3)


def test_a_crash_names_the_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_yosys(tmp_path, monkeypatch, "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(YosysError, match="killed by signal 9"):
        _run("")


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="Linux alone has prlimit")
def test_a_child_has_limits_that_its_children_inherit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "import subprocess, sys, time; time.sleep(0.3)\n"
    show = "import resource as r; print(r.getrlimit(r.RLIMIT_CPU)[0], r.getrlimit(r.RLIMIT_AS)[0])"
    body += f"subprocess.run([sys.executable, '-c', {show!r}], stdout=open('out.txt', 'w'))"
    _fake_yosys(tmp_path, monkeypatch, body)
    assert _run("", ("out.txt",), timeout_s=20).outputs["out.txt"] == f"21 {8 << 30}\n"


def test_grandchildren_end_with_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "mark"
    grandchild = f"import time; time.sleep(1); open({str(mark)!r}, 'w')"
    start = f"subprocess.Popen([sys.executable, '-c', {grandchild!r}])"
    body = f"import subprocess, sys, time\n{start}\ntime.sleep(600)"
    _fake_yosys(tmp_path, monkeypatch, body)
    with pytest.raises(YosysError, match="longer than"):
        _run("", timeout_s=0.5)
    time.sleep(1.5)
    assert not mark.exists()


def test_a_named_yosys_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YOSYS", "no-such-yosys")
    with pytest.raises(YosysError, match="YOSYS=no-such-yosys"):
        engine_command()


def test_no_yosys_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("YOSYS", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(YosysError, match="pip install pyosys"):
        engine_command()


@pytest.mark.parametrize(
    ("printed", "message"),
    [("Yosys 0.23 (git sha1 7ce5011c24b)", "too old"), ("hello", "does not look like Yosys")],
)
def test_versions_of_another_yosys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, message: str
) -> None:
    _fake_yosys(tmp_path, monkeypatch, f"print({printed!r})")
    tool_versions.cache_clear()
    with pytest.raises(YosysError, match=message):
        tool_versions()
    tool_versions.cache_clear()


def test_versions_of_the_installed_yosys() -> None:
    assert set(tool_versions()) == {"yosys", "amaranth"}


def test_no_scratch_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryDirectory", refuse)
    with pytest.raises(YosysError, match="No space left"):
        _run("")
