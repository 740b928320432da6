#include "sdk/ops/label_encoder/label_encoder.h"

#include "sdk/ops/kernel.h"
#include "sdk/ops/label_encoder/label_encoder_generated.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo {
namespace {

using Attrs = attrs::LabelEncoder;

StringRef ref(const ::flatbuffers::String* s) { return s == nullptr ? StringRef{} : StringRef{s->c_str(), s->size()}; }

// Index of the key that is neither before nor after; -1: none. `order(k)`: below 0 when key k stands before.
template <class F>
int64_t search(int64_t count, const F& order) {
  int64_t low = 0, high = count;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const int o = order(static_cast<::flatbuffers::uoffset_t>(middle));
    if (o == 0) return middle;
    if (o < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return -1;
}

int64_t find(const Attrs& a, const Tensor& x, int64_t i) {
  if (x.dtype == DType::kString) {
    const StringRef v = x.as<const StringRef>()[i];
    return search(a.keys_strings()->size(), [&](auto k) {
      const StringRef key = ref(a.keys_strings()->Get(k));
      return key == v ? 0 : (key < v ? -1 : 1);
    });
  }
  if (dtype_is_float(x.dtype)) {
    const double v = read_real(x.dtype, x.data, i);
    return search(a.keys_reals()->size(), [&](auto k) {
      const double key = a.keys_reals()->Get(k);
      return real_key_before(key, v) ? -1 : (real_key_before(v, key) ? 1 : 0);
    });
  }
  const int64_t v = read_integer(x.dtype, x.data, i);
  return search(a.keys_integers()->size(), [&](auto k) {
    const int64_t key = a.keys_integers()->Get(k);
    return key == v ? 0 : (key < v ? -1 : 1);
  });
}

void store(const Attrs& a, int64_t found, int64_t i, Tensor* y) {
  const auto k = static_cast<::flatbuffers::uoffset_t>(found);
  const auto integer = [&] { return found < 0 ? a.default_integer() : a.values_integers()->Get(k); };
  const auto real = [&] { return found < 0 ? a.default_real() : a.values_reals()->Get(k); };
  switch (y->dtype) {
    case DType::kString:
      y->as<StringRef>()[i] = ref(found < 0 ? a.default_string() : a.values_strings()->Get(k));
      break;
    case DType::kI64:
      y->as<int64_t>()[i] = integer();
      break;
    case DType::kI32:
      y->as<int32_t>()[i] = static_cast<int32_t>(integer());
      break;
    case DType::kI16:
      y->as<int16_t>()[i] = static_cast<int16_t>(integer());
      break;
    case DType::kF64:
      y->as<double>()[i] = real();
      break;
    default:
      y->as<float>()[i] = static_cast<float>(real());
      break;
  }
}

Status run_label_encoder(const KernelContext& ctx) {
  const Attrs& a = ctx.attrs<Attrs>();
  const Tensor& x = *ctx.in(0);
  for (int64_t i = 0, n = x.count(); i < n; ++i) store(a, find(a, x, i), i, ctx.out(0));
  return Status::kOk;
}

}  // namespace

extern const RefKernel kLabelEncoderRef;
const RefKernel kLabelEncoderRef = {run_label_encoder, nullptr};

}  // namespace vireo
