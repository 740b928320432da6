#include "delegates/xnnpack/writer.h"

#include <stdlib.h>
#include <string.h>

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

uint32_t Writer::external(const Value& v, const Dims& dims, uint32_t flags) {
  if (external_count_ == kMaxExternals) {
    full_ = true;
    return XNN_INVALID_VALUE_ID;
  }
  const uint32_t id = external_count_++;
  externals_[id] = {v.place, v.from_caller, v.index, v.offset, v.bytes(), v.constant};
  if (graph_ == nullptr) return id;
  uint32_t given = id;
  const xnn_status status =
      xnn_define_tensor_value(graph_, xnn_datatype_fp32, dims.count, dims.dims, nullptr, id, flags, &given);
  return status == xnn_status_success ? given : XNN_INVALID_VALUE_ID;
}

uint32_t Writer::in(const Value& v, const Dims& dims) { return external(v, dims, XNN_VALUE_FLAG_EXTERNAL_INPUT); }
uint32_t Writer::out(const Value& v, const Dims& dims) { return external(v, dims, XNN_VALUE_FLAG_EXTERNAL_OUTPUT); }

uint32_t Writer::fixed(const void* data, const Dims& dims) {
  if (graph_ == nullptr) return count_weights();
  const size_t bytes = elements(dims) * sizeof(float);
  if (data != nullptr && !may_read_behind(data, bytes)) {
    float* const copy = temporary(data, 0, dims);
    if (copy != nullptr) memcpy(copy, data, bytes);
    data = copy;
  }
  return define_fixed(data, dims);
}

uint32_t Writer::define_fixed(const void* data, const Dims& dims) {
  uint32_t id = XNN_INVALID_VALUE_ID;
  const xnn_status status =
      xnn_define_tensor_value(graph_, xnn_datatype_fp32, dims.count, dims.dims, data, XNN_INVALID_VALUE_ID, 0, &id);
  return data != nullptr && status == xnn_status_success ? id : XNN_INVALID_VALUE_ID;
}

float* Writer::temporary(const void* original, uint32_t tag, const Dims& dims) {
  if (temporary_count_ == Weights::kMost) return nullptr;
  const size_t bytes = elements(dims) * sizeof(float);
  auto* const to = static_cast<float*>(malloc(bytes + XNN_EXTRA_BYTES));
  if (to == nullptr) return nullptr;
  temporaries_[temporary_count_++] = to;
  weights_->stands_for(to, original, tag);
  return to;
}

}  // namespace vireo::xnnpack
