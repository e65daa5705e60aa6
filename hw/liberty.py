"""Liberty cell libraries, of one or more files: areas, functions, delays, energies, flip-flops.

Cells that a mapper cannot use (latches, tristate drivers, ``dont_use``) are skipped, and of cells
with one function the smallest is kept, with a few larger ones for sizing. A file is never trusted:
names are plain identifiers or the cell is skipped, and nothing in it is evaluated.

The text is read by ``hw.liberty_text``, which is our own since the parser on PyPI, liberty-parser,
is under the GPL-3.0 and this project under Apache-2.0.
"""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from fmacost.hw.characterisation import Arc, Characterisation, FlipFlop
from fmacost.hw.liberty_flip_flop import Register, read_flip_flop, with_inverter
from fmacost.hw.liberty_function import translate_function
from fmacost.hw.liberty_tables import Tables, Unusable, depends, read_number
from fmacost.hw.liberty_text import Group, LibertyError, LibertyFile, read_text, shown
from fmacost.hw.static_timing import FanOutOfFour, settle
from fmacost.hw.technology import TECHNOLOGIES, AdderCell, Technology, adder_cell
from fmacost.sim.netlist import CellType

__all__ = ["LibertyError", "Library", "read_liberty", "translate_function"]

_MAX_INPUTS = 6  # more are no use to a mapper
_MOST_DRIVES = 3  # larger versions of a cell
_FASTER = 0.75  # the delay of one with a large load, over that of the one before

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SEQUENTIAL_GROUPS = ("ff", "ff_bank", "latch", "latch_bank", "statetable", "memory", "test_cell")
_SPECIAL_FLAGS = (
    "dont_use",
    "clock_gating_integrated_cell",
    "is_isolation_cell",
    "is_level_shifter",
    "is_macro_cell",
    "pad_cell",
    "physical_only",
    "retention_cell",
)
# Names that would clash in synthesis: constants of ABC's library, our module names.
_RESERVED = re.compile(r"ZERO|ONE|CONST[01]|GATE|PIN|LATCH|unit|fmacost_.*")
_NO_FUNCTION = "has no function"

# A function: the number of inputs, then the truth tables of the outputs, smallest first.
_Function = tuple[int, ...]
_NOT, _NAND2 = (1, 0b01), (2, 0b0111)


@dataclass(frozen=True, slots=True)
class Library:
    """A technology read from files, and why each other cell of theirs is not in it."""

    technology: Technology
    skipped: dict[str, str]


def read_liberty(*paths: Path) -> Library:
    """Read a library of Liberty files, plain or compressed by gzip (told by their content).

    Each file has its own units, and together they are as if they were one; their voltages and
    temperatures must be equal. The technology is named after the library (with ``_liberty`` if that
    is a built-in one), by the words that the names of several have in common, and knows areas but
    no transistors. The smallest full and half adder, counting inverters behind
    inverted outputs, are kept as ``arithmetic`` cells; other cells of several outputs are skipped.
    Skipped cells whose names are not printable are listed with escapes.

    Where the library has timing tables (NLDM), a cell without them is skipped and the technology
    has a ``characterisation``: internal energies are those at the slew and the load of a
    fan-out-of-four inverter, setup times those where data and clock have that slew. Its flip-flop
    is the smallest plain one with a true output; where every one has a reset or the like, the
    smallest with such pins tied; where every one has an inverted output alone, one of these and the
    smallest inverter as one cell. None, if there is no usable one. Larger cells with the pins and
    functions of one that is kept are its ``drives``: up to three, each at least a quarter faster
    with a large load than the one before.

    Raises
    ------
    LibertyError
        Naming the file, and the line where there is one.
    """
    return _Reader([_read_part(path) for path in paths]).library()


@dataclass(frozen=True)
class _Part:
    """One file; ``tables`` is None where it has no timing."""

    file: LibertyFile
    group: Group
    tables: Tables | None


def _read_part(path: Path) -> _Part:
    file = LibertyFile(path.name, read_text(path))
    group = file.library()
    pins = (pin for cell in group.of_kind("cell") for pin in cell.of_kind("pin"))
    return _Part(file, group, Tables(file, group) if any(p.has("timing") for p in pins) else None)


def _check_conditions(parts: Sequence[_Part]) -> None:
    """Raise LibertyError unless all files are of one corner."""
    known = [(part, part.tables.conditions) for part in parts if part.tables]
    for part, conditions in known:
        first, expected = known[0]
        if conditions != expected:
            raise part.file.error(
                f"the library is of {conditions}, that of {first.file.name} of {expected}: "
                "files of one library must be of one corner",
                part.group.where("nom_voltage"),
            )


def _common_name(names: Sequence[str]) -> str:
    """Return the words of the first name that all have; that name, if there is none."""
    words = [set(name.split("_")) for name in names]
    common = [word for word in names[0].split("_") if all(word in other for other in words)]
    return "_".join(common) or names[0]


@dataclass(frozen=True)
class _LibertyCell:
    type: CellType
    area: float
    group: Group
    part: _Part

    @property
    def name(self) -> str:
        return self.type.name

    @property
    def function(self) -> _Function:
        """What the cell computes, the same for every order of its pins."""
        tables = tuple(self.type.truth_table(pin) for pin, _ in self.type.outputs)
        return _canonical(len(self.type.inputs), tables)

    @property
    def adder(self) -> AdderCell | None:
        """The pins, if the cell is a full or half adder."""
        return adder_cell(self.type)


class _Reader:
    """One library: its cells, and why others are skipped."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        _check_conditions(parts)
        self._parts = parts
        self._name = _common_name([part.group.name for part in parts])
        self._skipped: dict[str, str] = {}
        self._found: dict[str, tuple[Group, _Part]] = {}  # flip-flops
        self._refused: dict[_Function, str] = {}  # functions of cells whose tables are unusable
        self._arcs: dict[str, tuple[Arc, ...]] = {}
        self._setup_ps: dict[str, float] = {}
        self._alike: dict[_Function, list[_LibertyCell]] = {}  # larger cells of each function
        self._timed = any(part.tables for part in parts)

    def library(self) -> Library:
        combinational, flip_flops = self._cells()
        kept = self._smallest(combinational)
        for function, what in ((_NOT, "inverter"), (_NAND2, "two-input NAND")):
            if function not in kept:
                raise self._missing(function, what)
        inverter = kept[_NOT]
        stage = self._fan_out_of_four(inverter)
        register = self._register(flip_flops, stage)
        flip_flop = register and register.flip_flop
        adders = self._adders(kept, inverter.area)
        used = sorted(kept.values(), key=lambda cell: cell.name)
        drives = self._drives(used, stage)
        larger = [cell for found in drives.values() for cell in found]
        name = self._name
        technology = Technology(
            name=f"{name}_liberty" if name in TECHNOLOGIES else name,
            description=_description(name, register, inverter.name),
            source=", ".join(ascii(part.file.name)[1:-1] for part in self._parts),
            nand2=kept[_NAND2].name,
            cells={cell.name: cell.type for cell in used},
            transistors={},
            arithmetic=tuple(adder.cell for adder in adders.values()),
            area_um2={cell.name: cell.area for cell in (*used, *larger)},
            full_adder=adders.get(3),
            half_adder=adders.get(2),
            flip_flop=flip_flop,
            characterisation=self._characterisation([*used, *larger], flip_flop, stage),
            drives={name: tuple(cell.type for cell in found) for name, found in drives.items()},
        )
        if register and register.inverted:
            technology = with_inverter(technology)
        return Library(technology, self._skipped)

    def _cells(self) -> tuple[list[_LibertyCell], list[Register]]:
        """Return all usable cells, combinational ones and flip-flops."""
        combinational, flip_flops = [], []
        groups = [(group, part) for part in self._parts for group in part.group.of_kind("cell")]
        if not groups:
            raise self._parts[0].file.error(f"library {self._name} has no cells", 0)
        seen: set[str] = set()
        for group, part in groups:
            try:
                if group.name in seen:
                    raise part.file.error(f"cell {group.name} appears twice", group.position)
                seen.add(group.name)
                inputs, outputs = self._pins(group)
                if group.has(*_SEQUENTIAL_GROUPS):
                    flip_flops.append(read_flip_flop(group, inputs, self._area(group, part)))
                    self._found[group.name] = group, part
                else:
                    combinational.append(self._combinational(group, part, inputs, outputs))
            except Unusable as reason:
                self._skip(group.name, str(reason))
        return combinational, flip_flops

    def _skip(self, cell: str, reason: str) -> None:
        self._skipped[ascii(cell)[1:-1]] = reason

    def _pins(self, group: Group) -> tuple[list[str], list[Group]]:
        """Return the input pins and the output pins of a cell that may be used."""
        _check_name("cell", group.name)
        for flag in _SPECIAL_FLAGS:
            if group.is_set(flag):
                raise Unusable(flag)
        if group.has("bus", "bundle"):
            raise Unusable("has a bus")
        inputs, outputs = [], []
        for pin in group.of_kind("pin"):
            _check_name("pin", pin.name)
            direction = pin.text("direction")
            if direction == "input":
                inputs.append(pin.name)
            elif direction == "output":
                outputs.append(pin)
            elif direction != "internal":
                raise Unusable(f"pin {pin.name} is neither input nor output")
        if not inputs or not outputs:
            raise Unusable(f"has {len(inputs)} inputs and {len(outputs)} outputs")
        if len({*inputs, *(pin.name for pin in outputs)}) < len(inputs) + len(outputs):
            raise Unusable("two of its pins have one name")
        return inputs, outputs

    def _combinational(
        self, group: Group, part: _Part, inputs: list[str], outputs: list[Group]
    ) -> _LibertyCell:
        if len(inputs) > _MAX_INPUTS:
            raise Unusable(f"has {len(inputs)} inputs")
        functions = tuple((pin.name, self._function(pin, inputs, part)) for pin in outputs)
        try:
            cell = CellType(group.name, tuple(inputs), functions)
        except ValueError as error:
            raise Unusable(str(error)) from None
        for pin in inputs:
            if not any(depends(cell, pin, output) for output, _ in cell.outputs):
                raise Unusable(f"no output depends on {pin}")
        return _LibertyCell(cell, self._area(group, part), group, part)

    def _function(self, pin: Group, inputs: list[str], part: _Part) -> str:
        if pin.is_set("three_state"):
            raise Unusable("tristate")
        if "function" not in pin.attributes:
            raise Unusable(f"output {pin.name} {_NO_FUNCTION}")
        text, position = pin.attributes["function"]
        try:
            return translate_function(text, inputs)
        except KeyError as unknown:
            raise Unusable(f"output {pin.name} depends on more than inputs: {unknown}") from None
        except ValueError as error:
            raise part.file.error(f"function of pin {pin.name}: {error}", position) from None

    def _area(self, group: Group, part: _Part) -> float:
        text, position = group.attributes.get("area", ("", 0))
        if not text:
            raise Unusable("has no area")
        area = read_number(text)
        if not area >= 0:
            raise part.file.error(
                f"area of cell {group.name} must be a number, not {text!r}", position
            )
        if area == 0:
            raise Unusable("has no area")
        return area

    def _smallest(self, cells: list[_LibertyCell]) -> dict[_Function, _LibertyCell]:
        """Return the smallest cell of each function, with its arcs read where there are any."""
        kept: dict[_Function, _LibertyCell] = {}
        for cell in sorted(cells, key=lambda cell: (cell.area, len(cell.name), cell.name)):
            best = kept.get(cell.function)
            if cell.adder is None and len(cell.type.outputs) > 1:
                self._skip(cell.name, "has several outputs and is no adder")
            elif best is not None:
                self._skip(cell.name, f"has the function of {best.name}, which is not larger")
                self._alike.setdefault(cell.function, []).append(cell)
            else:
                try:
                    self._read_arcs(cell)
                    kept[cell.function] = cell
                except Unusable as reason:
                    self._skip(cell.name, str(reason))
                    self._refused.setdefault(cell.function, cell.name)
        return kept

    def _read_arcs(self, cell: _LibertyCell) -> None:
        """Read the arcs of a cell, if the library has any; raise Unusable if this cell has none."""
        if self._timed:
            tables = _tables_of(cell.part)
            outputs = _pins_of(cell.group, dict(cell.type.outputs))
            self._arcs[cell.name] = tables.arcs(cell.type, outputs)
            for pin in _pins_of(cell.group, cell.type.inputs):
                tables.capacitance_ff(pin)  # there must be one

    def _drives(
        self, used: Sequence[_LibertyCell], stage: FanOutOfFour | None
    ) -> dict[str, list[_LibertyCell]]:
        """Return cells that do the same as one that is used, each much faster with a large load."""
        found: dict[str, list[_LibertyCell]] = {}
        for smallest in used if stage else ():
            last = smallest
            for cell in self._alike.get(smallest.function, ()):
                if len(found.get(smallest.name, ())) == _MOST_DRIVES:
                    break
                if not _is_replaceable(smallest.type, cell.type):
                    continue
                try:
                    self._read_arcs(cell)
                except Unusable:
                    continue
                if self._loaded_ps(cell, stage) < _FASTER * self._loaded_ps(last, stage):
                    found.setdefault(smallest.name, []).append(cell)
                    del self._skipped[cell.name]
                    last = cell
        return found

    def _loaded_ps(self, cell: _LibertyCell, stage: FanOutOfFour | None) -> float:
        """Return the mean delay of a cell that drives sixteen inverters."""
        assert stage
        edges = (edge for arc in self._arcs[cell.name] for edge in (arc.rise, arc.fall) if edge)
        return fmean(edge.delay.at(stage.slew_ps, 4 * stage.load_ff) for edge in edges)

    def _adders(
        self, kept: dict[_Function, _LibertyCell], inverter_area: float
    ) -> dict[int, AdderCell]:
        """Return the smallest adder of two and of three inputs, and take the others out."""

        def rank(item: tuple[_Function, _LibertyCell]) -> tuple[float, int]:
            inverters = len(item[1].adder.inverted) if item[1].adder else 0
            return item[1].area + inverter_area * inverters, inverters

        chosen: dict[int, AdderCell] = {}
        for function, cell in sorted(kept.items(), key=rank):
            if cell.adder is None:
                continue
            best = chosen.setdefault(len(cell.type.inputs), cell.adder)
            if best.cell != cell.name:
                del kept[function]
                self._skip(cell.name, f"is an adder, and {best.cell} is the one used")
        return chosen

    def _missing(self, function: _Function, what: str) -> LibertyError:
        """Return an error that names a cell which has the function, or none, and why it is out."""
        message = f"library {self._name} has no {what}"
        for part in self._parts:
            for group in part.group.of_kind("cell"):
                reason = self._skipped.get(group.name, "")
                if self._refused.get(function) == group.name or (
                    function not in self._refused and reason.endswith(_NO_FUNCTION)
                ):
                    return part.file.error(
                        f"{message}; cell {group.name}: {reason}", group.position
                    )
        return self._parts[0].file.error(message, 0)

    def _fan_out_of_four(self, inverter: _LibertyCell) -> FanOutOfFour | None:
        if not self._timed:
            return None
        (pin,) = _pins_of(inverter.group, inverter.type.inputs)
        try:
            capacitance_ff, *_ = _tables_of(inverter.part).capacitance_ff(pin)
            return settle(self._arcs[inverter.name], capacitance_ff)
        except (Unusable, ValueError) as reason:
            raise inverter.part.file.error(
                f"inverter {inverter.name}: {reason}", inverter.group.position
            ) from None

    def _register(self, candidates: list[Register], stage: FanOutOfFour | None) -> Register | None:
        """Return the smallest usable flip-flop, plain ones first, and read its times."""

        def rank(candidate: Register) -> tuple[bool, bool, float, str]:
            flip_flop = candidate.flip_flop
            area = flip_flop.area_um2 or 0
            return candidate.inverted, bool(flip_flop.tied), area, flip_flop.cell

        chosen: Register | None = None
        for candidate in sorted(candidates, key=rank):
            cell = candidate.flip_flop.cell
            if chosen:
                used = chosen.flip_flop.cell
                self._skip(cell, f"is a flip-flop, and {used} is the one used")
                continue
            try:
                if stage:
                    self._read_times(candidate.flip_flop, stage)
                chosen = candidate
            except Unusable as reason:
                self._skip(cell, str(reason))
        return chosen

    def _read_times(self, flip_flop: FlipFlop, stage: FanOutOfFour) -> None:
        data, clock, output = (flip_flop.pins[pin] for pin in ("D", "CLK", "Q"))
        group, part = self._found[flip_flop.cell]
        tables = _tables_of(part)
        data_pin, output_pin = _pins_of(group, (data, output))
        self._setup_ps[flip_flop.cell] = tables.setup_ps(data_pin, clock, stage.slew_ps)
        self._arcs[flip_flop.cell] = (tables.clock_arc(output_pin, clock),)

    def _characterisation(
        self, cells: list[_LibertyCell], flip_flop: FlipFlop | None, stage: FanOutOfFour | None
    ) -> Characterisation | None:
        if stage is None:
            return None
        facts = {
            cell.name: _facts(
                cell.group, cell.part, cell.type.inputs, dict(cell.type.outputs), stage
            )
            for cell in cells
        }
        if flip_flop:
            data, clock, output = (flip_flop.pins[pin] for pin in ("D", "CLK", "Q"))
            inputs = (data, clock, *flip_flop.tied)
            facts[flip_flop.cell] = _facts(*self._found[flip_flop.cell], inputs, [output], stage)
        tables = _tables_of(next(part for part in self._parts if part.tables))
        return Characterisation(
            corner=tables.corner,
            voltage_v=tables.voltage_v,
            fo4_ps=stage.delay_ps,
            capacitance_ff={name: of_cell.capacitance_ff for name, of_cell in facts.items()},
            arcs={name: self._arcs[name] for name in facts},
            leakage_nw={name: of_cell.leakage_nw for name, of_cell in facts.items()},
            output_energy_fj={name: of_cell.output_energy_fj for name, of_cell in facts.items()},
            input_energy_fj={name: of_cell.input_energy_fj for name, of_cell in facts.items()},
            setup_ps=self._setup_ps,
            edge_capacitance_ff={
                name: of_cell.edge_capacitance_ff
                for name, of_cell in facts.items()
                if of_cell.edge_capacitance_ff
            },
        )


class _Facts(NamedTuple):
    """What a ``Characterisation`` has for one cell, beside its arcs."""

    capacitance_ff: dict[str, float]
    edge_capacitance_ff: dict[str, tuple[float, float]]
    leakage_nw: float
    output_energy_fj: dict[str, float]
    input_energy_fj: dict[str, float]


def _facts(
    cell: Group,
    part: _Part,
    inputs: Iterable[str],
    outputs: Iterable[str],
    stage: FanOutOfFour,
) -> _Facts:
    def energies(pins: Iterable[str]) -> dict[str, float]:
        groups = _pins_of(cell, pins)
        return {p.name: tables.energy_fj(p, stage.slew_ps, stage.load_ff) for p in groups}

    tables = _tables_of(part)
    try:
        pins = {pin.name: tables.capacitance_ff(pin) for pin in _pins_of(cell, inputs)}
        return _Facts(
            {pin: mean for pin, (mean, _, _) in pins.items()},
            {pin: (r, f) for pin, (mean, r, f) in pins.items() if not r == f == mean},
            tables.leakage_nw(cell),
            energies(outputs),
            energies(pins),
        )
    except Unusable as reason:
        raise part.file.error(f"cell {cell.name}: {reason}", cell.position) from None


def _tables_of(part: _Part) -> Tables:
    """Return the tables of a file in a library that has some; raise Unusable without any."""
    if part.tables is None:
        raise Unusable(f"has no timing: {ascii(part.file.name)[1:-1]} has no tables")
    return part.tables


def _is_replaceable(one: CellType, other: CellType) -> bool:
    """Tell whether another cell has the pins and the functions of one, by the same names."""
    if {*one.inputs} != {*other.inputs} or dict(one.outputs).keys() != dict(other.outputs).keys():
        return False
    alike = CellType(other.name, one.inputs, other.outputs)
    return all(one.truth_table(pin) == alike.truth_table(pin) for pin, _ in one.outputs)


def _pins_of(group: Group, names: Iterable[str]) -> list[Group]:
    """Return the pins of a cell that have these names, in this order."""
    pins = {pin.name: pin for pin in group.of_kind("pin")}
    return [pins[name] for name in names]


def _description(name: str, register: Register | None, inverter: str) -> str:
    text = f"cells of the Liberty library {name}, smallest of each function"
    if register is None:
        return text
    added = [f"{pin} at {value}" for pin, value in register.flip_flop.tied.items()]
    added += [f"{inverter} behind its inverted output"] if register.inverted else []
    return text + (
        f"; flip-flop {register.flip_flop.cell} with {', '.join(added)}" if added else ""
    )


def _check_name(kind: str, name: str) -> None:
    if not _IDENTIFIER.fullmatch(name):
        raise Unusable(f"{kind} name {shown(name)} is not letters, digits and _")
    if _RESERVED.fullmatch(name):
        raise Unusable(f"{kind} name {name} has a meaning in synthesis")


@lru_cache(maxsize=1024)  # the variants of a cell, which differ in strength, have one table
def _canonical(count: int, tables: tuple[int, ...]) -> _Function:
    """Return the smallest of what the tables are for any order of ``count`` inputs."""
    return count, *min(_reorder(order, tables) for order in itertools.permutations(range(count)))


def _reorder(order: tuple[int, ...], tables: tuple[int, ...]) -> tuple[int, ...]:
    """Return truth tables for the inputs in another order, smallest first."""
    patterns = [0]
    for old in order:
        patterns += [pattern | 1 << old for pattern in patterns]
    return tuple(
        sorted(sum((table >> p & 1) << i for i, p in enumerate(patterns)) for table in tables)
    )
