// A way in steps: each begins with what earlier ones left, and only what is between is in its graph.
#include "quant/calibrate/forward.h"

#include <gtest/gtest.h>

#include <cstring>

namespace vireo::quant::forward_test {
namespace {

// Computes Neg and Add of float32 rows, and keeps what it was given.
class Adder final : public Evaluator {
 public:
  class Program final : public PreparedGraph {
   public:
    explicit Program(std::unique_ptr<ir::Graph> graph) : graph_(std::move(graph)) {}
    bool run(std::vector<HostTensor> inputs, std::vector<TensorView>* outputs, std::string* error) override {
      if (inputs.size() != graph_->inputs().size()) {
        *error = "another number of inputs";
        return false;
      }
      values_.clear();
      for (size_t i = 0; i < inputs.size(); ++i) values_[graph_->inputs()[i]] = inputs[i];
      for (const ir::Node& n : graph_->nodes()) {
        HostTensor y = values_.at(n.in(0));
        auto* const to = reinterpret_cast<float*>(y.bytes.data());
        for (size_t i = 0; i < y.bytes.size() / sizeof(float); ++i) {
          if (n.op == Op::kNeg) to[i] = -to[i];
          if (n.op == Op::kAdd) to[i] += reinterpret_cast<const float*>(values_.at(n.in(1)).bytes.data())[i];
        }
        values_[n.out()] = y;
      }
      outputs->clear();
      for (const ir::Value* v : graph_->outputs()) {
        const HostTensor& t = values_.at(v);
        outputs->push_back({t.dtype, t.dims, {t.bytes.data(), t.bytes.size()}});
      }
      return true;
    }
    uint64_t bytes(const std::vector<HostTensor>& inputs, std::string*) override { return inputs.size(); }

   private:
    std::unique_ptr<ir::Graph> graph_;
    std::map<const ir::Value*, HostTensor> values_;
  };

  std::unique_ptr<PreparedGraph> prepare(const ir::Graph& graph, const std::vector<const ir::Value*>& taps,
                                         std::string*) override {
    EXPECT_TRUE(taps.empty());
    nodes.push_back(graph.nodes().size());
    return std::make_unique<Program>(graph.clone());
  }
  bool run(Span<const uint8_t>, const std::vector<HostTensor>&, std::vector<HostTensor>*, std::string*) override {
    return false;
  }

  std::vector<size_t> nodes;  // of each step's graph
};

// x -> a = -x -> b = -a -> c = b + x... : a chain of `count` values y_i = -y_(i-1) + y_(i-2), y_0 = -x, y_1 = -y_0.
struct Chain {
  explicit Chain(size_t count, DType type = DType::kF32) : graph(std::make_shared<ir::DimTable>()) {
    Shape shape;
    shape.rank = 2;
    shape[0] = graph.dims().symbol("rows");
    shape[1] = 3;
    ir::Value* const x = graph.add_input("x", {type, shape});
    const auto add = [&](Op op, std::vector<ir::Value*> inputs) {
      ir::Node* const n = graph.add_node(op, {}, std::move(inputs), 1);
      n->out()->type = x->type;
      return n->out();
    };
    values = {add(Op::kNeg, {x})};
    values.push_back(add(Op::kNeg, {values[0]}));
    while (values.size() < count) {
      ir::Value* const turned = add(Op::kNeg, {values.back()});
      values.push_back(add(Op::kAdd, {turned, values[values.size() - 2]}));
    }
    graph.add_output(values.back(), "y");
  }
  ir::Graph graph;
  std::vector<ir::Value*> values;
};

HostTensor rows(int64_t count, float first) {
  std::vector<float> v(static_cast<size_t>(count * 3));
  for (size_t i = 0; i < v.size(); ++i) v[i] = first + static_cast<float>(i);
  HostTensor t = {DType::kF32, {count, 3}, std::vector<uint8_t>(v.size() * sizeof(float)), {}};
  std::memcpy(t.bytes.data(), v.data(), t.bytes.size());
  return t;
}

float first_of(const TensorView& v) {
  float out = 0;
  std::memcpy(&out, v.bytes.data(), sizeof(out));
  return out;
}

TEST(Forward, GivesWhatTheWholeGraphGivesFromWhatIsKept) {
  Chain chain(12);
  Adder adder;
  Forward forward(chain.graph, adder, Forward::Weights::kChange);
  // The same by hand, for two samples of different extents.
  std::vector<std::vector<float>> want(2);
  for (size_t s = 0; s < 2; ++s) {
    const float x = s == 0 ? 1.0f : 5.0f;
    want[s] = {-x, x};
    while (want[s].size() < 12) want[s].push_back(-want[s].back() + want[s][want[s].size() - 2]);
  }
  std::string error;
  const std::vector<size_t> ends = {2, 5, 8, 11};
  for (size_t i = 0; i < ends.size(); ++i) {
    std::vector<const ir::Value*> later;
    for (size_t j = i + 1; j < ends.size(); ++j) later.push_back(chain.values[ends[j]]);
    ASSERT_TRUE(forward.prepare({chain.values[ends[i]]}, later, &error)) << error;
    EXPECT_GT(forward.bytes({rows(2, 1)}, &error), 0u);
    for (size_t s = 0; s < 2; ++s) {
      std::vector<TensorView> v;
      ASSERT_TRUE(forward.run(s, {rows(s == 0 ? 2 : 4, s == 0 ? 1.0f : 5.0f)}, &v, &error)) << error;
      EXPECT_EQ(first_of(v[0]), want[s][ends[i]]) << i << " " << s;
      EXPECT_EQ(v[0].dims[0], s == 0 ? 2 : 4);
    }
    forward.finish();
    EXPECT_LE(forward.kept(), 3u);
  }
  // Every step has the nodes of three values and those that make the last one again, not all before.
  for (size_t i = 1; i < adder.nodes.size(); ++i) EXPECT_LE(adder.nodes[i], 8u) << i;
}

// A step that was prepared and not run leaves the way as it was.
TEST(Forward, AStepThatIsLeftOutIsPartOfTheNext) {
  Chain chain(9);
  Adder adder;
  Forward forward(chain.graph, adder, Forward::Weights::kChange);
  std::string error;
  std::vector<TensorView> v;
  ASSERT_TRUE(forward.prepare({chain.values[2]}, {chain.values[8]}, &error));
  ASSERT_TRUE(forward.prepare({chain.values[8]}, {}, &error));
  ASSERT_TRUE(forward.run(0, {rows(1, 1)}, &v, &error)) << error;
  float a = -1, b = 1;
  for (int i = 2; i <= 8; ++i) std::swap(a, b), b = -a + b;
  EXPECT_EQ(first_of(v[0]), b);
}

TEST(Forward, BeginsAnewWhereItForgets) {
  Chain chain(9);
  Adder adder;
  Forward forward(chain.graph, adder, Forward::Weights::kChange);
  std::string error;
  std::vector<TensorView> v;
  ASSERT_TRUE(forward.prepare({chain.values[4]}, {chain.values[8]}, &error));
  ASSERT_TRUE(forward.run(0, {rows(1, 1)}, &v, &error)) << error;
  EXPECT_GT(forward.left(), 0u);
  forward.forget();
  ASSERT_TRUE(forward.run(1, {rows(1, 1)}, &v, &error)) << error;
  forward.finish();
  EXPECT_EQ(forward.kept(), 0u);
  ASSERT_TRUE(forward.prepare({chain.values[8]}, {}, &error));
  EXPECT_EQ(adder.nodes[1], chain.graph.nodes().size());
  ASSERT_TRUE(forward.run(0, {rows(1, 1)}, &v, &error)) << error;
  EXPECT_EQ(first_of(v[0]), -34);
}

// Where weights stay, several values a step, and none of it is run again.
TEST(Forward, NothingIsRunAgainWhereWeightsStay) {
  Chain chain(12);
  Adder adder;
  Forward forward(chain.graph, adder, Forward::Weights::kStay);
  std::string error;
  std::vector<TensorView> v;
  std::vector<float> want = {-1, 1};
  while (want.size() < 12) want.push_back(-want.back() + want[want.size() - 2]);
  size_t nodes = 0;
  for (size_t first = 0; first < 12; first += 3) {
    const auto from = chain.values.begin() + static_cast<std::ptrdiff_t>(first);
    const Forward::Values values(from, from + 3), later(from + 3, chain.values.end());
    // The last two values of the step are what the next one reads.
    EXPECT_EQ(forward.would_keep(values, later), later.empty() ? 0u : 2 * 3 * sizeof(float));
    ASSERT_TRUE(forward.prepare(values, later, &error)) << error;
    ASSERT_TRUE(forward.run(0, {rows(1, 1)}, &v, &error)) << error;
    ASSERT_EQ(v.size(), 3u);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(first_of(v[i]), want[first + i]);
    EXPECT_EQ(forward.left(), later.empty() ? 0u : 2 * 3 * sizeof(float));
    forward.finish();
    EXPECT_EQ(forward.held(), later.empty() ? 0u : 2 * 3 * sizeof(float));
    nodes += adder.nodes.back();
  }
  EXPECT_EQ(nodes, chain.graph.nodes().size());
}

// Numbers are not kept: extents may follow from them.
TEST(Forward, KeepsFloatsOnly) {
  Chain chain(6, DType::kI64);
  Adder adder;
  Forward forward(chain.graph, adder, Forward::Weights::kChange);
  std::string error;
  ASSERT_TRUE(forward.prepare({chain.values[3]}, {chain.values[5]}, &error));
  forward.finish();
  EXPECT_EQ(forward.kept(), 0u);
  ASSERT_TRUE(forward.prepare({chain.values[5]}, {}, &error));
  EXPECT_EQ(adder.nodes[1], chain.graph.nodes().size());
}

}  // namespace
}  // namespace vireo::quant::forward_test
