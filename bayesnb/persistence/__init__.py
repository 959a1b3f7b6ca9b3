"""A fitted estimator, or a shard of rows, as one file without code: nothing in it is ever run, and there is no pickle.

The file is a zip archive whose members are not compressed:

    model.json     the estimator, its parameters, classes, columns and blocks: everything but the arrays
                   (shard.json: a shard's classes, columns and blocks, and a note)
    arrays/N.npy   its arrays, in NumPy's format
    SHA256SUMS     checksums of both, as `sha256sum -c` reads them

The document says `format` and `version`, `[major, minor]`; a reader refuses a newer major one. What was observed
(`stats`), what was believed before (`prior`) and what the user asked for (`params`) are stored; the rest is derived.
`{"$array": N}` stands for an array, whose type and shape are `arrays[N]`; other names that begin with `$` are what
JSON has no word for: see `json_values`.

Reading trusts nothing. Members are as many as stated, each as long as its type and shape, none longer than the file;
records are made by the constructors that users call, which check their numbers; and stats and prior have to be such as
their family would make of their columns.

A file of n bytes is read, or refused by a ValueError, in memory and time of a constant plus so much for each byte: some
hundred megabytes and a second, plus a few dozen bytes and microseconds. One `Budget` pays for all that a few bytes can
ask for; what has been saved never comes near it.
"""

from bayesnb.persistence.budget import Unreadable
from bayesnb.persistence.document import Saved
from bayesnb.persistence.store import read, read_shard, reading_errors, shard_bytes, write, write_shard

__all__ = ["Saved", "Unreadable", "read", "read_shard", "reading_errors", "shard_bytes", "write", "write_shard"]
