"""What the named studies came to, in sentences and tables: functions of the committed tables."""

from collections.abc import Callable, Iterable, Mapping
from statistics import median

from fmacost.reports.breakdown import COMPLEXITY, FLATTENED, INTEGER_STAGES, INTEGERS, SUM
from fmacost.reports.documents.study_tables import STAGES, StudyTables
from fmacost.reports.facets import facet, operation_of
from fmacost.reports.markdown import code, item, prose, table
from fmacost.reports.metrics import show_count, show_ratio
from fmacost.reports.row import Records
from fmacost.reports.studies import ACCUMULATED, MAX_FIXED_WIDTH, MAX_WIDTH
from fmacost.reports.widths import FLOATING, SMALLEST, USUAL, Panel, Split, panels
from fmacost.sim.formats import FixedFormat, FloatFormat
from fmacost.sim.operation import parse_unit

FIELD = "transistors"
SHOWN_WIDTHS = (16, 8, 4, 3, 2, 1)
SENSES = {USUAL: "usual split", FLOATING: "smallest, E ≥ 2", SMALLEST: "smallest"}
EXACT_PAIRS = (("int8", "e4m3fn"), ("int4", "e2m1fn"))
TECHNOLOGY_PAIRS = (
    ("int4", "e2m1fn"), ("int8", "e4m3fn"), ("int8", "e5m2"), ("int16", "fp16"), ("int16", "bf16"),
)  # fmt: skip
ADDENDS = ("int16", "int32", "fp16", "bf16", "fp32")
ROUNDED = ("e2m1fn", "e4m3fn", "e5m2", "bf16", "fp16")
SPECIALS = ("f", "fn", "fnuz", "ieee")


def split_name(split: Split) -> str:
    """Return the name of a float in which every code is a number, without its suffix."""
    return f"e{split[0]}m{split[1]}"


def proof(rows: Records) -> str:
    """Return how the rows of a table were verified."""
    exhaustive = sum(row["verification_method"] == "exhaustive" for row in rows)
    sampled = len(rows) - exhaustive
    rest = f"; {sampled:,} on corners and seeded random inputs" if sampled else ""
    return prose(
        f"{show_count(len(rows))} netlists, all equal to the exact reference: {exhaustive:,} on "
        f"every input{rest}."
    )


def _proof(name: str) -> Callable[[StudyTables], str]:
    return lambda tables: proof(tables(name))


def _panels(tables: StudyTables) -> dict[str, Panel]:
    return {panel.name: panel for panel in panels(tables("widths"))}


# Widths


def _ratio(panel: Panel, width: int, sense: str) -> str:
    ratio = panel.ratio(width, sense, FIELD)
    return "" if ratio is None else show_ratio(ratio)


def _change(panel: Panel, width: int, sense: str) -> str:
    """Return a ratio with the gap behind it."""
    gap = panel.gap(width, sense, FIELD)
    return "" if gap is None else f"{_ratio(panel, width, sense)} ({gap:+,})"


def widths_summary(tables: StudyTables) -> str:
    """Return ratio and gap of the usual split at a few widths, for each kind of unit."""
    body = []
    for panel in _panels(tables).values():
        cells = [_change(panel, n, USUAL) if n in panel.widths else "" for n in SHOWN_WIDTHS]
        body.append([panel.name, *cells])
    headings = ["unit", *(f"{n} bit{'s' * (n > 1)}" for n in SHOWN_WIDTHS)]
    return table(headings, body, numbers=range(1, len(headings)))


def widths_tables(tables: StudyTables) -> str:
    """Return for each kind of unit every width: the integer, and the floats that stand for all."""
    parts = []
    for panel in _panels(tables).values():
        body = []
        for width in panel.widths:
            cells = [str(width), show_count(panel.integers[width][FIELD])]
            for sense in SENSES:
                found = panel.best(width, sense, FIELD)
                if found is None:
                    cells += ["", ""]
                else:
                    name = split_name(found[0])
                    cells += [f"{show_count(found[1][FIELD])} {name}", _ratio(panel, width, sense)]
            cells.append(_change(panel, width, USUAL).rpartition(" ")[2].strip("()"))
            largest = max(row[FIELD] for row in panel.floats[width].values())
            cells.append(show_count(largest))
            body.append(cells)
        headings = ["bits", "integer"]
        for short in SENSES.values():
            headings += [short, "ratio"]
        headings += ["gap of the usual", "largest"]
        parts += [f"**{panel.name}**", table(headings, body, numbers=range(len(headings)))]
    return "\n\n".join(parts)


# Claims


def _series(panel: Panel, widths: Iterable[int], sense: str, what: str) -> str:
    """Return a quantity at several widths as text: ``4,302 at 16 bits, 1,318 at 8``."""
    texts: list[str] = []
    for width in widths:
        if what == "gap":
            gap = panel.gap(width, sense, FIELD)
            text = "" if gap is None else f"{gap:,}".replace("-", "−")
        else:
            text = _ratio(panel, width, sense)
        if text:
            texts.append(f"{text} at {width}{' bits' * (not texts)}")
    return ", ".join(texts)


def claim_bits(tables: StudyTables) -> str:
    """Return the answer to the first claim, a sentence for each metric and accumulator."""
    known = _panels(tables)
    mul, add, fma = known["mul"], known["add"], known["fma"]
    fixed = known["fma, 32-bit addend"]
    one = {panel.name: panel.best(1, SMALLEST, FIELD) for panel in (mul, add, fma)}
    at_one = [
        f"{panel.name} {panel.integers[1][FIELD]} and {found[1][FIELD]}"
        for panel in (fma, mul, add)
        if (found := one[panel.name])
    ]
    below = max(MAX_FIXED_WIDTH, 1)
    exact = [_exact_ratio(tables, *pair) for pair in EXACT_PAIRS]
    sums = [r for n in add.widths if n >= 4 and (r := add.ratio(n, USUAL, FIELD))]
    products = [r for n in mul.widths if n > 1 and (r := mul.ratio(n, USUAL, FIELD))]
    items = [
        f"**At 1 bit.** `int1` and `e0m0f`, transistors: {', '.join(at_one)}. As multiply-adds "
        "they are the same size; they are not the same function, for one holds 0 and −1 and the "
        "other 1 and −1.",
        f"**Gap, same-format multiply-add: true.** The usual split takes more transistors than "
        f"the integer by {_series(fma, SHOWN_WIDTHS, USUAL, 'gap')}.",
        f"**Ratio, same-format multiply-add: false from 16 to 4 bits, true below.** "
        f"{_series(fma, SHOWN_WIDTHS, USUAL, 'ratio')}. Below 4 bits the usual split has one "
        "exponent bit or none, and is no float any more. With two exponent bits or more, the "
        f"smallest float is {_series(fma, SHOWN_WIDTHS, FLOATING, 'ratio')}: the ratio is largest "
        "where a float just exists.",
        f"**Products: false, the other way round.** A float product is the smaller one: "
        f"{show_ratio(min(products))} to {show_ratio(max(products))} from 2 bits on, and "
        f"{_ratio(mul, 1, USUAL)} at 1 bit. Its significands are shorter, and it is rounded where "
        "the integer's has all its bits.",
        f"**Sums: false.** Half of the bits as exponent make a sum {show_ratio(min(sums))} to "
        f"{show_ratio(max(sums))} from 4 bits on, without a trend.",
        f"**A fixed accumulator: false in both.** Into fp32, against int32, the ratio is "
        f"{_series(fixed, (below, 4, 2, 1), USUAL, 'ratio')}, and the gap "
        f"{_series(fixed, (below, 4, 2, 1), USUAL, 'gap')}. Adding in fp32 is what costs, and "
        "narrow operands do not make it cheaper.",
        f"**An exact accumulator: true.** For 32 products {exact[0]}, {exact[1]}.",
    ]
    return "\n".join(map(item, items))


def _exact_ratio(tables: StudyTables, integer: str, other: str) -> str:
    one, two = (_exact(tables, fmt, 32) for fmt in (integer, other))
    return f"{code(other)} is {show_ratio(two / one)} of {code(integer)}"


def _exact(tables: StudyTables, fmt: str, products: int) -> float:
    return tables.sizes("accumulators")[str(parse_unit(f"fma:{fmt}+exact{products}"))]


def claim_surface(tables: StudyTables) -> str:
    """Return what an exponent costs beyond an integer with a sign, from the plane of splits."""
    fma = _panels(tables)["fma"]
    parts = []
    for width in (16, 8, 4):
        floats = fma.floats[width]
        integer, magnitude = fma.integers[width][FIELD], floats[1, width - 2][FIELD]
        best = fma.best(width, USUAL, FIELD)
        assert best is not None
        (split, row) = best
        parts.append(
            f"at {width} bits from {show_count(integer)} (`int{width}`) by "
            f"{show_ratio(magnitude / integer)} to {show_count(magnitude)} "
            f"(`{split_name((1, width - 2))}f`) and by {show_ratio(row[FIELD] / magnitude)} to "
            f"{show_count(row[FIELD])} (`{split_name(split)}f`)"
        )
    return prose(f"A same-format multiply-add gets there in two steps: {'; '.join(parts)}.")


def same_grid(tables: StudyTables) -> str:
    """Return how often both spellings of an integer with a sign take the same."""
    sizes = tables.sizes("surface")
    texts = []
    for kind in ("mul", "fma"):
        pairs = [(sizes[f"{kind}:e0m{m + 1}f"], sizes[f"{kind}:e1m{m}f"]) for m in range(10)]
        same = sum(a == b for a, b in pairs)
        apart = max(abs(a - b) for a, b in pairs)
        rest = f" and never differ by more than {show_count(int(apart))}" if apart else ""
        texts.append(f"as `{kind}` they take the same in {same} of {len(pairs)} pairs{rest}")
    return prose(f"`e0m(M+1)f` and `e1m(M)f` have the same values; {'; '.join(texts)} transistors.")


def claim_delay(tables: StudyTables) -> str:
    """Return how slow both sides are that are compared by size alone."""
    fma = _panels(tables)["fma"]
    parts = []
    for width in (16, 8, 4):
        best = fma.best(width, USUAL, FIELD)
        assert best is not None
        slow, quick = best[1]["delay_fo4"], fma.integers[width]["delay_fo4"]
        name = f"`{split_name(best[0])}f`"
        parts.append(
            f"{name} {slow:.0f} FO4, `int{width}` {quick:.0f} ({show_ratio(slow / quick)})"
        )
    return prose(
        "All units here are made for area alone, without a limit on delay, which flatters floats: "
        f"{'; '.join(parts)}."
    )


def _stages(tables: StudyTables) -> dict[str, dict[str, int]]:
    units: dict[str, dict[str, int]] = {}
    for row in tables(STAGES):
        units.setdefault(row["unit"], {})[row["stage"]] = row[FIELD]
    return units


def integers_share(stages: Mapping[str, int]) -> float:
    """Return the part that the two integers of a float have in the sum of its stages."""
    return sum(stages.get(stage, 0) for stage in INTEGER_STAGES) / stages[SUM]


def claim_two(tables: StudyTables) -> str:
    """Return the answer to the second claim."""
    units = _stages(tables)
    shares = {unit: integers_share(stages) for unit, stages in units.items()}
    texts = {}
    for kind in ("mul", "fma"):
        own = [(unit.partition(":")[2], s) for unit, s in shares.items() if unit.startswith(kind)]
        own.sort(key=lambda pair: pair[1])
        texts[kind] = ", ".join(f"`{name}` {share:.0%}" for name, share in own)
    parts = {
        unit: max((s for s in stages if s not in (SUM, FLATTENED, *INTEGER_STAGES)),
                  key=lambda stage: stages[stage])
        for unit, stages in units.items()
    }  # fmt: skip
    largest = ", ".join(
        f"{parts[unit]} in {code(unit)} ({units[unit][parts[unit]] / units[unit][SUM]:.0%})"
        for unit in ("fma:e4m3fn", "fma:fp32")
    )
    items = [
        f"**Multiply-adds.** Share of {INTEGERS}: {texts['fma']}.",
        f"**Products.** Share of {INTEGERS}: {texts['mul']}.",
        f"The largest part of {COMPLEXITY}: {largest}.",
    ]
    return "\n".join(map(item, items))


def stages_table(tables: StudyTables) -> str:
    """Return the stages of the float units, each with its share."""
    units = _stages(tables)
    chosen = [unit for unit in units if unit.startswith("fma:")]
    names = dict.fromkeys(s for unit in chosen for s in units[unit] if s not in (SUM, FLATTENED))
    body = []
    for name in names:
        counts = [units[unit].get(name) for unit in chosen]
        cells = [
            "" if n is None else f"{show_count(n)} ({n / units[unit][SUM]:.0%})"
            for n, unit in zip(counts, chosen, strict=True)
        ]
        body.append([name, *cells])
    shares = [integers_share(units[unit]) for unit in chosen]
    body.append([f"**{INTEGERS}**", *(f"{share:.1%}" for share in shares)])
    body.append([f"**{COMPLEXITY}**", *(f"{1 - share:.1%}" for share in shares)])
    for name in (SUM, FLATTENED):
        body.append([name, *(show_count(units[unit][name]) for unit in chosen)])
    return table(["stage", *map(code, chosen)], body, numbers=range(1, len(chosen) + 1))


def claims_answer(tables: StudyTables) -> str:
    """Return the sentences of the README."""
    fma = _panels(tables)["fma"]
    one = fma.best(1, SMALLEST, FIELD)
    assert one is not None
    gaps = [fma.gap(width, USUAL, FIELD) or 0 for width in (MAX_WIDTH, 4)]
    ratios = [_ratio(fma, width, USUAL) for width in (MAX_WIDTH, 4)]
    shares = [integers_share(_stages(tables)[f"fma:{fmt}"]) for fmt in ("e2m1fn", "fp32")]
    return prose(
        "Do float and integer meet at 1 bit, and is a float two integers and a lot of complexity? "
        f"At 1 bit a multiply-add takes {fma.integers[1][FIELD]} transistors as an integer and "
        f"{one[1][FIELD]} as a float. On the way there, from {MAX_WIDTH} to 4 bits, the gap "
        f"shrinks from {gaps[0]:,} to {gaps[1]:,}, but the ratio grows from {ratios[0]} to "
        f"{ratios[1]}. The two integers are {shares[0]:.0%} of an e2m1fn multiply-add and "
        f"{shares[1]:.0%} of an fp32 one. [Both claims in numbers](docs/claims.md), and [the "
        "studies behind them](docs/studies/index.md)."
    )


# Surface


def surface_answer(tables: StudyTables) -> str:
    """Return what one more bit costs, in the exponent and in the fraction."""
    sizes = tables.sizes("surface")
    items = []
    for kind in ("mul", "fma"):
        cost = {
            (e, m): sizes[str(parse_unit(f"{kind}:e{e}m{m}f"))] for e in range(9) for m in range(11)
        }
        exponent = [cost[e + 1, m] - cost[e, m] for e in range(2, 8) for m in range(1, 11)]
        fraction = [cost[e, m + 1] - cost[e, m] for e in range(2, 9) for m in range(1, 10)]
        widest = {n: [(e, n - 1 - e) for e in range(9) if 0 <= n - 1 - e <= 10] for n in (8, 11)}
        ends = [
            f"of {n} bits `{split_name(min(line, key=cost.__getitem__))}f` "
            f"({show_count(int(min(cost[s] for s in line)))}) to "
            f"`{split_name(max(line, key=cost.__getitem__))}f` "
            f"({show_count(int(max(cost[s] for s in line)))})"
            for n, line in widest.items()
        ]
        items.append(
            f"`{kind}`: one more fraction bit adds {show_count(int(median(fraction)))} transistors "
            f"(median, from 2 exponent bits and 1 fraction bit on), one more exponent bit "
            f"{int(median(exponent)):,}".replace("-", "−")
            + f" ({sum(x < 0 for x in exponent)} of {len(exponent)} steps make the unit smaller); "
            f"{'; '.join(ends)}."
        )
    return "\n".join(map(item, items))


# 8-bit floats


def fp8_answer(tables: StudyTables) -> str:
    """Return what special values cost, and how far splits are from each other."""
    sizes = tables.sizes("fp8")
    items = []
    for kind in ("mul", "add", "fma"):
        cost = {s: _by_split(sizes, kind, s) for s in SPECIALS}
        plain = cost["f"]
        changes = [
            f"`{s}` {median(n / plain[split] - 1 for split, n in cost[s].items()):+.1%}".replace(
                "-", "−"
            )
            for s in SPECIALS[1:]
        ]
        low, high = (pick(plain, key=plain.__getitem__) for pick in (min, max))
        integer = sizes[f"{kind}:int8"]
        items.append(
            f"`{kind}`: without specials `{low}f` ({show_ratio(plain[low] / integer)} of int8) to "
            f"`{high}f` ({show_ratio(plain[high] / integer)}). Special values, median over all "
            f"splits: {', '.join(changes)}."
        )
    return "\n".join(map(item, items))


def _by_split(sizes: Mapping[str, float], kind: str, specials: str) -> dict[str, float]:
    found = {}
    for unit, cost in sizes.items():
        operation = parse_unit(unit)
        fmt = operation.operands[0]
        if operation.kind == kind and isinstance(fmt, FloatFormat) and fmt.specials == specials:
            found[split_name((fmt.exp_bits, fmt.frac_bits))] = cost
    return found


def fp8_table(tables: StudyTables) -> str:
    """Return every 8-bit float with its special values."""
    sizes = tables.sizes("fp8")
    cost = {(k, s): _by_split(sizes, k, s) for k in ("mul", "add", "fma") for s in SPECIALS}
    body = [
        [split, *("" if (n := of.get(split)) is None else show_count(int(n))
                        for of in cost.values())]
        for split in cost["fma", "f"]
    ]  # fmt: skip
    integers = [show_count(int(sizes[f"{kind}:int8"])) if s == "f" else "" for kind, s in cost]
    body.append([code("int8"), *integers])
    headings = ["split", *(f"{kind} `{s}`" for kind, s in cost)]
    return table(headings, body, numbers=range(1, len(headings)))


# Accumulators


def accumulators_table(tables: StudyTables) -> str:
    """Return operands against addends, each with its ratio to int8 operands in the same column."""
    sizes = tables.sizes("accumulators")
    addends = [*ADDENDS, *(f"exact{n}" for n in (1, 32, 4096))]
    body = []
    for fmt in ACCUMULATED:
        cells = [code(fmt)]
        for addend in addends:
            n, base = (sizes[str(parse_unit(f"fma:{f}+{addend}"))] for f in (fmt, ACCUMULATED[0]))
            cells.append(f"{show_count(int(n))} ({show_ratio(n / base)})")
        body.append(cells)
    return table(["operands", *map(code, addends)], body, numbers=range(1, len(addends) + 1))


def accumulators_answer(tables: StudyTables) -> str:
    """Return how the ratio of two formats depends on what they are added up in."""
    sizes = tables.sizes("accumulators")
    items = []
    for integer, other in EXACT_PAIRS:
        one = sizes[f"fma:{integer}+int32"]
        float_sums = [
            f"{show_ratio(sizes[f'fma:{other}+{a}'] / one)} in {a}"
            for a in ("fp16", "bf16", "fp32")
        ]
        whole = [
            f"{show_ratio(_exact(tables, other, n) / _exact(tables, integer, n))} for {n:,}"
            for n in (1, 32, 4096)
        ]
        items.append(
            f"`{other}` against `{integer}` into int32: {', '.join(float_sums)}. Both sides exact, "
            f"by the products that are added: {', '.join(whole)}."
        )
    return "\n".join(map(item, items))


# Rounding


def rounding_table(tables: StudyTables) -> str:
    """Return what each mode changes, over rounding to nearest even."""
    costs: dict[str, dict[str, float]] = {}
    for row in tables("rounding"):
        costs.setdefault(facet(row, "operands"), {})[facet(row, "options")] = row[FIELD]
    options = list(dict.fromkeys(option for own in costs.values() for option in own))
    options.remove("rne")
    body = []
    for fmt in ROUNDED:
        own = costs[fmt]
        cells = [
            "" if option not in own else f"{own[option] / own['rne'] - 1:+.1%}".replace("-", "−")
            for option in options
        ]
        body.append([code(fmt), show_count(int(own["rne"])), *cells])
    headings = ["multiply-add of", "`rne`", *map(code, options)]
    return table(headings, body, numbers=range(1, len(headings)))


def rounding_answer(tables: StudyTables) -> str:
    """Return how far modes are apart."""
    costs: dict[str, dict[str, float]] = {}
    for row in tables("rounding"):
        costs.setdefault(facet(row, "options"), {})[facet(row, "operands")] = row[FIELD]

    def change(option: str) -> str:
        changes = [n / costs["rne"][fmt] - 1 for fmt, n in costs[option].items()]
        return f"{min(changes):+.1%} to {max(changes):+.1%}".replace("-", "−")

    return prose(
        f"Over all five formats, against `rne`: truncation (`rtz`) {change('rtz')}, directed "
        f"rounding (`rdn`) {change('rdn')}, ties away (`rmm`) {change('rmm')}, no subnormals "
        f"(`daz,ftz`) {change('daz,ftz')}, stochastic rounding by 4 random bits {change('sr4')} "
        f"and by 8 {change('sr8')}."
    )


# Technologies


def _technology_ratios(tables: StudyTables) -> dict[tuple[str, str, str], dict[str, float]]:
    """Return ratios of sizes by kind and pair, then by technology."""
    sizes: dict[tuple[str, str], float] = {}
    for row in tables("technologies"):
        sizes[row["technology"], row["unit"]] = row.get("area_um2") or row[FIELD]
    names = dict.fromkeys(technology for technology, _ in sizes)
    return {
        (kind, one, two): {t: sizes[t, f"{kind}:{two}"] / sizes[t, f"{kind}:{one}"] for t in names}
        for kind in ("mul", "fma")
        for one, two in TECHNOLOGY_PAIRS
    }


def technologies_table(tables: StudyTables) -> str:
    """Return a float over the integer of as many bits in every technology."""
    ratios = _technology_ratios(tables)
    names = next(iter(ratios.values()))
    body = [[code(name), *(show_ratio(of[name]) for of in ratios.values())] for name in names]
    headings = ["technology", *(f"{kind} `{two}` / `{one}`" for kind, one, two in ratios)]
    return table(headings, body, numbers=range(1, len(headings)))


def technologies_answer(tables: StudyTables) -> str:
    """Return how far technologies are apart, and whether they agree on who is larger."""
    ratios = _technology_ratios(tables)
    kept = {
        key: {t: ratio for t, ratio in of.items() if t != "cmos2"} for key, of in ratios.items()
    }
    spread = {key: max(of.values()) / min(of.values()) for key, of in kept.items()}
    widest = max(spread, key=spread.__getitem__)
    kind, one, two = widest
    of = kept[widest]
    agree = sum(len({ratio > 1 for ratio in of.values()}) == 1 for of in ratios.values())
    fp8 = kept["fma", "int8", "e4m3fn"]
    texts = [f"`fma:e4m3fn` over `fma:int8` is {show_ratio(min(fp8.values()))} to "
             f"{show_ratio(max(fp8.values()))}"]  # fmt: skip
    return prose(
        f"The ratio holds. In all technologies but `cmos2`, {texts[0]}; the pair that they see "
        f"most differently is `{kind}:{two}` over `{kind}:{one}`, {show_ratio(min(of.values()))} "
        f"to {show_ratio(max(of.values()))}. With `cmos2`, they agree on which side is the larger "
        f"in {agree} of {len(ratios)} comparisons."
    )


# Versions


def versions_table(tables: StudyTables) -> str:
    """Return the standard formats, by which another version is compared with this one."""
    sizes = tables.sizes("versions")
    names = list(dict.fromkeys(unit.partition(":")[2] for unit in sizes))
    names.sort(key=lambda name: (not _is_fixed(name), operation_of({"unit": f"mul:{name}"})
                                 .operands[0].width, name))  # fmt: skip
    kinds = ("mul", "add", "fma")
    body = [
        [code(name), *(show_count(int(sizes[f"{kind}:{name}"])) for kind in kinds)]
        for name in names
    ]
    return table(["format", *kinds], body, numbers=range(1, 4))


def _is_fixed(name: str) -> bool:
    return isinstance(parse_unit(f"mul:{name}").operands[0], FixedFormat)


STUDY_NUMBERS: Mapping[str, Callable[[StudyTables], str]] = {
    "widths-proof": _proof("widths"),
    "widths-summary": widths_summary,
    "widths-tables": widths_tables,
    "claim-bits": claim_bits,
    "claim-surface": claim_surface,
    "claim-same-grid": same_grid,
    "claim-delay": claim_delay,
    "claim-two": claim_two,
    "claim-stages": stages_table,
    "claims-answer": claims_answer,
    "surface-proof": _proof("surface"),
    "surface-answer": surface_answer,
    "fp8-proof": _proof("fp8"),
    "fp8-answer": fp8_answer,
    "fp8-table": fp8_table,
    "study-accumulators-proof": _proof("accumulators"),
    "study-accumulators": accumulators_table,
    "study-accumulators-answer": accumulators_answer,
    "rounding-proof": _proof("rounding"),
    "rounding-answer": rounding_answer,
    "rounding-table": rounding_table,
    "technologies-proof": _proof("technologies"),
    "technologies-answer": technologies_answer,
    "technologies-table": technologies_table,
    "versions-proof": _proof("versions"),
    "versions-table": versions_table,
}
