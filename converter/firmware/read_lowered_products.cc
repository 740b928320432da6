#include <cmath>

#include "converter/firmware/read_lowered.h"
#include "converter/firmware/read_reals.h"
#include "delegates/mcu/kernels/picks.h"
#include "delegates/mcu/kernels/reals.h"
#include "delegates/mcu/nodes/serve.h"
#include "sdk/ops/conv/conv.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/conv_transpose/conv_transpose.h"
#include "sdk/ops/gemm/gemm_generated.h"

namespace vireo::firmware {
namespace {

constexpr vireo_mcu_bounds kUnbounded = {-INFINITY, INFINITY};
constexpr int64_t kMostProducts = 32768;
constexpr auto kRealsLast = "kernels for microcontrollers take float32 images with channels first";

Shape box_of(std::initializer_list<int64_t> dims) {
  Shape s;
  s.rank = static_cast<int32_t>(dims.size());
  int k = 0;
  for (const int64_t d : dims) s[k++] = d;
  return s;
}
StridedView view_of(std::initializer_list<int64_t> strides, int64_t offset = 0) {
  StridedView v;
  int k = 0;
  for (const int64_t s : strides) v.strides[k++] = s;
  v.offset = offset;
  return v;
}

// Weights [groups, rows, k] that are known in a run alone, as packed groups of four rows. kNothing: no kernel does it.
int32_t packed_in_a_run(Lower& n, int32_t weights, int64_t groups, int64_t rows, int64_t k) {
  const int64_t padded = (rows + 3) / 4 * 4;
  int32_t from = weights;
  if (padded != rows) {
    std::vector<int32_t> table;
    for (int64_t r = 0; r < padded; ++r) table.push_back(r < rows ? small(r) : -1);
    vireo_mcu_pick p = {};
    p.outer = small(groups), p.count = small(padded), p.axis = small(rows), p.row_bytes = small(k * 4);
    p.element_bytes = 4, p.index_words = 1;
    from = n.value(groups * padded * k * 4);
    n.put(k_pick, p, {weights, n.constant(table), from}, {weights}, from);
  }
  const int32_t packed = n.value(groups * padded * k * 4);
  return n.move(from, packed, DType::kF32, box_of({groups * padded / 4, k, 4}), view_of({4 * k, 1, k})).empty()
             ? packed
             : kNothing;
}

// A convolution of these sizes. weights: [groups, out channels, in channels, kernel...], known or not.
std::string put_conv(Lower& n, vireo_mcu_conv_reals c, int32_t x, int32_t weights, int32_t bias) {
  const int64_t k = int64_t{c.in_channels} * c.kernel[0] * c.kernel[1];
  if (k > kMostProducts) return kSizes;
  c.bounds = kUnbounded;
  const bool depthwise = c.in_channels == 1 && c.groups > 1;
  if (!depthwise) weights = packed_in_a_run(n, weights, c.groups, c.out_channels, k);
  if (weights == kNothing) return kTooManyAxes;
  Call& call = n.put(depthwise ? k_depthwise_reals : k_conv_reals, c, {x, weights, bias, n.result(), kScratch},
                     {x, weights, bias}, n.result());
  call.scratch_bytes = depthwise ? vireo_mcu_depthwise_reals_scratch(&c) : vireo_mcu_conv_reals_scratch(&c);
  call.products = static_cast<uint64_t>(n.y_count() * k);
  return "";
}

std::string read_conv(Lower& n) {
  if (n.is_known(1)) return kUnknownNode;  // read_reals takes it
  const auto& a = n.q.attrs<attrs::Conv>();
  if (n.shape(0).rank > 4) return "kernels for microcontrollers take one or two spatial axes";
  if (a.layout() != 0) return kRealsLast;
  const Geometry g = conv_geometry(a, n.shape(0), n.shape(1), n.y());
  vireo_mcu_conv_reals c = {};
  if (!mcu::read_geometry(g, &c)) return kSizes;
  c.batch = small(g.batch);
  c.groups = a.group();
  c.in_channels = small(g.channels_in) / a.group();
  c.out_channels = small(g.channels_out) / a.group();
  return put_conv(n, c, n.x(0), n.x(1), n.x(2));
}

// A convolution of x with zeros between its elements and around them, by the filters turned round.
std::string read_conv_transpose(Lower& n) {
  const auto& a = n.q.attrs<attrs::ConvTranspose>();
  const Shape &x = n.shape(0), &w = n.shape(1), &y = n.y();
  if (x.rank > 4) return "kernels for microcontrollers take one or two spatial axes";
  if (a.layout() != 0) return kRealsLast;
  const Geometry g = conv_transpose_geometry(a, x, w, y);
  vireo_mcu_conv_reals c = {};
  c.batch = small(g.batch);
  c.groups = a.group();
  c.in_channels = small(g.channels_in) / a.group();
  c.out_channels = small(g.channels_out) / a.group();
  int32_t from = n.x();
  Shape now = box_of({g.batch * g.channels_in, g.in[1], g.in[2]});
  for (int i = 0; i < 2; ++i) {
    const int64_t kernel = g.kernel[i + 1], stride = g.stride[i + 1], dilation = g.dilation[i + 1], out = g.out[i + 1];
    const int64_t front = (kernel - 1) * dilation - g.pad[i + 1], length = out + (kernel - 1) * dilation;
    if (length > 1 << 14 || kernel * dilation > 1 << 14) return kSizes;
    c.in[i] = small(length), c.out[i] = small(out), c.kernel[i] = small(kernel);
    c.stride[i] = 1, c.dilation[i] = small(dilation), c.pad[i] = 0;
    std::vector<int32_t> table;
    bool same = length == g.in[i + 1];
    for (int64_t k = 0; k < length; ++k) {
      const int64_t at = k - front, row = at / stride;
      table.push_back(at >= 0 && at % stride == 0 && row < g.in[i + 1] ? small(row) : -1);
      same = same && table.back() == k;
    }
    if (same) continue;
    vireo_mcu_pick p = {};
    p.outer = small(product(now, 0, i + 1)), p.axis = small(now[i + 1]), p.count = small(length);
    p.row_bytes = small(product(now, i + 2, 3) * 4), p.element_bytes = 4, p.index_words = 1;
    now[i + 1] = length;
    const int32_t to = n.value(product(now, 0, 3) * 4);
    n.put(k_pick, p, {from, n.constant(table), to}, {from}, to);
    from = to;
  }
  // [in channels, out channels of a group, kernel...] to [groups, out channels, in channels of a group, kernel turned].
  const int64_t taps = int64_t{c.kernel[0]} * c.kernel[1], in = c.in_channels, out = c.out_channels;
  const int32_t turned = n.value(c.groups * in * out * taps * 4);
  const std::string reason = n.move(n.x(1), turned, DType::kF32, box_of({c.groups, out, in, taps}),
                                    view_of({in * out * taps, taps, out * taps, -1}, taps - 1));
  return reason.empty() ? put_conv(n, c, from, turned, n.x(2)) : reason;
}

// alpha a b + beta c, by whatever is not as read_reals takes it.
std::string read_gemm(Lower& n) {
  const auto& a = n.q.attrs<attrs::Gemm>();
  const Shape &as = n.shape(0), &bs = n.shape(1);
  const int64_t m = as[a.trans_a() ? 1 : 0], k = as[a.trans_a() ? 0 : 1], columns = bs[a.trans_b() ? 0 : 1];
  const bool has_bias = n.is_present(2);
  const bool plain_bias = !has_bias || (n.is_known(2) && (n.count(2) == columns || n.count(2) == 1) && m > 0 &&
                                        (n.shape(2).rank < 2 || n.shape(2)[0] == 1));
  if (!a.trans_a() && n.is_known(1) && plain_bias) return kUnknownNode;  // read_reals takes it
  if (k > kMostProducts) return kSizes;
  int32_t left = n.x(0), right = n.x(1);
  if (a.trans_a()) {
    left = n.value(m * k * 4);
    n.move(n.x(0), left, DType::kF32, box_of({m, k}), view_of({1, m}));
  }
  if (a.trans_b()) {
    right = n.value(k * columns * 4);
    n.move(n.x(1), right, DType::kF32, box_of({k, columns}), view_of({1, k}));
  }
  const bool scaled = a.alpha() != 1;
  int32_t to = scaled || has_bias ? n.value(m * columns * 4) : n.result();
  const vireo_mcu_matmul_reals g = {1, small(m), small(columns), small(k), 0, 0};
  Call& call = n.put(k_matmul_reals, g, {left, right, to, kScratch}, {left, right}, to);
  call.scratch_bytes = vireo_mcu_matmul_reals_scratch(&g);
  call.products = static_cast<uint64_t>(m * columns * k);
  const auto times = [&](int32_t from, int64_t count, float factor, int32_t result) {
    const vireo_mcu_binary_reals f = {1, small(count), 0, 1, 0, 0, VIREO_MCU_MUL_REALS};
    const int32_t by = n.constant<float>({factor});
    n.put(k_binary_reals, f, {from, by, result}, {from, by}, result, 1);
    return result;
  };
  if (scaled) to = times(to, m * columns, a.alpha(), has_bias ? n.value(m * columns * 4) : n.result());
  if (!has_bias) return "";
  int32_t bias = n.x(2);
  if (a.beta() != 1) bias = times(bias, n.count(2), a.beta(), n.value(n.count(2) * 4));
  const Shape& cs = n.shape(2);
  const int64_t c_columns = cs.rank > 0 ? cs[cs.rank - 1] : 1, c_rows = n.count(2) / c_columns;
  const vireo_mcu_binary_reals f = {
      small(m),           small(columns), small(columns), 1, c_rows > 1 ? small(c_columns) : 0, c_columns > 1 ? 1 : 0,
      VIREO_MCU_ADD_REALS};
  n.put(k_binary_reals, f, {to, bias, n.result()}, {to, bias}, n.result(), 1);
  return "";
}

}  // namespace

std::string read_lowered_products(Lower& n) {
  if (n.q.op != Op::kConv && n.q.op != Op::kConvTranspose && n.q.op != Op::kGemm) return kUnknownNode;
  if (!n.in_reals() || n.type(0) != DType::kF32) return kUnknownNode;
  if (!mcu::serves_sizes(n.q)) return kSizes;
  return n.q.op == Op::kConv ? read_conv(n) : n.q.op == Op::kGemm ? read_gemm(n) : read_conv_transpose(n);
}

}  // namespace vireo::firmware
