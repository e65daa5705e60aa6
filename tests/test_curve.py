"""``curve`` and ``--clock-ps``: proven points that get faster and larger, and equal clocks."""

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import pytest

from fmacost.reports.cli import run
from fmacost.reports.commands import units
from fmacost.reports.curve import Curve, at_clocks, common_clocks, make_curve, records
from fmacost.reports.measure import Measured, Settings
from fmacost.reports.options import PlotKind
from fmacost.reports.plots.saved import draw_table
from fmacost.reports.row import Proof, Row
from fmacost.reports.saved import flatten
from fmacost.sim.netlist import Netlist
from tests import fake_hw
from tests.fake_hw import FakeHardware
from tests.test_row import make_row

Capture = pytest.CaptureFixture[str]
WRONG = Proof(method="exhaustive", vectors=64, mismatches=1, regions={})


def row(size: float, delay_ps: float, unit: str = "fma:int2", **changes: Any) -> Row:
    values = {"area_um2": size, "delay_ps": delay_ps, "technology": "nangate45", **changes}
    return make_row(unit, **values)


def line(unit: str, *places: tuple[float, float]) -> Curve:
    made = make_curve(unit, [row(*place, unit=unit) for place in places])
    assert made is not None
    return made


# The frontier


def test_a_curve_is_monotone_and_has_proven_points_alone() -> None:
    rows = [row(3, 30), row(1, 90), row(2, 50, verification=WRONG), row(2.5, 40), row(4, 35)]
    made = make_curve("fma:int2", rows)
    assert made is not None
    assert [(r.area_um2, r.delay_ps) for r in made.rows] == [(1, 90), (2.5, 40), (3, 30)]
    unchecked = Proof(method="none", vectors=0, mismatches=0, regions={})
    assert (
        make_curve("x", [row(1, 1, verification=WRONG), row(1, 2, verification=unchecked)]) is None
    )


def test_clocks_are_met_by_all() -> None:
    lines = [line("a", (1, 90), (2, 50.01)), line("b", (3, 123.4), (5, 40))]
    clocks = common_clocks(lines)
    assert list(clocks) == [50.1, 78.6, 124]
    found = at_clocks(lines, clocks)
    assert all(each.is_met for each in found)
    assert [each.row.area_um2 for each in found] == [2, 5, 2, 5, 1, 3]
    assert [each.ratio for each in found] == [None, 2.5, None, 2.5, None, 3]
    assert common_clocks([line("a", (1, 0))]) == (0,)  # wires alone
    assert common_clocks([line("a", (1, 7))]) == (7,)


def test_a_clock_that_is_missed_says_by_how_much() -> None:
    lines = [line("a", (1, 90), (2, 50)), line("b", (3, 120), (5, 40))]
    first, second = at_clocks(lines, [45])
    assert (first.is_met, first.slack, first.row.area_um2) == (False, -5, 2)
    assert (second.is_met, second.slack, second.ratio) == (True, 5, None)
    made = records(lines, [first, second])
    assert len(made) == 6
    assert [(r["clock_ps"], r["slack_ps"]) for r in made[-2:]] == [(45, -5), (45, 5)]
    assert all(r["clock_ps"] is None for r in made[:-2])


def flat(curves: list[Curve]) -> list[dict[str, Any]]:
    return [line for record in records(curves, []) for line in flatten(record)]


def test_the_plot_labels_units_and_axes() -> None:
    pytest.importorskip("matplotlib")
    lines = [line("fma:int2", (1, 90), (2, 50)), line("fma:e1m1f", (3, 120), (5, 40))]
    picture = draw_table(flat(lines), PlotKind.FRONTIER, ".svg").decode()
    for label in ("fma:int2", "fma:e1m1f", "delay, ps", "µm²"):
        assert f"<!-- {label} -->" in picture
    in_fo4 = make_curve("a", [make_row(delay_fo4=9.0, transistors=10)])
    assert in_fo4 is not None
    assert "<!-- delay, FO4 -->" in draw_table(flat([in_fo4]), PlotKind.FRONTIER, ".svg").decode()


# The command, on real netlists


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("curve")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FMACOST_CACHE_DIR", str(path / "cache"))
        yield path


def rows_of(capsys: Capture, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
    assert run(["-q", *arguments, "--json"]) == code
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rows"]
    return rows


CURVE = ("curve", "fma:int2", "fma:e1m1f", "-t", "nangate45", "--effort", "quick")


def test_curves_of_the_smallest_units(folder: Path, capsys: Capture) -> None:
    rows = rows_of(capsys, *CURVE)
    for unit in ("fma:int2", "fma:e1m1f"):
        points = [r for r in rows if r["unit"] == unit and r["clock_ps"] is None]
        assert len(points) >= 3
        for before, after in pairwise(points):
            assert after["area_um2"] > before["area_um2"]
            assert after["delay_ps"] < before["delay_ps"]
        for point in points:
            assert point["verification"]["method"] == "exhaustive"
            assert point["verification"]["mismatches"] == 0
            assert point["objective"] == "curve"
        assert len({point["digest"] for point in points}) == len(points)
        clocked = [r for r in rows if r["unit"] == unit and r["clock_ps"]]
        assert len(clocked) == 3
        assert min(r["slack_ps"] for r in clocked) >= 0
    assert rows_of(capsys, *CURVE) == rows


def test_a_known_curve_loads_nothing_heavy(folder: Path, capsys: Capture) -> None:
    rows_of(capsys, *CURVE)
    script = (
        "import sys\nfrom fmacost.reports.cli import run\n"
        f"assert run({['-q', *CURVE]!r}) == 0\n"
        "print({m.split('.')[0] for m in sys.modules} & "
        "{'amaranth', 'numpy', 'matplotlib', 'pyosys'})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "set()"


def test_table_exports_and_plot(folder: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib")
    table, picture = folder / "points.csv", folder / "points.svg"
    assert run([
        "-q", *CURVE, "--clock", "1", "--clock", "1000", "--export-csv", str(table),
        "--plot", str(picture),
    ]) == 0  # fmt: skip
    out = capsys.readouterr().out
    for text in ("clock ps", "slack ps", "missed by", "/ fma:int2", "every input"):
        assert text in out
    with table.open() as file:
        found = list(csv.DictReader(file))
    assert {r["clock_ps"] for r in found} == {"", "1.0", "1000.0"}
    assert picture.read_text().startswith("<?xml")


def test_in_cmos_delays_are_in_fo4(folder: Path, capsys: Capture) -> None:
    rows = rows_of(capsys, "curve", "fma:int1", "fma:e0m0f", "--effort", "quick", "--clock", "3")
    assert {r["technology"] for r in rows} == {"cmos"}
    timed = [r for r in rows if "clock_fo4" in r]
    assert [r["unit"] for r in timed] == ["fma:int1", "fma:e0m0f"]
    for found in timed:
        assert found["slack_fo4"] == pytest.approx(3 - found["delay_fo4"], abs=1e-3)
    assert run(["-q", "curve", "fma:int1", "--effort", "quick"]) == 0
    assert "slack FO4" in capsys.readouterr().out


def test_a_unit_for_a_clock(folder: Path, capsys: Capture) -> None:
    common = ("synth", "fma:e1m1f", "-t", "nangate45", "--effort", "quick", "--clock-ps")
    (relaxed,), (tight,) = (rows_of(capsys, *common, clock) for clock in ("9000", "1"))
    assert relaxed["slack_ps"] == pytest.approx(9000 - relaxed["delay_ps"])
    assert tight["slack_ps"] == pytest.approx(1 - tight["delay_ps"])
    assert (relaxed["objective"], relaxed["clock_ps"]) == ("clock", 9000)
    assert tight["delay_ps"] < relaxed["delay_ps"]
    assert tight["area_um2"] > relaxed["area_um2"]
    middle = (tight["delay_ps"] + relaxed["delay_ps"]) / 2
    path = folder / "unit.json"
    (met,) = rows_of(capsys, *common, str(middle))
    assert run(["export", *common[1:], str(middle), "-o", str(path)]) == 0
    assert 0 <= met["slack_ps"] < middle
    assert relaxed["area_um2"] <= met["area_um2"] <= tight["area_um2"]
    assert met["verification"]["mismatches"] == 0
    from fmacost.hw.technology import TECHNOLOGIES

    netlist = Netlist.from_yosys_json(
        json.loads(path.read_text()), TECHNOLOGIES["nangate45"].sized_cells
    )
    assert netlist.count() == met["cell_counts"]
    assert rows_of(capsys, *common, str(middle)) == [met]


def test_both_sides_of_a_comparison_are_made_for_the_clock(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    asked = []

    def measure_all(operations: Any, technologies: Any, settings: Settings, *_: Any) -> Any:
        asked.append((settings.objective, settings.clock_ps))
        return [
            Measured(
                row=make_row(
                    str(operation), "nangate45", objective="clock", area_um2=10.0, delay_ps=delay,
                    clock_ps=90.0, slack_ps=90 - delay,
                ),
                netlist=None, counterexample=None, is_cached=True, yosys_seconds=0, seconds=0,
            )
            for operation, delay in zip(operations, cycle((80.0, 85.5, 70.0, 99.0)), strict=False)
        ]  # fmt: skip

    monkeypatch.setattr(units, "measure_all", measure_all)
    rows = rows_of(capsys, "compare", "int1", "e0m0f", "-t", "nangate45", "--clock-ps", "90")
    assert asked == [("clock", 90)]
    assert [row["slack_ps"] for row in rows[:4]] == [10, 4.5, 20, -9]
    assert [row.get("ratio_area") for row in rows[:4]] == [1, 1, 1, None]


def test_a_pipeline_for_a_clock(folder: Path, capsys: Capture) -> None:
    common = ("synth", "fma:int2", "-t", "nangate45", "--effort", "quick", "--pipeline", "1")
    (relaxed,) = rows_of(capsys, *common, "--clock-ps", "5000")
    (missed,) = rows_of(capsys, *common, "--clock-ps", "100")
    assert relaxed["slack_ps"] == pytest.approx(5000 - relaxed["period_ps"])
    assert missed["slack_ps"] == pytest.approx(100 - missed["period_ps"])
    assert missed["slack_ps"] < 0
    assert missed["period_ps"] <= relaxed["period_ps"]
    assert missed["verification"]["cycles"] > 0
    assert missed["flip_flops"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("synth mul:int1 -t nangate45 --clock-ps 0", "--clock-ps must be more than 0 and finite"),
        ("synth mul:int1 -t nangate45 --clock-ps -3", "--clock-ps must be more than 0 and finite"),
        ("synth mul:int1 -t nangate45 --clock-ps nan", "--clock-ps must be more than 0 and finite"),
        ("synth mul:int1 --clock-ps 100", "technology cmos has no delays in ps"),
        (
            "synth mul:int1 -t nangate45 --clock-ps 9 --objective delay",
            "--clock-ps takes no --objective delay",
        ),
        (
            "compare int1 int2 -t nangate45 --clock-ps 0",
            "--clock-ps must be more than 0 and finite",
        ),
        ("compare int1 int2 --clock-ps 100", "technology cmos has no delays in ps"),
        (
            "compare int1 int2 -t nangate45 --clock-ps 9 --objective adp",
            "--clock-ps takes no --objective adp",
        ),
        ("curve mul:int1 --clock 0", "--clock must be more than 0 and finite, not 0"),
        ("curve mul:int1 --clock inf", "--clock must be more than 0 and finite, not inf"),
        ("curve mul:int1 -t none", "unknown technology 'none'"),
        ("curve mul:int1 --plot x.jpg", "must end in one of"),
        ("curve", "Missing argument"),
    ],
)
def test_bad_input_is_one_line(arguments: str, message: str, capsys: Capture) -> None:
    assert run(arguments.split()) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


# The command, on a stand-in for synthesis


@pytest.fixture
def hardware(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeHardware:
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "cache"))
    return fake_hw.install(monkeypatch)


def test_a_wrong_netlist_is_never_shown(hardware: FakeHardware, capsys: Capture) -> None:
    hardware.flip = 1
    for _ in range(2):  # and it is not kept
        assert run(["curve", "fma:int2"]) == 1
        said = capsys.readouterr()
        assert said.out == ""
        assert "damaged" not in said.err
        assert "MISMATCH: fma:int2 in cmos differs from the reference on 1 of 64" in said.err
    hardware.flip = 0
    assert run(["-q", "curve", "fma:int2", "--no-cache"]) == 0
    assert "fma:int2" in capsys.readouterr().out


def test_a_curve_with_candidates_left_out_is_not_kept(
    hardware: FakeHardware, capsys: Capture
) -> None:
    hardware.left_out = 2
    for calls in (1, 2):
        assert run(["curve", "fma:int2"]) == 0
        assert "2 candidates took longer than" in capsys.readouterr().err
        assert hardware.calls == calls
    hardware.left_out = 0
    for _ in range(2):
        assert run(["-q", "curve", "fma:int2"]) == 0
        assert hardware.calls == 3


def test_a_damaged_entry_is_made_again(
    hardware: FakeHardware, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["-q", "curve", "fma:int2", "--json"]) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr("fmacost.reports.measure.digest_of", lambda key: "f" * 64)
    assert run(["curve", "fma:int2", "--json"]) == 0
    said = capsys.readouterr()
    assert "damaged cache file" in said.err
    assert len(json.loads(said.out)["rows"]) == len(json.loads(first)["rows"])
