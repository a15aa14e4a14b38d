"""Ordinary functions of machine learning: networks, losses, one training step."""

import numpy as np


def relu(x):
    """Rectified linear unit."""
    return np.maximum(x, 0)


def softmax(x, axis=-1):
    """Shifted softmax along an axis."""
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def mlp_loss(params, X, y, weight_decay=1e-3):
    """Cross entropy of a two-layer network with weight decay."""
    (W1, b1), (W2, b2) = params
    hidden = np.tanh(X @ W1 + b1)
    logits = hidden @ W2 + b2
    logp = logits - logits.max(axis=1, keepdims=True)
    logp = logp - np.log(np.exp(logp).sum(axis=1, keepdims=True))
    nll = -logp[np.arange(len(y)), y].mean()
    penalty = sum(np.sum(W**2) for W, _ in params)
    return nll + weight_decay * penalty


def attention_block(weights, x, causal=True):
    """Single-head attention with a residual connection."""
    Wq, Wk, Wv, Wo = weights["q"], weights["k"], weights["v"], weights["o"]
    q, k, v = x @ Wq, x @ Wk, x @ Wv
    scores = q @ k.T / np.sqrt(q.shape[-1])
    if causal:
        mask = np.triu(np.ones(scores.shape, dtype=bool), k=1)
        scores = np.where(mask, -1e9, scores)
    return x + softmax(scores) @ v @ Wo


def multi_head_attention(x, W, Wo, heads=2):
    """Multi-head self-attention by einsum on a batch of sequences."""
    b, t, d = x.shape
    qkv = np.einsum("btd,de->bte", x, W).reshape(b, t, 3, heads, d // heads)
    q, k, v = (qkv[:, :, i].transpose(0, 2, 1, 3) for i in range(3))
    scores = np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(d // heads)
    context = np.einsum("bhqk,bhkd->bhqd", softmax(scores), v)
    merged = np.swapaxes(context, 1, 2).reshape(b, t, d)
    return np.mean((merged @ Wo) ** 2)


def layer_norm(x, gain, bias, eps=1e-5):
    """Normalise the last axis."""
    mean = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    return gain * (x - mean) / np.sqrt(var + eps) + bias


def transformer_mlp(x, params):
    """Layer norm, a wide layer with the tanh form of GELU, residual."""
    h = layer_norm(x, params["gain"], params["bias"])
    h = h @ params["up"]
    h = 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
    out = x + h @ params["down"]
    return (out**2).mean()


def batch_norm_loss(x, gamma, beta, running=None, training=True, momentum=0.1):
    """Batch normalisation over rows and columns of an image batch, then a loss."""
    if training or running is None:
        mu = np.mean(x, axis=(0, 2, 3), keepdims=True)
        sigma2 = np.mean((x - mu) ** 2, axis=(0, 2, 3), keepdims=True)
    else:
        mu, sigma2 = running
    normalised = (x - mu) / np.sqrt(sigma2 + 1e-5)
    out = gamma.reshape(1, -1, 1, 1) * normalised + beta.reshape(1, -1, 1, 1)
    return np.sum(np.sin(out))


def conv1d(x, kernel, bias, stride=2, padding=1):
    """One-dimensional convolution of channels by slices."""
    c_out, c_in, width = kernel.shape  # noqa: RUF059
    padded = np.pad(x, ((0, 0), (padding, padding)))
    length = (padded.shape[1] - width) // stride + 1
    out = np.zeros((c_out, length))
    for i in range(length):
        window = padded[:, i * stride : i * stride + width]
        out[:, i] = np.tensordot(kernel, window, axes=([1, 2], [0, 1])) + bias
    return out


def conv2d_maxpool(image, kernels):
    """Valid convolution with several kernels, relu and two-by-two max pooling."""
    n_k, kh, kw = kernels.shape
    H, W = image.shape
    oh, ow = H - kh + 1, W - kw + 1
    maps = np.zeros((n_k, oh, ow))
    for dy in range(kh):
        for dx in range(kw):
            maps += kernels[:, dy, dx][:, None, None] * image[dy : dy + oh, dx : dx + ow]
    maps = relu(maps)
    pooled = maps.reshape(n_k, oh // 2, 2, ow // 2, 2).max(axis=(2, 4))
    return pooled.sum(axis=(1, 2))


def lstm_loss(params, xs, target):
    """Squared error of a small recurrent cell's last output."""

    def sigmoid(a):
        return 1.0 / (1.0 + np.exp(-a))

    W, U, b, readout = params["W"], params["U"], params["b"], params["readout"]
    hidden_size = U.shape[1]
    h = np.zeros(hidden_size)
    c = np.zeros(hidden_size)
    for x in xs:
        gates = W @ x + U @ h + b
        i, f, o, g = np.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    return 0.5 * np.sum((readout @ h - target) ** 2)


def soft_kmeans(centres, X, beta=2.0, iterations=3):
    """Centres after soft assignment steps, and the free energy."""
    for _ in range(iterations):
        d2 = ((X[:, None, :] - centres[None, :, :]) ** 2).sum(-1)
        resp = softmax(-beta * d2, axis=1)
        centres = resp.T @ X / resp.sum(axis=0)[:, None]
    return np.sum(np.min(((X[:, None] - centres) ** 2).sum(-1), axis=1))


def tsne_loss(Y, P):
    """Kullback-Leibler divergence of t-distributed neighbour embedding."""
    n = Y.shape[0]
    sum_Y = np.sum(np.square(Y), 1)
    num = -2.0 * np.dot(Y, Y.T)
    num = 1.0 / (1.0 + np.add(np.add(num, sum_Y).T, sum_Y))
    num[range(n), range(n)] = 0.0
    Q = num / np.sum(num)
    Q = np.maximum(Q, 1e-12)
    return np.sum(P * np.log(P / Q))


def contrastive_loss(a, b, temperature=0.5):
    """Symmetric contrastive loss of paired embeddings."""
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    logits = a @ b.T / temperature

    def cross_entropy(z):
        z = z - z.max(axis=1, keepdims=True)
        return -np.mean(np.diag(z) - np.log(np.exp(z).sum(axis=1)))

    return 0.5 * (cross_entropy(logits) + cross_entropy(logits.T))


def vae_elbo(params, x, noise):
    """Evidence lower bound of a linear variational autoencoder with Bernoulli pixels."""
    code = x @ params["encoder"]
    mean, log_var = np.hsplit(code, 2)
    z = mean + np.exp(0.5 * log_var) * noise
    logits = z @ params["decoder"]
    reconstruction = np.sum(x * logits - np.logaddexp(0, logits), axis=1)
    kl = -0.5 * np.sum(1 + log_var - mean**2 - np.exp(log_var), axis=1)
    return np.mean(reconstruction - kl)


def bag_of_words(embedding, documents, labels, classes=3):
    """Average embeddings of words, score against one-hot labels with label smoothing."""
    vectors = embedding[documents].mean(axis=1)
    scores = vectors[:, :classes]
    onehot = np.eye(classes)[labels]
    smooth = 0.9 * onehot + 0.1 / classes
    logp = np.log(softmax(scores))
    return -(smooth * logp).sum() / len(labels)


def dropout_network(W, x, masks, keep=0.8):
    """Two layers with given dropout masks and leaky rectifiers."""
    h = x
    for weight, mask in zip(W, masks):
        h = h @ weight
        h = np.where(h > 0, h, 0.01 * h)
        h = h * mask / keep
    return np.mean(h)


def adam_steps(theta, X, y, steps=6, lr=0.05, b1=0.9, b2=0.999, eps=1e-8):
    """Loss after some Adam steps of linear regression."""
    w = theta.copy()
    m = np.zeros_like(w)
    v = np.zeros_like(w)
    for t in range(1, steps + 1):
        grad = 2 * X.T @ (X @ w - y) / len(y)
        m = b1 * m + (1 - b1) * grad
        v = b2 * v + (1 - b2) * grad**2
        m_hat = m / (1 - b1**t)
        v_hat = v / (1 - b2**t)
        w -= lr * m_hat / (np.sqrt(v_hat) + eps)
    return np.mean((X @ w - y) ** 2)


def svm_hinge(w, X, y, C=1.0, **options):
    """Squared-hinge support vector objective."""
    margin = y * (X @ w[:-1] + w[-1])
    power = options.get("power", 2)
    losses = np.clip(1 - margin, 0, None) ** power
    return 0.5 * np.dot(w[:-1], w[:-1]) + C * losses.sum()


def rbf_network(params, x):
    """Radial basis functions with learned centres and widths."""
    centres, log_width, weights = params
    distance = np.abs(np.subtract.outer(x, centres))
    phi = np.exp(-((distance / np.exp(log_width)) ** 2))
    phi /= phi.sum(1)[:, None]
    return phi.dot(weights)


def _rng():
    return np.random.default_rng(53)


def _mlp():
    rng = _rng()
    params = [
        (0.5 * rng.normal(size=(4, 5)), np.zeros(5)),
        (0.5 * rng.normal(size=(5, 3)), 0.1 * np.ones(3)),
    ]
    return params, rng.normal(size=(7, 4)), rng.integers(0, 3, size=7)


def _attention():
    rng = _rng()
    weights = {name: 0.5 * rng.normal(size=(4, 4)) for name in "qkvo"}
    return weights, rng.normal(size=(5, 4))


def _heads():
    rng = _rng()
    return rng.normal(size=(2, 3, 4)), rng.normal(size=(4, 12)), rng.normal(size=(4, 4))


def _wide():
    rng = _rng()
    params = {
        "gain": np.ones(4),
        "bias": np.zeros(4),
        "up": rng.normal(size=(4, 8)),
        "down": rng.normal(size=(8, 4)),
    }
    return rng.normal(size=(3, 4)), params


def _lstm():
    rng = _rng()
    params = {
        "W": rng.normal(size=(12, 2)),
        "U": rng.normal(size=(12, 3)),
        "b": np.zeros(12),
        "readout": rng.normal(size=(2, 3)),
    }
    return params, rng.normal(size=(4, 2)), np.array([0.5, -0.5])


def _neighbours():
    rng = _rng()
    P = rng.random((6, 6)) + 0.1
    P = P + P.T
    return rng.normal(size=(6, 2)), P / P.sum()


def _autoencoder():
    rng = _rng()
    params = {"encoder": rng.normal(size=(5, 4)), "decoder": rng.normal(size=(2, 5))}
    return params, (rng.random((6, 5)) > 0.5).astype(float), rng.normal(size=(6, 2))


def _words():
    rng = _rng()
    return rng.normal(size=(9, 4)), rng.integers(0, 9, size=(5, 6)), rng.integers(0, 3, size=5)


def _dropout():
    rng = _rng()
    W = [rng.normal(size=(3, 6)), rng.normal(size=(6, 2))]
    masks = [(rng.random((4, 6)) < 0.8).astype(float), (rng.random((4, 2)) < 0.8).astype(float)]
    return W, rng.normal(size=(4, 3)), masks


def _margin():
    rng = _rng()
    return rng.normal(size=3), rng.normal(size=(10, 2)), np.where(np.arange(10) % 2 == 0, -1.0, 1.0)


CASES = [
    (mlp_loss, _mlp, 0),
    (attention_block, _attention, 0),
    (multi_head_attention, _heads, 1),
    (transformer_mlp, _wide, 1),
    (
        batch_norm_loss,
        lambda: (_rng().normal(size=(3, 2, 4, 4)), np.array([1.0, 0.5]), np.array([0.1, -0.1])),
        0,
    ),
    (
        conv1d,
        lambda: (_rng().normal(size=(2, 9)), _rng().normal(size=(3, 2, 3)), np.zeros(3)),
        1,
    ),
    (conv2d_maxpool, lambda: (_rng().normal(size=(8, 8)), _rng().normal(size=(2, 3, 3))), 1),
    (lstm_loss, _lstm, 0),
    (soft_kmeans, lambda: (_rng().normal(size=(3, 2)), _rng().normal(size=(10, 2)) * 2), 0),
    (tsne_loss, _neighbours, 0),
    (contrastive_loss, lambda: tuple(_rng().normal(size=(2, 5, 3))), 0),
    (vae_elbo, _autoencoder, 0),
    (bag_of_words, _words, 0),
    (dropout_network, _dropout, 0),
    (
        adam_steps,
        lambda: (_rng().normal(size=3), _rng().normal(size=(12, 3)), _rng().normal(size=12)),
        0,
    ),
    (svm_hinge, _margin, 0),
    (
        rbf_network,
        lambda: ((np.array([-1.0, 0.1, 1.0]), np.array(0.1), np.ones(3)), np.linspace(-2, 2, 7)),
        0,
    ),
]
