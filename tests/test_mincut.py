"""Minimum cuts against all cuts of small graphs."""

import itertools
import random

import pytest

from fmacost.hw.mincut import INFINITE, Graph


@pytest.mark.parametrize("seed", range(200))
def test_cut_costs_as_little_as_the_best_of_all(seed: int) -> None:
    rng = random.Random(seed)
    size = rng.randint(2, 8)
    graph = Graph()
    for _ in range(size - 2):
        graph.node()
    edges = []
    for _ in range(rng.randint(1, 20)):
        start, end = rng.sample(range(size), 2)
        capacity = rng.choice((1, 1, 2, 3, INFINITE))
        if (start, end, capacity) != (0, 1, INFINITE):
            edges.append((start, end, capacity))
            graph.edge(start, end, capacity)

    def cost(side: set[int]) -> int:
        return sum(size for start, end, size in edges if start in side and end not in side)

    inner = range(2, size)
    sides = [{0, *chosen} for n in range(size - 1) for chosen in itertools.combinations(inner, n)]
    found = graph.source_side()
    assert 0 in found
    assert 1 not in found
    least = min(map(cost, sides))
    assert cost(found) == least
    assert len(found) == min(len(side) for side in sides if cost(side) == least)
