// The keys that BlueStore writes for random writes of an RBD image, given to RocksDB directly: a
// tree of full size within a minute, where an OSD needs an hour.
//
//   g++ -O2 -std=c++17 replay_writes.cc -lrocksdb -o replay_writes
//   replay_writes DIR OPTIONS OBJECTS SHARDS LOG WRITES SEED ONODE SHARD ENTRY INFO PGS
//
// OPTIONS as in bluestore_rocksdb_options, less what RocksDB does not know. Sizes are of values.
// Prints what flushes and compactions wrote, by column family, as JSON. Nothing is counted of the
// first half of the writes: the tree is to be in its steady state.

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/listener.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

using namespace rocksdb;

struct Written {
  uint64_t flushes = 0, flush_bytes = 0, compactions = 0, compaction_bytes = 0;
};

class Counter : public EventListener {
 public:
  void OnFlushCompleted(DB*, const FlushJobInfo& info) override {
    std::lock_guard<std::mutex> held(lock_);
    auto& w = by_family_[info.cf_name];
    w.flushes++;
    w.flush_bytes += info.table_properties.data_size + info.table_properties.index_size +
                     info.table_properties.filter_size;
  }
  void OnCompactionCompleted(DB*, const CompactionJobInfo& info) override {
    std::lock_guard<std::mutex> held(lock_);
    auto& w = by_family_[info.cf_name];
    w.compactions++;
    w.compaction_bytes += info.stats.total_output_bytes;
  }
  void Reset() {
    std::lock_guard<std::mutex> held(lock_);
    by_family_.clear();
  }
  void Print(uint64_t wal_bytes, uint64_t writes) {
    std::lock_guard<std::mutex> held(lock_);
    printf("{\"wal_bytes\": %llu, \"writes\": %llu, \"families\": {", (unsigned long long)wal_bytes,
           (unsigned long long)writes);
    const char* comma = "";
    for (auto& [name, w] : by_family_) {
      printf("%s\"%s\": {\"flushes\": %llu, \"flush_bytes\": %llu, \"compactions\": %llu, "
             "\"compaction_bytes\": %llu}",
             comma, name.c_str(), (unsigned long long)w.flushes, (unsigned long long)w.flush_bytes,
             (unsigned long long)w.compactions, (unsigned long long)w.compaction_bytes);
      comma = ", ";
    }
    printf("}}\n");
  }

 private:
  std::mutex lock_;
  std::map<std::string, Written> by_family_;
};

static void Check(const Status& s, const char* what) {
  if (!s.ok()) {
    fprintf(stderr, "%s: %s\n", what, s.ToString().c_str());
    exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc != 13) {
    fprintf(stderr, "12 arguments\n");
    return 2;
  }
  const std::string dir = argv[1], text = argv[2];
  const uint64_t objects = strtoull(argv[3], nullptr, 10), shards = strtoull(argv[4], nullptr, 10);
  const uint64_t log = strtoull(argv[5], nullptr, 10), writes = strtoull(argv[6], nullptr, 10);
  std::mt19937_64 rng(strtoull(argv[7], nullptr, 10));
  const size_t onode = strtoull(argv[8], nullptr, 10), shard = strtoull(argv[9], nullptr, 10);
  const size_t entry = strtoull(argv[10], nullptr, 10), info = strtoull(argv[11], nullptr, 10);
  const uint64_t pgs = strtoull(argv[12], nullptr, 10);

  Options base, options;
  Check(GetOptionsFromString(base, text, &options), "options");
  options.create_if_missing = options.create_missing_column_families = true;
  auto counter = std::make_shared<Counter>();
  options.listeners.push_back(counter);
  std::vector<ColumnFamilyDescriptor> families = {{"default", options}, {"O-0", options},
                                                  {"O-1", options},     {"O-2", options},
                                                  {"P", options},       {"L", options},
                                                  {"m-0", options},     {"m-1", options},
                                                  {"m-2", options},     {"p-0", options},
                                                  {"p-1", options},     {"p-2", options}};
  // What an OSD gives RocksDB.
  options.db_paths = {{dir + "/db", 1ull << 40}, {dir + "/slow", 1ull << 40}};
  std::vector<ColumnFamilyHandle*> handles;
  DB* db = nullptr;
  Check(DB::Open(options, dir, families, &handles, &db), "open");

  std::string noise(1 << 20, 0);
  for (auto& c : noise) c = (char)rng();
  auto value = [&](size_t size) { return Slice(noise.data() + rng() % (noise.size() - size), size); };
  char key[160];
  // Of the writes that the log holds, their placement groups.
  std::vector<uint32_t> groups(log);
  WriteOptions write;
  uint64_t wal_bytes = 0;
  for (uint64_t n = 0; n < writes; n++) {
    if (n == writes / 2) {
      counter->Reset();
      wal_bytes = 0;
    }
    WriteBatch batch;
    const uint64_t object = rng() % objects, part = rng() % shards, pg = object % pgs;
    // Objects are ordered by the hash of their names.
    const uint64_t hash = object * 0x9E3779B97F4A7C15ull;
    auto* family = handles[1 + object % 3];
    int length = snprintf(key, sizeof key, "%016llx!rbd_data.10226b8b4567.%016llx!=fffffffffffffffeo",
                          (unsigned long long)hash, (unsigned long long)object);
    Check(batch.Put(family, Slice(key, length), value(onode)), "put");
    length += snprintf(key + length, sizeof key - length, "%08llx", (unsigned long long)part);
    Check(batch.Put(family, Slice(key, length), value(shard)), "put");
    length = snprintf(key, sizeof key, "%08llx%016llx.%020llu", (unsigned long long)pg, 0x1234ull,
                      (unsigned long long)n);
    Check(batch.Put(handles[4], Slice(key, length), value(entry)), "put");
    length = snprintf(key, sizeof key, "%08llx%016llx._fastinfo", (unsigned long long)pg, 0x1234ull);
    Check(batch.Put(handles[4], Slice(key, length), value(info)), "put");
    if (n >= log) {
      length = snprintf(key, sizeof key, "%08llx%016llx.%020llu",
                        (unsigned long long)groups[n % log], 0x1234ull,
                        (unsigned long long)(n - log));
      Check(batch.Delete(handles[4], Slice(key, length)), "delete");
    }
    groups[n % log] = (uint32_t)pg;
    wal_bytes += batch.GetDataSize();
    Check(db->Write(write, &batch), "write");
  }
  counter->Print(wal_bytes, writes - writes / 2);
  for (auto* handle : handles) Check(db->DestroyColumnFamilyHandle(handle), "close");
  delete db;
  return 0;
}
