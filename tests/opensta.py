"""OpenSTA as a witness of static timing (Debian: ``apt-get install opensta``)."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fmacost.hw.static_timing import EdgeName, Step, Surroundings
from fmacost.sim.netlist import Netlist

# Nothing in it comes from a netlist or a library: names of these stay in files. The period is short
# because a slack is a single-precision number: behind a long period paths would look alike.
_SCRIPT = """
read_liberty {library.lib}
read_verilog {unit.v}
link_design unit
set_cmd_units -time ps -capacitance fF
create_clock -name clock -period 1
set_input_delay 0 -clock clock [all_inputs]
set_output_delay 0 -clock clock [all_outputs]
set_input_transition %r [all_inputs]
set_load %r [all_outputs]
report_checks -path_delay max -digits 6 -fields {capacitance slew}
exit
"""
_CELL = re.compile(
    r"^ +([\d.]+) +([\d.]+) +[-\d.]+ +([-\d.]+) ([v^]) (\S+)/(\w+) \((\w+)\)$", re.MULTILINE
)
_EDGES: dict[str, EdgeName] = {"^": "rise", "v": "fall"}


def worst_delay_ps(
    netlist: Netlist, liberty: str, surroundings: Surroundings, folder: Path
) -> float:
    """Return the delay of the longest path by OpenSTA; skip the test where there is none."""
    report = _report(netlist, liberty, surroundings, folder)
    (arrival,) = re.findall(r"([-\d.]+)\s+data arrival time", report)[:1]
    return float(arrival)


def worst_path(
    netlist: Netlist, liberty: str, surroundings: Surroundings, folder: Path
) -> list[Step]:
    """Return the cells of the longest path, without the pins that it enters by."""
    report = _report(netlist, liberty, surroundings, folder)
    return [
        Step(cell, kind, "", pin, _EDGES[edge], float(arrival), float(slew), float(load))
        for load, slew, arrival, edge, cell, pin, kind in _CELL.findall(report)
    ]


def _report(netlist: Netlist, liberty: str, surroundings: Surroundings, folder: Path) -> str:
    """Return what OpenSTA reports of the longest path.

    Default wire loads of a library are taken out, for our timing has no wires.
    """
    if shutil.which("sta") is None:
        pytest.skip("no sta: apt-get install opensta")
    assert surroundings.wire_ff_per_sink == 0
    (folder / "library.lib").write_text(re.sub(r"\n\s*default_wire_load\w* *:[^;]*;", "", liberty))
    lines = replace(netlist, name="unit").to_verilog().splitlines()
    module = lines[: lines.index("endmodule") + 1]  # without the models of the cells
    (folder / "unit.v").write_text("\n".join(module) + "\n")
    script = _SCRIPT % (surroundings.input_slew_ps, surroundings.output_load_ff)
    (folder / "run.tcl").write_text(script)
    done = subprocess.run(
        ["sta", "-no_init", "-no_splash", "-exit", "run.tcl"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "data arrival time" in done.stdout, f"{done.stdout}\n{done.stderr}"
    assert "Warning" not in done.stdout + done.stderr, f"{done.stdout}\n{done.stderr}"
    return done.stdout
