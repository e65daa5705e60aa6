"""The bench: two processes give the rows of one, and times that are ratios."""

from fmacost.reports.bench import _two_workers_against_one


def test_two_workers_give_the_rows_of_one() -> None:
    workers, overhead = _two_workers_against_one("mul:int{1..2}")
    assert workers.name.startswith("sweep of 2 points")
    assert workers.ratio is not None
    assert overhead.ratio is not None
    assert overhead.ratio > 0
