"""What is written for other tools is read by these tools, and is the unit that was proven."""

import ast
import csv
import importlib.util
import json
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmacost.hw.technology import TECHNOLOGIES
from fmacost.hw.yosys import Job, YosysError, run_yosys
from fmacost.reports.cli import run
from fmacost.reports.interchange import forms
from fmacost.reports.interchange.component import to_component, to_set, to_table
from fmacost.reports.interchange.design import Design, identifier, make_design
from fmacost.reports.interchange.logic import encode_aiger
from fmacost.reports.interchange.spice import to_spice
from fmacost.reports.interchange.testbench import MOST_VECTORS, to_testbench
from fmacost.sim.netlist import Cell, Netlist
from fmacost.sim.operation import parse_unit
from fmacost.sim.reference import compute
from tests import fake_hw
from tests.fake_hw import FakeHardware, build
from tests.test_row import make_row

UNIT, NAME = "fma:e1m1f", "fma_e1m1f"
CMOS = TECHNOLOGIES["cmos"]
needs_icarus = pytest.mark.skipif(not shutil.which("iverilog"), reason="needs Icarus Verilog")
needs_ngspice = pytest.mark.skipif(not shutil.which("ngspice"), reason="needs ngspice")

OF_LIBRARIES = (".py", ".csv", ".table.yaml")  # not of cmos


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the unit in every form that ``cmos`` has."""
    folder = tmp_path_factory.mktemp("exported")
    outputs = [
        f"--output={folder / f'x{suffix}'}" for suffix in forms.FORMS if suffix not in OF_LIBRARIES
    ]
    assert run(["export", UNIT, "-q", "--no-cache", "--effort", "quick", *outputs]) == 0
    return folder


@pytest.fixture
def hardware(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FakeHardware:
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "cache"))
    return fake_hw.install(monkeypatch)


def design_of(unit: str, **fields: Any) -> Design:
    operation = parse_unit(unit)
    return make_design(operation, CMOS, None, make_row(unit, **fields), build(operation, CMOS))


def run_bench(*sources: Path) -> subprocess.CompletedProcess[str]:
    program = sources[0].with_suffix(".vvp")
    subprocess.run(["iverilog", "-g2012", "-Wall", "-o", program, *sources], check=True)
    return subprocess.run(["vvp", "-n", program], capture_output=True, text=True, check=False)


@needs_icarus
@pytest.mark.parametrize("suffix", [".v", ".rtl.v"])
def test_bench_passes_the_netlist_and_the_unit(suffix: str, folder: Path) -> None:
    done = run_bench(folder / "x.tb.v", folder / f"x{suffix}")
    assert (done.returncode, done.stdout) == (0, "PASS: 512 inputs\n")


@needs_icarus
def test_bench_fails_what_is_wrong(folder: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.v"
    text = (folder / "x.v").read_text()
    wrong.write_text(re.sub(r"assign result\[0\] = (\w+);", r"assign result[0] = ~\1;", text))
    done = run_bench(folder / "x.tb.v", wrong)
    assert done.returncode == 1
    assert re.search(r"^MISMATCH: a=0 b=0 c=0: expected 0, got 1$", done.stdout, re.MULTILINE)
    assert done.stdout.count("MISMATCH") == 10
    assert "FAIL: 512 of 512 inputs differ" in done.stdout


@needs_icarus
@pytest.mark.parametrize(
    ("unit", "options"),
    [
        ("fma:int2", ["--pipeline", "0"]),
        ("fma:int2", ["--pipeline", "3"]),
        ("mul:e2m1fnuz->int2", []),
    ],
)
def test_bench_waits_for_a_pipeline_and_looks_at_invalid(
    unit: str, options: list[str], hardware: FakeHardware, tmp_path: Path
) -> None:
    bench, netlist = tmp_path / "x.tb.v", tmp_path / "x.v"
    assert run(["export", unit, "-q", *options, "-o", str(bench), "-o", str(netlist)]) == 0
    assert run_bench(bench, netlist).stdout.startswith("PASS: ")


def test_bench_of_many_inputs_is_sampled_and_bounded() -> None:
    unit = "fma:bf16,sr2"
    operation = parse_unit(unit)
    ports = {name: (0,) * width for name, width in operation.input_widths.items()}
    nets = iter(range(2, 99))
    inputs = {name: tuple(next(nets) for _ in bits) for name, bits in ports.items()}
    netlist = Netlist("unit", inputs, {"result": inputs["a"]}, (), {})
    text = to_testbench(make_design(operation, CMOS, None, make_row(unit), netlist))
    calls = re.findall(r"check\(16'h(\w+), 16'h(\w+), 16'h(\w+), 2'h(\w), 16'h(\w+)\);", text)
    assert len(calls) == MOST_VECTORS
    *operands, expected = np.array([[int(code, 16) for code in call] for call in calls]).T
    np.testing.assert_array_equal(
        compute(operation, *(codes.astype(np.uint64) for codes in operands)), expected
    )


READERS = {
    ".v": "read_verilog", ".rtl.v": "read_verilog", ".il": "read_rtlil", ".blif": "read_blif",
    ".aag": "read_aiger", ".aig": "read_aiger",
}  # fmt: skip


def abc(*commands: str, folder: Path) -> str:
    found = importlib.util.find_spec("pyosys")
    assert found is not None
    assert found.origin is not None
    program = Path(found.origin).with_name("yosys-abc")
    done = subprocess.run(
        [program, "-q", "; ".join(commands)], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("suffix", [suffix for suffix in READERS if suffix != ".aig"])
def test_yosys_reads_it_and_abc_proves_it(suffix: str, folder: Path, tmp_path: Path) -> None:
    script = f"{READERS[suffix]} source; hierarchy -auto-top; proc; flatten; simplemap; "
    job = Job(f"{script}opt_clean; write_blif read.blif\n".replace("; ", "\n"),
        {"source": (folder / f"x{suffix}").read_text()}, ("read.blif",))  # fmt: skip
    (finished,) = run_yosys([job], parallel=1, timeout_s=60)
    (tmp_path / "read.blif").write_text(finished.outputs["read.blif"])
    shutil.copy(folder / "x.aig", tmp_path)
    assert "Networks are equivalent" in abc("cec x.aig read.blif", folder=tmp_path)


def test_abc_reads_blif_and_would_see_a_difference(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "x.aig", tmp_path)
    text = (folder / "x.blif").read_text()
    (tmp_path / "x.blif").write_text(text)
    assert "Networks are equivalent" in abc("cec x.aig x.blif", folder=tmp_path)
    outputs = ".outputs result[0] result[1]"
    assert outputs in text
    (tmp_path / "x.blif").write_text(text.replace(outputs, ".outputs result[1] result[0]"))
    assert "NOT EQUIVALENT" in abc("cec -n x.aig x.blif", folder=tmp_path)


@pytest.mark.parametrize("options", [["--pipeline", "2"], ["--pe"]])
def test_registers_are_latches(options: list[str], hardware: FakeHardware, tmp_path: Path) -> None:
    outputs = [f"--output={tmp_path / name}" for name in ("x.aig", "x.blif")]
    assert run(["export", "fma:int1", "-q", *options, *outputs]) == 0
    text = (tmp_path / "x.blif").read_text()
    assert text.count(".latch") > 2
    assert ".subckt MUX2" in text
    assert "Networks are equivalent" in abc("dsec x.aig x.blif", folder=tmp_path)


def test_ports_are_in_the_order_of_the_operands(folder: Path) -> None:
    for suffix in (".v", ".rtl.v"):
        text = (folder / f"x{suffix}").read_text()
        assert f"module {NAME}(a, b, c, result);" in text


def test_binary_aiger_wants_gates_in_order() -> None:
    gate = "aag 3 2 0 1 1\n2\n4\n6\n{}\ni0 a\n"
    assert encode_aiger(gate.format("6 2 5")) == b"aig 3 2 0 1 1\n6\n\x01\x03i0 a\n"
    for wrong in ("8 2 4", "6 8 2"):
        with pytest.raises(ValueError, match="out of order"):
            encode_aiger(gate.format(wrong))


# SPICE.


def every_cell() -> Design:
    """A design with one instance of each cell; the inputs of all are the ports a to e."""
    used = [*CMOS.cells.values(), CMOS.library["DFF"]]
    inputs: dict[str, tuple[int, ...]] = {name: (2 + i,) for i, name in enumerate("abcde")}
    inputs["clk"] = (7,)
    outputs: dict[str, tuple[int, ...]] = {}
    cells, net = [], 8
    for kind in used:
        pins = {pin: 2 + i for i, pin in enumerate(kind.inputs)}
        if kind.clock is not None:
            pins[kind.clock] = 7
        for pin, _ in kind.outputs:
            pins[pin] = net
            outputs[f"{kind.name}_{pin}"] = (net,)
            net += 1
        cells.append(Cell(kind.name, kind.name, pins))
    netlist = Netlist("cells", inputs, outputs, tuple(cells), dict(CMOS.library))
    return make_design(parse_unit("fma:int1"), CMOS, None, make_row("fma:int1"), netlist)


def test_every_cell_has_the_transistors_that_are_counted() -> None:
    deck = to_spice(every_cell())
    cells = dict(re.findall(r"^\.subckt (\w+) .*?\n(.*?)^\.ends", deck, re.MULTILINE | re.DOTALL))
    counted = {name: len(re.findall("^m", text, re.MULTILINE)) for name, text in cells.items()}
    del counted["fma_int1"]
    assert counted == {**CMOS.transistors, "DFF": 24}
    assert "FA" in counted


def simulate(
    deck: str, header: str, commands: Iterable[str], tmp_path: Path
) -> list[dict[str, float]]:
    """Run ngspice and return the voltages of each ``print`` of one or more nodes."""
    source = tmp_path / "bench.cir"
    control = "\n".join([".control", "set width=200", *commands, "quit 0", ".endc"])
    supplies = "vdd vdd 0 1\nvss vss 0 0"
    source.write_text(f"* test\n{deck}\n{supplies}\n{header}\n{control}\n.end\n")
    done = subprocess.run(
        ["ngspice", "-b", source], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "log").write_text(done.stdout)
    parts = done.stdout.split("operating point\n")[1:] or [done.stdout]
    return [
        {
            node: float(v)
            for node, v in re.findall(r"^(?:v\()?(\w+)\)? += +(\S+)", part, re.MULTILINE)
        }
        for part in parts
    ]


def inputs_of(ports: Iterable[str]) -> str:
    return "\n".join(f"v{port} {port} 0 0" for port in ports)


def apply(vector: Mapping[str, int], outputs: Iterable[str]) -> list[str]:
    """Set inputs, find the operating point, print the outputs."""
    alters = [f"alter v{port} = {bit}" for port, bit in vector.items()]
    return [*alters, "op", "echo operating point", f"print {' '.join(f'v({o})' for o in outputs)}"]


def as_bits(voltages: Mapping[str, float]) -> dict[str, int]:
    assert all(v < 0.01 or v > 0.99 for v in voltages.values()), voltages
    return {node: round(v) for node, v in voltages.items()}


@needs_ngspice
def test_every_cell_computes_its_function_in_ngspice(tmp_path: Path) -> None:
    design = every_cell()
    ports = [f"{name}_0" for name in (*design.netlist.inputs, *design.netlist.outputs)]
    inputs, outputs = ports[:6], [port for port in ports[6:] if port != "DFF_Q_0"]
    header = f"{inputs_of(inputs)}\nxdut {' '.join(ports)} vdd vss fma_int1"
    vectors = [{f"{'abcde'[i]}_0": n >> i & 1 for i in range(5)} for n in range(32)]
    commands = [line for vector in vectors for line in apply(vector, outputs)]
    found = simulate(to_spice(design), header, commands, tmp_path)
    assert len(found) == 32
    for n, voltages in enumerate(found):
        bits = as_bits(voltages)
        for kind in CMOS.cells.values():
            for pin, _ in kind.outputs:
                pattern = n & ((1 << len(kind.inputs)) - 1)
                expected = kind.truth_table(pin) >> pattern & 1
                assert bits[f"{kind.name}_{pin}_0".lower()] == expected, (kind.name, n)


@needs_ngspice
def test_flip_flop_takes_its_input_at_rising_edges(tmp_path: Path) -> None:
    header = (
        "vd d 0 pwl(0 1 2n 1 2.1n 0 6n 0 6.1n 1)\n"
        "vc clk 0 pulse(0 1 1n 50p 50p 2n 4n)\n"
        "xdut d clk q vdd vss DFF"
    )
    moments = {"taken": 1.9, "held": 2.9, "kept": 4.5, "next": 5.9, "last": 8.9}
    commands = ["tran 10p 9.5n"]
    commands += [f"meas tran {name} find v(q) at={ns}n" for name, ns in moments.items()]
    (found,) = simulate(to_spice(every_cell()), header, commands, tmp_path)
    bits = as_bits({name: found[name] for name in moments})
    assert bits == {"taken": 1, "held": 1, "kept": 1, "next": 0, "last": 0}


@needs_ngspice
def test_unit_in_ngspice_has_the_counted_transistors_and_equals_the_reference(
    folder: Path, tmp_path: Path
) -> None:
    deck = (folder / "x.sp").read_text()
    operation = parse_unit(UNIT)
    inputs = [f"{name}_{i}" for name in "abc" for i in range(3)]
    outputs = [f"result_{i}" for i in range(3)]
    header = f"{inputs_of(inputs)}\nxdut {' '.join([*inputs, *outputs])} vdd vss {NAME}"
    vectors = [(3, 5, 2), (7, 7, 7), (1, 1, 6), (0, 4, 4), (6, 3, 3)]
    commands = ["listing expand"]
    for codes in vectors:
        bits = {
            f"{n}_{i}": code >> i & 1
            for n, code in zip("abc", codes, strict=True)
            for i in range(3)
        }
        commands += apply(bits, outputs)
    found = simulate(deck, header, commands, tmp_path)
    results = [
        sum(as_bits(voltages)[node] << i for i, node in enumerate(outputs)) for voltages in found
    ]
    operands = [np.array(codes, dtype=np.uint64) for codes in zip(*vectors, strict=True)]
    assert results == compute(operation, *operands).tolist()
    transistors = len(re.findall(r"^ *\d+ : m", (tmp_path / "log").read_text(), re.MULTILINE))
    netlist = Netlist.from_yosys_json(json.loads((folder / "x.json").read_text()), CMOS.cells)
    assert transistors == CMOS.transistor_count(netlist)
    assert f": {transistors} transistors" in deck


def test_outputs_that_are_inputs_or_constants_are_tied() -> None:
    design = design_of("mul:int1")
    netlist = replace(design.netlist, outputs={"result": (0, 2, 2)}, cells=())
    deck = to_spice(replace(design, netlist=netlist))
    for line in ("r0 result_0 vss 1m", "r1 result_1 a_0 1m", "r2 result_2 a_0 1m"):
        assert line in deck.splitlines()


# hwcomponents.


def nangate_design(**fields: Any) -> Design:
    known = {
        "technology": "nangate45", "area_um2": 40.5, "leakage_nw": 900.0, "energy_fj": 75.0,
        "delay_ps": 580.0,
    }  # fmt: skip
    return replace(
        design_of("mul:int2", **{**known, **fields}), technology=TECHNOLOGIES["nangate45"]
    )


def test_hwcomponents_reads_the_model(tmp_path: Path) -> None:
    hwcomponents = pytest.importorskip("hwcomponents", reason="needs hwcomponents, Python 3.12")
    source = tmp_path / "model.py"
    source.write_text(to_component(nangate_design()))
    spec = importlib.util.spec_from_file_location("model", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.MulInt2()
    assert isinstance(model, hwcomponents.ComponentModel)
    assert model.area == pytest.approx(40.5e-12)
    assert model.leak_power == pytest.approx(900e-9)
    cost = model.compute()
    assert (cost.energy, cost.latency) == (pytest.approx(75e-15), pytest.approx(580e-12))


def look_up(folder: Path, component: str, **asked: str) -> list[tuple[float, float]]:
    """Return energies and areas as Accelergy's table plug-in finds them.

    It is not on PyPI, so these are its rules: a file whose name has ``table.yaml`` names a
    technology and a folder; the table of a class is its name with ``.csv``; columns that are asked
    for are equal as text.
    """
    (path,) = (path for path in folder.iterdir() if "table.yaml" in path.name)
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    known = {key: json.loads(value) for key, value in (line.split(": ", 1) for line in lines)}
    assert known.keys() == {"name", "technology", "accuracy", "path_to_data_dir"}
    assert 0 < known["accuracy"] <= 100
    assert known["technology"] == asked["technology"]
    with (folder / known["path_to_data_dir"] / f"{component}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    matching = (row for row in rows if all(row.get(k, text) == text for k, text in asked.items()))
    return [(float(row["energy"]), float(row["area"])) for row in matching]


@pytest.mark.parametrize("technology", ["nangate45", 'a, "b": \\n#'])
def test_accelergy_finds_a_component_in_its_table(technology: str, tmp_path: Path) -> None:
    design = nangate_design(technology=technology)
    (tmp_path / "mul_int2.csv").write_text(to_table(design))
    (tmp_path / "ours.table.yaml").write_text(to_set(design))
    ask = {"technology": technology, "action": "compute", "width": "2"}
    assert look_up(tmp_path, "mul_int2", **ask) == [(0.075, 40.5)]  # pJ, µm²
    assert look_up(tmp_path, "mul_int2", **{**ask, "action": "leak"}) == []


def test_a_hostile_name_stays_text() -> None:
    hostile = 'x"""\nimport os\nos.abort()\n"""\\'
    text = to_component(nangate_design(technology=hostile, semantics=hostile))
    kinds = [type(node) for node in ast.parse(text).body]
    assert kinds == [ast.Expr, ast.ImportFrom, ast.ClassDef]
    for write in (to_testbench, to_spice):
        lines = write(design_of("mul:int1", technology=hostile)).splitlines()
        assert not [line for line in lines if line.startswith(("import", "os."))]
    assert identifier("fma:bf16*int8+fp32->bf16,rtz") == "fma_bf16_int8_fp32_bf16_rtz"


def test_a_figure_that_is_not_known_is_named() -> None:
    with pytest.raises(ValueError, match="nangate45 does not say the energy of mul:int2"):
        to_component(nangate_design(energy_fj=None))


def test_no_file_is_written_if_one_form_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise YosysError("Yosys is missing")

    monkeypatch.setattr("fmacost.hw.yosys.run_yosys", fail)
    paths = [tmp_path / "x.v", tmp_path / "x.blif"]
    with pytest.raises(YosysError, match="missing"):
        forms.write_forms(paths, design_of("mul:int1"))
    assert not list(tmp_path.iterdir())
