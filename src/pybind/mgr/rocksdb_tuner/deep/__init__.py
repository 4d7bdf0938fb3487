"""Looking at the RocksDB of one OSD on request, with what must be switched on for it."""
