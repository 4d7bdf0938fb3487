// CPU time of one insert into a memtable, by the size of memtables: what the kv_sync thread of an
// OSD does for each key. Prints a line for each size: MiB, microseconds.
//
//   apt-get install g++ librocksdb-dev
//   g++ -O2 -std=c++17 insert_cost.cc -lrocksdb -o insert_cost && ./insert_cost DIR SEED

#include <rocksdb/db.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

using namespace rocksdb;

// Of this thread alone: what others on the machine do moves it far less than wall time.
static double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "a directory and a seed are needed\n");
    return 2;
  }
  std::mt19937_64 rng(strtoull(argv[2], nullptr, 10));
  std::string noise(1 << 20, 0);
  for (auto& c : noise) c = static_cast<char>(rng());
  for (const uint64_t mib : {4, 8, 16, 32, 64, 128, 256}) {
    Options options;
    options.create_if_missing = true;
    options.write_buffer_size = mib << 20;
    options.max_write_buffer_number = 4;
    options.disable_auto_compactions = true;
    const std::string dir = std::string(argv[1]) + "/" + std::to_string(mib);
    DB* db = nullptr;
    const Status opened = DB::Open(options, dir, &db);
    if (!opened.ok()) {
      fprintf(stderr, "%s\n", opened.ToString().c_str());
      return 1;
    }
    WriteOptions write;
    write.disableWAL = true;
    uint64_t bytes = 0, keys = 0;
    double spent_s = 0;
    char key[100];
    // Whole memtables, so that the mean is over their filling.
    while (bytes < std::max<uint64_t>(mib, 64) << 20) {
      WriteBatch batch;
      for (int i = 0; i < 16; i++, keys++) {
        // As an onode is called: objects are ordered by the hash of their names.
        const uint64_t object = rng() % 200000;
        const int length = snprintf(
            key, sizeof key, "%016llx!rbd_data.10226b8b4567.%016llx!=fffffffffffffffeo",
            static_cast<unsigned long long>(object * 0x9E3779B97F4A7C15ull),
            static_cast<unsigned long long>(object));
        batch.Put(Slice(key, length), Slice(noise.data() + rng() % 500000, 500));
        bytes += length + 500;
      }
      const double before_s = CpuSeconds();
      db->Write(write, &batch);
      spent_s += CpuSeconds() - before_s;
    }
    printf("%llu %.3f\n", static_cast<unsigned long long>(mib), spent_s / keys * 1e6);
    fflush(stdout);
    delete db;
    DestroyDB(dir, options);
  }
  return 0;
}
