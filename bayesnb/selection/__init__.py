"""Choosing between models, on arrays: leave-one-out, folds, scores, exponents, priors' settings,
evidence.
"""
