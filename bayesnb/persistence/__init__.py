"""A fitted estimator, or a shard of rows, as one file without code and without pickle.

The file is a zip archive whose members are not compressed:

    model.json     the estimator, its parameters, classes, columns and blocks
                   (shard.json: a shard's classes, columns and blocks, and a note)
    arrays/N.npy   the arrays of these, in NumPy's format

What was observed (`stats`), what was believed before (`prior`) and what the user asked for
(`params`) are stored; the rest is derived. Values are written as `codec` says.

Reading trusts nothing, and runs nothing. Members are together no longer than the file, each array
as long as its type and shape, and all that is unpacked has one limit; records are made by the
constructors that users call, which check their numbers; and stats and prior have to be such as
their family would make of their columns.
"""

from bayesnb.persistence.codec import Saved
from bayesnb.persistence.file import (
    read,
    read_shard,
    reading_errors,
    shard_bytes,
    write,
    write_shard,
)

__all__ = ["Saved", "read", "read_shard", "reading_errors", "shard_bytes", "write", "write_shard"]
