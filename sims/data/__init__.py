"""Data sets that only experiments use, and the tables that are stored beside their code."""
