"""Pieces of the documents in Markdown."""

import textwrap
from collections.abc import Sequence

from fmacost.reports.terminal import PROSE_WIDTH


def table(headings: Sequence[str], body: Sequence[Sequence[str]], numbers: range = range(0)) -> str:
    """Return a Markdown table; the columns in ``numbers`` stand to the right."""
    rules = ["---:" if i in numbers else "---" for i in range(len(headings))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rules, *body))


def prose(text: str) -> str:
    """Return a paragraph in lines."""
    return textwrap.fill(text, PROSE_WIDTH, break_long_words=False, break_on_hyphens=False)


def item(text: str) -> str:
    """Return an item of a list in lines."""
    lines = textwrap.wrap(text, PROSE_WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    return "- " + "\n  ".join(lines)


def code(text: str) -> str:
    """Return text in code quotes."""
    return f"`{text}`"
