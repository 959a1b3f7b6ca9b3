"""How the prior of a block of Gaussians is said, and what it is where nothing is said."""

from typing import Any

import numpy as np

from bayesnb.families.record import FARTHEST, Array, checked
from bayesnb.families.vectors import VectorStats
from bayesnb.families.whitening import diagonal, factor, outer
from bayesnb.numerics.special import ratio

SYMMETRIC = 1e-12  # how far two entries of a matrix may be apart, as a part of the geometric mean of their variances
NEAR = 2.0  # spacings of a float
NAME = "NormalInverseWishart"
MOST_SETTLED = 1e12  # rows about a variance for each about its mean


def checked_fields(mean: Any, count: Any, dof: Any, scale: Any) -> tuple[Array, Array, Array, Array]:
    """What a user gives, checked; an identity is spelled out where the number of columns is known."""
    location, scale = checked(f"{NAME}: mean", mean, -FARTHEST, FARTHEST), checked(f"{NAME}: scale", scale, -np.inf)
    count, dof = checked(f"{NAME}: count", count), checked(f"{NAME}: dof", dof)
    width = scale.shape[-1] if scale.ndim else location.shape[-1] if location.ndim else None
    if scale.ndim == 0 and width is not None:
        scale = scale * np.eye(width)
    if width is not None and location.ndim == 0:
        location = np.full(width, location)
    _check_shapes(location, scale)
    _check_scale(scale)
    least = 0 if width is None else width - 1
    if (dof <= least).any():
        raise ValueError(f"{NAME}: dof must be above the number of columns less one, {least}, got {dof.min():g}.")
    return location, count, dof, scale


def _check_shapes(location: Array, scale: Array) -> None:
    if scale.ndim == 0:
        return
    if scale.ndim == 1 or scale.shape[-1] != scale.shape[-2] or location.shape[-1] != scale.shape[-1]:
        raise ValueError(
            f"{NAME}: scale must be a number, or one symmetric matrix of as many rows and columns as the block has "
            f"columns, got the shape {scale.shape} with a mean of the shape {location.shape}."
        )


def _check_scale(scale: Array) -> None:
    matrices = scale[..., None, None] if scale.ndim == 0 else scale
    unit = np.sqrt(np.maximum(diagonal(matrices), 0.0))
    lopsided = np.abs(matrices - matrices.swapaxes(-1, -2)) > SYMMETRIC * outer(unit)
    if lopsided.any() or np.isnan(factor(matrices)).any():
        raise ValueError(
            f"{NAME}: scale must be symmetric and positive definite, got {scale.tolist()}. "
            "A sum of squares and products of rows is, if no column is a sum of others."
        )


def shaped(fields: tuple[Array, ...], classes: int, width: int) -> tuple[Array, ...]:
    """A prior's arrays with the axes of a block, or an error that says which they lack."""
    location, count, dof, scale = fields
    try:
        if scale.ndim == 0:
            scale = scale * np.eye(width)
        location, scale = (a[:, None] if a.ndim == n else a for a, n in ((location, 2), (scale, 3)))
        count, dof = (a[:, None] if a.ndim == 1 else a for a in (count, dof))
        shapes = (classes, 1, width), (classes, 1), (classes, 1), (classes, 1, width, width)
        pairs = zip((location, count, dof, scale), shapes, strict=True)
        fitted = tuple(np.broadcast_to(np.array(array), shape) for array, shape in pairs)
    except ValueError:
        raise ValueError(
            f"MultivariateGaussian: a prior with mean, count, dof and scale of the shapes "
            f"{', '.join(str(np.shape(field)) for field in fields)} does not fit {classes} classes and a block of "
            f"{width} columns. Give numbers, or as many as there are columns."
        ) from None
    if (fitted[2] < width - 1).any():
        raise ValueError(
            f"MultivariateGaussian: dof must be above {width - 1} for a block of {width} columns, "
            f"got {fitted[2].min():g}."
        )
    return fitted


def weak_prior(pooled: VectorStats) -> tuple[Array, Array, Array, Array]:
    """Worth a hundredth of a row about the mean; of each column by itself, two rows about the variance."""
    covariance, width = ratio(pooled.scatter, pooled.count), len(pooled.mean)
    variance = diagonal(covariance)
    near = NEAR * np.spacing(np.abs(pooled.mean))
    constant = np.sqrt(variance) <= near  # its classes' means differ by rounding at most
    covariance = np.where(constant[:, None] | constant, 0.0, covariance) + np.diag(np.where(constant, 1.0, 0.0))
    root = factor(covariance)
    if not (diagonal(root) > np.where(constant, 0.0, near)).all():  # what is left of a column beside those before it
        covariance = np.diag(diagonal(covariance))
    return pooled.mean, np.asarray(0.01), np.asarray(width + 1.0), 2 * covariance


def strengthened(fields: tuple[Array, ...], times: Any, scale: float, width: int) -> tuple[Array, ...]:
    """A prior worth so many times as many rows, which expects `scale` times the variance.

    A column's own variance is inverse Gamma with half of dof - d + 1 as its shape: that is what is multiplied.
    """
    location, count, dof, matrix_scale = fields
    matrix_scale = matrix_scale if matrix_scale.ndim else matrix_scale * np.eye(width)
    times = np.asarray(times, float)
    times = times.reshape(()) if times.size == 1 else times.reshape(len(times), -1)[:, 0]
    matrix = times[:, None, None] if times.ndim else times
    return location, times * count, width - 1 + times * (dof - width + 1), matrix * scale * matrix_scale


def refuse_settled(prior: str, name: str, about_variance: Array, count: Array) -> None:
    """Raise for a prior that settles the variance so much that no digit of a score's distribution is left.

    Its cumulants are differences of shape * (1 / count + u) and shape / count, whose digits cancel.
    """
    if (about_variance / np.maximum(count, 1.0) > MOST_SETTLED).any():
        raise ValueError(
            f"{prior}: {name} can be at most 1e12 times the count, or 1e12 where that is below 1, got "
            f"{np.max(about_variance):g}: beyond that a score has no digit left. Give a smaller {name}; 1e9 already "
            "holds a variance to four digits and more."
        )
