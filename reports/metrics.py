"""Every field of a cost row, declared once: name, unit, definition, and which way is better.

Tables, exports, comparisons and the help texts are derived from these declarations.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Better(StrEnum):
    """Which way a metric improves."""

    LOWER = "lower"
    HIGHER = "higher"
    NONE = "none"  # it describes, it does not rank


@dataclass(frozen=True, slots=True)
class Metric:
    """One field of a row.

    Attributes
    ----------
    name : its column in flat exports
    heading : its column in tables for people
    unit : what is counted, empty for text
    definition : one sentence without its full stop
    better : which way it improves
    show : the value as people read it
    path : where it is in the JSON of a row, ``name`` itself unless it is nested
    """

    name: str
    heading: str
    unit: str
    definition: str
    better: Better
    show: Callable[[Any], str]
    path: tuple[str, ...] = ()

    def value(self, record: Mapping[str, Any]) -> Any:
        """Return the value in the JSON of a row, None where the row has none."""
        found: Any = record
        for key in self.path or (self.name,):
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    def text(self, record: Mapping[str, Any]) -> str:
        """Return the value as people read it, empty where the row has none."""
        value = self.value(record)
        return "" if value is None else self.show(value)


def show_count(value: int) -> str:
    """Return an integer with separators of thousands."""
    return f"{value:,}"


def show_size(value: float) -> str:
    """Return transistors as an integer; an area or delay with one decimal, or four digits."""
    if isinstance(value, int):
        return show_count(value)
    return f"{value:,.1f}" if value >= 100 else f"{value:.4g}"


def show_amount(value: float) -> str:
    """Return a number with one decimal, one below ten with three significant digits."""
    return f"{value:,.1f}" if value >= 10 else f"{value:.3g}"


def show_number(value: float) -> str:
    """Return a number of any kind with four significant digits."""
    return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def show_ratio(value: float) -> str:
    """Return a ratio with three significant digits or more, as in 1.27x."""
    return f"{value:.2f}x"


def show_pairs(value: Mapping[str, object]) -> str:
    """Return a mapping as ``key=value`` pairs, in its own order."""
    return " ".join(f"{key}={item}" for key, item in value.items())


def show_verification(value: Mapping[str, Any]) -> str:
    """Return how a row was verified: method, vectors, and any mismatches loudly."""
    vectors = int(value["vectors"])
    if value["mismatches"]:
        compared = vectors + (value.get("cycles") or 0)
        return f"MISMATCH on {value['mismatches']:,} of {compared:,}"
    if value["method"] == "none":
        return "NOT VERIFIED"
    is_power = vectors > 0 and vectors & (vectors - 1) == 0
    count = f"2^{vectors.bit_length() - 1}" if is_power and vectors > 1024 else f"{vectors:,}"
    cycles = f", {value['cycles']:,} cycles" if value.get("cycles") else ""
    return f"{value['method']}, {count}{cycles}"


def show_spread(value: Mapping[str, Any]) -> str:
    """Return the spread of the candidates: smallest, median, largest."""
    low, median, high = (show_size(value[name]) for name in ("min", "median", "max"))
    return f"{low} / {median} / {high} of {value['count']}"


def _quantity(
    name: str, heading: str, unit: str, definition: str, show: Callable[[Any], str] = show_count
) -> Metric:
    return Metric(name, heading, unit, definition, Better.LOWER, show)


def _fact(
    name: str,
    heading: str,
    definition: str,
    show: Callable[[Any], str] = str,
    *path: str,
    unit: str = "",
) -> Metric:
    return Metric(name, heading, unit, definition, Better.NONE, show, path)


OBJECTIVE_TEXTS = {
    "area": "area alone",
    "delay": "delay alone",
    "adp": "the product of area and delay",
    "clock": "the smallest area at a clock",
    "curve": "each delay in turn, area at that delay",
}

METRICS: tuple[Metric, ...] = (
    _fact("source", "source", "whose figure ours is compared with"),
    _fact("citation", "citation", "where that figure is from"),
    _fact("what", "what", "what that figure is of"),
    _fact("quantity", "quantity", "field of a row that it is compared with"),
    _fact("counted_in", "in", "unit of both figures, 1 for a ratio of two units"),
    _fact("their_technology", "their technology", "what that figure was measured in"),
    _fact("their_configuration", "their configuration", "what that figure was measured on"),
    _fact("accumulator", "accumulator", "line of a comparison: what is accumulated in"),
    _fact("unit", "unit", "canonical name of the operation"),
    _fact("technology", "technology", "cells the netlist is mapped to"),
    _fact("objective", "objective", "what synthesis minimises"),
    _fact("effort", "effort", "how many recipes and architectures were tried"),
    _fact("architecture", "architecture", "structure of the smallest candidate"),
    _fact("recipe", "recipe", "optimisation script of the smallest candidate"),
    _quantity("cells", "cells", "cells", "cells of the mapped netlist"),
    _quantity(
        "gates_ge",
        "GE",
        "gate equivalents",
        "area (or transistors, where there is none) over that of the technology's two-input NAND",
        "{:,.1f}".format,
    ),
    _quantity("area_um2", "µm²", "µm²", "sum of the areas of all mapped cells", show_size),
    _quantity(
        "transistors", "transistors", "transistors", "sum of the transistors of all mapped cells"
    ),
    Metric(
        "ratio_transistors",
        "ratio",
        "1",
        "transistors over those of the first format in the same line and technology",
        Better.LOWER,
        show_ratio,
    ),
    Metric(
        "ratio_area",
        "ratio",
        "1",
        "area over that of the first format in the same line and technology",
        Better.LOWER,
        show_ratio,
    ),
    _quantity("logic_depth", "depth", "cells", "cells on the longest path"),
    _quantity(
        "delay_fo4",
        "FO4",
        "delays of an inverter that drives four",
        "delay of the critical path, no wires: by logical effort, all cells of one size, or the "
        "delay in ps over that of the library's own inverter",
        "{:,.1f}".format,
    ),
    _quantity(
        "delay_ps",
        "ps",
        "ps",
        "delay of the critical path by the library's delays, each output a load of four "
        "inverters, no wires; the smallest cells, unless a clock or a curve takes larger ones",
        show_size,
    ),
    _fact("stage", "stage", "part of the unit that a cell works for, as its outputs tell"),
    _fact("cell", "instance", "name of the cell in the netlist"),
    _fact("cell_type", "cell", "cell of the technology"),
    _fact("from_pin", "in", "input pin that the path enters by"),
    _fact("to_pin", "out", "output pin that it leaves by"),
    _fact("edge", "edge", "whether the output rises or falls"),
    _quantity("fan_out", "fan-out", "pins", "pins and output bits that the output drives"),
    _quantity(
        "load_ff", "load fF", "fF", "capacitance of the pins that the output drives", show_amount
    ),
    _quantity(
        "load",
        "load",
        "unit inverters",
        "capacitance of the pins that the output drives",
        show_amount,
    ),
    _quantity("slew_ps", "slew ps", "ps", "transition time of the output", show_amount),
    _quantity("increment_ps", "+ ps", "ps", "delay of the cell", "{:,.1f}".format),
    _quantity("increment_fo4", "+ FO4", "FO4", "delay of the cell", "{:,.2f}".format),
    _quantity("arrival_ps", "at ps", "ps", "when the output is there", "{:,.1f}".format),
    _quantity("arrival_fo4", "at FO4", "FO4", "when the output is there", "{:,.2f}".format),
    Metric(
        "likeness",
        "alike",
        "1",
        "correlation of the output with the nearest signal of the stage, 0 to 1",
        Better.HIGHER,
        "{:.2f}".format,
    ),
    Metric(
        "ratio_delay",
        "ratio",
        "1",
        "delay in ps over that of the first format in the same line and technology",
        Better.LOWER,
        show_ratio,
    ),
    _fact("stream", "stream", "operands that pass through the unit, one operation after the other"),
    _fact("stream_vectors", "vectors", "operands in the stream", show_count, unit="vectors"),
    _fact("seed", "seed", "seed of the stream, and of a sampled verification"),
    _quantity(
        "toggles", "toggles", "changes", "changes of nets an operation, no glitches", show_amount
    ),
    _quantity(
        "input_energy_fj",
        "inputs fJ",
        "fJ",
        "energy an operation: charging the unit's own input pins",
        show_amount,
    ),
    _quantity(
        "net_energy_fj",
        "nets fJ",
        "fJ",
        "energy an operation: charging the nets between cells, no wires",
        show_amount,
    ),
    _quantity(
        "internal_energy_fj",
        "cells fJ",
        "fJ",
        "energy an operation: inside of cells",
        show_amount,
    ),
    _quantity(
        "register_energy_fj",
        "registers fJ",
        "fJ",
        "energy an operation: data pins of flip-flops between cells, and inside of flip-flops as "
        "their data changes",
        show_amount,
    ),
    _quantity(
        "clock_energy_fj",
        "clock fJ",
        "fJ",
        "energy an operation, one a cycle: clock pins of flip-flops, and inside of them at both "
        "edges; no clock tree",
        show_amount,
    ),
    _quantity(
        "glitch_energy_fj",
        "glitches fJ",
        "fJ",
        "energy an operation: what changes more than once before it settles, every cell as slow",
        show_amount,
    ),
    _quantity(
        "energy_fj",
        "fJ",
        "fJ",
        "energy an operation, all parts together, registers and clock of a pipeline too; where no "
        "stream is named: of uniform codes, without glitches",
        show_amount,
    ),
    _quantity(
        "input_capacitance",
        "inputs",
        "unit inverters",
        "switched gate capacitance an operation: the unit's own input pins",
        show_amount,
    ),
    _quantity(
        "net_capacitance",
        "nets",
        "unit inverters",
        "switched gate capacitance an operation: nets between cells",
        show_amount,
    ),
    _quantity(
        "register_capacitance",
        "registers",
        "unit inverters",
        "switched gate capacitance an operation: data pins of flip-flops between cells",
        show_amount,
    ),
    _quantity(
        "clock_capacitance",
        "clock",
        "unit inverters",
        "switched gate capacitance an operation, one a cycle: clock pins of flip-flops",
        show_amount,
    ),
    _quantity(
        "glitch_capacitance",
        "glitches",
        "unit inverters",
        "switched gate capacitance an operation: what changes more than once before it settles",
        show_amount,
    ),
    _quantity(
        "switched_capacitance",
        "switched",
        "unit inverters",
        "switched gate capacitance an operation, each change of a net counting the input pins "
        "that it leads to: all parts together",
        show_amount,
    ),
    Metric(
        "ratio_energy",
        "ratio",
        "1",
        "energy (or switched capacitance) over that of the first unit (or the first format in the "
        "same line), same stream and technology",
        Better.LOWER,
        show_ratio,
    ),
    _quantity(
        "leakage_nw",
        "nW leakage",
        "nW",
        "leakage of all mapped cells, the mean over the states of their inputs",
        show_number,
    ),
    _quantity("theirs", "theirs", "as counted_in says", "the figure of the source", show_number),
    _quantity(
        "ours", "ours", "as counted_in says", "our figure, an energy at their voltage", show_number
    ),
    _fact(
        "voltage_scale",
        "voltage scale",
        "square of their voltage over ours, by which our energy was multiplied; else 1",
        show_number,
        unit="1",
    ),
    Metric("ratio_theirs", "ratio", "1", "our figure over theirs", Better.NONE, show_ratio),
    _fact("why", "why", "why ours differs from theirs"),
    _fact(
        "candidates",
        "min / median / max",
        "transistors (or areas) of all candidates, each an architecture and a recipe; the one that "
        "the objective asks for counts",
        show_spread,
        unit="transistors or µm²",
    ),
    _quantity(
        "flip_flops",
        "flip-flops",
        "flip-flops",
        "plain D flip-flops in the unit, counted in cells, transistors and area; the ranks before "
        "its inputs and behind its outputs are its neighbours'",
    ),
    _quantity(
        "latency_cycles",
        "latency",
        "cycles",
        "cycles from the operands to the result; the throughput is one a cycle",
    ),
    _quantity(
        "period_fo4",
        "period FO4",
        "delays of an inverter that drives four",
        "shortest clock period: clock to output, logic and setup of the slowest path from register "
        "to register, those of its neighbours included",
        "{:,.1f}".format,
    ),
    _quantity("period_ps", "period ps", "ps", "shortest clock period", "{:,.0f}".format),
    Metric(
        "fmax_ghz",
        "GHz",
        "GHz",
        "highest clock frequency, no wires, no skew",
        Better.HIGHER,
        "{:,.2f}".format,
    ),
    _fact("clock_ps", "clock ps", "period that was to be met", show_size, unit="ps"),
    Metric(
        "slack_ps",
        "slack ps",
        "ps",
        "clock less what the unit takes: its delay, or its period if it has registers; negative "
        "where the clock is missed",
        Better.HIGHER,
        "{:+,.1f}".format,
    ),
    _fact("clock_fo4", "clock FO4", "the same in FO4", show_size, unit="FO4"),
    Metric("slack_fo4", "slack FO4", "FO4", "the same in FO4", Better.HIGHER, "{:+,.1f}".format),
    _fact(
        "verification",
        "verified",
        "comparison of the mapped netlist with the exact reference: on every input (exhaustive) "
        "or on corners and seeded random inputs (sampled), and on how many",
        show_verification,
    ),
    _fact(
        "verification_method",
        "method",
        "exhaustive, sampled or none",
        str,
        "verification",
        "method",
    ),
    _fact(
        "vectors",
        "vectors",
        "inputs on which netlist and reference were compared",
        show_count,
        "verification",
        "vectors",
        unit="vectors",
    ),
    _fact(
        "cycles",
        "cycles",
        "cycles of random streams that were run through the registers",
        show_count,
        "verification",
        "cycles",
        unit="cycles",
    ),
    Metric(
        "mismatches",
        "mismatches",
        "vectors",
        "inputs on which netlist and reference differ",
        Better.LOWER,
        show_count,
        ("verification", "mismatches"),
    ),
    _fact(
        "regions",
        "regions",
        "compared inputs per region of interest",
        show_pairs,
        "verification",
        "regions",
        unit="vectors",
    ),
    _fact("cell_counts", "cell counts", "cells of each type", show_pairs, unit="cells"),
    _fact("error", "error", "why a point of a sweep has no numbers"),
    _fact("semantics", "semantics", "formats, roundings, overflow and subnormals of the unit"),
    _fact("versions", "versions", "tools that made the row", show_pairs),
    _fact("digest", "digest", "SHA-256 of everything that determines the row"),
)


def metric(name: str) -> Metric:
    """Return the declaration of a field; raise KeyError for an unknown name."""
    for declared in METRICS:
        if declared.name == name:
            return declared
    raise KeyError(name)


def flat_metrics(records: Sequence[Mapping[str, Any]]) -> tuple[Metric, ...]:
    """Return the metrics of flat exports: those that a record has, no summary of others."""
    present = (m for m in METRICS if any(m.value(record) is not None for record in records))
    return tuple(m for m in present if m.name != "verification")


def definitions(*names: str) -> str:
    """Return one line ``heading: definition (unit)`` for each named metric, for help texts."""
    lines = []
    for declared in map(metric, names):
        unit = f" [{declared.unit}]" if declared.unit else ""
        lines.append(f"{declared.heading}: {declared.definition}{unit}")
    return "\n".join(lines)
