"""Percentile sparse vectors (Liu & Talwar 2019, Section 4), and runs better than the median."""
