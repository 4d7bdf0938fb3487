"""Builds the operators' manual: doc/mgr/rocksdb_tuner, with references made from the module."""
