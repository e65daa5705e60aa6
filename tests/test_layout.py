"""The shape of the project: which room imports which, and how the rooms are packaged."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("sim", "hw", "reports")
HW_MAY_IMPORT_FROM_SIM = {
    "fmacost.sim.formats",
    "fmacost.sim.operation",
    "fmacost.sim.netlist",
    "fmacost.sim.evaluate",  # it runs netlists and knows nothing of the reference
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]


def sources(*folders: str) -> list[Path]:
    """Return every Python file in the given top-level folders."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def module_name(path: Path) -> str:
    """Return the dotted name under which the file at ``path`` is imported."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    if parts[0] in ROOMS:
        parts.insert(0, "fmacost")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sources(*ROOMS)}


def imported_names(source: str, package: str) -> Iterator[str]:
    """Yield the absolute dotted name of all that ``source``, a module of ``package``, imports.

    ``from a import b`` yields ``a.b``, whether that is a module or a name in one.
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: 1 - node.level or None] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def imports_of(path: Path) -> set[str]:
    """Return the absolute dotted names that the file at ``path`` imports."""
    name = module_name(path)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    return set(imported_names(path.read_text(encoding="utf-8"), package))


def is_within(name: str, *packages: str) -> bool:
    """Tell whether ``name`` is one of ``packages`` or inside one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def violations(*folders: str, allowed: set[str]) -> list[str]:
    """Return the imports of ours, made in ``folders``, that are not within ``allowed``."""
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sources(*folders)
        for name in sorted(imports_of(path))
        if is_within(name, "fmacost", "tests")
        and name != "fmacost.__version__"
        and not is_within(name, *allowed)
    ]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import fmacost.sim.formats", {"fmacost.sim.formats"}),
        ("from fmacost import hw", {"fmacost.hw"}),
        ("from fmacost.sim import formats as f", {"fmacost.sim.formats"}),
        ("from . import adders", {"fmacost.hw.parts.adders"}),
        ("from .adders import Ripple", {"fmacost.hw.parts.adders.Ripple"}),
        ("from ..cells import CELLS", {"fmacost.hw.cells.CELLS"}),
        ("from ... import sim", {"fmacost.sim"}),
        ("def f():\n    import hw", {"hw"}),
    ],
)
def test_imported_names_are_absolute(source: str, names: set[str]) -> None:
    assert set(imported_names(source, "fmacost.hw.parts")) == names


def test_sim_imports_nothing_of_the_other_rooms() -> None:
    assert violations("sim", allowed={"fmacost.sim"}) == []


def test_sim_needs_numpy_only() -> None:
    roots = {name.partition(".")[0] for path in sources("sim") for name in imports_of(path)}
    assert roots - set(sys.stdlib_module_names) <= {"numpy", "fmacost"}


def test_hw_imports_only_descriptions_from_sim() -> None:
    assert violations("hw", allowed={"fmacost.hw"} | HW_MAY_IMPORT_FROM_SIM) == []


def test_hw_does_not_reach_the_reference_by_a_detour() -> None:
    reached: set[str] = set()
    pending = {name for name in MODULES if is_within(name, *HW_MAY_IMPORT_FROM_SIM)}
    while pending:
        module = pending.pop()
        reached.add(module)
        imported = imports_of(MODULES[module]) | {module.rpartition(".")[0]}
        pending |= {
            name for name in MODULES if any(is_within(full, name) for full in imported)
        } - reached
    assert not [name for name in reached if is_within(name, "fmacost.sim.reference")]


def test_reports_imports_no_tests() -> None:
    assert violations("reports", allowed={"fmacost"}) == []


def test_no_module_has_a_second_import_path() -> None:
    bare = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sources(*ROOMS, "src", "tests")
        for name in sorted(imports_of(path))
        if is_within(name, *ROOMS) or is_within(name, "src")
    ]
    assert bare == []


def test_every_package_is_listed_in_pyproject() -> None:
    folders = {path.parent for path in sources(*ROOMS)}
    assert {module_name(folder / "__init__.py") for folder in folders} | {"fmacost"} == set(
        SETUPTOOLS["packages"]
    )
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_package_folders_are_mapped() -> None:
    expected = {"fmacost": "src/fmacost"} | {f"fmacost.{room}": room for room in ROOMS}
    assert SETUPTOOLS["package-dir"] == expected


@pytest.mark.parametrize("room", ROOMS)
def test_links_lead_to_the_rooms(room: str) -> None:
    link = ROOT / "src" / "fmacost" / room
    assert link.is_symlink()
    assert link.readlink() == Path("..", "..", room)
    assert link.resolve() == ROOT / room


def test_no_path_of_one_machine_is_in_the_sources() -> None:
    machine_path = re.compile(r"(?<![\w.~/-])/(?:tmp|home|root|work|farm|Users|mnt)/\w[^\s\"']*")
    top = [path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]
    folders = [ROOT / name for name in (*ROOMS, "tests", "docs", ".ci", "src")]
    found = []
    for path in top + [file for folder in folders for file in folder.rglob("*") if file.is_file()]:
        if "__pycache__" in path.parts or any(part.endswith(".egg-info") for part in path.parts):
            continue
        text = path.read_bytes().decode("utf-8", errors="ignore")
        found += [f"{path.relative_to(ROOT)}: {hit}" for hit in machine_path.findall(text)]
    assert found == []
