// Small questions that patterns ask.
#ifndef VIREO_CONVERTER_PASSES_SHARED_MATCH_H_
#define VIREO_CONVERTER_PASSES_SHARED_MATCH_H_

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "converter/passes/pass.h"

namespace vireo::passes {

// The node that makes `v`, if it is an `op` without bodies; else null.
inline ir::Node* maker(const ir::Value* v, Op op) {
  return v != nullptr && v->producer != nullptr && v->producer->op == op ? v->producer : nullptr;
}

// The only node that uses `v`; null when there are several uses or `v` is an output.
inline ir::Node* only_user(const ir::Value* v) {
  return v != nullptr && v->one_use() && v->uses.size() == 1 ? v->uses[0].node : nullptr;
}

// A floating-point constant of one element (any rank).
bool is_scalar(const ir::Value* v, double* out);

// Whether a float attribute can hold `number` of a graph of `t`: attributes are float32, which float64 would show.
inline bool held(double number, DType t) {
  return t != DType::kF64 || static_cast<double>(static_cast<float>(number)) == number;
}

// The other operand of a two-input node.
inline ir::Value* other_input(const ir::Node& n, const ir::Value* one) {
  if (n.inputs.size() != 2) return nullptr;
  return n.inputs[0] == one ? n.inputs[1] : n.inputs[1] == one ? n.inputs[0] : nullptr;
}

// Elements of an integer value that are known as numbers. False: they are not, or not all.
bool known_ints(const ir::Value* v, std::vector<int64_t>* out);
// One number of any plain type, integer or float: what an exponent or a divisor may be.
bool is_number(const ir::Value* v, double wanted);

// Where each dimension of a Transpose's output comes from: not negative, the default filled in.
std::vector<int> permutation(const ir::Node& transpose);
// A Transpose of `x` before `before`; null when the shape function refuses.
ir::Node* add_transpose(ir::Graph& g, ir::Value* x, const std::vector<int>& perm, const ir::Node& like,
                        ir::Node* before);
// A Reshape of `x` to `shape` before `before`; at most one extent of it is symbolic and not x's own at that place. Null
// when the result would not be of that very shape.
ir::Node* add_reshape(ir::Graph& g, ir::Value* x, const Shape& shape, const ir::Node& like, ir::Node* before);

// All that `inside` nodes make is used by them and `end` alone.
bool enclosed(const std::vector<ir::Node*>& inside, const ir::Node* end);
// Removes `n` if its outputs have no uses, then the makers of its inputs likewise. `removed` gets their addresses.
void remove_unused(ir::Graph& g, ir::Node* n, std::set<const ir::Node*>* removed = nullptr);

// Adds a node before `before`, infers its types and names it after `like`. Null when the shape function refuses, and
// the graph is as it was.
ir::Node* add_node(ir::Graph& g, Op op, std::vector<uint8_t> attrs, std::vector<ir::Value*> inputs,
                   const ir::Node& like, ir::Node* before, size_t outputs = 1);

// Elements of a float constant, f32, f64, f16 or bf16, as doubles.
std::vector<double> reals(const ir::Constant& c);
// A constant of `dtype` (as `reals` reads) from doubles, each rounded once.
ir::ConstantPtr from_reals(DType dtype, const Shape& shape, const std::vector<double>& values);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_SHARED_MATCH_H_
