"""Names of compressions, as in option strings (rocksdb/convenience.h)."""

NO_COMPRESSION = 'kNoCompression'
LZ4 = 'kLZ4Compression'
