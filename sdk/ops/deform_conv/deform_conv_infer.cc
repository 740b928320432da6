// Convolution in two dimensions whose taps are moved by offsets and weighted by a mask, sampling bilinearly:
//   y[n,m,o] = b[m] + sum_{c,k} mask[n,d,k,o] * x(n, c, o*stride - pad + k*dilation + offset[n,d,k,:,o]) * w[m,c,k]
//   d is the offset group of channel c; x() is 0 outside the image
//   x        [N, C, H, W]; f32, f64, f16, bf16        w [M, C/G, kH, kW];  b [M] or absent
//   offset   [N, D*kH*kW*2, oH, oW], (row, column) pairs  mask [N, D*kH*kW, oH, oW] or absent: ones
//   y        [N, M, oH, oW];  alias none; scratch none
// Source: ONNX opset 22 "DeformConv"; Dai et al. 2017, arXiv:1703.06211; Zhu et al. 2018, arXiv:1811.11168.
#include "sdk/ops/deform_conv/deform_conv_generated.h"
#include "sdk/ops/shared/window.h"

namespace vireo {
namespace {

Status infer_deform_conv(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::DeformConv>();
  const TensorType& x = ctx.input(0);
  const Shape& w = ctx.input(1).shape;
  const Shape& offset = ctx.input(2).shape;
  if (!dtype_is_float(x.dtype) || dtype_bits(x.dtype) < 16) {
    return ctx.fail(Status::kInvalidModel, "DeformConv of {}", dtype_name(x.dtype));
  }
  for (int i = 1; i < 5; ++i) {
    if (ctx.has(i) && ctx.input(i).dtype != x.dtype) {
      return ctx.fail(Status::kInvalidModel, "input 0 is {}, input {} is {}", dtype_name(x.dtype), i,
                      dtype_name(ctx.input(i).dtype));
    }
  }
  if (x.shape.rank != 4)
    return ctx.fail(Status::kUnsupported, "DeformConv of rank {}: two spatial dimensions are built", x.shape.rank);
  Window win;
  VIREO_TRY(check_window(ctx, 0, 0, 0, a.strides(), a.dilations(), a.pads(), &win));
  VIREO_TRY(check_rank(ctx, 1, 4, 4));
  VIREO_TRY(check_rank(ctx, 2, 4, 4));
  const Dim group = a.group(), offset_group = a.offset_group(), channels = x.shape[1];
  if (group < 1 || offset_group < 1) {
    return ctx.fail(Status::kInvalidModel, "group is {}, offset_group {}: wanted at least 1", group, offset_group);
  }
  if (ctx.differ(channels, ctx.mul(w[1], group)) || (!is_symbolic(w[0]) && w[0] % group != 0) ||
      (!is_symbolic(channels) && channels % offset_group != 0)) {
    return ctx.fail(Status::kInvalidModel, "{} channels, weights {}, {} groups and {} offset groups do not agree",
                    channels, w, group, offset_group);
  }
  TensorType& y = ctx.output(0);
  y = x;
  y.shape[1] = w[0];
  for (int i = 0; i < 2; ++i) {
    win.kernel[i] = w[i + 2];
    VIREO_TRY(window_extent(ctx, win, i, x.shape[i + 2], &y.shape[i + 2]));
  }
  const Dim taps = ctx.mul(ctx.mul(w[2], w[3]), offset_group);
  const auto fits = [&](const Shape& s, Dim depth) {
    return s.rank == 4 && !ctx.differ(s[0], x.shape[0]) && !ctx.differ(s[1], depth) && !ctx.differ(s[2], y.shape[2]) &&
           !ctx.differ(s[3], y.shape[3]);
  };
  if (!fits(offset, ctx.mul(taps, 2))) {
    return ctx.fail(Status::kInvalidModel, "offset is {}, wanted {} values for each of {} by {} outputs", offset,
                    ctx.mul(taps, 2), y.shape[2], y.shape[3]);
  }
  if (ctx.has(4) && !fits(ctx.input(4).shape, taps)) {
    return ctx.fail(Status::kInvalidModel, "mask is {}, wanted {} values for each of {} by {} outputs",
                    ctx.input(4).shape, taps, y.shape[2], y.shape[3]);
  }
  if (ctx.has(3) && (ctx.input(3).shape.rank != 1 || ctx.differ(ctx.input(3).shape[0], w[0]))) {
    return ctx.fail(Status::kInvalidModel, "bias is {}, wanted one value for each of {} output channels",
                    ctx.input(3).shape, w[0]);
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kDeformConvOp;
const OpDef kDeformConvOp = {"DeformConv", verify_attrs<attrs::DeformConv>, infer_deform_conv, 3, 5, 1, 1, OpDef::kPure,
                             /*inplace=*/0};

}  // namespace vireo
