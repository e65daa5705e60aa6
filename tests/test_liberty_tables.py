"""Delays, energies, leakage and flip-flops of Liberty libraries, and what is no use of them."""

import gzip
import random
from dataclasses import replace
from pathlib import Path

import pytest

from fmacost.hw.characterisation import Characterisation, FlipFlop
from fmacost.hw.liberty import LibertyError, Library, read_liberty
from fmacost.hw.pipeline import pipelined
from fmacost.hw.synthesis import synthesise
from fmacost.sim.cycles import check_pipeline
from fmacost.sim.operation import parse_unit
from tests.hand_library import (
    DFF,
    FA,
    HEADER,
    INV,
    INV_FALL,
    INV_RISE,
    NAND,
    XOR,
    flip_flop,
    hand_library,
    table,
    timing,
)
from tests.liberty_files import LIBRARIES, library_path


def read(tmp_path: Path, text: str) -> Library:
    path = tmp_path / "hand.lib"
    path.write_text(text)
    return read_liberty(path)


def facts_of(library: Library) -> Characterisation:
    facts = library.technology.characterisation
    assert facts is not None
    return facts


def test_what_is_known_of_a_cell(tmp_path: Path) -> None:
    """At the fan-out-of-four slew of 15 and load of 6.

    A rise of INV takes 1 + 6 from VDD, a fall 4, so 5.5 on average, and VSS gives 0.5 more. The
    leakage is the mean over the states.
    """
    facts = facts_of(read(tmp_path, hand_library(XOR, FA)))
    assert facts.corner == "typical, 25 C, 2 V"
    assert (facts.voltage_v, facts.fo4_ps) == (2, 19)
    assert facts.capacitance_ff["INV"] == {"A": 1.5}
    assert facts.edge_capacitance_ff == {"INV": {"A": (2, 1)}}
    assert facts.capacitance_ff["NAND2"] == {"A": 1, "B": 3}
    assert facts.leakage_nw == {"INV": 2, "NAND2": 5, "XOR2": 0, "FA": 0}
    assert facts.output_energy_fj["INV"] == {"Y": 6}
    assert facts.output_energy_fj["NAND2"] == {"Y": 0}
    assert facts.input_energy_fj["NAND2"] == {"A": 1.5, "B": 0}
    (arc,) = facts.arcs["INV"]
    assert (arc.source, arc.sink, arc.sense) == ("A", "Y", "negative")
    assert arc.rise is not None
    assert arc.rise.delay.at(15, 5) == 25
    assert len(facts.arcs["FA"]) == 6
    assert facts.setup_ps == {}


def test_units_are_converted(tmp_path: Path) -> None:
    header = HEADER.replace("1ps", "10ps").replace("(1, ff)", '(0.1, "pf")').replace("1V", "100mV")
    facts = facts_of(read(tmp_path, hand_library(header=header.replace("1nW", "1uW"))))
    assert facts.voltage_v == pytest.approx(0.2)
    assert facts.fo4_ps == pytest.approx(190)
    assert facts.capacitance_ff["INV"] == pytest.approx({"A": 150})
    assert facts.leakage_nw == pytest.approx({"INV": 2000, "NAND2": 5000})
    assert facts.output_energy_fj["INV"] == pytest.approx({"Y": 6})  # 100 fF at (0.1 V) squared


def test_units_that_are_not_said(tmp_path: Path) -> None:
    header = HEADER.replace('time_unit : "1ps";', "").replace('voltage_unit : "1V";', "")
    facts = facts_of(read(tmp_path, hand_library(header=header)))
    assert facts.fo4_ps == pytest.approx(19_000)
    assert facts.voltage_v == 2


def test_states_of_one_sense_are_merged_by_the_maximum(tmp_path: Path) -> None:
    """On the points of the first: (10, 0) 10 and 18, (10, 10) 30 and 18, (20, .) 20, 40 and 28."""
    cell = f"""cell (BUF) {{ area : 3; pin (A) {{ direction : input; capacitance : 1; }}
    pin (Y) {{ direction : output; function : "A";
    {timing("A", "positive_unate", INV_RISE, INV_FALL, 'when : "A";')}
    timing () {{ related_pin : A; timing_sense : positive_unate;
      cell_rise (by_slew) {{ index_1 ("5, 15"); values ("13, 23"); }}
      {table("rise_transition", 20.0)} }} }} }}"""
    header = (
        HEADER + "lu_table_template (by_slew) { variable_1 : input_net_transition; index_1 (1); }"
    )
    (arc,) = facts_of(read(tmp_path, hand_library(cell, header=header))).arcs["BUF"]
    assert arc.rise is not None
    assert arc.rise.slew is not None
    points = [(10, 0), (10, 10), (20, 0), (20, 10)]
    assert [arc.rise.delay.at(*point) for point in points] == [18, 30, 28, 40]
    assert [arc.rise.slew.at(*point) for point in points] == [20, 28, 20, 28]


def test_senses_are_kept_apart_and_found_by_function(tmp_path: Path) -> None:
    arcs = facts_of(read(tmp_path, hand_library(XOR))).arcs
    senses = [(arc.source, arc.sense) for arc in arcs["XOR2"]]
    assert senses == [("A", "positive"), ("A", "negative"), ("B", "both")]
    unsaid = XOR.replace("timing_sense : positive_unate;", "").replace("when", "note")
    arcs = facts_of(read(tmp_path, hand_library(unsaid))).arcs
    assert [arc.sense for arc in arcs["XOR2"]] == ["both", "negative", "both"]
    unsaid = NAND.replace("timing_sense : negative_unate;", "")
    arcs = facts_of(read(tmp_path, "\n".join([HEADER, INV, unsaid, "}"]))).arcs
    assert [arc.sense for arc in arcs["NAND2"]] == ["negative"] * 2


def test_leakage_without_states(tmp_path: Path) -> None:
    groups = "leakage_power () { value : 7; related_pg_pin : VDD; }" + (
        "leakage_power () { value : 1; related_pg_pin : VSS; }"
    )
    text = hand_library(XOR.replace("area : 6;", f"area : 6; {groups}"))
    assert facts_of(read(tmp_path, text)).leakage_nw["XOR2"] == 8
    text = hand_library(XOR, header=HEADER + "default_cell_leakage_power : 4;")
    assert facts_of(read(tmp_path, text)).leakage_nw == {"INV": 2, "NAND2": 5, "XOR2": 4}


def test_capacitances(tmp_path: Path) -> None:
    ranges = "rise_capacitance_range (1, 4); fall_capacitance_range (0.5, 3);"
    text = hand_library(XOR).replace("rise_capacitance : 2;", f"rise_capacitance : 2; {ranges}")
    facts = facts_of(read(tmp_path, text))
    assert facts.capacitance_ff["INV"] == {"A": 1.5}
    assert facts.edge_capacitance_ff == {"INV": {"A": (4, 3)}}
    text = hand_library(XOR).replace("capacitance : 3;", "")
    assert "pin B has no capacitance" in str(refusal(tmp_path, text))
    text = hand_library(XOR.replace("capacitance : 2;", ""))
    assert read(tmp_path, text).skipped == {"XOR2": "pin A has no capacitance"}
    text = hand_library(
        XOR.replace("capacitance : 2;", ""), header=HEADER + "default_input_pin_cap : 8;"
    )
    assert facts_of(read(tmp_path, text)).capacitance_ff["XOR2"] == {"A": 8, "B": 8}


def refusal(tmp_path: Path, text: str) -> LibertyError:
    with pytest.raises(LibertyError) as caught:
        read(tmp_path, text)
    assert str(caught.value).isprintable()
    return caught.value


# Flip-flops.

RESET = "pin (R) { direction : input; capacitance : 4; }"
PLAIN = FlipFlop("DFF", {"D": "D", "CLK": "CK", "Q": "Q"}, None, 12)


def test_what_is_known_of_a_flip_flop(tmp_path: Path) -> None:
    library = read(tmp_path, hand_library(DFF))
    assert library.technology.flip_flop == PLAIN
    assert "DFF" not in library.technology.cells
    facts = facts_of(library)
    assert facts.setup_ps == {"DFF": 9}
    assert facts.capacitance_ff["DFF"] == {"D": 1, "CK": 2}
    assert facts.input_energy_fj["DFF"] == {"D": 0, "CK": 1.5}
    (arc,) = facts.arcs["DFF"]
    assert (arc.source, arc.sink, arc.sense) == ("CK", "Q", "both")
    assert arc.fall is not None
    assert arc.fall.delay.at(1, 1) == 50


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([], None),
        ([DFF, flip_flop("D2", 11)], replace(PLAIN, cell="D2", area_um2=11)),
        # a reset is tied, but a plain one goes first
        (
            [flip_flop("DR", 9, ff='clear : "!R";', pins=RESET)],
            replace(PLAIN, cell="DR", area_um2=9, tied={"R": 1}),
        ),
        ([flip_flop("DR", 9, ff='clear : "!R";', pins=RESET), DFF], PLAIN),
        (
            [flip_flop("DS", 9, ff='preset : "R";', pins=RESET)],
            replace(PLAIN, cell="DS", area_um2=9, tied={"R": 0}),
        ),
        # scan, enable
        (
            [flip_flop("SD", 9, data="R*S + !R*D", pins=RESET + RESET.replace("R", "S"))],
            replace(PLAIN, cell="SD", area_um2=9, tied={"R": 0, "S": 0}),
        ),
        (
            [flip_flop("DE", 9, data="R*D + !R*IQ", pins=RESET)],
            replace(PLAIN, cell="DE", area_um2=9, tied={"R": 1}),
        ),
        # an inverted output only where there is no other
        ([flip_flop("DN", 9, "IQN"), DFF], PLAIN),
        (
            [flip_flop("DN", 9, "IQN")],
            replace(PLAIN, cell="DN_INV", area_um2=11, pins={"D": "D", "CLK": "CK", "Q": "Y"}),
        ),
        ([flip_flop("DN", 9, "IQ'", data="!D")], replace(PLAIN, cell="DN", area_um2=9)),
        # of no use
        ([flip_flop("DX", 9, ff="dont : 1;").replace("ff (", "latch (")], None),
        ([flip_flop("DX", 9).replace('clocked_on : "CK"', 'clocked_on : "!CK"')], None),
        ([flip_flop("DX", 9).replace("area : 9;", "area : 9; dont_use : true;")], None),
        ([flip_flop("DX", 9, data="D + IQ")], None),
        ([flip_flop("DX", 9, ff='clear : "D";')], None),
        ([flip_flop("DX", 9, ff='clear : "!";')], None),
        ([flip_flop("DX", 9, ff='clocked_on_also : "!CK";')], None),
        ([flip_flop("DX", 9, "D")], None),
        ([flip_flop("DX", 9).replace("setup_rising", "setup_falling"), DFF], PLAIN),
        ([flip_flop("DX", 9).replace("rising_edge", "falling_edge"), DFF], PLAIN),
    ],
)
def test_the_flip_flop_is_the_smallest_plain_one(
    tmp_path: Path, cells: list[str], expected: FlipFlop | None
) -> None:
    library = read(tmp_path, hand_library(*cells))
    assert library.technology.flip_flop == expected
    chosen = {expected.cell.removesuffix("_INV")} if expected else set()
    names = {text.split("(")[1].split(")")[0] for text in cells}
    assert library.skipped.keys() == names - chosen
    if expected and expected.tied:
        assert f"flip-flop {expected.cell}" in library.technology.description


def test_an_inverted_output_gets_an_inverter(tmp_path: Path) -> None:
    """A clock edge takes 50 to the inverted output with slew 5, then the inverter s + 2 l or so."""
    inverting = flip_flop("DN", 9, "IQN").replace("area : 9;", "area : 9; cell_leakage_power : 7;")
    library = read(tmp_path, hand_library(inverting))
    assert library.technology.register.cell == "DN_INV"
    assert "flip-flop DN with INV behind its inverted output" in library.technology.description
    facts = facts_of(library)
    assert "DN" not in facts.arcs
    assert facts.setup_ps == {"DN_INV": 9}
    assert facts.capacitance_ff["DN_INV"] == {"D": 1, "CK": 2}
    assert facts.leakage_nw["DN_INV"] == 7 + 2
    inverter = facts.output_energy_fj["INV"]["Y"] + facts.input_energy_fj["INV"]["A"]
    charging = facts.capacitance_ff["INV"]["A"] * 2**2 / 2
    assert facts.output_energy_fj["DN_INV"] == {"Y": pytest.approx(inverter + charging)}
    (arc,) = facts.arcs["DN_INV"]
    assert (arc.source, arc.sink, arc.sense) == ("CK", "Y", "both")
    assert arc.rise and arc.fall and arc.rise.slew and arc.fall.slew
    for load in (0, 4, 20):
        assert arc.rise.delay.at(33, load) == pytest.approx(50 + 5 + 2 * load)
        assert arc.fall.delay.at(33, load) == pytest.approx(50 + 2.5 + load)
        assert arc.rise.slew.at(33, load) == pytest.approx(8 + 2 * load)
        assert arc.fall.slew.at(33, load) == pytest.approx(4 + load)


@pytest.mark.parametrize("ranks", [1, 2])
def test_pipelines_of_flip_flops_with_inverted_outputs(tmp_path: Path, ranks: int) -> None:
    technology = read(tmp_path, hand_library(XOR, FA, flip_flop("DN", 9, "IQN"))).technology
    operation = parse_unit("mul:int2")
    netlist = synthesise(operation, technology, effort="quick").netlist
    made = pipelined(netlist, technology, ranks)
    assert made.flip_flops == made.netlist.count()["DN_INV"] > 0
    assert technology.cost(made.netlist) == technology.cost(netlist) + 11 * made.flip_flops
    assert check_pipeline(operation, made.netlist, ranks).mismatches == 0
    assert made.period < 1000


def test_a_flip_flop_without_timing(tmp_path: Path) -> None:
    """In a library without any timing there is no characterisation, but there are areas."""
    parts = [
        "library (plain) { cell (I) { area : 1; pin (A) { direction : input; }"
        ' pin (Y) { direction : output; function : "!A"; } }',
        "cell (N) { area : 1; pin (A) { direction : input; } pin (B) { direction : input; }"
        ' pin (Y) { direction : output; function : "!(A B)"; } }',
        "cell (DFF) { area : 12; ff (IQ, IQN) { clocked_on : CK; next_state : D; }"
        " pin (D) { direction : input; } pin (CK) { direction : input; }"
        " pin (Q) { direction : output; function : IQ; } } }",
    ]
    technology = read(tmp_path, "\n".join(parts)).technology
    assert technology.flip_flop == PLAIN
    assert technology.characterisation is None


# Bad input.


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"1ps"', '"1 fortnight"', "hand.lib:2: time_unit must be a unit of s, not '1 fortnight'"),
        ('"1ps"', '"ps1"', "hand.lib:2: time_unit must be"),
        ('"1ps"', '"0ps"', "hand.lib:2: time_unit must be"),
        ('"1ps"', '"-1ps"', "hand.lib:2: time_unit must be"),
        ('"1V"', '"1A"', "hand.lib:2: voltage_unit must be a unit of V, not '1A'"),
        ("(1, ff)", "(1, furlong)", "hand.lib:2: capacitive_load_unit must be a unit of F"),
        ("capacitive_load_unit (1, ff);", "", "hand.lib:1: the library has tables, but no"),
        ('"1nW"', '"1"', "hand.lib:3: leakage_power_unit must be a unit of W, not '1'"),
        ('leakage_power_unit : "1nW";', "", "the library has leakage, but no leakage_power_unit"),
        ("table_lookup", "polynomial", "hand.lib:2: delay_model must be table_lookup, not 'poly"),
        ("nom_voltage : 2;", "", "hand.lib:1: library has no nom_voltage"),
        ("nom_voltage : 2", "nom_voltage : two", "hand.lib:4: nom_voltage must be numbers, not"),
        ('"10, 30", "20, 40"', '"10, 30", "20"', "cell_rise must have 2 x 2 values, not 3"),
        ('"10, 30", "20, 40"', '"10, x0", "20, 1"', "cell_rise|values must be numbers, not 'x0'"),
        ('"10, 30", "20, 40"', '"10, nan", "20, 1"', "values must be numbers, not 'nan'"),
        ('"10, 30", "20, 40"', '"10, 1e99", "20, 1"', "values must be numbers, not '1e99'"),
        ('("10, 30", "20, 40")', "()", "cell_rise has no values"),
        ('index_1 ("10, 20"); index_2 ("0, 10"); }\nlu', "}\nlu", "template has no index_1"),
        ('index_1 ("10, 20")', 'index_1 ("20, 10")', "hand.lib:11: index_1 must rise"),
        ("capacitance : 1;", "capacitance : -1;", "capacitance of pin A must not be negative"),
        ("capacitance : 1;", "capacitance : (1);", "hand.lib:"),
        ('function : "!(A B)";', "", "no two-input NAND; cell NAND2: output Y has no function"),
        ("related_pin : B;", "", "no two-input NAND; cell NAND2: has no delay from B to Y"),
        ("rise_transition (scalar)", "rise (scalar)", "has cell_rise without rise_transition"),
        ("input_net_transition", "output_net_length", "no inverter; cell INV: has a table over"),
        ("input_transition_time", "nonsense", "cell INV: has a table over nonsense"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = hand_library()
    assert old in text
    with pytest.raises(LibertyError, match=message) as caught:
        read(tmp_path, text.replace(old, new))
    assert str(caught.value).startswith("hand.lib:")
    assert str(caught.value).isprintable()


def test_current_source_tables_alone_are_refused(tmp_path: Path) -> None:
    text = hand_library(XOR)
    for edge in ("rise", "fall"):
        text = text.replace(f"cell_{edge} (", f"output_current_{edge} (")
        text = text.replace(f"{edge}_transition (", f"receiver_{edge} (")
    message = r"hand.lib:\d+: this timing group has current source tables \(CCS\) alone; cell_rise"
    with pytest.raises(LibertyError, match=message):
        read(tmp_path, text)


def test_an_empty_library(tmp_path: Path) -> None:
    with pytest.raises(LibertyError, match=r"^hand\.lib:1: library hand has no cells$"):
        read(tmp_path, HEADER + "}")


def test_a_cell_without_tables_is_skipped_for_the_next(tmp_path: Path) -> None:
    small = XOR.replace("XOR2", "XOR1").replace("area : 6", "area : 5").replace("timing (", "no (")
    library = read(tmp_path, hand_library(XOR, small))
    assert "XOR2" in library.technology.cells
    assert library.skipped == {"XOR1": "has no delay from A to Y"}


def test_dont_use_is_honoured(tmp_path: Path) -> None:
    unwanted = XOR.replace("area : 6;", "area : 6; dont_use : true;")
    assert read(tmp_path, hand_library(unwanted)).skipped == {"XOR2": "dont_use"}


@pytest.mark.parametrize("name", ['"x;y"', '"$(touch owned)"', '"a\nb"', '"[exec]"', '"\x1b[2J"'])
def test_hostile_names_stay_outside(tmp_path: Path, name: str) -> None:
    bad_pin = XOR.replace("pin (A)", f"pin ({name})").replace("XOR2", "X1")
    bad_clock = flip_flop("D1", 1).replace("pin (CK)", f"pin ({name})")
    cells = (XOR.replace("XOR2", name), bad_pin, flip_flop(name, 1), bad_clock)
    for cell in cells:
        library = read(tmp_path, hand_library(cell))
        assert set(library.technology.cells) == {"INV", "NAND2"}
        assert library.technology.flip_flop is None
        assert all(text.isprintable() for pair in library.skipped.items() for text in pair)
    conditions = HEADER.replace("(typical)", f"({name})")
    assert facts_of(read(tmp_path, hand_library(header=conditions))).corner.isprintable()


def test_every_truncation_and_mutation_is_refused_or_read(tmp_path: Path) -> None:
    text = hand_library(XOR, FA, DFF)
    for length in range(0, len(text) - 1, 41):
        refusal(tmp_path, text[:length])
    choose = random.Random(1)
    for _ in range(300):
        at = choose.randrange(len(text))
        mutant = text[:at] + choose.choice('{}();:",0x- \n') + text[at + choose.randrange(3) :]
        try:
            read(tmp_path, mutant)
        except LibertyError as error:
            assert str(error).isprintable()


@pytest.mark.parametrize("name", LIBRARIES)
def test_real_libraries(name: str) -> None:
    path = library_path(name)
    technology = read_liberty(path).technology
    facts = technology.characterisation
    assert facts is not None
    assert facts.fo4_ps == pytest.approx(LIBRARIES[name][1], rel=5e-4)
    assert technology.flip_flop is not None
    assert facts.setup_ps[technology.flip_flop.cell] > 0
    text = gzip.decompress(path.read_bytes()).decode()
    assert technology.area_um2 is not None
    for cell, area in technology.area_um2.items():
        body = text.split(f"cell ({cell}) ", 1)[1].split("area :", 1)[1]
        assert area == float(body.split(";", 1)[0])
