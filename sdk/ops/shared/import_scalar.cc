#include "sdk/ops/shared/import_scalar.h"

#include "sdk/ops/shared/dispatch.h"
#include "sdk/ops/shared/to_integer.h"

namespace vireo {
namespace {

template <class T, class From>
std::vector<uint8_t> bytes_of(From value) {
  const T v = static_cast<T>(value);
  const auto* p = reinterpret_cast<const uint8_t*>(&v);
  return std::vector<uint8_t>(p, p + sizeof(v));
}

}  // namespace

Value add_scalar_integer(ImportContext& ctx, DType type, int64_t value) {
  if (dtype_is_float(type)) return add_scalar(ctx, type, static_cast<double>(value));
  std::vector<uint8_t> bytes;
  const Status s = dispatch_integer(type == DType::kBool ? DType::kU8 : type, [&](auto tag) {
    bytes = bytes_of<decltype(tag)>(value);
    return Status::kOk;
  });
  if (!ok(s)) {
    (void)ctx.fail(Status::kInvalidModel, std::string("no scalar constant of type ") + dtype_name(type));
    return {};
  }
  return ctx.add_constant({type, {}}, std::move(bytes));
}

Value add_scalar(ImportContext& ctx, DType type, double value) {
  if (!dtype_is_float(type)) return add_scalar_integer(ctx, type, to_integer<int64_t>(value));
  std::vector<uint8_t> bytes;
  const Status s = dispatch_float(type, [&](auto tag) {
    using T = decltype(tag);
    bytes = bytes_of<T>(static_cast<compute_t<T>>(value));
    return Status::kOk;
  });
  if (!ok(s)) {
    (void)ctx.fail(Status::kInvalidModel, std::string("no scalar constant of type ") + dtype_name(type));
    return {};
  }
  return ctx.add_constant({type, {}}, std::move(bytes));
}

Status import_as(ImportContext& ctx, Op op, std::vector<uint8_t> attrs, std::vector<Value> inputs) {
  return import_value(ctx, ctx.emit1(op, std::move(attrs), std::move(inputs)));
}

Status import_value(ImportContext& ctx, Value v) {
  if (!v) return Status::kInvalidModel;
  ctx.set_output(0, v);
  return Status::kOk;
}

}  // namespace vireo
