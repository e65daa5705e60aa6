"""Real Liberty libraries, in the folder that the environment variable FMACOST_LIBERTY names."""

import os
from pathlib import Path

import pytest

# Name, file, and the delay of a fan-out-of-four inverter in ps as measured elsewhere.
LIBRARIES = {
    "nangate45": ("nangate45/nangate45.compact.lib.gz", 21.22),
    "sky130_fd_sc_hd": ("sky130_fd_sc_hd/sky130_fd_sc_hd.compact.lib.gz", 80.29),
    "asap7": ("asap7/asap7.compact.lib.gz", 19.54),
    "gf180mcu_7t_3v3": ("gf180mcu/gf180mcu_7t_3v3.compact.lib.gz", 345.32),
    "ihp_sg13g2": ("ihp_sg13g2/ihp_sg13g2.compact.lib.gz", 61.39),
    "gt2n": ("gt2n/gt2n_w31_lvt.compact.lib.gz", 8.65),
}


def library_path(name: str) -> Path:
    """Return the file of a library; skip the test where there is none."""
    folder = os.environ.get("FMACOST_LIBERTY")
    if not folder:
        pytest.skip("FMACOST_LIBERTY is not set")
    path = Path(folder) / LIBRARIES[name][0]
    if not path.exists():
        pytest.skip(f"FMACOST_LIBERTY has no {LIBRARIES[name][0]}")
    return path
