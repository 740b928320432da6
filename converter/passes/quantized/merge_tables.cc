// Before   y = IntMul | IntAdd (f(x), g(x));  y = IntTable(f(x));  f, g: IntTable with a constant table, or x itself
// After    y = IntTable(x)
// Fires    where nobody else reads one of the tables' results. Codes are 8 bits, so that what the nodes do to each of
//          256 is known: HardSwish and SiLU of a quantized file (a product of x and a table of x) are one lookup. Each
//          change removes a node.
// Numerics none: the entries are what the reference kernels make of the codes.
#include "converter/passes/quantized/merge_tables.h"

#include <numeric>

#include "converter/passes/quantized/integer_region.h"
#include "converter/passes/shared/match.h"

namespace vireo::passes {
namespace {

// What `v` is a function of, and the IntTable that makes it so; null: it is `x` itself.
struct Source {
  ir::Value* x = nullptr;
  ir::Node* table = nullptr;
};
Source source_of(ir::Value* v) {
  ir::Node* const table = maker(v, Op::kIntTable);
  if (table != nullptr && table->in(1)->constant != nullptr) return {table->in(0), table};
  return {v, nullptr};
}

ir::ConstantPtr all_codes(DType dtype) {
  std::vector<uint8_t> codes(256);
  std::iota(codes.begin(), codes.end(), uint8_t{0});
  return ir::make_constant_of<uint8_t>(dtype, vector_shape(256), codes);
}

bool evaluate(const ir::Node& n, const std::vector<ir::ConstantPtr>& inputs, ir::ConstantPtr* out, PassLog& log) {
  std::vector<ir::ConstantPtr> results;
  std::string message;
  if (!ir::evaluate_node(n, inputs, 256, &results, &message)) {
    log.reject(n, message);
    return false;
  }
  *out = results[0];
  return true;
}

// The table of `n` as a function of `x`, whose operands are `sources`.
ir::ConstantPtr table_of(const ir::Node& n, const ir::Value* x, const std::vector<Source>& sources, PassLog& log) {
  const ir::ConstantPtr codes = all_codes(x->type.dtype);
  std::vector<ir::ConstantPtr> operands;
  for (const Source& s : sources) {
    operands.push_back(codes);
    if (s.table != nullptr && !evaluate(*s.table, {codes, s.table->in(1)->constant}, &operands.back(), log))
      return nullptr;
  }
  if (n.op == Op::kIntTable) operands.push_back(n.in(1)->constant);
  ir::ConstantPtr table;
  return evaluate(n, operands, &table, log) ? table : nullptr;
}

void run_merge_tables(ir::Graph& g, PassLog& log) {
  for (auto it = g.nodes().begin(); it != g.nodes().end();) {
    ir::Node& n = *it++;
    if (n.op != Op::kIntMul && n.op != Op::kIntAdd && n.op != Op::kIntTable) continue;
    std::vector<Source> sources = {source_of(n.in(0))};
    if (n.op != Op::kIntTable) sources.push_back(source_of(n.in(1)));
    ir::Value* const x = sources.front().x;
    if (dtype_bits(n.out()->type.dtype) != 8 || dtype_bits(x->type.dtype) != 8) continue;
    if (sources.back().x != x || (n.op == Op::kIntTable && n.in(1)->constant == nullptr)) continue;
    bool tables = false, gone = false;
    for (const Source& s : sources) {
      tables = tables || s.table != nullptr;
      gone = gone || (s.table != nullptr && enclosed({s.table}, &n));
    }
    if (!tables) continue;
    if (!gone) {
      log.reject(n, "others read its tables' results");
      continue;
    }
    const ir::ConstantPtr table = table_of(n, x, sources, log);
    if (table == nullptr) continue;
    g.replace_uses(n.out(), apply_table(g, x, table, n, &n));
    remove_unused(g, &n);
    log.changed();
  }
}

}  // namespace

const Pass kMergeTables = {"merge_tables", run_merge_tables};

}  // namespace vireo::passes
