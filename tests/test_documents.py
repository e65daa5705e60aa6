"""The documents: their numbers, links, commands, names and snippets hold."""

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest
import typer
from typer.testing import CliRunner

from fmacost.hw.technology import TECHNOLOGIES
from fmacost.reports.commands import app
from fmacost.reports.documents.__main__ import MAX_ROWS, ROWS, main
from fmacost.reports.documents.numbers import NUMBERS, OF_NETLISTS
from fmacost.reports.documents.regions import (
    documents,
    notebooks,
    output_of,
    regions,
    render,
    run_block,
    run_notebook,
)
from fmacost.reports.documents.rows import (
    STUDIES_FOLDER,
    DocumentError,
    Key,
    Rows,
    moved,
    read_kept,
    rows_text,
)
from fmacost.reports.documents.study_tables import StudyTables
from fmacost.reports.grid import expand_units
from fmacost.reports.measure import Measured, Settings
from fmacost.reports.terminal import Terminal, UnitWatcher
from fmacost.sim.formats import parse_format
from fmacost.sim.operation import parse_unit
from tests.test_howto import FOLDER
from tests.test_howto import PAGES as FOLLOWED

ROOT = Path(__file__).resolve().parent.parent
PAGES = (*documents(ROOT), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md")
# What the others quote is there. The steps of these make it first, and test_howto.py follows them.
QUOTING = [path for path in PAGES if path not in [FOLDER / f"{page}.md" for page in FOLLOWED]]
QUICK_COMMANDS = ("explain", "formats", "technologies")
# A command that begins with an option is not tried: --install-completion acts at once.
COMMAND = re.compile(
    r"^\$ (fmacost [a-z].+?)(?:\s{2,}#.*)?$|`(fmacost [a-z][^`\n]*)`", re.MULTILINE
)
CODE = re.compile(r"`([^`\n]+)`")
UNIT = re.compile(r"(?:fma|mul|add):[a-z0-9.*+,>-]+")
FORMAT = re.compile(
    r"u?int\d+|u?fixed\d+\.\d+|e\d+m\d+(?:b-?\d+)?(?:ieee|fnuz|fn|f)?|bf16|tf32|fp\d+(?:_\w+)?"
    r"|float\d+_\w+"
)
SOURCE = re.compile(r"(?:sim|hw|reports|tests|docs)/[\w/.-]+")
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def page_name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


class KeptRows(Rows):
    """Rows of which none may be measured."""

    def measured(self, unit: str, technology: str, settings: Settings) -> Measured:
        raise AssertionError(f"{unit} in {technology} was to be measured: {settings}")


def kept_rows(*names: str) -> Rows:
    """Return the rows of these files in ``docs/``, and of the studies."""
    tables = StudyTables(ROOT / STUDIES_FOLDER)
    kept = {key: row for name in names for key, row in read_kept(ROOT / "docs" / name).items()}
    return KeptRows(None, UnitWatcher(Terminal(quiet=True), None, None), kept, tables=tables)


def quoted(path: Path, pattern: re.Pattern[str]) -> list[str]:
    """Return every text in code quotes on a page that the pattern matches as a whole."""
    return [text for text in CODE.findall(read(path)) if pattern.fullmatch(text)]


def commands() -> list[str]:
    """Return every command that the documents quote, each once."""
    found = [match for path in QUOTING for match in COMMAND.findall(read(path))]
    return list(dict.fromkeys(block or inline for block, inline in found))


def anchors(path: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", read(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.slow
def test_a_sample_of_the_numbers_is_what_is_measured() -> None:
    done = CliRunner().invoke(_tool(), [str(ROOT), "--sample"])
    assert done.exit_code == 0, done.output


@pytest.mark.sweep
@pytest.mark.parametrize("options", [[], ["--slow"]], ids=["usual", "max"])
def test_every_number_is_what_is_measured(options: list[str]) -> None:
    done = CliRunner().invoke(_tool(), [str(ROOT), "--check", *options])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("path", documents(ROOT), ids=page_name)
def test_numbers_follow_from_the_kept_rows(path: Path) -> None:
    names = NUMBERS.keys() - set(OF_NETLISTS)
    rows = kept_rows(MAX_ROWS if path.name == "max.md" else ROWS)
    text = read(path)
    assert render(text, rows, only=names) == (text, [])


@pytest.mark.parametrize("name", [ROWS, MAX_ROWS])
def test_kept_rows_are_proven_and_each_is_used(name: str) -> None:
    path = ROOT / "docs" / name
    kept = read_kept(path)
    assert kept
    assert all(row.verification.is_proven for row in kept.values())
    assert rows_text(kept) == read(path)
    rows = kept_rows(name)
    for page in documents(ROOT):
        if (page.name == "max.md") == (name == MAX_ROWS):
            render(read(page), rows, only=NUMBERS.keys() - set(OF_NETLISTS))
    assert rows.known == kept


@pytest.mark.parametrize(
    ("unit", "technology", "normal", "largest"),
    [
        ("fma:e4m3fn", "cmos", 2279, 2150),
        ("fma:e5m2", "cmos", 2130, 2050),
        ("fma:int8+int32", "cmos", 2110, 2110),
        ("mul:int8", "cmos", 1360, 1360),
        ("mul:e4m3fn", "cmos", 821, 800),
        ("fma:e4m3fn", "nangate45", 402, 400),
        ("fma:e5m2", "nangate45", 380, 340),
        ("fma:int8+int32", "nangate45", 365, 360),
    ],
)
def test_kept_sizes_stay_small(unit: str, technology: str, normal: float, largest: float) -> None:
    """What others cite does not grow: at effort normal, and at max, by the kept rows."""
    sizes = kept_rows(ROWS, MAX_ROWS)
    assert sizes(unit, technology).size <= normal
    assert sizes(unit, technology, effort="max").size <= largest


def test_the_delay_objective_pays() -> None:
    rows = kept_rows(ROWS)
    small, fast = (rows("fma:e4m3fn", objective=o).delay_fo4 for o in ("area", "delay"))
    assert small is not None
    assert fast is not None
    assert fast <= 0.6 * small


def test_a_row_that_moved_is_named() -> None:
    kept = read_kept(ROOT / "docs" / ROWS)
    key, row = next(iter(kept.items()))
    assert list(moved(kept, kept)) == []
    assert list(moved(kept, {key: replace(row, digest="f" * 64)})) == []
    assert list(moved(kept, {key: replace(row, cells=row.cells + 1)})) == [key]
    assert list(moved({}, {key: row})) == [key]
    assert str(Key("mul:int4", registers="pe")) == "mul:int4, pe in cmos, area, normal"


def _tool() -> typer.Typer:
    tool = typer.Typer(add_completion=False)
    tool.command()(main)
    return tool


@pytest.mark.parametrize("path", documents(ROOT), ids=page_name)
def test_regions_are_known_and_filled(path: Path) -> None:
    for title, body in regions(read(path)):
        assert title in NUMBERS or title.startswith("fmacost ")
        assert len(body.splitlines()) > 2, f"{title} is empty: make docs"


def test_every_kind_of_number_is_used() -> None:
    titles = {title for path in documents(ROOT) for title, _ in regions(read(path))}
    assert set(NUMBERS) <= titles


def quick_blocks() -> list[Any]:
    """Return the content of every region whose commands measure nothing."""
    blocks = []
    for path in documents(ROOT):
        for title, body in regions(read(path)):
            names = [command.split()[1] for command in title.split("; ") if " " in command]
            if names and all(name in QUICK_COMMANDS for name in names):
                blocks.append(pytest.param(body, id=title))
    return blocks


@pytest.mark.parametrize("body", quick_blocks())
def test_quick_commands_print_what_is_shown(body: str) -> None:
    assert run_block(body) == body


def test_a_changed_region_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "numbers.md"
    text = "before\n<!-- numbers: kulisch -->\n{}<!-- end -->\nafter\n"
    fresh, changed = render(text.format("old\n"), kept_rows())
    assert changed == ["kulisch"]
    assert render(fresh, kept_rows()) == (fresh, [])
    page.write_text(text.format("old\n"), encoding="utf-8")
    (tmp_path / "README.md").write_text("nothing here\n", encoding="utf-8")
    tool = _tool()
    checked = CliRunner().invoke(tool, [str(tmp_path), "--check"])
    assert checked.exit_code == 1
    assert "docs/numbers.md: kulisch: differs" in checked.output
    assert read(page) == text.format("old\n")
    assert CliRunner().invoke(tool, [str(tmp_path)]).exit_code == 0
    assert read(page) == fresh
    assert CliRunner().invoke(tool, [str(tmp_path), "--check"]).exit_code == 0


@pytest.mark.slow
def test_a_changed_output_of_a_notebook_is_named() -> None:
    printed = nbformat.v4.new_output("stream", text="2\n")
    cells = [
        nbformat.v4.new_code_cell("print(1 + 1)", outputs=[printed]),
        nbformat.v4.new_code_cell("40 + 2"),
    ]
    stale = nbformat.writes(nbformat.v4.new_notebook(cells=cells))
    fresh, changed = run_notebook(stale)
    assert changed == ["cell 1"]
    assert '"42"' in fresh
    assert run_notebook(fresh) == (fresh, [])
    with pytest.raises(DocumentError, match="ZeroDivisionError: division by zero"):
        run_notebook(fresh.replace("40 + 2", "1 / 0"))


@pytest.mark.parametrize("path", notebooks(ROOT), ids=page_name)
def test_notebooks_are_committed_with_their_outputs(path: Path) -> None:
    cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert path.stat().st_size < 100_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!-- numbers: kulisch -->\n", "each mark on a line"),
        ("<!-- end -->\n", "each mark on a line"),
        ("<!-- run -->\n<!-- run -->\n<!-- end -->\n", "each mark on a line"),
        ("<!-- numbers: unheard -->\n<!-- end -->\n", "no numbers are called 'unheard'"),
        ("<!-- run -->\n$ ls\n<!-- end -->\n", "only fmacost"),
        ("<!-- run -->\n$ fmacost formats e9m9f\n<!-- end -->\n", "exponent bits must be in"),
    ],
)
def test_a_broken_region_is_refused(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        render(text, kept_rows())


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"no README\.md"):
        documents(tmp_path)


def test_output_does_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = output_of("fmacost formats int8")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    assert output_of("fmacost formats int8") == plain


@pytest.mark.parametrize("path", PAGES, ids=page_name)
def test_links_resolve(path: Path) -> None:
    for target in LINK.findall(read(path)):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        page = (path.parent / name).resolve() if name else path
        assert page.exists(), target
        if anchor:
            assert anchor in anchors(page), target


@pytest.mark.parametrize("command", commands())
def test_quoted_commands_are_accepted(command: str) -> None:
    _, *arguments = shlex.split(command)
    group: Any = typer.main.get_command(app)
    with group.make_context("fmacost", arguments) as context:
        name, sub, rest = group.resolve_command(context, [*context._protected_args, *context.args])
        if not rest or "--help" in rest:
            return  # the command is named
        with sub.make_context(name, rest, parent=context) as inner:
            chosen = inner.params
    units = chosen.get("units") or []
    if name == "sweep":
        expand_units(units)
        units = []
    for text in units:
        parse_unit(text)
    names = chosen.get("names") or []
    if name == "technologies":
        assert set(names) <= set(TECHNOLOGIES)
        names = []
    for text in [*(chosen.get("formats") or []), *names]:
        parse_format(text)
    for text in filter(None, (chosen.get("to"), chosen.get("from_"))):
        parse_format(text)


def test_all_commands_are_quoted() -> None:
    group: Any = typer.main.get_command(app)
    assert set(group.commands) == {command.split()[1] for command in commands()}


@pytest.mark.parametrize("path", QUOTING, ids=page_name)
def test_quoted_names_exist(path: Path) -> None:
    for text in quoted(path, FORMAT):
        parse_format(text)
    for text in quoted(path, UNIT):
        parse_unit(text)


@pytest.mark.parametrize("path", QUOTING, ids=page_name)
def test_quoted_files_exist(path: Path) -> None:
    for name in quoted(path, SOURCE):
        assert (ROOT / name).exists() or "NAME" in name, name


def test_names_are_found() -> None:
    formats, units = (
        ROOT / "docs" / "concepts" / "formats.md",
        ROOT / "docs" / "concepts" / "units.md",
    )
    assert len(quoted(formats, FORMAT)) > 20
    assert len(quoted(units, UNIT)) > 10


def pages_with_snippets() -> list[Path]:
    return [path for path in QUOTING if SNIPPET.search(read(path))]


@pytest.mark.parametrize("path", pages_with_snippets(), ids=page_name)
def test_snippets_run(path: Path) -> None:
    names: dict[str, Any] = {}
    for snippet in SNIPPET.findall(read(path)):
        exec(compile(snippet, page_name(path), "exec"), names)
