// Upsample (attributes until opset 7, an input in 9) and Resize of opset 10 map coordinates asymmetrically and, for
// nearest, take the lower neighbour; Resize 10 takes the upper one where an axis shrinks. Resize has its present form
// since opset 11.
#include "sdk/ops/resize/resize_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/view_export.h"

namespace vireo {
namespace {

template <class Enum, size_t N>
Status read_enum(ImportContext& ctx, const char* attribute, const char* const (&names)[N], Enum* out) {
  if (!ctx.has_attr(attribute)) return Status::kOk;
  const std::string name = ctx.attr_string(attribute, "");
  for (size_t i = 0; i < N; ++i) {
    if (name != names[i]) continue;
    *out = static_cast<Enum>(i);
    return Status::kOk;
  }
  return ctx.fail(Status::kUnsupported, std::string(attribute) + " is \"" + name + "\"",
                  "use one of ONNX's Resize, opset 19");
}

constexpr const char* kModes[] = {"nearest", "linear", "cubic"};
constexpr const char* kCoordinates[] = {"half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",
                                        "align_corners", "asymmetric",           "tf_crop_and_resize"};
constexpr const char* kNearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
constexpr const char* kPolicies[] = {"stretch", "not_larger", "not_smaller"};

Value f32_list(ImportContext& ctx, const std::vector<float>& v) {
  TensorType t{DType::kF32, {}};
  t.shape.rank = 1;
  t.shape[0] = static_cast<int64_t>(v.size());
  const auto* p = reinterpret_cast<const uint8_t*>(v.data());
  return ctx.add_constant(t, std::vector<uint8_t>(p, p + v.size() * sizeof(float)));
}

Status finish(ImportContext& ctx, const attrs::ResizeT& a, Value scales) {
  const Value y = ctx.emit1(Op::kResize, pack<attrs::Resize>(a), {ctx.input(0), Value{}, scales});
  if (!y) return Status::kInvalidModel;
  ctx.set_output(0, y);
  return Status::kOk;
}

Status import_resize(ImportContext& ctx) {
  attrs::ResizeT a;
  VIREO_TRY(read_enum(ctx, "mode", kModes, &a.mode));
  if (ctx.opset() < 11) {
    a.coordinate = attrs::ResizeCoordinate::asymmetric;
    a.nearest = attrs::ResizeNearest::by_scale;
    return finish(ctx, a, ctx.input(1));
  }
  // Opset 11 alone: (i + 0.5) / s, which is half_pixel's place and 0.5. Rounding that to the nearest, down where it is
  // a tie, takes the next element at or above half_pixel's place; its floor is the nearest, up where it is a tie.
  const bool for_nn = ctx.attr_string("coordinate_transformation_mode", "") == "tf_half_pixel_for_nn";
  if (!for_nn) VIREO_TRY(read_enum(ctx, "coordinate_transformation_mode", kCoordinates, &a.coordinate));
  VIREO_TRY(read_enum(ctx, "nearest_mode", kNearest, &a.nearest));
  if (for_nn) {
    const bool down = a.nearest == attrs::ResizeNearest::floor;
    if (a.mode != attrs::ResizeMode::nearest || (!down && a.nearest != attrs::ResizeNearest::round_prefer_floor)) {
      return ctx.fail(
          Status::kUnsupported,
          "coordinate_transformation_mode is tf_half_pixel_for_nn, and not with mode nearest and nearest_mode floor or "
          "round_prefer_floor",
          "export the model with opset 13 or newer");
    }
    a.nearest = down ? attrs::ResizeNearest::round_prefer_ceil : attrs::ResizeNearest::ceil;
  }
  VIREO_TRY(read_enum(ctx, "keep_aspect_ratio_policy", kPolicies, &a.policy));
  a.cubic_coeff_a = ctx.attr_float("cubic_coeff_a", -0.75f);
  a.extrapolation_value = ctx.attr_float("extrapolation_value", 0.0f);
  a.antialias = ctx.attr_int("antialias", 0) != 0;
  a.exclude_outside = ctx.attr_int("exclude_outside", 0) != 0;
  const int rank = ctx.type(ctx.input(0)).shape.rank;
  for (int k = 0; k < rank && !ctx.has_attr("axes"); ++k) a.axes.push_back(k);
  for (const int64_t k : ctx.attr_ints("axes")) a.axes.push_back(saturated_int32(k));
  return import_direct(ctx, Op::kResize, pack<attrs::Resize>(a));
}

Status import_upsample(ImportContext& ctx) {
  attrs::ResizeT a;
  a.coordinate = attrs::ResizeCoordinate::asymmetric;
  a.nearest = attrs::ResizeNearest::floor;
  const std::string mode = ctx.attr_string("mode", "nearest");
  if (mode == "linear" || mode == "bilinear") {
    a.mode = attrs::ResizeMode::linear;
  } else if (mode != "nearest") {
    return ctx.fail(Status::kInvalidModel, "mode is \"" + mode + "\"", "use nearest or linear");
  }
  if (ctx.opset() >= 9) return finish(ctx, a, ctx.input(1));
  if (ctx.opset() >= 7) return finish(ctx, a, f32_list(ctx, ctx.attr_floats("scales")));
  return finish(ctx, a, f32_list(ctx, {1, 1, ctx.attr_float("height_scale", 1), ctx.attr_float("width_scale", 1)}));
}

// Opset 10's nearest takes the upper neighbour where an axis shrinks: ONNX has no name for it any more, so the scales
// have to say which of its present names fits.
Status export_by_scale(ExportContext& ctx, std::string* name) {
  const ConstTensor* scales = ctx.constant(2);
  bool shrinks = false, grows = false;
  for (int64_t i = 0; scales != nullptr && i < scales->count(); ++i) {
    shrinks = shrinks || scales->as<float>()[i] < 1;
    grows = grows || scales->as<float>()[i] > 1;
  }
  if (scales == nullptr || (shrinks && grows)) {
    return ctx.fail(Status::kUnsupported,
                    "opset 10's Resize to the nearest, with scales that are computed or both below and above 1",
                    "export the model with opset 11 or newer");
  }
  *name = shrinks ? "ceil" : "floor";
  return Status::kOk;
}

}  // namespace

extern const OnnxImport kResizeOnnx;
extern const OnnxImport kUpsampleOnnx;
const OnnxImport kResizeOnnx = {"", "Resize", import_resize};
const OnnxImport kUpsampleOnnx = {"", "Upsample", import_upsample};

Status export_resize(ExportContext& ctx) {
  const auto& a = ctx.attrs<attrs::Resize>();
  OnnxNode n = ctx.same().text("mode", kModes[static_cast<size_t>(a.mode())]);
  n.text("coordinate_transformation_mode", kCoordinates[static_cast<size_t>(a.coordinate())]);
  if (a.mode() == attrs::ResizeMode::nearest) {
    std::string name;
    if (a.nearest() == attrs::ResizeNearest::by_scale) {
      VIREO_TRY(export_by_scale(ctx, &name));
    } else {
      name = kNearest[static_cast<size_t>(a.nearest())];
    }
    n.text("nearest_mode", name);
  }
  if (a.policy() != attrs::ResizePolicy::stretch)
    n.text("keep_aspect_ratio_policy", kPolicies[static_cast<size_t>(a.policy())]);
  if (a.mode() == attrs::ResizeMode::cubic) n.real("cubic_coeff_a", a.cubic_coeff_a());
  if (a.coordinate() == attrs::ResizeCoordinate::tf_crop_and_resize)
    n.real("extrapolation_value", a.extrapolation_value());
  if (a.antialias()) n.flag("antialias", true);
  if (a.exclude_outside()) n.flag("exclude_outside", true);
  bool all = a.axes() == nullptr || static_cast<int>(a.axes()->size()) == ctx.input_type(0).shape.rank;
  for (unsigned i = 0; all && a.axes() != nullptr && i < a.axes()->size(); ++i)
    all = a.axes()->Get(i) == static_cast<int>(i);
  if (!all) n.numbers("axes", a.axes());
  return ctx.done(std::move(n));
}

}  // namespace vireo
