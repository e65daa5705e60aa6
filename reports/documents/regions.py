"""The marked regions of a document, and what they hold.

A region lies between two comments. ``<!-- numbers: NAME -->`` starts one that is computed from
cost rows, ``<!-- run -->`` one with commands and what they print; ``<!-- end -->`` ends both.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from fmacost.reports.documents.numbers import NUMBERS
from fmacost.reports.documents.rows import DocumentError, Rows

_REGION = re.compile(
    r"(?P<start><!-- (?:numbers: (?P<name>[a-z0-9-]+)|run) -->\n)"
    r"(?P<body>.*?)(?P<end><!-- end -->)",
    re.DOTALL,
)
_MARK = re.compile(r"<!-- (?:numbers\b|run\b|end\b)")
_PROMPT = "$ "
_TERMINAL_VARIABLES = ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS")


def documents(folder: Path) -> list[Path]:
    """Return the documents of a clone: the README and all pages in ``docs/`` and below."""
    readme = folder / "README.md"
    if not readme.is_file():
        raise DocumentError(f"no README.md in {folder}: say where the clone is")
    return [readme, *sorted((folder / "docs").rglob("*.md"))]


def notebooks(folder: Path) -> list[Path]:
    """Return the notebooks of a clone."""
    return sorted((folder / "docs" / "notebooks").glob("*.ipynb"))


def regions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name (or the commands) and the content of every region of a document.

    Raises
    ------
    DocumentError
        If a mark belongs to no region.
    """
    found = list(_REGION.finditer(text))
    marks = len(_MARK.findall(text))
    if marks != 2 * len(found) or any(_MARK.search(match["body"]) for match in found):
        raise DocumentError(
            "a region must be '<!-- numbers: NAME -->' or '<!-- run -->', content, '<!-- end -->', "
            "each mark on a line of its own"
        )
    for match in found:
        yield _title(match), match["body"]


def render(text: str, rows: Rows, only: Collection[str] | None = None) -> tuple[str, list[str]]:
    """Return a document with its regions made anew, and the names of those that changed.

    Parameters
    ----------
    only : names of regions; all others are left as they are
    """
    list(regions(text))
    changed = []

    def replace(match: re.Match[str]) -> str:
        title = _title(match)
        if only is not None and match["name"] not in only:
            return match[0]
        if match["name"] is None:
            body = run_block(match["body"])
        elif match["name"] in NUMBERS:
            body = f"\n{NUMBERS[match['name']](rows)}\n\n"
        else:
            raise DocumentError(f"no numbers are called '{title}'; known: {', '.join(NUMBERS)}")
        if body != match["body"]:
            changed.append(title)
        return f"{match['start']}{body}{match['end']}"

    return _REGION.sub(replace, text), changed


def run_block(body: str) -> str:
    """Return a block of commands with what each of them prints on stdout."""
    parts = [f"{_PROMPT}{command}\n{output_of(command)}" for command in _commands(body)]
    return "```console\n" + "\n".join(parts) + "```\n"


def output_of(command: str) -> str:
    """Return what a ``fmacost`` command prints when nobody sits at a terminal.

    Raises
    ------
    DocumentError
        If it is another program, or fails.
    """
    program, *arguments = shlex.split(command)
    if program != "fmacost":
        raise DocumentError(f"only fmacost can be run in a document, not '{command}'")
    environment = {k: v for k, v in os.environ.items() if k not in _TERMINAL_VARIABLES}
    with tempfile.TemporaryDirectory(prefix="fmacost-") as scratch:
        done = subprocess.run(
            [sys.executable, "-m", "fmacost", *arguments],
            check=False, capture_output=True, encoding="utf-8", cwd=scratch,
            env={**environment, "PYTHONIOENCODING": "utf-8"},
        )  # fmt: skip
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise DocumentError(f"'{command}' ends with {done.returncode}: {reason}")
    return done.stdout


def run_notebook(text: str) -> tuple[str, list[str]]:
    """Return a notebook with all outputs made anew, and the numbers of the cells that changed.

    Pictures are made anew and not compared: their bytes depend on the machine.

    Raises
    ------
    DocumentError
        If a cell fails.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    old, new = (nbformat.reads(text, as_version=4) for _ in range(2))  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory(prefix="fmacost-") as scratch:
        where = {"metadata": {"path": scratch}}
        try:
            NotebookClient(new, record_timing=False, resources=where).execute()
        except CellExecutionError as error:
            raise DocumentError(f"{error.ename}: {error.evalue}") from None
    new.metadata = old.metadata  # not the version of Python
    pairs = enumerate(zip(old.cells, new.cells, strict=True))
    changed = [f"cell {i}" for i, (was, now) in pairs if _outputs(was) != _outputs(now)]
    return nbformat.writes(new) + "\n", changed  # type: ignore[no-untyped-call]


def _outputs(cell: Mapping[str, Any]) -> list[Mapping[str, str]]:
    """Return the texts that a cell printed or showed, by their type."""
    shown = [{"stream": o["text"]} if "text" in o else o["data"] for o in cell.get("outputs", ())]
    return [{kind: text for kind, text in one.items() if kind != "image/png"} for one in shown]


def _commands(body: str) -> list[str]:
    lines = body.splitlines()
    return [line.removeprefix(_PROMPT) for line in lines if line.startswith(_PROMPT)]


def _title(match: re.Match[str]) -> str:
    return match["name"] or "; ".join(_commands(match["body"]))
