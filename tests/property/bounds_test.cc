// A session of large bounds computes what a session of exactly the run's extents does, whichever extent varies: those
// of weights too. Scratch is planned for the bounds, where kernels choose other ways than below them; in builds with
// AddressSanitizer the guard of runtime/run/part_guard.h sees one that leaves what it asked for. VIREO_BOUNDS_DEVICE
// names the session's devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "converter/convert.h"
#include "converter/testing/model_builder.h"
#include "sdk/base/half.h"
#include "tests/support/sample.h"
#include "vireo/vireo.h"

namespace vireo {
namespace {

using testing::Dims;

enum Type { kFloat = 1, kUint8 = 2, kInt8 = 3, kInt32 = 6, kInt64 = 7, kHalf = 10, kDouble = 11 };

struct Input {
  Dims dims;
  int dtype = kFloat;
  bool constant = false;
  int64_t most = 100;                // integers lie in 0 .. most - 1, those of 8 bits anywhere
  std::vector<int64_t> values = {};  // a constant's of integers
  float scale = 0;                   // a constant of one float32
};
Input constant(Dims dims, int dtype = kFloat) { return {std::move(dims), dtype, true}; }
Input numbers(std::vector<int64_t> values) {
  return {{std::to_string(values.size())}, kInt64, true, 0, std::move(values)};
}
Input scale(float v) { return {{}, kFloat, true, 0, {}, v}; }
Input zero_point(int dtype) { return {{}, dtype, true}; }

struct Attribute {
  const char* name;
  std::vector<int64_t> values;
  bool list = false;
  const char* text = nullptr;
};
Attribute list(const char* name, std::vector<int64_t> values) { return {name, std::move(values), true}; }
Attribute number(const char* name, int64_t v) { return {name, {v}}; }
Attribute text(const char* name, const char* v) { return {name, {}, false, v}; }

// A symbol is drawn from 1 to its bound, or is a multiple of another.
struct Symbol {
  int64_t most;
  const char* of = nullptr;
  int64_t times = 1;
};

struct Case {
  const char* name;
  const char* op;
  std::vector<Input> inputs;
  std::vector<Attribute> attributes;
  std::map<std::string, Symbol> symbols;
  size_t outputs = 1;
  const char* then = nullptr;                         // a unary node behind it
  void (*nodes)(testing::ModelBuilder& m) = nullptr;  // instead of `op`: from x0, x1, ... to y0
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

size_t element_bytes(int dtype) {
  switch (dtype) {
    case kInt64:
    case kDouble:
      return 8;
    case kHalf:
      return 2;
    case kFloat:
    case kInt32:
      return 4;
    default:
      return 1;
  }
}

class Bounds : public ::testing::TestWithParam<Case> {
 protected:
  std::string random_bytes(const Input& input, int64_t count) {
    std::string bytes(static_cast<size_t>(count) * element_bytes(input.dtype), '\0');
    const auto put = [&](int64_t i, auto v) { std::memcpy(&bytes[static_cast<size_t>(i) * sizeof(v)], &v, sizeof(v)); };
    for (int64_t i = 0; i < count; ++i) {
      const float real = static_cast<float>(rng_() % 2001) / 1000 - 1;
      const auto integer = input.most == 0 ? 0 : static_cast<int64_t>(rng_() % static_cast<uint64_t>(input.most));
      if (input.dtype == kFloat) put(i, input.scale != 0 ? input.scale : real);
      if (input.dtype == kDouble) put(i, static_cast<double>(real));
      if (input.dtype == kHalf) put(i, f32_to_f16(real));
      if (input.dtype == kInt64) put(i, input.values.empty() ? integer : input.values[static_cast<size_t>(i)]);
      if (input.dtype == kInt32) put(i, static_cast<int32_t>(integer));
      if (element_bytes(input.dtype) == 1)
        put(i, static_cast<uint8_t>(input.values.empty() ? rng_() : input.values[0]));
    }
    return bytes;
  }

  void build(testing::ModelBuilder& m) {
    const Case& c = GetParam();
    std::vector<std::string> names, outputs;
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const Input& input = c.inputs[i];
      names.push_back("x" + std::to_string(i));
      if (!input.constant) {
        m.input(names.back(), input.dims, input.dtype);
        continue;
      }
      auto* t = m.proto()->add_initializer();
      t->set_name(names.back());
      t->set_data_type(input.dtype);
      int64_t count = 1;
      for (const std::string& d : input.dims) {
        t->add_dims(std::stoll(d));
        count *= std::stoll(d);
      }
      t->set_raw_data(random_bytes(input, count));
    }
    for (size_t o = 0; o < c.outputs; ++o) outputs.push_back("y" + std::to_string(o));
    if (c.nodes != nullptr) {
      c.nodes(m);
      m.output("y0");
      return;
    }
    if (c.then != nullptr) {
      m.node(c.then, {"inner"}, {"y0"});
      m.output("y0");
      outputs[0] = "inner";
    } else {
      for (const std::string& o : outputs) m.output(o);
    }
    auto* n = m.node(c.op, names, outputs);
    for (const Attribute& a : c.attributes) {
      if (a.text != nullptr) {
        auto* to = n->add_attribute();
        to->set_name(a.name);
        to->set_type(::onnx::AttributeProto::STRING);
        to->set_s(a.text);
      } else if (a.list) {
        testing::add_ints(n, a.name, a.values);
      } else {
        testing::add_int(n, a.name, a.values[0]);
      }
    }
    if (c.then != nullptr) m.proto()->mutable_node()->SwapElements(0, 1);
  }

  // All of `most` once in `all_in` times; else the smaller the likelier, as most changes of ways lie there.
  int64_t draw(int64_t most, uint32_t all_in) {
    const auto log = std::log2(static_cast<double>(most) + 1) * static_cast<double>(rng_() % 1000) / 1000;
    const auto v = static_cast<int64_t>(std::exp2(log));
    return rng_() % all_in == 0 ? most : std::min(std::max<int64_t>(v, 1), most);
  }

  using Extents = std::map<std::string, int64_t>;
  // Each at most what `most` says; without it, what the case says.
  Extents draw_extents(const Extents* most) {
    Extents e;
    for (const auto& [name, s] : GetParam().symbols) {
      if (s.of == nullptr) e[name] = most != nullptr ? draw(most->at(name), 4) : draw(s.most, 2);
    }
    for (const auto& [name, s] : GetParam().symbols) {
      if (s.of != nullptr) e[name] = e[s.of] * s.times;
    }
    return e;
  }

  // Others are there to draw by.
  static bool uses(const std::string& name) {
    for (const Input& input : GetParam().inputs) {
      if (std::count(input.dims.begin(), input.dims.end(), name) != 0) return true;
    }
    return false;
  }

  vireo_session* session(const Extents& most, int32_t threads) {
    std::vector<vireo_bound> bounds;
    for (const auto& [name, v] : most) {
      if (uses(name)) bounds.push_back({name.c_str(), 1, v});
    }
    vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
    options.bounds = bounds.data();
    options.bound_count = static_cast<uint32_t>(bounds.size());
    options.threads = threads;
    options.device = std::getenv("VIREO_BOUNDS_DEVICE");
    vireo_session* s = nullptr;
    vireo_error error = VIREO_ERROR_INIT;
    EXPECT_EQ(vireo_session_create(model_, &options, &s, &error), VIREO_OK) << error.message;
    return s;
  }

  void SetUp() override {
    vireo_error error = VIREO_ERROR_INIT;
    ASSERT_EQ(vireo_runtime_create(nullptr, &runtime_, &error), VIREO_OK) << error.message;
  }
  void TearDown() override {
    vireo_model_release(model_);
    vireo_runtime_release(runtime_);
  }

  // 1, unless the tests are shuffled: --gtest_shuffle --gtest_repeat=100 draws others.
  std::mt19937 rng_{static_cast<uint32_t>(::testing::UnitTest::GetInstance()->random_seed()) + 1};
  vireo_runtime* runtime_ = nullptr;
  vireo_model* model_ = nullptr;
};

void compare(const vireo_tensor& got, const vireo_tensor& want) {
  ASSERT_EQ(got.rank, want.rank);
  ASSERT_EQ(got.dtype, want.dtype);
  int64_t count = 1;
  for (int i = 0; i < want.rank; ++i) {
    ASSERT_EQ(got.dims[i], want.dims[i]);
    count *= want.dims[i];
  }
  for (int64_t i = 0; i < count; ++i) {
    double a = 0, b = 0, slack = 0;
    if (want.dtype == VIREO_FLOAT32) {
      a = static_cast<const float*>(got.data)[i];
      b = static_cast<const float*>(want.data)[i];
      slack = 1e-4;
    } else if (want.dtype == VIREO_FLOAT16) {
      a = f16_to_f32(static_cast<const uint16_t*>(got.data)[i]);
      b = f16_to_f32(static_cast<const uint16_t*>(want.data)[i]);
      slack = 1e-2;
    } else if (want.dtype == VIREO_FLOAT64) {
      a = static_cast<const double*>(got.data)[i];
      b = static_cast<const double*>(want.data)[i];
      slack = 1e-10;
    } else {
      const size_t size = element_bytes(static_cast<int>(want.dtype));
      ASSERT_EQ(std::memcmp(static_cast<const char*>(got.data) + static_cast<size_t>(i) * size,
                            static_cast<const char*>(want.data) + static_cast<size_t>(i) * size, size),
                0)
          << "element " << i;
      continue;
    }
    if (std::isnan(a) && std::isnan(b)) continue;
    ASSERT_LE(std::fabs(a - b), slack * (1 + std::fabs(b))) << "element " << i << ": " << a << ", wanted " << b;
  }
}

TEST_P(Bounds, LargerOnesChangeNothing) {
  const Case& c = GetParam();
  testing::ModelBuilder m(23);
  m.model.set_ir_version(11);
  build(m);
  testing::Folder folder;
  FileBytes file;
  Diagnostics diagnostics;
  ASSERT_TRUE(convert_to_memory(folder.write("m.onnx", m.bytes()), {}, &file, &diagnostics, nullptr))
      << diagnostics.text();
  vireo_error error = VIREO_ERROR_INIT;
  ASSERT_EQ(vireo_model_load_memory(runtime_, file.data(), file.size(), &model_, &error), VIREO_OK) << error.message;
  const auto rounds = static_cast<int>(16 / tests::sample_step());
  for (int round = 0; round < rounds; ++round) {
    const int32_t threads = 1 + round % 2;
    const Extents most = draw_extents(nullptr);
    vireo_session* const wide = session(most, threads);
    ASSERT_NE(wide, nullptr);
    for (int turn = 0; turn < 6; ++turn) {
      const Extents extents = draw_extents(&most);
      std::string shown;
      for (const auto& [name, v] : extents)
        shown += name + "=" + std::to_string(v) + "/" + std::to_string(most.at(name)) + " ";
      SCOPED_TRACE(shown + "threads=" + std::to_string(threads));
      vireo_session* const exact = session(extents, threads);
      ASSERT_NE(exact, nullptr);
      std::vector<std::string> data;
      std::vector<vireo_tensor> inputs;
      for (const Input& input : c.inputs) {
        if (input.constant) continue;
        vireo_tensor t = {};
        t.dtype = static_cast<vireo_dtype>(input.dtype);
        int64_t count = 1;
        for (const std::string& d : input.dims) {
          t.dims[t.rank] = extents.count(d) != 0 ? extents.at(d) : std::stoll(d);
          count *= t.dims[t.rank++];
        }
        data.push_back(random_bytes(input, count));
        t.capacity = static_cast<int64_t>(data.back().size());
        inputs.push_back(t);
      }
      for (size_t i = 0; i < inputs.size(); ++i) inputs[i].data = &data[i][0];
      std::vector<vireo_tensor> got(c.outputs, vireo_tensor{}), want(c.outputs, vireo_tensor{});
      EXPECT_EQ(vireo_session_run(exact, inputs.data(), static_cast<uint32_t>(inputs.size()), want.data(),
                                  static_cast<uint32_t>(want.size()), &error),
                VIREO_OK)
          << error.message;
      EXPECT_EQ(vireo_session_run(wide, inputs.data(), static_cast<uint32_t>(inputs.size()), got.data(),
                                  static_cast<uint32_t>(got.size()), &error),
                VIREO_OK)
          << error.message;
      for (size_t o = 0; o < c.outputs && !HasFailure(); ++o) compare(got[o], want[o]);
      vireo_session_release(exact);
      if (HasFailure()) break;
    }
    vireo_session_release(wide);
    if (HasFailure()) break;
  }
}

const Attribute kPads2 = list("pads", {2, 2, 2, 2}), kPads1 = list("pads", {1, 1, 1, 1});
const std::map<std::string, Symbol> kImages = {{"n", {3}}, {"c", {40}}, {"m", {70}}, {"h", {60}}, {"w", {90}}};
std::map<std::string, Symbol> with(std::map<std::string, Symbol> a, const std::map<std::string, Symbol>& b) {
  a.insert(b.begin(), b.end());
  return a;
}
const std::map<std::string, Symbol> kGroups = {{"n", {2}},          {"c", {2}},   {"xc", {0, "c", 8}}, {"m", {3}},
                                               {"ym", {0, "m", 8}}, {"h", {200}}, {"w", {300}}};
const std::map<std::string, Symbol> kProduct = {{"b", {4}}, {"m", {150}}, {"k", {170}}, {"n", {130}}};

// Layouts and kernels that only chains get: a block of a mobile network, the same in QDQ form, a layer of a
// transformer.
void convolve(testing::ModelBuilder& m, const std::string& x, const std::string& w, const std::string& y,
              int64_t stride = 1, int64_t group = 1) {
  auto* n = m.node("Conv", {x, w}, {y});
  testing::add_ints(n, "strides", {stride, stride});
  testing::add_ints(n, "pads", {1, 1, 1, 1});
  testing::add_int(n, "group", group);
}
void mobile(testing::ModelBuilder& m) {
  convolve(m, "x0", "x1", "a", 2);
  m.node("Relu", {"a"}, {"b"});
  m.node("Conv", {"b", "x2"}, {"c"});
  m.node("HardSwish", {"c"}, {"d"});
  convolve(m, "d", "x3", "e", 1, 48);
  m.node("Relu", {"e"}, {"f"});
  m.node("Conv", {"f", "x4"}, {"g"});
  m.node("Add", {"g", "b"}, {"h"});
  testing::add_ints(m.node("MaxPool", {"h"}, {"i"}), "kernel_shape", {1, 1});
  convolve(m, "i", "x5", "j");
  m.node("Sigmoid", {"j"}, {"y0"});
}
void mobile_qdq(testing::ModelBuilder& m) {
  int named = 0;
  const auto coded = [&](const std::string& of) {
    const std::string codes = "q" + std::to_string(named), value = "v" + std::to_string(named++);
    m.node("QuantizeLinear", {of, "x8", "x9"}, {codes});
    m.node("DequantizeLinear", {codes, "x8", "x9"}, {value});
    return value;
  };
  const auto weights = [&](const std::string& codes) {
    const std::string value = "w" + std::to_string(named++);
    m.node("DequantizeLinear", {codes, "x6", "x7"}, {value});
    return value;
  };
  convolve(m, coded("x0"), weights("x1"), "a", 2);
  m.node("Relu", {"a"}, {"b"});
  const std::string b = coded("b");
  m.node("Conv", {b, weights("x2")}, {"c"});
  m.node("Relu", {"c"}, {"d"});
  convolve(m, coded("d"), weights("x3"), "e", 1, 48);
  m.node("Relu", {"e"}, {"f"});
  m.node("Conv", {coded("f"), weights("x4")}, {"g"});
  m.node("Add", {coded("g"), b}, {"h"});
  convolve(m, coded("h"), weights("x5"), "i");
  m.node("GlobalAveragePool", {coded("i")}, {"j"});
  m.node("Identity", {coded("j")}, {"y0"});
}
void transformer(testing::ModelBuilder& m) {
  m.node("LayerNormalization", {"x0", "x1", "x2"}, {"n"});
  const auto heads = [&](const char* weights, const std::string& name) {
    m.node("MatMul", {"n", weights}, {name + "m"});
    m.node("Reshape", {name + "m", "x6"}, {name + "r"});
    testing::add_ints(m.node("Transpose", {name + "r"}, {name}), "perm", {0, 2, 1, 3});
  };
  heads("x3", "q");
  heads("x4", "k");
  heads("x5", "v");
  testing::add_ints(m.node("Transpose", {"k"}, {"kt"}), "perm", {0, 1, 3, 2});
  m.node("MatMul", {"q", "kt"}, {"s"});
  m.node("Mul", {"s", "x8"}, {"scaled"});
  testing::add_int(m.node("Softmax", {"scaled"}, {"p"}), "axis", -1);
  m.node("MatMul", {"p", "v"}, {"o"});
  testing::add_ints(m.node("Transpose", {"o"}, {"t"}), "perm", {0, 2, 1, 3});
  m.node("Reshape", {"t", "x7"}, {"joined"});
  m.node("MatMul", {"joined", "x3"}, {"d"});
  m.node("Add", {"d", "x0"}, {"r"});
  m.node("Gelu", {"r"}, {"y0"});
}

const Case kCases[] = {
    {"conv",
     "Conv",
     {{{"n", "c", "h", "w"}}, {{"m", "c", "k", "l"}}},
     {kPads2},
     with(kImages, {{"k", {5}}, {"l", {5}}})},
    {"conv_bias_relu", "Conv", {{{"n", "c", "h", "w"}}, {{"m", "c", "3", "3"}}, {{"m"}}}, {kPads1}, kImages, 1, "Relu"},
    {"conv_strided",
     "Conv",
     {{{"n", "c", "h", "w"}}, {{"m", "c", "k", "k"}}},
     {kPads2, list("strides", {2, 3})},
     with(kImages, {{"k", {5}}})},
    {"conv_dilated",
     "Conv",
     {{{"n", "c", "h", "w"}}, {{"m", "c", "3", "3"}}},
     {kPads2, list("dilations", {2, 2})},
     kImages},
    {"conv_1x1", "Conv", {{{"n", "c", "h", "w"}}, {{"m", "c", "1", "1"}}}, {}, kImages},
    {"conv_line",
     "Conv",
     {{{"n", "c", "w"}}, {{"m", "c", "k"}}},
     {list("pads", {4, 4})},
     {{"n", {3}}, {"c", {60}}, {"m", {60}}, {"w", {300}}, {"k", {9}}}},
    {"conv_deep",
     "Conv",
     {{{"n", "c", "d", "h", "w"}}, {{"m", "c", "j", "k", "k"}}},
     {list("pads", {1, 1, 1, 1, 1, 1})},
     {{"n", {2}}, {"c", {12}}, {"m", {20}}, {"d", {5}}, {"h", {20}}, {"w", {20}}, {"j", {3}}, {"k", {3}}}},
    {"conv_groups", "Conv", {{{"n", "xc", "h", "w"}}, {{"ym", "c", "3", "3"}}}, {kPads1, number("group", 8)}, kGroups},
    {"conv_groups_deep",
     "Conv",
     {{{"n", "xc", "d", "h", "w"}}, {{"ym", "c", "j", "3", "3"}}},
     {list("pads", {0, 1, 1, 0, 1, 1}), number("group", 8), text("auto_pad", "NOTSET")},
     with(kGroups, {{"d", {0, "j", 2}}, {"j", {2}}})},
    {"conv_constant",
     "Conv",
     {{{"n", "24", "h", "w"}}, constant({"40", "24", "3", "3"})},
     {kPads1},
     kImages,
     1,
     "Relu"},
    {"conv_constant_1x1", "Conv", {{{"n", "72", "h", "w"}}, constant({"40", "72", "1", "1"})}, {}, kImages},
    {"conv_constant_5x5",
     "Conv",
     {{{"n", "3", "h", "w"}}, constant({"20", "3", "5", "5"})},
     {kPads2, list("strides", {2, 2})},
     kImages},
    {"conv_constant_depthwise",
     "Conv",
     {{{"n", "24", "h", "w"}}, constant({"24", "1", "3", "3"})},
     {kPads1, number("group", 24)},
     kImages},
    {"conv_constant_groups",
     "Conv",
     {{{"n", "24", "h", "w"}}, constant({"32", "6", "3", "3"})},
     {kPads1, number("group", 4)},
     kImages},
    {"conv_f16",
     "Conv",
     {{{"n", "c", "h", "w"}, kHalf}, {{"m", "c", "k", "k"}, kHalf}},
     {kPads2},
     with(kImages, {{"k", {5}}})},
    {"conv_f16_groups",
     "Conv",
     {{{"n", "xc", "h", "w"}, kHalf}, {{"ym", "c", "3", "3"}, kHalf}},
     {kPads1, number("group", 8)},
     kGroups},
    {"conv_f16_constant",
     "Conv",
     {{{"n", "24", "h", "w"}, kHalf}, constant({"40", "24", "3", "3"}, kHalf)},
     {kPads1},
     kImages},
    {"conv_transpose",
     "ConvTranspose",
     {{{"n", "c", "h", "w"}}, {{"c", "m", "k", "k"}}},
     {list("strides", {2, 2})},
     with(kImages, {{"k", {4}}})},
    {"conv_transpose_groups",
     "ConvTranspose",
     {{{"n", "xc", "h", "w"}}, {{"xc", "m", "3", "3"}}},
     {number("group", 8)},
     {{"n", {2}}, {"c", {5}}, {"xc", {0, "c", 8}}, {"m", {9}}, {"h", {30}}, {"w", {40}}}},
    {"conv_integer",
     "ConvInteger",
     {{{"n", "c", "h", "w"}, kUint8}, {{"m", "c", "k", "k"}, kInt8}},
     {kPads2},
     with(kImages, {{"k", {5}}})},
    {"conv_integer_groups",
     "ConvInteger",
     {{{"n", "xc", "h", "w"}, kUint8}, {{"ym", "c", "3", "3"}, kInt8}},
     {kPads1, number("group", 8)},
     kGroups},
    {"qlinear_conv",
     "QLinearConv",
     {{{"n", "c", "h", "w"}, kUint8},
      scale(0.02f),
      zero_point(kUint8),
      {{"m", "c", "3", "3"}, kInt8},
      scale(0.01f),
      zero_point(kInt8),
      scale(0.1f),
      zero_point(kUint8)},
     {kPads1},
     kImages},
    {"qlinear_conv_groups",
     "QLinearConv",
     {{{"n", "xc", "h", "w"}, kUint8},
      scale(0.02f),
      zero_point(kUint8),
      {{"ym", "c", "3", "3"}, kInt8},
      scale(0.01f),
      zero_point(kInt8),
      scale(0.1f),
      zero_point(kUint8)},
     {kPads1, number("group", 8)},
     kGroups},
    {"qlinear_conv_constant",
     "QLinearConv",
     {{{"n", "24", "h", "w"}, kUint8},
      scale(0.02f),
      zero_point(kUint8),
      constant({"40", "24", "3", "3"}, kInt8),
      scale(0.01f),
      zero_point(kInt8),
      scale(0.1f),
      zero_point(kUint8)},
     {kPads1},
     kImages},
    {"matmul", "MatMul", {{{"m", "k"}}, {{"k", "n"}}}, {}, kProduct},
    {"matmul_batch", "MatMul", {{{"b", "m", "k"}}, {{"b", "k", "n"}}}, {}, kProduct},
    {"matmul_broadcast", "MatMul", {{{"a", "1", "m", "k"}}, {{"b", "k", "n"}}}, {}, with(kProduct, {{"a", {3}}})},
    {"matmul_vector", "MatMul", {{{"b", "m", "k"}}, {{"k"}}}, {}, kProduct},
    {"matmul_constant", "MatMul", {{{"b", "m", "96"}}, constant({"96", "80"})}, {}, kProduct},
    {"matmul_f16", "MatMul", {{{"b", "m", "k"}, kHalf}, {{"b", "k", "n"}, kHalf}}, {}, kProduct},
    {"matmul_f16_constant", "MatMul", {{{"b", "m", "96"}, kHalf}, constant({"96", "80"}, kHalf)}, {}, kProduct},
    {"matmul_f64", "MatMul", {{{"b", "m", "k"}, kDouble}, {{"b", "k", "n"}, kDouble}}, {}, kProduct},
    {"matmul_integer", "MatMulInteger", {{{"b", "m", "k"}, kUint8}, {{"b", "k", "n"}, kInt8}}, {}, kProduct},
    {"matmul_integer_constant",
     "MatMulInteger",
     {{{"b", "m", "96"}, kUint8}, constant({"96", "80"}, kInt8)},
     {},
     kProduct},
    {"qlinear_matmul",
     "QLinearMatMul",
     {{{"b", "m", "k"}, kUint8},
      scale(0.02f),
      zero_point(kUint8),
      {{"b", "k", "n"}, kInt8},
      scale(0.01f),
      zero_point(kInt8),
      scale(0.1f),
      zero_point(kUint8)},
     {},
     kProduct},
    {"gemm", "Gemm", {{{"m", "k"}}, {{"k", "n"}}, {{"n"}}}, {}, kProduct, 1, "Relu"},
    {"gemm_transposed",
     "Gemm",
     {{{"k", "m"}}, {{"n", "k"}}, {{"m", "n"}}},
     {number("transA", 1), number("transB", 1)},
     kProduct},
    {"attention",
     "Attention",
     {{{"b", "h", "s", "d"}}, {{"b", "g", "t", "d"}}, {{"b", "g", "t", "e"}}},
     {},
     {{"b", {2}}, {"g", {3}}, {"h", {0, "g", 2}}, {"s", {140}}, {"t", {260}}, {"d", {70}}, {"e", {70}}}},
    {"attention_causal",
     "Attention",
     {{{"b", "h", "s", "d"}}, {{"b", "h", "s", "d"}}, {{"b", "h", "s", "e"}}},
     {number("is_causal", 1)},
     {{"b", {2}}, {"h", {4}}, {"s", {200}}, {"d", {70}}, {"e", {70}}}},
    {"attention_masked",
     "Attention",
     {{{"b", "h", "s", "d"}}, {{"b", "h", "t", "d"}}, {{"b", "h", "t", "d"}}, {{"s", "t"}}},
     {},
     {{"b", {2}}, {"h", {4}}, {"s", {100}}, {"t", {200}}, {"d", {70}}}},
    {"attention_f16",
     "Attention",
     {{{"b", "h", "s", "d"}, kHalf}, {{"b", "h", "t", "d"}, kHalf}, {{"b", "h", "t", "d"}, kHalf}},
     {},
     {{"b", {2}}, {"h", {4}}, {"s", {100}}, {"t", {200}}, {"d", {70}}}},
    {"attention_joined",
     "Attention",
     {{{"b", "s", "hd"}}, {{"b", "t", "hd"}}, {{"b", "t", "hd"}}},
     {number("q_num_heads", 4), number("kv_num_heads", 4)},
     {{"b", {2}}, {"d", {70}}, {"hd", {0, "d", 4}}, {"s", {100}}, {"t", {200}}}},
    {"lstm",
     "LSTM",
     {{{"s", "b", "i"}}, {{"1", "200", "i"}}, {{"1", "200", "50"}}},
     {number("hidden_size", 50)},
     {{"s", {30}}, {"b", {20}}, {"i", {90}}},
     3},
    {"lstm_both",
     "LSTM",
     {{{"s", "b", "40"}}, constant({"2", "200", "40"}), constant({"2", "200", "50"})},
     {number("hidden_size", 50), text("direction", "bidirectional")},
     {{"s", {30}}, {"b", {20}}},
     3},
    {"gru",
     "GRU",
     {{{"s", "b", "i"}}, {{"1", "150", "i"}}, {{"1", "150", "50"}}},
     {number("hidden_size", 50), number("linear_before_reset", 1)},
     {{"s", {30}}, {"b", {20}}, {"i", {90}}},
     2},
    {"rnn",
     "RNN",
     {{{"s", "b", "i"}}, {{"1", "50", "i"}}, {{"1", "50", "50"}}},
     {number("hidden_size", 50)},
     {{"s", {30}}, {"b", {20}}, {"i", {90}}},
     2},
    {"softmax", "Softmax", {{{"a", "b", "c"}}}, {number("axis", -1)}, {{"a", {6}}, {"b", {50}}, {"c", {700}}}},
    {"softmax_inner", "Softmax", {{{"a", "b", "c"}}}, {number("axis", 1)}, {{"a", {6}}, {"b", {200}}, {"c", {90}}}},
    {"softmax_f16",
     "Softmax",
     {{{"a", "b", "c"}, kHalf}},
     {number("axis", 1)},
     {{"a", {6}}, {"b", {200}}, {"c", {90}}}},
    {"log_softmax", "LogSoftmax", {{{"a", "b", "c"}}}, {number("axis", 1)}, {{"a", {6}}, {"b", {200}}, {"c", {90}}}},
    {"layer_normalization",
     "LayerNormalization",
     {{{"a", "b", "c"}}, {{"c"}}, {{"c"}}},
     {},
     {{"a", {6}}, {"b", {50}}, {"c", {700}}}},
    {"layer_normalization_f16",
     "LayerNormalization",
     {{{"a", "b", "c"}, kHalf}, {{"c"}, kHalf}},
     {},
     {{"a", {6}}, {"b", {50}}, {"c", {700}}}},
    {"rms_normalization",
     "RMSNormalization",
     {{{"a", "b", "c"}}, {{"c"}}},
     {},
     {{"a", {6}}, {"b", {50}}, {"c", {700}}}},
    {"instance_normalization", "InstanceNormalization", {{{"n", "c", "h", "w"}}, {{"c"}}, {{"c"}}}, {}, kImages},
    {"group_normalization",
     "GroupNormalization",
     {{{"n", "xc", "h", "w"}}, {{"xc"}}, {{"xc"}}},
     {number("num_groups", 8)},
     kGroups},
    {"lp_normalization",
     "LpNormalization",
     {{{"a", "b", "c"}}},
     {number("axis", 1)},
     {{"a", {6}}, {"b", {200}}, {"c", {90}}}},
    {"reduce_last", "ReduceSum", {{{"a", "b", "c"}}, numbers({2})}, {}, {{"a", {6}}, {"b", {200}}, {"c", {300}}}},
    {"reduce_middle", "ReduceMax", {{{"a", "b", "c"}}, numbers({1})}, {}, {{"a", {6}}, {"b", {200}}, {"c", {300}}}},
    {"reduce_ends", "ReduceL2", {{{"a", "b", "c"}}, numbers({0, 2})}, {}, {{"a", {60}}, {"b", {50}}, {"c", {70}}}},
    {"reduce_all", "ReduceLogSumExp", {{{"a", "b", "c"}}}, {}, {{"a", {60}}, {"b", {50}}, {"c", {70}}}},
    {"reduce_f16",
     "ReduceMean",
     {{{"a", "b", "c"}, kHalf}, numbers({1})},
     {},
     {{"a", {6}}, {"b", {200}}, {"c", {300}}}},
    {"arg_max", "ArgMax", {{{"a", "b", "c"}}}, {number("axis", 1)}, {{"a", {6}}, {"b", {200}}, {"c", {90}}}},
    {"cumulative",
     "CumSum",
     {{{"a", "b", "c"}}, {{}, kInt64, true, 2, {1}}},
     {},
     {{"a", {6}}, {"b", {200}}, {"c", {90}}}},
    {"top_k",
     "TopK",
     {{{"a", "tb", "c"}}, numbers({3})},
     {number("axis", 1)},
     {{"a", {6}}, {"b", {60}}, {"tb", {0, "b", 3}}, {"c", {30}}},
     2},
    {"unique", "Unique", {{{"a"}, kInt64}}, {}, {{"a", {400}}}, 4},
    {"non_zero", "NonZero", {{{"a", "b"}, kInt64, false, 3}}, {}, {{"a", {40}}, {"b", {40}}}},
    {"max_pool",
     "MaxPool",
     {{{"n", "c", "h", "w"}}},
     {list("kernel_shape", {3, 3}), list("strides", {2, 2}), kPads1},
     kImages},
    {"average_pool", "AveragePool", {{{"n", "c", "h", "w"}}}, {list("kernel_shape", {3, 3}), kPads1}, kImages},
    {"lp_pool", "LpPool", {{{"n", "c", "h", "w"}}}, {list("kernel_shape", {3, 3}), kPads1}, kImages},
    {"global_pool", "GlobalAveragePool", {{{"n", "c", "h", "w"}}}, {}, kImages},
    {"transpose", "Transpose", {{{"n", "c", "h", "w"}}}, {list("perm", {0, 2, 3, 1})}, kImages},
    {"transpose_turned",
     "Transpose",
     {{{"a", "b", "c"}, kUint8}},
     {list("perm", {2, 1, 0})},
     {{"a", {60}}, {"b", {50}}, {"c", {70}}}},
    {"einsum",
     "Einsum",
     {{{"a", "b", "c"}}, {{"a", "d", "c"}}},
     {text("equation", "abc,adc->bad")},
     {{"a", {7}}, {"b", {60}}, {"c", {80}}, {"d", {50}}}},
    {"gather",
     "Gather",
     {{{"a", "b"}}, {{"c"}, kInt64, false, 1}},
     {number("axis", 1)},
     {{"a", {60}}, {"b", {50}}, {"c", {70}}}},
    {"scatter",
     "ScatterElements",
     {{{"a", "b"}}, {{"a", "b"}, kInt64, false, 1}, {{"a", "b"}}},
     {text("reduction", "add")},
     {{"a", {60}}, {"b", {50}}}},
    {"fourier", "DFT", {{{"a", "b", "2"}}}, {}, {{"a", {6}}, {"b", {300}}}},
    {"det", "Det", {{{"a", "b", "b"}}}, {}, {{"a", {6}}, {"b", {6}}}},
    {"lrn", "LRN", {{{"n", "c", "h", "w"}}}, {number("size", 5)}, kImages},
    {"col2im",
     "Col2Im",
     {{{"n", "nc", "180"}}, numbers({12, 15}), numbers({3, 3})},
     {kPads1},
     {{"n", {3}}, {"c", {20}}, {"nc", {0, "c", 9}}}},
    {"quantize_axis",
     "QuantizeLinear",
     {{{"a", "30", "c"}}, constant({"30"}), constant({"30"}, kUint8)},
     {number("axis", 1)},
     {{"a", {60}}, {"c", {70}}}},
    {"dynamic_quantize", "DynamicQuantizeLinear", {{{"a", "b"}}}, {}, {{"a", {60}}, {"b", {500}}}, 3},
    {"grid_sample",
     "GridSample",
     {{{"n", "c", "h", "w"}}, {{"n", "j", "k", "2"}}},
     {text("mode", "cubic")},
     with(kImages, {{"j", {30}}, {"k", {30}}})},
    {"deform_conv",
     "DeformConv",
     {{{"n", "c", "h", "w"}}, {{"m", "c", "1", "1"}}, {{"n", "2", "h", "w"}}},
     {},
     {{"n", {2}}, {"c", {20}}, {"m", {20}}, {"h", {20}}, {"w", {20}}}},
    {"batch_normalization",
     "BatchNormalization",
     {{{"n", "c", "h", "w"}}, {{"c"}}, {{"c"}}, {{"c"}}, {{"c"}, kFloat}},
     {},
     kImages},
    {"gelu", "Gelu", {{{"a", "b"}}}, {}, {{"a", {60}}, {"b", {500}}}},
    {"mobile",
     nullptr,
     {{{"n", "3", "h", "w"}},
      constant({"16", "3", "3", "3"}),
      constant({"48", "16", "1", "1"}),
      constant({"48", "1", "3", "3"}),
      constant({"16", "48", "1", "1"}),
      constant({"40", "16", "3", "3"})},
     {},
     {{"n", {3}}, {"h", {120}}, {"w", {150}}},
     1,
     nullptr,
     mobile},
    {"mobile_qdq",
     nullptr,
     {{{"n", "3", "h", "w"}},
      constant({"16", "3", "3", "3"}, kInt8),
      constant({"48", "16", "1", "1"}, kInt8),
      constant({"48", "1", "3", "3"}, kInt8),
      constant({"16", "48", "1", "1"}, kInt8),
      constant({"40", "16", "3", "3"}, kInt8),
      scale(0.003f),
      {{}, kInt8, true, 0, {0}},
      scale(0.02f),
      {{}, kUint8, true, 0, {128}}},
     {},
     {{"n", {3}}, {"h", {120}}, {"w", {150}}},
     1,
     nullptr,
     mobile_qdq},
    {"transformer",
     nullptr,
     {{{"b", "s", "64"}},
      constant({"64"}),
      constant({"64"}),
      constant({"64", "64"}),
      constant({"64", "64"}),
      constant({"64", "64"}),
      numbers({0, 0, 4, 16}),
      numbers({0, 0, 64}),
      scale(0.25f)},
     {},
     {{"b", {3}}, {"s", {150}}},
     1,
     nullptr,
     transformer},
    {"add_broadcast", "Add", {{{"a", "b", "c"}}, {{"b", "1"}}}, {}, {{"a", {60}}, {"b", {50}}, {"c", {70}}}, 1, "Tanh"},
};

INSTANTIATE_TEST_SUITE_P(Of, Bounds, ::testing::ValuesIn(kCases),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace vireo
