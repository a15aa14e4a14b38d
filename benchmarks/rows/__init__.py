"""The rows of the benchmark, in the order they are measured."""

from benchmarks.rows import (
    black_scholes,
    bundle,
    chain,
    gmm,
    kmeans,
    layer_norm,
    logistic,
    logsumexp,
    lstm,
    mlp,
    pairwise,
    rnn,
    rosenbrock,
    softmax,
    stencil,
    table,
)

ROWS = (
    gmm.ROW,
    logistic.ROW,
    softmax.ROW,
    chain.ROW,
    logsumexp.ROW,
    kmeans.ROW,
    bundle.ROW,
    rosenbrock.ROW,
    mlp.ROW,
    layer_norm.ROW,
    pairwise.ROW,
    black_scholes.ROW,
    lstm.ROW,
    rnn.ROW,
    stencil.ROW,
    table.ROW,
)
