"""Privacy accounting that holds for any algorithm, in float64 on the host.

``single_run``: base guarantees (``curves``), Renyi curves and conversions, privacy
profiles, exact divergences, dominating pairs, trade-offs, constructed pairs and rankings;
``numerics``: quadrature, minimisation, hulls. The cost of tuning is in
``jaxsel.tuning``; what is specific to another mechanism is in its family.
"""
