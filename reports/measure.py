"""From an operation to its cost row: synthesise, check, count, and remember.

Only this module drives ``hw`` and the check, and it imports them where it needs them: an answer
from the cache loads neither Amaranth nor NumPy.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import fmacost
import fmacost.hw
import fmacost.sim
from fmacost.reports.cache import Cache, digest_of
from fmacost.reports.clocked import Clocked, Registers, check_streams, clocked, replay_stream
from fmacost.reports.errors import InputError
from fmacost.reports.row import SCHEMA, Proof, Row, RowError, Spread, read_spread
from fmacost.sim.netlist import Netlist, NetlistError
from fmacost.sim.operation import Operation, semantics

if TYPE_CHECKING:
    from fmacost.hw.technology import Technology

# As sim.check has them, which is not imported for them: it loads NumPy.
ALWAYS_EXHAUSTIVE_BITS = 24
MAX_EXHAUSTIVE_BITS = 32
ENERGY_VECTORS = 10_000
CURVE_POINTS = 12
_SOURCE_SUFFIXES = (".py", ".v", ".lib", ".json")


class Watcher(Protocol):
    """Who is told how far a measurement is."""

    def stage(self, text: str) -> None:
        """Say what is being done now."""

    def part(self, done: int, total: int) -> None:
        """Say how much of a stage is done."""

    def notify(self, text: str) -> None:
        """Say something that the user should know, in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to measure, the same for all units of one run."""

    objective: str = "area"
    effort: str = "normal"
    exhaustive: bool = False
    seed: int = 0
    jobs: int | None = None
    timeout_s: float = 120.0
    recheck: bool = False  # compare with the reference again, even if the answer is known
    with_netlist: bool = False
    registers: Registers | None = None
    clock_ps: float | None = None  # with the objective "clock" alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A row with what came beside it.

    Attributes
    ----------
    netlist : present where it was asked for or had to be made
    counterexample : the operands and both results of a mismatch, lines of text
    is_cached : whether neither synthesis nor check ran
    yosys_seconds : time that Yosys ran, 0 for a netlist from the cache
    left_out : candidates without a netlist; where there are some, another run may find another row
    """

    row: Row
    netlist: Netlist | None
    counterexample: str | None
    is_cached: bool
    yosys_seconds: float
    seconds: float
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Built:
    netlist: Netlist
    architecture: str
    recipe: str
    candidates: Spread
    left_out: int
    yosys_seconds: float


def measure(
    operation: Operation,
    technology: Technology,
    settings: Settings,
    store: Cache | None,
    watcher: Watcher,
) -> Measured:
    """Return the cost row of one unit, from the cache or by synthesis and check.

    Parameters
    ----------
    store : None neither reads nor writes a cache

    Raises
    ------
    YosysError
        If synthesis fails or takes too long.
    """
    start = time.monotonic()
    build_key = _build_key(operation, technology, settings)
    key = _row_key(build_key, operation, settings)
    known = None if store is None or settings.recheck else load_row(store, key)
    built = None
    if store is not None and (settings.with_netlist or known is None):
        built = _load_built(store, build_key, technology)
    if known is not None and (built is not None or not settings.with_netlist):
        netlist = None
        if built is not None:
            made = _clocked(operation, technology, built, settings)
            netlist = made.netlist if made else built.netlist
        return Measured(
            row=known, netlist=netlist, counterexample=None, is_cached=True,
            yosys_seconds=0.0, seconds=time.monotonic() - start,
        )  # fmt: skip
    is_new = built is None
    if built is None:
        watcher.stage("synthesis")
        built = _build(operation, technology, settings, store, watcher)
        if built.left_out:
            watcher.notify(_left_out_text(operation, built.left_out, settings))
    watcher.stage("check")
    made = _clocked(operation, technology, built, settings)
    proof, counterexample = _verify(
        operation, made.logic if made else built.netlist, settings, watcher
    )
    if made is not None and settings.registers is not None:
        proof, counterexample = _with_streams(operation, made, settings, proof, counterexample)
    row = _row(operation, technology, built, made, proof, key, settings.registers)
    if store is not None and proof.is_proven and not built.left_out:
        if is_new:
            _store_built(store, build_key, [built])
        store.store("rows", key, row.to_json())
    return Measured(
        row=row, netlist=made.netlist if made else built.netlist,
        counterexample=counterexample, is_cached=False,
        yosys_seconds=built.yosys_seconds, seconds=time.monotonic() - start,
        left_out=built.left_out,
    )  # fmt: skip


def row_key(operation: Operation, technology: Technology, settings: Settings) -> dict[str, object]:
    """Return everything that a row depends on; its digest is the row's."""
    return _row_key(_build_key(operation, technology, settings), operation, settings)


def check_exhaustive(operations: Iterable[Operation]) -> None:
    """Raise InputError if an operation has too many inputs to run them all."""
    for operation in operations:
        if operation.input_bits > MAX_EXHAUSTIVE_BITS:
            raise InputError(
                f"--exhaustive takes at most 2^{MAX_EXHAUSTIVE_BITS} inputs, "
                f"{operation} has 2^{operation.input_bits}"
            )


def versions() -> dict[str, str]:
    """Return the versions of what makes a row; raise YosysError if Yosys cannot be used."""
    from fmacost.hw.yosys import tool_versions

    return {"fmacost": fmacost.__version__, **tool_versions()}


@cache
def source_digest() -> str:
    """Return the SHA-256 of the sources that determine a row, so that no change serves old rows."""
    digest = hashlib.sha256()
    for name, path in _sources():
        content = path.read_bytes()
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _sources() -> Iterator[tuple[str, Path]]:
    for package in (fmacost.sim, fmacost.hw):
        folder = Path(package.__path__[0])
        for path in sorted(folder.rglob("*")):
            if path.suffix in _SOURCE_SUFFIXES:
                yield f"{package.__name__}/{path.relative_to(folder).as_posix()}", path
    yield __name__, Path(__file__)


def _build_key(
    operation: Operation, technology: Technology, settings: Settings
) -> dict[str, object]:
    """Return everything that a netlist depends on."""
    return {
        "schema": SCHEMA,
        "unit": str(operation),
        "technology": [technology.name, technology.digest],
        "objective": settings.objective,
        "effort": settings.effort,
        **_clock_key(settings),
        "versions": versions(),
        "sources": source_digest(),
    }


def _clock_key(settings: Settings) -> dict[str, object]:
    """Return what a netlist that is made for a clock depends on beside."""
    if settings.clock_ps is None:
        return {}
    return {"clock_ps": settings.clock_ps, "clocked": str(settings.registers)}


def _row_key(
    build_key: Mapping[str, object], operation: Operation, settings: Settings
) -> dict[str, object]:
    """Return everything that a row depends on: the netlist and how it is checked."""
    is_exhaustive = settings.exhaustive or operation.input_bits <= ALWAYS_EXHAUSTIVE_BITS
    check = {"exhaustive": is_exhaustive, "seed": 0 if is_exhaustive else settings.seed}
    if settings.registers is None:
        return {**build_key, "check": check}
    check["seed"] = settings.seed  # of the streams
    return {**build_key, "check": check, "registers": str(settings.registers)}


def load_row(store: Cache, key: Mapping[str, object]) -> Row | None:
    """Return the row that is kept under a key, None where there is none or it is damaged."""
    content = store.load("rows", key)
    if content is None:
        return None
    try:
        row = Row.from_json(content)
        if not row.verification.is_proven or row.digest != digest_of(key):
            raise RowError("the row was not proven, or is another's")
    except RowError as error:
        store.reject("rows", key, str(error))
        return None
    return row


def _load_built(store: Cache, key: Mapping[str, object], technology: Technology) -> _Built | None:
    found = _load_all_built(store, key, technology)
    return found[0] if found else None


def _load_all_built(
    store: Cache, key: Mapping[str, object], technology: Technology
) -> list[_Built]:
    """Return the netlists that are kept under a key, none where they are not or are damaged."""
    content = store.load("netlists", key)
    if content is None:
        return []
    try:
        return [_built_from_json(each, technology) for each in content["netlists"]]
    except (NetlistError, RowError, KeyError, TypeError, ValueError, AttributeError) as error:
        store.reject("netlists", key, str(error))
        return []


def _store_built(store: Cache, key: Mapping[str, object], built: Iterable[_Built]) -> None:
    store.store("netlists", key, {"netlists": [_built_to_json(each) for each in built]})


def _built_from_json(content: Any, technology: Technology) -> _Built:
    return _Built(
        netlist=Netlist.from_yosys_json(content["netlist"], technology.sized_cells),
        architecture=str(content["architecture"]),
        recipe=str(content["recipe"]),
        candidates=read_spread(content["candidates"]),
        left_out=0,
        yosys_seconds=0.0,
    )


def _built_to_json(built: _Built) -> dict[str, Any]:
    spread = built.candidates
    return {
        "netlist": built.netlist.to_yosys_json(),
        "architecture": built.architecture,
        "recipe": built.recipe,
        "candidates": {name: getattr(spread, name) for name in ("count", "min", "median", "max")},
    }


def _build(
    operation: Operation,
    technology: Technology,
    settings: Settings,
    store: Cache | None,
    watcher: Watcher,
) -> _Built:
    if settings.clock_ps is not None:
        return _build_for_clock(operation, technology, settings, store, watcher)
    from fmacost.hw.synthesis import synthesise

    made = synthesise(
        operation,
        technology,
        objective=settings.objective,
        effort=settings.effort,
        jobs=settings.jobs,
        timeout_s=settings.timeout_s,
        progress=watcher.part,
    )
    return _Built(
        netlist=made.netlist,
        architecture=made.architecture,
        recipe=made.recipe,
        candidates=_spread(candidate.cost for candidate in made.candidates),
        left_out=made.left_out,
        yosys_seconds=made.yosys_seconds,
    )


def _spread(costs: Iterable[float]) -> Spread:
    sizes = sorted(round(cost, 6) for cost in costs)
    return Spread(
        count=len(sizes), min=sizes[0], median=statistics.median_low(sizes), max=sizes[-1]
    )


def _build_for_clock(
    operation: Operation,
    technology: Technology,
    settings: Settings,
    store: Cache | None,
    watcher: Watcher,
) -> _Built:
    """Return the smallest netlist that meets a clock, with its registers if it has any."""
    from fmacost.hw.frontier import make_point, meet

    assert settings.clock_ps is not None
    found = _explore(operation, technology, settings, store, watcher)
    points = [make_point(b.netlist, technology, b.architecture, b.recipe) for b in found]

    def cycle_ps(netlist: Netlist) -> float:
        assert settings.registers is not None
        made = clocked(operation, netlist, technology, settings.registers)
        assert made.period_ps is not None  # the technology knows ps
        return made.period_ps

    watcher.stage("sizing")
    best = meet(points, technology, settings.clock_ps, cycle_ps if settings.registers else None)
    return replace(
        found[0], netlist=best.netlist, architecture=best.architecture, recipe=best.recipe
    )


def _explore(
    operation: Operation,
    technology: Technology,
    settings: Settings,
    store: Cache | None,
    watcher: Watcher,
) -> list[_Built]:
    """Return the netlists of all portfolios that no other one beats in size and delay."""
    from fmacost.hw.frontier import make_point, pareto
    from fmacost.hw.synthesis import explore

    key = _build_key(operation, technology, replace(settings, objective="any", clock_ps=None))
    known = [] if store is None else _load_all_built(store, key, technology)
    if known:
        return known
    watcher.stage("synthesis")
    found = explore(
        operation,
        technology,
        effort=settings.effort,
        jobs=settings.jobs,
        timeout_s=settings.timeout_s,
        progress=watcher.part,
    )
    spread = _spread(made.candidate.cost for made in found.made)
    built = [
        _Built(
            netlist=point.netlist,
            architecture=point.architecture,
            recipe=point.recipe,
            candidates=spread,
            left_out=found.left_out,
            yosys_seconds=found.yosys_seconds,
        )
        for point in pareto(
            make_point(m.netlist, technology, m.candidate.architecture, m.candidate.recipe)
            for m in found.made
        )
    ]
    if store is not None and not found.left_out:
        _store_built(store, key, built)
    return built


def measure_curve(
    operation: Operation,
    technology: Technology,
    settings: Settings,
    store: Cache | None,
    watcher: Watcher,
) -> list[Measured]:
    """Return the points of a unit's frontier of size and delay, from the smallest to the fastest.

    Parameters
    ----------
    settings : objective, registers and clock of which are not used
    store : None neither reads nor writes a cache

    Raises
    ------
    YosysError
        If synthesis fails or takes too long.
    TechnologyError
        If the technology has no delays.
    """
    start = time.monotonic()
    settings = replace(settings, objective="curve", registers=None, clock_ps=None)
    build_key = {**_build_key(operation, technology, settings), "points": CURVE_POINTS}
    key = _row_key(build_key, operation, settings)
    known = [] if store is None else _load_rows(store, key)
    if known:
        seconds = time.monotonic() - start
        return [
            Measured(
                row=row, netlist=None, counterexample=None, is_cached=True,
                yosys_seconds=0.0, seconds=seconds,
            )
            for row in known
        ]  # fmt: skip
    made = _measure_points(operation, technology, settings, store, watcher, key)
    is_kept = all(m.row.verification.is_proven for m, _ in made)
    if store is not None and is_kept and not any(b.left_out for _, b in made):
        store.store("rows", key, [m.row.to_json() for m, _ in made])
    return [m for m, _ in made]


def _measure_points(
    operation: Operation,
    technology: Technology,
    settings: Settings,
    store: Cache | None,
    watcher: Watcher,
    key: Mapping[str, object],
) -> list[tuple[Measured, _Built]]:
    from fmacost.hw.frontier import curve, make_point

    start = time.monotonic()
    found = _explore(operation, technology, settings, store, watcher)
    if found[0].left_out:
        watcher.notify(_left_out_text(operation, found[0].left_out, settings))
    watcher.stage("sizing")
    points = curve(
        [make_point(b.netlist, technology, b.architecture, b.recipe) for b in found],
        technology,
        CURVE_POINTS,
    )
    made = []
    for i, point in enumerate(points):
        built = replace(
            found[0], netlist=point.netlist, architecture=point.architecture, recipe=point.recipe
        )
        watcher.stage(f"check of {i + 1} in {len(points)}")
        proof, counterexample = _verify(operation, built.netlist, settings, watcher)
        row = _row(operation, technology, built, None, proof, {**key, "point": i})
        measured = Measured(
            row=row, netlist=built.netlist, counterexample=counterexample, is_cached=False,
            yosys_seconds=built.yosys_seconds, seconds=time.monotonic() - start,
        )  # fmt: skip
        made.append((measured, built))
    return made


def _load_rows(store: Cache, key: Mapping[str, object]) -> list[Row]:
    content = store.load("rows", key)
    if content is None:
        return []
    try:
        rows = [Row.from_json(each) for each in content]
        keys = ({**key, "point": i} for i in range(len(rows)))
        for row, own in zip(rows, keys, strict=True):
            if not row.verification.is_proven or row.digest != digest_of(own):
                raise RowError("a row was not proven, or is another's")
    except (RowError, TypeError) as error:
        store.reject("rows", key, str(error))
        return []
    return rows


def _left_out_text(operation: Operation, count: int, settings: Settings) -> str:
    return (
        f"{operation}: {count} candidates took longer than {settings.timeout_s:g} s or failed, "
        "and were left out; the row is not kept"
    )


def _clocked(
    operation: Operation, technology: Technology, built: _Built, settings: Settings
) -> Clocked | None:
    if settings.registers is None:
        return None
    return clocked(operation, built.netlist, technology, settings.registers)


def _with_streams(
    operation: Operation,
    made: Clocked,
    settings: Settings,
    proof: Proof,
    counterexample: str | None,
) -> tuple[Proof, str | None]:
    """Return the proof with what streams through the registers added."""
    assert settings.registers is not None
    found = check_streams(operation, made, settings.registers, settings.seed)
    if counterexample is None and found.counterexample is not None:
        counterexample = f"in a stream, {found.counterexample.describe(operation)}"
    mismatches = proof.mismatches + found.mismatches
    return replace(proof, cycles=found.cycles, mismatches=mismatches), counterexample


def _verify(
    operation: Operation, netlist: Netlist, settings: Settings, watcher: Watcher
) -> tuple[Proof, str | None]:
    from fmacost.sim.check import verify

    checked = verify(
        operation,
        netlist,
        exhaustive=settings.exhaustive,
        seed=settings.seed,
        progress=watcher.part,
    )
    proof = Proof(
        method=checked.method,
        vectors=checked.vectors,
        mismatches=checked.mismatches,
        regions=dict(checked.regions),
    )
    found = checked.counterexample
    return proof, None if found is None else found.describe(operation)


def _row(
    operation: Operation,
    technology: Technology,
    built: _Built,
    made: Clocked | None,
    proof: Proof,
    key: Mapping[str, Any],
    registers: Registers | None = None,
) -> Row:
    from fmacost.hw.static_timing import delay_ps
    from fmacost.hw.timing import delay_fo4

    netlist = made.netlist if made else built.netlist
    logic = built.netlist
    in_fo4 = delay_fo4(logic, technology) if technology.has_delays else None
    in_ps = delay_ps(logic, technology) if technology.characterisation else None
    spent = _energy_fj(operation, technology, netlist, registers)
    clock_ps = key.get("clock_ps")
    cycle_ps = made.period_ps if made else in_ps
    slack_ps = None if clock_ps is None or cycle_ps is None else clock_ps - cycle_ps
    return Row(
        unit=str(operation),
        technology=technology.name,
        objective=key["objective"],
        effort=key["effort"],
        recipe=built.recipe,
        architecture=built.architecture
        if registers is None
        else f"{built.architecture}, {registers}",
        cells=len(netlist.cells),
        transistors=technology.transistor_count(netlist) if technology.transistors else None,
        area_um2=technology.area(netlist),
        gates_ge=technology.gates_ge(netlist),
        logic_depth=logic.depth,
        delay_fo4=_rounded(in_fo4),
        delay_ps=_rounded(in_ps),
        energy_fj=_rounded(spent, 6),
        leakage_nw=_rounded(technology.leakage_nw(netlist), 6),
        cell_counts=netlist.count(),
        **(made.fields() if made else {}),
        clock_ps=clock_ps,
        slack_ps=_rounded(slack_ps),
        candidates=built.candidates,
        verification=proof,
        semantics=semantics(operation),
        versions=key["versions"],
        digest=digest_of(key),
    )


def _energy_fj(
    operation: Operation, technology: Technology, netlist: Netlist, registers: Registers | None
) -> float | None:
    """Return the mean energy of an operation on uniform codes; None if it is not known.

    Nor is it of a processing element: sums of uniform codes soon change no more.
    """
    from fmacost.hw.power import energy_fj
    from fmacost.hw.technology import TechnologyError
    from fmacost.sim.activity import replay
    from fmacost.sim.streams import make_stream

    if technology.characterisation is None or (registers and registers.ranks is None):
        return None
    stream = make_stream("uniform", operation, ENERGY_VECTORS)
    activity = replay_stream(netlist, registers, stream) if registers else replay(netlist, stream)
    try:
        return energy_fj(netlist, technology, activity.toggles).per(activity.steps).total
    except TechnologyError:  # a library may state delays alone
        return None


def _rounded(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(value, digits)
