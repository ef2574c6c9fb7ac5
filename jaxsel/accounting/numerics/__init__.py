"""Numerical helpers: ``quadrature`` nodes, ``optimise`` in batches, convex ``hull``."""
