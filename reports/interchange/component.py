"""A component model for hwcomponents, the energy and area models of the Accelergy project."""

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


def check_component(technology: Technology) -> None:
    """Raise InputError unless a technology has areas, delays in ps and energies."""
    if technology.area_um2 is None or technology.characterisation is None:
        raise InputError(
            "a component model needs areas, delays in ps and energies, such as of "
            f"--technology nangate45; {technology.name} has none"
        )


def to_component(design: Design) -> str:
    """Return a Python module with one model: area, leakage, energy and latency of the unit.

    Raises
    ------
    InputError
        If a figure is not known.
    """
    check_component(design.technology)
    row = design.row
    figures = {
        "area_m2": (row.area_um2, 1e-12),
        "leakage_w": (row.leakage_nw, 1e-9),
        "energy_j": (row.energy_fj, 1e-15),
        "delay_s": (row.delay_ps, 1e-12),
    }
    known = {}
    for name, (value, unit) in figures.items():
        if value is None:
            raise InputError(
                f"{row.technology} does not say the {name.partition('_')[0]} of {row.unit}"
            )
        known[name] = float(f"{value * unit:.6g}")
    name = design.netlist.name
    return _MODEL.format(
        title=_in_docstring(design.title),
        semantics=_in_docstring(row.semantics),
        name="".join(part.capitalize() for part in name.split("_")),
        verb={"fma": "Multiply and add", "mul": "Multiply", "add": "Add"}[design.operation.kind],
        component=name,
        priority=_PRIORITY,
        **known,
    )


def _in_docstring(text: str) -> str:
    return one_line(text).replace("\\", "/").replace('"', "'")
