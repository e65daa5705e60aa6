"""The commands: read arguments, call what computes, show what came out. Nothing else.

A module has a group of them; ``--help`` lists them in the order of the modules here.
"""

from typing import Annotated

import typer

import fmacost
from fmacost.reports.commands import analyses, lookups, pages, saved, sweeps, units
from fmacost.reports.commands.shared import USAGE, epilog
from fmacost.reports.options import Quiet

app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=epilog("fmacost compare int8 e4m3fn\nfmacost explain 464 --to e4m3fn\nfmacost doctor"),
)

for group in (units, analyses, sweeps, saved, pages, lookups):
    app.add_typer(group.app)


@app.callback()
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    quiet: Quiet = False,
) -> None:
    """How many gates and transistors a multiply-add unit takes, on proven netlists."""
    context.obj = quiet
    if version:
        typer.echo(f"fmacost {fmacost.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(USAGE)
