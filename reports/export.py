"""Writing results to files, whole or not at all: JSON, CSV, Markdown, LaTeX."""

import csv
import html
import importlib.util
import io
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fmacost.reports.errors import InputError
from fmacost.reports.metrics import Better, Metric, flat_metrics, metric
from fmacost.reports.row import Record, Records, document

if TYPE_CHECKING:
    import pandas


_PAPER_COLUMNS = (
    "source",
    "what",
    "counted_in",
    "theirs",
    "ours",
    "ratio_theirs",
    "accumulator",
    "unit",
    "technology",
    "stage",
    "cell_type",
    "cell",
    "from_pin",
    "to_pin",
    "edge",
    "fan_out",
    "load_ff",
    "load",
    "slew_ps",
    "increment_ps",
    "increment_fo4",
    "arrival_ps",
    "arrival_fo4",
    "likeness",
    "stream",
    "cells",
    "gates_ge",
    "transistors",
    "ratio_transistors",
    "area_um2",
    "ratio_area",
    "delay_ps",
    "ratio_delay",
    "logic_depth",
    "flip_flops",
    "latency_cycles",
    "period_fo4",
    "period_ps",
    "fmax_ghz",
    "clock_ps",
    "clock_fo4",
    "slack_ps",
    "slack_fo4",
    "toggles",
    "energy_fj",
    "switched_capacitance",
    "ratio_energy",
    "leakage_nw",
    "verification",
    "why",
    "error",
)
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        **{char: f"\\{char}" for char in "&%$#_{}"},
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        ">": r"\textgreater{}",
        "<": r"\textless{}",
        "*": r"\ensuremath{*}",
    }
)
_MARKDOWN = str.maketrans({char: f"\\{char}" for char in "\\|*_`<>[]#~"})


def to_json(records: Records) -> str:
    """Return one JSON document, ``{"schema": 1, "rows": [...]}``."""
    return json.dumps(document([dict(record) for record in records]), indent=2) + "\n"


def to_csv(records: Records) -> str:
    """Return a table with one flat column per metric; counts by name are ``key=value`` pairs."""
    columns = flat_metrics(records)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    writer.writerows([_plain(column, record) for column in columns] for record in records)
    return out.getvalue()


def to_markdown(records: Records) -> str:
    """Return a Markdown table, numbers to the right."""
    columns = _paper_columns(records)
    lines = [
        [escape_markdown(column.heading) for column in columns],
        ["---:" if _is_number(column) else "---" for column in columns],
        *([escape_markdown(column.text(record)) for column in columns] for record in records),
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def escape_markdown(text: str) -> str:
    """Return text that Markdown shows as it is."""
    return text.translate(_MARKDOWN)


def to_latex(records: Records) -> str:
    """Return a LaTeX ``tabular`` without packages."""
    columns = _paper_columns(records)
    head = " & ".join(column.heading.translate(_LATEX) for column in columns)
    body = (
        " & ".join(column.text(record).translate(_LATEX) for column in columns)
        for record in records
    )
    layout = "".join("r" if _is_number(column) else "l" for column in columns)
    lines = [f"\\begin{{tabular}}{{{layout}}}", "\\hline", f"{head} \\\\", "\\hline"]
    lines += [f"{line} \\\\" for line in body]
    return "\n".join([*lines, "\\hline", "\\end{tabular}", ""])


def to_html(records: Records) -> str:
    """Return the table of ``to_markdown`` in HTML, numbers to the right; all text is escaped."""
    columns = _paper_columns(records)

    def line(tag: str, texts: Iterable[str]) -> str:
        cells = (
            f'<{tag} style="text-align: {"right" if _is_number(column) else "left"}">'
            f"{html.escape(text)}</{tag}>"
            for column, text in zip(columns, texts, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    head = line("th", (column.heading for column in columns))
    body = "".join(line("td", (column.text(record) for column in columns)) for record in records)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"


def to_parquet(records: Records) -> bytes:
    """Return the table of ``to_csv`` in Parquet.

    Raises
    ------
    InputError
        If pyarrow is not installed.
    """
    check_parquet()
    import pyarrow
    import pyarrow.parquet

    sink = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(_columns(records)), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def check_parquet() -> None:
    """Raise InputError unless Parquet can be written."""
    if importlib.util.find_spec("pyarrow") is None:
        raise InputError("Parquet needs pyarrow: pip install 'fmacost[parquet]'")


def to_pandas(records: Records) -> "pandas.DataFrame":
    """Return the table of ``to_csv`` as a data frame.

    Raises
    ------
    InputError
        If pandas is not installed.
    """
    if importlib.util.find_spec("pandas") is None:
        raise InputError("a data frame needs pandas: pip install 'fmacost[pandas]'")
    import pandas

    return pandas.DataFrame(_columns(records))


def _columns(records: Records) -> dict[str, list[object]]:
    """Return the columns of ``to_csv`` by name, each of one type."""
    columns: dict[str, list[object]] = {}
    for column in flat_metrics(records):
        values = [_plain(column, record) for record in records]
        is_real = any(isinstance(value, float) for value in values)
        columns[column.name] = [float(v) if is_real and isinstance(v, int) else v for v in values]
    return columns


EXPORTERS: Mapping[str, Callable[[Records], str | bytes]] = {
    "json": to_json,
    "csv": to_csv,
    "md": to_markdown,
    "tex": to_latex,
    "parquet": to_parquet,
}


def write_output(path: Path, content: str | bytes) -> None:
    """Write what the user asked for to a file, whole or not at all; devices directly.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        if _is_special(path):
            with path.open("wb") as file:
                file.write(data)
        else:
            write_atomic(path.resolve(), data)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


def check_writable(path: Path) -> None:
    """Raise InputError unless a file can be written there; nothing is changed.

    For use before long work: the answer may be another one later.
    """
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder")
    if _is_special(path):
        return
    target = path.resolve()
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    if target.exists() and not os.access(target, os.W_OK):
        raise InputError(f"cannot write {path}: it is read-only")


def write_atomic(path: Path, data: bytes) -> None:
    """Write a file beside its final name and move it there.

    Raises
    ------
    OSError
        If that fails; then the file is as it was, and nothing is left beside it.
    """
    mode = _mode(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:  # Ctrl-C too leaves nothing behind
        with suppress(OSError):
            os.unlink(name)
        raise


def _mode(path: Path) -> int:
    """Return the permissions of the file, or those that a new file would get."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except OSError:
        umask = os.umask(0o077)
        os.umask(umask)
        return 0o666 & ~umask


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _paper_columns(records: Records) -> list[Metric]:
    columns = [metric(name) for name in _PAPER_COLUMNS]
    return [c for c in columns if any(c.value(record) is not None for record in records)]


def _plain(column: Metric, record: Record) -> object:
    value = column.value(record)
    return column.show(value) if isinstance(value, Mapping) else value


def _is_number(column: Metric) -> bool:
    return column.better is not Better.NONE
