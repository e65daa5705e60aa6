"""What ``--technology`` takes: a built-in technology, a Liberty file, an installed library."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fmacost.reports.cache import Cache
from fmacost.reports.errors import InputError
from fmacost.reports.measure import source_digest

if TYPE_CHECKING:
    from fmacost.hw.technology import Technology

_SUFFIXES = (".lib", ".lib.gz")


@dataclass(frozen=True, slots=True)
class Listed:
    """A technology that can be asked for, or why the file of its name cannot be used."""

    name: str
    source: str
    technology: "Technology | None" = None
    error: str = ""


def open_technology(text: str, store: Cache | None) -> "Technology":
    """Return the technology that a user named.

    Parameters
    ----------
    text : a built-in name; a file, which has a folder in its name, ends in ``.lib`` or
        ``.lib.gz``, or is there; or an installed library such as ``sky130hd@pdk``
    store : where what was read of a file is kept; None reads it each time

    Raises
    ------
    TechnologyError, InputError
        If there is no such technology.
    LibertyError
        If the file cannot be read.
    """
    from fmacost.hw.technology import TECHNOLOGIES, get_technology

    if text in TECHNOLOGIES:
        return TECHNOLOGIES[text]
    if os.sep in text or text.endswith(_SUFFIXES) or Path(text).is_file():
        return _read(Path(text), store)
    if "@" in text:
        return _open_installed(text, store)
    return get_technology(text)


def list_technologies(store: Cache | None) -> tuple[Listed, ...]:
    """Return the built-in technologies, then the installed libraries."""
    from fmacost.hw.installed import installed
    from fmacost.hw.liberty import LibertyError
    from fmacost.hw.technology import TECHNOLOGIES

    listed = [Listed(name, made.source, made) for name, made in TECHNOLOGIES.items()]
    for library in installed(os.environ, Path.home()):
        try:
            made = replace(_read(library.path, store), name=library.name)
        except LibertyError as error:
            listed.append(Listed(library.name, str(library.path), error=str(error)))
        else:
            listed.append(Listed(library.name, str(library.path), made))
    return tuple(listed)


def _open_installed(text: str, store: Cache | None) -> "Technology":
    from fmacost.hw.installed import PLACES, installed

    known = {library.name: library.path for library in installed(os.environ, Path.home())}
    if text in known:
        return replace(_read(known[text], store), name=text)
    place = text.rpartition("@")[2]
    if place not in PLACES:
        raise InputError(f"unknown place '{place}' in '{text}'; expected {', '.join(PLACES)}")
    here = [name for name in known if name.endswith(f"@{place}")]
    found = f"found there: {', '.join(here)}" if here else "none is found there"
    raise InputError(f"no library '{text}' in {PLACES[place]}; {found}")


def _read(path: Path, store: Cache | None) -> "Technology":
    """Read a Liberty file, or what was kept of one with the same content."""
    from fmacost.hw.liberty import read_liberty
    from fmacost.hw.technology import TechnologyError
    from fmacost.hw.technology_json import technology_from_json, technology_to_json

    key = None if store is None else _key(path)
    if store is not None and key is not None and (kept := store.load("libraries", key)) is not None:
        try:
            return technology_from_json(kept)
        except TechnologyError as error:
            store.reject("libraries", key, str(error))
    technology = read_liberty(path).technology
    if store is not None and key is not None:
        store.store("libraries", key, technology_to_json(technology))
    return technology


def _key(path: Path) -> Mapping[str, str] | None:
    """Return what the reading of a file depends on; None if it cannot be read."""
    try:
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None  # the reader says why
    return {"name": path.name, "content": content, "sources": source_digest()}
