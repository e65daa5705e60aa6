"""Exports say the same as the rows, and files are written whole or not at all."""

import csv
import io
import json
import os
from pathlib import Path

import pytest

from fmacost.reports.errors import InputError
from fmacost.reports.export import (
    EXPORTERS,
    check_writable,
    to_csv,
    to_json,
    to_latex,
    to_markdown,
    write_atomic,
    write_output,
)
from fmacost.reports.row import Proof
from tests.test_compare import make_comparison
from tests.test_row import make_row

RECORDS = [make_row().to_json(), make_row("mul:fp16->bf16,rtz", "cmos2").to_json()]
ODD = make_row(unit="a|b_c&d", recipe='say "x", \\y\n$1%').to_json()


def test_json_is_one_document() -> None:
    assert json.loads(to_json(RECORDS)) == {"schema": 1, "rows": RECORDS}


def test_csv_has_a_flat_column_for_every_metric() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(RECORDS))))
    assert [row["unit"] for row in rows] == ["fma:e4m3fn", "mul:fp16->bf16,rtz"]
    assert rows[0]["transistors"] == "2400"
    assert rows[0]["gates_ge"] == "600.0"
    assert rows[0]["vectors"] == str(1 << 24)
    assert rows[0]["verification_method"] == "exhaustive"
    assert rows[0]["cell_counts"] == "FA=4 NAND2=396"
    assert "ratio_transistors" not in rows[0]


def test_csv_quotes_what_it_must() -> None:
    (row,) = csv.DictReader(io.StringIO(to_csv([ODD])))
    assert row["unit"] == ODD["unit"]
    assert row["recipe"] == ODD["recipe"]


def test_csv_of_a_comparison_has_lines_and_ratios() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(make_comparison("int8", "e4m3fn").records()))))
    assert rows[1]["accumulator"] == "same format"
    assert float(rows[1]["ratio_transistors"]) == 1.2


def test_markdown_has_a_row_each_and_escapes() -> None:
    lines = to_markdown([*RECORDS, ODD]).splitlines()
    assert lines[0].startswith("| unit | technology | cells | GE | transistors |")
    assert lines[1] == "| --- | --- | ---: | ---: | ---: | ---: | --- |"
    assert "2,400" in lines[2]
    assert lines[4].startswith("| a\\|b\\_c&d |")
    bars = [line.replace("\\|", "").count("|") for line in lines]
    assert len(set(bars)) == 1


def test_latex_has_a_row_each_and_escapes() -> None:
    text = to_latex([*RECORDS, ODD])
    assert text.startswith("\\begin{tabular}{llrrrrl}")
    assert r"a|b\_c\&d" in text
    assert r"fp16-\textgreater{}bf16" in text
    assert r"2\textasciicircum{}24" in text
    assert text.count(r" \\") == 4


def test_exports_tell_of_a_mismatch() -> None:
    proof = Proof(method="sampled", vectors=10, mismatches=3, regions={})
    records = [make_row(verification=proof).to_json()]
    for export in (to_markdown, to_latex):
        assert "MISMATCH on 3 of 10" in export(records)


@pytest.mark.parametrize("kind", sorted(EXPORTERS))
def test_every_export_takes_no_rows(kind: str) -> None:
    assert isinstance(EXPORTERS[kind]([]), bytes if kind == "parquet" else str)


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.csv"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fmacost.reports.export.os.replace", full)
    with pytest.raises(InputError, match=r"cannot write .*out\.csv: No space left on device"):
        write_output(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]


def test_a_new_file_gets_usual_permissions_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_text("")
    old.chmod(0o640)
    umask = os.umask(0o022)
    try:
        write_atomic(new, b"x")
        write_atomic(old, b"x")
    finally:
        os.umask(umask)
    assert new.stat().st_mode & 0o777 == 0o644
    assert old.stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_output(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_device_stays_a_device() -> None:
    path = Path(os.devnull)
    check_writable(path)
    write_output(path, "anything")
    assert not path.is_file()


def test_unwritable_paths_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, reason in (
        (tmp_path, "it is a folder"),
        (tmp_path / "none" / "x.csv", "No such file or directory"),
        (tmp_path / "file" / "x.csv", "Not a directory"),
    ):
        with pytest.raises(InputError, match=f"cannot write {path}: {reason}"):
            check_writable(path)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
