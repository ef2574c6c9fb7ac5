"""Runs the simulations behind the figures, and keeps their records: ``python -m sims``.

Most experiments stand in the files of ``figures``. The files of this folder that define
``TRIALS`` hold the others, which figures import.
"""
