"""Pipelines: registers put into a mapped netlist, where they shorten the clock period most.

Each cell gets a stage. A net that is read in later stages passes as many registers on the way,
which all its readers share. Inputs arrive in stage 0 and outputs leave in the last stage. So every
path has the same number of registers, and the netlist without them is what it was before: its
proof holds for the pipeline.

First comes the least period that a stage for each cell as early as possible allows, then the fewest
registers within that period: one rank of registers after the other is put where fewest nets cross
it, all others staying, until no rank can be improved. A register changes what nets drive, so a few
rounds of this approach the delays in the pipeline that comes out. The fastest counts; of those as
fast as it, the one with the fewest registers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from fmacost.hw.clocking import Delays, Node, find_delays, period
from fmacost.hw.mincut import INFINITE, Graph
from fmacost.hw.technology import Technology
from fmacost.sim.netlist import Cell, Netlist

MAX_RANKS = 32
CLOCK = "clk"
_ROUNDS = 6  # of looking up the delays
_AS_GOOD = 0.005  # periods that differ by less are as good as each other
_PRECISION = 1e-4  # of the period, relative
_TOLERANCE = 1e-9  # for sums in another order


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A netlist with ranks of registers.

    Attributes
    ----------
    ranks : registers on every path from input to output: the latency in cycles
    period : in FO4, or in ps in a technology that knows them
    """

    netlist: Netlist
    ranks: int
    period: float

    @property
    def flip_flops(self) -> int:
        """How many registers there are, one bit each."""
        return len(self.netlist.registers)


def pipelined(netlist: Netlist, technology: Technology, ranks: int) -> Pipeline:
    """Put ranks of registers into a combinational netlist.

    Parameters
    ----------
    ranks : 0..32; beyond what the slowest cell allows, more do not help

    Raises
    ------
    ValueError
        If ``ranks`` is out of range.
    TechnologyError
        If the technology has no flip-flop, or does not know the delays of a cell that is used.
    """
    if not 0 <= ranks <= MAX_RANKS:
        raise ValueError(f"pipeline must be in 0..{MAX_RANKS}, not {ranks}")
    delays = find_delays(netlist, technology)
    if not ranks:
        return Pipeline(netlist, 0, period(netlist, delays))
    found = []
    for _ in range(_ROUNDS):
        plan = _Plan(netlist, delays, ranks)
        stages = plan.thrifty(*plan.fastest())
        registered = insert_registers(netlist, technology, stages, ranks)
        wired = find_delays(registered, technology)
        found.append(Pipeline(registered, ranks, period(registered, wired)))
        delays = _between(delays, wired, registered)
    limit = (1 + _AS_GOOD) * min(made.period for made in found)
    return min((m for m in found if m.period <= limit), key=lambda m: (m.flip_flops, m.period))


def insert_registers(
    netlist: Netlist, technology: Technology, stages: Mapping[str, int], ranks: int
) -> Netlist:
    """Return the netlist with registers wherever a net is read in a later stage.

    Parameters
    ----------
    stages : of each cell by name, 0..ranks, never less than that of a cell which drives it
    """
    nets = {1, *(net for cell in netlist.cells for net in cell.pins.values())}
    clock_net = max(nets.union(*netlist.inputs.values())) + 1
    born = dict.fromkeys((net for nets in netlist.inputs.values() for net in nets), 0)
    for cell in netlist.cells:
        born |= {cell.pins[pin]: stages[cell.name] for pin, _ in netlist.library[cell.type].outputs}
    taken = {cell.name for cell in netlist.cells}
    chains: dict[int, list[int]] = {}
    registers: list[Cell] = []

    def at(net: int, stage: int) -> int:
        """Return the net that holds the value of another one in a stage."""
        if net not in born:  # a constant
            return net
        chain = chains.setdefault(net, [net])
        while len(chain) <= stage - born[net]:
            q = clock_net + len(registers) + 1
            name = f"rank{born[net] + len(chain)}_{net}"
            while name in taken:
                name += "_"
            taken.add(name)
            registers.append(technology.register_cell(name, chain[-1], clock_net, q))
            chain.append(q)
        return chain[stage - born[net]]

    cells = []
    for cell in netlist.cells:
        inputs = netlist.library[cell.type].inputs
        pins = {
            pin: at(net, stages[cell.name]) if pin in inputs else net
            for pin, net in cell.pins.items()
        }
        cells.append(Cell(cell.name, cell.type, pins))
    outputs = {name: tuple(at(net, ranks) for net in n) for name, n in netlist.outputs.items()}
    return Netlist(
        netlist.name,
        netlist.inputs | ({CLOCK: (clock_net,)} if registers else {}),
        outputs,
        (*cells, *registers),
        dict(technology.library),
        netlist.net_names,
    )


def _between(before: Delays, wired: Delays, registered: Netlist) -> Delays:
    """Return means of what a plan was made with and what came out of it.

    To go all the way would make plans swing between two states.
    """
    held = {}
    for cell in registered.registers:
        kind = registered.library[cell.type]
        ((output, data),) = kind.outputs  # the function is the pin
        held[cell.pins[output]] = cell.pins[data]
    slowest: dict[Node, float] = {}  # of the registers that a net passes
    for (net, edge), time in wired.launch.items():
        origin = net
        while origin in held:
            origin = held[origin]
        if origin != net:
            slowest[origin, edge] = max(slowest.get((origin, edge), 0.0), time)
    launch = {node: (t + slowest.get(node, t)) / 2 for node, t in before.launch.items()}
    arcs = {
        cell: {arc: (delay + wired.arcs[cell][arc]) / 2 for arc, delay in delays.items()}
        for cell, delays in before.arcs.items()
    }
    return Delays(arcs, before.held, launch, before.setup)


class _Arc(NamedTuple):
    """A way through a cell; ``held`` is its delay where the sink drives a register alone."""

    source: Node
    sink: Node
    delay: float
    held: float


class _Arrival(NamedTuple):
    """When a net is there in the stage that drives it."""

    stage: int
    time: float


class _Plan:
    """Stages for the cells of a netlist whose delays do not change with them."""

    def __init__(self, netlist: Netlist, delays: Delays, ranks: int) -> None:
        self._ranks, self._setup, self._launch = ranks, delays.setup, delays.launch
        self._cells = netlist.levelised()
        self._driver: dict[int, int] = {}
        self._readers: dict[int, list[int]] = defaultdict(list)
        self._inputs: list[list[int]] = []
        self._arcs: list[list[_Arc]] = []
        moving = {net for nets in netlist.inputs.values() for net in nets}
        for i, cell in enumerate(self._cells):
            kind = netlist.library[cell.type]
            inputs = {cell.pins[pin] for pin in kind.inputs} & moving
            self._inputs.append(sorted(inputs))
            for net in inputs:
                self._readers[net].append(i)
            for pin, _ in kind.outputs:
                self._driver[cell.pins[pin]] = i
                moving.add(cell.pins[pin])
            held = delays.held[cell.name]
            self._arcs.append(
                [
                    _Arc((net, start[1]), (cell.pins[end[0]], end[1]), delay, held[start, end])
                    for (start, end), delay in delays.arcs[cell.name].items()
                    if (net := cell.pins[start[0]]) in inputs
                ]
            )
        self._ends = {net for nets in netlist.outputs.values() for net in nets} & moving
        read = self._ends | self._readers.keys()
        self._arcs = [[arc for arc in arcs if arc.sink[0] in read] for arcs in self._arcs]

    def fastest(self) -> tuple[float, list[int]]:
        """Return the least period for which there are stages, and the earliest of these."""
        longest = self._launch_and_setup() + sum(
            max((arc.delay for arc in arcs), default=0) for arcs in self._arcs
        )
        low, high = 0.0, longest
        stages = self._earliest(high)
        assert stages is not None
        while high - low > _PRECISION * high:
            middle = (low + high) / 2
            earlier = self._earliest(middle)
            if earlier is None:
                low = middle
            else:
                high, stages = middle, earlier
        return high, stages

    def _launch_and_setup(self) -> float:
        return max(self._launch.values(), default=0.0) + self._setup

    def _earliest(self, period: float) -> list[int] | None:
        """Return the earliest stage of each cell; None if there are too few for a period."""
        limit = period - self._setup
        born: dict[int, int] = {}
        arrivals: dict[Node, _Arrival] = {}
        stages = []
        for inputs, arcs in zip(self._inputs, self._arcs, strict=True):
            stage = max((born.get(net, 0) for net in inputs), default=0)
            found = self._arrivals(arcs, stage, arrivals, limit)
            if found is None:
                stage += 1
                found = self._arrivals(arcs, stage, arrivals, limit)
                if stage > self._ranks or found is None:
                    return None
            arrivals |= found
            born |= {net: stage for net, _ in found}
            stages.append(stage)
        return stages

    def _arrivals(
        self, arcs: list[_Arc], stage: int, arrivals: Mapping[Node, _Arrival], limit: float
    ) -> dict[Node, _Arrival] | None:
        """Return when the outputs of a cell are there if it is in a stage, None if too late.

        A net that is in time for a register, but not with other readers as well, never arrives for
        these.
        """
        found: dict[Node, float] = {}
        late = set()
        for arc in arcs:
            known = arrivals.get(arc.source)
            start = known.time if known and known.stage == stage else self._launch[arc.source]
            if start + arc.held > limit:
                return None
            if start + arc.delay > limit:
                late.add(arc.sink[0])
            found[arc.sink] = max(found.get(arc.sink, 0.0), start + arc.delay)
        return {
            node: _Arrival(stage, inf if node[0] in late else time) for node, time in found.items()
        }

    def thrifty(self, period: float, stages: list[int]) -> dict[str, int]:
        """Return stages that need few registers, by name of cell, from any that meet a period."""
        best = self._registers(stages)
        while True:
            for rank in range(1, self._ranks + 1):
                self._move_rank(rank, period, stages)
            count = self._registers(stages)
            if count >= best:
                break
            best = count
        return {cell.name: stage for cell, stage in zip(self._cells, stages, strict=True)}

    def _registers(self, stages: list[int]) -> int:
        return sum(last - first for first, last in self._lives(stages).values())

    def _lives(self, stages: list[int]) -> dict[int, tuple[int, int]]:
        """Return the stage that drives each net and the last that reads it."""
        lives = {}
        for net in self._ends | self._readers.keys():
            last = max((stages[i] for i in self._readers.get(net, ())), default=0)
            first = stages[self._driver[net]] if net in self._driver else 0
            lives[net] = first, self._ranks if net in self._ends else last
        return lives

    def _move_rank(self, rank: int, period: float, stages: list[int]) -> None:
        """Put a rank of registers where the fewest nets cross it, the others staying."""
        region = [i for i, stage in enumerate(stages) if rank - 1 <= stage <= rank]
        limit = period - self._setup + _TOLERANCE
        too_late = self._too_late(region, limit)
        too_early = self._too_early(region, limit)
        graph = Graph()
        nodes = {i: 0 if i in too_early else 1 if i in too_late else graph.node() for i in region}
        for net, (first, last) in self._lives(stages).items():
            if first > rank or last < rank - 1:
                continue
            driver = nodes.get(self._driver.get(net, -1), 0)
            readers = {nodes[i] for i in self._readers.get(net, ()) if i in nodes}
            if last > rank or net in self._ends:
                readers.add(1)
            if driver:
                for reader in readers - {1, driver}:
                    graph.edge(reader, driver, INFINITE)
            if driver == 1 or readers <= {driver}:
                continue
            crossing = graph.node()
            graph.edge(driver, crossing, 1)
            for reader in readers:
                graph.edge(crossing, reader, INFINITE)
        before = graph.source_side()
        for i, node in nodes.items():
            stages[i] = rank - 1 if node in before else rank

    def _too_late(self, region: list[int], limit: float) -> set[int]:
        """Return the cells that are too late for a register behind them in the earlier stage."""
        arrivals: dict[Node, _Arrival] = {}
        late = set()
        for i in region:
            found = self._arrivals(self._arcs[i], 0, arrivals, limit)  # as if in one stage
            if found is None:
                late.add(i)
                found = {arc.sink: _Arrival(0, inf) for arc in self._arcs[i]}
            arrivals |= found
        return late

    def _too_early(self, region: list[int], limit: float) -> set[int]:
        """Return the cells that a register before them in the later stage would make too late."""
        needs: dict[Node, float] = {}  # from a net to the end of the region
        early = set()
        for i in reversed(region):
            for arc in self._arcs[i]:
                need = arc.delay + needs[arc.sink] if arc.sink in needs else arc.held
                needs[arc.source] = max(needs.get(arc.source, 0.0), need)
                if self._launch[arc.source] + need > limit:
                    early.add(i)
        return early
