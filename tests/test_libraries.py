"""What --technology takes: built-in names, Liberty files, and libraries where users keep them."""

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from fmacost.hw.installed import installed
from fmacost.hw.liberty import LibertyError
from fmacost.hw.technology import TECHNOLOGIES, TechnologyError
from fmacost.reports.cache import Cache
from fmacost.reports.cli import run
from fmacost.reports.errors import InputError
from fmacost.reports.libraries import list_technologies, open_technology
from tests.test_liberty import INV, NAND, cell, library

XOR = cell("XOR_X1", 1.6, "A B", "Y=A^B")
BUF = cell("BUF_X1", 0.7, "A", "Y=A")
TOY = library(INV, NAND, BUF, XOR)
SKY = "sky130A/libs.ref/sky130_fd_sc_hd/lib/sky130_fd_sc_hd__tt_025C_1v80.lib"


@pytest.fixture(autouse=True)
def private_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FMACOST_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FMACOST_DEBUG", raising=False)
    for variable in ("PDK_ROOT", "ORFS_ROOT"):
        monkeypatch.delenv(variable, raising=False)


def write(path: Path, text: str = TOY) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def test_built_in_names_are_the_built_in_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "asap7")  # a file of that name is not asked for
    for name in TECHNOLOGIES:
        assert open_technology(name, None) is TECHNOLOGIES[name]


@pytest.mark.parametrize("name", ["toy.lib", "toy.lib.gz", "toy", "folder/toy"])
def test_a_file_is_read(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / name)
    technology = open_technology(name, None)
    assert technology.name == "toy"
    assert technology.area_um2 == {"BUF_X1": 0.7, "INV_X1": 0.5, "NAND_X1": 0.8, "XOR_X1": 1.6}


def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Cache(tmp_path / "cache", pytest.fail)
    path = write(tmp_path / "toy.lib")
    first = open_technology(str(path), store)
    with monkeypatch.context() as patch:
        patch.setattr("fmacost.hw.liberty.read_liberty", None)
        assert open_technology(str(path), store) == first
        assert open_technology(str(path), store).digest == first.digest
    write(path, TOY.replace("area : 0.8", "area : 0.9"))
    changed = open_technology(str(path), store)
    assert changed.area_um2 is not None
    assert changed.area_um2["NAND_X1"] == 0.9
    assert changed.digest != first.digest
    assert store.info().entries["libraries"] == 2


def test_a_damaged_memory_is_made_again(tmp_path: Path) -> None:
    told: list[str] = []
    store = Cache(tmp_path / "cache", told.append)
    path = str(write(tmp_path / "toy.lib"))
    first = open_technology(path, store)
    (entry,) = (store.folder / "libraries").glob("**/*.gz")
    kept = json.loads(gzip.decompress(entry.read_bytes()))
    store.store("libraries", kept["key"], {"cells": {}})
    assert open_technology(path, store) == first
    assert len(told) == 1
    assert "damaged cache file" in told[0]


@pytest.mark.parametrize(
    ("variable", "folder", "relative", "name"),
    [
        ("PDK_ROOT", "kits", SKY, "sky130hd@pdk"),
        ("PDK_ROOT", "kits", f"{SKY}.gz", "sky130hd@pdk"),
        (None, "home/.ciel", SKY, "sky130hd@pdk"),
        (None, "home/.volare", SKY, "sky130hd@pdk"),
        (
            "ORFS_ROOT",
            "flow scripts",
            "flow/platforms/nangate45/lib/NangateOpenCellLibrary_typical.lib",
            "nangate45@orfs",
        ),
    ],
)
def test_libraries_are_found_where_users_keep_them(
    variable: str | None,
    folder: str,
    relative: str,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(tmp_path / folder / relative)
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / folder))
    technology = open_technology(name, None)
    assert technology.name == name
    assert technology.nand2 == "NAND_X1"
    listed = {entry.name: entry for entry in list_technologies(None)}
    assert listed[name].technology == technology
    assert listed[name].source == str(tmp_path / folder / relative)
    plain = name.partition("@")[0]
    assert open_technology(plain, None) is TECHNOLOGIES[plain]


ASAP7 = "flow/platforms/asap7/lib/NLDM/asap7sc7p5t_{}_RVT_{}_nldm_{}.lib{}"


def test_a_library_of_several_files_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORFS_ROOT", str(tmp_path))
    parts = {"INVBUF": (INV, BUF), "SIMPLE": (NAND,), "AO": (XOR,), "OA": (), "SEQ": ()}
    for corner in ("TT", "SS"):
        for part, cells in parts.items():
            name = ASAP7.format(part, corner, "220123", "" if part == "SEQ" else ".gz")
            write(tmp_path / name, library(*cells, name=f"asap7_{part}_{corner}"))
    write(tmp_path / ASAP7.format("SIMPLE", "TT", "201020", ""), library("an old release"))
    write(tmp_path / ASAP7.format("SIMPLE", "FF", "220123", ""))  # the others are missing
    technology = open_technology("asap7@orfs", None)
    assert technology.name == "asap7@orfs"
    assert set(technology.cells) == {"INV_X1", "BUF_X1", "NAND_X1", "XOR_X1"}
    assert "asap7sc7p5t_AO_RVT_TT_nldm_220123.lib.gz, " in technology.source
    slow = open_technology("asap7@orfs:SS", None)
    assert slow.name == "asap7@orfs:SS"
    assert "_SS_" in slow.source
    with pytest.raises(InputError, match=r"asap7@orfs has no corner 'FF'; it has SS, TT$"):
        open_technology("asap7@orfs:FF", None)


def test_files_with_a_plus_between_them_are_one_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "toy_a.lib.gz", library(INV, name="toy_a"))
    write(tmp_path / "toy_b.lib", library(NAND, name="toy_b"))
    store = Cache(tmp_path / "cache", pytest.fail)
    technology = open_technology("toy_a.lib.gz+./toy_b.lib", store)
    assert technology.name == "toy"
    assert set(technology.cells) == {"INV_X1", "NAND_X1"}
    write(tmp_path / "toy_b.lib", library(NAND, BUF, name="toy_b"))
    assert len(open_technology("toy_a.lib.gz+toy_b.lib", store).cells) == 3  # not what was kept
    with pytest.raises(LibertyError, match=r"none.lib: cannot be read"):
        open_technology("toy_a.lib.gz+none.lib", store)
    write(tmp_path / "a+b.lib")
    assert open_technology("a+b.lib", store).cells.keys() >= {"XOR_X1"}


def test_corners_of_a_kit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PDK_ROOT", str(tmp_path))
    slow = SKY.replace("tt_025C_1v80", "ss_100C_1v60")
    write(tmp_path / slow, library(INV, NAND))
    with pytest.raises(InputError, match="no corner 'tt_025C_1v80'; it has ss_100C_1v60"):
        open_technology("sky130hd@pdk", None)
    (entry,) = (entry for entry in list_technologies(None) if "@" in entry.name)
    assert "no corner" in entry.error
    write(tmp_path / SKY)
    assert set(open_technology("sky130hd@pdk", None).cells) > {"INV_X1", "NAND_X1"}
    assert set(open_technology("sky130hd@pdk:ss_100C_1v60", None).cells) == {"INV_X1", "NAND_X1"}
    assert run(["technologies", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["sky130hd@pdk"]["corners"] == ["ss_100C_1v60", "tt_025C_1v80"]
    assert rows["sky130hd"]["corners"] == []
    assert run(["technologies"]) == 0
    assert "sky130hd@pdk: corners ss_100C_1v60, tt_025C_1v80" in capsys.readouterr().out


def test_a_chosen_root_is_the_only_one(tmp_path: Path) -> None:
    write(tmp_path / ".ciel" / SKY)
    names = [entry.name for entry in installed({}, tmp_path)]
    assert "sky130hd@pdk" in names
    chosen = installed({"PDK_ROOT": str(tmp_path / "none")}, tmp_path)
    assert "sky130hd@pdk" not in [entry.name for entry in chosen]


def test_a_damaged_library_is_listed_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PDK_ROOT", str(tmp_path))
    write(tmp_path / SKY, "library (x) {")
    assert run(["technologies", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert rows["sky130hd@pdk"]["error"].endswith("not the end of the file")
    assert rows["sky130hd"]["nand2_um2"] == 3.7536
    assert rows["sky130hd"]["licence"] == "Apache-2.0"
    assert rows["cmos"]["fo4_ps"] is None
    assert run(["technologies"]) == 0
    assert "not the end of the file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("sky130", TechnologyError, "unknown technology 'sky130'; did you mean sky130hd"),
        ("sky130hd@pdk", InputError, "no library 'sky130hd@pdk' in .PDK_ROOT.*none is found"),
        ("sky130hd@moon", InputError, "unknown place 'moon' in 'sky130hd@moon'; expected pdk"),
        ("none.lib", LibertyError, "none.lib: cannot be read: No such file"),
        ("../none", LibertyError, "none: cannot be read: No such file"),
        ("/", LibertyError, "cannot be read"),
        ("/dev/zero", InputError, "/dev/zero is a pipe or a device; expected a Liberty file"),
    ],
)
def test_what_is_not_there(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        open_technology(text, None)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "toy.lib")
    with pytest.raises(InputError, match=r"toy\.lib is a pipe or a device"):
        open_technology(str(tmp_path / "toy.lib"), None)


def synth(path: Path | str, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, Any]:
    code = run(["synth", "mul:int2", "-t", str(path), "--effort", "quick", *more])
    return code, capsys.readouterr()


def test_a_unit_in_a_liberty_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, captured = synth(write(tmp_path / "toy.lib.gz"), capsys, "--json")
    assert code == 0
    (row,) = json.loads(captured.out)["rows"]
    assert row["technology"] == "toy"
    assert row["transistors"] is None
    assert row["area_um2"] > 0
    assert row["verification"]["mismatches"] == 0
    assert set(row["cell_counts"]) <= {"INV_X1", "NAND_X1", "BUF_X1", "XOR_X1"}
    code, captured = synth(tmp_path / "toy.lib.gz", capsys)
    assert code == 0
    assert "toy" in captured.out
    assert captured.err == ""  # it comes from the cache


def test_no_delays_to_minimise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, captured = synth(write(tmp_path / "toy.lib"), capsys, "--objective", "delay")
    assert code == 2
    assert captured.err == "fmacost: technology toy has no delays: only area can be minimised\n"


BAD = {
    "empty": (b"", "toy.lib:1: expected 'library"),
    "no cells": (library().encode(), "library toy has no cells"),
    "no NAND2": (library(INV).encode(), "library toy has no two-input NAND"),
    "no function": (library(INV, cell("N", 1, "A B", "Y=")).encode(), "toy.lib:"),
    "cut short": (gzip.compress(TOY.encode())[:-20], "toy.lib: the gzip file is damaged"),
    "hostile library": (
        library(INV, NAND, name='"x; shell touch hacked"').encode(),
        "the library's name must be letters",
    ),
    "binary": (bytes(range(256)), "toy.lib:1: "),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_library_is_one_line_and_leaves_nothing(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, message = BAD[what]
    path = tmp_path / "toy.lib"
    path.write_bytes(content)
    code, captured = synth(path, capsys)
    assert code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert not (tmp_path / "cache").exists()


HOSTILE = (
    "x; shell touch hacked",
    "x\\nshell touch hacked",
    "$(touch hacked)",
    "`touch hacked`",
    "!touch hacked",
    'x\\" ; tee hacked \\"',
    "../hacked",
    "-script hacked",
)


def test_hostile_names_do_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells and pins of such names are left out; names of files never reach a script."""
    monkeypatch.chdir(tmp_path)
    hostile = [cell(f'"{name}"', 0.1, "A B", "Y=A B") for name in HOSTILE]
    hostile += [cell(f"P{i}", 0.1, f'"{name}" B', "Y=B") for i, name in enumerate(HOSTILE)]
    folder = tmp_path / "lib; touch hacked"
    path = write(folder / "$(touch hacked)\n`touch hacked`.lib", library(INV, NAND, BUF, *hostile))
    code, captured = synth(path, capsys, "--json")
    assert code == 0
    (row,) = json.loads(captured.out)["rows"]
    assert set(row["cell_counts"]) <= {"INV_X1", "NAND_X1", "BUF_X1"}
    shutil.rmtree(folder)
    assert not list(tmp_path.rglob("*hacked*"))


@pytest.mark.slow
def test_a_comparison_in_every_built_in_library(capsys: pytest.CaptureFixture[str]) -> None:
    names = [name for name, made in TECHNOLOGIES.items() if made.area_um2 is not None]
    options = [option for name in names for option in ("--technology", name)]
    arguments = ["compare", "int4", "e2m1fn", "--effort", "quick", "--quiet", "--json"]
    assert run([*arguments, *options]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["technology"] for row in rows} == set(names)
    assert len(rows) == 8 * len(names)
    for row in rows:
        assert row["verification"]["mismatches"] == 0
        assert row["verification"]["method"] != "none"
        assert row["transistors"] > 0
        assert row["delay_ps"] > 0
        assert row["leakage_nw"] > 0
        assert row["ratio_area"] == row["ratio_delay"] == 1 or "e2m1fn" in row["unit"]
    wide = [row for row in rows if row["unit"] == "fma:e2m1fn+fp32"]
    assert all(4 < row["ratio_area"] < 7 and row["ratio_delay"] > 2 for row in wide)


def test_two_technologies_of_one_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = write(tmp_path / "a.lib"), write(tmp_path / "b.lib")
    code, captured = synth(first, capsys, "-t", str(second))
    assert code == 2
    assert "two technologies are named toy" in captured.err
