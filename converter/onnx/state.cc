#include "converter/onnx/state.h"

#include "converter/onnx/protos.h"
#include "converter/onnx/scope.h"

namespace vireo::importer {
namespace {

std::string with_overload(const std::string& name, const std::string& overload) {
  return name + (overload.empty() ? "" : ":" + overload);
}

}  // namespace

ImportState::ImportState(::onnx::ModelProto& of, const std::string& model_path, const ConvertOptions& said, Guess taken,
                         const std::map<std::string, int64_t>& extents, Diagnostics* found)
    : model(of),
      options(said),
      guess(taken),
      known(extents),
      diagnostics(*found),
      tensors(model_path, found, &dims->budget()) {
  for (auto& f : *model.mutable_functions()) {
    const auto key = std::make_pair(plain_domain(f.domain()), with_overload(f.name(), f.overload()));
    if (functions_.emplace(key, &f).second) continue;
    diagnostics.error(Code::kBadFunction,
                      "function " + key.second + " of " + domain_text(key.first) + " is there twice",
                      "keep one of them: nothing says which is meant");
  }
}

bool ImportState::spend(ir::Budget::Kind kind, int64_t amount, const ::onnx::NodeProto* node, const Scope* scope) {
  ir::Budget& budget = dims->budget();
  const bool exceeded = budget.exceeded(kind);
  if (budget.spend(kind, amount)) return true;
  if (exceeded) return false;
  Diagnostic d;
  d.code = Code::kAboveLimit;
  if (node != nullptr) {
    d.op = node->op_type();
    d.node = node_name(*node, scope);
  }
  d.what = "the model is above the limit of " + budget.limit(kind);
  d.help = kind == ir::Budget::kNodes
               ? "call functions and unroll loops less often; a Loop that carries tensors and no sequence stays a loop"
               : "make tensors of the elements earlier: Concat and Split need no sequence";
  diagnostics.add(std::move(d));
  return false;
}

::onnx::FunctionProto* ImportState::function(const std::string& domain, const std::string& op,
                                             const std::string& overload) const {
  const auto it = functions_.find({domain, with_overload(op, overload)});
  return it == functions_.end() ? nullptr : it->second;
}

const ir::Value* ImportState::meaning(const Scope& scope, const std::string& name) const {
  for (const Scope* s = &scope; s != nullptr; s = s->outer) {
    const auto it = s->names.find(name);
    if (it != s->names.end()) return it->second == &poison ? nullptr : it->second;
  }
  return nullptr;
}

}  // namespace vireo::importer
