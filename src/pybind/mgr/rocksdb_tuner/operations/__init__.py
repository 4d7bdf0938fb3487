"""Code shared by all operations, and one package for each kind: `rollout` and `compaction`."""
