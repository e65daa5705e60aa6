"""The forms in which a unit is written for other tools, each known by the end of a file's name."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from fmacost.reports.clocked import Registers
from fmacost.reports.errors import InputError
from fmacost.reports.export import check_writable, write_output

if TYPE_CHECKING:
    from fmacost.hw.technology import Technology
    from fmacost.reports.interchange.design import Design


@dataclass(frozen=True, slots=True)
class Form:
    """A form of a unit.

    Attributes
    ----------
    text : what it is, for people
    writer : function of this package that returns the content, as ``module:name``; a string, since
        the command line lists the forms and must not load what writes them
    registers : whether the netlist may have none alone, ``ranks`` of them, or ``any``
    check : function that refuses a technology, as ``module:name``
    """

    text: str
    writer: str
    registers: str = "any"
    check: str = ""

    def write(self, design: "Design") -> str | bytes:
        """Return the content of a file."""
        content: str | bytes = _resolve(self.writer)(design)
        return content


FORMS = {
    ".v": Form("mapped netlist, with the models of its cells", "logic:to_verilog"),
    ".json": Form("mapped netlist, as Yosys writes it", "logic:to_yosys_json"),
    ".blif": Form("mapped netlist, with the models of its cells", "logic:to_blif"),
    ".aig": Form("its logic as an and-inverter graph, AIGER", "logic:to_aiger"),
    ".aag": Form("the same in ASCII", "logic:to_ascii_aiger"),
    ".sp": Form(
        "SPICE deck of its transistors: cmos, cmos2", "spice:to_spice", check="spice:check_spice"
    ),
    ".rtl.v": Form("the unit before mapping, Verilog", "logic:to_unit_verilog", "none"),
    ".il": Form("the unit before mapping, RTLIL", "logic:to_unit_rtlil", "none"),
    ".tb.v": Form("self-checking test bench for .v and .rtl.v", "testbench:to_testbench", "ranks"),
    ".py": Form(
        "hwcomponents model: area, energy, latency, leakage",
        "component:to_component",
        "none",
        "component:check_component",
    ),
    ".csv": Form(
        "Accelergy table, named as its class: energy in pJ, area in µm²",
        "component:to_table",
        "none",
        "component:check_component",
    ),
    ".table.yaml": Form(
        "the set of Accelergy tables beside it",
        "component:to_set",
        "none",
        "component:check_component",
    ),
}


def form_of(path: Path) -> Form:
    """Return the form that a file's name asks for; raise InputError if there is none."""
    for suffix in sorted(FORMS, key=len, reverse=True):  # .tb.v before .v
        if path.name.endswith(suffix):
            return FORMS[suffix]
    raise InputError(f"cannot export to {path}: the name must end in {', '.join(FORMS)}")


def check_forms(
    paths: Sequence[Path], technology: "Technology", registers: Registers | None
) -> None:
    """Raise InputError early if a file cannot be written, in the form that its name asks for."""
    for path in paths:
        form = form_of(path)
        has = "none" if registers is None else "pe" if registers.ranks is None else "ranks"
        if form.registers not in ("any", has) and has != "none":
            kind = "--pe" if has == "pe" else "--pipeline"
            raise InputError(f"cannot export to {path} with {kind}: {form.text} has no registers")
        if form.check:
            _resolve(form.check)(technology)
        check_writable(path)


def write_forms(paths: Sequence[Path], design: "Design") -> None:
    """Write a design to files, each whole or not at all.

    Raises
    ------
    InputError
        If a file cannot be written.
    YosysError
        If Yosys cannot be run where a form needs it.
    """
    contents = [form_of(path).write(design) for path in paths]  # all of them before any file
    for path, content in zip(paths, contents, strict=True):
        write_output(path, content)


def _resolve(name: str) -> Any:
    return resolve_name(f"{__package__}.{name}")
