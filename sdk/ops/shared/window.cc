#include "sdk/ops/shared/window.h"

namespace vireo {
namespace {

// Bounds that keep every product below 2^62.
constexpr int64_t kMaxKernel = INT32_MAX;

Status check_list(InferContext& ctx, const char* name, const IntVector* v, int wanted, int low) {
  const int n = v == nullptr ? 0 : static_cast<int>(v->size());
  if (n != 0 && n != wanted) {
    return ctx.fail(Status::kInvalidModel, "{} has {} entries, the input's rank asks for {}", name, n, wanted);
  }
  for (int i = 0; i < n; ++i) {
    const int value = v->Get(static_cast<unsigned>(i));
    if (value < low) return ctx.fail(Status::kInvalidModel, "{} holds {}, wanted at least {}", name, value, low);
  }
  return Status::kOk;
}

Strides strides_of(const Window& w, const Shape& s) {
  int64_t step[kMaxRank];
  int64_t n = 1;
  for (int i = s.rank - 1; i >= 0; --i) {
    step[i] = n;
    n *= s[i];
  }
  Strides out{step[0], step[w.channel_axis()], {0, 0, 0}};
  for (int i = 0; i < w.spatial; ++i) out.step[kMaxSpatial - w.spatial + i] = step[w.spatial_axis(i)];
  return out;
}

}  // namespace

Window read_window(int rank, uint8_t layout, uint8_t auto_pad, const IntVector* strides, const IntVector* dilations,
                   const IntVector* pads) {
  Window w;
  w.spatial = rank - 2;
  w.layout = static_cast<Layout>(layout);
  w.auto_pad = static_cast<AutoPad>(auto_pad);
  for (int i = 0; i < w.spatial; ++i) {
    const unsigned u = static_cast<unsigned>(i), n = static_cast<unsigned>(w.spatial);
    if (strides != nullptr && strides->size() > u) w.stride[i] = strides->Get(u);
    if (dilations != nullptr && dilations->size() > u) w.dilation[i] = dilations->Get(u);
    if (w.auto_pad == AutoPad::kNotSet && pads != nullptr && pads->size() > n + u) {
      w.pad_begin[i] = pads->Get(u);
      w.pad_end[i] = pads->Get(n + u);
    }
  }
  return w;
}

Status check_window(InferContext& ctx, int x, uint8_t layout, uint8_t auto_pad, const IntVector* strides,
                    const IntVector* dilations, const IntVector* pads, Window* out) {
  VIREO_TRY(check_rank(ctx, x, 3, 2 + kMaxSpatial));
  const int rank = ctx.input(x).shape.rank;
  if (layout > 1) return ctx.fail(Status::kInvalidModel, "layout {} is none of NCHW (0), NHWC (1)", int{layout});
  if (auto_pad > 3) return ctx.fail(Status::kInvalidModel, "auto_pad {} is outside [0,3]", int{auto_pad});
  VIREO_TRY(check_list(ctx, "strides", strides, rank - 2, 1));
  VIREO_TRY(check_list(ctx, "dilations", dilations, rank - 2, 1));
  VIREO_TRY(check_list(ctx, "pads", pads, 2 * (rank - 2), 0));
  *out = read_window(rank, layout, auto_pad, strides, dilations, pads);
  return Status::kOk;
}

Status window_extent(InferContext& ctx, const Window& w, int i, Dim in, Dim* out) {
  const Dim k = w.kernel[i];
  if (!is_symbolic(k) && (k < 1 || k > kMaxKernel)) {
    return ctx.fail(Status::kInvalidModel, "kernel extent {} of spatial dimension {} is outside [1,{}]", k, i,
                    kMaxKernel);
  }
  if (w.auto_pad == AutoPad::kSameUpper || w.auto_pad == AutoPad::kSameLower) {
    *out = ctx.ceil_div(in, w.stride[i]);
    return Status::kOk;
  }
  const Dim reach = ctx.mul(w.dilation[i], ctx.sub(k, 1));  // the last tap's distance from the first
  const Dim padded = ctx.add(in, w.pad_begin[i] + w.pad_end[i]);
  const Dim room = ctx.sub(ctx.sub(padded, reach), 1);
  if (!is_symbolic(room) && room < 0) {
    return ctx.fail(
        Status::kInvalidModel,
        "spatial dimension {}: a kernel of {} with dilation {} does not fit an input of {} with {} of padding", i, k,
        w.dilation[i], in, w.pad_begin[i] + w.pad_end[i]);
  }
  if (!w.ceil_mode) {
    *out = ctx.add(ctx.floor_div(room, w.stride[i]), 1);
    return Status::kOk;
  }
  // Windows whose first tap lies in the right padding are left out (ONNX "AveragePool", ceil_mode).
  const Dim all = ctx.add(ctx.ceil_div(room, w.stride[i]), 1);
  const Dim starting_inside = ctx.ceil_div(ctx.add(in, w.pad_begin[i]), w.stride[i]);
  *out = ctx.min(all, starting_inside);
  return Status::kOk;
}

void resolve_auto_pad(Window* w, const Shape& x, const Shape& y) {
  if (w->auto_pad != AutoPad::kSameUpper && w->auto_pad != AutoPad::kSameLower) return;
  for (int i = 0; i < w->spatial; ++i) {
    const int axis = w->spatial_axis(i);
    const int64_t span = (y[axis] - 1) * w->stride[i] + w->dilation[i] * (w->kernel[i] - 1) + 1;
    const int64_t total = span > x[axis] ? span - x[axis] : 0;
    const int64_t less = total / 2, more = total - less;
    w->pad_begin[i] = w->auto_pad == AutoPad::kSameUpper ? less : more;
    w->pad_end[i] = w->auto_pad == AutoPad::kSameUpper ? more : less;
  }
}

Geometry make_geometry(Window w, const Shape& x, const Shape& y) {
  resolve_auto_pad(&w, x, y);
  Geometry g{};
  g.batch = x[0];
  g.channels_in = x[w.channel_axis()];
  g.channels_out = y[w.channel_axis()];
  for (int k = 0; k < kMaxSpatial; ++k) {
    const int i = k - (kMaxSpatial - w.spatial);
    const bool real = i >= 0;
    g.in[k] = real ? x[w.spatial_axis(i)] : 1;
    g.out[k] = real ? y[w.spatial_axis(i)] : 1;
    g.kernel[k] = real ? w.kernel[i] : 1;
    g.stride[k] = real ? w.stride[i] : 1;
    g.dilation[k] = real ? w.dilation[i] : 1;
    g.pad[k] = real ? w.pad_begin[i] : 0;
    g.pad_end[k] = real ? w.pad_end[i] : 0;
  }
  g.x = strides_of(w, x);
  g.y = strides_of(w, y);
  return g;
}

}  // namespace vireo
