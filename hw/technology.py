"""Technologies: the cells a netlist may use and what each one costs.

Transistor counts are those of the open libraries' own netlists (sky130_fd_sc_hd, NangateOpenCell,
ASAP7, IHP sg13g2, gf180mcu: extracted SPICE/CDL, minimum-drive cells), where these agree: static
CMOS, an XOR of ten, a mirror full adder of 28.
"""

import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from fmacost.sim.netlist import CellType, Netlist

FULL_ADDER = "FA"
HALF_ADDER = "HA"


class TechnologyError(ValueError):
    """A technology that is not known."""


@dataclass(frozen=True)
class Technology:
    """A set of cells with their transistor counts.

    Attributes
    ----------
    cells : cell types by name
    transistors : transistors of each cell
    nand2 : the cell that counts as one gate equivalent
    arithmetic : cells that logic optimisation may not choose by itself (adders)
    """

    name: str
    description: str
    source: str
    nand2: str
    cells: Mapping[str, CellType]
    transistors: Mapping[str, int]
    arithmetic: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that a count depends on."""
        facts = {
            name: [cell.inputs, cell.outputs, self.transistors[name]]
            for name, cell in sorted(self.cells.items())
        }
        return hashlib.sha256(json.dumps([self.name, self.nand2, facts]).encode()).hexdigest()

    def transistor_count(self, netlist: Netlist) -> int:
        """Return the transistors of a netlist mapped to this technology."""
        return sum(self.transistors[name] * n for name, n in netlist.count().items())

    def gates_ge(self, netlist: Netlist) -> float:
        """Return the size of a netlist in gate equivalents, NAND2 of this technology."""
        return self.transistor_count(netlist) / self.transistors[self.nand2]

    def genlib(self) -> str:
        """Return the cells as a genlib for ABC, area in transistors.

        Delays grow with the transistors in series; ABC needs them to choose among equal areas.
        """
        lines = ["GATE ZERO 0 Y=CONST0;", "GATE ONE 0 Y=CONST1;"]
        for name, cell in self.cells.items():
            if name in self.arithmetic:
                continue
            (pin, function), *_ = cell.outputs
            text = function.replace("~", "!").replace("&", "*").replace("|", "+")
            delay = 1 + len(cell.inputs) / 4
            lines.append(f"GATE {name} {self.transistors[name]} {pin}={text};")
            lines.append(f"  PIN * UNKNOWN 1 999 {delay:.2f} 0.2 {delay:.2f} 0.2")
        return "\n".join(lines) + "\n"


def get_technology(name: str) -> Technology:
    """Return the technology of a name; raise TechnologyError with near names."""
    if name in TECHNOLOGIES:
        return TECHNOLOGIES[name]
    near = difflib.get_close_matches(name, TECHNOLOGIES, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise TechnologyError(
        f"unknown technology '{name}'{hint} (expected one of {', '.join(TECHNOLOGIES)})"
    )


def _technology(
    name: str,
    description: str,
    source: str,
    nand2: str,
    table: str,
    arithmetic: tuple[str, ...] = (),
) -> Technology:
    """Read a table of lines ``NAME transistors inputs output=function[; output=function]``."""
    cells, transistors = {}, {}
    for line in table.strip().splitlines():
        cell, count, inputs, functions = line.split(maxsplit=3)
        outputs = [f.split("=") for f in functions.split(";")]
        pins = tuple((pin.strip(), function.strip()) for pin, function in outputs)
        cells[cell] = CellType(cell, tuple(inputs.split(",")), pins)
        transistors[cell] = int(count)
    return Technology(name, description, source, nand2, cells, transistors, arithmetic)


_CMOS_CELLS = """
INV    2  A            Y=~A
BUF    4  A            Y=A
NAND2  4  A,B          Y=~(A & B)
NOR2   4  A,B          Y=~(A | B)
AND2   6  A,B          Y=A & B
OR2    6  A,B          Y=A | B
NAND2B 6  A,B          Y=~(~A & B)
NOR2B  6  A,B          Y=~(~A | B)
NAND3  6  A,B,C        Y=~(A & B & C)
NOR3   6  A,B,C        Y=~(A | B | C)
AND3   8  A,B,C        Y=A & B & C
OR3    8  A,B,C        Y=A | B | C
NAND4  8  A,B,C,D      Y=~(A & B & C & D)
NOR4   8  A,B,C,D      Y=~(A | B | C | D)
AND4   10 A,B,C,D      Y=A & B & C & D
OR4    10 A,B,C,D      Y=A | B | C | D
AOI21  6  A,B,C        Y=~((A & B) | C)
OAI21  6  A,B,C        Y=~((A | B) & C)
AO21   8  A,B,C        Y=(A & B) | C
OA21   8  A,B,C        Y=(A | B) & C
AOI22  8  A,B,C,D      Y=~((A & B) | (C & D))
OAI22  8  A,B,C,D      Y=~((A | B) & (C | D))
AO22   10 A,B,C,D      Y=(A & B) | (C & D)
OA22   10 A,B,C,D      Y=(A | B) & (C | D)
AOI31  8  A,B,C,D      Y=~((A & B & C) | D)
OAI31  8  A,B,C,D      Y=~((A | B | C) & D)
AOI211 8  A,B,C,D      Y=~((A & B) | C | D)
OAI211 8  A,B,C,D      Y=~((A | B) & C & D)
AOI221 10 A,B,C,D,E    Y=~((A & B) | (C & D) | E)
OAI221 10 A,B,C,D,E    Y=~((A | B) & (C | D) & E)
XOR2   10 A,B          Y=(A & ~B) | (~A & B)
XNOR2  10 A,B          Y=(A & B) | (~A & ~B)
MUXI2  10 A,B,S        Y=~((S & B) | (~S & A))
MUX2   12 A,B,S        Y=(S & B) | (~S & A)
MAJI3  10 A,B,C        Y=~((A & B) | (A & C) | (B & C))
MAJ3   12 A,B,C        Y=(A & B) | (A & C) | (B & C)
HA     14 A,B          S=A ^ B; CO=A & B
FA     28 A,B,CI       S=A ^ B ^ CI; CO=(A & B) | (A & CI) | (B & CI)
"""

_CMOS2_CELLS = """
NOT  2 A   Y=~A
NAND 4 A,B Y=~(A & B)
NOR  4 A,B Y=~(A | B)
"""

TECHNOLOGIES: Mapping[str, Technology] = {
    tech.name: tech
    for tech in (
        _technology(
            "cmos",
            "static CMOS standard cells; area is the transistor count, full adders are cells",
            "transistors of the minimum-drive cells of sky130hd, Nangate45, IHP and gf180mcu",
            "NAND2",
            _CMOS_CELLS,
            (FULL_ADDER, HALF_ADDER),
        ),
        _technology(
            "cmos2",
            "NAND, NOR and NOT alone, the estimate of Yosys' `abc -g cmos2; stat -tech cmos`",
            "transistor table of Yosys' stat command",
            "NAND",
            _CMOS2_CELLS,
        ),
    )
}
