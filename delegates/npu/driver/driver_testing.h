// What the tests of the driver share: graphs that the reference kernels compute beside it, its table opened, parts
// loaded and run, and a count of what is allocated.
#ifndef VIREO_DELEGATES_NPU_DRIVER_DRIVER_TESTING_H_
#define VIREO_DELEGATES_NPU_DRIVER_DRIVER_TESTING_H_

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
#include "delegates/npu/driver/driver.h"
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

extern std::atomic<uint64_t> g_news;
extern std::atomic<int64_t> g_news_left;  // before there is no memory

namespace vireo::npu::testing {

inline std::atomic<int64_t> g_held{0}, g_host_calls{0};
inline void* host_allocate(void*, size_t bytes, size_t alignment) {
  ++g_host_calls;
  g_held += static_cast<int64_t>(bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
inline void host_release(void*, void* memory, size_t bytes, size_t) {
  ++g_host_calls;
  if (memory != nullptr) g_held -= static_cast<int64_t>(bytes);
  std::free(memory);
}
inline vireo_host make_host() {
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
inline void* reserve(void* context, size_t bytes) { return static_cast<Blob*>(context)->reserve(bytes); }

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
  std::vector<const void*> claimed;  // the driver keeps nothing from its claims
  vireo_part part = VIREO_PART_INIT;
  vireo_memory_request request = VIREO_MEMORY_REQUEST_INIT;  // the blob's place
  Blob blob;
  vireo_compiled compiled = VIREO_COMPILED_INIT;
  TestFault fault;
  std::unique_ptr<Aligned> state, scratch;
  size_t scratch_bytes = 0;
  void* loaded = nullptr;
  vireo_priority priority = VIREO_PRIORITY_NORMAL;
  uint32_t profile = 0;
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
    claimed.assign(count, nullptr);
    request.slots = 1;
    part.nodes = nodes.data();
    part.claimed = claimed.data();
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
    const vireo_blob to = {sizeof(vireo_blob), &blob, reserve, &fault};
    const vireo_status status = o.d->compile(o.device, &o.host, &net.g, &part, &to, &compiled);
    request.blob = blob.data();
    request.blob_bytes = blob.size;
    return status;
  }
  vireo_status load() {
    unload();
    vireo_part_memory need = VIREO_PART_MEMORY_INIT;
    const vireo_status status = o.d->memory(o.device, &o.host, &net.g, &part, &request, &need);
    if (status != VIREO_OK) return status;
    state = std::make_unique<Aligned>(need.state_bytes);
    scratch = std::make_unique<Aligned>(need.scratch_bytes);
    scratch_bytes = need.scratch_bytes;
    vireo_load_request with = VIREO_LOAD_REQUEST_INIT;
    with.slots = 1;
    with.blob = request.blob;
    with.blob_bytes = request.blob_bytes;
    with.state = state->p;
    with.fault = &fault;
    with.priority = priority;
    with.profile = profile;
    return o.d->load(o.device, &o.host, &net.g, &part, &with, &loaded);
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
    vireo_submit with = VIREO_SUBMIT_INIT;
    with.fault = &fault;
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
inline Answers claims(Opened& o, const Net& net) {
  Answers a;
  TestFault fault;
  const vireo_claims to = test_claims(
      &a,
      [](void* c, const vireo_claim* p) -> vireo_status {
        EXPECT_EQ(p->flags, uint32_t{VIREO_CLAIM_JOINS});
        static_cast<Answers*>(c)->reasons.emplace_back();
        static_cast<Answers*>(c)->times.push_back(p->time_ns);
        return VIREO_OK;
      },
      [](void* c, uint32_t, const char* why) -> vireo_status {
        static_cast<Answers*>(c)->reasons.emplace_back(why);
        return VIREO_OK;
      },
      &fault);
  EXPECT_EQ(o.d->claim(o.device, &o.host, &net.g, &to), VIREO_OK);
  return a;
}

}  // namespace vireo::npu::testing

#endif  // VIREO_DELEGATES_NPU_DRIVER_DRIVER_TESTING_H_
