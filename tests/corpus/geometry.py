"""Ordinary functions of geometry: areas, rotations, cameras, registration."""

from dataclasses import dataclass

import numpy as np


def polygon_area(vertices: np.ndarray) -> float:
    """Area of a simple polygon by the shoelace formula."""
    x, y = vertices[:, 0], vertices[:, 1]
    return 0.5 * np.abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))


def polygon_centroid(vertices):
    """Centroid of a polygon, looping over its edges."""
    n = len(vertices)
    area = 0.0
    cx = cy = 0.0
    for i in range(n):
        x0, y0 = vertices[i]
        x1, y1 = vertices[(i + 1) % n]
        cross = x0 * y1 - x1 * y0
        area += cross
        cx += (x0 + x1) * cross
        cy += (y0 + y1) * cross
    area *= 0.5
    return np.array([cx / (6 * area), cy / (6 * area)])


def skew(v):
    """Cross-product matrix of a vector."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def rodrigues(rotvec):
    """Rotation matrix of a rotation vector."""
    theta = np.linalg.norm(rotvec)
    K = skew(rotvec / theta)
    return np.eye(3) + np.sin(theta) * K + (1 - np.cos(theta)) * K @ K


def rotated_points(rotvec, points):
    """Spread of the points after a rotation, in the first coordinate."""
    R = rodrigues(rotvec)
    moved = points @ R.T
    return np.sum(moved[:, 0] ** 2) - moved[:, 0].max()


def procrustes_distance(A, B):
    """Residual of aligning A to B with the best rotation and scale."""
    A0 = A - A.mean(axis=0)
    B0 = B - B.mean(axis=0)
    A0 = A0 / np.linalg.norm(A0)
    B0 = B0 / np.linalg.norm(B0)
    u, s, vt = np.linalg.svd(B0.T @ A0)
    R = u @ vt
    scale = s.sum()
    return np.sum((A0 @ R.T * scale - B0) ** 2)


def quat_multiply(p, q):
    """Hamilton product of two quaternions, scalar first."""
    w0, x0, y0, z0 = p
    w1, x1, y1, z1 = q
    return np.array(
        [
            w0 * w1 - x0 * x1 - y0 * y1 - z0 * z1,
            w0 * x1 + x0 * w1 + y0 * z1 - z0 * y1,
            w0 * y1 - x0 * z1 + y0 * w1 + z0 * x1,
            w0 * z1 + x0 * y1 - y0 * x1 + z0 * w1,
        ]
    )


def quat_rotate(q, vectors):
    """Rotate each row of vectors by a quaternion that need not have unit length."""
    q = q / np.sqrt(q @ q)
    conjugate = q * np.array([1, -1, -1, -1])
    rotated = np.empty_like(vectors)
    for i in range(vectors.shape[0]):
        pure = np.concatenate(([0.0], vectors[i]))
        rotated[i] = quat_multiply(quat_multiply(q, pure), conjugate)[1:]
    return rotated


def slerp(q0, q1, t=0.3):
    """Spherical interpolation of two quaternions, the short way."""
    q0 = q0 / np.linalg.norm(q0)
    q1 = q1 / np.linalg.norm(q1)
    dot = np.dot(q0, q1)
    q1 = np.where(dot < 0, -q1, q1)
    dot = np.abs(dot)
    omega = np.arccos(np.clip(dot, -1.0, 1.0))
    return (np.sin((1 - t) * omega) * q0 + np.sin(t * omega) * q1) / np.sin(omega)


@dataclass
class Camera:
    """A pinhole camera with two radial distortion terms."""

    focal: float
    k1: float = 0.0
    k2: float = 0.0


def project(points, pose, camera):
    """Project rows of points into the image of a camera with the given pose."""
    R = rodrigues(pose[:3])
    in_camera = points @ R.T + pose[3:6]
    normalised = -in_camera[:, :2] / in_camera[:, 2:]
    r2 = np.sum(normalised**2, axis=1, keepdims=True)
    distortion = 1 + camera.k1 * r2 + camera.k2 * r2**2
    return camera.focal * distortion * normalised


def reprojection_error(poses, points, observed):
    """Bundle adjustment cost: squared pixels over all cameras."""
    camera = Camera(focal=2.0, k1=0.01, k2=0.002)
    total = 0
    for pose, image in zip(poses.reshape(-1, 6), observed):
        residual = project(points, pose, camera) - image
        total = total + np.sum(residual**2)
    return 0.5 * total


def mesh_area_and_volume(vertices, faces):
    """Surface area and enclosed volume of a triangle mesh."""
    a, b, c = vertices[faces[:, 0]], vertices[faces[:, 1]], vertices[faces[:, 2]]
    normal = np.cross(b - a, c - a)
    area = 0.5 * np.linalg.norm(normal, axis=1).sum()
    volume = np.abs(np.sum(a * normal)) / 6.0
    return area, volume


def icp_residual(params, source, target, normals):
    """Point-to-plane cost of a small rigid motion."""
    omega, t = params[:3], params[3:]
    moved = source + np.cross(omega, source) + t
    distance = ((moved - target) * normals).sum(axis=-1)
    weight = 1.0 / (1.0 + distance**2)
    return (weight * distance**2).mean()


def haversine(p, q, radius=6371.0):
    """Great-circle distances between rows of (latitude, longitude) in degrees."""
    lat0, lon0 = np.radians(p).T
    lat1, lon1 = np.radians(q).T
    dlat, dlon = lat1 - lat0, lon1 - lon0
    a = np.sin(dlat / 2) ** 2 + np.cos(lat0) * np.cos(lat1) * np.sin(dlon / 2) ** 2
    return 2 * radius * np.arcsin(np.sqrt(a))


def barycentric_interpolation(points, triangle, values):
    """Interpolate values given at the corners of one triangle."""
    a, b, c = triangle
    T = np.array([b - a, c - a]).T
    lam = np.linalg.solve(T, (points - a).T)
    weights = np.vstack([1 - lam.sum(axis=0), lam])
    return values @ weights


def hermite_curve_length(control, samples=40):
    """Length of a Bezier curve by sampling it with de Casteljau's construction."""
    t = np.linspace(0.0, 1.0, samples)[:, None]
    layer = [np.ones_like(t) * p for p in control]
    while len(layer) > 1:
        layer = [(1 - t) * p + t * q for p, q in zip(layer[:-1], layer[1:])]  # noqa: RUF007
    curve = layer[0]
    return np.sqrt((np.diff(curve, axis=0) ** 2).sum(axis=1)).sum()


def fit_circle(points):
    """Centre and radius of the algebraic least-squares circle."""
    x, y = points.T
    A = np.c_[2 * x, 2 * y, np.ones(len(x))]
    b = x**2 + y**2
    solution = np.linalg.solve(A.T @ A, A.T @ b)
    cx, cy = solution[:2]
    radius = np.sqrt(solution[2] + cx**2 + cy**2)
    return cx, cy, radius


def discrete_curvature_energy(path, weight=0.1):
    """Bending energy of a closed polyline plus a spring term for its length."""
    ahead = np.roll(path, -1, axis=0) - path
    behind = path - np.roll(path, 1, axis=0)
    length = np.hypot(ahead[:, 0], ahead[:, 1])
    turn = np.arctan2(
        behind[:, 0] * ahead[:, 1] - behind[:, 1] * ahead[:, 0], np.sum(behind * ahead, axis=1)
    )
    return np.sum(turn**2 / length) + weight * length.sum()


def forward_kinematics(angles, links=(1.0, 0.8, 0.5)):
    """Position of a planar arm's hand and the penalty for folding."""
    position = np.zeros(2)
    heading = 0.0
    joints = [position.copy()]
    for angle, link in zip(angles, links):
        heading += angle
        position = position + link * np.array([np.cos(heading), np.sin(heading)])
        joints.append(position)
    joints = np.stack(joints)
    fold = sum(np.exp(-np.sum((joints[i] - joints[i - 2]) ** 2)) for i in range(2, len(joints)))
    return np.append(joints[-1], fold)


def _rng():
    return np.random.default_rng(5)


def _star(n=7):
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    radius = 1 + 0.3 * _rng().random(n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _bundle():
    rng = _rng()
    poses = np.array([[0.1, -0.2, 0.3, 0.1, 0.0, -5.0], [0.2, 0.1, -0.1, -0.2, 0.3, -6.0]]).ravel()
    return poses, rng.normal(size=(5, 3)), rng.normal(size=(2, 5, 2)) * 0.2


def _tetrahedron():
    vertices = np.array([[0, 0, 0], [1, 0, 0.1], [0, 1.2, 0], [0.1, 0, 0.9]])
    return vertices, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def _registration():
    rng = _rng()
    normals = rng.normal(size=(9, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    source = rng.normal(size=(9, 3))
    return rng.normal(size=6) * 0.1, source, source + 0.1 * rng.normal(size=(9, 3)), normals


def _barycentric():
    triangle = np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 1.1]])
    return _rng().random((4, 2)), triangle, np.array([1.0, 2.0, -1.0])


CASES = [
    (polygon_area, lambda: (_star(),), 0),
    (polygon_centroid, lambda: (_star(),), 0),
    (rotated_points, lambda: (np.array([0.3, -0.5, 0.8]), _rng().normal(size=(6, 3))), 0),
    (procrustes_distance, lambda: tuple(_rng().normal(size=(2, 6, 3))), 0),
    (quat_rotate, lambda: (np.array([0.9, 0.1, -0.3, 0.2]), _rng().normal(size=(3, 3))), 0),
    (slerp, lambda: (np.array([1.0, 0.2, 0.1, 0.0]), np.array([0.3, 0.8, -0.2, 0.1])), 1),
    (reprojection_error, _bundle, 0),
    (mesh_area_and_volume, _tetrahedron, 0),
    (icp_residual, _registration, 0),
    (
        haversine,
        lambda: (np.array([[48.1, 11.6], [40.7, -74.0]]), np.array([[52.5, 13.4], [51.5, 0.1]])),
        0,
    ),
    (barycentric_interpolation, _barycentric, 1),
    (hermite_curve_length, lambda: (_rng().normal(size=(4, 2)),), 0),
    (fit_circle, lambda: (_star(9),), 0),
    (discrete_curvature_energy, lambda: (_star(8),), 0),
    (forward_kinematics, lambda: (np.array([0.4, -0.7, 0.9]),), 0),
]
