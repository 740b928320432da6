// Sessions of open shapes keep the extents that the last run worked out where nothing changed them. Whatever came
// before, failed runs among it, a run gives what the first run of a new session gives.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "converter/convert.h"
#include "converter/testing/model_builder.h"
#include "vireo/vireo.h"

namespace vireo {
namespace {

constexpr int64_t kRows = 6;

// Shapes that hang on extents alone and on a constant, and of these, each for itself, because what is behind the first
// of them is worked out in each run: on what an input holds, on a condition, on how many values are not zero.
enum Cause { kContents, kCondition, kCount };

void add_nodes(testing::ModelBuilder& m, Cause cause) {
  m.input("x", {"N", "4"}).input("shape", {"2"}, 7).input("flag", {}, 9);
  m.ints("pairs", {2}, {-1, 2}).floats("half", {}, {0.5f});
  m.node("Relu", {"x"}, {"r"});
  m.node("Reshape", {"r", "pairs"}, {"by_constant"});
  m.node("Add", {"by_constant", "half"}, {"a"});
  if (cause == kContents) {
    m.node("Reshape", {"a", "shape"}, {"by_data"});
    m.node("Mul", {"by_data", "half"}, {"b"});
  }
  if (cause == kCondition) {
    auto* branch = m.node("If", {"flag"}, {"c"});
    auto yes = testing::add_body(branch, "then_branch");
    testing::add_int(yes.node("Concat", {"x", "r"}, {"t"}), "axis", 0);
    yes.output("t");
    auto no = testing::add_body(branch, "else_branch");
    no.node("Neg", {"x"}, {"e"});
    no.output("e");
    m.node("Relu", {"c"}, {"b"});
  }
  if (cause == kCount) {
    m.node("NonZero", {"a"}, {"where"});
    m.node("Transpose", {"where"}, {"b"});
  }
  m.output("a");
  m.output("b");
}

struct Result {
  vireo_status status;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::string> bytes;
  bool operator==(const Result& o) const { return status == o.status && shapes == o.shapes && bytes == o.bytes; }
};

class OpenModel : public ::testing::Test {
 protected:
  void load(testing::ModelBuilder& m, const ConvertOptions& options) {
    const std::string path = folder_.write("m.onnx", m.bytes());
    Diagnostics diagnostics;
    ASSERT_TRUE(convert_to_memory(path, options, &file_, &diagnostics, nullptr)) << diagnostics.text();
    vireo_error error = VIREO_ERROR_INIT;
    ASSERT_EQ(vireo_runtime_create(nullptr, &runtime_, &error), VIREO_OK) << error.message;
    ASSERT_EQ(vireo_model_load_memory(runtime_, file_.data(), file_.size(), &model_, &error), VIREO_OK)
        << error.message;
  }
  ~OpenModel() override {
    vireo_model_release(model_);
    vireo_runtime_release(runtime_);
  }
  vireo_session* create() {
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.bounds = bounds_.data();
    options.bound_count = static_cast<uint32_t>(bounds_.size());
    vireo_session* s = nullptr;
    vireo_error error = VIREO_ERROR_INIT;
    EXPECT_EQ(vireo_session_create(model_, &options, &s, &error), VIREO_OK) << error.message;
    return s;
  }
  static Result run(vireo_session* s, const std::vector<vireo_tensor>& inputs, size_t outputs) {
    std::vector<vireo_tensor> y(outputs, vireo_tensor{});
    Result r = {vireo_session_run(s, inputs.data(), static_cast<uint32_t>(inputs.size()), y.data(),
                                  static_cast<uint32_t>(y.size()), nullptr),
                {},
                {}};
    if (r.status != VIREO_OK) return r;
    for (const vireo_tensor& t : y) {
      r.shapes.emplace_back(t.dims, t.dims + t.rank);
      size_t bytes = t.dtype == VIREO_INT64 ? 8 : 4;
      for (const int64_t d : r.shapes.back()) bytes *= static_cast<size_t>(d);
      r.bytes.emplace_back(static_cast<const char*>(t.data), bytes);
    }
    return r;
  }

  std::vector<vireo_bound> bounds_ = {{"N", 0, kRows}};
  testing::Folder folder_;
  FileBytes file_;
  vireo_runtime* runtime_ = nullptr;
  vireo_model* model_ = nullptr;
};

vireo_tensor tensor(vireo_dtype dtype, std::initializer_list<int64_t> dims, void* data, size_t bytes) {
  vireo_tensor t = {};
  t.dtype = dtype;
  for (const int64_t d : dims) t.dims[t.rank++] = d;
  t.data = data;
  t.capacity = static_cast<int64_t>(bytes);
  return t;
}

class Shapes : public OpenModel, public ::testing::WithParamInterface<Cause> {};

TEST_P(Shapes, AnyRunIsLikeTheFirst) {
  testing::ModelBuilder m;
  add_nodes(m, GetParam());
  ConvertOptions options;
  options.optimize = false;  // each shape is to be worked out
  ASSERT_NO_FATAL_FAILURE(load(m, options));
  if (GetParam() == kContents) bounds_.insert(bounds_.end(), {{"by_data.size", 0, 24}, {"by_data.size.1", 0, 24}});
  vireo_session* const kept = create();
  std::mt19937 rng(7);
  const auto draw = [&rng](int64_t n) { return static_cast<int64_t>(rng() % static_cast<uint64_t>(n)); };
  int good = 0, refused = 0;
  int64_t rows = 3, shape[2] = {2, 6};
  bool flag = false;
  std::vector<float> x(4 * (kRows + 2));
  for (int i = 0; i < 600; ++i) {
    const int64_t what = draw(8);  // mostly one thing changes, and now and then none
    if (what == 0) rows = draw(kRows + 2);
    if (what == 1 || what == 0) shape[0] = draw(5), shape[1] = draw(3) == 0 ? 4 * rows : -1;
    if (what == 2) flag = !flag;
    for (float& v : x) v = what < 5 ? static_cast<float>(draw(5) - 2) : v;
    alignas(8) uint8_t yes = flag ? 1 : 0;
    const std::vector<vireo_tensor> inputs = {tensor(VIREO_FLOAT32, {rows, 4}, x.data(), x.size() * sizeof(float)),
                                              tensor(VIREO_INT64, {2}, shape, sizeof(shape)),
                                              tensor(VIREO_BOOL, {}, &yes, 1)};
    vireo_session* const fresh = create();
    const Result expected = run(fresh, inputs, 2);
    vireo_session_release(fresh);
    ASSERT_EQ(run(kept, inputs, 2), expected)
        << "run " << i << " of " << rows << " rows as [" << shape[0] << "," << shape[1] << "]";
    ++(expected.status == VIREO_OK ? good : refused);
  }
  vireo_session_release(kept);
  EXPECT_GT(good, 100);
  EXPECT_GT(refused, 50);
}
INSTANTIATE_TEST_SUITE_P(By, Shapes, ::testing::Values(kContents, kCondition, kCount));

// Kernels were chosen for the one extent that the bounds leave: data that give another one end the run.
TEST_F(OpenModel, BoundsThatLeaveOneExtentHold) {
  testing::ModelBuilder m;
  add_nodes(m, kContents);
  ASSERT_NO_FATAL_FAILURE(load(m, {}));
  bounds_ = {{"N", 0, 8}, {"by_data.size", 4, 4}, {"by_data.size.1", 8, 8}};
  vireo_session* const s = create();
  std::vector<float> x(4 * 8, 1);
  alignas(8) uint8_t flag = 0;
  using Run = std::tuple<int64_t, int64_t, int64_t, vireo_status>;
  for (const auto& [n, rows, columns, status] : {Run{8, 4, 8, VIREO_OK}, Run{6, 3, 8, VIREO_OUT_OF_ARENA},
                                                 Run{6, 4, 6, VIREO_OUT_OF_ARENA}, Run{8, 4, -1, VIREO_OK}}) {
    int64_t shape[2] = {rows, columns};
    const Result r = run(s,
                         {tensor(VIREO_FLOAT32, {n, 4}, x.data(), x.size() * sizeof(float)),
                          tensor(VIREO_INT64, {2}, shape, sizeof(shape)), tensor(VIREO_BOOL, {}, &flag, 1)},
                         2);
    EXPECT_EQ(r.status, status) << rows << " x " << columns;
    if (r.status == VIREO_OK) {
      EXPECT_EQ(r.shapes[1], (std::vector<int64_t>{4, 8}));
    }
  }
  vireo_session_release(s);
}

TEST_F(OpenModel, AnInputMayChange) {
  testing::ModelBuilder m;
  m.input("x", {"N", "4"});
  m.node("Neg", {"x"}, {"n"});
  m.node("Flatten", {"n"}, {"y"});
  m.output("y");
  ASSERT_NO_FATAL_FAILURE(load(m, {}));
  vireo_session* const s = create();
  for (const int64_t rows : {2, 2, 5, 0, 5, 5, 1}) {
    const int64_t dims[2] = {rows, 4};
    ASSERT_EQ(vireo_session_input_shape(s, 0, dims, 2, nullptr), VIREO_OK);
    for (int again = 0; again < 2; ++again) {
      const Result r = run(s, std::vector<vireo_tensor>(1, vireo_tensor{}), 1);
      ASSERT_EQ(r.status, VIREO_OK);
      ASSERT_EQ(r.shapes[0], std::vector<int64_t>({rows, 4}));
    }
  }
  vireo_session_release(s);
}

class Carried : public OpenModel {
 protected:
  // h' = x + h.
  void load_carried() {
    testing::ModelBuilder m;
    m.input("h", {"N", "2"}).input("x", {"N", "2"});
    m.node("Add", {"x", "h"}, {"y"});
    m.output("y");
    ConvertOptions options;
    options.states = {{"y", "h"}};
    load(m, options);
  }
};

// A run that fails changes nothing, the shape of what is carried included.
TEST_F(Carried, StateOutlivesAFailedRun) {
  ASSERT_NO_FATAL_FAILURE(load_carried());
  vireo_session* const s = create();
  std::vector<float> ones(6, 1.0f);
  const vireo_tensor three = tensor(VIREO_FLOAT32, {3, 2}, ones.data(), 24);
  const vireo_tensor two = tensor(VIREO_FLOAT32, {2, 2}, ones.data(), 16);
  ASSERT_EQ(run(s, {three, three}, 1).status, VIREO_OK);
  EXPECT_EQ(run(s, {two, three}, 1).status, VIREO_INVALID_ARGUMENT);
  const Result r = run(s, {vireo_tensor{}, three}, 1);
  ASSERT_EQ(r.status, VIREO_OK);
  EXPECT_EQ(r.shapes[0], std::vector<int64_t>({3, 2}));
  const std::vector<float> threes(6, 3.0f);
  EXPECT_EQ(r.bytes[0], std::string(reinterpret_cast<const char*>(threes.data()), 24));
  vireo_session_release(s);
}

TEST_F(Carried, ReserveKeepsTheShapeThatAStateWasGiven) {
  ASSERT_NO_FATAL_FAILURE(load_carried());
  vireo_session* s = create();
  const int64_t dims[2] = {2, 2};
  ASSERT_EQ(vireo_session_input_shape(s, 0, dims, 2, nullptr), VIREO_OK);
  const vireo_bound fewer = {"N", 0, 2};
  vireo_error error = VIREO_ERROR_INIT;
  ASSERT_EQ(vireo_session_reserve(&s, &fewer, 1, &error), VIREO_OK) << error.message;
  vireo_tensor t = {};
  ASSERT_EQ(vireo_session_input(s, 0, &t, nullptr), VIREO_OK);
  EXPECT_EQ(t.dims[0], 2);
  vireo_session_release(s);
}

}  // namespace
}  // namespace vireo
