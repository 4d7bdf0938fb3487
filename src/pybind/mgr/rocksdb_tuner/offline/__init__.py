"""Offline evaluation of a cluster from collected files, as a standalone program.

    python3 -m rocksdb_tuner.offline FOLDER

The module does not import it, and it needs no Ceph.
"""
