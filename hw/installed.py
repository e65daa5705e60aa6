"""Liberty libraries where users keep them: process design kits, flows, Debian packages.

A library is named ``NAME@PLACE``: ``sky130hd@pdk`` is the file of the kit, ``sky130hd`` alone the
built-in table.

- ``pdk``: under ``$PDK_ROOT``, else ``~/.ciel``, else ``~/.volare``, as ciel, volare and open_pdks
  lay kits out
- ``orfs``: OpenROAD-flow-scripts, its folder in ``$ORFS_ROOT``
- ``qflow``: Debian's qflow-tech packages, ``/usr/share/qflow/tech``
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_PDK = {
    "sky130hd": "sky130A/libs.ref/sky130_fd_sc_hd/lib/sky130_fd_sc_hd__tt_025C_1v80.lib",
    "gf180mcu": (
        "gf180mcuD/libs.ref/gf180mcu_fd_sc_mcu7t5v0/lib/gf180mcu_fd_sc_mcu7t5v0__tt_025C_3v30.lib"
    ),
    "ihp_sg13g2": "ihp-sg13g2/libs.ref/sg13g2_stdcell/lib/sg13g2_stdcell_typ_1p20V_25C.lib",
}
_ORFS = {
    "nangate45": "flow/platforms/nangate45/lib/NangateOpenCellLibrary_typical.lib",
    "sky130hd": "flow/platforms/sky130hd/lib/sky130_fd_sc_hd__tt_025C_1v80.lib",
    "gf180mcu": "flow/platforms/gf180/lib/gf180mcu_fd_sc_mcu7t5v0__tt_025C_3v30.lib",
    "ihp_sg13g2": "flow/platforms/ihp-sg13g2/lib/sg13g2_stdcell_typ_1p20V_25C.lib",
    "gt2n": "flow/platforms/gt2n/lib/gt2_6t_w31_lvt_tt_0p7v25c.lib",
}
_QFLOW = {
    "osu018": "osu018/osu018_stdcells.lib",
    "osu035": "osu035/osu035_stdcells.lib",
    "osu050": "osu050/osu05_stdcells.lib",
}
_LIBRARIES = {"pdk": _PDK, "orfs": _ORFS, "qflow": _QFLOW}
PLACES = {
    "pdk": "$PDK_ROOT, ~/.ciel or ~/.volare",
    "orfs": "$ORFS_ROOT",
    "qflow": "/usr/share/qflow/tech",
}


@dataclass(frozen=True, slots=True)
class Installed:
    """A Liberty file that is there, and the name it goes by."""

    name: str
    path: Path


def installed(environment: Mapping[str, str], home: Path) -> tuple[Installed, ...]:
    """Return the known libraries that are there, plain or with ``.gz``, in a fixed order.

    Parameters
    ----------
    environment : of the process, ``os.environ``
    home : the user's folder
    """
    return tuple(
        Installed(f"{name}@{place}", path)
        for place, libraries in _LIBRARIES.items()
        for name, relative in libraries.items()
        for path in _files(_roots(place, environment, home), relative)
    )


def _roots(place: str, environment: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Return the folders of which the first that has a library counts."""
    if place == "qflow":
        return (Path(PLACES["qflow"]),)
    chosen = environment.get({"pdk": "PDK_ROOT", "orfs": "ORFS_ROOT"}[place])
    if chosen:
        return (Path(chosen).expanduser(),)
    return (home / ".ciel", home / ".volare") if place == "pdk" else ()


def _files(roots: tuple[Path, ...], relative: str) -> Iterator[Path]:
    candidates = (root / f"{relative}{suffix}" for root in roots for suffix in ("", ".gz"))
    found = next((path for path in candidates if path.is_file()), None)
    if found is not None:
        yield found
