"""The energy of an operation: what the command says, repeats, exports and refuses."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmacost.hw.characterisation import Arc, Characterisation, Edge, Linear
from fmacost.hw.pe import processing_element
from fmacost.hw.power import energy_fj, switched_capacitance
from fmacost.hw.technology import TECHNOLOGIES, get_technology
from fmacost.reports.cli import run
from fmacost.reports.energy import Source, measure_energy
from fmacost.reports.metrics import metric
from fmacost.sim.activity import replay, replay_cycles
from fmacost.sim.operation import parse_unit
from fmacost.sim.streams import STREAMS, make_stream
from tests import fake_hw
from tests.fake_hw import FakeHardware
from tests.test_row import make_row
from tests.units import mapped

ARC = Arc("A", "Y", "both", Edge(Linear(1, 0), None), Edge(Linear(1, 0), None))
INVENTED = replace(
    get_technology("cmos"),
    name="invented",
    characterisation=Characterisation(
        corner="invented",
        voltage_v=2.0,
        fo4_ps=1.0,
        capacitance_ff={
            "INV": {"A": 1.0},
            "AND2": {"A": 1.0, "B": 1.0},
            "MUX2": {"A": 1.0, "B": 1.0, "S": 2.0},
            "DFF": {"D": 3.0, "CLK": 5.0},
        },
        arcs={
            "INV": (ARC,),
            "AND2": tuple(replace(ARC, source=pin) for pin in ("A", "B")),
            "MUX2": tuple(replace(ARC, source=pin) for pin in ("A", "B", "S")),
            "DFF": (replace(ARC, source="CLK", sink="Q"),),
        },
        leakage_nw={"INV": 0.25, "AND2": 0.25, "MUX2": 0.25, "DFF": 2.0},
        output_energy_fj={
            "INV": {"Y": 0.5},
            "AND2": {"Y": 0.5},
            "MUX2": {"Y": 0.5},
            "DFF": {"Q": 11.0},
        },
        input_energy_fj={"DFF": {"D": 13.0, "CLK": 17.0}},
        setup_ps={"DFF": 1.0},
    ),
)


@pytest.fixture(autouse=True)
def hardware(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeHardware:
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    known = {**TECHNOLOGIES, "invented": INVENTED}
    monkeypatch.setattr("fmacost.hw.technology.TECHNOLOGIES", known)
    return fake_hw.install(monkeypatch)


def rows_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert run(["-q", "energy", *arguments, "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rows"]
    return rows


def test_a_row_for_each_unit_and_stream(capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(capsys, "mul:e1m1f", "fma:int2", "--vectors", "500")
    assert [(r["unit"], r["stream"]) for r in rows] == [
        (unit, name) for unit in ("mul:e1m1f", "fma:int2") for name in STREAMS
    ]
    for row in rows:
        assert row["stream_vectors"] == 500
        assert row["toggles"] > 0
        assert row["energy_fj"] is None
        parts = row["input_capacitance"] + row["net_capacitance"]
        assert row["switched_capacitance"] == pytest.approx(parts)
    assert "ratio_energy" not in rows[0]
    ratio = rows[3]["switched_capacitance"] / rows[0]["switched_capacitance"]
    assert rows[3]["ratio_energy"] == pytest.approx(ratio, rel=1e-5)


def test_energies_are_those_of_the_netlist(capsys: pytest.CaptureFixture[str]) -> None:
    operation = parse_unit("mul:int2")
    netlist = fake_hw.build(operation, INVENTED)
    (row,) = rows_of(
        capsys, "mul:int2", "-t", "invented", "--stream", "uniform", "--seed", "3", "--glitches",
        "--vectors", "1001",
    )  # fmt: skip
    stream = make_stream("uniform", operation, 1001, 3)
    settled, moving = (replay(netlist, stream, glitches=g).toggles for g in (False, True))
    spent, all_spent = (energy_fj(netlist, INVENTED, toggles) for toggles in (settled, moving))
    assert row["input_energy_fj"] == pytest.approx(spent.inputs / 1000)
    assert row["net_energy_fj"] == pytest.approx(spent.nets / 1000)
    assert row["internal_energy_fj"] == pytest.approx((spent.internal or 0) / 1000)
    assert row["glitch_energy_fj"] == pytest.approx((all_spent.total - spent.total) / 1000)
    assert row["glitch_energy_fj"] > 0
    assert row["energy_fj"] == pytest.approx(all_spent.total / 1000)
    assert row["leakage_nw"] == 0.25 * len(netlist.cells)
    assert row["toggles"] == pytest.approx(sum(settled.values()) / 1000)


def test_the_same_seed_gives_the_same_digits(capsys: pytest.CaptureFixture[str]) -> None:
    first, again = (rows_of(capsys, "fma:e1m1f", "--seed", "4") for _ in range(2))
    other = rows_of(capsys, "fma:e1m1f", "--seed", "5")
    assert first == again
    assert first[0]["switched_capacitance"] != other[0]["switched_capacitance"]


def test_a_stream_from_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    codes = np.array([[0, 1], [3, 1], [3, 2], [0, 0]] * 10)
    np.save("mine.npy", codes)
    (row,) = rows_of(capsys, "mul:int2", "--stream", "mine.npy", "--vectors", "7")
    netlist = fake_hw.build(parse_unit("mul:int2"), get_technology("cmos"))
    toggles = replay(netlist, {"a": codes[:, 0], "b": codes[:, 1]}).toggles
    spent = switched_capacitance(netlist, get_technology("cmos"), toggles)
    assert (row["stream"], row["stream_vectors"]) == ("mine.npy", 40)
    assert "seed" not in row
    assert row["switched_capacitance"] == pytest.approx(spent.total / 39)


@pytest.mark.parametrize("options", [("--pipeline", "2"), ("--pe",)])
def test_registers_and_clock_are_columns_of_their_own(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = rows_of(capsys, "fma:int2", "-t", "invented", "-t", "cmos", *options)
    assert len(rows) == 6
    for row in rows:
        count = row["flip_flops"]
        assert count > 4
        assert row["latency_cycles"] == 2
        names = ["input", "net", "internal", "register", "clock"]
        if row["technology"] == "cmos":
            names.remove("internal")
            parts = [row[f"{name}_capacitance"] for name in names]
            assert row["clock_capacitance"] == pytest.approx(count * 2 * 0.7)
            assert row["switched_capacitance"] == pytest.approx(sum(parts))
        else:
            parts = [row[f"{name}_energy_fj"] for name in names]
            assert row["clock_energy_fj"] == count * 2 * (5 * 2 + 17)  # V is 2
            assert row["energy_fj"] == pytest.approx(sum(parts))
            assert row["leakage_nw"] == pytest.approx(0.25 * (row["cells"] - count) + 2 * count)
        assert all(part > 0 for part in parts)


def test_streams_of_processing_elements_from_files(capsys: pytest.CaptureFixture[str]) -> None:
    codes = np.array([[1, 1, 1], [3, 1, 0], [3, 2, 0], [2, 1, 1], [1, 3, 0]] * 3)
    np.save("mine.npy", codes)
    (row,) = rows_of(capsys, "fma:int2", "--pe", "--stream", "mine.npy")
    operation = parse_unit("fma:int2")
    cmos = get_technology("cmos")
    netlist = processing_element(operation, fake_hw.build(operation, cmos), cmos)
    stream = dict(zip(("a", "b", "clear"), codes.T.astype(np.uint64), strict=True))
    toggles = replay_cycles(netlist, stream, [0], 2).toggles
    spent = switched_capacitance(netlist, cmos, toggles)
    assert row["stream_vectors"] == 15
    assert row["switched_capacitance"] == pytest.approx(spent.total / 12, abs=1e-6)


def test_glitches_between_registers(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("fma:int2", "--pipeline", "1", "--stream", "uniform")
    (settled,), (moving,) = (rows_of(capsys, *options, *more) for more in ((), ("--glitches",)))
    surplus = moving["switched_capacitance"] - settled["switched_capacitance"]
    assert moving["glitch_capacitance"] == pytest.approx(surplus) != 0
    assert moving["clock_capacitance"] == settled["clock_capacitance"]


def test_notes_of_clocked_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-q", "energy", "fma:e1m1f", "--pe"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "at the two edges of a cycle" in text
    assert "stays what it is until the next clear" in text
    assert run(["-q", "energy", "fma:int2", "--pipeline", "1"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "no registers" not in text
    assert "until the next clear" not in text


def test_the_table_says_what_it_means(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["energy", "fma:e1m1f", "fma:int2", "-t", "cmos", "-t", "invented"]) == 0
    out = capsys.readouterr().out
    heading = out.splitlines()[0].split()
    assert heading[:4] == ["unit", "technology", "stream", "toggles"]
    assert {"fJ", "switched", "ratio", "leakage"} <= set(heading)
    assert len(re.findall(r"^(?:fma:e1m1f|fma:int2) +(?:cmos|invented) ", out, re.MULTILINE)) == 12
    differences = re.findall(r"^- \S+ in \S+: uniform codes take [\d.]+x what", out, re.MULTILINE)
    assert len(differences) == 4
    text = " ".join(out.split())
    assert "uniform: every code as likely" in text
    assert "10,000 vectors, seed 0" in text
    assert "without glitches" in text
    assert "4 of 4 mapped netlists equal the exact reference" in text


def test_glitches_are_a_column_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["energy", "mul:int2", "--glitches", "--stream", "gaussian"]) == 0
    out = capsys.readouterr().out
    assert "glitches" in out.splitlines()[0]
    assert "unit of time" in " ".join(out.split())
    assert "uniform" not in out


def test_exports(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paths = {kind: tmp_path / f"out.{kind}" for kind in ("json", "csv", "md", "tex")}
    options = [text for kind, path in paths.items() for text in (f"--export-{kind}", str(path))]
    rows = rows_of(capsys, "mul:int2", "-t", "invented", *options)
    assert json.loads(paths["json"].read_text())["rows"] == rows
    lines = list(csv.DictReader(io.StringIO(paths["csv"].read_text())))
    assert [float(line["energy_fj"]) for line in lines] == [row["energy_fj"] for row in rows]
    for kind in ("md", "tex"):
        assert all(name in paths[kind].read_text() for name in STREAMS)


def test_a_wrong_netlist_is_exit_code_1(
    hardware: FakeHardware, capsys: pytest.CaptureFixture[str]
) -> None:
    hardware.flip = 1
    assert run(["energy", "mul:int2"]) == 1
    captured = capsys.readouterr()
    assert "MISMATCH on 1 of 16" in captured.out
    assert "MISMATCH: mul:int2" in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mul:int2", "--stream", "laplace"], "unknown stream 'laplace'; expected uniform, gauss"),
        (["mul:int2", "--stream", "none.npy"], r"cannot read none\.npy: no such file"),
        (["mul:int2", "--stream", "text.npy"], r"text\.npy is no \.npy file of numbers"),
        (["mul:int2", "--stream", "three.npy"], r"mul:int2 needs at least 2 vectors of 2 codes"),
        (["fma:int2", "fma:int1", "--stream", "three.npy"], r"three\.npy: codes of a must be in"),
        (["mul:int2", "--vectors", "1"], "vectors"),
        (["mul:int2", "--vectors", "10000001"], "vectors"),
        (["mul:int2", "--seed", "-1"], "seed"),
        (["mul:int2", "-t", "sky"], "unknown technology 'sky'"),
        (["mul:int2", "--export-csv", "none/x.csv"], r"cannot write none/x\.csv"),
        (["mul:sum"], "unknown format 'sum'"),
        (["mul:int2", "--pe"], "mul:int2 cannot accumulate"),
        (["fma:int2", "--pe", "--pipeline", "1"], "--pe takes no --pipeline"),
        (["mul:int2", "--pipeline", "40"], r"--pipeline must be in 0\.\.32, not 40"),
        (["mul:int2", "--pipeline", "1", "-t", "cmos2"], "cmos2 has no flip-flop"),
        (["mul:int2", "--pipeline", "5", "--vectors", "6"], "6 vectors are too few.* at least 7"),
        (["fma:int2", "--pe", "--vectors", "3"], "3 vectors are too few.* at least 4"),
        (["fma:int2", "--pe", "--stream", "three.npy"], r"codes of clear must be in 0\.\.0x1"),
        (["fma:int2", "--pe", "--stream", "never.npy"], r"never\.npy: clear is never 1"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_exit_code_2(
    arguments: list[str],
    message: str,
    hardware: FakeHardware,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("text.npy").write_text("1 2\n3 4\n")
    np.save("three.npy", np.array([[1, 2, 3], [3, 2, 1]]))
    np.save("never.npy", np.array([[1, 2, 0]] * 9))
    assert run(["energy", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("fmacost: ")
    assert captured.err.count("\n") == 1
    assert re.search(message, captured.err)
    assert hardware.calls == 0


def test_a_clock_without_energy_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert INVENTED.characterisation is not None
    poor = replace(INVENTED.characterisation, input_energy_fj={"DFF": {"D": 1.0}})
    known = {**TECHNOLOGIES, "invented": replace(INVENTED, characterisation=poor)}
    monkeypatch.setattr("fmacost.hw.technology.TECHNOLOGIES", known)
    assert run(["-q", "energy", "fma:int2", "-t", "invented", "--pe"]) == 2
    assert "technology invented: no energy of a clock in DFF" in capsys.readouterr().err


def test_a_cell_without_energy_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert INVENTED.characterisation is not None
    known_facts = replace(INVENTED.characterisation, output_energy_fj={"INV": {"Y": 1.0}})
    poor = replace(INVENTED, characterisation=known_facts)
    known = {**TECHNOLOGIES, "invented": poor}
    monkeypatch.setattr("fmacost.hw.technology.TECHNOLOGIES", known)
    assert run(["-q", "energy", "mul:int2", "-t", "invented"]) == 2
    assert "technology invented: no internal energy of MUX2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (0.000123456, "0.000123"), (9.876, "9.88"), (10, "10.0"), (20326.16, "20,326.2")],
)
def test_amounts_keep_three_digits(value: float, text: str) -> None:
    assert metric("energy_fj").show(value) == text


# What follows runs Yosys.


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_long_enough_does_not_depend_on_its_seed(name: str) -> None:
    ((operation, netlist),) = mapped(["fma:e2m1fn"])
    cmos = get_technology("cmos")
    totals = [
        measure_energy(
            operation, cmos, make_row(str(operation)), netlist,
            Source(name=name, vectors=20_000, seed=seed),
        ).total
        for seed in range(4)
    ]  # fmt: skip
    assert len(set(totals)) == 4
    assert max(totals) < 1.02 * min(totals)
