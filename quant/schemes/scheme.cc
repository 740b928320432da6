#include "quant/schemes/scheme.h"

#include "quant/schemes/bf16.h"
#include "quant/schemes/fp16.h"
#include "quant/schemes/weights.h"

namespace vireo::quant {
namespace {
constexpr const Scheme* kSchemes[] = {&kBf16, &kFp16, &kInt4, &kInt8Weights};
}  // namespace

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
