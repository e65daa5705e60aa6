"""Every command that a document quotes is run, with tiny units in the place of those it names.

Those in a region ``<!-- run -->`` are run as they are when numbers are checked, those for adding a
format or a study by ``test_howto``.
"""

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from fmacost.reports.cli import run
from tests.test_documents import COMMAND, QUOTING, ROOT, read

REGION = re.compile(r"<!-- run -->.*?<!-- end -->", re.DOTALL)
TINY = {
    "int8": "int2", "int4": "int1", "int16": "int3", "int32": "int4", "e4m3fn": "e1m1f",
    "e2m1fn": "e1m0f", "e3m0f": "e0m1f", "e5m2": "e0m2f", "fp32": "e2m1fn", "0x38": "0x2",
    "0xb9": "0x1", "0x10": "0x3",
}  # fmt: skip
TAKES_EFFORT = (
    "compare", "synth", "verify", "export", "breakdown", "path", "energy", "ablate",
    "accumulators", "curve", "report",
)  # fmt: skip
NEEDS = {
    "mylibrary.lib.gz": "a Liberty file of the reader's",
    "tcp://node1:8786": "a cluster; test_sweep has one",
}


def commands() -> list[str]:
    """Return the commands outside of regions that have arguments, each once."""
    texts = [REGION.sub("", read(path)) for path in QUOTING]
    run_already = {c for path in QUOTING for r in REGION.findall(read(path)) for c in found(r)}
    return [
        command
        for command in dict.fromkeys(command for text in texts for command in found(text))
        if command not in run_already
        and (command.count(" ") > 1 or command in ("fmacost formats", "fmacost technologies"))
        and not any(name in command for name in NEEDS)
    ]


def found(text: str) -> list[str]:
    return [block or inline for block, inline in COMMAND.findall(text)]


def tiny(command: str) -> list[str]:
    """Return the arguments of a command with tiny units, and with what keeps it short."""
    _, name, *rest = shlex.split(command)
    if name == "sweep":  # test_howto runs one
        return [name, *rest, *([] if {"--plan", "--help"} & {*rest} else ["--plan"])]
    if name in ("plot", "diff", "merge"):
        return [name, *rest]
    formats = re.compile(r"(?<![a-z0-9])(?:" + "|".join(TINY) + r")(?![a-z0-9])")
    arguments = [formats.sub(lambda match: TINY[match[0]], argument) for argument in rest]
    if name in TAKES_EFFORT and "--from" not in rest:
        arguments = [a for a in arguments if a not in ("--effort", "max", "quick")]
        arguments += ["--effort", "quick"]
    return [name, *arguments]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the commands name, and with a cache."""
    place = tmp_path_factory.mktemp("rehearsal")
    (place / "docs" / "studies").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FMACOST_CACHE_DIR", str(place / "cache"))
        patch.chdir(place)
        for i, kind in enumerate(("mul:int1", "mul:int2", "add:int1"), start=1):
            assert run(["synth", kind, "--effort", "quick", "--export-json", f"part{i}.json"]) == 0
        for copied, name in (("part1", "a"), ("part2", "b"), ("part3", "rows")):
            shutil.copy(f"{copied}.json", f"{name}.json")
        stages = ["--effort", "quick", "--export-json", "stages.json"]
        assert run(["breakdown", "mul:e1m1f", *stages]) == 0
    return place


def marked() -> list[Any]:
    """Return the commands; those that make units take many minutes in all."""
    return [
        pytest.param(
            command,
            marks=pytest.mark.sweep if command.split()[1] in TAKES_EFFORT else pytest.mark.slow,
        )
        for command in commands()
    ]


@pytest.mark.parametrize("command", marked())
def test_quoted_commands_work(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    studies = ROOT / "docs" / "studies"
    for table in studies.glob("*.csv"):
        shutil.copy(table, folder)
    for name in ("old.csv", "new.csv", "now.csv", "docs/studies/versions.csv"):
        shutil.copy(studies / "versions.csv", folder / name)
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(folder / "cache"))
    monkeypatch.chdir(folder)
    assert run(tiny(command)) == 0, (tiny(command), capsys.readouterr().err)
