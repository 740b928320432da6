// Col2Im: columns of blocks added up where they overlap in the image.
//   inputs   x [N, C * b, L], b = product of block_shape, L = blocks in the padded image; image_shape, block_shape i64
//   [k] y        [N, C, image_shape], type of x: whole-byte numbers, complex, bool; what a block has in the padding is
//   dropped
// Sums run in the order of the columns, in the type of x (float for the 16-bit ones); integers wrap around, bool is
// whether any is true. Strings have no sum. Source: ONNX opset 18 "Col2Im".
#include "sdk/ops/col2im/col2im_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

constexpr Dim kLimit = Dim{1} << 31;

Status infer_col2im(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::Col2Im>();
  const TensorType& x = ctx.input(0);
  VIREO_TRY(check_rank(ctx, 0, 3, 3));
  VIREO_TRY(check_integer_list(ctx, 1));
  VIREO_TRY(check_integer_list(ctx, 2));
  const bool real =
      x.dtype == DType::kF32 || x.dtype == DType::kF64 || x.dtype == DType::kF16 || x.dtype == DType::kBF16;
  const bool other =
      dtype_is_integer(x.dtype) || x.dtype == DType::kBool || x.dtype == DType::kC64 || x.dtype == DType::kC128;
  if ((!real && !other) || dtype_bits(x.dtype) < 8) {
    return ctx.fail(Status::kUnsupported, "Col2Im of {}", dtype_name(x.dtype));
  }
  int64_t k = 0, blocks = 0;
  if (!known_length(ctx, 1, &k) || !known_length(ctx, 2, &blocks)) {
    return ctx.fail(Status::kUnsupported, "Col2Im: the number of axes is not known");
  }
  VIREO_TRY(check_result_rank(ctx, k + 2));
  const auto length = [](const ::flatbuffers::Vector<int64_t>* v, int64_t otherwise) {
    return v == nullptr ? otherwise : static_cast<int64_t>(v->size());
  };
  if (k < 1 || blocks != k || length(a.dilations(), k) != k || length(a.pads(), 2 * k) != 2 * k ||
      length(a.strides(), k) != k) {
    return ctx.fail(Status::kInvalidModel, "Col2Im: image, block and attributes differ in their number of axes");
  }
  TensorType& y = ctx.output(0);
  y.dtype = x.dtype;
  y.shape.rank = static_cast<int32_t>(k) + 2;
  y.shape[0] = x.shape[0];
  bool open = !ctx.known(1) || !ctx.known(2);
  Dim block = 1, count = 1;
  for (int i = 0; i < static_cast<int>(k); ++i) {
    const unsigned u = static_cast<unsigned>(i), w = static_cast<unsigned>(k);
    const int64_t dilation = a.dilations() == nullptr ? 1 : a.dilations()->Get(u);
    const int64_t stride = a.strides() == nullptr ? 1 : a.strides()->Get(u);
    const int64_t before = a.pads() == nullptr ? 0 : a.pads()->Get(u),
                  after = a.pads() == nullptr ? 0 : a.pads()->Get(u + w);
    if (dilation < 1 || dilation > kLimit || stride < 1 || stride > kLimit || before < 0 || before > kLimit ||
        after < 0 || after > kLimit) {
      return ctx.fail(Status::kInvalidModel, "Col2Im: dilation {}, stride {}, pads {} and {} of axis {}", dilation,
                      stride, before, after, i);
    }
    y.shape[i + 2] = ctx.known(1) ? ctx.value(1, i) : ctx.unknown();
    if (open) continue;
    const Dim size = y.shape[i + 2], b = ctx.value(2, i);
    if (is_symbolic(size) || is_symbolic(b)) {
      open = true;
      continue;
    }
    if (size < 0 || size > kLimit || b < 1 || b > kLimit) {
      return ctx.fail(Status::kInvalidModel, "Col2Im: image {}, block {} on axis {}", size, b, i);
    }
    block = ctx.mul(block, b);
    const Dim rest = ctx.sub(ctx.sub(ctx.add(size, before + after), ctx.mul(dilation, b - 1)), 1);
    count = ctx.mul(count, ctx.max(0, ctx.add(ctx.floor_div(rest, stride), 1)));
  }
  if (open) {
    y.shape[1] = ctx.bounded(x.shape[1]);
    return Status::kOk;
  }
  if (ctx.differ(count, x.shape[2]) || (!is_symbolic(x.shape[1]) && x.shape[1] % block != 0)) {
    return ctx.fail(Status::kInvalidModel, "Col2Im: x {} for {} blocks of {} elements", x.shape, count, block);
  }
  y.shape[1] = ctx.floor_div(x.shape[1], block);
  return Status::kOk;
}

}  // namespace

extern const OpDef kCol2ImOp;
const OpDef kCol2ImOp = {"Col2Im", verify_attrs<attrs::Col2Im>, infer_col2im, 3, 3, 1, 1, OpDef::kPure, 0};

}  // namespace vireo
