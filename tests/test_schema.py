"""The JSON Schema of exported documents: kept in step with the code, and true of real exports."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from fmacost.reports.cli import run
from fmacost.reports.row import SCHEMA, document
from fmacost.reports.schema import document_schema
from tests import fake_hw
from tests.fake_hw import FakeHardware
from tests.test_compare import make_comparison

FILE = Path(__file__).parent.parent / "docs" / "reference" / f"schema-{SCHEMA}.json"
CHECK = Draft202012Validator(json.loads(FILE.read_text(encoding="utf-8")))
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def private_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def hardware(monkeypatch: pytest.MonkeyPatch) -> FakeHardware:
    return fake_hw.install(monkeypatch)


def exported(capsys: Capture, *arguments: str, code: int = 0) -> Any:
    assert run([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_the_file_is_what_the_code_says() -> None:
    CHECK.check_schema(CHECK.schema)
    again = "python -m fmacost.reports.schema makes it anew"
    assert CHECK.schema == document_schema(), again


@pytest.mark.parametrize(
    "command",
    ["formats", "technologies", "technologies nangate45", "explain 464 --to e4m3fn", "cache"],
)
def test_lookups_are_documents(command: str, capsys: Capture) -> None:
    CHECK.validate(exported(capsys, *command.split()))


@pytest.mark.usefixtures("hardware")
def test_cost_rows_are_documents(capsys: Capture) -> None:
    for command in ("synth", "verify"):
        CHECK.validate(exported(capsys, command, "mul:int2", "mul:e1m0f"))
    CHECK.validate(document(make_comparison("int8", "e4m3fn").records()))


def test_a_mismatch_is_a_document(hardware: FakeHardware, capsys: Capture) -> None:
    hardware.flip = 1
    CHECK.validate(exported(capsys, "synth", "mul:int2", code=1))


def test_a_failed_point_is_in_a_document() -> None:
    failed = {"unit": "mul:int2", "technology": "cmos", "error": "took longer than 1 s"}
    CHECK.validate(document([failed]))
    with pytest.raises(ValidationError, match="'unit' is a required property"):
        CHECK.validate(document([{"technology": "cmos", "error": "why"}]))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("transistors", "1,000"),
        ("transistors", 10.5),
        ("digest", "abc"),
        ("cell_counts", {"INV": "two"}),
        ("verification", {"method": "believed", "vectors": 1, "mismatches": 0, "regions": {}}),
        ("candidates", {"count": 1}),
        ("schema", 2),
    ],
)
def test_a_wrong_field_is_refused(field: str, value: object) -> None:
    (row, *_) = make_comparison("int8", "e4m3fn").records()
    CHECK.validate(document([row]))
    with pytest.raises(ValidationError):
        CHECK.validate(document([row | {field: value}]))
    with pytest.raises(ValidationError):
        CHECK.validate(document([{name: row[name] for name in row if name != "semantics"}]))


def test_another_document_is_refused() -> None:
    wrong: tuple[object, ...] = ([], {"schema": 1}, {"schema": 2, "rows": []})
    assert not any(CHECK.is_valid(one) for one in (*wrong, {"schema": 1, "rows": [1]}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "synth mul:int2 --effort quick --pipeline 1 -t nangate45",
        "energy mul:int1 add:int1 --effort quick --glitches -t cmos -t nangate45",
        "breakdown mul:e1m0f --effort quick",
        "curve mul:int1 -t nangate45 --effort quick",
        "sweep --units mul:int{1..2} --effort quick -j1",
        "doctor",
    ],
)
def test_real_exports_are_documents(command: str, capsys: Capture) -> None:
    CHECK.validate(exported(capsys, *command.split()))
