"""A SPICE deck: a subcircuit for each cell, with exactly the transistors that are counted."""

from collections.abc import Iterator, Mapping, Sequence

from fmacost.hw.cell_tables import CMOS_STRUCTURES
from fmacost.hw.technology import TECHNOLOGIES, Technology
from fmacost.hw.timing import Network, parse_stages, pull_up
from fmacost.reports.errors import InputError
from fmacost.reports.interchange.design import Design
from fmacost.sim.netlist import CellType, Netlist

DRAWN = ("cmos", "cmos2")  # technologies whose cells are known transistor by transistor
_SUPPLIES = ("vss", "vdd")

# Round numbers, so that nobody takes what they give for a delay or an energy.
_MODELS = """\
* A toy: level-1 models of round numbers, to check what the circuit computes, not how fast.
.model toy_n nmos (level=1 vto=0.4 kp=200u tox=2n cgso=0.2n cgdo=0.2n cbd=0.1f cbs=0.1f)
.model toy_p pmos (level=1 vto=-0.4 kp=100u tox=2n cgso=0.2n cgdo=0.2n cbd=0.1f cbs=0.1f)
"""
_N, _P = "toy_n w=1u l=0.1u", "toy_p w=2u l=0.1u"

# Two latches with transmission gates between, as ``hw.technology`` describes the flip-flop: each
# line is a kind, its output and its inputs. ``tri`` inverts while its enable is 1 (its inverse 0).
_FLIP_FLOP = """
inv  ckn CLK
inv  ck  ckn
tri  m   D  ckn ck
inv  mn  m
tri  m   mn ck  ckn
pass s   mn ck  ckn
inv  sn  s
tri  s   sn ckn ck
inv  Q   sn
"""


def check_spice(technology: Technology) -> None:
    """Raise InputError unless the transistors of a technology's cells are known one by one."""
    if technology.name not in DRAWN or technology is not TECHNOLOGIES[technology.name]:
        raise InputError(
            f"a SPICE deck needs cells that are known transistor by transistor: "
            f"--technology {' or '.join(DRAWN)}, not {technology.name}"
        )


def to_spice(design: Design) -> str:
    """Return the netlist of transistors as subcircuits, the unit's with all ports and supplies.

    Port bits are ``a_0``, ``a_1`` ..., the supplies ``vdd`` and ``vss``.

    Raises
    ------
    InputError
        As ``check_spice``.
    """
    technology, netlist = design.technology, design.netlist
    check_spice(technology)
    parts = [
        f"* {design.title}: {technology.transistor_count(netlist)} transistors",
        _MODELS,
        *(_cell(netlist.library[name]) for name in netlist.count()),
        _unit(netlist),
    ]
    return "\n".join(parts)


def _cell(cell: CellType) -> str:
    structures = dict(line.split(maxsplit=1) for line in CMOS_STRUCTURES.strip().split("\n"))
    if cell.clock is not None:
        devices = list(_flip_flop())
    else:
        plain = "; ".join(f"{pin}={function}" for pin, function in cell.outputs)
        stages = parse_stages(structures.get(cell.name, plain))
        devices = [device for stage in stages for device in _stage(stage.output, stage.network)]
    lines = [f"m{i} {device}" for i, device in enumerate(devices)]
    return _subcircuit(cell.name, cell.pins, lines)


def _stage(output: str, network: Network) -> Iterator[str]:
    """Return the transistors of ``output = ~network``."""
    yield from _network(network, output, "vss", f"{output}_n", _N)
    yield from _network(pull_up(network), output, "vdd", f"{output}_p", _P)


def _network(network: Network, top: str, bottom: str, inner: str, kind: str) -> Iterator[str]:
    """Return the transistors of a network between two nodes; new nodes begin with ``inner``."""
    if isinstance(network, str):
        bulk = "vss" if kind == _N else "vdd"
        yield f"{top} {network} {bottom} {bulk} {kind}"
        return
    operator, parts = network
    if operator == "|":
        for i, part in enumerate(parts):
            yield from _network(part, top, bottom, f"{inner}{i}", kind)
        return
    nodes = [top, *(f"{inner}_{i}" for i in range(1, len(parts))), bottom]
    for i, part in enumerate(parts):
        yield from _network(part, nodes[i], nodes[i + 1], f"{inner}{i}", kind)


def _flip_flop() -> Iterator[str]:
    for place, line in enumerate(_FLIP_FLOP.strip().split("\n")):
        kind, output, data, *enables = line.split()
        if kind == "inv":
            yield from _stage(output, data)
            continue
        enable, inverse = enables
        if kind == "pass":
            yield f"{output} {enable} {data} vss {_N}"
            yield f"{output} {inverse} {data} vdd {_P}"
            continue
        low, high = f"i{place}_n", f"i{place}_p"
        yield f"{output} {enable} {low} vss {_N}"
        yield f"{low} {data} vss vss {_N}"
        yield f"{output} {inverse} {high} vdd {_P}"
        yield f"{high} {data} vdd vdd {_P}"


def _unit(netlist: Netlist) -> str:
    """Return the subcircuit of the netlist; an output that is another node is tied to it."""
    nodes = dict(enumerate(_SUPPLIES))
    nodes |= {net: name for name, net in _port_bits(netlist.inputs)}
    ports = list(nodes.values())[len(_SUPPLIES) :]
    ties: list[str] = []
    for name, net in _port_bits(netlist.outputs):
        ports.append(name)
        if nodes.setdefault(net, name) != name:
            ties.append(f"r{len(ties)} {name} {nodes[net]} 1m")
    lines = []
    for i, cell in enumerate(netlist.cells):
        pins = netlist.library[cell.type].pins
        wires = " ".join(nodes.setdefault(cell.pins[pin], f"n{cell.pins[pin]}") for pin in pins)
        lines.append(f"x{i} {wires} vdd vss {cell.type}")
    return _subcircuit(netlist.name, ports, [*lines, *ties])


def _port_bits(ports: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[str, int]]:
    for name, nets in ports.items():
        for i, net in enumerate(nets):
            yield f"{name}_{i}", net


def _subcircuit(name: str, ports: Sequence[str], lines: Sequence[str]) -> str:
    head = _wrapped(f".subckt {name} {' '.join(ports)} vdd vss")
    return "\n".join([head, *lines, f".ends {name}", ""])


def _wrapped(line: str, width: int = 16) -> str:
    """Return a line of many words on several, each continued as SPICE wants it."""
    words = line.split()
    return "\n+ ".join(" ".join(words[i : i + width]) for i in range(0, len(words), width))
