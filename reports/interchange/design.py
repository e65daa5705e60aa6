"""What is written for other tools: a measured unit, and the names it gets there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from fmacost.hw.technology import Technology
from fmacost.reports.clocked import Registers
from fmacost.reports.row import Row
from fmacost.sim.netlist import Netlist
from fmacost.sim.operation import Operation

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A measured unit with its mapped netlist.

    Attributes
    ----------
    registers : those that the netlist has around or inside its logic, None if it has none
    seed : of stimuli
    """

    operation: Operation
    technology: Technology
    registers: Registers | None
    row: Row
    netlist: Netlist
    seed: int = 0

    @property
    def title(self) -> str:
        """Return one line that says what this is."""
        return one_line(f"{self.row.unit} in {self.row.technology}, {self.row.digest[:12]}")


def make_design(
    operation: Operation,
    technology: Technology,
    registers: Registers | None,
    row: Row,
    netlist: Netlist,
    seed: int = 0,
) -> Design:
    """Return a design whose netlist has the unit's name and the operands in their order."""
    order = [*operation.input_widths, "clear", "clk"]
    named = replace(
        netlist,
        name=identifier(str(operation)),
        inputs=_ordered(netlist.inputs, order),
        outputs=_ordered(netlist.outputs, ["result", "invalid"]),
    )
    return Design(
        operation=operation, technology=technology, registers=registers,
        row=row, netlist=named, seed=seed,
    )  # fmt: skip


def identifier(text: str) -> str:
    """Return text as a name that every language here takes: ``fma_int8_int32``."""
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")


def one_line(text: str) -> str:
    """Return text without what would end a comment or a line."""
    return "".join(c if c.isprintable() and c.isascii() else "?" for c in text)


def _ordered(ports: Mapping[str, _T], order: list[str]) -> dict[str, _T]:
    return {name: ports[name] for name in dict.fromkeys([*order, *ports]) if name in ports}
