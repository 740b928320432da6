// What the model says about the shapes of values inside it. It is believed only where nothing else is known: an extent
// that follows from contents the converter cannot see (Reshape to a computed shape) takes the declared number instead
// of a symbol that would need a bound. A run recomputes the extent and fails when it is larger.
#include "converter/onnx/importer.h"

namespace vireo::importer {

void Importer::read_declared() {
  const auto add = [&](const ::onnx::ValueInfoProto& info) {
    if (info.type().has_tensor_type() && info.type().tensor_type().has_shape()) {
      declared_[info.name()] = &info.type().tensor_type().shape();
    }
  };
  for (const auto& info : model_.graph().value_info()) {
    add(info);
    const auto& tensor = info.type().tensor_type();
    const auto dtype = static_cast<DType>(tensor.elem_type());
    const bool real = dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF64;
    if (!real || !tensor.has_shape() || tensor.shape().dim_size() > kMaxRank) continue;
    TensorType type{dtype, {}};
    type.shape.rank = tensor.shape().dim_size();
    bool numbers = true;
    for (int i = 0; i < type.shape.rank; ++i) {
      type.shape[i] = tensor.shape().dim(i).dim_value();
      numbers = numbers && type.shape[i] > 0;
    }
    if (numbers) stand_ins_[info.name()] = type;
  }
  for (const auto& info : model_.graph().output()) add(info);
}

// A Transpose lists as many axes as what it reads has.
void Importer::read_needed_ranks() {
  for (const auto& node : model_.graph().node()) {
    if (node.op_type() != "Transpose" || !plain_domain(node.domain()).empty() || node.input_size() != 1) continue;
    for (const auto& a : node.attribute()) {
      if (a.name() == "perm") needed_ranks_[node.input(0)] = a.ints_size();
    }
  }
}

void Importer::adopt_declared(const std::string& name, ir::Value* value) {
  const auto it = declared_.find(name);
  if (it == declared_.end() || it->second->dim_size() != value->type.shape.rank) return;
  for (int i = 0; i < value->type.shape.rank; ++i) {
    const auto& dim = it->second->dim(i);
    uint32_t atom = 0;
    if (!dim.has_dim_value() || dim.dim_value() < 0 || !dims_->is_symbol(value->type.shape[i], &atom)) continue;
    const ir::DimTable::Symbol& symbol = dims_->atoms()[atom].symbol;
    // Symbols of the inputs mean something; data-dependent ones have a bound that was derived.
    if (atom >= input_atoms_ && symbol.hi < 0 && !symbol.data_dependent) value->type.shape[i] = dim.dim_value();
  }
}

// An extent that is open in the inputs and declared to be open in an output, while constants of the graph (the target
// shape of a Reshape) fix it.
void Importer::check_declared_open(const std::string& output, int axis, const std::string& name, Dim made) {
  if (name.empty() || is_symbolic(made)) return;
  const auto& atoms = dims_->atoms();
  for (size_t i = 0; i < input_atoms_; ++i) {
    if (atoms[i].symbol.name != name || atoms[i].interval.lo == atoms[i].interval.hi) continue;
    diagnostics_->warning(
        Code::kDeclaredOtherwise,
        "dimension " + std::to_string(axis) + " of output \"" + output + "\" is declared as \"" + name +
            "\", and the model's own constants make it " + std::to_string(made) + " whatever the inputs are",
        "runs fail where \"" + name + "\" would have to be anything else: export the model with this dimension open");
  }
}

// Both are what the nodes make of them. An output without any dimension is what exporters write who do not know its
// rank.
void Importer::check_declared(const ::onnx::ValueInfoProto& output, const ir::Value* value) {
  if (!output.type().has_tensor_type()) return;
  const auto& tensor = output.type().tensor_type();
  const auto dtype = static_cast<DType>(tensor.elem_type());
  const int rank = tensor.shape().dim_size();
  std::string declared;
  if (tensor.elem_type() > 0 && tensor.elem_type() < kDTypeCount && dtype != value->type.dtype)
    declared = dtype_name(dtype);
  for (int i = 0; declared.empty() && rank == value->type.shape.rank && i < rank; ++i)
    check_declared_open(output.name(), i, tensor.shape().dim(i).dim_param(), value->type.shape[i]);
  if (rank > 0 && rank != value->type.shape.rank)
    declared += (declared.empty() ? "" : " of ") + std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions");
  if (declared.empty()) return;
  diagnostics_->warning(
      Code::kDeclaredOtherwise,
      "output \"" + output.name() + "\" is declared as " + declared + ", and its node makes" + type_text(value),
      "the output is what its node makes: correct the declaration, or add a node that converts it");
}

}  // namespace vireo::importer
