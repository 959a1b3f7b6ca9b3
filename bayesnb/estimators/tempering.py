"""What the parameter `temper` may be."""

from numbers import Real
from typing import Any

import numpy as np

COLUMNS = "columns"
LOO = "loo"
AUTO = "auto"
NONE = "none"


def check_temper(temper: Any) -> None:
    """Raise unless this is an exponent, or a way to find exponents."""
    known = temper is None or (isinstance(temper, str) and temper in (COLUMNS, LOO, AUTO, NONE))
    if not (known or (isinstance(temper, Real) and 0 < float(temper) < np.inf)):
        raise ValueError(
            "temper must be 'auto', 'columns', 'loo', 'none', None or a positive number, got "
            f"{temper!r}."
        )
