"""``synth --pipeline`` and ``synth --pe``: rows, netlists, the cache, and what is refused."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fmacost.hw import pipeline
from fmacost.reports.cli import run
from fmacost.sim.netlist import Netlist
from fmacost.sim.operation import parse_unit
from tests import fake_hw
from tests.fake_hw import FakeHardware
from tests.units import CMOS

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def hardware(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeHardware:
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "cache"))
    return fake_hw.install(monkeypatch)


def row(capsys: Capture, *arguments: str) -> dict[str, Any]:
    assert run(["synth", *arguments, "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["rows"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("unit", ["fma:int1", "fma:int2", "mul:e2m1fn"])
def test_pipelines_of_a_unit(unit: str, hardware: FakeHardware, capsys: Capture) -> None:
    bare = row(capsys, unit)
    assert bare["flip_flops"] is bare["period_fo4"] is bare["latency_cycles"] is None
    assert bare["verification"]["cycles"] is None
    rows = [row(capsys, unit, "--pipeline", str(ranks)) for ranks in range(4)]
    assert [r["latency_cycles"] for r in rows] == [0, 1, 2, 3]
    assert rows[0]["flip_flops"] == 0
    for ranks, found in enumerate(rows):
        assert found["transistors"] == bare["transistors"] + 24 * found["flip_flops"]
        assert found["cells"] == bare["cells"] + found["flip_flops"]
        assert found["cell_counts"].get("DFF", 0) == found["flip_flops"]
        assert found["verification"]["cycles"] == 256 * 64
        assert found["architecture"] == f"mux, pipeline {ranks}"
        assert (found["delay_fo4"], found["logic_depth"]) == (
            bare["delay_fo4"], bare["logic_depth"],
        )  # fmt: skip
        assert found["period_ps"] is found["fmax_ghz"] is None
    periods = [found["period_fo4"] for found in rows]
    assert periods == sorted(periods, reverse=True)
    assert all(found["flip_flops"] > 0 for found in rows[1:])
    assert len({found["digest"] for found in (bare, *rows)}) == 5
    assert hardware.calls == 1  # one netlist for all of them


def test_a_pipeline_pays_for_its_registers(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row has what ``energy`` says of the same stream; sums of uniform codes say nothing."""
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "cache"))
    usual = ("mul:int2", "-t", "nangate45", "--effort", "quick")
    energies = [row(capsys, *usual, "--pipeline", str(ranks))["energy_fj"] for ranks in range(3)]
    assert row(capsys, *usual)["energy_fj"] < energies[1] < energies[2]
    assert run(["energy", *usual, "--pipeline", "2", "--stream", "uniform", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["rows"]
    assert found["energy_fj"] == energies[2]
    assert found["clock_energy_fj"] > 0
    element = row(capsys, "fma:int2+int4", *usual[1:], "--pe")
    assert element["energy_fj"] is None
    assert element["leakage_nw"] > 0


def test_row_and_netlist_come_from_the_cache(
    hardware: FakeHardware, capsys: Capture, tmp_path: Path
) -> None:
    first = row(capsys, "fma:int2", "--pipeline", "2")
    path = tmp_path / "unit.json"
    assert row(capsys, "fma:int2", "--pipeline", "2") == first
    assert run(["export", "fma:int2", "--pipeline", "2", "-o", str(path)]) == 0
    assert hardware.calls == 1
    netlist = Netlist.from_yosys_json(json.loads(path.read_text()), CMOS.library)
    assert len(netlist.registers) == first["flip_flops"]
    assert netlist.count() == first["cell_counts"]
    assert netlist.clock == "clk"


def test_netlist_in_verilog_has_a_clock(hardware: FakeHardware, tmp_path: Path) -> None:
    path = tmp_path / "unit.v"
    assert run(["export", "fma:int2", "--pe", "-o", str(path)]) == 0
    text = path.read_text()
    assert "input clk;" in text
    assert "output [1:0] a_out;" in text
    assert "always @(posedge CLK) begin Q <= D; end" in text


def test_processing_element_of_a_unit(hardware: FakeHardware, capsys: Capture) -> None:
    bare, element = row(capsys, "fma:int2"), row(capsys, "fma:int2", "--pe")
    assert element["flip_flops"] == 2 + 2 + 2 + 1
    assert element["latency_cycles"] == 2
    assert element["transistors"] == bare["transistors"] + 7 * 24 + 2 * 6 + 2
    assert element["architecture"] == "mux, pe"
    assert element["verification"]["cycles"] == 256 * 64
    assert element["period_fo4"] > bare["delay_fo4"]


def test_table_shows_what_registers_are(hardware: FakeHardware, capsys: Capture) -> None:
    assert run(["synth", "fma:int2", "--pipeline", "1", "-q"]) == 0
    out = capsys.readouterr().out
    for text in ("flip-flops", "latency", "period FO4", "16,384 cycles", "plain D flip-flops"):
        assert text in out
    assert run(["synth", "fma:int2", "-q"]) == 0
    assert "flip-flops" not in capsys.readouterr().out


def test_export_has_the_columns(hardware: FakeHardware, capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    row(capsys, "fma:int2", "--pipeline", "1", "--export-csv", str(path))
    with path.open() as file:
        (found,) = csv.DictReader(file)
    assert int(found["flip_flops"]) > 0
    assert found["latency_cycles"] == "1"
    assert "period_ps" not in found


@pytest.mark.parametrize("option", [("--pipeline", "1"), ("--pe",)])
def test_wrong_unit_is_a_mismatch(
    option: tuple[str, ...], hardware: FakeHardware, capsys: Capture
) -> None:
    hardware.flip = 1
    assert run(["synth", "fma:int2", *option]) == 1
    assert "MISMATCH: fma:int2 in cmos differs" in capsys.readouterr().err


def test_wrong_registers_are_a_mismatch(
    hardware: FakeHardware, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One rank too few: the logic is right on every input, the streams are not."""
    true_insert = pipeline.insert_registers

    def insert(netlist: Netlist, technology: Any, stages: Any, ranks: int) -> Netlist:
        earlier = {name: min(stage, ranks - 1) for name, stage in stages.items()}
        return true_insert(netlist, technology, earlier, ranks - 1)

    monkeypatch.setattr(pipeline, "insert_registers", insert)
    assert run(["synth", "fma:int2", "--pipeline", "2"]) == 1
    err = capsys.readouterr().err
    assert "MISMATCH: fma:int2 in cmos differs" in err
    assert "in a stream, fma:int2: the netlist differs from the reference" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fma:int2", "--pipeline", "33"), "--pipeline must be in 0..32, not 33"),
        (("fma:int2", "--pipeline", "-1"), "--pipeline must be in 0..32, not -1"),
        (("fma:int2", "--pipeline", "many"), "Invalid value for '--pipeline'"),
        (("fma:int2", "--pipeline", "1", "--pe"), "--pe takes no --pipeline"),
        (("fma:int2", "--pe", "-t", "cmos2"), "technology cmos2 has no flip-flop"),
        (("fma:int2", "mul:int2", "--pe"), "mul:int2 cannot accumulate"),
    ],
)
def test_bad_request_is_one_line(
    arguments: tuple[str, ...], message: str, hardware: FakeHardware, capsys: Capture
) -> None:
    assert run(["synth", *arguments]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert message in err
    assert err.count("\n") == 1
    assert hardware.calls == 0


def test_flip_flop_without_transistors_is_refused() -> None:
    flip_flop = replace(CMOS.register, transistors=None)
    silent = replace(CMOS, flip_flop=flip_flop)
    unit = fake_hw.build(parse_unit("fma:int1"), CMOS)
    made = pipeline.pipelined(unit, silent, 1)
    with pytest.raises(ValueError, match="technology cmos does not say the transistors of DFF"):
        silent.transistor_count(made.netlist)
