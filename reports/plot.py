"""Comparisons, stages and accumulators as pictures: bars of sizes, without a display.

Colours are told apart by colour-blind eyes (Okabe and Ito 2008) and in grey, hatches help both.
The same comparison gives the same bytes with the same matplotlib.
"""

import importlib.util
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmacost.reports.accumulators import Matrix
from fmacost.reports.breakdown import Breakdown, stage_names
from fmacost.reports.compare import Comparison
from fmacost.reports.curve import Curve, delay, delay_metric
from fmacost.reports.errors import InputError
from fmacost.reports.export import check_writable, write_output
from fmacost.reports.metrics import metric, show_ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Metadata that would hold the time or the version of the drawing.
_METADATA: Mapping[str, dict[str, Any]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_STYLES = (
    ("#0072B2", ""),
    ("#E69F00", "///"),
    ("#009E73", "..."),
    ("#CC79A7", "xxx"),
    ("#56B4E9", "\\\\\\"),
    ("#F0E442", "+++"),
)
_TICKS = (1, 1.5, 2, 3, 5, 7)  # of a logarithmic axis, times powers of ten
_MARKERS = ("o", "s", "^", "D", "v", "P")


def check_plot(path: Path) -> None:
    """Raise InputError unless a plot can be drawn into this file; for use before long work."""
    if path.suffix.lower() not in _METADATA:
        kinds = ", ".join(_METADATA)
        raise InputError(f"cannot plot to {path}: the name must end in one of {kinds}")
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("--plot needs matplotlib: pip install 'fmacost[plot]'")
    check_writable(path)


def write_plot(comparison: Comparison, path: Path) -> None:
    """Draw a comparison into a PNG, SVG or PDF file.

    Raises
    ------
    InputError
        If the file has another suffix or cannot be written, or matplotlib is missing.
    """
    check_plot(path)
    write_output(path, draw(comparison, path.suffix.lower()))


def draw(comparison: Comparison, suffix: str) -> bytes:
    """Return the content of a plot file; ``suffix`` is ``.png``, ``.svg`` or ``.pdf``."""
    columns = len(comparison.technologies)

    def paint(figure: "Figure") -> None:
        sizes = [metric(comparison.size_metric(name)).heading for name in comparison.technologies]
        axes = figure.subplots(1, columns, sharey=len(set(sizes)) == 1, squeeze=False)[0]
        for ax, technology, size in zip(axes, comparison.technologies, sizes, strict=True):
            _draw_bars(ax, comparison, technology)
            ax.set_ylabel(size)
            ax.label_outer()
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, title="operands", frameon=False, loc="outside right upper")
        names = " against ".join(fmt.name for fmt in comparison.formats)
        figure.suptitle(f"Fused multiply-add units: {names}")

    return _render((1.2 + 5.6 * columns, 4.6), paint, suffix)


def draw_breakdown(breakdowns: Sequence[Breakdown], suffix: str) -> bytes:
    """Return a plot file of one bar a unit, its stages stacked; ``suffix`` as in ``draw``."""

    def paint(figure: "Figure") -> None:
        ax = figure.subplots()
        places = range(len(breakdowns))
        bottoms = [0] * len(breakdowns)
        names = [n for n in stage_names(breakdowns) if any(b.stages.get(n) for b in breakdowns)]
        for i, name in enumerate(names):
            heights = [b.stages.get(name, 0) for b in breakdowns]
            colour, hatch = _STYLES[i % len(_STYLES)]
            second = i >= len(_STYLES)  # another round of the same colours
            bars = ax.bar(
                places, heights, 0.6, bottoms, label=name, color=colour,
                hatch="oo" if second else hatch, alpha=0.7 if second else 1,
                edgecolor="black", linewidth=0.6,
            )  # fmt: skip
            bottoms = [low + height for low, height in zip(bottoms, heights, strict=True)]
            smallest = max(b.total for b in breakdowns) / 40
            labels = [f"{height:,}" if height > smallest else "" for height in heights]
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.85}
            for text in ax.bar_label(bars, labels, label_type="center", fontsize=8):
                text.set_bbox(box if text.get_text() else None)
        for place, b in zip(places, breakdowns, strict=True):
            ax.hlines(
                b.row.counted_transistors, place - 0.38, place + 0.38, color="black", linestyle="--"
            )
            flat = f"sum {b.total:,}, flattened {b.row.counted_transistors:,}"
            mark = "" if b.row.verification.is_proven else "\nNOT VERIFIED"
            top = max(b.total, b.row.counted_transistors)
            ax.annotate(f"{flat}{mark}", (place, top), (0, 3), textcoords="offset points",
                        ha="center", va="bottom", fontsize=8)  # fmt: skip
        ax.set_xticks(places, [b.row.unit for b in breakdowns])
        ax.set_ylabel("transistors")
        _finish_axes(ax)
        handles, labels = ax.get_legend_handles_labels()
        figure.legend(handles[::-1], labels[::-1], frameon=False, loc="outside right center")
        technology = breakdowns[0].row.technology
        ax.set_title(f"Transistors by stage in {technology}\ndashed: flattened")

    return _render((3.4 + 1.9 * len(breakdowns), 5.2), paint, suffix)


def draw_accumulators(matrix: Matrix, suffix: str) -> bytes:
    """Return a plot file with a group of bars for each operand format, a bar for each addend."""

    def paint(figure: "Figure") -> None:
        ax = figure.subplots()
        width = 0.84 / len(matrix.lines)
        for i, line in enumerate(matrix.lines):
            colour, hatch = _STYLES[i % len(_STYLES)]
            rows = {side: matrix.row(line, side) for side in range(len(matrix.formats))}
            known = {side: row for side, row in rows.items() if row is not None}
            bars = ax.bar(
                [side + (i - (len(matrix.lines) - 1) / 2) * width for side in known],
                [row.counted_transistors for row in known.values()], width, label=line.accumulator,
                color=colour, hatch=hatch, edgecolor="black", linewidth=0.6,
            )  # fmt: skip
            marks = ["" if r.verification.is_proven else "NOT VERIFIED" for r in known.values()]
            ax.bar_label(bars, marks, rotation=90, padding=2, fontsize=8)
        ax.set_yscale("log")
        ax.set_xticks(range(len(matrix.formats)), [fmt.name for fmt in matrix.formats])
        ax.set_xlabel("operands")
        ax.set_ylabel("transistors (logarithmic)")
        _finish_axes(ax)
        handles, labels = ax.get_legend_handles_labels()
        figure.legend(handles, labels, title="addend", frameon=False, loc="outside right center")
        ax.set_title("Transistors of fused multiply-add units by accumulator")

    return _render((3.6 + 1.1 * len(matrix.formats), 4.8), paint, suffix)


def draw_curves(curves: Sequence[Curve], suffix: str) -> bytes:
    """Return a plot file of size against delay, a line of proven points for each unit."""
    from matplotlib.ticker import LogLocator, NullLocator

    def paint(figure: "Figure") -> None:
        ax = figure.subplots()
        for i, curve in enumerate(curves):
            colour, _ = _STYLES[i % len(_STYLES)]
            times, sizes = [delay(r) for r in curve.rows], [r.size for r in curve.rows]
            # what a clock takes: the next smaller delay that is there
            ax.step(times, sizes, where="pre", color=colour, linewidth=1.2)
            ax.plot(
                times, sizes, linestyle="none", marker=_MARKERS[i % len(_MARKERS)],
                color=colour, markeredgecolor="black", markeredgewidth=0.5,
            )  # fmt: skip
            # the fast ends are apart, the small ones often are not
            ax.annotate(
                curve.unit, (times[-1], sizes[-1]), (0, 7), textcoords="offset points",
                ha="center", va="bottom", fontsize=9,
                bbox={"facecolor": "white", "edgecolor": colour, "pad": 1.5, "alpha": 0.85},
            )  # fmt: skip
        head = curves[0].rows[0]
        ax.set_xlabel(f"delay, {metric(delay_metric(head)).unit}"
                      if head.delay_ps is not None else "delay, FO4")  # fmt: skip
        ax.set_ylabel(metric(head.size_metric).heading)
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=_TICKS, numticks=20))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter("{x:,.3g}" if head.delay_ps is None else "{x:,.0f}")
        _finish_axes(ax)
        ax.margins(x=0.1)
        ax.set_ylim(0, 1.14 * max(row.size for curve in curves for row in curve.rows))
        ax.set_title(f"Size against delay in {head.technology}, every point proven")

    return _render((7.6, 4.8), paint, suffix)


def _finish_axes(ax: "Axes") -> None:
    ax.margins(y=0.12)
    ax.spines[["top", "right"]].set_visible(False)
    ax.yaxis.set_major_formatter("{x:,.0f}")


def _render(size: tuple[float, float], paint: Callable[["Figure"], None], suffix: str) -> bytes:
    """Return the content of a plot file, without anything of the user's own style."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {"svg.hashsalt": "fmacost", "hatch.linewidth": 0.6}
    with mpl.rc_context():
        mpl.rcdefaults()  # nothing of the user's own style
        mpl.rcParams.update(settings)
        figure = Figure(figsize=size, layout="constrained")
        paint(figure)
        out = io.BytesIO()
        figure.savefig(out, format=suffix[1:], dpi=150, metadata=_METADATA[suffix])
    return out.getvalue()


def _draw_bars(ax: "Axes", comparison: Comparison, technology: str) -> None:
    sides = len(comparison.formats)
    width = 0.84 / sides
    for side, fmt in enumerate(comparison.formats):
        colour, hatch = _STYLES[side % len(_STYLES)]
        places, heights, labels = [], [], []
        for i, line in enumerate(comparison.lines):
            row = comparison.row(line, side, technology)
            if row is None:
                continue
            ratio = comparison.ratio(line, side, technology) if side else None
            mark = "" if row.verification.is_proven else "\nNOT VERIFIED"
            places.append(i + (side - (sides - 1) / 2) * width)
            heights.append(row.size)
            times = f"\n{show_ratio(ratio)}" if ratio else ""
            labels.append(f"{metric(row.size_metric).show(row.size)}{times}{mark}")
        bars = ax.bar(
            places, heights, width, label=fmt.name, color=colour, hatch=hatch,
            edgecolor="black", linewidth=0.6,
        )  # fmt: skip
        ax.bar_label(bars, labels, padding=2, fontsize=8)
    ax.set_xticks(range(len(comparison.lines)), [line.accumulator for line in comparison.lines])
    ax.set_xlabel("accumulator")
    ax.set_title(technology)
    ax.margins(y=0.16)
    ax.spines[["top", "right"]].set_visible(False)
    ax.yaxis.set_major_formatter("{x:,.0f}")
