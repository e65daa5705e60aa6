"""What an operation takes: energy from the toggles of proven netlists, for streams of operands."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from fmacost.reports.clocked import Registers, replay_stream
from fmacost.reports.errors import InputError
from fmacost.reports.measure import Measured
from fmacost.reports.metrics import Better, metric, show_ratio
from fmacost.reports.row import Row
from fmacost.reports.tables import UNPROVEN, table
from fmacost.sim.formats import FloatFormat
from fmacost.sim.netlist import Netlist
from fmacost.sim.operation import Operation, parse_unit

if TYPE_CHECKING:
    from fmacost.hw.power import Spent
    from fmacost.hw.technology import Technology
    from fmacost.sim.activity import Activity
    from fmacost.sim.streams import Stream

UNIFORM, GAUSSIAN, STATIONARY = BUILT_IN = ("uniform", "gaussian", "stationary")
COLUMNS = (
    "unit", "technology", "flip_flops", "latency_cycles", "stream", "toggles", "input_energy_fj",
    "net_energy_fj", "internal_energy_fj", "register_energy_fj", "clock_energy_fj",
    "glitch_energy_fj", "energy_fj", "input_capacitance", "net_capacitance",
    "register_capacitance", "clock_capacitance", "glitch_capacitance", "switched_capacitance",
    "ratio_energy", "leakage_nw", "verification",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where operands come from, and how many.

    Attributes
    ----------
    name : of a built-in stream, or a path that ends in ``.npy``
    vectors, seed : of a built-in stream; a file is taken as it is
    """

    name: str
    vectors: int
    seed: int

    @property
    def is_file(self) -> bool:
        """Whether the operands are the user's own."""
        return self.name not in BUILT_IN

    def stream(self, operation: Operation, registers: Registers | None = None) -> "Stream":
        """Return the operands, for a processing element with ``clear``.

        Raises
        ------
        InputError
            If a file has none for the operation, or they are too few for the registers.
        """
        from fmacost.sim.streams import StreamError, accumulating, make_stream, read_stream

        accumulates = registers is not None and registers.ranks is None
        if not self.is_file:
            made = make_stream(self.name, operation, self.vectors, self.seed)
            return accumulating(made) if accumulates else made
        try:
            made = read_stream(Path(self.name), operation, accumulates=accumulates)
        except StreamError as error:
            raise InputError(str(error)) from None
        if accumulates and not made["clear"].any():
            raise InputError(f"{self.name}: clear is never 1, so the sum has no beginning")
        first = int(made["clear"].argmax()) if accumulates else 0
        self._check_length(len(made["a"]) - first, registers)
        return made

    def check(self, operation: Operation, registers: Registers | None) -> None:
        """Raise as ``stream`` does; for use before long work."""
        if self.is_file:
            self.stream(operation, registers)
        else:
            self._check_length(self.vectors, registers)

    def _check_length(self, vectors: int, registers: Registers | None) -> None:
        needed = 2 if registers is None else registers.latency_cycles + 2
        if vectors < needed:
            raise InputError(
                f"stream {self.name}: {vectors} vectors are too few for the registers of "
                f"'{registers}', which need at least {needed}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """What one operation takes on average: fJ, or switched capacitance where there are no fJ.

    Attributes
    ----------
    vectors : of the stream
    settled : with every net but the clock changing at most once an operation
    glitches : what the unit-delay model adds to that, None if it was not asked for
    leakage_nw : None where the technology states none
    """

    row: Row
    source: Source
    vectors: int
    toggles: float
    settled: "Spent"
    glitches: float | None
    leakage_nw: float | None

    @property
    def total(self) -> float:
        """All parts together."""
        return self.settled.total + (self.glitches or 0.0)

    def to_json(self) -> dict[str, Any]:
        """Return the row of the unit with the stream and what it takes."""
        parts: dict[str, float | None]
        if self.settled.internal is not None:
            parts = {
                "input_energy_fj": self.settled.inputs,
                "net_energy_fj": self.settled.nets,
                "internal_energy_fj": self.settled.internal,
                "register_energy_fj": self.settled.registers,
                "clock_energy_fj": self.settled.clock,
                "glitch_energy_fj": self.glitches,
                "energy_fj": self.total,
                "leakage_nw": self.leakage_nw,
            }
        else:
            parts = {
                "input_capacitance": self.settled.inputs,
                "net_capacitance": self.settled.nets,
                "register_capacitance": self.settled.registers,
                "clock_capacitance": self.settled.clock,
                "glitch_capacitance": self.glitches,
                "switched_capacitance": self.total,
            }
        seed = {} if self.source.is_file else {"seed": self.source.seed}
        return {
            **self.row.to_json(),
            "stream": self.source.name,
            "stream_vectors": self.vectors,
            **seed,
            "toggles": round(self.toggles, 6),
            **{name: round(value, 6) for name, value in parts.items() if value is not None},
        }


def parse_sources(names: Sequence[str], vectors: int, seed: int) -> list[Source]:
    """Return the streams of these names, each once; raise InputError for an unknown one."""
    for name in names:
        if name not in BUILT_IN and not name.endswith(".npy"):
            known = ", ".join(BUILT_IN)
            raise InputError(f"unknown stream '{name}'; expected {known} or a .npy file")
    return [Source(name=n, vectors=vectors, seed=seed) for n in dict.fromkeys(names)]


def measure_energy(
    operation: Operation,
    technology: "Technology",
    row: Row,
    netlist: Netlist,
    source: Source,
    *,
    registers: Registers | None = None,
    glitches: bool = False,
) -> Energy:
    """Replay a stream through a netlist and return what an operation takes.

    Raises
    ------
    InputError
        If a file is no stream of the operation.
    TechnologyError
        If the technology lacks what is needed of a cell.
    """
    from fmacost.hw.power import energy_fj, switched_capacitance

    has_energy = technology.characterisation is not None
    spend = energy_fj if has_energy else switched_capacitance
    stream = source.stream(operation, registers)
    activity = _replay(netlist, registers, stream, glitches=False)
    settled = spend(netlist, technology, activity.toggles).per(activity.steps)
    surplus = None
    if glitches:
        moving = _replay(netlist, registers, stream, glitches=True)
        spent = spend(netlist, technology, moving.toggles).per(moving.steps)
        surplus = spent.total - settled.total
    return Energy(
        row=row,
        source=source,
        vectors=len(stream["a"]),
        toggles=sum(activity.toggles.values()) / activity.steps,
        settled=settled,
        glitches=surplus,
        leakage_nw=technology.leakage_nw(netlist),
    )


def _replay(
    netlist: Netlist, registers: Registers | None, stream: "Stream", *, glitches: bool
) -> "Activity":
    from fmacost.sim.activity import replay

    if registers is None:
        return replay(netlist, stream, glitches=glitches)
    return replay_stream(netlist, registers, stream, glitches=glitches)


def measure_all(
    measured: Iterable[Measured],
    operations: Iterable[Operation],
    technologies: Iterable["Technology"],
    sources: Sequence[Source],
    *,
    registers: Registers | None = None,
    glitches: bool,
) -> list[Energy]:
    """Return the energies of units that have been measured with their netlists, by technology."""
    units = {str(operation): operation for operation in operations}
    found = []
    for technology in technologies:
        for made in measured:
            if made.row.technology == technology.name and made.netlist is not None:
                operation = units[made.row.unit]
                found += [
                    measure_energy(
                        operation,
                        technology,
                        made.row,
                        made.netlist,
                        source,
                        registers=registers,
                        glitches=glitches,
                    )
                    for source in sources
                ]
    return found


def records(energies: Sequence[Energy]) -> list[dict[str, Any]]:
    """Return the JSON of each energy, with its ratio to the first unit's where that is not zero."""
    first: dict[tuple[str, str], Energy] = {}
    made = []
    for energy in energies:
        other = first.setdefault((energy.row.technology, energy.source.name), energy)
        ratio = {"ratio_energy": round(energy.total / other.total, 6)} if other.total else {}
        made.append(energy.to_json() | (ratio if other.row.unit != energy.row.unit else {}))
    return made


def energy_table(energies: Sequence[Energy]) -> Table:
    """Return a line for each unit and stream, its parts and their sum; what is unproven is red."""
    lines = records(energies)
    named = [metric(name) for name in COLUMNS]
    columns = [m for m in named if any(m.value(line) is not None for line in lines)]
    made = table([(m.heading, m.better is not Better.NONE) for m in columns], [])
    for i, (energy, line) in enumerate(zip(energies, lines, strict=True)):
        style = "" if energy.row.verification.is_proven else UNPROVEN
        is_last = i + 1 == len(lines) or energies[i + 1].row != energy.row
        made.add_row(*(Text(m.text(line), style) for m in columns), end_section=is_last)
    return made


def energy_notes(energies: Sequence[Energy]) -> list[str]:
    """Return what the numbers mean, and by how much the streams differ."""
    notes = list(_stream_notes([energy.source for energy in energies]))
    is_clocked = any(e.settled.clock is not None for e in energies)
    missing = "no clock tree" if is_clocked else "no clock, no registers"
    notes.append(
        "of each operation after the first: mean over the stream. Each unit pays for its own input "
        f"pins, outputs drive nothing; no wires, {missing}"
    )
    if is_clocked:
        notes.append(
            "an operation in each cycle; registers: their data pins between cells, and inside of "
            "them as the data changes; clock: their clock pins, and inside of them at the two "
            "edges of a cycle; no clock gating"
        )
    if any(_loses_sums(e) for e in energies):
        notes.append(
            "uniform codes of floats: a sum that met a NaN, or grew beyond the format, stays what "
            "it is until the next clear, and hardly anything changes in it"
        )
    if any(e.settled.internal is None for e in energies):
        notes.append(
            "without energies of cells: each change of a net counts the gate capacitance that it "
            "leads to, in input capacitances of the smallest inverter; nodes inside of cells are "
            "not counted"
        )
    if any(e.leakage_nw is not None for e in energies):
        notes.append("leakage is power, and not in the energy: 1 nW for 1 ns is 0.001 fJ")
    if any(e.glitches is not None for e in energies):
        notes.append(
            "glitches: what nets change beyond once, in a model where every cell takes one unit of "
            "time and passes on every pulse; real cells swallow short ones, so it is too much "
            "rather than too little"
        )
    else:
        notes.append("without glitches, which can take more than all else: see --glitches")
    return [*notes, *differences(energies)]


def _loses_sums(energy: Energy) -> bool:
    """Say whether uniform codes are summed in a float, by a processing element."""
    is_float = isinstance(parse_unit(energy.row.unit).result, FloatFormat)
    return is_float and energy.source.name == UNIFORM and energy.row.architecture.endswith(", pe")


def _stream_notes(sources: Iterable[Source]) -> Iterator[str]:
    from fmacost.sim.streams import RUN

    texts = {
        UNIFORM: "every code as likely, infinities and NaNs of floats included",
        GAUSSIAN: "normal operands, rounded: floats with a standard deviation of 1, others with a "
        f"third of their largest magnitude; an addend like the sum of {RUN} products",
        STATIONARY: f"the first factor is held for {RUN} operations, the second is new in each, "
        "both Gaussian; the addend is the last result where formats allow",
    }
    for source in dict.fromkeys(sources):
        if source.is_file:
            yield f"{source.name}: codes as they are in the file"
        else:
            size = f"{source.vectors:,} vectors, seed {source.seed}"
            yield f"{source.name}: {texts[source.name]} ({size})"


def differences(energies: Sequence[Energy]) -> Iterator[str]:
    """Say for each unit what uniform codes take over what Gaussian operands take."""
    known = {(e.row.unit, e.row.technology, e.source.name): e for e in energies}
    for unit, technology in dict.fromkeys((e.row.unit, e.row.technology) for e in energies):
        uniform = known.get((unit, technology, UNIFORM))
        gaussian = known.get((unit, technology, GAUSSIAN))
        if uniform is None or gaussian is None or not gaussian.settled.total:
            continue
        ratio = show_ratio(uniform.settled.total / gaussian.settled.total)
        text = f"{unit} in {technology}: uniform codes take {ratio} what Gaussian operands take"
        if uniform.glitches is not None:
            text += f", {show_ratio(uniform.total / gaussian.total)} with glitches"
        yield text
