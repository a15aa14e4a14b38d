"""Fits a logistic regression to the Wisconsin breast cancer table, from naive NumPy to a C kernel.

``make demo`` runs this. It ends with status 1 when a number is not what it has to be.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import gradc

HERE = Path(__file__).resolve().parent
PENALTY = 1.0  # of the squared weights; the intercept w[0] is free
SPEC = "w: f64[31], x: f64[n,30], y: f64[n]"


@gradc.compile
def logistic(w, x, y):
    """Return the penalised negative log likelihood of labels y (-1 or 1), as one would write it."""
    margin = y * (w[0] + x @ w[1:])
    loss = np.log(1 + np.exp(-margin))
    return np.sum(loss) + PENALTY / 2 * np.sum(w[1:] ** 2)


def read_table():
    """Return the features, each with mean 0 and variance 1, and the labels: 1 benign, -1 not."""
    table = np.loadtxt(HERE / "data" / "breast_cancer.csv", delimiter=",", skiprows=1)
    features, benign = table[:, :-1], table[:, -1]
    return (features - features.mean(axis=0)) / features.std(axis=0), 2 * benign - 1


def reference_gradient(w, x, y):
    """Return the gradient from the formula of a textbook, with a sigmoid that cannot overflow."""
    margin = y * (w[0] + x @ w[1:])
    small = np.exp(-np.abs(margin))
    slope = -y * np.where(margin > 0, small, 1) / (1 + small)
    return np.concatenate([[slope.sum()], slope @ x + PENALTY * w[1:]])


def reference_fit(x, y):
    """Return the weights found by Newton's method with the Hessian written by hand."""
    columns = np.column_stack([np.ones(len(y)), x])
    penalty = PENALTY * np.diag([0.0] + [1.0] * x.shape[1])
    w = np.zeros(columns.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-(columns @ w)))
        hessian = (columns.T * (chance * (1 - chance))) @ columns + penalty
        w = w - np.linalg.solve(hessian, reference_gradient(w, x, y))
    return w


class Report:
    """Prints what is found, and remembers whether all of it was as it has to be."""

    def __init__(self):
        self.failures = 0

    def heading(self, text):
        """Begin a part."""
        print(f"\n== {text}\n", flush=True)

    def check(self, what, holds):
        """Print one finding and count it when it is wrong."""
        print(f"{'ok  ' if holds else 'FAIL'}  {what}", flush=True)
        self.failures += not holds


def fit(report, x, y):
    """Fit with two optimisers, compare with the reference, and return the weights."""
    report.heading("the fit, with derivatives by gradc")
    reference, start = reference_fit(x, y), np.zeros(1 + x.shape[1])
    first_order = minimize(
        logistic.value_and_grad, start, (x, y), "L-BFGS-B", jac=True,
        options={"gtol": 1e-10, "ftol": 0, "maxiter": 1000},
    )  # fmt: skip
    second_order = minimize(
        logistic.value_and_grad, start, (x, y), "trust-exact", jac=True, hess=logistic.hessian,
        options={"gtol": 1e-9},
    )  # fmt: skip
    for name, found in (("L-BFGS-B", first_order), ("trust-exact with the Hessian", second_order)):
        difference = np.abs(found.x - reference).max()
        report.check(
            f"{name}: {found.nfev} evaluations, |weights - reference| <= {difference:.1e} (1e-6)",
            difference <= 1e-6,
        )
    w = second_order.x
    right = np.mean(np.sign(w[0] + x @ w[1:]) == y)
    print(f"      minimum {logistic(w, x, y):.12f}, {right:.1%} of {len(y)} labels right")
    print(f"      kernels: {'; '.join(str(signature) for signature in logistic.signatures)}")
    return w


def far_away(report, w, x, y):
    """Compare with the same lines in NumPy at weights so large that exp overflows."""
    report.heading("far from the optimum, where exp(-margin) overflows")
    far = 1000 * w
    with np.errstate(over="ignore"):
        naive = logistic.__wrapped__(far, x, y)
    value, gradient = logistic.value_and_grad(far, x, y)
    expected = reference_gradient(far, x, y)
    error = np.abs(gradient - expected).max() / np.abs(expected).max()
    print(f"      value by NumPy: {naive}")
    report.check(f"value by gradc: {value}", bool(np.isfinite(value)))
    report.check(f"gradient: {error:.1e} relative error (1e-12)", error <= 1e-12)


def explain(report):
    """Print the derivative graph and the rules that made it."""
    report.heading(f"the graph of value and gradient, for {SPEC}")
    print(logistic.dump(of="value_and_grad", spec=SPEC))
    report.heading("which rules fired (gradc explain)")
    command = [sys.executable, "-m", "gradc", "explain", f"{__file__}:logistic", "--spec", SPEC]
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stdout + done.stderr)
    fired = done.returncode == 0 and "softplus" in done.stdout
    report.check("a rule made softplus of log(1 + exp(...))", fired)


def call_from_c(report, w, x, y):
    """Export the kernels, build a C program with them, and compare its bits with Python's."""
    report.heading("the same kernels, called from C")
    compiler = shutil.which("cc")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        paths = logistic.export("logistic", spec=SPEC, out=folder)
        print("      exported", ", ".join(Path(path).name for path in paths))
        if compiler is None:
            report.check("no C compiler (cc) was found", False)
            return
        program, inputs = folder / "breast_cancer", folder / "inputs.bin"
        subprocess.run(
            [compiler, "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{folder}",
             HERE / "breast_cancer_main.c", folder / "logistic.o", "-lm", "-o", program],
            check=True,
        )  # fmt: skip
        inputs.write_bytes(np.int64(len(y)).tobytes() + w.tobytes() + x.tobytes() + y.tobytes())
        done = subprocess.run([program, inputs], capture_output=True, text=True, check=True)
    from_c = np.array([float.fromhex(line) for line in done.stdout.split()])
    value, gradient = logistic.value_and_grad(w, x, y)
    from_python = np.array([logistic(w, x, y), value, *gradient])
    print(f"      value in C {from_c[0].hex()}\n      in Python  {float(value).hex()}")
    report.check(
        f"the value and all {len(gradient)} entries of the gradient have the same bits",
        from_c.tobytes() == from_python.tobytes(),
    )


def main():
    """Run every part and return the exit status."""
    report = Report()
    x, y = read_table()
    print(f"{x.shape[0]} tumours, {x.shape[1]} standardised features, L2 penalty {PENALTY}")
    w = fit(report, x, y)
    far_away(report, w, x, y)
    explain(report)
    call_from_c(report, w, x, y)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
