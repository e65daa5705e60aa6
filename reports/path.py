"""The critical path of a proven netlist, cell by cell, with the stage that each cell works for.

A flat netlist has no stages: optimisation shares and rewrites logic across their borders. What is
left of them shows in what its nets do. Each net of the path is compared with every signal of the
unit as it is described, whose stage is known, on a few thousand vectors. Stages never go backwards
along the path, and of all such choices the one is taken whose signals are the most alike.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from fmacost.reports.clocked import Registers
from fmacost.reports.energy import GAUSSIAN, UNIFORM
from fmacost.reports.errors import InputError
from fmacost.reports.metrics import Better, metric, show_count, show_size
from fmacost.reports.row import Row
from fmacost.reports.tables import UNPROVEN, table
from fmacost.sim.netlist import Netlist
from fmacost.sim.operation import Operation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fmacost.hw.technology import Technology
    from fmacost.sim.evaluate import Planes

COLUMNS = (
    "stage", "cell_type", "cell", "from_pin", "to_pin", "edge", "fan_out", "load_ff", "load",
    "slew_ps", "increment_ps", "increment_fo4", "arrival_ps", "arrival_fo4", "likeness",
)  # fmt: skip
_VECTORS = 2048  # of each kind that nets are compared on, a multiple of 64
_PER_REGION = 50
_FACTOR = re.compile(r"\$flatten\\normalise_[ab]\b")  # cells that normalise a factor


@dataclass(frozen=True, slots=True, kw_only=True)
class PathStep:
    """A cell on the critical path.

    Attributes
    ----------
    stage : a value of ``hw.breakdown.Stage``; of a register ``clock to output`` or ``setup``
    cell, cell_type : name of the instance in the netlist, and what it is
    from_pin, to_pin : input and output pin
    edge : of the output, ``rise`` or ``fall``; None where delays do not tell them apart
    fan_out : pins and output bits that it drives
    load : of its output: fF, or input capacitances of the unit inverter where there are no ps; None
        of a setup, as is the fan-out
    slew_ps : of its output, None where delays do not depend on slews
    increment, arrival : its delay, and when its output is there: ps, or FO4
    likeness : correlation of its output with the nearest signal of the stage, 0 ... 1; None of a
        register
    """

    stage: str
    cell: str
    cell_type: str
    from_pin: str
    to_pin: str
    edge: str | None
    fan_out: int | None
    load: float | None
    slew_ps: float | None
    increment: float
    arrival: float
    likeness: float | None = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalPath:
    """The longest path of one netlist.

    Attributes
    ----------
    start, end : bits of ports, such as ``a[3]``, or registers; empty for a netlist without cells
    in_ps : whether times are ps; else they are FO4
    is_clocked : whether it leads from register to register, which are its first and last steps
    """

    row: Row
    start: str
    end: str
    in_ps: bool
    steps: tuple[PathStep, ...]
    is_clocked: bool = False

    @property
    def delay(self) -> float:
        """When the last output is there, or the clock period, ps or FO4."""
        return self.steps[-1].arrival if self.steps else 0.0

    @property
    def stages(self) -> dict[str, tuple[int, float]]:
        """The number of cells of each stage, and their delay, in the order of the path."""
        found: dict[str, tuple[int, float]] = {}
        for step in self.steps:
            cells, delay = found.get(step.stage, (0, 0.0))
            found[step.stage] = cells + 1, delay + step.increment
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the row of the unit with its path and the delay of each stage."""
        unit = "ps" if self.in_ps else "fo4"
        return {
            **self.row.to_json(),
            "path_start": self.start,
            "path_end": self.end,
            "path": [self._step_json(step) for step in self.steps],
            "path_stages": [
                {"stage": stage, "cells": cells, f"increment_{unit}": round(delay, 3)}
                for stage, (cells, delay) in self.stages.items()
            ],
        }

    def records(self) -> list[dict[str, Any]]:
        """Return one flat record for each cell, for tables."""
        named = {"unit": self.row.unit, "technology": self.row.technology}
        return [named | self._step_json(step) for step in self.steps]

    def _step_json(self, step: PathStep) -> dict[str, Any]:
        unit, load = ("ps", "load_ff") if self.in_ps else ("fo4", "load")
        fields = {
            "stage": step.stage,
            "cell": step.cell,
            "cell_type": step.cell_type,
            "from_pin": step.from_pin,
            "to_pin": step.to_pin,
            "edge": step.edge,
            "fan_out": step.fan_out,
            load: None if step.load is None else round(step.load, 4),
            "slew_ps": None if step.slew_ps is None else round(step.slew_ps, 3),
            f"increment_{unit}": round(step.increment, 3),
            f"arrival_{unit}": round(step.arrival, 3),
            "likeness": None if step.likeness is None else round(step.likeness, 3),
        }
        return {name: value for name, value in fields.items() if value is not None}


def check_delays(technologies: "Iterable[Technology]") -> None:
    """Raise InputError if a technology has no delays, and so no path."""
    for technology in technologies:
        if not technology.has_delays:
            raise InputError(
                f"technology {technology.name} has no delays, so it has no critical path"
            )


def critical_path(
    operation: Operation,
    technology: "Technology",
    row: Row,
    netlist: Netlist,
    *,
    registers: Registers | None = None,
    timeout_s: float,
) -> CriticalPath:
    """Return the longest path of a netlist with the stage of each of its cells.

    Parameters
    ----------
    row : of the netlist; its architecture is that of the unit it is compared with
    registers : that the netlist has; its path is then that from register to register

    Raises
    ------
    TechnologyError
        If the technology does not know the delays of a cell.
    YosysError
        If the unit cannot be described.
    """
    if registers is not None:
        return _clocked_path(operation, technology, row, netlist, registers, timeout_s)
    steps = _timed(netlist, technology)
    drives = {cell.name: cell.pins for cell in netlist.cells}
    if steps:
        steps = _staged(operation, row, netlist, steps, timeout_s)
    starts, ends = dict(port_bits(netlist.inputs)), dict(port_bits(netlist.outputs))
    return CriticalPath(
        row=row,
        start=starts[drives[steps[0].cell][steps[0].from_pin]] if steps else "",
        end=ends[drives[steps[-1].cell][steps[-1].to_pin]] if steps else "",
        in_ps=technology.characterisation is not None,
        steps=tuple(steps),
    )


def _clocked_path(
    operation: Operation,
    technology: "Technology",
    row: Row,
    netlist: Netlist,
    registers: Registers,
    timeout_s: float,
) -> CriticalPath:
    from fmacost.reports.clocked_path import register_to_register, unclocked

    timed = register_to_register(netlist, technology)
    if cells := list(timed[1:-1]):
        unit = replace(row, architecture=row.architecture.removesuffix(f", {registers}"))
        cells = _staged(operation, unit, unclocked(netlist, registers), cells, timeout_s)
    return CriticalPath(
        row=row,
        start=timed[0].cell if timed else "",
        end=timed[-1].cell if timed else "",
        in_ps=technology.characterisation is not None,
        steps=(*timed[:1], *cells, *timed[-1:]),
        is_clocked=True,
    )


def _staged(
    operation: Operation, row: Row, netlist: Netlist, steps: Sequence[PathStep], timeout_s: float
) -> list[PathStep]:
    """Return cells of a combinational netlist with their stages."""
    drives = {cell.name: cell.pins for cell in netlist.cells}
    nets = [drives[step.cell][step.to_pin] for step in steps]
    found = _find_stages(operation, row, netlist, nets, timeout_s)
    return [
        replace(step, stage=stage, likeness=likeness)
        for step, (stage, likeness) in zip(steps, found, strict=True)
    ]


def port_bits(ports: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[int, str]]:
    """Yield each net of some ports with the name of its bit."""
    for name, nets in ports.items():
        for i, net in enumerate(nets):
            yield net, name if len(nets) == 1 else f"{name}[{i}]"


def fan_outs(netlist: Netlist) -> Counter[int]:
    """Return how many pins and output bits each net drives."""
    found = Counter(net for nets in netlist.outputs.values() for net in nets)
    for cell in netlist.cells:
        found.update(cell.pins[pin] for pin in netlist.library[cell.type].inputs)
    return found


def _timed(netlist: Netlist, technology: "Technology") -> list[PathStep]:
    """Return the path without its stages."""
    from fmacost.hw.static_timing import Step, critical_path_ps
    from fmacost.hw.timing import Arrival
    from fmacost.hw.timing import critical_path as critical_path_fo4

    readers = fan_outs(netlist)
    pins = {cell.name: cell.pins for cell in netlist.cells}
    timed: list[tuple[Step | Arrival, str | None, float, float | None, float]]
    facts = technology.characterisation
    if facts is None:
        path = critical_path_fo4(netlist, technology)
        timed = [(step, None, step.load, None, step.fo4) for step in path]
    else:
        path_ps = critical_path_ps(netlist, technology)
        edges = [e for s in path_ps for arc in facts.arcs[s.type] for e in (arc.rise, arc.fall)]
        has_slews = any(edge is not None and edge.slew is not None for edge in edges)
        timed = [
            (s, s.edge, s.load_ff, s.slew_ps if has_slews else None, s.arrival_ps) for s in path_ps
        ]
    befores = [0.0, *(arrival for *_, arrival in timed)]
    return [
        PathStep(
            stage="",
            cell=step.cell,
            cell_type=step.type,
            from_pin=step.source,
            to_pin=step.sink,
            edge=edge,
            fan_out=readers[pins[step.cell][step.sink]],
            load=load,
            slew_ps=slew_ps,
            increment=arrival - before,
            arrival=arrival,
        )
        for before, (step, edge, load, slew_ps, arrival) in zip(befores, timed, strict=False)
    ]


def shown(path: CriticalPath) -> list[RenderableType]:
    """Return what a terminal shows of a path."""
    if not path.steps:
        return [title(path), ""]
    return [title(path), "", path_table(path), "", stage_table(path), ""]


def path_table(path: CriticalPath) -> Table:
    """Return a line for each cell; a stage is named where it begins."""
    lines = path.records()
    named = [metric(name) for name in COLUMNS]
    columns = [m for m in named if any(m.value(line) is not None for line in lines)]
    made = table([(m.heading, m.better is not Better.NONE) for m in columns], [])
    style = "" if path.row.verification.is_proven else UNPROVEN
    last = ""
    for line, after in zip(lines, [*lines[1:], {}], strict=True):
        stage = line["stage"]
        shown = line if stage != last else {**line, "stage": ""}
        texts = (Text(m.text(shown), style) for m in columns)
        made.add_row(*texts, end_section=after.get("stage") != stage)
        last = stage
    return made


def stage_table(path: CriticalPath) -> Table:
    """Return the cells and the delay of each stage, and its share of the path."""
    unit = "ps" if path.in_ps else "FO4"
    rows = [
        [stage, show_count(cells), show_size(delay), f"{delay / path.delay:.1%}"]
        for stage, (cells, delay) in path.stages.items()
    ]
    rows.append(["path", show_count(len(path.steps)), show_size(path.delay), "100.0%"])
    return table([("stage", False), ("cells", True), (unit, True), ("%", True)], rows)


def title(path: CriticalPath) -> str:
    """Return a line over the tables of a path."""
    name = f"{path.row.unit} in {path.row.technology}"
    if not path.steps:
        return f"{name}: no path leads through a cell"
    text = f"{name}: from {path.start} to {path.end}, "
    text += f"{show_size(path.delay)} {'ps' if path.in_ps else 'FO4'}"
    slack = path.row.slack_ps
    return text if slack is None else f"{text}, slack {metric('slack_ps').show(slack)} ps"


def path_notes(paths: Sequence[CriticalPath]) -> list[str]:
    """Return what the columns mean and how stages were found."""
    notes = [
        "stage: what a cell of the flat netlist works for. Logic is shared across stages, so this "
        "is found and not known: the output of each cell is compared with all signals of the unit "
        "as it is described, and of all choices of stages that never go back along the path the "
        "most alike is taken",
        "alike: correlation of the cell's output with the nearest signal of its stage, inverted or "
        "not, 1 for the same; a cell that is like none of them has its stage from its neighbours",
    ]
    if any(path.is_clocked for path in paths):
        notes.append(
            "registers: the path begins with the clock at one, ends with the setup of another and "
            "is as long as the clock period; those named after bits of ports are the neighbours'. "
            "Wires weigh nothing; slews count and are not shown"
        )
    if any(path.in_ps and not path.is_clocked for path in paths):
        notes.append(
            "ps: inputs have the slew of a fan-out-of-four inverter, outputs drive four, wires "
            "weigh nothing; slew and load are those of the cell's output at this edge"
        )
    if any(p.in_ps and not p.is_clocked and p.steps and p.steps[0].slew_ps is None for p in paths):
        notes.append("no slews: delays of this technology do not depend on them")
    if any(not path.in_ps for path in paths):
        drive = "a register" if paths[0].is_clocked else "four inverters"
        notes.append(
            f"FO4: by logical effort, an output drives {drive}; load in input capacitances of the "
            "smallest inverter"
        )
    return notes


# Stages.


def _find_stages(
    operation: Operation, row: Row, netlist: Netlist, nets: Sequence[int], timeout_s: float
) -> list[tuple[str, float]]:
    """Return the stage of each net of a path, and how like a signal of that stage it is."""
    import numpy as np

    from fmacost.hw.breakdown import Stage, described_unit, parse_architecture

    architecture = parse_architecture(row.architecture)
    unit, stage_of = described_unit(operation, architecture, timeout_s=timeout_s)
    # Factors are normalised behind the decoders, a product or a sum much later.
    places = {
        name: (Stage.DECODE if _FACTOR.match(name) else stage, stage)
        for name, stage in stage_of.items()
    }
    known = set(places.values()) or {(Stage.PACK, Stage.PACK)}
    order = [(place, stage) for place in Stage for stage in Stage if (place, stage) in known]
    outputs = [(cell.pins["Y"], order.index(places[cell.name])) for cell in unit.cells]
    inputs, count = _vectors(operation)
    signals = _signals(unit, [net for net, _ in outputs], inputs)
    stages = np.array([stage for _, stage in outputs], np.int64)
    likeness = np.zeros((len(nets), len(order)))
    ones = np.bitwise_count(signals).sum(axis=1, dtype=np.float64)
    for i, plane in enumerate(_signals(netlist, nets, inputs)):
        np.maximum.at(likeness[i], stages, _correlation(plane, signals, ones, count))
    return [
        (str(order[column][1]), float(likeness[i, column]))
        for i, column in enumerate(rising_choice(likeness**2))
    ]


def rising_choice(scores: "NDArray[np.float64]") -> list[int]:
    """Return a column for each row, never falling, so that the sum of the scores is largest.

    Of equal choices the one with the lower columns is taken.
    """
    import numpy as np

    best = np.zeros_like(scores)
    for i, score in enumerate(scores):
        best[i] = score + (np.maximum.accumulate(best[i - 1]) if i else 0.0)
    chosen: list[int] = []
    limit = scores.shape[1]
    for row in best[::-1]:
        limit = int(row[:limit].argmax()) + 1
        chosen.append(limit - 1)
    return chosen[::-1]


def _vectors(operation: Operation) -> "tuple[dict[str, Planes], int]":
    """Return vectors of all kinds as planes, and how many: streams, and regions of the check."""
    import numpy as np

    from fmacost.sim.evaluate import pack_planes
    from fmacost.sim.stimuli import sampled
    from fmacost.sim.streams import make_stream

    widths = operation.input_widths
    regions = sampled(operation, 0, _PER_REGION).operands
    chosen = np.random.default_rng(0).integers(0, len(regions[0]), _VECTORS)
    kinds = [make_stream(name, operation, _VECTORS) for name in (UNIFORM, GAUSSIAN)]
    kinds.append(dict(zip(widths, (codes[chosen] for codes in regions), strict=True)))
    planes = {
        name: pack_planes(np.concatenate([kind[name] for kind in kinds]), width)
        for name, width in widths.items()
    }
    return planes, len(kinds) * _VECTORS


def _signals(netlist: Netlist, nets: Sequence[int], inputs: "Mapping[str, Planes]") -> "Planes":
    """Return the planes of some nets."""
    from fmacost.sim.evaluate import Program

    return Program.compile(replace(netlist, outputs={"nets": tuple(nets)})).run(inputs)["nets"]


def _correlation(
    plane: "Planes", signals: "Planes", ones: "NDArray[np.float64]", count: int
) -> "NDArray[np.float64]":
    """Return the magnitude of the correlation of one net with each signal; constants have none.

    Parameters
    ----------
    ones : of each signal
    """
    import numpy as np

    one = float(np.bitwise_count(plane).sum())
    both = np.bitwise_count(signals & plane).sum(axis=1, dtype=np.float64)
    scale = np.sqrt(one * (count - one) * ones * (count - ones))
    likeness: NDArray[np.float64] = abs(count * both - one * ones)
    return likeness / np.where(scale > 0, scale, np.inf)
