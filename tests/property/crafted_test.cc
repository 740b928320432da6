// Models with bodies, well-formed and with hashes that fit, whose plans and bodies mean harm; and bodies that are run
// step by step in memory that their owners lend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "converter/convert.h"
#include "converter/testing/model_builder.h"
#include "sdk/base/dtype.h"
#include "sdk/ops/op.h"
#include "sdk/plan/planner.h"
#include "tests/fuzz/apart.h"
#include "vireo/vireo.h"

namespace vireo {
namespace {

using testing::ModelBuilder;

struct AlignedFree {
  void operator()(uint8_t* p) const { ::operator delete[](p, std::align_val_t{64}); }
};

fuzz::Bytes converted(const ModelBuilder& m, bool optimize = false) {
  testing::Folder folder;
  ConvertOptions options;
  options.optimize = optimize;
  Diagnostics diagnostics;
  FileBytes file;
  EXPECT_TRUE(convert_to_memory(folder.write("m.onnx", m.bytes()), options, &file, &diagnostics, nullptr))
      << diagnostics.text();
  return {file.data(), file.data() + file.size()};
}

struct Loaded {
  std::unique_ptr<uint8_t[], AlignedFree> bytes;
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_session* session = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_status status = VIREO_OK;

  explicit Loaded(const fuzz::Bytes& from)
      : bytes(static_cast<uint8_t*>(::operator new[](from.size(), std::align_val_t{64}))) {
    std::memcpy(bytes.get(), from.data(), from.size());
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    EXPECT_EQ(vireo_runtime_create(&options, &runtime, &error), VIREO_OK) << error.message;
    status = vireo_model_load_memory(runtime, bytes.get(), from.size(), &model, &error);
    vireo_session_options how = VIREO_SESSION_OPTIONS_INIT;
    how.device = "cpu";
    if (status == VIREO_OK) status = vireo_session_create(model, &how, &session, &error);
  }
  ~Loaded() {
    vireo_session_release(session);
    vireo_model_release(model);
    vireo_runtime_release(runtime);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
};

class Crafted : public ::testing::Test {
 protected:
  void take(const ModelBuilder& m, bool optimize = false) {
    const fuzz::Bytes file = converted(m, optimize);
    ASSERT_TRUE(fuzz::take_apart(file.data(), file.size(), &header_, &table_, &segments_));
    const Loaded whole(fuzz::put_together(header_, &table_, segments_));  // good before it is changed
    ASSERT_EQ(whole.status, VIREO_OK) << whole.error.message;
  }
  // The text of the refusal.
  std::string refusal() {
    const Loaded loaded(fuzz::put_together(header_, &table_, segments_));
    EXPECT_EQ(loaded.status, VIREO_INVALID_MODEL) << loaded.error.message;
    return loaded.error.message;
  }
  // What a node of subgraph `g` with this operator makes.
  int32_t made_by(const fb::SubgraphT& g, Op op) {
    for (const auto& n : g.nodes) {
      if (n->op == static_cast<uint16_t>(op)) return n->outputs[0];
    }
    ADD_FAILURE() << "no such node";
    return 0;
  }
  uint64_t& offset(size_t subgraph, int32_t tensor) {
    return table_.plans[0]->subgraphs[subgraph]->offsets[static_cast<size_t>(tensor)];
  }

  FileHeader header_ = {};
  fb::ModelT table_;
  fuzz::Bytes segments_;
};

// y = flag ? Neg(Sin(x)), Exp(x) : Neg(x), Abs(x)
void add_branches(ModelBuilder& m) {
  m.input("x", {"4"}).input("flag", {}, ::onnx::TensorProto::BOOL).output("y").output("z");
  auto* n = m.node("If", {"flag"}, {"y", "z"});
  auto yes = testing::add_body(n, "then_branch");
  yes.node("Exp", {"x"}, {"e"});
  yes.node("Sin", {"x"}, {"s"});
  yes.node("Neg", {"s"}, {"t"});
  yes.output("t");
  yes.output("e");
  auto no = testing::add_body(n, "else_branch");
  no.node("Neg", {"x"}, {"p"});
  no.node("Abs", {"x"}, {"q"});
  no.output("p");
  no.output("q");
}

TEST_F(Crafted, NothingLiesInAnOutputThatIsMade) {
  ModelBuilder m;
  add_branches(m);
  ASSERT_NO_FATAL_FAILURE(take(m));
  const fb::SubgraphT& body = *table_.subgraphs[1];
  offset(1, made_by(body, Op::kSin)) = output_alias(static_cast<uint32_t>(made_by(body, Op::kExp)));
  EXPECT_NE(refusal().find("over another that is still needed"), std::string::npos);
}

TEST_F(Crafted, NothingLiesInAnInputThatIsAnOutput) {
  ModelBuilder m;
  add_branches(m);
  ASSERT_NO_FATAL_FAILURE(take(m));
  fb::SubgraphT& body = *table_.subgraphs[1];
  const auto x = static_cast<int32_t>(body.inputs[0]);
  for (uint32_t& y : body.outputs) {
    if (y == static_cast<uint32_t>(made_by(body, Op::kExp))) y = static_cast<uint32_t>(x);
  }
  offset(1, made_by(body, Op::kExp)) = output_alias(static_cast<uint32_t>(x));
  EXPECT_NE(refusal().find("nowhere"), std::string::npos);
}

// Where there is no trip, a carried value is what came in.
TEST_F(Crafted, CarriedValuesKeepTheirType) {
  ModelBuilder m;
  m.input("x", {"4"}).input("trips", {}, ::onnx::TensorProto::INT64).output("y");
  auto* n = m.node("Loop", {"trips", "", "x"}, {"y"});
  auto body = testing::add_body(n, "body");
  body.input("i", {}, ::onnx::TensorProto::INT64).input("c", {}, ::onnx::TensorProto::BOOL).input("v", {"4"});
  body.node("Identity", {"c"}, {"again"});
  testing::add_int(body.node("Cast", {"v"}, {"w"}), "to", ::onnx::TensorProto::INT32);
  testing::add_int(body.node("Cast", {"w"}, {"u"}), "to", ::onnx::TensorProto::FLOAT);
  body.output("again");
  body.output("u");
  ASSERT_NO_FATAL_FAILURE(take(m));
  fb::SubgraphT& inner = *table_.subgraphs[1];
  const int32_t whole = made_by(inner, Op::kCast);  // of the first Cast
  ASSERT_EQ(inner.tensors[static_cast<size_t>(whole)]->dtype, static_cast<uint8_t>(DType::kI32));
  for (uint32_t& y : inner.outputs) {
    if (inner.tensors[y]->dtype == static_cast<uint8_t>(DType::kF32)) y = static_cast<uint32_t>(whole);
  }
  fb::SubgraphT& outer = *table_.subgraphs[0];
  outer.tensors[static_cast<size_t>(made_by(outer, Op::kLoop))]->dtype = static_cast<uint8_t>(DType::kI32);
  table_.plans[0]->subgraphs.clear();  // a session plans for itself
  const std::string why = refusal();
  EXPECT_NE(why.find("a carried value changes its type"), std::string::npos) << why;
}

// y = Relu(Conv(x)) of one channel, w = -2, b = 1, in float64: one node, whose body every device leaves to the runtime.
void add_conv(testing::GraphBuilder& g, ::onnx::GraphProto* constants, const std::string& x, const std::string& y) {
  for (const auto& [name, value] : {std::pair{"w", -2.0}, {"b", 1.0}}) {
    auto* t = constants->add_initializer();
    t->set_name(name);
    for (int d = 0; d < (*name == 'w' ? 4 : 1); ++d) t->add_dims(1);
    t->set_data_type(::onnx::TensorProto::DOUBLE);
    t->add_double_data(value);
  }
  g.node("Conv", {x, "w", "b"}, {y + "c"});
  g.node("Relu", {y + "c"}, {y});
}

// A composite in a branch, behind it a node that gives the branch's result in the same memory.
TEST_F(Crafted, BodiesRunStepByStepInTheirOwnersMemory) {
  ModelBuilder m;
  m.input("x", {"1", "1", "2", "2"}, ::onnx::TensorProto::DOUBLE)
      .input("flag", {}, ::onnx::TensorProto::BOOL)
      .output("y");
  auto* n = m.node("If", {"flag"}, {"y"});
  auto yes = testing::add_body(n, "then_branch");
  add_conv(yes, m.proto(), "x", "g");
  yes.node("Neg", {"g"}, {"t"});
  yes.output("t");
  auto no = testing::add_body(n, "else_branch");
  no.node("Abs", {"x"}, {"e"});
  no.output("e");
  ASSERT_NO_FATAL_FAILURE(take(m, true));
  ASSERT_EQ(table_.subgraphs.size(), 4u) << "both branches and the composite's body";
  Loaded l(fuzz::put_together(header_, &table_, segments_));
  ASSERT_EQ(l.status, VIREO_OK) << l.error.message;
  const std::vector<double> given = {-2, -0.5, 0.25, 3};
  for (const bool flag : {true, false, true, true}) {
    vireo_tensor x = {}, f = {}, y = {};
    ASSERT_EQ(vireo_session_input(l.session, 0, &x, &l.error), VIREO_OK);
    ASSERT_EQ(vireo_session_input(l.session, 1, &f, &l.error), VIREO_OK);
    std::memcpy(x.data, given.data(), given.size() * sizeof(double));
    *static_cast<uint8_t*>(f.data) = flag ? 1 : 0;
    ASSERT_EQ(vireo_session_run(l.session, nullptr, 0, &y, 1, &l.error), VIREO_OK) << l.error.message;
    for (size_t i = 0; i < given.size(); ++i) {
      const double wanted = flag ? -std::max(0.0, 1 - 2 * given[i]) : std::fabs(given[i]);
      EXPECT_EQ(static_cast<const double*>(y.data)[i], wanted) << i;
    }
  }
}

TEST_F(Crafted, CompositesMakeWhatTheyGive) {
  ModelBuilder m;
  m.input("x", {"1", "1", "2", "2"}, ::onnx::TensorProto::DOUBLE).output("y");
  add_conv(m, m.proto(), "x", "y");
  ASSERT_NO_FATAL_FAILURE(take(m, true));
  ASSERT_EQ(table_.subgraphs.size(), 2u);
  fb::SubgraphT& body = *table_.subgraphs[1];
  body.outputs[0] = body.inputs[0];
  EXPECT_NE(refusal().find("does not fit it"), std::string::npos);
}

// The answer may replace an operand only where that one is never read again: indices and updates are, while it is
// written.
TEST_F(Crafted, ScatterDoesNotWriteOverWhatItReads) {
  for (const bool updates : {false, true}) {
    ModelBuilder m(18);
    m.input("x", {"3"}, ::onnx::TensorProto::INT64).input("w", {"3"}, ::onnx::TensorProto::INT64).output("y");
    m.ints("turn", {3}, {1, 2, 0}).ints("count", {3}, {0, 1, 2});
    m.node("Add", {"x", "w"}, {"d"});
    m.node("ScatterElements",
           updates ? std::vector<std::string>{"d", "turn", "d"} : std::vector<std::string>{"d", "d", "count"}, {"y"});
    Loaded l(converted(m, true));
    ASSERT_EQ(l.status, VIREO_OK) << l.error.message;
    vireo_tensor x = {}, w = {}, y = {};
    ASSERT_EQ(vireo_session_input(l.session, 0, &x, &l.error), VIREO_OK);
    ASSERT_EQ(vireo_session_input(l.session, 1, &w, &l.error), VIREO_OK);
    for (int i = 0; i < 3; ++i) {
      static_cast<int64_t*>(x.data)[i] = 0;
      static_cast<int64_t*>(w.data)[i] = (i + 1) % 3;
    }
    ASSERT_EQ(vireo_session_run(l.session, nullptr, 0, &y, 1, &l.error), VIREO_OK) << l.error.message;
    const auto* got = static_cast<const int64_t*>(y.data);
    // d = [1, 2, 0]: its inverse is [2, 0, 1]; moved one place on it is [0, 1, 2].
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(got[i], updates ? i : (i + 2) % 3) << i << (updates ? " updates" : " indices");
  }
}

}  // namespace
}  // namespace vireo
