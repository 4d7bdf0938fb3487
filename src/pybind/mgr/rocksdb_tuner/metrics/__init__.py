"""Metrics for Prometheus: series of a snapshot, their text, and the endpoint that serves it."""
