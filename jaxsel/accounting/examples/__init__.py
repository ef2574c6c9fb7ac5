"""Examples and lower bounds of Liu & Talwar 2019, Appendices B to D.

``decreasing_thresholds`` (Algorithm 6), ``amplification``, ``packing``.
"""
