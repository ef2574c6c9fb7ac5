"""Gauss-Legendre quadrature on panels, for integrands with known kinks."""

import numpy as np
import numpy.typing as npt

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def drawn_together(points: npt.ArrayLike, reach: float) -> np.ndarray:
    """The points, moved so that no two neighbours are more than ``reach`` apart.

    For integrands that vanish far from all points, where panels would be wasted.
    """
    points = np.asarray(points, dtype=np.float64)
    values, place = np.unique(points, return_inverse=True)
    steps = np.minimum(np.diff(values), reach)
    return np.append(0.0, np.cumsum(steps))[place]


def panels(edges: npt.ArrayLike, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights, 16 on each panel.

    Args:
      edges: points where the integrand may have a kink, the ends included.
      width: widest panel; the integrand must be smooth on that scale.
    """
    edges = np.unique(np.asarray(edges, dtype=np.float64))
    pieces = np.maximum(np.ceil(np.diff(edges) / width), 1).astype(int)
    cuts = [
        np.linspace(low, high, count + 1)[:-1]
        for low, high, count in zip(edges[:-1], edges[1:], pieces, strict=True)
    ]
    cuts = np.concatenate([*cuts, edges[-1:]])
    middle, half = (cuts[1:] + cuts[:-1]) / 2.0, np.diff(cuts) / 2.0
    nodes = middle[:, None] + half[:, None] * _NODES
    return nodes.ravel(), (half[:, None] * _WEIGHTS).ravel()
