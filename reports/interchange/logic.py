"""Verilog, RTLIL, BLIF and AIGER.

BLIF is that of Berkeley (1992), AIGER that of Biere (format 20071012). Yosys writes what is not
written by ``sim.netlist``.
"""

import json
import re

from fmacost.reports.interchange.design import Design

_TIMEOUT_S = 300.0
_ADDERS = "adders.v"
_PORT = re.compile(r"^(  wire width \d+ (?:input|output) )(\d+)  \\", re.MULTILINE)


def to_verilog(design: Design) -> str:
    """Return the mapped netlist as Verilog, the models of its cells appended."""
    return design.netlist.to_verilog()


def to_yosys_json(design: Design) -> str:
    """Return the mapped netlist as JSON, for ``read_json`` of Yosys."""
    return json.dumps(design.netlist.to_yosys_json(), indent=1) + "\n"


def to_unit_rtlil(design: Design) -> str:
    """Return the unit before mapping, in the architecture that won, as RTLIL.

    Raises
    ------
    YosysError
        If Yosys cannot be run.
    """
    return _write_unit(design, "write_rtlil")


def to_unit_verilog(design: Design) -> str:
    """Return the unit before mapping as Verilog; raise as ``to_unit_rtlil``."""
    return _write_unit(design, "write_verilog -noattr")


def to_blif(design: Design) -> str:
    """Return the mapped netlist as BLIF, cells as ``.subckt`` with models, registers as latches.

    Raises
    ------
    YosysError
        If Yosys cannot be run.
    """
    script = "; ".join(
        [
            "simplemap",
            "setattr -mod -set keep_hierarchy 1 * t:$_DFF_P_ %m %d",  # all but flip-flops
            f"setattr -mod -unset keep_hierarchy {design.netlist.name}",
            "flatten",
        ]
    )
    return _write_netlist(design, script, "write_blif -blackbox")


def to_ascii_aiger(design: Design) -> str:
    """Return the logic of the mapped netlist as an and-inverter graph in ASCII, with names.

    Registers are latches; the clock stays a port that nothing reads. Raises as ``to_blif``.
    """
    script = "flatten; simplemap; opt_clean -purge; aigmap; opt_clean -purge"
    return _write_netlist(design, script, "write_aiger -ascii -symbols")


def to_aiger(design: Design) -> bytes:
    """Return ``to_ascii_aiger`` in binary, the form that ABC reads."""
    return encode_aiger(to_ascii_aiger(design))


def encode_aiger(text: str) -> bytes:
    """Return an ASCII AIGER file in binary.

    Parameters
    ----------
    text : numbered as the binary format wants: inputs, latches and gates one after the other, each
        gate above its operands, as Yosys and the AIGER tools write it

    Raises
    ------
    ValueError
        If it is numbered otherwise.
    """
    lines = text.split("\n")
    _, *counts = lines[0].split()
    _, inputs, latches, outputs, gates = map(int, counts[:5])
    header = " ".join(["aig", *counts])
    start = 1 + inputs
    kept = [line.split(maxsplit=1)[1] for line in lines[start : start + latches]]
    kept += lines[start + latches : start + latches + outputs]
    start += latches + outputs
    graph = bytearray()
    for place, line in enumerate(lines[start : start + gates]):
        left, *right = map(int, line.split())
        low, high = sorted(right)
        if left != 2 * (inputs + latches + place + 1) or high >= left:
            raise ValueError(f"gate {left} of an AIGER file is out of order")
        for delta in (left - high, high - low):
            while delta > 0x7F:
                graph.append(delta & 0x7F | 0x80)
                delta >>= 7
            graph.append(delta)
    head = "".join(f"{line}\n" for line in (header, *kept))
    return head.encode() + bytes(graph) + "\n".join(lines[start + gates :]).encode()


def _write_unit(design: Design, command: str) -> str:
    from fmacost.hw.breakdown import parse_architecture
    from fmacost.hw.synthesis import DISSOLVING
    from fmacost.hw.units.build import to_rtlil

    architecture = parse_architecture(design.row.architecture)
    name = design.netlist.name
    files = {
        "unit.il": _with_port_order(to_rtlil(design.operation, architecture, name)),
        _ADDERS: DISSOLVING["dissolved"],
    }
    script = f"read_rtlil unit.il; read_verilog {_ADDERS}; hierarchy -check -top {name}; proc"
    return _run(files, script, command)


def _with_port_order(rtlil: str) -> str:
    """Return RTLIL of Amaranth with ports counted from 1: Yosys puts a port 0 behind all others."""
    return _PORT.sub(lambda port: f"{port[1]}{int(port[2]) + 1}  \\", rtlil)


def _write_netlist(design: Design, script: str, command: str) -> str:
    files = {"netlist.v": design.netlist.to_verilog()}
    read = f"read_verilog netlist.v; hierarchy -check -top {design.netlist.name}; proc; {script}"
    return _run(files, read, command)


def _run(files: dict[str, str], script: str, command: str) -> str:
    from fmacost.hw.yosys import Job, run_yosys

    job = Job("\n".join([*script.split("; "), f"{command} written"]) + "\n", files, ("written",))
    (finished,) = run_yosys([job], parallel=1, timeout_s=_TIMEOUT_S)
    return finished.outputs["written"]
