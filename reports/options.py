"""The options that several commands share, each declared once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fmacost.sim.formats import standard_formats

DEFAULT_TECHNOLOGIES = ("cmos", "cmos2")


class Effort(StrEnum):
    """How much synthesis tries: the names are those of ``hw.synthesis``."""

    QUICK = "quick"
    NORMAL = "normal"
    MAX = "max"


class Objective(StrEnum):
    """What synthesis minimises: the names are those of ``hw.synthesis``."""

    AREA = "area"
    DELAY = "delay"
    ADP = "adp"


class PlotKind(StrEnum):
    """What a saved table can be drawn as."""

    BARS = "bars"  # side by side; the stages of a breakdown on top of each other
    LINES = "lines"  # integers against floats of as many bits, and their ratio
    HEATMAP = "heatmap"  # every split into exponent and fraction bits
    FRONTIER = "frontier"  # size against delay
    ENERGY = "energy"  # parts of an operation's energy on top of each other


def _formats() -> list[str]:
    """Return names that a shell may complete."""
    return [fmt.name for fmt in standard_formats()]


def _technologies() -> list[str]:
    from fmacost.hw.technology import TECHNOLOGIES

    return list(TECHNOLOGIES)


def _or_before(context: typer.Context, quiet: bool) -> bool:
    """Return whether quiet was asked for, here or before the command's name."""
    return quiet or bool(context.obj)


UnitTexts = Annotated[
    list[str],
    typer.Argument(metavar="UNIT...", help="Such as fma:e4m3fn, fma:int8+int32, mul:fp16,rtz."),
]
FormatTexts = Annotated[
    list[str],
    typer.Argument(
        metavar="FORMAT...",
        help="Such as int8, e4m3fn, e3m4ieee, fixed4.4.",
        autocompletion=_formats,
    ),
]
TechnologyNames = Annotated[
    list[str] | None,
    typer.Option(
        "--technology",
        "-t",
        metavar="NAME|FILE",
        help="As 'fmacost technologies' lists, or a Liberty file; may be given several times.",
        autocompletion=_technologies,
        show_default=False,
    ),
]
OneTechnology = Annotated[
    str, typer.Option("--technology", "-t", metavar="NAME|FILE", help="One technology.")
]
EffortName = Annotated[
    Effort, typer.Option(help="How much is tried, the same for every unit; max takes minutes.")
]
ObjectiveName = Annotated[
    Objective, typer.Option(help="What is minimised; adp is the product of area and delay.")
]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", min=1, help="Yosys processes at once.", show_default="all cores"),
]
TimeoutSeconds = Annotated[
    float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="Limit of one Yosys run.")
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Neither read nor write the cache.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, no text.")]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", help="No notices, no progress.", callback=_or_before),
]
Exhaustive = Annotated[
    bool, typer.Option("--exhaustive", help="Check every input, up to 2^32 of them.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of sampled inputs.")]
ExportJson = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the rows as JSON.", show_default=False)
]
ExportCsv = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the rows as CSV.", show_default=False)
]
ExportMd = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a Markdown table.", show_default=False)
]
ExportTex = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write a LaTeX table.", show_default=False)
]
PipelineRanks = Annotated[
    int | None,
    typer.Option(
        "--pipeline",
        metavar="RANKS",
        help="Ranks of registers inside, 0 to 32.",
        show_default=False,
    ),
]
ProcessingElement = Annotated[
    bool, typer.Option("--pe", help="With the registers of a processing element.")
]
ClockPs = Annotated[
    float | None,
    typer.Option(
        "--clock-ps",
        metavar="PS",
        help="The smallest unit that meets this delay, or period if it has registers.",
        show_default=False,
    ),
]
ExportParquet = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write the rows as Parquet (pip install 'fmacost[parquet]').",
        show_default=False,
    ),
]
PlotFile = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw it: .png, .svg or .pdf.", show_default=False),
]
