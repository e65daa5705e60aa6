"""What a comparison expands to, its ratios, and what it says."""

import io
import itertools
import re
from dataclasses import replace

import pytest
from rich.console import Console

from fmacost.hw.technology import get_technology
from fmacost.reports import tables
from fmacost.reports.compare import Comparison, expand, explain_names, units_of
from fmacost.reports.row import Proof, Row
from fmacost.reports.terminal import Terminal
from fmacost.sim.formats import parse_format
from tests.test_row import make_row

TECHNOLOGIES = ("cmos", "cmos2")


def make_comparison(*names: str, unproven: str = "") -> Comparison:
    """Return a comparison with made-up rows, each 100 transistors larger than the one before."""
    formats = tuple(parse_format(name) for name in names)
    lines = expand(formats)
    size = itertools.count(1000, 100)
    rows: dict[tuple[str, str], Row] = {}
    for unit in units_of(lines):
        for technology in TECHNOLOGIES:
            transistors = next(size)
            proof = Proof(method="sampled", vectors=5000, mismatches=0, regions={"ties": 5000})
            if str(unit) == unproven:
                proof = Proof(method="none", vectors=0, mismatches=0, regions={})
            rows[str(unit), technology] = make_row(
                str(unit), technology, transistors=transistors, gates_ge=transistors / 4,
                verification=proof,
            )  # fmt: skip
    return Comparison(formats, lines, TECHNOLOGIES, rows)


def spelled(*names: str) -> list[tuple[str, tuple[str, ...]]]:
    lines = expand([parse_format(name) for name in names])
    return [(line.accumulator, tuple(str(unit) for unit in line.units)) for line in lines]


def test_int8_against_e4m3fn_is_what_people_argue_about() -> None:
    assert spelled("int8", "e4m3fn") == [
        ("same format", ("fma:int8", "fma:e4m3fn")),
        ("16-bit", ("fma:int8+int16", "fma:e4m3fn+fp16")),
        ("32-bit", ("fma:int8+int32", "fma:e4m3fn+fp32")),
        ("exact, 32 products", ("fma:int8+int21", "fma:e4m3fn+fixed24.18")),
    ]


def test_unsigned_and_fixed_point_accumulate_in_their_own_kind() -> None:
    assert [units for _, units in spelled("uint4", "fixed2.2")] == [
        ("fma:uint4", "fma:fixed2.2"),
        ("fma:uint4+uint16", "fma:fixed2.2+fixed12.4"),
        ("fma:uint4+uint32", "fma:fixed2.2+fixed28.4"),
        ("fma:uint4+int14", "fma:fixed2.2+fixed9.4"),
    ]


def test_an_accumulator_narrower_than_the_operands_is_left_out() -> None:
    assert [name for name, _ in spelled("int32", "fp32")] == [
        "same format",
        "32-bit",
        "exact, 32 products",
    ]
    assert ("16-bit", ("None", "fma:e5m2+fp16")) in spelled("fp32", "e5m2")


def test_a_unit_that_appears_twice_is_measured_once() -> None:
    units = units_of(expand([parse_format("int16"), parse_format("fp16")]))
    assert len(units) == len(set(units)) == 6


def test_ratios_are_over_the_first_side() -> None:
    comparison = make_comparison("int8", "e4m3fn")
    line = comparison.lines[0]
    assert comparison.ratio(line, 1, "cmos") == 1200 / 1000
    assert comparison.ratio(line, 1, "cmos2") == 1300 / 1100
    assert comparison.ratio(line, 0, "cmos") == 1


def test_records_hold_every_row_with_its_line_and_ratio() -> None:
    records = make_comparison("int8", "e4m3fn").records()
    assert len(records) == 16
    assert records[1]["unit"] == "fma:e4m3fn"
    assert records[1]["accumulator"] == "same format"
    assert records[1]["ratio_transistors"] == 1.2
    assert all(Row.from_json(record) for record in records)


def test_the_answer_is_one_sentence_with_the_numbers_and_the_wrap() -> None:
    answer = make_comparison("int8", "e4m3fn").answer()
    assert answer == (
        "In cmos, optimised for area alone, fma:int8 takes 1,000 transistors (250.0 gate "
        "equivalents, 400 cells) and fma:e4m3fn 1,200 (300.0 gate equivalents, 400 cells), 1.20 "
        "times as many (1.18 in cmos2); but fma:int8 keeps only the low 8 bits of product and "
        "sum, and with 32-bit accumulators fma:int8+int32 takes 1,800 transistors (450.0 gate "
        "equivalents, 400 cells) and fma:e4m3fn+fp32 2,000 (500.0 gate equivalents, 400 cells), "
        "1.11 times as many (1.11 in cmos2)."
    )


def test_the_answer_for_three_floats_speaks_of_no_wrap() -> None:
    answer = make_comparison("e5m2", "e4m3fn", "e4m3fnuz").answer()
    assert "keeps only" not in answer
    assert answer.count("times as many") == 4


def test_a_missing_side_does_not_hurt() -> None:
    comparison = make_comparison("fp32", "e5m2")
    assert comparison.ratio(comparison.lines[1], 1, "cmos") is None
    assert "fma:e5m2+fp16" in shown(comparison)


def shown(comparison: Comparison) -> str:
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        Terminal().show(tables.comparison_table(comparison))
    return out.getvalue()


def test_the_table_cuts_no_name_when_piped() -> None:
    text = shown(make_comparison("int8", "e4m3fn"))
    for unit in ("fma:int8+int21", "fma:e4m3fn+fixed24.18", "fma:e4m3fn+fp32"):
        assert unit in text
    assert "…" not in text
    assert "1.20x" in text
    assert "sampled, 5,000" in text
    assert "\x1b" not in text


def test_a_row_without_verification_says_so() -> None:
    assert "NOT VERIFIED" in shown(make_comparison("int8", "e4m3fn", unproven="fma:int8"))


def test_the_notes_say_what_the_numbers_depend_on() -> None:
    comparison = make_comparison("int8", "e4m3fn", unproven="fma:int8")
    technologies = [get_technology(name) for name in TECHNOLOGIES]
    names = explain_names(["int8", "fp8_e4m3"], comparison.formats)
    notes = tables.comparison_notes(comparison, names, technologies)
    for expected in (
        "e4m3fn (given as 'fp8_e4m3'): OCP E4M3",
        "int32: two's complement, 32 bits",
        "fma:int8, fma:int8+int16, fma:int8+int32, fma:int8+int21: exact; overflow: wraps",
        "fma:e4m3fn: rounded once, RNE; overflow: NaN; subnormals kept",
        "one GE is a NAND2 of 4 transistors",
        "no limit on delay",
        "effort normal",
        "dch_amap",
        "yosys=0.70",
        "14 of 16 mapped netlists equal the exact reference",
        "rows in red do NOT",
    ):
        assert expected in notes
    for technology in technologies:
        assert re.search(rf"^- {technology.name}: ", notes, re.MULTILINE)


@pytest.mark.parametrize("names", [("int8", "e4m3fn"), ("fp32", "e5m2"), ("e0m0f", "int1")])
def test_every_unit_of_a_line_reads_back(names: tuple[str, ...]) -> None:
    from fmacost.sim.operation import parse_unit

    for unit in units_of(expand([parse_format(name) for name in names])):
        assert parse_unit(str(unit)) == unit


def test_delays_are_compared_where_a_technology_has_them() -> None:
    plain = make_comparison("int8", "e4m3fn")
    delays = {"fma:int8": 2000.0, "fma:e4m3fn": 5000.0}
    rows = {
        key: replace(row, area_um2=10.5, transistors=None, delay_ps=delays.get(key[0], 1.0))
        if key[1] == "cmos2"
        else row
        for key, row in plain.rows.items()
    }
    comparison = replace(plain, rows=rows)
    assert comparison.metrics("cmos") == ("transistors",)
    assert comparison.metrics("cmos2") == ("area_um2", "delay_ps")
    records = {(r["unit"], r["technology"]): r for r in comparison.records()}
    record = records["fma:e4m3fn", "cmos2"]
    assert (record["ratio_area"], record["ratio_delay"]) == (1.0, 2.5)
    assert "ratio_transistors" not in record
    assert "ratio_delay" not in records["fma:e4m3fn", "cmos"]
    console = Console(width=300, record=True, file=io.StringIO())
    console.print(tables.comparison_table(comparison))
    shown = console.export_text()
    assert re.search(r"transistors cmos +/ int8 +µm² cmos2 +/ int8 +ps cmos2 +/ int8", shown)
    assert re.search(r"fma:e4m3fn .* 10\.5 +1\.00x +5,000\.0 +2\.50x", shown)


def clocked_comparison(*slacks: float) -> Comparison:
    """Return int1 against e1m0f at 900 ps, sides with these slacks and 100, 200 µm²."""
    comparison = make_comparison("int1", "e1m0f")
    units = [str(unit) for unit in units_of(comparison.lines)]
    rows = {
        (unit, "cmos"): replace(
            comparison.rows[unit, "cmos"], objective="clock", area_um2=100.0 * (i % 2 + 1),
            delay_ps=900 - slacks[i % 2], clock_ps=900.0, slack_ps=slacks[i % 2],
        )
        for i, unit in enumerate(units)
    }  # fmt: skip
    return replace(comparison, technologies=("cmos",), rows=rows)


def test_at_a_clock_sizes_stand_beside_slacks() -> None:
    comparison = clocked_comparison(30.0, 0.5)
    assert comparison.metrics("cmos") == ("area_um2", "delay_ps", "slack_ps")
    line = comparison.lines[0]
    assert comparison.ratio(line, 1, "cmos") == 2
    answer = comparison.answer()
    assert answer.startswith("In cmos, optimised for the smallest area at a clock of 900.0 ps, ")
    assert "2.00 times as much" in answer
    text = shown(comparison)
    heading = text.splitlines()[0]
    assert re.search(r"µm² cmos +/ int1 +ps cmos +/ int1 +slack ps cmos +depth", heading)
    assert re.search(r"100\.0 +870\.0 +\+30\.0", text)


def test_a_missed_clock_has_no_ratio() -> None:
    comparison = clocked_comparison(30.0, -12.5)
    assert comparison.ratio(comparison.lines[0], 1, "cmos") is None
    assert "missed by 12.5 ps), not at equal clock" in comparison.answer()
    for record in comparison.records():
        assert "ratio_area" not in record or record["unit"] == "fma:int1" or record["slack_ps"] > 0
    assert "-12.5" in shown(comparison)
