"""Settings of the smoothing side by side, and the best: algebra on the stats, and one leave-one-out pass for each."""

from bayesnb.smoothing.search import best_by_loo
from bayesnb.smoothing.settings import ESTIMATES, Outcome, Setting, Trials

__all__ = ["ESTIMATES", "Outcome", "Setting", "Trials", "best_by_loo"]
