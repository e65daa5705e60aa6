"""Measure what the documents quote, and rewrite the marked regions."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from fmacost.hw.yosys import YosysError
from fmacost.reports.cache import Cache, cache_folder
from fmacost.reports.documents.regions import documents, notebooks, render, run_notebook
from fmacost.reports.documents.rows import (
    STUDIES_FOLDER,
    DocumentError,
    Rows,
    moved,
    read_kept,
    rows_text,
)
from fmacost.reports.documents.study_tables import StudyTables
from fmacost.reports.export import write_output
from fmacost.reports.metrics import show_count
from fmacost.reports.terminal import Terminal

DIFFERENT, USAGE, TOOL_FAILED = 1, 2, 3
# Minutes for each unit: on a page of its own, which `make docs-max` makes.
MAX_PAGE = "max.md"
ROWS, MAX_ROWS = "numbers.json", "max.json"
SAMPLE_STEP = 10


def main(
    folder: Annotated[Path, typer.Argument(help="The clone.")] = Path(),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if something differs.")
    ] = False,
    sample: Annotated[
        bool,
        typer.Option(
            "--sample",
            help=f"Measure one kept row in {SAMPLE_STEP} and whatever is printed by a command; "
            "implies --check.",
        ),
    ] = False,
    slow: Annotated[
        bool, typer.Option("--slow", help=f"The page {MAX_PAGE}, and no other: many minutes.")
    ] = False,
) -> None:
    """Measure what the documents quote, and rewrite the marked regions."""
    terminal = Terminal()
    check = check or sample
    path = folder / "docs" / (MAX_ROWS if slow else ROWS)
    kept = read_kept(path) if path.exists() else {}
    different = []
    with terminal.progress(1) as watcher:
        rows = Rows(
            Cache(cache_folder(), terminal.notify),
            watcher,
            kept={k: row for i, (k, row) in enumerate(kept.items()) if sample and i % SAMPLE_STEP},
            tables=StudyTables(folder / STUDIES_FOLDER),
        )
        for page in (*documents(folder), *notebooks(folder)):
            if (page.name == MAX_PAGE) != slow:
                continue
            name = page.relative_to(folder)
            try:
                old = page.read_text(encoding="utf-8")
                text, changed = (
                    run_notebook(old) if page in notebooks(folder) else render(old, rows)
                )
            except DocumentError as error:
                raise DocumentError(f"{name}: {error}") from None
            different += [f"{name}: {region}" for region in changed]
            if changed and not check:
                write_output(page, text)
    different += [f"{path.relative_to(folder)}: {key}" for key in moved(kept, rows.known)]
    if not check and rows.known:
        write_output(path, rows_text(rows.known))
    verb = "differs" if check else "made anew"
    for region in different:
        terminal.complain(f"{region}: {verb}")
    if check and different:
        terminal.complain(f"make docs{'-max' if slow else ''} makes them anew")
        raise typer.Exit(DIFFERENT)
    measured = len(rows.known.keys() - rows.kept.keys())
    terminal.notify(f"{show_count(measured)} cost rows measured, all proven")


if __name__ == "__main__":
    try:
        typer.run(main)
    except DocumentError as problem:
        Terminal().complain(f"documents: {problem}")
        sys.exit(USAGE)
    except YosysError as problem:
        Terminal().complain(f"documents: {problem}")
        sys.exit(TOOL_FAILED)
