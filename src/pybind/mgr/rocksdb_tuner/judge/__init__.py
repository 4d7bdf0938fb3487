"""What decides a verdict: evidence, statistics, and how long is measured."""
