// One node through the delegate as a session drives it, beside the reference kernels: every input ends at a page that
// must not be touched, state and scratch are of just the size that was asked for. For tests alone.
#ifndef VIREO_DELEGATES_XNNPACK_TESTING_H_
#define VIREO_DELEGATES_XNNPACK_TESTING_H_

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>

#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "delegates/conformance/test_graph.h"
#include "delegates/xnnpack/heap.h"
#include "delegates/xnnpack/xnnpack.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::xnnpack::testing {

// Bytes that end, to within `alignment`, where memory ends.
class Guarded {
 public:
  explicit Guarded(size_t bytes, size_t alignment = 4) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t kept = (bytes + alignment - 1) / alignment * alignment, inner = (kept + page - 1) / page * page;
    total_ = inner + page;
    base_ = static_cast<uint8_t*>(mmap(nullptr, total_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(base_, MAP_FAILED);
    EXPECT_EQ(mprotect(base_ + inner, page, PROT_NONE), 0);
    data_ = base_ + inner - kept;
  }
  ~Guarded() { munmap(base_, total_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  uint8_t* data() const { return data_; }

 private:
  uint8_t* base_;
  uint8_t* data_;
  size_t total_;
};

// A pool of real threads.
class Threads {
 public:
  explicit Threads(int32_t slots) : pool_{run, this, slots} {}
  const vireo_thread_pool* get() const { return pool_.slots > 1 ? &pool_ : nullptr; }

 private:
  static void run(void* self, int64_t count, int64_t grain, void (*task)(void*, int64_t, int64_t, int32_t), void* arg) {
    const int32_t slots = static_cast<Threads*>(self)->pool_.slots;
    std::atomic<int64_t> next{0};
    const auto work = [&](int32_t slot) {
      for (int64_t begin = next.fetch_add(grain); begin < count; begin = next.fetch_add(grain))
        task(arg, begin, std::min(count, begin + grain), slot);
    };
    std::vector<std::thread> threads;
    for (int32_t s = 1; s < slots; ++s) threads.emplace_back(work, s);
    work(0);
    for (std::thread& t : threads) t.join();
  }
  vireo_thread_pool pool_;
};

inline TestTensor reals(uint32_t seed, const std::vector<int64_t>& dims, float low = -1, float high = 1) {
  TestTensor t;
  t.type = {DType::kF32, make_shape(dims)};
  t.bytes.resize(static_cast<size_t>(tensor_bytes(t.type)));
  std::mt19937 rng(seed);
  std::uniform_real_distribution<float> value(low, high);
  for (size_t i = 0; i < t.bytes.size(); i += sizeof(float)) {
    const float v = value(rng);
    std::memcpy(t.bytes.data() + i, &v, sizeof(v));
  }
  return t;
}
inline TestTensor halves(uint32_t seed, const std::vector<int64_t>& dims, float low = -1, float high = 1) {
  const TestTensor from = reals(seed, dims, low, high);
  TestTensor t;
  t.type = {DType::kF16, from.type.shape};
  for (const float v : from.as<float>()) {
    const uint16_t h = f32_to_f16(v);
    t.bytes.push_back(static_cast<uint8_t>(h & 255));
    t.bytes.push_back(static_cast<uint8_t>(h >> 8));
  }
  return t;
}
template <class T>
TestTensor tensor(DType type, const std::vector<int64_t>& dims, const std::vector<T>& values) {
  TestTensor t;
  t.type = {type, make_shape(dims)};
  t.bytes.resize(values.size() * sizeof(T));
  std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
  return t;
}

// XNNPACK is there while its tests run.
class DelegateTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const vireo_host host = test_host();
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    void* device = nullptr;
    ASSERT_EQ(vireo_xnnpack_delegate.enumerate(nullptr, &host, 0, &info, &device), VIREO_OK);
  }
  static void TearDownTestSuite() { vireo_xnnpack_delegate.release(nullptr); }
};

// A graph of one node, or of one composite.
class Case {
 public:
  // An operator whose inputs from `first_constant` on are constants.
  Case(Op op, const std::vector<uint8_t>& attrs, const std::vector<TestTensor>& inputs, size_t first_constant) {
    std::vector<int32_t> numbers;
    for (size_t i = 0; i < inputs.size(); ++i)
      numbers.push_back(inputs[i].type.dtype == DType::kNone ? -1 : add(inputs[i], i >= first_constant));
    (void)node(op, attrs, numbers);
    graph_ = body_;
    for (size_t i = 0; i < first_constant; ++i) inputs_.push_back(numbers[i]);
    for (size_t i = first_constant; i < inputs.size(); ++i) inputs_.push_back(-1);
    wanted_ = graph_->nodes[0].outputs[0];
  }
  // A composite with these inputs; to be filled by node(), constant() and output().
  explicit Case(const std::vector<TestTensor>& inputs) {
    for (const TestTensor& t : inputs) {
      body_->inputs.push_back(add(t, false));
      inputs_.push_back(body_->inputs.back());
    }
  }
  int32_t constant(const TestTensor& t) { return add(t, true); }
  int32_t node(Op op, const std::vector<uint8_t>& attrs, const std::vector<int32_t>& inputs) {
    OpTest reference(op, attrs);
    TestNode n;
    n.name = "case";
    n.op = static_cast<uint16_t>(op);
    n.attrs.assign(attrs.size() / 8 + 1, 0);
    n.attrs_size = attrs.size();
    if (!attrs.empty()) std::memcpy(n.attrs.data(), attrs.data(), attrs.size());
    n.inputs = inputs;
    for (const int32_t i : inputs) {
      if (i < 0) {
        reference.absent();
      } else {
        reference.input(values_[static_cast<size_t>(i)]);
      }
    }
    EXPECT_EQ(reference.run(), Status::kOk) << reference.message();
    n.outputs = {add(reference.y(), false)};
    body_->nodes.push_back(std::move(n));
    return body_->nodes.back().outputs[0];
  }
  void output(int32_t value) {
    wanted_ = value;
    body_->outputs = {value};
    graph_ = std::make_shared<vireo_graph>();
    TestNode n;
    n.name = "composite";
    n.op = static_cast<uint16_t>(Op::kComposite);
    n.attrs = {0};
    n.attrs_size = 8;
    n.body = body_;
    for (const int32_t i : body_->inputs) {
      n.inputs.push_back(static_cast<int32_t>(graph_->values.size()));
      graph_->values.push_back(body_->values[static_cast<size_t>(i)]);
    }
    n.outputs = {static_cast<int32_t>(graph_->values.size())};
    graph_->values.push_back(body_->values[static_cast<size_t>(value)]);
    graph_->nodes.push_back(std::move(n));
  }

  const vireo_graph* graph() const { return graph_.get(); }
  TestValue& value(int32_t number) { return body_->values[static_cast<size_t>(number)]; }

  // Why it is left; "" when it is taken.
  std::string reason() const {
    std::string why = "no answer";
    TestFault fault;
    const vireo_claims claims = test_claims(
        &why,
        [](void* w, const vireo_claim*) -> vireo_status {
          static_cast<std::string*>(w)->clear();
          return VIREO_OK;
        },
        [](void* w, uint32_t, const char* reason) -> vireo_status {
          *static_cast<std::string*>(w) = reason;
          return VIREO_OK;
        },
        &fault);
    const vireo_host host = test_host();
    EXPECT_EQ(vireo_xnnpack_delegate.claim(nullptr, &host, graph_.get(), &claims), VIREO_OK);
    return why;
  }

  // The reference's bits, on one thread and on three.
  void expect_same() const {
    ASSERT_EQ(reason(), "");
    const TestTensor& want = values_[static_cast<size_t>(wanted_)];
    for (const int32_t slots : {1, 3}) {
      const std::vector<uint8_t> got = run(slots, false, /*packs=*/slots == 3);
      ASSERT_EQ(got.size(), want.bytes.size());
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(static_cast<int>(got[i]), static_cast<int>(want.bytes[i]))
            << "byte " << i << ", " << slots << " threads";
      }
    }
  }

  // Within `share` of the largest element, on one thread and, to the bit the same, on three. `in_place`: the output
  // lies on input 0.
  void expect_close(double share, bool in_place = false) const {
    ASSERT_EQ(reason(), "");
    const std::vector<uint8_t> one = run(1, in_place, false), three = run(3, in_place, false);
    EXPECT_EQ(one, three) << "three threads give other bits";
    EXPECT_EQ(one, run(1, in_place, true)) << "weights that the host keeps give other bits";
    const TestTensor& want = values_[static_cast<size_t>(wanted_)];
    TestTensor got = want;
    got.bytes = one;
    const std::vector<float> a = floats(got), b = floats(want);
    double most = 0;
    for (const float v : b) most = std::max(most, std::abs(static_cast<double>(v)));
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], share * most) << "element " << i;
      if (most > 0) worst_ = std::max(worst_, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])) / most);
    }
  }
  // As if extents of its values could vary: prepared for these, then run with the inputs of each of `others`, which are
  // the same graph with the same constants at other extents.
  void expect_close_at(const std::vector<const Case*>& others, double share) {
    for (TestValue& v : body_->values) v.varies = v.constant == nullptr;
    for (TestValue& v : graph_->values) v.varies = v.constant == nullptr;
    ASSERT_EQ(reason(), "");
    const vireo_delegate& d = vireo_xnnpack_delegate;
    const vireo_host host = test_host();
    TestPart part(d, nullptr, host, graph_.get(), 0, TestClaim(), /*packs=*/false);
    vireo_part_memory memory = VIREO_PART_MEMORY_INIT;
    ASSERT_EQ(part.memory(1, &memory), VIREO_OK);
    const Guarded state(memory.state_bytes, 64), scratch(memory.scratch_bytes, 64);
    void* loaded = nullptr;
    ASSERT_EQ(part.load(1, state.data(), &loaded), VIREO_OK);
    for (const Case* other : others) {
      const std::vector<uint8_t> bytes = other->submit(loaded, scratch, memory.scratch_bytes, 1, false);
      const TestTensor& want = other->values_[static_cast<size_t>(other->wanted_)];
      TestTensor got = want;
      got.bytes = bytes;
      const std::vector<float> a = floats(got), b = floats(want);
      for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], share) << "element " << i;
    }
    d.unload(loaded);
  }
  // Of the last expect_close: the largest difference as a share of the largest element.
  double worst() const { return worst_; }

 private:
  static std::vector<float> floats(const TestTensor& t) {
    if (t.type.dtype == DType::kF32) return t.as<float>();
    std::vector<float> values;
    for (size_t i = 0; i < t.bytes.size(); i += 2) values.push_back(f16_to_f32(read_element<uint16_t>(&t.bytes[i], 0)));
    return values;
  }

  std::vector<uint8_t> run(int32_t slots, bool in_place, bool packs) const {
    const vireo_delegate& d = vireo_xnnpack_delegate;
    const vireo_host host = test_host();
    TestPart part(d, nullptr, host, graph_.get(), 0, TestClaim(), packs);
    EXPECT_EQ(part.fault(), "");
    vireo_part_memory memory = VIREO_PART_MEMORY_INIT;
    EXPECT_EQ(part.memory(slots, &memory), VIREO_OK);
    const Guarded state(memory.state_bytes, 64), scratch(memory.scratch_bytes, 64);
    void* loaded = nullptr;
    const size_t before = heap_use().bytes;
    EXPECT_EQ(part.load(slots, state.data(), &loaded), VIREO_OK);
    if (loaded == nullptr) return {};
    EXPECT_EQ(heap_use().bytes, before) << "memory() did not count all that XNNPACK keeps";
    std::vector<uint8_t> result = submit(loaded, scratch, memory.scratch_bytes, slots, in_place);
    d.unload(loaded);
    return result;
  }

  std::vector<uint8_t> submit(void* loaded, const Guarded& scratch, size_t scratch_bytes, int32_t slots,
                              bool in_place) const {
    std::deque<Guarded> blocks;
    std::vector<Tensor> tensors(inputs_.size() + 1);
    std::vector<const vireo_tensor*> in;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Tensor& t = tensors[i];
      in.push_back(reinterpret_cast<const vireo_tensor*>(&t));
      if (inputs_[i] < 0) continue;  // a constant: the delegate has its bytes
      const TestTensor& x = values_[static_cast<size_t>(inputs_[i])];
      blocks.emplace_back(x.bytes.size());
      std::copy(x.bytes.begin(), x.bytes.end(), blocks.back().data());
      static_cast<TensorType&>(t) = x.type;
      t.data = blocks.back().data();
    }
    const TestTensor& want = values_[static_cast<size_t>(wanted_)];
    if (!in_place) blocks.emplace_back(want.bytes.size());
    Tensor& y = tensors.back();
    static_cast<TensorType&>(y) = want.type;
    y.data = in_place ? tensors[0].data : blocks.back().data();
    auto* out = reinterpret_cast<vireo_tensor*>(&y);
    const Threads threads(slots);
    TestFault fault;
    vireo_submit with = VIREO_SUBMIT_INIT;
    with.scratch = scratch.data();
    with.scratch_bytes = scratch_bytes;
    with.threads = threads.get();
    with.fault = &fault;
    const size_t allocations = heap_use().calls;
    EXPECT_EQ(vireo_xnnpack_delegate.submit(loaded, in.data(), static_cast<uint32_t>(in.size()), &out, 1, &with),
              VIREO_OK)
        << fault.text;
    EXPECT_EQ(heap_use().calls, allocations) << "a run allocates";
    const auto* bytes = static_cast<const uint8_t*>(y.data);
    return std::vector<uint8_t>(bytes, bytes + want.bytes.size());
  }

  int32_t add(const TestTensor& t, bool constant) {
    values_.push_back(t);
    const TestTensor& kept = values_.back();
    if (constant) {  // at the end of the file
      constants_.emplace_back(kept.bytes.size());
      if (!kept.bytes.empty()) std::memcpy(constants_.back().data(), kept.bytes.data(), kept.bytes.size());
    }
    body_->values.push_back(
        {t.type, constant ? constants_.back().data() : nullptr, constant ? kept.bytes.size() : 0, false});
    return static_cast<int32_t>(values_.size() - 1);
  }

  std::shared_ptr<vireo_graph> body_ = std::make_shared<vireo_graph>(), graph_;
  std::deque<TestTensor> values_;
  std::deque<Guarded> constants_;
  std::vector<int32_t> inputs_;  // values; -1: a constant
  int32_t wanted_ = -1;
  mutable double worst_ = 0;
};

}  // namespace vireo::xnnpack::testing

#endif  // VIREO_DELEGATES_XNNPACK_TESTING_H_
