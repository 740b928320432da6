#include "converter/passes/shared/match.h"

#include <algorithm>

#include "sdk/base/half.h"
#include "sdk/ops/reshape/reshape_generated.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/transpose/transpose_generated.h"

namespace vireo::passes {

bool is_scalar(const ir::Value* v, double* out) {
  if (v == nullptr || v->constant == nullptr || !dtype_is_float(v->type.dtype) || dtype_bits(v->type.dtype) < 16 ||
      v->constant->tensor.count() != 1) {
    return false;
  }
  *out = read_real(v->type.dtype, v->constant->tensor.bytes.data(), 0);
  return true;
}

bool known_ints(const ir::Value* v, std::vector<int64_t>* out) {
  out->clear();
  std::vector<Dim> dims;
  if (v == nullptr || !ir::known_elements(v, nullptr, &dims)) return false;
  for (const Dim d : dims) {
    if (is_symbolic(d)) return false;
    out->push_back(d);
  }
  return true;
}

bool is_number(const ir::Value* v, double wanted) {
  double x = 0;
  if (is_scalar(v, &x)) return x == wanted;
  std::vector<int64_t> whole;
  return v != nullptr && v->constant != nullptr && known_ints(v, &whole) && whole.size() == 1 &&
         static_cast<double>(whole[0]) == wanted;
}

std::vector<int> permutation(const ir::Node& transpose) {
  const auto* perm = transpose.attributes<attrs::Transpose>().perm();
  const int rank = transpose.in(0)->type.shape.rank;
  std::vector<int> out;
  for (int i = 0; i < rank; ++i) {
    const int p = perm == nullptr ? rank - 1 - i : perm->Get(static_cast<uint32_t>(i));
    out.push_back(p < 0 ? p + rank : p);
  }
  return out;
}

ir::Node* add_transpose(ir::Graph& g, ir::Value* x, const std::vector<int>& perm, const ir::Node& like,
                        ir::Node* before) {
  attrs::TransposeT a;
  a.perm.assign(perm.begin(), perm.end());
  return add_node(g, Op::kTranspose, pack<attrs::Transpose>(a), {x}, like, before);
}

ir::Node* add_reshape(ir::Graph& g, ir::Value* x, const Shape& shape, const ir::Node& like, ir::Node* before) {
  std::vector<int64_t> dims;
  int symbolic = 0, open = 0;
  for (int i = 0; i < shape.rank; ++i) symbolic += is_symbolic(shape[i]);
  for (int i = 0; i < shape.rank; ++i) {
    if (shape[i] == 0) return nullptr;  // would have to be told apart from "copy the extent"
    if (!is_symbolic(shape[i])) {
      dims.push_back(shape[i]);
    } else if (symbolic > 1 && i < x->type.shape.rank && x->type.shape[i] == shape[i]) {
      dims.push_back(0);
    } else {
      dims.push_back(-1);
      ++open;
    }
  }
  if (open > 1) return nullptr;
  const Shape one_dim = {1, {shape.rank}};
  ir::Value* wanted = g.add_constant("", ir::make_constant_of<int64_t>(DType::kI64, one_dim, dims));
  ir::Node* n = add_node(g, Op::kReshape, pack<attrs::Reshape>(attrs::ReshapeT{}), {x, wanted}, like, before);
  if (n == nullptr || n->out()->type.shape == shape) return n;
  g.remove(n);  // the division did not come out as the same expression
  return nullptr;
}

bool enclosed(const std::vector<ir::Node*>& inside, const ir::Node* end) {
  const auto is_inside = [&](const ir::Node* n) {
    return n == end || std::find(inside.begin(), inside.end(), n) != inside.end();
  };
  for (const ir::Node* n : inside) {
    for (const ir::Value* v : n->outputs) {
      if (v == nullptr) continue;
      if (v->output_uses != 0) return false;
      for (const ir::Use& u : v->uses) {
        if (!is_inside(u.node)) return false;
      }
    }
  }
  return true;
}

void remove_unused(ir::Graph& g, ir::Node* n, std::set<const ir::Node*>* removed) {
  for (const ir::Value* v : n->outputs) {
    if (v != nullptr && !v->unused()) return;
  }
  const std::vector<ir::Value*> inputs = n->inputs;
  if (removed != nullptr) removed->insert(n);
  g.remove(n);
  // Asked for by their values, which stay: a maker may be gone already, by way of another one.
  for (const ir::Value* v : inputs) {
    if (v != nullptr && v->producer != nullptr) remove_unused(g, v->producer, removed);
  }
}

ir::Node* add_node(ir::Graph& g, Op op, std::vector<uint8_t> attrs, std::vector<ir::Value*> inputs,
                   const ir::Node& like, ir::Node* before, size_t outputs) {
  ir::Node* n = g.add_node(op, std::move(attrs), std::move(inputs), outputs, before);
  n->name = like.name;
  std::string message;
  if (ok(ir::infer_node(g, n, nullptr, &message))) return n;
  g.remove(n);
  return nullptr;
}

std::vector<double> reals(const ir::Constant& c) {
  std::vector<double> out(static_cast<size_t>(c.tensor.count()));
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = read_real(c.tensor.type.dtype, c.tensor.bytes.data(), static_cast<int64_t>(i));
  }
  return out;
}

ir::ConstantPtr from_reals(DType dtype, const Shape& shape, const std::vector<double>& values) {
  const auto make = [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> out;
    out.reserve(values.size());
    for (const double v : values) out.push_back(static_cast<T>(v));
    return ir::make_constant_of<T>(dtype, shape, out);
  };
  if (dtype == DType::kF64) return make(double{});
  if (dtype == DType::kF32) return make(float{});
  std::vector<uint16_t> out;
  for (const double v : values) {
    out.push_back(dtype == DType::kF16 ? f32_to_f16(static_cast<float>(v)) : f32_to_bf16(static_cast<float>(v)));
  }
  return ir::make_constant_of<uint16_t>(dtype, shape, out);
}

}  // namespace vireo::passes
