// Networks of images at random, in batches that are too large for the caches: a session that runs stretches of nodes
// image by image (delegates/cpu/depth_first) computes what a session of one image computes, to the bit, and takes less
// memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "converter/convert.h"
#include "converter/testing/model_builder.h"
#include "runtime/run/session.h"
#include "vireo/vireo.h"

namespace vireo {
namespace {

constexpr int64_t kBatch = 6, kChannels = 16, kEdge = 64, kLargeEdge = 190;

class Net {
 public:
  Net(uint32_t seed, const std::string& batch, int64_t edge = kEdge) : rng_(seed) {
    m_.input("x", {batch, "3", std::to_string(edge), std::to_string(edge)});
    value_ = conv("x", 3, kChannels, 3, 1, 1);
  }

  void grow() {
    const unsigned blocks = 2 + draw(3);
    for (unsigned b = 0; b < blocks; ++b) {
      switch (draw(7)) {
        case 0:
          inverted_residual();
          break;
        case 1:
          gate();
          break;
        case 2:
          branches();
          break;
        case 3:
          up_and_down();
          break;
        case 4:
          value_ = pool(draw(2) == 0 ? "MaxPool" : "AveragePool", value_);
          break;
        case 5:
          value_ = unary(draw(2) == 0 ? "Sigmoid" : "HardSwish", value_);
          break;
        default:
          value_ = unary("Relu", conv(value_, kChannels, kChannels, 3, 1, 1));
          break;
      }
    }
    end();
  }
  void end() {
    m_.node("Identity", {value_}, {"y"});
    m_.output("y");
  }

  // Expanded, a filter a channel, projected, added.
  void inverted_residual() {
    const int64_t wide = 4 * kChannels;
    std::string v = unary("Relu", conv(value_, kChannels, wide, 1, 1, 1));
    v = unary("HardSwish", conv(v, wide, wide, 3, 1, wide));
    value_ = add("Add", value_, conv(v, wide, kChannels, 1, 1, 1));
  }
  // One number for each channel of each image.
  void gate() {
    const std::string mean = name();
    m_.node("GlobalAveragePool", {value_}, {mean});
    value_ = add("Mul", value_, unary("Sigmoid", conv(mean, kChannels, kChannels, 1, 1, 1)));
  }
  void branches() {
    const std::string a = conv(value_, kChannels, kChannels / 2, 3, 1, 1), b = pool("MaxPool", value_), joined = name();
    const std::string c = conv(b, kChannels, kChannels / 2, 1, 1, 1);
    testing::add_int(m_.node("Concat", {a, c}, {joined}), "axis", 1);
    value_ = joined;
  }
  // Windows of all kinds, on many channels.
  void windows() {
    const int64_t wide = 4 * kChannels;
    std::string v = unary("Relu", conv(value_, kChannels, wide, 1, 1, 1));
    for (unsigned k = 0; k < 2; ++k) {
      const int64_t edge = 3 + 2 * static_cast<int64_t>(draw(2)), stride = 1 + static_cast<int64_t>(draw(2));
      v = draw(3) == 0 ? pool(draw(2) == 0 ? "MaxPool" : "AveragePool", v)
                       : unary("HardSwish", conv(v, wide, wide, edge, stride, wide));
    }
    value_ = conv(v, wide, kChannels, 1, 1, 1);
  }
  void up_and_down() {
    const std::string wide = name(), scales = name();
    m_.floats(scales, {4}, {1, 1, 2, 2});
    m_.node("Resize", {value_, "", scales}, {wide});
    value_ = conv(wide, kChannels, kChannels, 3, 2, 1);
  }

  ::onnx::ModelProto& proto() { return m_.model; }
  std::string bytes() const { return m_.bytes(); }

 private:
  unsigned draw(unsigned n) { return static_cast<unsigned>(rng_()) % n; }
  std::string name() { return "v" + std::to_string(next_++); }

  std::string conv(const std::string& x, int64_t in, int64_t out, int64_t edge, int64_t stride, int64_t group) {
    const std::string w = name(), bias = name(), y = name();
    std::vector<float> filters(static_cast<size_t>(out * in / group * edge * edge)), biases(static_cast<size_t>(out));
    for (float& v : filters) v = real() / static_cast<float>(edge);
    for (float& v : biases) v = real();
    m_.floats(w, {out, in / group, edge, edge}, filters);
    m_.floats(bias, {out}, biases);
    auto* n = m_.node("Conv", {x, w, bias}, {y});
    testing::add_ints(n, "strides", {stride, stride});
    testing::add_ints(n, "pads", {edge / 2, edge / 2, edge / 2, edge / 2});
    testing::add_int(n, "group", group);
    return y;
  }
  std::string unary(const std::string& op, const std::string& x) {
    const std::string y = name();
    m_.node(op, {x}, {y});
    return y;
  }
  std::string add(const std::string& op, const std::string& a, const std::string& b) {
    const std::string y = name();
    m_.node(op, {a, b}, {y});
    return y;
  }
  std::string pool(const std::string& op, const std::string& x) {
    const std::string y = name();
    auto* n = m_.node(op, {x}, {y});
    testing::add_ints(n, "kernel_shape", {3, 3});
    testing::add_ints(n, "pads", {1, 1, 1, 1});
    return y;
  }
  float real() { return static_cast<float>(static_cast<int>(rng_() % 2001) - 1000) / 2000; }

  testing::ModelBuilder m_;
  std::mt19937 rng_;
  std::string value_;
  int next_ = 0;
};

// The same in integers: each value of the network behind a pair of QuantizeLinear and DequantizeLinear.
void quantize(::onnx::ModelProto* model) {
  auto* g = model->mutable_graph();
  const ::onnx::GraphProto plain = *g;
  g->clear_node();
  const auto constant = [&](const std::string& name, int type, const std::string& bytes) {
    auto* t = g->add_initializer();
    t->set_name(name);
    t->set_data_type(type);
    t->set_raw_data(bytes);
  };
  const float scale = 0.03F;
  constant("scale", 1, std::string(reinterpret_cast<const char*>(&scale), 4));
  constant("zero", 3, std::string(1, '\0'));
  const auto pair = [&](const std::string& from, const std::string& to) {
    auto* q = g->add_node();
    q->set_op_type("QuantizeLinear");
    for (const std::string& i : {from, std::string("scale"), std::string("zero")}) q->add_input(i);
    q->add_output(to + "_codes");
    auto* d = g->add_node();
    d->set_op_type("DequantizeLinear");
    for (const std::string& i : {to + "_codes", std::string("scale"), std::string("zero")}) d->add_input(i);
    d->add_output(to);
  };
  pair("x", "x_seen");
  for (::onnx::NodeProto n : plain.node()) {
    for (int i = 0; i < n.input_size(); ++i) {
      if (n.input(i) == "x") n.set_input(i, "x_seen");
      if (n.op_type() == "Conv" && i == 1) {
        pair(n.input(1), n.input(1) + "_seen");
        n.set_input(1, n.input(1) + "_seen");
      }
    }
    const std::string y = n.output(0);
    n.set_output(0, y + "_raw");
    *g->add_node() = n;
    pair(y + "_raw", y);
  }
}

class Stretches : public ::testing::Test {
 protected:
  struct Open {
    vireo_runtime* runtime = nullptr;
    vireo_model* model = nullptr;
    vireo_session* session = nullptr;
    vireo_memory memory = VIREO_MEMORY_INIT;
    Open() = default;
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open() {
      vireo_session_release(session);
      vireo_model_release(model);
      vireo_runtime_release(runtime);
    }
    // The most nodes of a part.
    uint32_t stretched() const {
      uint32_t most = 0;
      for (uint32_t i = 0; i < session->main.step_count; ++i)
        most = std::max(most, session->main.steps[i].nodes > 1 ? session->main.steps[i].nodes : 0);
      return most;
    }
  };

  static FileBytes convert_net(const Net& net) {
    FileBytes out;
    Diagnostics diagnostics;
    testing::Folder folder;
    EXPECT_TRUE(convert_to_memory(folder.write("m.onnx", net.bytes()), {}, &out, &diagnostics, nullptr))
        << diagnostics.text();
    return out;
  }

  // most 0: the file's extents.
  static void open(const FileBytes& file, int64_t most, int32_t threads, Open* o, bool profile = false,
                   int64_t least = 1) {
    vireo_error error = VIREO_ERROR_INIT;
    vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
    options.threads = threads;
    ASSERT_EQ(vireo_runtime_create(&options, &o->runtime, &error), VIREO_OK) << error.message;
    ASSERT_EQ(vireo_model_load_memory(o->runtime, file.data(), file.size(), &o->model, &error), VIREO_OK)
        << error.message;
    const vireo_bound bound = {"n", least, most};
    vireo_session_options wanted = VIREO_SESSION_OPTIONS_INIT;
    wanted.device = "cpu";
    wanted.profile = profile ? 1 : 0;
    wanted.bounds = &bound;
    wanted.bound_count = most != 0 ? 1 : 0;
    ASSERT_EQ(vireo_model_memory(o->model, &wanted, &o->memory, &error), VIREO_OK) << error.message;
    ASSERT_EQ(vireo_session_create(o->model, &wanted, &o->session, &error), VIREO_OK) << error.message;
  }

  // `images` of them, the first being number `first`.
  static std::vector<uint8_t> run(const Open& o, int64_t first, int64_t images, int64_t edge = kEdge) {
    vireo_error error = VIREO_ERROR_INIT;
    const int64_t pixels = 3 * edge * edge;
    std::vector<float> x(static_cast<size_t>(images * pixels));
    for (int64_t b = 0; b < images; ++b) {
      std::mt19937 rng(static_cast<uint32_t>(first + b));
      for (int64_t i = 0; i < pixels; ++i)
        x[static_cast<size_t>(b * pixels + i)] = static_cast<float>(static_cast<int>(rng() % 2001) - 1000) / 1000;
    }
    const int64_t dims[] = {images, 3, edge, edge};
    const vireo_tensor in = vireo_tensor_of(VIREO_FLOAT32, dims, 4, x.data(), x.size() * sizeof(float));
    vireo_tensor y = {};
    EXPECT_EQ(vireo_session_run(o.session, &in, 1, &y, 1, &error), VIREO_OK) << error.message;
    EXPECT_EQ(y.dims[0], images);
    int64_t count = sizeof(float);
    for (int32_t i = 0; i < y.rank; ++i) count *= y.dims[i];
    const auto* const p = static_cast<const uint8_t*>(y.data);
    return std::vector<uint8_t>(p, p + count);
  }

  // Sessions of a batch against one of one image.
  static void compare(const FileBytes& any, const FileBytes& fixed, uint32_t* stretched) {
    Open one, all, two, exact;
    open(any, 1, 1, &one);
    open(any, kBatch, 1, &all);
    open(any, kBatch, 2, &two);
    open(fixed, 0, 1, &exact);
    if (HasFatalFailure()) return;
    EXPECT_EQ(one.stretched(), 0u);
    EXPECT_EQ(all.stretched(), exact.stretched());
    *stretched += all.stretched();
    std::vector<uint8_t> want;
    for (int64_t b = 0; b < kBatch; ++b) {
      const std::vector<uint8_t> image = run(one, b, 1);
      want.insert(want.end(), image.begin(), image.end());
      const std::vector<uint8_t> so_far = run(all, 0, b + 1);
      EXPECT_TRUE(so_far == want) << b + 1 << " images";
    }
    EXPECT_TRUE(run(two, 0, kBatch) == want) << "two threads";
    EXPECT_TRUE(run(exact, 0, kBatch) == want) << "fixed batch";
  }
};

TEST_F(Stretches, SameBitsAsOneImage) {
  uint32_t stretched = 0;
  for (uint32_t seed = 0; seed < 24 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Net any(seed, "n"), fixed(seed, std::to_string(kBatch));
    any.grow();
    fixed.grow();
    compare(convert_net(any), convert_net(fixed), &stretched);
  }
  EXPECT_GT(stretched, 100u);
}

TEST_F(Stretches, SameCodesAsOneImage) {
  uint32_t stretched = 0;
  for (uint32_t seed = 0; seed < 12 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Net any(seed, "n"), fixed(seed, std::to_string(kBatch));
    any.grow();
    fixed.grow();
    quantize(&any.proto());
    quantize(&fixed.proto());
    compare(convert_net(any), convert_net(fixed), &stretched);
  }
  EXPECT_GT(stretched, 20u);
}

// A large image, of extents that the file or the bounds fix, but for the batch: strip by strip.
TEST_F(Stretches, SameBitsInStrips) {
  uint32_t stretched = 0, of_codes = 0, of_range = 0;
  size_t whole_bytes = 0, strip_bytes = 0;
  for (uint32_t seed = 0; seed < 24 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const bool codes = seed % 3 == 2;
    const int64_t images = 1 + seed % 2;
    Net any(seed, "n", kLargeEdge), fixed(seed, std::to_string(images), kLargeEdge);
    for (Net* net : {&any, &fixed}) {
      for (uint32_t k = 0; k < 2; ++k) {
        net->inverted_residual();
        if (seed % 4 != 0) net->windows();
      }
      if (seed % 4 == 0) net->grow();
      if (seed % 4 != 0) net->end();
      if (codes) quantize(&net->proto());
    }
    Open one, strips, two, closed, ranging;
    const FileBytes open_file = convert_net(any), file = convert_net(fixed);
    open(open_file, 1, 1, &one, /*profile=*/true);
    open(open_file, images, 1, &closed, /*profile=*/false, images);
    open(open_file, 2, 1, &ranging);
    open(file, 0, 1, &strips);
    open(file, 0, 2, &two);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(one.stretched(), 0u);
    EXPECT_EQ(closed.stretched(), strips.stretched());
    of_range += ranging.stretched();
    if (images == 2) {  // fixed or at most
      EXPECT_EQ(ranging.stretched(), strips.stretched());
      EXPECT_LE(ranging.memory.total_bytes, strips.memory.total_bytes + strips.memory.total_bytes / 50);
    }
    (codes ? of_codes : stretched) += strips.stretched();
    whole_bytes += images == 1 ? one.memory.total_bytes : 0;
    strip_bytes += images == 1 ? strips.memory.total_bytes : 0;
    std::vector<uint8_t> want;
    for (int64_t b = 0; b < images; ++b) {
      const std::vector<uint8_t> image = run(one, b, 1, kLargeEdge);
      want.insert(want.end(), image.begin(), image.end());
    }
    EXPECT_TRUE(run(strips, 0, images, kLargeEdge) == want);
    EXPECT_TRUE(run(strips, 0, images, kLargeEdge) == want) << "a second run";
    EXPECT_TRUE(run(two, 0, images, kLargeEdge) == want) << "two threads";
    EXPECT_TRUE(run(closed, 0, images, kLargeEdge) == want) << "closed by its bounds";
    EXPECT_TRUE(run(ranging, 0, images, kLargeEdge) == want) << "below its bound";
  }
  EXPECT_GT(stretched, 50u);
  EXPECT_GT(of_codes, 10u);
  EXPECT_GT(of_range, 50u);
  EXPECT_LT(strip_bytes, whole_bytes * 3 / 4);
}

// Times are of nodes: a session that keeps them runs nodes by themselves, to the same bits.
TEST_F(Stretches, ProfilesHaveEachNode) {
  Net net(1, "n");
  net.inverted_residual();
  net.grow();
  const FileBytes file = convert_net(net);
  Open plain, timed;
  open(file, kBatch, 1, &plain);
  open(file, kBatch, 1, &timed, /*profile=*/true);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_GT(plain.stretched(), 0u);
  EXPECT_EQ(timed.stretched(), 0u);
  EXPECT_TRUE(run(timed, 0, kBatch) == run(plain, 0, kBatch));
  for (uint32_t i = 0; i < vireo_session_node_count(timed.session); ++i) {
    vireo_node_info info = VIREO_NODE_INFO_INIT;
    vireo_error error = VIREO_ERROR_INIT;
    EXPECT_EQ(vireo_session_node(timed.session, i, &info, &error), VIREO_OK);
    EXPECT_TRUE(info.calls == 1 || info.device == nullptr || info.device[0] == 0) << info.name;
  }
}

// What was said before is what it takes, and inner values have room for one image.
TEST_F(Stretches, TakesTheMemoryOfOneImage) {
  Net net(1, "n");
  for (int k = 0; k < 4; ++k) net.inverted_residual();
  net.grow();
  const FileBytes file = convert_net(net);
  Open one, all;
  open(file, 1, 1, &one);
  open(file, kBatch, 1, &all);
  ASSERT_GT(all.stretched(), 8u);
  // One image's values, and the batch of the boundary's.
  const size_t ends = kBatch * (3 + kChannels) * kEdge * kEdge * sizeof(float);
  EXPECT_LT(all.memory.total_bytes, one.memory.total_bytes + 2 * ends);
  EXPECT_LT(all.memory.total_bytes, kBatch * one.memory.total_bytes / 2);

  const vireo_bound bound = {"n", 1, kBatch};
  vireo_session_options wanted = VIREO_SESSION_OPTIONS_INIT;
  wanted.device = "cpu";
  wanted.bounds = &bound;
  wanted.bound_count = 1;
  vireo_error error = VIREO_ERROR_INIT;
  std::vector<uint8_t> block(all.memory.total_bytes + 64);
  wanted.arena = block.data() + (64 - reinterpret_cast<uintptr_t>(block.data()) % 64) % 64;
  wanted.arena_bytes = all.memory.total_bytes - 1;
  vireo_session* s = nullptr;
  EXPECT_EQ(vireo_session_create(all.model, &wanted, &s, &error), VIREO_OUT_OF_ARENA);
  wanted.arena_bytes = all.memory.total_bytes;
  EXPECT_EQ(vireo_session_create(all.model, &wanted, &s, &error), VIREO_OK) << error.message;
  vireo_session_release(s);
}

}  // namespace
}  // namespace vireo
