// A node as several calls, with values between them.
#ifndef VIREO_CONVERTER_FIRMWARE_LOWER_H_
#define VIREO_CONVERTER_FIRMWARE_LOWER_H_

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "converter/firmware/kernel_numbers.h"
#include "converter/firmware/read_moves.h"
#include "converter/firmware/read_rows.h"
#include "delegates/mcu/kernels/integers.h"
#include "sdk/ops/shared/value_reader.h"

namespace vireo::firmware {

// What a reader of nodes gets: the node, whether the core computes in float32, and where its calls go.
class Lower {
 public:
  Lower(const NodeView& node, bool reals, MadeValues* made, std::vector<Call>* calls)
      : q(node), reals_(reals), made_(made), calls_(calls) {}

  const NodeView& q;

  bool in_reals() const { return reals_; }
  DType type(uint32_t i) const { return i < q.input_count ? q.inputs[i].type.dtype : DType::kNone; }
  bool is_present(uint32_t i) const { return type(i) != DType::kNone; }
  bool is_known(uint32_t i) const { return !is_present(i) || q.inputs[i].constant != nullptr; }
  // Of a value that is there; of a constant.
  const Shape& shape(uint32_t i) const { return q.inputs[i].type.shape; }
  int64_t count(uint32_t i) const { return product(shape(i), 0, shape(i).rank); }
  int64_t number(uint32_t i, int64_t at) const { return read_integer(type(i), q.inputs[i].constant, at); }
  const Shape& y() const { return q.outputs[0].type.shape; }
  int64_t y_count() const { return product(y(), 0, y().rank); }
  int32_t x(uint32_t i = 0) const { return input(q, i); }
  int32_t result(uint32_t o = 0) const {
    return o < q.node.output_count && q.outputs[o].type.dtype != DType::kNone ? q.node.outputs[o] : kNothing;
  }

  MadeValues& made() { return *made_; }
  int32_t value(int64_t bytes) { return made_->add(bytes); }
  template <class T>
  int32_t constant(const std::vector<T>& numbers) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(numbers.data());
    return made_->constant({bytes, bytes + numbers.size() * sizeof(T)});
  }

  // A call of a kernel; its last operand but for scratch memory is its result.
  template <class Parameters>
  Call& put(uint16_t kernel, const Parameters& p, std::vector<int32_t> operands, std::vector<int32_t> inputs,
            int32_t output, uint32_t inplace = 0) {
    Call& call = calls_->emplace_back();
    call.kernel = kernel;
    call.parameters = bytes_of(p);
    call.operands = std::move(operands);
    call.inputs = std::move(inputs);
    call.outputs = {output};
    call.inplace = inplace;
    return call;
  }
  void put(Call call) { calls_->push_back(std::move(call)); }
  std::string move(int32_t from, int32_t to, DType type, const Shape& y, const StridedView& view) {
    return make_move(from, to, type, y, view, calls_);
  }

  // Input i as a dense value of the shape `to`, to which it broadcasts: itself, or a copy. kNothing: it has too many
  // axes.
  int32_t expanded(uint32_t i, const Shape& to) {
    const Shape& from = shape(i);
    if (count(i) == product(to, 0, to.rank)) return x(i);
    const StridedView dense = dense_view(from);
    StridedView view;
    for (int k = 0; k < to.rank; ++k) {
      const int at = k - (to.rank - from.rank);
      view.strides[k] = at < 0 || from[at] == 1 ? 0 : dense.strides[at];
    }
    const int32_t copy = value(product(to, 0, to.rank) * dtype_bits(type(i)) / 8);
    return move(x(i), copy, type(i), to, view).empty() ? copy : kNothing;
  }

  // Two operands that are broadcast. Binary: as read_rows wants it. False: they have too many axes.
  template <class Binary>
  bool rows(Binary* f, int32_t* a, int32_t* b) {
    *a = x(0), *b = x(1);
    if (read_rows(q, f)) return true;
    *a = expanded(0, y()), *b = expanded(1, y());
    f->rows = 1, f->columns = small(y_count()), f->a_row = f->b_row = 0, f->a_step = f->b_step = 1;
    return *a != kNothing && *b != kNothing;
  }

 private:
  bool reals_;
  MadeValues* made_;
  std::vector<Call>* calls_;
};

inline constexpr const char* kTooManyAxes = "kernels for microcontrollers move along six axes at most";

// Elements' types as kernels have them (delegates/mcu/kernels/integers.h); -1: none.
inline int32_t element_type(DType t) {
  switch (t) {
    case DType::kU8:
      return VIREO_MCU_BYTE;
    case DType::kI8:
      return VIREO_MCU_SIGNED_BYTE;
    case DType::kU16:
      return VIREO_MCU_HALF;
    case DType::kI16:
      return VIREO_MCU_SIGNED_HALF;
    case DType::kU32:
      return VIREO_MCU_WORD;
    case DType::kI32:
      return VIREO_MCU_SIGNED_WORD;
    case DType::kBool:
      return VIREO_MCU_BOOL;
    case DType::kI64:
      return VIREO_MCU_LONG;
    case DType::kF32:
      return VIREO_MCU_REAL;
    default:
      return -1;
  }
}

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_LOWER_H_
