// A region that begins in DequantizeLinear and ends in one QuantizeLinear, and the integer operators that it can
// become. fold_quantization finds the regions; here is one function for each form of core.
#ifndef VIREO_CONVERTER_PASSES_QUANTIZED_INTEGER_REGION_H_
#define VIREO_CONVERTER_PASSES_QUANTIZED_INTEGER_REGION_H_

#include <string>
#include <vector>

#include "converter/passes/shared/quantized.h"

namespace vireo::passes {

struct Region {
  ir::Graph* graph = nullptr;
  ir::Node* end = nullptr;      // QuantizeLinear
  ir::Node* core = nullptr;     // what computes, behind Relu and Clip
  ir::Value* result = nullptr;  // of the core
  Scale y;                      // of the end
  int32_t low = 0, high = 0;    // codes that Relu, Clip and the type leave
};

// Each returns the value of the end's type that replaces the region, its node standing before the end; null with `why`
// and the graph as it was.
ir::Value* make_int_conv(const Region& r, std::string* why);
// Gemm, MatMul; `sum` may be an Add of a constant behind the MatMul, else null. `factor`: of all that it makes.
ir::Value* make_int_gemm(const Region& r, ir::Node* product, ir::Node* sum, double factor, std::string* why);
ir::Value* make_int_add(const Region& r, std::string* why);
ir::Value* make_int_mul(const Region& r, std::string* why);
ir::Value* make_int_affine(const Region& r, std::string* why);  // PRelu, BatchNormalization
ir::Value* make_int_average(const Region& r, std::string* why);
ir::Value* make_int_softmax(const Region& r, std::string* why);
ir::Value* make_int_resize(const Region& r, std::string* why);  // linear and cubic
ir::Value* make_int_concat(const Region& r, std::string* why);
// No core at all, or only Relu and Clip: from one scale to another, for codes of which one has 16 bits.
ir::Value* make_int_rescale(const Region& r, std::string* why);

// The codes that input `i` of `n` was dequantized from; null with `why`.
ir::Value* operand(const ir::Node& n, size_t i, Scale* s, std::string* why);
// What `n`, a Mul or Div, multiplies with a positive number or divides by it, and the factor; null: it is nothing of
// that, or changes the shape.
ir::Value* scaled_value(const ir::Node& n, double* factor);
// False with `why` where one of them has codes of 16 bits.
bool all_bytes(const Scale& x, const Scale& y, std::string* why);
// `x`, of scale `from`, as codes of the region's end: IntAffine before the end, or `x` itself. Null with `why`.
ir::Value* add_rescale(const Region& r, ir::Value* x, const Scale& from, std::string* why);
// The last attributes of every integer operator.
template <class Attrs>
void set_codes(const Region& r, Attrs* a) {
  a->y_zero = r.y.zero();
  a->low = r.low;
  a->high = r.high;
  a->output_dtype = static_cast<uint8_t>(r.y.dtype);
}
// The value of the node that was made (null: its shape function refused it), if it has the end's type. Else the node
// is removed again.
ir::Value* finish(const Region& r, ir::Node* n, std::string* why);

// The 256 values that `dequantize`, of one scale, makes of 8-bit codes, in the order of the codes' bytes. Its kernel
// computes them. Null if the kernel refuses.
ir::ConstantPtr all_values(const ir::Node& dequantize);
// table[code] = the code that `quantize`, of one scale, makes of values[code], as its kernel computes it. Null where a
// value is NaN.
ir::ConstantPtr make_table(const ir::ConstantPtr& values, const ir::Node& quantize);
// IntTable before `before`; `x` itself where the table changes nothing.
ir::Value* apply_table(ir::Graph& g, ir::Value* x, const ir::ConstantPtr& table, const ir::Node& like,
                       ir::Node* before);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_QUANTIZED_INTEGER_REGION_H_
