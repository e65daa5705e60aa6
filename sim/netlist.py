"""Mapped netlists as plain data: read, checked, ordered, counted and written without Yosys."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

_T = TypeVar("_T")

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN = re.compile(r"1'b[01]|[A-Za-z_][A-Za-z0-9_]*|\S")
_PRECEDENCE = {"|": 1, "^": 2, "&": 3}
_MAX_INPUTS = 10  # a truth table has 2**inputs bits
_MAX_PARENTHESES = 200  # each costs two stack frames
_REGISTER = re.compile(r"ff|latch|mem|^\$_?sr_", re.IGNORECASE)

# IEEE 1800-2017 table B.1: a name that is one of these must be escaped.
_KEYWORDS = frozenset(
    """
    accept_on alias always always_comb always_ff always_latch and assert assign assume automatic
    before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle
    checker class clocking cmos config const constraint context continue cover covergroup
    coverpoint cross deassign default defparam design disable dist do edge else end endcase
    endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface
    endmodule endpackage endprimitive endprogram endproperty endsequence endspecify endtable
    endtask enum event eventually expect export extends extern final first_match for force foreach
    forever fork forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins
    illegal_bins implements implies import incdir include initial inout input inside instance int
    integer interconnect interface intersect join join_any join_none large let liblist library
    local localparam logic longint macromodule matches medium modport module nand negedge nettype
    new nexttime nmos nor noshowcancelled not notif0 notif1 null or output package packed
    parameter pmos posedge primitive priority program property protected pull0 pull1 pulldown
    pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real
    realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1
    s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal
    showcancelled signed small soft solve specify specparam static string strong strong0 strong1
    struct super supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout
    time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type
    typedef union unique unique0 unsigned until until_with untyped use uwire var vectored virtual
    void wait wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor
    """.split()  # noqa: SIM905 - as a list it is ten times as long
)


class NetlistError(ValueError):
    """A netlist, or the document it is read from, is malformed. The message is one line."""

    def __init__(self, message: str) -> None:
        # Names come from untrusted documents: no line breaks, no terminal escapes.
        super().__init__("".join(c if c.isprintable() else ascii(c)[1:-1] for c in message))


@dataclass(frozen=True)
class CellType:
    """A cell of a library: combinational, or a register without reset and enable.

    Parameters
    ----------
    name : str
    inputs : tuple of pin names, at most 10
    outputs : tuple of (pin name, function)
        A function is Verilog over the input pins: ``~ & ^ |``, parentheses, ``1'b0``, ``1'b1``.
    clock : input pin at whose rising edge the outputs take the values of their functions; None for
        a combinational cell

    Raises
    ------
    ValueError
        If a pin is no plain identifier or appears twice, a function is malformed, or the clock is
        no input.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[tuple[str, str], ...]
    clock: str | None = None

    def __post_init__(self) -> None:
        if len(self.inputs) > _MAX_INPUTS:
            raise ValueError(
                f"cell type {self.name}: inputs must be 0..{_MAX_INPUTS}, not {len(self.inputs)}"
            )
        for pin, uses in Counter(self.pins).items():
            if not _IDENTIFIER.fullmatch(pin):
                raise ValueError(f"cell type {self.name}: pin {pin!r} is not an identifier")
            if uses > 1:
                raise ValueError(f"cell type {self.name}: pin {pin} appears {uses} times")
        if self.clock is not None and self.clock not in self.inputs:
            raise ValueError(f"cell type {self.name}: clock {self.clock!r} is not an input pin")
        _ = self._tables  # a malformed function is the library's fault: report it here

    @property
    def pins(self) -> tuple[str, ...]:
        """Input pins, then output pins."""
        return *self.inputs, *(pin for pin, _ in self.outputs)

    def truth_table(self, pin: str) -> int:
        """Return the function of output ``pin``: bit i is its value for input pattern i.

        The first input is the least significant bit of the pattern.

        Raises
        ------
        ValueError
            If the cell has no such output.
        """
        if pin not in self._tables:
            raise ValueError(f"cell type {self.name} has no output {pin!r}")
        return self._tables[pin]

    @cached_property
    def _tables(self) -> dict[str, int]:
        ones = (1 << (1 << len(self.inputs))) - 1
        columns = {
            pin: ones // ((1 << (1 << i)) + 1) << (1 << i) for i, pin in enumerate(self.inputs)
        }
        tables = {}
        for pin, function in self.outputs:
            try:
                tables[pin] = _evaluate(function, columns, ones)
            except ValueError as error:
                raise ValueError(f"cell type {self.name}, output {pin}: {error}") from None
        return tables


def _evaluate(function: str, columns: Mapping[str, int], ones: int) -> int:
    """Evaluate a Verilog expression on whole truth-table columns; ``ones`` is the true column."""
    if function.count("(") > _MAX_PARENTHESES:
        raise ValueError(f"more than {_MAX_PARENTHESES} parentheses")
    tokens = ["end of expression", *reversed(_TOKEN.findall(function))]

    def operand() -> int:
        token = tokens.pop()
        flip = 0
        while token == "~":
            flip ^= ones
            token = tokens.pop()
        if token == "(":
            value = expression(1)
            if tokens[-1] != ")":
                raise ValueError(f"expected ')', not {tokens[-1]!r}")
            tokens.pop()
        elif token in ("1'b0", "1'b1"):
            value = ones * int(token[-1])
        elif token in columns:
            value = columns[token]
        else:
            raise ValueError(f"expected an input pin, not {token!r}")
        return value ^ flip

    def expression(lowest: int) -> int:
        value = operand()
        while (precedence := _PRECEDENCE.get(tokens[-1], 0)) >= lowest:
            operator = tokens.pop()
            right = expression(precedence + 1)
            if operator == "&":
                value &= right
            elif operator == "^":
                value ^= right
            else:
                value |= right
        return value

    value = expression(1)
    if len(tokens) > 1:
        raise ValueError(f"expected an operator, not {tokens[-1]!r}")
    return value


@dataclass(frozen=True)
class Cell:
    """An instance of a cell type. ``pins`` maps every pin to the net it is connected to."""

    name: str
    type: str
    pins: dict[str, int]


@dataclass(frozen=True)
class Netlist:
    """A flat netlist of gates and registers. Net 0 is constant 0 and net 1 constant 1.

    Parameters
    ----------
    name : str
    inputs, outputs : dict of port name to net ids, least significant bit first
    cells : tuple of Cell
    library : dict of type name to CellType
    net_names : dict of net id to name, for error messages only

    Raises
    ------
    NetlistError
        If a cell type is unknown, a pin is not connected, a net is driven twice or not at all,
        cells form a loop without a register, or registers have another clock than one input port
        of one bit, that nothing else reads.
    """

    name: str
    inputs: dict[str, tuple[int, ...]]
    outputs: dict[str, tuple[int, ...]]
    cells: tuple[Cell, ...]
    library: dict[str, CellType]
    net_names: dict[int, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        _refuse_repeats("port", [*self.inputs, *self.outputs])
        _refuse_repeats("cell", [cell.name for cell in self.cells])
        for cell in self.cells:
            self._check_pins(cell)
        self._check_nets()
        _ = self._levels  # finds loops
        _ = self.clock

    @classmethod
    def from_yosys_json(
        cls, document: object, library: Mapping[str, CellType], top: str | None = None
    ) -> Netlist:
        """Build a netlist from the document that Yosys ``write_json`` writes.

        Parameters
        ----------
        document : the parsed JSON, which need not be trusted
        library : the cell types the module may use
        top : name of the module; by default the one marked ``top``, else the only one

        Raises
        ------
        NetlistError
            If the document has another shape, or describes no valid netlist.
        """
        name, module = _select_module(document, top)
        ports: dict[str, dict[str, tuple[int, ...]]] = {"input": {}, "output": {}}
        for port, record in _member(module, "ports", dict, f"module {name}").items():
            direction = _member(record, "direction", str, f"port {port}")
            if direction not in ports:
                raise NetlistError(f"port {port} must be input or output, not {direction!r}")
            bits = _member(record, "bits", list, f"port {port}")
            ports[direction][port] = tuple(
                _net(bit, f"port {port}[{i}]") for i, bit in enumerate(bits)
            )
        if _member(module, "memories", dict, f"module {name}", default={}):
            raise NetlistError(f"module {name} has memories; only cells are read")
        cells = _member(module, "cells", dict, f"module {name}").items()
        return cls(
            name,
            ports["input"],
            ports["output"],
            tuple(
                Cell(cell, _member(record, "type", str, f"cell {cell}"), _read_pins(cell, record))
                for cell, record in cells
                if not (isinstance(record, dict) and record.get("type") == "$scopeinfo")
            ),
            dict(library),
            _read_net_names(module),
        )

    @cached_property
    def registers(self) -> tuple[Cell, ...]:
        """The cells that have a clock, in the order of ``cells``."""
        return tuple(cell for cell in self.cells if self.library[cell.type].clock)

    @cached_property
    def clock(self) -> str | None:
        """Name of the input port that clocks the registers; None if there are none."""
        nets = {cell.pins[self.library[cell.type].clock or ""] for cell in self.registers}
        if not nets:
            return None
        ports = [name for name, port in self.inputs.items() if nets == {*port}]
        if not ports:
            raise NetlistError("registers must have one clock, an input port of one bit")
        for cell in self.cells:
            kind = self.library[cell.type]
            for pin in kind.inputs:
                if cell.pins[pin] in nets and pin != kind.clock:
                    raise NetlistError(f"pin {pin} of cell {cell.name} reads clock {ports[0]}")
        for name, port in self.outputs.items():
            if nets & {*port}:
                raise NetlistError(f"output {name} reads clock {ports[0]}")
        return ports[0]

    def levelised(self) -> tuple[Cell, ...]:
        """Return the cells so that each comes after those which drive it, by rising level.

        Registers come first: within a cycle nothing drives them.
        """
        levels = self._levels
        return tuple(sorted(self.cells, key=lambda cell: levels[cell.name]))

    @property
    def depth(self) -> int:
        """The number of cells on the longest path, registers apart."""
        return max(self._levels.values(), default=0)

    def count(self) -> dict[str, int]:
        """Return how many cells there are of each type, sorted by the type's name."""
        return dict(sorted(Counter(cell.type for cell in self.cells).items()))

    def to_yosys_json(self) -> dict[str, Any]:
        """Return the document that ``from_yosys_json`` and Yosys ``read_json`` read."""
        ports = {
            name: {"direction": direction, "bits": [_bit(net) for net in nets]}
            for direction, group in (("input", self.inputs), ("output", self.outputs))
            for name, nets in group.items()
        }
        at_ports = {
            net for group in (self.inputs, self.outputs) for n in group.values() for net in n
        }
        module = {
            "attributes": {"top": f"{1:032b}"},
            "ports": ports,
            "cells": {cell.name: self._cell_record(cell) for cell in self.cells},
            "netnames": {
                name: {"hide_name": 0, "bits": [net], "attributes": {}}
                for net, name in self.net_names.items()
                if net not in at_ports
            },
        }
        return {"creator": "fmacost", "modules": {self.name: module}}

    def to_verilog(self) -> str:
        """Return structural Verilog with the models of the used cells, for any simulator.

        Ports of width 0 are left out, because Verilog cannot express them.

        Raises
        ------
        NetlistError
            If a name holds a character that Verilog cannot, or is that of a used cell type.
        """
        types = self.count()
        if self.name in types:
            raise NetlistError(f"netlist {self.name} has the name of a cell type it uses")
        inputs = {name: nets for name, nets in self.inputs.items() if nets}
        outputs = {name: nets for name, nets in self.outputs.items() if nets}
        taken = {*inputs, *outputs}
        instances = {cell.name: _unique(cell.name, taken) for cell in self.cells}
        wires = {0: "1'b0", 1: "1'b1"}
        for name, nets in inputs.items():
            wires.update(zip(nets, _bit_selects(name, len(nets)), strict=True))
        internal = {
            net: _unique(f"n{net}", taken) for cell in self.cells for net in self._out(cell)
        }
        lines = [
            f"module {_escaped(self.name)}({', '.join(map(_escaped, [*inputs, *outputs]))});",
            *(f"  input {_range(nets)}{_escaped(name)};" for name, nets in inputs.items()),
            *(f"  output {_range(nets)}{_escaped(name)};" for name, nets in outputs.items()),
            *(f"  wire {name};" for name in internal.values()),
        ]
        wires |= internal
        for cell in self.cells:
            pins = ", ".join(f".{_escaped(pin)}({wires[net]})" for pin, net in cell.pins.items())
            lines.append(f"  {_escaped(cell.type)} {_escaped(instances[cell.name])} ({pins});")
        for name, nets in outputs.items():
            for bit, net in zip(_bit_selects(name, len(nets)), nets, strict=True):
                lines.append(f"  assign {bit} = {wires[net]};")
        models = (_model(self.library[name]) for name in types)
        return "\n\n".join(["\n".join([*lines, "endmodule"]), *models]) + "\n"

    def _check_pins(self, cell: Cell) -> None:
        if cell.type not in self.library:
            hint = "; registers are not supported" if _REGISTER.search(cell.type) else ""
            raise NetlistError(f"cell {cell.name}: type {cell.type} is not in the library{hint}")
        pins = self.library[cell.type].pins
        for pin in pins:
            if pin not in cell.pins:
                raise NetlistError(f"cell {cell.name} ({cell.type}): pin {pin} is not connected")
        for pin in cell.pins:
            if pin not in pins:
                raise NetlistError(f"cell {cell.name} ({cell.type}) has no pin {pin}")

    def _check_nets(self) -> None:
        """Check that every net has exactly one driver."""
        drivers = {0: "constant 0", 1: "constant 1"}
        readers = {}
        for name, nets in self.inputs.items():
            for i, net in enumerate(nets):
                self._drive(drivers, net, f"input {name}[{i}]")
        for cell in self.cells:
            outputs = dict(self.library[cell.type].outputs)
            for pin, net in cell.pins.items():
                if pin in outputs:
                    self._drive(drivers, net, f"pin {pin} of cell {cell.name}")
                else:
                    readers[net] = f"pin {pin} of cell {cell.name}"
        for name, nets in self.outputs.items():
            readers.update({net: f"output {name}[{i}]" for i, net in enumerate(nets)})
        for net, reader in readers.items():
            if net not in drivers:
                raise NetlistError(f"{self._label(net)} is not driven, but read by {reader}")

    def _drive(self, drivers: dict[int, str], net: int, driver: str) -> None:
        if net in drivers:
            raise NetlistError(f"{self._label(net)} is driven by {drivers[net]} and by {driver}")
        drivers[net] = driver

    @cached_property
    def _levels(self) -> dict[str, int]:
        """The level of each cell: 0 for registers, 1 for those fed by them, inputs, constants."""
        registers = {cell.name for cell in self.registers}
        driver = {
            net: cell.name
            for cell in self.cells
            if cell.name not in registers
            for net in self._out(cell)
        }
        fanin = {
            cell.name: {
                driver[cell.pins[pin]]
                for pin in self.library[cell.type].inputs
                if cell.pins[pin] in driver
            }
            for cell in self.cells
            if cell.name not in registers
        }
        fanout = defaultdict(list)
        for name, sources in fanin.items():
            for source in sources:
                fanout[source].append(name)
        waiting = {name: len(sources) for name, sources in fanin.items()}
        levels = {name: 1 for name, sources in fanin.items() if not sources}
        ready = list(levels)
        for name in ready:
            for sink in fanout[name]:
                waiting[sink] -= 1
                if not waiting[sink]:  # first in, first out: this is the highest of its drivers
                    levels[sink] = levels[name] + 1
                    ready.append(sink)
        blocked = fanin.keys() - levels.keys()
        if blocked:
            raise NetlistError(f"cell {_on_loop(fanin, blocked)} is on a combinational loop")
        return levels | dict.fromkeys(registers, 0)

    def _out(self, cell: Cell) -> list[int]:
        return [cell.pins[pin] for pin, _ in self.library[cell.type].outputs]

    def _label(self, net: int) -> str:
        return f"net {net} ({self.net_names[net]})" if net in self.net_names else f"net {net}"

    def _cell_record(self, cell: Cell) -> dict[str, Any]:
        inputs = self.library[cell.type].inputs
        return {
            "type": cell.type,
            "parameters": {},
            "attributes": {},
            "port_directions": {pin: "input" if pin in inputs else "output" for pin in cell.pins},
            "connections": {pin: [_bit(net)] for pin, net in cell.pins.items()},
        }


def _refuse_repeats(kind: str, names: Iterable[str]) -> None:
    for name, uses in Counter(names).items():
        if uses > 1:
            raise NetlistError(f"{kind} {name} appears {uses} times")


def _on_loop(fanin: Mapping[str, set[str]], blocked: set[str]) -> str:
    """Walk back from a blocked cell through blocked ones: the first met twice is on a loop."""
    name = min(blocked)
    seen = set()
    while name not in seen:
        seen.add(name)
        name = min(fanin[name] & blocked)
    return name


# Reading Yosys JSON.


def _member(
    record: object, key: str, kind: type[_T], where: str, *, default: _T | None = None
) -> _T:
    """Return ``record[key]``, which must be a ``kind``."""
    if not isinstance(record, dict):
        raise NetlistError(f"{where} must be a JSON object, not {type(record).__name__}")
    value = record.get(key, default)
    if not isinstance(value, kind):
        got = type(value).__name__ if key in record else "missing"
        raise NetlistError(f"{where}: {key!r} must be a {kind.__name__}, not {got}")
    return value


def _select_module(document: object, top: str | None) -> tuple[str, dict[str, Any]]:
    modules = _member(document, "modules", dict, "document")
    if top is None:
        own = [name for name in modules if not _marked(modules[name], "blackbox", "whitebox")]
        marked = [name for name in own if _marked(modules[name], "top")] or own
        if len(marked) != 1:
            raise NetlistError(f"document must have one top module, not {len(marked)}; name it")
        top = marked[0]
    elif top not in modules:
        raise NetlistError(f"document has no module {top}")
    return top, _member(modules, top, dict, "modules")


def _marked(module: object, *attributes: str) -> bool:
    """Say whether one of the attributes is set: Yosys writes them as binary numbers."""
    record = module.get("attributes") if isinstance(module, dict) else None
    return isinstance(record, dict) and any("1" in str(record.get(name)) for name in attributes)


def _read_pins(cell: str, record: object) -> dict[str, int]:
    pins = {}
    for pin in (connections := _member(record, "connections", dict, f"cell {cell}")):
        bits = _member(connections, pin, list, f"cell {cell}")
        if len(bits) != 1:
            raise NetlistError(f"pin {pin} of cell {cell} must have 1 bit, not {len(bits)}")
        pins[pin] = _net(bits[0], f"pin {pin} of cell {cell}")
    return pins


def _read_net_names(module: object) -> dict[int, str]:
    """Return a name for each net; names that the user gave win over generated ones."""
    names: dict[int, str] = {}
    generated: dict[int, str] = {}
    for name, record in _member(module, "netnames", dict, "module", default={}).items():
        bits = _member(record, "bits", list, f"netname {name}")
        target = generated if record.get("hide_name") else names
        for i, bit in enumerate(bits):
            if isinstance(bit, int) and bit > 1:
                target.setdefault(bit, f"{name}[{i}]" if len(bits) > 1 else name)
    return generated | names


def _net(bit: object, where: str) -> int:
    if bit in ("0", "1"):
        return int(str(bit))
    if isinstance(bit, int) and bit > 1:
        return int(bit)
    if bit in ("x", "z"):
        raise NetlistError(f"{where} is undefined ({bit!r})")
    raise NetlistError(f"{where} must be a net number above 1, '0' or '1', not {bit!r:.40}")


def _bit(net: int) -> int | str:
    return net if net > 1 else str(net)


# Writing Verilog.


def _escaped(name: str) -> str:
    """Return ``name`` as a Verilog identifier."""
    if _IDENTIFIER.fullmatch(name) and name not in _KEYWORDS:
        return name
    if not re.fullmatch("[!-~]+", name):
        raise NetlistError(f"Verilog cannot hold the name {name!r}")
    return f"\\{name} "


def _unique(name: str, taken: set[str]) -> str:
    """Return ``name``, with underscores until it is new, and add it to ``taken``."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _range(nets: tuple[int, ...]) -> str:
    return f"[{len(nets) - 1}:0] " if len(nets) > 1 else ""


def _bit_selects(name: str, width: int) -> list[str]:
    escaped = _escaped(name)
    return [escaped] if width == 1 else [f"{escaped}[{i}]" for i in range(width)]


def _model(cell: CellType) -> str:
    def escape(match: re.Match[str]) -> str:
        return match[0] if match[0].startswith("1'b") else _escaped(match[0])

    token = re.compile(f"1'b[01]|{_IDENTIFIER.pattern}")
    outputs = [(_escaped(pin), token.sub(escape, function)) for pin, function in cell.outputs]
    if cell.clock is None:
        body = [f"  assign {pin} = {function};" for pin, function in outputs]
    else:
        body = [f"  reg {pin};" for pin, _ in outputs]
        taken = " ".join(f"{pin} <= {function};" for pin, function in outputs)
        body.append(f"  always @(posedge {_escaped(cell.clock)}) begin {taken} end")
    return "\n".join(
        [
            f"module {_escaped(cell.name)}({', '.join(map(_escaped, cell.pins))});",
            *(f"  input {_escaped(pin)};" for pin in cell.inputs),
            *(f"  output {pin};" for pin, _ in outputs),
            *body,
            "endmodule",
        ]
    )
