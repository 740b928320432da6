// Graphs of branches at random: a session whose threads run small nodes side by side computes what one thread computes,
// to the bit, in whatever order the lanes run; failures name the node that one thread would name; a cancelled run is
// never taken for a finished one.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "converter/emit/model_file.h"
#include "converter/ir/infer.h"
#include "runtime/run/session.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/reduce/reduce_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "vireo/vireo.h"

namespace vireo {
namespace {

constexpr int64_t kChannels = 16, kEdge = 24;  // a walk over such a tensor takes some 5 us, a product 4

Shape make(std::initializer_list<Dim> dims) {
  Shape s;
  for (const Dim d : dims) s[s.rank++] = d;
  return s;
}

class Net {
 public:
  Net() : g_(std::make_shared<ir::DimTable>()) {}

  // Stages of two to five branches of one to four nodes each; every stage joins what the branches made.
  void grow(uint32_t seed) {
    std::mt19937 rng(seed);
    const auto draw = [&rng](unsigned n) { return static_cast<unsigned>(rng()) % n; };
    const Shape shape = make({1, kChannels, kEdge, kEdge});
    ir::Value* root = g_.add_input("x", {DType::kF32, shape});
    root = node(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {root, peak(root, 40)});
    const unsigned stages = 1 + draw(3);
    for (unsigned stage = 0; stage < stages; ++stage) {
      std::vector<ir::Value*> ends(2 + draw(4), unary(Op::kRelu, root));
      for (unsigned k = static_cast<unsigned>(ends.size()) * (1 + draw(3)); k-- > 0;) {  // branches take turns
        ir::Value*& end = ends[draw(static_cast<unsigned>(ends.size()))];
        const unsigned what = draw(6);
        if (what < 2) {
          end = conv(end, &rng);
        } else if (what == 2) {
          end = node(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {end, draw(2) == 0 ? root : end});
        } else {
          end = unary(what == 3 ? Op::kNeg : what == 4 ? Op::kSigmoid : Op::kTanh, end);
        }
        if (draw(8) == 0) kept_.push_back(end);
      }
      if (draw(3) == 0) {
        attrs::ConcatT a;
        a.axis = 1;
        kept_.push_back(node(Op::kConcat, pack<attrs::Concat>(a), ends));
      }
      root = ends[0];
      for (size_t i = 1; i < ends.size(); ++i)
        root = node(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {root, ends[i]});
    }
    kept_.push_back(root);
    finish();
  }

  // 1000 / x in branches, as integers: which of them fail the input decides.
  void divisions(int branches) {
    std::vector<ir::Value*> ends;
    ir::Value* x = g_.add_input("x", {DType::kI32, make({branches, 1024})});
    std::vector<int32_t> thousand(1024, 1000);
    for (int k = 0; k < branches; ++k) {
      ir::Value* part = g_.add_input("x" + std::to_string(k), {DType::kI32, make({1, 1024})});
      ir::Value* c = g_.add_constant("", ir::make_constant_of<int32_t>(DType::kI32, make({1, 1024}), thousand));
      kept_.push_back(node(Op::kDiv, pack<attrs::Binary>(attrs::BinaryT{}), {c, part}, "div" + std::to_string(k)));
    }
    kept_.push_back(peak(x, 8));
    finish();
  }

  FileBytes file() {
    FileBytes bytes;
    Diagnostics diagnostics;
    ConvertReport report;
    const auto made = emit::ModelFile::build(g_, {}, {}, &diagnostics, &report);
    EXPECT_NE(made, nullptr) << diagnostics.text();
    if (made != nullptr) made->write(&bytes);
    return bytes;
  }

 private:
  ir::Value* node(Op op, std::vector<uint8_t> attrs, std::vector<ir::Value*> in, const std::string& name = "") {
    ir::Node* n = g_.add_node(op, std::move(attrs), std::move(in), 1);
    n->name = name;
    std::string message;
    EXPECT_TRUE(ok(ir::infer_node(g_, n, nullptr, &message))) << op_name(op) << ": " << message;
    n->out()->name = "v" + std::to_string(n->out()->id);
    return n->out();
  }
  ir::Value* unary(Op op, ir::Value* x) { return node(op, pack<attrs::Unary>(attrs::UnaryT{}), {x}); }
  // The largest of some copies of `x` along its axis 1: here the arena is at its fullest, so that branches find room.
  ir::Value* peak(ir::Value* x, size_t copies) {
    attrs::ConcatT joined;
    joined.axis = 1;
    ir::Value* all = node(Op::kConcat, pack<attrs::Concat>(joined), std::vector<ir::Value*>(copies, x));
    ir::Value* axes = g_.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, make({1}), {1}));
    return node(Op::kReduceMax, pack<attrs::Reduce>(attrs::ReduceT{}), {all, axes});
  }
  ir::Value* conv(ir::Value* x, std::mt19937* rng) {
    std::vector<float> w(kChannels * kChannels);
    for (float& v : w) v = static_cast<float>(static_cast<int>((*rng)() % 2001) - 1000) / 4000;
    return node(
        Op::kConv, pack<attrs::Conv>(attrs::ConvT{}),
        {x, g_.add_constant("", ir::make_constant_of<float>(DType::kF32, make({kChannels, kChannels, 1, 1}), w))});
  }
  void finish() {
    for (size_t i = 0; i < kept_.size(); ++i) {
      ir::Value* v = kept_[i];
      if (std::find(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(i), v) ==
          kept_.begin() + static_cast<ptrdiff_t>(i))
        g_.add_output(v, "out" + std::to_string(v->id));
    }
    emit::separate_outputs(g_);
  }

  ir::Graph g_;
  std::vector<ir::Value*> kept_;
};

// Runs the pieces of a job one by one, the last first: an order that no luck with threads is needed for.
void backwards(void*, int64_t count, int64_t grain, void (*task)(void*, int64_t, int64_t, int32_t), void* arg) {
  for (int64_t begin = (count - 1) / grain * grain; begin >= 0; begin -= grain) {
    task(arg, begin, begin + grain < count ? begin + grain : count, static_cast<int32_t>(begin / grain % 2));
  }
}

class Branches : public ::testing::Test {
 protected:
  struct Open {
    vireo_runtime* runtime = nullptr;
    vireo_model* model = nullptr;
    vireo_session* session = nullptr;
    Open() = default;
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open() {
      vireo_session_release(session);
      vireo_model_release(model);
      vireo_runtime_release(runtime);
    }
    uint32_t windows() const {
      uint32_t n = 0;
      for (uint32_t i = 0; i < session->main.step_count; ++i) n += session->main.steps[i].window.steps != 0 ? 1 : 0;
      return n;
    }
  };

  // `threads` of a pool of `pool`; pool 0: `backwards`.
  void open(const FileBytes& file, int32_t pool, int32_t threads, Open* o) {
    vireo_error error = VIREO_ERROR_INIT;
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    const vireo_thread_pool own = {backwards, nullptr, 2};
    options.threads = pool;
    if (pool == 0) options.thread_pool = &own;
    ASSERT_EQ(vireo_runtime_create(&options, &o->runtime, &error), VIREO_OK) << error.message;
    ASSERT_EQ(vireo_model_load_memory(o->runtime, file.data(), file.size(), &o->model, &error), VIREO_OK)
        << error.message;
    vireo_session_options wanted = VIREO_SESSION_OPTIONS_INIT;
    wanted.threads = threads;
    wanted.profile = 1;
    ASSERT_EQ(vireo_session_create(o->model, &wanted, &o->session, &error), VIREO_OK) << error.message;
  }

  static void fill(const Open& o, uint32_t seed) {
    std::mt19937 rng(seed);
    vireo_tensor x = {};
    vireo_error error = VIREO_ERROR_INIT;
    ASSERT_EQ(vireo_session_input(o.session, 0, &x, &error), VIREO_OK) << error.message;
    for (int64_t i = 0; i < x.capacity / 4; ++i)
      static_cast<float*>(x.data)[i] = static_cast<float>(static_cast<int>(rng() % 2001) - 1000) / 256;
  }

  // The session's own input memory serves other tensors once the input has been read: it is filled for each run.
  static std::vector<uint8_t> run(const Open& o, uint32_t seed) {
    fill(o, seed);
    vireo_error error = VIREO_ERROR_INIT;
    std::vector<vireo_tensor> out(vireo_model_output_count(o.model));
    std::memset(out.data(), 0, out.size() * sizeof(vireo_tensor));
    std::vector<uint8_t> all;
    EXPECT_EQ(vireo_session_run(o.session, nullptr, 0, out.data(), static_cast<uint32_t>(out.size()), &error), VIREO_OK)
        << error.message;
    for (const vireo_tensor& y : out) {
      const auto* p = static_cast<const uint8_t*>(y.data);
      all.insert(all.end(), p, p + y.capacity);
    }
    return all;
  }
};

TEST_F(Branches, SameBitsAsOneThread) {
  uint32_t windows = 0;
  for (uint32_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    Net net;
    net.grow(seed);
    const FileBytes file = net.file();
    Open one;
    open(file, 1, 1, &one);
    EXPECT_EQ(one.windows(), 0u);
    const std::vector<uint8_t> wanted = run(one, seed);
    for (const auto& [pool, threads] : {std::pair<int32_t, int32_t>{0, 0}, {2, 0}, {4, 0}, {4, 3}}) {
      Open several;
      open(file, pool, threads, &several);
      windows += several.windows();
      for (int round = 0; round < 3; ++round)
        EXPECT_TRUE(run(several, seed) == wanted) << "seed " << seed << ", " << pool << " threads";
      for (uint32_t i = 0; i < vireo_session_node_count(several.session); ++i) {
        vireo_node_info info = VIREO_NODE_INFO_INIT;
        vireo_error error = VIREO_ERROR_INIT;
        EXPECT_EQ(vireo_session_node(several.session, i, &info, &error), VIREO_OK);
        EXPECT_TRUE(info.calls == 3 || several.session->main.steps[i].in_place) << info.op << " " << info.calls;
      }
    }
  }
  EXPECT_GT(windows, 100u);
}

// Every time, on every machine, and what a session takes is what was said before it was made.
TEST_F(Branches, SamePlanEveryTime) {
  Net net;
  net.grow(7);
  const FileBytes file = net.file();
  Open first, second;
  open(file, 2, 0, &first);
  open(file, 2, 0, &second);
  ASSERT_GT(first.windows(), 0u);
  for (uint32_t i = 0; i < first.session->main.step_count; ++i) {
    const Step &a = first.session->main.steps[i], &b = second.session->main.steps[i];
    EXPECT_EQ(a.window.steps, b.window.steps);
    EXPECT_EQ(a.window.lane, b.window.lane);
    for (int k = 0; k < a.input_count + a.output_count; ++k) {
      if (a.args[k] == nullptr || a.args[k]->data < first.session->values.at) continue;
      if (a.args[k]->data >= first.session->values.at + first.session->values.bytes) continue;
      EXPECT_EQ(static_cast<uint8_t*>(a.args[k]->data) - first.session->values.at,
                static_cast<uint8_t*>(b.args[k]->data) - second.session->values.at);
    }
  }
}

TEST_F(Branches, TheFirstNodeThatFailsIsNamed) {
  constexpr int kBranches = 6;
  Net net;
  net.divisions(kBranches);
  const FileBytes file = net.file();
  for (const int32_t pool : {1, 0, 2, 4}) {
    Open o;
    open(file, pool, 0, &o);
    EXPECT_EQ(o.windows() > 0, pool != 1);
    for (unsigned mask = 0; mask < (1u << kBranches); ++mask) {
      vireo_error error = VIREO_ERROR_INIT;
      int expected = -1;
      for (uint32_t i = 0; i < vireo_model_input_count(o.model); ++i) {
        vireo_tensor x = {};
        vireo_value_info info = VIREO_VALUE_INFO_INIT;
        ASSERT_EQ(vireo_session_input(o.session, i, &x, &error), VIREO_OK);
        ASSERT_EQ(vireo_model_input(o.model, i, &info, &error), VIREO_OK);
        auto* v = static_cast<int32_t*>(x.data);
        for (int64_t k = 0; k < x.capacity / 4; ++k) v[k] = 7;
        if (info.name[1] == 0) continue;
        const int branch = info.name[1] - '0';
        if ((mask >> branch & 1u) == 0) continue;
        v[1023] = 0;
        if (expected < 0 || branch < expected) expected = branch;
      }
      const vireo_status status = vireo_session_run(o.session, nullptr, 0, nullptr, 0, &error);
      EXPECT_EQ(status, expected < 0 ? VIREO_OK : VIREO_INVALID_ARGUMENT);
      if (expected < 0) continue;
      const std::string name = "\"div" + std::to_string(expected) + "\"";
      EXPECT_NE(std::string(error.message).find(name), std::string::npos) << error.message << ", wanted " << name;
      EXPECT_NE(std::string(error.message).find("division by zero"), std::string::npos) << error.message;
    }
  }
}

TEST_F(Branches, CancelledRunsSaySo) {
  Net net;
  net.grow(7);
  const FileBytes file = net.file();
  Open o;
  open(file, 2, 0, &o);
  ASSERT_GT(o.windows(), 0u);
  const std::vector<uint8_t> wanted = run(o, 7);
  vireo_session_cancel(o.session);
  vireo_error error = VIREO_ERROR_INIT;
  EXPECT_EQ(vireo_session_run(o.session, nullptr, 0, nullptr, 0, &error), VIREO_CANCELLED);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      vireo_session_cancel(o.session);
      std::this_thread::yield();
    }
  });
  int cancelled = 0;
  for (int round = 0; round < 300; ++round) {
    fill(o, 7);
    std::vector<vireo_tensor> out(vireo_model_output_count(o.model));
    std::memset(out.data(), 0, out.size() * sizeof(vireo_tensor));
    const vireo_status status =
        vireo_session_run(o.session, nullptr, 0, out.data(), static_cast<uint32_t>(out.size()), &error);
    if (status == VIREO_CANCELLED) {
      ++cancelled;
      continue;
    }
    ASSERT_EQ(status, VIREO_OK) << error.message;
    size_t at = 0;
    for (const vireo_tensor& y : out) {
      ASSERT_EQ(std::memcmp(y.data, wanted.data() + at, static_cast<size_t>(y.capacity)), 0);
      at += static_cast<size_t>(y.capacity);
    }
  }
  stop = true;
  other.join();
  EXPECT_GT(cancelled, 0);
}

}  // namespace
}  // namespace vireo
