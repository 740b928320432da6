// What kernels of a target's devices take, as tables: passes weigh forms of a graph by it, and know no delegate.
//
// One table a kind of device, costs/<kind>.def, with its machine and date. It is data that was measured: costs/check.py
// prints it beside what the delegates' benches give on this machine.
#ifndef VIREO_CONVERTER_TARGET_COSTS_H_
#define VIREO_CONVERTER_TARGET_COSTS_H_

#include <string>

#include "sdk/base/span.h"

namespace vireo::target {

// Times in ns of one thread, and what kernels serve: the rows of costs/cpu.def, which says what each is.
struct KernelCosts {
#define VIREO_RATE(name, ns, bench, text) double name = 0;
#define VIREO_LIMIT(name, number, bench, text) double name = 0;
#include "converter/target/costs/cpu.def"
#undef VIREO_RATE
#undef VIREO_LIMIT
};

struct CostRow {
  const char* name;
  double KernelCosts::*member;
  bool is_rate;       // false: a limit
  const char* bench;  // delegates/<kind>/kernels/<bench>/<bench>_bench.cc; "models": nodes of whole models
  const char* text;
};
Span<const CostRow> cost_rows();  // of every table

struct CostTable {
  const char* kind;     // of device: "cpu"
  const char* machine;  // that was measured
  const char* date;
  KernelCosts costs;
};
Span<const CostTable> cost_tables();
const CostTable* find_costs(const std::string& kind);  // null: there is no table
const KernelCosts& default_costs();                    // where no target is named, or none of its devices has a table

}  // namespace vireo::target

#endif  // VIREO_CONVERTER_TARGET_COSTS_H_
