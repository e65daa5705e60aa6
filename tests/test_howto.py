"""The steps for adding a format and a study are followed, in a copy of the project."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "extend"
PAGES = ("format", "study")
BLOCK = re.compile(
    r"(?:`(?P<file>[^`\n]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.S | re.M
)
PROGRAMS = {"fmacost": ("-m", "fmacost"), "python": ()}


class Step(NamedTuple):
    """Something that a page tells its reader to do: a patch, a file to write, a command."""

    kind: str
    name: str
    text: str


def steps(page: str) -> list[Step]:
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    found = []
    for block in BLOCK.finditer(text):
        if block["kind"] == "console":
            assert all(line.startswith("$ ") for line in block["body"].splitlines()), block["body"]
            commands = block["body"].removeprefix("$ ").split("\n$ ")
            found += [Step("run", "", command.strip()) for command in commands]
        elif block["kind"] == "diff":
            found.append(Step("patch", "", block["body"]))
        else:
            assert block["file"], f"{page}: say into which file this goes:\n{block['body']}"
            found.append(Step("write", block["file"], block["body"]))
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project, which is what its Python finds as fmacost."""
    copy = tmp_path / "project"
    for name in ("sim", "hw", "reports", "src", "tests"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, copy / name, symlinks=True, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def follow(step: Step, project: Path) -> None:
    environment = os.environ | {
        "PYTHONPATH": str(project / "src"),
        "FMACOST_CACHE_DIR": str(project / "cache"),
        "FMACOST_DEBUG": "1",
        "GIT_CEILING_DIRECTORIES": str(project.parent),
    }
    if step.kind == "write":
        (project / step.name).write_text(step.text, encoding="utf-8")
        return
    if step.kind == "patch":
        command, given = ["git", "apply", "--verbose", "-"], step.text
    else:
        program, *arguments = shlex.split(step.text)
        command, given = [sys.executable, *PROGRAMS[program], *arguments], ""
    done = subprocess.run(
        command, check=False, cwd=project, input=given, capture_output=True, text=True,
        env=environment, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, f"{step.text}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", PAGES)
def test_patches_fit_the_sources(page: str, project: Path) -> None:
    patches = [step for step in steps(page) if step.kind == "patch"]
    assert patches
    for patch in patches:
        follow(patch, project)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_steps_work(page: str, project: Path) -> None:
    for step in steps(page):
        follow(step, project)
