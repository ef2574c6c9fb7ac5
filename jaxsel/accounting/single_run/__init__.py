"""The privacy of one run of any algorithm: curves, conversions, divergences, pairs of laws."""
