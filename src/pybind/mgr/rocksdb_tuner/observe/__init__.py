"""Counters to samples to windows to signals, and RocksDB's own statistics.

Pure but for the `CounterReader` that hands it counters.
"""
