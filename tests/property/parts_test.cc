// Slice, Split, Concat, Gather and views in random mixes with operators that work in place: a session must compute what
// the reference kernels compute node by node, to the bit, whoever made the plan; and a plan with offsets changed at
// random is refused, or computes the same.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "converter/emit/model_file.h"
#include "converter/ir/infer.h"
#include "converter/ir/interpret.h"
#include "sdk/format/container.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/gather/gather_generated.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/slice/slice_generated.h"
#include "sdk/ops/split/split_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "vireo/vireo.h"

namespace vireo {
namespace {

enum class Bounds { kFixed, kBounded, kOpen };
constexpr int64_t kExtent = 5, kMost = 6;

class Net {
 public:
  Net(uint32_t seed, Bounds bounds) : rng_(seed), g_(std::make_shared<ir::DimTable>()) {
    // Rows of 16 floats keep all parts aligned, rows of 6 some.
    static const int64_t kRows[] = {16, 16, 32, 6};
    row_ = kRows[draw(4)];
    Dim c = kExtent;
    if (bounds != Bounds::kFixed) {
      c = g_.dims().symbol("c");
      if (bounds == Bounds::kBounded) g_.dims().set_bounds("c", 1, kMost);
    }
    pool_ = {g_.add_input("x", {DType::kF32, make({1, 4, row_})}),
             g_.add_input("s", {DType::kF32, make({1, c, row_})})};
    pool_.push_back(unary(pool_[0]));
    const int nodes = 4 + static_cast<int>(draw(24));
    for (int n = 0; n < nodes; ++n) grow();
    for (ir::Value* v : pool_) {
      if (!v->is_input && (v->unused() || draw(12) == 0)) g_.add_output(v, "out" + std::to_string(v->id));
    }
    emit::separate_outputs(g_);
  }

  const ir::Graph& graph() const { return g_; }
  uint64_t saved() const { return report_.copies_saved_bytes; }

  // By the reference kernels, one after another.
  std::vector<ir::ConstantPtr> wanted(std::vector<ir::ConstantPtr>* inputs) {
    for (const int64_t extent : {int64_t{4}, kExtent}) {
      std::vector<float> values(static_cast<size_t>(extent * row_));
      for (float& v : values) v = static_cast<float>(static_cast<int>(draw(2001)) - 1000) / 64;
      inputs->push_back(ir::make_constant_of<float>(DType::kF32, make({1, extent, row_}), values));
    }
    std::vector<ir::ConstantPtr> out;
    std::string error;
    EXPECT_TRUE(ir::interpret(g_, *inputs, &out, &error)) << error;
    return out;
  }
  bool file(FileBytes* bytes) {
    Diagnostics diagnostics;
    const auto made = emit::ModelFile::build(g_, {}, {}, &diagnostics, &report_);
    EXPECT_NE(made, nullptr) << diagnostics.text();
    if (made != nullptr) made->write(bytes);
    return made != nullptr;
  }

 private:
  unsigned draw(unsigned n) { return static_cast<unsigned>(rng_()) % n; }
  static Shape make(std::initializer_list<Dim> dims) {
    Shape s;
    for (const Dim d : dims) s[s.rank++] = d;
    return s;
  }
  ir::Value* ints(const std::vector<int64_t>& v) {
    return g_.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, make({static_cast<Dim>(v.size())}), v));
  }
  ir::Node* node(Op op, std::vector<uint8_t> attrs, std::vector<ir::Value*> in, size_t outputs = 1) {
    ir::Node* n = g_.add_node(op, std::move(attrs), std::move(in), outputs);
    std::string message;
    EXPECT_TRUE(ok(ir::infer_node(g_, n, nullptr, &message))) << op_name(op) << ": " << message;
    for (ir::Value* v : n->outputs) v->name = "v" + std::to_string(v->id);
    return n;
  }
  ir::Value* unary(ir::Value* x) {
    return node(draw(2) == 0 ? Op::kRelu : Op::kNeg, pack<attrs::Unary>(attrs::UnaryT{}), {x})->out();
  }
  static int axis_of(const ir::Value* v) { return v->type.shape.rank - 2; }
  static Dim extent(const ir::Value* v) { return v->type.shape[axis_of(v)]; }

  void cut(ir::Value* x) {
    const auto d = extent(x);
    if (is_symbolic(d)) {  // its first rows: where they lie is known, how many there are is not
      pool_.push_back(node(Op::kSlice, pack<attrs::Slice>(attrs::SliceT{}),
                           {x, ints({static_cast<int64_t>(draw(2))}), ints({2 + static_cast<int64_t>(draw(9))}),
                            ints({axis_of(x)})})
                          ->out());
      return;
    }
    if (d < 2) return;
    const auto at = 1 + static_cast<int64_t>(draw(static_cast<unsigned>(d - 1)));
    switch (draw(4)) {
      case 0: {
        attrs::SplitT a;
        a.axis = axis_of(x);
        const bool listed = draw(2) == 0;
        a.num_outputs = listed ? 0 : 2;
        std::vector<ir::Value*> in = {x};
        if (listed) in.push_back(ints({at, d - at}));
        const ir::Node* n = node(Op::kSplit, pack<attrs::Split>(a), in, 2);
        pool_.insert(pool_.end(), n->outputs.begin(), n->outputs.end());
        return;
      }
      case 1: {
        attrs::GatherT a;
        a.axis = axis_of(x);
        pool_.push_back(node(Op::kGather, pack<attrs::Gather>(a), {x, ints({draw(2) == 0 ? at : -at})})->out());
        return;
      }
      default: {
        const bool last = draw(6) == 0;  // not one run of bytes
        const std::vector<int64_t> starts = {last ? 1 : draw(2) == 0 ? at : at - d}, ends = {INT64_MAX};
        pool_.push_back(node(Op::kSlice, pack<attrs::Slice>(attrs::SliceT{}),
                             {x, ints(starts), ints(ends), ints({last ? x->type.shape.rank - 1 : axis_of(x)}),
                              ints({draw(5) == 0 ? 2 : 1})})
                            ->out());
      }
    }
  }

  void grow() {
    ir::Value* x = pool_[draw(3) == 0 ? draw(static_cast<unsigned>(pool_.size()))
                                      : static_cast<unsigned>(pool_.size()) - 1 -
                                            draw(std::min(4u, static_cast<unsigned>(pool_.size())))];
    const unsigned what = draw(10);
    if (what < 3) return cut(x);
    if (what < 6) {
      std::vector<ir::Value*> in;
      for (unsigned tries = 0; tries < 12 && in.size() < 2 + draw(3); ++tries) {
        ir::Value* y = tries == 0 ? x : pool_[draw(static_cast<unsigned>(pool_.size()))];
        if (y->type.shape.rank == x->type.shape.rank &&
            y->type.shape[y->type.shape.rank - 1] == x->type.shape[x->type.shape.rank - 1]) {
          in.push_back(y);
        }
      }
      int64_t rows = 0;
      for (const ir::Value* v : in) rows += is_symbolic(extent(v)) ? kMost : extent(v);
      if (rows > 64) return;
      attrs::ConcatT a;
      a.axis = axis_of(x);
      pool_.push_back(node(Op::kConcat, pack<attrs::Concat>(a), in)->out());
      return;
    }
    if (what < 7) {  // a view
      const std::vector<int64_t> axes = {0};
      const bool three = x->type.shape.rank == 3;
      pool_.push_back(three
                          ? node(Op::kSqueeze, pack<attrs::Squeeze>(attrs::SqueezeT{}), {x, ints(axes)})->out()
                          : node(Op::kUnsqueeze, pack<attrs::Unsqueeze>(attrs::UnsqueezeT{}), {x, ints(axes)})->out());
      return;
    }
    if (what < 8) {
      for (ir::Value* y : pool_) {
        if (y == x || y->type != x->type || draw(2) == 0) continue;
        pool_.push_back(node(Op::kAdd, pack<attrs::Binary>(attrs::BinaryT{}), {x, y})->out());
        return;
      }
    }
    pool_.push_back(unary(x));
  }

  std::mt19937 rng_;
  ir::Graph g_;
  int64_t row_ = 0;
  std::vector<ir::Value*> pool_;
  ConvertReport report_;
};

class PartsOfPlans : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(vireo_runtime_create(nullptr, &runtime_, nullptr), VIREO_OK); }
  void TearDown() override { vireo_runtime_release(runtime_); }

  // False when the file is refused. Two runs: the second finds the arena as the first has left it.
  bool run(const FileBytes& file, const std::vector<ir::ConstantPtr>& inputs,
           const std::vector<ir::ConstantPtr>& wanted, bool open) {
    vireo_model* model = nullptr;
    vireo_session* session = nullptr;
    vireo_error error = VIREO_ERROR_INIT;
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    const vireo_bound bound = {"c", 1, kMost};
    options.bounds = &bound;
    options.bound_count = open ? 1 : 0;
    EXPECT_EQ(vireo_model_load_memory(runtime_, file.data(), file.size(), &model, &error), VIREO_OK) << error.message;
    const bool made = vireo_session_create(model, &options, &session, &error) == VIREO_OK;
    message_ = error.message;
    for (int round = 0; made && round < 2; ++round) {
      std::vector<vireo_tensor> in(inputs.size()), out(wanted.size());
      for (size_t i = 0; i < in.size(); ++i) {
        std::memset(&in[i], 0, sizeof(in[i]));
        const ConstTensor& t = inputs[i]->tensor;
        in[i].dtype = static_cast<vireo_dtype>(t.type.dtype);
        in[i].rank = t.type.shape.rank;
        for (int k = 0; k < t.type.shape.rank; ++k) in[i].dims[k] = t.type.shape[k];
        in[i].data = const_cast<uint8_t*>(t.bytes.data());
        in[i].capacity = static_cast<int64_t>(t.bytes.size());
      }
      std::memset(out.data(), 0, out.size() * sizeof(vireo_tensor));
      EXPECT_EQ(vireo_session_run(session, in.data(), static_cast<uint32_t>(in.size()), out.data(),
                                  static_cast<uint32_t>(out.size()), &error),
                VIREO_OK)
          << error.message;
      for (size_t o = 0; o < out.size(); ++o) {
        const Span<const uint8_t> bytes = wanted[o]->tensor.bytes;
        EXPECT_TRUE(bytes.empty() || std::memcmp(out[o].data, bytes.data(), bytes.size()) == 0)
            << "output " << o << ", run " << round;
      }
    }
    vireo_session_release(session);
    vireo_model_release(model);
    return made;
  }

  vireo_runtime* runtime_ = nullptr;
  std::string message_;
};

class Parts : public PartsOfPlans, public ::testing::WithParamInterface<Bounds> {};

TEST_P(Parts, RandomGraphs) {
  uint64_t saved = 0;
  for (uint32_t seed = 0; seed < 400 && !HasFailure(); ++seed) {
    Net net(seed, GetParam());
    std::vector<ir::ConstantPtr> inputs;
    const std::vector<ir::ConstantPtr> wanted = net.wanted(&inputs);
    FileBytes file;
    ASSERT_TRUE(net.file(&file));
    saved += net.saved();
    EXPECT_TRUE(run(file, inputs, wanted, GetParam() == Bounds::kOpen)) << message_;
    if (HasFailure()) std::printf("seed %u\n", seed);
  }
  EXPECT_TRUE(saved > 0 || GetParam() == Bounds::kOpen);
}

// The runtime's check is what stands between a file and the arena: what it lets through must be right.
TEST_F(PartsOfPlans, ChangedOffsetsAreRefusedOrHarmless) {
  std::mt19937 rng(11);
  int refused = 0, ran = 0;
  for (uint32_t seed = 1000; seed < 1300 && !HasFailure(); ++seed) {
    Net net(seed, seed % 2 == 0 ? Bounds::kFixed : Bounds::kBounded);
    std::vector<ir::ConstantPtr> inputs;
    const std::vector<ir::ConstantPtr> wanted = net.wanted(&inputs);
    FileBytes file;
    ASSERT_TRUE(net.file(&file));
    FileHeader header;
    std::memcpy(&header, file.data(), sizeof(header));
    const fb::Model* model = fb::GetModel(file.data() + header.model_offset);
    const fb::SubgraphPlan& plan = *model->plans()->Get(0)->subgraphs()->Get(0);
    auto* offsets = const_cast<flatbuffers::Vector<uint64_t>*>(plan.offsets());
    std::vector<uint64_t> before(offsets->begin(), offsets->end());
    for (int round = 0; round < 20 && !HasFailure(); ++round) {
      for (flatbuffers::uoffset_t t = 0; t < offsets->size(); ++t) offsets->Mutate(t, before[t]);
      for (unsigned k = 0; k <= rng() % 2; ++k) {
        const auto t = static_cast<flatbuffers::uoffset_t>(rng() % before.size());
        const auto u = rng() % before.size();
        if (before[t] > plan.bytes() || before[u] > plan.bytes()) continue;
        const auto away = static_cast<int64_t>(rng() % 9) - 4;
        offsets->Mutate(t, before[u] + static_cast<uint64_t>((rng() % 2 == 0 ? away : 0) * 16));
      }
      ++(run(file, inputs, wanted, false) ? ran : refused);
      if (HasFailure()) std::printf("seed %u, round %d\n", seed, round);
    }
  }
  RecordProperty("refused", refused);
  EXPECT_GT(refused, 1000);
  EXPECT_GT(ran, 1000);
}

INSTANTIATE_TEST_SUITE_P(, Parts, ::testing::Values(Bounds::kFixed, Bounds::kBounded, Bounds::kOpen),
                         [](const auto& p) {
                           return p.param == Bounds::kFixed     ? "Fixed"
                                  : p.param == Bounds::kBounded ? "Bounded"
                                                                : "Open";
                         });

}  // namespace
}  // namespace vireo
