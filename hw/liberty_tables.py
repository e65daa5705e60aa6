"""Tables of Liberty cells: delays and slews (NLDM), internal energy, leakage, capacitances.

All are converted to ps, fF, fJ and nW. Slews are kept as the library measures them, between its
own thresholds and after its own ``slew_derate_from_library``: tables are looked up by what other
tables of the library gave, so no derating enters, and figures compare with those of OpenSTA.

States that ``when`` tells apart are merged: delays and slews by the maximum at each point of the
first table, as static timing takes the worst, energies and leakage by the mean.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from fmacost.hw.characterisation import Arc, Edge, Lookup, Sense
from fmacost.hw.liberty_text import Group, LibertyFile, shown
from fmacost.sim.netlist import CellType

_SENSES: Mapping[str, Sense] = {
    "positive_unate": "positive",
    "negative_unate": "negative",
    "non_unate": "both",
}
_COMBINATIONAL = ("", "combinational", "combinational_rise", "combinational_fall")
_DELAYS = {"cell_rise": "rise_transition", "cell_fall": "fall_transition"}
_SLEWS = ("input_net_transition", "input_transition_time", "constrained_pin_transition")
_LOADS = ("total_output_net_capacitance", "related_pin_transition")
_PREFIXES = {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12, "f": 1e-15}
_LARGEST = 1e30  # what is made of such numbers is still finite
_UNIT = re.compile(r"([0-9.eE+-]*)\s*,?\s*([munpf]?)([a-z]+)", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s,\\]+")


class Unusable(Exception):
    """Why a cell is skipped."""


@dataclass(frozen=True, slots=True)
class Units:
    """What one unit of the library is."""

    time_ps: float
    capacitance_ff: float
    voltage_v: float
    leakage_nw: float | None

    @property
    def energy_fj(self) -> float:
        """Of internal power tables: the capacitance unit at the square of the voltage unit."""
        return self.capacitance_ff * self.voltage_v**2


def read_units(file: LibertyFile, library: Group) -> Units:
    """Return the units of a library.

    Raises
    ------
    LibertyError
        If one cannot be read, or capacitances have none. Times are in ns and voltages in V where
        a library does not say, as the Reference Manual has it.
    """
    if not library.text("capacitive_load_unit"):
        raise file.error("the library has tables, but no capacitive_load_unit", library.position)

    def unit(attribute: str, symbol: str, size: float, default: str = "") -> float:
        text = library.text(attribute) or default
        match = _UNIT.fullmatch(text.strip())
        if match is None or match[3].lower() != symbol:
            number = math.nan
        else:
            number = read_number(match[1] or "1") * _PREFIXES[match[2].lower()] / size
        if not 0 < number < math.inf:
            expected = f"a unit of {symbol.upper() if symbol != 's' else symbol}"
            raise file.error(
                f"{attribute} must be {expected}, not {text!r}", library.where(attribute)
            )
        return number

    return Units(
        unit("time_unit", "s", 1e-12, "1ns"),
        unit("capacitive_load_unit", "f", 1e-15),
        unit("voltage_unit", "v", 1.0, "1V"),
        unit("leakage_power_unit", "w", 1e-9) if library.text("leakage_power_unit") else None,
    )


class Tables:
    """Read tables of one library's cells."""

    def __init__(self, file: LibertyFile, library: Group) -> None:
        self._file, self._library = file, library
        self._units = read_units(file, library)
        self._templates = {
            group.name: group
            for group in library.of_kind("lu_table_template", "power_lut_template")
        }
        self._default_capacitance = library.text("default_input_pin_cap")
        model = library.text("delay_model")
        if model not in ("", "table_lookup"):
            raise file.error(
                f"delay_model must be table_lookup, not {model!r}", library.where("delay_model")
            )

    @property
    def voltage_v(self) -> float:
        """Nominal supply voltage; raise LibertyError without one."""
        return self._number(self._library, "nom_voltage") * self._units.voltage_v

    @property
    def conditions(self) -> str:
        """Temperature, where the library says it, and voltage."""
        temperature = ""
        if self._library.text("nom_temperature"):
            temperature = f"{self._number(self._library, 'nom_temperature'):g} C, "
        return f"{temperature}{self.voltage_v:g} V"

    @property
    def corner(self) -> str:
        """Name, temperature and voltage of the operating conditions."""
        conditions = self._library.of_kind("operating_conditions")
        name = self._library.text("default_operating_conditions")
        name = name or (conditions[0].name if conditions else "nominal")
        return f"{ascii(name[:40])[1:-1]}, {self.conditions}"

    def capacitance_ff(self, pin: Group) -> tuple[float, float, float]:
        """Return the capacitance of an input pin: mean, largest of a rise, largest of a fall.

        The largest are the upper ends of ``rise_capacitance_range`` and its like, where a library
        has these: OpenSTA takes them for longest paths.

        Raises
        ------
        Unusable
            If neither the pin nor the library's default says it.
        LibertyError
            If it is no number from 0 on.
        """
        names = ["rise_capacitance", "fall_capacitance"]
        owner = pin
        if not all(map(pin.text, names)):
            names = ["capacitance"] * 2
        if not pin.text(names[0]):
            owner, names = self._library, ["default_input_pin_cap"] * 2
        if not owner.text(names[0]):
            raise Unusable(f"pin {pin.name} has no capacitance")
        edges = [self._number(owner, name) for name in names]
        largest = [
            max(self._numbers(owner, f"{name}_range")) if owner.text(f"{name}_range") else edge
            for name, edge in zip(names, edges, strict=True)
        ]
        if min(edges + largest) < 0:
            raise self._file.error(
                f"capacitance of pin {pin.name} must not be negative", owner.where(names[0])
            )
        unit = self._units.capacitance_ff
        return fmean(edges) * unit, largest[0] * unit, largest[1] * unit

    def arcs(self, cell: CellType, outputs: Iterable[Group]) -> tuple[Arc, ...]:
        """Return the arcs of a combinational cell, those from other outputs last.

        Raises
        ------
        Unusable
            If an output depends on an input and there is no arc between them.
        LibertyError
            If a table is malformed, or times are in current source tables alone.
        """
        found: _Merged = {}
        for pin in outputs:
            for group in self._groups(pin, "timing"):
                if group.text("timing_type") in _COMBINATIONAL:
                    sources = group.text("related_pin").split()
                    for source in (p for p in cell.pins if p in sources and p != pin.name):
                        sense = _SENSES.get(group.text("timing_sense"))
                        key = source, pin.name, sense or find_sense(cell, source, pin.name)
                        _merge(found, key, self._timing(group))
        arcs = _arcs(found)
        arcs = tuple(sorted(arcs, key=lambda arc: arc.source not in cell.inputs))
        there = {(arc.source, arc.sink) for arc in arcs}
        for source in cell.inputs:
            for sink, _ in cell.outputs:
                if depends(cell, source, sink) and (source, sink) not in there:
                    raise Unusable(f"has no delay from {source} to {sink}")
        return arcs

    def clock_arc(self, output: Group, clock: str) -> Arc:
        """Return the arc of a flip-flop from its rising clock; raise as ``arcs``."""
        found: _Merged = {}
        for group in self._groups(output, "timing"):
            if group.text("timing_type") == "rising_edge" and group.text("related_pin") == clock:
                _merge(found, (clock, output.name, "both"), self._timing(group))
        arcs = _arcs(found)
        if not arcs:
            raise Unusable(f"has no delay from {clock} to {output.name}")
        return arcs[0]

    def setup_ps(self, data: Group, clock: str, slew_ps: float) -> float:
        """Return the longest setup time of a data pin where it and the clock have this slew.

        Raises
        ------
        Unusable
            If there is none.
        LibertyError
            If a table is malformed.
        """
        times = [
            self._lookup(table, self._units.time_ps).at(slew_ps, slew_ps)
            for group in self._groups(data, "timing")
            if group.text("timing_type") == "setup_rising" and group.text("related_pin") == clock
            for table in group.of_kind("rise_constraint", "fall_constraint")
        ]
        if not times:
            raise Unusable(f"has no setup time of {data.name}")
        return max(times)

    def energy_fj(self, pin: Group, slew_ps: float, load_ff: float) -> float:
        """Return the internal energy of one change of a pin, at a slew and a load.

        It is the mean of rise and fall, the sum over supplies (``related_pg_pin``), the mean over
        states (``when``), and then over the pins that make it change. 0 where the library states
        none.
        """
        sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for group in self._groups(pin, "internal_power"):
            for table in group.of_kind("rise_power", "fall_power", "power"):
                energy = self._lookup(table, self._units.energy_fj).at(slew_ps, load_ff)
                share = 1 if table.kind == "power" else 0.5
                sums[group.text("related_pin")][group.text("when")] += share * energy
        return fmean(fmean(states.values()) for states in sums.values()) if sums else 0.0

    def leakage_nw(self, cell: Group) -> float:
        """Return the mean leakage over the states that the library tells apart.

        Without any it is that of all states, then the library's default. 0 where the library
        states none.
        """
        states: dict[str, float] = defaultdict(float)
        for group in self._groups(cell, "leakage_power"):
            states[group.text("when")] += self._leakage(group, "value")
        told_apart = [value for when, value in states.items() if when]
        if told_apart:
            return fmean(told_apart)
        if states:
            return states[""]
        if cell.text("cell_leakage_power"):
            return self._leakage(cell, "cell_leakage_power")
        if self._library.text("default_cell_leakage_power"):
            return self._leakage(self._library, "default_cell_leakage_power")
        return 0.0

    def _leakage(self, owner: Group, attribute: str) -> float:
        value = self._number(owner, attribute)
        if self._units.leakage_nw is None:
            if value == 0:
                return 0.0
            raise self._file.error(
                "the library has leakage, but no leakage_power_unit", owner.where(attribute)
            )
        return value * self._units.leakage_nw

    def _groups(self, owner: Group, kind: str) -> Iterable[Group]:
        return map(self._file.opened, owner.of_kind(kind))

    def _timing(self, group: Group) -> dict[str, Lookup]:
        """Return the tables of an arc by their kind."""
        tables = {
            table.kind: self._lookup(table, self._units.time_ps)
            for table in group.of_kind(*_DELAYS, *_DELAYS.values())
        }
        if not tables:
            what = "no tables"
            if group.has("output_current_rise", "output_current_fall"):
                what = "current source tables (CCS) alone"
            raise self._file.error(
                f"this timing group has {what}; cell_rise and cell_fall (NLDM) are needed",
                group.position,
            )
        return tables

    def _lookup(self, table: Group, unit: float) -> Lookup:
        """Return a table whose values are in ``unit``, with slews in ps and loads in fF."""
        template = self._templates.get(table.name, table)
        variables = [v for i in (1, 2, 3) if (v := template.text(f"variable_{i}"))]
        kinds = [0 if v in _SLEWS else 1 if v in _LOADS else 2 for v in variables]
        if len(set(kinds)) < len(kinds) or 2 in kinds:
            raise Unusable(f"has a table over {', '.join(variables)}")
        axes: list[tuple[float, ...]] = [(0.0,), (0.0,)]
        for i, (kind, variable) in enumerate(zip(kinds, variables, strict=True), 1):
            owner = table if table.text(f"index_{i}") else template
            axes[kind] = self._axis(owner, f"index_{i}", variable)
        values = self._numbers(table, "values")
        if len(values) != len(axes[0]) * len(axes[1]):
            expected = " x ".join(str(len(axes[kind])) for kind in kinds) or "1"
            raise self._file.error(
                f"{table.kind} must have {expected} values, not {len(values)}",
                table.where("values"),
            )
        step, next_load = (1, len(axes[0])) if kinds[:1] == [1] else (len(axes[1]), 1)
        grid = [
            [values[i * step + j * next_load] * unit for j in range(len(axes[1]))]
            for i in range(len(axes[0]))
        ]
        return Lookup(axes[0], axes[1], tuple(map(tuple, grid)))

    def _axis(self, owner: Group, attribute: str, variable: str) -> tuple[float, ...]:
        numbers = self._numbers(owner, attribute)
        if any(high <= low for low, high in pairwise(numbers)):
            raise self._file.error(f"{attribute} must rise", owner.where(attribute))
        is_load = variable == "total_output_net_capacitance"
        unit = self._units.capacitance_ff if is_load else self._units.time_ps
        return tuple(number * unit for number in numbers)

    def _number(self, owner: Group, attribute: str) -> float:
        numbers = self._numbers(owner, attribute)
        if len(numbers) != 1:
            raise self._file.error(
                f"{attribute} must be one number, not {len(numbers)}", owner.where(attribute)
            )
        return numbers[0]

    def _numbers(self, owner: Group, attribute: str) -> list[float]:
        """Return the numbers of an attribute, at least one."""
        words = [word for word in _SEPARATORS.split(owner.text(attribute)) if word]
        numbers = list(map(read_number, words))
        if not all(map(math.isfinite, numbers)):
            wrong = words[list(map(math.isfinite, numbers)).index(False)]
            raise self._file.error(
                f"{attribute} must be numbers, not {shown(wrong)}", owner.where(attribute)
            )
        if not numbers:
            raise self._file.error(f"{owner.kind} has no {attribute}", owner.position)
        return numbers


def depends(cell: CellType, source: str, sink: str) -> bool:
    """Say whether an output depends on an input."""
    return any(before != after for before, after in _flips(cell, source, sink))


def find_sense(cell: CellType, source: str, sink: str) -> Sense:
    """Return the sense of an arc by the function of its output."""
    flips = {flip for flip in _flips(cell, source, sink) if flip[0] != flip[1]}
    if len(flips) != 1:
        return "both"
    return "positive" if flips == {(0, 1)} else "negative"


def _flips(cell: CellType, source: str, sink: str) -> list[tuple[int, int]]:
    """Return the output before and after the input rises, for each state of the other inputs."""
    if source not in cell.inputs:
        return []
    bit, table = 1 << cell.inputs.index(source), cell.truth_table(sink)
    states = [p for p in range(1 << len(cell.inputs)) if not p & bit]
    return [(table >> p & 1, table >> (p | bit) & 1) for p in states]


_Merged = dict[tuple[str, str, Sense], dict[str, Lookup]]


def _merge(found: _Merged, key: tuple[str, str, Sense], tables: dict[str, Lookup]) -> None:
    known = found.setdefault(key, {})
    for kind, table in tables.items():
        known[kind] = _maximum(known[kind], table) if kind in known else table


def _maximum(first: Lookup, second: Lookup) -> Lookup:
    """Return the larger of two tables at each point of the first."""
    rows = [
        tuple(
            max(value, second.at(slew, load))
            for load, value in zip(first.load_ff, row, strict=True)
        )
        for slew, row in zip(first.slew_ps, first.values_ps, strict=True)
    ]
    return Lookup(first.slew_ps, first.load_ff, tuple(rows))


def _arcs(found: _Merged) -> tuple[Arc, ...]:
    return tuple(
        Arc(source, sink, sense, _edge(tables, "cell_rise"), _edge(tables, "cell_fall"))
        for (source, sink, sense), tables in found.items()
    )


def _edge(tables: Mapping[str, Lookup], delay: str) -> Edge | None:
    if delay not in tables:
        return None
    if _DELAYS[delay] not in tables:
        raise Unusable(f"has {delay} without {_DELAYS[delay]}")
    return Edge(tables[delay], tables[_DELAYS[delay]])


def read_number(text: str) -> float:
    """Return a number of reasonable size, NaN for any other text."""
    try:
        number = float(text)
    except ValueError:
        return math.nan
    return number if abs(number) < _LARGEST else math.nan
