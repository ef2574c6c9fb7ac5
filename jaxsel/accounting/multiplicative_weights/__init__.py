"""Private multiplicative weights, and adaptive data analysis with them.

``settings`` (Cohen et al. 2022, Theorems 9 and 11, with constants), ``updates`` (how many
there can be), ``laws``, ``sample_complexity`` (the displays of Theorems 9 to 12).
"""
