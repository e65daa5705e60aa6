"""A component of the Accelergy project: a model for hwcomponents, tables for its table plug-in.

The plug-in takes a set of tables (a YAML file that says where they are) and a CSV file for each
class of components, named as the class; energies are in pJ, areas in µm²:
https://github.com/Accelergy-Project/accelergy-table-based-plug-ins
"""

import csv
import io
import json

from fmacost.hw.technology import Technology
from fmacost.reports.errors import InputError
from fmacost.reports.interchange.design import Design, one_line

_PRIORITY = 0.9  # of 0 to 1: synthesised, but neither placed nor routed

_MODEL = '''\
"""{title}: made by fmacost, of a mapped netlist without wires.

{semantics}
"""

from hwcomponents import ActionCost, ComponentModel, action


class {name}(ComponentModel):
    """{verb} once per action; operands are uniformly distributed codes."""

    component_name = [{component!r}]
    priority = {priority}

    def __init__(self):
        super().__init__(area={area_m2!r}, leak_power={leakage_w!r})  # m2, W

    @action
    def compute(self) -> ActionCost:
        """Return what one operation costs, in J and s; the next starts when it is done."""
        return ActionCost(energy={energy_j!r}, latency={delay_s!r}, throughput=1 / {delay_s!r})
'''


_SET = """\
# Made by fmacost. Tables are the .csv files beside this one, each named as the class that it is of.
name: {name}
technology: {technology}
accuracy: {accuracy}
path_to_data_dir: "."
"""


def check_component(technology: Technology) -> None:
    """Raise InputError unless a technology has areas, delays in ps and energies."""
    if technology.area_um2 is None or technology.characterisation is None:
        raise InputError(
            "a model of a component needs areas, delays in ps and energies, such as of "
            f"--technology nangate45; {technology.name} has none"
        )


def to_component(design: Design) -> str:
    """Return a Python module with one model: area, leakage, energy and latency of the unit.

    Raises
    ------
    InputError
        If a figure is not known.
    """
    row = design.row
    name = design.netlist.name
    return _MODEL.format(
        title=_in_docstring(design.title),
        semantics=_in_docstring(row.semantics),
        name="".join(part.capitalize() for part in name.split("_")),
        verb={"fma": "Multiply and add", "mul": "Multiply", "add": "Add"}[design.operation.kind],
        component=name,
        priority=_PRIORITY,
        area_m2=_scaled(design, "area_um2", 1e-12),
        leakage_w=_scaled(design, "leakage_nw", 1e-9),
        energy_j=_scaled(design, "energy_fj", 1e-15),
        delay_s=_scaled(design, "delay_ps", 1e-12),
    )


def to_table(design: Design) -> str:
    """Return the CSV of one component with the action ``compute``: energy in pJ, area in µm².

    Raises
    ------
    InputError
        If a figure is not known.
    """
    written = io.StringIO()
    lines = csv.writer(written, lineterminator="\n")
    lines.writerow(("technology", "action", "energy", "area"))
    energy_pj = _scaled(design, "energy_fj", 1e-3)
    area_um2 = _scaled(design, "area_um2", 1)
    lines.writerow((design.row.technology, "compute", energy_pj, area_um2))
    return written.getvalue()


def to_set(design: Design) -> str:
    """Return the YAML that makes the tables beside it known, for one technology."""
    technology = design.row.technology
    return _SET.format(
        name=json.dumps(f"fmacost_{technology}"),  # of YAML, JSON is a part
        technology=json.dumps(technology),
        accuracy=round(100 * _PRIORITY),
    )


def _scaled(design: Design, field: str, unit: float) -> float:
    """Return a figure of the row times a unit; raise InputError if it is not known."""
    check_component(design.technology)
    row = design.row
    value: float | None = getattr(row, field)
    if value is None:
        raise InputError(
            f"{row.technology} does not say the {field.partition('_')[0]} of {row.unit}"
        )
    return float(f"{value * unit:.6g}")


def _in_docstring(text: str) -> str:
    return one_line(text).replace("\\", "/").replace('"', "'")
