"""OpenSTA as a witness of static timing (Debian: ``apt-get install opensta``)."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from fmacost.hw.static_timing import Surroundings
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
report_checks -path_delay max -digits 6
exit
"""


def worst_delay_ps(
    netlist: Netlist, liberty: str, surroundings: Surroundings, folder: Path
) -> float:
    """Return the delay of the longest path by OpenSTA; skip the test where there is none.

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
    arrival = re.search(r"([-\d.]+)\s+data arrival time", done.stdout)
    assert arrival, f"{done.stdout}\n{done.stderr}"
    assert "Warning" not in done.stdout + done.stderr, f"{done.stdout}\n{done.stderr}"
    return float(arrival[1])
