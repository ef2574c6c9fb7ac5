"""Data sets that simulations run on: found on disk or downloaded, always checked."""

from jaxsel.data.celeba import FaceAttributes, load_celeba
from jaxsel.data.covid import CaseCounts, load_covid
from jaxsel.data.histograms import (
    Histogram,
    load_check_ins,
    two_level_histogram,
    zipf_histogram,
)
from jaxsel.data.regression import REGRESSION_SETS, RegressionData, load_regression
from jaxsel.data.teachers import TeacherVotes, load_votes, simulated_votes

__all__ = [
    "REGRESSION_SETS",
    "CaseCounts",
    "FaceAttributes",
    "Histogram",
    "RegressionData",
    "TeacherVotes",
    "load_celeba",
    "load_check_ins",
    "load_covid",
    "load_regression",
    "load_votes",
    "simulated_votes",
    "two_level_histogram",
    "zipf_histogram",
]
