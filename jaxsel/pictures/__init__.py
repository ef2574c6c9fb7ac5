"""Figures of results: a shared style, sweeps as figures and as text in a terminal.

Matplotlib is loaded when the first figure is drawn.
"""
