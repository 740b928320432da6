// Static quantization on small graphs: what gets codes, what they stand for, what repairs keep.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "converter/ir/interpret.h"
#include "converter/ir/text.h"
#include "quant/int8/account.h"
#include "quant/int8/annotate.h"
#include "quant/int8/layer.h"
#include "quant/int8/plan.h"
#include "quant/int8/ranges.h"
#include "quant/int8/testing.h"
#include "quant/repair/bias.h"
#include "quant/repair/equalise.h"
#include "quant/repair/rounding.h"
#include "sdk/base/half.h"

namespace vireo::quant::int8_test {
namespace {

using testing::parsed;
using testing::plan_of;

// The names of values with codes, and how many layers.
std::string coded_names(const Plan& plan) {
  std::string out;
  for (const CodedValue& c : plan.values) out += (out.empty() ? "" : " ") + c.value->name;
  return out + " / " + std::to_string(plan.layers.size());
}

ir::ConstantPtr random_tensor(const Shape& shape, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> value(0, 1);
  std::vector<float> x(static_cast<size_t>(element_count(shape)));
  for (float& v : x) v = value(rng);
  return ir::make_constant_of<float>(DType::kF32, shape, x);
}

// Weights of products become random, each row of another size.
void fill_weights(ir::Graph& g) {
  uint32_t seed = 1;
  for (ir::Node& n : g.nodes()) {
    if (n.op != Op::kConv && n.op != Op::kMatMul && n.op != Op::kGemm) continue;
    const Shape shape = n.in(1)->type.shape;
    std::vector<float> w(static_cast<size_t>(element_count(shape)));
    const ir::ConstantPtr c = random_tensor(shape, seed++);
    std::memcpy(w.data(), c->tensor.bytes.data(), w.size() * sizeof(float));
    const size_t row = w.size() / static_cast<size_t>(shape[0]);
    for (size_t i = 0; i < w.size(); ++i) w[i] *= std::ldexp(1.0f, static_cast<int>(i / row % 5) * 2 - 4);
    g.set_input(&n, 1, g.add_constant("w" + std::to_string(seed), ir::make_constant_of<float>(DType::kF32, shape, w)));
  }
}

std::vector<float> run(const ir::Graph& g, const ir::ConstantPtr& x) {
  std::vector<ir::ConstantPtr> out;
  std::string error;
  EXPECT_TRUE(ir::interpret(g, {x}, &out, &error)) << error;
  std::vector<float> y(out[0]->tensor.bytes.size() / sizeof(float));
  std::memcpy(y.data(), out[0]->tensor.bytes.data(), out[0]->tensor.bytes.size());
  return y;
}

TEST(Int8Plan, ReluBelongsToItsProduct) {
  const auto g =
      parsed("input %x f32[1,2,4,4]\n%a = Conv(%x, w[3,2,1,1])\n%b = Relu(%a)\n%y = Conv(%b, w[2,3,1,1])\noutput %y");
  EXPECT_EQ(coded_names(plan_of(*g)), "x b y / 2");
}

TEST(Int8Plan, UnboundedFunctionsAndJoinsBehindTheLastProductStayInFloat) {
  const auto g = parsed(
      "input %x f32[1,2,4,4]\n%a = Conv(%x, w[3,2,1,1])\n%b = Conv(%x, w[3,2,1,1])\n%e = Exp(%a)\n"
      "%y = Concat(%e, %b) {axis:1}\noutput %y");
  const Plan plan = plan_of(*g);
  EXPECT_EQ(coded_names(plan), "x a b / 2");
}

TEST(Int8Plan, BoundedFunctionsNeedNoData) {
  const auto g = parsed("input %x f32[1,2,4,4]\n%a = Conv(%x, w[3,2,1,1])\n%y = Sigmoid(%a)\noutput %y");
  const Plan plan = plan_of(*g);
  ASSERT_EQ(coded_names(plan), "x a y / 1");
  EXPECT_TRUE(plan.values[2].bounded);
  EXPECT_EQ(plan.values[2].high, 1);
  EXPECT_EQ(plan.values[1].behind.size(), 1u);
}

TEST(Int8Plan, TheBiasOfOneColumnBelongsToItsProduct) {
  const auto g =
      parsed("input %x f32[1,8]\n%a = MatMul(%x, w[8,1])\n%b = Add(%a, f32[1]{0.5})\n%y = Sigmoid(%b)\noutput %y");
  const Plan plan = plan_of(*g);
  EXPECT_EQ(coded_names(plan), "x b y / 1");
  EXPECT_TRUE(plan.left.empty());
  // A number for several columns is none.
  const auto several =
      parsed("input %x f32[1,8]\n%a = MatMul(%x, w[8,4])\n%b = Add(%a, f32[1]{0.5})\n%y = Sigmoid(%b)\noutput %y");
  EXPECT_EQ(coded_names(plan_of(*several)), "x a / 1");
}

TEST(Int8Plan, WhatMovesHasTheCodesOfItsSource) {
  const auto g = parsed(
      "input %x f32[1,2,4,4]\n%a = Conv(%x, w[3,2,1,1])\n%m = MaxPool(%a) {kernel_shape:[2,2]}\n"
      "%y = Conv(%m, w[2,3,1,1])\noutput %y");
  EXPECT_EQ(coded_names(plan_of(*g)), "x a y / 2");
}

TEST(Int8Plan, AResidualStreamThatANormReadsStaysInFloat) {
  const auto g = parsed(
      "input %x f32[1,4,8]\n%n = LayerNormalization(%x, f32[8]{1,1,1,1,1,1,1,1}) {axis:-1}\n"
      "%a = MatMul(%n, w[8,8])\n%r = Add(%a, %x)\n"
      "%m = LayerNormalization(%r, f32[8]{1,1,1,1,1,1,1,1}) {axis:-1}\n%y = MatMul(%m, w[8,8])\noutput %y");
  const Plan plan = plan_of(*g);
  EXPECT_EQ(coded_names(plan), "n a m y / 2");
  EXPECT_TRUE(plan.values[0].made_in_float);
}

TEST(Int8Plan, KeptLayersAreReadInFloat) {
  const auto g = parsed("input %x f32[1,2,4,4]\n%a = Conv(%x, w[3,2,1,1])\n%y = Conv(%a, w[2,3,1,1])\noutput %y");
  const ir::Node* last = &g->nodes().back();
  const Plan plan = make_plan(*g, [&](const ir::Node& n) { return &n == last; });
  EXPECT_EQ(coded_names(plan), "x a / 1");
  ASSERT_EQ(plan.left.size(), 1u);
  EXPECT_EQ(plan.left[0].second, "the recipe keeps it in float");
}

TEST(Int8Annotate, ThePairsStandForTheValuesWithinHalfAStep) {
  const auto g = parsed("input %x f32[1,2,4,4]\n%a = Conv(%x, w[3,2,1,1])\n%b = Relu(%a)\noutput %b");
  fill_weights(*g);
  Plan plan = plan_of(*g);
  const ir::ConstantPtr x = random_tensor(g->inputs()[0]->type.shape, 9);
  const std::vector<float> before = run(*g, x);
  Choice choice;
  choice.scales = {scale_of({-4, 4}), scale_of({0, 16})};
  const WeightRows rows = weights_of(plan.layers[0]);
  choice.weights = {nearest_codes(rows, weight_scales(rows, true, {}, 1))};
  annotate(*g, plan, choice);
  ASSERT_EQ(g->validate(), "");
  const std::vector<float> after = run(*g, x);
  for (size_t i = 0; i < after.size(); ++i) {
    // A step of the result, and what two operands lose: 4 for x of 2 channels.
    double bound = 16.0 / 255 / 2;
    const int64_t c = static_cast<int64_t>(i) / 16;
    for (int64_t k = 0; k < 2; ++k)
      bound += std::fabs(rows.row(c)[k]) * 4.0 / 255 + 4 * static_cast<double>(choice.weights[0].scale(c)) / 2;
    EXPECT_NEAR(std::min(before[i], 16.0f), after[i], bound + 1e-5);
  }
}

// A graph of which any number of taps takes a kilobyte.
class AKilobyte final : public PreparedGraph {
 public:
  bool run(std::vector<HostTensor>, std::vector<TensorView>* outputs, std::string*) override {
    static constexpr uint8_t kOne[4] = {0, 0, 0x80, 0x3f};
    outputs->assign(3, {DType::kF32, {}, {kOne, 4}});
    return true;
  }
  uint64_t bytes(const std::vector<HostTensor>&, std::string*) override { return 1024; }
};
class Kilobytes final : public Evaluator {
 public:
  std::unique_ptr<PreparedGraph> prepare(const ir::Graph&, const std::vector<const ir::Value*>&,
                                         std::string*) override {
    return std::make_unique<AKilobyte>();
  }
  bool run(Span<const uint8_t>, const std::vector<HostTensor>&, std::vector<HostTensor>*, std::string*) override {
    return false;
  }
};
// Runs by the reference kernels; each value takes a kilobyte. Samples give nothing: the graph's own input is random.
class Interpreted final : public PreparedGraph {
 public:
  explicit Interpreted(std::unique_ptr<ir::Graph> graph, size_t* nodes) : graph_(std::move(graph)), nodes_(nodes) {}
  bool run(std::vector<HostTensor> kept, std::vector<TensorView>* outputs, std::string* error) override {
    std::vector<ir::ConstantPtr> inputs = {random_tensor(graph_->inputs()[0]->type.shape, 4)};
    for (const HostTensor& t : kept) {
      Shape shape;
      shape.rank = static_cast<int>(t.dims.size());
      for (int d = 0; d < shape.rank; ++d) shape[d] = t.dims[static_cast<size_t>(d)];
      inputs.push_back(ir::make_constant({t.dtype, shape}, t.bytes));
    }
    *nodes_ += graph_->nodes().size();
    if (!ir::interpret(*graph_, inputs, &values_, error)) return false;
    outputs->clear();
    for (const ir::ConstantPtr& v : values_) {
      TensorView& t = outputs->emplace_back();
      t.dtype = DType::kF32;
      const Shape& shape = v->tensor.type.shape;
      for (int d = 0; d < shape.rank; ++d) t.dims.push_back(shape[d]);
      t.bytes = v->tensor.bytes;
    }
    return true;
  }
  uint64_t bytes(const std::vector<HostTensor>&, std::string*) override { return 1024 * graph_->outputs().size(); }

 private:
  const std::unique_ptr<ir::Graph> graph_;
  size_t* const nodes_;
  std::vector<ir::ConstantPtr> values_;
};
class Interpreter final : public Evaluator {
 public:
  std::unique_ptr<PreparedGraph> prepare(const ir::Graph& graph, const std::vector<const ir::Value*>&,
                                         std::string*) override {
    return std::make_unique<Interpreted>(graph.clone(), &nodes);
  }
  bool run(Span<const uint8_t>, const std::vector<HostTensor>&, std::vector<HostTensor>*, std::string*) override {
    return false;
  }

  size_t nodes = 0;  // that ran
};
class OneSample final : public Samples {
 public:
  void fit(const ir::Graph&) override {}
  size_t count() const override { return 1; }
  std::vector<HostTensor> read(size_t) override { return {}; }
};

// Values are divided into groups by the ceiling, what is held already included, and by what they may take together. A
// group begins with what the one before it left where there is room for it.
TEST(Int8Statistics, GroupsFitUnderTheCeilingAndSayTheSame) {
  const auto g = parsed(
      "input %x f32[1,2,4,4]\n%a = Relu(%x)\n%b = Relu(%a)\n%c = Relu(%b)\n%d = Relu(%c)\n%e = Relu(%d)\noutput %e");
  std::vector<Tap> taps;
  for (const ir::Node& n : g->nodes()) taps.push_back({n.out(), -1});
  OneSample samples;
  Interpreter evaluator;
  std::vector<uint8_t> bytes;
  const auto groups_of_passes = [&](const PassOptions& options, std::string* error) {
    std::vector<size_t> groups;
    PassOptions counted = options;
    counted.group_done = [&](size_t, size_t count) { groups.push_back(count); };
    size_t seen = 0;
    bytes.clear();
    evaluator.nodes = 0;
    const auto take = [&](size_t first, size_t, const std::vector<TensorView>& values, std::string*) {
      EXPECT_EQ(first, seen);
      seen += values.size();
      for (const TensorView& v : values) bytes.insert(bytes.end(), v.bytes.begin(), v.bytes.end());
      return true;
    };
    for_each_sample(*g, taps, samples, evaluator, counted, take, error);
    return groups;
  };
  std::string error;
  PassOptions options;
  EXPECT_EQ(groups_of_passes(options, &error), std::vector<size_t>({5}));
  const std::vector<uint8_t> want = bytes;
  EXPECT_EQ(evaluator.nodes, 5u);
  options.memory = 10 * 1024;
  options.held = [] { return uint64_t{7 * 1024}; };
  EXPECT_EQ(groups_of_passes(options, &error), std::vector<size_t>({3, 2}));
  EXPECT_EQ(bytes, want);
  EXPECT_EQ(evaluator.nodes, 5u);
  options = {};
  options.shared = 1024;
  EXPECT_EQ(groups_of_passes(options, &error),
            std::vector<size_t>({2, 1, 1, 1}));  // beside the 128 bytes that are kept
  EXPECT_EQ(bytes, want);
  EXPECT_EQ(evaluator.nodes, 5u);
  options.shared = 255;  // half of it is too little for them
  EXPECT_EQ(groups_of_passes(options, &error), std::vector<size_t>({1, 1, 1, 1, 1}));
  EXPECT_EQ(bytes, want);
  EXPECT_EQ(evaluator.nodes, 15u);
  EXPECT_EQ(error, "");
  options = {};
  options.memory = 2048;
  options.held = [] { return uint64_t{2000}; };
  EXPECT_TRUE(groups_of_passes(options, &error).empty());
  EXPECT_NE(error.find("needs 1 KiB to be observed, beside the 2 KiB"), std::string::npos) << error;
}

TEST(Int8Account, LayersThatDoNotFitUnderTheCeilingAreSaidToBeLeftOut) {
  const auto g = parsed("input %x f32[1,2,4,4]\n%a = Conv(%x, w[3,2,1,1])\n%b = Relu(%a)\noutput %b");
  fill_weights(*g);
  const Plan plan = plan_of(*g);
  Choice choice;
  choice.scales = {scale_of({-4, 4}), scale_of({0, 16})};
  choice.weights = {nearest_codes(weights_of(plan.layers[0]), weight_scales(weights_of(plan.layers[0]), true, {}, 1))};
  const std::unique_ptr<ir::Graph> reference = g->clone();
  const std::vector<ir::Value*> decoded = annotate(*g, plan, choice);
  OneSample samples;
  Kilobytes evaluator;
  PassOptions options;
  options.most_samples = 1;
  for (const uint64_t memory : {1024, 1023}) {  // all of it, and a byte too little
    options.memory = memory;
    std::vector<LayerAccount> layers;
    std::string error;
    ASSERT_TRUE(account(*reference, plan, choice, *g, decoded, {}, samples, evaluator, options, &layers, &error))
        << error;
    ASSERT_EQ(layers.size(), 1u);
    EXPECT_EQ(layers[0].compared, memory == 1024);
  }
}

TEST(Int8Ranges, LeastSquaresLoseNoMoreThanTheWholeRange) {
  std::mt19937 rng(3);
  std::student_t_distribution<float> value(3);
  std::vector<float> x(20000);
  for (float& v : x) v = value(rng);
  Statistics s;
  s.add({x.data(), 1, 1, static_cast<int64_t>(x.size())});
  const double all = squared_loss(s.histogram, scale_of(choose_range(RangeMethod::kMinMax, s, {})), {});
  const double least = squared_loss(s.histogram, scale_of(choose_range(RangeMethod::kMse, s, {})), {});
  EXPECT_LT(least, all);
  for (const RangeMethod m : {RangeMethod::kPercentile, RangeMethod::kEntropy}) {
    const ValueRange r = choose_range(m, s, {});
    EXPECT_GE(r.low, s.range.low());
    EXPECT_LE(r.high, s.range.high());
    EXPECT_LT(r.low, 0);
    EXPECT_GT(r.high, 0);
    EXPECT_LE(least, squared_loss(s.histogram, scale_of(r), {}));
  }
}

TEST(Int8Ranges, ZeroIsAlwaysACode) {
  for (const ValueRange r :
       {ValueRange{-1, 3}, ValueRange{0, 0}, ValueRange{2, 5}, ValueRange{-7, -3}, ValueRange{-0.1, 100}})
    EXPECT_EQ(through_codes(scale_of(r), 0), 0);
}

TEST(Int8Ranges, AFunctionBehindDecidesWhatCounts) {
  // Values below -8 do not matter to what is 0 there.
  std::vector<float> x;
  for (int i = 0; i < 1000; ++i) x.push_back(static_cast<float>(i % 100) * -0.4f + 4);
  Statistics s;
  s.add({x.data(), 1, 1, static_cast<int64_t>(x.size())});
  const ValueFunction relu = [](const std::vector<float>& in, std::vector<double>* out) {
    out->clear();
    for (const float v : in) out->push_back(std::max(0.0, static_cast<double>(v)));
    return true;
  };
  EXPECT_GT(choose_range(RangeMethod::kMse, s, relu).low, -20);
  EXPECT_LT(choose_range(RangeMethod::kMse, s, {}).low, -30);
}

TEST(Int8Weights, ABiasThatDoesNotFitRaisesItsScale) {
  WeightRows w;
  w.channels = 2;
  w.per_channel = 1;
  w.values = {1e-7, 1};
  const std::vector<float> scales = weight_scales(w, true, {100, 1}, 1e-3);
  EXPECT_LE(100 / (static_cast<double>(scales[0]) * 1e-3), std::ldexp(1.001, 30));
  EXPECT_LT(scales[1], 1.01 / 127);
}

TEST(Int8Weights, ChannelsLoseNoMoreThanOneScaleForAll) {
  WeightRows w;
  w.channels = 3;
  w.per_channel = 50;
  for (int64_t i = 0; i < 150; ++i)
    w.values.push_back(std::sin(static_cast<double>(i)) * std::pow(10.0, static_cast<double>(i / 50)));
  const auto loss = [&](bool per_channel) {
    const WeightCodes c = nearest_codes(w, weight_scales(w, per_channel, {}, 1));
    double sum = 0;
    for (size_t i = 0; i < w.values.size(); ++i) {
      const double d = w.values[i] - c.codes[i] * static_cast<double>(c.scale(static_cast<int64_t>(i) / 50));
      sum += d * d;
    }
    return sum;
  };
  EXPECT_LT(loss(true), loss(false));
}

// What the values of a plan are like on one sample.
std::map<uint32_t, Statistics> statistics_of(ir::Graph& g, const Plan& plan, const ir::ConstantPtr& x) {
  std::map<uint32_t, Statistics> out;
  const auto copy = g.clone();
  while (!copy->outputs().empty()) copy->remove_output(0);
  for (const CodedValue& c : plan.values) copy->add_output(copy->value(c.value->id), c.value->name);
  std::vector<ir::ConstantPtr> values;
  std::string error;
  EXPECT_TRUE(ir::interpret(*copy, {x}, &values, &error)) << error;
  for (size_t i = 0; i < values.size(); ++i) {
    TensorView t;
    t.dtype = DType::kF32;
    const Shape& shape = values[i]->tensor.type.shape;
    for (int d = 0; d < shape.rank; ++d) t.dims.push_back(shape[d]);
    t.bytes = values[i]->tensor.bytes;
    out[plan.values[i].value->id].add(block_of(t, plan.values[i].channels));
  }
  return out;
}

constexpr char kResidual[] =
    "input %x f32[1,2,6,6]\n%a = Conv(%x, w[4,2,1,1], f32[4]{1,2,3,4})\n%b = Conv(%a, w[5,4,1,1])\n%c = Relu(%b)\n"
    "%d = Conv(%c, w[4,5,1,1])\n%s = Add(%a, %d)\n%y = Conv(%s, w[3,4,1,1])\noutput %y";

// Factors go through Relu and a depthwise window, and into the gains of a normalisation; answers stay.
TEST(Equalise, ChangesNoFloatAnswer) {
  for (const char* text :
       {"input %x f32[1,2,6,6]\n%a = Conv(%x, w[5,2,1,1], f32[5]{1,2,3,4,5})\n%b = Relu(%a)\n"
        "%c = Conv(%b, w[5,1,3,3]) {group:5}\n%d = Relu(%c)\n%y = Conv(%d, w[3,5,1,1])\noutput %y",
        kResidual,
        "input %x f32[3,6]\n%n = LayerNormalization(%x, f32[6]{50,1,1,0.1,1,1}, f32[6]{0,1,0,1,0,1}) {axis:-1}\n"
        "%a = MatMul(%n, w[6,4])\n%b = MatMul(%n, w[6,4])\n%y = Sub(%a, %b)\noutput %y"}) {
    const auto g = parsed(text);
    fill_weights(*g);
    const ir::ConstantPtr x = random_tensor(g->inputs()[0]->type.shape, 4);
    const std::vector<float> before = run(*g, x);
    Plan plan = plan_of(*g);
    const auto was = statistics_of(*g, plan, x);
    const auto changed = equalise(*g, plan, was, true);
    EXPECT_FALSE(changed.empty()) << text;
    std::set<uint32_t> ids;
    for (const EqualisedValue& e : changed) {
      EXPECT_GT(e.gain_db, 0) << e.value;
      ids.insert(e.ids.begin(), e.ids.end());
    }
    // Those that are not named are like before.
    for (const auto& [id, now] : statistics_of(*g, plan, x)) {
      const RangeObserver& before_it = was.at(id).range;
      for (size_t c = 0; c < now.range.highs().size() && ids.count(id) == 0; ++c) {
        const float most = std::max(before_it.high(), -before_it.low());
        EXPECT_NEAR(now.range.highs()[c], before_it.highs()[c], 1e-5f * most) << text << g->value(id)->name;
        EXPECT_NEAR(now.range.lows()[c], before_it.lows()[c], 1e-5f * most) << text << g->value(id)->name;
      }
    }
    const std::vector<float> after = run(*g, x);
    float most = 0;
    for (const float v : before) most = std::max(most, std::fabs(v));
    for (size_t i = 0; i < before.size(); ++i)
      EXPECT_NEAR(before[i], after[i], 1e-5 * static_cast<double>(most)) << text;
  }
}

// Once it is done, there is nothing left to gain: the cost never rises, and falls no more.
TEST(Equalise, IsDoneAtOnce) {
  const auto g = parsed("input %x f32[1,2,6,6]\n%a = Conv(%x, w[5,2,1,1])\n%y = Conv(%a, w[3,5,1,1])\noutput %y");
  fill_weights(*g);
  const ir::ConstantPtr x = random_tensor(g->inputs()[0]->type.shape, 4);
  Plan plan = plan_of(*g);
  EXPECT_FALSE(equalise(*g, plan, statistics_of(*g, plan, x), true).empty());
  EXPECT_TRUE(equalise(*g, plan, statistics_of(*g, plan, x), true).empty());
}

// What a sum joins takes one factor for each channel, of all that makes and reads it.
TEST(Equalise, ASumTiesItsOperands) {
  const auto g = parsed(kResidual);
  fill_weights(*g);
  Plan plan = plan_of(*g);
  const ir::ConstantPtr x = random_tensor(g->inputs()[0]->type.shape, 4);
  const WeightRows before = weights_of(plan.layers[0]), second = weights_of(plan.layers[2]);
  ASSERT_FALSE(equalise(*g, plan, statistics_of(*g, plan, x), true).empty());
  const WeightRows after = weights_of(plan.layers[0]), changed = weights_of(plan.layers[2]);
  // Of channel c against channel 0: the inner value's factors are the same for all rows of the second.
  const auto factor = [](const WeightRows& is, const WeightRows& was, int64_t c) {
    return is.row(c)[0] / was.row(c)[0] / (is.row(0)[0] / was.row(0)[0]);
  };
  double most = 0;
  for (int64_t c = 1; c < 4; ++c) {
    const double first = factor(after, before, c);
    EXPECT_NEAR(first, factor(changed, second, c), 1e-5 * first);
    most = std::max(most, std::fabs(first - 1));
  }
  EXPECT_GT(most, 0.1);
}

TEST(Equalise, WhatOthersReadIsLeft) {
  const auto g =
      parsed("input %x f32[1,2,6,6]\n%a = Conv(%x, w[5,2,1,1])\n%y = Conv(%a, w[3,5,1,1])\noutput %y\noutput %a");
  fill_weights(*g);
  const ir::ConstantPtr x = random_tensor(g->inputs()[0]->type.shape, 4);
  Plan plan = plan_of(*g);
  EXPECT_TRUE(equalise(*g, plan, statistics_of(*g, plan, x), true).empty());
}

TEST(BiasCorrection, TakesBackTheMeanThatRoundingMoves) {
  const auto g = parsed("input %x f32[1,4]\n%y = Gemm(%x, w[3,4], f32[3]{0,0,0}) {trans_b:true}\noutput %y");
  fill_weights(*g);
  const Plan plan = plan_of(*g);
  const WeightRows rows = weights_of(plan.layers[0]);
  const WeightCodes codes = nearest_codes(rows, {0.3f, 0.3f, 0.3f});
  const std::vector<float> x = {1, 2, 3, 4};
  MomentsObserver moments;
  moments.add(summary_of({x.data(), 1, 4, 1}));
  const std::vector<double> shift = bias_shift(rows, codes, means_of(plan.layers[0], rows, moments));
  ASSERT_EQ(shift.size(), 3u);
  for (int64_t c = 0; c < 3; ++c) {
    double exact = 0, rounded = shift[static_cast<size_t>(c)];
    for (int64_t i = 0; i < 4; ++i) {
      exact += rows.row(c)[i] * static_cast<double>(x[static_cast<size_t>(i)]);
      rounded += codes.codes[static_cast<size_t>(c * 4 + i)] * 0.3f * static_cast<double>(x[static_cast<size_t>(i)]);
    }
    EXPECT_NEAR(exact, rounded, 1e-5);
  }
}

Covariance random_covariance(int64_t size, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> value(0, 1);
  RowsObserver rows;
  std::vector<float> x(static_cast<size_t>(size) * 200);
  for (size_t i = 0; i < x.size(); ++i) x[i] = value(rng) + (i % static_cast<size_t>(size) == 0 ? 0 : 2 * x[i - 1]) / 3;
  rows.add(0, {x.data(), 200, size, 1});
  return covariance_of(rows, 1, true);
}

double objective(const WeightRows& w, const Covariance& h, const WeightCodes& q) {
  double sum = 0;
  const int64_t n = h.size;
  for (int64_t c = 0; c < w.channels; ++c) {
    const auto error = [&](int64_t i) {
      return w.row(c)[i] - q.codes[static_cast<size_t>(c * n + i)] * static_cast<double>(q.scale(c));
    };
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) sum += error(i) * h.values[static_cast<size_t>(i * n + j)] * error(j);
    }
  }
  return sum;
}

WeightRows random_rows(int64_t channels, int64_t size, uint32_t seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<double> value(0, 1);
  WeightRows w;
  w.channels = channels;
  w.per_channel = size;
  for (int64_t i = 0; i < channels * size; ++i) w.values.push_back(value(rng));
  return w;
}

TEST(Descent, TheObjectiveNeverRises) {
  for (uint32_t seed = 1; seed < 20; ++seed) {
    const WeightRows w = random_rows(6, 24, seed);
    const Covariance h = random_covariance(24, seed + 100);
    WeightCodes q = nearest_codes(w, std::vector<float>(6, 0.2f + 0.05f * static_cast<float>(seed)));
    const double before = objective(w, h, q);
    const auto said = descend(w, h, &q);
    const double after = objective(w, h, q);
    EXPECT_NEAR(said.first, before, 1e-9 * before);
    EXPECT_NEAR(said.second, after, 1e-6 * before);
    EXPECT_LT(after, 0.9 * before);
  }
}

// Fewer rows than elements: the rows stand for the matrix, and say the same as it.
TEST(Descent, RowsStandForALargeMatrix) {
  constexpr int64_t kSize = 40;
  std::mt19937 rng(3);
  std::normal_distribution<float> value(0.5f, 1);
  std::vector<float> x(static_cast<size_t>(kSize) * 25);
  for (float& v : x) v = value(rng);
  RowsObserver rows;
  rows.add(0, {x.data(), 25, kSize, 1});
  const Covariance few = covariance_of(rows, 1, true);
  ASSERT_TRUE(few.values.empty());
  Covariance whole;
  whole.size = kSize;
  for (int64_t i = 0; i < kSize; ++i) {
    for (int64_t j = 0; j < kSize; ++j) {
      double sum = i == j ? few.damping : 0;
      for (int64_t r = 0; r < few.rows; ++r)
        sum += static_cast<double>(few.columns[static_cast<size_t>(i * few.rows + r)]) *
               static_cast<double>(few.columns[static_cast<size_t>(j * few.rows + r)]);
      whole.values.push_back(sum);
      if (i != j) continue;
      EXPECT_NEAR(few.diagonal[static_cast<size_t>(i)], sum, 1e-9);
    }
  }
  const WeightRows w = random_rows(5, kSize, 8);
  const WeightCodes nearest = nearest_codes(w, std::vector<float>(5, 0.3f));
  WeightCodes by_rows = nearest, by_matrix = nearest;
  const auto [before, after] = descend(w, few, &by_rows);
  const auto [was, is] = descend(w, whole, &by_matrix);
  EXPECT_EQ(by_rows.codes, by_matrix.codes);
  EXPECT_NEAR(before, was, 1e-6 * was);  // in float32
  EXPECT_NEAR(after, is, 1e-6 * was);
  EXPECT_LT(after, 0.8 * before);
}

TEST(Descent, OfADiagonalMatrixTheNearestAreBest) {
  const WeightRows w = random_rows(3, 8, 2);
  Covariance h;
  h.size = 8;
  h.values.assign(64, 0);
  for (size_t i = 0; i < 8; ++i) h.values[i * 9] = static_cast<double>(i + 1);
  const WeightCodes nearest = nearest_codes(w, {0.3f, 0.3f, 0.3f});
  WeightCodes q = nearest;
  descend(w, h, &q);
  EXPECT_EQ(q.codes, nearest.codes);
}

TEST(Descent, TwoWeightsThatMeetTheSameValueShareTheirError) {
  WeightRows w;
  w.channels = 1;
  w.per_channel = 2;
  w.values = {0.4, 0.4};
  Covariance h;
  h.size = 2;
  h.values = {1, 0.99, 0.99, 1};
  WeightCodes q = nearest_codes(w, {1.0f});
  ASSERT_EQ(q.codes, (std::vector<int8_t>{0, 0}));
  descend(w, h, &q);
  EXPECT_EQ(q.codes[0] + q.codes[1], 1);  // 0.8 in all
}

// What a convolution makes of a sample is what its rows make of its windows.
TEST(Descent, WindowsAreWhatWeightsMultiply) {
  const auto g = parsed(
      "input %x f32[2,4,5,6]\n%y = Conv(%x, w[6,2,3,2]) {group:2, strides:[2,1], pads:[1,0,1,2], "
      "dilations:[1,2]}\noutput %y");
  fill_weights(*g);
  const ir::ConstantPtr x = random_tensor(g->inputs()[0]->type.shape, 3);
  const std::vector<float> y = run(*g, x);
  const Plan plan = plan_of(*g);
  const WeightRows rows = weights_of(plan.layers[0]);
  const TensorView sample = {DType::kF32, {2, 4, 5, 6}, x->tensor.bytes};
  RowsObserver windows;
  ASSERT_TRUE(has_windows(plan.layers[0]));
  add_windows(plan.layers[0], 0, sample, &windows);
  ASSERT_EQ(windows.count() * 6, y.size());
  double from_windows = 0, from_run = 0;
  for (const std::vector<uint16_t>* row : windows.rows()) {
    for (int64_t c = 0; c < 6; ++c) {
      double sum = 0;
      for (int64_t i = 0; i < 12; ++i)
        sum += rows.row(c)[i] * static_cast<double>(bf16_to_f32((*row)[static_cast<size_t>(c / 3 * 12 + i)]));
      from_windows += sum * sum;
    }
  }
  for (const float v : y) from_run += static_cast<double>(v) * static_cast<double>(v);
  EXPECT_NEAR(from_windows, from_run, 4e-3 * from_run);  // each element is off by 2^-9 of itself at most
}

}  // namespace
}  // namespace vireo::quant::int8_test
