#include "delegates/xnnpack/writer.h"

#include <stdlib.h>
#include <string.h>

#include "sdk/base/half.h"

namespace vireo::xnnpack {
namespace {

size_t elements(const Dims& d) {
  size_t n = 1;
  for (size_t i = 0; i < d.count; ++i) n *= d.dims[i];
  return n;
}

}  // namespace

bool dims_of(const Shape& shape, Dims* out) {
  *out = {};
  if (shape.rank > XNN_MAX_TENSOR_DIMS) return false;
  for (int i = 0; i < shape.rank; ++i) out->dims[out->count++] = static_cast<size_t>(shape[i]);
  if (out->count == 0) out->dims[out->count++] = 1;
  return true;
}

Writer::~Writer() {
  for (uint32_t i = 0; i < temporary_count_; ++i) free(temporaries_[i]);
}

const char* Writer::write(const Part& part) {
  for (const Step& s : part.steps()) {
    if (const char* reason = find_rule(s.node->op)->define(*this, s)) return reason;
    if (full_) return "its body has too many values";
  }
  return "";
}

uint32_t Writer::external(const Value& v, const Dims& dims, const Codes& codes, uint32_t flags) {
  if (external_count_ == kMaxExternals) {
    full_ = true;
    return XNN_INVALID_VALUE_ID;
  }
  const uint32_t id = external_count_++;
  externals_[id] = {v.place, v.from_caller, codes.flipped, v.index, v.offset, v.bytes(), v.constant, dims};
  if (graph_ == nullptr) return id;
  uint32_t given = id;
  xnn_status status = xnn_status_success;
  if (v.type.dtype == DType::kI8 || v.type.dtype == DType::kU8) {
    const xnn_datatype type = v.type.dtype == DType::kI8 || codes.flipped ? xnn_datatype_qint8 : xnn_datatype_quint8;
    status = xnn_define_quantized_tensor_value(graph_, type, codes.zero, codes.scale, dims.count, dims.dims, nullptr,
                                               id, flags, &given);
  } else {
    const xnn_datatype type = v.type.dtype == DType::kF16 ? xnn_datatype_fp16 : xnn_datatype_fp32;
    status = xnn_define_tensor_value(graph_, type, dims.count, dims.dims, nullptr, id, flags, &given);
  }
  return status == xnn_status_success ? given : XNN_INVALID_VALUE_ID;
}

uint32_t Writer::in(const Value& v, const Dims& dims, const Codes& codes) {
  return external(v, dims, codes, XNN_VALUE_FLAG_EXTERNAL_INPUT);
}
uint32_t Writer::out(const Value& v, const Dims& dims, const Codes& codes) {
  return external(v, dims, codes, XNN_VALUE_FLAG_EXTERNAL_OUTPUT);
}

uint32_t Writer::fixed(const Value& v, const Dims& dims) {
  if (v.type.dtype != DType::kF16) return fixed(v, dims, {});
  return reordered(v, kWidened, dims, {}, [&](void* to) {
    const size_t count = elements(dims);
    for (size_t i = 0; i < count; ++i)
      static_cast<float*>(to)[i] = f16_to_f32(static_cast<const uint16_t*>(v.constant)[i]);
  });
}

uint32_t Writer::fixed(const Value& v, const Dims& dims, const Fixed& as) {
  if (graph_ == nullptr) return count_weights();
  const void* const data = v.constant;
  const size_t bytes = bytes_of(dims, as.type);
  const void* given = data;
  if (data != nullptr && !may_read_behind(data, bytes)) {
    void* const copy = temporary(bytes);
    if (copy != nullptr) memcpy(copy, data, bytes);
    given = copy;
  }
  return define_fixed(given, v, 0, dims, as);
}

uint32_t Writer::define_fixed(const void* given, const Value& original, uint32_t order, const Dims& dims,
                              const Fixed& as) {
  if (given == nullptr) return XNN_INVALID_VALUE_ID;
  weights_->stands_for({given, original.constant, original.bytes(), order + as.tag, as.partner, as.partner_bytes});
  uint32_t id = XNN_INVALID_VALUE_ID;
  const xnn_status status =
      as.scales != nullptr
          ? xnn_define_channelwise_quantized_tensor_value_v2(graph_, as.type, as.zero, as.scales, dims.count,
                                                             as.channel_axis, dims.dims, given, XNN_INVALID_VALUE_ID, 0,
                                                             &id)
          : xnn_define_tensor_value(graph_, as.type, dims.count, dims.dims, given, XNN_INVALID_VALUE_ID, 0, &id);
  return status == xnn_status_success ? id : XNN_INVALID_VALUE_ID;
}

const float* Writer::per_channel(const Value& v, int64_t count) {
  if (graph_ == nullptr) {
    (void)count_weights();
    return nullptr;
  }
  const auto* from = static_cast<const float*>(v.constant);
  if (element_count(v.type.shape) == count) return from;
  auto* const to = static_cast<float*>(temporary(static_cast<size_t>(count) * sizeof(float)));
  for (int64_t i = 0; to != nullptr && i < count; ++i) to[i] = from[0];
  return to;
}

size_t Writer::bytes_of(const Dims& dims, xnn_datatype type) {
  switch (type) {
    case xnn_datatype_qcint8:
      return elements(dims);
    case xnn_datatype_qcint4:  // rows of whole bytes
      return elements(dims) / dims.dims[dims.count - 1] * ((dims.dims[dims.count - 1] + 1) / 2);
    default:  // fp32, qcint32
      return elements(dims) * 4;
  }
}

void* Writer::temporary(size_t bytes) {
  if (temporary_count_ == Weights::kMost) return nullptr;
  void* const to = calloc(1, bytes + XNN_EXTRA_BYTES);  // zeros where it is not filled: measured alone
  if (to == nullptr) return nullptr;
  temporaries_[temporary_count_++] = to;
  return to;
}

}  // namespace vireo::xnnpack
