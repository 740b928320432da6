#include "sdk/composites/attention/codes_attention.h"

#include "sdk/ops/int_softmax/int_softmax_generated.h"
#include "sdk/ops/shared/integer_product.h"
#include "sdk/ops/transpose/transpose_generated.h"

namespace vireo::composites {
namespace {

constexpr uint32_t kMostTransposes = 3;

bool is_byte_at(const GraphReader& body, int32_t number) { return is_byte(type_at(body, number).dtype); }

bool read_axes(const vireo_graph_node& transpose, int rank, int* axes) {
  const auto* perm = ::flatbuffers::GetRoot<attrs::Transpose>(transpose.attrs)->perm();
  if (perm != nullptr && perm->size() != static_cast<unsigned>(rank)) return false;
  for (int i = 0; i < rank; ++i)
    axes[i] = perm == nullptr ? rank - 1 - i : static_cast<int>(perm->Get(static_cast<unsigned>(i)));
  return true;
}

class Reader {
 public:
  Reader(const NodeView& node, FusedCodesAttention* out) : node_(node), body_(node.body()), out_(*out) {}

  bool read() {
    const uint32_t count = body_.node_count();
    uint32_t n = 0;
    for (; n < count && static_cast<Op>(body_.node(n).op) == Op::kTranspose; ++n) {
      if (n == kMostTransposes) return false;
      transposes_[n] = body_.node(n);
    }
    transpose_count_ = n;
    if (count - n < 3 || count - n > 4 || body_.output_count() != 1) return false;
    const vireo_graph_node scores = body_.node(n), softmax = body_.node(n + 1), product = body_.node(n + 2);
    if (static_cast<Op>(scores.op) != Op::kIntGemm || static_cast<Op>(softmax.op) != Op::kIntSoftmax ||
        static_cast<Op>(product.op) != Op::kIntGemm || softmax.input_count < 2 ||
        softmax.inputs[0] != scores.outputs[0] || product.inputs[0] != softmax.outputs[0])
      return false;
    out_.rank = type_at(body_, scores.outputs[0]).shape.rank;
    if (out_.rank < 2 || out_.rank > kMostAttentionAxes) return false;
    if (!read_product(scores, 0) || !read_product(product, 1)) return false;
    if (!read_moved(scores.inputs[0], &out_.q) || !read_moved(scores.inputs[1], &out_.k) ||
        !read_moved(product.inputs[1], &out_.v) || used_ != transpose_count_)
      return false;
    const int axis = ::flatbuffers::GetRoot<attrs::IntSoftmax>(softmax.attrs)->axis();
    if (axis != -1 && axis != out_.rank - 1) return false;
    out_.table = operand_of(node_, softmax.inputs[1]).input;
    if (softmax.input_count > 2 && softmax.inputs[2] >= 0) {
      out_.kept = operand_of(node_, softmax.inputs[2]).input;
      if (out_.kept < 0) return false;
    }
    out_.scores = scores.attrs;
    out_.softmax = softmax.attrs;
    out_.product = product.attrs;
    out_.scored = type_at(body_, scores.outputs[0]).dtype;
    out_.shared = type_at(body_, softmax.outputs[0]).dtype;
    int32_t result = product.outputs[0];
    if (count - n == 4) {
      const vireo_graph_node last = body_.node(n + 3);
      if (static_cast<Op>(last.op) != Op::kTranspose || last.inputs[0] != result || !read_axes(last, out_.rank, out_.y))
        return false;
      result = last.outputs[0];
    }
    const int end = out_.rank - 1;
    const bool rows = out_.q.axes[end] == end && out_.v.axes[end] == end && out_.y[end] == end;
    const bool keys = out_.k.axes[end] == end || out_.k.axes[end - 1] == end;
    return rows && keys && out_.table >= 0 && is_byte(out_.scored) && is_byte(out_.shared) &&
           is_byte_at(body_, result) && body_.output(0) == result && same_leading_extents(scores, product);
  }

 private:
  bool read_product(const vireo_graph_node& n, int which) {
    if (n.input_count < 3 || n.output_count != 1 || (n.input_count > 3 && n.inputs[3] >= 0)) return false;
    const Operand multiplier = operand_of(node_, n.inputs[2]);
    if (multiplier.input < 0 || product_of(multiplier.type.shape) != 1) return false;
    out_.multipliers[which] = multiplier.input;
    if (n.input_count <= 4 || n.inputs[4] < 0) return true;
    const Operand zero = operand_of(node_, n.inputs[4]);
    out_.zeros[which] = zero.input;
    return zero.input >= 0 && product_of(zero.type.shape) == 1;
  }

  bool read_moved(int32_t number, MovedCodes* out) {
    if (type_at(body_, number).shape.rank != out_.rank || !is_byte_at(body_, number)) return false;
    int32_t from = number;
    for (uint32_t i = 0; i < transpose_count_; ++i) {
      if (transposes_[i].outputs[0] != number) continue;
      from = transposes_[i].inputs[0];
      ++used_;
      if (!read_axes(transposes_[i], out_.rank, out->axes)) return false;
    }
    out->input = operand_of(node_, from).input;
    return out->input >= 0;
  }

  bool same_leading_extents(const vireo_graph_node& scores, const vireo_graph_node& product) const {
    const Shape q = type_at(body_, scores.inputs[0]).shape;
    for (const int32_t other : {scores.inputs[1], product.inputs[1]}) {
      const Shape s = type_at(body_, other).shape;
      for (int i = 0; i + 2 < out_.rank; ++i) {
        if (s[i] != q[i]) return false;
      }
    }
    return true;
  }

  static int64_t product_of(const Shape& s) { return product(s, 0, s.rank); }

  const NodeView& node_;
  const GraphReader body_;
  FusedCodesAttention& out_;
  vireo_graph_node transposes_[kMostTransposes] = {};
  uint32_t transpose_count_ = 0, used_ = 0;
};

}  // namespace

bool match_codes_attention(const NodeView& node, FusedCodesAttention* out) {
  return node.op == Op::kComposite && Reader(node, out).read();
}

}  // namespace vireo::composites
