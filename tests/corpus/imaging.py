"""Ordinary functions of imaging: sampling, filters, registration, rendering."""

import numpy as np


def bilinear_sample(image, rows, cols):
    """Sample an image between its pixels, clamping at the border."""
    H, W = image.shape
    r0 = np.clip(np.floor(rows).astype(int), 0, H - 2)
    c0 = np.clip(np.floor(cols).astype(int), 0, W - 2)
    dr, dc = rows - r0, cols - c0
    top = image[r0, c0] * (1 - dc) + image[r0, c0 + 1] * dc
    bottom = image[r0 + 1, c0] * (1 - dc) + image[r0 + 1, c0 + 1] * dc
    return top * (1 - dr) + bottom * dr


def affine_registration(params, moving, fixed):
    """Mean squared difference after an affine motion of the image plane."""
    A = params[:4].reshape(2, 2)
    shift = params[4:]
    H, W = fixed.shape
    grid = np.stack(np.meshgrid(np.arange(H), np.arange(W), indexing="ij"), axis=-1)
    grid = grid.astype(float).reshape(-1, 2)
    centre = np.array([H - 1, W - 1]) / 2
    moved = (grid - centre) @ A.T + centre + shift
    sampled = bilinear_sample(moving, moved[:, 0], moved[:, 1])
    return np.mean((sampled - fixed.ravel()) ** 2)


def gaussian_blur(image, sigma, radius=2):
    """Separable blur with reflected borders."""
    x = np.arange(-radius, radius + 1)
    kernel = np.exp(-0.5 * (x / sigma) ** 2)
    kernel = kernel / kernel.sum()
    padded = np.pad(image, radius, mode="reflect")
    H, W = image.shape
    rows = sum(k * padded[i : i + H, :] for i, k in enumerate(kernel))
    return sum(k * rows[:, j : j + W] for j, k in enumerate(kernel))


def sobel_energy(image):
    """Mean gradient magnitude by Sobel's kernels."""
    gx = np.zeros((image.shape[0] - 2, image.shape[1] - 2))
    gy = np.zeros_like(gx)
    kx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    ky = kx.T
    h, w = gx.shape
    for i in range(3):
        for j in range(3):
            patch = image[i : i + h, j : j + w]
            if kx[i, j] != 0:
                gx += kx[i, j] * patch
            if ky[i, j] != 0:
                gy += ky[i, j] * patch
    return np.sqrt(gx**2 + gy**2 + 1e-12).mean()


def soft_histogram(image, bins=8, width=0.1):
    """Histogram with Gaussian bins, and the entropy of it."""
    centres = (np.arange(bins) + 0.5) / bins
    weights = np.exp(-0.5 * ((image.ravel()[:, None] - centres) / width) ** 2)
    weights /= weights.sum(axis=1, keepdims=True)
    p = weights.mean(axis=0)
    entropy = -np.sum(p * np.log(p + 1e-12))
    return p, entropy


def histogram_equalise(image, bins=6):
    """Map grey values through the cumulative soft histogram."""
    p, _ = soft_histogram(image, bins=bins)
    cdf = np.cumsum(p)
    cdf = (cdf - cdf[0]) / (cdf[-1] - cdf[0])
    levels = np.linspace(0, 1, bins)
    return np.interp(image.flatten(), levels, cdf).reshape(image.shape)


def total_variation(image, weight=1.0, isotropic=True):
    """Total variation of an image, isotropic or not."""
    dy = image[1:, :] - image[:-1, :]
    dx = image[:, 1:] - image[:, :-1]
    if not isotropic:
        return weight * (np.abs(dx).sum() + np.abs(dy).sum())
    return weight * np.sum(np.sqrt(dx[:-1, :] ** 2 + dy[:, :-1] ** 2 + 1e-6))


def structural_similarity(a, b, window=4, c1=1e-4, c2=9e-4):
    """Mean structural similarity over windows that do not overlap."""
    scores = []
    for i in range(0, a.shape[0], window):
        for j in range(0, a.shape[1], window):
            pa, pb = a[i : i + window, j : j + window], b[i : i + window, j : j + window]
            ma, mb = pa.mean(), pb.mean()
            va, vb = pa.var(), pb.var()
            cov = ((pa - ma) * (pb - mb)).mean()
            score = (2 * ma * mb + c1) * (2 * cov + c2)
            scores.append(score / ((ma**2 + mb**2 + c1) * (va + vb + c2)))
    return np.mean(scores)


def perona_malik(image, steps=4, kappa=0.3, rate=0.2):
    """Anisotropic diffusion that spares the edges."""
    u = np.array(image, dtype=float)
    for _ in range(steps):
        north = np.zeros_like(u)
        south = np.zeros_like(u)
        east = np.zeros_like(u)
        west = np.zeros_like(u)
        north[1:] = u[:-1] - u[1:]
        south[:-1] = u[1:] - u[:-1]
        east[:, :-1] = u[:, 1:] - u[:, :-1]
        west[:, 1:] = u[:, :-1] - u[:, 1:]
        flow = sum(np.exp(-((d / kappa) ** 2)) * d for d in (north, south, east, west))
        u += rate * flow
    return u


def lambert_shading(normals, albedo, light, ambient=0.1):
    """Grey image of a surface from its normals and one distant light."""
    n = normals / np.linalg.norm(normals, axis=-1, keepdims=True)
    direction = light / np.linalg.norm(light)
    intensity = np.maximum(n @ direction, 0.0)
    image = albedo * (ambient + (1 - ambient) * intensity)
    return np.clip(image, 0.0, 1.0)


def shape_from_shading_loss(depth, target, light):
    """Error of the shading of a depth map."""
    p, q = np.gradient(depth)
    norm = np.sqrt(p**2 + q**2 + 1)
    shading = (-light[0] * p - light[1] * q + light[2]) / norm
    return np.sum((shading - target) ** 2)


def tomography_misfit(image, angles, sinogram, samples=8):
    """Squared error of line integrals along several angles."""
    H, W = image.shape
    t = np.linspace(-H / 2 + 1, H / 2 - 1, samples)
    loss = 0.0
    for angle, measured in zip(angles, sinogram):
        c, s = np.cos(angle), np.sin(angle)
        u, v = np.meshgrid(t, t)
        rows = (H - 1) / 2 + c * u - s * v
        cols = (W - 1) / 2 + s * u + c * v
        projection = bilinear_sample(image, rows.ravel(), cols.ravel()).reshape(u.shape).sum(axis=0)
        loss += np.sum((projection - measured) ** 2)
    return loss


def alpha_composite(layers, alphas):
    """Composite layers from the front to the back, and the light that remains."""
    remaining = np.ones(layers.shape[1:])
    colour = np.zeros(layers.shape[1:])
    for layer, alpha in zip(layers, alphas):
        colour = colour + remaining * alpha * layer
        remaining = remaining * (1 - alpha)
    return colour, remaining


def gaussian_splats(params, size=8):
    """Render coloured blobs given as rows (row, column, log width, weight)."""
    ii, jj = np.mgrid[0:size, 0:size]
    canvas = np.zeros((size, size))
    for row, col, log_width, weight in params:
        r2 = (ii - row) ** 2 + (jj - col) ** 2
        canvas += weight * np.exp(-0.5 * r2 / np.exp(2 * log_width))
    return 1 - np.exp(-canvas)


def colour_correction(matrix, pixels, reference):
    """Mean colour difference after a linear correction and gamma."""
    linear = np.where(pixels > 0.04045, ((pixels + 0.055) / 1.055) ** 2.4, pixels / 12.92)
    corrected = np.clip(linear @ matrix.T, 1e-4, 1.0)
    encoded = 1.055 * corrected ** (1 / 2.4) - 0.055
    difference = encoded - reference
    luma = difference @ np.array([0.2126, 0.7152, 0.0722])
    return np.linalg.norm(difference, axis=1).mean() + np.abs(luma).max()


def demosaic_loss(raw, target):
    """Interpolate the green channel of a checkerboard mosaic and compare."""
    H, W = raw.shape
    green = np.zeros((H, W))
    green[::2, 1::2] = raw[::2, 1::2]
    green[1::2, ::2] = raw[1::2, ::2]
    known = (np.indices((H, W)).sum(axis=0) % 2) == 1
    padded = np.pad(green, 1)
    neighbours = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
    filled = np.where(known, green, neighbours / 4)
    return np.mean((filled - target)[1:-1, 1:-1] ** 2)


def _rng():
    return np.random.default_rng(71)


def _registration():
    moving, fixed = _rng().random((2, 6, 7))
    return np.array([0.9, 0.1, -0.05, 0.95, 0.13, -0.21]), moving, fixed


def _surface():
    rng = _rng()
    normals = rng.normal(size=(4, 5, 3)) + np.array([0, 0, 3.0])
    return normals, rng.random((4, 5)), np.array([0.3, -0.2, 1.0])


def _tomography():
    rng = _rng()
    return rng.random((8, 8)), np.array([0.1, 0.8, 1.7]), rng.random((3, 8)) * 4


def _splats():
    return (np.array([[2.2, 3.1, 0.4, 0.8], [5.0, 4.5, 0.1, 1.2], [6.3, 1.2, 0.7, 0.5]]),)


def _colours():
    rng = _rng()
    return np.eye(3) + 0.05 * rng.normal(size=(3, 3)), rng.random((10, 3)), rng.random((10, 3))


CASES = [
    (
        bilinear_sample,
        lambda: (_rng().random((5, 5)), np.array([0.3, 2.6, 3.9]), np.array([1.1, 0.4, 3.2])),
        1,
    ),
    (affine_registration, _registration, 0),
    (gaussian_blur, lambda: (_rng().random((6, 7)), np.array(1.1)), 1),
    (sobel_energy, lambda: (_rng().random((6, 6)),), 0),
    (soft_histogram, lambda: (_rng().random((4, 5)),), 0),
    (histogram_equalise, lambda: (_rng().random((4, 4)),), 0),
    (total_variation, lambda: (_rng().random((6, 5)),), 0),
    (structural_similarity, lambda: tuple(_rng().random((2, 8, 8))), 0),
    (perona_malik, lambda: (_rng().random((5, 5)),), 0),
    (lambert_shading, _surface, 2),
    (
        shape_from_shading_loss,
        lambda: (_rng().random((5, 6)), _rng().random((5, 6)), np.array([0.2, 0.1, 0.9])),
        0,
    ),
    (tomography_misfit, _tomography, 0),
    (alpha_composite, lambda: (_rng().random((3, 4, 4)), _rng().random((3, 4, 4))), 1),
    (gaussian_splats, _splats, 0),
    (colour_correction, _colours, 0),
    (demosaic_loss, lambda: tuple(_rng().random((2, 6, 6))), 0),
]
