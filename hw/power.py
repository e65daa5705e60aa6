"""Energy of a netlist from how often its nets change.

A change of a net charges or discharges the input pins that it leads to: half of C V². What the
driving cell spends beside that is its internal energy for a change of the output. A change of an
input pin may have an internal energy of its own, which is added whether an output follows or not,
as OpenSTA does (Liberty User Guide volume 1, "internal_power"). There are no wires. An output port
drives nothing: the pins that it will lead to are the input pins of the next unit, and each unit
pays for its own, so that a chain counts every net once.

Registers are apart: the clock takes energy in each cycle, whatever the data, and what registers
take of the data is a part of its own.

Where a technology has no energies, the switched gate capacitance stands for them, in input
capacitances of the unit inverter of ``hw.timing``: that of nets alone, without what is inside of
cells.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fmacost.hw.characterisation import Characterisation
from fmacost.hw.technology import Technology, TechnologyError
from fmacost.sim.netlist import CellType, Netlist


@dataclass(frozen=True, slots=True)
class Spent:
    """What some changes take: fJ, or switched gate capacitance in unit inverters.

    Attributes
    ----------
    inputs : charging the unit's own input pins
    nets : charging the nets between cells, data pins of registers apart
    internal : inside of cells, registers apart; None for capacitances, which leave it out
    registers : charging data pins of registers between cells, and inside of registers as their data
        changes; None in a netlist without a clock
    clock : charging clock pins, and inside of registers at clock edges; None as for registers
    """

    inputs: float
    nets: float
    internal: float | None
    registers: float | None = None
    clock: float | None = None

    @property
    def total(self) -> float:
        """The sum of the parts that there are."""
        return self.inputs + self.nets + sum(part or 0.0 for part in self._optional)

    def per(self, operations: int) -> "Spent":
        """Return the mean of so many operations."""
        optional = (None if part is None else part / operations for part in self._optional)
        return Spent(self.inputs / operations, self.nets / operations, *optional)

    @property
    def _optional(self) -> tuple[float | None, ...]:
        return self.internal, self.registers, self.clock


def energy_fj(netlist: Netlist, technology: Technology, toggles: Mapping[int, int]) -> Spent:
    """Return the energy of all changes together.

    Parameters
    ----------
    toggles : changes of each net

    Raises
    ------
    TechnologyError
        If the technology has no energies, or lacks those of a cell that is used, or of a clock.
    """
    known = _characterisation(netlist, technology)
    half_v2 = known.voltage_v**2 / 2
    parts = _switched(netlist, toggles, known.capacitance_ff)
    parts = {name: switched * half_v2 for name, switched in parts.items()} | {"internal": 0.0}
    for name in {cell.type for cell in netlist.registers}:
        if not known.input_energy_fj.get(name, {}).get(netlist.library[name].clock or ""):
            raise TechnologyError(f"technology {technology.name}: no energy of a clock in {name}")
    for cell in netlist.cells:
        kind = netlist.library[cell.type]
        of_inputs = known.input_energy_fj.get(cell.type, {})
        for pin, each in {**known.output_energy_fj[cell.type], **of_inputs}.items():
            parts[_part(kind, pin, "internal")] += toggles[cell.pins[pin]] * each
    return _spent(netlist, parts)


def switched_capacitance(
    netlist: Netlist, technology: Technology, toggles: Mapping[int, int]
) -> Spent:
    """Return the gate capacitance that all changes together switch, in unit inverters.

    Raises
    ------
    TechnologyError
        If the technology does not know the pins of a cell that is used.
    """
    loads = {name: drive.load for name, drive in technology.drive.items()}
    _require(netlist, technology, "input capacitance", loads)
    return _spent(netlist, _switched(netlist, toggles, loads))


def _characterisation(netlist: Netlist, technology: Technology) -> Characterisation:
    """Return what is known of the cells; raise TechnologyError if that is not all."""
    known = technology.characterisation
    if known is None:
        raise TechnologyError(f"technology {technology.name} has no energies")
    _require(netlist, technology, "input capacitance", known.capacitance_ff)
    _require(netlist, technology, "internal energy", known.output_energy_fj)
    if not known.voltage_v > 0:
        raise TechnologyError(f"technology {technology.name}: no energies at {known.voltage_v:g} V")
    stated = (known.output_energy_fj, known.input_energy_fj)
    if not any(each for table in stated for cell in table.values() for each in cell.values()):
        raise TechnologyError(f"technology {technology.name} states no energy inside of cells")
    return known


def _require(
    netlist: Netlist, technology: Technology, what: str, table: Mapping[str, object]
) -> None:
    missing = [name for name in netlist.count() if name not in table]
    if missing:
        raise TechnologyError(f"technology {technology.name}: no {what} of {', '.join(missing)}")


def _switched(
    netlist: Netlist, toggles: Mapping[int, int], pins: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """Return changes times the pins that they reach, by part of ``Spent``."""
    ports = {net for nets in netlist.inputs.values() for net in nets}
    parts = dict.fromkeys(("inputs", "nets", "registers", "clock"), 0.0)
    for cell in netlist.cells:
        kind = netlist.library[cell.type]
        for pin in kind.inputs:
            net = cell.pins[pin]
            is_own = net in ports and pin != kind.clock
            part = "inputs" if is_own else _part(kind, pin, "nets")
            parts[part] += toggles[net] * pins[cell.type][pin]
    return parts


def _part(kind: CellType, pin: str, otherwise: str) -> str:
    """Return the part that a pin belongs to: what is no pin of a register is ``otherwise``."""
    if kind.clock is None:
        return otherwise
    return "clock" if pin == kind.clock else "registers"


def _spent(netlist: Netlist, parts: Mapping[str, float]) -> Spent:
    of_registers = () if netlist.clock is None else (parts["registers"], parts["clock"])
    return Spent(parts["inputs"], parts["nets"], parts.get("internal"), *of_registers)
