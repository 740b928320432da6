// What can go wrong in drivers of streams and graphs, besides what holds for every API (device/faults_testing.h). An
// Api also has kStore and kElsewhere: text of the code that stores the negation of 100 numbers, and the same of another
// place.
#ifndef VIREO_DELEGATES_GPU_STREAM_FAULTS_TESTING_H_
#define VIREO_DELEGATES_GPU_STREAM_FAULTS_TESTING_H_

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "delegates/conformance/test_graph.h"
#include "delegates/gpu/device/faults_testing.h"
#include "delegates/gpu/stream/fake.h"
#include "sdk/ops/unary/unary_generated.h"

namespace vireo::gpu::testing {

// The same numbers in CUDA and HIP.
constexpr int kIllegalAddress = 700, kUncorrectable = 214, kNotSupported = 801;

template <class Api>
class StreamFaults : public GpuFaults<Api> {};

TYPED_TEST_SUITE_P(StreamFaults);

TYPED_TEST_P(StreamFaults, RunsGoThroughStaging) {
  this->start();
  {
    typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
    ASSERT_EQ(s.run(5), VIREO_OK) << s.fault.text;
    ASSERT_EQ(s.run(77), VIREO_OK);
    vireo_telemetry now = VIREO_TELEMETRY_INIT;
    ASSERT_EQ(this->d_->telemetry(this->device_, &now), VIREO_OK);
    EXPECT_GE(now.submits, 2u);
    EXPECT_GE(now.memory_used, 4 * kRoom);
  }
  this->end();
}

// More submits than there are events between them and the card.
TYPED_TEST_P(StreamFaults, ManySubmits) {
  this->start();
  {
    typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
    for (uint32_t i = 0; i < 300; ++i) ASSERT_EQ(s.run(i), VIREO_OK) << s.fault.text;
  }
  this->end();
}

// Each call of the driver fails once, or from then on: then the run is right or says what it lacks, and nothing stays.
TYPED_TEST_P(StreamFaults, AnyCallMayFail) {
  struct Way {
    int result;
    bool for_ever, in_pieces;
  };
  for (const auto& [result, for_ever, in_pieces] : {Way{fake::kOutOfMemory, false, false},
                                                    {kNotSupported, false, false},
                                                    {kIllegalAddress, true, false},
                                                    {kUncorrectable, true, false},
                                                    {fake::kOutOfMemory, false, true},
                                                    {kIllegalAddress, true, true}}) {
    int64_t calls = 0;
    for (int64_t n = -1; n < calls; ++n) {
      SCOPED_TRACE("call " + std::to_string(n) + " gives " + std::to_string(result));
      this->SetUp();
      this->start();
      this->control_->calls = 0;
      this->control_->result = result;
      this->control_->for_ever = for_ever;
      {
        typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
        s.slice_ns = in_pieces ? 1 : 0;
        s.profile = in_pieces ? 1 : 0;
        s.priority = in_pieces ? VIREO_PRIORITY_LOW : VIREO_PRIORITY_NORMAL;
        this->control_->calls = 0;
        this->control_->fail_at = n;
        const vireo_status status = s.run(9);
        this->control_->fail_at = -1;
        if (n < 0) {
          ASSERT_EQ(status, VIREO_OK);
          calls = this->control_->calls;
          ASSERT_GT(calls, 20);
        } else if (for_ever) {
          EXPECT_EQ(status, VIREO_DEVICE_LOST);
          // Whoever holds the lost device keeps it; a session that is made after a reset has another one.
          ASSERT_EQ(this->d_->reset(this->device_), VIREO_OK);
          EXPECT_EQ(this->d_->health(this->device_), VIREO_OK);
          typename TestFixture::Session next(this->d_, this->device_, this->host_.table);
          EXPECT_EQ(next.run(1000), VIREO_OK) << next.fault.text;
        } else {
          EXPECT_TRUE(status == VIREO_OK ||
                      status == (result == fake::kOutOfMemory ? VIREO_OUT_OF_ARENA : VIREO_UNSUPPORTED))
              << status;
          EXPECT_EQ(this->d_->health(this->device_), VIREO_OK);
          EXPECT_EQ(s.run(1000), VIREO_OK) << s.fault.text;  // the next attempt goes well
        }
      }
      this->end();
      if (TestFixture::HasFailure()) return;
    }
  }
}

// A model's file may hold kernels that are valid and write where they like. A card that lets them is not shown them.
// The other tests load without a graph, so there is nothing to compare with.
TYPED_TEST_P(StreamFaults, OnlyWhatCompileMakesOfTheNodesIsLoaded) {
  this->start();
  flatbuffers::FlatBufferBuilder attrs;
  attrs.Finish(attrs::CreateUnary(attrs));
  TestNode negate;
  negate.name = "negate";
  negate.op = static_cast<uint16_t>(Op::kNeg);
  negate.attrs_size = attrs.GetSize();
  negate.attrs.assign(attrs.GetSize() / 8 + 1, 0);
  std::memcpy(negate.attrs.data(), attrs.GetBufferPointer(), attrs.GetSize());
  negate.inputs = {0};
  negate.outputs = {1};
  vireo_graph graph;
  graph.values.resize(2);
  for (TestValue& v : graph.values) {
    v.type.dtype = DType::kF32;
    v.type.shape = make_shape({100});
  }
  graph.nodes.push_back(std::move(negate));

  const vireo_host host = test_host();
  const uint32_t node = 0;
  const int32_t input = 0, output = 1;
  vireo_part part = VIREO_PART_INIT;
  part.nodes = &node;
  part.inputs = &input;
  part.outputs = &output;
  part.node_count = part.input_count = part.output_count = 1;
  Fault fault;
  struct Blob {
    std::vector<uint64_t> words;
    size_t bytes = 0;
  } blob;
  vireo_blob to = VIREO_BLOB_INIT;
  to.context = &blob;
  to.reserve = [](void* made, size_t bytes) -> void* {
    auto& b = *static_cast<Blob*>(made);
    b.bytes = bytes;
    b.words.assign(bytes / 8 + 1, 0);
    return b.words.data();
  };
  to.fault = &fault;
  vireo_compiled found = VIREO_COMPILED_INIT;
  ASSERT_EQ(this->d_->compile(this->device_, &host, &graph, &part, &to, &found), VIREO_OK) << fault.text;

  const auto load = [&](const vireo_graph* shown) {
    vireo_memory_request request = VIREO_MEMORY_REQUEST_INIT;
    request.blob = blob.words.data();
    request.blob_bytes = blob.bytes;
    vireo_part_memory memory = VIREO_PART_MEMORY_INIT;
    EXPECT_EQ(this->d_->memory(this->device_, &host, shown, &part, &request, &memory), VIREO_OK);
    std::vector<std::max_align_t> state(memory.state_bytes / sizeof(std::max_align_t) + 1);
    vireo_load_request with = VIREO_LOAD_REQUEST_INIT;
    with.blob = blob.words.data();
    with.blob_bytes = blob.bytes;
    with.state = state.data();
    with.fault = &fault;
    void* loaded = nullptr;
    const vireo_status status = this->d_->load(this->device_, &host, shown, &part, &with, &loaded);
    if (status == VIREO_OK) this->d_->unload(loaded);
    return status;
  };
  EXPECT_EQ(load(&graph), VIREO_OK) << fault.text;

  auto* const text = reinterpret_cast<char*>(blob.words.data());
  const std::string_view before = TypeParam::kStore, elsewhere = TypeParam::kElsewhere;
  ASSERT_EQ(before.size(), elsewhere.size());
  char* const at = std::search(text, text + blob.bytes, before.begin(), before.end());
  ASSERT_NE(at, text + blob.bytes);
  std::copy(elsewhere.begin(), elsewhere.end(), at);
  EXPECT_EQ(load(nullptr), VIREO_OK) << fault.text;  // nothing but the comparison refuses it
  EXPECT_EQ(load(&graph), VIREO_INVALID_MODEL);
  EXPECT_NE(std::string(fault.text).find("not what this version makes of its nodes"), std::string::npos) << fault.text;
  this->end();
}

// Machine code of a part's kernels goes to the host's cache, and from there into the next process. What is damaged, or
// what the driver does not take, is made once more.
TYPED_TEST_P(StreamFaults, MachineCodeIsKeptForOtherProcesses) {
  struct Kept {
    std::map<std::string, std::vector<uint8_t>> code;
    int puts = 0;
  } kept;
  vireo_cache cache = VIREO_CACHE_INIT;
  cache.context = &kept;
  cache.get = [](void* self, const char* key, size_t* bytes) -> const void* {
    auto& code = static_cast<Kept*>(self)->code;
    const auto found = code.find(key);
    if (found == code.end()) return nullptr;
    *bytes = found->second.size();
    return found->second.data();
  };
  cache.put = [](void* self, const char* key, const void* data, size_t bytes) {
    auto& k = *static_cast<Kept*>(self);
    k.code[key].assign(static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + bytes);
    ++k.puts;
  };
  // How many kernels were compiled, and how often the cache was written.
  const auto process = [&](uint32_t first) {
    kept.puts = 0;
    this->control_->compiled = 0;
    this->start();
    {
      typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
      s.cache = &cache;
      EXPECT_EQ(s.run(first), VIREO_OK) << s.fault.text;
      typename TestFixture::Session beside(this->d_, this->device_, this->host_.table);  // has its kernels there
      beside.cache = &cache;
      EXPECT_EQ(beside.run(first), VIREO_OK) << beside.fault.text;
    }
    this->end();
    return std::pair<int64_t, int>(this->control_->compiled.load(), kept.puts);
  };
  using Counts = std::pair<int64_t, int>;
  EXPECT_EQ(process(1), Counts(1, 1));
  ASSERT_EQ(kept.code.size(), 1u);
  const std::vector<uint8_t> good = kept.code.begin()->second;
  EXPECT_EQ(process(2), Counts(0, 0));
  this->control_->refuses_code = true;
  EXPECT_EQ(process(3), Counts(1, 0));  // the same again
  EXPECT_EQ(process(4), Counts(0, 0));
  std::vector<std::vector<uint8_t>> damaged;
  for (const size_t length : {size_t{0}, size_t{7}, size_t{15}, size_t{16}, good.size() - 1})
    damaged.emplace_back(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
  damaged.push_back(good);
  damaged.back().push_back(0);                // a byte too many
  for (size_t byte = 0; byte < 16; ++byte) {  // the count and the size
    damaged.push_back(good);
    damaged.back()[byte] ^= 0x81;
  }
  for (const std::vector<uint8_t>& one : damaged) {
    kept.code.begin()->second = one;
    EXPECT_EQ(process(5), Counts(1, 1));
    EXPECT_EQ(kept.code.begin()->second, good);
  }
}

TYPED_TEST_P(StreamFaults, AForkDestroysNothingOfItsParents) {
  this->start();
  {
    typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    const int64_t alive = this->control_->alive;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const bool lost = s.submit() == VIREO_DEVICE_LOST;
      this->d_->unload(s.loaded);
      this->d_->buffer_release(this->device_, s.buffer);
      this->d_->release(this->d_->self);
      _exit(lost && this->control_->alive == alive ? 0 : 1);
    }
    int ended = 0;
    ASSERT_EQ(waitpid(child, &ended, 0), child);
    EXPECT_TRUE(WIFEXITED(ended) && WEXITSTATUS(ended) == 0) << ended;
  }
  this->end();
}

REGISTER_TYPED_TEST_SUITE_P(StreamFaults, RunsGoThroughStaging, ManySubmits, AnyCallMayFail,
                            OnlyWhatCompileMakesOfTheNodesIsLoaded, MachineCodeIsKeptForOtherProcesses,
                            AForkDestroysNothingOfItsParents);

}  // namespace vireo::gpu::testing

#endif  // VIREO_DELEGATES_GPU_STREAM_FAULTS_TESTING_H_
