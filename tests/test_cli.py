"""The command line: streams, exit codes, one line for what is wrong, and never a traceback."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer

from fmacost.hw.yosys import YosysError
from fmacost.reports.cli import run
from fmacost.reports.commands import app, units
from fmacost.reports.measure import Measured
from fmacost.reports.options import Effort
from fmacost.reports.row import Row
from fmacost.sim.netlist import Netlist
from tests import fake_hw
from tests.fake_hw import FakeHardware
from tests.test_compare import make_comparison

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = (
    "compare", "synth", "verify", "explain", "formats", "technologies", "doctor", "cache",
    "breakdown", "ablate", "energy", "path", "accumulators", "curve", "calibrate", "diff",
    "sweep", "merge", "report", "export",
)  # fmt: skip


@pytest.fixture(autouse=True)
def private_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(folder))
    monkeypatch.delenv("FMACOST_DEBUG", raising=False)
    return folder


@pytest.fixture
def hardware(monkeypatch: pytest.MonkeyPatch) -> FakeHardware:
    return fake_hw.install(monkeypatch)


def rows_of(text: str) -> list[dict[str, Any]]:
    document = json.loads(text)
    assert set(document) == {"schema", "rows"}
    assert document["schema"] == 1
    rows: list[dict[str, Any]] = document["rows"]
    return rows


def fmacost(*arguments: str, **how: Any) -> "subprocess.CompletedProcess[str]":
    """Run the command line in a process of its own."""
    return subprocess.run(
        command(*arguments), check=False, capture_output=True, text=True, timeout=300, **how
    )


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from fmacost.reports.cli import main; main()", *arguments]


def test_help_comes_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for name in COMMANDS:
        assert run([name, "--help"]) == 0
        out = capsys.readouterr().out
        assert "Examples:" in out
        assert f"  fmacost {name}" in out


def test_help_defines_the_columns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "-h"]) == 0
    assert "depth: cells on the longest path [cells]" in capsys.readouterr().out


@pytest.mark.parametrize("name", typer.main.get_command(app).commands)  # type: ignore[attr-defined]
def test_every_help_has_examples_that_are_taken(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([name, "--help"]) == 0
    examples = capsys.readouterr().out.partition("Examples:\n")[2].partition("\n\n")[0]
    lines = [line.strip() for line in examples.splitlines()]
    assert lines
    group: Any = typer.main.get_command(app)
    for line in lines:
        program, command_name, *arguments = shlex.split(line.replace("*", "x"))
        assert (program, command_name) == ("fmacost", name)
        group.commands[name].make_context(name, arguments)


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("fmacost comp", {"compare"}),
        ("fmacost compare e4m3", {"e4m3fn", "e4m3fnuz"}),
        ("fmacost synth fma:int8 -t nang", {"nangate45"}),
        ("fmacost synth fma:int8 --effort q", {"quick"}),
    ],
)
def test_a_shell_completes(
    typed: str,
    completed: set[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("_FMACOST_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    assert run([]) == 0
    assert set(capsys.readouterr().out.split()) == completed


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert re.fullmatch(r"fmacost \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_nothing_at_all_is_answered_with_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Usage: fmacost")


BAD = [
    (["compare", "int8", "e9m2"], "'e9m2'.*'ieee'.*'fnuz'"),
    (["compare", "int8", "int9x"], "unknown format 'int9x'; near names: int"),
    (["compare", "int8"], "two or more different formats"),
    (["compare", "int8", "int8"], "two or more different formats"),
    (["compare", "int8", "e4m3fn", "e4m3"], "two or more different formats"),
    (["compare", "int8", "e4m3fn", "--plot", "x.gif"], r"must end in one of \.png"),
    (["synth", "fma:int8", "-t", "cmo"], "unknown technology 'cmo'"),
    (["synth", "fma:e4m3fn,rnd"], r"unknown option 'rnd'.*expected rne"),
    (["synth", "fam:e4m3fn"], "unknown operation 'fam'"),
    (["synth", "e4m3fn"], "'e4m3fn' is no unit"),
    (["synth"], "Missing argument"),
    (["synth", "fma:int2", "--effort", "heroic"], "'--effort': 'heroic' is not one of"),
    (["synth", "fma:int2", "--jobs", "0"], "jobs"),
    (["synth", "fma:int2", "--timeout", "soon"], "timeout"),
    (["synth", "fma:int2", "--frob"], "No such option: --frob"),
    (["export", "fma:int2"], "Missing option '--output'"),
    (["export", "fma:int2", "-o", "x.vhd"], r"must end in \.v, \.json, \.blif"),
    (["export", "fma:int2", "-o", "none/x.v"], "cannot write none/x.v: No such file"),
    (["export", "fma:int2", "-o", "x.tb.v", "--pe"], "test bench .* has no registers"),
    (["export", "fma:int2", "-o", "x.il", "--pipeline", "1"], "x.il with --pipeline: the unit bef"),
    (["export", "fma:int2", "-o", "x.py"], "--technology nangate45; cmos has none"),
    (["export", "fma:int2", "-o", "x.sp", "-t", "asap7"], "cmos or cmos2, not asap7"),
    (["synth", "fma:int2", "--export-csv", "none/x.csv"], "cannot write none/x.csv: No such file"),
    (["verify", "fma:fp32", "--exhaustive"], r"at most 2\^32 inputs, fma:fp32 has 2\^96"),
    (["verify", "fma:\nint8\x1b[2J"], r"'\\n?int8|unknown format"),
    (["explain", "fma:e4m3fn", "0x38"], "takes 3 codes, not 1"),
    (["explain", "fma:e4m3fn", "0x38", "0x138", "0"], "out of range"),
    (["explain", "fma:e4m3fn", "0x38", "x", "0"], "'x' is no code"),
    (["explain", "fma:e4m3fn", "1", "2", "3", "--rounding", "rtz"], "part of its name"),
    (["explain", "1.5"], "say --to FORMAT"),
    (["explain", "1.5", "2.5", "--to", "int8"], "takes one value or code"),
    (["explain", "nought", "--to", "int8"], "'nought' is no value"),
    (["explain", "1.5", "--to", "e4"], "unknown format 'e4'"),
    (["explain", "1.5", "--to", "e4m3fn", "--overflow", "wrap"], "'wrap' is for integer"),
    (["explain", "1.5", "--into", "int8"], "No such option: --into"),
    (["explain", "0x1ff", "--from", "e4m3fn"], "out of range"),
    (["explain"], "Missing argument"),
    (["formats", "e5"], "unknown format 'e5'"),
    (["technologies", "sky130"], "unknown technology 'sky130'"),
    (["cache", "shrink"], "unknown cache action 'shrink'"),
    (["frobnicate"], "No such command 'frobnicate'"),
    (["--frob"], "No such option: --frob"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda value: str(value)[:40])
def test_what_cannot_be_asked_is_one_line_and_exit_code_2(
    arguments: list[str],
    message: str,
    *,
    hardware: FakeHardware,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("fmacost: ")
    assert captured.err.count("\n") == 1
    assert "\x1b" not in captured.err
    assert re.search(message, captured.err)
    assert hardware.calls == 0
    assert list(tmp_path.iterdir()) == []


def test_synth_prints_a_table_and_what_it_means(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["synth", "mul:int2", "mul:e1m1f,rtz", "-t", "cmos", "-t", "cmos2"]) == 0
    captured = capsys.readouterr()
    for expected in ("mul:int2", "mul:e1m1f,rtz", "cmos2", "exhaustive, 16", "impossible", "RTZ"):
        assert expected in captured.out
    assert "4 of 4 mapped netlists equal the exact reference" in captured.out
    assert "made with fmacost=" in captured.out
    assert captured.err.count("\n") == 4
    assert "Yosys ran 0.25 s" in captured.err


def test_an_ambiguous_name_is_noted(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["synth", "mul:fp4"]) == 0
    assert "'fp4' is read as e2m1fn" in capsys.readouterr().out
    assert run(["-q", "synth", "mul:fp4", "--json"]) == 0
    captured = capsys.readouterr()
    assert rows_of(captured.out)[0]["unit"] == "mul:e2m1fn"
    assert captured.err == ""


def test_json_is_one_document_and_nothing_else(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["synth", "mul:int2", "add:int2", "--json"]) == 0
    rows = rows_of(capsys.readouterr().out)
    assert [Row.from_json(row).unit for row in rows] == ["mul:int2", "add:int2"]


@pytest.mark.parametrize("where", [["-q", "synth", "mul:int2"], ["synth", "mul:int2", "-q"]])
def test_quiet_means_no_notices(
    where: list[str], hardware: FakeHardware, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(where) == 0
    assert capsys.readouterr().err == ""


def test_a_repeated_question_is_answered_from_the_cache(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str], private_cache: Path
) -> None:
    assert run(["synth", "mul:int2"]) == 0
    first = capsys.readouterr().out
    assert run(["synth", "mul:int2"]) == 0
    assert capsys.readouterr() == (first, "")
    assert hardware.calls == 1
    assert run(["synth", "mul:int2", "--no-cache"]) == 0
    assert hardware.calls == 2
    assert run(["cache"]) == 0
    assert "rows: 1\nnetlists: 1\n" in capsys.readouterr().out
    assert run(["cache", "clear"]) == 0
    assert not list(private_cache.rglob("*.gz"))


def test_no_cache_writes_none(hardware: FakeHardware, private_cache: Path) -> None:
    assert run(["synth", "mul:int2", "--no-cache"]) == 0
    assert not private_cache.exists()


def test_a_damaged_cache_file_is_made_again_with_a_notice(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str], private_cache: Path
) -> None:
    assert run(["synth", "mul:int2", "-q"]) == 0
    first = capsys.readouterr().out
    for path in private_cache.rglob("*.gz"):
        path.write_bytes(b"\x1f\x8b damaged")
    assert run(["synth", "mul:int2"]) == 0
    captured = capsys.readouterr()
    assert captured.out == first
    assert captured.err.count("damaged cache file") == 2
    assert "Traceback" not in captured.err


def test_an_unwritable_cache_is_a_notice(
    hardware: FakeHardware,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "file"))
    assert run(["synth", "mul:int2"]) == 0
    assert "going on without the cache" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["synth", "verify"])
@pytest.mark.parametrize("as_json", [False, True])
def test_a_mismatch_exits_with_1_and_shows_a_counterexample(
    name: str, as_json: bool, hardware: FakeHardware, capsys: pytest.CaptureFixture[str]
) -> None:
    hardware.flip = 1
    assert run([name, "mul:int2", "add:int2", *(["--json"] if as_json else [])]) == 1
    captured = capsys.readouterr()
    assert "MISMATCH: mul:int2 in cmos differs from the reference on 1 of 16" in captured.err
    assert re.search(r"expected +0x0 +0\n +got +0x1 +1", captured.err)
    if as_json:
        assert [row["verification"]["mismatches"] for row in rows_of(captured.out)] == [1, 1]
    else:
        assert "0 of 2 mapped netlists" in captured.out


def test_verify_checks_again_what_the_cache_knows(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["synth", "mul:int2"]) == 0
    asked = []
    from fmacost.sim import check

    original = check.verify

    def counted(*arguments: Any, **how: Any) -> check.Verification:
        asked.append(how["seed"])
        return original(*arguments, **how)

    monkeypatch.setattr(check, "verify", counted)
    assert run(["verify", "mul:int2", "--seed", "7"]) == 0
    assert asked == [7]
    assert hardware.calls == 1
    assert "exhaustive" in capsys.readouterr().out


@pytest.mark.parametrize("suffix", [".v", ".json"])
def test_the_written_netlist_is_the_same_from_the_cache(
    suffix: str, hardware: FakeHardware, tmp_path: Path
) -> None:
    first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"
    assert run(["export", "mul:int2", "-q", "-o", str(first)]) == 0
    assert run(["export", "mul:int2", "-q", "-o", str(second)]) == 0
    assert hardware.calls == 1
    assert first.read_bytes() == second.read_bytes()
    if suffix == ".v":
        assert "module MUX2(" in first.read_text()
    else:
        from fmacost.hw.technology import get_technology

        read = Netlist.from_yosys_json(json.loads(first.read_text()), get_technology("cmos").cells)
        assert read.count() == {"MUX2": 36}


def test_exports_are_written(hardware: FakeHardware, tmp_path: Path) -> None:
    options = []
    for kind in ("json", "csv", "md", "tex"):
        options += [f"--export-{kind}", str(tmp_path / f"out.{kind}")]
    assert run(["synth", "mul:int2", "-q", *options]) == 0
    for kind in ("json", "csv", "md", "tex"):
        assert "mul:int2" in (tmp_path / f"out.{kind}").read_text()


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer every comparison with made-up rows."""
    comparison = make_comparison("int8", "e4m3fn")

    def measure_all(*_: object) -> list[Any]:
        return [
            Measured(
                row=row, netlist=None, counterexample=None, is_cached=True, yosys_seconds=0,
                seconds=0,
            )
            for row in comparison.rows.values()
        ]  # fmt: skip

    monkeypatch.setattr(units, "measure_all", measure_all)


def test_compare_says_table_answer_and_meaning(
    made_up: None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    plot, table, again = (str(tmp_path / name) for name in ("plot.svg", "t.json", "again.svg"))
    assert run(["compare", "int8", "e4m3", "--plot", plot, "--export-json", table]) == 0
    out = capsys.readouterr().out
    assert "fma:e4m3fn+fixed24.18" in out
    assert "times as many" in out
    assert "e4m3fn (given as 'e4m3'): OCP E4M3" in out
    assert run(["plot", table, "--kind", "bars", "-o", again]) == 0
    assert Path(again).read_bytes() == Path(plot).read_bytes()


def test_compare_json_has_every_row_with_its_ratio(
    made_up: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", "int8", "e4m3", "--json"]) == 0
    captured = capsys.readouterr()
    rows = rows_of(captured.out)
    assert len(rows) == 16
    assert rows[1]["ratio_transistors"] == 1.2
    assert "'e4m3' is read as e4m3fn" in captured.err


def test_explain_takes_negative_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "-1.5", "--to", "e2m1fn"]) == 0
    assert "-1.5" in capsys.readouterr().out
    assert run(["explain", "-1e3", "--to", "e4m3fn", "--overflow", "sat", "--json"]) == 0
    assert rows_of(capsys.readouterr().out)[0]["result"] == {"code": "0xfe", "value": -448}


def test_explain_a_unit_and_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "fma:e4m3fn", "0x38", "0xb9", "0x10", "--json"]) == 0
    (row,) = rows_of(capsys.readouterr().out)
    assert [operand["code"] for operand in row["operands"]] == ["0x38", "0xb9", "0x10"]
    assert run(["explain", "0x7e", "--from", "e4m3fn", "--to", "e5m2"]) == 0
    assert "448" in capsys.readouterr().out
    assert run(["explain", "0x7e", "--from", "e4m3fn"]) == 0
    assert "448" in capsys.readouterr().out


def test_formats_lists_what_the_field_uses(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["formats"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^e4m3fn +8 +4 +-6 +8 .* -448 +448 +-0=0x80 nan=0x7f$", out, re.MULTILINE)
    assert run(["formats", "e3m4ieee", "e0m0f", "int1", "uint1", "fixed2.2", "--json"]) == 0
    rows = {row["name"]: row for row in rows_of(capsys.readouterr().out)}
    assert rows["e3m4ieee"]["special_codes"] == {"-0": "0x80", "inf": "0x70", "nan": "0x78"}
    assert (rows["e0m0f"]["min"], rows["e0m0f"]["max"]) == ("-1", "1")
    assert (rows["int1"]["min"], rows["int1"]["max"]) == ("-1", "0")
    assert (rows["uint1"]["min"], rows["uint1"]["max"]) == ("0", "1")
    assert (rows["fixed2.2"]["min"], rows["fixed2.2"]["max"]) == ("-2", "1.75")


def test_technologies_lists_cells(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["technologies"]) == 0
    listed = capsys.readouterr().out
    assert re.search(r"^sky130hd +76 +3\.7536 +80\.\d+ +tt, 25 C, 1\.8 V +Apache", listed, re.M)
    assert run(["technologies", "cmos", "asap7"]) == 0
    assert "FA 28" in (shown := capsys.readouterr().out)
    assert "licence of the facts: BSD-3-Clause" in shown
    assert "corner TT, 25 C, 0.7 V, FO4 19.54 ps; delays are fitted: -1.0% to" in shown
    assert run(["technologies", "cmos2", "--json"]) == 0
    assert rows_of(capsys.readouterr().out)[0]["cells"] == {"NOT": 2, "NAND": 4, "NOR": 4}


def test_doctor_synthesises_something_tiny(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", "--json"]) == 0
    rows = {row["name"]: row for row in rows_of(capsys.readouterr().out)}
    assert rows["mul:int2 in cmos"]["ok"] is True
    hardware.error = YosysError("Yosys was killed by signal 9: no message")
    assert run(["doctor"]) == 3
    assert "FAILED" in capsys.readouterr().out


def test_a_failing_yosys_is_one_line_and_exit_code_3(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    hardware.error = YosysError("Yosys took longer than 5 s and was ended")
    export = tmp_path / "x.csv"
    assert run(["synth", "mul:int2", "--export-csv", str(export), "--json"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "fmacost: mul:int2 in cmos: Yosys took longer than 5 s and was ended\n"
    assert not export.exists()


@pytest.mark.parametrize(
    ("yosys", "message"),
    [("no-such-yosys", "no program"), ("/bin/true", "does not look like Yosys")],
)
def test_a_wrong_yosys_is_one_line_and_exit_code_3(
    yosys: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from fmacost.hw.yosys import tool_versions

    monkeypatch.setenv("YOSYS", yosys)
    tool_versions.cache_clear()
    try:
        assert run(["synth", "mul:int2"]) == 3
    finally:
        tool_versions.cache_clear()
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_ctrl_c_is_one_line_and_exit_code_130(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str]
) -> None:
    hardware.error = KeyboardInterrupt()
    assert run(["synth", "mul:int2"]) == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_a_bug_is_one_line_that_says_how_to_see_more(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hardware.error = ZeroDivisionError("a\nb")
    assert run(["synth", "mul:int2"]) == 3
    err = capsys.readouterr().err
    assert err == (
        "fmacost: internal error: ZeroDivisionError: a b (set FMACOST_DEBUG=1 to see where)\n"
    )
    monkeypatch.setenv("FMACOST_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run(["synth", "mul:int2"])


def test_an_incomplete_installation_is_one_line(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str]
) -> None:
    hardware.error = ModuleNotFoundError("No module named 'amaranth'")
    assert run(["synth", "mul:int2"]) == 3
    assert capsys.readouterr().err == (
        "fmacost: the installation is not complete: No module named 'amaranth' "
        "(make setup, or pip install .)\n"
    )


def test_the_bench_finds_how_long_yosys_ran(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str]
) -> None:
    from fmacost.reports.bench import YOSYS_SECONDS

    assert run(["synth", "mul:int2"]) == 0
    match = YOSYS_SECONDS.search(capsys.readouterr().err)
    assert match is not None
    assert float(match[1]) == 0.25


def test_a_broken_pipe_is_quiet() -> None:
    child = subprocess.Popen(
        command("formats", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    err = child.stderr.read()
    child.stderr.close()
    assert child.wait(timeout=60) == 141
    assert err == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_behind_stdout_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command("formats"), check=False, stdout=full, stderr=subprocess.PIPE, text=True,
            timeout=60,
        )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr == "fmacost: [Errno 28] No space left on device\n"


def test_an_output_of_another_encoding_is_written_all_the_same() -> None:
    done = fmacost("formats", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stderr == ""
    assert "e4m3fn" in done.stdout


def loaded(*arguments: str) -> set[str]:
    """Return the modules that a command imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *command(*arguments)[1:]],
        check=False, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}


def test_formats_imports_nothing_heavy() -> None:
    names = loaded("formats")
    assert "fmacost.sim.formats" in names
    assert not names & {"amaranth", "matplotlib", "pyosys", "numpy"}


def test_efforts_are_those_of_synthesis() -> None:
    from fmacost.hw.synthesis import EFFORTS

    assert tuple(Effort) == EFFORTS


# What follows runs Yosys.


@pytest.mark.slow
def test_a_cached_answer_imports_nothing_heavy() -> None:
    assert fmacost("synth", "mul:int2").returncode == 0
    names = loaded("synth", "mul:int2", "--json")
    assert "fmacost.reports.measure" in names
    assert not names & {"amaranth", "matplotlib", "pyosys", "numpy"}


@pytest.mark.slow
def test_the_real_thing_from_end_to_end(tmp_path: Path) -> None:
    table = tmp_path / "out.csv"
    command = ("compare", "int2", "e2m1fn", "--effort", "quick")
    first = fmacost(*command, "--export-csv", str(table))
    assert first.returncode == 0, first.stderr
    assert "16 of 16 mapped netlists equal the exact reference" in first.stdout
    assert table.read_text().count("\n") == 17
    second = fmacost(*command)
    assert second.stdout == first.stdout
    assert second.stderr == ""


@pytest.mark.slow
def test_ctrl_c_ends_the_children() -> None:
    child = subprocess.Popen(
        command("synth", "fma:fp16", "--no-cache"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # A shell that starts the tests in the background has them ignore it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not descendants(child.pid) and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(1)
    family = descendants(child.pid)
    assert family
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err) == (130, "", "interrupted\n")
    time.sleep(0.5)
    assert not [pid for pid in family if is_running(pid)]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def descendants(pid: int) -> list[int]:
    """Return the processes that a process started, and theirs."""
    found = []
    for path in Path("/proc").glob(f"{pid}/task/*/children"):
        for child in map(int, path.read_text().split()):
            found += [child, *descendants(child)]
    return found
