"""The Liberty reader: on synthetic libraries, and on files nobody would want to read."""

import gzip
import os
from dataclasses import replace
from pathlib import Path

import pytest

from fmacost.hw.liberty import LibertyError, Library, read_liberty, translate_function
from fmacost.hw.synthesis import synthesise
from fmacost.hw.technology import AdderCell, TechnologyError, get_technology
from fmacost.sim.check import verify
from fmacost.sim.netlist import Cell, CellType, Netlist
from fmacost.sim.operation import parse_unit
from tests import hand_library


def pin(name: str, function: str | None = None, extra: str = "") -> str:
    if function is None:
        return f"pin ({name}) {{ direction : input; {extra} }}"
    return f'pin ({name}) {{ direction : output; function : "{function}"; {extra} }}'


def cell(name: str, area: object, inputs: str, *outputs: str, extra: str = "") -> str:
    """Return a cell with inputs such as ``A B`` and outputs such as ``Y=!(A B)``."""
    pins = [pin(i) for i in inputs.split()]
    pins += [pin(*output.split("=", 1)) for output in outputs]
    return "\n".join([f"cell ({name}) {{ area : {area}; {extra}", *pins, "}"])


INV = cell("INV_X1", 0.5, "A", "Y=!A")
NAND = cell("NAND_X1", 0.8, "A B", "Y=!(A B)")


TRISTATE = f"""cell (TINV) {{ area : 2;
{pin("A")} {pin("E")} {pin("Y", "!A", 'three_state : "!E";')} }}"""


def library(*cells: str, name: str = "toy") -> str:
    return "\n".join([f"library ({name}) {{", 'time_unit : "1ns";', *cells, "}"])


def read(tmp_path: Path, text: str | bytes, name: str = "toy.lib") -> Library:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_liberty(path)


def read_cells(tmp_path: Path, *cells: str) -> Library:
    return read(tmp_path, library(INV, NAND, *cells))


def read_files(tmp_path: Path, **texts: str) -> Library:
    """Read one library of several files, ``a`` from ``a.lib`` and so on."""
    paths = [tmp_path / f"{name}.lib" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text)
    return read_liberty(*paths)


def test_files_of_one_library_are_as_if_they_were_one(tmp_path: Path) -> None:
    cells = (hand_library.INV, hand_library.NAND, hand_library.XOR, hand_library.DFF)
    header = hand_library.HEADER
    whole = read(tmp_path, "\n".join([header, *cells, "}"])).technology
    together = read_files(
        tmp_path,
        inverters="\n".join([header.replace("(hand)", "(hand_A_TT)"), cells[0], "}"]),
        simple="\n".join([header.replace("(hand)", "(hand_B_TT)"), *cells[1:3], "}"]),
        registers="\n".join([header.replace("(hand)", "(hand_C_TT_2)"), cells[3], "}"]),
    ).technology
    assert together.name == "hand_TT"
    assert together.source == "inverters.lib, simple.lib, registers.lib"
    named = replace(together, name=whole.name, source=whole.source, description=whole.description)
    assert named == whole
    assert named.digest == whole.digest


def test_every_file_has_its_own_units(tmp_path: Path) -> None:
    header = hand_library.HEADER
    nano = header.replace('time_unit : "1ps"', 'time_unit : "1ns"')
    known = read_files(
        tmp_path,
        a=f"{header} {hand_library.INV} }}",
        b=f"{nano} {hand_library.NAND} }}",
    ).technology.characterisation
    assert known is not None
    (inverter,), (nand, _) = known.arcs["INV"], known.arcs["NAND2"]
    assert inverter.rise is not None
    assert nand.rise is not None
    assert inverter.rise.delay.at(10, 10) == 30
    assert nand.rise.delay.at(10, 10) == pytest.approx(32_000)


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (f"{INV}\n{NAND}", INV, "b.lib:3: cell INV_X1 appears twice"),
        (INV, cell("N", "none", "A", "Y=A"), "b.lib:3: area of cell N must be a number"),
        (INV, "", "a.lib:1: library toy has no two-input NAND"),
        (INV, cell("N", 1, "A B", "Y=!(A B"), "b.lib:6: function of pin Y"),
    ],
)
def test_errors_say_which_file(tmp_path: Path, first: str, second: str, message: str) -> None:
    with pytest.raises(LibertyError) as caught:
        read_files(tmp_path, a=library(first), b=library(second))
    assert str(caught.value).startswith(message)


def test_files_of_several_corners_are_no_library(tmp_path: Path) -> None:
    header = hand_library.HEADER
    hot = header.replace("nom_temperature : 25", "nom_temperature : 100")
    message = r"b.lib:4: the library is of 100 C, 2 V, that of a.lib of 25 C, 2 V: files of one lib"
    with pytest.raises(LibertyError, match=message):
        read_files(
            tmp_path,
            a=f"{header} {hand_library.INV} }}",
            b=f"{hot} {hand_library.NAND} }}",
        )


def test_a_file_without_tables_adds_no_cells_to_one_with_them(tmp_path: Path) -> None:
    found = read_files(
        tmp_path, a=hand_library.hand_library(), b=library(cell("BIG", 9, "A", "Y=A"))
    )
    assert found.skipped == {"BIG": "has no timing: b.lib has no tables"}


def test_areas_and_functions(tmp_path: Path) -> None:
    technology = read_cells(tmp_path, cell("MUX", 1.75, "A B S", "Z=(S*B)+(!S*A)")).technology
    assert technology.name == "toy"
    assert technology.nand2 == "NAND_X1"
    assert technology.area_um2 == {"INV_X1": 0.5, "MUX": 1.75, "NAND_X1": 0.8}
    assert technology.cells["MUX"].inputs == ("A", "B", "S")
    assert technology.cells["MUX"].truth_table("Z") == 0b11001010
    assert technology.full_adder is technology.half_adder is None
    circuit = Netlist(
        "unit",
        {"a": (2, 3, 4)},
        {"y": (6,)},
        (
            Cell("m", "MUX", {"A": 2, "B": 3, "S": 4, "Z": 5}),
            Cell("i", "INV_X1", {"A": 5, "Y": 6}),
        ),
        dict(technology.cells),
    )
    assert technology.cost(circuit) == 2.25
    assert technology.gates_ge(circuit) == pytest.approx(2.25 / 0.8)
    with pytest.raises(TechnologyError, match="toy does not say the transistors"):
        technology.transistor_count(circuit)


def test_the_genlib_has_the_areas(tmp_path: Path) -> None:
    full = cell("FA", 4, "A B C", "S=A^B^C", "K=A B+A C+B C")
    genlib = read_cells(tmp_path, cell("XOR", 1.5, "A B", "Z=A^B"), full).technology.genlib()
    assert "GATE INV_X1 0.5 Y=!A;" in genlib
    assert "GATE XOR 1.5 Z=(A * !B) + (!A * B);" in genlib
    assert "FA" not in genlib


def test_the_smallest_of_equal_functions_is_kept_whatever_its_pins(tmp_path: Path) -> None:
    found = read_cells(
        tmp_path,
        cell("AOI_X2", 2, "A B C", "Y=!(A B + C)"),
        cell("AOI_X1", 1, "P Q R", "Y=!(P + Q R)"),
        cell("CLKINV_X1", 0.5, "A", "Y=!A"),
        cell("NAND_X0", 0.7, "A B", "ZN=(A B)'"),
    )
    assert set(found.technology.cells) == {"INV_X1", "AOI_X1", "NAND_X0"}
    assert found.technology.nand2 == "NAND_X0"
    assert found.skipped["AOI_X2"] == "has the function of AOI_X1, which is not larger"
    assert found.skipped["CLKINV_X1"] == "has the function of INV_X1, which is not larger"


def test_a_function_of_three_inputs_is_none_of_two(tmp_path: Path) -> None:
    """Truth tables as numbers are equal: !(A B) !C and !(A B)."""
    found = read_cells(tmp_path, cell("SMALL", 0.1, "A B C", "Y=!(A B) !C"))
    assert found.technology.nand2 == "NAND_X1"
    assert "SMALL" in found.technology.cells


def test_adders_are_recognised_by_their_functions(tmp_path: Path) -> None:
    technology = read_cells(
        tmp_path,
        cell("ADDF_2", 6, "A B CIN", "SUM=A^B^CIN", "COUT=(A*B)+(CIN*(A+B))"),
        cell("ADDF_1", 5, "X Z Y", "COUT=X Y|X Z|Y Z", "SUM=(X^Y)^Z"),
        cell("ADDH_1", 3, "A B", "CO=A&B", "S=(A !B)+(!A B)"),
        cell("ADDFN", 4.5, "A B C", "SN=!(A^B^C)", "CON=!(A B+A C+B C)"),
        cell("GATED", 1, "A B E", "CO=A B !E", "S=(A^B) !E"),
    ).technology
    pins = {"A": "X", "B": "Z", "CI": "Y", "S": "SUM", "CO": "COUT"}
    assert technology.full_adder == AdderCell("ADDF_1", pins)
    assert technology.half_adder == AdderCell("ADDH_1", {"A": "A", "B": "B", "S": "S", "CO": "CO"})
    assert set(technology.arithmetic) == {"ADDF_1", "ADDH_1"}
    assert not {"ADDF_2", "ADDFN", "GATED"} & technology.cells.keys()


def test_adders_with_inverted_outputs_are_weighed_with_inverters(tmp_path: Path) -> None:
    """Two inverters of 0.5: 4.9 in all against 5, and 3.1 against 3."""
    library = read_cells(
        tmp_path,
        cell("ADDF_1", 5, "A B C", "CO=A B|A C|B C", "S=(A^B)^C"),
        cell("ADDFN", 3.9, "A B C", "SN=!(A^B^C)", "CON=!(A B+A C+B C)"),
        cell("ADDH_1", 3, "A B", "CO=A&B", "S=A^B"),
        cell("ADDHN", 2.6, "A B", "CO=A&B", "SN=!(A^B)"),
        cell("ADDHNN", 2.1, "A B", "CON=!(A&B)", "SN=!(A^B)"),
    )
    technology = library.technology
    pins = {"A": "A", "B": "B", "CI": "C", "S": "SN", "CO": "CON"}
    assert technology.full_adder == AdderCell("ADDFN", pins, ("S", "CO"))
    assert technology.half_adder == AdderCell("ADDH_1", {"A": "A", "B": "B", "S": "S", "CO": "CO"})
    assert set(technology.arithmetic) == {"ADDFN", "ADDH_1"}
    assert library.skipped["ADDF_1"] == "is an adder, and ADDFN is the one used"


@pytest.mark.slow
def test_an_inverted_adder_is_built_in(tmp_path: Path) -> None:
    adder = cell("ADDFN", 1.5, "A B C", "SN=!(A^B^C)", "CON=!(A B+A C+B C)")
    technology = read_cells(tmp_path, cell("XOR", 2, "A B", "Y=A^B"), adder).technology
    product = parse_unit("mul:int4")
    mapped = synthesise(product, technology, jobs=1).netlist
    assert technology.arithmetic_cells(mapped)
    assert verify(product, mapped).mismatches == 0


@pytest.mark.parametrize(
    ("unusable", "reason"),
    [
        (cell("DFF", 5, "D CK", "Q=IQ", extra='ff (IQ, IQN) { next_state : "D"; }'), "sequential"),
        (cell("LAT", 5, "D G", "Q=IQ", extra='latch (IQ) { enable : "G"; }'), "sequential"),
        (cell("SINK", 2, "A"), "has 1 inputs and 0 outputs"),
        (TRISTATE, "tristate"),
        (cell("BIG", 1, "A B", "Y=A+B", extra="dont_use : true;"), "dont_use"),
        (cell("BIG", 1, "A B", "Y=A+B", extra='dont_use : "true";'), "dont_use"),
        (cell("ISO", 1, "A B", "Y=A+B", extra="is_isolation_cell : true;"), "is_isolation_cell"),
        (cell("TIE", 1, "", "Y=1"), "has 0 inputs"),
        (cell("WIDE", 1, "A B C D E F G", "Y=A B C D E F G"), "has 7 inputs"),
        (cell("HALF", 1, "A B", "Y=A"), "no output depends on B"),
        (cell("NOAREA", 0, "A B", "Y=A B"), "has no area"),
        (cell("IO", 1, "A", "Y=A", extra="pin (P) { direction : inout; }"), "neither input nor"),
        (cell("INNER", 1, "A", "Y=A IQ"), "depends on more than inputs"),
        (cell("TWICE", 1, "A A", "Y=A"), "two of its pins have one name"),
        (cell("TWO", 1, "A B", "Y=A B", "Z=A+B"), "several outputs"),
        (cell("BUS", 1, "A", "Y=A", extra="bus (D) { }"), "has a bus"),
        (cell('"a;b"', 1, "A B", "Y=A B"), "is not letters, digits and _"),
        (cell('"$(rm)"', 1, "A B", "Y=A B"), "is not letters, digits and _"),
        (cell("ZERO", 1, "A B", "Y=A B"), "has a meaning in synthesis"),
        (cell("unit", 1, "A B", "Y=A B"), "has a meaning in synthesis"),
        (f'cell (P) {{ area : 1; {pin("A")} pin ("B[0]") {{ direction : input; }} }}', "pin name"),
    ],
)
def test_cells_that_cannot_be_used_are_skipped(tmp_path: Path, unusable: str, reason: str) -> None:
    found = read_cells(tmp_path, unusable)
    assert set(found.technology.cells) == {"INV_X1", "NAND_X1"}
    assert len(found.skipped) == 1
    assert reason in next(iter(found.skipped.values()))


def test_skipped_names_are_printable(tmp_path: Path) -> None:
    found = read_cells(tmp_path, cell('"\x1b[2J\n"', 1, "A B", "Y=A B"))
    assert all(name.isprintable() for name in found.skipped)
    assert all(reason.isprintable() for reason in found.skipped.values())


def test_the_syntax_of_real_files(tmp_path: Path) -> None:
    text = """/* header { ( " */
    library ("odd" ) {
      delay_model : table_lookup
      define (my_attribute, cell, string) ;
      capacitive_load_unit (1,ff);
      nom_voltage : 1.0;
      lu_table_template (t) { variable_1 : input_net_transition; index_1 ("1, 2, \\
         3"); }
      cell (INV) {
        area : 1.0 ;  // a comment
        pin(A) { direction : "input" ; capacitance : 1; } ;
        pin(Y) { direction : output; function : "A'";
          timing () { related_pin : "A"; note ("0.1, } 0.2", \\
            "0.3"); cell_rise (t) { values ("1, 2", \\
            "3"); } rise_transition (scalar) { values ("1"); }
            cell_fall (t) { values ("1 2 3"); } fall_transition (scalar) { values ("1"); } }
        }
      }
      cell ("ND") { area : 1.5e0; pg_pin (VDD) { pg_type : primary_power; }
        pin(B) { direction : input; capacitance : 2; }
        pin(A) { direction : input; capacitance : 2; }
        pin(Y) { direction : output; function : "(B A)'"; timing () { related_pin : "A B";
          cell_rise (scalar) { values ("1"); } rise_transition (scalar) { values ("1"); } } }
      }
    }
    """
    technology = read(tmp_path, text).technology
    assert technology.name == "odd"
    assert technology.area_um2 == {"INV": 1.0, "ND": 1.5}
    assert technology.cells["ND"].inputs == ("B", "A")


def test_compression_is_told_by_content(tmp_path: Path) -> None:
    packed = gzip.compress(library(INV, NAND).encode())
    assert read(tmp_path, packed, "toy.lib").technology.nand2 == "NAND_X1"
    assert read(tmp_path, library(INV, NAND), "toy.lib.gz").technology.nand2 == "NAND_X1"


def test_a_library_with_the_name_of_a_built_in_one(tmp_path: Path) -> None:
    assert read(tmp_path, library(INV, NAND, name="cmos2")).technology.name == "cmos2_liberty"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"toy.lib:1: expected 'library \(NAME\) {'"),
        ("<html>\n</html>", r"toy.lib:1: expected 'library"),
        ("library (x) {\n", r"toy.lib:2: expected an attribute, a group or '}', not the end"),
        ("library (x) {\n a : b;\n}\n}", r"toy.lib:4: expected the end of the file"),
        ("library (x) {\n\n cell (A) { area ; }", r"toy.lib:3: expected ':' or '\(' after area"),
        ("library (x) {\n cell (A { }", r"toy.lib:2: expected '\)', not '{'"),
        ("library (x) {\n a : ;\n", r"toy.lib:2: expected a value after ':'"),
        ('library (x) {\n a : "b;\n', r"toy.lib:2: this string or comment does not end"),
        ("library (x) {\n/* a\n", r"toy.lib:2: this string or comment does not end"),
        ("library (x) {\n cell (A) { timing () {\n", r"toy.lib:2: this group does not end"),
        ("library (x-y) { }", r"toy.lib:1: the library's name must be letters, digits, _, not"),
        ("library (x) {" + "a (b) {" * 200, r"toy.lib:1: more than 100 groups"),
        (library(INV, cell("A", "abc", "A", "Y=A")), r"area of cell A must be a number, not 'abc'"),
        (library(INV, cell("A", "-1", "A", "Y=A")), r"area of cell A must be a number"),
        (library(INV, cell("A", "nan", "A", "Y=A")), r"area of cell A must be a number"),
        (library(INV, cell("A", "1e999", "A", "Y=A")), r"area of cell A must be a number"),
        (library(INV, cell("A", 1, "A", "Y=A +")), r"toy.lib:\d+: function of pin Y: expected a"),
        (library(INV, INV), r"toy.lib:\d+: cell INV_X1 appears twice"),
        (library(INV), r"toy.lib:1: library toy has no two-input NAND"),
        (library(NAND), r"toy.lib:1: library toy has no inverter"),
    ],
)
def test_malformed_files_are_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(LibertyError, match=message) as caught:
        read(tmp_path, text)
    assert str(caught.value).isprintable()


def test_every_truncation_is_refused_or_read(tmp_path: Path) -> None:
    text = library(INV, NAND, cell("FA", 4, "A B C", "S=A^B^C", "K=A B+A C+B C"))
    for length in range(0, len(text), 7):
        with pytest.raises(LibertyError):
            read(tmp_path, text[:length])


def test_a_7z_archive(tmp_path: Path) -> None:
    with pytest.raises(LibertyError, match=r"^toy.lib: is a 7z archive: unpack it first"):
        read(tmp_path, b"7z\xbc\xaf\x27\x1c\x00\x04")


def test_a_cut_gzip_file(tmp_path: Path) -> None:
    packed = gzip.compress(os.urandom(4096))
    for content in (
        packed[:1000],
        packed[:-4],
        packed[:8],
        packed[:20] + bytes([packed[20] ^ 255]) + packed[21:],
    ):
        with pytest.raises(LibertyError, match=r"toy.lib: the gzip file is damaged or cut short"):
            read(tmp_path, content)


def test_a_gzip_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fmacost.hw.liberty_text._MAX_BYTES", 1 << 20)
    with pytest.raises(LibertyError, match="more than 1 MiB of text"):
        read(tmp_path, gzip.compress(b" " * (1 << 21)))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(LibertyError, match=r"none\.lib: cannot be read: No such file"):
        read_liberty(tmp_path / "none.lib")
    with pytest.raises(LibertyError, match="cannot be read"):
        read_liberty(tmp_path)


@pytest.mark.parametrize(
    ("function", "verilog"),
    [
        ("A", "A"),
        ("!A", "~A"),
        ("A'", "~A"),
        ("!!A", "A"),
        ("!A'", "A"),
        ("(A B)'", "~(A & B)"),
        ("A*B", "A & B"),
        ("A&B", "A & B"),
        ("A B C", "A & B & C"),
        ("A !B", "A & ~B"),
        ("A(B+C)", "A & (B | C)"),
        ("(A)(B)", "A & B"),
        ("A'B", "~A & B"),
        ("A+B C", "A | (B & C)"),
        ("A|B&C", "A | (B & C)"),
        ("A^B", "A ^ B"),
        ("A^B C", "(A ^ B) & C"),  # not as in Verilog and C: XOR binds stronger than AND
        ("A B^C", "A & (B ^ C)"),
        ("A+B^C", "A | (B ^ C)"),
        ("!A^B", "~A ^ B"),
        ("!(A^B)", "~(A ^ B)"),
        ("A^B^C", "A ^ B ^ C"),
        ("A + 0", "A"),
        ("A * 1", "A"),
        ("0", "1'b0"),
        ("1", "1'b1"),
        ("A^A", "1'b0"),
    ],
)
def test_functions(function: str, verilog: str) -> None:
    pins = ("A", "B", "C")
    got = translate_function(function, list(pins))
    assert "^" not in got
    expected = CellType("t", pins, (("Y", verilog),)).truth_table("Y")
    assert CellType("t", pins, (("Y", got),)).truth_table("Y") == expected


@pytest.mark.parametrize(
    "function",
    [
        *(
            "",
            "(",
            ")",
            "A)",
            "(A",
            "!",
            "'A",
            "A+",
            "+A",
            "A**B",
            "A ? B : C",
            "A;B",
            "A\\",
            "A=B",
        ),
        *("(" * 5000 + "A" + ")" * 5000, "\u0663", "__import__('os')"),
    ],
)
def test_malformed_functions(function: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        translate_function(function, ["A", "B"])


def test_a_large_library_of_facts() -> None:
    """The reader on a real file, where there is one: FMACOST_NANGATE45=.../nangate45.lib.gz."""
    path = os.environ.get("FMACOST_NANGATE45")
    if not path:
        pytest.skip("FMACOST_NANGATE45 is not set")
    technology = read_liberty(Path(path)).technology
    assert technology.area_um2 is not None
    assert technology.nand2 == "NAND2_X1"
    assert technology.area_um2["NAND2_X1"] == 0.798
    assert technology.full_adder is not None
    assert technology.full_adder.cell == "FA_X1"
    assert technology.half_adder is not None
    assert technology.half_adder.cell == "HA_X1"
    assert technology.area_um2["FA_X1"] == 4.256
    built_in = get_technology("nangate45")
    assert dict(technology.area_um2) == built_in.area_um2
    for name, cell in technology.cells.items():
        ours = built_in.cells[name]
        assert set(ours.inputs) == set(cell.inputs)
        for pin, _ in cell.outputs:
            same_order = CellType(name, cell.inputs, ours.outputs)
            assert same_order.truth_table(pin) == cell.truth_table(pin), name
