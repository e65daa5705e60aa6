"""The commands that read saved tables: nothing is measured."""

from pathlib import Path
from typing import Annotated

import typer

from fmacost.reports.commands.shared import MISMATCH, epilog, write_json
from fmacost.reports.export import check_writable, write_output
from fmacost.reports.options import AsJson, Quiet
from fmacost.reports.terminal import Terminal

app = typer.Typer()


@app.command(
    epilog=epilog(
        "fmacost diff old.csv new.csv\n"
        "fmacost diff old.json new.json --fail-on transistors:2% --fail-on delay_ps:5%\n"
        "fmacost diff old.csv new.csv --fail-on cells:10 --export-md comment.md"
    )
)
def diff(
    context: typer.Context,
    *,
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A table, JSON or CSV.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The later one.")],
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC:LIMIT",
            help="Exit with 1 if it gets worse by more: 2% or an amount; several times.",
            show_default=False,
        ),
    ] = None,
    json: AsJson = False,
    export_md: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write Markdown for a pull request.", show_default=False),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Compare two saved tables: what moved, what appeared, what went, what got worse."""
    from fmacost.reports import diff as diffs
    from fmacost.reports.saved import read_table

    terminal = Terminal(quiet or bool(context.obj))
    limits = [diffs.parse_limit(text) for text in fail_on or ()]
    if export_md is not None:
        check_writable(export_md)
    found = diffs.compare_tables(read_table(old), read_table(new), limits)
    if json:
        write_json([change.to_json() for change in found.changes], terminal)
    else:
        notes = "\n".join(diffs.diff_notes(found, limits))
        if found.changes:
            terminal.show(diffs.diff_table(found), "")
        terminal.show(notes)
    if export_md is not None:
        write_output(export_md, diffs.to_markdown(found, limits))
    if found.regressions:
        raise typer.Exit(MISMATCH)
