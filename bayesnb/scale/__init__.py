"""Tables past one machine's memory: parts are counted where they are, and only what they say is brought together."""

from bayesnb.scale.files import fit_files
from bayesnb.scale.parts import dumps, fit_shards, loads, shard
from bayesnb.scale.predicting import predict_files
from bayesnb.shards import Shard
from bayesnb.table import Reading

__all__ = ["Reading", "Shard", "dumps", "fit_files", "fit_shards", "loads", "predict_files", "shard"]
