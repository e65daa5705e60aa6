"""What features cost: the variants of a unit, and how the command shows them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fmacost.reports.ablate import WHOLE, ablation_table, left_out, records, variants
from fmacost.reports.cli import run
from fmacost.reports.commands import analyses
from fmacost.reports.measure import Measured
from fmacost.reports.row import Proof, Row
from fmacost.reports.terminal import Terminal
from fmacost.sim.operation import parse_unit
from tests.test_row import make_row
from tests.units import check_units


def units(text: str) -> list[str]:
    return [str(variant.operation) for variant in variants(parse_unit(text))]


def test_the_features_of_a_float() -> None:
    assert units("fma:e4m3fn") == [
        "fma:e4m3fn",
        "fma:e4m3fn,daz",
        "fma:e4m3fn,ftz",
        "fma:e4m3fn,daz,ftz",
        "fma:e4m3f",
        "fma:e4m3fn,rtz",
        "fma:e4m3fn,sr4",
        "fma:e4m3fn,sat",
        "fma:e4m3b7fnuz",
        "fma:e4m3f,rtz,daz,ftz",
        "fma:e4m3fn+fp16",
        "fma:e4m3fn+fp32",
        "fma:e4m3fn+fixed24.18",
        "mul:e4m3fn",
    ]


def test_the_features_of_an_integer() -> None:
    assert units("fma:int8+int32") == [
        "fma:int8+int32",
        "fma:int8+int32,sat",
        "fma:uint8+uint32",
        "fma:int8",
        "fma:int8+int16",
        "fma:int8+int21",
        "mul:int8",
    ]
    assert units("add:int8,sat") == ["add:int8,sat", "add:int8", "add:uint8,sat"]


def test_what_a_unit_has_not_cannot_be_removed() -> None:
    found = units("mul:e2m1fn,rtz")
    assert found == ["mul:e2m1fn,rtz", "mul:e2m1fn,rtz,daz", "mul:e2m1fn,rtz,ftz",
                     "mul:e2m1fn,rtz,daz,ftz"]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["fma:e4m3fn", "fma:e5m2,sat", "fma:int8+int32", "fma:bf16*int8+fp32", "add:fp16+fp32",
     "fma:e4m3fn+exact32", "fma:e0m0f", "fma:int1", "mul:fp32", "fma:uint4*int4+int16,sat",
     "fma:int40+int64", "fma:fixed2.2"],
)  # fmt: skip
def test_every_variant_is_an_operation_of_its_own(text: str) -> None:
    found = variants(parse_unit(text))
    assert found[0].feature == WHOLE
    assert len({variant.operation for variant in found}) == len(found)
    assert len({variant.feature for variant in found}) == len(found)
    for variant in found:
        assert parse_unit(str(variant.operation)) == variant.operation


def test_what_is_left_out_is_said_for_floats_alone() -> None:
    assert any("sign" in note for note in left_out(parse_unit("fma:e4m3fn")))
    assert left_out(parse_unit("fma:int8")) == []


def rows_of(text: str) -> dict[str, Row]:
    """Return made-up rows: 1,000 transistors, each variant 10 fewer than the one before."""
    return {unit: make_row(unit, transistors=1000 - 10 * i) for i, unit in enumerate(units(text))}


def test_differences_are_from_the_whole_unit() -> None:
    found = records(variants(parse_unit("fma:e4m3fn")), rows_of("fma:e4m3fn"))
    assert [r["difference_transistors"] for r in found[:3]] == [0, -10, -20]
    assert found[1]["feature"] == "subnormal operands (daz)"
    assert found[1]["ratio_transistors"] == 0.99
    assert all(Row.from_json(record) for record in found)


def test_a_variant_that_is_not_proven_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of("fma:e4m3fn")
    proof = Proof(method="none", vectors=0, mismatches=0, regions={})
    rows["fma:e4m3f"] = make_row("fma:e4m3f", verification=proof)
    Terminal().show(ablation_table(variants(parse_unit("fma:e4m3fn")), rows))
    assert re.search(r"fma:e4m3f +2,400 +\+1,400 +\+140\.0% +NOT VERIFIED", capsys.readouterr().out)


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure_all(operations: Any, *_: object) -> list[Measured]:
        rows = rows_of(str(operations[0]))
        return [
            Measured(
                row=rows[str(op)], netlist=None, counterexample=None, is_cached=True,
                yosys_seconds=0, seconds=0,
            )
            for op in operations
        ]  # fmt: skip

    monkeypatch.setattr(analyses, "measure_all", measure_all)


def test_the_command_shows_difference_and_verification(
    made_up: None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "out.md"
    assert run(["ablate", "fma:e4m3", "--export-md", str(path)]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^whole unit +fma:e4m3fn +1,000 +exhaustive, 2\^24$", out, re.MULTILINE)
    assert re.search(r"fma:e4m3fn,rtz +950 +-50 +-5\.0% +exhaustive, 2\^24$", out, re.MULTILINE)
    assert "sign: left out" in out
    assert "'e4m3' is read as e4m3fn" in out
    assert "fma:e4m3fn,rtz" in path.read_text()


def test_the_command_as_json(made_up: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ablate", "fma:int8+int32", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["unit"] for row in rows] == units("fma:int8+int32")
    assert rows[2]["feature"] == "sign (unsigned)"


def test_a_unit_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ablate", "fma:e4m3x"]) == 2
    assert run(["ablate", "--help"]) == 0
    assert "  fmacost ablate fma:e4m3fn" in capsys.readouterr().out


# What follows runs Yosys.


@pytest.mark.slow
@pytest.mark.parametrize("text", ["fma:e4m3fn", "fma:int8+int32", "fma:e5m2"])
def test_every_variant_equals_the_reference_without_the_feature(text: str) -> None:
    assert check_units([v.operation for v in variants(parse_unit(text))]) > 2**24
