"""The critical path: cells by hand, stages where they are known, and what the command shows."""

import csv
import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmacost.hw.architecture import DEFAULT_ARCHITECTURE, Architecture
from fmacost.hw.breakdown import described_unit
from fmacost.hw.liberty import read_liberty
from fmacost.hw.static_timing import fan_out_of_four_surroundings
from fmacost.hw.technology import Technology, get_technology
from fmacost.reports import path as paths
from fmacost.reports.cli import run
from fmacost.reports.clocked import Registers, clocked
from fmacost.reports.clocked_path import register_to_register, unclocked
from fmacost.reports.path import CriticalPath, critical_path, path_notes, rising_choice, stage_table
from fmacost.sim.netlist import Cell, Netlist
from fmacost.sim.operation import parse_unit
from tests import fake_hw
from tests.fake_hw import FakeHardware
from tests.hand_library import DFF, XOR, hand_library
from tests.test_energy import INVENTED
from tests.test_row import make_row

Capture = pytest.CaptureFixture[str]
CMOS = get_technology("cmos")


@pytest.fixture
def unstaged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeHardware:
    """Stand-ins: netlists without Yosys, and stages that are made up."""
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "cache"))

    def find(*arguments: Any) -> list[tuple[str, float]]:
        count = len(arguments[3])
        return [("align" if i < count // 2 else "round", 1.0) for i in range(count)]

    monkeypatch.setattr(paths, "_find_stages", find)
    return fake_hw.install(monkeypatch)


def test_a_path_worked_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An inverter that drives an XOR and an output, then the XOR: 20 ps, whatever it drives."""
    monkeypatch.setattr(paths, "_find_stages", lambda *_: [("decode", 0.5), ("pack", 1.0)])
    file = tmp_path / "hand.lib"
    file.write_text(hand_library(XOR))
    technology = read_liberty(file).technology
    cells = (Cell("x", "XOR2", {"A": 4, "B": 3, "Y": 5}), Cell("i", "INV", {"A": 2, "Y": 4}))
    netlist = Netlist("unit", {"a": (3, 2)}, {"y": (4,), "z": (5,)}, cells, dict(technology.cells))
    around = fan_out_of_four_surroundings(technology)
    load = 2 + around.output_load_ff
    rise = around.input_slew_ps + 2 * load  # rises later than it falls
    row = make_row("mul:int1")
    found = critical_path(parse_unit("mul:int1"), technology, row, netlist, timeout_s=1)
    assert (found.start, found.end, found.in_ps) == ("a[1]", "z", True)
    first, last = found.steps
    assert (first.stage, first.cell, first.cell_type) == ("decode", "i", "INV")
    assert (first.from_pin, first.to_pin, first.edge, first.fan_out) == ("A", "Y", "rise", 2)
    assert first.load == pytest.approx(load)
    assert first.slew_ps == pytest.approx(8 + 2 * load)
    assert first.increment == first.arrival == pytest.approx(rise)
    assert (last.stage, last.fan_out, last.slew_ps) == ("pack", 1, 5.0)
    assert last.increment == pytest.approx(20, abs=10)
    assert found.delay == last.arrival == pytest.approx(first.arrival + last.increment)
    assert found.stages == {"decode": (1, first.increment), "pack": (1, last.increment)}


def test_no_cells_are_no_path() -> None:
    wires = Netlist("unit", {"a": (2,)}, {"y": (2,)}, (), dict(CMOS.cells))
    found = critical_path(parse_unit("mul:int1"), CMOS, make_row("mul:int1"), wires, timeout_s=1)
    assert (found.steps, found.stages, found.delay) == ((), {}, 0.0)
    assert paths.shown(found)[0] == "mul:int1 in cmos: no path leads through a cell"
    assert found.records() == []


@pytest.mark.parametrize("seed", range(20))
def test_choices_rise_and_are_the_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 5, (5, 4)) / 4
    found = rising_choice(scores)
    every = [c for c in itertools.product(range(4), repeat=5) if list(c) == sorted(c)]
    best = max(sum(scores[range(5), choice]) for choice in every)
    assert found == sorted(found)
    assert sum(scores[range(5), found]) == best
    assert tuple(found) == min(c for c in every if sum(scores[range(5), c]) == best)


# The command, on stand-ins.


def test_the_table_names_each_stage_once(unstaged: FakeHardware, capsys: Capture) -> None:
    assert run(["-q", "path", "fma:int2"]) == 0
    out = capsys.readouterr().out
    assert re.match(r"fma:int2 in cmos: from [abc]\[\d\] to result\[\d\], [\d.]+ FO4\n", out)
    heading = out.splitlines()[2].split()
    assert heading[:5] == ["stage", "cell", "instance", "in", "out"]
    assert "slew" not in heading
    assert len(re.findall(r"^align ", out, re.MULTILINE)) == 2  # of the path, of the sums
    assert re.search(r"^path +\d+ +[\d.]+ +100\.0%$", out, re.MULTILINE)
    text = " ".join(out.split())
    assert "this is found and not known" in text
    assert "FO4: by logical effort" in text
    assert "1 of 1 mapped netlists equal the exact reference" in text


def test_json_has_the_path_and_sums_of_stages(unstaged: FakeHardware, capsys: Capture) -> None:
    assert run(["-q", "path", "fma:int2", "mul:int2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["unit"] for row in rows] == ["fma:int2", "mul:int2"]
    for row in rows:
        steps = row["path"]
        assert len(steps) == row["logic_depth"]
        assert steps[-1]["arrival_fo4"] == row["delay_fo4"]
        assert sum(step["increment_fo4"] for step in steps) == pytest.approx(
            row["delay_fo4"], abs=0.01
        )
        stages = row["path_stages"]
        assert [stage["stage"] for stage in stages] == ["align", "round"]
        assert sum(stage["cells"] for stage in stages) == len(steps)
        assert sum(stage["increment_fo4"] for stage in stages) == pytest.approx(
            row["delay_fo4"], abs=0.01
        )
        assert not {"slew_ps", "edge", "load_ff", "arrival_ps"} & steps[0].keys()
        assert row["digest"]


def test_flat_exports_have_a_line_for_each_cell(
    unstaged: FakeHardware, capsys: Capture, tmp_path: Path
) -> None:
    files = {kind: tmp_path / f"path.{kind}" for kind in ("json", "csv", "md", "tex")}
    options = [text for kind, file in files.items() for text in (f"--export-{kind}", str(file))]
    assert run(["-q", "path", "fma:int2", "mul:int2", *options, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert json.loads(files["json"].read_text())["rows"] == rows
    lines = list(csv.DictReader(files["csv"].read_text().splitlines()))
    steps = [(row["unit"], step) for row in rows for step in row["path"]]
    assert [(line["unit"], line["cell"], float(line["arrival_fo4"])) for line in lines] == [
        (unit, step["cell"], step["arrival_fo4"]) for unit, step in steps
    ]
    for kind in ("md", "tex"):
        assert len(files[kind].read_text().splitlines()) >= len(steps)


def test_a_wrong_netlist_is_exit_code_1(unstaged: FakeHardware, capsys: Capture) -> None:
    unstaged.flip = 1
    assert run(["path", "mul:int2"]) == 1
    assert "MISMATCH: mul:int2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fma:int2", "-t", "areas.lib"], "technology areas has no delays, so it has no critical"),
        (["fma:int2", "--clock-ps", "100"], "cmos has no delays in ps: --clock-ps needs a library"),
        (["fma:int2", "-t", "nangate45", "--clock-ps", "0"], "--clock-ps must be more than 0"),
        (["fma:int2", "-t", "none.lib"], r"none\.lib"),
        (["fma:int2", "--export-md", "none/x.md"], r"cannot write none/x\.md"),
        (["mul:sum"], "unknown format 'sum'"),
        (["mul:int2", "--pe"], "mul:int2 cannot accumulate"),
        (["fma:int2", "--pe", "--pipeline", "1"], "--pe takes no --pipeline"),
        (["fma:int2", "--pipeline", "33"], "--pipeline must be in 0..32, not 33"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_exit_code_2(
    arguments: list[str],
    message: str,
    unstaged: FakeHardware,
    capsys: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    timing = re.compile(r"timing \(\) \{[^{}]*(\{[^{}]*\}[^{}]*)*\}")
    Path("areas.lib").write_text(timing.sub("", hand_library(XOR, DFF)).replace("hand", "areas"))
    assert run(["path", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert re.search(message, captured.err)
    assert unstaged.calls == 0


# From register to register.


@pytest.mark.parametrize("cells", [CMOS, INVENTED], ids=["cmos", "ps"])
@pytest.mark.parametrize("ranks", [0, 2, None])
def test_a_clocked_path_is_one_and_as_long_as_the_period(
    cells: Technology, ranks: int | None
) -> None:
    operation = parse_unit("fma:int2")
    registers = Registers(ranks=ranks)
    unit = fake_hw.build(operation, cells)
    made = clocked(operation, unit, cells, registers)
    launch, *steps, setup = register_to_register(made.netlist, cells)
    period = made.period_fo4 if made.period_ps is None else made.period_ps
    assert setup.arrival == pytest.approx(period)
    assert all(step.increment > 0 for step in (launch, *steps, setup))
    pins = {cell.name: cell.pins for cell in made.netlist.cells}
    for before, after in itertools.pairwise((launch, *steps, setup)):
        if before.cell in pins and after.cell in pins:
            assert pins[before.cell][before.to_pin] == pins[after.cell][after.from_pin]
    clock, data = cells.register.pins["CLK"], cells.register.pins["D"]
    assert (launch.stage, launch.from_pin, launch.to_pin) == ("clock to output", clock, "Q")
    assert (setup.stage, setup.from_pin, setup.to_pin) == ("setup", data, clock)
    if ranks == 0:
        assert re.match(r"[abc]\[\d\]$", launch.cell)
        assert re.match(r"result\[\d\]$", setup.cell)
    else:
        assert {launch.cell, setup.cell} & pins.keys()
    nets = [
        pins[cell.name][pin] for cell in unit.cells for pin, _ in cells.cells[cell.type].outputs
    ]
    logic = unclocked(made.netlist, registers)
    kept = {c.name: c.pins for c in logic.cells}
    same = [
        kept[cell.name][pin] for cell in unit.cells for pin, _ in cells.cells[cell.type].outputs
    ]
    planes, _ = paths._vectors(operation)
    expected = paths._signals(unit, nets, planes)
    np.testing.assert_array_equal(paths._signals(logic, same, planes), expected)


@pytest.mark.parametrize("options", [("--pipeline", "1"), ("--pe",)])
def test_the_command_has_registers_at_both_ends(
    options: tuple[str, ...], unstaged: FakeHardware, capsys: Capture
) -> None:
    assert run(["-q", "path", "fma:int2", *options, "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["path"][-1]["arrival_fo4"] == row["period_fo4"]
    assert (row["path_start"], row["path_end"]) == tuple(row["path"][i]["cell"] for i in (0, -1))
    stages = [stage["stage"] for stage in row["path_stages"]]
    assert (stages[0], stages[-1]) == ("clock to output", "setup")
    assert {*stages[1:-1]} <= {"align", "round"}
    assert run(["-q", "path", "fma:int2", *options]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "an output drives a register" in text
    assert "as long as the clock period" in text


# What follows runs Yosys.


FACTORS = Architecture(normalise="factors")


@pytest.mark.parametrize(
    ("unit", "architecture"),
    [
        ("fma:e2m1fn", DEFAULT_ARCHITECTURE),
        ("fma:int3+int8", DEFAULT_ARCHITECTURE),
        ("mul:e3m2fn", DEFAULT_ARCHITECTURE),
        ("mul:e3m2fn", FACTORS),
    ],
)
def test_stages_of_a_unit_as_described_are_found_again(
    unit: str, architecture: Architecture
) -> None:
    """Nearly: some nets never change, some signals are those of two stages."""
    operation = parse_unit(unit)
    row = make_row(unit, architecture=str(architecture))
    netlist, stages = described_unit(operation, architecture, timeout_s=60)
    cells = longest(netlist)
    found = paths._find_stages(operation, row, netlist, [c.pins["Y"] for c in cells], 60)
    assert sum(likeness > 0.999 for _, likeness in found) >= 0.9 * len(cells)
    same = [stage == stages[cell.name] for (stage, _), cell in zip(found, cells, strict=True)]
    assert len(set(stages[cell.name] for cell in cells)) > 1
    assert sum(same) >= 0.9 * len(cells)
    if architecture is FACTORS:  # before the multiplication, and after it
        names = [stage for stage, _ in itertools.groupby(stage for stage, _ in found)]
        assert names.index("normalise") < names.index("significand multiply")


def longest(netlist: Netlist) -> list[Cell]:
    """Return a path with as many cells as there are."""
    depth: dict[int, list[Cell]] = {}
    for cell in netlist.levelised():
        before = [depth.get(cell.pins[p], []) for p in netlist.library[cell.type].inputs]
        depth[cell.pins["Y"]] = [*max(before, key=len), cell]
    return max((depth.get(n, []) for nets in netlist.outputs.values() for n in nets), key=len)


def test_the_path_of_a_unit_is_its_delay(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path))
    options = ["-t", "nangate45", "-t", "cmos", "--effort", "quick", "--json"]
    assert run(["-q", "path", "fma:e2m1fn", *options]) == 0
    in_ps, in_fo4 = json.loads(capsys.readouterr().out)["rows"]
    assert in_ps["path"][-1]["arrival_ps"] == in_ps["delay_ps"]
    assert in_fo4["path"][-1]["arrival_fo4"] == in_fo4["delay_fo4"]
    assert all(step["slew_ps"] > 0 for step in in_ps["path"])
    for row in (in_ps, in_fo4):
        names = [stage["stage"] for stage in row["path_stages"]]
        assert names[0] in ("decode", "significand multiply", "exponent add")
        assert "add" in names
        assert names[-1] in ("round", "pack and specials")
        assert sum(step["likeness"] for step in row["path"]) > 0.8 * len(row["path"])


def test_notes_and_shares_of_both_units_of_time() -> None:
    assert len(path_notes([])) == 2
    step = paths.PathStep(
        stage="add", cell="c", cell_type="INV", from_pin="A", to_pin="Y", edge="rise", fan_out=1,
        load=1.0, slew_ps=None, increment=4.0, arrival=4.0,
    )  # fmt: skip
    path = CriticalPath(row=make_row("mul:int1"), start="a", end="y", in_ps=True, steps=(step,))
    assert any("no slews" in note for note in path_notes([path]))
    assert stage_table(path).row_count == 2
