// CPU of RocksDB's background threads for what BlueStore writes: flushes, compactions, compression.
//
//   apt-get install g++ librocksdb-dev
//   g++ -O2 -std=c++17 cpu_cost.cc -lrocksdb -o cpu_cost
//   cpu_cost DIR OPTIONS MIX OBJECTS MIB RANDOM SEED
//
// OPTIONS as in bluestore_rocksdb_options, less what RocksDB does not know, with ";". MIX is "rbd"
// (an onode, a shard of its extent map, a PG log entry and the removal of an old one for each write)
// or "omap" (25 new keys for each write, each written again with the next). MIB: how much goes to
// the WAL. RANDOM: the part of a value that nothing compresses. Prints totals as JSON: CPU seconds of
// the writing thread, of flushes and of compactions, and bytes and keys that each took and made.

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>
#include <vector>

using namespace rocksdb;

// Of this thread alone: what others on the machine do moves it far less than wall time.
static double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

// Raw: keys and values, uncompressed. File: as it lies on the device.
struct Amount {
  uint64_t raw = 0, file = 0, keys = 0;
  void Add(const TableProperties& p) {
    raw += p.raw_key_size + p.raw_value_size;
    file += p.data_size + p.index_size + p.filter_size;
    keys += p.num_entries;
  }
  void Print(const char* name) const {
    printf("\"%s\": {\"raw_bytes\": %llu, \"file_bytes\": %llu, \"keys\": %llu}", name,
           (unsigned long long)raw, (unsigned long long)file, (unsigned long long)keys);
  }
};

// A job begins and ends in one thread, which does nothing else meanwhile.
class Meter : public EventListener {
 public:
  void OnFlushBegin(DB*, const FlushJobInfo&) override { begin_s_ = CpuSeconds(); }
  void OnFlushCompleted(DB*, const FlushJobInfo& info) override {
    std::lock_guard<std::mutex> held(lock_);
    flush_s_ += CpuSeconds() - begin_s_;
    flushed_.Add(info.table_properties);
  }
  void OnCompactionBegin(DB*, const CompactionJobInfo&) override { begin_s_ = CpuSeconds(); }
  void OnCompactionCompleted(DB*, const CompactionJobInfo& info) override {
    // One that was cut off at the end has written what nobody counts.
    if (!info.status.ok()) return;
    std::lock_guard<std::mutex> held(lock_);
    compaction_s_ += CpuSeconds() - begin_s_;
    for (auto& name : info.input_files) Note(info, name, &read_);
    for (auto& name : info.output_files) Note(info, name, &written_);
  }
  void Print() {
    std::lock_guard<std::mutex> held(lock_);
    printf("\"flushes\": {\"cpu_s\": %.4f, ", flush_s_);
    flushed_.Print("written");
    printf("}, \"compactions\": {\"cpu_s\": %.4f, ", compaction_s_);
    read_.Print("read");
    printf(", ");
    written_.Print("written");
    printf("}");
  }

 private:
  static void Note(const CompactionJobInfo& info, const std::string& name, Amount* amount) {
    auto found = info.table_properties.find(name);
    if (found != info.table_properties.end()) amount->Add(*found->second);
  }
  static thread_local double begin_s_;
  std::mutex lock_;
  double flush_s_ = 0, compaction_s_ = 0;
  Amount flushed_, read_, written_;
};

thread_local double Meter::begin_s_ = 0;

static void Check(const Status& s, const char* what) {
  if (!s.ok()) {
    fprintf(stderr, "%s: %s\n", what, s.ToString().c_str());
    exit(1);
  }
}

// Runs of random bytes between runs that occur again and again, as in BlueStore's structures.
static std::string Material(std::mt19937_64& rng, double random) {
  std::string common(512, 0), made;
  for (auto& c : common) c = (char)rng();
  const size_t kept = 24, repeated = (size_t)(kept * (1 - random) / random);
  while (made.size() < 8 << 20) {
    for (size_t i = 0; i < kept; i++) made += (char)rng();
    if (repeated) made += common.substr(rng() % (common.size() - repeated), repeated);
  }
  return made;
}

int main(int argc, char** argv) {
  if (argc != 8) {
    fprintf(stderr, "7 arguments\n");
    return 2;
  }
  const std::string dir = argv[1], text = argv[2], mix = argv[3];
  const uint64_t objects = strtoull(argv[4], nullptr, 10);
  const uint64_t bytes = strtoull(argv[5], nullptr, 10) << 20;
  std::mt19937_64 rng(strtoull(argv[7], nullptr, 10));
  const std::string material = Material(rng, strtod(argv[6], nullptr));

  Options base, options;
  // As RocksDBStore::load_rocksdb_options() has it by default.
  BlockBasedTableOptions table;
  table.block_size = 4096;
  table.filter_policy.reset(NewBloomFilterPolicy(10));
  table.cache_index_and_filter_blocks = true;
  base.table_factory.reset(NewBlockBasedTableFactory(table));
  Check(GetOptionsFromString(base, text, &options), "options");
  options.create_if_missing = options.create_missing_column_families = true;
  auto meter = std::make_shared<Meter>();
  options.listeners.push_back(meter);
  std::vector<ColumnFamilyDescriptor> families = {
      {"default", options}, {"O", options}, {"P", options}, {"p", options}};
  std::vector<ColumnFamilyHandle*> handles;
  DB* db = nullptr;
  Check(DB::Open(options, dir, families, &handles, &db), "open");

  auto value = [&](size_t size) { return Slice(material.data() + rng() % (material.size() - size), size); };
  char key[160];
  const uint64_t log = 20000, pgs = 32, shards = 10;
  std::vector<uint64_t> groups(log), last(objects, UINT64_MAX);
  WriteOptions write;
  uint64_t wal_bytes = 0, keys = 0, writes = 0;
  double write_s = 0;
  for (; wal_bytes < bytes; writes++) {
    WriteBatch batch;
    const uint64_t object = rng() % objects, pg = object % pgs;
    // Objects are ordered by the hash of their names.
    const uint64_t hash = object * 0x9E3779B97F4A7C15ull;
    int length = snprintf(key, sizeof key, "%016llx!rbd_data.10226b8b4567.%016llx!=fffffffffffffffeo",
                          (unsigned long long)hash, (unsigned long long)object);
    if (mix == "rbd") {
      Check(batch.Put(handles[1], Slice(key, length), value(650)), "put");
      length += snprintf(key + length, sizeof key - length, "%08llx", (unsigned long long)(rng() % shards));
      Check(batch.Put(handles[1], Slice(key, length), value(640)), "put");
    } else {
      Check(batch.Put(handles[1], Slice(key, length), value(330)), "put");
      for (const uint64_t from : {last[object], writes}) {
        if (from == UINT64_MAX) continue;
        for (uint64_t i = 0; i < 25; i++) {
          const uint64_t name = (from * 25 + i) * 0x9E3779B97F4A7C15ull;
          length = snprintf(key, sizeof key, "%016llx.%016llx%016llx%08llx", (unsigned long long)object,
                            (unsigned long long)name, (unsigned long long)~name, (unsigned long long)from);
          Check(batch.Put(handles[3], Slice(key, length), value(205)), "put");
        }
      }
      last[object] = writes;
    }
    length = snprintf(key, sizeof key, "%08llx%016llx.%020llu", (unsigned long long)pg, 0x1234ull,
                      (unsigned long long)writes);
    Check(batch.Put(handles[2], Slice(key, length), value(240)), "put");
    length = snprintf(key, sizeof key, "%08llx%016llx._fastinfo", (unsigned long long)pg, 0x1234ull);
    Check(batch.Put(handles[2], Slice(key, length), value(130)), "put");
    if (writes >= log) {
      length = snprintf(key, sizeof key, "%08llx%016llx.%020llu", (unsigned long long)groups[writes % log],
                        0x1234ull, (unsigned long long)(writes - log));
      Check(batch.Delete(handles[2], Slice(key, length)), "delete");
    }
    groups[writes % log] = pg;
    wal_bytes += batch.GetDataSize();
    keys += batch.Count();
    const double before_s = CpuSeconds();
    Check(db->Write(write, &batch), "write");
    write_s += CpuSeconds() - before_s;
  }
  // What is left in memtables was not paid for yet.
  FlushOptions flush;
  for (auto* handle : handles) Check(db->Flush(flush, handle), "flush");
  CancelAllBackgroundWork(db, true);
  printf("{\"wal_bytes\": %llu, \"keys\": %llu, \"writes\": %llu, \"write_cpu_s\": %.4f, ",
         (unsigned long long)wal_bytes, (unsigned long long)keys, (unsigned long long)writes, write_s);
  meter->Print();
  printf("}\n");
  for (auto* handle : handles) Check(db->DestroyColumnFamilyHandle(handle), "close");
  delete db;
  return 0;
}
