"""Tables past one machine's memory: parts are counted where they are, and only what they say is brought together."""

from bayesnb.scale.parts import fit_shards, shard
from bayesnb.shards import Shard

__all__ = ["Shard", "fit_shards", "shard"]
