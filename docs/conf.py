"""How Sphinx builds the site: ``make site``."""

import re

import typer
from typer.cli import get_docs_for_click

import fmacost
from fmacost.reports.commands import app as commands

project = "fmacost"
version = release = fmacost.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["**.ipynb_checkpoints"]

html_theme = "furo"
html_title = "fmacost"
html_copy_source = False
html_show_copyright = False

myst_heading_anchors = 4  # so that links are those of GitHub
nb_execution_mode = "off"  # notebooks are committed with their outputs, a test runs them
copybutton_prompt_text = "$ "

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_google_docstring = False
napoleon_use_rtype = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

_EPILOG = re.compile(r"^\x08\n(Examples|Columns):\n((?:  .*\n?)*)", re.MULTILINE)


def setup(app):
    """Let the page of the commands be written by the commands."""
    app.connect("source-read", add_commands)


def add_commands(app, page, source):
    """Append the help of every command to its page."""
    if page == "reference/commands":
        group = typer.main.get_command(commands)
        with typer.Context(group, info_name="fmacost") as context:
            text = get_docs_for_click(obj=group, ctx=context, name="fmacost", indent=1)
        source[0] += _EPILOG.sub(_epilog, text)


def _epilog(match):
    name, lines = match[1], [line.strip() for line in match[2].strip("\n").split("\n")]
    if name == "Examples":
        body = "\n".join(["```console", *(f"$ {line}" for line in lines), "```"])
    else:
        body = "\n".join(f"* {line}" for line in lines)
    return f"**{name}**:\n\n{body}\n"
