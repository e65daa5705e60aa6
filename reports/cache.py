"""The result cache: content-addressed JSON files under the user's cache folder.

The name of a file is the SHA-256 of everything that determines what is in it, so an entry is
never out of date, only unused. An entry also holds that key and a checksum of its content; one
that is damaged, or is another's, counts as missing. Files are written beside their final name
and moved there, so a reader sees a whole file or none.
"""

import gzip
import hashlib
import json
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fmacost.reports.export import write_atomic

ENVIRONMENT_VARIABLE = "FMACOST_CACHE_DIR"
KINDS = ("rows", "netlists", "libraries", "times")
_ENTRY = re.compile(r"[0-9a-f]{64}\.json\.gz")
_TEMPORARY = re.compile(r"\.[0-9a-f]{64}\.json\.gz\..*\.tmp")


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a cache holds."""

    folder: Path
    entries: dict[str, int]
    size_bytes: int


def canonical(value: object) -> str:
    """Return the one spelling of a JSON value that digests are taken of."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest_of(value: object) -> str:
    """Return the SHA-256 of a JSON value as hexadecimal digits."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def cache_folder() -> Path:
    """Return where entries are kept: ``$FMACOST_CACHE_DIR``, else the platform's cache folder."""
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("fmacost", appauthor=False))


class Cache:
    """Entries by kind and key. No trouble with files is ever an error, only a notice.

    Parameters
    ----------
    folder : made when the first entry is stored
    notify : told in one line about a damaged entry, or that entries cannot be kept

    Attributes
    ----------
    failure : why nothing is stored any more, empty as long as entries are
    """

    def __init__(self, folder: Path, notify: Callable[[str], None]) -> None:
        self.folder = folder
        self._notify = notify
        self.failure = ""

    def load(self, kind: str, key: Mapping[str, Any]) -> Any | None:
        """Return the content stored under a key, None where there is none or it is damaged."""
        path = self._path(kind, key)
        try:
            packed = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self._notify(f"cannot read the cache: {_reason(error)}")
            return None
        try:
            return _unpack(packed, key)
        except (ValueError, OSError, EOFError, zlib.error, RecursionError) as error:
            self.reject(kind, key, str(error))
            return None

    def reject(self, kind: str, key: Mapping[str, Any], reason: str) -> None:
        """Say that an entry cannot be used and will be made again."""
        self._notify(f"damaged cache file {self._path(kind, key)}, making it again: {reason}")

    def store(self, kind: str, key: Mapping[str, Any], content: object) -> None:
        """Keep JSON content under a key; after a first failure do nothing."""
        if self.failure:
            return
        path = self._path(kind, key)
        entry = {"key": key, "checksum": digest_of(content), "content": content}
        text = json.dumps(entry, separators=(",", ":"))  # order is kept: that of a netlist's cells
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, gzip.compress(text.encode(), 6, mtime=0))
        except OSError as error:
            self.failure = _reason(error)
            self._notify(f"going on without the cache: {self.failure}")

    def digests(self, kind: str) -> set[str]:
        """Return the digests of the keys that have an entry, damaged ones included."""
        with suppress(FileNotFoundError, NotADirectoryError):
            names = os.listdir(self.folder / kind)
            return {name.partition(".")[0] for name in names if _ENTRY.fullmatch(name)}
        return set()

    def entries(self, kind: str, limit: int) -> Iterator[tuple[Mapping[str, Any], Any]]:
        """Yield key and content of up to ``limit`` entries, leaving out the damaged."""
        for digest in sorted(self.digests(kind))[:limit]:
            with suppress(ValueError, OSError, EOFError, zlib.error, RecursionError):
                packed = (self.folder / kind / f"{digest}.json.gz").read_bytes()
                key = _unpack_entry(packed)["key"]
                if isinstance(key, Mapping) and digest_of(key) == digest:
                    yield key, _unpack(packed, key)

    def info(self) -> CacheInfo:
        """Return how many entries there are of each kind, and how large they are."""
        entries = {kind: 0 for kind in KINDS}
        size = 0
        for path in self._files():
            with suppress(OSError):
                size += path.stat().st_size
                entries[path.parent.name] += bool(_ENTRY.fullmatch(path.name))
        return CacheInfo(self.folder, entries, size)

    def clear(self) -> int:
        """Remove all entries, and nothing else; return how many files are gone.

        Raises
        ------
        OSError
            If a file cannot be removed.
        """
        removed = 0
        for path in list(self._files()):
            path.unlink(missing_ok=True)
            removed += 1
        for kind in KINDS:
            with suppress(OSError):
                (self.folder / kind).rmdir()
        return removed

    def _files(self) -> Iterator[Path]:
        for kind in KINDS:
            with suppress(FileNotFoundError, NotADirectoryError):
                for path in (self.folder / kind).iterdir():
                    if _ENTRY.fullmatch(path.name) or _TEMPORARY.fullmatch(path.name):
                        yield path

    def _path(self, kind: str, key: Mapping[str, Any]) -> Path:
        return self.folder / kind / f"{digest_of(key)}.json.gz"


def _unpack_entry(packed: bytes) -> dict[str, Any]:
    entry = json.loads(gzip.decompress(packed))
    if not isinstance(entry, dict) or not {"key", "checksum", "content"} <= entry.keys():
        raise ValueError("it is no cache entry")
    return entry


def _unpack(packed: bytes, key: Mapping[str, Any]) -> Any:
    entry = _unpack_entry(packed)
    if entry["key"] != json.loads(canonical(key)):
        raise ValueError("it holds another key")
    if entry["checksum"] != digest_of(entry["content"]):
        raise ValueError("its checksum is wrong")
    return entry["content"]


def _reason(error: OSError) -> str:
    text = error.strerror or str(error)
    return f"{text}: {error.filename}" if error.filename else text
