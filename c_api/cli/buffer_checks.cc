#include "c_api/cli/buffer_checks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "vireo/buffer.h"

namespace vireo::cli {
namespace {

constexpr char kNone[] = "left: it works on the host's memory";

struct Release {
  void operator()(vireo_buffer* b) const { vireo_buffer_release(b); }
};
using Buffer = std::unique_ptr<vireo_buffer, Release>;

void must(vireo_status status, const vireo_error& error, const std::string& what) {
  if (status != VIREO_OK) throw Wrong{"it could not " + what + ": " + error.message};
}

// Null where the device has no buffers.
Buffer make(vireo_runtime* runtime, uint32_t index, uint64_t bytes) {
  vireo_buffer* b = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  const vireo_status status = vireo_buffer_create(runtime, index, bytes, &b, &error);
  if (status == VIREO_UNSUPPORTED) return nullptr;
  must(status, error, "make a buffer of " + std::to_string(bytes) + " bytes");
  return Buffer(b);
}

std::vector<uint8_t> pattern(size_t bytes, uint32_t seed) {
  std::vector<uint8_t> out(bytes);
  for (uint8_t& b : out) b = static_cast<uint8_t>((seed = seed * 1664525u + 1013904223u) >> 24);
  return out;
}

void write(vireo_buffer* b, uint64_t offset, const std::vector<uint8_t>& bytes) {
  vireo_error error = VIREO_ERROR_INIT;
  must(vireo_buffer_write(b, offset, bytes.data(), bytes.size(), &error), error, "write a buffer");
}

void require_bytes(const vireo_buffer* b, uint64_t offset, const std::vector<uint8_t>& want, const std::string& what) {
  std::vector<uint8_t> got(want.size(), 0x77);
  vireo_error error = VIREO_ERROR_INIT;
  must(vireo_buffer_read(b, offset, got.data(), got.size(), &error), error, "read a buffer");
  if (got != want) throw Wrong{what + " from byte " + std::to_string(offset) + " on"};
}

}  // namespace

std::string check_buffers(vireo_runtime* runtime, uint32_t index) {
  std::vector<Buffer> buffers;
  std::vector<std::vector<uint8_t>> contents;
  for (const size_t bytes : {size_t{1}, size_t{255}, size_t{256}, size_t{4097}, size_t{1} << 20}) {
    buffers.push_back(make(runtime, index, bytes));
    if (buffers.back() == nullptr) return kNone;
    contents.push_back(pattern(bytes, static_cast<uint32_t>(bytes)));
    write(buffers.back().get(), 0, contents.back());
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    require_bytes(buffers[i].get(), 0, contents[i], "another buffer's bytes, or none, are");
    for (size_t at = 1, step = 1; at + step < contents[i].size(); at += step * 3, step = step * 2 + 1) {
      const std::vector<uint8_t> piece = pattern(step, static_cast<uint32_t>(at));
      write(buffers[i].get(), at, piece);
      std::copy(piece.begin(), piece.end(), contents[i].begin() + static_cast<std::ptrdiff_t>(at));
      require_bytes(buffers[i].get(), at, piece, "a piece that was written is not");
    }
    require_bytes(buffers[i].get(), 0, contents[i], "writing a piece changed other bytes");
  }
  vireo_buffer* much = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  const vireo_status status = vireo_buffer_create(runtime, index, uint64_t{1} << 60, &much, &error);
  vireo_buffer_release(much);
  if (status != VIREO_OUT_OF_ARENA)
    throw Wrong{"a buffer of 2^60 bytes gave status " + std::to_string(status) + ", not VIREO_OUT_OF_ARENA"};
  return std::to_string(buffers.size()) + " buffers";
}

std::string check_handles(vireo_runtime* runtime, uint32_t index) {
  const Buffer buffer = make(runtime, index, 8192);
  if (buffer == nullptr) return kNone;
  const std::vector<uint8_t> bytes = pattern(8192, 5);
  write(buffer.get(), 0, bytes);
  std::string given;
  for (vireo_handle_kind kind = VIREO_HANDLE_HOST; kind <= VIREO_HANDLE_VULKAN; ++kind) {
    vireo_error error = VIREO_ERROR_INIT;
    vireo_handle handle = VIREO_HANDLE_INIT;
    const vireo_status status = vireo_buffer_export(buffer.get(), kind, &handle, &error);
    if (status == VIREO_UNSUPPORTED) continue;
    must(status, error, "export a handle of kind " + std::to_string(kind));
    if (handle.kind != kind || handle.bytes < bytes.size()) throw Wrong{"a handle says less than its buffer has"};
    if (kind == VIREO_HANDLE_HOST &&
        std::memcmp(reinterpret_cast<const uint8_t*>(handle.value) + handle.offset, bytes.data(), bytes.size()) != 0)
      throw Wrong{"the address that it gives is not the buffer's"};
    if (kind == VIREO_HANDLE_FD) {
      const size_t length = handle.offset + bytes.size();
      void* const p = mmap(nullptr, length, PROT_READ, MAP_SHARED, static_cast<int>(handle.value), 0);
      const bool same = p != MAP_FAILED &&
                        std::memcmp(static_cast<const uint8_t*>(p) + handle.offset, bytes.data(), bytes.size()) == 0;
      if (p != MAP_FAILED) munmap(p, length);
      if (!same) throw Wrong{"the file descriptor that it gives does not map the buffer's bytes"};
    }
    vireo_buffer* again = nullptr;
    const vireo_status imported = vireo_buffer_import(runtime, index, &handle, &again, &error);
    const Buffer owner(again);
    if (kind == VIREO_HANDLE_FD || kind == VIREO_HANDLE_OPAQUE_FD) close(static_cast<int>(handle.value));
    if (imported == VIREO_OK) require_bytes(again, 0, bytes, "an import of its own export has other bytes");
    if (imported != VIREO_OK && imported != VIREO_UNSUPPORTED)
      throw Wrong{std::string("it does not take its own handle back: ") + error.message};
    given += (given.empty() ? "kind " : ", ") + std::to_string(kind);
  }
  vireo_error error = VIREO_ERROR_INIT;
  vireo_handle unknown = VIREO_HANDLE_INIT;
  unknown.kind = 1000000;
  unknown.bytes = 64;
  vireo_buffer* b = nullptr;
  const vireo_status status = vireo_buffer_import(runtime, index, &unknown, &b, &error);
  vireo_buffer_release(b);
  if (status != VIREO_UNSUPPORTED) throw Wrong{"a handle of an unknown kind gave status " + std::to_string(status)};
  return given.empty() ? "left: it exports nothing" : given;
}

std::string check_bound(vireo_runtime* runtime, uint32_t index, const KnownModel& m, const Values& want) {
  vireo_device_info info = VIREO_DEVICE_INFO_INIT;
  vireo_error error = VIREO_ERROR_INIT;
  must(vireo_runtime_device(runtime, index, &info, &error), error, "be described");
  struct Handles {
    vireo_model* model = nullptr;
    vireo_session* session = nullptr;
    ~Handles() {
      vireo_session_release(session);
      vireo_model_release(model);
    }
  } h;
  std::vector<Buffer> buffers;  // behind the session: they are released first
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.failover = VIREO_FAILOVER_NEVER;
  const std::string list = std::string(info.name) + ",cpu";
  options.device = list.c_str();
  must(vireo_model_load_memory(runtime, m.data, m.size, &h.model, &error), error, "load a model");
  must(vireo_session_create(h.model, &options, &h.session, &error), error, "make a session");
  fill_inputs(h.model, h.session, m.integer);
  const uint32_t inputs = vireo_model_input_count(h.model), outputs = vireo_model_output_count(h.model);
  int bound = 0;
  const auto bind = [&](uint32_t i, uint64_t bytes, const void* data, bool output) {
    constexpr uint64_t kOffset = VIREO_BUFFER_ALIGNMENT * 3;
    Buffer b = make(runtime, index, bytes + kOffset);
    if (b == nullptr) return false;
    if (data != nullptr) must(vireo_buffer_write(b.get(), kOffset, data, bytes, &error), error, "write a buffer");
    const vireo_status status = output ? vireo_session_bind_output(h.session, i, b.get(), kOffset, &error)
                                       : vireo_session_bind_input(h.session, i, b.get(), kOffset, &error);
    buffers.push_back(std::move(b));
    if (status == VIREO_UNSUPPORTED) return false;
    must(status, error, "take a bound buffer");
    ++bound;
    return true;
  };
  for (uint32_t i = 0; i < inputs; ++i) {
    vireo_tensor x = {};
    must(vireo_session_input(h.session, i, &x, &error), error, "show an input");
    const std::vector<uint8_t> values(static_cast<const uint8_t*>(x.data),
                                      static_cast<const uint8_t*>(x.data) + x.capacity);
    if (bind(i, static_cast<uint64_t>(x.capacity), values.data(), false))
      std::memset(x.data, 0x5a, static_cast<size_t>(x.capacity));  // must not be what is read
  }
  std::vector<const vireo_buffer*> result(outputs, nullptr);
  for (uint32_t o = 0; o < outputs; ++o) {
    if (bind(o, want[o].size(), nullptr, true)) result[o] = buffers.back().get();
  }
  if (bound == 0) return kNone;
  for (int run = 0; run < 2; ++run) {
    std::vector<vireo_tensor> y(outputs);
    must(vireo_session_run(h.session, nullptr, 0, y.data(), static_cast<uint32_t>(y.size()), &error), error,
         "run on bound buffers");
    Values got = want;
    for (uint32_t o = 0; o < outputs; ++o) {
      if (result[o] != nullptr) {
        must(vireo_buffer_read(result[o], VIREO_BUFFER_ALIGNMENT * 3, got[o].data(), got[o].size(), &error), error,
             "read a bound output");
      } else {
        std::memcpy(got[o].data(), y[o].data, got[o].size());
      }
    }
    require_same(m, info.name, got, want);
  }
  return std::to_string(bound) + " inputs and outputs";
}

}  // namespace vireo::cli
