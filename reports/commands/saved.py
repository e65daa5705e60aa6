"""The commands that read saved tables: nothing is measured."""

from pathlib import Path
from typing import Annotated

import typer

from fmacost.reports.commands.shared import MISMATCH, epilog, write_json
from fmacost.reports.export import check_writable, write_output
from fmacost.reports.options import AsJson, PlotKind, Quiet
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

    terminal = Terminal(quiet)
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


@app.command(
    epilog=epilog(
        "fmacost plot widths.csv --kind lines --output widths.svg\n"
        "fmacost plot surface.csv --kind heatmap --where kind=fma --output surface.pdf\n"
        "fmacost plot fp8.csv --kind bars --x split --series specials --output fp8.png\n"
        "fmacost plot curve.json --kind frontier --output curve.svg"
    )
)
def plot(
    *,
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A table, JSON or CSV.")],
    kind: Annotated[PlotKind, typer.Option(help="What is drawn of it, see above.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="A .png, .svg or .pdf.")
    ],
    metric: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="What is drawn.", show_default="the size"),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE,...", help="Only these rows; several times.", show_default=False
        ),
    ] = None,
    x: Annotated[
        str | None,
        typer.Option("--x", metavar="NAME", help="What groups of bars are.", show_default="unit"),
    ] = None,
    series: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What bars of a group are.", show_default="technology"),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(metavar="VALUE", help="Draw bars as ratios to this one.", show_default=False),
    ] = None,
    share: Annotated[
        bool, typer.Option("--share", help="Draw stages and parts as shares of their sum.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Draw a saved table: nothing is measured, the same table gives the same picture.

    Kinds: bars (the stages of a breakdown on top of each other), lines (integers against floats of
    as many bits, and their ratio), heatmap (every split into exponent and fraction bits), frontier
    (size against delay), energy (its parts on top of each other).

    NAME is a field of the rows (unit, technology, objective, effort, accumulator, stream) or a
    part of their units: kind, operands, addend, options, split, specials, width.
    """
    from fmacost.reports.facets import choose, facet_name
    from fmacost.reports.plots.saved import Wish, draw_table
    from fmacost.reports.plots.style import check_plot
    from fmacost.reports.saved import read_table

    terminal = Terminal(quiet)
    check_plot(output)
    for name in filter(None, (x, series)):
        facet_name(name)
    records = choose(read_table(table), where or ())
    failed = sum("error" in record for record in records)
    if failed:
        terminal.notify(f"{failed:,} rows of points that failed are left out")
    wish = Wish(metric=metric, x=x, series=series, base=base, is_share=share)
    write_output(output, draw_table(records, kind, output.suffix.lower(), wish))
