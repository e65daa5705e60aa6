"""Known figures beside ours: the data, the arithmetic, and what the command shows and refuses."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fmacost.hw.technology import TECHNOLOGIES
from fmacost.reports import anchors
from fmacost.reports.anchors import CITATIONS, SOURCES, Reference, references
from fmacost.reports.calibrate import Calibrated, calibrate, chosen, reasons, units_in
from fmacost.reports.cli import run
from fmacost.reports.row import RowError
from fmacost.sim.operation import parse_unit
from tests import fake_hw
from tests.fake_hw import FakeHardware
from tests.test_energy import INVENTED
from tests.test_row import make_row

SMALL = (
    Reference(
        source="horowitz", what="small mult", quantity="energy_fj", value=5.0,
        technology="theirs", configuration="alone", units=("mul:int2",),
        measured_in="invented", why="another voltage", voltage_v=1.0,
    ),
    Reference(
        source="chen", what="large over small", quantity="transistors", value=2.0,
        technology="theirs", configuration="alone", units=("fma:int2", "mul:int2"),
        measured_in="invented", why="another *structure*",
    ),
)  # fmt: skip


@pytest.fixture
def hardware(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeHardware:
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    known = {**TECHNOLOGIES, "invented": INVENTED}
    monkeypatch.setattr("fmacost.hw.technology.TECHNOLOGIES", known)
    monkeypatch.setattr(anchors, "references", lambda: SMALL)
    return fake_hw.install(monkeypatch)


def rows_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert run(["-q", "calibrate", *arguments, "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rows"]
    return rows


@pytest.mark.parametrize("one", references(), ids=lambda r: f"{r.source} {r.what} {r.quantity}")
def test_every_figure_has_its_source_and_what_it_needs(one: Reference) -> None:
    assert one.source in SOURCES
    assert CITATIONS[one.source]
    assert one.value > 0
    assert one.technology
    assert one.configuration
    assert len(one.why) > 30
    assert len(one.units) in (1, 2)
    assert all(str(parse_unit(unit)) == unit for unit in one.units)
    technology = TECHNOLOGIES[one.measured_in]
    if one.quantity == "area_um2":
        assert technology.area_um2 is not None
    elif one.quantity == "transistors":
        assert technology.transistors
    else:
        assert technology.characterisation is not None
    assert (one.voltage_v is not None) or one.quantity != "energy_fj"


def test_every_source_is_there_and_no_figure_twice() -> None:
    found = [(one.source, one.what, one.quantity) for one in references()]
    assert len(set(found)) == len(found)
    assert {source for source, _, _ in found} == set(SOURCES) == set(CITATIONS)


@pytest.mark.parametrize("source", SOURCES)
def test_one_source_can_be_chosen(source: str) -> None:
    assert {one.source for one in chosen(source)} == {source}


def test_figures_are_those_of_the_papers() -> None:
    values = {(one.source, one.what, one.quantity): one.value for one in references()}
    assert values["horowitz", "fp32 mult", "energy_fj"] == 3700
    assert values["horowitz", "int8 add", "area_um2"] == 36
    assert values["evoapprox", "8x8 signed", "area_um2"] == 729.8
    assert values["formatscope", "int8 mult of a lane", "area_um2"] == pytest.approx(2394.91, 1e-5)
    assert values["vanbaalen", "e4m3fn+fp32 over int8 MAC", "transistors"] == 2.83


def test_each_unit_is_measured_once() -> None:
    found = units_in(references())
    assert list(found) == ["nangate45", "sky130hd", "cmos"]
    for units in found.values():
        assert len(set(units)) == len(units)
    assert parse_unit("mul:int8") in found["cmos"]


def test_a_ratio_is_ours_over_theirs() -> None:
    small = make_row("mul:int2", "invented", transistors=100, energy_fj=80.0)
    large = make_row("fma:int2", "invented", transistors=300)
    rows = {(row.unit, row.technology): row for row in (small, large)}
    energy, ratio = calibrate(SMALL, rows, {"invented": INVENTED})
    assert energy.scale == 0.25  # from 2 V to 1 V
    assert (energy.ours, energy.ratio, energy.unit) == (20.0, 4.0, "fJ")
    assert (ratio.scale, ratio.ours, ratio.ratio, ratio.unit) == (1.0, 3.0, 1.5, "1")


def test_a_row_without_the_figure_is_refused() -> None:
    one = Calibrated(SMALL[0], (make_row("mul:int2", "invented"),))
    with pytest.raises(RowError, match="mul:int2 in invented has no energy_fj"):
        _ = one.ours


def test_a_doubtful_row_is_the_one_that_is_shown() -> None:
    good, bad = make_row("fma:int2"), make_row("mul:int2")
    bad = replace(bad, verification=replace(bad.verification, mismatches=1))
    assert Calibrated(SMALL[1], (good, bad)).doubtful == bad
    assert Calibrated(SMALL[1], (good, good)).doubtful == good


def test_the_command_measures_and_compares(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str]
) -> None:
    energy, ratio = rows_of(capsys)
    assert hardware.calls == 2
    assert (energy["unit"], ratio["unit"]) == ("mul:int2", "fma:int2 / mul:int2")
    for row in (energy, ratio):
        assert row["ratio_theirs"] == pytest.approx(row["ours"] / row["theirs"], rel=1e-5)
        assert row["verification"]["mismatches"] == 0
    assert energy["voltage_scale"] == 0.25
    assert len(ratio["digest"].split()) == 2
    assert rows_of(capsys, "--only", "chen") == [ratio]
    assert hardware.calls == 2  # from the cache


def test_the_text_has_figures_reasons_and_sources(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["-q", "calibrate"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^horowitz +small mult +mul:int2 +fJ +5 +[\d.]+ +[\d.]+x .* a$", out, re.M)
    assert re.search(r"^chen +large over small +fma:int2 / mul:int2 +1 +2\.00 ", out, re.M)
    assert "- b: another *structure*" in out
    flat = " ".join(out.split())
    assert "- horowitz: our energies are at 2 V; they stand here times 0.250, for 1 V" in flat
    assert "table 5 has 1.27x" in flat
    assert all(" ".join(CITATIONS[name].split()) in flat for name in ("horowitz", "chen"))


def test_exports_have_both_figures(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [f"--export-{kind}=out.{kind}" for kind in ("json", "csv", "md")]
    assert run(["-q", "calibrate", *options]) == 0
    rows = json.loads(Path("out.json").read_text())["rows"]
    lines = list(csv.DictReader(io.StringIO(Path("out.csv").read_text())))
    assert [float(line["ours"]) for line in lines] == [row["ours"] for row in rows]
    assert [line["why"] for line in lines] == [one.why for one in SMALL]
    text = Path("out.md").read_text()
    assert "| source | what | in | theirs | ours | ratio | unit |" in text
    assert r"another \*structure\*" in text


def test_a_wrong_netlist_is_exit_code_1(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str]
) -> None:
    hardware.flip = 1
    assert run(["calibrate", "--only", "horowitz"]) == 1
    captured = capsys.readouterr()
    assert "MISMATCH on 1 of 16" in captured.out
    assert "MISMATCH: mul:int2" in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "nobody"], "unknown source 'nobody'; expected horowitz, evoapprox, formatsc"),
        (["--only", ""], "unknown source ''"),
        (["--effort", "huge"], "huge"),
        (["--export-csv", "none/x.csv"], r"cannot write none/x\.csv"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_exit_code_2(
    arguments: list[str],
    message: str,
    hardware: FakeHardware,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["calibrate", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("fmacost: ")
    assert captured.err.count("\n") == 1
    assert re.search(message, captured.err)
    assert hardware.calls == 0


def test_reasons_have_a_letter_each() -> None:
    row = make_row()
    found = [Calibrated(one, (row,)) for one in references()]
    letters = reasons(found)
    assert len(set(letters.values())) == len(letters)
    assert list(letters)[:3] == ["a", "b", "c"]
    assert all(len(letter) == 1 and letter.isalpha() for letter in letters)
