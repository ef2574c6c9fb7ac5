"""Shards: many jobs share a run, each keeps its tallies in a file, the files are merged.

Inside ``keeping`` every call of ``simulate`` and ``simulate_grid`` counts this shard's
part and keeps it in the shard's file; inside ``merging`` every call is answered from the
files of all shards. What runs in between, an audit or a simulation of many calls, knows of
neither. A call is found again by its configuration, so calls may come in any order.

Example:
    >>> import tempfile, jaxsel
    >>> from jaxsel.shards import Shard, keeping, merging
    >>> built = jaxsel.mechanism("noisy_max")
    >>> files = [f"{tempfile.mkdtemp()}/{index}.nc" for index in range(2)]
    >>> for index, file in enumerate(files):
    ...     with keeping(Shard(index, 2), file):
    ...         stand_in = jaxsel.simulate(built, trials=1000)
    >>> with merging(files):
    ...     merged = jaxsel.simulate(built, trials=1000)
    >>> bool((merged.values == jaxsel.simulate(built, trials=1000).values).all())
    True
"""

from jaxsel.shards.assignment import Part, Shard, share
from jaxsel.shards.environment import from_environment, read_shard
from jaxsel.shards.files import Command, ShardFile
from jaxsel.shards.keep import keeping
from jaxsel.shards.merge import merging

__all__ = [
    "Command",
    "Part",
    "Shard",
    "ShardFile",
    "from_environment",
    "keeping",
    "merging",
    "read_shard",
    "share",
]
