#include "delegates/xnnpack/probe.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xnnpack.h>

#include <initializer_list>
#include <new>

#include "sdk/base/fnv.h"
#include "sdk/base/half.h"

namespace vireo::xnnpack {
namespace {

constexpr size_t kChannels = 32, kSide = 5, kPixels = kSide * kSide;
constexpr uint32_t kIn = 0, kOut = 1;

// One operator: x of [1, side, side, channels], all its weights the same.
class Trial {
 public:
  explicit Trial(xnn_datatype type) : type_(type) {
    (void)xnn_create_subgraph(2, 0, &graph_);
    const size_t dims[] = {1, kSide, kSide, kChannels};
    external(kIn, dims, XNN_VALUE_FLAG_EXTERNAL_INPUT);
  }
  ~Trial() {
    if (graph_ != nullptr) (void)xnn_delete_subgraph(graph_);
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  xnn_subgraph_t graph() const { return graph_; }
  void output(size_t side) {
    const size_t dims[] = {1, side, side, kChannels};
    external(kOut, dims, XNN_VALUE_FLAG_EXTERNAL_OUTPUT);
  }
  uint32_t filter(const size_t (&dims)[4], size_t axis, const void* data, const float* scales) {
    uint32_t id = XNN_INVALID_VALUE_ID;
    const xnn_status status =
        scales != nullptr
            ? xnn_define_channelwise_quantized_tensor_value(graph_, xnn_datatype_qcint8, scales, 4, axis, dims, data,
                                                            XNN_INVALID_VALUE_ID, 0, &id)
            : xnn_define_tensor_value(graph_, xnn_datatype_fp32, 4, dims, data, XNN_INVALID_VALUE_ID, 0, &id);
    return status == xnn_status_success ? id : XNN_INVALID_VALUE_ID;
  }
  void pack(xnn_weights_cache_t weights) {
    xnn_runtime_t runtime = nullptr;
    if (xnn_create_runtime_v3(graph_, weights, nullptr, 0, &runtime) == xnn_status_success)
      (void)xnn_delete_runtime(runtime);
  }
  bool run(const void* x, void* y) {
    xnn_runtime_t runtime = nullptr;
    bool done = xnn_create_runtime_v3(graph_, nullptr, nullptr, 0, &runtime) == xnn_status_success;
    const xnn_external_value values[] = {{kIn, const_cast<void*>(x)}, {kOut, y}};
    done = done && xnn_reshape_runtime(runtime) == xnn_status_success &&
           xnn_setup_runtime_v2(runtime, 2, values) == xnn_status_success &&
           xnn_invoke_runtime(runtime) == xnn_status_success;
    if (runtime != nullptr) (void)xnn_delete_runtime(runtime);
    return done;
  }

 private:
  void external(uint32_t id, const size_t (&dims)[4], uint32_t flags) {
    uint32_t given = id;
    if (type_ == xnn_datatype_qint8) {
      (void)xnn_define_quantized_tensor_value(graph_, type_, 0, 1, 4, dims, nullptr, id, flags, &given);
    } else {
      (void)xnn_define_tensor_value(graph_, type_, 4, dims, nullptr, id, flags, &given);
    }
  }

  xnn_datatype type_;
  xnn_subgraph_t graph_ = nullptr;
};

// A convolution over `taps` x `taps`, dense or depthwise.
bool define_convolution(Trial& t, uint32_t taps, bool depthwise, const void* weights, const float* scales) {
  if (t.graph() == nullptr) return false;
  t.output(kSide + 1 - taps);
  const size_t dims[] = {kChannels, taps, taps, depthwise ? 1 : kChannels};
  const uint32_t groups = depthwise ? kChannels : 1;
  const size_t each = kChannels / groups;
  return xnn_define_convolution_2d(t.graph(), 0, 0, 0, 0, taps, taps, 1, 1, 1, 1, groups, each, each, -INFINITY,
                                   INFINITY, kIn, t.filter(dims, 0, weights, scales), XNN_INVALID_VALUE_ID, kOut,
                                   0) == xnn_status_success;
}

bool convolve(xnn_datatype type, uint32_t taps, bool depthwise, const void* weights, const float* scales, const void* x,
              void* y) {
  Trial t(type);
  return define_convolution(t, taps, depthwise, weights, scales) && t.run(x, y);
}

// Every pixel of x by a matrix of codes, all of which are 1 above their middle.
bool define_product(Trial& t, xnn_datatype codes, void* weights, const float* scales) {
  if (t.graph() == nullptr) return false;
  t.output(kSide);
  const bool nibbles = codes == xnn_datatype_qcint4;
  memset(weights, nibbles ? 0x99 : 1, kChannels * kChannels);
  const size_t dims[] = {kChannels, kChannels};
  uint32_t id = XNN_INVALID_VALUE_ID;
  return xnn_define_channelwise_quantized_tensor_value_v2(t.graph(), codes, nibbles ? 8 : 0, scales, 2, 0, dims,
                                                          weights, XNN_INVALID_VALUE_ID, 0,
                                                          &id) == xnn_status_success &&
         xnn_define_fully_connected(t.graph(), -INFINITY, INFINITY, kIn, id, XNN_INVALID_VALUE_ID, kOut, 0) ==
             xnn_status_success;
}

// Sees what XNNPACK packs.
class Watcher {
 public:
  Watcher() {
    provider_.context = this;
    provider_.look_up = [](void*, xnn_weights_cache_look_up_key const*) { return SIZE_MAX; };
    provider_.reserve_space = [](void* self, size_t bytes) { return static_cast<Watcher*>(self)->reserve(bytes); };
    provider_.look_up_or_insert = [](void* self, xnn_weights_cache_look_up_key const*, void* data, size_t bytes) {
      auto& w = *static_cast<Watcher*>(self);
      w.hash_ = hash_bytes(w.hash_, &bytes, sizeof(bytes));
      w.hash_ = hash_bytes(w.hash_, data, bytes);
      return reinterpret_cast<size_t>(data);
    };
    provider_.is_finalized = [](void*) { return true; };
    provider_.offset_to_addr = [](void*, size_t offset) { return reinterpret_cast<void*>(offset); };
    provider_.delete_cache = [](void*) { return xnn_status_success; };
  }
  ~Watcher() { free(block_); }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  xnn_weights_cache_t provider() { return &provider_; }
  uint64_t hash() const { return hash_; }

 private:
  void* reserve(size_t bytes) {
    free(block_);
    block_ = aligned_alloc(64, (bytes + XNN_EXTRA_BYTES + 63) / 64 * 64);
    return block_;
  }
  xnn_weights_cache_provider provider_ = {};
  void* block_ = nullptr;
  uint64_t hash_ = kEmptyHash;
};

struct Buffers {
  alignas(64) uint16_t x[kPixels * kChannels + XNN_EXTRA_BYTES] = {};
  alignas(64) uint16_t y[kPixels * kChannels + XNN_EXTRA_BYTES] = {};
  alignas(64) float w[kPixels * kChannels * kChannels] = {};
  float scales[kChannels] = {};
};

// All products are 2^14; their sum, times a multiplier that makes it 64, is 64 unless some were added in 16 bits.
bool codes_keep(Buffers* b, bool depthwise) {
  auto* const x = reinterpret_cast<int8_t*>(b->x);
  auto* const w = reinterpret_cast<int8_t*>(b->w);
  for (size_t i = 0; i < kPixels * kChannels; ++i) x[i] = -128;
  for (size_t i = 0; i < kPixels * kChannels * kChannels; ++i) w[i] = -128;
  for (const uint32_t taps : {1u, 3u, 5u}) {
#if defined(__arm__)
    if (taps != 1 && !depthwise) continue;  // rules_window.cc says why nobody runs that
#endif
    const size_t products = taps * taps * (depthwise ? 1 : kChannels);
    for (float& s : b->scales) s = 64.0f / (16384.0f * static_cast<float>(products));
    auto* const y = reinterpret_cast<int8_t*>(b->y);
    if (!convolve(xnn_datatype_qint8, taps, depthwise, w, b->scales, x, y)) return false;
    const size_t side = kSide + 1 - taps;
    for (size_t i = 0; i < side * side * kChannels; ++i) {
      if (y[i] != 64) return false;
    }
  }
  return true;
}

// 2048 and as many ones as there are other products: float16 loses each of them.
bool half_keeps(Buffers* b, bool depthwise) {
  for (size_t i = 0; i < kPixels * kChannels * kChannels; ++i) b->w[i] = 1;
  for (const uint32_t taps : {1u, 3u, 5u}) {
    const size_t products = taps * taps * (depthwise ? 1 : kChannels);
    if (products == 1) continue;
    for (size_t i = 0; i < kPixels * kChannels; ++i) b->x[i] = f32_to_f16(1);
    for (size_t c = 0; c < (depthwise ? kChannels : 1); ++c) b->x[c] = f32_to_f16(2048);
    if (!convolve(xnn_datatype_fp16, taps, depthwise, b->w, nullptr, b->x, b->y)) return false;
    const float want = static_cast<float>(2047 + products);
    for (size_t c = 0; c < kChannels; ++c) {  // of the first pixel
      if (fabsf(f16_to_f32(b->y[c]) - want) > 1) return false;
    }
  }
  return true;
}

// Whether there are kernels for such weights, and their zero is where it is said to be. x, y and the codes lie in b->w.
bool weights_are_there(Buffers* b, xnn_datatype codes) {
  constexpr size_t kFloats = kPixels * kChannels, kStep = 2 * kFloats;
  static_assert(kStep * 2 + kChannels * kChannels / sizeof(float) <= sizeof(b->w) / sizeof(float), "they fit");
  for (size_t i = 0; i < kFloats; ++i) b->w[i] = 0.5f;
  for (float& scale : b->scales) scale = 4;
  Trial t(xnn_datatype_fp32);
  if (!define_product(t, codes, b->w + 2 * kStep, b->scales) || !t.run(b->w, b->w + kStep)) return false;
  for (size_t i = 0; i < kFloats; ++i) {
    if (b->w[kStep + i] != 2 * kChannels) return false;
  }
  return true;
}

// Some elementwise functions have float16 without vectors, most have not, and a pool needs them.
bool half_is_there(Buffers* b) {
#if defined(__arm__)
  (void)b;
  return false;  // its tables name kernels that are not in its library where the compiler has no float16 vectors
#else
  for (size_t i = 0; i < kPixels * kChannels; ++i) b->x[i] = f32_to_f16(1.5f);
  Trial function(xnn_datatype_fp16), pool(xnn_datatype_fp16);
  if (function.graph() == nullptr || pool.graph() == nullptr) return false;
  function.output(kSide);
  pool.output(kSide - 1);
  return xnn_define_unary(function.graph(), xnn_unary_tanh, nullptr, kIn, kOut, 0) == xnn_status_success &&
         function.run(b->x, b->y) &&
         xnn_define_max_pooling_2d(pool.graph(), 0, 0, 0, 0, 2, 2, 1, 1, 1, 1, -INFINITY, INFINITY, kIn, kOut, 0) ==
             xnn_status_success &&
         pool.run(b->x, b->y) && b->y[0] == b->x[0];
#endif
}

// The mean of 2048 and 24 ones.
bool half_averages(Buffers* b, bool pool) {
  for (size_t i = 0; i < kPixels * kChannels; ++i) b->x[i] = f32_to_f16(i < kChannels ? 2048 : 1);
  Trial t(xnn_datatype_fp16);
  if (t.graph() == nullptr) return false;
  t.output(1);
  const size_t axes[] = {1, 2};
  const xnn_status status =
      pool ? xnn_define_average_pooling_2d(t.graph(), 0, 0, 0, 0, kSide, kSide, 1, 1, -INFINITY, INFINITY, kIn, kOut, 0)
           : xnn_define_static_reduce(t.graph(), xnn_reduce_mean, 2, axes, kIn, kOut, XNN_FLAG_KEEP_DIMS);
  if (status != xnn_status_success || !t.run(b->x, b->y)) return false;
  for (size_t c = 0; c < kChannels; ++c) {
    if (fabsf(f16_to_f32(b->y[c]) - 2072.0f / 25) > 1.0f / 16) return false;
  }
  return true;
}

Kernels found;

// Each kind of kernel that reads packed weights: of pixels, of windows, depthwise of each number of taps it may have.
uint64_t layout_of(Buffers* b) {
  for (float& scale : b->scales) scale = 1;
  for (size_t i = 0; i < kPixels * kChannels * kChannels; ++i) b->w[i] = static_cast<float>(i % 1021);
  Watcher watcher;
  for (const xnn_datatype type : {xnn_datatype_fp32, xnn_datatype_fp16, xnn_datatype_qint8}) {
    if (type == xnn_datatype_fp16 && !found.half) continue;
    for (const bool depthwise : {false, true}) {
      for (const uint32_t taps : {1u, 2u, 3u, 4u, 5u}) {
        Trial t(type);
        if (define_convolution(t, taps, depthwise, b->w, type == xnn_datatype_qint8 ? b->scales : nullptr))
          t.pack(watcher.provider());
      }
    }
  }
  for (const xnn_datatype codes : {xnn_datatype_qcint8, xnn_datatype_qcint4}) {
    Trial t(xnn_datatype_fp32);
    if ((codes == xnn_datatype_qcint8 ? found.weights8 : found.weights4) && define_product(t, codes, b->w, b->scales))
      t.pack(watcher.provider());
  }
  return watcher.hash();
}

pthread_once_t once = PTHREAD_ONCE_INIT;

void ask() {
  void* const memory = aligned_alloc(alignof(Buffers), sizeof(Buffers));
  if (memory == nullptr) return;
  auto* const b = new (memory) Buffers();
  found.codes_dense = codes_keep(b, false);
  found.codes_depthwise = codes_keep(b, true);
  found.half = half_is_there(b);
  if (found.half) {
    found.half_dense = half_keeps(b, false);
    found.half_depthwise = half_keeps(b, true);
    found.half_pool = half_averages(b, true);
    found.half_mean = half_averages(b, false);
  }
  found.weights8 = weights_are_there(b, xnn_datatype_qcint8);
  found.weights4 = weights_are_there(b, xnn_datatype_qcint4);
  found.layout = layout_of(b);
  free(memory);
}

}  // namespace

const Kernels& kernels() {
  (void)pthread_once(&once, ask);
  return found;
}

}  // namespace vireo::xnnpack
