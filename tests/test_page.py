"""The page: what it says, that it is one file, and what a browser makes of it."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fmacost.reports.breakdown import Breakdown
from fmacost.reports.cli import run
from fmacost.reports.commands import pages
from fmacost.reports.compare import Comparison
from fmacost.reports.errors import InputError
from fmacost.reports.export import to_json
from fmacost.reports.page import charts
from fmacost.reports.page.browser import chromium, find_chromium
from fmacost.reports.page.contents import Contents, make_contents
from fmacost.reports.page.document import to_html
from fmacost.reports.path import CriticalPath
from tests import fake_hw
from tests.test_compare import make_comparison
from tests.test_row import make_row

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HOSTILE = "<img src=x onerror=alert(1)>\"'&</script><script>alert(2)</script>"
PATH: dict[str, Any] = {
    "path_start": "a[3]",
    "path_end": "result[0]",
    "path": [
        {"stage": "decode", "cell_type": "INV", "from_pin": "A", "to_pin": "Y", "fan_out": 2,
         "increment_fo4": 1.0, "arrival_fo4": 1.0},
        {"stage": "add", "cell_type": "NAND2", "from_pin": "B", "to_pin": "Y", "fan_out": 1,
         "increment_fo4": 3.0, "arrival_fo4": 4.0},
    ],
    "path_stages": [
        {"stage": "decode", "cells": 1, "increment_fo4": 1.0},
        {"stage": "add", "cells": 1, "increment_fo4": 3.0},
    ],
}  # fmt: skip
STAGES = {"decode": 100, "significand multiply": 300, "exponent add": 100, "round": 0, "add": 500}


def compared(*names: str, unproven: str = "") -> list[dict[str, Any]]:
    return make_comparison(*names, unproven=unproven).records()


def many_rows(count: int) -> list[dict[str, Any]]:
    """Return rows of different units and sizes, as a sweep has them."""
    rows = (make_row(f"fma:fixed{i + 1}.3", transistors=997 * i % 1009) for i in range(count))
    return [row.to_json() for row in rows]


def table_of(contents: Contents, name: str) -> list[str]:
    column = [heading.name for heading in contents.table.headings].index(name)
    return [entry.cells[column].text for entry in contents.table.entries]


def test_a_comparison_is_found_in_its_rows() -> None:
    contents = make_contents(compared("int8", "e4m3fn"))
    comparison = make_comparison("int8", "e4m3fn")
    assert isinstance(contents.comparison, Comparison)
    assert contents.comparison.answer() == comparison.answer() == contents.answer
    assert contents.title == "int8 against e4m3fn"
    assert [tile.label for tile in contents.tiles] == [
        line.accumulator for line in comparison.lines
    ]
    ratio = comparison.ratio(comparison.lines[0], 1, "cmos")
    assert contents.tiles[0].value == f"{ratio:.2f}"
    assert len(contents.headline.entries) == 8
    assert len(contents.table.entries) == 16


def test_a_part_of_a_comparison_is_a_list_of_units() -> None:
    contents = make_contents(compared("int8", "e4m3fn")[:5])
    assert contents.comparison is None
    assert contents.tiles == ()
    assert contents.answer.startswith("In cmos, optimised for area alone, ")


def test_what_is_not_proven_is_said() -> None:
    contents = make_contents(compared("int8", "e4m3fn", unproven="fma:e4m3fn"))
    assert not contents.is_proven
    assert "do NOT" in contents.verification
    assert [entry.is_proven for entry in contents.headline.entries] == [True, False] + [True] * 6


def test_anchors_differ() -> None:
    rows = [make_row(technology=name).to_json() for name in ("a.b", "a-b", "a b")]
    anchors = [entry.anchor for entry in make_contents(rows).table.entries]
    assert anchors == ["row-fma-e4m3fn-a-b", "row-fma-e4m3fn-a-b-2", "row-fma-e4m3fn-a-b-3"]


def test_stages_join_the_row_that_they_are_of() -> None:
    row = make_row()
    contents = make_contents([row.to_json(), {**row.to_json(), "stages": STAGES}])
    (unit,) = contents.units
    assert [[part.name for part in group] for group in unit.stages] == [
        ["decode"], ["significand multiply", "exponent add"], ["add"],
    ]  # fmt: skip
    assert sum(part.share for group in unit.stages for part in group) == pytest.approx(1)
    assert contents.records == [row.to_json()]
    assert contents.stages[0]["stages_sum"] == 1000
    assert make_contents([*contents.records, *contents.stages]) == contents


def test_paths_join_the_row_that_they_are_of() -> None:
    row = make_row().to_json()
    contents = make_contents([row, {**row, **PATH}])
    (unit,) = contents.units
    (path,) = unit.paths
    assert path.title == "cmos: from a[3] to result[0], 4.0 FO4 through 2 cells"
    assert [(name, share) for name, _, _, share in path.stages] == [("decode", 0.25), ("add", 0.75)]
    assert path.steps[1] == ("add", "NAND2", "B → Y", "1", "3.0", "4.0")
    assert contents.records == [row]
    assert make_contents([*contents.records, *contents.paths]) == contents


def test_energies_join_the_row_that_they_are_of() -> None:
    rows = [make_row(unit, energy_fj=9.0).to_json() for unit in ("mul:int2", "mul:e1m0f")]
    streams = [
        {**row, "stream": stream, "energy_fj": energy}
        for stream, energies in {"uniform": (2.0, 3.0), "gaussian": (4.0, 1.0)}.items()
        for row, energy in zip(rows, energies, strict=True)
    ]
    contents = make_contents([*rows, *streams])
    assert contents.records == rows
    (titled,) = contents.beside
    assert [heading.text for heading in titled.table.headings] == [
        "unit", "uniform, fJ", "/ mul:int2", "gaussian, fJ", "/ mul:int2",
    ]  # fmt: skip
    assert [[cell.text for cell in entry.cells] for entry in titled.table.entries] == [
        ["mul:int2", "2", "", "4", ""], ["mul:e1m0f", "3", "1.50×", "1", "0.25×"],
    ]  # fmt: skip
    assert make_contents([*contents.records, *contents.energies]) == contents
    (alone,) = make_contents(streams[:1]).rows
    assert alone.energy_fj is None
    with pytest.raises(InputError, match="a stream must have a name and energy_fj"):
        make_contents([{**rows[0], "energy_fj": None, "stream": "uniform"}])


def test_curves_are_compared_at_equal_clocks() -> None:
    points = {"mul:int2": [(10, 8.0), (20, 4.0)], "mul:e1m0f": [(30, 16.0), (60, 8.0)]}
    rows = [make_row(unit) for unit in points]
    rows += [
        make_row(unit, objective="curve", transistors=size, delay_fo4=delay, digest=f"{i}" * 64)
        for unit, found in points.items()
        for i, (size, delay) in enumerate(found)
    ]
    contents = make_contents(row.to_json() for row in rows)
    (titled,) = contents.beside
    assert [[cell.text for cell in entry.cells] for entry in titled.table.entries] == [
        ["8.0", "mul:int2", "10", "", "8.0", "+0.0"],
            ["", "mul:e1m0f", "60", "6.00×", "8.0", "+0.0"],
        ["11.4", "mul:int2", "10", "", "8.0", "+3.4"],
            ["", "mul:e1m0f", "60", "6.00×", "8.0", "+3.4"],
        ["16.0", "mul:int2", "10", "", "8.0", "+8.0"],
            ["", "mul:e1m0f", "30", "3.00×", "16.0", "+0.0"],
    ]  # fmt: skip
    assert [len(unit.made) for unit in contents.units] == [1, 1]


def test_widths_are_put_side_by_side() -> None:
    sizes = {"fma:int2": 10, "fma:e1m0f": 20, "fma:int3": 30, "fma:e1m1f": 90, "fma:int4": 5}
    table = [{"unit": unit, "transistors": size} for unit, size in sizes.items()]
    (panel,) = make_contents([make_row().to_json()], table).widths
    assert panel.widths == [2, 3]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"unit": "fma:int8"}, "row 1 is no cost row: schema is missing"),
        ({**make_row().to_json(), "stages": {"add": -1}}, "stages must be counts of transistors"),
        ({**make_row().to_json(), "stages": [1]}, "stages must be counts of transistors"),
        ({**make_row().to_json(), "path": [1]}, "path and path_stages must be lists of objects"),
        (
            {**make_row().to_json(), **PATH, "path_stages": [{"stage": "add", "cells": "1"}]},
            "cells of a path must be a number",
        ),
    ],
)
def test_a_record_that_is_no_row_is_named(record: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make_contents([record])


def test_points_without_numbers_are_listed_and_need_company() -> None:
    failed = {"unit": "fma:fp32", "technology": "cmos", "error": "took too long"}
    contents = make_contents([failed, make_row().to_json()])
    assert contents.failures == (failed,)
    with pytest.raises(InputError, match="no row to report"):
        make_contents([failed])


def test_numbers_are_copied_as_they_are() -> None:
    row = make_row(transistors=12345, gates_ge=3086.25)
    contents = make_contents([row.to_json()])
    assert table_of(contents, "transistors") == ["12,345"]
    (entry,) = contents.table.entries
    names = [heading.name for heading in contents.table.headings]
    assert entry.cells[names.index("gates_ge")].value == 3086.25


def test_a_technology_that_is_not_here_has_its_name_alone() -> None:
    contents = make_contents([make_row(technology="mine.lib").to_json(), make_row().to_json()])
    assert [(t.name, bool(t.facts)) for t in contents.technologies] == [
        ("mine.lib", False), ("cmos", True),
    ]  # fmt: skip


def test_labels_hide_no_other() -> None:
    points = [(100.0, 100.0), (104.0, 100.0), (300.0, 100.0), (995.0, 50.0)]
    sides = charts.place_labels(points, ["fma:int8+int16"] * 4, 1000)
    assert sides[0] == sides[2] == "below"
    assert sides[1] not in ("below", "left")
    assert sides[3] == "left"
    crowd = charts.place_labels([(100.0, 100.0)] * 30, ["fma:int8"] * 30, 1000)
    assert crowd.count("") >= 20


# ---- the command ----


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the charts: they take seconds."""
    monkeypatch.setattr(charts, "draw_charts", lambda contents: [])


def saved(folder: Path, records: list[dict[str, Any]]) -> str:
    path = folder / "saved.json"
    path.write_text(to_json(records), encoding="utf-8")
    return str(path)


@pytest.mark.usefixtures("drawn")
def test_the_command_writes_the_page_beside_its_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = compared("int8", "e4m3fn")
    folder = tmp_path / "new" / "report"
    assert run(["report", "--from", saved(tmp_path, records), "-o", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder / 'index.html'}\n"
    assert sorted(path.name for path in folder.iterdir()) == [
        "index.html", "table.csv", "table.json",
    ]  # fmt: skip
    assert json.loads((folder / "table.json").read_text())["rows"] == records
    assert len((folder / "table.csv").read_text().splitlines()) == 17


@pytest.mark.usefixtures("drawn")
def test_the_command_measures_what_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "cache"))
    fake_hw.install(monkeypatch)
    monkeypatch.setattr(
        pages, "break_down",
        lambda operation, technology, row, store, timeout_s: Breakdown(row, {"add": 7}),
    )  # fmt: skip
    monkeypatch.setattr(
        pages, "critical_path",
        lambda operation, technology, row, netlist, timeout_s: CriticalPath(
            row=row, start="a", end="result", in_ps=False, steps=()
        ),
    )  # fmt: skip
    assert run(["report", "mul:int2", "mul:e1m0f", "-o", str(tmp_path)]) == 0
    stages = json.loads((tmp_path / "stages.json").read_text())["rows"]
    assert [row["stages"] for row in stages] == [{"add": 7}] * 2
    paths = json.loads((tmp_path / "paths.json").read_text())["rows"]
    assert [row["path_end"] for row in paths] == ["result"] * 2
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert [(row["unit"], row["technology"]) for row in rows] == [
        ("mul:int2", "cmos"), ("mul:e1m0f", "cmos"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "report needs either units or formats, or saved tables"),
        (["int8", "--from", "x.json"], "report needs either units or formats, or saved tables"),
        (["--curve", "--from", "x.json"], "--curve measures, --from does not"),
        (["int8"], "compare needs two or more different formats"),
        (["fma:int8", "e4m3fn"], "e4m3fn"),
        (["--from", "missing.json"], "cannot read missing.json"),
    ],
)
def test_bad_arguments(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["report", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


def test_a_folder_that_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "file"
    path.touch()
    assert run(["report", "int8", "e4m3fn", "-o", str(path)]) == 2
    assert "cannot make folder" in capsys.readouterr().err


# ---- the file ----


def test_the_page_asks_nothing_of_anyone_and_shows_text_as_text() -> None:
    row = replace(make_row(HOSTILE, HOSTILE), semantics=HOSTILE, recipe=HOSTILE)
    html = to_html(make_contents([row.to_json()]), [])
    tags: list[str] = []
    attributes: list[tuple[str, str | None]] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: (tags.append(tag), attributes.extend(attrs))  # type: ignore[method-assign,assignment,func-returns-value]
    parser.feed(html)
    assert not {"img", "link", "iframe", "object"} & set(tags)
    assert tags.count("script") == 1
    assert not [name for name, _ in attributes if name.startswith("on")]
    links = {value or "" for name, value in attributes if name in ("href", "src")}
    assert {value for value in links if not value.startswith("#")} == {"table.csv", "table.json"}
    policy = next(value for name, value in attributes if value and "default-src" in value)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert to_html(make_contents([row.to_json()]), []) == html


# ---- in a browser ----

in_browser = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium"),
]


class Opened:
    """A page in the browser, with all that it complained of and asked for."""

    def __init__(self, browser: "Browser", path: Path, **how: Any) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        context = browser.new_context(**how)
        page = context.new_page()
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri(), wait_until="load")
        self.page = page
        self.path = path

    def scroll(self) -> None:
        """See all of it, so that every chart is drawn."""
        self.page.evaluate("document.querySelectorAll('figure').forEach(f => f.scrollIntoView())")
        for drawing in self.page.query_selector_all(".drawing"):
            if drawing.is_visible():
                drawing.scroll_into_view_if_needed()
                drawing.wait_for_selector(".vega-embed")

    def is_silent(self) -> bool:
        """Whether there was no complaint, and no request but for the file itself."""
        return not self.complaints and set(self.requests) == {self.path.as_uri()}

    def column(self, name: str) -> list[str]:
        """Return the visible texts of a column of the table."""
        found: list[str] = self.page.evaluate(
            """name => {
                const heads = [...document.querySelectorAll("#table thead th")];
                const i = heads.findIndex((head) => head.dataset.name === name);
                const rows = [...document.querySelectorAll("#table tbody tr")];
                return rows.filter((row) => !row.hidden).map((row) => row.cells[i].textContent);
            }""",
            name,
        )
        return found


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page of a comparison with everything that a page can have."""
    records = compared("int8", "e4m3fn", unproven="fma:int8+int16")
    rows = [row for row in records if row["technology"] == "cmos"]
    stages = [{**row, "stages": {**STAGES, "align": 50 * i}} for i, row in enumerate(rows)]
    widths = [
        {"unit": f"fma:{name}", "transistors": 50 * i + 20}
        for i, name in enumerate(("int2", "e1m0f", "int3", "e1m1f", "e2m0f"))
    ]
    streams = [
        {**row, "stream": stream, "energy_fj": 10.0 * i + 5}
        for stream in ("uniform", "gaussian")
        for i, row in enumerate(rows)
    ]
    points = [
        {**row, "objective": "curve", "transistors": size, "delay_fo4": 1000 / size}
        for row in rows[:2]
        for size in (100, 200)
    ]
    points = [{**row, "digest": f"{i}" * 64} for i, row in enumerate(points)]
    added = (*stages, *streams, *points, {**rows[0], **PATH})
    contents = make_contents([*records, *added], widths)
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(to_html(contents, charts.draw_charts(contents)), encoding="utf-8")
    return path


class TestInBrowser:
    pytestmark = in_browser

    def test_it_is_silent_and_complete(self, browser: "Browser", report: Path) -> None:
        opened = Opened(browser, report)
        opened.scroll()
        for section in ("sizes", "stages", "widths", "delay", "energy"):
            assert opened.page.locator(f"#{section} figure").count() >= 1
        assert opened.is_silent(), (opened.complaints, opened.requests)

    def test_columns_sort_both_ways(self, browser: "Browser", report: Path) -> None:
        opened = Opened(browser, report)
        head = opened.page.locator("#table th[data-name=transistors]")
        head.locator("button").click()
        sizes = [int(text.replace(",", "")) for text in opened.column("transistors")]
        assert sizes == sorted(sizes)
        assert head.get_attribute("aria-sort") == "ascending"
        head.locator("button").press("Enter")
        assert [int(t.replace(",", "")) for t in opened.column("transistors")] == sizes[::-1]
        assert head.get_attribute("aria-sort") == "descending"
        opened.page.locator("#table th[data-name=technology] button").click()
        assert opened.column("technology") == ["cmos"] * 12 + ["cmos2"] * 8
        assert head.get_attribute("aria-sort") is None

    def test_the_filter_keeps_rows_with_every_word(self, browser: "Browser", report: Path) -> None:
        opened = Opened(browser, report)
        opened.page.fill("#filter", "E4M3 cmos2")
        assert opened.column("technology") == ["cmos2"] * 4
        assert opened.page.inner_text("#count") == "4 of 20 rows"
        opened.page.fill("#filter", "nothing")
        assert opened.column("technology") == []
        opened.page.fill("#filter", "")
        assert opened.page.inner_text("#count") == "20 rows"

    def test_rows_are_copied_as_csv(self, browser: "Browser", report: Path) -> None:
        opened = Opened(browser, report, permissions=["clipboard-read", "clipboard-write"])
        opened.page.fill("#filter", "exact, cmos2")
        opened.page.click("#copy")
        opened.page.wait_for_selector("text=Copied")
        text = opened.page.evaluate("navigator.clipboard.readText()")
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [row["unit"] for row in rows] == ["fma:int8+int21", "fma:e4m3fn+fixed24.18"]
        assert [row["accumulator"] for row in rows] == ["exact, 32 products"] * 2
        assert float(rows[0]["transistors"]) > 1000

    def test_a_link_leads_to_a_row(self, browser: "Browser", report: Path) -> None:
        opened = Opened(browser, report)
        opened.page.fill("#filter", "nothing")
        opened.page.goto(f"{report.as_uri()}#row-fma-e4m3fn-fp32-cmos")
        row = opened.page.locator("tr:target")
        assert "fma:e4m3fn+fp32" in row.inner_text()
        row.wait_for(state="visible")
        colours = [
            row.evaluate("row => getComputedStyle(row).backgroundColor"),
            opened.page.evaluate("getComputedStyle(document.body).backgroundColor"),
        ]
        assert colours[0] != colours[1]

    def test_a_link_opens_a_unit(self, browser: "Browser", report: Path) -> None:
        from playwright.sync_api import expect

        opened = Opened(browser, report)
        unit = opened.page.locator("#unit-fma-int8")
        unit.evaluate("unit => unit.open = false")
        opened.page.click("#table a[href='#unit-fma-int8'] >> nth=0")
        expect(unit).to_have_attribute("open", "")

    def test_dark_is_dark(self, browser: "Browser", report: Path) -> None:
        def paper(scheme: str) -> int:
            page = Opened(browser, report, color_scheme=scheme).page
            colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
            return sum(map(int, re.findall(r"\d+", colour)[:3]))

        assert paper("dark") < 120
        assert paper("light") > 600

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_charts_have_the_colours_of_the_page(
        self, browser: "Browser", report: Path, scheme: str
    ) -> None:
        opened = Opened(browser, report, color_scheme=scheme)
        fill, accent = opened.page.evaluate(
            """() => {
                const bar = document.querySelector("#chart-size-cmos path[fill='var(--series-1)']");
                const probe = document.createElement("i");
                probe.style.color = "var(--series-1)";
                document.body.append(probe);
                return [getComputedStyle(bar).fill, getComputedStyle(probe).color];
            }"""
        )
        assert fill == accent

    @pytest.mark.parametrize("scripts", [True, False])
    def test_a_phone_scrolls_down_only(
        self, browser: "Browser", report: Path, scripts: bool
    ) -> None:
        opened = Opened(
            browser, report, viewport={"width": 360, "height": 700}, java_script_enabled=scripts
        )
        if scripts:
            opened.scroll()
        boxes = opened.page.locator("header, nav, main, footer, figure, section > *")
        for i in range(boxes.count()):
            box = boxes.nth(i).bounding_box()
            assert box is None or box["x"] + box["width"] <= 360
        if scripts:
            assert opened.page.evaluate("document.documentElement.scrollWidth") == 360

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("width", [1280, 360])
    def test_nothing_keeps_people_out(
        self, browser: "Browser", report: Path, scheme: str, width: int
    ) -> None:
        from axe_playwright_python.sync_playwright import Axe

        opened = Opened(
            browser, report, color_scheme=scheme, viewport={"width": width, "height": 800},
            bypass_csp=True,
        )  # fmt: skip
        opened.scroll()
        found = Axe().run(opened.page).response["violations"]
        assert [(v["id"], v["impact"], v["nodes"][0]["html"]) for v in found] == []

    def test_the_keyboard_reaches_everything(self, browser: "Browser", report: Path) -> None:
        opened = Opened(browser, report)
        opened.page.keyboard.press("Tab")
        assert opened.page.evaluate("document.activeElement.className") == "skip"
        reached = set()
        for _ in range(200):
            opened.page.keyboard.press("Tab")
            reached.add(
                opened.page.evaluate("document.activeElement.id || document.activeElement.tagName")
            )
        assert {"filter", "copy", "A", "BUTTON", "INPUT", "SUMMARY"} <= reached

    def test_a_series_can_be_hidden(self, browser: "Browser", report: Path) -> None:
        from playwright.sync_api import expect

        opened = Opened(browser, report)
        opened.scroll()
        figure = opened.page.locator("#chart-size-cmos")
        bars = figure.locator(".wide .mark-rect path")
        assert bars.count() == 8
        figure.locator("label", has_text="e4m3fn").click()
        expect(bars).to_have_count(4)
        assert opened.is_silent(), opened.complaints

    def test_values_show_under_the_pointer(self, browser: "Browser", report: Path) -> None:
        opened = Opened(browser, report)
        opened.scroll()
        opened.page.locator("#chart-size-cmos .wide .mark-rect path").nth(1).hover()
        tooltip = opened.page.locator("#vg-tooltip-element")
        tooltip.wait_for(state="visible")
        assert "fma:" in tooltip.inner_text()

    def test_without_scripts_all_is_there(self, browser: "Browser", report: Path) -> None:
        opened = Opened(browser, report, java_script_enabled=False)
        page = opened.page
        assert page.locator("#table tbody tr").count() == 20
        assert page.locator("#chart-size-cmos .wide svg").is_visible()
        assert "fma:e4m3fn+fp32" in page.locator("#chart-size-cmos .wide svg").inner_html()
        assert not page.locator("#filter").is_visible()
        assert page.locator("#unit-fma-int8").is_visible()

    def test_print_shows_every_row_and_no_controls(self, browser: "Browser", report: Path) -> None:
        page = Opened(browser, report).page
        page.emulate_media(media="print")
        assert not page.locator("#filter").is_visible()
        assert page.locator("#rows .scroll").evaluate("e => e.scrollHeight === e.clientHeight")
        # A4 between its margins; all rows are on pages of their own, on their side
        for width, tables in ((718, "section:not(#rows) table"), (1047, "#rows table")):
            page.set_viewport_size({"width": width, "height": 1000})
            for table in page.locator(tables).all():
                assert table.evaluate("e => e.getBoundingClientRect().right") <= width

    def test_hostile_names_are_text(self, browser: "Browser", tmp_path: Path) -> None:
        rows = [
            replace(make_row(name, HOSTILE), semantics=HOSTILE, recipe=HOSTILE).to_json()
            for name in (HOSTILE, "fma:int8", f"{HOSTILE}2")
        ]
        rows[0]["accumulator"] = HOSTILE
        step = {**PATH["path"][0], "stage": HOSTILE, "cell_type": HOSTILE}
        path = {**PATH, "path_start": HOSTILE, "path": [step]}
        contents = make_contents(
            [*rows, {**rows[1], "stages": {HOSTILE: 5, "add": 7}}, {**rows[1], **path}]
        )
        page = tmp_path / "index.html"
        page.write_text(to_html(contents, charts.draw_charts(contents)), encoding="utf-8")
        opened = Opened(browser, page)
        opened.page.on("dialog", lambda dialog: opened.complaints.append(dialog.message))
        opened.scroll()
        opened.page.locator(".mark-rect path").first.hover()
        opened.page.locator("#vg-tooltip-element").wait_for(state="visible")
        assert opened.page.locator("img").count() == 0
        assert HOSTILE in opened.page.inner_text("#table")
        assert opened.is_silent(), (opened.complaints, opened.requests)

    def test_three_hundred_rows_are_a_small_file(self, tmp_path: Path) -> None:
        contents = make_contents(many_rows(300))
        html = to_html(contents, charts.draw_charts(contents))
        assert len(html.encode()) < 3_000_000
