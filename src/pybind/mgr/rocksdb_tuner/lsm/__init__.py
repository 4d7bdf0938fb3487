"""The model of BlueStore's RocksDB tree: memory, WAL, levels, stalls, amplification. Pure.

Each formula names its source: a function of RocksDB (read at v6.8.1 and v7.9.2, where both agree),
of BlueStore (16.2 to 20.2), or a publication.
"""
