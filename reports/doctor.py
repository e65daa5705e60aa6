"""Is everything here that a measurement needs? Each question has a line for an answer."""

import importlib.metadata
import platform
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import fmacost
from fmacost.reports.cache import cache_folder
from fmacost.reports.measure import Settings, Watcher, measure

TINY_UNIT = "mul:int2"
_REQUIRED = ("numpy", "amaranth", "typer", "rich", "platformdirs")
_OPTIONAL_PROGRAMS = {"verilator": "make bench compares with it", "iverilog": "some tests use it"}


class Check(NamedTuple):
    """The answer to one question; ``ok`` None is something optional that is not there."""

    name: str
    ok: bool | None
    detail: str


def examine(watcher: Watcher) -> Iterator[Check]:
    """Return the checks, the last of which synthesises and verifies a tiny unit."""
    yield Check("fmacost", True, f"{fmacost.__version__}, Python {platform.python_version()}")
    for package in _REQUIRED:
        yield _package(package, is_required=True)
    yield _package("matplotlib", is_required=False)
    for program, purpose in _OPTIONAL_PROGRAMS.items():
        path = shutil.which(program)
        yield Check(program, True if path else None, path or f"not found: {purpose}")
    yield _yosys()
    yield _cache()
    yield _tiny(watcher)


def _package(name: str, *, is_required: bool) -> Check:
    try:
        return Check(name, True, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        extra = "" if is_required else ": plots need it"
        return Check(name, False if is_required else None, f"pip install {name}{extra}")


def _yosys() -> Check:
    from fmacost.hw.yosys import YosysError, engine_command, tool_versions

    try:
        return Check("yosys", True, f"{tool_versions()['yosys']}, run by {engine_command()[0]}")
    except YosysError as error:
        return Check("yosys", False, str(error))


def _cache() -> Check:
    folder = cache_folder()
    existing = next((p for p in (folder, *folder.parents) if p.exists()), Path("."))
    try:
        with tempfile.TemporaryFile(dir=existing):
            return Check("cache", True, str(folder))
    except OSError as error:
        return Check("cache", None, f"cannot write {folder}: {error.strerror or error}")


def _tiny(watcher: Watcher) -> Check:
    from fmacost.hw.technology import get_technology
    from fmacost.hw.yosys import YosysError
    from fmacost.sim.operation import parse_unit

    name = f"{TINY_UNIT} in cmos"
    try:
        made = measure(
            parse_unit(TINY_UNIT), get_technology("cmos"), Settings(effort="quick"), None, watcher
        )
    except YosysError as error:
        return Check(name, False, str(error))
    proof = made.row.verification
    detail = (
        f"{made.row.counted_transistors} transistors, {proof.vectors} inputs checked, "
        f"{proof.mismatches} differ, {made.seconds:.1f} s"
    )
    return Check(name, proof.is_proven, detail)
