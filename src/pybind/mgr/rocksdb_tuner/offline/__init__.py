"""The same judgement outside the cluster, for whoever has only files: a program of its own.

    python3 -m rocksdb_tuner.offline FOLDER

Nothing of the module imports it, and it needs no Ceph.
"""
