"""Data sets that simulations run on: found on disk or downloaded, always checked."""

from jaxsel.data.regression import REGRESSION_SETS, RegressionData, load_regression

__all__ = ["REGRESSION_SETS", "RegressionData", "load_regression"]
