"""RocksDB statistics of one OSD on request, with the options they need set temporarily."""
