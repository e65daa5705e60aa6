"""Bars: side by side in groups, or the parts of each unit on top of each other."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fmacost.reports.breakdown import FLATTENED, SUM
from fmacost.reports.compare import RATIOS
from fmacost.reports.errors import InputError, printable
from fmacost.reports.facets import facet
from fmacost.reports.grid import near
from fmacost.reports.metrics import metric, show_ratio
from fmacost.reports.plots.style import BOX, NOT_VERIFIED, finish_axes, render, style
from fmacost.reports.row import Record, Records
from fmacost.reports.saved import is_proven

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_MAX_BARS = 400
_MAX_LABELLED = 40  # bars in one panel that have room for their value
_PARTS = ("input", "net", "internal", "register", "clock", "glitch")
_ENERGIES = tuple(f"{part}_energy_fj" for part in _PARTS)
_CAPACITANCES = tuple(f"{part}_capacitance" for part in _PARTS if part != "internal")
_LIMIT = "choose some, such as --where kind=fma"


def draw_bars(
    tables: Sequence[tuple[Records, str]],
    suffix: str,
    *,
    x: str,
    series: str,
    base: str | None = None,
) -> bytes:
    """Return a plot file with a row of panels for each kind of unit, in them groups of bars.

    Parameters
    ----------
    tables : records, and the field that their heights are; each is a column of panels
    x, series : names of ``FACETS``; a group for each value of the first, a bar for the second
    base : one of the series; heights are then ratios to it, in the same group

    Raises
    ------
    InputError
        If two rows belong to the same bar, there are too many, or none is the base.
    """
    kinds = [""]
    if not {"unit", "kind"} & {x, series}:
        kinds = list(dict.fromkeys(facet(r, "kind") for records, _ in tables for r in records))
    panels = [
        [
            _groups([r for r in records if not kind or facet(r, "kind") == kind], field, x, series)
            for records, field in tables
        ]
        for kind in kinds
    ]
    groups = [made for row in panels for made in row]
    names = list(dict.fromkeys(name for made in groups for g in made.values() for name in g))
    bars = [len(made) * len(names) for made in groups]
    if sum(bars) > _MAX_BARS:
        raise InputError(f"{sum(bars)} bars, at most {_MAX_BARS} are drawn: {_LIMIT}")
    if base is not None and base not in names:
        raise InputError(printable(f"no {series} is '{base}'{near(base, names)}"))

    def paint(figure: "Figure") -> None:
        shared = len({field for _, field in tables}) == 1
        axes = figure.subplots(
            len(kinds), len(tables), sharey="row" if shared else False, squeeze=False
        )
        for kind, row, made in zip(kinds, axes, panels, strict=True):
            for ax, (records, field), own in zip(row, tables, made, strict=True):
                _paint_groups(ax, own, names, field, base)
                technology = facet(records[0], "technology") if len(tables) > 1 else ""
                ax.set_title(", ".join(filter(None, (kind, technology))))
                if shared and ax is not row[0]:
                    ax.set_ylabel("")
        for ax in axes[-1]:
            ax.set_xlabel("" if x == "unit" else x)
        if len(names) > 1:
            handles, labels = axes[0, 0].get_legend_handles_labels()
            figure.legend(handles, labels, title=series, frameon=False, loc="outside right upper")

    width = min(max(1.2 + (1.8 + 0.3 * max(bars)) * len(tables), 5.0), 16.0)
    return render((width, 0.8 + 3.2 * len(kinds)), paint, suffix)


def _groups(records: Records, field: str, x: str, series: str) -> dict[str, dict[str, Record]]:
    made: dict[str, dict[str, Record]] = {}
    for record in records:
        place, name = facet(record, x), facet(record, series)
        if made.setdefault(place, {}).setdefault(name, record) is not record:
            raise InputError(
                printable(f"two rows for {x} {place}, {series} {name}: choose another --x or "
                          "--series, or rows with --where")
            )  # fmt: skip
    return made


def _paint_groups(
    ax: "Axes", groups: Mapping[str, Mapping[str, Record]], names: Sequence[str], field: str,
    base: str | None,
) -> None:  # fmt: skip
    width = 0.84 / len(names)
    is_labelled = len(groups) * len(names) <= _MAX_LABELLED
    is_turned = len(names) > 2
    for i, name in enumerate(names):
        places, heights, labels = [], [], []
        for j, group in enumerate(groups.values()):
            record = group.get(name)
            if record is None or (base is not None and not group.get(base, {}).get(field)):
                continue
            height = record[field] if base is None else record[field] / group[base][field]
            shown = []
            if is_labelled:
                shown.append(
                    metric(field).show(record[field]) if base is None else show_ratio(height)
                )
                ratio = record.get(RATIOS.get(field, ""), 1)
                if base is None and ratio != 1:
                    shown.append(show_ratio(ratio))
            if not is_proven(record):
                shown.append(NOT_VERIFIED)
            places.append(j + (i - (len(names) - 1) / 2) * width)
            heights.append(height)
            labels.append((" " if is_turned else "\n").join(shown))
        bars = ax.bar(places, heights, width, label=name, **style(i))
        ax.bar_label(bars, labels, padding=2, fontsize=7, rotation=90 if is_turned else 0)
    crowded = len(groups) > 8
    ticks = [name if crowded else name.replace(", ", ",\n") for name in groups]
    ax.set_xticks(range(len(groups)), ticks, rotation=90 if crowded else 0)
    finish_axes(ax, 0.2)
    heading = metric(field).heading
    if base is None:
        ax.set_ylabel(heading)
    else:
        ax.set_ylabel(f"{heading} / {base}")
        ax.axhline(1, color="black", linewidth=0.8)
        ax.yaxis.set_major_formatter("{x:.3g}x")


def draw_stages(records: Records, suffix: str, *, is_share: bool = False) -> bytes:
    """Return a plot file of a breakdown: a bar for each unit, its stages on top of each other.

    Raises
    ------
    InputError
        If there are too many units.
    """
    units: dict[str, dict[str, Record]] = {}
    for record in records:
        if "stage" in record and record.get("transistors"):
            units.setdefault(record["unit"], {})[record["stage"]] = record
    whole = (SUM, FLATTENED)
    names = [s for s in dict.fromkeys(s for u in units.values() for s in u) if s not in whole]

    def paint(figure: "Figure") -> None:
        ax = figure.subplots()
        heights = {
            name: [u[name]["transistors"] if name in u else 0 for u in units.values()]
            for name in names
        }
        tops = _stack(ax, heights, "transistors", is_share)
        between = "\n" if is_share else ", "
        for place, stages in enumerate(units.values()):
            flat = stages.get(FLATTENED)
            text, scale = f"sum {tops[place]:,}", tops[place] if is_share else 1
            if flat is not None:
                height = flat["transistors"]
                ax.hlines(height / scale, place - 0.38, place + 0.38, color="black", linestyle="--")
                text += f"{between}flattened {height:,}"
            mark = "" if all(map(is_proven, stages.values())) else f"\n{NOT_VERIFIED}"
            top = max(tops[place], flat["transistors"] if flat is not None else 0)
            ax.annotate(f"{text}{mark}", (place, top / scale), (0, 3), textcoords="offset points",
                        ha="center", va="bottom", fontsize=8)  # fmt: skip
        ax.set_xticks(range(len(units)), list(units))
        ax.set_ylabel("share of the transistors of all stages" if is_share else "transistors")
        finish_axes(ax)
        _percent(ax, is_share)
        _legend(figure, ax)
        ax.set_title("Transistors by stage\ndashed: flattened")

    return render((_stack_width(len(units)), 5.2), paint, suffix)


def draw_energies(records: Records, suffix: str, *, is_share: bool = False) -> bytes:
    """Return a plot file of energies an operation: a bar for each unit, technology and stream.

    Raises
    ------
    InputError
        If no row has energies, or there are too many.
    """
    choices = (_ENERGIES, ("energy_fj",), _CAPACITANCES, ("switched_capacitance",))
    known = [(r, next((f for f in choices if r.get(f[0]) is not None), None)) for r in records]
    fields = next((f for f in choices if any(f == own for _, own in known)), None)
    if fields is None:
        raise InputError("the table has no energies: expected such as 'fmacost energy' exports")
    chosen = [record for record, own in known if own == fields]
    varied = [n for n in ("unit", "technology", "stream") if n == "unit" or _is_varied(chosen, n)]

    def paint(figure: "Figure") -> None:
        ax = figure.subplots()
        heights = {metric(f).heading: [r.get(f) or 0 for r in chosen] for f in fields}
        tops = _stack(ax, {k: v for k, v in heights.items() if any(v)}, fields[0], is_share)
        for place, (record, top) in enumerate(zip(chosen, tops, strict=True)):
            mark = "" if is_proven(record) else f"\n{NOT_VERIFIED}"
            height = 1 if is_share else top
            ax.annotate(f"{metric(fields[0]).show(top)}{mark}", (place, height), (0, 3),
                        textcoords="offset points", ha="center", va="bottom",
                        fontsize=8)  # fmt: skip
        labels = ["\n".join(facet(record, name) for name in varied) for record in chosen]
        ax.set_xticks(range(len(chosen)), labels)
        ax.set_ylabel(f"{metric(fields[0]).unit} an operation")
        finish_axes(ax)
        _percent(ax, is_share)
        if len(fields) > 1:
            _legend(figure, ax)
        ax.set_title("Energy of one operation")

    return render((_stack_width(len(chosen)), 5.2), paint, suffix)


def _is_varied(records: Records, name: str) -> bool:
    return len({facet(record, name) for record in records}) > 1


def _stack_width(bars: int) -> float:
    if bars > _MAX_LABELLED:
        raise InputError(f"{bars} bars, at most {_MAX_LABELLED} are drawn: {_LIMIT}")
    return 3.4 + 1.9 * bars


def _percent(ax: "Axes", is_share: bool) -> None:
    if is_share:
        ax.yaxis.set_major_formatter("{x:.0%}")


def _stack(
    ax: "Axes", heights: Mapping[str, Sequence[float]], field: str, is_share: bool
) -> list[float]:
    """Draw parts on top of each other, each with its value where it fits; return their sums."""
    totals = [sum(column) for column in zip(*heights.values(), strict=True)]
    highest = 1 if is_share else max(totals)
    bottoms: list[float] = [0] * len(totals)
    for i, (name, values) in enumerate(heights.items()):
        scaled = values
        if is_share:
            scaled = [value / (total or 1) for value, total in zip(values, totals, strict=True)]
        bars = ax.bar(range(len(scaled)), scaled, 0.6, bottoms, label=name, **style(i))
        for bar in bars:
            if not bar.get_height():  # of nothing, at the top: it would leave no room above
                bar.sticky_edges.y.clear()
        bottoms = [low + height for low, height in zip(bottoms, scaled, strict=True)]
        show = "{:.0%}".format if is_share else metric(field).show
        labels = [show(height) if height > highest / 40 else "" for height in scaled]
        for text in ax.bar_label(bars, labels, label_type="center", fontsize=8):
            text.set_bbox(BOX if text.get_text() else None)
    return totals


def _legend(figure: "Figure", ax: "Axes") -> None:
    """Name the parts in the order in which they lie on each other."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], frameon=False, loc="outside right center")
