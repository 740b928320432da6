// Transposed convolution: each input element adds its filter to the output, `stride` apart.
//   y[n,m,o] = b[m] + sum_{c,k} x[n,c,(o + pad - k*dilation) / stride] * w[c,m,k]   where the division has no remainder
//   out = stride * (in - 1) + output_padding + dilation * (kernel - 1) + 1 - pad_begin - pad_end
//   x   [N, C, spatial...] or [N, spatial..., C]; f32, f64, f16, bf16
//   w   [C, M/G, kernel...] in both layouts; b [M] or absent; dtype of x
//   y   [N, M, out...] or [N, out..., M];  alias none; scratch none
// Source: ONNX opset 22 "ConvTranspose".
#include "sdk/ops/conv_transpose/conv_transpose_generated.h"
#include "sdk/ops/shared/window.h"

namespace vireo {
namespace {

Status check_length(InferContext& ctx, const char* name, const IntVector* v, int spatial, int low) {
  if (v == nullptr || v->size() == 0) return Status::kOk;
  if (static_cast<int>(v->size()) != spatial) {
    return ctx.fail(Status::kInvalidModel, "{} has {} entries, wanted {}", name, v->size(), spatial);
  }
  for (const int32_t n : *v) {
    if (n < low) return ctx.fail(Status::kInvalidModel, "{} holds {}, wanted at least {}", name, n, low);
  }
  return Status::kOk;
}

Status infer_conv_transpose(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::ConvTranspose>();
  const TensorType& x = ctx.input(0);
  const Shape& w = ctx.input(1).shape;
  if (!dtype_is_float(x.dtype) || dtype_bits(x.dtype) < 16) {
    return ctx.fail(Status::kInvalidModel, "ConvTranspose of {}", dtype_name(x.dtype));
  }
  for (int i = 1; i < 3; ++i) {
    if (ctx.has(i) && ctx.input(i).dtype != x.dtype) {
      return ctx.fail(Status::kInvalidModel, "input 0 is {}, input {} is {}", dtype_name(x.dtype), i,
                      dtype_name(ctx.input(i).dtype));
    }
  }
  Window win;
  VIREO_TRY(check_window(ctx, 0, a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads(), &win));
  VIREO_TRY(check_length(ctx, "output_padding", a.output_padding(), win.spatial, 0));
  VIREO_TRY(check_length(ctx, "output_shape", a.output_shape(), win.spatial, 1));
  const Dim group = a.group(), channels = x.shape[win.channel_axis()];
  if (group < 1) return ctx.fail(Status::kInvalidModel, "group is {}, wanted at least 1", group);
  if (w.rank != x.shape.rank || ctx.differ(w[0], channels)) {
    return ctx.fail(Status::kInvalidModel, "weights are {} but the input has {} channels", w, channels);
  }
  if (!is_symbolic(channels) && channels % group != 0) {
    return ctx.fail(Status::kInvalidModel, "{} channels do not divide into {} groups", channels, group);
  }
  TensorType& y = ctx.output(0);
  y = x;
  y.shape[win.channel_axis()] = ctx.mul(w[1], group);
  if (ctx.has(2) && (ctx.input(2).shape.rank != 1 || ctx.differ(ctx.input(2).shape[0], y.shape[win.channel_axis()]))) {
    return ctx.fail(Status::kInvalidModel, "bias is {}, wanted one value for each of {} output channels",
                    ctx.input(2).shape, y.shape[win.channel_axis()]);
  }
  for (int i = 0; i < win.spatial; ++i) {
    const unsigned u = static_cast<unsigned>(i);
    const Dim in = x.shape[win.spatial_axis(i)], k = w[i + 2];
    if (!is_symbolic(k) && (k < 1 || k > INT32_MAX)) {
      return ctx.fail(Status::kInvalidModel, "kernel extent {} of spatial dimension {}", k, i);
    }
    Dim& out = y.shape[win.spatial_axis(i)];
    if (a.output_shape() != nullptr && a.output_shape()->size() != 0) {
      out = a.output_shape()->Get(u);
    } else if (win.auto_pad == AutoPad::kSameUpper || win.auto_pad == AutoPad::kSameLower) {
      out = ctx.mul(in, win.stride[i]);
    } else {
      const Dim steps = ctx.mul(win.stride[i], ctx.sub(in, 1));
      const int64_t extra =
          a.output_padding() != nullptr && a.output_padding()->size() != 0 ? a.output_padding()->Get(u) : 0;
      if (!is_symbolic(steps) && steps > INT64_MAX / 4)
        return ctx.fail(Status::kInvalidModel, "the output does not fit");
      const Dim reach = ctx.add(ctx.mul(win.dilation[i], ctx.sub(k, 1)), 1 + extra - win.pad_begin[i] - win.pad_end[i]);
      out = ctx.add(steps, reach);
      if (!is_symbolic(out) && out < 0) {
        return ctx.fail(Status::kInvalidModel, "spatial dimension {}: padding of {} leaves nothing of the output", i,
                        win.pad_begin[i] + win.pad_end[i]);
      }
    }
  }
  return Status::kOk;
}

}  // namespace

extern const OpDef kConvTransposeOp;
const OpDef kConvTransposeOp = {"ConvTranspose", verify_attrs<attrs::ConvTranspose>, infer_conv_transpose, 2, 3, 1, 1,
                                OpDef::kPure,
                                /*inplace=*/0};

}  // namespace vireo
