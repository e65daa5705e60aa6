"""The commands that make no unit: formats, technologies, the installation, the cache."""

from typing import Annotated

import typer

from fmacost.reports.cache import Cache, cache_folder
from fmacost.reports.commands.shared import (
    TOOL_FAILED,
    epilog,
    notify_all,
    open_cache,
    open_technologies,
    write_json,
)
from fmacost.reports.errors import InputError
from fmacost.reports.options import AsJson, Quiet
from fmacost.reports.terminal import Terminal
from fmacost.sim.formats import alias_note, parse_format, standard_formats
from fmacost.sim.operation import Overflow, Rounding

app = typer.Typer()


@app.command(
    context_settings={"ignore_unknown_options": True},  # -1.5 is a value
    epilog=epilog(
        "fmacost explain fma:e4m3fn 0x38 0xb9 0x10\n"
        "fmacost explain 464 --to e4m3fn\n"
        "fmacost explain -1.5 --to e2m1fn --rounding rtz\n"
        "fmacost explain 0x7e --from e4m3fn --to e5m2"
    ),
)
def explain(
    *,
    subject: Annotated[
        list[str], typer.Argument(metavar="UNIT CODE... | VALUE | CODE", show_default=False)
    ],
    to: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="Convert into it.", show_default=False)
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="FORMAT", help="Format of a code.", show_default=False),
    ] = None,
    rounding: Annotated[
        Rounding | None, typer.Option(help="Of a conversion.", show_default="rne")
    ] = None,
    overflow: Annotated[
        Overflow | None, typer.Option(help="Of a conversion.", show_default="ieee")
    ] = None,
    json: AsJson = False,
) -> None:
    """Explain one operation or conversion: bits, exact value, neighbours, and the rounding."""
    unknown = [text for text in subject if text.startswith("--")]
    if unknown:
        raise InputError(f"No such option: {unknown[0]}; 'fmacost explain --help' explains")
    from fmacost.reports.explain_request import explain_request

    found = explain_request(subject, to, from_, rounding, overflow)
    terminal = Terminal()
    if json:
        write_json([found.to_json()], terminal)
    else:
        terminal.write(f"{found.to_text().rstrip()}\n")


@app.command(epilog=epilog("fmacost formats\nfmacost formats e3m4ieee fixed4.4 int6 --json"))
def formats(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FORMAT...]", help="Any format name.", show_default="standard ones"
        ),
    ] = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """List formats with their range, precision and special codes.

    Any name works: int<N>, uint<N>, fixed<I>.<F>, e<X>m<Y>[b<bias>] with ieee, fn, fnuz or f.
    """
    from fmacost.reports import tables

    chosen = [parse_format(text) for text in names] if names else list(standard_formats())
    terminal = Terminal(quiet)
    notify_all(filter(None, map(alias_note, names or [])), terminal)
    if json:
        write_json([tables.format_record(fmt) for fmt in chosen], terminal)
    else:
        terminal.show(tables.format_table(chosen))


@app.command(epilog=epilog("fmacost technologies\nfmacost technologies sky130hd --json"))
def technologies(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", show_default="a table of all")
    ] = None,
    json: AsJson = False,
) -> None:
    """List the technologies that are there, or the cells of some and what each one costs.

    A name is a built-in technology, a Liberty file (.lib or .lib.gz; + between several of one
    library), or a library found where kits are kept: NAME@pdk in PDK_ROOT, ~/.ciel or ~/.volare,
    NAME@orfs in ORFS_ROOT, NAME@qflow. It is the typical corner; NAME@pdk:CORNER is another one.
    """
    from fmacost.reports import tables
    from fmacost.reports.libraries import list_technologies

    terminal = Terminal()
    store = open_cache(True, terminal)
    if names:
        chosen = open_technologies(names, store)
        if json:
            write_json([tables.technology_record(t) for t in chosen], terminal)
        else:
            terminal.show(*tables.technology_parts(chosen))
    else:
        listed = list_technologies(store)
        if json:
            write_json([tables.listed_record(entry) for entry in listed], terminal)
        else:
            terminal.show(tables.listed_table(listed), *tables.corner_notes(listed))


@app.command(epilog=epilog("fmacost doctor\nfmacost doctor --json"))
def doctor(json: AsJson = False, quiet: Quiet = False) -> None:
    """Say what is installed, which Yosys runs, and whether a tiny synthesis works."""
    from fmacost.reports.doctor import examine
    from fmacost.reports.tables import check_table

    terminal = Terminal(quiet)
    with terminal.progress(1) as watcher:
        watcher.begin("doctor")
        checks = list(examine(watcher))
    if json:
        write_json([check._asdict() for check in checks], terminal)
    else:
        terminal.show(check_table(checks))
    if any(check.ok is False for check in checks):
        raise typer.Exit(TOOL_FAILED)


@app.command(epilog=epilog("fmacost cache\nfmacost cache clear"))
def cache(
    action: Annotated[str, typer.Argument(metavar="[info|clear]")] = "info",
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show or clear the cache of results. FMACOST_CACHE_DIR says where it is."""
    from fmacost.reports.tables import cache_record

    terminal = Terminal(quiet)
    store = Cache(cache_folder(), terminal.notify)
    if action == "clear":
        try:
            removed = store.clear()
        except OSError as error:
            raise InputError(f"cannot clear the cache: {error}") from None
        terminal.notify(f"removed {removed} files from {store.folder}")
    elif action != "info":
        raise InputError(f"unknown cache action '{action}'; expected info or clear")
    info = store.info()
    record = cache_record(str(info.folder), info.entries, info.size_bytes)
    if json:
        write_json([record], terminal)
    elif action == "info":
        terminal.write("".join(f"{name}: {value}\n" for name, value in record.items()))
