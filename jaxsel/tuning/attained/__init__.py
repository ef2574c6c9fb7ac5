"""The exact privacy of a search in its worst case: what no bound can be below."""
