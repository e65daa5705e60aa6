"""The pipeline for programs: the same rows as the command line, as tables of several kinds."""

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas
import pytest

import fmacost
from fmacost.hw.yosys import YosysError
from fmacost.reports import api
from fmacost.reports.cli import run
from fmacost.reports.commands import units
from fmacost.reports.errors import MismatchError
from fmacost.reports.export import to_csv, to_html
from fmacost.reports.measure import Measured
from fmacost.reports.pool import Pool
from fmacost.reports.task import Outcome, Task, run_task
from tests import fake_hw
from tests.fake_hw import FakeHardware
from tests.test_compare import make_comparison

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def private_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def hardware(monkeypatch: pytest.MonkeyPatch) -> FakeHardware:
    return fake_hw.install(monkeypatch)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer every comparison of int8 and e4m3fn with made-up rows."""
    made = [
        Measured(
            row=row, netlist=None, counterexample=None, is_cached=True, yosys_seconds=0, seconds=0
        )
        for row in make_comparison("int8", "e4m3fn").rows.values()
    ]
    for module in (api, units):
        monkeypatch.setattr(module, "measure_all", lambda *_: made)


@pytest.mark.usefixtures("made_up")
def test_compare_is_what_the_command_prints(capsys: Capture) -> None:
    table = fmacost.compare("int8", "e4m3fn")
    assert run(["compare", "int8", "e4m3fn", "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == list(table.records)
    assert run(["compare", "int8", "e4m3fn", "-q"]) == 0
    assert capsys.readouterr().out.startswith(repr(table))
    assert "times as many" in table.note


@pytest.mark.usefixtures("hardware")
@pytest.mark.parametrize("command", ["synth", "verify"])
def test_rows_are_those_of_the_command(command: str, capsys: Capture) -> None:
    table = getattr(fmacost, command)("mul:int2", "mul:e1m0f")
    assert run([command, "mul:int2", "mul:e1m0f", "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == list(table.records)
    assert [row.unit for row in table] == ["mul:int2", "mul:e1m0f"]
    assert table[0].transistors == table.to_pandas().transistors[0]
    assert len(table) == 2


def test_sweep_has_the_points_that_failed(
    monkeypatch: pytest.MonkeyPatch, hardware: FakeHardware
) -> None:
    def here(self: Pool, tasks: Sequence[Task]) -> Iterator[tuple[int, Outcome]]:
        return ((place, run_task(one)) for place, one in enumerate(tasks))

    monkeypatch.setattr(Pool, "run", here)
    table = fmacost.sweep("mul:int{1..2}", effort="quick")
    assert [row.unit for row in table] == ["mul:int1", "mul:int2"]
    assert table.note == ""
    hardware.error = YosysError("out of gates")
    table = fmacost.sweep("mul:int{1..3}", effort="quick")
    assert [row.unit for row in table] == ["mul:int1", "mul:int2"]
    assert table.note == "1 of 3 points failed"
    assert table.records[2]["error"] == "out of gates"
    assert "out of gates" in table._repr_html_()


@pytest.mark.usefixtures("made_up")
def test_a_data_frame_is_the_csv() -> None:
    table = fmacost.compare("int8", "e4m3fn")
    read = pandas.read_csv(io.StringIO(to_csv(table.records)))
    made = table.to_pandas()
    assert list(made.columns) == list(read.columns)
    assert made.unit.tolist() == read.unit.tolist()
    assert made.ratio_transistors.equals(read.ratio_transistors)


def test_without_pandas_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, hardware: FakeHardware
) -> None:
    table = fmacost.synth("mul:int2")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'fmacost\[pandas\]'"):
        table.to_pandas()


@pytest.mark.usefixtures("made_up")
def test_jupyter_shows_a_table_and_the_answer() -> None:
    table = fmacost.compare("int8", "e4m3fn")
    shown = table._repr_html_()
    assert shown.startswith("<table>")
    assert shown.count("<tr>") == 17
    assert shown.endswith(f"<p>{table.note}</p>")


def test_html_is_text() -> None:
    hostile = "<script>alert('&')</script>"
    shown = to_html([{"unit": hostile, "technology": "cmos", "transistors": 1234}])
    assert "<script>" not in shown
    assert "&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;" in shown
    assert '<td style="text-align: right">1,234</td>' in shown


def test_a_wrong_netlist_is_an_exception(hardware: FakeHardware) -> None:
    hardware.flip = 1
    with pytest.raises(MismatchError, match=r"(?s)MISMATCH: mul:int2 in cmos .*\n.*expected"):
        fmacost.verify("mul:int2")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fmacost.compare("int8"), "two or more different formats"),
        (lambda: fmacost.compare("int8", "int9m9"), "int9m9"),
        (fmacost.synth, "give one unit"),
        (lambda: fmacost.synth("mul:int2", technology=()), "give one unit"),
        (lambda: fmacost.synth("mul:int2", technology="cmos9"), "cmos9"),
        (lambda: fmacost.synth("mul:int2", effort="quik"), "did you mean quick"),
        (lambda: fmacost.verify("mul:int2", objective="size"), "unknown objective 'size'"),
        (lambda: fmacost.synth("mul:int2", clock_ps=100.0), "no delays in ps"),
        (lambda: fmacost.verify("fma:fp32", exhaustive=True), "at most 2^32"),
        (fmacost.sweep, "a study, a TOML file or"),
        (lambda: fmacost.sweep(study="width"), "did you mean widths"),
    ],
)
def test_wrong_arguments_are_value_errors_of_one_line(
    call: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError, match=message.replace("^", r"\^")) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_the_package_imports_nothing_before_it_is_asked() -> None:
    code = (
        "import sys, fmacost; assert 'compare' in dir(fmacost)\n"
        "print([n for n in sys.modules if n.startswith('fmacost.') or n == 'numpy'])\n"
        "fmacost.compare; print('fmacost.reports.api' in sys.modules, 'pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\nTrue False\n"
    with pytest.raises(AttributeError, match="no attribute 'sim9'"):
        fmacost.sim9  # noqa: B018


@pytest.mark.slow
def test_a_script_needs_neither_a_guard_nor_a_file() -> None:
    code = (
        "import fmacost\n"
        "table = fmacost.sweep('mul:int{1..2}', effort='quick', workers=1)\n"
        "print([row.verification.method for row in table])"
    )
    done = subprocess.run(
        [sys.executable, "-"], input=code, check=False, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("['exhaustive', 'exhaustive']\n", "")
