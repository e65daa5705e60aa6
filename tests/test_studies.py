"""The committed studies: their tables are complete and right, plots and pages follow from them."""

import importlib.metadata
import random
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from fmacost.hw.technology import TECHNOLOGIES, get_technology
from fmacost.reports.documents import studies
from fmacost.reports.documents.regions import documents
from fmacost.reports.documents.rows import DocumentError
from fmacost.reports.documents.studies import PICTURES, show_moved
from fmacost.reports.documents.study_tables import STAGES, StudyTables, lean_csv
from fmacost.reports.documents.study_texts import FIELD, integers_share
from fmacost.reports.errors import InputError
from fmacost.reports.grid import expand, expand_units
from fmacost.reports.measure import Settings, measure
from fmacost.reports.saved import is_proven, read_table
from fmacost.reports.studies import EFFORT, STUDIES
from fmacost.reports.terminal import Terminal, UnitWatcher
from fmacost.reports.widths import FLOATING, USUAL, Panel, panels
from fmacost.sim.operation import parse_unit

ROOT = Path(__file__).resolve().parent.parent
STABLE = StudyTables(ROOT / "docs" / "studies")
SAMPLED = 6  # rows of each study that the slow test measures
SMALL_BITS = 26  # of all inputs of such a row


def run(*arguments: str) -> tuple[int, str]:
    tool = typer.Typer(add_completion=False)
    tool.command()(studies.main)
    done = CliRunner().invoke(tool, [str(ROOT), *arguments])
    return done.exit_code, done.output


@pytest.mark.parametrize("name", STUDIES)
def test_a_table_has_every_point_of_its_study_proven(name: str) -> None:
    grid = STUDIES[name].grid()
    points = expand(grid, expand_units(grid.units).operations, grid.technology)
    rows = STABLE(name)
    assert {(r["unit"], r["technology"], r["objective"], r["effort"]) for r in rows} == {
        point.identity[:4] for point in points
    }
    assert len(rows) == len(points)
    assert all(map(is_proven, rows))
    assert all(row["vectors"] > 0 for row in rows)


def test_the_widths_are_many_and_all_studies_have_one_effort() -> None:
    assert len(STABLE("widths")) >= 300
    assert {row["effort"] for name in STUDIES for row in STABLE(name)} == set(EFFORT)
    assert {row["technology"] for row in STABLE("technologies")} == set(TECHNOLOGIES)


def test_pages_follow_from_the_tables() -> None:
    for path, content in studies._pages(ROOT, STABLE).items():
        assert path.read_text(encoding="utf-8") == content, f"{path.name}: make studies"


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.name)
def test_plots_follow_from_the_tables(picture: studies.Picture) -> None:
    pytest.importorskip("matplotlib")
    pin = f"matplotlib=={importlib.metadata.version('matplotlib')}\n"
    if pin not in (ROOT / "constraints.txt").read_text(encoding="utf-8"):
        pytest.skip("another matplotlib than the pinned one draws other bytes")
    path = STABLE.folder / f"{picture.name}.svg"
    assert picture.draw(STABLE) == path.read_bytes(), f"{path.name}: make studies"


def test_every_plot_is_shown_and_every_study_has_a_page() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in documents(ROOT))
    shown = set(re.findall(r"!\[[^]]*\]\((?:studies/)?([a-z0-9-]+)\.svg\)", pages))
    assert shown == {picture.name for picture in PICTURES}
    assert all((STABLE.folder / f"{name}.md").is_file() for name in STUDIES)
    quoted = re.findall(r"^\$ (fmacost sweep \w+)", pages, re.MULTILINE)
    assert {f"fmacost sweep {name}" for name in STUDIES} <= set(quoted)


# What the pages say in words, and the numbers do not say by themselves.


def _fma() -> Panel:
    return next(panel for panel in panels(STABLE("widths")) if panel.name == "fma")


def _of(name: str) -> Panel:
    return next(panel for panel in panels(STABLE("widths")) if panel.name == name)


def ratios(panel: Panel, *widths: int) -> list[float]:
    found = [panel.ratio(width, USUAL, FIELD) for width in widths]
    return [ratio for ratio in found if ratio is not None]


def test_a_multiply_add_of_one_bit_is_the_same_as_integer_and_float() -> None:
    assert ratios(_fma(), 1) == [1.0]


def test_the_gap_shrinks_with_the_bits() -> None:
    gaps = [_fma().gap(width, USUAL, FIELD) or 0 for width in (16, 8, 4, 3, 1)]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] == 0


def test_the_ratio_grows_to_4_bits_and_shrinks_below() -> None:
    growing, shrinking = ratios(_fma(), 16, 8, 4), ratios(_fma(), 4, 3, 1)
    assert growing == sorted(growing)
    assert shrinking == sorted(shrinking, reverse=True)
    floating = [_fma().ratio(n, FLOATING, FIELD) or 0 for n in _fma().widths]
    assert max(floating) == floating[2]  # of 3 bits, the first width with 2 exponent bits


def test_float_products_are_smaller_and_sums_larger() -> None:
    assert max(ratios(_of("mul"), *range(2, 17))) < 1 < min(ratios(_of("mul"), 1))
    sums = ratios(_of("add"), *range(4, 17))
    assert min(sums) > 5
    assert max(sums) / min(sums) < 1.5


def test_with_a_fixed_accumulator_the_ratio_grows_and_the_gap_stays() -> None:
    panel = _of("fma, 32-bit addend")
    growing = ratios(panel, 8, 4, 2, 1)
    assert growing == sorted(growing)
    gaps = [panel.gap(width, USUAL, FIELD) or 0 for width in range(1, 9)]
    assert max(gaps) / min(gaps) < 1.1


def test_with_an_exact_accumulator_the_ratio_shrinks() -> None:
    sizes = STABLE.sizes("accumulators")

    def ratio(integer: str, other: str) -> float:
        units = [str(parse_unit(f"fma:{fmt}+exact32")) for fmt in (other, integer)]
        return sizes[units[0]] / sizes[units[1]]

    assert ratio("int4", "e2m1fn") < 1.05 < ratio("int8", "e4m3fn")


def test_most_of_a_wide_gap_is_sign_and_rounding_and_the_rest_grows_towards_few_bits() -> None:
    steps = []
    for width in (16, 8, 4):
        magnitude = _fma().floats[width][1, width - 2][FIELD]
        best = _fma().best(width, USUAL, FIELD)
        assert best is not None
        steps.append((magnitude / _fma().integers[width][FIELD], best[1][FIELD] / magnitude))
    assert all(first > second for first, second in steps)
    assert [second for _, second in steps] == sorted(second for _, second in steps)


def test_the_two_integers_are_little_of_narrow_floats_and_most_of_wide_ones() -> None:
    units: dict[str, dict[str, int]] = {}
    for row in STABLE(STAGES):
        units.setdefault(row["unit"], {})[row["stage"]] = row[FIELD]
    share = {unit: integers_share(stages) for unit, stages in units.items()}
    assert share["fma:e2m1fn"] < share["fma:e4m3fn"] < 0.25
    assert share["fma:fp32"] > 0.5
    assert share["mul:fp32"] > 0.75


def test_stochastic_rounding_is_the_only_mode_that_clearly_costs() -> None:
    sizes = STABLE.sizes("rounding")
    changes = {unit: cost / sizes[unit.partition(",")[0]] - 1 for unit, cost in sizes.items()}
    assert all(change > 0.08 for unit, change in changes.items() if ",sr" in unit)
    assert all(change < 0.03 for unit, change in changes.items() if ",sr" not in unit)


def test_a_failed_point_is_no_study(tmp_path: Path) -> None:
    (tmp_path / "fp8.csv").write_text("unit,error\nmul:int8,no time\n", encoding="utf-8")
    with pytest.raises(InputError, match="mul:int8 failed: measure it again"):
        StudyTables(tmp_path)("fp8")


def test_what_moved_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    text = STABLE.path("versions").read_text(encoding="utf-8")
    cost = int(STABLE.sizes("versions")["mul:int8"])
    show_moved(STABLE.path("versions"), text.replace(f",{cost},", f",{cost + 2},"))
    shown = capfd.readouterr().out
    assert f"{cost:,}" in shown
    assert f"{cost + 2:,}" in shown
    assert "1 rows moved" in shown


def test_an_unknown_study_is_refused() -> None:
    with pytest.raises(DocumentError, match="no study is called 'width'"):
        studies.main(ROOT, study=["width"])


def sample(name: str) -> list[dict[str, object]]:
    """Return a few rows of a study, seeded, of units that take seconds."""
    small = [row for row in STABLE(name) if parse_unit(row["unit"]).input_bits <= SMALL_BITS]
    return random.Random(f"fmacost {name}").sample(small, SAMPLED)


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_rows_of_the_tables_are_what_is_measured(name: str, tmp_path: Path) -> None:
    watcher = UnitWatcher(Terminal(quiet=True), None, None)
    for row in sample(name):
        settings = Settings(objective=str(row["objective"]), effort=str(row["effort"]), jobs=1)
        technology = get_technology(str(row["technology"]))
        made = measure(parse_unit(str(row["unit"])), technology, settings, None, watcher).row
        again = tmp_path / "again.csv"
        again.write_text(lean_csv([made.to_json()]), encoding="utf-8")
        assert read_table(again) == [row]


@pytest.mark.sweep
def test_the_tables_are_what_is_measured() -> None:
    assert run("--check") == (0, "")
