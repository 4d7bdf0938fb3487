"""Compaction campaigns: compact OSDs one by one so that options take effect in existing files."""
