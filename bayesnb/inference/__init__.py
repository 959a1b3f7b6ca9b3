"""The law of p(y | x, theta), and what follows from it: intervals, entropies, explanations, decisions."""
