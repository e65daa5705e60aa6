"""Synthesis: from an operation to the best mapped netlist that a portfolio finds.

The portfolio is the same for every unit. A member is an architecture, a front (how full adders
are dissolved into logic, or that they are kept as cells) and a script for ABC. Members with one
architecture and front share a child process.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from fmacost.hw.architecture import DEFAULT_ARCHITECTURE, Architecture
from fmacost.hw.resubstitute import MAX_INPUT_BITS, read_result, resubstitution_job
from fmacost.hw.technology import Technology, TechnologyError
from fmacost.hw.timing import delay_fo4
from fmacost.hw.units.build import TOP, to_rtlil
from fmacost.hw.yosys import Finished, Job, YosysError, run_yosys, try_yosys
from fmacost.sim.netlist import Netlist, NetlistError
from fmacost.sim.operation import Operation

Progress = Callable[[int, int], None]

EFFORTS = ("quick", "normal", "max")
OBJECTIVES = ("area", "delay", "adp")  # adp: the product of area and delay


@dataclass(frozen=True, slots=True)
class Recipe:
    """A front and a script, by name."""

    front: str
    script: str

    def __str__(self) -> str:
        return f"{self.front}/{self.script}"

    def file(self, index: int) -> str:
        """Return the name of the netlist that the recipe writes for one unit of a job."""
        return f"{index}-{self.front}-{self.script}.json"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One member of the portfolio and what it came to.

    Attributes
    ----------
    cost : transistors, or area in µm² in a technology that has areas
    delay_fo4 : of the critical path, NaN in a technology without delays
    """

    architecture: str
    recipe: str
    cost: float
    delay_fo4: float


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The best netlist found, and how.

    Attributes
    ----------
    candidates : every member of the portfolio that gave a netlist, in the order of the portfolio
    left_out : members that gave none, since their process took too long or failed; where there
        are some, another run may find another netlist
    yosys_seconds : wall time of all Yosys processes, added up
    """

    netlist: Netlist
    architecture: str
    recipe: str
    candidates: tuple[Candidate, ...]
    left_out: int
    yosys_seconds: float


@dataclass(frozen=True, slots=True)
class Made:
    """A candidate with its netlist."""

    netlist: Netlist
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class Exploration:
    """All netlists of some portfolios; ``left_out`` and ``yosys_seconds`` as ``Synthesis`` has."""

    made: tuple[Made, ...]
    left_out: int
    yosys_seconds: float


# How a full adder is dissolved: logic optimisation does not find one form from another.
_DISSOLVED = """
module fmacost_fa (input A, B, CI, output S, CO);
  wire x = A ^ B;
  assign S = x ^ CI;
  assign CO = (A & B) | (CI & x);
endmodule
"""
_LATE = """
module fmacost_fa (input A, B, CI, output S, CO);
  wire x = B ^ CI;
  assign S = x ^ A;
  assign CO = (B & CI) | (A & x);
endmodule
"""
_MULTIPLEXED = """
module fmacost_fa (input A, B, CI, output S, CO);
  wire x = A ^ B;
  assign S = x ^ CI;
  assign CO = x ? CI : A;
endmodule
"""
# Kept as cells where no input is constant.
_KEPT = """
module fmacost_fa (input A, B, CI, output S, CO);
  parameter _TECHMAP_CONSTMSK_A_ = 1'b0;
  parameter _TECHMAP_CONSTMSK_B_ = 1'b0;
  parameter _TECHMAP_CONSTMSK_CI_ = 1'b0;
  generate
    if (_TECHMAP_CONSTMSK_A_ || _TECHMAP_CONSTMSK_B_ || _TECHMAP_CONSTMSK_CI_) begin
      wire x = A ^ B;
      assign S = x ^ CI;
      assign CO = (A & B) | (CI & x);
    end else begin
      wire s, co;
      \\{cell}  _TECHMAP_REPLACE_
        (.\\{A} (A), .\\{B} (B), .\\{CI} (CI), .\\{S} (s), .\\{CO} (co));
      assign S = {not S}s;
      assign CO = {not CO}co;
    end
  endgenerate
endmodule
"""
DISSOLVING = {"dissolved": _DISSOLVED, "late": _LATE, "multiplexed": _MULTIPLEXED}
_FRONTS = (*DISSOLVING, "kept")
CONSTANTS = """
module ZERO (output Y); assign Y = 1'b0; endmodule
module ONE (output Y); assign Y = 1'b1; endmodule
"""

_CLEAN = "strash;ifraig;scorr;dc2;strash"
# ABC's compress2rs written out: it is an alias that Yosys' ABC does not have.
_COMPRESS = (
    "balance,-l;resub,-K,6,-l;rewrite,-l;resub,-K,6,-N,2,-l;refactor,-l;resub,-K,8,-l;"
    "balance,-l;resub,-K,8,-N,2,-l;rewrite,-l;resub,-K,10,-l;rewrite,-z,-l;"
    "resub,-K,10,-N,2,-l;balance,-l;resub,-K,12,-l;refactor,-z,-l;resub,-K,12,-N,2,-l;"
    "rewrite,-z,-l;balance,-l"
)
# SOP balancing (Mishchenko et al. 2011) and delay-aware choices: they turn ripples into trees.
_FLATTEN = "&get,-n;&st;&if,-g,-K,6;&synch2,-R,20;&put"
_FAST = f"{_CLEAN};{_FLATTEN};{_FLATTEN};strash;{_COMPRESS.replace(',-l', '')}"
_ABC_SCRIPTS = {
    "amap": f"{_CLEAN};dch;amap;topo",
    "compress": f"strash;ifraig;scorr;{_COMPRESS};{_COMPRESS};dch;amap;topo",
    "compress3": (
        f"strash;&get,-n;&fraig,-x,-C,100;&put;scorr;{_COMPRESS};{_COMPRESS};{_COMPRESS};dch;amap,-m;topo"
    ),
    # Bounded by steps and not by time: the same digits on every machine.
    "deep": f"{_CLEAN};&get,-n;&deepsyn,-I,1,-J,20;&put;dch;amap;topo",
    "choices": "strash;ifraig;dch;amap;topo",  # for what is mapped already
    "choices-mux": "strash;ifraig;dch;amap,-m;topo",
    # Adding and removing redundancy, proven by SAT; it loses the name that Yosys asks for.
    "redundancy": (
        "strash;ifraig;&get,-n;&rrr,-X,2;&put;write_aiger,-s,netlist.aig;read,netlist.aig;"
        "dch;amap;topo"
    ),
    "flat-amap": f"{_FAST};dch;amap;topo",
    "flat-map": f"{_FAST};dch;map,-B,0.9;topo",
    "flat-nf": f"{_FAST};&get,-n;&dch,-f;&nf;&put;topo",
    "nf": f"{_CLEAN};{_FLATTEN};{_FLATTEN};&get,-n;&dch,-f;&nf;&put;topo",
}
# The estimate everyone knows, as everyone runs it: no portfolio.
_PLAIN_CMOS2 = Recipe("dissolved", "plain")

_SMALL = (
    DEFAULT_ARCHITECTURE,
    Architecture(multiplier="recoded-mac"),
    Architecture(multiplier="baugh-wooley", reduction="dadda"),
    Architecture(multiplier="baugh-wooley", reduction="dadda", normalise="factors"),
)
_QUICK_TREES = (
    Architecture(reduction="dadda", adder="brent-kung"),
    Architecture(multiplier="baugh-wooley", reduction="dadda", adder="brent-kung"),
    Architecture(multiplier="booth", reduction="wallace", adder="sklansky"),
)
_SCRIPTS_OF = {  # objective: scripts at normal effort
    "area": ("amap", "compress3"),
    "delay": ("flat-nf", "nf"),
    "adp": ("amap", "flat-amap", "flat-map"),
}
Member = tuple[Architecture, Recipe]


def portfolio(technology: Technology, objective: str, effort: str) -> tuple[Member, ...]:
    """Return what is tried for every unit of a technology.

    Raises
    ------
    ValueError
        If the objective or the effort is unknown.
    """
    for name, value, known in (
        ("objective", objective, OBJECTIVES),
        ("effort", effort, EFFORTS),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, not '{value}'")
    if technology.name == "cmos2":
        return ((DEFAULT_ARCHITECTURE, _PLAIN_CMOS2),)
    scripts = _SCRIPTS_OF[objective]
    if effort == "quick":
        return ((DEFAULT_ARCHITECTURE, Recipe("dissolved", scripts[0])),)
    architectures = _SMALL if objective == "area" else (*_SMALL[:1], *_QUICK_TREES)
    fronts = ["dissolved", "late"]
    if effort == "max":
        fronts += ["multiplexed", "kept"] if technology.full_adder else ["multiplexed"]
        scripts = (*scripts, "compress", "deep") if objective == "area" else scripts
    elif technology.area_um2 is not None and technology.full_adder:
        fronts += ["kept"]
    return tuple(
        (architecture, Recipe(front, script))
        for architecture, front, script in product(architectures, fronts, scripts)
        if script != "deep" or front == "dissolved"
    )


def _ignore(done: int, total: int) -> None:
    pass


def synthesise(
    operation: Operation,
    technology: Technology,
    *,
    objective: str = "area",
    effort: str = "normal",
    jobs: int | None = None,
    timeout_s: float = 300.0,
    progress: Progress = _ignore,
) -> Synthesis:
    """Build an operation's unit and return its best netlist in a technology.

    Parameters
    ----------
    objective : one of ``OBJECTIVES``
    effort, jobs, timeout_s, progress : as ``explore`` has them; raises as it does
    """
    found = explore(
        operation,
        technology,
        (objective,),
        effort=effort,
        jobs=jobs,
        timeout_s=timeout_s,
        progress=progress,
    )
    best = min(found.made, key=lambda made: _score(objective, made.candidate))
    return Synthesis(
        netlist=best.netlist,
        architecture=best.candidate.architecture,
        recipe=best.candidate.recipe,
        candidates=tuple(made.candidate for made in found.made),
        left_out=found.left_out,
        yosys_seconds=found.yosys_seconds,
    )


def explore(
    operation: Operation,
    technology: Technology,
    objectives: Sequence[str] = OBJECTIVES,
    *,
    effort: str = "normal",
    jobs: int | None = None,
    timeout_s: float = 300.0,
    progress: Progress = _ignore,
) -> Exploration:
    """Build an operation's unit and return all netlists that some portfolios find.

    Parameters
    ----------
    objectives : whose portfolios are tried, what several share once; of ``OBJECTIVES``
    effort : one of ``EFFORTS``
    jobs : child processes at the same time; None is one for each processor
    timeout_s : limit on the wall time of each of them; one that takes longer leaves the portfolio
    progress : is told how many of the child processes have ended, and of how many

    Raises
    ------
    ValueError
        If an objective or ``effort`` is unknown; TechnologyError, which is one, if the technology
        has no delays to minimise.
    YosysError
        If Yosys is missing, or no member of a portfolio gives a usable netlist.
    """
    members = [m for o in objectives for m in portfolio(technology, o, effort)]
    if set(objectives) != {"area"} and not technology.has_delays:
        raise TechnologyError(
            f"technology {technology.name} has no delays: only area can be minimised"
        )
    is_refined = "area" in objectives and len(portfolio(technology, "area", effort)) > 1
    # What normal tries belongs to max too, so that max is never larger.
    efforts = EFFORTS[1 : EFFORTS.index(effort) + 1] if is_refined else ()
    schedules = [_schedule(each, operation.input_bits) for each in efforts]
    runner = _Runner(jobs or os.cpu_count() or 1, timeout_s, progress)
    runner.expect(sum(schedule.jobs for schedule in schedules))
    rtls = {a: to_rtlil(operation, a) for a in dict.fromkeys(a for a, _ in members)}
    members = _distinct(members, rtls)
    netlists = _netlists(rtls, technology, members, runner)
    left_out = len(members) - len(netlists)
    mapped = {(made.candidate.architecture, made.candidate.recipe): made for made in netlists}

    def of(objective: str, effort: str) -> list[Made]:
        names = [(str(a), str(recipe)) for a, recipe in portfolio(technology, objective, effort)]
        return [mapped[name] for name in names if name in mapped]

    for objective in objectives:
        if objective != "area":
            netlists += _buffered(of(objective, effort), technology, weigh_cost=objective == "adp")
    runner.failed = 0
    for each, schedule in zip(efforts, schedules, strict=True):
        netlists += _refined(of("area", each), technology, schedule, runner.run)
    return Exploration(tuple(netlists), left_out + runner.failed, runner.yosys_seconds)


class _Runner:
    """Runs child processes: tells how many are done, how many failed, and how long Yosys ran."""

    def __init__(self, parallel: int, timeout_s: float, progress: Progress) -> None:
        self._parallel, self._timeout_s, self._progress = parallel, timeout_s, progress
        self._done = self._total = 0
        self.failed = 0
        self.yosys_seconds = 0.0

    def expect(self, jobs: int) -> None:
        """Add to the number of jobs that are to come."""
        self._total += jobs

    def run(self, jobs: Sequence[Job]) -> list[Finished | YosysError]:
        """Run expected jobs, as ``try_yosys`` does."""
        results = try_yosys(
            jobs, parallel=self._parallel, timeout_s=self._timeout_s, ended=self._count
        )
        for job, result in zip(jobs, results, strict=True):
            if isinstance(result, YosysError):
                self.failed += 1
            elif not job.command:
                self.yosys_seconds += result.seconds
        return results

    def _count(self) -> None:
        self._done += 1
        self._progress(self._done, self._total)


def _made(netlist: Netlist, technology: Technology, architecture: str, recipe: str) -> Made:
    delay = delay_fo4(netlist, technology) if technology.has_delays else float("nan")
    return Made(netlist, Candidate(architecture, recipe, technology.cost(netlist), delay))


def _score(objective: str, candidate: Candidate) -> tuple[float, float]:
    """Return what is minimised, then what decides among equals."""
    cost, delay = candidate.cost, candidate.delay_fo4
    match objective:
        case "area":
            return cost, delay
        case "delay":
            return delay, cost
        case _:
            return cost * delay, cost


def _distinct(members: Sequence[Member], rtls: Mapping[Architecture, str]) -> list[Member]:
    """Leave out what is the same unit by the same recipe: a choice may have no effect on it."""
    first: dict[tuple[str, Recipe], Member] = {}
    for architecture, recipe in members:
        first.setdefault((rtls[architecture], recipe), (architecture, recipe))
    return list(first.values())


def _netlists(
    rtls: Mapping[Architecture, str],
    technology: Technology,
    members: Sequence[Member],
    runner: _Runner,
) -> list[Made]:
    """Run the portfolio; return what it made."""
    shares: dict[tuple[Architecture, str, bool], list[Recipe]] = {}
    for architecture, recipe in members:
        key = architecture, recipe.front, recipe.script == "deep"  # the slow one apart
        shares.setdefault(key, []).append(recipe)
    order = sorted(shares, key=lambda key: not key[2])  # the slow ones first
    work = [_job([rtls[key[0]]], technology, shares[key]) for key in order]
    runner.expect(len(work))
    results = runner.run(work)
    by_share = dict(zip(order, results, strict=True))
    made: list[Made] = []
    for key, recipes in shares.items():
        result = by_share[key]
        if isinstance(result, Finished):
            made += [
                _made(
                    _read_netlist(result.outputs[recipe.file(0)], technology),
                    technology,
                    str(key[0]),
                    str(recipe),
                )
                for recipe in recipes
            ]
    if not made:
        raise next(result for result in results if isinstance(result, YosysError))
    return made


_BUFFERED = 3  # candidates that get buffers, the best of an objective first
_MOST_CELLS_BUFFERED = 3000  # beyond, buffering takes longer than synthesis


def _buffered(netlists: Sequence[Made], technology: Technology, *, weigh_cost: bool) -> list[Made]:
    """Return the best candidates again, with buffers on nets that drive much."""
    from fmacost.hw import buffering, sizing

    buffered = buffering.buffered if technology.drive else sizing.buffered
    objective = "adp" if weigh_cost else "delay"
    best = sorted(netlists, key=lambda made: _score(objective, made.candidate))[:_BUFFERED]
    return [
        _made(
            buffered(made.netlist, technology, weigh_cost=weigh_cost),
            technology,
            made.candidate.architecture,
            f"{made.candidate.recipe}+buffers",
        )
        for made in best
        if len(made.netlist.cells) <= _MOST_CELLS_BUFFERED
    ]


@dataclass(frozen=True, slots=True)
class _Schedule:
    """How long netlists are refined.

    Attributes
    ----------
    starts : smallest candidates that ``redundancy`` is tried on first; 0 leaves that out
    turns : of resubstitution and mapping
    patience : turns without a smaller netlist after which the rest is left out
    scripts : for mapping anew
    """

    starts: int
    turns: int
    patience: int
    scripts: tuple[str, ...] = ("choices", "choices-mux", "compress3")

    @property
    def jobs(self) -> int:
        """How many child processes this takes at most."""
        return self.starts + 2 * _REFINED * self.turns


_REFINED = 2  # candidates that take the turns
_SWEEPS, _TEMPERATURE = 2, 0.25  # of one resubstitution


def _schedule(effort: str, input_bits: int) -> _Schedule:
    """Return as many turns as take much the same time; of many inputs each takes longer."""
    is_max = effort == "max"
    if input_bits <= 16:
        return _Schedule(6, 150, 50) if is_max else _Schedule(0, 20, 4)
    if input_bits <= MAX_INPUT_BITS:
        return _Schedule(0, 40, 12) if is_max else _Schedule(0, 2, 2)
    return _Schedule(0, 12, 4) if is_max else _Schedule(0, 1, 1, ("choices",))


def _refined(
    netlists: Sequence[Made],
    technology: Technology,
    schedule: _Schedule,
    run: Callable[[Sequence[Job]], list[Finished | YosysError]],
) -> list[Made]:
    """Return the smallest candidates again, resubstituted and mapped anew in turn.

    Resubstitution leaves logic that mapping can share again, and the other way round: the two
    take turns, each from what the other left, and the smallest netlist on the way is kept.
    """
    usable_cells = technology.cells.keys() - {*technology.arithmetic}
    cost = {n: c for n, c in technology.cell_cost.items() if n in usable_cells}
    usable = [made for made in netlists if not technology.arithmetic_cells(made.netlist)]
    starts = sorted(usable, key=lambda made: made.candidate.cost)[: schedule.starts or _REFINED]
    if not starts:
        return []
    best = current = [start.netlist for start in starts]

    def step(jobs: Sequence[Job], read: Callable[[Finished], Netlist]) -> None:
        nonlocal best, current
        current = [  # a step that takes too long is left out
            netlist if isinstance(result, YosysError) else read(result)
            for netlist, result in zip(current, run(jobs), strict=True)
        ]
        best = [min(pair, key=technology.cost) for pair in zip(best, current, strict=True)]

    def remap(*scripts: str) -> None:
        step(
            [_remapping_job(netlist, technology, scripts) for netlist in current],
            lambda done: min(
                (_read_netlist(text, technology) for text in done.outputs.values()),
                key=technology.cost,
            ),
        )

    if schedule.starts:
        remap("redundancy")
    order = sorted(range(len(best)), key=lambda i: technology.cost(best[i]))[:_REFINED]
    starts, best = [starts[i] for i in order], [best[i] for i in order]
    current = best
    smallest, last = min(map(technology.cost, best)), 0
    for turn in range(schedule.turns):
        if turn - last >= schedule.patience:
            break
        step(
            [
                resubstitution_job(
                    netlist,
                    cost,
                    sweeps=_SWEEPS,
                    temperature=_TEMPERATURE,
                    seed=turn * _REFINED + place,
                )
                for place, netlist in enumerate(current)
            ],
            lambda done: read_result(done, technology.cells),
        )
        remap(*schedule.scripts)
        if (cost_now := min(map(technology.cost, best))) < smallest:
            smallest, last = cost_now, turn + 1
    return [
        _made(netlist, technology, start.architecture, f"{start.recipe}+resubstitution")
        for netlist, start in zip(best, (start.candidate for start in starts), strict=True)
    ]


def _remapping_job(netlist: Netlist, technology: Technology, scripts: Sequence[str]) -> Job:
    """Return the job that maps a mapped netlist anew, by several scripts."""
    recipes = [Recipe("mapped", script) for script in scripts]
    lines = ["read_verilog netlist.v", f"hierarchy -top {TOP}", "proc", "flatten", "opt -full"]
    lines += [f"synth -flatten -noabc -run coarse:check -top {TOP}", "design -save front"]
    for recipe in recipes:
        lines += ["design -load front", *_map_commands(recipe), f"write_json {recipe.file(0)}"]
    files = {
        "netlist.v": netlist.to_verilog(),
        "constants.v": CONSTANTS,
        "cells.genlib": technology.genlib(),
    }
    return Job("\n".join(lines) + "\n", files, tuple(recipe.file(0) for recipe in recipes))


def map_quickly(
    rtls: Sequence[str], technology: Technology, *, jobs: int | None = None, timeout_s: float = 600
) -> list[Netlist]:
    """Map many units given as RTLIL by the first recipe, several to a process.

    For checking many units rather than for counting one. Raises YosysError as ``synthesise``.
    """
    ((_, recipe),) = portfolio(technology, "area", "quick")
    parallel = min(jobs or os.cpu_count() or 1, len(rtls))
    shares = [rtls[i::parallel] for i in range(parallel)]
    work = [_job(share, technology, [recipe]) for share in shares]
    netlists: list[Netlist | None] = [None] * len(rtls)
    for i, finished in enumerate(run_yosys(work, parallel=parallel, timeout_s=timeout_s)):
        netlists[i::parallel] = [
            _read_netlist(finished.outputs[recipe.file(k)], technology)
            for k in range(len(shares[i]))
        ]
    return [netlist for netlist in netlists if netlist is not None]


def recipe_text(recipe: str) -> str:
    """Return the ABC script of a recipe name, or the Yosys commands of the plain recipe."""
    script = recipe.partition("/")[2].partition("+")[0]
    return _ABC_SCRIPTS.get(script, _plain_commands())


def _job(rtls: Sequence[str], technology: Technology, recipes: Sequence[Recipe]) -> Job:
    """Return the job that maps each unit by each recipe; the recipes share one front."""
    files = {f"{i}.il": rtl for i, rtl in enumerate(rtls)}
    files["adders.v"] = _adders(recipes[0].front, technology)
    files["constants.v"] = CONSTANTS
    files["cells.genlib"] = technology.genlib()
    lines: list[str] = []
    for i in range(len(rtls)):
        lines += [
            "design -reset",
            f"read_rtlil {i}.il",
            f"hierarchy -top {TOP}",
            "proc",
            "flatten",
            "opt -full",
            "techmap -map adders.v t:fmacost_fa",
            "opt -full",
            f"synth -flatten -noabc -run coarse:check -top {TOP}",
            "opt_clean -purge",
            "design -save front",
        ]
        for recipe in recipes:
            lines += ["design -load front", *_map_commands(recipe), f"write_json {recipe.file(i)}"]
    outputs = tuple(recipe.file(i) for i in range(len(rtls)) for recipe in recipes)
    return Job("\n".join(lines) + "\n", files, outputs)


def _adders(front: str, technology: Technology) -> str:
    if front in DISSOLVING:
        return DISSOLVING[front]
    adder = technology.full_adder
    if adder is None:
        raise ValueError(f"technology {technology.name} has no full adder to keep")
    text = _KEPT.replace("{cell}", adder.cell)
    for pin, name in adder.pins.items():
        text = text.replace(f"{{{pin}}}", name)
        text = text.replace(f"{{not {pin}}}", "~" if pin in adder.inverted else "")
    return text


def _map_commands(recipe: Recipe) -> list[str]:
    if recipe == _PLAIN_CMOS2:
        return _plain_commands().split("; ")
    return [
        f'abc -genlib cells.genlib -script "+{_ABC_SCRIPTS[recipe.script]}"',
        "techmap -map constants.v t:ZERO t:ONE",
        "opt_clean -purge",
    ]


def _plain_commands() -> str:
    renames = [f"chtype -set {gate} t:$_{gate}_" for gate in ("NAND", "NOR", "NOT")]
    return "; ".join([f"synth -flatten -top {TOP}", "abc -g cmos2", "opt_clean -purge", *renames])


def _read_netlist(text: str, technology: Technology) -> Netlist:
    try:
        return Netlist.from_yosys_json(json.loads(text), technology.cells)
    except (NetlistError, json.JSONDecodeError) as error:
        raise YosysError(f"Yosys wrote a netlist that cannot be used: {error}") from None
