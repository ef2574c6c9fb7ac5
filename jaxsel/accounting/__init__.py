"""Privacy accounting of one run, in float64 on the host: what holds of any algorithm.

``single_run``: base guarantees (``curves``), Renyi curves and conversions, privacy profiles,
exact divergences, dominating pairs, trade-offs, constructed pairs and rankings; ``numerics``:
quadrature, minimisation, hulls. What tuning costs is in ``jaxsel.families.tuning``; what
belongs to another kind of mechanism is in its family.
"""
