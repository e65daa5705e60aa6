"""Synthesis: from an operation to the smallest mapped netlist that a portfolio of recipes finds.

The portfolio is the same for every unit. Each member is a front (full adders kept as cells, or
dissolved into logic) and a script for ABC; members with one front share a child process.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass

from fmacost.hw.technology import Technology
from fmacost.hw.units.build import TOP, to_rtlil
from fmacost.hw.yosys import Job, YosysError, run_yosys
from fmacost.sim.netlist import Netlist, NetlistError
from fmacost.sim.operation import Operation

EFFORTS = ("quick", "normal")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One member of the portfolio and what it came to."""

    architecture: str
    recipe: str
    transistors: int


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The smallest netlist found, and how.

    Attributes
    ----------
    candidates : every member of the portfolio, the order in which they were tried
    yosys_seconds : wall time of all Yosys processes, added up
    """

    netlist: Netlist
    architecture: str
    recipe: str
    candidates: tuple[Candidate, ...]
    yosys_seconds: float


def synthesise(
    operation: Operation,
    technology: Technology,
    *,
    effort: str = "normal",
    jobs: int | None = None,
    timeout_s: float = 300.0,
) -> Synthesis:
    """Build an operation's unit and return its smallest netlist in a technology.

    Parameters
    ----------
    effort : one of ``EFFORTS``
    jobs : Yosys processes at the same time; None is one for each processor
    timeout_s : limit on the wall time of each of them

    Raises
    ------
    ValueError
        If ``effort`` is unknown.
    YosysError
        If Yosys is missing, fails, takes too long, or gives no usable netlist.
    """
    if effort not in EFFORTS:
        raise ValueError(f"effort must be one of {', '.join(EFFORTS)}, not '{effort}'")
    recipes = portfolio(technology, effort)
    rtl = to_rtlil(operation)
    fronts = list(dict.fromkeys(recipe.front for recipe in recipes))
    work = [
        _job([rtl], technology, [recipe for recipe in recipes if recipe.front == front])
        for front in fronts
    ]
    done = run_yosys(work, parallel=jobs or os.cpu_count() or 1, timeout_s=timeout_s)
    texts = {name: text for finished in done for name, text in finished.outputs.items()}
    netlists = [_read_netlist(texts[recipe.file(0)], technology) for recipe in recipes]
    counts = [technology.transistor_count(netlist) for netlist in netlists]
    best = counts.index(min(counts))
    architecture = _ARCHITECTURE
    return Synthesis(
        netlist=netlists[best],
        architecture=architecture,
        recipe=recipes[best].name,
        candidates=tuple(
            Candidate(architecture, recipe.name, count)
            for recipe, count in zip(recipes, counts, strict=True)
        ),
        yosys_seconds=sum(finished.seconds for finished in done),
    )


def map_quickly(
    rtls: Sequence[str], technology: Technology, *, jobs: int | None = None, timeout_s: float = 600
) -> list[Netlist]:
    """Map many units given as RTLIL by the first recipe, several to a process.

    For checking many units rather than for counting one. Raises YosysError as ``synthesise``.
    """
    recipe = portfolio(technology, "quick")[0]
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


@dataclass(frozen=True, slots=True)
class Recipe:
    """A front and a list of Yosys commands that map what it leaves to cells."""

    front: str
    script: str

    @property
    def name(self) -> str:
        """Short name, such as ``dissolved/compress``."""
        return f"{self.front}/{self.script}"

    def file(self, index: int) -> str:
        """Name of the netlist that the recipe writes for one unit of a job."""
        return f"{index}-{self.front}-{self.script}.json"


_ARCHITECTURE = "ripple adders, Dadda multiplier, staged normaliser"

# Adder cells dissolved into logic that shares the XOR; kept, where no input is constant.
_DISSOLVED = """
module fmacost_fa (input A, B, CI, output S, CO);
  wire x = A ^ B;
  assign S = x ^ CI;
  assign CO = (A & B) | (CI & x);
endmodule
"""
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
    end else
      FA _TECHMAP_REPLACE_ (.A(A), .B(B), .CI(CI), .S(S), .CO(CO));
  endgenerate
endmodule
"""
_FRONTS = {"dissolved": _DISSOLVED, "kept": _KEPT}
_CONSTANTS = """
module ZERO (output Y); assign Y = 1'b0; endmodule
module ONE (output Y); assign Y = 1'b1; endmodule
"""

# ABC's compress2rs written out: it is an alias that Yosys' ABC does not have.
_COMPRESS = (
    "balance,-l;resub,-K,6,-l;rewrite,-l;resub,-K,6,-N,2,-l;refactor,-l;resub,-K,8,-l;"
    "balance,-l;resub,-K,8,-N,2,-l;rewrite,-l;resub,-K,10,-l;rewrite,-z,-l;"
    "resub,-K,10,-N,2,-l;balance,-l;resub,-K,12,-l;refactor,-z,-l;resub,-K,12,-N,2,-l;"
    "rewrite,-z,-l;balance,-l"
)
_ABC_SCRIPTS = {
    "amap": "strash;ifraig;scorr;dc2;strash;dch;amap;topo",
    "compress": f"strash;ifraig;scorr;{_COMPRESS};{_COMPRESS};dch;amap;topo",
    "compress3": (
        f"strash;&get,-n;&fraig,-x;&put;scorr;{_COMPRESS};{_COMPRESS};{_COMPRESS};dch;amap,-m;topo"
    ),
}
# The estimate everyone knows, as everyone runs it: no portfolio.
_PLAIN_CMOS2 = Recipe("dissolved", "plain")


def portfolio(technology: Technology, effort: str) -> tuple[Recipe, ...]:
    """Return the recipes that are tried for every unit of a technology at an effort."""
    if technology.name == "cmos2":
        return (_PLAIN_CMOS2,)
    if effort == "quick":
        return (Recipe("dissolved", "amap"),)
    return tuple(Recipe(front, script) for front in _FRONTS for script in _ABC_SCRIPTS)


def recipe_text(recipe: str) -> str:
    """Return the ABC script of a recipe name, or the Yosys commands of the plain recipe."""
    script = recipe.partition("/")[2]
    return _ABC_SCRIPTS.get(script, _plain_commands())


def _job(rtls: Sequence[str], technology: Technology, recipes: Sequence[Recipe]) -> Job:
    """Return the job that maps each unit by each recipe; the recipes share one front."""
    files = {f"{i}.il": rtl for i, rtl in enumerate(rtls)}
    files["adders.v"] = _FRONTS[recipes[0].front]
    files["constants.v"] = _CONSTANTS
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
