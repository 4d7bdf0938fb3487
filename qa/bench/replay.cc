// What BlueStore gives RocksDB, given to RocksDB alone: one database for each option set, side by side.
//
//   g++ -O2 -std=c++17 replay.cc -lrocksdb -o replay
//   replay DIR CFS KINDS MIB GETS NEXTS SPREAD NAME=OPTIONS...      (regret_replay.py)
//
// CFS as bluestore_rocksdb_cfs has it, OPTIONS as bluestore_rocksdb_options, less what RocksDB does
// not know. KINDS: of the keys in a batch, see replay_source.h. The batches are repeated until so many
// MiB went to the WAL; each time with objects and omaps of their own (SPREAD of them, 0: always new
// ones), and with the next entries of the PG logs, the last round's being trimmed. GETS for each batch,
// of keys that it is about to write, NEXTS of an iterator.
//
// All sets take the same some thousand keys in turn, so that what others on the machine do meets all
// alike; every fourth turn is one of four repetitions, whose scatter tells the error. The WAL is made
// but not kept. CPU times are of threads. Prints a line of JSON for each set.

#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/merge_operator.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>
#include <time.h>

#include <cstdio>
#include <mutex>
#include <chrono>
#include <random>
#include <sstream>
#include <thread>

#include "replay_source.h"

constexpr int kRepetitions = 4;
constexpr uint64_t kTurnKeys = 4000;
constexpr size_t kBatches = 20000;

static double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

// As BlueStore's of the free list; counts are rare.
class Xor : public AssociativeMergeOperator {
 public:
  const char* Name() const override { return "bitwise_xor"; }
  bool Merge(const Slice&, const Slice* old, const Slice& value, string* out, Logger*) const override {
    *out = value.ToString();
    for (size_t i = 0; old && i < std::min(old->size(), out->size()); i++) (*out)[i] ^= (*old)[i];
    return true;
  }
};

struct Job {
  uint64_t count = 0, bytes = 0;
  double cpu_s = 0;
};

class Meter : public EventListener {
 public:
  void OnFlushBegin(DB*, const FlushJobInfo&) override { begin_s_ = CpuSeconds(); }
  void OnFlushCompleted(DB*, const FlushJobInfo& info) override {
    const auto& p = info.table_properties;
    Add(&flushes_, p.data_size + p.index_size + p.filter_size);
  }
  void OnCompactionBegin(DB*, const CompactionJobInfo&) override { begin_s_ = CpuSeconds(); }
  void OnCompactionCompleted(DB*, const CompactionJobInfo& info) override {
    Add(&compactions_, info.stats.total_output_bytes);
  }
  Job flushes_, compactions_;

 private:
  void Add(Job* job, uint64_t bytes) {
    std::lock_guard<std::mutex> held(lock_);
    job->count++;
    job->bytes += bytes;
    job->cpu_s += CpuSeconds() - begin_s_;
  }
  static thread_local double begin_s_;
  std::mutex lock_;
};
thread_local double Meter::begin_s_ = 0;

// What all sets take before the next.
struct Turn {
  std::vector<WriteBatch> batches;
  std::vector<std::pair<uint32_t, string>> gets, seeks;
  uint64_t nexts = 0, keys = 0;
};

struct Set {
  string name;
  DB* db = nullptr;
  std::vector<ColumnFamilyHandle*> families;
  std::shared_ptr<Meter> meter = std::make_shared<Meter>();
  double write_s[kRepetitions] = {}, get_s[kRepetitions] = {}, next_s[kRepetitions] = {};
  uint64_t memtables = 0;

  void Open(const string& dir, const string& text, const Names& names,
            Env* env) {
    Options base, options;
    BlockBasedTableOptions table;  // As RocksDBStore::load_rocksdb_options() has it by default
    table.block_size = 4096;
    table.filter_policy.reset(NewBloomFilterPolicy(10));
    table.cache_index_and_filter_blocks = true;
    table.block_cache = NewLRUCache(256 << 20);
    base.table_factory.reset(NewBlockBasedTableFactory(table));
    Check(GetOptionsFromString(ConfigOptions(), base, text, &options), "options");
    options.create_if_missing = options.create_missing_column_families = true;
    options.merge_operator = std::make_shared<Xor>();
    options.listeners.push_back(meter);
    options.env = env;
    std::vector<ColumnFamilyDescriptor> all;
    for (auto& [family, own] : names) {
      ColumnFamilyOptions of_family;
      Check(GetColumnFamilyOptionsFromString(ConfigOptions(), options, own, &of_family), "family");
      all.push_back({family, of_family});
    }
    Check(DB::Open(options, dir + "/" + name, all, &families, &db), "open");
  }
  void Take(Turn& turn, int repetition) {
    double began_s = CpuSeconds();
    string value;
    for (auto& [family, key] : turn.gets) db->Get(ReadOptions(), families[family], key, &value);
    get_s[repetition] += CpuSeconds() - began_s;
    began_s = CpuSeconds();
    for (auto& [family, key] : turn.seeks) {
      std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions(), families[family]));
      uint64_t n = 0;
      for (it->Seek(key); it->Valid() && n < turn.nexts; it->Next()) n++;
    }
    next_s[repetition] += CpuSeconds() - began_s;
    began_s = CpuSeconds();
    for (auto& batch : turn.batches) Check(db->Write(WriteOptions(), &batch), "write");
    write_s[repetition] += CpuSeconds() - began_s;
    uint64_t now = 0;
    db->GetAggregatedIntProperty(DB::Properties::kCurSizeAllMemTables, &now);
    memtables = std::max(memtables, now);
  }
  // What is left in memtables was not paid for yet.
  void Finish() {
    for (auto* family : families) Check(db->Flush(FlushOptions(), family), "flush");
    uint64_t pending = 1, running = 1;
    while (pending || running) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      pending = 0;
      for (auto* family : families) {
        uint64_t one = 0;
        db->GetIntProperty(family, DB::Properties::kCompactionPending, &one);
        pending += one;
      }
      db->GetIntProperty(DB::Properties::kNumRunningCompactions, &running);
    }
  }
  void Print() {
    uint64_t space = 0;
    db->GetAggregatedIntProperty(DB::Properties::kTotalSstFilesSize, &space);
    auto job = [](const char* what, const Job& j) {
      printf(", \"%s\": {\"count\": %llu, \"bytes\": %llu, \"cpu_s\": %.4f}", what,
             (unsigned long long)j.count, (unsigned long long)j.bytes, j.cpu_s);
    };
    auto times = [](const char* what, const double* s) {
      printf(", \"%s\": [%.4f, %.4f, %.4f, %.4f]", what, s[0], s[1], s[2], s[3]);
    };
    printf("{\"set\": \"%s\", \"sst_bytes\": %llu, \"memtable_bytes\": %llu", name.c_str(),
           (unsigned long long)space, (unsigned long long)memtables);
    times("write_s", write_s), times("get_s", get_s), times("next_s", next_s);
    job("flushes", meter->flushes_), job("compactions", meter->compactions_);
  }
};

int main(int argc, char** argv) {
  if (argc < 9) {
    fprintf(stderr, "arguments are missing\n");
    return 2;
  }
  const string dir = argv[1];
  const uint64_t wanted = strtoull(argv[4], nullptr, 10) << 20;
  const double gets = atof(argv[5]), nexts = atof(argv[6]);
  Source source;
  source.names = Families(argv[2]);
  source.spread = strtoull(argv[7], nullptr, 10);
  std::istringstream words(argv[3]);
  std::vector<Kind> kinds;
  for (Kind kind; words >> kind.kind >> kind.bytes >> kind.per_batch >> kind.of >> kind.random;)
    kinds.push_back(kind);
  std::unique_ptr<Env> env = NewCompositeEnv(std::make_shared<NoLogs>());
  std::vector<std::unique_ptr<Set>> sets;
  for (int i = 8; i < argc; i++) {
    const string text = argv[i];
    sets.push_back(std::make_unique<Set>());
    sets.back()->name = text.substr(0, text.find('='));
    sets.back()->Open(dir, text.substr(text.find('=') + 1), source.names, env.get());
  }
  source.Make(kinds, kBatches, sets[0]->families);
  source.families = &sets[0]->families;
  std::mt19937_64 rng(1);
  Turn turn;
  uint64_t wal_bytes = 0, keys = 0, batches = 0, turns = 0;
  double get_due = 0, next_due = 0;
  for (size_t at = 0; wal_bytes < wanted; at = (at + 1) % source.batches.size()) {
    source.round += at == 0 && batches;
    turn.batches.emplace_back();
    source.out = &turn.batches.back();
    source.reads.clear();
    Check(WriteBatch(source.batches[at]).Iterate(&source), "rewrite");
    if (!source.out->Count()) {
      turn.batches.pop_back();
      continue;
    }
    for (get_due += gets; get_due >= 1 && !source.reads.empty(); get_due--)
      turn.gets.push_back(source.reads[rng() % source.reads.size()]);
    get_due = std::min(get_due, 100.0);
    next_due += nexts;
    for (auto& read : source.reads)
      if (next_due >= 1 && source.names[read.first].first[0] == 'p')
        turn.seeks.push_back(read), turn.nexts = std::min<uint64_t>(1000, next_due), next_due -= turn.nexts;
    wal_bytes += source.out->GetDataSize(), turn.keys += source.out->Count(), batches++;
    if (turn.keys < kTurnKeys && wal_bytes < wanted) continue;
    // Another set is the first each time.
    for (size_t i = 0; i < sets.size(); i++) sets[(i + turns) % sets.size()]->Take(turn, turns % kRepetitions);
    keys += turn.keys, turns++;
    turn = Turn();
  }
  for (auto& set : sets) {
    set->Finish();
    set->Print();
    printf(", \"rocksdb\": \"%d.%d\", \"wal_bytes\": %llu, \"keys\": %llu, \"batches\": %llu}\n",
           ROCKSDB_MAJOR, ROCKSDB_MINOR, (unsigned long long)wal_bytes, (unsigned long long)keys,
           (unsigned long long)batches);
  }
  fflush(stdout);
  _Exit(0);  // Nothing of it is needed any more
}
