// For replay.cc: batches as BlueStore gives them to RocksDB, each time with other keys, and no WAL.

#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace rocksdb;
using std::string;
using Names = std::vector<std::pair<string, string>>;  // of column families, with their options

static void Check(const Status& s, const char* what) {
  if (s.ok()) return;
  fprintf(stderr, "%s: %s\n", what, s.ToString().c_str());
  exit(1);
}

// A log that has a size and nothing in it: a dozen of a GiB each would not fit into memory.
class SizeOnly : public FSWritableFile {
 public:
  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions&, IODebugContext*) override {
    size_ += data.size();
    return IOStatus::OK();
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return size_; }

 private:
  uint64_t size_ = 0;
};

class NoLogs : public FileSystemWrapper {
 public:
  NoLogs() : FileSystemWrapper(FileSystem::Default()) {}
  const char* Name() const override { return "NoLogs"; }
  IOStatus NewWritableFile(const string& name, const FileOptions& options,
                           std::unique_ptr<FSWritableFile>* file, IODebugContext* debug) override {
    const bool log = name.size() > 4 && name.compare(name.size() - 4, 4, ".log") == 0;
    if (!log) return target()->NewWritableFile(name, options, file, debug);
    // Deleting it needs one that is there.
    const IOStatus made = target()->NewWritableFile(name, options, file, debug);
    if (made.ok()) file->reset(new SizeOnly);
    return made;
  }
};

// "m(3) O(3,0-13)=x L=y P": names of families with their options, as they are numbered.
static Names Families(const string& cfs) {
  Names found = {{"default", ""}};
  for (size_t at = 0; at < cfs.size();) {
    const size_t end = std::min(cfs.find(' ', at), cfs.size());
    const string word = cfs.substr(at, end - at);
    const size_t is = word.find('=');
    const string head = word.substr(0, is);
    string options = is == string::npos ? "" : word.substr(is + 1);
    if (options.find("block_cache") == 0) options = "";  // BlueStore's own
    const size_t paren = head.find('(');
    const int shards = paren == string::npos ? 0 : atoi(head.c_str() + paren + 1);
    for (int i = 0; i < std::max(1, shards); i++)
      found.push_back({head.substr(0, paren) + (shards ? "-" + std::to_string(i) : ""), options});
    at = end + 1;
  }
  return found;
}

static uint32_t Mixed(uint32_t n) {
  n = (n ^ 0x9E3779B9u) * 0x85EBCA6Bu;
  return (n ^ (n >> 13)) * 0xC2B2AE35u;
}

// "O 575 1 512 0.93": a kind of key, its bytes with the value, how many there are for each batch, of how
// many, and the part of a value that nothing compresses.
struct Kind {
  char kind;
  size_t bytes;
  double per_batch;
  uint64_t of;
  double random;
};

// Batches, each time with other keys.
struct Source : WriteBatch::Handler {
  std::vector<string> batches;
  Names names;
  std::map<string, std::pair<uint64_t, uint64_t>> versions;  // of PG logs, first and last
  uint64_t round = 0, spread = 0;
  WriteBatch* out = nullptr;  // None: only looks
  std::vector<ColumnFamilyHandle*>* families = nullptr;
  std::vector<std::pair<uint32_t, string>> reads;

  static bool Versioned(const Slice& key) {
    return key.size() > 29 && std::all_of(key.data() + key.size() - 20, key.data() + key.size(), isdigit);
  }
  string Key(uint32_t family, const Slice& key) { return KeyIn(round, family, key); }
  string KeyIn(uint64_t round, uint32_t family, const Slice& key) {
    string made = key.ToString();
    const char kind = names[family].first[0];
    const uint32_t other = round == 0 ? 0 : Mixed(spread ? round % spread : round);
    auto change = [&](size_t at) { for (int i = 0; i < 4; i++) made[at + i] ^= char(other >> (8 * i)); };
    if (kind == 'O' && made.size() > 13) change(9);               // the hash, after shard and pool
    if ((kind == 'p' || kind == 'm') && made.size() > 20) change(12);  // the number of the object
    if (kind == 'P' && Versioned(key)) {
      const auto [first, last] = versions[made.substr(0, 8)];
      const size_t at = made.size() - 20;
      char text[32];
      snprintf(text, sizeof text, "%020llu",
               (unsigned long long)(strtoull(made.c_str() + at, nullptr, 10) + round * (last - first + 1)));
      made.replace(at, 20, text);
    }
    return made;
  }
  void Note(uint32_t family, const Slice& key) {
    if (names[family].first[0] != 'P' || !Versioned(key)) return;
    const uint64_t version = strtoull(key.ToString().c_str() + key.size() - 20, nullptr, 10);
    auto& [first, last] = versions.emplace(key.ToString().substr(0, 8), std::make_pair(version, version)).first->second;
    first = std::min(first, version), last = std::max(last, version);
  }
  Status PutCF(uint32_t family, const Slice& key, const Slice& value) override {
    if (!out) return Note(family, key), Status::OK();
    const string made = Key(family, key);
    if (strchr("Opm", names[family].first[0])) reads.push_back({family, made});
    // Of a full log the entry of the round before goes.
    if (round && names[family].first[0] == 'P' && Versioned(key))
      out->Delete((*families)[family], KeyIn(round - 1, family, key));
    return out->Put((*families)[family], made, value);
  }
  Status DeleteCF(uint32_t family, const Slice& key) override {
    return out ? out->Delete((*families)[family], Key(family, key)) : Status::OK();
  }

  // Batches of which each kind of key has its share; see regret_replay.py.
  void Make(const std::vector<Kind>& kinds, size_t count, std::vector<ColumnFamilyHandle*>& handles) {
    std::mt19937_64 rng(1);
    std::vector<double> due(kinds.size());
    std::vector<uint64_t> version(kGroups, 1000);
    std::deque<std::pair<size_t, string>> fresh, kept, objects;
    uint64_t made = 0;
    for (size_t batch = 0; batch < count; batch++) {
      WriteBatch filled;
      const uint64_t pick = rng(), group = pick % kGroups;
      auto put = [&](const Kind& kind, size_t family, const string& key) {
        string value(kind.bytes > key.size() ? kind.bytes - key.size() : 1, 'v');
        for (size_t at = 0; at < value.size() * kind.random; at++) value[at] = char(rng());
        filled.Put(handles[family], key, value);
      };
      auto take = [&](std::deque<std::pair<size_t, string>>& from) {
        if (from.empty()) return;
        filled.Delete(handles[from.front().first], from.front().second);
        from.pop_front();
      };
      for (size_t i = 0; i < kinds.size(); i++) {
        const Kind& kind = kinds[i];
        char text[128];
        for (due[i] += kind.per_batch; due[i] >= 1; due[i]--) {
          const uint64_t object = kind.kind == 'n' ? (1ull << 40) + made++ : pick % kind.of;
          const string onode = Onode(object);
          const size_t shard = Mixed(uint32_t(object)) % 3;
          if (strchr("on", kind.kind)) put(kind, First("O") + shard, onode);
          if (kind.kind == 'n') objects.push_back({First("O") + shard, onode});
          if (kind.kind == 's') {
            const uint32_t part = uint32_t(rng() % kShards) << 17;
            put(kind, First("O") + shard, onode + string(reinterpret_cast<const char*>(&part), 4) + "x");
          }
          if (kind.kind == 'k') {
            snprintf(text, sizeof text, "%012llx/%llu-0/%08llu", (unsigned long long)(rng() % kind.of),
                     (unsigned long long)(made % 8), (unsigned long long)made);
            const uint32_t nid = uint32_t(made++ % 11);
            const string name = string(8, '\1') + string(reinterpret_cast<const char*>(&nid), 4) +
                                string(4, '\0') + string(reinterpret_cast<const char*>(&nid), 4) + "." + text;
            fresh.push_back({First("p") + nid % 3, name});
            put(kind, fresh.back().first, name);
          }
          if (kind.kind == 'r' && !fresh.empty()) {
            put(kind, fresh.front().first, fresh.front().second);
            kept.push_back(fresh.front());
            fresh.pop_front();
          }
          if (kind.kind == 'x') take(kept);
          if (kind.kind == 'y') take(objects);
          if (kind.kind == 'f') put(kind, 0, "b" + std::to_string(rng() % kind.of));
          const string pg = string(7, '\0') + char(group);
          if (kind.kind == 'i') put(kind, First("P"), pg + "._fastinfo");
          if (!strchr("ld", kind.kind)) continue;
          snprintf(text, sizeof text, ".%s%010d.%020llu", kind.kind == 'd' ? "dup_" : "", 12,
                   (unsigned long long)version[group]);
          version[group] += kind.kind == 'l';
          put(kind, First("P"), pg + text);
        }
      }
      batches.push_back(filled.Data());
      Check(WriteBatch(batches.back()).Iterate(this), "look");
    }
  }

 private:
  static constexpr uint64_t kGroups = 32, kShards = 25;
  static string Onode(uint64_t object) {
    char text[96];
    const uint32_t hash = Mixed(uint32_t(object));
    const int length = snprintf(text, sizeof text, "!!rbd_data.10226b8b4567.%016llx!=fffffffffffffffeo",
                                (unsigned long long)object);
    return string("\x7f\x80\0\0\0\0\0\0\2", 9) +
           string(reinterpret_cast<const char*>(&hash), 4) + string(text, length);
  }
  size_t First(const string& column) const {
    for (size_t i = 0; i < names.size(); i++)
      if (names[i].first == column || names[i].first == column + "-0") return i;
    return 0;
  }
};
