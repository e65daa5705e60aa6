"""Operands against addends: the matrix, its ratios, failures, and the published figures."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fmacost.hw.technology import Technology
from fmacost.hw.yosys import YosysError
from fmacost.reports.accumulators import (
    Matrix,
    accumulator_notes,
    beside_published,
    expand_matrix,
    parse_operands,
    show_percent,
)
from fmacost.reports.cli import run
from fmacost.reports.commands import shared
from fmacost.reports.compare import units_of
from fmacost.reports.measure import Measured
from fmacost.reports.row import Row
from fmacost.sim.formats import FormatError
from fmacost.sim.operation import Operation
from tests.test_row import make_row

SMALL = "int8,e4m3fn"


def make_matrix(operands: str, *failed: str) -> Matrix:
    """Return a matrix of made-up rows, each 100 transistors larger than the one before."""
    formats = parse_operands(operands)
    lines = expand_matrix(formats)
    rows = {
        str(unit): make_row(str(unit), transistors=1000 + 100 * i)
        for i, unit in enumerate(units_of(lines))
        if str(unit) not in failed
    }
    return Matrix(formats, lines, rows, dict.fromkeys(failed, "Yosys took longer than 5 s"))


def test_the_addends_are_same_16_32_and_exact() -> None:
    lines = expand_matrix(parse_operands(SMALL))
    assert [(line.accumulator, *map(str, line.units)) for line in lines] == [
        ("same format", "fma:int8", "fma:e4m3fn"),
        ("16-bit", "fma:int8+int16", "fma:e4m3fn+fp16"),
        ("32-bit", "fma:int8+int32", "fma:e4m3fn+fp32"),
        ("exact, 1 product", "fma:int8+int16", "fma:e4m3fn+fixed19.18"),
        ("exact, 32 products", "fma:int8+int21", "fma:e4m3fn+fixed24.18"),
        ("exact, 4096 products", "fma:int8+int28", "fma:e4m3fn+fixed31.18"),
    ]


def test_the_standard_operands_make_a_full_matrix() -> None:
    formats = parse_operands(None)
    assert [fmt.name for fmt in formats] == [
        "int4", "int8", "e2m1fn", "e2m3fn", "e3m2fn", "e4m3fn", "e5m2", "bf16", "fp16",
    ]  # fmt: skip
    lines = expand_matrix(formats)
    assert len(lines) == 6
    assert all(None not in line.units for line in lines)


def test_operands_are_a_list_with_commas() -> None:
    assert [f.name for f in parse_operands("fp8_e4m3, int8,e4m3fn")] == ["e4m3fn", "int8"]
    for wrong in ("", "int8,", "int8;e5m2"):
        with pytest.raises(FormatError):
            parse_operands(wrong)


def test_ratios_are_over_int8_wherever_it_stands() -> None:
    matrix = make_matrix("e4m3fn,int8")
    first = matrix.lines[0]
    assert matrix.base == 1
    assert matrix.ratio(first, 0) == 1000 / 1100
    assert make_matrix("e5m2,e4m3fn").base == 0


def test_a_failed_base_leaves_no_ratio() -> None:
    matrix = make_matrix(SMALL, "fma:int8")
    assert matrix.ratio(matrix.lines[0], 1) is None
    assert matrix.ratio(matrix.lines[1], 1) is not None


def test_records_have_rows_ratios_and_reasons() -> None:
    found = make_matrix(SMALL, "fma:e4m3fn+fp32").records()
    assert len(found) == 12
    assert found[6]["ratio_transistors"] == 1.1
    failed = [record for record in found if "error" in record]
    assert failed == [
        {
            "accumulator": "32-bit",
            "unit": "fma:e4m3fn+fp32",
            "error": "Yosys took longer than 5 s",
        }
    ]
    assert all(Row.from_json(record) for record in found if record not in failed)


def test_notes_have_widths_and_failures() -> None:
    text = "\n".join(accumulator_notes(make_matrix("int4,int8,e4m3fn,e5m2", "fma:e5m2")))
    for expected in ("int4 8/13/20", "int8 16/21/28", "e4m3fn 37/42/49", "e5m2 65/70/77"):
        assert expected in text
    assert "FAILED fma:e5m2: Yosys took longer than 5 s" in text


def test_the_published_ratios_stand_beside_ours() -> None:
    matrix = make_matrix(SMALL)
    base = matrix.rows["fma:int8+int28"].counted_transistors
    text = beside_published(matrix)
    for unit in ("fma:e4m3fn+fp16", "fma:e4m3fn+fp32"):
        size = matrix.rows[unit].counted_transistors
        assert f"{unit} takes {show_percent(size / base)} ({size:,} transistors)" in text
    assert "+53 % with an FP16 accumulator and +183 % with an FP32 accumulator" in text
    for reason in ("second-hand", "arXiv:2303.17951", "aligner", "no limit on delay", "gates"):
        assert reason in text


@pytest.mark.parametrize(
    ("operands", "failed"),
    [
        ("int8,e5m2", ()),
        ("int4,e4m3fn", ()),
        (SMALL, ("fma:int8+int28",)),
        (SMALL, ("fma:e4m3fn+fp16", "fma:e4m3fn+fp32")),
    ],
)
def test_without_both_sides_nothing_is_said(operands: str, failed: tuple[str, ...]) -> None:
    assert beside_published(make_matrix(operands, *failed)) == ""


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> set[str]:
    """Measure made-up rows; units that a test puts into the returned set fail."""
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "cache"))
    failing: set[str] = set()

    def measure(operation: Operation, technology: Technology, *_: Any) -> Measured:
        if str(operation) in failing:
            raise YosysError("Yosys took longer than 5 s and was ended")
        row = make_row(str(operation), technology.name, transistors=1000)
        return Measured(
            row=row, netlist=None, counterexample=None, is_cached=False, yosys_seconds=1, seconds=1
        )

    monkeypatch.setattr(shared, "measure", measure)
    return failing


def test_the_command_shows_the_matrix(
    failing: set[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "out.csv"
    assert run(["accumulators", "--operands", SMALL, "--export-csv", str(path)]) == 0
    captured = capsys.readouterr()
    assert re.search(r"^e4m3fn( +1,000 +1\.00x){6}$", captured.out, re.MULTILINE)
    assert "+183 %" in captured.out
    assert "11 of 11 mapped netlists" in captured.out
    assert "fma:int8+int28 in cmos: 1,000 transistors" in captured.err
    assert path.read_text().count("\n") == 13


def test_one_failure_is_shown_and_the_exit_code_says_so(
    failing: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.add("fma:e4m3fn+fp32")
    assert run(["accumulators", "--operands", SMALL]) == 3
    captured = capsys.readouterr()
    assert "FAILED fma:e4m3fn+fp32: Yosys took longer than 5 s and was ended" in captured.out
    assert "fma:e4m3fn+fp32 in cmos: Yosys took longer" in captured.err
    assert re.search(
        r"^e4m3fn( +1,000 +1\.00x){2} +FAILED( +1,000 +1\.00x){3}$", captured.out, re.M
    )
    assert run(["accumulators", "--operands", SMALL, "--json", "-q"]) == 3
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["unit"] for row in rows if "error" in row] == ["fma:e4m3fn+fp32"]


def test_the_plot_has_a_bar_for_each_addend(failing: set[str], tmp_path: Path) -> None:
    mpl = pytest.importorskip("matplotlib")
    failing.add("fma:e4m3fn+fp32")
    path = tmp_path / "out.svg"
    with mpl.rc_context():
        arguments = ["accumulators", "--operands", SMALL, "-q", "--plot", str(path)]
        assert run(arguments) == 3
    text = path.read_text()
    for label in ("int8", "e4m3fn", "exact, 4096 products", "same format"):
        assert f"<!-- {label} -->" in text


def test_help_and_wrong_operands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["accumulators", "--help"]) == 0
    assert "  fmacost accumulators" in capsys.readouterr().out
    assert run(["accumulators", "--operands", "int8,e9m2"]) == 2
    assert "e9m2" in capsys.readouterr().err


# What follows runs Yosys.


@pytest.mark.slow
def test_the_real_thing_on_small_operands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "cache"))
    assert run(["accumulators", "--operands", "int2,e2m1fn", "--effort", "quick", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len(rows) == 12
    assert all(row["verification"]["mismatches"] == 0 for row in rows)
