#include "converter/onnx/tensors.h"

#include <cstring>
#include <utility>
#include <vector>

#include "converter/onnx/six_bits.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::importer {
namespace {

// Elements of a repeated field as dense bytes of type T.
template <class T, class Field>
std::vector<uint8_t> narrow(const Field& field) {
  std::vector<uint8_t> out(static_cast<size_t>(field.size()) * sizeof(T));
  for (int i = 0; i < field.size(); ++i) {
    const T v = static_cast<T>(field.Get(i));
    std::memcpy(out.data() + static_cast<size_t>(i) * sizeof(T), &v, sizeof(T));
  }
  return out;
}

// The typed field that ONNX prescribes for each element type.
std::vector<uint8_t> typed_data(const ::onnx::TensorProto& t, DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kC64:
      return narrow<float>(t.float_data());
    case DType::kF64:
    case DType::kC128:
      return narrow<double>(t.double_data());
    case DType::kI64:
      return narrow<int64_t>(t.int64_data());
    case DType::kU64:
      return narrow<uint64_t>(t.uint64_data());
    case DType::kU32:
      return narrow<uint32_t>(t.uint64_data());
    case DType::kI32:
      return narrow<int32_t>(t.int32_data());
    case DType::kI16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return narrow<uint16_t>(t.int32_data());
    default:
      return narrow<uint8_t>(t.int32_data());  // bytes, and packed pairs or quadruples as bytes
  }
}

bool shape_of(const google::protobuf::RepeatedField<int64_t>& dims, Shape* shape, std::string* why) {
  if (dims.size() > kMaxRank) {
    *why = "has " + std::to_string(dims.size()) + " dimensions, at most " + std::to_string(kMaxRank) + " are supported";
    return false;
  }
  shape->rank = dims.size();
  for (int i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) {
      *why = "dimension " + std::to_string(i) + " is " + std::to_string(dims[i]);
      return false;
    }
    shape->dims[i] = dims[i];
  }
  return true;
}

// All dimensions as one.
bool flat_shape_of(const google::protobuf::RepeatedField<int64_t>& dims, Shape* shape, std::string* why) {
  int64_t count = 1;
  for (const int64_t d : dims) {
    if (d < 0 || __builtin_mul_overflow(count, d, &count)) {
      *why = "its dimensions multiply to more elements than can be counted, or one is negative";
      return false;
    }
  }
  shape->rank = 1;
  shape->dims[0] = count;
  return true;
}

}  // namespace

ir::ConstantPtr TensorReader::fail(Code code, const std::string& name, std::string what, std::string help) {
  Diagnostic d;
  d.code = code;
  d.tensor = name;
  d.what = std::move(what);
  d.help = std::move(help);
  diagnostics_->add(std::move(d));
  return nullptr;
}

ir::ConstantPtr TensorReader::read(::onnx::TensorProto& tensor, const std::string& name) {
  const auto it = known_.find(&tensor);
  if (it != known_.end()) return it->second;
  const ir::ConstantPtr c = read_new(tensor, name);
  if (c != nullptr) budget_->add_weights(c->size_bytes());
  return known_[&tensor] = c;
}

ir::ConstantPtr TensorReader::read(::onnx::SparseTensorProto& tensor, const std::string& name) {
  const auto it = known_.find(&tensor);
  if (it != known_.end()) return it->second;
  return known_[&tensor] = read_sparse(tensor, name);
}

ir::ConstantPtr TensorReader::read_new(::onnx::TensorProto& tensor, const std::string& name) {
  const int number = tensor.data_type();
  if (number <= 0 || number >= kDTypeCount) {
    return fail(Code::kUnsupportedType, name,
                "element type " + std::to_string(number) + " is not one that ONNX defines");
  }
  TensorType type;
  type.dtype = static_cast<DType>(number);
  std::string why;
  const bool good = tensor.dims_size() > kMaxRank ? flat_shape_of(tensor.dims(), &type.shape, &why)
                                                  : shape_of(tensor.dims(), &type.shape, &why);
  if (!good) return fail(Code::kTensorData, name, why);
  const int64_t count = element_count(type.shape);
  const int64_t bytes = count < 0 ? -1 : dtype_bytes(type.dtype, count);
  if (bytes < 0) return fail(Code::kShapeOverflow, name, "its dimensions multiply to more bytes than can be counted");
  if (tensor.has_segment()) return fail(Code::kTensorData, name, "is stored in segments, which ONNX no longer defines");
  const bool packed = is_six_bits(type.dtype);
  const int64_t stored_bytes = packed ? packed_six_bits(count) : bytes;
  if (tensor.data_location() == ::onnx::TensorProto::EXTERNAL) return read_external(tensor, type, stored_bytes, name);

  if (type.dtype == DType::kString) {
    if (tensor.string_data_size() != count) {
      return fail(
          Code::kTensorData, name,
          "has " + std::to_string(tensor.string_data_size()) + " strings for " + std::to_string(count) + " elements");
    }
    return ir::make_strings(type.shape, {tensor.string_data().begin(), tensor.string_data().end()});
  }
  const bool raw = tensor.has_raw_data();
  ir::ConstantPtr c;
  if (raw) {
    std::unique_ptr<std::string> data(tensor.release_raw_data());
    c = ir::make_constant(type, std::move(*data));
  } else {
    c = ir::make_constant(type, typed_data(tensor, type.dtype));
  }
  const int64_t wanted = raw ? stored_bytes : bytes;
  if (c->size_bytes() != wanted) {
    return fail(Code::kTensorData, name,
                "has " + std::to_string(c->size_bytes()) + " bytes of data, its shape and type (" +
                    dtype_name(type.dtype) + ", " + std::to_string(count) + " elements) want " + std::to_string(wanted),
                c->size_bytes() == 0 ? "the weights were probably taken out of this file: get the complete model"
                : packed && raw      ? "raw_data of 6-bit floats holds four elements in three bytes"
                                     : "");
  }
  if (packed && raw) return ir::make_constant(type, unpack_six_bits(c->tensor.bytes, count));
  for (int i = 0; packed && i < tensor.int32_data_size(); ++i) {
    const int32_t code = tensor.int32_data(i);
    if (code >= 0 && code < 64) continue;
    return fail(Code::kTensorData, name,
                "element " + std::to_string(i) + " of its int32_data is " + std::to_string(code) + ", and a " +
                    dtype_name(type.dtype) + " has six bits, 0 to 63",
                "write the elements' codes into int32_data, one to an entry, or pack them in raw_data");
  }
  return c;
}

ir::ConstantPtr TensorReader::read_sparse(::onnx::SparseTensorProto& tensor, const std::string& name) {
  const ir::ConstantPtr values = read(*tensor.mutable_values(), name);
  const ir::ConstantPtr indices = read(*tensor.mutable_indices(), name);
  if (values == nullptr || indices == nullptr) return nullptr;
  TensorType type{values->tensor.type.dtype, {}};
  std::string why;
  if (!shape_of(tensor.dims(), &type.shape, &why)) return fail(Code::kTensorData, name, why);
  const int64_t bytes = tensor_bytes(type);
  const int size = dtype_bits(type.dtype) / 8;
  if (bytes < 0 || !budget_->spend(ir::Budget::kDenseBytes, bytes))
    return fail(Code::kShapeOverflow, name,
                "is sparse and too large to be made dense, with those before it: the limit is " +
                    budget_->limit(ir::Budget::kDenseBytes),
                "store it dense, as external data where it is large");
  const Shape& is = indices->tensor.type.shape;
  const int64_t count = values->tensor.count();
  const bool linear = is.rank == 1;
  if (size == 0 || type.dtype == DType::kString || values->tensor.type.shape.rank != 1 ||
      indices->tensor.type.dtype != DType::kI64 || is.rank < 1 || is.rank > 2 || is[0] != count ||
      (is.rank == 2 && is[1] != type.shape.rank)) {
    return fail(Code::kTensorData, name,
                "its values and indices do not fit: wanted values [n] and int64 indices [n] or [n, rank]");
  }
  std::vector<uint8_t> dense(static_cast<size_t>(bytes));
  const int64_t total = element_count(type.shape);
  for (int64_t k = 0; k < count; ++k) {
    int64_t at = 0;
    bool inside = true;
    if (linear) {
      at = read_element<int64_t>(indices->tensor.bytes.data(), k);
    } else {
      for (int d = 0; d < type.shape.rank; ++d) {
        const int64_t i = read_element<int64_t>(indices->tensor.bytes.data(), k * type.shape.rank + d);
        inside = inside && i >= 0 && i < type.shape[d];
        at = inside ? at * type.shape[d] + i : 0;
      }
    }
    if (!inside || at < 0 || at >= total) return fail(Code::kTensorData, name, "a sparse index is outside its shape");
    std::memcpy(dense.data() + at * size, values->tensor.bytes.data() + k * size, static_cast<size_t>(size));
  }
  return ir::make_constant(type, std::move(dense));
}

}  // namespace vireo::importer
