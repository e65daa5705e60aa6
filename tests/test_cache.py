"""The result cache, and when a measurement is answered from it."""

import errno
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fmacost.hw.technology import get_technology
from fmacost.reports import measure as measure_module
from fmacost.reports.cache import Cache, cache_folder, canonical, digest_of
from fmacost.reports.errors import InputError
from fmacost.reports.measure import Measured, Settings, check_exhaustive, measure, source_digest
from fmacost.sim import check
from fmacost.sim.operation import parse_unit
from tests import fake_hw
from tests.fake_hw import FakeHardware

KEY = {"unit": "fma:int8", "schema": 1}


class Listener:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.notices: list[str] = []

    def stage(self, text: str) -> None:
        """Not remembered."""

    def part(self, done: int, total: int) -> None:
        """Not remembered."""

    def notify(self, text: str) -> None:
        self.notices.append(text)


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def store(tmp_path: Path, listener: Listener) -> Cache:
    return Cache(tmp_path / "cache", listener.notify)


@pytest.fixture
def hardware(monkeypatch: pytest.MonkeyPatch) -> FakeHardware:
    return fake_hw.install(monkeypatch)


def only_file(store: Cache, kind: str) -> Path:
    (path,) = (store.folder / kind).iterdir()
    return path


def ask(store: Cache | None, listener: Listener, unit: str = "mul:int2", **how: Any) -> Measured:
    settings = Settings(**how)
    return measure(parse_unit(unit), get_technology("cmos"), settings, store, listener)


def test_what_is_stored_is_loaded(store: Cache, listener: Listener) -> None:
    assert store.load("rows", KEY) is None
    store.store("rows", KEY, {"cells": 7})
    assert store.load("rows", KEY) == {"cells": 7}
    assert store.load("netlists", KEY) is None
    assert store.load("rows", {**KEY, "schema": 2}) is None
    assert listener.notices == []


def test_equal_content_makes_equal_files(store: Cache) -> None:
    store.store("rows", KEY, {"b": 1, "a": 2})
    before = only_file(store, "rows").read_bytes()
    store.store("rows", KEY, {"b": 1, "a": 2})
    assert only_file(store, "rows").read_bytes() == before


def test_digests_do_not_depend_on_order() -> None:
    assert digest_of({"a": 1, "b": [2]}) == digest_of({"b": [2], "a": 1})
    assert canonical({"b": 1, "a": "ü"}) == '{"a":"\\u00fc","b":1}'


def damage_cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def damage_empty(path: Path) -> None:
    path.write_bytes(b"")


def damage_text(path: Path) -> None:
    path.write_text("not gzip")


def damage_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)


def rewrite(path: Path, **changes: Any) -> None:
    entry = json.loads(gzip.decompress(path.read_bytes()))
    path.write_bytes(gzip.compress(json.dumps({**entry, **changes}).encode()))


def damage_content(path: Path) -> None:
    rewrite(path, content={"cells": 8})


def damage_key(path: Path) -> None:
    rewrite(path, key={"unit": "another"})


def damage_shape(path: Path) -> None:
    path.write_bytes(gzip.compress(b"[1, 2]"))


def damage_depth(path: Path) -> None:
    path.write_bytes(gzip.compress(b"[" * 200_000))


DAMAGES = [
    damage_cut, damage_empty, damage_text, damage_byte, damage_content, damage_key, damage_shape,
    damage_depth,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_counts_as_missing_with_a_notice(
    damage: Any, store: Cache, listener: Listener
) -> None:
    store.store("rows", KEY, {"cells": 7})
    damage(only_file(store, "rows"))
    assert store.load("rows", KEY) is None
    (notice,) = listener.notices
    assert notice.startswith("damaged cache file")
    assert "\n" not in notice


def test_an_unwritable_folder_is_said_once(tmp_path: Path, listener: Listener) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    store = Cache(blocked / "cache", listener.notify)
    store.store("rows", KEY, {})
    store.store("rows", KEY, {})
    (notice,) = listener.notices
    assert notice.startswith("going on without the cache: ")


def test_a_full_disk_leaves_no_file(
    store: Cache, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("fmacost.reports.export.os.replace", full)
    store.store("rows", KEY, {})
    assert list((store.folder / "rows").iterdir()) == []
    assert listener.notices == ["going on without the cache: No space left on device"]


def test_clear_removes_entries_and_nothing_else(store: Cache) -> None:
    store.store("rows", KEY, {})
    store.store("netlists", KEY, {})
    mine = store.folder / "rows" / "notes.txt"
    mine.write_text("keep")
    (store.folder / "thesis.json.gz").write_text("keep")
    left_over = store.folder / "rows" / f".{'0' * 64}.json.gz.abc.tmp"
    left_over.write_text("half")
    assert store.info().entries == {"rows": 1, "netlists": 1, "libraries": 0, "times": 0}
    assert store.clear() == 3
    assert sorted(p.name for p in store.folder.rglob("*") if p.is_file()) == [
        "notes.txt",
        "thesis.json.gz",
    ]
    assert store.info().size_bytes == 0


def test_info_of_no_folder(store: Cache) -> None:
    assert store.info().entries == {"rows": 0, "netlists": 0, "libraries": 0, "times": 0}
    assert store.clear() == 0
    assert not store.folder.exists()


def test_the_environment_names_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.setenv("FMACOST_CACHE_DIR", "")
    assert cache_folder().name == "fmacost"


def test_a_repeated_question_synthesises_nothing(
    store: Cache, listener: Listener, hardware: FakeHardware
) -> None:
    first, second = ask(store, listener), ask(store, listener)
    assert hardware.calls == 1
    assert not first.is_cached
    assert second.is_cached
    assert second.row == first.row
    assert first.row.verification.is_proven
    assert first.row.cells == sum(first.row.cell_counts.values())
    assert first.row.gates_ge == first.row.counted_transistors / 4


def test_without_a_store_every_question_synthesises(
    listener: Listener, hardware: FakeHardware
) -> None:
    assert ask(None, listener).row == ask(None, listener).row
    assert hardware.calls == 2


def test_a_recheck_uses_the_known_netlist(
    store: Cache, listener: Listener, hardware: FakeHardware
) -> None:
    first, second = ask(store, listener), ask(store, listener, recheck=True)
    assert hardware.calls == 1
    assert not second.is_cached
    assert second.row == first.row


def test_a_known_row_comes_with_its_netlist(
    store: Cache, listener: Listener, hardware: FakeHardware
) -> None:
    first, second = ask(store, listener), ask(store, listener, with_netlist=True)
    assert second.is_cached
    assert second.netlist == first.netlist
    for path in (store.folder / "netlists").iterdir():
        path.unlink()
    third = ask(store, listener, with_netlist=True)
    assert hardware.calls == 2
    assert third.netlist == first.netlist


@pytest.mark.parametrize("kind", ["rows", "netlists"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_answers_are_made_again(
    kind: str, damage: Any, store: Cache, listener: Listener, hardware: FakeHardware
) -> None:
    first = ask(store, listener)
    damage(only_file(store, kind))
    again = ask(store, listener, with_netlist=True)
    assert again.row == first.row
    assert again.netlist == first.netlist
    assert len(listener.notices) == 1
    listener.notices.clear()
    assert ask(store, listener, with_netlist=True).is_cached
    assert listener.notices == []


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("rows", {"cells": 7}),
        ("rows", []),
        ("netlists", {"netlist": {}}),
        ("netlists", []),
        ("netlists", None),
        ("netlists", {"netlist": {"modules": {"unit": {"ports": {}, "cells": {"x": 1}}}}}),
    ],
)
def test_well_kept_nonsense_is_made_again(
    kind: str, content: object, store: Cache, listener: Listener, hardware: FakeHardware
) -> None:
    first = ask(store, listener)
    rewrite(only_file(store, kind), content=content, checksum=digest_of(content))
    assert ask(store, listener, with_netlist=True).row == first.row


def test_a_mismatch_is_not_kept(store: Cache, listener: Listener, hardware: FakeHardware) -> None:
    hardware.flip = 1
    wrong = ask(store, listener)
    assert wrong.row.verification.mismatches == 1
    assert wrong.counterexample is not None
    assert "expected" in wrong.counterexample
    assert store.info().entries == {"rows": 0, "netlists": 0, "libraries": 0, "times": 0}
    hardware.flip = 0
    assert ask(store, listener).row.verification.is_proven


def test_what_a_time_limit_decided_is_said_and_not_kept(
    store: Cache, listener: Listener, hardware: FakeHardware
) -> None:
    hardware.left_out = 2
    assert ask(store, listener).row.verification.is_proven
    assert "2 candidates took longer than 120 s or failed" in listener.notices[0]
    hardware.left_out = 0
    assert not ask(store, listener).is_cached
    assert hardware.calls == 2


def test_everything_that_determines_a_row_is_in_its_digest(
    listener: Listener, hardware: FakeHardware, monkeypatch: pytest.MonkeyPatch
) -> None:
    def digest(unit: str = "mul:int2", **how: Any) -> str:
        return ask(None, listener, unit, **how).row.digest

    digests = [digest(), digest(effort="quick"), digest("mul:uint2")]
    monkeypatch.setattr("fmacost.hw.yosys.tool_versions", lambda: {"yosys": "9"})
    digests.append(digest())
    monkeypatch.setattr(measure_module, "source_digest", lambda: "another")
    digests.append(digest())
    monkeypatch.setattr("fmacost.__version__", "9")
    digests.append(digest())
    cmos = get_technology("cmos")
    cheaper = replace(cmos, transistors={**cmos.transistors, "FA": 24})
    monkeypatch.setattr("tests.test_cache.get_technology", lambda name: cheaper)
    digests.append(digest())
    assert len(set(digests)) == len(digests)
    assert digest(seed=5) == digest(exhaustive=True) == digests[-1]  # run on all inputs anyway


def test_the_source_digest_covers_sim_and_hw() -> None:
    names = {name for name, _ in measure_module._sources()}
    assert {
        "fmacost.sim/reference.py",
        "fmacost.hw/yosys.py",
        "fmacost.hw/parts/adders.py",
    } <= names
    assert len(source_digest()) == 64


def test_limits_are_those_of_the_check() -> None:
    assert measure_module.ALWAYS_EXHAUSTIVE_BITS == check.ALWAYS_EXHAUSTIVE_BITS
    assert measure_module.MAX_EXHAUSTIVE_BITS == check.MAX_EXHAUSTIVE_BITS
    check_exhaustive([parse_unit("mul:fp16")])
    with pytest.raises(InputError, match=r"fma:fp16 has 2\^48"):
        check_exhaustive([parse_unit("fma:fp16")])
