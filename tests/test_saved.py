"""Saved tables: what was exported is read back, and everything else is refused in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from fmacost.reports.errors import InputError
from fmacost.reports.export import to_csv, to_json
from fmacost.reports.row import Proof
from fmacost.reports.saved import flatten, is_proven, read_table
from tests.test_compare import make_comparison
from tests.test_row import make_row

UNPROVEN = Proof(method="none", vectors=0, mismatches=0, regions={})
WRONG = Proof(method="sampled", vectors=9, mismatches=1, regions={})


def written(tmp_path: Path, content: str, name: str = "table") -> Path:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return path


def test_json_and_csv_read_back_the_same(tmp_path: Path) -> None:
    records = make_comparison("int8", "e4m3fn").records()
    from_json = read_table(written(tmp_path, to_json(records)))
    assert from_json == read_table(written(tmp_path, to_csv(records)))
    assert [r["unit"] for r in from_json] == [r["unit"] for r in records]
    assert from_json[0]["transistors"] == records[0]["transistors"]
    assert type(from_json[0]["transistors"]) is int


def test_a_point_that_failed_has_a_reason_and_no_numbers(tmp_path: Path) -> None:
    failed = {"unit": "fma:fp32", "technology": "cmos", "error": "took too long"}
    (found,) = read_table(written(tmp_path, json.dumps({"schema": 1, "rows": [failed]})))
    assert found == failed
    in_csv = "unit,technology,transistors,error\nfma:fp32,cmos,,took too long\n"
    assert read_table(written(tmp_path, in_csv)) == [failed]
    assert not is_proven(failed)


@pytest.mark.parametrize(("proof", "proven"), [(None, True), (UNPROVEN, False), (WRONG, False)])
def test_proof_is_read(proof: Proof | None, proven: bool) -> None:
    row = make_row() if proof is None else make_row(verification=proof)
    (record,) = flatten(row.to_json())
    assert is_proven(record) is proven


def test_stages_are_lines() -> None:
    record = {**make_row(transistors=9).to_json(), "stages": {"align": 7, "add": 4}}
    lines = [(r["stage"], r["transistors"]) for r in flatten({**record, "stages_sum": 11})]
    assert lines == [("align", 7), ("add", 4), ("sum of the stages", 11), ("flattened", 9)]


def rows(**changes: Any) -> str:
    return json.dumps({"schema": 1, "rows": [{**make_row().to_json(), **changes}]})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no column 'unit'"),
        ("hello\n", "no column 'unit'"),
        ("a,b\n1,2\n", "no column 'unit'"),
        ("unit,unit\na,b\n", "two columns have the same name"),
        ("unit,transistors\n", "it has no rows"),
        ("unit,transistors\nfma:int8\n", "line 2 has 1 cells, the first line 2"),
        ("unit,transistors\nfma:int8,many\n", "line 2: transistors must be a number, not 'many'"),
        ("unit,transistors\nfma:int8,inf\n", "line 2: transistors must be a finite number"),
        ("unit,transistors\n,5\n", "line 2: it has no unit"),
        ("unit,schema,transistors\nfma:int8,2,5\n", "its schema is '2', this fmacost reads 1"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "no list 'rows'"),
        ('{"rows": []}', "its schema is 'None'"),
        ('{"schema": 2, "rows": []}', "its schema is '2', this fmacost reads 1; export it again"),
        ('{"schema": 1, "rows": []}', "it has no rows"),
        ('{"schema": 1, "rows": [3]}', "row 1 must be an object"),
        ('{"schema": 1, "rows": [{"unit": 3}]}', "row 1: unit must be text"),
        (rows(transistors="5"), "row 1: transistors must be a finite number, not '5'"),
        (rows(transistors=True), "row 1: transistors must be a finite number"),
        (rows(delay_fo4=float("nan")), "NaN is no number"),
    ],
)
def test_what_is_no_table_is_refused(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_table(written(tmp_path, content))
    assert "\n" not in str(caught.value)


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*: No such file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"cannot read .*: Is a directory"):
        read_table(tmp_path)
    (tmp_path / "bytes").write_bytes(b"unit\n\xff\n")
    with pytest.raises(InputError, match="not text"):
        read_table(tmp_path / "bytes")
