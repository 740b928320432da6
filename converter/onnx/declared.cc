// A declaration is believed only where nothing else is known: an extent that follows from contents the converter cannot
// see (Reshape to a computed shape) takes the declared number instead of a symbol that would need a bound. A run
// recomputes the extent and fails when it is larger.
#include "converter/onnx/declared.h"

#include "converter/onnx/protos.h"
#include "converter/onnx/reproduce.h"
#include "converter/onnx/scope.h"
#include "converter/onnx/state.h"

namespace vireo::importer {

namespace {

using Shapes = std::map<std::string, const ::onnx::TensorShapeProto*>;

void add_shape(const ::onnx::ValueInfoProto& info, Shapes* shapes) {
  if (info.type().has_tensor_type() && info.type().tensor_type().has_shape())
    (*shapes)[info.name()] = &info.type().tensor_type().shape();
}

// False: the value is not of real numbers, or not all of its extents are declared as numbers. Integers may be extents
// or axes, which must be known as more than a type.
bool real_type(const ::onnx::ValueInfoProto& info, TensorType* type) {
  const auto& tensor = info.type().tensor_type();
  const auto dtype = static_cast<DType>(tensor.elem_type());
  const bool real = dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF64;
  if (!real || !tensor.has_shape() || tensor.shape().dim_size() > kMaxRank) return false;
  *type = {dtype, {}};
  type->shape.rank = tensor.shape().dim_size();
  bool numbers = true;
  for (int i = 0; i < type->shape.rank; ++i) {
    type->shape[i] = tensor.shape().dim(i).dim_value();
    numbers = numbers && type->shape[i] > 0;
  }
  return numbers;
}

// A Transpose lists as many axes as what it reads has.
std::map<std::string, int> ranks_of_readers(const Nodes& nodes) {
  std::map<std::string, int> out;
  for (const auto& node : nodes) {
    if (node.op_type() != "Transpose" || !plain_domain(node.domain()).empty() || node.input_size() != 1) continue;
    for (const auto& a : node.attribute()) {
      if (a.name() == "perm") out[node.input(0)] = a.ints_size();
    }
  }
  return out;
}

}  // namespace

void Declared::read() {
  const ::onnx::GraphProto& graph = state_.model.graph();
  needed_ranks_ = ranks_of_readers(graph.node());
  if (!state_.options.shapes.empty()) return;
  for (const auto& info : graph.value_info()) {
    add_shape(info, &shapes_);
    TensorType type;
    if (real_type(info, &type)) stand_ins_[info.name()] = type;
  }
  for (const auto& info : graph.output()) add_shape(info, &shapes_);
}

void Declared::forget(const std::string& name) {
  shapes_.erase(name);
  stand_ins_.erase(name);
}

const ::onnx::TensorShapeProto* Declared::shape(const std::string& name) const {
  const auto it = shapes_.find(name);
  return it == shapes_.end() ? nullptr : it->second;
}

int Declared::rank(const std::string& name) const {
  if (const auto* declared = shape(name)) return declared->dim_size();
  const auto needed = needed_ranks_.find(name);
  return needed == needed_ranks_.end() ? -1 : needed->second;
}

const TensorType* Declared::stand_in(const std::string& name) const {
  const auto it = stand_ins_.find(name);
  return it == stand_ins_.end() ? nullptr : &it->second;
}

void Declared::adopt(const std::string& name, ir::Value* value) const {
  const ::onnx::TensorShapeProto* declared = shape(name);
  if (declared == nullptr || declared->dim_size() != value->type.shape.rank) return;
  for (int i = 0; i < value->type.shape.rank; ++i) {
    const auto& dim = declared->dim(i);
    uint32_t atom = 0;
    if (!dim.has_dim_value() || dim.dim_value() < 0 || !state_.dims->is_symbol(value->type.shape[i], &atom)) continue;
    const ir::DimTable::Symbol& symbol = state_.dims->atoms()[atom].symbol;
    // Symbols of the inputs mean something; data-dependent ones have a bound that was derived.
    if (atom >= state_.input_atoms && symbol.hi < 0 && !symbol.data_dependent) value->type.shape[i] = dim.dim_value();
  }
}

// An extent that is open in the inputs and declared to be open in an output, while constants of the graph (the target
// shape of a Reshape) fix it.
void Declared::check_open(const std::string& output, int axis, const std::string& name, Dim made) const {
  if (name.empty() || is_symbolic(made)) return;
  const auto& atoms = state_.dims->atoms();
  for (size_t i = 0; i < state_.input_atoms; ++i) {
    if (atoms[i].symbol.name != name || atoms[i].interval.lo == atoms[i].interval.hi) continue;
    state_.diagnostics.warning(
        Code::kDeclaredOtherwise,
        "dimension " + std::to_string(axis) + " of output \"" + output + "\" is declared as \"" + name +
            "\", and the model's own constants make it " + std::to_string(made) + " whatever the inputs are",
        "runs fail where \"" + name + "\" would have to be anything else: export the model with this dimension open");
  }
}

// Both are what the nodes make of them. An output without any dimension is what exporters write who do not know its
// rank.
void Declared::check(const ::onnx::ValueInfoProto& output, const ir::Value* value) const {
  if (!output.type().has_tensor_type()) return;
  const auto& tensor = output.type().tensor_type();
  const auto dtype = static_cast<DType>(tensor.elem_type());
  const int rank = tensor.shape().dim_size();
  std::string declared;
  if (tensor.elem_type() > 0 && tensor.elem_type() < kDTypeCount && dtype != value->type.dtype)
    declared = dtype_name(dtype);
  for (int i = 0; declared.empty() && rank == value->type.shape.rank && i < rank; ++i)
    check_open(output.name(), i, tensor.shape().dim(i).dim_param(), value->type.shape[i]);
  if (rank > 0 && rank != value->type.shape.rank)
    declared += (declared.empty() ? "" : " of ") + std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions");
  if (declared.empty()) return;
  state_.diagnostics.warning(
      Code::kDeclaredOtherwise,
      "output \"" + output.name() + "\" is declared as " + declared + ", and its node makes" +
          reproducer_.type_text(value),
      "the output is what its node makes: correct the declaration, or add a node that converts it");
}

// Exporters that declare one value wrongly mostly do so with many: the first is named, the others are counted.
void Declared::check_inside(const Scope& scope) const {
  std::string first;
  size_t others = 0;
  for (const auto& info : state_.model.graph().value_info()) {
    const int32_t type = info.type().tensor_type().elem_type();
    const auto at = scope.names.find(info.name());
    if (type <= 0 || type >= kDTypeCount || at == scope.names.end() || at->second == &state_.poison) continue;
    const ir::Value* value = at->second;
    if (value->type.dtype == static_cast<DType>(type) || value->type.dtype == DType::kNone) continue;
    if (first.empty()) {
      first = "value \"" + info.name() + "\" is declared as " + dtype_name(static_cast<DType>(type)) +
              ", and its node makes" + reproducer_.type_text(value);
    } else {
      ++others;
    }
  }
  if (first.empty()) return;
  if (others != 0) first += "; so are " + std::to_string(others) + (others == 1 ? " other" : " others");
  state_.diagnostics.warning(Code::kDeclaredOtherwise, first,
                             "values are what their nodes make: correct value_info, or run onnx.shape_inference again");
}

}  // namespace vireo::importer
