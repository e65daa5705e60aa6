"""Energy of a netlist from how often its nets change.

A change of a net charges or discharges the input pins that it leads to: half of C V². What the
driving cell spends beside that is its internal energy for a change of the output. A change of an
input pin may have an internal energy of its own, which is added whether an output follows or not,
as OpenSTA does (Liberty User Guide volume 1, "internal_power"). There are no wires. An output port
drives nothing: the pins that it will lead to are the input pins of the next unit, and each unit
pays for its own, so that a chain counts every net once.

Where a technology has no energies, the switched gate capacitance stands for them, in input
capacitances of the unit inverter of ``hw.timing``: that of nets alone, without what is inside of
cells.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fmacost.hw.characterisation import Characterisation
from fmacost.hw.technology import Technology, TechnologyError
from fmacost.sim.netlist import Netlist


@dataclass(frozen=True, slots=True)
class Spent:
    """What some changes take: fJ, or switched gate capacitance in unit inverters.

    Attributes
    ----------
    inputs : charging the unit's own input pins
    nets : charging the nets between cells
    internal : inside of cells; None for capacitances, which leave it out
    """

    inputs: float
    nets: float
    internal: float | None

    @property
    def total(self) -> float:
        """The sum of the parts that there are."""
        return self.inputs + self.nets + (self.internal or 0.0)

    def per(self, operations: int) -> "Spent":
        """Return the mean of so many operations."""
        internal = None if self.internal is None else self.internal / operations
        return Spent(self.inputs / operations, self.nets / operations, internal)


def energy_fj(netlist: Netlist, technology: Technology, toggles: Mapping[int, int]) -> Spent:
    """Return the energy of all changes together.

    Parameters
    ----------
    toggles : changes of each net

    Raises
    ------
    TechnologyError
        If the technology has no energies, or lacks those of a cell that is used.
    """
    known = _characterisation(netlist, technology)
    internal = 0.0
    for cell in netlist.cells:
        of_inputs = known.input_energy_fj.get(cell.type, {})
        for pin, each in {**known.output_energy_fj[cell.type], **of_inputs}.items():
            internal += toggles[cell.pins[pin]] * each
    inputs, nets = _switched(netlist, toggles, known.capacitance_ff)
    half_v2 = known.voltage_v**2 / 2
    return Spent(inputs * half_v2, nets * half_v2, internal)


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
    return Spent(*_switched(netlist, toggles, loads), None)


def leakage_nw(netlist: Netlist, technology: Technology) -> float:
    """Return the power of a netlist at rest; raise as ``energy_fj``."""
    known = _characterisation(netlist, technology)
    return sum(known.leakage_nw[name] * count for name, count in netlist.count().items())


def _characterisation(netlist: Netlist, technology: Technology) -> Characterisation:
    """Return what is known of the cells; raise TechnologyError if that is not all."""
    known = technology.characterisation
    if known is None:
        raise TechnologyError(f"technology {technology.name} has no energies")
    _require(netlist, technology, "input capacitance", known.capacitance_ff)
    _require(netlist, technology, "internal energy", known.output_energy_fj)
    _require(netlist, technology, "leakage", known.leakage_nw)
    return known


def _require(
    netlist: Netlist, technology: Technology, what: str, table: Mapping[str, object]
) -> None:
    missing = [name for name in netlist.count() if name not in table]
    if missing:
        raise TechnologyError(f"technology {technology.name}: no {what} of {', '.join(missing)}")


def _switched(
    netlist: Netlist, toggles: Mapping[int, int], pins: Mapping[str, Mapping[str, float]]
) -> tuple[float, float]:
    """Return changes times the pins they reach, of the input ports' nets and of all others."""
    ports = {net for nets in netlist.inputs.values() for net in nets}
    inputs = nets = 0.0
    for cell in netlist.cells:
        for pin in netlist.library[cell.type].inputs:
            net = cell.pins[pin]
            switched = toggles[net] * pins[cell.type][pin]
            if net in ports:
                inputs += switched
            else:
                nets += switched
    return inputs, nets
