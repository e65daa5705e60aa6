"""Two tables: what moved, and which way is worse."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fmacost.reports.cli import run
from fmacost.reports.diff import Difference, compare_tables, parse_limit
from fmacost.reports.errors import InputError
from fmacost.reports.export import to_csv, to_json
from fmacost.reports.row import Proof, Row
from fmacost.reports.saved import flatten
from tests.test_row import make_row

Capture = pytest.CaptureFixture[str]
UNPROVEN = Proof(method="none", vectors=0, mismatches=0, regions={})


def records(*rows: Row) -> list[dict[str, Any]]:
    return [record for row in rows for record in flatten(row.to_json())]


def between(old: Row, new: Row, *limits: str) -> Difference:
    return compare_tables(records(old), records(new), [parse_limit(text) for text in limits])


@pytest.mark.parametrize(
    ("limit", "old", "new", "is_worse"),
    [
        ("transistors:2%", 100, 102, False),
        ("transistors:2%", 100, 103, True),
        ("transistors:2 %", 100, 50, False),
        ("transistors:0", 100, 100, False),
        ("transistors:0", 100, 101, True),
        ("transistors:5", 100, 105, False),
        ("transistors:5", 100, 106, True),
        ("transistors:2%", 0, 1, True),
        ("delay_fo4:0.1%", 100.0, 100.1, False),
        ("fmax_ghz:2%", 1.0, 0.9, True),
        ("fmax_ghz:2%", 1.0, 2.0, False),
        ("slack_ps:1%", -100.0, -102.0, True),
        ("slack_ps:1%", -100.0, -99.0, False),
    ],
)
def test_worse_is_what_the_metric_says(limit: str, old: float, new: float, is_worse: bool) -> None:
    name = limit.partition(":")[0]
    before: dict[str, Any] = {name: old}
    found = between(make_row(**before), make_row(**{**before, name: new}), limit)
    assert (found.regressions == 1) is is_worse


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("transistors", "takes METRIC:AMOUNT"),
        ("transistors:", "takes METRIC:AMOUNT"),
        ("transistors:-2%", "takes METRIC:AMOUNT"),
        ("transistors:2%%", "takes METRIC:AMOUNT"),
        ("transistr:2%", "'transistr' is no metric; did you mean transistors?"),
        ("unit:2", "'unit' is no better when larger or smaller"),
    ],
)
def test_a_limit_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        parse_limit(text)


def test_rows_are_told_apart_by_what_they_are_of() -> None:
    old = records(make_row("a"), make_row("b"), make_row("b", objective="delay"))
    new = records(make_row("b", transistors=2000), make_row("c"), make_row("b", "cmos2"))
    found = compare_tables(old, new)
    assert [(c.what, c.key["unit"], c.verdict) for c in found.changes] == [
        ("moved", "b", "better"),
        ("appeared", "c", "appeared"),
        ("appeared", "b", "appeared"),
        ("went", "a", "went"),
        ("went", "b", "went"),
    ]
    assert (found.same, found.moved, found.regressions) == (0, 1, 0)
    assert found.changes[0].percent == pytest.approx(-100 / 6)


def test_points_and_registers_are_told_apart() -> None:
    points = [make_row(objective="curve", transistors=n) for n in (10, 20)]
    pipelines = [make_row(architecture=f"x, ripple, pipeline {n}", flip_flops=n) for n in (1, 2)]
    old = records(*points, *pipelines)
    found = compare_tables(old, records(*points[:1], *pipelines[1:]))
    assert [c.key.get("point", c.key.get("registers")) for c in found.changes] == [2, "pipeline 1"]


def test_a_lost_proof_is_a_regression_where_there_is_a_limit() -> None:
    unproven = make_row(verification=UNPROVEN)
    for limits, count in (((), 0), (("cells:5%",), 1)):
        found = between(make_row(), unproven, *limits)
        assert found.changes[0].what == "failed"
        assert found.regressions == count
    assert between(unproven, make_row(), "cells:5%").changes[0].what == "mended"


def test_a_point_that_failed_is_named_with_its_reason() -> None:
    failed = {"unit": "fma:e4m3fn", "technology": "cmos", "objective": "area", "effort": "normal",
              "error": "took too long"}  # fmt: skip
    (change,) = compare_tables(records(make_row()), [failed], [parse_limit("cells:1%")]).changes
    assert (change.what, change.note, change.is_regression) == ("failed", "took too long", True)


def test_a_metric_of_one_table_is_said_and_not_compared() -> None:
    found = between(make_row(), make_row(delay_ps=5.0))
    assert (found.only_old, found.only_new, found.changes) == ((), ("delay_ps",), ())


@pytest.fixture
def tables(tmp_path: Path) -> tuple[str, str]:
    """Return a JSON table, and a CSV one with a larger unit."""
    old, new = tmp_path / "old.json", tmp_path / "new.csv"
    old.write_text(to_json([make_row().to_json(), make_row("mul:int8").to_json()]))
    new.write_text(to_csv([make_row(transistors=2500).to_json()]))
    return str(old), str(new)


def test_the_command_says_what_moved(tables: tuple[str, str], capsys: Capture) -> None:
    assert run(["diff", *tables]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^fma:e4m3fn +cmos +transistors +2,400 +2,500 +\+4\.2 % +worse$", out, re.M)
    assert re.search(r"^mul:int8 +cmos +went$", out, re.M)
    assert "1 rows moved, 0 did not, 1 went." in out


def test_a_regression_is_exit_code_1(tables: tuple[str, str], capsys: Capture) -> None:
    assert run(["diff", *tables, "--fail-on", "transistors:5%", "--fail-on", "cells:0"]) == 0
    assert run(["diff", *tables, "--fail-on", "transistors:4%"]) == 1
    assert "REGRESSION" in capsys.readouterr().out
    assert run(["diff", *tables[::-1], "--fail-on", "transistors:4%"]) == 0


def test_json_has_every_change(tables: tuple[str, str], capsys: Capture) -> None:
    assert run(["diff", *tables, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    assert [(r["change"], r.get("metric"), r["verdict"]) for r in document["rows"]] == [
        ("moved", "transistors", "worse"),
        ("went", None, "went"),
    ]
    assert document["rows"][0]["change_percent"] == pytest.approx(4.166667)


def test_markdown_folds_what_is_no_regression(tables: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "out.md"
    limit = ["--fail-on", "transistors:1%"]
    assert run(["diff", *tables, "-q", *limit, "--export-md", str(path)]) == 1
    head, _, folded = path.read_text().partition("<details>")
    assert "| fma:e4m3fn | cmos | transistors | 2,400 | 2,500 | +4.2 % | REGRESSION |" in head
    assert "| mul:int8 | cmos |  |  |  |  | went |" in folded
    assert "1 regression." in head


@pytest.mark.parametrize("place", [0, 1])
def test_what_is_no_table_is_exit_code_2(
    place: int, tables: tuple[str, str], tmp_path: Path, capsys: Capture
) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"schema": 9, "rows": []}')
    arguments = list(tables)
    arguments[place] = str(wrong)
    assert run(["diff", *arguments]) == 2
    err = capsys.readouterr().err
    assert "its schema is '9', this fmacost reads 1" in err
    assert err.count("\n") == 1
