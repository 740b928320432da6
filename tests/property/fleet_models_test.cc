// Splits of an integer model are one session's to the bit, whatever the shares; models whose runs or rows depend on one
// another are refused with the name of what makes them so.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "converter/emit/model_file.h"
#include "converter/ir/infer.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/random/random_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "vireo/fleet.h"

namespace vireo {
namespace {

enum class Kind { kInteger, kRandom, kTwoBatches, kState };

FileBytes make(Kind kind) {
  const auto dims = std::make_shared<ir::DimTable>();
  ir::Graph g(dims);
  Shape shape;
  shape.rank = 2;
  shape[0] = dims->symbol("n");
  shape[1] = 5;
  EXPECT_TRUE(dims->set_bounds("n", 1, 40));
  const DType type = kind == Kind::kRandom ? DType::kF32 : DType::kI32;
  ir::Value* const x = g.add_input("x", {type, shape});
  if (kind == Kind::kTwoBatches) {
    shape[0] = dims->symbol("m");
    EXPECT_TRUE(dims->set_bounds("m", 1, 40));
  }
  ir::Value* const z = g.add_input("z", {type, shape});
  const auto node = [&g](Op op, std::vector<ir::Value*> in, const char* name) {
    const bool two = in.size() == 2;
    ir::Node* n = nullptr;
    if (op == Op::kRandomUniformLike) {
      n = g.add_node(op, pack<attrs::Random>(attrs::RandomT{}), std::move(in), 1);
    } else {
      n = g.add_node(op, two ? pack<attrs::Binary>(attrs::BinaryT{}) : pack<attrs::Unary>(attrs::UnaryT{}),
                     std::move(in), 1);
    }
    n->name = name;
    std::string message;
    EXPECT_TRUE(ok(ir::infer_node(g, n, nullptr, &message))) << message;
    return n->out();
  };
  if (kind == Kind::kTwoBatches) {
    g.add_output(node(Op::kNeg, {x}, "a"), "y");
    g.add_output(node(Op::kNeg, {z}, "b"), "w");
  } else if (kind == Kind::kRandom) {
    g.add_output(node(Op::kAdd, {node(Op::kRandomUniformLike, {x}, "dice"), z}, "sum"), "y");
  } else {
    g.add_output(node(Op::kMul, {node(Op::kAdd, {x, z}, "sum"), x}, "product"), "y");
    g.add_output(node(Op::kNeg, {x}, "minus"), "w");
  }
  emit::separate_outputs(g);
  FileBytes bytes;
  Diagnostics diagnostics;
  ConvertReport report;
  ConvertOptions options;
  if (kind == Kind::kState) options.states = {{"w", "z"}};
  const auto made = emit::ModelFile::build(g, options, {}, &diagnostics, &report);
  EXPECT_NE(made, nullptr) << diagnostics.text();
  if (made != nullptr) made->write(&bytes);
  return bytes;
}

struct Loaded {
  FileBytes bytes;
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  explicit Loaded(Kind kind) : bytes(make(kind)) {
    vireo_error error = VIREO_ERROR_INIT;
    EXPECT_EQ(vireo_runtime_create(nullptr, &runtime, &error), VIREO_OK) << error.message;
    EXPECT_EQ(vireo_model_load_memory(runtime, bytes.data(), bytes.size(), &model, &error), VIREO_OK) << error.message;
  }
  ~Loaded() {
    vireo_model_release(model);
    vireo_runtime_release(runtime);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
};

TEST(FleetModels, IntegersAreOneSessionsToTheBit) {
  Loaded loaded(Kind::kInteger);
  const char* const devices[] = {"cpu", "cpu", "cpu"};
  const double shares[][3] = {{1, 1, 1}, {1, 0, 0}, {0, 0, 1}, {7, 2, 1}, {1, 100, 3}};
  for (const auto& weights : shares) {
    vireo_split_options options = VIREO_SPLIT_OPTIONS_INIT;
    options.devices = devices;
    options.device_count = 3;
    options.weights = weights;
    options.batch = 40;
    vireo_error error = VIREO_ERROR_INIT;
    vireo_split* split = nullptr;
    ASSERT_EQ(vireo_split_create(loaded.model, &options, &split, &error), VIREO_OK) << error.message;
    for (const int64_t rows : {1, 2, 3, 17, 40}) {
      std::vector<int32_t> x(static_cast<size_t>(rows * 5)), z(x), y(x), w(x);
      for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<int32_t>(i * 37 % 101) - 50;
        z[i] = static_cast<int32_t>(i * 53 % 97);
      }
      const auto tensor = [rows](std::vector<int32_t>& v) {
        vireo_tensor t = {};
        t.dtype = VIREO_INT32;
        t.rank = 2;
        t.dims[0] = rows;
        t.dims[1] = 5;
        t.data = v.data();
        t.capacity = static_cast<int64_t>(v.size() * sizeof(int32_t));
        return t;
      };
      const vireo_tensor in[] = {tensor(x), tensor(z)};
      vireo_tensor out[] = {tensor(y), tensor(w)};
      ASSERT_EQ(vireo_split_run(split, in, 2, out, 2, &error), VIREO_OK) << error.message;
      for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(y[i], (x[i] + z[i]) * x[i]) << i << " of " << rows << " rows";
        ASSERT_EQ(w[i], -x[i]);
      }
    }
    vireo_split_release(split);
  }
}

TEST(FleetModels, TwoBatchesAreRefusedByName) {
  Loaded loaded(Kind::kTwoBatches);
  const char* const devices[] = {"cpu", "cpu"};
  vireo_split_options options = VIREO_SPLIT_OPTIONS_INIT;
  options.devices = devices;
  options.device_count = 2;
  options.batch = 8;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_split* split = nullptr;
  EXPECT_EQ(vireo_split_create(loaded.model, &options, &split, &error), VIREO_INVALID_ARGUMENT);
  EXPECT_STREQ(error.tensor, "z") << error.message;
}

TEST(FleetModels, StateIsRefusedByName) {
  Loaded loaded(Kind::kState);
  vireo_error error = VIREO_ERROR_INIT;
  for (const uint32_t depth : {0u, 1u, 2u}) {
    vireo_pipeline_options options = VIREO_PIPELINE_OPTIONS_INIT;
    options.depth = depth;
    vireo_pipeline* pipeline = nullptr;
    EXPECT_EQ(vireo_pipeline_create(loaded.model, &options, &pipeline, &error), VIREO_INVALID_ARGUMENT) << depth;
    EXPECT_STREQ(error.tensor, "z") << error.message;
    EXPECT_EQ(pipeline, nullptr);
  }
  const char* const devices[] = {"cpu", "cpu"};
  vireo_split_options options = VIREO_SPLIT_OPTIONS_INIT;
  options.devices = devices;
  options.device_count = 2;
  options.batch = 8;
  vireo_split* split = nullptr;
  EXPECT_EQ(vireo_split_create(loaded.model, &options, &split, &error), VIREO_INVALID_ARGUMENT);
  EXPECT_STREQ(error.tensor, "z") << error.message;
  EXPECT_EQ(split, nullptr);
}

TEST(FleetModels, DrawsAreRefusedByName) {
  Loaded loaded(Kind::kRandom);
  vireo_error error = VIREO_ERROR_INIT;
  const vireo_bound bound = {"n", 1, 4};
  vireo_session_options session = VIREO_SESSION_OPTIONS_INIT;
  session.bounds = &bound;
  session.bound_count = 1;
  vireo_pipeline_options options = VIREO_PIPELINE_OPTIONS_INIT;
  options.session = &session;
  options.depth = 2;
  vireo_pipeline* pipeline = nullptr;
  EXPECT_EQ(vireo_pipeline_create(loaded.model, &options, &pipeline, &error), VIREO_UNSUPPORTED);
  EXPECT_STREQ(error.node, "dice") << error.message;
  options.depth = 0;
  ASSERT_EQ(vireo_pipeline_create(loaded.model, &options, &pipeline, &error), VIREO_OK) << error.message;
  EXPECT_EQ(vireo_pipeline_depth(pipeline), 1u);
  vireo_pipeline_release(pipeline);
  const char* const devices[] = {"cpu", "cpu"};
  vireo_split_options cut = VIREO_SPLIT_OPTIONS_INIT;
  cut.devices = devices;
  cut.device_count = 2;
  cut.batch = 8;
  vireo_split* split = nullptr;
  EXPECT_EQ(vireo_split_create(loaded.model, &cut, &split, &error), VIREO_UNSUPPORTED);
  EXPECT_STREQ(error.node, "dice") << error.message;
}

}  // namespace
}  // namespace vireo
