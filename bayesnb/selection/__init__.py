"""Model selection on arrays: leave-one-out, k-fold, scores, exponents, hyperparameters,
evidence.
"""
