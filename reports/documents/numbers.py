"""The numbers of the documents: tables and sentences made of cost rows."""

from collections.abc import Callable, Mapping, Sequence

from fmacost.hw.technology import TECHNOLOGIES, get_technology
from fmacost.reports import ablate, accumulators, breakdown, calibrate, energy
from fmacost.reports.clocked import Registers
from fmacost.reports.compare import Comparison, Line, expand, units_of
from fmacost.reports.documents.peers import AREA_PEERS, FLOAT_PEERS, INTEGER_PEERS, Peer
from fmacost.reports.documents.rows import DocumentError, Rows
from fmacost.reports.documents.study_tables import StudyTables
from fmacost.reports.documents.study_texts import STUDY_NUMBERS
from fmacost.reports.markdown import code as _code
from fmacost.reports.markdown import item as _item
from fmacost.reports.markdown import prose as _prose
from fmacost.reports.markdown import table as _table
from fmacost.reports.measure import ENERGY_VECTORS, Settings
from fmacost.reports.metrics import METRICS, Better, metric, show_count, show_ratio, show_spread
from fmacost.reports.options import DEFAULT_TECHNOLOGIES
from fmacost.reports.row import Row
from fmacost.reports.tables import verification_note
from fmacost.sim.formats import parse_format
from fmacost.sim.operation import exact_format, parse_unit

HEADLINE = ("int8", "e4m3fn")
OTHER_FORMATS = (
    "int4", "int8", "e2m1fn", "e2m3fn", "e3m2fn", "e4m3fnuz", "e4m3fn", "e5m2", "bf16", "fp16",
)  # fmt: skip
USUAL = ("fma:int8+int32", "fma:e4m3fn")  # the units that people build
FLOAT = USUAL[1]
OBJECTIVES = ("area", "delay")
# The product of two e4m3fn is exact in bf16: eight bits of significand, and room below and above.
PRODUCTS = ("mul:int8", "mul:e4m3fn->bf16", "mul:e4m3fn")
# What the studies, which are at effort quick, would say at effort normal.
EFFORT_PAIRS = (
    ("fma:int4", "fma:e2m1fn"), ("fma:int8", "fma:e4m3fn"), ("fma:int8", "fma:e5m2"),
    ("mul:int8", "mul:e4m3fn"), ("fma:int8+int32", "fma:e4m3fn+fp32"),
    ("fma:int8+int21", "fma:e4m3fn+fixed24.18"),
)  # fmt: skip
KULISCH_FORMATS = ("e2m1fn", "e2m3fn", "e3m2fn", "e4m3fn", "e5m2", "int4", "int8")
KULISCH_PRODUCTS = (1, 32, 4096)
SIMPLE_CELLS = ("INV", "NAND2", "NOR2")
COMPOUND_PREFIXES = ("AOI", "OAI", "AO", "OA")
AREA_TECHNOLOGY = "nangate45"
LIBRARY_PAIRS = (("fma:int8", "fma:e4m3fn"), ("fma:int8+int32", "fma:e4m3fn+fp32"))
# The whole matrix is made at effort quick.
MATRIX_OPERANDS = "int4,int8,e2m1fn,e4m3fn"
PIPELINES = range(5)
CALIBRATED_NORMAL = tuple((unit, AREA_TECHNOLOGY) for unit in ("mul:int8", "add:int8", "add:int32"))
MAX_UNITS = ("fma:e4m3fn", "fma:e5m2", "fma:int8+int32", "mul:int8", "mul:e4m3fn")


def _comparison(rows: Rows) -> Comparison:
    formats = tuple(map(parse_format, HEADLINE))
    lines = expand(formats)
    units = map(str, units_of(lines))
    known = {(u, t): rows(u, t) for u in units for t in DEFAULT_TECHNOLOGIES}
    return Comparison(formats, lines, DEFAULT_TECHNOLOGIES, known)


def _answer(rows: Rows) -> str:
    """Return the sentence that ``compare`` ends with."""
    return _prose(_comparison(rows).answer())


def _comparison_table(rows: Rows) -> str:
    comparison = _comparison(rows)
    headline, baseline = comparison.technologies
    body = []
    for line in comparison.lines:
        for side in range(len(comparison.formats)):
            row, other = (comparison.row(line, side, t) for t in comparison.technologies)
            if row is None or other is None:
                continue
            body.append(
                [
                    line.accumulator if side == 0 else "",
                    _code(row.unit),
                    *_texts(row, "cells", "gates_ge", "transistors"),
                    _ratio(comparison, line, side, headline),
                    *_texts(other, "transistors"),
                    _ratio(comparison, line, side, baseline),
                    *_texts(row, "logic_depth", "verification"),
                ]
            )
    to_first = f"/ {HEADLINE[0]}"
    headings = ["accumulator", "unit", "cells", "GE", f"transistors, {headline}", to_first]
    headings += [f"transistors, {baseline}", to_first, "depth", "verified"]
    return _table(headings, body, numbers=range(2, 9))


def _range(rows: Rows) -> str:
    """Return in one sentence how far the ratio depends on the accumulator."""
    comparison = _comparison(rows)
    technology = comparison.technologies[0]
    ratios = [(comparison.ratio(line, 1, technology), line) for line in comparison.lines]
    known = sorted(((r, line.accumulator) for r, line in ratios if r is not None))
    (low, narrow), (high, wide) = known[0], known[-1]
    first, second = HEADLINE
    return (
        f"The accumulator decides how far {second} is from {first}: "
        f"{show_ratio(low)} ({narrow}) to {show_ratio(high)} ({wide})."
    )


def _baseline(rows: Rows) -> str:
    """Return what the same units come to in both technologies, and the cells behind it."""
    headline, baseline = DEFAULT_TECHNOLOGIES
    table = []
    units = [str(unit) for unit in units_of(expand(tuple(map(parse_format, HEADLINE))))]
    for unit in [*units, *PRODUCTS]:
        row, other = rows(unit, headline), rows(unit, baseline)
        table.append(
            [
                _code(unit),
                *_texts(row, "transistors"),
                *_texts(other, "transistors"),
                show_ratio(other.counted_transistors / row.counted_transistors),
                *(f"{share:.0%}" for share in _shares(row)),
            ]
        )
    headings = ["unit", headline, baseline, f"{baseline} / {headline}"]
    headings += ["in INV, NAND2, NOR2", "in compound gates", "in other cells"]
    return _table(headings, table, numbers=range(1, 7))


def _shares(row: Row) -> tuple[float, float, float]:
    """Return the parts of a row's transistors: cells that cmos2 has too, compound gates, others."""
    costs = get_technology(row.technology).transistors
    sums = [0, 0, 0]
    for name, n in row.cell_counts.items():
        kind = 0 if name in SIMPLE_CELLS else 1 if name.startswith(COMPOUND_PREFIXES) else 2
        sums[kind] += costs[name] * n
    simple, compound, other = (total / row.counted_transistors for total in sums)
    return simple, compound, other


def _spread(rows: Rows) -> str:
    units = [str(unit) for unit in units_of(expand(tuple(map(parse_format, HEADLINE))))]
    body = []
    for unit in [*units, *PRODUCTS]:
        row = rows(unit)
        larger = row.candidates.max / max(row.candidates.min, 1)
        spread = show_spread(row.to_json()["candidates"])
        body.append([_code(unit), spread, show_ratio(larger), _code(row.recipe)])
    headings = ["unit", "min / median / max", "max / min", "smallest by"]
    return _table(headings, body, numbers=range(1, 3))


def _unit_table(rows: Rows, units: Sequence[str]) -> str:
    body = []
    first = rows(units[0])
    for unit in units:
        row = rows(unit)
        body.append(
            [
                _code(row.unit),
                *_texts(row, "cells", "gates_ge", "transistors"),
                show_ratio(row.counted_transistors / first.counted_transistors),
                *_texts(row, "logic_depth", "verification"),
            ]
        )
    headings = ["unit", "cells", "GE", "transistors", "/ first", "depth", "verified"]
    return _table(headings, body, numbers=range(1, 6))


def _products(rows: Rows) -> str:
    return _unit_table(rows, PRODUCTS)


def _formats(rows: Rows) -> str:
    return _unit_table(rows, [f"fma:{name}" for name in OTHER_FORMATS])


def _efforts(rows: Rows) -> str:
    """Return ratios at two efforts, and how far one is from the other."""
    body = []
    for pair in EFFORT_PAIRS:
        ratios, cells = [], []
        for effort in ("quick", "normal"):
            one, other = (rows(unit, effort=effort) for unit in pair)
            ratios.append(other.counted_transistors / one.counted_transistors)
            cells += [*_texts(one, "transistors"), *_texts(other, "transistors")]
            cells.append(show_ratio(ratios[-1]))
        body.append([*map(_code, pair), *cells, f"{ratios[1] / ratios[0] - 1:+.1%}"])
    headings = ["integer", "float", "quick", "quick", "ratio", "normal", "normal", "ratio"]
    headings.append("moves by")
    return _table(headings, body, numbers=range(2, 9))


def _breakdown(rows: Rows) -> str:
    """Return the stages of a float unit beside those of an integer unit."""
    found = [rows.stages(unit) for unit in reversed(USUAL)]
    body = []

    def add(name: str, counts: Sequence[int | None]) -> None:
        cells = [name]
        for b, n in zip(found, counts, strict=True):
            cells += ["", ""] if n is None else [show_count(n), f"{b.share(n):.1%}"]
        body.append(cells)

    for stage in breakdown.stage_names(found):
        add(stage, [b.stages.get(stage) for b in found])
    for group in (breakdown.INTEGERS, breakdown.COMPLEXITY):
        add(f"**{group}**", [b.groups.get(group) for b in found])
    add("sum of the stages", [b.total for b in found])
    add("saved by flattening", [b.saved for b in found])
    add("flattened, proven", [b.row.counted_transistors for b in found])
    headings = ["stage"]
    for b in found:
        headings += [_code(b.row.unit), "%"]
    return _table(headings, body, numbers=range(1, 5))


def _two_integers(rows: Rows) -> str:
    """Return what a float product of integers comes to inside its unit."""
    b = rows.stages(FLOAT)
    integers = b.share(b.groups[breakdown.INTEGERS])
    return _prose(
        f"In `{FLOAT}` {breakdown.INTEGERS} take {integers:.1%} of the transistors of all stages, "
        f"{breakdown.COMPLEXITY} {1 - integers:.1%}."
    )


def _variants(rows: Rows, unit: str) -> tuple[Sequence[ablate.Variant], dict[str, Row]]:
    found = ablate.variants(parse_unit(unit))
    return found, {str(v.operation): rows(str(v.operation)) for v in found}


def _ablation(rows: Rows, unit: str) -> str:
    """Return a unit without each of its features, one at a time."""
    found, known = _variants(rows, unit)
    whole = known[unit].counted_transistors
    body = []
    for variant in found:
        row = known[str(variant.operation)]
        difference = row.counted_transistors - whole
        is_whole = variant.feature == ablate.WHOLE
        change = ["", ""] if is_whole else [f"{difference:+,}", f"{difference / whole:+.1%}"]
        cells = [*_texts(row, "transistors"), *change, *_texts(row, "verification")]
        body.append([variant.feature, _code(row.unit), *cells])
    headings = ["removed or changed", "unit", "transistors", "difference", "%", "verified"]
    return _table(headings, body, numbers=range(2, 5))


def _ablation_float(rows: Rows) -> str:
    return _ablation(rows, USUAL[1])


def _ablation_integer(rows: Rows) -> str:
    return _ablation(rows, USUAL[0])


def _features(rows: Rows) -> str:
    """Return the sentence of the README about what features cost."""

    def change(options: str) -> str:
        ratio = rows(f"{FLOAT}{options}").counted_transistors / rows(FLOAT).counted_transistors
        return f"{ratio - 1:+.1%}"

    return _prose(
        f"`{FLOAT}` changes by {change(',daz,ftz')} without subnormals, by {change(',rtz')} where "
        f"it truncates, by {change(',sat')} where it saturates, and by {change('+fp32')} with an "
        "fp32 addend."
    )


def _matrix(
    rows: Rows, operands: str | None = MATRIX_OPERANDS, effort: str = "normal"
) -> accumulators.Matrix:
    formats = accumulators.parse_operands(operands)
    lines = accumulators.expand_matrix(formats)
    known = {str(unit): rows(str(unit), effort=effort) for unit in units_of(lines)}
    return accumulators.Matrix(formats, lines, known, {})


def _accumulators(rows: Rows) -> str:
    return _matrix_table(_matrix(rows))


def _all_accumulators(rows: Rows) -> str:
    return _matrix_table(_matrix(rows, None, "quick"))


def _matrix_table(matrix: accumulators.Matrix) -> str:
    """Return operands against addends, each with its ratio to the base in the same column."""
    body = []
    for side, fmt in enumerate(matrix.formats):
        cells = [_code(fmt.name)]
        for line in matrix.lines:
            row, ratio = matrix.row(line, side), matrix.ratio(line, side)
            if row is None or ratio is None:
                raise DocumentError(f"no {fmt.name} in '{line.accumulator}'")
            cells.append(f"{show_count(row.counted_transistors)} ({show_ratio(ratio)})")
        body.append(cells)
    headings = ["operands", *(line.accumulator for line in matrix.lines)]
    return _table(headings, body, numbers=range(1, len(headings)))


def _published(rows: Rows) -> str:
    """Return our ratios beside published ones."""
    return _prose(accumulators.beside_published(_matrix(rows)))


def _objectives(rows: Rows) -> str:
    """Return the same units, once for area and once for delay."""
    body = []
    for unit in USUAL:
        smallest = rows(unit)
        for objective in OBJECTIVES:
            row = rows(unit, objective=objective)
            area, delay = (
                show_ratio(float(getattr(row, name)) / float(getattr(smallest, name)))
                for name in ("transistors", "delay_fo4")
            )
            cells = [*_texts(row, "transistors"), area, *_texts(row, "delay_fo4"), delay]
            built = [*_texts(row, "logic_depth", "architecture"), _code(row.recipe)]
            body.append([_code(unit), objective, *cells, *built, *_texts(row, "verification")])
    headings = ["unit", "objective", "transistors", "/ area", "FO4", "/ area"]
    headings += ["depth", "architecture", "recipe", "verified"]
    return _table(headings, body, numbers=range(2, 7))


def _speed(rows: Rows) -> str:
    """Return how the ratio of both units depends on the objective."""
    first, second = USUAL
    parts = []
    for objective in OBJECTIVES:
        one, other = (rows(unit, objective=objective) for unit in USUAL)
        size = show_ratio(other.counted_transistors / one.counted_transistors)
        delay = show_ratio((other.delay_fo4 or 0) / (one.delay_fo4 or 1))
        parts.append(f"for {objective} {size} the transistors at {delay} the delay")
    return _prose(f"`{second}` over `{first}`: {'; '.join(parts)}.")


def _peer_table(rows: Rows, ours: Sequence[str], peers: Sequence[Peer]) -> str:
    """Return our units in cmos2, then those of others; ratios are over the first of ours."""
    technology = DEFAULT_TECHNOLOGIES[1]
    first = rows(ours[0], technology).counted_transistors
    body = []
    for unit in ours:
        row = rows(unit, technology)
        counts = [*_texts(row, "cells", "transistors"), show_ratio(row.counted_transistors / first)]
        body.append(["ours", _code(unit), *counts, *_texts(row, "logic_depth")])
    for peer in peers:
        cells, depth = ("" if n is None else show_count(n) for n in (peer.cells, peer.depth))
        ratio = show_ratio(peer.transistors / first)
        name = f"[{peer.name}]({peer.source})"
        counts = [cells, show_count(peer.transistors), ratio, depth]
        body.append([name, peer.configuration, *counts])
    headings = ["unit", "configuration", "cells", "transistors", "/ first", "depth"]
    return _table(headings, body, numbers=range(2, 6))


def _peers_float(rows: Rows) -> str:
    return _peer_table(rows, ("fma:e4m3ieee", FLOAT), FLOAT_PEERS)


def _peers_integer(rows: Rows) -> str:
    return _peer_table(rows, USUAL[:1], INTEGER_PEERS)


def _areas(rows: Rows) -> str:
    """Return the units of the area table in square micrometres, beside the smallest of others."""
    body = []
    for peer in AREA_PEERS:
        row = rows(peer.unit, AREA_TECHNOLOGY)
        assert row.area_um2 is not None
        ours = [_code(peer.unit), *_texts(row, "area_um2", "gates_ge", "transistors")]
        theirs = [peer.name, f"{peer.best_um2:,} ({peer.recipe})", f"{peer.plain_um2:,}"]
        ratio = show_ratio(peer.best_um2 / row.area_um2)
        body.append([*ours, *_texts(row, "verification"), *theirs, ratio])
    headings = ["unit", "µm²", "GE", "transistors", "verified"]
    headings += ["smallest of others", "its µm²", "mapped by `abc`", "/ ours"]
    return _table(headings, body, numbers=range(1, 4))


def _libraries(rows: Rows) -> str:
    """Return int8 against e4m3fn in every library with areas: sizes, delays and their ratios."""
    body = []
    for name, technology in TECHNOLOGIES.items():
        if technology.area_um2 is None:
            continue
        for units in LIBRARY_PAIRS:
            first, other = (rows(unit, name, effort="quick") for unit in units)
            size = show_ratio(other.size / first.size)
            delay = show_ratio((other.delay_ps or 0) / (first.delay_ps or 1))
            cells = [*_texts(first, "area_um2"), *_texts(other, "area_um2"), size]
            cells += [*_texts(first, "delay_ps"), *_texts(other, "delay_ps"), delay]
            body.append([_code(name), " and ".join(map(_code, units)), *cells])
    headings = ["library", "units", "µm²", "µm²", "ratio", "ps", "ps", "ratio"]
    return _table(headings, body, numbers=range(2, 8))


def _calibration(rows: Rows) -> str:
    """Return known figures beside ours, and why they differ.

    At effort normal are those that other tables have too, and adders; the rest takes minutes there.
    """
    references = calibrate.chosen(None)
    known: dict[tuple[str, str], Row] = {}
    technologies = {}
    for name, units in calibrate.units_in(references).items():
        technologies[name] = get_technology(name)
        for unit in map(str, units):
            is_usual = name == DEFAULT_TECHNOLOGIES[0] or (unit, name) in CALIBRATED_NORMAL
            known[unit, name] = rows(unit, name, effort="normal" if is_usual else "quick")
    found = calibrate.calibrate(references, known, technologies)
    body = calibrate.lines(found)
    for cells, one in zip(body, found, strict=True):
        cells[2] = _code(cells[2])  # our unit
        cells.insert(-1, one.rows[0].effort)
    *headings, why = calibrate.HEADINGS
    made = _table([*headings, "effort", why], body, numbers=calibrate.NUMBERS)
    notes = calibrate.calibration_notes(found, technologies.values())
    return "\n\n".join([made, "\n".join(_item(note) for note in notes)])


def _energies(rows: Rows) -> list[energy.Energy]:
    technology = get_technology(AREA_TECHNOLOGY)
    settings = Settings(with_netlist=True)
    made = [rows.measured(unit, technology.name, settings) for unit in USUAL]
    sources = energy.parse_sources(energy.BUILT_IN, ENERGY_VECTORS, 0)
    operations = [parse_unit(unit) for unit in USUAL]
    return energy.measure_all(made, operations, [technology], sources, glitches=True)


def _streams(rows: Rows) -> str:
    """Return the energies of the usual units for each stream, and how far the streams differ."""
    found = _energies(rows)
    body = []
    for one in found:
        parts = one.settled
        amounts = [parts.inputs, parts.nets, parts.internal or 0, parts.total]
        amounts += [one.glitches or 0, one.total]
        texts = [metric("energy_fj").show(amount) for amount in amounts]
        body.append([_code(one.row.unit), one.source.name, *texts])
    headings = ["unit", "stream", "inputs fJ", "nets fJ", "cells fJ", "without glitches fJ"]
    headings += ["glitches fJ", "with glitches fJ"]
    differences = "; ".join(energy.differences(found))
    return f"{_table(headings, body, numbers=range(2, 8))}\n\n{_prose(f'{differences}.')}"


def _registers(rows: Rows) -> str:
    """Return the float in pipelines of more and more ranks, and processing elements."""
    cases = [(FLOAT, Registers(ranks=n)) for n in PIPELINES]
    cases += [(unit, Registers()) for unit in USUAL]
    body = []
    for technology in (DEFAULT_TECHNOLOGIES[0], AREA_TECHNOLOGY):
        for unit, registers in cases:
            row = rows(unit, technology, registers=registers)
            clock = _texts(row, "period_fo4", "period_ps", "flip_flops", "latency_cycles")
            size = _texts(row, "transistors", "area_um2", "energy_fj", "verification")
            body.append([_code(technology), _code(unit), str(registers), *clock, *size])
    headings = ["technology", "unit", "registers", "period FO4", "period ps", "flip-flops"]
    headings += ["latency", "transistors", "µm²", "fJ", "verified"]
    return _table(headings, body, numbers=range(3, 10))


def _max_table(rows: Rows, technology: str, units: Sequence[str]) -> str:
    body = []
    for unit in units:
        usual, row = (rows(unit, technology, effort=effort) for effort in ("normal", "max"))
        saved = f"{row.size / usual.size - 1:+.1%}"
        sizes = [*_texts(usual, usual.size_metric), *_texts(row, row.size_metric)]
        how = [saved, *_texts(row, "delay_fo4", "architecture"), _code(row.recipe)]
        body.append([_code(unit), *sizes, *how, *_texts(row, "verification")])
    unit_of = "transistors" if get_technology(technology).area_um2 is None else "µm²"
    headings = ["unit", f"{unit_of}, normal", f"{unit_of}, max", "change", "FO4"]
    return _table([*headings, "architecture", "recipe", "verified"], body, numbers=range(1, 5))


def _max(rows: Rows) -> str:
    return _max_table(rows, DEFAULT_TECHNOLOGIES[0], MAX_UNITS)


def _max_areas(rows: Rows) -> str:
    return _max_table(rows, AREA_TECHNOLOGY, MAX_UNITS[:3])


def _kulisch(rows: Rows) -> str:
    """Return the widths of exact accumulators; no row is measured for it."""
    body = []
    for name in KULISCH_FORMATS:
        fmt = parse_format(name)
        exact = [exact_format((fmt, fmt), n) for n in KULISCH_PRODUCTS]
        body.append([_code(name), *(f"{e.width}, {_code(e.name)}" for e in exact)])
    headings = ["operands", *(f"{n} product{'s' * (n > 1)}" for n in KULISCH_PRODUCTS)]
    return _table(headings, body)


def _metrics(rows: Rows) -> str:
    """Return what the columns mean; no row is measured for it."""
    better = {Better.LOWER: "lower", Better.HIGHER: "higher", Better.NONE: ""}
    body = [[_code(m.name), m.unit, m.definition, better[m.better]] for m in METRICS]
    return _table(["field", "unit", "definition", "better"], body)


def _made_with(rows: Rows) -> str:
    """Return the tools behind the headline, and how its netlists were verified."""
    known = list(_comparison(rows).rows.values())
    versions = "; ".join(dict.fromkeys(metric("versions").text(r.to_json()) for r in known))
    return _prose(f"Made with {versions}: {verification_note(known)}.")


def _of_tables(numbers: Callable[[StudyTables], str]) -> Callable[[Rows], str]:
    return lambda rows: numbers(rows.tables)


NUMBERS: Mapping[str, Callable[[Rows], str]] = {
    "answer": _answer,
    "comparison": _comparison_table,
    "range": _range,
    "baseline": _baseline,
    "spread": _spread,
    "products": _products,
    "formats": _formats,
    "efforts": _efforts,
    "breakdown": _breakdown,
    "two-integers": _two_integers,
    "ablation-float": _ablation_float,
    "ablation-integer": _ablation_integer,
    "features": _features,
    "accumulators": _accumulators,
    "accumulators-all": _all_accumulators,
    "published": _published,
    "objectives": _objectives,
    "speed": _speed,
    "peers-float": _peers_float,
    "peers-integer": _peers_integer,
    "areas": _areas,
    "libraries": _libraries,
    "calibration": _calibration,
    "streams": _streams,
    "registers": _registers,
    "max": _max,
    "max-areas": _max_areas,
    "kulisch": _kulisch,
    "metrics": _metrics,
    "made-with": _made_with,
    **{name: _of_tables(numbers) for name, numbers in STUDY_NUMBERS.items()},
}

# Made of netlists too, which are not kept.
OF_NETLISTS = ("breakdown", "two-integers", "streams")


def _texts(row: Row, *names: str) -> list[str]:
    return [metric(name).text(row.to_json()) for name in names]


def _ratio(comparison: Comparison, line: Line, side: int, technology: str) -> str:
    ratio = comparison.ratio(line, side, technology) if side else None
    return "" if ratio is None else show_ratio(ratio)
