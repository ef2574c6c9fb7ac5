"""Every mechanism's program lowers for TPU and GPU, on a machine that has neither."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from jaxsel.catalogue import mechanisms
from jaxsel.kernel import engine
from jaxsel.kernel.statistics import counts
from jaxsel.language.base import Mechanism

PLATFORMS = ("tpu", "cuda")


def lowered(mechanism: Mechanism, data, params) -> export.Exported:
    """The engine's whole step, for both platforms at once."""
    with jax.enable_x64(True):
        (prepared,) = engine._checked([mechanism.prepare(data, params)])
        tally = counts(mechanism.event, len(mechanism.labels(data, params)))
        plan = engine._plan(engine.Performance(1024, 1, tuple(jax.devices()[:1])))
        step = engine._compile(mechanism, tally, plan.block_size, plan.mesh)
        ends = np.zeros(1, np.int64), np.full(1, 1000, np.int64)
        words = (np.uint32(0),) * 3
        return export.export(step, platforms=PLATFORMS)(words, prepared, *ends)


@pytest.mark.parametrize("entry", mechanisms(), ids=lambda entry: entry.name)
def test_lowers_for_accelerators(entry):
    built = entry.build({})
    assert lowered(*built[:3]).platforms == PLATFORMS


def test_what_runs_on_the_host_alone_is_seen():
    built = mechanisms()[0].build({})

    def host_only(key, data, params):
        values = jnp.full((2, 2), key.lane.astype(jnp.float32))
        eigenvalues = jnp.linalg.eigvals(values)
        return (eigenvalues[0].real > 0).astype(jnp.int32)

    wrong = built.mechanism._replace(sample=host_only, event=lambda outcome: outcome)
    with pytest.raises(NotImplementedError, match="eig"):
        lowered(wrong, built.data, built.params)
