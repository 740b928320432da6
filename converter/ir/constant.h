// The contents of a constant, in shared ownership: many values, graphs and passes point at one run of bytes, which is
// memory of its own or a window of a mapped file. Nothing here copies weights.
#ifndef VIREO_CONVERTER_IR_CONSTANT_H_
#define VIREO_CONVERTER_IR_CONSTANT_H_

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sdk/base/shape.h"
#include "sdk/base/span.h"
#include "sdk/ops/view.h"

namespace vireo::ir {

// A file that is mapped for as long as constants point into it.
class MappedFile {
 public:
  // Null on failure; `error` then tells why.
  static std::shared_ptr<MappedFile> open(const std::string& path, std::string* error);
  // A new file without a name in the system's temporary folder, with `parts` one behind another, each at a multiple of
  // `alignment`. Null on failure; errno tells why.
  static std::shared_ptr<MappedFile> write(const std::vector<Span<const uint8_t>>& parts, size_t alignment);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  Span<const uint8_t> bytes() const { return {data_, size_}; }
  // The pages of this part are no longer needed in memory; reading them again brings them back.
  static void forget(Span<const uint8_t> part);

 private:
  MappedFile() = default;
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

struct Constant {
  ConstTensor tensor;                 // type, bytes, strings
  std::shared_ptr<const void> owner;  // keeps tensor.bytes alive
  bool mapped = false;                // bytes are a window of a MappedFile

  int64_t size_bytes() const { return static_cast<int64_t>(tensor.bytes.size()); }
};
using ConstantPtr = std::shared_ptr<const Constant>;

ConstantPtr make_constant(const TensorType& type, std::vector<uint8_t> bytes);
ConstantPtr make_constant(const TensorType& type, std::string bytes);  // takes a protobuf field's memory as it is
ConstantPtr make_window(const TensorType& type, std::shared_ptr<MappedFile> file, Span<const uint8_t> bytes);
ConstantPtr make_strings(const Shape& shape, std::vector<std::string> strings);
// The same bytes under another shape with as many elements.
ConstantPtr with_shape(const ConstantPtr& c, const Shape& shape);

template <class T>
ConstantPtr make_constant_of(DType dtype, const Shape& shape, const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return make_constant({dtype, shape}, std::move(bytes));
}

// Takes the vector's memory as it is.
template <class T>
ConstantPtr make_constant_of(DType dtype, const Shape& shape, std::vector<T>&& values) {
  const auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  const auto c = std::make_shared<Constant>();
  c->tensor.type = {dtype, shape};
  c->tensor.bytes = {reinterpret_cast<const uint8_t*>(owner->data()), owner->size() * sizeof(T)};
  c->owner = owner;
  return c;
}

bool same_content(const Constant& a, const Constant& b);

}  // namespace vireo::ir

#endif  // VIREO_CONVERTER_IR_CONSTANT_H_
