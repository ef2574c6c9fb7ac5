"""What the operating system gives to bounds is a seed's while they are tested."""

import numpy as np
import pytest

from jaxsel.auditing import audit_bounds


@pytest.fixture(autouse=True)
def _entropy_of_a_seed(monkeypatch, request):
    """Another one for each test, and the same whenever it runs."""
    generator = np.random.default_rng(list(request.node.nodeid.encode()))
    monkeypatch.setattr(
        audit_bounds.secrets, "randbits", lambda bits: int(generator.integers(2**bits))
    )
