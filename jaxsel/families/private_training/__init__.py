"""Exact laws and claims for ``jaxsel.training``: DP-SGD, searches of it, objective perturbation."""
