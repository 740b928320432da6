// Attention as three launches: scores, their softmax with cap and mask on the way in, and the sum of values. Where
// products of halves are taken and nobody asks for the scores, it is one launch of a template.
#include <cmath>
#include <limits>

#include "delegates/gpu/lower/work.h"
#include "sdk/ops/attention/attention.h"
#include "vireo/ops.h"

namespace vireo::gpu {
namespace {

enum AttentionInput : size_t { kQuery, kKey, kNew, kMask, kPastKey, kPastValue, kLengths };

Shape shape_at(const Lowering& l, size_t input) {
  Shape s;
  if (!l.has(input)) return s;
  s.rank = l.in(input).rank();
  for (int i = 0; i < s.rank; ++i) s[i] = l.in(input).dims[static_cast<size_t>(i)];
  return s;
}

// Strides over [batch, head, row, element].
Laid heads_of(const Laid& at, bool packed, int64_t size) {
  if (!packed) return at;
  return {at.memory, at.offset, {at.strides[0], at.strides[2] * size, at.strides[1], at.strides[2]}};
}

class Attend {
 public:
  explicit Attend(Lowering& l)
      : l_(l),
        a_(l.node().attrs<attrs::Attention>()),
        e_(a_, shape_at(l, kQuery), shape_at(l, kKey), shape_at(l, kNew), shape_at(l, kPastKey)),
        repeats_(e_.q_heads / e_.kv_heads) {}

  std::string lower() {
    if (std::string why = check(); !why.empty()) return why;
    const Laid keys = joined(kKey, kPastKey, 1, e_.head), values = joined(kNew, kPastValue, 2, e_.value_head);
    const Extents all{e_.batch, e_.q_heads, e_.queries, e_.total()};
    if (at_once(all, keys, values)) return "";
    const auto bytes = static_cast<uint64_t>(e_.batch * e_.q_heads * e_.queries * e_.total()) * sizeof(float);
    const Laid scores{l_.make_memory(bytes), 0, dense_strides(all)};
    const Laid shares{l_.make_memory(bytes), 0, dense_strides(all)};
    if (l_.node().output(3) >= 0) shown_ = l_.make(l_.node().outputs[3]);
    multiply_keys(keys, scores);
    share_out(all, scores, shares);
    sum_values(shares, values);
    return "";
  }

 private:
  std::string check() const {
    if (l_.node().input(0) < 0 || l_.node().input(1) < 0 || l_.node().input(2) < 0) return "an operand is left out";
    for (const size_t i : {kQuery, kKey, kNew}) {
      if (!is_real(l_.in(i).dtype)) return std::string("attention of ") + dtype_name(l_.in(i).dtype);
    }
    if (l_.has(kLengths)) return "attention over lengths that a run brings";
    if (l_.has(kMask) && l_.in(kMask).dtype != DType::kBool && !is_real(l_.in(kMask).dtype))
      return std::string("a mask of ") + dtype_name(l_.in(kMask).dtype);
    if (4 * static_cast<double>(e_.batch * e_.q_heads) * static_cast<double>(e_.queries * e_.total()) >
        static_cast<double>(l_.target().buffer_bytes))
      return "scores that are larger than the device's buffers";
    return "";
  }

  // Keys or values of all calls, which are also what `output` shows.
  Laid joined(size_t input, size_t past, size_t output, int64_t size) {
    Laid now = heads_of(l_.laid(l_.node().inputs[input]), e_.packed, size);
    const int present = l_.node().output(output);
    if (!l_.has(past) && present < 0) return now;
    const Extents all{e_.batch, e_.kv_heads, e_.total(), size};
    const DType dtype = l_.in(input).dtype;
    Laid to;
    if (present >= 0) {
      to = l_.make(present);
    } else {
      const auto count = static_cast<uint64_t>(e_.batch * e_.kv_heads * e_.total() * size);
      to = {l_.make_memory(count * static_cast<uint64_t>(dtype_bits(dtype) / 8)), 0, dense_strides(all)};
    }
    if (l_.has(past) && e_.past > 0)
      l_.copy({e_.batch, e_.kv_heads, e_.past, size}, dtype, l_.laid(l_.node().inputs[past]), to);
    l_.copy({e_.batch, e_.kv_heads, e_.keys, size}, dtype, now,
            {to.memory, to.offset + e_.past * to.strides[2], to.strides});
    return to;
  }

  // A matrix for each query head: `shared` ones have a head for several of them.
  MatrixView matrix(const Laid& at, DType dtype, bool shared, size_t row, size_t column) const {
    MatrixView view;
    view.dtype = dtype;
    view.offset = at.offset;
    const int64_t head = at.strides[1];
    view.batch = {at.strides[0], shared ? head : head * repeats_, shared ? 0 : head};
    view.row = at.strides[row];
    view.column = at.strides[column];
    return view;
  }
  View result(const Laid& at) const {
    View view;
    view.offset = at.offset;
    view.strides = {at.strides[0], at.strides[1] * repeats_, at.strides[1], at.strides[2], at.strides[3]};
    return view;
  }
  bool shows(attrs::AttentionScores when) const { return shown_.memory >= 0 && a_.scores() == when; }

  // A view of [batch, query head, query, key] over [batch, key head, repeat, query, key].
  View by_repeats(const View& view) const {
    View out = view;
    const auto insert = [](Extents* e, int64_t second, int64_t third) {
      if (!e->empty()) *e = {(*e)[0], second, third, (*e)[2], (*e)[3]};
    };
    insert(&out.strides, view.strides[1] * repeats_, view.strides[1]);
    insert(&out.begin, 0, 0);
    insert(&out.extent, e_.kv_heads, repeats_);
    return out;
  }

  // One launch, if there is a program for it.
  bool at_once(const Extents& all, const Laid& keys, const Laid& values) {
    if (!l_.target().half_products || l_.node().output(3) >= 0) return false;
    const Laid query = heads_of(l_.laid(l_.node().inputs[kQuery]), e_.packed, e_.head);
    AttentionProblem p;
    p.batch = {e_.batch, e_.kv_heads, repeats_};
    p.queries = e_.queries;
    p.keys = e_.total();
    p.head = e_.head;
    p.value_head = e_.value_head;
    p.q = matrix(query, l_.in(kQuery).dtype, false, 2, 3);
    p.k = matrix(keys, l_.in(kKey).dtype, true, 2, 3);
    p.v = matrix(values, l_.in(kNew).dtype, true, 2, 3);
    std::vector<int> reads;
    ExpressionBuilder s(&p.score);
    const int product = s.given(kReal);
    int mask = -1;
    if (l_.has(kMask)) {
      mask = s.input(l_.in(kMask).dtype, by_repeats(mask_view(all)));
      reads.push_back(l_.laid(l_.node().inputs[kMask]).memory);
    }
    const int score = s.function(Function::kMul, kReal, product, s.constant_f32(scale()));
    View unused;
    unused.strides.assign(5, 0);
    s.output(biased(s, capped(s, score), mask, 3), unused);
    ExpressionBuilder b(&p.epilogue);
    const int sum = as(b, b.given(kReal), l_.out(0).dtype);
    b.output(sum, unused);  // its place is set once there is a program
    if (!refuse_attention(p, choose_attention(p, l_.target()), l_.target()).empty()) return false;
    const Laid y = heads_of(l_.make(l_.node().outputs[0]), e_.packed, e_.value_head);
    p.epilogue.outputs[0].view = result(y);
    Work& w = l_.push(std::move(p));
    w.operands = {query.memory, keys.memory, values.memory};
    w.reads = std::move(reads);
    w.writes = {y.memory};
    return true;
  }

  float scale() const {
    return std::isnan(a_.scale()) ? static_cast<float>(1 / std::sqrt(static_cast<double>(e_.head))) : a_.scale();
  }

  void multiply_keys(const Laid& keys, const Laid& scores) {
    const Laid query = heads_of(l_.laid(l_.node().inputs[kQuery]), e_.packed, e_.head);
    ProductProblem p;
    p.batch = {e_.batch, e_.kv_heads, repeats_};
    p.m = e_.queries;
    p.n = e_.total();
    p.k = e_.head;
    p.x = matrix(query, l_.in(kQuery).dtype, false, 2, 3);
    p.w = matrix(keys, l_.in(kKey).dtype, true, 3, 2);
    ExpressionBuilder b(&p.epilogue);
    const int sum = b.given(kReal);
    const int score = b.function(Function::kMul, kReal, sum, b.constant_f32(scale()));
    b.output(score, result(scores));
    if (shows(attrs::AttentionScores::Raw)) b.output(as(b, score, l_.out(3).dtype), result(shown_));
    Work& w = l_.push(std::move(p));
    w.operands = {query.memory, keys.memory};
    w.writes = {scores.memory};
    if (shows(attrs::AttentionScores::Raw)) w.writes.push_back(shown_.memory);
  }

  static int as(ExpressionBuilder& b, int value, DType dtype) {
    return dtype == kReal ? value : b.function(Function::kCast, dtype, value);
  }

  // The mask over [batch, head, query, key]; keys behind its last axis are not attended.
  View mask_view(const Extents& all) {
    const Datum& mask = l_.in(kMask);
    const Laid at = l_.laid(l_.node().inputs[kMask]);
    View view = broadcast_view(at, mask.dims, 4);
    if (mask.rank() == 0 || mask.dims.back() == all[3]) return view;
    view.strides[3] = at.strides.back();
    view.begin.assign(4, 0);
    view.extent = all;
    view.extent[3] = mask.dims.back();
    const float never = -std::numeric_limits<float>::infinity();
    view.fill = mask.dtype == DType::kBool  ? 0
                : mask.dtype == kReal       ? bits_of(never)
                : mask.dtype == DType::kF16 ? 0xfc00
                                            : 0xff80;
    return view;
  }

  void share_out(const Extents& all, const Laid& scores, const Laid& shares) {
    RowsProblem p;
    p.shape = all;
    std::vector<int> reads = {scores.memory};
    ExpressionBuilder v(&p.prologue);
    const int score = v.input(kReal, view_of(scores));
    int mask = -1;
    if (l_.has(kMask)) {
      mask = v.input(l_.in(kMask).dtype, mask_view(all));
      reads.push_back(l_.laid(l_.node().inputs[kMask]).memory);
    }
    v.output(biased(v, capped(v, score), mask, 2), {});
    const auto exponential = [](ExpressionBuilder& b) {
      const float never = -std::numeric_limits<float>::infinity();
      const int hidden = b.function(Function::kEqual, DType::kBool, 0, b.constant_f32(never));
      const int e = b.function(Function::kExp, kReal, b.function(Function::kSub, kReal, 0, 1));
      return b.function(Function::kWhere, kReal, hidden, b.constant_f32(0), e);
    };
    Statistic greatest, sum;
    greatest.combine = Combine::kMax;
    ExpressionBuilder g(&greatest.map);
    g.output(g.given(kReal), {});
    sum.combine = Combine::kSum;
    ExpressionBuilder s(&sum.map);
    (void)s.given(kReal);
    (void)s.given(kReal);
    s.output(exponential(s), {});
    p.statistics = {greatest, sum};
    ExpressionBuilder b(&p.epilogue);
    for (int i = 0; i < 3; ++i) (void)b.given(kReal);
    const int nothing = b.function(Function::kEqual, DType::kBool, 2, b.constant_f32(0));
    const int share = b.function(Function::kDiv, kReal, exponential(b), 2);
    const int y = b.function(Function::kWhere, kReal, nothing, b.constant_f32(0), share);
    b.output(y, view_of(shares));
    std::vector<int> writes = {shares.memory};
    if (shown_.memory >= 0 && !shows(attrs::AttentionScores::Raw)) {
      if (shows(attrs::AttentionScores::Capped)) {
        show_capped(all, scores);
      } else {
        const int told = shows(attrs::AttentionScores::Biased) ? 0 : y;
        b.output(as(b, told, l_.out(3).dtype), view_of(shown_));
        writes.push_back(shown_.memory);
      }
    }
    Work& w = l_.push(std::move(p));
    w.reads = std::move(reads);
    w.writes = std::move(writes);
  }

  void show_capped(const Extents& all, const Laid& scores) {
    ChainProblem p;
    p.shape = all;
    ExpressionBuilder b(&p.expression);
    const int score = b.input(kReal, view_of(scores));
    b.output(as(b, capped(b, score), l_.out(3).dtype), view_of(shown_));
    Work& w = l_.push(std::move(p));
    w.reads = {scores.memory};
    w.writes = {shown_.memory};
  }

  int capped(ExpressionBuilder& b, int score) const {
    if (!(a_.softcap() > 0)) return score;
    const int cap = b.constant_f32(a_.softcap());
    const int inner = b.function(Function::kTanh, kReal, b.function(Function::kDiv, kReal, score, cap));
    return b.function(Function::kMul, kReal, cap, inner);
  }
  // A score that is hidden is so whatever it was. `query_axis`: of queries in the space; keys have the next.
  int biased(ExpressionBuilder& b, int score, int mask, uint32_t query_axis) const {
    const int never = b.constant_f32(-std::numeric_limits<float>::infinity());
    if (mask >= 0) {
      if (l_.in(kMask).dtype == DType::kBool) {
        score = b.function(Function::kWhere, kReal, mask, score, never);
      } else {
        const int added = l_.in(kMask).dtype == kReal ? mask : b.function(Function::kCast, kReal, mask);
        const int hidden = b.function(Function::kEqual, DType::kBool, added, never);
        score = b.function(Function::kWhere, kReal, hidden, never, b.function(Function::kAdd, kReal, score, added));
      }
    }
    // How far the key lies behind the query's own position.
    if (!a_.causal() && a_.left_window() < 0 && a_.right_window() < 0) return score;
    const int query = b.function(Function::kAdd, DType::kI32, b.place(query_axis),
                                 b.constant(DType::kI32, static_cast<uint32_t>(e_.past)));
    const int ahead = b.function(Function::kSub, DType::kI32, b.place(query_axis + 1), query);
    const auto hide_above = [&](int distance, int64_t most) {
      const int far =
          b.function(Function::kLess, DType::kBool, b.constant(DType::kI32, static_cast<uint32_t>(most)), distance);
      score = b.function(Function::kWhere, kReal, far, never, score);
    };
    if (a_.causal()) hide_above(ahead, 0);
    if (a_.right_window() >= 0) hide_above(ahead, a_.right_window());
    if (a_.left_window() >= 0) hide_above(b.function(Function::kNeg, DType::kI32, ahead), a_.left_window());
    return score;
  }

  void sum_values(const Laid& shares, const Laid& values) {
    const Laid y = heads_of(l_.make(l_.node().outputs[0]), e_.packed, e_.value_head);
    ProductProblem p;
    p.batch = {e_.batch, e_.kv_heads, repeats_};
    p.m = e_.queries;
    p.n = e_.value_head;
    p.k = e_.total();
    p.x = matrix(shares, kReal, false, 2, 3);
    p.w = matrix(values, l_.in(kNew).dtype, true, 2, 3);
    ExpressionBuilder b(&p.epilogue);
    b.output(as(b, b.given(kReal), l_.out(0).dtype), result(y));
    Work& w = l_.push(std::move(p));
    w.operands = {shares.memory, values.memory};
    w.writes = {y.memory};
  }

  Lowering& l_;
  const attrs::Attention& a_;
  AttentionExtents e_;
  int64_t repeats_;
  Laid shown_;  // the scores that the node shows; no memory: it shows none
};

}  // namespace

std::string lower_attention(Lowering& l) { return Attend(l).lower(); }

}  // namespace vireo::gpu
