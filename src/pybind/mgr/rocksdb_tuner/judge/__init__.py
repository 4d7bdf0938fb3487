"""Verdicts on changes and experiments: evidence, statistics and soak times."""
