#include "delegates/xnnpack/codes.h"

#include <math.h>
#include <string.h>

#include "delegates/xnnpack/probe.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::xnnpack {
namespace {

constexpr int32_t kSignBit = 128;

bool all_zero(const Value& v) {
  for (int64_t i = 0; i < element_count(v.type.shape); ++i) {
    if (read_integer(v.type.dtype, v.constant, i) != 0) return false;
  }
  return true;
}

}  // namespace

// uint8 codes are int8 ones with the highest bit changed, and so are their zero points.
const char* read_codes(const Value& v, Place place, int32_t zero, Codes* out) {
  out->flipped = v.type.dtype == DType::kU8;
  out->zero = out->flipped ? zero - kSignBit : zero;
  return out->flipped && v.place != place ? "its uint8 codes are neither an input nor the output" : nullptr;
}

// What XNNPACK does: acc in int32, wrapping; float(acc) * m; to the nearest, halves to even; bounds. Where kernels
// differ:
//   - Some for Arm, and the depthwise ones for AVX without AVX2, add two products in 16 bits. Two of (-128) * (-128) do
//     not fit; without a weight of -128 all do, so there such filters are left.
//   - Those for AVX-512 and AMX add the zero point to what float -> int32 made, and do not saturate. Below -2^31 + 128
//     that would wrap around; acc >= -2^31 and m < 1 keep it above.
//   - x in uint8 has kernels of its own, which round in fixed point on Arm; as int8 it has these.
const char* read_codes_product(const Step& s, bool depthwise, int32_t x_zero, int32_t y_zero, int32_t low, int32_t high,
                               CodesProduct* out) {
  const Node& n = *s.node;
  CodesProduct& p = *out;
  p.x = n.in(0);
  p.w = n.in(1);
  p.multiplier = n.in(2);
  p.bias = n.in(3);
  const Value* const w_zero = n.in(4);
  for (const Value* v : {p.w, p.multiplier, p.bias, w_zero}) {
    if (v != nullptr && v->constant == nullptr) return "its weights are not constant";
  }
  if (p.w->type.dtype != DType::kI8) return "XNNPACK's weights are int8";
  if (w_zero != nullptr && !all_zero(*w_zero)) return "its weights have a zero point: XNNPACK's have none";
  const bool any = depthwise ? kernels().codes_depthwise : kernels().codes_dense;
  if (!any && memchr(p.w->constant, -kSignBit & 0xFF, p.w->bytes()) != nullptr)
    return "a weight is -128: XNNPACK adds two products in 16 bits on this CPU";
  for (int64_t i = 0; i < element_count(p.multiplier->type.shape); ++i) {
    const auto m = read_element<float>(p.multiplier->constant, i);
    if (!(m < 1 && m > 0 && isnormal(m))) return "a multiplier is 1 or more: XNNPACK's sums might wrap around";
  }
  if (low >= high) return "its bounds leave nothing";
  if (const char* reason = read_codes(*p.x, Place::kInput, x_zero, &p.in)) return reason;
  if (const char* reason = read_codes(*s.out, Place::kOutput, y_zero, &p.out)) return reason;
  p.low = static_cast<float>(low - y_zero);
  p.high = static_cast<float>(high - y_zero);
  return nullptr;
}

Fixed CodesProduct::filter(const float* multipliers, size_t channel_axis) const {
  Fixed as;
  as.type = xnn_datatype_qcint8;
  as.scales = multipliers;
  as.channel_axis = channel_axis;
  as.partner = multiplier->constant;
  as.partner_bytes = multiplier->bytes();
  as.tag = kOrders * static_cast<uint32_t>(in.zero + kSignBit);  // sums of weights times it are in the bias
  return as;
}

Fixed CodesProduct::sums(const float* multipliers) const {
  Fixed as;
  as.type = xnn_datatype_qcint32;
  as.scales = multipliers;
  return as;
}

void flip_codes(const void* from, void* to, size_t bytes, const vireo_thread_pool* threads) {
  struct Copy {
    const uint8_t* from;
    uint8_t* to;
    static void task(void* self, int64_t begin, int64_t end, int32_t) {
      const auto& c = *static_cast<const Copy*>(self);
      // By blocks that compilers keep in vector registers; byte by byte this was half of a MobileNet's time.
      constexpr int64_t kBlock = 64;
      int64_t i = begin;
      for (; i + kBlock <= end; i += kBlock) {
        uint8_t block[kBlock];
        memcpy(block, c.from + i, kBlock);
        for (uint8_t& code : block) code ^= kSignBit;
        memcpy(c.to + i, block, kBlock);
      }
      for (; i < end; ++i) c.to[i] = c.from[i] ^ kSignBit;
    }
  } copy = {static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to)};
  constexpr int64_t kGrain = 64 << 10;  // 2 us at 32 bytes a ns: what waking a thread costs
  const auto count = static_cast<int64_t>(bytes);
  if (threads == nullptr || count <= kGrain) {
    Copy::task(&copy, 0, count, 0);
  } else {
    threads->run(threads->pool, count, kGrain, Copy::task, &copy);
  }
}

}  // namespace vireo::xnnpack
