"""Ordinary functions of signal processing: filters, windows, spectra without transforms."""

import numpy as np


def fir_filter(taps, signal):
    """Filter a signal with given taps, zeros before its beginning."""
    out = np.zeros_like(signal)
    for n in range(len(signal)):
        for k in range(len(taps)):
            if n - k >= 0:
                out[n] += taps[k] * signal[n - k]
    return np.mean(out**2)


def iir_biquad(coefficients, signal):
    """Direct form II transposed biquad section; returns the filtered signal."""
    b0, b1, b2, a1, a2 = coefficients
    z1 = z2 = 0.0
    out = np.empty(len(signal))
    for i, x in enumerate(signal):
        y = b0 * x + z1
        z1 = b1 * x - a1 * y + z2
        z2 = b2 * x - a2 * y
        out[i] = y
    return out


def autocorrelation(x, max_lag=5):
    """Normalised sample autocorrelations up to a lag."""
    x = x - x.mean()
    n = len(x)
    c0 = np.dot(x, x) / n
    return np.array([np.dot(x[: n - lag], x[lag:]) / n / c0 for lag in range(1, max_lag + 1)])


def goertzel_power(x, frequency=0.12):
    """Power at one frequency by Goertzel's recursion."""
    coefficient = 2 * np.cos(2 * np.pi * frequency)
    s_prev, s_prev2 = 0.0, 0.0
    for sample in x:
        s = sample + coefficient * s_prev - s_prev2
        s_prev2, s_prev = s_prev, s
    return s_prev2**2 + s_prev**2 - coefficient * s_prev * s_prev2


def kaiser_like_window(n, kind="hann"):
    """Window of a kind by name."""
    k = np.arange(n)
    if kind == "hann":
        return 0.5 - 0.5 * np.cos(2 * np.pi * k / (n - 1))
    if kind == "hamming":
        return 0.54 - 0.46 * np.cos(2 * np.pi * k / (n - 1))
    if kind == "blackman":
        phase = 2 * np.pi * k / (n - 1)
        return 0.42 - 0.5 * np.cos(phase) + 0.08 * np.cos(2 * phase)
    raise ValueError(f"unknown window {kind!r}")


def windowed_periodogram(x, kind="blackman"):
    """Power spectrum of a windowed signal by an explicit cosine and sine sum."""
    n = len(x)
    w = kaiser_like_window(n, kind)
    xw = (x - np.mean(x)) * w
    freqs = np.arange(n // 2 + 1) / n
    angle = -2 * np.pi * np.outer(freqs, np.arange(n))
    re, im = np.cos(angle) @ xw, np.sin(angle) @ xw
    power = (re**2 + im**2) / np.sum(w**2)
    power[1:-1] *= 2
    return power


def convolve_full(x, kernel):
    """Loss on a full convolution of the library's."""
    y = np.convolve(x, kernel, mode="full")
    same = np.convolve(x, kernel, mode="same")
    return np.sum(y**2) + same[0] * same[-1]


def moving_average(x, width=4):
    """Moving average by differences of the running sum."""
    total = np.cumsum(np.insert(x, 0, 0.0))
    return (total[width:] - total[:-width]) / width


def exponential_smoothing(alpha, series):
    """Sum of squared one-step errors of simple exponential smoothing."""
    level = series[0]
    sse = 0.0
    for value in series[1:]:
        error = value - level
        sse += error**2
        level = level + alpha * error
    return sse


def holt_winters(params, series, period=4):
    """Sum of squared errors of additive seasonal smoothing."""
    alpha, beta, gamma = params
    level = series[:period].mean()
    trend = (series[period : 2 * period].sum() - series[:period].sum()) / period**2
    season = list(series[:period] - level)
    sse = 0.0
    for t in range(period, len(series)):
        forecast = level + trend + season[t % period]
        sse += (series[t] - forecast) ** 2
        previous = level
        level = alpha * (series[t] - season[t % period]) + (1 - alpha) * (level + trend)
        trend = beta * (level - previous) + (1 - beta) * trend
        season[t % period] = gamma * (series[t] - level) + (1 - gamma) * season[t % period]
    return sse / (len(series) - period)


def resample_and_compare(values, grid, query, target):
    """Squared error after linear interpolation onto other times."""
    resampled = np.interp(query, grid, values)
    return np.sum((resampled - target) ** 2)


def total_variation_denoise(u, noisy, lam=0.3, eps=1e-3):
    """Objective of smoothed total variation denoising."""
    fidelity = 0.5 * np.sum((u - noisy) ** 2)
    tv = np.sum(np.sqrt(np.diff(u) ** 2 + eps))
    return fidelity + lam * tv


def levinson_durbin(x, order=4):
    """Prediction error of linear predictive coding by the Levinson recursion."""
    r = np.array([np.sum(x[: len(x) - k] * x[k:]) for k in range(order + 1)])
    a = np.zeros(order + 1)
    a[0] = 1.0
    error = r[0]
    for i in range(1, order + 1):
        acc = r[i]
        for j in range(1, i):
            acc += a[j] * r[i - j]
        k = -acc / error
        previous = a.copy()
        for j in range(1, i):
            a[j] = previous[j] + k * previous[i - j]
        a[i] = k
        error *= 1 - k**2
    return error, a[1:]


def lms_filter(weights, x, desired, mu=0.05):
    """Adapt a filter by least mean squares; returns the error power of the run."""
    w = weights.copy()
    m = len(w)
    errors = []
    for n in range(m, len(x)):
        window = x[n - m : n][::-1]
        e = desired[n] - w @ window
        w += 2 * mu * e * window
        errors.append(e)
    return np.mean(np.square(errors))


def savitzky_golay(x, half=3, degree=2):
    """Smooth by fitting a polynomial in each window; ends are kept."""
    offsets = np.arange(-half, half + 1)
    vandermonde = np.vander(offsets, degree + 1, increasing=True).astype(float)
    coefficients = np.linalg.pinv(vandermonde)[0]
    smooth = x.copy()
    for i in range(half, len(x) - half):
        smooth[i] = coefficients @ x[i - half : i + half + 1]
    return smooth


def chirp_residual(params, t, observed):
    """Misfit of a damped chirp."""
    amplitude, decay, f0, rate, phase = params
    envelope = amplitude * np.exp(-decay * t)
    model = envelope * np.sin(2 * np.pi * (f0 * t + 0.5 * rate * t**2) + phase)
    return np.trapezoid((model - observed) ** 2, t)


def soft_threshold_wavelet(x, threshold=0.2, levels=2):
    """Haar shrinkage: transform, shrink the details, transform back."""
    approximation = x
    details = []
    for _ in range(levels):
        even, odd = approximation[::2], approximation[1::2]
        details.append((even - odd) / np.sqrt(2))
        approximation = (even + odd) / np.sqrt(2)
    for d in reversed(details):
        d = np.sign(d) * np.maximum(np.abs(d) - threshold, 0.0)
        merged = np.empty(2 * len(d))
        merged[0::2] = (approximation + d) / np.sqrt(2)
        merged[1::2] = (approximation - d) / np.sqrt(2)
        approximation = merged
    return approximation


def _rng():
    return np.random.default_rng(7)


def _seasonal():
    t = np.arange(16)
    return np.array([0.4, 0.2, 0.3]), 5 + 0.2 * t + np.sin(t * np.pi / 2) + 0.1 * _rng().random(16)


def _resampling():
    grid = np.linspace(0, 1, 8)
    query = np.array([-0.1, 0.05, 0.33, 0.5, 0.77, 1.2])
    return _rng().normal(size=8), grid, query, np.zeros(6)


CASES = [
    (fir_filter, lambda: (np.array([0.5, 0.3, -0.1]), _rng().normal(size=12)), 1),
    (
        iir_biquad,
        lambda: (np.array([0.2, 0.4, 0.2, -0.5, 0.25]), _rng().normal(size=14)),
        0,
    ),
    (autocorrelation, lambda: (_rng().normal(size=25),), 0),
    (goertzel_power, lambda: (_rng().normal(size=20),), 0),
    (windowed_periodogram, lambda: (_rng().normal(size=16),), 0),
    (convolve_full, lambda: (_rng().normal(size=10), np.array([0.2, 0.5, 0.3])), 0),
    (moving_average, lambda: (_rng().normal(size=12),), 0),
    (exponential_smoothing, lambda: (np.array(0.35), _rng().normal(size=15)), 0),
    (holt_winters, _seasonal, 0),
    (resample_and_compare, _resampling, 0),
    (total_variation_denoise, lambda: tuple(_rng().normal(size=(2, 20))), 0),
    (levinson_durbin, lambda: (_rng().normal(size=30),), 0),
    (lms_filter, lambda: (np.zeros(3), *_rng().normal(size=(2, 18))), 1),
    (savitzky_golay, lambda: (_rng().normal(size=14),), 0),
    (
        chirp_residual,
        lambda: (
            np.array([1.0, 0.5, 1.2, 0.3, 0.1]),
            np.linspace(0, 2, 30),
            _rng().normal(size=30),
        ),
        0,
    ),
    (soft_threshold_wavelet, lambda: (_rng().normal(size=16),), 0),
]
