"""Statements about searches that are no bounds on them, and the cases of all checks."""
