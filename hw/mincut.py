"""Minimum cuts of directed graphs (Dinic 1970)."""

from collections import deque

INFINITE = 1 << 60


class Graph:
    """A directed graph with capacities; node 0 is the source, node 1 the sink."""

    def __init__(self) -> None:
        self._edges: list[list[int]] = [[], []]  # of each node; edge ^ 1 is its reverse
        self._ends: list[int] = []
        self._capacities: list[int] = []

    def node(self) -> int:
        """Add a node and return it."""
        self._edges.append([])
        return len(self._edges) - 1

    def edge(self, start: int, end: int, capacity: int) -> None:
        """Add an edge; it costs its capacity when ``start`` is on the source's side alone."""
        for node, other, size in ((start, end, capacity), (end, start, 0)):
            self._edges[node].append(len(self._ends))
            self._ends.append(other)
            self._capacities.append(size)

    def source_side(self) -> set[int]:
        """Return the nodes on the source's side of a minimum cut, as few as there can be."""
        while True:
            levels = self._levels()
            if 1 not in levels:
                return set(levels)
            left = [0] * len(self._edges)
            while self._augment(levels, left):
                pass

    def _levels(self) -> dict[int, int]:
        levels = {0: 0}
        queue = deque([0])
        while queue:
            node = queue.popleft()
            for edge in self._edges[node]:
                end = self._ends[edge]
                if self._capacities[edge] and end not in levels:
                    levels[end] = levels[node] + 1
                    queue.append(end)
        return levels

    def _augment(self, levels: dict[int, int], left: list[int]) -> bool:
        """Send flow along one path that rises by one level at each edge; say if there was one."""
        path: list[int] = []
        node = 0
        while node != 1:
            edges = self._edges[node]
            while left[node] < len(edges):
                edge = edges[left[node]]
                end = self._ends[edge]
                if self._capacities[edge] and levels.get(end) == levels[node] + 1:
                    path.append(edge)
                    node = end
                    break
                left[node] += 1
            else:
                if not path:
                    return False
                node = self._ends[path.pop() ^ 1]
                left[node] += 1
        flow = min(self._capacities[edge] for edge in path)
        for edge in path:
            self._capacities[edge] -= flow
            self._capacities[edge ^ 1] += flow
        return True
