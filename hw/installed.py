"""Liberty libraries where users keep them: process design kits, flows, Debian packages.

A library is named ``NAME@PLACE``: ``sky130hd@pdk`` is that of the kit, ``sky130hd`` alone the
built-in table. It is read at its typical corner; ``sky130hd@pdk:ss_100C_1v60`` is another one,
spelled as in the names of its files.

- ``pdk``: under ``$PDK_ROOT``, else ``~/.ciel``, else ``~/.volare``, as ciel, volare and open_pdks
  lay kits out
- ``orfs``: OpenROAD-flow-scripts, its folder in ``$ORFS_ROOT``
- ``qflow``: Debian's qflow-tech packages, ``/usr/share/qflow/tech``
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class _Files:
    """Where the files of a library are.

    Attributes
    ----------
    names : of the files that make up the library, ``{}`` standing for the corner and ``*`` for
        anything, such as the date of a release
    typical : the corner that a name without one means; "" where files tell no corners apart
    """

    folder: str
    names: tuple[str, ...]
    typical: str = ""


_PDK = {
    "sky130hd": _Files(
        "sky130A/libs.ref/sky130_fd_sc_hd/lib", ("sky130_fd_sc_hd__{}.lib",), "tt_025C_1v80"
    ),
    "gf180mcu": _Files(
        "gf180mcuD/libs.ref/gf180mcu_fd_sc_mcu7t5v0/lib",
        ("gf180mcu_fd_sc_mcu7t5v0__{}.lib",),
        "tt_025C_3v30",
    ),
    "ihp_sg13g2": _Files(
        "ihp-sg13g2/libs.ref/sg13g2_stdcell/lib", ("sg13g2_stdcell_{}.lib",), "typ_1p20V_25C"
    ),
}
_ORFS = {
    "nangate45": _Files(
        "flow/platforms/nangate45/lib", ("NangateOpenCellLibrary_{}.lib",), "typical"
    ),
    "sky130hd": _Files("flow/platforms/sky130hd/lib", ("sky130_fd_sc_hd__{}.lib",), "tt_025C_1v80"),
    "asap7": _Files(
        "flow/platforms/asap7/lib/NLDM",
        tuple(
            f"asap7sc7p5t_{part}_RVT_{{}}_nldm_*.lib"
            for part in ("AO", "INVBUF", "OA", "SEQ", "SIMPLE")
        ),
        "TT",
    ),
    "gf180mcu": _Files(
        "flow/platforms/gf180/lib", ("gf180mcu_fd_sc_mcu7t5v0__{}.lib",), "tt_025C_3v30"
    ),
    "ihp_sg13g2": _Files(
        "flow/platforms/ihp-sg13g2/lib", ("sg13g2_stdcell_{}.lib",), "typ_1p20V_25C"
    ),
    "gt2n": _Files("flow/platforms/gt2n/lib", ("gt2_6t_w31_lvt_{}.lib",), "tt_0p7v25c"),
}
_QFLOW = {
    "osu018": _Files("osu018", ("osu018_stdcells.lib",)),
    "osu035": _Files("osu035", ("osu035_stdcells.lib",)),
    "osu050": _Files("osu050", ("osu05_stdcells.lib",)),
}
_LIBRARIES = {"pdk": _PDK, "orfs": _ORFS, "qflow": _QFLOW}
PLACES = {
    "pdk": "$PDK_ROOT, ~/.ciel or ~/.volare",
    "orfs": "$ORFS_ROOT",
    "qflow": "/usr/share/qflow/tech",
}


@dataclass(frozen=True, slots=True)
class Installed:
    """A library that is there, and the name it goes by.

    Attributes
    ----------
    typical : a corner; it may be missing among those that are there
    corners : the files of each corner; of "" where files tell no corners apart
    """

    name: str
    typical: str
    corners: Mapping[str, tuple[Path, ...]]


def installed(environment: Mapping[str, str], home: Path) -> tuple[Installed, ...]:
    """Return the known libraries that are there, plain or with ``.gz``, in a fixed order.

    Parameters
    ----------
    environment : of the process, ``os.environ``
    home : the user's folder
    """
    return tuple(
        Installed(f"{name}@{place}", files.typical, corners)
        for place, libraries in _LIBRARIES.items()
        for name, files in libraries.items()
        if (corners := _corners(files, _roots(place, environment, home)))
    )


def _roots(place: str, environment: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Return the folders of which the first that has a library counts."""
    if place == "qflow":
        return (Path(PLACES["qflow"]),)
    chosen = environment.get({"pdk": "PDK_ROOT", "orfs": "ORFS_ROOT"}[place])
    if chosen:
        return (Path(chosen).expanduser(),)
    return (home / ".ciel", home / ".volare") if place == "pdk" else ()


def _corners(files: _Files, roots: tuple[Path, ...]) -> dict[str, tuple[Path, ...]]:
    """Return the files of each corner that has all of them, in the first root that has any."""
    for root in roots:
        parts = [_matching(root / files.folder, name) for name in files.names]
        if corners := [corner for corner in parts[0] if all(corner in part for part in parts)]:
            return {corner: tuple(part[corner] for part in parts) for corner in corners}
    return {}


def _matching(folder: Path, name: str) -> dict[str, Path]:
    """Return the file of each corner; of several the last by name, and a plain one before .gz."""
    expression = re.escape(name).replace(r"\{\}", r"(\w+?)").replace(r"\*", r"\w*")
    found = {}
    for path in sorted(folder.glob("*.lib*"), key=_release):
        match = re.fullmatch(rf"{expression}(?:\.gz)?", path.name)
        if match and path.is_file():
            found[(*match.groups(), "")[0]] = path
    return dict(sorted(found.items()))


def _release(path: Path) -> tuple[str, bool]:
    """Return what files are ordered by: a plain one is behind the same one compressed."""
    return path.name.removesuffix(".gz"), path.suffix != ".gz"
