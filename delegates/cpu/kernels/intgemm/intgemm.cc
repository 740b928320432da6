#include "delegates/cpu/kernels/intgemm/intgemm.h"

#include "delegates/cpu/kernels/depthwise_i8/depthwise_i8.h"
#include "delegates/cpu/kernels/intgemm/packed.h"
#include "delegates/cpu/kernels/intgemm/product.h"
#include "delegates/cpu/kernels/intgemm/tiles.h"

#define VIREO_KERNEL_USES_VNNI
#include "delegates/cpu/kernels/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "delegates/cpu/kernels/intgemm/intgemm.cc"
#include "delegates/cpu/kernels/foreach_target.h"  // IWYU pragma: keep

#include "delegates/cpu/kernels/intgemm/outer-inl.h"
#include "delegates/cpu/kernels/intgemm/pairs-inl.h"
#include "delegates/cpu/kernels/intgemm/quads-inl.h"
#include "delegates/cpu/kernels/intgemm/widened-inl.h"

HWY_BEFORE_NAMESPACE();
namespace vireo::cpu {
namespace HWY_NAMESPACE {

bool int_product_takes_tiles() { return HWY_TARGET == HWY_AVX3_DL; }

void int_product(const IntProduct& p, int64_t m0, int64_t m1, int64_t n0, int64_t n1, void* scratch) {
#if HWY_TARGET == HWY_AVX3_DL
  product_of_quads(p, m0, m1, n0, n1, scratch);
#else
#if HWY_ARCH_ARM_A64
  if (outer_serves(p)) return product_of_outer(p, m0, m1, n0, n1, scratch);
#endif
  if (widened_serves(p, m1 - m0)) return product_of_widened(p, m0, m1, n0, n1, scratch);
  product_of_pairs(p, m0, m1, n0, n1, scratch);
#endif
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace vireo::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vireo::cpu {
HWY_EXPORT(int_product);
HWY_EXPORT(int_product_takes_tiles);

bool int_engine_takes_tiles() { return HWY_DYNAMIC_DISPATCH(int_product_takes_tiles)(); }
bool int_engine_takes_windows() { return int_engine_takes_tiles(); }

void run_int_columns(const IntProduct& p, int64_t n0, int64_t n1, void* scratch) {
  HWY_DYNAMIC_DISPATCH(int_product)(p, 0, p.m, n0, n1, scratch);
}

void run_int_product(const IntProduct& p, const Parallel& parallel, void* scratch) {
  if (p.m <= 0 || p.n <= 0) return;
  const auto kernel = HWY_DYNAMIC_POINTER(int_product);
  const size_t room = int_slot_bytes(p.m, p.k, p.finish != nullptr);
  const auto mine = [&](int32_t slot) {
    return static_cast<void*>(static_cast<char*>(scratch) + static_cast<size_t>(slot) * room);
  };
  const int64_t macs = p.m * p.n * p.k + 1;
  constexpr int64_t kRowBlock = 16;                 // a matrix tile; no tile of vectors is higher
  constexpr int64_t kGrainMacs = int64_t{1} << 20;  // 10 us
  const int64_t panels = (p.n + kIntPanel - 1) / kIntPanel;
  if (panels >= 2 * parallel.slots || p.m < 4 * kRowBlock) {
    parallel.for_range(panels, kGrainMacs * panels / macs + 1, [&](int64_t begin, int64_t end, int32_t slot) {
      const int64_t n1 = end * kIntPanel < p.n ? end * kIntPanel : p.n;
      kernel(p, 0, p.m, begin * kIntPanel, n1, mine(slot));
    });
    return;
  }
  // Few columns: threads take rows, and each packs the little that B is for itself.
  const int64_t blocks = (p.m + kRowBlock - 1) / kRowBlock;
  const int64_t even = (blocks + parallel.slots - 1) / int64_t{parallel.slots}, least = kGrainMacs * blocks / macs + 1;
  parallel.for_range(blocks, even > least ? even : least, [&](int64_t begin, int64_t end, int32_t slot) {
    const int64_t m1 = end * kRowBlock < p.m ? end * kRowBlock : p.m;
    kernel(p, begin * kRowBlock, m1, 0, p.n, mine(slot));
  });
}

namespace {
int64_t area(const int64_t (&size)[3]) { return size[0] * size[1] * size[2]; }

bool goes_depthwise(const ConvF32& s) {
  return s.groups > 1 && s.groups == s.in_channels && s.kernel[0] == 1 && s.stride[0] == 1 && s.pad[0] == 0 &&
         s.in[0] == s.out[0];
}
DepthwiseI8 depthwise_of(const ConvI8& conv) {
  const ConvF32& s = conv.shape;
  DepthwiseI8 d;
  d.n = s.n;
  d.channels = s.groups;
  d.multiplier = s.out_channels / s.groups;
  d.depth = s.in[0];
  d.window = {s.in[1],     s.in[2],     s.out[1],      s.out[2],      s.kernel[1], s.kernel[2],
              s.stride[1], s.stride[2], s.dilation[1], s.dilation[2], s.pad[1],    s.pad[2]};
  d.x_signed = conv.x_signed;
  d.w_signed = conv.w_signed;
  d.x_zero = zero_at(conv.x_zero, conv.x_signed, 0);
  d.w_zero = conv.w_zero;
  d.w_zero_per_channel = conv.w_zero_per_channel;
  d.finish = conv.finish;
  return d;
}
}  // namespace

size_t gemm_i8_scratch_bytes(const GemmI8& s, bool requantized, int32_t slots) {
  if (s.m <= 0 || s.n <= 0) return 0;
  return int_slot_bytes(s.m, s.k, requantized) * static_cast<size_t>(slots < 1 ? 1 : slots);
}

IntProduct int_product_of(const GemmI8& s, const void* a, const void* b, void* c) {
  IntProduct p{};
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.a = a;
  p.a_row = s.lda;
  p.a_signed = s.a_signed;
  p.b_signed = s.b_signed;
  p.a_zero = s.a_zero;
  p.b_zero = s.b_zero;
  p.a_zero_per_row = s.a_zero_per_row;
  p.b_zero_per_column = s.b_zero != nullptr && s.b_zero_per_column;
  p.b = b;
  p.b_k = s.trans_b ? 1 : s.ldb;
  p.b_n = s.trans_b ? s.ldb : 1;
  p.packed = static_cast<const uint8_t*>(s.packed);
  p.tiles = int_tiles();
  p.outer = int_outer();
  p.c = c;
  p.c_row = s.ldc;
  p.finish = s.finish;
  p.real = s.real;
  p.added = static_cast<const uint8_t*>(s.added);
  return p;
}

size_t gemm_i8_packed_bytes(const GemmI8& s) { return packed_i8_bytes(s.n, s.k); }

void pack_gemm_i8(const GemmI8& s, const void* b, const Parallel& parallel, void* to) {
  ColumnsI8 columns;
  columns.data = b;
  columns.n = s.n;
  columns.k = columns.channels = s.k;
  columns.n_step = s.trans_b ? s.ldb : 1;
  columns.channel_step = s.trans_b ? 1 : s.ldb;
  columns.a_signed = s.a_signed;
  columns.b_signed = s.b_signed;
  columns.nibbles = s.b_nibbles;
  pack_i8(columns, parallel, to);
}

void gemm_i8(const GemmI8& s, const void* a, const void* b, void* c, const Parallel& parallel, void* scratch) {
  run_int_product(int_product_of(s, a, b, c), parallel, scratch);
}

size_t conv_i8_scratch_bytes(const ConvI8& conv, bool requantized, int32_t slots) {
  const ConvF32& s = conv.shape;
  if (s.n <= 0 || s.out_channels <= 0 || area(s.out) <= 0) return 0;
  const size_t product =
      int_slot_bytes(s.out_channels / s.groups, s.in_channels / s.groups * area(s.kernel), requantized);
  // With fewer channels a filter, or fewer planes, than at the bounds it may become one.
  const size_t depthwise = s.groups > 1 ? depthwise_i8_scratch_bytes(depthwise_of(conv), 1) : 0;
  const size_t per_slot = goes_depthwise(s) || depthwise > product ? depthwise : product;
  return per_slot * static_cast<size_t>(slots < 1 ? 1 : slots);
}

void conv_i8(const ConvI8& conv, const void* x, const void* weights, void* y, const Parallel& parallel, void* scratch) {
  const ConvF32& s = conv.shape;
  if (s.n <= 0 || s.out_channels <= 0 || area(s.out) <= 0) return;
  if (goes_depthwise(s)) return depthwise_i8(depthwise_of(conv), x, weights, y, parallel, scratch);
  const int64_t in_area = area(s.in), out_area = area(s.out);
  const int64_t m = s.out_channels / s.groups, depth = s.in_channels / s.groups;
  bool matrix = true;  // 1 x 1 at stride 1: x as it lies
  for (int i = 0; i < 3; ++i)
    matrix = matrix && s.kernel[i] == 1 && s.stride[i] == 1 && s.pad[i] == 0 && s.in[i] == s.out[i];
  const TileEngine* const tiles = int_tiles();
  const int64_t unit = conv.finish != nullptr ? 1 : static_cast<int64_t>(sizeof(int32_t));
  const auto item = [&](int64_t i, const Parallel& spread, void* room) {
    const int64_t group = i % s.groups;
    Requantize finish;
    IntProduct p{};
    p.m = m;
    p.n = out_area;
    p.k = depth * area(s.kernel);
    p.a = static_cast<const uint8_t*>(weights) + group * m * p.k;
    p.a_row = p.k;
    p.a_signed = conv.w_signed;
    p.b_signed = conv.x_signed;
    p.a_zero = conv.w_zero != nullptr && conv.w_zero_per_channel ? static_cast<const uint8_t*>(conv.w_zero) + group * m
                                                                 : conv.w_zero;
    p.a_zero_per_row = conv.w_zero_per_channel;
    p.b_zero = conv.x_zero;
    p.b = static_cast<const uint8_t*>(x) + i * depth * in_area;
    p.b_k = in_area;
    p.b_n = 1;
    p.patches = matrix ? nullptr : &s;
    p.tiles = tiles;
    p.c = static_cast<uint8_t*>(y) + i * m * out_area * unit;
    p.c_row = out_area;
    if (conv.finish != nullptr) {
      finish = *conv.finish;
      if (finish.bias != nullptr) finish.bias += group * m;
      if (finish.multiplier_per_row) finish.multiplier += group * m;
      p.finish = &finish;
      if (conv.added != nullptr) p.added = static_cast<const uint8_t*>(conv.added) + i * m * out_area;
    }
    run_int_product(p, spread, room);
  };
  const int64_t items = s.n * s.groups;
  if (items < 2 * parallel.slots) {
    for (int64_t i = 0; i < items; ++i) item(i, parallel, scratch);
    return;
  }
  const size_t room = int_slot_bytes(m, depth * area(s.kernel), conv.finish != nullptr);
  const int64_t grain = (int64_t{1} << 20) / (m * out_area * depth * area(s.kernel) + 1) + 1;
  parallel.for_range(items, grain, [&](int64_t begin, int64_t end, int32_t slot) {
    for (int64_t i = begin; i < end; ++i)
      item(i, Parallel{}, static_cast<char*>(scratch) + static_cast<size_t>(slot) * room);
  });
}

}  // namespace vireo::cpu
#endif
