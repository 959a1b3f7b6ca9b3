"""PyMC, where it is installed, and what the formulas need of it."""

from types import SimpleNamespace
from typing import Any


def pymc() -> Any:
    """The package; an error that says how to get it."""
    try:
        import pymc
    except ImportError:
        raise ImportError('bayesnb.mcmc needs PyMC, which is not installed: pip install "bayesnb[mcmc]"') from None
    return pymc


def tensors() -> SimpleNamespace:
    """What `special` and NumPy are to arrays, of PyMC's variables."""
    math = pymc().math
    return SimpleNamespace(
        log=math.log,
        log1p=math.log1p,
        where=math.where,
        ratio=lambda part, whole: part / whole,
        log_gamma_ratio=lambda a, s: math.gammaln(a + s) - math.gammaln(a),
    )
