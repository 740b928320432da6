// One node through the delegate as a session drives it, beside the reference kernel. For tests alone.
#ifndef VIREO_DELEGATES_CPU_OPS_TESTING_H_
#define VIREO_DELEGATES_CPU_OPS_TESTING_H_

#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "delegates/conformance/test_graph.h"
#include "delegates/cpu/cpu.h"
#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/half.h"

// Tests of another delegate name theirs.
#ifndef VIREO_TESTED_DELEGATE
#define VIREO_TESTED_DELEGATE vireo_cpu_delegate
#endif
extern "C" const vireo_delegate VIREO_TESTED_DELEGATE;

namespace vireo {

// The way that the delegate names first for a graph of one node; what else it offers is conformance's matter.
inline TestClaim first_claim(const vireo_host& host, const vireo_graph* graph) {
  TestClaim first;
  TestFault fault;
  const vireo_claims claims = test_claims(
      &first,
      [](void* context, const vireo_claim* claim) -> vireo_status {
        auto& kept = *static_cast<TestClaim*>(context);
        if (kept.kernel.empty()) kept = TestClaim(*claim);
        return VIREO_OK;
      },
      [](void*, uint32_t, const char*) -> vireo_status { return VIREO_OK; }, &fault);
  EXPECT_EQ(VIREO_TESTED_DELEGATE.claim(nullptr, &host, graph, &claims), VIREO_OK) << fault.text;
  return first;
}

inline vireo_tensor* as_c(Tensor* t) { return reinterpret_cast<vireo_tensor*>(t); }

inline TestNode test_node(Op op, const std::vector<uint8_t>& attrs) {
  TestNode n;
  n.name = "case";
  n.op = static_cast<uint16_t>(op);
  n.attrs.assign(attrs.size() / 8 + 1, 0);
  n.attrs_size = attrs.size();
  if (!attrs.empty()) std::memcpy(n.attrs.data(), attrs.data(), attrs.size());
  return n;
}

// A pool that hands pieces to its slots by turns, on the caller's thread: each gets some.
class Turns {
 public:
  explicit Turns(int32_t slots) : slots_(slots) {}
  Parallel parallel() { return {run, this, slots_}; }

 private:
  static void run(void* pool, int64_t count, int64_t grain, Parallel::Task task, void* arg) {
    const int32_t slots = static_cast<Turns*>(pool)->slots_;
    for (int64_t begin = 0; begin < count; begin += grain)
      task(arg, begin, std::min(begin + grain, count), static_cast<int32_t>(begin / grain % slots));
  }
  int32_t slots_;
};

// A graph of one node, the node's inputs (kNone: absent) and what its outputs should be.
class NodeCase {
 public:
  // The bytes of all outputs, computed by the kernel of this name.
  std::vector<std::vector<uint8_t>> run(const std::string& kernel, int32_t slots, bool packs = false) {
    std::vector<std::vector<uint8_t>> out;
    EXPECT_TRUE(ok(status_)) << message_;
    const vireo_delegate& d = VIREO_TESTED_DELEGATE;
    const vireo_host host = test_host();
    const TestClaim c = first_claim(host, &graph_);
    EXPECT_EQ(c.kernel, kernel) << c.reason;
    if (!ok(status_) || c.kernel != kernel) return out;
    TestPart part(d, nullptr, host, &graph_, 0, c, packs);
    vireo_part_memory memory = VIREO_PART_MEMORY_INIT;
    EXPECT_EQ(part.memory(slots, &memory), VIREO_OK);
    EXPECT_EQ(part.fault(), "");
    cpu::testing::Scratch state(memory.state_bytes), scratch(memory.scratch_bytes);
    void* loaded = nullptr;
    EXPECT_EQ(part.load(slots, state.data(), &loaded), VIREO_OK) << part.message();
    std::vector<Tensor> in(inputs_.size()), y(graph_.nodes[0].outputs.size());
    std::vector<const vireo_tensor*> in_c;
    std::vector<vireo_tensor*> y_c;
    for (size_t i = 0; i < in.size(); ++i) {
      static_cast<TensorType&>(in[i]) = inputs_[i].type;
      in[i].data = inputs_[i].bytes.data();
      in[i].capacity = static_cast<int64_t>(inputs_[i].bytes.size());
      in_c.push_back(inputs_[i].type.dtype == DType::kNone ? nullptr : as_c(&in[i]));
    }
    for (size_t o = 0; o < y.size(); ++o) {
      const TestTensor& want = wanted_[o];
      out.emplace_back(want.bytes.size(), 0xA5);
      static_cast<TensorType&>(y[o]) = want.type;
      y[o].data = out.back().data();
      y[o].capacity = static_cast<int64_t>(out.back().size());
      y_c.push_back(as_c(&y[o]));
    }
    cpu::testing::Threads threads(slots);
    Turns turns(slots);
    const Parallel p = by_turns_ ? turns.parallel() : threads.parallel();
    const vireo_thread_pool pool = {p.run, p.pool, slots};
    TestFault fault;
    vireo_submit with = VIREO_SUBMIT_INIT;
    with.scratch = scratch.data();
    with.scratch_bytes = memory.scratch_bytes;
    with.threads = slots > 1 ? &pool : nullptr;
    with.fault = &fault;
    EXPECT_EQ(d.submit(loaded, in_c.data(), static_cast<uint32_t>(in_c.size()), y_c.data(),
                       static_cast<uint32_t>(y_c.size()), &with),
              answer_)
        << fault.text;
    d.unload(loaded);
    jobs_ = threads.jobs();
    return out;
  }
  // What constant `index` that the kernel reads packed is known by; all 0: there is none.
  vireo_packed packs_as(uint32_t index) {
    const vireo_host host = test_host();
    const TestPart part(VIREO_TESTED_DELEGATE, nullptr, host, &graph_, 0, first_claim(host, &graph_), /*packs=*/true);
    vireo_packed what = VIREO_PACKED_INIT;
    (void)part.pack(index, &what);
    return what;
  }
  // Given to the run, no constant.
  NodeCase& varies(size_t input) {
    TestValue& v = graph_.values[static_cast<size_t>(graph_.nodes[0].inputs[input])];
    v.constant = nullptr;
    v.constant_size = 0;
    return *this;
  }
  // The reverse: a constant of the graph.
  NodeCase& is_constant(size_t input) {
    TestValue& v = graph_.values[static_cast<size_t>(graph_.nodes[0].inputs[input])];
    v.constant = inputs_[input].bytes.data();
    v.constant_size = inputs_[input].bytes.size();
    return *this;
  }
  // Planned as it is, run as `less` is: inputs that differ in type have shapes that vary up to those planned, and so
  // have all results.
  NodeCase& runs_as(const NodeCase& less) {
    TestNode& n = graph_.nodes[0];
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].type == less.inputs_[i].type) continue;
      varies(i);
      graph_.values[static_cast<size_t>(n.inputs[i])].varies = true;
      if (n.body != nullptr) n.body->values[static_cast<size_t>(n.body->inputs[i])].varies = true;
    }
    for (const int32_t y : n.outputs) graph_.values[static_cast<size_t>(y)].varies = true;
    for (size_t k = 0; n.body != nullptr && k < n.body->nodes.size(); ++k) {
      for (const int32_t y : n.body->nodes[k].outputs) n.body->values[static_cast<size_t>(y)].varies = true;
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      inputs_[i].type = less.inputs_[i].type;
      inputs_[i].bytes.assign(less.inputs_[i].bytes.begin(), less.inputs_[i].bytes.end());  // of one size: as it lies
    }
    wanted_ = less.wanted_;
    return *this;
  }
  // Another value of a run's input, of the same type.
  NodeCase& gives(size_t input, const TestTensor& value) {
    inputs_[input].bytes.assign(value.bytes.begin(), value.bytes.end());
    return varies(input);
  }
  NodeCase& by_turns() {
    by_turns_ = true;
    return *this;
  }
  NodeCase& fails_with(vireo_status answer) {
    answer_ = answer;
    return *this;
  }
  // How often the last run() gave work to threads.
  int jobs() const { return jobs_; }

  void expect_same_bits(const std::string& kernel, int32_t slots = 1) {
    for (const bool packs : {false, true}) expect_same_bits(run(kernel, slots, packs));
  }

  // |d| <= share of the largest element; the arithmetic is the same but for the order of float32 sums. Constants as
  // they lie, and packed where the kernel packs them.
  void expect_close(const std::string& kernel, double share, int32_t slots = 1) {
    for (const bool packs : {false, true}) expect_close(run(kernel, slots, packs), share);
  }

  // No fused kernel takes it.
  void expect_left() {
    ASSERT_TRUE(ok(status_)) << message_;
    const vireo_host host = test_host();
    EXPECT_EQ(first_claim(host, &graph_).kernel, "");
  }

 protected:
  void expect_same_bits(const std::vector<std::vector<uint8_t>>& got) {
    for (size_t o = 0; o < got.size(); ++o) {
      const std::vector<uint8_t>& want = wanted_[o].bytes;
      size_t at = 0;
      while (at < want.size() && want[at] == got[o][at]) ++at;
      ASSERT_EQ(at, want.size()) << "output " << o << " differs at byte " << at;
    }
  }

  void expect_close(const std::vector<std::vector<uint8_t>>& got, double share) {
    for (size_t o = 0; o < got.size(); ++o) {
      const TestTensor& want = wanted_[o];
      TestTensor mine = want;
      mine.bytes = got[o];
      const bool half = want.type.dtype == DType::kF16 || want.type.dtype == DType::kBF16;
      const std::vector<float> a = half ? widened(mine) : mine.as<float>(), b = half ? widened(want) : want.as<float>();
      double most = 0;
      for (const float v : b) most = std::max(most, std::abs(static_cast<double>(v)));
      for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], share * most) << "output " << o << " element " << i;
    }
  }

  static std::vector<float> widened(const TestTensor& t) {
    std::vector<float> out;
    for (const uint16_t v : t.as<uint16_t>())
      out.push_back(t.type.dtype == DType::kBF16 ? bf16_to_f32(v) : f16_to_f32(v));
    return out;
  }

  std::vector<TestTensor> inputs_, wanted_;
  vireo_graph graph_;
  Status status_ = Status::kOk;
  std::string message_;
  int jobs_ = 0;
  bool by_turns_ = false;
  vireo_status answer_ = VIREO_OK;  // that the run is to give
};

// An operator, and what the reference makes of its inputs.
class Case : public NodeCase {
 public:
  Case(Op op, std::vector<uint8_t> attrs, std::vector<TestTensor> inputs, int outputs = 1) {
    inputs_ = std::move(inputs);
    OpTest reference(op, attrs);
    TestNode n = test_node(op, attrs);
    for (const TestTensor& t : inputs_) {
      if (t.type.dtype == DType::kNone) {
        reference.absent();
        n.inputs.push_back(-1);
        continue;
      }
      reference.input(t);
      n.inputs.push_back(static_cast<int32_t>(graph_.values.size()));
      graph_.values.push_back({t.type, t.bytes.data(), t.bytes.size()});
    }
    reference.outputs(outputs);
    status_ = reference.run();
    message_ = reference.message();
    for (int o = 0; ok(status_) && o < outputs; ++o) {
      wanted_.push_back(reference.y(o));
      n.outputs.push_back(static_cast<int32_t>(graph_.values.size()));
      graph_.values.push_back({reference.y(o).type, nullptr, 0});
    }
    graph_.nodes.push_back(std::move(n));
  }
};

// A composite, and what the reference makes of its body, node by node. Values of the body have numbers: the inputs the
// first ones, then each constant and each result as it comes.
class Composite : public NodeCase {
 public:
  explicit Composite(std::vector<TestTensor> inputs) {
    inputs_ = std::move(inputs);
    graph_.nodes.push_back(test_node(Op::kComposite, {}));
    body_ = graph_.nodes[0].body = std::make_shared<vireo_graph>();
    for (const TestTensor& t : inputs_) {
      body_->inputs.push_back(add(t, false));
      graph_.nodes[0].inputs.push_back(static_cast<int32_t>(graph_.values.size()));
      graph_.values.push_back({t.type, nullptr, 0});
    }
  }
  int32_t constant(const TestTensor& t) { return add(t, true); }
  // The number of its first result; the others follow. An input of -1 is absent.
  int32_t node(Op op, const std::vector<uint8_t>& attrs, const std::vector<int32_t>& inputs, int outputs = 1) {
    OpTest reference(op, attrs);
    TestNode n = test_node(op, attrs);
    n.inputs = inputs;
    for (const int32_t i : inputs) {
      if (i < 0) {
        reference.absent();
      } else {
        reference.input(values_[static_cast<size_t>(i)]);
      }
    }
    reference.outputs(outputs);
    const Status status = reference.run();
    if (ok(status_) && !ok(status)) message_ = reference.message();
    if (!ok(status)) status_ = status;
    const auto first = static_cast<int32_t>(values_.size());
    for (int o = 0; o < outputs; ++o) n.outputs.push_back(add(ok(status) ? reference.y(o) : TestTensor(), false));
    body_->nodes.push_back(std::move(n));
    return first;
  }
  // The composite's results.
  void outputs(const std::vector<int32_t>& values) {
    body_->outputs = values;
    for (const int32_t v : values) {
      wanted_.push_back(values_[static_cast<size_t>(v)]);
      graph_.nodes[0].outputs.push_back(static_cast<int32_t>(graph_.values.size()));
      graph_.values.push_back({wanted_.back().type, nullptr, 0});
    }
  }

 private:
  int32_t add(const TestTensor& t, bool constant) {
    values_.push_back(t);
    const TestTensor& kept = values_.back();
    body_->values.push_back({t.type, constant ? kept.bytes.data() : nullptr, constant ? kept.bytes.size() : 0});
    return static_cast<int32_t>(values_.size() - 1);
  }

  std::shared_ptr<vireo_graph> body_;
  std::deque<TestTensor> values_;  // their addresses stay
};

// Random tensors.
class Values {
 public:
  explicit Values(uint32_t seed) : rng_(seed) {}
  TestTensor bytes(DType type, const std::vector<int64_t>& dims) {
    TestTensor t = empty(type, dims);
    for (uint8_t& v : t.bytes) v = static_cast<uint8_t>(rng_() % 6 == 0 ? (rng_() % 2 ? 255 : 128) : rng_());
    return t;
  }
  TestTensor integers(const std::vector<int64_t>& dims, int32_t most) {
    TestTensor t = empty(DType::kI32, dims);
    std::uniform_int_distribution<int32_t> value(-most, most);
    return fill<int32_t>(t, [&] { return value(rng_); });
  }
  TestTensor reals(const std::vector<int64_t>& dims, float low, float high) {
    TestTensor t = empty(DType::kF32, dims);
    return fill<float>(t, [&] { return cpu::testing::uniform(rng_, low, high); });
  }
  TestTensor halves(const std::vector<int64_t>& dims, float low, float high) {
    TestTensor t = empty(DType::kF16, dims);
    return fill<uint16_t>(t, [&] { return f32_to_f16(cpu::testing::uniform(rng_, low, high)); });
  }

 private:
  static TestTensor empty(DType type, const std::vector<int64_t>& dims) {
    TestTensor t;
    t.type = {type, make_shape(dims)};
    t.bytes.resize(static_cast<size_t>(tensor_bytes(t.type)));
    return t;
  }
  template <class T, class F>
  static TestTensor fill(TestTensor t, const F& next) {
    for (size_t i = 0; i < t.bytes.size() / sizeof(T); ++i) {
      const T v = next();
      std::memcpy(t.bytes.data() + i * sizeof(T), &v, sizeof(T));
    }
    return t;
  }
  std::mt19937 rng_;
};

inline const TestTensor kAbsent;

inline DType byte_type(int bit) { return bit != 0 ? DType::kI8 : DType::kU8; }

}  // namespace vireo

#endif  // VIREO_DELEGATES_CPU_OPS_TESTING_H_
