"""Statements of what is proved about a search, to paste into a paper."""
