#include "quant/schemes/scheme.h"

#include <utility>

#include "quant/schemes/bf16.h"
#include "quant/schemes/dynamic.h"
#include "quant/schemes/fp16.h"
#include "quant/schemes/weights.h"

namespace vireo::quant {
namespace {
constexpr const Scheme* kSchemes[] = {&kBf16, &kFp16, &kInt4, &kInt8Weights, &kInt8Dynamic};

// One half of a scheme.
class SchemeStage final : public Stage {
 public:
  using Run = void (*)(ir::Graph& graph, PassLog& log);
  SchemeStage(StagePlace place, std::string name, const Scheme& scheme, const char* unit, double check_atol, Run change,
              TellTensor tell)
      : place_(place),
        name_(std::move(name)),
        title_(std::string("quantize to ") + scheme.name),
        unit_(unit),
        check_atol_(check_atol),
        run_(change),
        tell_(std::move(tell)) {}

  StagePlace place() const override { return place_; }
  const std::string& name() const override { return name_; }
  const std::string& title() const override { return title_; }
  const char* unit() const override { return unit_; }
  double check_atol() const override { return check_atol_; }
  void run(ir::Graph& graph, PassLog& log) override {
    if (tell_) log.progress = [this](const std::string& tensor, double share) { tell_(*this, tensor, share); };
    run_(graph, log);
  }

 private:
  const StagePlace place_;
  const std::string name_, title_;
  const char* const unit_;
  const double check_atol_;
  const Run run_;
  const TellTensor tell_;
};

}  // namespace

Span<const Scheme* const> schemes() { return kSchemes; }

Stages stages_of(const Scheme& scheme, const TellTensor& tell) {
  const std::string name = std::string("quantize_") + scheme.name;
  Stages out = {
      std::make_shared<SchemeStage>(scheme.place, name, scheme, "products", scheme.check_atol, scheme.run, tell)};
  if (scheme.after != nullptr) {
    out.push_back(std::make_shared<SchemeStage>(StagePlace::kAfterFusion, name + "_between", scheme,
                                                "values between nodes", 0, scheme.after, tell));
  }
  return out;
}

const Scheme* find_scheme(const std::string& name) {
  for (const Scheme* s : kSchemes) {
    if (name == s->name) return s;
  }
  return nullptr;
}

std::vector<std::string> scheme_list() {
  std::vector<std::string> out;
  for (const Scheme* s : kSchemes) out.emplace_back(s->name);
  return out;
}

std::string scheme_names() {
  std::string out;
  for (const std::string& name : scheme_list()) out += (out.empty() ? "" : ", ") + name;
  return out;
}

}  // namespace vireo::quant
