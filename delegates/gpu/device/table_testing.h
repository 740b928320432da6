// Tests of a delegate's table: a host, and a part on one device.
#ifndef VIREO_DELEGATES_GPU_DEVICE_TABLE_TESTING_H_
#define VIREO_DELEGATES_GPU_DEVICE_TABLE_TESTING_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "delegates/gpu/device/testing.h"
#include "vireo/delegate.h"

namespace vireo::gpu::testing {

// The host's side, which counts what it lends.
struct Host {
  std::string log;
  std::atomic<int64_t> lent{0};
  vireo_host table = VIREO_HOST_INIT;

  Host() {
    table.abi = VIREO_DELEGATE_ABI;
    table.context = this;
    table.log = [](void* self, vireo_log_level, const char* text) { (static_cast<Host*>(self)->log += text) += "\n"; };
    table.allocate = [](void* self, size_t bytes, size_t alignment) {
      ++static_cast<Host*>(self)->lent;
      return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    };
    table.release = [](void* self, void* memory, size_t, size_t) {
      --static_cast<Host*>(self)->lent;
      std::free(memory);
    };
  }
};

struct Fault : vireo_fault {
  char text[512] = "";
  Fault() : vireo_fault(VIREO_FAULT_INIT) {
    message = static_cast<char*>(text);
    message_bytes = sizeof(text);
  }
};

// One device with a buffer, and a part that adds `kDepth` to each of kCount integers.
constexpr uint32_t kCount = 100, kDepth = 3;
constexpr uint64_t kBytes = kCount * 4, kRoom = 512;

struct Session {
  const vireo_delegate& d;
  void* device;
  const vireo_host& host;
  std::vector<uint64_t> blob;
  size_t blob_bytes = 0;
  std::vector<std::max_align_t> state;
  void* buffer = nullptr;
  void* loaded = nullptr;
  Fault fault;
  vireo_math math = VIREO_MATH_EXACT;
  vireo_priority priority = VIREO_PRIORITY_NORMAL;
  uint64_t slice_ns = 0;
  uint32_t profile = 0;
  const vireo_cache* cache = nullptr;

  // The part is compiled for `target`.
  Session(const vireo_delegate* delegate, void* on, const vireo_host& with, const Target& target)
      : d(*delegate), device(on), host(with) {
    const std::vector<uint8_t> bytes = write_schedule(add_schedule(target, kCount, kDepth));
    blob_bytes = bytes.size();
    blob.resize(blob_bytes / 8 + 1);
    std::memcpy(blob.data(), bytes.data(), blob_bytes);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (loaded != nullptr) d.unload(loaded);
    if (buffer != nullptr) d.buffer_release(device, buffer);
  }

  vireo_status create() { return d.buffer_create(device, &host, 4 * kRoom, &buffer); }
  vireo_status load() {
    const uint32_t node = 0;
    vireo_part part = VIREO_PART_INIT;
    part.nodes = &node;
    part.node_count = part.input_count = part.output_count = 1;
    part.math = math;
    vireo_memory_request request = VIREO_MEMORY_REQUEST_INIT;
    request.blob = blob.data();
    request.blob_bytes = blob_bytes;
    vireo_part_memory memory = VIREO_PART_MEMORY_INIT;
    if (const vireo_status status = d.memory(device, &host, nullptr, &part, &request, &memory); status != VIREO_OK)
      return status;
    EXPECT_EQ(memory.device_scratch_bytes, 2 * kRoom);
    state.resize(memory.state_bytes / sizeof(std::max_align_t) + 1);
    vireo_place scratch = VIREO_PLACE_INIT;
    scratch.buffer = buffer;
    scratch.offset = 2 * kRoom;
    vireo_load_request with = VIREO_LOAD_REQUEST_INIT;
    with.blob = blob.data();
    with.blob_bytes = blob_bytes;
    with.state = state.data();
    with.scratch_at = &scratch;
    with.fault = &fault;
    with.priority = priority;
    with.slice_ns = slice_ns;
    with.profile = profile;
    with.cache = cache;
    return d.load(device, &host, nullptr, &part, &with, &loaded);
  }
  vireo_status bind(void* at, uint64_t from = 0, uint64_t to = kRoom) const {
    vireo_place x = VIREO_PLACE_INIT, y = VIREO_PLACE_INIT;
    x.buffer = y.buffer = at;
    x.offset = from;
    y.offset = to;
    const vireo_place *in = &x, *out = &y;
    return d.bind(loaded, &in, &out);
  }
  vireo_status write(void* at, uint32_t first) const {
    std::vector<uint32_t> x(kCount);
    std::iota(x.begin(), x.end(), first);
    return d.buffer_write(device, at, 0, x.data(), kBytes);
  }
  vireo_status submit() {
    const vireo_tensor* x = nullptr;
    vireo_tensor* y = nullptr;
    vireo_submit with = VIREO_SUBMIT_INIT;
    with.fault = &fault;
    return d.submit(loaded, &x, 1, &y, 1, &with);
  }
  vireo_status wait(uint64_t ns = 10'000'000'000) const { return d.wait(loaded, ns); }
  vireo_status check(void* at, uint32_t first, uint64_t from = kRoom) const {
    std::vector<uint32_t> y(kCount), expected(kCount);
    std::iota(expected.begin(), expected.end(), first + kDepth);
    const vireo_status status = d.buffer_read(device, at, from, y.data(), kBytes);
    if (status == VIREO_OK) {
      EXPECT_EQ(y, expected);
    }
    return status;
  }
  uint64_t submits() const {
    vireo_telemetry now = VIREO_TELEMETRY_INIT;
    EXPECT_EQ(d.telemetry(device, &now), VIREO_OK);
    return now.submits;
  }
  // What each launch of the last run took, in ns; none where the device does not tell.
  std::vector<uint64_t> times() const {
    std::vector<uint64_t> out;
    const auto take = [](void* context, const vireo_timeline_entry* entry) {
      EXPECT_EQ(entry->node, 0u);
      EXPECT_STREQ(entry->kernel, "add");
      static_cast<std::vector<uint64_t>*>(context)->push_back(entry->end_ns - entry->begin_ns);
    };
    const vireo_status status = d.timeline(loaded, &out, take);
    EXPECT_EQ(status, out.empty() ? VIREO_UNSUPPORTED : VIREO_OK);
    return out;
  }
  // How many submits a run takes, without those of its copies.
  uint64_t run_counted() {
    const uint64_t before = submits();
    EXPECT_EQ(submit(), VIREO_OK) << fault.text;
    EXPECT_EQ(wait(), VIREO_OK);
    return submits() - before;
  }
  // A whole run; the first status that is not OK.
  vireo_status run(uint32_t first) {
    vireo_status status = VIREO_OK;
    const auto next = [&status](const std::function<vireo_status()>& call) {
      if (status == VIREO_OK) status = call();
    };
    next([&] { return buffer != nullptr ? vireo_status{VIREO_OK} : create(); });
    next([&] { return loaded != nullptr ? vireo_status{VIREO_OK} : load(); });
    next([&] { return write(buffer, first); });
    next([&] { return bind(buffer); });
    next([&] { return submit(); });
    next([&] { return wait(); });
    next([&] { return check(buffer, first); });
    return status;
  }
};

}  // namespace vireo::gpu::testing

#endif  // VIREO_DELEGATES_GPU_DEVICE_TABLE_TESTING_H_
