"""Private top-k sets of a histogram, and labels by votes of teachers (PATE)."""
