#include "converter/tool/onnx_tensor.h"

#include <onnx/onnx-ml.pb.h>
#include <string.h>

#include "c_api/tool/failure.h"
#include "c_api/tool/file.h"

namespace vireo::tool {
namespace {

// Copies `field` element by element into integers of type T, as ONNX widens small types.
template <typename T, typename Field>
void copy_field(const Field& field, Array* out) {
  const size_t want = out->bytes.size() / sizeof(T);
  if (static_cast<size_t>(field.size()) != want)
    throw Failure("holds " + std::to_string(field.size()) + " values, its shape wants " + std::to_string(want));
  for (size_t i = 0; i < want; ++i) {
    const T value = static_cast<T>(field.Get(static_cast<int>(i)));
    memcpy(out->bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

Array to_array(const onnx::TensorProto& tensor) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) throw Failure("keeps its values in another file");
  if (tensor.data_type() <= 0 || tensor.data_type() > VIREO_INT2)
    throw Failure("has element type " + std::to_string(tensor.data_type()) + ", which is not known");
  Array a = make_array(static_cast<vireo_dtype>(tensor.data_type()), {tensor.dims().begin(), tensor.dims().end()});
  if (a.dtype == VIREO_STRING) {
    if (static_cast<size_t>(tensor.string_data_size()) != a.strings.size())
      throw Failure("has not as many texts as its shape wants");
    a.strings.assign(tensor.string_data().begin(), tensor.string_data().end());
    return a;
  }
  if (tensor.has_raw_data()) {
    if (tensor.raw_data().size() != a.bytes.size())
      throw Failure("holds " + std::to_string(tensor.raw_data().size()) + " bytes, its shape wants " +
                    std::to_string(a.bytes.size()));
    if (!a.bytes.empty()) memcpy(a.bytes.data(), tensor.raw_data().data(), a.bytes.size());
    return a;
  }
  switch (a.dtype) {
    case VIREO_FLOAT32:
    case VIREO_COMPLEX64:
      copy_field<float>(tensor.float_data(), &a);
      break;
    case VIREO_FLOAT64:
    case VIREO_COMPLEX128:
      copy_field<double>(tensor.double_data(), &a);
      break;
    case VIREO_INT64:
      copy_field<int64_t>(tensor.int64_data(), &a);
      break;
    case VIREO_UINT64:
      copy_field<uint64_t>(tensor.uint64_data(), &a);
      break;
    case VIREO_UINT32:
      copy_field<uint32_t>(tensor.uint64_data(), &a);
      break;
    case VIREO_INT32:
      copy_field<int32_t>(tensor.int32_data(), &a);
      break;
    case VIREO_INT16:
    case VIREO_UINT16:
    case VIREO_FLOAT16:
    case VIREO_BFLOAT16:
      copy_field<uint16_t>(tensor.int32_data(), &a);
      break;
    default:
      copy_field<uint8_t>(tensor.int32_data(), &a);
      break;  // bytes, and packed types a byte at a time
  }
  return a;
}

}  // namespace

Array read_tensor_file(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  onnx::TensorProto tensor;
  if (!tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) throw Failure(path + " is no TensorProto");
  try {
    return to_array(tensor);
  } catch (const Failure& failure) {
    throw Failure(path + " " + failure.what());
  }
}

}  // namespace vireo::tool
