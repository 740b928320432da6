#include "sdk/ops/kernel.h"
#include "sdk/ops/regex/regex_generated.h"

namespace vireo {
namespace {

Status run_regex(const KernelContext& ctx) {
  const auto& a = ctx.attrs<attrs::RegexFullMatch>();
  const uint32_t classes = a.next()->size() / a.accepts()->size();
  const Tensor& x = ctx.required(0);
  for (int64_t i = 0, n = x.count(); i < n; ++i) {
    const StringRef& s = x.as<const StringRef>()[i];
    uint32_t state = 0;
    for (size_t k = 0; k < s.size; ++k)
      state = a.next()->Get(state * classes + a.classes()->Get(static_cast<uint8_t>(s.data[k])));
    ctx.out(0)->as<uint8_t>()[i] = a.accepts()->Get(state) != 0;
  }
  return Status::kOk;
}

}  // namespace

extern const RefKernel kRegexFullMatchRef;
const RefKernel kRegexFullMatchRef = {run_regex, nullptr};

}  // namespace vireo
