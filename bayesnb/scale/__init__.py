"""Tables larger than memory: parts are counted, and the counts are added.

Dask arrays and dataframes need no extra functions: ``fit``, ``partial_fit`` and ``score`` accept
them, and read their partitions once, on the scheduler or ``distributed.Client`` in use.
``predict``, ``predict_proba``, ``predict_log_proba`` and ``predict_joint_log_proba`` return lazy
Dask arrays.

>>> import dask.array as da
>>> from bayesnb import GaussianNB
>>> x = da.random.default_rng(0).normal(size=(1000, 2), chunks=(300, 2))
>>> model = GaussianNB().fit(x, x[:, 0] > 0)
>>> model.predict_proba(x).chunks
((300, 300, 300, 100), (2,))
>>> round(model.score(x, x[:, 0] > 0), 2)
0.99

Results do not depend on the workers: sums are taken in the order of the partitions, so losing a
worker does not change a digit. X, y and sample_weight must have the same partitions. If their
lengths are known, as for arrays, y and sample_weight are split like X, and may be in memory. Labels
and levels may differ between partitions: they are matched by name, and sorted.

Families that are not declared, and the cuts of a ``Histogram``, come from the first partition, or
from the first rows of the first file. Shards that are counted separately need them declared.

Exponents that are estimated from rows, as in ``NaiveBayes()`` and with ``temper="columns"`` or
``"loo"``, use a sample of at most 10,000 rows from the whole table, each left out exactly. In
``partial_fit`` the new sample starts from the earlier estimates. Shards contain no rows unless they
are counted with ``keep_rows=True``.

Warnings are given where a partition is read, so those of another process are in its log. If unseen
levels must not go unnoticed, use ``Categorical(unseen="error")``, which raises here too.
"""

from bayesnb.data import Reading
from bayesnb.model.shards import Shard
from bayesnb.numerics.compilation import always_compile
from bayesnb.scale.files import fit_files, predict_files
from bayesnb.scale.shards import dumps, fit_shards, loads, shard

__all__ = [
    "Reading",
    "Shard",
    "always_compile",
    "dumps",
    "fit_files",
    "fit_shards",
    "loads",
    "predict_files",
    "shard",
]
