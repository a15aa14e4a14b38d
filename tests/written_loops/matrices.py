"""Linear algebra as it is taught: loops over rows and columns."""

import numpy as np

from tests.written_loops.program import Program


def power_iteration(A, num_simulations=60):
    """The largest eigenvalue."""
    b_k = np.ones(A.shape[1])
    for _ in range(num_simulations):
        # calculate the matrix-by-vector product Ab
        b_k1 = np.dot(A, b_k)
        # calculate the norm
        b_k1_norm = np.linalg.norm(b_k1)
        # re normalize the vector
        b_k = b_k1 / b_k1_norm
    return b_k @ A @ b_k


def gauss_seidel(A, b, max_iterations=60, tolerance=1e-14):
    """Each unknown in turn, with the newest values of the others."""
    x = np.zeros_like(b)
    for it in range(max_iterations):
        x_old = x.copy()
        for i in range(A.shape[0]):
            x[i] = (b[i] - np.dot(A[i, :i], x[:i]) - np.dot(A[i, i + 1 :], x_old[i + 1 :])) / A[
                i, i
            ]
        if np.linalg.norm(x - x_old, ord=np.inf) / np.linalg.norm(x, ord=np.inf) < tolerance:
            break
    return np.sum(x**2)


def jacobi_method(A, b, iterations=40):
    """All unknowns at once, element by element."""
    n = len(b)
    x = np.zeros(n)
    for _ in range(iterations):
        x_new = np.zeros(n)
        for i in range(n):
            s = 0.0
            for j in range(n):
                if j != i:
                    s += A[i, j] * x[j]
            x_new[i] = (b[i] - s) / A[i, i]
        x = x_new
    return x @ np.arange(1.0, n + 1)


def gram_schmidt(V):
    """Orthonormal columns; a number made of them."""
    n, k = V.shape
    U = np.zeros((n, k))
    U[:, 0] = V[:, 0] / np.sqrt(V[:, 0].T @ V[:, 0])
    for i in range(1, k):
        U[:, i] = V[:, i]
        for j in range(i):
            U[:, i] = U[:, i] - (U[:, j].T @ U[:, i]) * U[:, j]
        U[:, i] = U[:, i] / np.sqrt(U[:, i].T @ U[:, i])
    return np.sum(U * np.arange(1.0, n * k + 1).reshape(n, k))


def thomas(a, b, c, d):
    """A tridiagonal system, forwards and back."""
    n = len(d)
    cp = np.zeros(n)
    dp = np.zeros(n)
    x = np.zeros(n)
    cp[0] = c[0] / b[0]
    dp[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return np.sum(x**2)


def cholesky_by_loops(A):
    """The factor as Cholesky and Banachiewicz have it; the logarithm of its determinant."""
    n = A.shape[0]
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(j):
                total += L[i, k] * L[j, k]
            if i == j:
                L[i, j] = np.sqrt(A[i, i] - total)
            else:
                L[i, j] = (A[i, j] - total) / L[j, j]
    logdet = 0.0
    for i in range(n):
        logdet += 2 * np.log(L[i, i])
    return logdet


def exponential_by_series(A, tol=1e-16, max_terms=100):
    """Terms of the series until they are small."""
    term = np.eye(A.shape[0])
    total = term
    k = 1
    while k < max_terms:
        term = term @ A / k
        total = total + term
        if np.max(np.abs(term)) < tol:
            break
        k += 1
    return np.trace(total) + total[0, 1]


def gaussian_elimination(A, b):
    """Elimination with partial pivoting, in place."""
    A = A.copy()
    b = b.copy()
    n = len(b)
    for k in range(n - 1):
        p = k
        biggest = abs(A[k, k])
        for i in range(k + 1, n):
            if abs(A[i, k]) > biggest:
                biggest = abs(A[i, k])
                p = i
        if p != k:
            row = A[k].copy()
            A[k] = A[p]
            A[p] = row
            tmp = b[k]
            b[k] = b[p]
            b[p] = tmp
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            A[i] -= factor * A[k]
            b[i] -= factor * b[k]
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = (b[i] - A[i] @ x + A[i, i] * x[i]) / A[i, i]
    return np.sum(x * np.arange(1.0, n + 1))


_random = np.random.default_rng(5)
_A = _random.normal(size=(4, 4))
_spd = _A @ _A.T + 4 * np.eye(4)
_dominant = _A + 8 * np.eye(4)

PROGRAMS = [
    Program(power_iteration, (_spd,), (0,)),
    Program(gauss_seidel, (_dominant, np.arange(1.0, 5)), (0, 1)),
    Program(jacobi_method, (_dominant, np.arange(1.0, 5)), (0, 1)),
    Program(gram_schmidt, (_random.normal(size=(5, 3)),), (0,)),
    Program(
        thomas,
        (
            _random.uniform(size=8),
            3 + _random.uniform(size=8),
            _random.uniform(size=8),
            _random.normal(size=8),
        ),
        (0, 1, 2, 3),
    ),
    Program(cholesky_by_loops, (_spd,), (0,)),
    Program(exponential_by_series, (0.5 * _A[:3, :3],), (0,)),
    Program(gaussian_elimination, (_A, np.arange(1.0, 5)), (0, 1)),
]
