"""Pictures of results: the house style, sweeps as figures and as text in a terminal.

Nothing is drawn, and Matplotlib is not loaded, before a picture is asked for.
"""
