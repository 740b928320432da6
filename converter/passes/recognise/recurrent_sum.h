// What a gate of a recurrent cell adds up before its function: values times columns of constant matrices, and
// constants.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_RECURRENT_SUM_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_RECURRENT_SUM_H_

#include <set>
#include <vector>

#include "converter/ir/graph.h"

namespace vireo::passes {

// Some neighbouring elements of each row of `v`: from `first` on, as many as the cell has units.
struct Columns {
  ir::Value* v = nullptr;
  int64_t first = 0;
};

// x [.., rows] times w[row .. row + rows, column .. column + units]; `turned`: w is [columns, rows].
struct Term {
  ir::Value* x = nullptr;
  const ir::Value* w = nullptr;
  int64_t row = 0, rows = 0, column = 0;
  bool turned = false;

  bool same_weights(const Term& o) const {
    return w->constant == o.w->constant && row == o.row && rows == o.rows && column == o.column && turned == o.turned;
  }
};

using Inside = std::set<ir::Node*>;

struct Sum {
  std::vector<Term> terms;
  std::vector<float> bias;        // one value a unit; empty: none
  std::vector<Columns> products;  // of two values, neither constant: Mul nodes' results
  const char* refused = nullptr;  // why it is no such sum
};

// Where the columns come from, behind Split, Slice and views that keep rows as they are.
Columns locate(Columns c, int64_t units, Inside* inside);
// y = f(x), with y's columns located: x's columns; else no value.
Columns under(Columns y, Op f, int64_t units, Inside* inside);
// Reads the float32 sum that makes `c`. False: out->refused tells why.
bool read_sum(Columns c, int64_t units, Sum* out, Inside* inside);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_RECURRENT_SUM_H_
