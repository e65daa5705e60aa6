"""Technologies as JSON: the built-in tables, and what is kept of a Liberty file that was read.

``hw/technologies/NAME.json`` has one line for each cell: its pins with their capacitance, its
functions, area, transistors, leakage, internal energies, and its arcs as ``[input, output, sense,
rise, fall]``. An edge is a list of the ``Linear`` parameters of its delay and of its slew, or an
object with lookup tables for both. Larger drives of a cell follow in the same way under ``drives``.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, fields
from typing import Any

from fmacost.hw.characterisation import (
    Arc,
    Characterisation,
    Edge,
    FlipFlop,
    Linear,
    Lookup,
    Quantity,
)
from fmacost.hw.technology import Technology, TechnologyError, adder_cells
from fmacost.hw.timing import Drive, derive_drive, parse_stages
from fmacost.sim.netlist import CellType

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TEXTS = ("name", "description", "source", "licence", "nand2")
_FACTS = ("corner", "voltage_v", "fo4_ps")
_OF_CELLS = (
    "edge_capacitance_ff",
    "leakage_nw",
    "output_energy_fj",
    "input_energy_fj",
    "setup_ps",
)


def technology_from_json(record: Any) -> Technology:
    """Return the technology that ``technology_to_json`` gave.

    The logical efforts of its cells are derived from their structures (``stages``, or the function
    of a single inverting gate) if a cell states one.

    Raises
    ------
    TechnologyError
        If the record is malformed.
    """
    try:
        return _technology(record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TechnologyError(f"a malformed table of cells: {error!r}") from None


def _technology(record: Mapping[str, Any]) -> Technology:
    cells = {name: _cell_type(name, facts) for name, facts in record["cells"].items()}
    adders = adder_cells(cells.values())
    register = record.get("flip_flop")
    larger = record.get("drives", {})
    sized = {**record["cells"], **larger}
    facts = {**sized, **({register["cell"]: register} if register else {})}
    return Technology(
        **{name: str(record[name]) for name in _TEXTS},
        cells=cells,
        transistors=_numbers(sized, "transistors"),
        arithmetic=tuple(adder.cell for adder in adders.values()),
        area_um2=_numbers(sized, "area_um2") or None,
        drive=_drives(cells, record["cells"]),
        full_adder=adders.get(3),
        half_adder=adders.get(2),
        flip_flop=_flip_flop(register) if register else None,
        characterisation=_characterisation(record, facts) if "fo4_ps" in record else None,
        drives={
            name: tuple(_cell_type(n, f) for n, f in larger.items() if f["of"] == name)
            for name in dict.fromkeys(str(f["of"]) for f in larger.values())
        },
    )


def _cell_type(name: str, facts: Mapping[str, Any]) -> CellType:
    if not _IDENTIFIER.fullmatch(name):
        raise ValueError(f"the name of a cell must be letters, digits and _, not {name!r}")
    return CellType(name, tuple(facts["inputs"]), tuple(facts["outputs"].items()))


def _numbers(cells: Mapping[str, Any], fact: str) -> dict[str, Any]:
    return {name: facts[fact] for name, facts in cells.items() if facts.get(fact) is not None}


def _drives(cells: Mapping[str, CellType], facts: Mapping[str, Any]) -> dict[str, Drive]:
    if not any("stages" in of_cell for of_cell in facts.values()):
        return {}
    return {
        name: derive_drive(cell, parse_stages(facts[name].get("stages", _equations(cell))))
        for name, cell in cells.items()
    }


def _equations(cell: CellType) -> str:
    return ";".join(f"{pin}={function}" for pin, function in cell.outputs)


def _flip_flop(register: Mapping[str, Any]) -> FlipFlop:
    names = {field.name for field in fields(FlipFlop)}
    return FlipFlop(**{name: value for name, value in register.items() if name in names})


def _characterisation(
    record: Mapping[str, Any], cells: Mapping[str, Mapping[str, Any]]
) -> Characterisation:
    return Characterisation(
        **{name: record[name] for name in _FACTS},
        capacitance_ff={name: dict(facts["inputs"]) for name, facts in cells.items()},
        arcs={name: tuple(map(_arc, facts["arcs"])) for name, facts in cells.items()},
        leakage_nw=_numbers(cells, "leakage_nw"),
        output_energy_fj=_numbers(cells, "output_energy_fj"),
        input_energy_fj=_numbers(cells, "input_energy_fj"),
        setup_ps=_numbers(cells, "setup_ps"),
        fit=record.get("fit"),
        edge_capacitance_ff={
            name: {pin: (float(rise), float(fall)) for pin, (rise, fall) in of_pins.items()}
            for name, of_pins in _numbers(cells, "edge_capacitance_ff").items()
        },
    )


def _arc(record: Any) -> Arc:
    source, sink, sense, rise, fall = record
    if sense not in ("positive", "negative", "both"):
        raise ValueError(f"no sense of an arc: {sense!r}")
    return Arc(source, sink, sense, _edge(rise), _edge(fall))


def _edge(record: Any) -> Edge | None:
    if record is None:
        return None
    if isinstance(record, Mapping):
        slew = record.get("slew")
        return Edge(_lookup(record["delay"]), None if slew is None else _lookup(slew))
    delay, slew = (Linear(*map(float, parameters)) for parameters in record)
    return Edge(delay, slew)


def _lookup(record: Mapping[str, Any]) -> Lookup:
    values = tuple(tuple(map(float, row)) for row in record["values_ps"])
    return Lookup(
        tuple(map(float, record["slew_ps"])), tuple(map(float, record["load_ff"])), values
    )


def technology_to_json(technology: Technology) -> dict[str, Any]:
    """Return a technology as JSON values; logical efforts and structures are left out."""
    record: dict[str, Any] = {name: getattr(technology, name) for name in _TEXTS}
    known = technology.characterisation
    if known is not None:
        record |= {name: getattr(known, name) for name in _FACTS}
        record |= {} if known.fit is None else {"fit": known.fit}
    if technology.flip_flop is not None:
        register = {name: value for name, value in asdict(technology.flip_flop).items() if value}
        record["flip_flop"] = register | _facts(technology, technology.flip_flop.cell)
    record["cells"] = {
        name: _cell_record(technology, cell) for name, cell in technology.cells.items()
    }
    drives = {
        cell.name: {"of": name, **_cell_record(technology, cell)}
        for name, larger in technology.drives.items()
        for cell in larger
    }
    return record | ({"drives": drives} if drives else {})


def _cell_record(technology: Technology, cell: CellType) -> dict[str, Any]:
    record: dict[str, Any] = {"inputs": dict.fromkeys(cell.inputs), "outputs": dict(cell.outputs)}
    for fact in ("area_um2", "transistors"):
        values = getattr(technology, fact) or {}
        if cell.name in values:
            record[fact] = values[cell.name]
    facts = _facts(technology, cell.name)
    facts["inputs"] = record["inputs"] | facts.get("inputs", {})  # in the order of the cell
    return record | facts


def _facts(technology: Technology, name: str) -> dict[str, Any]:
    """Return what the characterisation says of one cell."""
    known = technology.characterisation
    if known is None:
        return {}
    record: dict[str, Any] = {"inputs": dict(known.capacitance_ff.get(name, {}))}
    for fact in _OF_CELLS:
        if name in getattr(known, fact):
            record[fact] = getattr(known, fact)[name]
    record["arcs"] = [
        [arc.source, arc.sink, arc.sense, _edge_record(arc.rise), _edge_record(arc.fall)]
        for arc in known.arcs.get(name, ())
    ]
    return record


def _edge_record(edge: Edge | None) -> Any:
    if edge is None:
        return None
    if isinstance(edge.delay, Linear) and isinstance(edge.slew, Linear):
        return [list(astuple(edge.delay)), list(astuple(edge.slew))]
    slew = {} if edge.slew is None else {"slew": _lookup_record(edge.slew)}
    return {"delay": _lookup_record(edge.delay), **slew}


def _lookup_record(quantity: Quantity) -> dict[str, Any]:
    if not isinstance(quantity, Lookup):
        raise TypeError(f"cannot write {type(quantity).__name__}")
    return asdict(quantity)


def table_text(record: Mapping[str, Any]) -> str:
    """Return the text of a built-in table: one line for each cell, and for each other fact."""

    def lines(members: Iterable[tuple[str, Any]], indent: str) -> str:
        return ",\n".join(f"{indent}{json.dumps(k)}: {_compact(v)}" for k, v in members)

    groups = [name for name in ("cells", "drives") if name in record]
    head = lines(((k, v) for k, v in record.items() if k not in groups), " ")
    parts = [f' "{name}": {{\n{lines(record[name].items(), "  ")}\n }}' for name in groups]
    return "{\n" + ",\n".join([head, *parts]) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
