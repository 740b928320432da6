#include "converter/target/costs.h"

namespace vireo::target {
namespace {

constexpr CostRow kRows[] = {
#define VIREO_RATE(name, ns, bench, text) {#name, &KernelCosts::name, true, #bench, text},
#define VIREO_LIMIT(name, number, bench, text) {#name, &KernelCosts::name, false, #bench, text},
#include "converter/target/costs/cpu.def"
#undef VIREO_RATE
#undef VIREO_LIMIT
};

constexpr KernelCosts cpu() {
  KernelCosts c;
#define VIREO_RATE(name, ns, bench, text) c.name = ns;
#define VIREO_LIMIT(name, number, bench, text) c.name = number;
#include "converter/target/costs/cpu.def"
#undef VIREO_RATE
#undef VIREO_LIMIT
  return c;
}

constexpr CostTable kTables[] = {
#define VIREO_COSTS(kind, machine, date) {#kind, machine, date, kind()},
#include "converter/target/costs/kinds.def"
#undef VIREO_COSTS
};

}  // namespace

Span<const CostRow> cost_rows() { return kRows; }
Span<const CostTable> cost_tables() { return kTables; }

const CostTable* find_costs(const std::string& kind) {
  for (const CostTable& t : kTables) {
    if (kind == t.kind) return &t;
  }
  return nullptr;
}

const KernelCosts& default_costs() { return kTables[0].costs; }

}  // namespace vireo::target
