// The memory contract, checked on whole models: memory_contract [--json] [--device LIST] MODEL.vireo...
//   - vireo_model_memory says to the byte what a session takes; one byte less is a clean VIREO_OUT_OF_ARENA
//   - between creation and release nothing is allocated: malloc, calloc, realloc, free, posix_memalign, aligned_alloc,
//     new, delete and mmap of every thread are counted (also where inputs have other shapes within the bounds at each
//     run)
//   - the session stays inside its arena: guard pages on both sides
//   - the planned tensors are used to the end: the arena is painted after creation, and the highest byte that runs
//     change is the plan's last (less alignment) where shapes are fixed and nothing is conditional; elsewhere it is
//     never above
// Open dimensions are given the bound 8 (--default MAX), or what --bound NAME=MAX says. Inputs are random, or --input
// INDEX=FILE: the raw elements of an input of exactly the shape at the bounds (another size: random).
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/run/session.h"
#include "vireo/vireo.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> calls{0};
void count() {
  if (counting.load(std::memory_order_relaxed)) calls.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

// The executable's own definitions come before the C library's, for every library it loads.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

void* malloc(size_t n) {
  count();
  return __libc_malloc(n);
}
void* calloc(size_t n, size_t size) {
  count();
  return __libc_calloc(n, size);
}
void* realloc(void* p, size_t n) {
  count();
  return __libc_realloc(p, n);
}
void free(void* p) {
  count();
  __libc_free(p);
}
int posix_memalign(void** out, size_t alignment, size_t n) {
  count();
  *out = __libc_memalign(alignment, n);
  return *out == nullptr ? 12 : 0;
}
void* aligned_alloc(size_t alignment, size_t n) {
  count();
  return __libc_memalign(alignment, n);
}
void* memalign(size_t alignment, size_t n) {
  count();
  return __libc_memalign(alignment, n);
}
void* mmap(void* at, size_t n, int protection, int flags, int fd, off_t offset) noexcept {
  using Real = void* (*)(void*, size_t, int, int, int, off_t);
  static const Real real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, "mmap"));
  count();
  return real(at, n, protection, flags, fd, offset);
}
}  // operator new and delete end in malloc and free above

namespace {

// Memory between two pages that must not be touched; the block ends right before the second one, to within its
// alignment.
class Guarded {
 public:
  explicit Guarded(size_t bytes) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    bytes_ = (bytes + 63) / 64 * 64;
    inner_ = (bytes_ + page - 1) / page * page;
    total_ = inner_ + 2 * page;
    base_ = static_cast<uint8_t*>(mmap(nullptr, total_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED || mprotect(base_ + page, inner_, PROT_READ | PROT_WRITE) != 0) std::abort();
    data_ = base_ + page + inner_ - bytes_;
  }
  ~Guarded() { munmap(base_, total_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  uint8_t* data() const { return data_; }

 private:
  uint8_t* base_;
  uint8_t* data_;
  size_t bytes_, inner_, total_;
};

struct Options {
  bool json = false;
  const char* device = nullptr;
  int64_t open = 8;
  std::map<std::string, int64_t> bounds;
  std::map<uint32_t, std::string> inputs;
};

int failures = 0;
void fail(const char* model, const std::string& what) {
  std::fprintf(stderr, "FAILED %s: %s\n", model, what.c_str());
  ++failures;
}

// Values that every operator takes: small non-negative numbers, and 1, a valid index where a table has two rows.
void fill(const vireo_tensor& t, std::mt19937& rng) {
  int64_t n = 1;
  for (int i = 0; i < t.rank; ++i) n *= t.dims[i];
  if (t.dtype == VIREO_FLOAT32) {
    for (int64_t i = 0; i < n; ++i) static_cast<float*>(t.data)[i] = static_cast<float>(rng() % 1000) / 1000.0f;
  } else if (t.dtype == VIREO_STRING) {
    for (int64_t i = 0; i < n; ++i) static_cast<vireo_string*>(t.data)[i] = {"a", 1};
  } else if (t.dtype == VIREO_BOOL) {
    for (int64_t i = 0; i < n; ++i) static_cast<uint8_t*>(t.data)[i] = rng() % 2;
  } else {
    std::memset(t.data, 0, static_cast<size_t>(vireo_dtype_bytes(t.dtype, n)));
    const int64_t unit = vireo_dtype_bytes(t.dtype, 1);
    if (t.dtype == VIREO_INT64 || t.dtype == VIREO_INT32 || t.dtype == VIREO_UINT8) {
      for (int64_t i = 0; i < n; ++i) static_cast<uint8_t*>(t.data)[i * unit] = 1;
    }
  }
}

// True when the file holds exactly the elements of `t`.
bool read(const std::string& file, const vireo_tensor& t) {
  int64_t n = 1;
  for (int i = 0; i < t.rank; ++i) n *= t.dims[i];
  const auto bytes = static_cast<size_t>(vireo_dtype_bytes(t.dtype, n));
  std::FILE* f = std::fopen(file.c_str(), "rb");
  if (f == nullptr) return false;
  std::fseek(f, 0, SEEK_END);
  const bool fits = std::ftell(f) == static_cast<long>(bytes);
  std::rewind(f);
  const bool good = fits && std::fread(t.data, 1, bytes, f) == bytes;
  std::fclose(f);
  return good;
}

struct Handles {
  std::unique_ptr<Guarded> arena;  // outlives the session
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_session* session = nullptr;
  ~Handles() {
    vireo_session_release(session);
    vireo_model_release(model);
    vireo_runtime_release(runtime);
  }
};

bool has_control_flow(const vireo_session& s) {
  for (uint32_t i = 0; i < s.nodes.count; ++i) {
    const auto op = static_cast<vireo::Op>(s.nodes.infos[i].node->op());
    if (op == vireo::Op::kIf || op == vireo::Op::kLoop || op == vireo::Op::kScan) return true;
  }
  return false;
}

bool is_static(const vireo_model& m) {
  for (uint32_t i = 0; i < m.program.subgraph_count(); ++i) {
    for (const vireo::fb::Tensor* t : *m.program.subgraph(i).tensors()) {
      if (!vireo::type_of(*t).shape.is_static()) return false;
    }
  }
  return true;
}

// The inputs' named dimensions become about `part` of what they may be, the same for the same name.
vireo_status set_shapes(const Handles& h, const std::vector<vireo_bound>& bounds, double part, vireo_error* error) {
  for (uint32_t i = 0; i < vireo_model_input_count(h.model); ++i) {
    vireo_value_info info = VIREO_VALUE_INFO_INIT;
    if (const vireo_status s = vireo_model_input(h.model, i, &info, error); s != VIREO_OK) return s;
    std::vector<int64_t> dims(info.max_dims, info.max_dims + info.rank);
    bool named = false;
    for (size_t k = 0; k < dims.size(); ++k) {
      if (info.dim_names[k] == nullptr) continue;
      for (const vireo_bound& b : bounds) {
        if (std::strcmp(b.name, info.dim_names[k]) == 0) dims[k] = b.max;
      }
      dims[k] = std::max({info.min_dims[k], int64_t{1}, static_cast<int64_t>(static_cast<double>(dims[k]) * part)});
      named = true;
    }
    if (!named) continue;
    const vireo_status s = vireo_session_input_shape(h.session, i, dims.data(), info.rank, error);
    if (s != VIREO_OK) return s;
  }
  return VIREO_OK;
}

void check(const char* path, const Options& given) {
  Handles h;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_runtime_options runtime_options = VIREO_RUNTIME_OPTIONS_INIT;
  runtime_options.threads = 2;
  if (vireo_runtime_create(&runtime_options, &h.runtime, &error) != VIREO_OK ||
      vireo_model_load_file(h.runtime, path, &h.model, &error) != VIREO_OK) {
    return fail(path, error.message);
  }
  std::vector<vireo_bound> bounds;
  for (uint32_t i = 0; i < vireo_model_dimension_count(h.model); ++i) {
    vireo_dimension d = VIREO_DIMENSION_INIT;
    if (vireo_model_dimension(h.model, i, &d, &error) != VIREO_OK) return fail(path, error.message);
    const auto found = given.bounds.find(d.name);
    if (d.max == -1) bounds.push_back({d.name, d.min, found == given.bounds.end() ? given.open : found->second});
  }
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.device = given.device;
  options.bounds = bounds.data();
  options.bound_count = static_cast<uint32_t>(bounds.size());
  vireo_memory memory = VIREO_MEMORY_INIT;
  if (vireo_model_memory(h.model, &options, &memory, &error) != VIREO_OK) return fail(path, error.message);

  h.arena = std::make_unique<Guarded>(memory.total_bytes);
  options.arena = h.arena->data();
  options.arena_bytes = memory.total_bytes - 1;
  if (vireo_session_create(h.model, &options, &h.session, &error) != VIREO_OUT_OF_ARENA || h.session != nullptr) {
    return fail(path, "an arena one byte too small was not refused");
  }
  options.arena_bytes = memory.total_bytes;
  if (vireo_session_create(h.model, &options, &h.session, &error) != VIREO_OK) return fail(path, error.message);

  const bool exact = is_static(*h.model) && !has_control_flow(*h.session);
  size_t high = 0;
  long counted = 0;
  // With open dimensions: at the bounds, then below and back.
  constexpr double kParts[] = {1, 1, 0.6, 0, 0.4, 1};
  const int rounds = vireo_model_dimension_count(h.model) == 0 ? 2 : static_cast<int>(std::size(kParts));
  for (int round = 0; round < rounds; ++round) {
    // Two paints: a byte that happens to be written with the one is seen with the other.
    const uint8_t paint = round % 2 == 0 ? 0xA5 : 0x5A;
    if (round > 1 && set_shapes(h, bounds, kParts[round], &error) != VIREO_OK) {
      if (error.status != VIREO_INVALID_ARGUMENT) return fail(path, error.message);
      std::fprintf(stderr, "%s: with other shapes: %s\n", path, error.message);
      continue;
    }
    std::vector<vireo_tensor> inputs(vireo_model_input_count(h.model));
    std::mt19937 rng(static_cast<unsigned>(7 + round));
    std::memset(h.session->values.at, paint, h.session->values.bytes);
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      if (vireo_session_input(h.session, i, &inputs[i], &error) != VIREO_OK) return fail(path, error.message);
      const auto file = given.inputs.find(i);
      const bool stored = file != given.inputs.end() && read(file->second, inputs[i]);
      if (file != given.inputs.end() && !stored && round == 0) {
        std::fprintf(stderr, "%s: input %u takes random values, %s has another size\n", path, i, file->second.c_str());
      }
      if (!stored) fill(inputs[i], rng);
      inputs[i].data = nullptr;  // it lies in the session's memory
    }
    calls = 0;
    counting = true;
    const vireo_status status =
        vireo_session_run(h.session, inputs.data(), static_cast<uint32_t>(inputs.size()), nullptr, 0, &error);
    counting = false;
    counted += calls;
    // A window may want more than a small extent has, and random values may name rows that are not there: such runs
    // are refused, without an allocation as well; at the bounds there are none.
    if ((status == VIREO_INVALID_ARGUMENT || status == VIREO_INVALID_MODEL || status == VIREO_UNSUPPORTED) &&
        round > 1) {
      std::fprintf(stderr, "%s: with other shapes: %s\n", path, error.message);
      continue;
    }
    if (status != VIREO_OK) return fail(path, std::string("run: ") + error.message);
    for (size_t i = h.session->values.bytes; i > high; --i) {
      if (h.session->values.at[i - 1] != paint) high = i;
    }
  }
  if (counted != 0) fail(path, std::to_string(counted) + " allocations while running");
  if (exact && high + 64 <= memory.tensor_bytes) {
    fail(path, "planned " + std::to_string(memory.tensor_bytes) + " bytes, used up to " + std::to_string(high));
  }
  if (given.json) {
    std::printf(
        "{\"model\": \"%s\", \"arena_bytes\": %zu, \"lower_bound\": %zu, \"high_water\": %zu, \"scratch_bytes\": %zu, "
        "\"state_bytes\": %zu, \"total_bytes\": %zu, \"packed_bytes\": %zu, \"exact\": %s, \"allocations\": %ld}\n",
        path, memory.tensor_bytes, memory.lower_bound_bytes, high, memory.scratch_bytes, memory.state_bytes,
        memory.total_bytes, memory.packed_bytes, exact ? "true" : "false", counted);
  } else {
    std::printf("%-60s arena %10zu  lower bound %10zu  ratio %.3f  high water %10zu\n", path, memory.tensor_bytes,
                memory.lower_bound_bytes,
                memory.lower_bound_bytes == 0
                    ? 1.0
                    : static_cast<double>(memory.tensor_bytes) / static_cast<double>(memory.lower_bound_bytes),
                high);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<const char*> models;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--json") {
      options.json = true;
    } else if (arg == "--device" && i + 1 < argc) {
      options.device = argv[++i];
    } else if (arg == "--bound" && i + 1 < argc) {
      const std::string bound = argv[++i];
      const size_t at = bound.rfind('=');
      options.bounds[bound.substr(0, at)] = std::atoll(bound.c_str() + at + 1);
    } else if (arg == "--default" && i + 1 < argc) {
      options.open = std::atoll(argv[++i]);
    } else if (arg == "--input" && i + 1 < argc) {
      const std::string input = argv[++i];
      const size_t at = input.find('=');
      options.inputs[static_cast<uint32_t>(std::atoi(input.c_str()))] = input.substr(at + 1);
    } else {
      models.push_back(argv[i]);
    }
  }
  if (models.empty()) {
    std::fprintf(
        stderr,
        "usage: memory_contract [--json] [--device LIST] [--default MAX] [--bound NAME=MAX]... [--input INDEX=FILE]... "
        "MODEL.vireo...\n");
    return 2;
  }
  // The counters must count, or the zeros below say nothing.
  counting = true;
  delete new int(1);
  void* p = nullptr;
  if (posix_memalign(&p, 64, 64) == 0) std::free(p);
  void* q = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  counting = false;
  munmap(q, 4096);
  if (calls < 5) {
    std::fprintf(stderr, "FAILED: the allocation counters do not count\n");
    return 1;
  }
  for (const char* model : models) check(model, options);
  return failures == 0 ? 0 : 1;
}
