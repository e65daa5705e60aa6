"""Comparisons, stages, accumulators and curves as pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fmacost.reports.accumulators import Matrix
from fmacost.reports.breakdown import Breakdown, stage_names
from fmacost.reports.compare import Comparison
from fmacost.reports.curve import Curve, delay, delay_metric
from fmacost.reports.export import write_output
from fmacost.reports.metrics import metric, show_ratio
from fmacost.reports.plots.style import (
    BOX,
    MARKERS,
    STYLES,
    check_plot,
    finish_axes,
    logarithmic,
    render,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TICKS = (1, 1.5, 2, 3, 5, 7)


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

    return render((1.2 + 5.6 * columns, 4.6), paint, suffix)


def draw_breakdown(breakdowns: Sequence[Breakdown], suffix: str) -> bytes:
    """Return a plot file of one bar a unit, its stages stacked; ``suffix`` as in ``draw``."""

    def paint(figure: "Figure") -> None:
        ax = figure.subplots()
        places = range(len(breakdowns))
        bottoms = [0] * len(breakdowns)
        names = [n for n in stage_names(breakdowns) if any(b.stages.get(n) for b in breakdowns)]
        for i, name in enumerate(names):
            heights = [b.stages.get(name, 0) for b in breakdowns]
            bars = ax.bar(places, heights, 0.6, bottoms, label=name, **style(i))
            bottoms = [low + height for low, height in zip(bottoms, heights, strict=True)]
            smallest = max(b.total for b in breakdowns) / 40
            labels = [f"{height:,}" if height > smallest else "" for height in heights]
            for text in ax.bar_label(bars, labels, label_type="center", fontsize=8):
                text.set_bbox(BOX if text.get_text() else None)
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
        finish_axes(ax)
        handles, labels = ax.get_legend_handles_labels()
        figure.legend(handles[::-1], labels[::-1], frameon=False, loc="outside right center")
        technology = breakdowns[0].row.technology
        ax.set_title(f"Transistors by stage in {technology}\ndashed: flattened")

    return render((3.4 + 1.9 * len(breakdowns), 5.2), paint, suffix)


def draw_accumulators(matrix: Matrix, suffix: str) -> bytes:
    """Return a plot file with a group of bars for each operand format, a bar for each addend."""

    def paint(figure: "Figure") -> None:
        ax = figure.subplots()
        width = 0.84 / len(matrix.lines)
        for i, line in enumerate(matrix.lines):
            rows = {side: matrix.row(line, side) for side in range(len(matrix.formats))}
            known = {side: row for side, row in rows.items() if row is not None}
            bars = ax.bar(
                [side + (i - (len(matrix.lines) - 1) / 2) * width for side in known],
                [row.counted_transistors for row in known.values()], width, label=line.accumulator,
                **style(i),
            )  # fmt: skip
            marks = ["" if r.verification.is_proven else "NOT VERIFIED" for r in known.values()]
            ax.bar_label(bars, marks, rotation=90, padding=2, fontsize=8)
        ax.set_yscale("log")
        ax.set_xticks(range(len(matrix.formats)), [fmt.name for fmt in matrix.formats])
        ax.set_xlabel("operands")
        ax.set_ylabel("transistors (logarithmic)")
        finish_axes(ax)
        handles, labels = ax.get_legend_handles_labels()
        figure.legend(handles, labels, title="addend", frameon=False, loc="outside right center")
        ax.set_title("Transistors of fused multiply-add units by accumulator")

    return render((3.6 + 1.1 * len(matrix.formats), 4.8), paint, suffix)


def draw_curves(curves: Sequence[Curve], suffix: str) -> bytes:
    """Return a plot file of size against delay, a line of proven points for each unit."""

    def paint(figure: "Figure") -> None:
        ax = figure.subplots()
        for i, curve in enumerate(curves):
            colour, _ = STYLES[i % len(STYLES)]
            times, sizes = [delay(r) for r in curve.rows], [r.size for r in curve.rows]
            # what a clock takes: the next smaller delay that is there
            ax.step(times, sizes, where="pre", color=colour, linewidth=1.2)
            ax.plot(
                times, sizes, linestyle="none", marker=MARKERS[i % len(MARKERS)],
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
        logarithmic(ax, "x", "{x:,.3g}" if head.delay_ps is None else "{x:,.0f}", _TICKS)
        finish_axes(ax)
        ax.margins(x=0.1)
        ax.set_ylim(0, 1.14 * max(row.size for curve in curves for row in curve.rows))
        ax.set_title(f"Size against delay in {head.technology}, every point proven")

    return render((7.6, 4.8), paint, suffix)


def _draw_bars(ax: "Axes", comparison: Comparison, technology: str) -> None:
    sides = len(comparison.formats)
    width = 0.84 / sides
    for side, fmt in enumerate(comparison.formats):
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
        bars = ax.bar(places, heights, width, label=fmt.name, **style(side))
        ax.bar_label(bars, labels, padding=2, fontsize=8)
    ax.set_xticks(range(len(comparison.lines)), [line.accumulator for line in comparison.lines])
    ax.set_xlabel("accumulator")
    ax.set_title(technology)
    finish_axes(ax, 0.16)
