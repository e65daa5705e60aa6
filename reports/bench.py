"""Measure the speeds that are claimed: the check, synthesis, the cache and sweeps, in one run.

Each figure is a ratio of two times taken here and now, on the same machine.
"""

import json as json_module
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from fmacost.reports.row import SCHEMA

if TYPE_CHECKING:
    from fmacost.sim.netlist import Netlist
    from fmacost.sim.operation import Operation

_T = TypeVar("_T")

UNIT = "fma:e4m3fn"
_CODE_BITS = 8  # of each operand of UNIT, and of its result
_BLOCK_BITS = 20
_SYNTH_RUNS = 3
_PAGE_ROWS = 300
_SORT_GOAL_S = 0.2
SWEPT = "{mul,add,fma}:e{2..5}m{1..6}f"
YOSYS_SECONDS = re.compile(r"Yosys ran ([\d.]+) s")

# All triples, the last operand fastest; a checksum that depends on every result and its place.
_HARNESS = """
#include "Vunit.h"
#include "verilated.h"
#include <cstdint>
#include <cstdio>
int main() {
    VerilatedContext context;
    Vunit unit{&context};
    uint64_t index = 0, sum = 0;
    for (int a = 0; a < 256; ++a)
        for (int b = 0; b < 256; ++b)
            for (int c = 0; c < 256; ++c) {
                unit.a = a;
                unit.b = b;
                unit.c = c;
                unit.eval();
                sum += uint64_t(unit.result) * (2 * index++ + 1);
            }
    std::printf("%llu\\n", (unsigned long long)sum);
}
"""


class BenchError(RuntimeError):
    """Something that is measured did not work. The message is one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A ratio of two times; None where it could not be taken, with the reason."""

    name: str
    seconds: float | None
    other_seconds: float | None
    goal: str
    note: str

    @property
    def ratio(self) -> float | None:
        """The other time over ours."""
        if self.seconds is None or self.other_seconds is None:
            return None
        return self.other_seconds / self.seconds


def figures() -> Iterator[Figure]:
    """Take all figures, one after the other."""
    yield _check_against_verilator()
    yield _synthesis_over_yosys(
        f"median of {_SYNTH_RUNS}; Yosys: its processes added up, some ran together"
    )
    yield _synthesis_over_yosys(
        f"median of {_SYNTH_RUNS}; one Yosys after the other", "--jobs", "1"
    )
    yield _warm_against_cold()
    yield from _two_workers_against_one()
    yield _sorting()


def _sorting() -> Figure:
    """Time the sorting of a page's table in Chromium, and tell the size of the file."""
    from fmacost.reports.page.browser import find_chromium, sort_seconds
    from fmacost.reports.page.charts import draw_charts
    from fmacost.reports.page.contents import make_contents
    from fmacost.reports.page.document import to_html

    name = f"page of {_PAGE_ROWS} rows: {_SORT_GOAL_S * 1000:.0f} ms / sorting in Chromium"
    if find_chromium() is None:
        note = "no Chromium here: apt-get install chromium"
        return Figure(name=name, seconds=None, other_seconds=None, goal=">= 1", note=note)
    (row,) = json_module.loads(_fmacost("synth", "mul:int4", "--json").stdout)["rows"]
    rows = [
        {**row, "unit": f"mul:int4->int{i + 1}", "transistors": 997 * i % 1009}
        for i in range(_PAGE_ROWS)
    ]
    contents = make_contents(rows)
    page = to_html(contents, draw_charts(contents))
    with tempfile.TemporaryDirectory(prefix="fmacost-bench-") as scratch:
        path = Path(scratch) / "index.html"
        path.write_text(page, encoding="utf-8")
        seconds = sort_seconds(path)
    note = f"slowest column, with layout; the file has {len(page.encode()) / 1e6:.1f} MB, goal < 3"
    return Figure(name=name, seconds=seconds, other_seconds=_SORT_GOAL_S, goal=">= 1", note=note)


def _check_against_verilator() -> Figure:
    """Time the exhaustive check of a mapped netlist, and Verilator on the same netlist."""
    from fmacost.hw.synthesis import synthesise
    from fmacost.hw.technology import get_technology
    from fmacost.sim.check import verify
    from fmacost.sim.operation import parse_unit

    operation = parse_unit(UNIT)
    netlist = synthesise(operation, get_technology("cmos")).netlist
    proof, ours = _timed(lambda: verify(operation, netlist))
    if proof.mismatches:
        raise BenchError(f"{UNIT}: {proof.mismatches} mismatches")
    name = f"check of {UNIT}, 2^24 inputs: Verilator / fmacost"
    goal = ">= 4"
    if shutil.which("verilator") is None:
        note = "no verilator here: apt-get install verilator"
        return Figure(name=name, seconds=ours, other_seconds=None, goal=goal, note=note)
    with tempfile.TemporaryDirectory(prefix="fmacost-bench-") as scratch:
        folder = Path(scratch)
        _, compile_s = _timed(lambda: _compile(netlist, folder))
        output, run_s = _timed(lambda: _run([str(folder / "obj_dir" / "Vunit")], cwd=folder))
    if int(output) != checksum(operation):
        raise BenchError("Verilator's results have another checksum than the reference")
    return Figure(
        name=name,
        seconds=ours,
        other_seconds=compile_s + run_s,
        goal=goal,
        note=f"Verilator: {compile_s:.2f} s to compile, {run_s:.2f} s to run; same checksum",
    )


def checksum(operation: "Operation") -> int:
    """Return the checksum that the harness prints, from the reference."""
    import numpy as np

    from fmacost.sim.reference import compute

    total = np.uint64(0)
    mask = np.uint64((1 << _CODE_BITS) - 1)
    for start in range(0, 1 << 3 * _CODE_BITS, 1 << _BLOCK_BITS):
        index = np.arange(start, start + (1 << _BLOCK_BITS), dtype=np.uint64)
        operands = [index >> np.uint64(shift * _CODE_BITS) & mask for shift in (2, 1, 0)]
        results = compute(operation, *operands).astype(np.uint64)
        with np.errstate(over="ignore"):
            total += (results * (np.uint64(2) * index + np.uint64(1))).sum(dtype=np.uint64)
    return int(total)


def _compile(netlist: "Netlist", folder: Path) -> None:
    (folder / "unit.v").write_text(netlist.to_verilog(), encoding="utf-8")
    (folder / "main.cpp").write_text(_HARNESS, encoding="utf-8")
    _run(
        [
            "verilator", "--cc", "--exe", "--build", "-j", str(os.cpu_count() or 1),
            "-O3", "-CFLAGS", "-O2", "--top-module", netlist.name, "--prefix", "Vunit",
            "-Wno-fatal", "-Wno-lint", "unit.v", "main.cpp",
        ],
        cwd=folder,
    )  # fmt: skip


def _synthesis_over_yosys(note: str, *options: str) -> Figure:
    """Time ``synth`` as a whole, start-up included, and read the time that Yosys ran."""
    runs = []
    for _ in range(_SYNTH_RUNS):
        done, wall = _timed(lambda: _fmacost("synth", UNIT, "--no-cache", *options))
        match = YOSYS_SECONDS.search(done.stderr)
        if match is None:
            raise BenchError(f"synth did not say how long Yosys ran: {_last_line(done.stderr)}")
        runs.append((wall / float(match[1]), wall, float(match[1])))
    _, wall, yosys = sorted(runs)[_SYNTH_RUNS // 2]
    return Figure(
        name=f"{' '.join(['synth', UNIT, '--no-cache', *options])}: whole / Yosys alone",
        seconds=yosys,
        other_seconds=wall,
        goal="<= 1.5",
        note=note,
    )


def _warm_against_cold() -> Figure:
    """Time a comparison twice with a cache of its own."""
    with tempfile.TemporaryDirectory(prefix="fmacost-bench-") as scratch:
        times, texts = [], []
        for _ in range(2):
            done, seconds = _timed(lambda: _fmacost("compare", "int8", "e4m3fn", cache=scratch))
            times.append(seconds)
            texts.append(done.stdout)
    if texts[0] != texts[1]:
        raise BenchError("the cached comparison differs from the first")
    return Figure(
        name="compare int8 e4m3fn: first time / cached",
        seconds=times[1],
        other_seconds=times[0],
        goal="> 10",
        note="start-up included; both print the same",
    )


def _two_workers_against_one(pattern: str = SWEPT) -> Iterator[Figure]:
    """Time the same sweep in one process and in two, their start included, each with a new store.

    The points of a sweep take what each of them takes in its process; the rest of the wall time is
    the engine's: starting processes, passing points and rows, waiting for the last.
    """
    (one, _, table), (two, points, again) = (_sweep(pattern, workers) for workers in (1, 2))
    if table != again:
        raise BenchError("two workers gave other rows than one")
    yield Figure(
        name=f"sweep of {len(table)} points: 1 worker / 2 workers",
        seconds=two, other_seconds=one, goal=">= 1.8", note="the same rows, digit for digit",
    )  # fmt: skip
    yield Figure(
        name="the same: 2 x wall time of 2 workers / sum over points",
        seconds=points, other_seconds=2 * two, goal="<= 1.15",
        note="each point as long as it took beside another one",
    )  # fmt: skip


def _sweep(pattern: str, workers: int) -> "tuple[float, float, list[dict[str, object]]]":
    """Return wall time, summed time of the points, and the rows."""
    from fmacost.hw.technology import get_technology
    from fmacost.reports.cache import Cache
    from fmacost.reports.grid import Grid, expand, expand_units
    from fmacost.reports.measure import Settings
    from fmacost.reports.pool import Pool
    from fmacost.reports.sweep import Sweep, load, run

    grid = Grid(units=(pattern,), effort=("quick",))
    points = expand(grid, expand_units(grid.units).operations, grid.technology)
    with tempfile.TemporaryDirectory(prefix="fmacost-bench-") as scratch:
        swept = Sweep(
            points=points, technologies={"cmos": get_technology("cmos")}, common=Settings(),
            store=Cache(Path(scratch), lambda _: None),
        )  # fmt: skip
        result, missing = load(swept)
        pool = Pool(workers)
        _, wall = _timed(
            lambda: run(
                swept, pool, is_local=True, result=result, missing=missing,
                finished=lambda *_: None,
            )
        )  # fmt: skip
    if result.errors:
        raise BenchError(f"{next(iter(result.errors.items()))}")
    return wall, result.point_seconds, result.records()


def _fmacost(*arguments: str, cache: str | None = None) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, **({"FMACOST_CACHE_DIR": cache} if cache else {})}
    done = subprocess.run(
        [sys.executable, "-m", "fmacost", *arguments],
        check=False, capture_output=True, text=True, env=environment,
    )  # fmt: skip
    if done.returncode:
        raise BenchError(f"fmacost {' '.join(arguments)}: {_last_line(done.stderr)}")
    return done


def _run(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd)
    if done.returncode:
        raise BenchError(f"{command[0]} failed: {_last_line(done.stderr)}")
    return done.stdout


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no message"])[-1]


def _timed(action: Callable[[], _T]) -> tuple[_T, float]:
    start = time.perf_counter()
    result = action()
    return result, time.perf_counter() - start


def bench(
    json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Measure the check against Verilator, synthesis against Yosys, cache, sweeps and pages."""
    from fmacost.reports.tables import bench_table
    from fmacost.reports.terminal import Terminal

    terminal = Terminal()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    terminal.notify(f"{os.cpu_count()} processors{load}")
    taken = []
    for figure in figures():
        terminal.notify(f"{figure.name}: {figure.note}")
        taken.append(figure)
    if json:
        rows = [{**asdict(figure), "ratio": figure.ratio} for figure in taken]
        terminal.write(json_module.dumps({"schema": SCHEMA, "rows": rows}, indent=2) + "\n")
    else:
        terminal.show(bench_table(taken))


if __name__ == "__main__":
    try:
        typer.run(bench)
    except BenchError as error:
        sys.exit(f"bench: {error}")
