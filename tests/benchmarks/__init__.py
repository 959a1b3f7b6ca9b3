"""Side by side with scikit-learn, in one process: `uv run python -m tests.benchmarks --help`."""
