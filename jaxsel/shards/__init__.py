"""Splits a run among many jobs (shards), each with a file of tallies, and merges the files.

Inside ``keeping`` every call of ``simulate`` and ``simulate_grid`` runs this shard's part
of the trials and saves it in the shard's file; inside ``merging`` every call returns its
result from the files of all shards. The code inside the block, such as an audit or a
simulation of many calls, needs no change. Calls are identified by their configuration, so
they may come in any order.

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

from jaxsel.shards.assignment import Part as Part
from jaxsel.shards.assignment import Shard
from jaxsel.shards.assignment import share as share
from jaxsel.shards.environment import from_environment as from_environment
from jaxsel.shards.environment import read_shard as read_shard
from jaxsel.shards.files import Command as Command
from jaxsel.shards.files import ShardFile as ShardFile
from jaxsel.shards.keep import keeping
from jaxsel.shards.merge import merging

__all__ = ["Shard", "keeping", "merging"]
