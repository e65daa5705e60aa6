"""What ``--technology`` takes: a built-in technology, Liberty files, an installed library."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmacost.reports.cache import Cache
from fmacost.reports.errors import InputError, printable
from fmacost.reports.measure import source_digest

if TYPE_CHECKING:
    from fmacost.hw.installed import Installed
    from fmacost.hw.technology import Technology

_SUFFIXES = (".lib", ".lib.gz", ".7z")
_AND = "+"  # between the files of one library


@dataclass(frozen=True, slots=True)
class Listed:
    """A technology that can be asked for, or why the files of its name cannot be used.

    Attributes
    ----------
    corners : that can be asked for behind the name and a colon
    """

    name: str
    source: str
    technology: "Technology | None" = None
    error: str = ""
    corners: tuple[str, ...] = ()


def open_technology(text: str, store: Cache | None) -> "Technology":
    """Return the technology that a user named.

    Parameters
    ----------
    text : a built-in name; a file, which has a folder in its name, ends in ``.lib`` or
        ``.lib.gz``, or is there; several files of one library with ``+`` between them; or an
        installed library such as ``sky130hd@pdk``, with a corner ``sky130hd@pdk:ss_100C_1v60``
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
    names = [text] if Path(text).is_file() else text.split(_AND)
    if all(map(_is_file_name, names)):
        return _read(tuple(map(Path, names)), store)
    if "@" in text:
        return _open_installed(text, store)
    return get_technology(text)


def _is_file_name(text: str) -> bool:
    return os.sep in text or text.endswith(_SUFFIXES) or Path(text).is_file()


def list_technologies(store: Cache | None) -> tuple[Listed, ...]:
    """Return the built-in technologies, then the installed libraries."""
    from fmacost.hw.installed import installed
    from fmacost.hw.liberty import LibertyError
    from fmacost.hw.technology import TECHNOLOGIES

    listed = [Listed(name, made.source, made) for name, made in TECHNOLOGIES.items()]
    for library in installed(os.environ, Path.home()):
        corners = tuple(filter(None, library.corners))
        files = library.corners.get(library.typical, ())
        source = _AND.join(map(str, files))
        try:
            made = _read_corner(library, library.typical, library.name, store)
        except (LibertyError, InputError) as error:
            listed.append(Listed(library.name, source, error=str(error), corners=corners))
        else:
            listed.append(Listed(library.name, source, made, corners=corners))
    return tuple(listed)


def _open_installed(text: str, store: Cache | None) -> "Technology":
    from fmacost.hw.installed import PLACES, installed

    known = {library.name: library for library in installed(os.environ, Path.home())}
    name, colon, corner = text.partition(":")
    if name in known:
        return _read_corner(known[name], corner if colon else known[name].typical, text, store)
    place = name.rpartition("@")[2]
    if place not in PLACES:
        raise InputError(f"unknown place '{place}' in '{text}'; expected {', '.join(PLACES)}")
    here = [other for other in known if other.endswith(f"@{place}")]
    found = f"found there: {', '.join(here)}" if here else "none is found there"
    raise InputError(f"no library '{name}' in {PLACES[place]}; {found}")


def _read_corner(library: "Installed", corner: str, name: str, store: Cache | None) -> "Technology":
    """Read the files of a corner; the technology gets a name."""
    if corner not in library.corners:
        there = ", ".join(filter(None, library.corners)) or "no corners to choose from"
        raise InputError(f"library {library.name} has no corner '{corner}'; it has {there}")
    return replace(_read(library.corners[corner], store), name=name)


def _read(paths: Sequence[Path], store: Cache | None) -> "Technology":
    """Read the Liberty files of a library, or what was kept of some with the same content."""
    from fmacost.hw.liberty import read_liberty
    from fmacost.hw.technology import TechnologyError
    from fmacost.hw.technology_json import technology_from_json, technology_to_json

    for path in paths:
        if path.is_fifo() or path.is_char_device() or path.is_socket():  # has no end, or is gone
            name = printable(str(path))
            raise InputError(f"{name} is a pipe or a device; expected a Liberty file")
    key = None if store is None else _key(paths)
    if store is not None and key is not None and (kept := store.load("libraries", key)) is not None:
        try:
            return technology_from_json(kept)
        except TechnologyError as error:
            store.reject("libraries", key, str(error))
    technology = read_liberty(*paths).technology
    if store is not None and key is not None:
        store.store("libraries", key, technology_to_json(technology))
    return technology


def _key(paths: Sequence[Path]) -> Mapping[str, Any] | None:
    """Return what the reading of files depends on; None if one cannot be read."""
    contents = []
    for path in paths:
        try:
            with path.open("rb") as file:
                contents.append(hashlib.file_digest(file, "sha256").hexdigest())
        except OSError:
            return None  # the reader says why
    names = [path.name for path in paths]
    return {"names": names, "contents": contents, "sources": source_digest()}
