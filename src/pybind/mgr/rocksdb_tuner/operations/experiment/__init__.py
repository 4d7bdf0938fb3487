"""Experiments: several option strings on OSDs of one group at once, compared, then undone.

`machine` decides, without I/O. Every change of OSDs is a leg: a rollout that `operations.rollout`
decides on, which is never promoted; see `records`.
"""
