// A network on its way to launches: problems for templates, over memory that has no place yet.
#ifndef VIREO_DELEGATES_GPU_LOWER_WORK_H_
#define VIREO_DELEGATES_GPU_LOWER_WORK_H_

#include <string>
#include <variant>
#include <vector>

#include "delegates/gpu/lower/network.h"
#include "delegates/gpu/schedule/schedule.h"
#include "delegates/gpu/templates/attention.h"
#include "delegates/gpu/templates/chain.h"
#include "delegates/gpu/templates/gemv.h"
#include "delegates/gpu/templates/pool.h"
#include "delegates/gpu/templates/product.h"
#include "delegates/gpu/templates/recurrent.h"
#include "delegates/gpu/templates/rows.h"
#include "delegates/gpu/templates/scan.h"
#include "delegates/gpu/templates/scatter.h"
#include "delegates/gpu/templates/top.h"
#include "sdk/base/shape.h"

namespace vireo::gpu {

// What real numbers are computed in, and sums of codes.
constexpr DType kReal = DType::kF32, kSum = DType::kI32;
constexpr DType kPlaceType = DType::kI32;  // of coordinates
inline size_t axis_of(int64_t axis, int rank) { return static_cast<size_t>(axis < 0 ? axis + rank : axis); }
inline bool is_real(DType t) { return t == DType::kF32 || t == DType::kF16 || t == DType::kBF16; }
inline bool is_byte(DType t) { return t == DType::kI8 || t == DType::kU8; }
// Integers that numbers are quantized to.
inline bool is_code(DType t) { return dtype_is_integer(t) && dtype_bits(t) <= 16; }

// A run of bytes that is written once: a value of the part's border, a constant, or what a node leaves for others.
struct Memory {
  Where where = Where::kInner;
  uint32_t index = 0;  // of an input or output of the part
  uint64_t bytes = 0;
  int value = -1;                // of a constant: the value of the network
  Weight form;                   // ... and how it is kept
  std::vector<uint8_t> content;  // of a table
};

// Where the elements of a value lie: element `offset + sum of coordinate * strides` of the memory.
struct Laid {
  int memory = -1;
  int64_t offset = 0;
  Extents strides;  // one a dimension of the value
};

constexpr const char* kNotShown = "the host does not show one of its values";

Extents dense_strides(const Extents& dims);

using Problem =
    std::variant<ChainProblem, RowsProblem, ProductProblem, ConvolutionProblem, PoolProblem, DepthwiseProblem,
                 ScanProblem, AttentionProblem, RecurrentProblem, ScatterProblem, TopProblem, GemvProblem>;

// Weights of a product that are codes with scales of blocks, along the depth in both.
struct CodedWeights {
  int codes = -1, scales = -1;  // memories; below 0: there are none
  DType dtype = DType::kNone, scale_dtype = DType::kNone;
  int64_t block = 0;  // neighbours along the depth that share a scale
  int32_t zero = 0;
};

// One launch in the making.
struct Work {
  Problem problem;
  std::vector<int> operands;  // memories of the template's own: x, w
  std::vector<int> reads;     // ... of the expressions' inputs, in order, without those that are given
  std::vector<int> writes;    // ... of the outputs
  int errors = -1;            // the memory of words of errors, if an expression reports any
  uint32_t node = 0;          // of the part
  bool updates = false;       // it needs what its outputs hold, which others wrote
  CodedWeights coded;         // what operand w of a product was made from, if it may be taken in its place
};

// "chain", "rows"...
const char* template_of(const Problem& problem);
// The expression whose outputs are the work's.
Expression& last_expression(Problem& problem);
// All expressions, in the order of their bindings; some templates have none.
std::vector<Expression*> expressions_of(Problem& problem);
Dispatch dispatch_of(const Problem& problem, const Target& target);

// What nodes are lowered with. A value gets its memory when it is first asked for.
class Lowering {
 public:
  Lowering(const Network& network, const Target& target) : network_(network), target_(target) {}

  // The part's border, by the network's values. Before all nodes.
  void set_border(const std::vector<int>& inputs, const std::vector<int>& outputs);
  // Appends what a node does. "" or why there is no kernel for it.
  std::string add(const Node& node);
  // Outputs of the part that lie in other memory are copied: views, constants, inputs. Behind all nodes.
  std::string finish();

  std::vector<Memory> memories;
  std::vector<Work> works;

  // For the lowering of operators.
  const Target& target() const { return target_; }
  const Node& node() const { return *node_; }
  const Datum& value(int v) const { return network_.values[static_cast<size_t>(v)]; }
  const Datum& in(size_t i) const { return value(node_->inputs[i]); }
  const Datum& out(size_t o) const { return value(node_->outputs[o]); }
  bool has(size_t i) const { return node_->input(i) >= 0; }
  bool constant(size_t i) const { return has(i) && in(i).constant != nullptr; }
  // Integers of a constant input of int32 or int64; false where it is none.
  bool integers(size_t i, Extents* to) const;

  // The zero point of constant input `i`: all its elements are one; 0 where it is absent. False where they differ.
  bool zero_point(size_t i, int32_t* to) const;

  Laid laid(int v);
  // Weights of a product whose elements lie at `at`. A constant of float32 is kept as float16 where products of halves
  // are taken: *dtype becomes what is there. With taps, [.., channels, taps] becomes [.., taps, channels], if
  // value `v` is a constant that lies so: *turned says it. may_halve: a matrix unit reads them.
  Laid weights(int v, const Laid& at, int64_t channels, int64_t taps, bool may_halve, DType* dtype, bool* turned);
  // Constant `v`, [channels, taps] or several of them, kept as [taps, channels]; -1: it cannot be.
  int turned(int v, int64_t channels, int64_t taps);
  // The node that makes a value, or null.
  const Node* maker(int v) const;
  // The memory of words of errors.
  int errors();
  // The last expression of `work` reports errors of the node in hand.
  void report(Work* work);
  // Dense memory for a value that a node makes.
  Laid make(int v);
  // Elements of a new run of memory between the part's own nodes.
  int make_memory(uint64_t bytes);
  // Numbers that the lowering works out for kernels.
  int table(std::vector<uint8_t> content);
  // The value's elements in order, one after another; a copy where they lie otherwise.
  Laid dense(int v);
  // A value whose elements lie in memory that there is: no work.
  void lay(int v, Laid at) { laid_[static_cast<size_t>(v)] = std::move(at); }
  Work& push(Problem problem);
  // Copies elements of `from` over `shape` to `to`.
  void copy(const Extents& shape, DType dtype, const Laid& from, const Laid& to);

 private:
  std::string lower();
  // The memory of a constant in a form: each is kept once.
  int in_form(const Memory& kept);

  const Network& network_;
  const Target& target_;
  const Node* node_ = nullptr;
  std::vector<Laid> laid_;
  std::vector<int> output_memory_;  // of a value: its memory as an output of the part; -1: it is none
  std::vector<int> outputs_;        // of the part
  int errors_ = -1;
};

// Why an operator of a family runs on no kernel, or "" and its work in `l`.
std::string lower_elementwise(Lowering& l);
std::string lower_movement(Lowering& l);
std::string lower_rows(Lowering& l);
std::string lower_product(Lowering& l);
std::string lower_window(Lowering& l);
std::string lower_integer(Lowering& l);
std::string lower_position(Lowering& l);
std::string lower_indexed(Lowering& l);
std::string lower_scan(Lowering& l);
std::string lower_scatter(Lowering& l);
std::string lower_top(Lowering& l);
std::string lower_sample(Lowering& l);
std::string lower_recurrent(Lowering& l);
std::string lower_resize(Lowering& l);
std::string lower_attention(Lowering& l);

// Whether a constant of codes of 4 or 8 bits has one code in all elements: *to.
bool one_code(const Datum& d, int32_t* to);

// What value `v` was made from, if it is a matrix that codes and scales of blocks stand for: k numbers of each of n
// columns, which lie along k in memory where `by_rows`.
CodedWeights coded_weights(Lowering& l, int v, int64_t k, int64_t n, bool by_rows);

// How an integer operator ends: clamp(rne(v) + zero), as a code of `dtype`.
struct Codes {
  int32_t zero = 0, low = 0, high = 0;
  DType dtype = DType::kI8;
};
template <class Attributes>
Codes codes_of(const Attributes& a) {
  return {a.y_zero(), a.low(), a.high(), static_cast<DType>(a.output_dtype())};
}

// Builds an expression over a space: inputs first, then functions.
class ExpressionBuilder {
 public:
  explicit ExpressionBuilder(Expression* to) : to_(*to) {}
  int given(DType dtype);
  int input(DType dtype, View view);
  int table(DType dtype, View view);  // an input that kElement reads
  int function(Function f, DType type, int a, int b = -1, int c = -1);
  Step& last() { return to_.steps.back(); }
  int constant(DType type, uint64_t bits);
  int constant_f32(float value);
  int place(uint32_t axis);  // the coordinate on an axis of the space, an int32
  int code(int v, const Codes& codes);
  void output(int value, View view);

 private:
  Expression& to_;
};

// The end of an integer product: sum (given), bias (input 3 of the node) and multiplier (input 2), one for all or one a
// channel; `channel`: 1 on the epilogue's axis of channels. addends: memory of int32, one a channel, in place of the
// bias; -1: none.
int requantized(Lowering& l, ExpressionBuilder* b, const Codes& codes, const Extents& channel, std::vector<int>* reads,
                int addends = -1);
// Where a product multiplies codes as they are (ProductProblem::raw): the bias of each channel less x_zero times the
// sum of its weights, as `addends` of requantized(). The extents and strides of the node's weights begin with the
// channel's. -1 where the node's numbers are no constants.
int raw_addends(Lowering& l, int32_t x_zero, const Extents& extents, const Extents& strides, int64_t offset);

uint64_t bits_of(float value);
Shape shape_of(const Datum& v);
View view_of(const Laid& at);
// The strides of a value that is broadcast to `space`, by the rule of ONNX: aligned at the last axis.
View broadcast_view(const Laid& at, const Extents& dims, size_t axes);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_LOWER_WORK_H_
