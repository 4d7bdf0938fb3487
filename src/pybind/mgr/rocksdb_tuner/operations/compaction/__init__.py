"""Compaction campaigns: compact OSDs one by one so that options take effect in existing files.

`machine` decides (pure), `driver` executes, `offer` recommends a campaign where it pays off.
"""
