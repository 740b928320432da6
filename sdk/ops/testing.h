// Runs one operator as a session would: attributes verified, shapes inferred, the reference kernel called on 64-byte
// aligned memory with a guard after each output. For tests alone.
#ifndef VIREO_SDK_OPS_TESTING_H_
#define VIREO_SDK_OPS_TESTING_H_

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sdk/base/half.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/op.h"

namespace vireo {

struct TestTensor {
  TensorType type;
  std::vector<uint8_t> bytes;        // dense
  std::vector<std::string> strings;  // kString only

  template <class T>
  std::vector<T> as() const {
    std::vector<T> out(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
  }
};

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::kI8;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::kU8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::kI16;
};
template <>
struct DTypeOf<uint16_t> {
  static constexpr DType value = DType::kU16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<uint32_t> {
  static constexpr DType value = DType::kU32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<uint64_t> {
  static constexpr DType value = DType::kU64;
};
template <>
struct DTypeOf<F16> {
  static constexpr DType value = DType::kF16;
};
template <>
struct DTypeOf<BF16> {
  static constexpr DType value = DType::kBF16;
};

Shape make_shape(std::initializer_list<int64_t> dims);
inline Shape make_shape(const std::vector<int64_t>& dims) {
  Shape s;
  s.rank = static_cast<int32_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) s.dims[i] = dims[i];
  return s;
}

class OpTest {
 public:
  explicit OpTest(Op op, std::vector<uint8_t> attrs = {}) : op_(op), attrs_(std::move(attrs)) {}

  template <class T>
  OpTest& input(const std::vector<int64_t>& dims, const std::vector<T>& values) {
    TestTensor t;
    t.type = {DTypeOf<T>::value, make_shape(dims)};
    t.bytes.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
    return input(std::move(t));
  }
  OpTest& input_bool(const std::vector<int64_t>& dims, const std::vector<uint8_t>& values);
  OpTest& input_strings(const std::vector<int64_t>& dims, const std::vector<std::string>& values);
  OpTest& input(TestTensor t);
  OpTest& absent();           // an optional input that is not given
  OpTest& outputs(int n);     // default 1
  OpTest& in_place();         // output 0 in the memory of input 0
  OpTest& unknown(Dim most);  // bound of each extent that only the data tell, default 0
  OpTest& slots(int n);       // threads of the Parallel given to the kernel, default 1 (emulated serially)

  // Infers and runs. Outputs' true shapes are in y(i).type.
  Status run();
  // Only the shape function; contents of inputs are known.
  Status infer();
  const TestTensor& y(int i = 0) const { return results_[static_cast<size_t>(i)]; }
  const char* message() const { return error_.message; }

  Op op() const { return op_; }
  const std::vector<uint8_t>& attrs() const { return attrs_; }
  const std::vector<TestTensor>& inputs() const { return inputs_; }  // dtype kNone: absent

 private:
  Op op_;
  std::vector<uint8_t> attrs_;
  std::vector<TestTensor> inputs_;
  std::vector<TestTensor> results_;
  std::vector<TensorType> types_;
  int outputs_ = 1;
  int slots_ = 1;
  Dim unknown_ = 0;
  bool in_place_ = false;
  Error error_;
};

}  // namespace vireo

#endif  // VIREO_SDK_OPS_TESTING_H_
