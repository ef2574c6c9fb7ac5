"""The mechanisms: one folder a family, with what runs, exact laws, claims and entries."""
