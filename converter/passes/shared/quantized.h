// What patterns ask about quantized values: which codes a float value stands for, and which codes it is to become.
#ifndef VIREO_CONVERTER_PASSES_SHARED_QUANTIZED_H_
#define VIREO_CONVERTER_PASSES_SHARED_QUANTIZED_H_

#include <algorithm>
#include <string>
#include <vector>

#include "converter/passes/shared/match.h"

namespace vireo::passes {

// The parameters of a QuantizeLinear or DequantizeLinear node: real = (code - zero) * scale.
struct Scale {
  std::vector<double> scales;  // one, or one for each index of `axis`
  std::vector<int32_t> zeros;  // as many
  int axis = 0;                // normalised; means nothing for one scale
  DType dtype = DType::kNone;  // of the codes

  bool per_tensor() const { return scales.size() == 1; }
  double scale(size_t c = 0) const { return scales[per_tensor() ? 0 : c]; }
  int32_t zero(size_t c = 0) const { return zeros[per_tensor() ? 0 : c]; }
  bool operator==(const Scale& o) const { return dtype == o.dtype && scales == o.scales && zeros == o.zeros; }
};

// Reads the parameters of `n`. False with the reason in `why` where they are not constant, or a scale is not a positive
// number, or they come in blocks.
bool read_scale(const ir::Node& n, Scale* out, std::string* why);

// Codes that integer operators compute on: 8 or 16 bits.
bool is_code(DType dtype);
bool is_half_word(DType dtype);

// `v` = DequantizeLinear of codes with one scale: its codes. Null with the reason in `why`.
ir::Value* codes_of(const ir::Value* v, Scale* out, std::string* why);

// What `n`, a QuantizeLinear or DequantizeLinear of one constant scale, makes of `x`, as its kernel computes it. Null
// where it refuses.
ir::ConstantPtr rescaled(const ir::Node& n, const ir::ConstantPtr& x);

// Elements of `v` where it is a float constant or DequantizeLinear of a constant, as doubles; false: it is neither.
bool constant_reals(const ir::Value* v, std::vector<double>* out);

// The code that `quantize`, of one constant scale, makes of `real`, rounded to the type that it takes.
// `real` is not NaN.
int32_t code_of(const ir::Node& quantize, double real);
int32_t least(DType dtype);
int32_t greatest(DType dtype);

// Weights as int8 or int4, whatever type of 8 or 4 bits they came in: an unsigned code and its zero point both lose
// half of their type's range.
struct Weights {
  ir::ConstantPtr codes;
  Scale scale;
};
// One of them as a number.
int32_t weight_at(const ir::Constant& codes, int64_t i);
// Numbers as weights of `dtype`, int8 or int4.
ir::ConstantPtr weights_constant(DType dtype, const Shape& shape, const std::vector<int32_t>& numbers);
// `v` = DequantizeLinear(constant), with one scale or one for each index of `axis`.
bool weights_of(const ir::Value* v, int axis, Weights* out, std::string* why);

// Bias as int32 codes of scale product[c], product[c] = x's scale * w's: rne(bias / product[c]). `count` codes from as
// many reals or from one.
bool bias_codes(const std::vector<double>& reals, const std::vector<double>& product, size_t count,
                std::vector<int32_t>* out, std::string* why);

// False where a sum over |x - x_zero| <= x_span and column c's weights and bias could leave int32. `column(c)` is the
// sum of |w - w_zero| there.
bool sums_fit(const std::vector<double>& columns, double x_span, const std::vector<int32_t>& bias, std::string* why);
// The largest |code - zero|.
double span_of(DType dtype, int32_t zero);

// numerator / denominator as the float32 multiplier of requantize.h: rounded once; false where that is no normal
// number.
bool multiplier_of(double value, float* out, std::string* why);

// How a window moves: the attributes that all operators with one have under the same names. Lists that say what their
// absence says are left out of the file.
template <class From, class To>
void copy_window(const From& from, To* to) {
  const auto unless_all = [](const std::vector<int32_t>& list, int32_t x) {
    return std::all_of(list.begin(), list.end(), [x](int32_t i) { return i == x; }) ? std::vector<int32_t>() : list;
  };
  to->strides = unless_all(from.strides, 1);
  to->dilations = unless_all(from.dilations, 1);
  to->pads = unless_all(from.pads, 0);
  to->auto_pad = from.auto_pad;
  to->layout = from.layout;
}

// Of 8 or 16 bits.
ir::ConstantPtr code_constant(DType dtype, const Shape& shape, const std::vector<int32_t>& codes);
inline Shape vector_shape(int64_t n) {
  Shape s;
  s.rank = 1;
  s.dims[0] = n;
  return s;
}

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SHARED_QUANTIZED_H_
