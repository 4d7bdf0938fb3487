"""Counters, samples, windows and signals, and RocksDB's own statistics.

Pure, except for the `CounterReader` that provides the counters.
"""
