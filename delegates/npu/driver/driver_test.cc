// The driver through its table alone: nodes alone and joined give the reference kernels' bytes; blobs that are not as
// compile() wrote them are refused or harmless; what VIREO_NPU_FAULT breaks is told as vireo/delegate.h says.
#include "delegates/npu/driver/driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "delegates/conformance/test_graph.h"
#include "delegates/npu/driver/blob.h"
#include "delegates/npu/testing.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/depth_to_space/depth_to_space_generated.h"
#include "sdk/ops/int_binary/int_binary_generated.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_gemm/int_gemm_generated.h"
#include "sdk/ops/int_resize/int_resize_generated.h"
#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/int_table/int_table_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/resize/resize_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/transpose/transpose_generated.h"
#include "sdk/ops/view.h"

namespace {
std::atomic<uint64_t> g_news{0};
std::atomic<int64_t> g_news_left{INT64_MAX};  // before there is no memory
}  // namespace
// Not inlined: gcc 12 takes half of a pair that it sees through for a mismatch.
__attribute__((noinline)) void* operator new(size_t bytes) {
  ++g_news;
  if (g_news_left.fetch_sub(1) <= 0) throw std::bad_alloc();
  if (void* p = std::malloc(bytes == 0 ? 1 : bytes); p != nullptr) return p;
  throw std::bad_alloc();
}
__attribute__((noinline)) void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++g_news;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
__attribute__((noinline)) void operator delete(void* p) noexcept { std::free(p); }
__attribute__((noinline)) void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace vireo::npu {
namespace {

std::atomic<int64_t> g_held{0}, g_host_calls{0};
void* host_allocate(void*, size_t bytes, size_t alignment) {
  ++g_host_calls;
  g_held += static_cast<int64_t>(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void host_release(void*, void* memory, size_t bytes, size_t) {
  ++g_host_calls;
  if (memory != nullptr) g_held -= static_cast<int64_t>(bytes);
  std::free(memory);
}
vireo_host make_host() {
  vireo_host h = test_host();
  h.allocate = host_allocate;
  h.release = host_release;
  return h;
}

// A graph that runs on the reference kernels while it is built.
struct Net {
  vireo_graph g;
  std::deque<TestTensor> values;
  Random random;

  explicit Net(uint64_t seed) : random(seed) {}

  int32_t value(TestTensor t, bool constant) {
    values.push_back(std::move(t));
    TestValue v;
    v.type = values.back().type;
    if (constant) {
      v.constant = values.back().bytes.data();
      v.constant_size = values.back().bytes.size();
    }
    g.values.push_back(v);
    return static_cast<int32_t>(g.values.size()) - 1;
  }
  TestTensor noise(const std::vector<int64_t>& dims, DType type = DType::kI8) {
    TestTensor t;
    t.type = {type, make_shape(dims)};
    int64_t n = 1;
    for (const int64_t d : dims) n *= d;
    t.bytes.resize(static_cast<size_t>(n));
    for (uint8_t& b : t.bytes) b = static_cast<uint8_t>(random.next());
    return t;
  }
  template <class T>
  int32_t constant(const std::vector<int64_t>& dims, const std::vector<T>& v) {
    TestTensor t;
    t.type = {DTypeOf<T>::value, make_shape(dims)};
    t.bytes.resize(v.size() * sizeof(T));
    std::memcpy(t.bytes.data(), v.data(), t.bytes.size());
    return value(t, true);
  }
  int32_t node(vireo::Op op, const std::vector<uint8_t>& attrs, const std::vector<int32_t>& inputs) {
    OpTest t(op, attrs);
    for (const int32_t i : inputs) {
      if (i < 0) {
        t.absent();
      } else {
        t.input(values[static_cast<size_t>(i)]);
      }
    }
    EXPECT_EQ(t.run(), vireo::Status::kOk) << t.message();
    TestNode n;
    n.name = "n" + std::to_string(g.nodes.size());
    n.op = static_cast<uint16_t>(op);
    n.attrs.resize((attrs.size() + 7) / 8);
    if (!attrs.empty()) std::memcpy(n.attrs.data(), attrs.data(), attrs.size());
    n.attrs_size = attrs.size();
    n.inputs = inputs;
    n.outputs = {value(t.y(), false)};
    g.nodes.push_back(n);
    return g.nodes.back().outputs[0];
  }
  const std::vector<int64_t> dims(int32_t v) const {
    const Shape& s = g.values[static_cast<size_t>(v)].type.shape;
    return {s.dims, s.dims + s.rank};
  }

  template <class A>
  static void range(A* a) {
    a->low = -128;
    a->high = 127;
  }
  int32_t conv(int32_t x, int64_t channels, int32_t group, int32_t stride) {
    attrs::IntConvT a;
    range(&a);
    a.pads = {1, 1, 1, 1};
    a.strides = {stride, stride};
    a.group = group;
    a.x_zero = -7;
    a.y_zero = 3;
    const int64_t reads = dims(x)[1] / group;
    const int32_t w = value(noise({channels, reads, 3, 3}), true);
    std::vector<float> m;
    std::vector<int32_t> bias;
    for (int64_t c = 0; c < channels; ++c) {
      m.push_back(random.factor(0.0005f, 0.003f));
      bias.push_back(static_cast<int32_t>(random.between(-3000, 3000)));
    }
    return node(vireo::Op::kIntConv, pack<attrs::IntConv>(a),
                {x, w, constant<float>({channels}, m), constant<int32_t>({channels}, bias)});
  }
  int32_t gemm(int32_t x, int64_t channels) {
    attrs::IntGemmT a;
    range(&a);
    a.a_zero = 5;
    const int32_t w = value(noise({dims(x)[1], channels}), true);
    const std::vector<float> m(static_cast<size_t>(channels), 0.001f);
    return node(vireo::Op::kIntGemm, pack<attrs::IntGemm>(a), {x, w, constant<float>({channels}, m)});
  }
  int32_t add(int32_t p, int32_t q) {
    attrs::IntAddT a;
    range(&a);
    a.a_zero = 4;
    a.b_zero = -9;
    a.a_multiplier = 0.7f;
    a.b_multiplier = 0.41f;
    return node(vireo::Op::kIntAdd, pack<attrs::IntAdd>(a), {p, q});
  }
  int32_t mul(int32_t p, int32_t q) {
    attrs::IntMulT a;
    range(&a);
    a.a_zero = 4;
    a.multiplier = 0.01f;
    return node(vireo::Op::kIntMul, pack<attrs::IntMul>(a), {p, q});
  }
  int32_t table(int32_t x) {
    return node(vireo::Op::kIntTable, pack<attrs::IntTable>(attrs::IntTableT()), {x, value(noise({256}), true)});
  }
  int32_t max_pool(int32_t x) {
    attrs::PoolT a;
    a.kernel_shape = {2, 2};
    a.strides = {2, 2};
    return node(vireo::Op::kMaxPool, pack<attrs::Pool>(a), {x});
  }
  int32_t concat(int32_t p, int32_t q) {
    attrs::ConcatT a;
    a.axis = 1;
    return node(vireo::Op::kConcat, pack<attrs::Concat>(a), {p, q});
  }
  int32_t transpose(int32_t x, const std::vector<int32_t>& perm) {
    attrs::TransposeT a;
    a.perm = perm;
    return node(vireo::Op::kTranspose, pack<attrs::Transpose>(a), {x});
  }

  // A small network that ends in a matrix product.
  int32_t whole() {
    const int32_t x = value(noise({1, 3, 12, 10}), false);
    const int32_t a = table(conv(x, 8, 1, 1));
    const int32_t b = conv(a, 8, 8, 1);
    const int32_t c = mul(add(a, b), b);
    const int32_t d = max_pool(concat(c, a));
    const int32_t e = transpose(conv(d, 12, 1, 2), {0, 2, 3, 1});
    const auto s = dims(e);
    const int32_t f = node(vireo::Op::kReshape, pack<attrs::Reshape>(attrs::ReshapeT()),
                           {e, constant<int64_t>({2}, {s[1] * s[2], s[3]})});
    return gemm(f, 10);
  }
};

struct Blob {
  std::vector<uint8_t> bytes;
  size_t size = 0;
  uint8_t* data() { return bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64; }
  void* reserve(size_t n) {
    bytes.assign(n + 64, 0);
    size = n;
    return data();
  }
};
void* reserve(void* context, size_t bytes) { return static_cast<Blob*>(context)->reserve(bytes); }

struct Aligned {
  void* p = nullptr;
  explicit Aligned(size_t n) : p(std::aligned_alloc(64, (n + 127) / 64 * 64)) {}
  ~Aligned() { std::free(p); }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
};

class Opened {
 public:
  explicit Opened(const char* fault = "") : host(make_host()) {
    setenv("VIREO_NPU_FAULT", fault, 1);
    EXPECT_EQ(vireo_npu_open(VIREO_DELEGATE_ABI, &host, &d), VIREO_OK);
    unsetenv("VIREO_NPU_FAULT");
    EXPECT_EQ(d->enumerate(d->self, &host, 0, &info, &device), VIREO_OK);
    EXPECT_EQ(d->enumerate(d->self, &host, 1, &info, &device), VIREO_INVALID_ARGUMENT);
  }
  ~Opened() {
    d->release(d->self);
    EXPECT_EQ(g_held, 0);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  vireo_host host;
  const vireo_delegate* d = nullptr;
  void* device = nullptr;
  vireo_device_info info = VIREO_DEVICE_INFO_INIT;
};

// Nodes [first, first + count) of a net as one part.
struct Part {
  Opened& o;
  Net& net;
  std::vector<uint32_t> nodes;
  std::vector<int32_t> inputs, outputs;
  vireo_part part = VIREO_PART_INIT;
  Blob blob;
  vireo_compiled compiled = VIREO_COMPILED_INIT;
  char message[256] = "";
  std::unique_ptr<Aligned> state, scratch;
  size_t scratch_bytes = 0;
  void* loaded = nullptr;
  std::vector<vireo_tensor> tensors;
  std::vector<std::vector<uint8_t>> results;
  std::vector<const vireo_tensor*> in;
  std::vector<vireo_tensor*> out;

  Part(Opened& opened, Net& n, uint32_t first, uint32_t count) : o(opened), net(n) {
    std::vector<int32_t> made;
    const auto has = [](const std::vector<int32_t>& l, int32_t v) {
      return std::find(l.begin(), l.end(), v) != l.end();
    };
    for (uint32_t i = first; i < first + count; ++i) {
      nodes.push_back(i);
      for (const int32_t v : net.g.nodes[i].inputs) {
        if (v >= 0 && net.g.values[static_cast<size_t>(v)].constant == nullptr && !has(made, v) && !has(inputs, v))
          inputs.push_back(v);
      }
      for (const int32_t v : net.g.nodes[i].outputs) made.push_back(v);
    }
    for (const int32_t v : made) {
      bool read = v == net.g.nodes.back().outputs[0];
      for (uint32_t i = first + count; i < net.g.nodes.size(); ++i) read = read || has(net.g.nodes[i].inputs, v);
      if (read) outputs.push_back(v);
    }
    part.nodes = nodes.data();
    part.node_count = count;
    part.inputs = inputs.data();
    part.input_count = static_cast<uint32_t>(inputs.size());
    part.outputs = outputs.data();
    part.output_count = static_cast<uint32_t>(outputs.size());
  }
  ~Part() { unload(); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  vireo_status compile() {
    const vireo_blob to = {&blob, reserve, message, sizeof(message)};
    const vireo_status status = o.d->compile(o.device, &o.host, &net.g, &part, &to, &compiled);
    part.blob = blob.data();
    part.blob_bytes = blob.size;
    return status;
  }
  vireo_status load() {
    unload();
    vireo_part_memory need = {};
    need.struct_size = sizeof(need);
    const vireo_status status = o.d->memory(o.device, &o.host, &net.g, &part, 1, &need);
    if (status != VIREO_OK) return status;
    state = std::make_unique<Aligned>(need.state_bytes);
    scratch = std::make_unique<Aligned>(need.scratch_bytes);
    scratch_bytes = need.scratch_bytes;
    return o.d->load(o.device, &o.host, &net.g, &part, 1, state->p, &loaded);
  }
  void unload() {
    if (loaded != nullptr) o.d->unload(loaded);
    loaded = nullptr;
  }
  void prepare() {
    tensors.assign(inputs.size() + outputs.size(), {});
    results.assign(outputs.size(), {});
    in.clear();
    out.clear();
    for (size_t i = 0; i < tensors.size(); ++i) {
      const bool goes_in = i < inputs.size();
      TestTensor& v = net.values[static_cast<size_t>(goes_in ? inputs[i] : outputs[i - inputs.size()])];
      vireo_tensor& t = tensors[i];
      t.dtype = static_cast<vireo_dtype>(v.type.dtype);
      t.rank = v.type.shape.rank;
      for (int k = 0; k < t.rank; ++k) t.dims[k] = v.type.shape[k];
      t.capacity = static_cast<int64_t>(v.bytes.size());
      if (goes_in) {
        t.data = v.bytes.data();
        in.push_back(&t);
      } else {
        results[i - inputs.size()].assign(v.bytes.size(), 0xA5);
        t.data = results[i - inputs.size()].data();
        out.push_back(&t);
      }
    }
  }
  vireo_status submit() {
    vireo_submit with = {};
    with.struct_size = sizeof(with);
    with.scratch = scratch->p;
    with.scratch_bytes = scratch_bytes;
    return o.d->submit(loaded, in.data(), part.input_count, out.data(), part.output_count, &with);
  }
  vireo_status wait(uint64_t ns = 20000000000u) { return o.d->wait(loaded, ns); }
  bool right() const {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (results[i] != net.values[static_cast<size_t>(outputs[i])].bytes) return false;
    }
    return true;
  }
  vireo_status run() {
    prepare();
    const vireo_status status = submit();
    return status == VIREO_OK ? wait() : status;
  }
};

struct Answers {
  std::vector<std::string> reasons;  // of every node; "": taken
  std::vector<double> times;
};
Answers claims(Opened& o, const Net& net) {
  Answers a;
  const vireo_claims to = {&a,
                           [](void* c, const vireo_part* p) -> vireo_status {
                             EXPECT_EQ(p->flags, uint32_t{VIREO_PART_JOINS});
                             static_cast<Answers*>(c)->reasons.emplace_back();
                             static_cast<Answers*>(c)->times.push_back(p->time_ns);
                             return VIREO_OK;
                           },
                           [](void* c, uint32_t, const char* why) -> vireo_status {
                             static_cast<Answers*>(c)->reasons.emplace_back(why);
                             return VIREO_OK;
                           }};
  EXPECT_EQ(o.d->claim(o.device, &o.host, &net.g, &to), VIREO_OK);
  return a;
}

TEST(NpuDriver, PartsOfAllLengthsGiveTheReferenceBytes) {
  Opened o;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Net net(seed);
    net.whole();
    const auto count = static_cast<uint32_t>(net.g.nodes.size());
    const Answers answers = claims(o, net);
    for (const std::string& why : answers.reasons) EXPECT_EQ(why, "");
    for (const double ns : answers.times) EXPECT_GT(ns, 0);
    for (uint32_t first = 0; first < count; ++first) {
      for (uint32_t n = 1; first + n <= count; ++n) {
        if (n > 1 && n < count && (first + n + seed) % 5 != 0) continue;
        Part p(o, net, first, n);
        ASSERT_EQ(p.compile(), VIREO_OK) << first << " " << n << ": " << p.message;
        EXPECT_GT(p.compiled.time_ns, 0);
        ASSERT_EQ(p.load(), VIREO_OK);
        ASSERT_EQ(p.run(), VIREO_OK);
        EXPECT_TRUE(p.right()) << "nodes " << first << " to " << first + n - 1;
      }
    }
  }
}

// A model in integers with float32 at its ends: all of it runs on the machine. A sum that somebody else reads does not.
TEST(NpuDriver, EndsInFloat32) {
  Opened o;
  Net net(11);
  const auto binary = [&](vireo::Op op, int32_t a, int32_t b) {
    return net.node(op, pack<attrs::Binary>(attrs::BinaryT()), {a, b});
  };
  const auto quantize = [&](int32_t v, const std::vector<float>& scale, const std::vector<int8_t>& zero) {
    const std::vector<int64_t> one(scale.size() == 1 ? 0 : 1, static_cast<int64_t>(scale.size()));
    return net.node(vireo::Op::kQuantizeLinear, pack<attrs::QuantizeLinear>(attrs::QuantizeLinearT()),
                    {v, net.constant<float>(one, scale), net.constant<int8_t>(one, zero)});
  };
  std::vector<float> picture(3 * 6 * 5);
  for (float& v : picture) v = net.random.factor(-1, 3);
  TestTensor given;
  given.type = {DType::kF32, make_shape({1, 3, 6, 5})};
  given.bytes.resize(picture.size() * 4);
  std::memcpy(given.bytes.data(), picture.data(), given.bytes.size());
  const int32_t x = net.value(given, false);
  const int32_t centred = binary(vireo::Op::kSub, x, net.constant<float>({3, 1, 1}, {0.4f, 0.5f, 0.6f}));
  const int32_t scaled = binary(vireo::Op::kMul, net.constant<float>({}, {0.75f}), centred);
  const int32_t q = quantize(scaled, {0.01f, 0.02f, 0.03f}, {-3, 0, 7});
  const int32_t y = net.conv(q, 4, 1, 1);
  const int32_t real = net.node(vireo::Op::kDequantizeLinear, pack<attrs::DequantizeLinear>(attrs::DequantizeLinearT()),
                                {y, net.constant<float>({}, {0.07f}), net.constant<int8_t>({}, {3})});
  net.g.inputs = {x};
  net.g.outputs = {real};
  EXPECT_EQ(claims(o, net).reasons, std::vector<std::string>(5, ""));
  for (uint32_t first = 0; first < 5; ++first) {
    for (uint32_t n = 1; first + n <= 5; ++n) {
      Part p(o, net, first, n);
      ASSERT_EQ(p.compile(), VIREO_OK) << first << " " << n << ": " << p.message;
      ASSERT_EQ(p.load(), VIREO_OK);
      ASSERT_EQ(p.run(), VIREO_OK);
      EXPECT_TRUE(p.right()) << "nodes " << first << " to " << first + n - 1;
    }
  }
  net.g.outputs = {real, centred};
  const std::vector<std::string> seen = claims(o, net).reasons;
  EXPECT_NE(seen[0].find("no codes are made of"), std::string::npos);
  EXPECT_EQ(seen[1], "");
}

// Blocks of pixels, and a softmax over channels, alone and behind a convolution, whose result lies in pixels.
TEST(NpuDriver, WhatMovesPixels) {
  Opened o;
  for (int kind = 0; kind < 6; ++kind) {
    for (const bool behind : {false, true}) {
      Net net(static_cast<uint64_t>(20 + kind));
      int32_t x = net.value(net.noise({2, 12, 6, 4}), false);
      if (behind) x = net.conv(x, 12, 1, 1);
      int32_t y = 0;
      if (kind < 2) {
        attrs::DepthToSpaceT a;
        a.blocksize = 2;
        a.mode = static_cast<attrs::DepthToSpaceMode>(kind);
        y = net.node(vireo::Op::kDepthToSpace, pack<attrs::DepthToSpace>(a), {x});
      } else if (kind < 4) {
        attrs::SpaceToDepthT a;
        a.blocksize = 2;
        a.mode = static_cast<attrs::DepthToSpaceMode>(kind - 2);
        y = net.node(vireo::Op::kSpaceToDepth, pack<attrs::SpaceToDepth>(a), {x});
      } else {
        attrs::IntSoftmaxT a;
        a.axis = kind == 4 ? 1 : 3;
        a.multiplier = 256;
        a.y_zero = -128;
        Net::range(&a);
        a.output_dtype = static_cast<uint8_t>(DType::kI8);
        std::vector<int32_t> table(256);
        for (int i = 0; i < 256; ++i) table[static_cast<size_t>(i)] = (256 - i) * 1000;
        y = net.node(vireo::Op::kIntSoftmax, pack<attrs::IntSoftmax>(a), {x, net.constant<int32_t>({256}, table)});
      }
      net.table(y);
      for (const std::string& why : claims(o, net).reasons) EXPECT_EQ(why, "") << kind;
      for (uint32_t n = 1; n <= net.g.nodes.size(); ++n) {
        Part p(o, net, 0, n);
        ASSERT_EQ(p.compile(), VIREO_OK) << kind << ": " << p.message;
        ASSERT_EQ(p.load(), VIREO_OK);
        ASSERT_EQ(p.run(), VIREO_OK);
        EXPECT_TRUE(p.right()) << kind << (behind ? " behind a convolution" : "");
      }
    }
  }
}

TEST(NpuDriver, CompositesStandByTheirBodies) {
  Opened o;
  Net net(7);
  const int32_t x = net.value(net.noise({1, 4, 6, 6}), false);
  const int32_t y = net.table(net.conv(x, 6, 1, 1));
  auto body = std::make_shared<vireo_graph>(net.g);
  body->inputs = {x};
  body->outputs = {y};
  TestNode n;
  n.name = "block";
  n.op = static_cast<uint16_t>(vireo::Op::kComposite);
  n.inputs = {x};
  n.outputs = {y};
  n.body = body;
  net.g.nodes = {n};
  EXPECT_EQ(claims(o, net).reasons, std::vector<std::string>{""});
  Part p(o, net, 0, 1);
  ASSERT_EQ(p.compile(), VIREO_OK) << p.message;
  ASSERT_EQ(p.load(), VIREO_OK);
  ASSERT_EQ(p.run(), VIREO_OK);
  EXPECT_TRUE(p.right());
}

TEST(NpuDriver, WhatIsLeftIsLeftWithAReason) {
  Opened o;
  Net net(3);
  const int32_t x = net.value(net.noise({1, 4, 6, 6}), false);
  net.table(x);
  net.g.values[static_cast<size_t>(x)].varies = true;
  EXPECT_NE(claims(o, net).reasons[0].find("its shapes change"), std::string::npos);
  net.g.values[static_cast<size_t>(x)].varies = false;
  net.g.values[static_cast<size_t>(x)].type.dtype = DType::kF32;
  EXPECT_NE(claims(o, net).reasons[0].find("8-bit codes"), std::string::npos);
  net.g.values[static_cast<size_t>(x)].type.dtype = DType::kI8;
  net.g.values[static_cast<size_t>(net.g.nodes[0].inputs[1])].constant = nullptr;
  EXPECT_NE(claims(o, net).reasons[0].find("not constant"), std::string::npos);
  net.g.nodes[0].op = static_cast<uint16_t>(vireo::Op::kSoftmax);
  net.g.nodes[0].inputs.resize(1);
  EXPECT_NE(claims(o, net).reasons[0].find("no layer of the machine"), std::string::npos);
}

TEST(NpuDriver, DamagedBlobsAreRefused) {
  Opened o;
  Net net(5);
  net.table(net.conv(net.value(net.noise({1, 2, 5, 5}), false), 3, 1, 1));
  Part p(o, net, 0, 2);
  ASSERT_EQ(p.compile(), VIREO_OK) << p.message;
  const std::vector<uint8_t> good(p.blob.data(), p.blob.data() + p.blob.size);
  Part again(o, net, 0, 2);
  ASSERT_EQ(again.compile(), VIREO_OK);
  EXPECT_EQ(std::vector<uint8_t>(again.blob.data(), again.blob.data() + again.blob.size), good);
  for (size_t i = 0; i < good.size(); ++i) {
    p.blob.data()[i] ^= 0x41;
    const bool steers = i < offsetof(BlobHeader, cycles) || i >= offsetof(BlobHeader, hash);
    EXPECT_EQ(p.load(), steers ? vireo_status{VIREO_INVALID_MODEL} : vireo_status{VIREO_OK}) << "byte " << i;
    p.blob.data()[i] = good[i];
    p.part.blob_bytes = i;
    EXPECT_EQ(p.load(), VIREO_INVALID_MODEL) << "length " << i;
    p.part.blob_bytes = good.size();
  }
  // With a hash that fits: nothing but the checks of what steers stands between these bytes and memory.
  uint32_t loads = 0, refusals = 0;
  for (size_t k = 0; k < 4 * good.size(); ++k) {
    const auto at = static_cast<size_t>(net.random.next()) % good.size();
    p.blob.data()[at] = static_cast<uint8_t>(net.random.next());
    auto* const h = reinterpret_cast<BlobHeader*>(p.blob.data());
    h->hash = hash_of(p.blob.data() + sizeof(BlobHeader), good.size() - sizeof(BlobHeader));
    if (p.load() == VIREO_OK) {
      ++loads;
      const vireo_status status = p.run();
      EXPECT_TRUE(status == VIREO_OK || status == VIREO_INVALID_MODEL || status == VIREO_DEVICE_LOST) << status;
      if (status == VIREO_DEVICE_LOST) {
        o.d->reset(o.device);
      }
    } else {
      ++refusals;
    }
    std::memcpy(p.blob.data(), good.data(), good.size());
  }
  EXPECT_GT(loads, 0u);
  EXPECT_GT(refusals, 0u);
  ASSERT_EQ(p.load(), VIREO_OK);
  ASSERT_EQ(p.run(), VIREO_OK);
  EXPECT_TRUE(p.right());
}

// A blob in pieces, to be put together as no compiler would.
struct Pieces {
  BlobHeader header;
  std::vector<Boundary> inputs, outputs;
  std::vector<Command> stream;  // its header first
  std::vector<uint8_t> constants;

  explicit Pieces(Blob* from) {
    const uint8_t* const at = from->data();
    std::memcpy(&header, at, sizeof(header));
    const auto take = [at](auto* to, uint64_t offset, size_t count) {
      to->resize(count);
      if (count != 0) std::memcpy(to->data(), at + offset, count * sizeof((*to)[0]));
    };
    take(&inputs, boundary_at(), header.inputs);
    take(&outputs, boundary_at() + header.inputs * sizeof(Boundary), header.outputs);
    take(&stream, stream_at(header.inputs, header.outputs), header.stream_bytes / sizeof(Command));
    take(&constants, constants_at(header.inputs, header.outputs, header.stream_bytes), header.constant_bytes);
  }
  void write(Blob* to, vireo_part* part) {
    BlobHeader& h = header;
    h.inputs = static_cast<uint32_t>(inputs.size());
    h.outputs = static_cast<uint32_t>(outputs.size());
    h.stream_bytes = static_cast<uint32_t>(stream.size() * sizeof(Command));
    auto* const first = reinterpret_cast<StreamHeader*>(stream.data());
    first->command_count = static_cast<uint32_t>(stream.size()) - 1;
    const auto size = static_cast<size_t>(blob_bytes(h.inputs, h.outputs, h.stream_bytes, h.constant_bytes));
    auto* const at = static_cast<uint8_t*>(to->reserve(size));
    const auto put = [at](const auto& from, uint64_t offset) {
      if (!from.empty()) std::memcpy(at + offset, from.data(), from.size() * sizeof(from[0]));
    };
    put(inputs, boundary_at());
    put(outputs, boundary_at() + h.inputs * sizeof(Boundary));
    put(stream, stream_at(h.inputs, h.outputs));
    put(constants, constants_at(h.inputs, h.outputs, h.stream_bytes));
    h.hash = hash_of(at + sizeof(h), size - sizeof(h));
    std::memcpy(at, &h, sizeof(h));
    part->blob = at;
    part->blob_bytes = size;
  }
};

TEST(NpuDriver, ABlobHasNoMoreValuesThanAPartHasRoomFor) {
  Opened o;
  Net net(6);
  net.table(net.value(net.noise({1, 2, 5, 5}), false));
  for (const bool outputs : {false, true}) {
    Part p(o, net, 0, 1);
    ASSERT_EQ(p.compile(), VIREO_OK) << p.message;
    Pieces blob(&p.blob);
    std::vector<int32_t>& values = outputs ? p.outputs : p.inputs;
    for (const uint32_t count : {kMostValues, kMostValues + 1}) {
      values.resize(count, values[0]);
      (outputs ? blob.outputs : blob.inputs).resize(count, Boundary{kTensors, 0, 0});
      p.part.inputs = p.inputs.data();
      p.part.input_count = static_cast<uint32_t>(p.inputs.size());
      p.part.outputs = p.outputs.data();
      p.part.output_count = static_cast<uint32_t>(p.outputs.size());
      blob.write(&p.blob, &p.part);
      if (count > kMostValues) {
        EXPECT_EQ(p.load(), VIREO_INVALID_MODEL);
        break;
      }
      ASSERT_EQ(p.load(), VIREO_OK);
      EXPECT_EQ(p.run(), VIREO_OK);
      EXPECT_EQ(p.results[0], net.values[static_cast<size_t>(p.outputs[0])].bytes);
    }
  }
}

// Tens of thousands of commands that are right one by one: what cancels does not wait for all of them.
TEST(NpuDriver, AStreamOfAnyLengthIsCancelled) {
  using Clock = std::chrono::steady_clock;
  Opened o;
  Net net(8);
  net.conv(net.value(net.noise({1, 32, 40, 40}), false), 32, 1, 1);
  Part right(o, net, 0, 1), slow(o, net, 0, 1);
  ASSERT_EQ(right.compile(), VIREO_OK) << right.message;
  ASSERT_EQ(right.load(), VIREO_OK);
  ASSERT_EQ(slow.compile(), VIREO_OK);
  Pieces blob(&slow.blob);
  size_t at = blob.stream.size() - 1;
  while (at > 0 && blob.stream[at].op() != Op::conv) --at;
  ASSERT_GT(at, 0u);
  const Command conv = blob.stream[at];
  blob.stream.insert(blob.stream.begin() + static_cast<std::ptrdiff_t>(at), 40000, conv);
  blob.write(&slow.blob, &slow.part);
  right.prepare();
  for (const bool unloaded : {false, true}) {
    ASSERT_EQ(slow.load(), VIREO_OK);
    slow.prepare();
    ASSERT_EQ(slow.submit(), VIREO_OK);
    EXPECT_EQ(slow.wait(50000000), VIREO_BUSY);
    ASSERT_EQ(right.submit(), VIREO_OK);
    const Clock::time_point begin = Clock::now();
    if (unloaded) {
      slow.unload();
    } else {
      o.d->cancel(slow.loaded);
      EXPECT_EQ(slow.wait(0), VIREO_CANCELLED);
    }
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
    EXPECT_EQ(o.d->health(o.device), VIREO_OK);
    EXPECT_EQ(right.wait(), VIREO_OK) << "what waited behind it";
    EXPECT_TRUE(right.right());
  }
}

// Nobody has looked at shapes and attributes before claim does.
TEST(NpuDriver, ShapesAndAttributesAreNotTrusted) {
  Opened o;
  const auto why = [&o](const Net& net) { return claims(o, net).reasons.back(); };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const auto set_attrs = [](TestNode* n, const std::vector<uint8_t>& attrs) {
    n->attrs.assign((attrs.size() + 7) / 8, 0);
    std::memcpy(n->attrs.data(), attrs.data(), attrs.size());
    n->attrs_size = attrs.size();
  };
  const auto reshape = [](Net* net, int32_t v, const std::vector<int64_t>& dims) {
    net->g.values[static_cast<size_t>(v)].type.shape = make_shape(dims);
  };
  const auto raw = [&](Net* net, vireo::Op op, const std::vector<uint8_t>& attrs, const std::vector<int32_t>& inputs,
                       const std::vector<int64_t>& y) {
    TestNode n;
    n.op = static_cast<uint16_t>(op);
    set_attrs(&n, attrs);
    n.inputs = inputs;
    n.outputs = {net->value(net->noise({1}), false)};
    reshape(net, n.outputs[0], y);
    net->g.nodes.push_back(n);
  };
  constexpr int64_t kLong = int64_t{1} << 40;
  for (const int32_t r : {0, -1, 256, INT32_MIN, INT32_MAX}) {
    Net net(1);
    attrs::DepthToSpaceT to;
    attrs::SpaceToDepthT from;
    to.blocksize = from.blocksize = r;
    const int32_t x = net.value(net.noise({1, 4, 2, 2}), false);
    raw(&net, vireo::Op::kDepthToSpace, pack<attrs::DepthToSpace>(to), {x}, {1, 1, 4, 4});
    EXPECT_PRED2(has, why(net), "blocks of") << r;
    raw(&net, vireo::Op::kSpaceToDepth, pack<attrs::SpaceToDepth>(from), {x}, {1, 16, 1, 1});
    EXPECT_PRED2(has, why(net), "blocks of") << r;
  }
  {  // blocks that do not divide: layers of which only the first are wrong
    Net net(1);
    attrs::DepthToSpaceT a;
    a.blocksize = 3;
    raw(&net, vireo::Op::kDepthToSpace, pack<attrs::DepthToSpace>(a), {net.value(net.noise({1, 4, 3, 3}), false)},
        {1, 1, 6, 6});
    EXPECT_NE(why(net), "");
  }
  {
    Net net(2);
    attrs::ResizeT a;
    a.mode = attrs::ResizeMode::nearest;
    a.coordinate = attrs::ResizeCoordinate::asymmetric;
    a.nearest = attrs::ResizeNearest::floor;
    const int32_t x = net.value(net.noise({1, 1, 1, 1}), false);
    raw(&net, vireo::Op::kResize, pack<attrs::Resize>(a), {x}, {1, 1, kLong, 1});
    EXPECT_PRED2(has, why(net), "65535");
    reshape(&net, x, {1, 1, int64_t{1} << 32, int64_t{1} << 32});  // no elements, in 64 bits
    EXPECT_PRED2(has, why(net), "65535");
    reshape(&net, x, {1, 1, 0, 1});
    EXPECT_PRED2(has, why(net), "empty");
    reshape(&net, x, {65535, 65535, 65535, 65535});
    reshape(&net, net.g.nodes[0].outputs[0], {65535, 65535, 65535, 65535});
    EXPECT_PRED2(has, why(net), "4 GiB");
  }
  for (const std::vector<int64_t>& dims : {std::vector<int64_t>{int64_t{1} << 62, 0, 1, 1}, {65535, 65535, 0, 65535}}) {
    Net net(3);
    net.conv(net.value(net.noise({1, 2, 5, 5}), false), 3, 1, 1);
    const int32_t w = net.g.nodes[0].inputs[1];
    reshape(&net, w, dims);
    net.g.values[static_cast<size_t>(w)].constant_size = 0;
    EXPECT_PRED2(has, why(net), dims[0] == 65535 ? "empty weights" : "65535");
  }
  for (const bool gemm : {false, true}) {  // more weights than there are bytes
    Net net(3);
    if (gemm) {
      net.gemm(net.value(net.noise({2, 6}), false), 3);
    } else {
      net.conv(net.value(net.noise({1, 2, 5, 5}), false), 3, 1, 1);
    }
    const int32_t w = net.g.nodes[0].inputs[1];
    reshape(&net, w, gemm ? std::vector<int64_t>{60000, 60000} : std::vector<int64_t>{60000, 2, 100, 100});
    EXPECT_PRED2(has, why(net), "another size than its shape says");
  }
  {  // windows and groups
    using Change = void (*)(attrs::IntConvT*);
    const Change changes[] = {
        [](attrs::IntConvT* a) { a->group = 0; },
        [](attrs::IntConvT* a) { a->group = INT32_MIN; },
        [](attrs::IntConvT* a) {
          a->strides = {0, 1};
        },
        [](attrs::IntConvT* a) {
          a->strides = {1, INT32_MIN};
        },
        [](attrs::IntConvT* a) {
          a->dilations = {0, 0};
        },
        [](attrs::IntConvT* a) {
          a->dilations = {1, INT32_MAX};
        },
        [](attrs::IntConvT* a) { a->x_zero = INT32_MIN; },
        [](attrs::IntConvT* a) { a->y_zero = INT32_MAX; },
        [](attrs::IntConvT* a) { a->low = INT32_MIN; },
        [](attrs::IntConvT* a) { a->high = -129; },
        [](attrs::IntConvT* a) {
          a->pads = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
        },
    };
    for (const Change& change : changes) {
      Net net(4);
      net.conv(net.value(net.noise({1, 2, 5, 5}), false), 3, 1, 1);
      attrs::IntConvT a;
      Net::range(&a);
      a.pads = {1, 1, 1, 1};
      set_attrs(&net.g.nodes[0], pack<attrs::IntConv>(a));
      EXPECT_EQ(why(net), "");
      change(&a);
      set_attrs(&net.g.nodes[0], pack<attrs::IntConv>(a));
      EXPECT_NE(why(net), "") << &change - changes;
    }
  }
  for (const int32_t axis : {INT32_MIN, INT32_MAX, 4, -5}) {
    Net net(5);
    const int32_t x = net.value(net.noise({1, 2, 5, 5}), false);
    attrs::ConcatT a;
    a.axis = axis;
    raw(&net, vireo::Op::kConcat, pack<attrs::Concat>(a), {x, x}, {1, 4, 5, 5});
    EXPECT_PRED2(has, why(net), "an axis that the operands do not have") << axis;
    attrs::IntResizeT r;
    Net::range(&r);
    r.axes = {axis};
    const int32_t places = net.constant<int32_t>({5, 1}, {0, 1, 2, 3, 4});
    raw(&net, vireo::Op::kIntResize, pack<attrs::IntResize>(r), {x, places, places}, {1, 2, 5, 5});
    EXPECT_PRED2(has, why(net), "channels are resampled") << axis;
  }
  {
    Net net(6);
    net.table(net.value(net.noise({1, 2, 5, 5}), false));
    net.g.nodes[0].outputs.clear();
    EXPECT_EQ(why(net), "no output");
  }
}

// As many ways as 2^60 from the first node to the last.
TEST(NpuDriver, EveryNodeIsLookedAtOnce) {
  Opened o;
  Net net(9);
  TestTensor given;
  given.type = {DType::kF32, make_shape({1, 2, 3, 3})};
  given.bytes.resize(18 * 4);
  int32_t x = net.value(given, false);
  for (int i = 0; i < 60; ++i) x = net.node(vireo::Op::kAdd, pack<attrs::Binary>(attrs::BinaryT()), {x, x});
  x = net.node(vireo::Op::kQuantizeLinear, pack<attrs::QuantizeLinear>(attrs::QuantizeLinearT()),
               {x, net.constant<float>({}, {0.5f}), net.constant<int8_t>({}, {3})});
  for (int i = 0; i < 60; ++i) x = net.add(net.table(x), x);
  const auto count = static_cast<uint32_t>(net.g.nodes.size());
  EXPECT_EQ(claims(o, net).reasons, std::vector<std::string>(count, ""));
  Part p(o, net, 0, count);
  ASSERT_EQ(p.compile(), VIREO_OK) << p.message;
  ASSERT_EQ(p.load(), VIREO_OK);
  ASSERT_EQ(p.run(), VIREO_OK);
  EXPECT_TRUE(p.right());
}

// At every place where memory may be missing, once.
TEST(NpuDriver, WantOfMemoryIsAStatus) {
  Net net(13);
  net.table(net.conv(net.value(net.noise({1, 2, 5, 5}), false), 3, 1, 1));
  const auto starve = [](const char* what, const auto& call) {
    vireo_status status = VIREO_OUT_OF_ARENA;
    int refused = 0;
    for (int64_t left = 0; status == VIREO_OUT_OF_ARENA; left += 1 + left / 16, ++refused) {
      g_news_left = left;
      status = call();
      g_news_left = INT64_MAX;
    }
    EXPECT_EQ(status, VIREO_OK) << what;
    EXPECT_GT(refused, 1) << what;
  };
  const vireo_host host = make_host();
  const vireo_delegate* d = nullptr;
  starve("open", [&] {
    const vireo_status status = vireo_npu_open(VIREO_DELEGATE_ABI, &host, &d);
    if (status != VIREO_OK) return status;
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    void* device = nullptr;
    return d->enumerate(d->self, &host, 0, &info, &device);
  });
  d->release(d->self);
  EXPECT_EQ(g_held, 0);
  Opened o;
  const vireo_claims to = {nullptr, [](void*, const vireo_part*) -> vireo_status { return VIREO_OK; },
                           [](void*, uint32_t, const char*) -> vireo_status { return VIREO_OK; }};
  starve("claim", [&] { return o.d->claim(o.device, &o.host, &net.g, &to); });
  Part p(o, net, 0, 2);
  starve("compile", [&] { return p.compile(); });
  ASSERT_EQ(p.load(), VIREO_OK);
  ASSERT_EQ(p.run(), VIREO_OK);
  EXPECT_TRUE(p.right());
}

TEST(NpuDriver, TwoPartsAtOnceAndNothingIsAllocated) {
  Opened o;
  Net a(11), b(12);
  a.whole();
  b.whole();
  Part p(o, a, 0, static_cast<uint32_t>(a.g.nodes.size())), q(o, b, 0, static_cast<uint32_t>(b.g.nodes.size()));
  for (Part* each : {&p, &q}) {
    ASSERT_EQ(each->compile(), VIREO_OK) << each->message;
    ASSERT_EQ(each->load(), VIREO_OK);
    each->prepare();
  }
  const uint64_t news = g_news;
  const int64_t calls = g_host_calls;
  vireo_status status[2] = {};
  for (int k = 0; k < 50; ++k) {
    status[0] |= p.submit() | q.submit();
    status[1] |= q.wait() | p.wait();
  }
  EXPECT_EQ(g_news, news);
  EXPECT_EQ(g_host_calls, calls);
  EXPECT_EQ(status[0], uint32_t{VIREO_OK});
  EXPECT_EQ(status[1], uint32_t{VIREO_OK});
  EXPECT_TRUE(p.right());
  EXPECT_TRUE(q.right());
  vireo_telemetry t = VIREO_TELEMETRY_INIT;
  ASSERT_EQ(o.d->telemetry(o.device, &t), VIREO_OK);
  EXPECT_EQ(t.submits, 100u);
  EXPECT_GT(t.busy_ns, 0u);
  EXPECT_GT(t.energy_nj, 0u);
  EXPECT_EQ(t.power, uint32_t{VIREO_POWER_IDLE});
}

struct Faulty : testing::Test {
  Net net{21};
  void SetUp() override { net.table(net.conv(net.value(net.noise({1, 2, 5, 5}), false), 3, 1, 1)); }
  static void ready(Part* p) {
    ASSERT_EQ(p->compile(), VIREO_OK) << p->message;
    ASSERT_EQ(p->load(), VIREO_OK);
  }
};

TEST_F(Faulty, AHangIsCancelledAndReset) {
  Opened o("hang@1");
  Part p(o, net, 0, 2), behind(o, net, 0, 2);
  ready(&p);
  ready(&behind);
  EXPECT_EQ(p.run(), VIREO_OK);
  p.prepare();
  behind.prepare();
  ASSERT_EQ(p.submit(), VIREO_OK);
  EXPECT_EQ(p.wait(5000000), VIREO_BUSY);
  EXPECT_EQ(p.wait(0), VIREO_BUSY);
  ASSERT_EQ(behind.submit(), VIREO_OK);
  EXPECT_EQ(behind.wait(1000000), VIREO_BUSY);
  EXPECT_EQ(o.d->health(o.device), VIREO_OK);
  o.d->cancel(p.loaded);
  EXPECT_EQ(p.wait(0), VIREO_CANCELLED);
  EXPECT_EQ(o.d->health(o.device), VIREO_DEVICE_LOST);
  EXPECT_EQ(behind.wait(), VIREO_DEVICE_LOST);
  EXPECT_EQ(p.submit(), VIREO_DEVICE_LOST);
  EXPECT_EQ(o.d->reset(o.device), VIREO_OK);
  EXPECT_EQ(o.d->health(o.device), VIREO_OK);
  EXPECT_EQ(behind.submit(), VIREO_DEVICE_LOST) << "loaded before the reset";
  ASSERT_EQ(p.load(), VIREO_OK);
  EXPECT_EQ(p.run(), VIREO_OK);
  EXPECT_TRUE(p.right());
}

TEST_F(Faulty, AHangThatIsNotCancelledEndsWithUnload) {
  Opened o("hang@0");
  Part p(o, net, 0, 2);
  ready(&p);
  p.prepare();
  ASSERT_EQ(p.submit(), VIREO_OK);
}

TEST_F(Faulty, AResetEndsAHangAndLosesWhatWaits) {
  Opened o("hang@0");
  Part p(o, net, 0, 2), behind(o, net, 0, 2);
  ready(&p);
  ready(&behind);
  p.prepare();
  behind.prepare();
  ASSERT_EQ(p.submit(), VIREO_OK);
  EXPECT_EQ(p.wait(5000000), VIREO_BUSY);
  ASSERT_EQ(behind.submit(), VIREO_OK);
  ASSERT_EQ(o.d->reset(o.device), VIREO_OK);
  EXPECT_EQ(p.wait(), VIREO_DEVICE_LOST);
  EXPECT_EQ(behind.wait(), VIREO_DEVICE_LOST);
  EXPECT_EQ(o.d->health(o.device), VIREO_OK);
  ASSERT_EQ(p.load(), VIREO_OK);
  p.prepare();
  ASSERT_EQ(p.submit(), VIREO_OK);
  EXPECT_EQ(p.wait(UINT64_MAX), VIREO_OK) << "a time that the clock cannot add";
  EXPECT_TRUE(p.right());
}

TEST_F(Faulty, ALostDeviceStaysLostUntilReset) {
  Opened o("lost@1");
  Part p(o, net, 0, 2);
  ready(&p);
  EXPECT_EQ(p.run(), VIREO_OK);
  EXPECT_EQ(p.run(), VIREO_DEVICE_LOST);
  EXPECT_EQ(p.run(), VIREO_DEVICE_LOST);
  EXPECT_EQ(o.d->health(o.device), VIREO_DEVICE_LOST);
  EXPECT_EQ(o.d->reset(o.device), VIREO_OK);
  EXPECT_EQ(p.run(), VIREO_DEVICE_LOST);
  ASSERT_EQ(p.load(), VIREO_OK);
  EXPECT_EQ(p.run(), VIREO_OK);
  EXPECT_TRUE(p.right());
  vireo_telemetry t = VIREO_TELEMETRY_INIT;
  ASSERT_EQ(o.d->telemetry(o.device, &t), VIREO_OK);
  EXPECT_EQ(t.resets, 1u);
}

TEST_F(Faulty, WrongBytesAndNoMemory) {
  {
    Opened o("corrupt@0");
    Part p(o, net, 0, 2);
    ready(&p);
    EXPECT_EQ(p.run(), VIREO_OK);
    EXPECT_FALSE(p.right());
    EXPECT_EQ(p.run(), VIREO_OK);
    EXPECT_TRUE(p.right());
  }
  Opened o("memory@1");
  Part p(o, net, 0, 2);
  ASSERT_EQ(p.compile(), VIREO_OK);
  EXPECT_EQ(p.load(), VIREO_OUT_OF_ARENA);
}

TEST_F(Faulty, AtRandomEveryEndIsOneThatTheTableNames) {
  Opened o("random=5:30");
  Part p(o, net, 0, 2);
  ready(&p);
  uint32_t right = 0, wrong = 0, lost = 0, hung = 0;
  for (int k = 0; k < 200; ++k) {
    p.prepare();
    ASSERT_EQ(p.submit(), VIREO_OK);
    vireo_status status = p.wait(100000000);
    if (status == VIREO_BUSY) {
      ++hung;
      o.d->cancel(p.loaded);
      status = p.wait(0);
      EXPECT_EQ(status, VIREO_CANCELLED);
    } else if (status == VIREO_OK) {
      ++(p.right() ? right : wrong);
    } else {
      ASSERT_EQ(status, VIREO_DEVICE_LOST);
      ++lost;
    }
    if (status != VIREO_OK) {
      ASSERT_EQ(o.d->reset(o.device), VIREO_OK);
      ASSERT_EQ(p.load(), VIREO_OK);
    }
  }
  EXPECT_GT(right, 0u);
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(lost, 0u);
  EXPECT_GT(hung, 0u);
}

TEST(NpuDriver, FaultsThatDoNotReadAreRefused) {
  const vireo_host host = make_host();
  const vireo_delegate* d = nullptr;
  for (const char* bad :
       {"hang", "hang@", "lost@x", "corrupt@1x", "memory!", "random=1", "random=1:101", "hang@1;lost@2", "?"}) {
    setenv("VIREO_NPU_FAULT", bad, 1);
    EXPECT_EQ(vireo_npu_open(VIREO_DELEGATE_ABI, &host, &d), VIREO_INVALID_ARGUMENT) << bad;
  }
  unsetenv("VIREO_NPU_FAULT");
  EXPECT_EQ(vireo_npu_open(VIREO_DELEGATE_ABI + 1, &host, &d), VIREO_UNSUPPORTED);
  EXPECT_EQ(g_held, 0);
}

}  // namespace
}  // namespace vireo::npu
