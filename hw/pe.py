"""Processing elements: a multiply-accumulate unit with the registers that a systolic array needs.

The operands are held in registers, whose outputs also go on to the neighbours (ports ``a_out``,
``b_out`` and ``clear_out``). The result is held in the accumulator, which is the addend of the next
cycle, or zero where ``clear`` came with the operands. ``result`` shows the accumulator. ``invalid``
stays set until it is cleared. Nothing has a reset or an enable: each cycle accumulates.
"""

from fmacost.hw.technology import Technology, TechnologyError
from fmacost.sim.formats import FixedFormat
from fmacost.sim.netlist import Cell, CellType, Netlist
from fmacost.sim.operation import Kind, Operation, OperationError

CLOCK = "clk"
_DRIVEN = 8  # gates at the accumulator that one inverter clears
_INVERTER, _AND, _OR = 0b01, 0b1000, 0b1110


def check_accumulates(operation: Operation) -> None:
    """Raise OperationError unless the result of an operation can be its addend again."""
    reason = ""
    if operation.kind is not Kind.FMA or operation.addend is None:
        reason = "it adds no addend to a product"
    elif operation.result != operation.addend:
        reason = f"its result is {operation.result.name}, its addend {operation.addend.name}"
    elif not isinstance(operation.addend, FixedFormat) and not operation.addend.has_zero:
        reason = f"{operation.addend.name} has no zero to start from"
    elif operation.random_bits:
        reason = "it needs random bits"
    if reason:
        raise OperationError(f"{operation} cannot accumulate: {reason}")


def processing_element(operation: Operation, netlist: Netlist, technology: Technology) -> Netlist:
    """Return a unit's mapped netlist with registers around it.

    Parameters
    ----------
    netlist : of the operation, combinational, inputs a, b, c and output ``result``, with
        ``invalid`` where the operation has it

    Raises
    ------
    OperationError
        If the operation cannot accumulate.
    TechnologyError
        If the technology has no flip-flop, or no inverter, AND or OR.
    """
    check_accumulates(operation)
    wiring = _Wiring(netlist, technology)
    operands = {name: wiring.port(len(netlist.inputs[name])) for name in ("a", "b")}
    clear = wiring.port(1)
    held = {name: tuple(map(wiring.register, nets)) for name, nets in operands.items()}
    cleared = wiring.register(*clear)
    sums = netlist.outputs["result"]
    accumulator = wiring.port(len(sums))
    addend = []
    for i, (net, q) in enumerate(zip(sums, accumulator, strict=True)):
        if i % _DRIVEN == 0:
            keep = wiring.gate(_INVERTER, cleared)
        addend.append(wiring.gate(_AND, q, keep))
        wiring.register(net, q)
    outputs = {"clear_out": (cleared,), "result": accumulator}
    for net in netlist.outputs.get("invalid", ()):
        outputs["invalid"] = wiring.port(1)
        before = wiring.gate(_AND, *outputs["invalid"], keep)
        wiring.register(wiring.gate(_OR, net, before), *outputs["invalid"])
    wiring.connect(netlist, {**held, "c": tuple(addend)})
    return Netlist(
        netlist.name,
        {**operands, "clear": clear, CLOCK: (wiring.clock,)},
        {f"{name}_out": nets for name, nets in held.items()} | outputs,
        tuple(wiring.cells),
        dict(technology.library),
    )


class _Wiring:
    """Cells that are added around a netlist, on new nets and under new names."""

    def __init__(self, netlist: Netlist, technology: Technology) -> None:
        self._technology = technology
        nets = {1, *(net for cell in netlist.cells for net in cell.pins.values())}
        self._next_net = max(nets.union(*netlist.inputs.values())) + 1
        self._taken = {cell.name for cell in netlist.cells}
        self.cells: list[Cell] = []
        (self.clock,) = self.port(1)

    def port(self, width: int) -> tuple[int, ...]:
        first, self._next_net = self._next_net, self._next_net + width
        return tuple(range(first, self._next_net))

    def register(self, data: int, output: int | None = None) -> int:
        """Add a register and return its output, a new net unless one is given."""
        net = self.port(1)[0] if output is None else output
        name = self._new_name(f"register{net}")
        self.cells.append(self._technology.register_cell(name, data, self.clock, net))
        return net

    def gate(self, table: int, *inputs: int) -> int:
        """Add the cheapest cell of a function and return its output."""
        costs = self._technology.cell_cost
        known = [kind for kind in self._technology.cells.values() if _computes(kind, table, inputs)]
        if not known:
            name = {_INVERTER: "inverter", _AND: "AND", _OR: "OR"}[table]
            raise TechnologyError(f"technology {self._technology.name} has no {name}")
        kind = min(known, key=lambda kind: costs[kind.name])
        (net,) = self.port(1)
        pins = dict(zip((*kind.inputs, kind.outputs[0][0]), (*inputs, net), strict=True))
        self.cells.append(Cell(self._new_name(f"gate{net}"), kind.name, pins))
        return net

    def connect(self, netlist: Netlist, ports: dict[str, tuple[int, ...]]) -> None:
        """Add the netlist's cells, with other nets instead of its input ports."""
        other = {
            net: new
            for name, nets in netlist.inputs.items()
            for net, new in zip(nets, ports[name], strict=True)
        }
        inside = [*netlist.cells, *self.cells]  # a result may be an operand itself
        self.cells = [
            Cell(cell.name, cell.type, {pin: other.get(n, n) for pin, n in cell.pins.items()})
            for cell in inside
        ]

    def _new_name(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _computes(kind: CellType, table: int, inputs: tuple[int, ...]) -> bool:
    if len(kind.inputs) != len(inputs) or len(kind.outputs) != 1:
        return False
    return kind.truth_table(kind.outputs[0][0]) == table
