// An error names its place: the innermost node that failed, and the tensor where a type, a shape, a capacity or a bound
// is at fault.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "converter/convert.h"
#include "converter/testing/model_builder.h"
#include "vireo/vireo.h"

namespace vireo {
namespace {

using testing::GraphBuilder;
using testing::ModelBuilder;

constexpr int kInt64 = 7, kBool = 9;

void pick(GraphBuilder& g, const std::string& from, const std::string& to) {
  g.node("Gather", {from, "at"}, {to})->set_name("pick");
}

// One row of x, taken in the model itself or in bodies: of an If, of a Loop, of a Loop in an If.
void take_row(ModelBuilder& m) { pick(m, "x", "y"); }

void take_row_in_if(ModelBuilder& m) {
  auto* branch = m.node("If", {"flag"}, {"y"});
  branch->set_name("either");
  auto yes = testing::add_body(branch, "then_branch");
  pick(yes, "x", "t");
  yes.output("t");
  auto no = testing::add_body(branch, "else_branch");
  no.node("Gather", {"x", "zero"}, {"e"});
  no.output("e");
}

void repeat_row(GraphBuilder& g, const std::string& to) {
  auto* loop = g.node("Loop", {"trips", "", "row"}, {to});
  loop->set_name("often");
  auto body = testing::add_body(loop, "body");
  body.input("i", {}, kInt64).input("c", {}, kBool).input("v", {"1", "4"});
  body.node("Identity", {"c"}, {"more"});
  pick(body, "x", "p");
  body.node("Add", {"v", "p"}, {"w"});
  body.output("more");
  body.output("w");
}

void take_row_in_loop(ModelBuilder& m) { repeat_row(m, "y"); }

void take_row_in_both(ModelBuilder& m) {
  auto* branch = m.node("If", {"flag"}, {"y"});
  branch->set_name("either");
  auto yes = testing::add_body(branch, "then_branch");
  repeat_row(yes, "t");
  yes.output("t");
  auto no = testing::add_body(branch, "else_branch");
  no.node("Gather", {"x", "zero"}, {"e"});
  no.output("e");
}

struct Case {
  const char* name;
  void (*build)(ModelBuilder&);
  const char* node;  // that takes the row; a body's has its owners' names in front
};

class Places : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    ModelBuilder m;
    m.input("x", {"N", "4"}).input("at", {"1"}, kInt64).input("flag", {}, kBool);
    m.ints("trips", {}, {3}).ints("zero", {1}, {0}).floats("row", {1, 4}, {0, 0, 0, 0});
    GetParam().build(m);
    m.node("Identity", {"flag"}, {"same"});  // so that each model has the same inputs
    m.output("y");
    m.output("same");
    ConvertOptions options;
    options.optimize = false;
    Diagnostics diagnostics;
    ASSERT_TRUE(convert_to_memory(folder_.write("m.onnx", m.bytes()), options, &file_, &diagnostics, nullptr))
        << diagnostics.text();
    ASSERT_EQ(vireo_runtime_create(nullptr, &runtime_, &error_), VIREO_OK) << error_.message;
    ASSERT_EQ(vireo_model_load_memory(runtime_, file_.data(), file_.size(), &model_, &error_), VIREO_OK)
        << error_.message;
    ASSERT_EQ(create({"N", 1, 3}), VIREO_OK) << error_.message;
    x_ = tensor(VIREO_FLOAT32, {2, 4}, rows_, sizeof(rows_));
    at_ = tensor(VIREO_INT64, {1}, &index_, sizeof(index_));
    flag_ = tensor(VIREO_BOOL, {}, &yes_, sizeof(yes_));
    ASSERT_EQ(run(), VIREO_OK) << error_.message;
  }
  ~Places() override {
    vireo_session_release(session_);
    vireo_model_release(model_);
    vireo_runtime_release(runtime_);
  }

  static vireo_tensor tensor(vireo_dtype dtype, std::initializer_list<int64_t> dims, void* data, size_t bytes) {
    vireo_tensor t = {};
    t.dtype = dtype;
    for (const int64_t d : dims) t.dims[t.rank++] = d;
    t.data = data;
    t.capacity = static_cast<int64_t>(bytes);
    return t;
  }
  vireo_status create(const vireo_bound& bound) {
    vireo_session_release(session_);
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.bounds = &bound;
    options.bound_count = 1;
    error_ = VIREO_ERROR_INIT;
    return vireo_session_create(model_, &options, &session_, &error_);
  }
  vireo_status run() {
    const vireo_tensor inputs[] = {x_, at_, flag_};
    error_ = VIREO_ERROR_INIT;
    return vireo_session_run(session_, inputs, 3, outputs_, 2, &error_);
  }
  // That the run fails, and where.
  void expect(vireo_status status, const std::string& node, const std::string& name) {
    EXPECT_EQ(run(), status) << error_.message;
    EXPECT_EQ(error_.node, node) << error_.message;
    EXPECT_EQ(error_.tensor, name) << error_.message;
    EXPECT_NE(std::string(error_.message).find(node.empty() ? name : node), std::string::npos) << error_.message;
  }

  testing::Folder folder_;
  FileBytes file_;
  vireo_runtime* runtime_ = nullptr;
  vireo_model* model_ = nullptr;
  vireo_session* session_ = nullptr;
  vireo_error error_ = VIREO_ERROR_INIT;
  alignas(8) float rows_[3 * 4] = {};
  int64_t index_ = 1;
  uint8_t yes_ = 1;
  vireo_tensor x_ = {}, at_ = {}, flag_ = {};
  vireo_tensor outputs_[2] = {};
};

TEST_P(Places, AnInputOfAnotherTypeOrShape) {
  const vireo_tensor good = x_;
  const std::vector<std::function<void(vireo_tensor&)>> faults = {
      [](vireo_tensor& t) { t.dtype = VIREO_INT32; },
      [](vireo_tensor& t) { t.rank = 1; },
      [](vireo_tensor& t) { t.dims[1] = 5; },
      [](vireo_tensor& t) { t.dims[0] = 4; },  // above the session's bound
      [](vireo_tensor& t) { t.dims[0] = -1; },
      [](vireo_tensor& t) { t.capacity = 4 * 4; },  // room for one row
      [](vireo_tensor& t) {
        t.data = nullptr, t.dims[1] = 5;
      },  // the session's own memory, in a shape that it cannot have
  };
  for (const auto& fault : faults) {
    x_ = good;
    fault(x_);
    expect(VIREO_INVALID_ARGUMENT, "", "x");
  }
  x_ = good;
  at_.dims[0] = 2;
  expect(VIREO_INVALID_ARGUMENT, "", "at");
}

TEST_P(Places, AnOutputWithoutRoom) {
  float small[3];
  outputs_[0].data = small;
  outputs_[0].capacity = sizeof(small);
  expect(VIREO_OUT_OF_ARENA, "", "y");
}

TEST_P(Places, TheInnermostNode) {
  index_ = 2;  // of two rows
  const vireo_status status = run();
  ASSERT_NE(status, VIREO_OK);
  expect(status, GetParam().node, "");
  index_ = 1;
  EXPECT_EQ(run(), VIREO_OK) << error_.message;
}

TEST_P(Places, ABound) {
  EXPECT_EQ(create({"N", 0, 3}), VIREO_OK) << error_.message;
  EXPECT_EQ(create({"N", 1, int64_t{1} << 61}), VIREO_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.tensor, "x") << error_.message;
  EXPECT_STREQ(error_.node, "") << error_.message;
}

INSTANTIATE_TEST_SUITE_P(In, Places,
                         ::testing::Values(Case{"TheModel", take_row, "pick"},
                                           Case{"AnIf", take_row_in_if, "either/pick"},
                                           Case{"ALoop", take_row_in_loop, "often/pick"},
                                           Case{"ALoopInAnIf", take_row_in_both, "either/often/pick"}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace vireo
