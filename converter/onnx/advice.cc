// What to say when a model leaves open what a conversion must know.
#include <set>
#include <utility>

#include "converter/onnx/importer.h"

namespace vireo::importer {
namespace {

// Names of the symbols in `d`, those inside divisions, minima and maxima too.
void collect_symbols(const ir::DimTable& dims, Dim d, std::set<std::string>* out) {
  for (const auto& [monomial, coefficient] : dims.polynomial(d)) {
    for (const uint32_t id : monomial) {
      const ir::DimTable::Atom& atom = dims.atoms()[id];
      if (atom.kind == ExprKind::kSymbol) {
        out->insert(atom.symbol.name);
      } else {
        collect_symbols(dims, atom.a, out);
        collect_symbols(dims, atom.b, out);
      }
    }
  }
}

}  // namespace

std::string unknown_operator_advice(const std::string& domain, const std::string& op) {
  if (domain == "com.microsoft.nchwc") {
    return "the file was optimised for the machine that saved it: save it with ORT_ENABLE_EXTENDED instead of "
           "ORT_ENABLE_ALL, or convert the original";
  }
  if (!domain.empty() && domain != "ai.onnx.ml") {
    return "operators of other domains are served when the model brings them as functions: export it with its "
           "model-local functions, or without this optimisation";
  }
  if (op.find("Sequence") != std::string::npos || op.find("Optional") != std::string::npos)
    return "sequences and optional values are not served: export the model with tensors in their place";
  return "export the model without it, or write it with other operators (sdk/ops/COVERAGE.md lists what is there)";
}

std::string Importer::shape_advice(const Scope& scope, const ir::Value* condition) const {
  // Back from the condition to where elements are known as expressions over dimensions.
  std::set<std::string> symbols;
  std::set<const ir::Value*> seen;
  std::vector<const ir::Value*> left{condition};
  while (!left.empty()) {
    const ir::Value* v = left.back();
    left.pop_back();
    if (v == nullptr || !seen.insert(v).second || v->constant != nullptr) continue;
    if (v->contents) {
      for (const Dim d : *v->contents) collect_symbols(*dims_, d, &symbols);
    } else if (v->producer != nullptr) {
      left.insert(left.end(), v->producer->inputs.begin(), v->producer->inputs.end());
    }
  }
  const Scope* model = &scope;
  while (model->outer != nullptr) model = model->outer;
  std::string options;
  for (const ir::Value* input : model->graph->inputs()) {
    std::string shape;
    bool decides = false;
    for (int i = 0; i < input->type.shape.rank; ++i) {
      std::set<std::string> own;
      collect_symbols(*dims_, input->type.shape[i], &own);
      for (const std::string& name : own) decides = decides || symbols.count(name) != 0;
      shape += (i == 0 ? "" : ",") + dims_->text(input->type.shape[i]);
    }
    if (decides) options += " --shape " + input->name + "=" + shape;
  }
  if (options.empty())
    return "give the inputs' shapes (--shape) if they decide the condition, or export the model without it";
  return "sizes decide it: convert with" + options + ", numbers in place of the names";
}

}  // namespace vireo::importer
