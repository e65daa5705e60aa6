"""The charts of a page: Vega-Lite, as SVG that is there without scripts, and as specification.

Colours are custom properties of the page's style sheet, so that one drawing serves light, dark and
print. Every chart is drawn for a wide and for a narrow page. Its legend is the page's own, which a
keyboard reaches: it sets ``hidden``, the list of the series that are not shown.
"""

import importlib.util
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fmacost.reports.breakdown import stage_names
from fmacost.reports.compare import Comparison
from fmacost.reports.curve import delay, delay_metric
from fmacost.reports.errors import InputError
from fmacost.reports.metrics import metric, show_count
from fmacost.reports.page.contents import ARITHMETIC, Contents, energy_field, show_times, slug
from fmacost.reports.row import Row
from fmacost.reports.widths import FLOATING, SMALLEST, USUAL, Panel

if TYPE_CHECKING:
    import altair

VEGA_LITE = "6.4"  # of those that vl-convert has, the one that Altair writes
WIDE, HALF, NARROW = 944, 448, 324  # px of a figure on a wide page, of one of two there, on a phone
_MOST_BARS = 40
_SHADES = 6  # of blue and of grey in the style sheet
_CHARACTER = 6.5  # px, of a label of 12 px
_FONT = "Inter, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"
_LABELS = "var(--label)"

Values = list[dict[str, Any]]
Draw = Callable[[int], "altair.TopLevelMixin"]


@dataclass(frozen=True, slots=True)
class Series:
    """An entry of a legend; ``colour`` names a custom property."""

    name: str
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart in two widths.

    Attributes
    ----------
    text : what it shows, for those who do not see it
    legend : empty where labels say it all
    is_half : whether two of them stand side by side where there is room
    drawings : wide and narrow, each an SVG and the JSON of a Vega-Lite specification
    """

    name: str
    section: str
    title: str
    note: str
    text: str
    legend: tuple[Series, ...]
    is_half: bool
    drawings: tuple[tuple[str, str], ...]


def check_charts() -> None:
    """Raise InputError unless charts can be drawn; for use before long work."""
    missing = [name for name in ("altair", "vl_convert") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"report needs {' and '.join(missing)}: pip install 'fmacost[report]'")


def bundle(snippet: str) -> str:
    """Return JavaScript that has Vega, Vega-Lite and Vega-Embed, then ``snippet``."""
    import vl_convert

    found: str = vl_convert.javascript_bundle(snippet, VEGA_LITE)
    return found


def draw_charts(contents: Contents) -> list[Chart]:
    """Return the charts that the rows of a page give."""
    return list(_charts(contents))


def _charts(contents: Contents) -> Iterator[Chart]:
    comparison = contents.comparison
    if comparison is not None:
        for technology in comparison.technologies:
            yield _compared_sizes(comparison, technology)
        yield from _ratios(comparison)
    else:
        for technology in contents.names:
            yield _sizes(contents, technology)
    if contents.breakdowns:
        yield _stages(contents)
    for panel in contents.widths:
        yield from _widths(panel)
    for technology in contents.names:
        yield from _delays(contents, technology)
        yield from _energies(contents, technology)


def _compared_sizes(comparison: Comparison, technology: str) -> Chart:
    """Return bars of both sides, one group for each accumulator."""
    name = comparison.size_metric(technology)
    values: Values = []
    for line in comparison.lines:
        for side, fmt in enumerate(comparison.formats):
            row = comparison.row(line, side, technology)
            if row is None:
                continue
            ratio = comparison.ratio(line, side, technology) if side else None
            shown = metric(name).show(row.size)
            values.append({
                "group": line.accumulator, "unit": row.unit, "series": fmt.name, "size": row.size,
                "label": shown if ratio is None else f"{shown}, {show_times(ratio)}", **_tip(row),
            })  # fmt: skip
    series = [Series(f.name, _side(i)) for i, f in enumerate(comparison.formats)]
    return _chart(
        f"size-{slug(technology)}", "sizes", _title(name, technology),
        f"Each bar is a netlist; × is its size over that of {comparison.formats[0].name}.",
        values, series, lambda width: _bars(values, series, width),
        is_half=len(comparison.technologies) > 1,
    )  # fmt: skip


def _title(name: str, technology: str) -> str:
    """Return the title of a chart of sizes."""
    unit = f", {metric(name).unit}" if name == "area_um2" else ""
    return f"{'Area' if unit else 'Transistors'} in {technology}{unit}"


def _sizes(contents: Contents, technology: str) -> Chart:
    rows = _one_of_each(r for r in contents.rows if r.technology == technology)
    values = [
        {
            "group": "", "unit": row.unit, "series": technology, "size": row.size,
            "label": metric(row.size_metric).show(row.size), **_tip(row),
        }
        for row in rows[:_MOST_BARS]
    ]  # fmt: skip
    left = len(rows) - len(values)
    note = f" The first {_MOST_BARS} units; the table has {left:,} more." if left else ""
    series = [Series(technology, _other(0))]
    return _chart(
        f"size-{slug(technology)}", "sizes", _title(rows[0].size_metric, technology),
        f"Each bar is a netlist.{note}", values, series,
        lambda width: _bars(values, series, width), is_half=len(contents.names) > 1,
    )  # fmt: skip


def _one_of_each(rows: Iterable[Row]) -> list[Row]:
    """Return the smallest row of each unit, in order."""
    smallest: dict[str, Row] = {}
    for row in rows:
        kept = smallest.setdefault(row.unit, row)
        if row.size < kept.size:
            smallest[row.unit] = row
    return list(smallest.values())


def _tip(row: Row) -> dict[str, str]:
    record = row.to_json()
    names = ("gates_ge", "cells", "delay_fo4", "delay_ps")
    tips = [
        f"{metric(n).text(record)} {metric(n).heading}" for n in names if metric(n).text(record)
    ]
    return {"tip": f"{', '.join(tips)}; {metric('verification').text(record)}"}


def _bars(values: Values, series: Sequence[Series], width: int) -> "altair.TopLevelMixin":
    """Return horizontal bars: names at the left, on a narrow page above; values behind them."""
    import altair as alt

    is_narrow = width == NARROW
    places: Values = []
    for v in values:
        if v["group"] and (not places or places[-1]["group"] != v["group"]):
            places.append({"group": v["group"], "head": v["group"], "place": len(places)})
        places.append({**v, "place": len(places)})
    labels = 0 if is_narrow else _extent(v["unit"] for v in values)
    room = _CHARACTER * max(len(v["label"]) for v in values) + 10
    largest = max(v["size"] for v in values) or 1
    across = alt.X(
        "size:Q", title=None, axis=None, scale=alt.Scale(
            domain=[0, largest], range=[0, max(width - labels - room, 40)], nice=False
        ),
    )  # fmt: skip
    every = alt.Scale(domain=[place["place"] for place in places], padding=0)
    down = alt.Y("place:O", title=None, axis=None, scale=every)
    base = alt.Chart().encode(y=down)
    tips = [
        alt.Tooltip("unit:N"), alt.Tooltip("label:N", title="size"),
        alt.Tooltip("tip:N", title="more"),
    ]  # fmt: skip
    lift = _lift(width)
    isbar, ishead = "isValid(datum.unit)", "isValid(datum.head)"
    bars = (
        base.transform_filter(isbar)
        .mark_bar(height=18, cornerRadiusEnd=1, yOffset=lift)
        .encode(x=across, color=_colour(series), tooltip=tips)
    )
    shown = (
        base.transform_filter(isbar)
        .mark_text(align="left", dx=6, dy=lift)
        .encode(x=across, text="label:N")
    )
    names = _names(base.transform_filter(isbar), width)
    heads = base.transform_filter(ishead).mark_text(
        align="left", dy=10 if is_narrow else 4, fontWeight=600, color="var(--ink)"
    ).encode(x=alt.value(0), text="head:N")  # fmt: skip
    made = alt.layer(heads, bars, names, shown, data=alt.InlineData(places))
    return _finish(made.properties(width=width - labels - 4, height=_step(width)))


def _names(base: "altair.Chart", width: int) -> "altair.Chart":
    """Return the names of bars: at their left, on a narrow page above."""
    import altair as alt

    if width == NARROW:
        texts = base.mark_text(align="left", dy=-10, color="var(--muted)")
    else:
        texts = base.mark_text(align="right", dx=-8, color="var(--ink)")
    named: altair.Chart = texts.encode(x=alt.value(0), text="unit:N")
    return named


def _lift(width: int) -> int:
    """Return by how many px a bar is below the middle of its step."""
    return 10 if width == NARROW else 0


def _step(width: int) -> "altair.Step":
    import altair as alt

    return alt.Step(44 if width == NARROW else 26)


def _ratios(comparison: Comparison) -> Iterator[Chart]:
    """Yield the ratios by accumulator, a dot for each technology and format."""
    values: Values = []
    first = comparison.formats[0].name
    others = list(enumerate(comparison.formats))[1:]
    for side, fmt in others:
        for technology in comparison.technologies:
            name = technology if len(others) == 1 else f"{fmt.name} in {technology}"
            for line in comparison.lines:
                ratio = comparison.ratio(line, side, technology)
                if ratio is not None:
                    values.append({
                        "accumulator": line.accumulator, "series": name, "ratio": ratio,
                        "label": show_times(ratio),
                    })  # fmt: skip
    names = list(dict.fromkeys(v["series"] for v in values))
    if not values:
        return
    # formats have their colours everywhere, technologies have others
    first_colour = 1 if len(comparison.technologies) == 1 else len(comparison.formats)
    series = [Series(name, _side(i + first_colour)) for i, name in enumerate(names)]
    over = others[0][1].name if len(others) == 1 else "each format"
    yield _chart(
        "ratios", "sizes", f"Size of {over} over {first}",
        "The same formats, another ratio with each accumulator. At 1 both are as large.",
        values, series, lambda width: _dots(values, series, width),
    )  # fmt: skip


def _dots(values: Values, series: Sequence[Series], width: int) -> "altair.TopLevelMixin":
    import altair as alt

    labels = _extent(v["accumulator"] for v in values)
    ratios = [v["ratio"] for v in values]
    low, high = min(1.0, *ratios), max(1.0, *ratios)
    across = alt.X(
        "ratio:Q", title=None,
        scale=alt.Scale(domain=[low, high], zero=False, nice=False, padding=10),
        axis=alt.Axis(labelExpr="format(datum.value, '.3~g') + '×'", tickCount=width // 100),
    )  # fmt: skip
    down = alt.Y("accumulator:N", sort=None, title=None, axis=_names_axis(labels))
    tips = [
        alt.Tooltip("accumulator:N"), alt.Tooltip("series:N"),
        alt.Tooltip("label:N", title="ratio"),
    ]  # fmt: skip
    base = alt.Chart().encode(y=down)
    rule = alt.Chart().mark_rule(color="var(--muted)").encode(x=alt.datum(1))
    spans = base.mark_line(color="var(--rule)", strokeWidth=3).encode(
        x=across, detail="accumulator:N"
    )
    points = base.mark_point(filled=True, size=110, opacity=1).encode(
        x=across, color=_colour(series), tooltip=tips
    )
    made = alt.layer(rule, spans, points, data=alt.InlineData(values))
    return _finish(made.properties(width=width - labels - 8, height=alt.Step(34)))


def _stages(contents: Contents) -> Chart:
    """Return a bar of each unit, cut into its stages."""
    ours = stage_names(contents.breakdowns)
    names = list(dict.fromkeys([*ours, *(n for b in contents.breakdowns for n in b.stages)]))
    values: Values = []
    for b in contents.breakdowns[:_MOST_BARS]:
        for name, transistors in b.stages.items():
            values.append({
                "unit": b.row.unit, "series": name, "transistors": transistors,
                "order": names.index(name), "label": show_count(transistors),
                "share": f"{b.share(transistors):.1%}",
            })  # fmt: skip
    series = list(_stage_colours(names))
    return _chart(
        "stages", "stages", f"Transistors by stage in {contents.breakdowns[0].row.technology}",
        "Blue: what an integer unit does too. Grey: what makes a float of it. Each stage is mapped "
        "by itself, so a bar is somewhat longer than the flattened, proven netlist.",
        values, series, lambda width: _stacked(values, series, width),
    )  # fmt: skip


def _stage_colours(names: Iterable[str]) -> Iterator[Series]:
    counts = {True: 0, False: 0}
    for name in names:
        kind = name in ARITHMETIC
        yield Series(name, f"var(--{'blue' if kind else 'grey'}-{counts[kind] % _SHADES + 1})")
        counts[kind] += 1


def _stacked(values: Values, series: Sequence[Series], width: int) -> "altair.TopLevelMixin":
    """Return a bar of each unit, cut into series; names as in ``_bars``."""
    import altair as alt

    is_narrow = width == NARROW
    units = list(dict.fromkeys(v["unit"] for v in values))
    labels = 0 if is_narrow else _extent(units)
    places = [{**v, "place": units.index(v["unit"])} for v in values]
    down = alt.Y("place:O", title=None, axis=None, scale=alt.Scale(padding=0))
    across = alt.X(
        "sum(transistors):Q", title=None, stack="zero",
        axis=alt.Axis(format=",d", tickCount=max(width // 140, 2), grid=True),
    )  # fmt: skip
    tips = [
        alt.Tooltip("unit:N"), alt.Tooltip("series:N", title="stage"),
        alt.Tooltip("label:N", title="transistors"), alt.Tooltip("share:N"),
    ]  # fmt: skip
    bars = (
        alt.Chart(alt.InlineData(places))
        .mark_bar(height=18, yOffset=_lift(width), stroke="var(--paper)", strokeWidth=1)
        .encode(x=across, y=down, color=_colour(series), order="order:Q", tooltip=tips)
    )
    heads = alt.InlineData([{"place": i, "unit": unit} for i, unit in enumerate(units)])
    names = _names(alt.Chart(heads).encode(y=down), width)
    made = alt.layer(bars, names).properties(width=width - labels - 24, height=_step(width))
    return _finish(made)


_SENSES = {USUAL: "var(--series-1)", FLOATING: "var(--blue-2)", SMALLEST: "var(--grey-2)"}


def _widths(panel: Panel) -> Iterator[Chart]:
    """Yield two charts of a kind of unit by the width of operands: sizes, and their ratios."""
    widths = panel.widths
    field = "area_um2" if "area_um2" in panel.integers[widths[0]] else "transistors"
    sizes: Values = []
    ratios: Values = []

    def add(name: str, width: int, size: float, unit: str) -> None:
        integer = panel.integers[width][field] or 1
        common = {"series": name, "width": width, "unit": unit}
        sizes.append({**common, "value": size, "label": metric(field).show(size)})
        ratios.append({**common, "value": size / integer, "label": show_times(size / integer)})

    for width in widths:
        integer = panel.integers[width]
        add("integer", width, integer[field], integer["unit"])
        for sense in _SENSES:
            found = panel.best(width, sense, field)
            if found is not None:
                add(sense, width, found[1][field], found[1]["unit"])
    series = [Series("integer", "var(--series-0)")]
    series += [Series(name, colour) for name, colour in _SENSES.items()]
    name = slug(panel.name)
    yield _chart(
        f"widths-{name}", "widths", f"{panel.name}: {metric(field).heading} by bits of an operand",
        "Of the floats of a width: the usual split, and the smallest of all.",
        sizes, series, lambda width: _lines(sizes, series, width, ",~g"), is_half=True,
    )  # fmt: skip
    yield _chart(
        f"ratios-{name}", "widths", f"{panel.name}: float over integer",
        "At 1 the float is as large as the integer of as many bits.",
        ratios, series, lambda width: _lines(ratios, series, width, "~g"), is_half=True,
    )  # fmt: skip


def _lines(
    values: Values, series: Sequence[Series], width: int, form: str
) -> "altair.TopLevelMixin":
    import altair as alt

    ends = [v["width"] for v in values]
    domain = _domain(v["value"] for v in values)
    across = alt.X(
        "width:Q", title="bits of an operand",
        scale=alt.Scale(domain=[min(ends), max(ends)], nice=False),
        axis=alt.Axis(tickMinStep=1, format="d", tickCount=8, grid=False),
    )  # fmt: skip
    up = alt.Y("value:Q", title=None, **_logarithmic(domain, form))
    tips = [
        alt.Tooltip("unit:N"), alt.Tooltip("series:N"), alt.Tooltip("label:N", title="value"),
    ]  # fmt: skip
    base = alt.Chart(alt.InlineData(values)).encode(x=across, y=up, color=_colour(series))
    lines = base.mark_line(strokeWidth=1.75)
    points = base.mark_point(filled=True, size=36, opacity=1).encode(tooltip=tips)
    return _finish(alt.layer(lines, points).properties(width=width - 64, height=280))


def _delays(contents: Contents, technology: str) -> Iterator[Chart]:
    """Yield size against delay: a point for each row, lines where there are curves."""
    rows = [r for r in contents.rows if r.technology == technology and r.delay_fo4 is not None]
    if len(rows) < 2:
        return
    slowness, size = delay_metric(rows[0]), rows[0].size_metric
    sides = _sides(contents)
    curved = {row.unit for row in rows if row.objective == "curve"}
    named: set[str] = set()
    values: Values = [
        {
            "unit": row.unit, "series": sides.get(row.unit, row.unit), "delay": delay(row),
            "name": _once(row, curved, named),
            "size": row.size, "label": metric(size).show(row.size),
            "slow": f"{metric(slowness).show(delay(row))} {metric(slowness).heading}",
            "is_curve": row.objective == "curve", **_tip(row),
        }
        for row in sorted(rows, key=delay)
        if row.clock_ps is None
    ]  # fmt: skip
    names = list(dict.fromkeys(v["series"] for v in values))
    if len(names) > len(_COLOURS):
        for v in values:
            v["series"] = technology
        names = [technology]
    series = [
        Series(name, _side(i) if len(names) > 1 else _other(i)) for i, name in enumerate(names)
    ]
    heading = _title(size, technology)
    yield _chart(
        f"delay-{slug(technology)}", "delay", f"{heading}, and delay",
        "Left is faster, down is smaller; both axes are logarithmic. "
        + ("Lines: proven points of a unit." if curved else "Units made for other targets differ."),
        values, series, lambda width: _scatter(values, series, width, metric(slowness).heading),
    )  # fmt: skip


def _once(row: Row, curved: Set[str], named: set[str]) -> str:
    """Return a unit's name for one of its points: of a curve, the first of them."""
    if row.unit in named or (row.unit in curved and row.objective != "curve"):
        return ""
    named.add(row.unit)
    return row.unit


def _sides(contents: Contents) -> Mapping[str, str]:
    """Return which format of a comparison a unit belongs to."""
    comparison = contents.comparison
    if comparison is None:
        return {}
    return {
        str(unit): fmt.name
        for line in comparison.lines
        for fmt, unit in zip(comparison.formats, line.units, strict=True)
        if unit is not None
    }


def _scatter(
    values: Values, series: Sequence[Series], width: int, slowness: str
) -> "altair.TopLevelMixin":
    import altair as alt

    plot, height = width - 70, 320
    x, y = (_domain(v[field] for v in values) for field in ("delay", "size"))
    across = alt.X("delay:Q", title=f"delay, {slowness}", **_logarithmic(x))
    up = alt.Y("size:Q", title=None, **_logarithmic(y))
    tips = [
        alt.Tooltip("unit:N"), alt.Tooltip("label:N", title="size"),
        alt.Tooltip("slow:N", title="delay"), alt.Tooltip("tip:N", title="more"),
    ]  # fmt: skip
    points = [(_part(v["delay"], x) * plot, (1 - _part(v["size"], y)) * height) for v in values]
    sides = place_labels(points, [v["name"] for v in values], plot)
    placed = [{**v, "side": side} for v, side in zip(values, sides, strict=True)]
    base = alt.Chart(alt.InlineData(placed)).encode(x=across, y=up)
    lines = base.transform_filter(alt.datum.is_curve).mark_line(strokeWidth=1.5)
    made = [
        lines.encode(color=_colour(series), detail="unit:N", order="delay:Q"),
        base.mark_point(filled=True, size=80, opacity=1).encode(
            color=_colour(series), tooltip=tips
        ),
    ]
    for side, (dx, dy, align) in _SIDES.items():
        texts = base.transform_filter(alt.datum.side == side).mark_text(
            dx=dx, dy=dy, align=align, fontSize=11
        )
        made.append(texts.encode(text="name:N"))
    return _finish(alt.layer(*made).properties(width=plot, height=height))


# Where a label may be, by its distance from the point and its alignment, the first that is free.
_SIDES: dict[str, tuple[int, int, Literal["left", "center", "right"]]] = {
    "below": (0, 14, "center"),
    "above": (0, -13, "center"),
    "right": (10, 0, "left"),
    "left": (-10, 0, "right"),
    "lower right": (6, 12, "left"),
    "lower left": (-6, 12, "right"),
}
_SHIFTS = {"left": 0.0, "center": 0.5, "right": 1.0}


def place_labels(
    points: Sequence[tuple[float, float]], texts: Sequence[str], width: float
) -> list[str]:
    """Return the side of each point where its label hides no other; empty where there is none.

    Parameters
    ----------
    points : in px, right and down
    width : that labels must not leave, px
    """
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in points]
    sides = []
    for (x, y), text in zip(points, texts, strict=True):
        size = _CHARACTER * 11 / 12 * len(text)
        for side, (dx, dy, align) in _SIDES.items():
            left = x + dx - _SHIFTS[align] * size
            box = (left, y + dy - 6, left + size, y + dy + 6)
            if left >= 0 and box[2] <= width and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                sides.append(side)
                break
        else:
            sides.append("")
    return sides


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _domain(values: Iterable[float]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis."""
    known = [value for value in values if value > 0] or [1.0]
    return min(known) / 1.15, max(known) * 1.15


def _part(value: float, domain: tuple[float, float]) -> float:
    """Return how far along a logarithmic axis a value is, 0 ... 1."""
    low, high = map(math.log, domain)
    return (math.log(max(value, domain[0])) - low) / (high - low)


def _logarithmic(domain: tuple[float, float], form: str = ",~g") -> dict[str, Any]:
    """Return scale and axis between two values, with fewer steps where they are far apart."""
    import altair as alt

    low, high = domain
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = (1, 2, 3, 5, 7) if high / low < 30 else (1, 3) if high / low < 1000 else (1,)
    steps = [digit * 10.0**power for power in powers for digit in digits]
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False, clamp=True),
        "axis": alt.Axis(values=[step for step in steps if low <= step <= high], format=form),
    }


_ENERGY_UNITS = {"energy_fj": "fJ", "switched_capacitance": "unit inverters"}


def _energies(contents: Contents, technology: str) -> Iterator[Chart]:
    sides = _sides(contents)
    by_stream = [record for record in contents.energies if record["technology"] == technology]
    rows = [r for r in contents.rows if r.technology == technology and r.energy_fj is not None]
    values: Values = [
        {
            "group": stream, "unit": r["unit"], "series": sides.get(r["unit"], technology),
            "size": r[field], "label": f"{metric(field).show(r[field])} {_ENERGY_UNITS[field]}",
            "tip": f"{metric('toggles').text(r)} toggles",
        }
        for stream in dict.fromkeys(record["stream"] for record in by_stream)
        for r in [record for record in by_stream if record["stream"] == stream][:_MOST_BARS]
        for field in [energy_field(r)]
    ] or [
        {
            "group": "", "unit": row.unit, "series": sides.get(row.unit, technology),
            "size": row.energy_fj, "label": f"{metric('energy_fj').show(row.energy_fj)} fJ",
            **_tip(row),
        }
        for row in _one_of_each(rows)[:_MOST_BARS]
    ]  # fmt: skip
    if not values:
        return
    names = list(dict.fromkeys(v["series"] for v in values))
    series = [
        Series(name, _side(i) if len(names) > 1 else _other(i)) for i, name in enumerate(names)
    ]
    yield _chart(
        f"energy-{slug(technology)}", "energy", f"Energy of an operation in {technology}",
        "For each stream of operands; no wires, no clock tree." if by_stream else
        "Uniform codes, every net settling at once: no glitches, no wires, no clock.",
        values, series, lambda width: _bars(values, series, width),
    )  # fmt: skip


def _names_axis(extent: int) -> "altair.Axis":
    import altair as alt

    return alt.Axis(minExtent=extent, maxExtent=extent, labelLimit=extent - 4, grid=False)


_COLOURS = tuple(f"var(--series-{i})" for i in range(6))


def _side(i: int) -> str:
    """Return the colour of a format: the first is what the others are compared with."""
    return _COLOURS[i % len(_COLOURS)]


def _other(i: int) -> str:
    """Return the colour of what is compared with nothing."""
    return _COLOURS[1 - i if i < 2 else i % len(_COLOURS)]


def _colour(series: Sequence[Series]) -> "altair.Color":
    import altair as alt

    scale = alt.Scale(domain=[s.name for s in series], range=[s.colour for s in series])
    return alt.Color("series:N", scale=scale, legend=None)


def _extent(labels: Iterable[str]) -> int:
    """Return the px that labels of an axis take."""
    return round(_CHARACTER * max(map(len, labels), default=0)) + 10


def _finish(made: Any) -> "altair.TopLevelMixin":
    import altair as alt

    hidden = alt.param(name="hidden", value=[])
    config: dict[str, Any] = {
        "background": "transparent",
        "aria": False,  # the figure has one text instead
        "font": _FONT,
        "view": {"stroke": None},
        "axis": {
            "labelColor": "var(--muted)", "titleColor": "var(--muted)", "labelFontSize": 12,
            "titleFontSize": 12, "titleFontWeight": "normal", "gridColor": "var(--rule)",
            "domain": False, "ticks": False, "labelPadding": 6, "domainColor": "var(--rule)",
        },
        "axisY": {"labelColor": "var(--ink)"},
        "text": {"fontSize": 12, "color": _LABELS},
    }  # fmt: skip
    chart: altair.TopLevelMixin = made.add_params(hidden).configure(**config)
    return chart


def _chart(
    name: str,
    section: str,
    title: str,
    note: str,
    values: Values,
    series: Sequence[Series],
    draw: Draw,
    *,
    is_half: bool = False,
) -> Chart:
    return Chart(
        name=name,
        section=section,
        title=title,
        note=note,
        text=f"{title}. {_summary(values)}",
        legend=tuple(series) if len(series) > 1 else (),
        is_half=is_half,
        drawings=tuple(_drawing(draw(width)) for width in (HALF if is_half else WIDE, NARROW)),
    )


def _summary(values: Values) -> str:
    """Return the values of a chart in words, if they are not many."""
    parts = [
        f"{v.get('unit') or v.get('accumulator')} {v['label']}"
        + (f" ({v['series']})" if "share" in v or "accumulator" in v else "")
        for v in values
    ]
    return f"{'; '.join(parts)}." if len(parts) <= _MOST_BARS else "The table has the values."


def _drawing(chart: "altair.TopLevelMixin") -> tuple[str, str]:
    import vl_convert

    specification = chart.to_dict()
    specification.setdefault("transform", [])
    specification["transform"].insert(0, {"filter": "indexof(hidden, datum.series) < 0"})
    svg: str = vl_convert.vegalite_to_svg(specification, VEGA_LITE)
    return svg, json.dumps(specification, separators=(",", ":"))
