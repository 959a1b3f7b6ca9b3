"""Tables past one machine's memory: parts are counted where they are, and only what they say is brought together."""

from bayesnb.scale.parts import dumps, fit_shards, loads, shard
from bayesnb.shards import Shard

__all__ = ["Shard", "dumps", "fit_shards", "loads", "shard"]
