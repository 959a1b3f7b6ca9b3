"""Tables larger than one machine's memory: parts are counted, and counts are put together.

Arrays and dataframes of Dask need no function of their own: ``fit``, ``partial_fit`` and ``score``
take them, and go through their partitions once, on whatever scheduler or ``distributed.Client`` is
in use. ``predict``, ``predict_proba``, ``predict_log_proba`` and ``predict_joint_log_proba`` return
lazy arrays of Dask.

>>> import dask.array as da
>>> from bayesnb import GaussianNB
>>> x = da.random.default_rng(0).normal(size=(1000, 2), chunks=(300, 2))
>>> model = GaussianNB().fit(x, x[:, 0] > 0)
>>> model.predict_proba(x).chunks
((300, 300, 300, 100), (2,))
>>> round(model.score(x, x[:, 0] > 0), 2)
0.99

The result does not depend on the workers: sums are taken in the order of the partitions, so a
worker that is lost on the way does not change a digit. X, y and sample_weight must have the same
partitions. Where their lengths are known, as for arrays, y and sample_weight are cut as X is, and
may be in memory. Labels and levels may differ from partition to partition: they are united by name,
and sorted.

Families that are not declared, and the cuts of a ``Histogram``, come from the first partition, or
from the first rows of the first file. Shards that are counted separately need them declared.

Exponents that are found by rows, as those of ``NaiveBayes()`` and of ``temper="columns"`` or
``"loo"``, are found by rows that are kept on the way, at most 10,000: all, or a part spread over
the whole table, each of them left out exactly of all that was learnt. Under ``partial_fit`` the new
rows that are kept start from what was known of the exponents. Shards do not hold rows unless they
are counted with ``keep_rows=True``.

Warnings are given where a partition is read, so those of another process are in its log. Where a
level that training never saw must not pass unnoticed, use ``Categorical(unseen="error")``, which is
an error here too.
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
