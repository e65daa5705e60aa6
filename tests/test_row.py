"""Cost rows, and the declarations that tables and exports are made from."""

import json
from dataclasses import fields
from typing import Any

import pytest

from fmacost.reports.metrics import METRICS, Better, definitions, flat_metrics, metric
from fmacost.reports.row import Proof, Row, RowError, Spread, document


def make_row(unit: str = "fma:e4m3fn", technology: str = "cmos", **changes: Any) -> Row:
    """Return a proven row of 2,400 transistors unless ``changes`` say otherwise."""
    values: dict[str, Any] = {
        "unit": unit,
        "technology": technology,
        "objective": "area",
        "effort": "normal",
        "recipe": "dch_amap",
        "architecture": "single-path",
        "cells": 400,
        "transistors": 2400,
        "gates_ge": 600.0,
        "logic_depth": 41,
        "delay_fo4": 70.25,
        "cell_counts": {"FA": 4, "NAND2": 396},
        "candidates": Spread(count=4, min=2400, median=2500, max=3000),
        "verification": Proof(method="exhaustive", vectors=1 << 24, mismatches=0, regions={}),
        "semantics": f"{unit}: rounded once, RNE",
        "versions": {"fmacost": "0.1.0", "yosys": "0.70"},
        "digest": "0" * 64,
    }
    return Row(**{**values, **changes})


def test_a_row_survives_json() -> None:
    row = make_row()
    assert Row.from_json(json.loads(json.dumps(row.to_json()))) == row


def test_a_row_of_a_clocked_unit_survives_json() -> None:
    proof = Proof(method="exhaustive", vectors=4, mismatches=0, regions={}, cycles=64)
    row = make_row(
        flip_flops=12, latency_cycles=3, period_fo4=20.5, period_ps=410.0, fmax_ghz=2.439,
        verification=proof,
    )  # fmt: skip
    assert Row.from_json(json.loads(json.dumps(row.to_json()))) == row
    assert metric("verification").text(row.to_json()) == "exhaustive, 4, 64 cycles"


@pytest.mark.parametrize("name", ["flip_flops", "latency_cycles", "period_fo4"])
def test_fields_of_clocked_units_are_checked(name: str) -> None:
    with pytest.raises(RowError, match=f"{name} must"):
        Row.from_json({**make_row().to_json(), name: -1})


def test_unknown_fields_are_ignored() -> None:
    assert Row.from_json({**make_row().to_json(), "area_nm2": 1.5}) == make_row()


def test_whole_numbers_may_stand_for_gates() -> None:
    assert Row.from_json({**make_row().to_json(), "gates_ge": 600}) == make_row()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cells": -1}, "cells must not be negative, got -1"),
        ({"cells": "7"}, "cells must be an integer, not str '7'"),
        ({"cells": True}, "cells must be an integer, not bool True"),
        ({"cells": 1.5}, "cells must be an integer, not float 1.5"),
        ({"unit": None}, "unit must be text, not nothing"),
        ({"gates_ge": float("nan")}, "gates_ge must be finite and not negative, got nan"),
        ({"gates_ge": "1"}, "gates_ge must be a number, not str '1'"),
        ({"schema": 2}, "schema must be 1, not 2"),
        ({"digest": "x" * 64}, "digest must be 64 hexadecimal digits"),
        ({"cell_counts": {"FA": "4"}}, "cell_counts.FA must be an integer, not str '4'"),
        ({"cell_counts": []}, r"cell_counts must be an object, not list \[\]"),
        ({"versions": {"yosys": 70}}, "versions.yosys must be text, not int 70"),
        ({"candidates": {}}, "candidates.min must be a number, not nothing"),
        ({"verification": {}}, "verification.method is missing"),
        (
            {"verification": {"method": "guessed", "vectors": 1, "mismatches": 0, "regions": {}}},
            "verification.method must be one of exhaustive, sampled, none, not 'guessed'",
        ),
        (
            {"verification": {"method": "none", "vectors": 1, "mismatches": 2, "regions": {}}},
            "verification.mismatches must be at most 1, not 2",
        ),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RowError, match=message) as caught:
        Row.from_json({**make_row().to_json(), **change})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [f.name for f in fields(Row) if f.default is not None])
def test_a_missing_field_is_named(name: str) -> None:
    record = make_row().to_json()
    del record[name]
    with pytest.raises(RowError, match=name):
        Row.from_json(record)


@pytest.mark.parametrize("record", [None, [], "row", 3])
def test_other_values_are_no_rows(record: object) -> None:
    with pytest.raises(RowError, match="a row must be an object"):
        Row.from_json(record)


def test_a_proof_needs_vectors_without_mismatch() -> None:
    assert Proof(method="sampled", vectors=9, mismatches=0, regions={}).is_proven
    assert not Proof(method="sampled", vectors=9, mismatches=1, regions={}).is_proven
    assert not Proof(method="sampled", vectors=0, mismatches=0, regions={}).is_proven
    assert not Proof(method="none", vectors=0, mismatches=0, regions={}).is_proven


def test_every_field_of_a_row_is_declared_once() -> None:
    names = [declared.name for declared in METRICS]
    assert len(set(names)) == len(names)
    assert {field.name for field in fields(Row)} - {"schema"} <= set(names)


def test_every_declaration_has_a_definition_and_every_quantity_a_unit() -> None:
    for declared in METRICS:
        assert declared.definition
        assert not declared.definition.endswith(".")
        assert declared.unit or declared.better is Better.NONE


def test_metrics_find_their_value_in_a_record() -> None:
    record = make_row().to_json()
    assert metric("vectors").value(record) == 1 << 24
    assert metric("transistors").text(record) == "2,400"
    assert metric("ratio_transistors").text(record) == ""
    assert metric("cell_counts").text(record) == "FA=4 NAND2=396"
    with pytest.raises(KeyError):
        metric("area")


@pytest.mark.parametrize(
    ("method", "vectors", "mismatches", "text"),
    [
        ("exhaustive", 1 << 24, 0, "exhaustive, 2^24"),
        ("exhaustive", 16, 0, "exhaustive, 16"),
        ("sampled", 120_000, 0, "sampled, 120,000"),
        ("sampled", 120_000, 1, "MISMATCH on 1 of 120,000"),
        ("none", 0, 0, "NOT VERIFIED"),
    ],
)
def test_verification_reads_as_people_say_it(
    method: str, vectors: int, mismatches: int, text: str
) -> None:
    proof = Proof(method=method, vectors=vectors, mismatches=mismatches, regions={})
    assert metric("verification").text(make_row(verification=proof).to_json()) == text


def test_flat_metrics_are_those_that_rows_have() -> None:
    names = [declared.name for declared in flat_metrics([make_row().to_json()])]
    assert "vectors" in names
    assert "verification" not in names
    assert "ratio_transistors" not in names


def test_definitions_come_with_units() -> None:
    assert definitions("cells", "digest").splitlines() == [
        "cells: cells of the mapped netlist [cells]",
        "digest: SHA-256 of everything that determines the row",
    ]


def test_a_document_has_a_schema_and_rows() -> None:
    assert document([]) == {"schema": 1, "rows": []}
