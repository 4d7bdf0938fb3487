"""Compacting OSDs one after the other, so that what is old gets options that only new files have.

`machine` decides (pure), `driver` does what it decided, `offer` says when it is worth it.
"""
