"""Priors: the die of the classes as users say it, and the priors under which the data are most probable."""

from bayesnb.priors.classes import ClassDie, class_die

__all__ = ["ClassDie", "class_die"]
