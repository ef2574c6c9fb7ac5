"""The choosing mechanism, and stable selection: scores of small total sensitivity."""
