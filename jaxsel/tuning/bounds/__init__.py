"""The theorems on searches, each with its range, its words and its check (``search_bounds``)."""
