#include "delegates/conformance/conformance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <thread>

#include "delegates/conformance/joined_part.h"
#include "delegates/conformance/test_graph.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/matmul/matmul_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/shared/window.h"
#include "sdk/ops/softmax/softmax_generated.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"

namespace vireo {
namespace {

constexpr uint8_t kPaint = 0xC3;
constexpr size_t kGuard = 64;

struct Case {
  std::string name;
  Op op;
  std::vector<uint8_t> attrs;
  std::vector<std::vector<int64_t>> inputs;  // float32, uniform in [-1, 1]
  // Largest |d| / max|ref|: the length of the sums times half a unit in the last place, and a few units for functions.
  double tolerance;
  bool weights = false;  // inputs but the first are constants
};

std::vector<Case> cases() {
  std::vector<Case> list;
  const auto add = [&](std::string name, Op op, std::vector<uint8_t> attrs, std::vector<std::vector<int64_t>> inputs,
                       double tolerance) {
    list.push_back({std::move(name), op, std::move(attrs), std::move(inputs), tolerance});
  };
  constexpr double kUnit = 1.0 / (1 << 24);
  const std::vector<uint8_t> unary = pack<attrs::Unary>(attrs::UnaryT{});
  for (const auto& [name, op] : {std::pair{"Relu", Op::kRelu},
                                 {"Sigmoid", Op::kSigmoid},
                                 {"Tanh", Op::kTanh},
                                 {"Exp", Op::kExp},
                                 {"Erf", Op::kErf},
                                 {"Abs", Op::kAbs},
                                 {"HardSwish", Op::kHardSwish}}) {
    add(std::string(name) + " 1", op, unary, {{1}}, 16 * kUnit);
    add(std::string(name) + " 3x37", op, unary, {{3, 37}}, 16 * kUnit);
    add(std::string(name) + " empty", op, unary, {{0, 4}}, 0);
  }
  const std::vector<uint8_t> binary = pack<attrs::Binary>(attrs::BinaryT{});
  for (const auto& [name, op] : {std::pair{"Add", Op::kAdd}, {"Sub", Op::kSub}, {"Mul", Op::kMul}, {"Div", Op::kDiv}}) {
    add(std::string(name) + " same", op, binary, {{2, 3, 17}, {2, 3, 17}}, 2 * kUnit);
    add(std::string(name) + " row", op, binary, {{5, 33}, {33}}, 2 * kUnit);
    add(std::string(name) + " channel", op, binary, {{2, 6, 5, 7}, {1, 6, 1, 1}}, 2 * kUnit);
    add(std::string(name) + " both ways", op, binary, {{4, 1, 3}, {1, 5, 1}}, 2 * kUnit);
  }
  for (const int64_t k : {1, 7, 64, 129}) {
    const double sums = 2 * static_cast<double>(k + 2) * kUnit * 8;
    add("MatMul k=" + std::to_string(k), Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), {{2, 13, k}, {k, 33}},
        sums);
    attrs::GemmT g;
    g.trans_b = true;
    add("Gemm k=" + std::to_string(k), Op::kGemm, pack<attrs::Gemm>(g), {{9, k}, {17, k}, {17}}, sums);
  }
  attrs::ConvT conv;
  conv.pads = {1, 1, 1, 1};
  add("Conv 3x3", Op::kConv, pack<attrs::Conv>(conv), {{1, 5, 9, 11}, {8, 5, 3, 3}, {8}}, 47 * 16 * kUnit);
  conv.strides = {2, 2};
  add("Conv 3x3 stride 2", Op::kConv, pack<attrs::Conv>(conv), {{2, 3, 13, 10}, {16, 3, 3, 3}, {16}}, 29 * 16 * kUnit);
  conv.group = 6;
  add("Conv depthwise", Op::kConv, pack<attrs::Conv>(conv), {{1, 6, 14, 9}, {6, 1, 3, 3}, {6}}, 11 * 16 * kUnit);
  attrs::ConvT point;
  add("Conv 1x1", Op::kConv, pack<attrs::Conv>(point), {{1, 20, 7, 7}, {12, 20, 1, 1}}, 22 * 16 * kUnit);
  attrs::PoolT pool;
  pool.kernel_shape = {3, 3};
  pool.strides = {2, 2};
  pool.pads = {1, 1, 1, 1};
  add("MaxPool", Op::kMaxPool, pack<attrs::Pool>(pool), {{1, 4, 9, 12}}, 0);
  add("AveragePool", Op::kAveragePool, pack<attrs::Pool>(pool), {{1, 4, 9, 12}}, 16 * kUnit);
  // Channels last, and with weights that a device may keep in a layout of its own.
  conv.layout = point.layout = pool.layout = static_cast<uint8_t>(Layout::kNhwc);
  add("AveragePool, channels last", Op::kAveragePool, pack<attrs::Pool>(pool), {{1, 9, 12, 20}}, 16 * kUnit);
  add("MaxPool, channels last", Op::kMaxPool, pack<attrs::Pool>(pool), {{1, 9, 12, 20}}, 0);
  const auto add_weighted = [&](std::string name, Op op, std::vector<uint8_t> attrs,
                                std::vector<std::vector<int64_t>> inputs, double tolerance) {
    add(std::move(name), op, std::move(attrs), std::move(inputs), tolerance);
    list.back().weights = true;
  };
  add_weighted("Conv depthwise, channels last", Op::kConv, pack<attrs::Conv>(conv), {{1, 14, 9, 6}, {6, 1, 3, 3}, {6}},
               11 * 16 * kUnit);
  conv.group = 1;
  add_weighted("Conv 3x3 stride 2, channels last", Op::kConv, pack<attrs::Conv>(conv),
               {{2, 13, 10, 3}, {16, 3, 3, 3}, {16}}, 29 * 16 * kUnit);
  add_weighted("Conv 1x1, channels last", Op::kConv, pack<attrs::Conv>(point), {{1, 7, 7, 20}, {12, 20, 1, 1}},
               22 * 16 * kUnit);
  add_weighted("MatMul with weights", Op::kMatMul, pack<attrs::MatMul>(attrs::MatMulT{}), {{2, 13, 64}, {64, 33}},
               2 * 66 * 8 * kUnit);
  attrs::SoftmaxT softmax;
  add("Softmax of 20", Op::kSoftmax, pack<attrs::Softmax>(softmax), {{3, 4, 20}}, 64 * kUnit);
  add("Softmax last", Op::kSoftmax, pack<attrs::Softmax>(softmax), {{3, 4, 19}}, 64 * kUnit);
  softmax.axis = 1;
  add("Softmax middle", Op::kSoftmax, pack<attrs::Softmax>(softmax), {{3, 4, 19}}, 64 * kUnit);
  attrs::TransposeT transpose;
  transpose.perm = {2, 0, 1};
  add("Transpose", Op::kTranspose, pack<attrs::Transpose>(transpose), {{3, 5, 18}}, 0);
  return list;
}

struct AlignedFree {
  void operator()(uint8_t* p) const { ::operator delete[](p, std::align_val_t{64}); }
};
class Block {
 public:
  explicit Block(size_t bytes)
      : bytes_(bytes), p_(static_cast<uint8_t*>(::operator new[](bytes + kGuard, std::align_val_t{64}))) {
    std::memset(p_.get(), kPaint, bytes + kGuard);
  }
  uint8_t* data() const { return p_.get(); }
  bool intact() const {
    return std::all_of(p_.get() + bytes_, p_.get() + bytes_ + kGuard, [](uint8_t b) { return b == kPaint; });
  }

 private:
  size_t bytes_;
  std::unique_ptr<uint8_t[], AlignedFree> p_;
};

void run_serially(void* pool, int64_t count, int64_t grain, void (*task)(void*, int64_t, int64_t, int32_t), void* arg) {
  const int64_t slots = *static_cast<int32_t*>(pool);
  const int64_t chunk = std::max<int64_t>(grain, (count + slots - 1) / slots);
  int32_t slot = 0;
  for (int64_t begin = 0; begin < count; begin += chunk) task(arg, begin, std::min(count, begin + chunk), slot++);
}

// Which nodes were taken, and the reasons of the others.
struct Answers {
  std::vector<int> left;
  std::vector<bool> taken;
  std::vector<std::string> reasons;
  std::vector<std::vector<TestClaim>> ways;  // all in which a node was taken
};
vireo_status take(void* context, const vireo_claim* claim) {
  auto& a = *static_cast<Answers*>(context);
  if (claim->struct_size < sizeof(*claim) || claim->node >= a.taken.size()) return VIREO_INVALID_ARGUMENT;
  a.taken[claim->node] = true;
  a.ways[claim->node].emplace_back(*claim);
  return VIREO_OK;
}
vireo_status leave(void* context, uint32_t node, const char* reason) {
  auto& a = *static_cast<Answers*>(context);
  if (node >= a.left.size()) return VIREO_INVALID_ARGUMENT;
  ++a.left[node];
  a.reasons[node] = reason == nullptr ? "" : reason;
  return VIREO_OK;
}

// A case with its inputs and the reference answer.
struct Prepared {
  Case test;
  std::vector<TestTensor> inputs;
  std::vector<uint8_t> expected;
  TensorType type;
};

class Suite {
 public:
  Suite(const vireo_delegate& delegate, const std::vector<Exclusion>& exclusions, ConformanceResult* result)
      : d_(delegate), exclusions_(exclusions), r_(*result), host_(test_host()) {}

  void run() {
    if (!check_table()) return;
    prepare();
    for (uint32_t i = 0;; ++i) {
      vireo_device_info info = VIREO_DEVICE_INFO_INIT;
      void* device = nullptr;
      if (d_.enumerate(d_.self, &host_, i, &info, &device) != VIREO_OK) break;
      if (i >= 64) return fail("enumerate", "does not end");
      if (info.name == nullptr || info.name[0] == 0) fail("enumerate", "a device without a name");
      if (d_.health(device) != VIREO_OK) fail("health", "a device that was just enumerated is not healthy");
      on_device(device);
    }
  }

 private:
  void fail(const std::string& where, const std::string& what) { r_.failures.push_back(where + ": " + what); }

  bool check_table() {
    const bool whole = d_.abi == VIREO_DELEGATE_ABI && d_.struct_size >= sizeof(vireo_delegate) && d_.name != nullptr &&
                       d_.enumerate != nullptr && d_.claim != nullptr && d_.memory != nullptr && d_.load != nullptr &&
                       d_.submit != nullptr && d_.unload != nullptr && d_.health != nullptr && d_.release != nullptr;
    if (!whole) fail("table", "another ABI, or a function is missing");
    return whole;
  }

  void prepare() {
    std::mt19937 rng(11);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (Case& c : cases()) {
      Prepared p;
      OpTest reference(c.op, c.attrs);
      for (const std::vector<int64_t>& dims : c.inputs) {
        std::vector<float> values(static_cast<size_t>(element_count(make_shape(dims))));
        for (float& v : values) v = uniform(rng);
        reference.input<float>(dims, values);
        TestTensor t;
        t.type = {DType::kF32, make_shape(dims)};
        t.bytes.resize(values.size() * sizeof(float));
        if (!values.empty()) std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
        p.inputs.push_back(std::move(t));
      }
      if (reference.run() != Status::kOk) {
        fail(c.name, std::string("the reference refuses it: ") + reference.message());
        continue;
      }
      p.expected = reference.y().bytes;
      p.type = reference.y().type;
      TestNode n;
      n.name = c.name;
      n.op = static_cast<uint16_t>(c.op);
      n.attrs.assign(c.attrs.size() / 8 + 1, 0);
      n.attrs_size = c.attrs.size();
      std::memcpy(n.attrs.data(), c.attrs.data(), c.attrs.size());
      for (const TestTensor& t : p.inputs) {
        n.inputs.push_back(static_cast<int32_t>(graph_.values.size()));
        graph_.values.push_back({t.type, nullptr, 0});
        if (!c.weights || &t == p.inputs.data()) continue;
        constants_.push_back(std::make_unique<Block>(t.bytes.size()));
        std::memcpy(constants_.back()->data(), t.bytes.data(), t.bytes.size());
        graph_.values.back().constant = constants_.back()->data();
        graph_.values.back().constant_size = t.bytes.size();
      }
      n.outputs = {static_cast<int32_t>(graph_.values.size())};
      graph_.values.push_back({p.type, nullptr, 0});
      graph_.nodes.push_back(std::move(n));
      p.test = std::move(c);
      prepared_.push_back(std::move(p));
    }
    TestNode unknown;
    unknown.name = "an operator of another year";
    unknown.op = 0xFFFE;
    unknown.attrs = {0};
    unknown.attrs_size = 8;
    unknown.inputs = {0};
    unknown.outputs = {static_cast<int32_t>(graph_.values.size())};
    graph_.values.push_back({graph_.values[0].type, nullptr, 0});
    graph_.nodes.push_back(std::move(unknown));
  }

  void on_device(void* device) {
    Answers a;
    a.left.assign(graph_.nodes.size(), 0);
    a.taken.assign(graph_.nodes.size(), false);
    a.reasons.assign(graph_.nodes.size(), "");
    a.ways.assign(graph_.nodes.size(), {});
    TestFault fault;
    const vireo_claims claims = test_claims(&a, take, leave, &fault);
    if (d_.claim(device, &host_, &graph_, &claims) != VIREO_OK)
      return fail("claim", std::string("failed: ") + fault.text);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (a.left[n] + (a.taken[n] ? 1 : 0) != 1)
        fail(graph_.nodes[n].name, "both taken and left, or neither, or twice left");
      if (!a.taken[n] && a.reasons[n].empty()) fail(graph_.nodes[n].name, "left without a reason");
    }
    if (a.taken.back()) fail(graph_.nodes.back().name, "was taken");
    for (size_t n = 0; n < prepared_.size(); ++n) judge(device, n, a);
    const size_t first = static_cast<size_t>(std::find(a.taken.begin(), a.taken.end(), true) - a.taken.begin());
    if (first + 1 < prepared_.size()) two_at_once(device, first, a);
  }

  void judge(void* device, size_t n, const Answers& a) {
    const std::string& name = prepared_[n].test.name;
    const auto excluded =
        std::find_if(exclusions_.begin(), exclusions_.end(), [&](const Exclusion& e) { return e.test_case == name; });
    if (!a.taken[n]) {
      ++r_.left;
      r_.log.push_back(name + ": left: " + a.reasons[n]);
      return;
    }
    std::string what;
    for (const TestClaim& way : a.ways[n]) {
      for (const int32_t slots : {1, 3}) {
        for (const bool packs : {false, true}) {
          if (what.empty()) what = run_part(device, n, way, slots, packs);
        }
      }
    }
    if (excluded != exclusions_.end()) {
      r_.log.push_back(name + (excluded->never ? ": never: " : ": not yet: ") + excluded->why);
      if (what.empty()) fail(name, "is listed as excluded but passes: take it off the list");
      return;
    }
    if (!what.empty()) return fail(name, what);
    ++r_.passed;
    r_.log.push_back(name + ": passed");
  }

  // "" when it passes.
  std::string run_joined(void* device, size_t n, const TestClaim& way) {
    const Prepared& p = prepared_[n];
    TestJoinedPart part(d_, device, host_, &graph_, static_cast<uint32_t>(n), way);
    std::string what = part.load(1);
    std::vector<uint8_t> y(p.expected.size()), before;
    for (int round = 0; round < 2 && what.empty(); ++round) {
      what = part.run(p.inputs, p.type, &y);
      if (what.empty()) what = compare(p, y);
      if (what.empty() && round == 1 && y != before) what = "gives another answer the second time";
      before = y;
    }
    return what;
  }

  // The same, of a node that was claimed in any way.
  std::string run_part(void* device, size_t n, const TestClaim& way, int32_t slots, bool packs) {
    if (way.joins) return run_joined(device, n, way);
    const Prepared& p = prepared_[n];
    TestPart part(d_, device, host_, &graph_, static_cast<uint32_t>(n), way, packs);
    if (!part.fault().empty()) return part.fault();
    vireo_part_memory memory = VIREO_PART_MEMORY_INIT, again = VIREO_PART_MEMORY_INIT;
    if (part.memory(slots, &memory) != VIREO_OK) return "memory() fails for a part that was taken";
    if (part.memory(slots, &again) != VIREO_OK || again.state_bytes != memory.state_bytes ||
        again.scratch_bytes != memory.scratch_bytes) {
      return "memory() answers differently the second time";
    }
    Block state(memory.state_bytes), scratch(memory.scratch_bytes);
    void* loaded = nullptr;
    if (part.load(slots, state.data(), &loaded) != VIREO_OK)
      return std::string("load() fails for a part that was taken: ") + part.message();
    if (!state.intact()) return "load() writes past its state";
    std::string what;
    std::vector<uint8_t> before;
    for (int round = 0; round < 2 && what.empty(); ++round) {
      std::vector<uint8_t> y;
      what = submit(loaded, p, scratch, memory.scratch_bytes, slots, &y);
      if (what.empty() && round == 1 && y != before) what = "gives another answer the second time";
      before = std::move(y);
    }
    if (!state.intact() || !scratch.intact()) what = "writes past its memory";
    d_.unload(loaded);
    return what;
  }

  std::string submit(void* loaded, const Prepared& p, const Block& scratch, size_t scratch_bytes, int32_t slots,
                     std::vector<uint8_t>* out) {
    std::vector<std::unique_ptr<Block>> blocks;
    std::vector<Tensor> tensors(p.inputs.size() + 1);
    std::vector<const vireo_tensor*> in;
    for (size_t i = 0; i < p.inputs.size(); ++i) {
      blocks.push_back(std::make_unique<Block>(p.inputs[i].bytes.size()));
      if (!p.inputs[i].bytes.empty())
        std::memcpy(blocks.back()->data(), p.inputs[i].bytes.data(), p.inputs[i].bytes.size());
      static_cast<TensorType&>(tensors[i]) = p.inputs[i].type;
      tensors[i].data = blocks.back()->data();
      tensors[i].capacity = static_cast<int64_t>(p.inputs[i].bytes.size());
      in.push_back(reinterpret_cast<const vireo_tensor*>(&tensors[i]));
    }
    Block y(p.expected.size());
    Tensor& t = tensors.back();
    static_cast<TensorType&>(t) = p.type;
    t.data = y.data();
    t.capacity = static_cast<int64_t>(p.expected.size());
    auto* result = reinterpret_cast<vireo_tensor*>(&t);
    int32_t pool_slots = slots;
    const vireo_thread_pool pool = {run_serially, &pool_slots, slots};
    uint64_t random = 1;
    TestFault fault;
    vireo_submit with = VIREO_SUBMIT_INIT;
    with.scratch = scratch.data();
    with.scratch_bytes = scratch_bytes;
    with.threads = slots > 1 ? &pool : nullptr;
    with.random = &random;
    with.fault = &fault;
    if (d_.submit(loaded, in.data(), static_cast<uint32_t>(in.size()), &result, 1, &with) != VIREO_OK)
      return std::string("submit fails: ") + fault.text;
    if (!y.intact()) return "writes past its output";
    for (size_t i = 0; i < p.inputs.size(); ++i) {
      if (!p.inputs[i].bytes.empty() &&
          std::memcmp(blocks[i]->data(), p.inputs[i].bytes.data(), p.inputs[i].bytes.size()) != 0)
        return "writes to an input";
    }
    out->assign(y.data(), y.data() + p.expected.size());
    return compare(p, *out);
  }

  static std::string compare(const Prepared& p, const std::vector<uint8_t>& y) {
    const size_t n = y.size() / sizeof(float);
    std::vector<float> got(n), want(n);
    if (n != 0) std::memcpy(got.data(), y.data(), y.size());
    if (n != 0) std::memcpy(want.data(), p.expected.data(), y.size());
    float most = 0;
    for (const float v : want) most = std::max(most, std::fabs(v));
    for (size_t i = 0; i < n; ++i) {
      const double allowed = p.test.tolerance * static_cast<double>(most);
      if (!(std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i])) <= allowed)) {
        return "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", the reference gives " +
               std::to_string(want[i]);
      }
    }
    return "";
  }

  void two_at_once(void* device, size_t first, const Answers& a) {
    size_t second = first + 1;
    while (second < prepared_.size() && !a.taken[second]) ++second;
    if (second >= prepared_.size()) return;
    std::string one, two;
    std::thread thread([&] {
      for (int i = 0; i < 50 && one.empty(); ++i) one = run_part(device, first, a.ways[first][0], 1, i % 2 != 0);
    });
    for (int i = 0; i < 50 && two.empty(); ++i) two = run_part(device, second, a.ways[second][0], 1, i % 2 != 0);
    thread.join();
    if (!one.empty() || !two.empty()) fail("two parts at once", one + two);
  }

  const vireo_delegate& d_;
  const std::vector<Exclusion>& exclusions_;
  ConformanceResult& r_;
  vireo_host host_;
  vireo_graph graph_;
  std::vector<std::unique_ptr<Block>> constants_;
  std::vector<Prepared> prepared_;
};

}  // namespace

ConformanceResult run_conformance(const vireo_delegate& delegate, const std::vector<Exclusion>& exclusions) {
  ConformanceResult result;
  Suite(delegate, exclusions, &result).run();
  return result;
}

}  // namespace vireo
