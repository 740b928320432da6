// Source: ONNX Runtime, ContribOperators.md ("Attention", "MultiHeadAttention").
#include <cmath>
#include <limits>

#include "sdk/ops/attention/attention_generated.h"
#include "sdk/ops/attention/contrib_import.h"
#include "sdk/ops/binary/binary_generated.h"

namespace vireo {
namespace {

Value last_of_shape(ContribAttention& a, Value v, int64_t axis) { return a.steps.shape(v, axis, axis + 1); }

}  // namespace

Status ContribAttention::read_heads() {
  heads = ctx.attr_int("num_heads", 0);
  if (heads >= 1 && heads <= std::numeric_limits<int32_t>::max()) return Status::kOk;
  return ctx.fail(Status::kInvalidModel, "num_heads is " + std::to_string(heads) + ", wanted 1 or more");
}

Value ContribAttention::past_keys() { return past_key ? last_of_shape(*this, past_key, 2) : steps.i64({0}); }

Value ContribAttention::total_keys() {
  const Value now = last_of_shape(*this, k, ctx.type(k).shape.rank - 2);
  return past_key ? steps.add(past_keys(), now) : now;
}

// What the node's mask lets through, bool and of rank 4.
Status ContribAttention::allowed_of(int input, Value* allowed) {
  const Value given = ctx.input(input);
  const TensorType t = ctx.type(given);
  const std::string what = "input " + std::to_string(input) + ", the mask,";
  if (t.dtype != DType::kI32) {
    return ctx.fail(Status::kInvalidModel, what + " is " + dtype_name(t.dtype) + ", wanted int32");
  }
  const Value zero = steps.scalar(DType::kI32, 0), total = total_keys();
  const int64_t queries_axis = ctx.type(q).shape.rank - 2;
  const Dim batch = ctx.type(q).shape[0];
  const bool fits = t.shape.rank == 1 || (t.shape.rank >= 2 && !ctx.differ(t.shape[0], batch));
  if (t.shape.rank < 1 || t.shape.rank > 4 || !fits) {
    return ctx.fail(Status::kInvalidModel, what + " is of rank " + std::to_string(t.shape.rank) +
                                               " or of another batch than the query, wanted lengths, [batch, keys], "
                                               "[batch, queries, keys] or [batch, 1, most keys, most keys]");
  }
  if (t.shape.rank == 4) {
    const Value first = past_keys(), end = steps.add(first, last_of_shape(*this, q, queries_axis));
    const Value rows = steps.slice(given, 2, first, end);
    *allowed = steps.less(zero, steps.slice(rows, 3, steps.i64({0}), total));
  } else if (t.shape.rank == 3) {
    *allowed = steps.unsqueeze(steps.less(zero, given), {1});
  } else if (t.shape.rank == 2) {
    *allowed = steps.unsqueeze(steps.less(zero, given), {1, 2});
  } else {
    const Dim n = t.shape[0];
    const bool numbers = !is_symbolic(n) && !is_symbolic(batch);
    if (n != batch && !(numbers && (n == 2 * batch || n == 3 * batch + 2))) {
      return ctx.fail(numbers ? Status::kInvalidModel : Status::kUnsupported,
                      what +
                          " is a list that is not shown to be as long as the batch, twice as long, or three times "
                          "and two",
                      "give the inputs' shapes (--shape), or export the model with a mask of [batch, keys]");
    }
    const Value key = steps.cast(steps.range(total), DType::kI32);
    const auto part = [&](int64_t begin) {
      return n == batch ? given : steps.slice(given, 0, steps.i64({begin}), steps.i64({begin + batch}));
    };
    *allowed = steps.less(key, steps.unsqueeze(part(0), {1}));
    if (numbers && n == 2 * batch) {
      const Value behind = steps.less(key, steps.unsqueeze(part(batch), {1}));  // before the first key
      const Value begun = steps.equal(behind, steps.scalar(DType::kBool, 0));
      *allowed = steps.one(Op::kBitwiseAnd, pack<attrs::Binary>(attrs::BinaryT{}), {*allowed, begun});
    }
    *allowed = steps.unsqueeze(*allowed, {1, 2});
  }
  return *allowed ? Status::kOk : Status::kInvalidModel;
}

Status ContribAttention::add_masks(int input, int bias) {
  const DType dtype = ctx.type(q).dtype;
  if (ctx.input(input)) {
    Value allowed;
    VIREO_TRY(allowed_of(input, &allowed));
    const double filter = static_cast<double>(ctx.attr_float("mask_filter_value", -10000.0f));
    mask = steps.where(allowed, steps.scalar(dtype, 0), steps.scalar(dtype, filter));
    if (!mask) return Status::kInvalidModel;
  }
  const Value added = ctx.input(bias);
  if (!added) return Status::kOk;
  if (ctx.type(added).shape.rank != 4) {
    return ctx.fail(Status::kInvalidModel, "the bias of scores is of rank " +
                                               std::to_string(ctx.type(added).shape.rank) +
                                               ", wanted [batch or 1, heads or 1, queries, keys]");
  }
  mask = mask ? steps.add(mask, added) : added;
  return mask ? Status::kOk : Status::kInvalidModel;
}

std::vector<Value> ContribAttention::finish(int outputs) {
  attrs::AttentionT a;
  if (ctx.type(q).shape.rank == 3) a.q_heads = a.kv_heads = static_cast<int32_t>(heads);
  a.causal = ctx.attr_int("unidirectional", 0) != 0;
  const float scale = ctx.attr_float("scale", 0);
  a.scale = scale == 0 ? std::nanf("") : scale;
  std::vector<Value> inputs = {q, k, v, mask, past_key, past_value};
  while (!inputs.back()) inputs.pop_back();
  return ctx.emit(Op::kAttention, pack<attrs::Attention>(a), std::move(inputs), outputs);
}

}  // namespace vireo
