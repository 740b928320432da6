#include "converter/passes/recognise/recurrent_sum.h"

#include "converter/passes/shared/match.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/gemm/gemm_generated.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/split/split_generated.h"

namespace vireo::passes {
namespace {

constexpr int kMostParts = 64;  // of a sum: real ones have a handful, and equal addends double at each Add

int64_t last_extent(const ir::Value* v) {  // -1: not known
  const Shape& s = v->type.shape;
  return s.rank == 0 || is_symbolic(s[s.rank - 1]) ? -1 : s[s.rank - 1];
}

// Where the part of a row begins that a Split along the last axis gives; -1: it is another Split.
int64_t split_offset(const ir::Node& n, uint32_t output) {
  const int rank = n.in(0)->type.shape.rank, axis = n.attributes<attrs::Split>().axis();
  if ((axis < 0 ? axis + rank : axis) != rank - 1) return -1;
  int64_t at = 0;
  for (uint32_t i = 0; i < output; ++i) {
    const ir::Value* part = n.out(i);
    if (part == nullptr || last_extent(part) < 0) return -1;
    at += last_extent(part);
  }
  return at;
}

// The same for a Slice that takes neighbours of the last axis and all else.
int64_t slice_offset(const ir::Node& n) {
  const Shape &x = n.in(0)->type.shape, &y = n.out()->type.shape;
  std::vector<int64_t> starts, axes, steps;
  if (x.rank != y.rank || x.rank == 0 || !known_ints(n.in(1), &starts) || last_extent(n.in(0)) < 0) return -1;
  for (int i = 0; i + 1 < x.rank; ++i) {
    if (x[i] != y[i]) return -1;
  }
  if (n.in(3) != nullptr && !known_ints(n.in(3), &axes)) return -1;
  if (n.in(4) != nullptr && !known_ints(n.in(4), &steps)) return -1;
  for (const int64_t s : steps) {
    if (s != 1) return -1;
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis = i < axes.size() ? axes[i] : static_cast<int64_t>(i);
    if ((axis < 0 ? axis + x.rank : axis) != x.rank - 1) continue;
    const int64_t extent = last_extent(n.in(0)), start = starts[i] < 0 ? starts[i] + extent : starts[i];
    return start < 0 ? 0 : start > extent ? -1 : start;
  }
  return 0;
}

bool keeps_rows(const ir::Node& n) {
  switch (n.op) {
    case Op::kReshape:
    case Op::kSqueeze:
    case Op::kUnsqueeze:
    case Op::kFlatten:
      return last_extent(n.out()) >= 0 && n.in(0)->type.shape.rank > 0 && last_extent(n.in(0)) == last_extent(n.out());
    default:
      return false;
  }
}

class Reader {
 public:
  Reader(int64_t units, Sum* out, Inside* inside) : units_(units), out_(*out), inside_(inside) {}

  bool read(Columns c) {
    if (++parts_ > kMostParts) return refuse("a gate adds too many parts");
    c = locate(c, units_, inside_);
    if (c.v == nullptr) return refuse("a gate adds nothing");
    if (c.first + units_ > last_extent(c.v) && c.v->constant == nullptr) return refuse("a gate's term is broadcast");
    if (c.v->constant != nullptr) return bias(*c.v, c.first);
    ir::Node* n = c.v->producer;
    if (n == nullptr) return refuse("a gate adds what is no product with weights");
    switch (n->op) {
      case Op::kAdd:
        inside_->insert(n);
        return addend(n->in(0), *n, c.first) && addend(n->in(1), *n, c.first);
      case Op::kMatMul:
        inside_->insert(n);
        return product(*n, n->in(1), false, c.first);
      case Op::kGemm: {
        const auto& a = n->attributes<attrs::Gemm>();
        if (a.trans_a() || a.alpha() != 1 || (n->in(2) != nullptr && a.beta() != 1))
          return refuse("a gate's Gemm scales or transposes");
        inside_->insert(n);
        return product(*n, n->in(1), a.trans_b(), c.first) && (n->in(2) == nullptr || addend(n->in(2), *n, c.first));
      }
      case Op::kMul:
        inside_->insert(n);
        out_.products.push_back(c);
        return true;
      default:
        return refuse("a gate adds what is no product with weights");
    }
  }

 private:
  bool refuse(const char* why) {
    out_.refused = why;
    return false;
  }

  bool addend(ir::Value* v, const ir::Node& sum, int64_t first) {
    if (v == nullptr) return refuse("an operand is missing");
    if (v->constant != nullptr) return bias(*v, first);
    if (!(v->type == sum.out()->type)) return refuse("a gate's term is broadcast");
    return read({v, first});
  }

  // One value a column, or one for all; rows that repeat it count as one.
  bool bias(const ir::Value& v, int64_t first) {
    const ConstTensor& t = v.constant->tensor;
    const int64_t count = t.count(), columns = v.type.shape.rank == 0 ? 1 : v.type.shape[v.type.shape.rank - 1];
    const bool fits = v.type.dtype == DType::kF32 && count > 0 && (columns == 1 || first + units_ <= columns);
    if (!fits) return refuse("a gate's bias is not one value a unit");
    const auto at = [&](int64_t i) { return read_element<float>(t.bytes.data(), i); };
    for (int64_t i = columns; i < count; ++i) {
      if (at(i) != at(i - columns)) return refuse("a gate's bias is not one value a unit");
    }
    if (out_.bias.empty()) out_.bias.resize(static_cast<size_t>(units_));
    for (int64_t i = 0; i < units_; ++i) out_.bias[static_cast<size_t>(i)] += at(columns == 1 ? 0 : first + i);
    return true;
  }

  bool product(const ir::Node& n, const ir::Value* w, bool turned, int64_t first) {
    if (w == nullptr || w->constant == nullptr) return refuse("a gate's weights are not constant");
    if (w->type.shape.rank != 2 || w->type.dtype != DType::kF32) return refuse("a gate's weights are no matrix");
    ir::Value* x = n.in(0);
    const int64_t depth = w->type.shape[turned ? 1 : 0], columns = w->type.shape[turned ? 0 : 1];
    if (last_extent(x) != depth || first + units_ > columns) return refuse("a gate's weights are no matrix");
    Term t{x, w, 0, depth, first, turned};
    const ir::Node* join = maker(x, Op::kConcat);
    const int axis = join == nullptr ? 0 : join->attributes<attrs::Concat>().axis();
    if (join == nullptr || (axis != -1 && axis != x->type.shape.rank - 1)) {
      out_.terms.push_back(t);
      return true;
    }
    for (ir::Value* part : join->inputs) {  // the rows of the weights, one after the other
      t.x = part;
      t.rows = last_extent(part);
      if (t.rows < 0) return refuse("what is joined in front of a gate has an extent that is not known");
      out_.terms.push_back(t);
      t.row += t.rows;
    }
    return true;
  }

  const int64_t units_;
  Sum& out_;
  Inside* const inside_;
  int parts_ = 0;
};

}  // namespace

Columns locate(Columns c, int64_t units, Inside* inside) {
  for (;;) {
    ir::Node* n = c.v == nullptr ? nullptr : c.v->producer;
    if (n == nullptr || n->in(0) == nullptr || c.first + units > last_extent(c.v)) return c;
    int64_t at = 0;
    if (n->op == Op::kSplit) {
      at = split_offset(*n, c.v->producer_output);
    } else if (n->op == Op::kSlice) {
      at = slice_offset(*n);
    } else if (!keeps_rows(*n)) {
      return c;
    }
    if (at < 0 || at + c.first + units > last_extent(n->in(0))) return c;
    inside->insert(n);
    c = {n->in(0), at + c.first};
  }
}

Columns under(Columns y, Op f, int64_t units, Inside* inside) {
  Inside way;
  const Columns c = locate(y, units, &way);
  ir::Node* n = maker(c.v, f);
  if (n == nullptr || c.first + units > last_extent(c.v)) return {};
  inside->insert(way.begin(), way.end());
  inside->insert(n);
  return {n->in(0), c.first};
}

bool read_sum(Columns c, int64_t units, Sum* out, Inside* inside) { return Reader(units, out, inside).read(c); }

}  // namespace vireo::passes
