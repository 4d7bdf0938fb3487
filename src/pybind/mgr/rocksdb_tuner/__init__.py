"""Watch, explain and safely change how BlueStore OSDs use RocksDB."""
