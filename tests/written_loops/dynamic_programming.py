"""Tables filled step by step: alignments, knapsacks, shortest paths."""

import numpy as np

from tests.written_loops.program import Program


def edit_distance(a, b, insert_cost, delete_cost, replace_cost):
    """Wagner and Fischer, with costs of one's own; the words are codes of letters."""
    m, n = len(a), len(b)
    d = np.zeros((m + 1, n + 1))
    for i in range(1, m + 1):
        d[i, 0] = d[i - 1, 0] + delete_cost
    for j in range(1, n + 1):
        d[0, j] = d[0, j - 1] + insert_cost
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            if a[i - 1] == b[j - 1]:
                cost = 0.0
            else:
                cost = replace_cost
            d[i, j] = min(
                d[i - 1, j] + delete_cost, d[i, j - 1] + insert_cost, d[i - 1, j - 1] + cost
            )
    return d[m, n]


def knapsack(values, weights, capacity=30):
    """The best value of things that fit; weights are whole numbers."""
    best = np.zeros(capacity + 1)
    for v, w in zip(values, weights):
        for c in range(capacity, 0, -1):
            if w <= c:
                if best[c - w] + v > best[c]:
                    best[c] = best[c - w] + v
    return best[capacity]


def common_subsequence(x, y, match):
    """The heaviest common subsequence."""
    m, n = len(x), len(y)
    table = np.zeros((m + 1, n + 1))
    for i, xi in enumerate(x):
        for j, yj in enumerate(y):
            if xi == yj:
                table[i + 1][j + 1] = table[i][j] + match[xi]
            else:
                table[i + 1][j + 1] = max(table[i + 1][j], table[i][j + 1])
    return table[m][n]


def dynamic_time_warping(s, t, window=6):
    """How far two series are apart when time may be stretched, within a window."""
    n, m = len(s), len(t)
    w = max(window, abs(n - m))
    dtw = np.full((n + 1, m + 1), np.inf)
    dtw[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(max(1, i - w), min(m, i + w) + 1):
            cost = (s[i - 1] - t[j - 1]) ** 2
            last_min = np.min([dtw[i - 1, j], dtw[i, j - 1], dtw[i - 1, j - 1]])
            dtw[i, j] = cost + last_min
    return dtw[n, m]


def smith_waterman(seq1, seq2, scores, gap):
    """The best score of a local alignment."""
    rows, cols = len(seq1) + 1, len(seq2) + 1
    H = np.zeros((rows, cols))
    max_score = 0.0
    for i in range(1, rows):
        for j in range(1, cols):
            match = H[i - 1, j - 1] + scores[seq1[i - 1], seq2[j - 1]]
            delete = H[i - 1, j] - gap
            insert = H[i, j - 1] - gap
            H[i, j] = max(0.0, match, delete, insert)
            if H[i, j] > max_score:
                max_score = H[i, j]
    return max_score


def floyd_warshall(weights):
    """The sum of all shortest paths."""
    dist = weights.copy()
    n = len(dist)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if dist[i, k] + dist[k, j] < dist[i, j]:
                    dist[i, j] = dist[i, k] + dist[k, j]
    return np.sum(dist)


def bellman_ford(weights, sources, targets, n=6):
    """The way from the first node to the last, edge by edge."""
    distance = np.full(n, 1e9)
    distance[0] = 0.0
    for _ in range(n - 1):
        changed = False
        for u, v, w in zip(sources, targets, weights):
            if distance[u] + w < distance[v]:
                distance[v] = distance[u] + w
                changed = True
        if not changed:
            break
    return distance[n - 1]


_random = np.random.default_rng(3)
_graph = _random.uniform(1, 10, size=(6, 6))
np.fill_diagonal(_graph, 0.0)

PROGRAMS = [
    Program(
        edit_distance,
        (np.array([10, 8, 19, 19, 4, 13]), np.array([18, 8, 19, 19, 8, 13, 6]), 1.0, 1.1, 1.7),
        (2, 3, 4),
    ),
    Program(
        knapsack,
        (_random.uniform(1, 10, size=8), np.array([4, 7, 3, 9, 5, 6, 2, 8])),
        (0,),
    ),
    Program(
        common_subsequence,
        (
            np.array([0, 2, 1, 3, 2, 0, 1, 3]),
            np.array([2, 1, 2, 0, 3, 0, 1]),
            np.array([1.0, 1.3, 0.8, 1.7]),
        ),
        (2,),
    ),
    Program(
        dynamic_time_warping,
        (np.sin(np.linspace(0, 3, 10)), np.sin(np.linspace(0.3, 3.5, 12)) * 1.1),
        (0, 1),
    ),
    Program(
        smith_waterman,
        (
            np.array([2, 2, 1, 1, 0, 2, 3, 0]),
            np.array([2, 1, 1, 0, 3, 0, 2]),
            4.1 * np.eye(4) - 1.3,
            2.2,
        ),
        (2, 3),
    ),
    Program(floyd_warshall, (_graph,), (0,)),
    Program(
        bellman_ford,
        (
            np.array([4.0, 2.5, 3.1, 1.2, 7.3, 2.2, 3.3, 1.9, 5.1]),
            np.array([0, 0, 1, 2, 1, 2, 3, 4, 3]),
            np.array([1, 2, 3, 1, 4, 4, 5, 5, 4]),
        ),
        (0,),
    ),
]
