"""Every expressible golden case against the reference."""

import pytest

from tests.golden import Conversion, Row, conversions, netlist_rows, rows

CASES: list[Row | Conversion] = [*rows(), *conversions()]


def case_id(case: Row | Conversion) -> str:
    return case.expectation.id


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_reference_gives_the_golden_answer(case: Row | Conversion) -> None:
    got = case.reference()
    assert case.expectation.accepts(got), f"{case.expectation.why}: got {got:#x}"


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.expectation.naive_wrong is not None], ids=case_id
)
def test_the_usual_mistake_is_refused(case: Row | Conversion) -> None:
    naive = case.expectation.naive_wrong
    assert naive is not None
    assert naive != case.reference()
    assert not case.expectation.accepts(naive)


def test_every_line_is_a_case() -> None:
    assert len(rows()) == 59
    assert len(conversions()) == 47
    assert len({case_id(case) for case in CASES}) == len(CASES)
    naive = [case for case in CASES if case.expectation.naive_wrong is not None]
    assert len(naive) > 50


def test_netlist_rows_agree_with_the_reference() -> None:
    groups = netlist_rows()
    count = 0
    for operation, group in groups.items():
        for row in group:
            assert row.operation == operation
            assert row.expectation.accepts(row.reference()), row.expectation.id
            count += 1
    assert count >= len(rows()) + len(conversions()) - 2  # two cases start from fp64
