// The user's cache of packed weights: a second load packs nothing and answers with the same bits; a damaged, cut,
// foreign or unwritable file costs time and nothing else; several writers at once leave a whole file; the folder stays
// within its bound.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "sdk/format/container.h"
#include "sdk/format/pack_set.h"
#include "tests/support/roots.h"
#include "vireo/vireo.h"

namespace {

namespace fs = std::filesystem;

// Under sanitizers each try takes some twenty times as long: then every kStride-th place, the same ones in every run.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kStride = 13;
#else
constexpr size_t kStride = 1;
#endif

struct Heap {
  std::atomic<size_t> held{0}, calls{0};
  static void* take(void* self, size_t bytes, size_t alignment) {
    auto& heap = *static_cast<Heap*>(self);
    heap.held += bytes;
    ++heap.calls;
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  static void give(void* self, void* memory, size_t bytes, size_t) {
    static_cast<Heap*>(self)->held -= bytes;
    std::free(memory);
  }
};

std::string model_path() { return vireo::tests::build_path("models/packing.vireo"); }

std::vector<uint8_t> read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const fs::path& path, const std::vector<uint8_t>& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// A load of the model as a process of its own would see it.
struct Load {
  Heap heap;
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  std::string log;

  explicit Load(const std::string& path = model_path()) {
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    const vireo_allocator allocator = {Heap::take, Heap::give, &heap};
    options.allocator = &allocator;
    options.threads = 1;
    options.log = [](void* self, vireo_log_level, const char* text) { static_cast<Load*>(self)->log += text; };
    options.log_context = this;
    EXPECT_EQ(vireo_runtime_create(&options, &runtime, &error), VIREO_OK) << error.message;
    EXPECT_EQ(vireo_model_load_file(runtime, path.c_str(), &model, &error), VIREO_OK) << error.message;
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() {
    vireo_model_release(model);
    vireo_runtime_release(runtime);
    EXPECT_EQ(heap.held, 0u);
  }

  static vireo_session_options options(const fs::path& folder, uint64_t bytes) {
    vireo_session_options o = VIREO_SESSION_OPTIONS_INIT;
    o.packing = VIREO_PACKING_ALWAYS;
    o.cache = folder.empty() ? nullptr : folder.c_str();
    o.cache_bytes = bytes;
    return o;
  }
  vireo_session* create(const fs::path& folder, uint64_t bytes = 0) {
    const vireo_session_options o = options(folder, bytes);
    vireo_session* session = nullptr;
    vireo_error own = VIREO_ERROR_INIT;  // several threads come here
    EXPECT_EQ(vireo_session_create(model, &o, &session, &own), VIREO_OK) << own.message;
    return session;
  }
  vireo_memory memory(const fs::path& folder) {
    const vireo_session_options o = options(folder, 0);
    vireo_memory memory = VIREO_MEMORY_INIT;
    EXPECT_EQ(vireo_model_memory(model, &o, &memory, &error), VIREO_OK) << error.message;
    return memory;
  }
  // The answer of a session with this cache.
  std::vector<float> answer(const fs::path& folder, uint64_t bytes = 0) {
    vireo_session* const session = create(folder, bytes);
    vireo_tensor in = {}, out = {};
    EXPECT_EQ(vireo_session_input(session, 0, &in, &error), VIREO_OK) << error.message;
    for (int64_t i = 0; i < in.capacity / 4; ++i) static_cast<float*>(in.data)[i] = static_cast<float>(i % 17) - 8;
    const size_t calls = heap.calls;
    EXPECT_EQ(vireo_session_run(session, nullptr, 0, &out, 1, &error), VIREO_OK) << error.message;
    EXPECT_EQ(heap.calls, calls) << "a run allocates nothing";
    const auto* p = static_cast<const float*>(out.data);
    std::vector<float> result(p, p + out.capacity / 4);
    vireo_session_release(session);
    return result;
  }
  uint32_t packed() const { return vireo_model_packed_count(model); }
};

class PackCache : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ("vireo_pack_cache_" + std::to_string(getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name()) /
              "a" / "b";
    Load plain;
    wanted_ = plain.answer("");
    packs_ = plain.packed();
    ASSERT_GT(packs_, 0u);
    memory_ = plain.memory("");
  }
  void TearDown() override {
    std::error_code error;
    fs::permissions(folder_, fs::perms::owner_all, error);
    fs::remove_all(folder_.parent_path().parent_path(), error);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> list;
    if (fs::exists(folder_)) {
      for (const auto& entry : fs::directory_iterator(folder_)) list.push_back(entry.path());
    }
    return list;
  }
  // The one file that a load leaves behind.
  fs::path fill() const {
    Load load;
    EXPECT_EQ(load.answer(folder_), wanted_);
    const std::vector<fs::path> list = files();
    EXPECT_EQ(list.size(), 1u) << load.log;
    return list.empty() ? fs::path() : list[0];
  }
  // A load over whatever lies there: right answers. Says whether it was used.
  bool used() const {
    Load load;
    EXPECT_EQ(load.answer(folder_), wanted_);
    EXPECT_TRUE(load.packed() == 0 || load.packed() == packs_);
    return load.packed() == 0;
  }

  fs::path folder_;
  std::vector<float> wanted_;
  uint32_t packs_ = 0;
  vireo_memory memory_ = VIREO_MEMORY_INIT;
};

TEST_F(PackCache, TheSecondLoadPacksNothing) {
  const fs::path file = fill();
  EXPECT_EQ(fs::status(file).permissions() & (fs::perms::group_all | fs::perms::others_all), fs::perms::none);
  Load load;
  const size_t before = load.heap.held;
  vireo_session* const first = load.create(folder_);
  EXPECT_EQ(load.packed(), 0u);
  // The arena and the cache's own entry; a second session adds its arena alone.
  const size_t one = load.heap.held - before;
  EXPECT_LT(one, memory_.total_bytes + 1024);
  vireo_session* const second = load.create(folder_);
  EXPECT_EQ(load.heap.held - before - one, memory_.total_bytes);
  const vireo_memory told = load.memory(folder_);
  EXPECT_EQ(told.packed_bytes, 0u);
  EXPECT_EQ(told.total_bytes, memory_.total_bytes);
  EXPECT_GT(told.mapped_bytes, 0u);
  EXPECT_LE(told.mapped_bytes, fs::file_size(file));
  EXPECT_EQ(load.answer(folder_), wanted_);
  EXPECT_EQ(load.log, "");
  vireo_session_release(first);
  vireo_session_release(second);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(PackCache, AnotherSetOfWeightsJoinsTheFile) {
  const fs::path file = fill();
  {
    std::vector<uint8_t> bytes = read(file);
    vireo::PackSet set;
    ASSERT_TRUE(set.open({bytes.data(), bytes.size()}));
    // The file without its first entry, as a session of fewer nodes would have written it.
    std::vector<vireo::PackEntry> entries;
    std::vector<std::vector<uint8_t>> contents;
    for (uint32_t i = 1; i < set.count(); ++i) {
      vireo::PackEntry e;
      ASSERT_TRUE(set.entry(i, &e));
      entries.push_back(e);
      const auto* p = static_cast<const uint8_t*>(set.contents(e));
      contents.emplace_back(p, p + e.bytes);
    }
    const vireo::PackHeader old = set.header();
    std::vector<uint8_t> fewer(vireo::lay_out_packs({entries.data(), entries.size()}));
    const vireo::PackHeader header =
        vireo::pack_header({entries.data(), entries.size()}, fewer.size(), old.model, old.library, old.boot);
    std::memcpy(fewer.data(), &header, sizeof(header));
    std::memcpy(fewer.data() + sizeof(header), entries.data(), entries.size() * sizeof(entries[0]));
    for (size_t i = 0; i < entries.size(); ++i)
      std::memcpy(fewer.data() + entries[i].offset, contents[i].data(), contents[i].size());
    write(file, fewer);
    const std::vector<uint8_t> whole = bytes;
    {
      Load load;
      EXPECT_EQ(load.answer(folder_), wanted_);
      EXPECT_EQ(load.packed(), 1u);
    }
    EXPECT_EQ(read(file), whole);
    EXPECT_TRUE(used());
  }
}

TEST_F(PackCache, DamageIsSeenAndMended) {
  const fs::path file = fill();
  const std::vector<uint8_t> good = read(file);
  vireo::PackHeader header;
  std::memcpy(&header, good.data(), sizeof(header));
  const size_t end = sizeof(header) + header.count * sizeof(vireo::PackEntry);
  if (kStride > 1) std::printf("a sanitizer is on: every %zuth of %zu bytes\n", kStride, end);
  // Each byte of the header; of the entries, whose every bit pack_set_test.cc changes, some of each.
  for (size_t i = 0; i < end; i += i < sizeof(header) ? kStride : 7 * kStride) {
    std::vector<uint8_t> bad = good;
    bad[i] ^= static_cast<uint8_t>(1u << (i % 8));
    write(file, bad);
    EXPECT_FALSE(used()) << "byte " << i;
    ASSERT_EQ(read(file), good) << "byte " << i;  // written again
  }
  for (size_t n : {size_t{0}, size_t{1}, sizeof(header) - 1, sizeof(header), end, good.size() / 2, good.size() - 1}) {
    write(file, {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(n)});
    EXPECT_FALSE(used()) << n << " bytes";
    EXPECT_EQ(read(file), good);
  }
}

// Contents are compared after a restart of the system, which may have kept them from the disk.
TEST_F(PackCache, ContentsAreComparedOnceAfterARestart) {
  const fs::path file = fill();
  const std::vector<uint8_t> good = read(file);
  const auto restarted = [&](bool damaged) {
    std::vector<uint8_t> bytes = good;
    vireo::PackHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    header.boot += 2;
    header.header_hash = 0;
    header.header_hash = vireo::pack_hash(&header, sizeof(header));
    std::memcpy(bytes.data(), &header, sizeof(header));
    vireo::PackEntry first;
    std::memcpy(&first, bytes.data() + sizeof(header), sizeof(first));
    if (damaged) std::memset(bytes.data() + first.offset, 0, 64);
    write(file, bytes);
  };
  restarted(false);
  EXPECT_TRUE(used());
  vireo::PackHeader header;
  std::memcpy(&header, read(file).data(), sizeof(header));
  if (fs::exists("/proc/sys/kernel/random/boot_id")) {
    EXPECT_EQ(read(file), good);  // and marked as whole
  }
  restarted(true);
  EXPECT_FALSE(used());
  EXPECT_EQ(read(file), good);
}

TEST_F(PackCache, AnotherModelsFileIsNotUsed) {
  const fs::path file = fill();
  const std::vector<uint8_t> good = read(file);
  std::vector<uint8_t> bytes = good;
  vireo::PackHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  header.model[31] ^= 1;  // the name has the first half of the root alone
  header.header_hash = 0;
  header.header_hash = vireo::pack_hash(&header, sizeof(header));
  std::memcpy(bytes.data(), &header, sizeof(header));
  write(file, bytes);
  EXPECT_FALSE(used());
  EXPECT_EQ(read(file), good);
  fs::permissions(file, fs::perms::others_write, fs::perm_options::add);  // anybody may have written that
  EXPECT_FALSE(used());
  EXPECT_TRUE(used());
  const fs::path elsewhere = folder_.parent_path() / "elsewhere";
  fs::rename(file, elsewhere);
  fs::create_symlink(elsewhere, file);
  EXPECT_FALSE(used());
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file)));
}

// A file with another model's root must not put its weights under that one's name.
TEST_F(PackCache, ADamagedModelIsNotWritten) {
  std::vector<uint8_t> bytes = read(model_path());
  vireo::FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  bytes[header.hash_offset - 70000] ^= 1;
  const fs::path model = fs::path(::testing::TempDir()) / ("vireo_damaged_" + std::to_string(getpid()) + ".vireo");
  write(model, bytes);
  {
    Load load(model.string());
    (void)load.answer(folder_);
    EXPECT_NE(load.log.find("damaged model"), std::string::npos) << load.log;
  }
  fs::remove(model);
  EXPECT_TRUE(files().empty());
}

TEST_F(PackCache, WhereNothingCanBeWrittenItCostsTimeAlone) {
  Load load;
  EXPECT_EQ(load.answer("/proc/no/such/folder"), wanted_);
  EXPECT_NE(load.log.find("/proc/no/such/folder"), std::string::npos) << load.log;
  EXPECT_EQ(load.answer(std::string(5000, 'x')), wanted_);
}

TEST_F(PackCache, SeveralProcessesAtOnce) {
  for (int round = 0; round < 5; ++round) {
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        bool good = true;
        for (int k = 0; k < 3; ++k) {
          Load load;
          good = good && load.answer(folder_) == wanted_;
        }
        _exit(good ? 0 : 1);
      }
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    EXPECT_EQ(files().size(), 1u);
    EXPECT_TRUE(used());
    fs::remove_all(folder_);
  }
}

TEST_F(PackCache, SeveralThreadsOfOneModel) {
  fill();
  Load load;
  vireo_session* sessions[4] = {};
  std::vector<std::thread> threads;
  for (vireo_session*& session : sessions) threads.emplace_back([&] { session = load.create(folder_); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(load.packed(), 0u);
  for (vireo_session* session : sessions) vireo_session_release(session);
}

TEST_F(PackCache, TheFolderStaysWithinItsBound) {
  const fs::path file = fill();
  const uint64_t size = fs::file_size(file);
  const auto old = [&](const char* name, int hours) {
    write(folder_ / name, std::vector<uint8_t>(static_cast<size_t>(size)));
    fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  old("1.vpack", 30);
  old("2.vpack", 20);
  old("3.vpack", 25);
  old("9.vpack-part", 1);
  old("mine.txt", 99);
  fs::remove(file);
  Load load;
  EXPECT_EQ(load.answer(folder_, 2 * size + 10), wanted_);
  EXPECT_TRUE(fs::exists(file));
  EXPECT_FALSE(fs::exists(folder_ / "1.vpack"));
  EXPECT_TRUE(fs::exists(folder_ / "2.vpack"));
  EXPECT_FALSE(fs::exists(folder_ / "3.vpack"));
  EXPECT_FALSE(fs::exists(folder_ / "9.vpack-part"));  // its writer is gone
  EXPECT_TRUE(fs::exists(folder_ / "mine.txt"));
  fs::remove(file);
  Load small;
  EXPECT_EQ(small.answer(folder_, size - 1), wanted_);  // more than the bound alone: not written
  EXPECT_FALSE(fs::exists(file));
  EXPECT_NE(small.log.find("bound"), std::string::npos) << small.log;
}

// What is used stays: a use makes a file young again.
TEST_F(PackCache, AUseIsRemembered) {
  const fs::path file = fill();
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(50));
  EXPECT_TRUE(used());
  EXPECT_LT(fs::file_time_type::clock::now() - fs::last_write_time(file), std::chrono::hours(1));
}

// An unlinked file serves those who have mapped it.
TEST_F(PackCache, EvictionLeavesRunningSessionsAlone) {
  const fs::path file = fill();
  Load load;
  vireo_session* const session = load.create(folder_);
  fs::remove(file);
  vireo_tensor in = {}, out = {};
  ASSERT_EQ(vireo_session_input(session, 0, &in, &load.error), VIREO_OK);
  for (int64_t i = 0; i < in.capacity / 4; ++i) static_cast<float*>(in.data)[i] = static_cast<float>(i % 17) - 8;
  ASSERT_EQ(vireo_session_run(session, nullptr, 0, &out, 1, &load.error), VIREO_OK);
  const auto* p = static_cast<const float*>(out.data);
  EXPECT_EQ(std::vector<float>(p, p + out.capacity / 4), wanted_);
  vireo_session_release(session);
}

}  // namespace
