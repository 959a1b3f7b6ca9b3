"""A fitted estimator, or a shard of rows, as one file without code and without pickle.

The file is a zip archive whose members are not compressed:

    model.json     the estimator, its parameters, classes, columns and blocks
                   (shard.json: a shard's classes, columns and blocks, and a note)
    arrays/N.npy   the arrays of these, in NumPy's format

The file stores the `stats`, the `prior` and the user's `params`; the rest is derived. `codec`
defines how values are written.

Reading trusts nothing and runs no code. The members together are no longer than the file, each
array is as long as its type and shape say, and the total unpacked size is limited. Records are made
by the public constructors, which check their numbers, and stats and prior must be those that their
family would make for their columns.
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
