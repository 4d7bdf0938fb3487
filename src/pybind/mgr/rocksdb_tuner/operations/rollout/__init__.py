"""Carrying out one recommendation on a live cluster, and taking it back.

`machine` decides (pure), `driver` does what it decided, `storage` keeps it over a mgr failover.
"""
