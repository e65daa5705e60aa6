"""Technologies: the cells a netlist may use and what each one costs.

Transistor counts are those of the open libraries' own netlists (sky130_fd_sc_hd, NangateOpenCell,
ASAP7, IHP sg13g2, gf180mcu: extracted SPICE/CDL, minimum-drive cells), where these agree: static
CMOS, an XOR of ten, a mirror full adder of 28.
"""

import difflib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from fmacost.hw.timing import FO4_TAU, Drive, derive_drive, parse_stages
from fmacost.sim.netlist import CellType, Netlist

FULL_ADDER = "FA"
HALF_ADDER = "HA"


# ABC's mappers know delays of pins but no loads: each pin brings its load on its driver, times
# the pins that a driver drives.
_MAPPING_FANOUT = 3.0


class TechnologyError(ValueError):
    """A technology that is not known, or a fact that one does not have."""


@dataclass(frozen=True, slots=True)
class AdderCell:
    """A full or half adder cell and its pins, which each library names its own way.

    Attributes
    ----------
    pins : cell pin of each of A, B, CI (full adders only), S and CO
    """

    cell: str
    pins: Mapping[str, str]


@dataclass(frozen=True)
class Technology:
    """A set of cells and what each one costs: transistors, or area where that is known.

    Attributes
    ----------
    cells : cell types by name
    transistors : transistors of each cell; empty if a library does not say
    nand2 : the cell that counts as one gate equivalent
    arithmetic : cells that logic optimisation may not choose by itself (adders)
    area_um2 : area of each cell, None for technologies that have none
    drive : what the delay of each cell depends on; empty if a library does not say
    full_adder, half_adder : the adder cells, None if there are none
    """

    name: str
    description: str
    source: str
    nand2: str
    cells: Mapping[str, CellType]
    transistors: Mapping[str, int]
    arithmetic: tuple[str, ...] = ()
    area_um2: Mapping[str, float] | None = None
    drive: Mapping[str, Drive] = field(default_factory=dict)
    full_adder: AdderCell | None = None
    half_adder: AdderCell | None = None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that a count or a delay depends on."""
        facts = {
            name: [cell.inputs, cell.outputs, self.cell_cost[name]]
            for name, cell in sorted(self.cells.items())
        }
        drive = {
            name: [sorted(drive.load.items()), sorted(drive.delay_tau.items())]
            for name, drive in sorted(self.drive.items())
        }
        parts = [self.name, self.nand2, self.arithmetic, facts, drive, self.genlib()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def cell_cost(self) -> Mapping[str, float]:
        """What each cell costs: its area where that is known, else its transistors."""
        return self.transistors if self.area_um2 is None else self.area_um2

    def cost(self, netlist: Netlist) -> float:
        """Return the area of a netlist mapped to this technology, or its transistors."""
        return sum(self.cell_cost[name] * n for name, n in netlist.count().items())

    def transistor_count(self, netlist: Netlist) -> int:
        """Return the transistors of a netlist mapped to this technology.

        Raises
        ------
        TechnologyError
            If the technology does not say how many a cell has.
        """
        if not self.transistors:
            raise TechnologyError(f"technology {self.name} does not say the transistors of a cell")
        return sum(self.transistors[name] * n for name, n in netlist.count().items())

    def gates_ge(self, netlist: Netlist) -> float:
        """Return the size of a netlist in gate equivalents, NAND2 of this technology."""
        return self.cost(netlist) / self.cell_cost[self.nand2]

    def genlib(self) -> str:
        """Return the cells as a genlib for ABC, with what they cost, and delays in FO4.

        A pin's delay includes what the pin costs its driver, since ABC's mappers do not look at
        loads: of two cells as fast, the one with the lighter pins is then the faster.
        """
        lines = ["GATE ZERO 0 Y=CONST0;", "GATE ONE 0 Y=CONST1;"]
        for name, cell in self.cells.items():
            if name in self.arithmetic:
                continue
            (pin, function), *_ = cell.outputs
            text = function.replace("~", "!").replace("&", "*").replace("|", "+")
            lines.append(f"GATE {name} {self.cell_cost[name]:g} {pin}={text};")
            for source in cell.inputs:
                delay, load = self._mapping_delay(cell, source)
                times = f"{delay:.3f} {1 / FO4_TAU:.3f}"
                lines.append(f"  PIN {source} UNKNOWN {load:.3f} 999 {times} {times}")
        return "\n".join(lines) + "\n"

    def _mapping_delay(self, cell: CellType, source: str) -> tuple[float, float]:
        """Return the delay in FO4, its driver's included, and the load of an input pin."""
        drive = self.drive.get(cell.name)
        if drive is None:  # it grows with the transistors in series
            return 1 + len(cell.inputs) / 4, 1.0
        slowest = max((d for (pin, _), d in drive.delay_tau.items() if pin == source), default=0)
        load = drive.load[source]
        return (slowest + _MAPPING_FANOUT * load) / FO4_TAU, load


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
    name: str, description: str, source: str, nand2: str, table: str, structures: str = ""
) -> Technology:
    """Read tables of cells.

    ``table`` has lines ``NAME transistors inputs output=function[; output=function]``;
    ``structures`` has lines ``NAME stages`` for the cells of more than one inverting stage.
    """
    cells, transistors, drive = {}, {}, {}
    stages = dict(line.split(maxsplit=1) for line in structures.strip().splitlines())
    for line in table.strip().splitlines():
        cell, count, inputs, functions = line.split(maxsplit=3)
        outputs = [f.split("=") for f in functions.split(";")]
        pins = tuple((pin.strip(), function.strip()) for pin, function in outputs)
        cells[cell] = CellType(cell, tuple(inputs.split(",")), pins)
        transistors[cell] = int(count)
        drive[cell] = derive_drive(cells[cell], parse_stages(stages.get(cell, functions)))
    adders = {
        cell: AdderCell(cell, {pin: pin for pin in cells[cell].pins})
        for cell in (FULL_ADDER, HALF_ADDER)
        if cell in cells
    }
    return Technology(
        name,
        description,
        source,
        nand2,
        cells,
        transistors,
        tuple(adders),
        drive=drive,
        full_adder=adders.get(FULL_ADDER),
        half_adder=adders.get(HALF_ADDER),
    )


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

# How the open libraries build the cells that are not one inverting gate: XOR2 as NOR2 + AOI21 and
# XNOR2 as NAND2 + OAI21 (sky130hd, Nangate45, IHP, gf180mcu), the half adder sharing its NAND2,
# the 28-transistor mirror full adder. Two transistors for each pin of a network.
_CMOS_STRUCTURES = """
BUF    N=~A; Y=~N
AND2   N=~(A & B); Y=~N
OR2    N=~(A | B); Y=~N
NAND2B AN=~A; Y=~(AN & B)
NOR2B  AN=~A; Y=~(AN | B)
AND3   N=~(A & B & C); Y=~N
OR3    N=~(A | B | C); Y=~N
AND4   N=~(A & B & C & D); Y=~N
OR4    N=~(A | B | C | D); Y=~N
AO21   N=~((A & B) | C); Y=~N
OA21   N=~((A | B) & C); Y=~N
AO22   N=~((A & B) | (C & D)); Y=~N
OA22   N=~((A | B) & (C | D)); Y=~N
XOR2   N=~(A | B); Y=~((A & B) | N)
XNOR2  N=~(A & B); Y=~((A | B) & N)
MUXI2  SN=~S; Y=~((S & B) | (SN & A))
MUX2   SN=~S; N=~((S & B) | (SN & A)); Y=~N
MAJI3  Y=~((A & B) | (C & (A | B)))
MAJ3   N=~((A & B) | (C & (A | B))); Y=~N
HA     N=~(A & B); CO=~N; SN=~((A | B) & N); S=~SN
FA     N=~((A & B) | (CI & (A | B))); CO=~N; SN=~((A & B & CI) | (N & (A | B | CI))); S=~SN
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
            _CMOS_STRUCTURES,
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
