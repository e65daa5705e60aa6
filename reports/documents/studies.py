"""The named studies in the documents: measure them, draw them, write their pages.

Plots and pages are functions of the tables in ``docs/studies/``. ``make studies`` makes all of them
anew, ``make studies STUDY=fp8`` those of one study.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from fmacost.reports.documents.regions import documents, render
from fmacost.reports.documents.rows import STUDIES_FOLDER, DocumentError, Rows
from fmacost.reports.documents.study_tables import STAGES, TABLES, StudyTables, lean_csv
from fmacost.reports.documents.study_texts import STUDY_NUMBERS
from fmacost.reports.errors import InputError
from fmacost.reports.export import write_output
from fmacost.reports.facets import choose
from fmacost.reports.options import PlotKind
from fmacost.reports.plots.saved import Wish, draw_table
from fmacost.reports.saved import read_rows
from fmacost.reports.studies import EFFORT
from fmacost.reports.terminal import Terminal, UnitWatcher

DIFFERENT, USAGE, TOOL_FAILED = 1, 2, 3
_STAGES_OF = ("e2m1fn", "e3m2fn", "e4m3fn", "e5m2", "bf16", "fp16", "fp32")


@dataclass(frozen=True, slots=True)
class Picture:
    """A plot in the documents: what ``fmacost plot`` would draw.

    Attributes
    ----------
    name : of the file, without its suffix
    table : the study that it is drawn from
    where : conditions of ``facets.choose``
    """

    name: str
    table: str
    kind: PlotKind
    where: tuple[str, ...] = ()
    wish: Wish = field(default_factory=Wish)

    def draw(self, tables: StudyTables) -> bytes:
        """Return the content of its file."""
        return draw_table(choose(tables(self.table), self.where), self.kind, ".svg", self.wish)


PICTURES = (
    Picture("widths", "widths", PlotKind.LINES, ("addend=none,same",)),
    Picture("widths-addends", "widths", PlotKind.LINES, ("addend=int16,fp16,int32,fp32",)),
    Picture("surface", "surface", PlotKind.HEATMAP),
    Picture("fp8", "fp8", PlotKind.BARS, (), Wish(x="split", series="specials")),
    Picture(
        "accumulators", "accumulators", PlotKind.BARS, ("addend=int16,int32,fp16,bf16,fp32",),
        Wish(x="operands", series="addend"),
    ),
    Picture(
        "rounding", "rounding", PlotKind.BARS, (),
        Wish(x="operands", series="options", base="rne"),
    ),
    Picture(
        "technologies", "technologies", PlotKind.BARS, ("operands=int8,e4m3fn,e5m2,int4,e2m1fn",),
        Wish(metric="gates_ge", x="technology", series="operands", base="int8"),
    ),
    Picture("versions", "versions", PlotKind.BARS, (), Wish(x="operands")),
    Picture(STAGES, STAGES, PlotKind.BARS, ("kind=fma",), Wish(is_share=True)),
)  # fmt: skip


def measure_study(name: str) -> str:
    """Return the table of a study, measured now; what is in the cache is not measured again.

    Raises
    ------
    DocumentError
        If a command fails.
    """
    with tempfile.TemporaryDirectory(prefix="fmacost-") as folder:
        out = Path(folder) / "table"
        if name == STAGES:
            units = [f"{kind}:{fmt}" for kind in ("mul", "fma") for fmt in _STAGES_OF]
            _run(
                ["breakdown", *units, "--effort", *EFFORT, "--export-csv", str(out)],
                subprocess.DEVNULL,
            )
            return out.read_text(encoding="utf-8")
        _run(["sweep", name, "--export-json", str(out)], subprocess.DEVNULL)
        return lean_csv(read_rows(out))


def _run(arguments: Sequence[str], stdout: int | None = None) -> None:
    done = subprocess.run([sys.executable, "-m", "fmacost", *arguments], check=False, stdout=stdout)
    if done.returncode:
        raise DocumentError(f"'fmacost {' '.join(arguments)}' ends with {done.returncode}")


def show_moved(old: Path, new: str) -> None:
    """Print which numbers moved between a table and its successor."""
    with tempfile.TemporaryDirectory(prefix="fmacost-") as folder:
        later = Path(folder) / "new.csv"
        later.write_text(new, encoding="utf-8")
        _run(["diff", str(old), str(later)])


def main(
    folder: Annotated[Path, typer.Argument(help="The clone.")] = Path(),
    study: Annotated[
        list[str] | None, typer.Option(help="Measure this one only; several times.")
    ] = None,
    keep_tables: Annotated[
        bool, typer.Option("--keep-tables", help="Measure nothing: plots and pages alone.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if something differs.")
    ] = False,
) -> None:
    """Measure the named studies, draw them and write their numbers into the documents."""
    terminal = Terminal()
    tables = StudyTables(folder / STUDIES_FOLDER)
    made: dict[Path, str | bytes] = {}
    for name in () if keep_tables else study or TABLES:
        if name not in TABLES:
            raise DocumentError(f"no study is called '{name}'; known: {', '.join(TABLES)}")
        terminal.notify(f"{name} ...")
        path, text = tables.path(name), measure_study(name)
        if path.exists():
            show_moved(path, text)
        if not check:
            write_output(path, text)
        made[path] = text
    if not check or keep_tables:
        made |= _drawn(tables) | _pages(folder, tables)
    different = [path for path, content in made.items() if _read(path) != content]
    for path in different:
        terminal.complain(f"{path.relative_to(folder)}: {'differs' if check else 'made anew'}")
        if not check:
            write_output(path, made[path])
    if check and different:
        raise typer.Exit(DIFFERENT)


def _drawn(tables: StudyTables) -> dict[Path, str | bytes]:
    return {tables.folder / f"{picture.name}.svg": picture.draw(tables) for picture in PICTURES}


def _pages(folder: Path, tables: StudyTables) -> dict[Path, str | bytes]:
    """Return the documents with the regions of studies made anew, the others as they are."""
    rows = Rows(None, UnitWatcher(Terminal(quiet=True), None, None), tables=tables)
    return {
        path: render(path.read_text(encoding="utf-8"), rows, only=STUDY_NUMBERS)[0]
        for path in documents(folder)
    }


def _read(path: Path) -> str | bytes | None:
    if not path.exists():
        return None
    return path.read_bytes() if path.suffix == ".svg" else path.read_text(encoding="utf-8")


if __name__ == "__main__":
    try:
        typer.run(main)
    except (DocumentError, InputError) as problem:
        Terminal().complain(f"studies: {problem}")
        sys.exit(USAGE)
