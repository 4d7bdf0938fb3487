"""Rollouts: apply one recommendation to a live cluster, and roll it back.

`machine` decides (pure), `driver` executes, `storage` preserves the state over a mgr failover.
"""
