"""The distribution of p(y | x, theta): intervals, entropies, draws, explanations, decisions."""
