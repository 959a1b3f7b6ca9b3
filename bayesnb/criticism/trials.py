"""What priors are tried on: an estimator that has learnt some rows, and how its model starts from other priors."""

from collections.abc import Sequence
from dataclasses import replace

from bayesnb.criticism.trial import Trial
from bayesnb.families.family import Family
from bayesnb.model.product import Model
from bayesnb.numerics.views import read
from bayesnb.selection.settings import Trials


def trials_of(trial: Trial) -> Trials:
    """On rows of some weight, which are all that were learnt.

    The class prior and the exponent stay; every other prior is made of families.
    """
    estimator, learnt = trial.estimator, trial.model
    schema = estimator.schema_

    def start(families: Sequence[Family]) -> Model:
        pairs = zip(schema.blocks, families, strict=True)
        own = replace(schema, blocks=tuple(replace(block, family=family) for block, family in pairs))
        return own.start(lambda stats: learnt.prior.classes, learnt.stats)

    families, widths = [block.family for block in schema.blocks], [len(block.keys) for block in schema.blocks]
    rows = trial.rows.where(trial.rows.counts > 0)
    rows = replace(rows, cells=[read(x) for x in rows.cells])
    return Trials(start, families, widths, learnt, rows, estimator.temper_, estimator.n_jobs)
