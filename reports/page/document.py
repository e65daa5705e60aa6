"""One HTML file of what is on a page: template, style, scripts and charts, and nothing elsewhere.

Whatever comes from tables is text: the template escapes it, and a policy in the file lets no script
run but these two, and no request leave.
"""

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING

from fmacost.reports.page.charts import Chart, bundle
from fmacost.reports.page.contents import Contents

if TYPE_CHECKING:
    import jinja2

_VEGA = "window.vegaEmbed = vegaEmbed;"
_OPEN_UNITS = 12  # of more, sections are closed until somebody opens them


def to_html(contents: Contents, charts: Sequence[Chart]) -> str:
    """Return the page. The same contents give the same bytes with the same packages."""
    scripts = [_file("page.js"), *([bundle(_VEGA)] if charts else [])]
    template = _environment().get_template("page.html")
    return template.render(
        page=contents,
        charts=charts,
        style=_file("page.css"),
        scripts=scripts,
        policy=_policy(scripts),
        is_open=len(contents.units) <= _OPEN_UNITS,
    )


def _policy(scripts: Sequence[str]) -> str:
    """Return a Content-Security-Policy: these scripts, styles of the file, no connection."""
    digests = (base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _environment() -> "jinja2.Environment":
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def _file(name: str) -> str:
    """Return a file beside this module."""
    return resources.files("fmacost.reports.page").joinpath(name).read_text(encoding="utf-8")
