"""Plots of saved tables: what they show, the same bytes each time, and what they refuse."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fmacost.reports.commands import app
from fmacost.reports.errors import InputError
from fmacost.reports.facets import FACETS, choose, facet
from fmacost.reports.metrics import METRICS
from fmacost.reports.options import PlotKind
from fmacost.reports.plots import bars as plots
from fmacost.reports.plots.saved import Wish, draw_table
from fmacost.reports.widths import FLOATING, SENSES, SMALLEST, USUAL, panels, usual_split
from fmacost.sim.operation import parse_unit

pytest.importorskip("matplotlib")

STARTS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
Record = dict[str, Any]


def made(unit: str, transistors: int, **others: object) -> Record:
    proof = {"verification_method": "exhaustive", "vectors": 16, "mismatches": 0}
    name = str(parse_unit(unit))
    return {"unit": name, "technology": "cmos", "transistors": transistors, **proof, **others}


def widths() -> list[Record]:
    cheap = [made("fma:int2", 66), made("fma:e0m1f", 38), made("fma:e1m0f", 40)]
    four = [made(f"fma:{f}", n) for f, n in (("int4", 250), ("e1m2f", 500), ("e2m1f", 750))]
    return [*cheap, *four, made("fma:e3m0f", 700)]


def energies() -> list[Record]:
    parts = {"input_energy_fj": 3.5, "net_energy_fj": 20.0, "glitch_energy_fj": 41.0}
    return [
        made("fma:int8", 900, stream="uniform", energy_fj=64.5, **parts),
        made("fma:e4m3fn", 2200, stream="gaussian", energy_fj=64.5, **parts),
    ]


def stages() -> list[Record]:
    lines = {"decode": 12, "significand multiply": 80, "sum of the stages": 92, "flattened": 90}
    return [made("mul:e4m3fn", n, stage=stage) for stage, n in lines.items()]


def curve() -> list[Record]:
    points = [(100, 9.0), (80, 12.0), (90, 20.0)]
    return [made("mul:int4", n, delay_fo4=t) for n, t in points]


def bars() -> list[Record]:
    return [made("mul:int8", 1300), made("mul:e4m3fn", 800), made("fma:int8", 900)]


EXAMPLES = {
    PlotKind.BARS: bars(),
    PlotKind.LINES: widths(),
    PlotKind.HEATMAP: widths(),
    PlotKind.FRONTIER: curve(),
    PlotKind.ENERGY: energies(),
}


def labels(records: Sequence[Record], kind: PlotKind, **wish: Any) -> set[str]:
    """Return all texts of a plot."""
    content = draw_table(records, kind, ".svg", Wish(**wish)).decode()
    return set(re.findall("<!-- (.*?) -->", content))


def write_csv(path: Path, records: Iterable[Record]) -> Path:
    rows = list(records)
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [names, *([str(row.get(name, "")) for name in names] for row in rows)]
    path.write_text("".join(",".join(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [*((kind, ".svg") for kind in PlotKind), (PlotKind.BARS, ".png"), (PlotKind.BARS, ".pdf")],
)
def test_a_plot_is_the_same_bytes_each_time(kind: PlotKind, suffix: str) -> None:
    content = draw_table(EXAMPLES[kind], kind, suffix)
    assert content.startswith(STARTS[suffix])
    assert draw_table(EXAMPLES[kind], kind, suffix) == content


def test_the_command_draws_a_table(tmp_path: Path) -> None:
    table, picture = write_csv(tmp_path / "t.csv", widths()), tmp_path / "p.svg"
    done = CliRunner().invoke(app, ["plot", str(table), "--kind", "lines", "-o", str(picture)])
    assert (done.exit_code, done.output) == (0, "")
    assert picture.read_bytes() == draw_table(widths(), PlotKind.LINES, ".svg")


def test_lines_name_what_they_are() -> None:
    found = labels(widths(), PlotKind.LINES)
    assert {"fma", "integer", "usual split", "smallest, E ≥ 2", "smallest"} <= found
    assert "bits of an operand" in found


def test_a_heat_map_has_every_float_and_no_integer() -> None:
    found = labels(widths(), PlotKind.HEATMAP)
    assert {"38", "40", "500", "750", "700", "e2m1", "4 bits"} <= found
    assert not {"66", "250"} & found


def test_stages_lie_on_each_other_beside_their_sum() -> None:
    found = labels(stages(), PlotKind.BARS)
    assert {"decode", "significand multiply", "12", "80", "sum 92, flattened 90"} <= found


def test_parts_of_an_energy_are_named_with_their_sum() -> None:
    found = labels(energies(), PlotKind.ENERGY)
    assert {"inputs fJ", "nets fJ", "glitches fJ", "64.5", "uniform", "gaussian"} <= found


def test_the_parts_of_an_energy_are_all_that_are_declared() -> None:
    names = [metric.name for metric in METRICS]
    known = {"_energy_fj": plots._ENERGIES, "_capacitance": plots._CAPACITANCES}
    for end, fields in known.items():
        assert set(fields) == {n for n in names if n.endswith(end)} - {"switched_capacitance"}


def test_an_energy_without_parts_is_one_bar() -> None:
    rows = [made("mul:int4", 9, energy_fj=7.0), made("mul:int8", 9, energy_fj=70.0)]
    assert {"7", "70.0"} <= labels(rows, PlotKind.ENERGY)


def test_bars_are_ratios_to_a_base() -> None:
    found = labels(bars(), PlotKind.BARS, x="kind", series="operands", base="int8")
    assert {"0.62x", "1.00x", "int8", "e4m3fn"} <= found


def test_what_is_not_proven_is_said() -> None:
    wrong = [{**row, "mismatches": 1} for row in stages()]
    assert "NOT VERIFIED" in labels(wrong, PlotKind.BARS)
    wrong = [{**row, "vectors": 0} for row in bars()]
    assert any("NOT VERIFIED" in text for text in labels(wrong, PlotKind.BARS))


def test_points_that_another_one_beats_are_no_part_of_a_frontier() -> None:
    whole = draw_table(curve(), PlotKind.FRONTIER, ".svg")
    assert draw_table(curve()[:2], PlotKind.FRONTIER, ".svg") == whole


@pytest.mark.parametrize(
    ("records", "arguments", "message"),
    [
        (bars(), ["--kind", "lines"], "no integers and floats of as many bits"),
        (bars(), ["--kind", "heatmap"], "no splits of floats"),
        (bars(), ["--kind", "energy"], "no energies"),
        (bars(), ["--kind", "frontier"], "no delays"),
        (bars(), ["--kind", "bars", "--metric", "area_um2"], "no numbers called 'area_um2'"),
        (bars(), ["--kind", "bars", "--x", "units"], "grouped by 'units'; did you mean unit?"),
        (bars(), ["--kind", "bars", "--series", "kind", "--base", "dot"], "no kind is 'dot'"),
        (bars(), ["--kind", "bars", "--where", "kind=add"], "no row has kind=add"),
        (bars(), ["--kind", "bars", "--where", "kind"], "'kind' is no condition"),
        ([*bars(), *bars()], ["--kind", "bars"], "two rows for unit mul:int8"),
        ([*widths(), *widths()], ["--kind", "lines"], "two rows for fma:int2"),
        ([{**bars()[0], "unit": "mul:int"}], ["--kind", "lines"], "a unit that is none"),
        ([{"unit": "mul:int8", "error": "no"}], ["--kind", "bars"], "no row with numbers"),
        ([{**bars()[0], "schema": 2}], ["--kind", "bars"], "its schema is '2'"),
    ],
)
def test_a_table_without_what_is_needed_is_refused(
    records: list[Record], arguments: list[str], message: str, tmp_path: Path
) -> None:
    table, picture = write_csv(tmp_path / "t.csv", records), tmp_path / "p.svg"
    done = CliRunner().invoke(app, ["plot", str(table), "-o", str(picture), *arguments])
    assert isinstance(done.exception, InputError)
    assert message.replace("'2'", "2") in str(done.exception).replace("'2'", "2")
    assert "\n" not in str(done.exception)
    assert not picture.exists()


def test_a_table_without_rows_and_another_suffix_are_refused(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("unit,transistors\n", encoding="utf-8")
    with pytest.raises(InputError, match="it has no rows"):
        CliRunner().invoke(
            app, ["plot", str(table), "--kind", "bars", "-o", str(tmp_path / "p.svg")],
            catch_exceptions=False,
        )  # fmt: skip
    with pytest.raises(InputError, match=r"must end in one of \.png"):
        CliRunner().invoke(
            app, ["plot", str(table), "--kind", "bars", "-o", str(tmp_path / "p.gif")],
            catch_exceptions=False,
        )  # fmt: skip


def test_parts_of_units_are_found_in_their_names() -> None:
    record = made("fma:e4m3fn+fp16,rtz", 1, effort="quick")
    expected = {
        "kind": "fma", "operands": "e4m3fn", "addend": "fp16", "options": "rtz", "split": "e4m3",
        "specials": "fn", "width": "8", "effort": "quick", "stage": "",
    }  # fmt: skip
    assert {name: facet(record, name) for name in expected} == expected
    assert expected.keys() <= set(FACETS)
    assert facet(made("mul:int4", 1), "addend") == "none"
    assert choose(bars(), ["kind=mul,add", "operands=int8"]) == bars()[:1]


def test_each_sense_of_a_float_of_n_bits() -> None:
    (panel,) = panels(widths())
    assert panel.widths == [2, 4]
    best = {sense: panel.best(4, sense, "transistors") for sense in SENSES}
    assert {sense: found and found[0] for sense, found in best.items()} == {
        SMALLEST: (1, 2), FLOATING: (3, 0), USUAL: (2, 1),
    }  # fmt: skip
    assert panel.best(2, FLOATING, "transistors") is None
    assert panel.ratio(4, USUAL, "transistors") == 3.0
    assert panel.gap(4, USUAL, "transistors") == 500
    assert [usual_split(n) for n in (4, 6, 8, 16)] == [(2, 1), (3, 2), (4, 3), (5, 10)]


def test_addends_of_one_width_stand_side_by_side() -> None:
    units = ("int4+int16", "e2m1f+fp16", "e2m1f+int16", "e2m1f+fp16,rtz", "int4*int8+int16")
    (panel,) = panels([made(f"fma:{unit}", 1) for unit in units])
    assert panel.name == "fma, 16-bit addend"
    assert [len(panel.integers), len(panel.floats[4])] == [1, 1]
