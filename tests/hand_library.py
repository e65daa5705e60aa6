"""A small Liberty library with invented round numbers, for arithmetic by hand.

In ps, fF, nW and fJ, with s for the input slew and l for the load:

- INV: rise s + 2 l, slew 8 + 2 l; fall s / 2 + l, slew 4 + l; its pin takes 2 fF to rise, 1 to fall
- NAND2: rise from A 2 + 3 l with a slew of 60, from B 1 + 3 l with a slew of 6; fall s + l, slew
  2 + 2 l; pins of 1 and 3 fF
- BUF: every edge 10 + l / 4, slew 5; a pin of 1 fF
- XOR2: from A to a rise 10 after a rise and 30 after a fall; everything else takes 20; slew 5
- FA: every arc takes 40 + 2 l, slew 10 + l
- DFF: 50 from the clock, slew 5, setup 7 and 9; DFFN: the same with an inverted output
"""


def table(kind: str, corners: str | float, template: str = "square") -> str:
    """Return a table of the values at slews 10, 20 and loads 0, 10, or of one value."""
    if isinstance(corners, float):
        return f'{kind} (scalar) {{ values ("{corners}"); }}'
    return f"{kind} ({template}) {{ values ({corners}); }}"


def timing(
    source: str,
    sense: str,
    rise: tuple[str | float, str | float] | None,
    fall: tuple[str | float, str | float] | None,
    extra: str = "",
) -> str:
    """Return an arc; an edge is its delay and its slew."""
    text = f"timing () {{ related_pin : {source}; timing_sense : {sense}; {extra}"
    for name, edge in (("rise", rise), ("fall", fall)):
        if edge:
            text += f"\n  {table(f'cell_{name}', edge[0])} {table(f'{name}_transition', edge[1])}"
    return text + " }"


INV_RISE = ('"10, 30", "20, 40"', '"8, 28", "8, 28"')
INV_FALL = ('"5, 15", "10, 20"', '"4, 14", "4, 14"')
NAND_FALL = '"10, 20", "20, 30"'  # s + l is the same in either order of the axes

HEADER = """library (hand) {
delay_model : table_lookup; time_unit : "1ps"; voltage_unit : "1V"; capacitive_load_unit (1, ff);
leakage_power_unit : "1nW"; current_unit : "1uA"; pulling_resistance_unit : "1kohm";
nom_process : 1; nom_voltage : 2; nom_temperature : 25;
operating_conditions (typical) { process : 1; voltage : 2; temperature : 25; }
input_threshold_pct_rise : 50; input_threshold_pct_fall : 50;
output_threshold_pct_rise : 50; output_threshold_pct_fall : 50;
slew_lower_threshold_pct_rise : 20; slew_lower_threshold_pct_fall : 20;
slew_upper_threshold_pct_rise : 80; slew_upper_threshold_pct_fall : 80;
lu_table_template (square) { variable_1 : input_net_transition;
  variable_2 : total_output_net_capacitance; index_1 ("10, 20"); index_2 ("0, 10"); }
lu_table_template (turned) { variable_1 : total_output_net_capacitance;
  variable_2 : input_net_transition; index_1 ("0, 10"); index_2 ("10, 20"); }
lu_table_template (by_load) { variable_1 : total_output_net_capacitance; index_1 ("0, 10"); }
power_lut_template (power) { variable_1 : input_transition_time;
  variable_2 : total_output_net_capacitance; index_1 ("10, 20"); index_2 ("0, 10"); }
"""

INV = f"""cell (INV) {{ area : 2; cell_leakage_power : 99;
leakage_power () {{ when : "A"; value : 1; }} leakage_power () {{ when : "!A"; value : 3; }}
pin (A) {{ direction : input; capacitance : 9; rise_capacitance : 2; fall_capacitance : 1; }}
pin (Y) {{ direction : output; function : "!A";
{timing("A", "negative_unate", INV_RISE, INV_FALL)}
internal_power () {{ related_pin : A; related_pg_pin : VDD;
  {table("rise_power", '"1, 11", "1, 11"', "power")} {table("fall_power", 4.0)} }}
internal_power () {{ related_pin : A; related_pg_pin : VSS; {table("power", 0.5)} }} }} }}"""

NAND = f"""cell (NAND2) {{ area : 4; cell_leakage_power : 5;
pin (A) {{ direction : input; capacitance : 1;
  internal_power () {{ {table("rise_power", -1.0)} {table("fall_power", 4.0)} }} }}
pin (B) {{ direction : input; capacitance : 3; }}
pin (Y) {{ direction : output; function : "!(A B)";
timing () {{ related_pin : A; timing_sense : negative_unate;
  {table("cell_rise", '"2, 32"', "by_load")} {table("rise_transition", 60.0)}
  {table("cell_fall", NAND_FALL)} {table("fall_transition", '"2, 2", "22, 22"', "turned")} }}
timing () {{ related_pin : B; timing_sense : negative_unate;
  {table("cell_rise", '"1, 31"', "by_load")} {table("rise_transition", 6.0)}
  {table("cell_fall", NAND_FALL, "turned")}
  {table("fall_transition", '"2, 2", "22, 22"', "turned")} }} }} }}"""

XOR = f"""cell (XOR2) {{ area : 6;
pin (A) {{ direction : input; capacitance : 2; }}
pin (B) {{ direction : input; capacitance : 2; }}
pin (Y) {{ direction : output; function : "A^B";
{timing("A", "positive_unate", (10.0, 5.0), (20.0, 5.0), 'when : "!B";')}
{timing("A", "negative_unate", (30.0, 5.0), (20.0, 5.0), 'when : "B";')}
{timing("B", "non_unate", (20.0, 5.0), (20.0, 5.0))} }} }}"""

_BUFFER_EDGE = ('"10, 12.5", "10, 12.5"', 5.0)
BUFFER = f"""cell (BUF) {{ area : 3;
pin (A) {{ direction : input; capacitance : 1; }}
pin (Y) {{ direction : output; function : "A";
{timing("A", "positive_unate", _BUFFER_EDGE, _BUFFER_EDGE)} }} }}"""

_FA_EDGE = ('"40, 60", "40, 60"', '"10, 20", "10, 20"')
FA = "\n".join(
    [
        "cell (FA) { area : 20;",
        *(f"pin ({pin}) {{ direction : input; capacitance : 2; }}" for pin in ("A", "B", "CI")),
        'pin (S) { direction : output; function : "A^B^CI";',
        *(timing(pin, "non_unate", _FA_EDGE, _FA_EDGE) for pin in ("A", "B", "CI")),
        '} pin (CO) { direction : output; function : "A B + A CI + B CI";',
        *(timing(pin, "positive_unate", _FA_EDGE, _FA_EDGE) for pin in ("A", "B", "CI")),
        "} }",
    ]
)


def flip_flop(
    name: str, area: float, output: str = "IQ", *, ff: str = "", pins: str = "", data: str = "D"
) -> str:
    """Return a flip-flop with the output Q and further attributes of its ``ff`` group."""
    constraint = f"{table('rise_constraint', 7.0)} {table('fall_constraint', 9.0)}"
    return f"""cell ({name}) {{ area : {area};
ff (IQ, IQN) {{ clocked_on : "CK"; next_state : "{data}"; {ff} }}
pin (D) {{ direction : input; capacitance : 1;
  timing () {{ related_pin : CK; timing_type : setup_rising; {constraint} }}
  timing () {{ related_pin : CK; timing_type : hold_rising; {constraint} }} }}
pin (CK) {{ direction : input; clock : true; capacitance : 2;
  internal_power () {{ {table("rise_power", 2.0)} {table("fall_power", 1.0)} }} }}
{pins}
pin (Q) {{ direction : output; function : "{output}";
{timing("CK", "non_unate", (50.0, 5.0), (50.0, 5.0), "timing_type : rising_edge;")} }} }}"""


DFF = flip_flop("DFF", 12)


def hand_library(*cells: str, header: str = HEADER) -> str:
    """Return a library with an inverter, a NAND and further cells."""
    return "\n".join([header, INV, NAND, *cells, "}"])


# An adder whose sum follows its carry: 40 + 2 l to the carry, 15 from there.
HALF = f"""cell (HA) {{ area : 8;
pin (A) {{ direction : input; capacitance : 2; }} pin (B) {{ direction : input; capacitance : 2; }}
pin (S) {{ direction : output; function : "A^B";
{timing("CON", "negative_unate", (15.0, 5.0), (15.0, 5.0))}
{timing("A", "non_unate", (20.0, 5.0), (20.0, 5.0))}
{timing("B", "non_unate", (20.0, 5.0), (20.0, 5.0))} }}
pin (CON) {{ direction : output; function : "!(A B)";
{timing("A", "negative_unate", _FA_EDGE, _FA_EDGE)}
{timing("B", "negative_unate", _FA_EDGE, _FA_EDGE)} }} }}"""
