"""Where a unit's transistors go: each stage mapped by itself, in the hierarchy of its modules.

The stages are the submodules that a unit is wired from. Yosys keeps them apart, so that nothing is
shared or simplified across their borders; what a flattened netlist saves over their sum is the
price of the borders. These netlists are counted and not used: the proven netlist is the flat one.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any

from fmacost.hw.architecture import DEFAULT_ARCHITECTURE, Architecture
from fmacost.hw.parts.adders import FULL_ADDER
from fmacost.hw.synthesis import CONSTANTS, DISSOLVING, recipe_text
from fmacost.hw.technology import Technology
from fmacost.hw.units.build import TOP, to_rtlil
from fmacost.hw.yosys import Job, YosysError, run_yosys
from fmacost.sim.netlist import CellType, Netlist, NetlistError
from fmacost.sim.operation import Operation

FRONTS = ("dissolved", "late")
SCRIPTS = ("amap", "compress3")  # of all pairs the smallest counts, for each stage


class Stage(StrEnum):
    """A part of a unit that is counted by itself, in the order in which data passes."""

    DECODE = "decode"
    MULTIPLY = "significand multiply"
    EXPONENT_ADD = "exponent add"
    ALIGN = "align"
    ADD = "add"
    PARTIAL_PRODUCTS = "partial products"
    COMPRESSION = "compression"
    FINAL_ADD = "final add"
    NORMALISE = "normalise"
    ROUND = "round"
    PACK = "pack and specials"


# Module names below the top, a dot at the end of each; the first that matches counts. What is left
# is the top itself: signs, special values, saturation.
_MODULES = (
    (r"decode_[abc]\.", Stage.DECODE),
    (r"multiply\.", Stage.MULTIPLY),
    (r"(align\.)?exponent_add\.", Stage.EXPONENT_ADD),
    (r"align(_\w+)?\.", Stage.ALIGN),
    (r"add\.", Stage.ADD),
    (r"partial_products\.", Stage.PARTIAL_PRODUCTS),
    (r"compress\.", Stage.COMPRESSION),
    (r"final_add\.", Stage.FINAL_ADD),
    (r"(anticipate|normalise(_[ab])?)\.", Stage.NORMALISE),
    (r"round\.", Stage.ROUND),
    (r"pack\.|$", Stage.PACK),
)

_GATES = {
    kind.name: kind
    for kind in (
        CellType("$_NOT_", ("A",), (("Y", "~A"),)),
        CellType("$_AND_", ("A", "B"), (("Y", "A & B"),)),
        CellType("$_OR_", ("A", "B"), (("Y", "A | B"),)),
        CellType("$_XOR_", ("A", "B"), (("Y", "A ^ B"),)),
        CellType("$_XNOR_", ("A", "B"), (("Y", "~(A ^ B)"),)),
        CellType("$_MUX_", ("A", "B", "S"), (("Y", "A & ~S | B & S"),)),
    )
}


def stage_transistors(
    operation: Operation,
    technology: Technology,
    *,
    architecture: Architecture = DEFAULT_ARCHITECTURE,
    timeout_s: float,
) -> dict[Stage, int]:
    """Return the transistors of every stage of an operation's unit, each mapped by itself.

    Adder cells are dissolved. Stages without a gate are left out, but for the final adder of a
    tree: some reductions need none. The offset of an exponent counts with the exponent adder, or
    with alignment where there is no product.

    Raises
    ------
    YosysError
        If Yosys is missing, fails, takes too long, or writes what cannot be counted.
    """
    job = _job(operation, technology, architecture)
    (done,) = run_yosys([job], parallel=1, timeout_s=timeout_s)
    counts = [module_transistors(text, technology) for text in done.outputs.values()]
    stages: dict[Stage, int] = {}
    for module in counts[0]:
        stage = _stage_in(operation, module)
        smallest = min(count.get(module, 0) for count in counts)
        stages[stage] = stages.get(stage, 0) + smallest
    if Stage.COMPRESSION in stages:
        stages.setdefault(Stage.FINAL_ADD, 0)
    return {s: stages[s] for s in Stage if stages.get(s) or (s in stages and s is Stage.FINAL_ADD)}


def described_unit(
    operation: Operation, architecture: Architecture, *, timeout_s: float
) -> tuple[Netlist, dict[str, Stage]]:
    """Return a unit as it is described, not optimised, and the stage of each of its cells.

    The cells are two-input gates, inverters and multiplexers of Yosys' own library.

    Raises
    ------
    YosysError
        If Yosys is missing, fails, takes too long, or writes what cannot be read.
    """
    script = (
        f"read_rtlil unit.il; hierarchy -top {TOP}; proc; opt_clean; "
        f"techmap -map adders.v t:{FULL_ADDER}; techmap; simplemap; "
        "flatten -noscopeinfo; opt_clean; write_json unit.json"
    )
    files = {"unit.il": to_rtlil(operation, architecture), "adders.v": DISSOLVING[FRONTS[0]]}
    job = Job(script.replace("; ", "\n") + "\n", files, ("unit.json",))
    (done,) = run_yosys([job], parallel=1, timeout_s=timeout_s)
    try:
        netlist = Netlist.from_yosys_json(json.loads(done.outputs["unit.json"]), _GATES)
    except (NetlistError, json.JSONDecodeError) as error:
        raise YosysError(f"Yosys wrote a unit that cannot be read: {error}") from None
    return netlist, {c.name: _stage_in(operation, _module_of(c.name)) for c in netlist.cells}


def _module_of(cell: str) -> str:
    r"""Return the module that a cell was in before flattening: ``$flatten\align.\shift.$12``."""
    match = re.match(r"\$flatten\\(.*?)\.\$", cell)
    return f"{TOP}.{match[1]}".replace("\\", "") if match else TOP


def parse_architecture(text: str) -> Architecture:
    """Return the architecture that its text names; raise ValueError if it is none."""
    parts = text.split(", ")
    if len(parts) not in (len(fields(Architecture)) - 1, len(fields(Architecture))):
        raise ValueError(f"'{text}' is no architecture")
    return Architecture(*parts)


def stage_of(module: str) -> Stage:
    """Return the stage that a module of a unit belongs to; raise YosysError for an unknown one."""
    path = module.removeprefix(TOP).lstrip(".")
    for pattern, stage in _MODULES:
        if re.match(pattern, f"{path}." if path else ""):
            return stage
    raise YosysError(f"module {module} belongs to no stage")


def _stage_in(operation: Operation, module: str) -> Stage:
    """Return the stage of a module; without a product, the exponent's offset is alignment."""
    stage = stage_of(module)
    return Stage.ALIGN if stage is Stage.EXPONENT_ADD and operation.product is None else stage


def module_transistors(text: str, technology: Technology) -> dict[str, int]:
    """Return the transistors of each module itself in JSON that Yosys wrote, submodules apart.

    Raises
    ------
    YosysError
        If it is no such JSON, or has a cell that is neither a module nor of the technology.
    """
    try:
        modules: Mapping[str, Any] = json.loads(text)["modules"]
        cells = {
            name: [str(cell["type"]) for cell in module["cells"].values()]
            for name, module in modules.items()
        }
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise YosysError(f"Yosys wrote modules that cannot be counted: {error!r}") from None
    ignored = {*cells, "$scopeinfo"}
    unknown = {kind for kinds in cells.values() for kind in kinds}
    unknown -= {*ignored, *technology.transistors}
    if unknown:
        raise YosysError(f"no cells of {technology.name}: {', '.join(sorted(unknown))}")
    return {
        name: sum(technology.transistors[kind] for kind in kinds if kind not in ignored)
        for name, kinds in cells.items()
    }


def _job(operation: Operation, technology: Technology, architecture: Architecture) -> Job:
    """Return the job that maps every module by every front and script, the hierarchy kept."""
    files = {
        "unit.il": to_rtlil(operation, architecture),
        "constants.v": CONSTANTS,
        "cells.genlib": technology.genlib(),
    }
    lines = ["read_rtlil unit.il", f"hierarchy -top {TOP}", "proc", "opt -full"]
    lines.append("design -save unit")
    outputs = []
    for front in FRONTS:
        files[f"{front}.v"] = DISSOLVING[front]
        lines += [
            "design -load unit",
            f"techmap -map {front}.v t:{FULL_ADDER}",
            "opt -full",
            f"synth -noabc -run coarse:check -top {TOP}",
            "opt_clean -purge",
            "design -save front",
        ]
        for script in SCRIPTS:
            outputs.append(f"{front}-{script}.json")
            lines += [
                "design -load front",
                f'abc -genlib cells.genlib -script "+{recipe_text(f"{front}/{script}")}"',
                "techmap -map constants.v t:ZERO t:ONE",
                "opt_clean -purge",
                f"write_json {outputs[-1]}",
            ]
    return Job("\n".join(lines) + "\n", files, tuple(outputs))
