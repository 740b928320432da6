#include "sdk/ops/label_encoder/label_encoder_generated.h"
#include "sdk/ops/shared/infer.h"

namespace vireo {
namespace {

// Length of the vector that a type is kept in; -1: absent, or a type that labels cannot have.
template <class Integers, class Reals, class Strings>
int64_t length(uint8_t type, const Integers* integers, const Reals* reals, const Strings* strings) {
  switch (static_cast<DType>(type)) {
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
      return integers == nullptr ? -1 : static_cast<int64_t>(integers->size());
    case DType::kF32:
    case DType::kF64:
      return reals == nullptr ? -1 : static_cast<int64_t>(reals->size());
    case DType::kString:
      return strings == nullptr ? -1 : static_cast<int64_t>(strings->size());
    default:
      return -1;
  }
}

// The kernel reads values at the place of a key.
bool verify(Span<const uint8_t> bytes) {
  if (!verify_attrs<attrs::LabelEncoder>(bytes)) return false;
  const auto& a = *::flatbuffers::GetRoot<attrs::LabelEncoder>(bytes.data());
  const int64_t keys = length(a.key_type(), a.keys_integers(), a.keys_reals(), a.keys_strings());
  const int64_t values = length(a.value_type(), a.values_integers(), a.values_reals(), a.values_strings());
  return keys >= 0 && keys == values;
}

Status infer_label_encoder(InferContext& ctx) {
  const auto& a = ctx.attrs<attrs::LabelEncoder>();
  const TensorType& x = ctx.input(0);
  const DType want = static_cast<DType>(a.key_type());
  if (x.dtype != want) {
    return ctx.fail(Status::kInvalidModel, "input is {} but the keys are {}", dtype_name(x.dtype), dtype_name(want));
  }
  ctx.output(0) = {static_cast<DType>(a.value_type()), x.shape};
  return Status::kOk;
}

}  // namespace

extern const OpDef kLabelEncoderOp;
const OpDef kLabelEncoderOp = {"LabelEncoder", verify, infer_label_encoder, 1, 1, 1, 1, OpDef::kPure, /*inplace=*/0};

}  // namespace vireo
