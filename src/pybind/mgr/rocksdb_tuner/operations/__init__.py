"""What operations have in common, and a package per kind: `rollout` and `compaction`."""
