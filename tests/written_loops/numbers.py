"""Numbers, games and machines: short tasks from lists of programming problems, and models of control."""

import numpy as np

from tests.written_loops.program import Program


def mandelbrot_smooth(c, max_iter=80, bailout=1e3):
    """When a point escapes, with the fraction of a step."""
    zr, zi = 0.0, 0.0
    for n in range(max_iter):
        zr, zi = zr * zr - zi * zi + c[0], 2 * zr * zi + c[1]
        if zr * zr + zi * zi > bailout**2:
            return n + 1 - np.log2(np.log(np.sqrt(zr * zr + zi * zi)) / np.log(bailout))
    return max_iter + 0.0 * c[0]


def collatz(n, scale):
    """The length of the way to one, weighted by what is met."""
    steps = 0
    total = 0.0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
        total += scale / n
    return total + steps


def parse_number(codes, unit):
    """The number that characters spell, by their codes: sign, digits, a point, an exponent."""
    sign = 1.0
    value = 0.0
    place = 0.0
    exponent = 0
    in_exponent = False
    for code in codes:
        if code == 45:
            sign = -1.0
        elif code == 46:
            place = 1.0
        elif code == 101:
            in_exponent = True
        elif 48 <= code <= 57:
            digit = code - 48
            if in_exponent:
                exponent = 10 * exponent + digit
            elif place > 0:
                place = place / 10
                value = value + digit * place
            else:
                value = 10 * value + digit
        else:
            break
    return unit * sign * value * 10.0**exponent


def arithmetic_geometric_mean(a, b, tol=1e-15):
    """Gauss's mean."""
    while abs(a - b) > tol * abs(a):
        a, b = (a + b) / 2, np.sqrt(a * b)
    return a


def continued_fraction(terms, x):
    """From the inside out."""
    result = 0.0
    for a in reversed(terms):
        result = x / (a + result)
    return result


def fibonacci_ratio(first, second, n=30):
    """Two numbers that go on as their sums."""
    a, b = first, second
    for _ in range(n):
        a, b = b, a + b
    return b / a + 0.001 * first


def pid_controller(gains, setpoint=1.0, dt=0.05, steps=80):
    """A controller with limits and a plant of first order."""
    Kp, Ki, Kd = gains
    y = 0.0
    integral = 0.0
    prev_error = setpoint - y
    cost = 0.0
    for _ in range(steps):
        error = setpoint - y
        integral += error * dt
        derivative = (error - prev_error) / dt
        u = Kp * error + Ki * integral + Kd * derivative
        if u > 2.0:
            u = 2.0
            integral -= error * dt
        elif u < -2.0:
            u = -2.0
        y += dt * (-y + u)
        prev_error = error
        cost += error**2 * dt
    return cost


def single_server_queue(arrival_gaps, service_times):
    """Lindley's recursion; mean of the waiting and of the idle time."""
    wait = 0.0
    total_wait = 0.0
    idle = 0.0
    for i in range(1, len(arrival_gaps)):
        wait = wait + service_times[i - 1] - arrival_gaps[i]
        if wait < 0:
            idle += -wait
            wait = 0.0
        total_wait += wait
    return (total_wait + 0.5 * idle) / len(arrival_gaps)


def recurrent_network(params, sequence, targets):
    """A network with a memory and its loss."""
    h = np.zeros(params["Whh"].shape[0])
    outputs = []
    for x in sequence:
        h = np.tanh(params["Wxh"] @ x + params["Whh"] @ h + params["bh"])
        outputs.append(params["Why"] @ h)
    loss = 0
    for y, target in zip(outputs, targets):
        loss += np.sum((y - target) ** 2)
    return loss / len(targets)


def linear_quadratic_control(A, B, x0, stages=25):
    """Riccati backwards, then the controls forwards."""
    n, m = B.shape
    Q, R = np.eye(n), 0.1 * np.eye(m)
    P = Q
    gains = []
    for _ in range(stages):
        K = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ K)
        gains.append(K)
    x = x0
    cost = 0.0
    for K in reversed(gains):
        u = -K @ x
        cost += x @ Q @ x + u @ R @ u
        x = A @ x + B @ u
    return cost + x @ Q @ x


def softened_life(board, steps=5):
    """The game of life on real numbers: a new board from the old one, again and again."""
    rows, cols = board.shape
    current = board
    for _ in range(steps):
        new = np.zeros((rows, cols))
        for i in range(rows):
            for j in range(cols):
                neighbours = 0.0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di == 0 and dj == 0:
                            continue
                        neighbours += current[(i + di) % rows, (j + dj) % cols]
                alive = 1 / (1 + np.exp(-4 * (neighbours - 1.5)))
                crowded = 1 / (1 + np.exp(-4 * (neighbours - 3.5)))
                new[i, j] = alive * (1 - crowded) * (0.5 + 0.5 * current[i, j])
        current = new
    return np.sum(current**2)


_random = np.random.default_rng(7)

PROGRAMS = [
    Program(mandelbrot_smooth, (np.array([0.4, 0.5]),), (0,)),
    Program(collatz, (27, 1.5), (1,)),
    Program(parse_number, (np.array([ord(c) for c in "-12.75e2 m"]), 0.3), (1,)),
    Program(arithmetic_geometric_mean, (24.0, 6.0), (0, 1)),
    Program(continued_fraction, (np.array([1.0, 2.0, 3.0, 4.0, 5.0]), 0.8), (0, 1)),
    Program(fibonacci_ratio, (1.0, 1.5), (0, 1)),
    Program(pid_controller, (np.array([2.5, 1.0, 0.05]),), (0,)),
    Program(
        single_server_queue,
        (_random.exponential(1.0, size=25), _random.exponential(0.9, size=25)),
        (0, 1),
    ),
    Program(
        recurrent_network,
        (
            {
                "Wxh": _random.normal(size=(4, 2)),
                "Whh": 0.4 * _random.normal(size=(4, 4)),
                "bh": np.zeros(4),
                "Why": _random.normal(size=(1, 4)),
            },
            _random.normal(size=(8, 2)),
            _random.normal(size=(8, 1)),
        ),
        (0,),
    ),
    Program(
        linear_quadratic_control,
        (
            np.array([[1.0, 0.1], [-0.1, 0.95]]),
            np.array([[0.0], [0.1]]),
            np.array([1.0, -0.5]),
        ),
        (0, 1, 2),
    ),
    Program(softened_life, (_random.uniform(size=(6, 6)),), (0,)),
]
