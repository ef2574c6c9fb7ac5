"""The run of joined processes in ``test_hosts``: apart, for they import nothing of tests."""

import numpy as np

CELLS = [(np.eye(3)[i], {"epsilon": 1.0}) for i in range(2)]
GRID = {"trials": 30_001, "seed": 3, "first_trial": 5}
