"""Technologies: the cells a netlist may use and what each one costs.

Transistor counts are those of the open libraries' own netlists (sky130_fd_sc_hd, NangateOpenCell,
ASAP7, IHP sg13g2, gf180mcu: extracted SPICE/CDL, minimum-drive cells), where these agree: static
CMOS, an XOR of ten, a mirror full adder of 28.
"""

import difflib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean

from fmacost.hw import cell_tables
from fmacost.hw.characterisation import Arc, Characterisation, FlipFlop
from fmacost.hw.timing import FO4_TAU, OUTPUT_LOAD, Drive, derive_drive, parse_stages
from fmacost.sim.netlist import Cell, CellType, Netlist

# ABC's mappers know delays of pins but no loads: each pin brings its load on its driver, times
# the pins that a driver drives.
_MAPPING_FANOUT = 3.0

# The usual flip-flop of two latches with transmission gates, as dfxtp of sky130: a clocked inverter
# in, two inverters with clocked feedback, an inverter out, two for the clock. Its times are means
# of what DFF_X1 of Nangate45, dfxtp_1 of sky130hd, DFFHQNx1 of ASAP7 and dffq_1 of gf180mcu say of
# typical corners, at slews of an FO4 inverter: clock to output with an FO4 load 4.2, 4.2, 3.2 and
# 3.5 FO4, setup 1.8, 1.5, 0.5 and 1.0, capacitance of D 0.68, 0.73, 0.90 and 0.50 inverters.
_CMOS_FLIP_FLOP = FlipFlop(
    cell="DFF",
    pins={"D": "D", "CLK": "CLK", "Q": "Q"},
    transistors=24,
    area_um2=None,
    setup_fo4=1.2,
    clock_to_output_fo4=3.8,
)
_FLIP_FLOP_LOAD = 0.7  # of D and CLK each, in unit inverters


class TechnologyError(ValueError):
    """A technology that is not known, or a fact that one does not have."""


@dataclass(frozen=True, slots=True)
class AdderCell:
    """A full or half adder cell and its pins, which each library names its own way.

    Attributes
    ----------
    pins : cell pin of each of A, B, CI (full adders only), S and CO
    inverted : which of S and CO the cell gives inverted
    """

    cell: str
    pins: Mapping[str, str]
    inverted: tuple[str, ...] = ()


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
    flip_flop : the smallest plain one, None if there is none
    characterisation : delays in ps, energies and leakage; None if they are not known
    drives : larger cells of the function of a cell, weakest first, with its pins; mapping does
        not use them, what each costs is said as for ``cells``
    licence : of the facts, as an SPDX expression; empty if it is not known
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
    flip_flop: FlipFlop | None = None
    characterisation: Characterisation | None = None
    drives: Mapping[str, tuple[CellType, ...]] = field(default_factory=dict)
    licence: str = ""

    @property
    def has_delays(self) -> bool:
        """Whether netlists of its cells have a delay, by logical effort or in ps."""
        return bool(self.drive) or self.characterisation is not None

    @cached_property
    def inverter(self) -> str:
        """The smallest inverter; raises TechnologyError if there is none."""
        found = [
            name
            for name, cell in self.cells.items()
            if len(cell.inputs) == len(cell.outputs) == 1
            and cell.truth_table(cell.outputs[0][0]) == 0b01
        ]
        if not found:
            raise TechnologyError(f"technology {self.name} has no inverter")
        return min(found, key=self.cell_cost.__getitem__)

    @cached_property
    def inverter_ff(self) -> float:
        """Input capacitance in fF of the smallest inverter; TechnologyError if it is unknown."""
        if self.characterisation is None:
            raise TechnologyError(f"technology {self.name} does not say the load of an inverter")
        (load_ff,) = self.characterisation.capacitance_ff[self.inverter].values()
        return load_ff

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
        parts = [
            self.name, self.source, self.nand2, self.arithmetic, facts, drive,
            dict(self.transistors), self.flip_flop and asdict(self.flip_flop),
            self.characterisation and asdict(self.characterisation), self.genlib(),
            {name: [cell.name for cell in larger] for name, larger in sorted(self.drives.items())},
            {name: self.cell_cost[name] for name in self.sized_cells},
        ]  # fmt: skip
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @property
    def cell_cost(self) -> Mapping[str, float]:
        """What each cell costs: its area where that is known, else its transistors."""
        return self.transistors if self.area_um2 is None else self.area_um2

    @cached_property
    def sized_cells(self) -> Mapping[str, CellType]:
        """The cells and their larger drives."""
        larger = {cell.name: cell for drives in self.drives.values() for cell in drives}
        return {**self.cells, **larger}

    @cached_property
    def library(self) -> Mapping[str, CellType]:
        """The cells, their larger drives, and the flip-flop where there is one."""
        cells, flip_flop = self.sized_cells, self.flip_flop
        if flip_flop is None:
            return cells
        data, clock, output = (flip_flop.pins[pin] for pin in ("D", "CLK", "Q"))
        inputs = (data, clock, *flip_flop.tied)
        register = CellType(flip_flop.cell, inputs, ((output, data),), clock=clock)
        return {**cells, flip_flop.cell: register}

    @property
    def register(self) -> FlipFlop:
        """The flip-flop that registers are made of; raises TechnologyError if there is none."""
        if self.flip_flop is None:
            raise TechnologyError(
                f"technology {self.name} has no flip-flop, so no registers can be counted in it"
            )
        return self.flip_flop

    def register_cell(self, name: str, data: int, clock: int, output: int) -> Cell:
        """Return a flip-flop between two nets; raise as ``register``."""
        flip_flop = self.register
        nets = {"D": data, "CLK": clock, "Q": output}
        pins = {pin: nets[role] for role, pin in flip_flop.pins.items()}
        return Cell(name, flip_flop.cell, {**pins, **flip_flop.tied})

    def cost(self, netlist: Netlist) -> float:
        """Return the area of a netlist mapped to this technology, or its transistors."""
        if self.area_um2 is None:
            return self.transistor_count(netlist)
        flip_flop = self.flip_flop
        area = dict(self.area_um2)
        if flip_flop is not None and flip_flop.area_um2 is not None:
            area[flip_flop.cell] = flip_flop.area_um2
        return sum(area[name] * n for name, n in netlist.count().items())

    def area(self, netlist: Netlist) -> float | None:
        """Return the area of a netlist in µm²; None in a technology that has no areas."""
        return None if self.area_um2 is None else round(self.cost(netlist), 6)

    def transistor_count(self, netlist: Netlist) -> int:
        """Return the transistors of a netlist mapped to this technology.

        Raises
        ------
        TechnologyError
            If the technology does not say how many a cell has.
        """
        transistors: dict[str, int | None] = dict(self.transistors)
        if self.flip_flop is not None:
            transistors[self.flip_flop.cell] = self.flip_flop.transistors
        total = 0
        for name, n in netlist.count().items():
            if (each := transistors.get(name)) is None:
                raise TechnologyError(
                    f"technology {self.name} does not say the transistors of {name}"
                )
            total += each * n
        return total

    def gates_ge(self, netlist: Netlist) -> float:
        """Return the size of a netlist in gate equivalents, NAND2 of this technology."""
        return self.cost(netlist) / self.cell_cost[self.nand2]

    def leakage_nw(self, netlist: Netlist) -> float | None:
        """Return the leakage of a netlist, the mean over the states of each cell's inputs.

        None where the leakage of a cell is not known, or no cell leaks: then none was stated.
        """
        known = {} if self.characterisation is None else self.characterisation.leakage_nw
        counts = netlist.count()
        if not counts.keys() <= known.keys():
            return None
        return sum(known[name] * n for name, n in counts.items()) or None

    def arithmetic_cells(self, netlist: Netlist) -> int:
        """Return how many full and half adder cells a netlist has."""
        return sum(netlist.count().get(name, 0) for name in self.arithmetic)

    def genlib(self) -> str:
        """Return the cells as a genlib for ABC, with what they cost, and delays in FO4.

        A pin's delay includes what the pin costs its driver, since ABC's mappers do not look at
        loads: of two cells as fast, the one with the lighter pins is then the faster.
        """
        lines = ["GATE ZERO 0 Y=CONST0;", "GATE ONE 0 Y=CONST1;"]
        for name, cell in self.cells.items():
            if len(cell.outputs) > 1:
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
        if drive is None and self.characterisation is not None:
            return self._measured_delay(self.characterisation, cell.name, source)
        if drive is None:  # it grows with the transistors in series
            return 1 + len(cell.inputs) / 4, 1.0
        slowest = max((d for (pin, _), d in drive.delay_tau.items() if pin == source), default=0)
        load = drive.load[source]
        return (slowest + _MAPPING_FANOUT * load) / FO4_TAU, load

    def _measured_delay(
        self, known: Characterisation, cell: str, source: str
    ) -> tuple[float, float]:
        """Return the delay of a cell that drives ``_MAPPING_FANOUT`` inverters, as above."""
        load_ff = _MAPPING_FANOUT * self.inverter_ff
        delays = [
            _mean_ps(arc, known.fo4_ps, load_ff) for arc in known.arcs[cell] if arc.source == source
        ]
        pin_load = known.capacitance_ff[cell][source] / self.inverter_ff
        return max(delays, default=0.0) / known.fo4_ps, pin_load


def _mean_ps(arc: Arc, slew_ps: float, load_ff: float) -> float:
    """Return the mean delay of a rising and a falling output."""
    edges = [edge for edge in (arc.rise, arc.fall) if edge is not None]
    return fmean(edge.delay.at(slew_ps, load_ff) for edge in edges) if edges else 0.0


# Inputs of an adder, and the truth tables of its sum and carry.
_ADDERS = ((("A", "B", "CI"), 0b10010110, 0b11101000), (("A", "B"), 0b0110, 0b1000))


def adder_cell(cell: CellType) -> AdderCell | None:
    """Return the pins of a cell that is a full or half adder, else None."""
    outputs = {cell.truth_table(pin): pin for pin, _ in cell.outputs}
    for names, *tables in _ADDERS:
        if len(names) != len(cell.inputs) or len(cell.outputs) != 2:
            continue
        ones = (1 << (1 << len(names))) - 1
        pins = dict(zip(names, cell.inputs, strict=True))
        inverted = []
        for name, table in zip(("S", "CO"), tables, strict=True):
            if table not in outputs:
                table ^= ones
                inverted.append(name)
            if table in outputs:
                pins[name] = outputs[table]
        if len(pins) == len(cell.pins):
            return AdderCell(cell.name, pins, tuple(inverted))
    return None


def adder_cells(cells: Iterable[CellType]) -> dict[int, AdderCell]:
    """Return the full adder under 3 and the half adder under 2, with true outputs if there are."""
    found = [(len(cell.inputs), adder) for cell in cells if (adder := adder_cell(cell))]
    found.sort(key=lambda entry: len(entry[1].inverted), reverse=True)
    return dict(found)


def get_technology(name: str) -> Technology:
    """Return the technology of a name; raise TechnologyError with near names."""
    if name in TECHNOLOGIES:
        return TECHNOLOGIES[name]
    near = difflib.get_close_matches(name, TECHNOLOGIES, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise TechnologyError(
        f"unknown technology '{name}'{hint} (expected one of {', '.join(TECHNOLOGIES)})"
    )


def _from_table(
    name: str, description: str, source: str, nand2: str, table: str, structures: str = ""
) -> Technology:
    """Read tables of cells, see ``hw.cell_tables``."""
    cells, transistors, drive = {}, {}, {}
    stages = dict(line.split(maxsplit=1) for line in structures.strip().splitlines())
    for line in table.strip().splitlines():
        cell, count, inputs, functions = line.split(maxsplit=3)
        outputs = [f.split("=") for f in functions.split(";")]
        pins = tuple((pin.strip(), function.strip()) for pin, function in outputs)
        cells[cell] = CellType(cell, tuple(inputs.split(",")), pins)
        transistors[cell] = int(count)
        drive[cell] = derive_drive(cells[cell], parse_stages(stages.get(cell, functions)))
    adders = adder_cells(cells.values())
    return Technology(
        name,
        description,
        source,
        nand2,
        cells,
        transistors,
        tuple(adder.cell for adder in adders.values()),
        drive=drive,
        full_adder=adders.get(3),
        half_adder=adders.get(2),
    )


def _with_flip_flop(technology: Technology, flip_flop: FlipFlop, load: float) -> Technology:
    """Return a technology with a flip-flop; ``load`` is that of D and of CLK, in inverters."""
    assert flip_flop.clock_to_output_fo4 is not None
    data, clock, output = (flip_flop.pins[pin] for pin in ("D", "CLK", "Q"))
    unloaded = flip_flop.clock_to_output_fo4 * FO4_TAU - OUTPUT_LOAD
    drive = Drive({data: load, clock: load}, {(clock, output): unloaded})
    return replace(
        technology, flip_flop=flip_flop, drive={**technology.drive, flip_flop.cell: drive}
    )


def _cmos() -> Technology:
    cells = _from_table(
        "cmos",
        "static CMOS standard cells; area is the transistor count, full adders are cells",
        "transistors of the minimum-drive cells of sky130hd, Nangate45, IHP and gf180mcu",
        "NAND2",
        cell_tables.CMOS_CELLS,
        cell_tables.CMOS_STRUCTURES,
    )
    return _with_flip_flop(cells, _CMOS_FLIP_FLOP, _FLIP_FLOP_LOAD)


def _cmos2() -> Technology:
    return _from_table(
        "cmos2",
        "NAND, NOR and NOT alone, the estimate of Yosys' `abc -g cmos2; stat -tech cmos`",
        "transistor table of Yosys' stat command",
        "NAND",
        cell_tables.CMOS2_CELLS,
    )


class _BuiltIn(Mapping[str, Technology]):
    """The technologies that come with the package, each read when it is first asked for."""

    _MADE: Mapping[str, Callable[[], Technology]] = {"cmos": _cmos, "cmos2": _cmos2}
    _TABLES = ("nangate45", "sky130hd", "asap7", "gf180mcu", "ihp_sg13g2", "gt2n")

    def __init__(self) -> None:
        self._known: dict[str, Technology] = {}

    def __getitem__(self, name: str) -> Technology:
        if name not in self._known:
            self._known[name] = self._MADE[name]() if name in self._MADE else self._read(name)
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._MADE or name in self._TABLES

    def __iter__(self) -> Iterator[str]:
        return iter((*self._MADE, *self._TABLES))

    def __len__(self) -> int:
        return len(self._MADE) + len(self._TABLES)

    def _read(self, name: str) -> Technology:
        if name not in self._TABLES:
            raise KeyError(name)
        from fmacost.hw.technology_json import technology_from_json

        return technology_from_json(json.loads(table_path(name).read_text(encoding="utf-8")))


def table_path(name: str) -> Path:
    """Return where the table of a built-in technology is."""
    return Path(__file__).with_name("technologies") / f"{name}.json"


TECHNOLOGIES: Mapping[str, Technology] = _BuiltIn()
