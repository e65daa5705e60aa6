"""Where transistors go: stages of the hierarchy, their sums, and what the command shows."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from fmacost.hw import breakdown as hw_breakdown
from fmacost.hw.architecture import DEFAULT_ARCHITECTURE, Architecture
from fmacost.hw.breakdown import (
    Stage,
    described_unit,
    module_transistors,
    parse_architecture,
    stage_of,
    stage_transistors,
)
from fmacost.hw.synthesis import synthesise
from fmacost.hw.technology import TECHNOLOGIES
from fmacost.hw.yosys import YosysError
from fmacost.reports.breakdown import Breakdown, break_down, breakdown_notes, to_csv, to_markdown
from fmacost.reports.cache import Cache
from fmacost.reports.cli import run
from fmacost.reports.commands import analyses
from fmacost.reports.measure import Measured
from fmacost.reports.row import Proof, Row
from fmacost.sim.check import verify
from fmacost.sim.operation import Kind, parse_unit
from tests.test_row import make_row
from tests.units import assert_exact

CMOS = TECHNOLOGIES["cmos"]
FLOAT = {"decode": 100, "significand multiply": 300, "exponent add": 100, "align": 500}
INTEGER = {"partial products": 600, "compression": 1400, "final add": 0}


def made(row: Row) -> Measured:
    return Measured(
        row=row, netlist=None, counterexample=None, is_cached=True, yosys_seconds=0, seconds=0
    )


def two_units() -> list[Breakdown]:
    return [
        Breakdown(make_row("fma:e4m3fn", transistors=900), FLOAT),
        Breakdown(make_row("fma:int8+int32", transistors=2100), INTEGER),
    ]


@pytest.mark.parametrize(
    ("module", "stage"),
    [
        ("unit", Stage.PACK),
        ("unit.pack", Stage.PACK),
        ("unit.decode_c", Stage.DECODE),
        ("unit.multiply", Stage.MULTIPLY),
        ("unit.normalise", Stage.NORMALISE),
        ("unit.normalise_b", Stage.NORMALISE),
        ("unit.align", Stage.ALIGN),
        ("unit.align.shifter", Stage.ALIGN),
        ("unit.align.exponent_add", Stage.EXPONENT_ADD),
        ("unit.align_product", Stage.ALIGN),
        ("unit.exponent_add", Stage.EXPONENT_ADD),
        ("exponent_add", Stage.EXPONENT_ADD),
        ("unit.add", Stage.ADD),
        ("unit.normalise", Stage.NORMALISE),
        ("unit.round", Stage.ROUND),
        ("unit.partial_products", Stage.PARTIAL_PRODUCTS),
        ("unit.compress", Stage.COMPRESSION),
        ("unit.final_add", Stage.FINAL_ADD),
    ],
)
def test_every_module_belongs_to_a_stage(module: str, stage: Stage) -> None:
    assert stage_of(module) is stage


@pytest.mark.parametrize("module", ["unit.adder", "unit.mystery", "unit.decode"])
def test_a_module_without_a_stage_is_an_error(module: str) -> None:
    with pytest.raises(YosysError, match=f"module {module} belongs to no stage"):
        stage_of(module)


def document(**modules: list[str]) -> str:
    return json.dumps(
        {
            "modules": {
                name: {"cells": {f"g{i}": {"type": kind} for i, kind in enumerate(kinds)}}
                for name, kinds in modules.items()
            }
        }
    )


def test_modules_are_counted_without_their_submodules() -> None:
    text = document(top=["INV", "part", "$scopeinfo"], part=["XOR2", "FA"])
    assert module_transistors(text, CMOS) == {"top": 2, "part": 38}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (document(top=["INV", "$and"]), r"no cells of cmos: \$and"),
        ("{", "cannot be counted"),
        ("{}", "cannot be counted"),
        ('{"modules": {"top": []}}', "cannot be counted"),
    ],
)
def test_what_cannot_be_counted_is_an_error(text: str, message: str) -> None:
    with pytest.raises(YosysError, match=message):
        module_transistors(text, CMOS)


def test_an_architecture_reads_back() -> None:
    other = Architecture(multiplier="booth", reduction="dadda", adder="sklansky")
    for architecture in (DEFAULT_ARCHITECTURE, other):
        assert parse_architecture(str(architecture)) == architecture
    with pytest.raises(ValueError, match="'mux' is no architecture"):
        parse_architecture("mux")


def test_a_float_is_two_integers_and_the_rest() -> None:
    of_float, of_integer = two_units()
    assert (of_float.total, of_float.saved) == (1000, 100)
    assert of_float.groups == {"the two integers": 400, "the complexity": 600}
    assert of_integer.groups == {}
    assert of_integer.saved == -100
    assert of_float.to_json()["stages"] == FLOAT
    assert Row.from_json(of_float.to_json()) == of_float.row


def test_notes_say_the_shares_and_why_an_adder_is_missing() -> None:
    text = "\n".join(breakdown_notes(two_units()))
    assert "fma:e4m3fn: the two integers 40.0%, the complexity 60.0%" in text
    assert "final add 0" in text
    assert "final add 0" not in "\n".join(breakdown_notes(two_units()[:1]))


def test_exports_have_every_stage_and_both_totals() -> None:
    lines = list(csv.DictReader(io.StringIO(to_csv(two_units()))))
    assert len(lines) == len(FLOAT) + len(INTEGER) + 4
    assert lines[1]["stage"] == "significand multiply"
    assert float(lines[1]["share"]) == 0.3
    markdown = to_markdown(two_units())
    assert "| align | 500 |  |" in markdown
    assert "| the two integers | 400 (40.0%) |  |" in markdown
    assert "| flattened | 900 | 2,100 |" in markdown


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Answer everything with made-up rows and stages; return the units whose stages were mapped."""
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "cache"))
    asked: list[str] = []

    def count(operation: Any, technology: Any, **_: object) -> dict[Stage, int]:
        asked.append(str(operation))
        stages = INTEGER if operation.is_integer else FLOAT
        return {Stage(name): n for name, n in stages.items()}

    def measure_all(operations: Any, *_: object) -> list[Measured]:
        architecture = str(DEFAULT_ARCHITECTURE)
        return [
            made(make_row(str(op), transistors=900, architecture=architecture, digest=f"{i:064}"))
            for i, op in enumerate(operations)
        ]

    monkeypatch.setattr(hw_breakdown, "stage_transistors", count)
    monkeypatch.setattr(analyses, "measure_all", measure_all)
    return asked


def test_the_table_has_stages_groups_and_the_difference(
    counted: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["breakdown", "fma:e4m3", "fma:int8+int32"]) == 0
    out = capsys.readouterr().out
    for line in (
        r"^significand multiply +300 +30\.0%$",
        r"^compression +1,400 +70\.0%$",
        r"^the two integers +400 +40\.0%$",
        r"^the complexity +600 +60\.0%$",
        r"^sum of the stages +1,000 +100\.0% +2,000 +100\.0%$",
        r"^saved by flattening +100 +10\.0% +1,100 +55\.0%$",
        r"^flattened +900 +90\.0% +900 +45\.0%$",
    ):
        assert re.search(line, out, re.MULTILINE), line
    assert "'e4m3' is read as e4m3fn" in out


def test_stages_are_cached_with_the_row(
    counted: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert run(["breakdown", "fma:e4m3fn", "--json"]) == 0
    first, second = capsys.readouterr().out.split("\n}\n", 1)
    assert json.loads(f"{first}}}") == json.loads(second)
    assert json.loads(second)["rows"][0]["groups"]["the complexity"] == 600
    assert counted == ["fma:e4m3fn"]
    assert run(["breakdown", "fma:e4m3fn", "--no-cache"]) == 0
    assert len(counted) == 2


def test_stages_of_an_unproven_row_are_not_kept(counted: list[str], tmp_path: Path) -> None:
    store = Cache(tmp_path / "cache", pytest.fail)
    proof = Proof(method="none", vectors=0, mismatches=0, regions={})
    row = make_row(verification=proof, architecture=str(DEFAULT_ARCHITECTURE))
    for _ in range(2):
        break_down(parse_unit("fma:e4m3fn"), CMOS, row, store, timeout_s=1)
    assert len(counted) == 2


@pytest.mark.parametrize("kind", ["json", "csv", "md"])
def test_exports_are_written(kind: str, counted: list[str], tmp_path: Path) -> None:
    path = tmp_path / f"out.{kind}"
    assert run(["breakdown", "fma:e4m3fn", "-q", f"--export-{kind}", str(path)]) == 0
    assert "significand multiply" in path.read_text()


def test_the_plot_stacks_the_stages(counted: list[str], tmp_path: Path) -> None:
    mpl = pytest.importorskip("matplotlib")
    path = tmp_path / "out.svg"
    with mpl.rc_context():
        assert run(["breakdown", "fma:e4m3fn", "fma:int8", "-q", "--plot", str(path)]) == 0
    text = path.read_text()
    for label in ("significand multiply", "compression", "sum 1,000, flattened 900", "300"):
        assert f"<!-- {label} -->" in text
    assert "<!-- final add -->" not in text


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["breakdown", "--help"]) == 0
    assert "  fmacost breakdown fma:e4m3fn" in capsys.readouterr().out


# What follows runs Yosys.


def test_a_product_has_an_exponent_adder_and_a_sum_has_none() -> None:
    stages = stage_transistors(parse_unit("mul:e3m2fn"), CMOS, timeout_s=60)
    assert {Stage.DECODE, Stage.MULTIPLY, Stage.EXPONENT_ADD, Stage.ROUND} <= set(stages)
    assert not {Stage.ALIGN, Stage.ADD} & set(stages)
    assert list(stages) == [stage for stage in Stage if stage in stages]
    stages = stage_transistors(parse_unit("add:e3m2fn"), CMOS, timeout_s=60)
    assert Stage.ALIGN in stages
    assert not {Stage.MULTIPLY, Stage.EXPONENT_ADD} & set(stages)


def test_a_tree_has_a_final_adder_or_says_that_it_needs_none() -> None:
    unit = parse_unit("fma:int4+int16")
    tree = Architecture(multiplier="baugh-wooley", reduction="dadda")
    stages = stage_transistors(unit, CMOS, architecture=tree, timeout_s=60)
    assert list(stages) == [Stage.PARTIAL_PRODUCTS, Stage.COMPRESSION, Stage.FINAL_ADD]
    assert min(stages.values()) > 0
    serial = Architecture(multiplier="baugh-wooley", reduction="serial")
    assert stage_transistors(unit, CMOS, architecture=serial, timeout_s=60)[Stage.FINAL_ADD] == 0


@pytest.mark.parametrize(
    "unit", ["fma:e2m1fn", "fma:int2+int4", "mul:e2m1fn", "add:e2m1fn", "fma:e2m1fn+fixed6.4"]
)
def test_the_described_unit_is_exact_and_each_cell_has_its_stage(unit: str) -> None:
    operation = parse_unit(unit)
    architecture = Architecture(normalise="lza")
    netlist, stages = described_unit(operation, architecture, timeout_s=60)
    assert_exact(operation, verify(operation, netlist))
    assert stages.keys() == {cell.name for cell in netlist.cells}
    mapped = stage_transistors(operation, CMOS, architecture=architecture, timeout_s=60)
    assert set(mapped) <= {*stages.values(), Stage.FINAL_ADD}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unit", "effort"),
    [
        ("fma:e5m2", "quick"),
        ("mul:e4m3fn", "quick"),
        ("fma:e4m3fn", "normal"),
        ("fma:int8+int32", "normal"),
        pytest.param("fma:e5m2", "normal", marks=pytest.mark.sweep),
        pytest.param("mul:e4m3fn", "normal", marks=pytest.mark.sweep),
    ],
)
def test_stages_add_up_to_about_the_flattened_unit(unit: str, effort: str) -> None:
    operation = parse_unit(unit)
    flat = synthesise(operation, CMOS, effort=effort)
    stages = stage_transistors(
        operation, CMOS, architecture=parse_architecture(flat.architecture), timeout_s=120
    )
    total = sum(stages.values())
    # Stages are mapped and not resubstituted: beside a unit of which that is true as well.
    mapped = min(c.cost for c in flat.candidates if not c.recipe.endswith("+resubstitution"))
    # A product alone loses more by its borders, and by resubstitution.
    assert abs(total - mapped) <= (0.25 if operation.kind is Kind.MUL else 0.15) * mapped
    if operation.kind is not Kind.MUL:
        count = CMOS.transistor_count(flat.netlist)
        assert abs(total - count) <= 0.15 * count
