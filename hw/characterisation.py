"""What a library knows of its cells beside function and area: capacitance, delay, energy, leakage.

Two kinds of delay tables have one face: the lookup tables of a Liberty file (NLDM, Liberty User
Guide volume 1, "Nonlinear delay model"), and the linear fits of a built-in table.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

Sense = Literal["positive", "negative", "both"]


class Quantity(Protocol):
    """A delay or a transition time (ps) that depends on input slew and output load."""

    def at(self, slew_ps: float, load_ff: float) -> float:
        """Return the value in ps."""


@dataclass(frozen=True, slots=True)
class Linear:
    """``base_ps + resistance_ps_per_ff * load + of_slew * slew``."""

    base_ps: float
    resistance_ps_per_ff: float
    of_slew: float = 0.0

    def at(self, slew_ps: float, load_ff: float) -> float:
        """Return the value in ps."""
        return self.base_ps + self.resistance_ps_per_ff * load_ff + self.of_slew * slew_ps


@dataclass(frozen=True, slots=True)
class Lookup:
    """A table over slew and load: bilinear inside, extended by its outermost cells outside.

    Attributes
    ----------
    slew_ps, load_ff : strictly rising; one value stands for an axis that does not matter
    values_ps : a row for each slew, in it a value for each load
    """

    slew_ps: tuple[float, ...]
    load_ff: tuple[float, ...]
    values_ps: tuple[tuple[float, ...], ...]

    def at(self, slew_ps: float, load_ff: float) -> float:
        """Return the value in ps."""
        i, x = _place(self.slew_ps, slew_ps)
        j, y = _place(self.load_ff, load_ff)
        low, high = self.values_ps[i], self.values_ps[min(i + 1, len(self.values_ps) - 1)]
        k = min(j + 1, len(self.load_ff) - 1)
        near = low[j] + y * (low[k] - low[j])
        return near + x * (high[j] + y * (high[k] - high[j]) - near)


def _place(axis: tuple[float, ...], value: float) -> tuple[int, float]:
    """Return the index of the interval to interpolate in, and where in it the value is."""
    if len(axis) == 1:
        return 0, 0.0
    i = min(max(bisect_right(axis, value) - 1, 0), len(axis) - 2)
    return i, (value - axis[i]) / (axis[i + 1] - axis[i])


@dataclass(frozen=True, slots=True)
class Edge:
    """An output that rises, or that falls, after an input did."""

    delay: Quantity
    slew: Quantity | None  # of the output; None where slews do not matter


@dataclass(frozen=True, slots=True)
class Arc:
    """A way through a cell, from an input pin (the clock pin of a flip-flop) to an output pin.

    Attributes
    ----------
    sense : whether a rising input makes the output rise, fall, or (a flip-flop's clock, an XOR)
        either
    rise, fall : of the output; None where the arc has none
    """

    source: str
    sink: str
    sense: Sense
    rise: Edge | None
    fall: Edge | None


@dataclass(frozen=True, slots=True)
class FlipFlop:
    """A plain flip-flop: what a pipeline register costs, each bit.

    Attributes
    ----------
    cell : of a library; or the name of two cells of one, a flip-flop with an inverted output and an
        inverter behind it, which all facts include
    pins : cell pin of each of D, CLK and Q
    transistors : None if the library does not say
    area_um2 : None in a technology without areas
    setup_fo4, clock_to_output_fo4 : where there is no ``Characterisation``; the output drives an
        FO4 load
    tied : constant, 0 or 1, on each further input, such as a reset
    """

    cell: str
    pins: Mapping[str, str]
    transistors: int | None
    area_um2: float | None
    setup_fo4: float | None = None
    clock_to_output_fo4: float | None = None
    tied: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Characterisation:
    """Facts of the cells of one library at one corner, by cell name.

    Attributes
    ----------
    corner : such as ``typical, 25 C, 1.1 V``
    fo4_ps : delay of an inverter that drives four of its own kind, with the slew that settles in
        a chain of them, mean of rise and fall
    capacitance_ff : of each input pin, mean of rise and fall
    arcs : combinational arcs, those between two outputs (the carry and the sum of an adder) behind
        those that reach the first of them; of a flip-flop the one from its clock
    setup_ps : of flip-flops
    leakage_nw : mean over the input states
    output_energy_fj : internal energy of one change of an output pin, mean of rise and fall,
        without that of charging its load
    input_energy_fj : internal energy of one change of an input pin, whether an output follows or
        not; for the clock pin of a flip-flop, of one clock edge
    fit : largest and mean error of a fitted delay against the full library, None where exact
    edge_capacitance_ff : for a rise and for a fall, of input pins where these are not both the
        mean; static timing takes them
    """

    corner: str
    voltage_v: float
    fo4_ps: float
    capacitance_ff: Mapping[str, Mapping[str, float]]
    arcs: Mapping[str, tuple[Arc, ...]]
    leakage_nw: Mapping[str, float]
    output_energy_fj: Mapping[str, Mapping[str, float]]
    input_energy_fj: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    setup_ps: Mapping[str, float] = field(default_factory=dict)
    fit: str | None = None
    edge_capacitance_ff: Mapping[str, Mapping[str, tuple[float, float]]] = field(
        default_factory=dict
    )
