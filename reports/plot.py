"""The comparison as a picture: bars of transistors, drawn without a display.

Colours are told apart by colour-blind eyes (Okabe and Ito 2008) and in grey, hatches help both.
The same comparison gives the same bytes with the same matplotlib.
"""

import importlib.util
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmacost.reports.compare import Comparison
from fmacost.reports.errors import InputError
from fmacost.reports.export import check_writable, write_output
from fmacost.reports.metrics import show_ratio

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    import matplotlib as mpl
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {"svg.hashsalt": "fmacost", "hatch.linewidth": 0.6}
    with mpl.rc_context():
        mpl.rcdefaults()  # nothing of the user's own style
        mpl.rcParams.update(settings)
        columns = len(comparison.technologies)
        figure = Figure(figsize=(1.2 + 5.6 * columns, 4.6), layout="constrained")
        axes = figure.subplots(1, columns, sharey=True, squeeze=False)[0]
        for ax, technology in zip(axes, comparison.technologies, strict=True):
            _draw_bars(ax, comparison, technology)
        axes[0].set_ylabel("transistors")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, title="operands", frameon=False, loc="outside right upper")
        names = " against ".join(fmt.name for fmt in comparison.formats)
        figure.suptitle(f"Transistors of fused multiply-add units: {names}")
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
            heights.append(row.transistors)
            times = f"\n{show_ratio(ratio)}" if ratio else ""
            labels.append(f"{row.transistors:,}{times}{mark}")
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
