"""Rows of clocked units: registers around or inside a proven netlist, and their streams."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fmacost.reports.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fmacost.hw.technology import Technology
    from fmacost.sim.activity import Activity
    from fmacost.sim.cycles import Streams
    from fmacost.sim.netlist import Netlist
    from fmacost.sim.operation import Operation
    from fmacost.sim.streams import Stream

_ELEMENT_LATENCY = 2  # operand registers, then the accumulator
_PIECE = 64  # cycles of a pipeline's stream that are run one after the other


@dataclass(frozen=True, slots=True, kw_only=True)
class Registers:
    """Which registers a unit gets: a number of ranks, or those of a processing element."""

    ranks: int | None = None

    def __str__(self) -> str:
        """Return what a report adds to the architecture, and a key of the cache."""
        return "pe" if self.ranks is None else f"pipeline {self.ranks}"

    @property
    def latency_cycles(self) -> int:
        """Cycles from the operands to the result."""
        return _ELEMENT_LATENCY if self.ranks is None else self.ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocked:
    """A netlist with its registers.

    Attributes
    ----------
    logic : what is to be proven on single inputs: the netlist without its registers
    period_ps : None in a technology that knows no ps
    """

    netlist: Netlist
    logic: Netlist
    latency_cycles: int
    period_fo4: float
    period_ps: float | None

    def fields(self) -> dict[str, Any]:
        """Return the fields of a row that only clocked units have."""
        ps = self.period_ps
        return {
            "flip_flops": len(self.netlist.registers),
            "latency_cycles": self.latency_cycles,
            "period_fo4": round(self.period_fo4, 3),
            "period_ps": None if ps is None else round(ps, 3),
            "fmax_ghz": None if ps is None else round(1000 / ps, 4),
        }


def read_registers(
    pipeline: int | None,
    pe: bool,
    operations: Iterable[Operation],
    technologies: Iterable[Technology],
) -> Registers | None:
    """Return the registers that the options ask for, None for a combinational unit.

    Raises
    ------
    InputError
        If the options exclude each other or are out of range.
    OperationError
        If an operation cannot accumulate in a processing element.
    TechnologyError
        If a technology has no flip-flop.
    """
    if pipeline is None and not pe:
        return None
    from fmacost.hw.pe import check_accumulates
    from fmacost.hw.pipeline import MAX_RANKS

    if pipeline is not None and pe:
        raise InputError("--pe takes no --pipeline: its accumulator is needed in the next cycle")
    if pipeline is not None and not 0 <= pipeline <= MAX_RANKS:
        raise InputError(f"--pipeline must be in 0..{MAX_RANKS}, not {pipeline}")
    for operation in operations if pe else ():
        check_accumulates(operation)
    for technology in technologies:
        _ = technology.register  # there must be one
    return Registers(ranks=pipeline)


def check_clock(clock: float, option: str) -> float:
    """Return a clock period that is one; raise InputError if it is not."""
    if not (clock > 0 and math.isfinite(clock)):
        raise InputError(f"{option} must be more than 0 and finite, not {clock:g}")
    return clock


def check_clocks(
    clock_ps: float | None, objective: str, technologies: Iterable[Technology]
) -> None:
    """Raise InputError if no netlist can be made for a clock; None asks for none.

    Raises
    ------
    InputError
        If the clock is not positive, another objective than area was asked for, or a technology
        has no delays in ps.
    """
    if clock_ps is None:
        return
    check_clock(clock_ps, "--clock-ps")
    if objective != "area":
        raise InputError(f"--clock-ps takes no --objective {objective}: it minimises area")
    for technology in technologies:
        if technology.characterisation is None:
            raise InputError(
                f"technology {technology.name} has no delays in ps: --clock-ps needs a library, "
                "such as --technology nangate45"
            )


def clocked(
    operation: Operation, netlist: Netlist, technology: Technology, registers: Registers
) -> Clocked:
    """Return a combinational netlist with registers, and how fast it can be clocked."""
    from fmacost.hw.clocking import find_delays, period
    from fmacost.hw.pe import processing_element
    from fmacost.hw.pipeline import pipelined
    from fmacost.sim.cycles import unregistered

    if registers.ranks is None:
        made, logic = processing_element(operation, netlist, technology), netlist
        cycle = period(made, find_delays(made, technology))
    else:
        pipeline = pipelined(netlist, technology, registers.ranks)
        made, cycle = pipeline.netlist, pipeline.period
        logic, _ = unregistered(made)
    known = technology.characterisation
    return Clocked(
        netlist=made,
        logic=logic,
        latency_cycles=registers.latency_cycles,
        period_fo4=cycle if known is None else cycle / known.fo4_ps,
        period_ps=None if known is None else cycle,
    )


def check_streams(operation: Operation, made: Clocked, registers: Registers, seed: int) -> Streams:
    """Run random streams through a clocked unit and compare them with the reference."""
    from fmacost.sim.cycles import check_accumulator, check_pipeline

    if registers.ranks is None:
        return check_accumulator(operation, made.netlist, seed=seed)
    return check_pipeline(operation, made.netlist, made.latency_cycles, seed=seed)


def replay_stream(
    netlist: Netlist, registers: Registers, stream: Stream, *, glitches: bool = False
) -> Activity:
    """Count what changes in a clocked unit that takes an operation of a stream in each cycle.

    Parameters
    ----------
    stream : for a processing element ``a``, ``b`` and ``clear``
    """
    from fmacost.sim.activity import replay_cycles

    is_element = registers.ranks is None
    starts = stream["clear"].nonzero()[0] if is_element else range(0, len(stream["a"]), _PIECE)
    return replay_cycles(netlist, stream, starts, registers.latency_cycles, glitches=glitches)
