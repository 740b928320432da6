#include "delegates/cpu/depth_first/by_image.h"

#include <string.h>

#include "delegates/cpu/depth_first/image_graph.h"
#include "delegates/cpu/depth_first/segments.h"
#include "sdk/base/carver.h"
#include "sdk/ops/concat/concat_generated.h"
#include "sdk/ops/quantize/quantize_generated.h"
#include "sdk/ops/traits.h"
#include "sdk/ops/transpose/transpose_generated.h"

namespace vireo::cpu {
namespace {

bool is_given(const GraphValue& v) { return v.type.dtype != DType::kNone; }

// All that is not constant has this extent along its first axis.
bool has_batch(const GraphValue& v, int64_t batch) {
  return v.type.shape.rank > 1 && v.type.shape[0] == batch && dtype_bits(v.type.dtype) >= 8;  // images begin at bytes
}

bool others_constant(const CpuQuery& q) {
  for (uint32_t i = 1; i < q.input_count; ++i) {
    if (is_given(q.inputs[i]) && q.inputs[i].constant == nullptr) return false;
  }
  return q.input_count > 0 && q.inputs[0].constant == nullptr;
}

// One scale and zero point for all, or for each index of an axis that is not the batch's.
bool scales_all_images(const CpuQuery& q, int32_t axis, int32_t block) {
  const int rank = q.inputs[0].type.shape.rank;
  return others_constant(q) && block == 0 &&
         (product(q.inputs[1].type.shape, 0, q.inputs[1].type.shape.rank) == 1 || (axis < 0 ? axis + rank : axis) != 0);
}

bool keeps_batch_first(const CpuQuery& q) {
  const auto* const perm = q.attrs<attrs::Transpose>().perm();
  return perm != nullptr && perm->size() != 0 && perm->Get(0) == 0;
}

bool joins_images(const CpuQuery& q) {
  const int32_t axis = q.attrs<attrs::Concat>().axis(), rank = q.outputs[0].type.shape.rank;
  for (uint32_t i = 0; i < q.input_count; ++i) {
    if (q.inputs[i].constant != nullptr) return false;
  }
  return (axis < 0 ? axis + rank : axis) != 0;
}

// A constant is the same for all images: it is broadcast along the first axis.
bool constants_broadcast(const CpuQuery& q) {
  const int rank = q.outputs[0].type.shape.rank;
  for (uint32_t i = 0; i < q.input_count; ++i) {
    const GraphValue& x = q.inputs[i];
    if (!is_given(x)) continue;
    const bool fits =
        x.constant == nullptr ? x.type.shape.rank == rank : x.type.shape.rank < rank || x.type.shape[0] == 1;
    if (!fits) return false;
  }
  return true;
}

// One output, each image of it made of the same image of the inputs.
bool is_by_image(const CpuQuery& q) {
  switch (q.op) {
    case Op::kConv:
    case Op::kConvTranspose:
    case Op::kConvInteger:
    case Op::kIntConv:
    case Op::kMaxPool:
    case Op::kAveragePool:
    case Op::kIntAveragePool:
    case Op::kGlobalAveragePool:
    case Op::kGlobalMaxPool:
    case Op::kBatchNormalization:
    case Op::kDepthToSpace:
    case Op::kSpaceToDepth:
    case Op::kIntTable:
    case Op::kResize:
    case Op::kIntResize:
      return others_constant(q);
    case Op::kQuantizeLinear: {
      const auto& a = q.attrs<attrs::QuantizeLinear>();
      return scales_all_images(q, a.axis(), a.block_size());
    }
    case Op::kDequantizeLinear: {
      const auto& a = q.attrs<attrs::DequantizeLinear>();
      return scales_all_images(q, a.axis(), a.block_size());
    }
    case Op::kTranspose:
      return others_constant(q) && keeps_batch_first(q);
    case Op::kConcat:
      return joins_images(q);
    default:
      return is_elementwise(q.op) && constants_broadcast(q);
  }
}

// The values of one node that are not constant have the batch, and there is at least one.
bool all_have_batch(const CpuQuery& q, int64_t batch) {
  if (q.node.input_count > kMaxNodeArgs || q.node.output_count != 1 || !is_given(q.outputs[0])) return false;
  bool any = false;
  for (uint32_t i = 0; i < q.input_count; ++i) {
    const GraphValue& x = q.inputs[i];
    if (!is_given(x) || x.constant != nullptr) continue;
    if (!has_batch(x, batch)) return false;
    any = true;
  }
  return any && has_batch(q.outputs[0], batch) && q.outputs[0].constant == nullptr;
}

// A node of a composite's body, which knows the composite's constants as inputs alone.
bool view_inner(const CpuQuery& owner, uint32_t index, CpuQuery* inner) {
  if (!view_node(*owner.host, owner.node.body, index, inner)) return false;
  const GraphReader body = owner.body();
  for (uint32_t i = 0; i < inner->input_count; ++i) {
    const int32_t from = body.input_of(inner->node.inputs[i], owner.input_count);
    if (from >= 0) inner->inputs[i].constant = owner.inputs[from].constant;
  }
  return true;
}

double bytes_of(const TensorType& t) { return static_cast<double>(tensor_bytes(t) > 0 ? tensor_bytes(t) : 0); }

// ---- Stretches

constexpr int32_t kNobody = -1;
constexpr uint32_t kMostNodes = 512;  // looked at as one: pairs of ends are tried

struct NodeFacts {
  int64_t batch = 0;  // 0: it does not run by image
  double added = 0;
};
struct ValueFacts {
  int32_t maker = kNobody;
  int32_t last_reader = kNobody;  // INT32_MAX: an output of the graph
  double saved = 0;
};

struct Lists {
  NodeFacts* nodes = nullptr;
  ValueFacts* values = nullptr;
  uint8_t* inside = nullptr;  // by node
  // For strips.
  RowNode* row_nodes = nullptr;
  RowValue* row_values = nullptr;
  int32_t* inputs = nullptr;
  Segment* segments = nullptr;
  SegmentRoom* room = nullptr;
};

Lists take_lists(Carver& c, const GraphReader& reader) {
  const uint32_t nodes = reader.node_count(), values = reader.value_count();
  uint32_t inputs = 0;
  for (uint32_t n = 0; n < nodes; ++n) inputs += reader.node(n).input_count;
  Lists l;
  l.inside = c.array<uint8_t>(nodes);
  l.nodes = c.array<NodeFacts>(nodes);
  l.values = c.array<ValueFacts>(values);
  l.row_nodes = c.array<RowNode>(nodes);
  l.row_values = c.array<RowValue>(values);
  l.inputs = c.array<int32_t>(inputs);
  l.segments = c.array<Segment>(nodes);
  l.room = c.array<SegmentRoom>(size_t{nodes} + 1);
  return l;
}

class Finder {
 public:
  Finder(const vireo_host& host, const vireo_graph* graph, Stretches::IsTuned is_tuned, const Lists& lists)
      : reader_(host, graph),
        image_(host, graph),
        host_(host),
        graph_(graph),
        is_tuned_(is_tuned),
        l_(lists),
        nodes_(lists.nodes),
        values_(lists.values) {}

  void run() {
    const uint32_t count = reader_.node_count();
    for (uint32_t v = 0; v < reader_.value_count(); ++v) {
      values_[v] = ValueFacts();
      l_.row_values[v] = RowValue();
    }
    for (uint32_t n = 0; n < count; ++n) look(n);
    for (uint32_t o = 0; o < reader_.output_count(); ++o) {
      if (const int32_t y = reader_.output(o); y >= 0) {
        values_[y].last_reader = INT32_MAX;
        l_.row_values[y].whole = true;
      }
    }
    for (uint32_t n = 0; n < count;) {
      uint32_t end = n + 1;
      while (end < count && nodes_[n].batch != 0 && nodes_[end].batch == nodes_[n].batch && end - n < kMostNodes) ++end;
      if (nodes_[n].batch > 1) choose(n, end);
      for (uint32_t a = n, b = n; nodes_[n].batch != 0 && a < end; a = b + 1) {
        for (b = a; b < end && l_.inside[b] == 0;) ++b;
        choose_strips(a, b);
      }
      n = end;
    }
  }

 private:
  void look(uint32_t n) {
    CpuQuery q;
    nodes_[n] = NodeFacts();
    RowNode& row = l_.row_nodes[n];
    row = RowNode();
    const bool whole = view_node(host_, graph_, n, &q);
    uint32_t with_rows = 0;
    for (uint32_t i = 0; i < q.node.input_count; ++i) {
      const int32_t x = q.node.inputs[i];
      if (x < 0) continue;
      values_[x].last_reader = l_.row_values[x].last_reader = static_cast<int32_t>(n);
      if (i < q.input_count && has_rows(q.inputs[i])) l_.inputs[with_rows++] = x;
    }
    int64_t batch = 0;
    if (!whole || !runs_by_image(q, &batch) || !is_tuned_(host_, graph_, n)) return;
    nodes_[n].batch = batch;
    const double constants = constant_bytes(q);
    nodes_[n].added = added_ns(nodes_[n].batch, constants);
    const double image = bytes_of(q.outputs[0].type) / static_cast<double>(nodes_[n].batch);
    const int32_t number = q.node.outputs[0];
    ValueFacts& y = values_[number];
    y.maker = static_cast<int32_t>(n);
    y.saved = saved_ns(nodes_[n].batch, image);
    CpuQuery one;  // image
    row.able = view_node(image_.host(), image_.graph(), n, &one) && runs_by_row(one, &row.form);
    row.output = number;
    row.inputs = {l_.inputs, with_rows};
    row.constant_bytes = constants;
    row.work_ns = row_work_ns(row.form, one.outputs[0].type);
    l_.inputs += with_rows;
    RowValue& made = l_.row_values[number];
    made.maker = static_cast<int32_t>(n);
    made.rows = q.outputs[0].type.shape.rank == 4 ? q.outputs[0].type.shape[1] : 0;
    made.row_bytes = made.rows == 0 ? 0 : image / static_cast<double>(made.rows);
  }

  // The nodes of segments.
  void choose_strips(uint32_t first, uint32_t end) {
    if (end - first < 2) return;
    // Numbers of nodes count from `first` there.
    for (uint32_t n = first; n < end; ++n) {
      RowValue& v = l_.row_values[l_.row_nodes[n].output];
      v.maker -= static_cast<int32_t>(first);
      v.last_reader -= static_cast<int32_t>(first);
    }
    const uint32_t found = find_segments({l_.row_nodes + first, end - first}, {l_.row_values, reader_.value_count()}, 1,
                                         {l_.room, size_t{end - first} + 1}, l_.segments);
    for (uint32_t k = 0; k < found; ++k) memset(l_.inside + first + l_.segments[k].first, 1, l_.segments[k].count);
  }

  // The stretch in [first, end) that saves most, then others beside it.
  void choose(uint32_t first, uint32_t end) {
    double most = 0;
    uint32_t from = 0, to = 0;
    for (uint32_t a = first; a < end; ++a) {
      double sum = 0;
      for (uint32_t b = a; b < end; ++b) {
        sum -= nodes_[b].added;
        const vireo_graph_node node = reader_.node(b);
        for (uint32_t i = 0; i < node.input_count; ++i) {
          const int32_t x = node.inputs[i];
          if (x < 0 || values_[x].last_reader != static_cast<int32_t>(b) || is_listed(node, i)) continue;
          if (values_[x].maker >= static_cast<int32_t>(a)) sum += values_[x].saved;
        }
        if (sum <= most) continue;
        most = sum;
        from = a;
        to = b + 1;
      }
    }
    if (to == from) return;
    memset(l_.inside + from, 1, to - from);
    if (from > first + 1) choose(first, from - 1);
    if (to + 1 < end) choose(to + 1, end);
  }

  static bool is_listed(const vireo_graph_node& node, uint32_t i) {
    for (uint32_t k = 0; k < i; ++k) {
      if (node.inputs[k] == node.inputs[i]) return true;
    }
    return false;
  }

  GraphReader reader_;
  ImageGraph image_;
  const vireo_host& host_;
  const vireo_graph* graph_;
  Stretches::IsTuned is_tuned_;
  Lists l_;
  NodeFacts* nodes_;
  ValueFacts* values_;
};

// Most graphs have no values that leave the caches: one look at what their nodes make says so.
bool any_large(const GraphReader& reader) {
  for (uint32_t n = 0; n < reader.node_count(); ++n) {
    const vireo_graph_node node = reader.node(n);
    vireo_graph_value y;
    if (node.output_count == 1 && reader.read_value(node.outputs[0], &y) && y.rank > 1 &&
        traffic_ns(bytes_of(type_of(y))) > 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

double constant_bytes(const CpuQuery& q) {
  double sum = 0;
  for (uint32_t i = 0; i < q.input_count; ++i) sum += q.inputs[i].constant == nullptr ? 0 : bytes_of(q.inputs[i].type);
  if (q.op != Op::kComposite) return sum;
  const GraphReader body = q.body();
  for (uint32_t v = 0; v < body.value_count(); ++v) {
    const vireo_graph_value value = body.value(static_cast<int32_t>(v));
    if (value.constant != nullptr) sum += static_cast<double>(value.constant_size);
  }
  return sum;
}

bool runs_by_image(const CpuQuery& q, int64_t* batch) {
  *batch = 0;
  if (q.output_count != 1 || q.outputs[0].type.shape.rank < 2) return false;
  const int64_t images = q.outputs[0].type.shape[0];
  if (images < 1 || !all_have_batch(q, images)) return false;
  if (q.op == Op::kComposite) {
    const GraphReader body = q.body();
    for (uint32_t n = 0; n < body.node_count(); ++n) {
      CpuQuery inner;
      if (!view_inner(q, n, &inner)) return false;
      // What is made of constants alone is constant for all images, but the view could not tell it.
      if (inner.op == Op::kComposite || !all_have_batch(inner, images) || !is_by_image(inner)) return false;
    }
  } else if (!is_by_image(q)) {
    return false;
  }
  *batch = images;
  return true;
}

// Bytes a ns of one thread beyond the caches near its core: of a cache that cores share, and of memory.
constexpr double kShared = 20, kMemory = 10;
constexpr double kNearBytes = 1 << 20, kSharedBytes = 24 << 20;
constexpr double kCallNs = 500;

static double moved_ns(double bytes, double of) {
  return of <= kNearBytes ? 0 : bytes / (of <= kSharedBytes ? kShared : kMemory);
}

double saved_ns(int64_t batch, double image_bytes) {
  const double all = static_cast<double>(batch) * image_bytes;
  return 2 * (moved_ns(all, all) - moved_ns(all, image_bytes));  // written and read
}

double traffic_ns(double bytes) { return 2 * moved_ns(bytes, bytes); }

double added_ns(int64_t batch, double constant_bytes) {
  return static_cast<double>(batch - 1) * (kCallNs + constant_bytes / kShared);
}

Stretches::Stretches(const vireo_host& host, const vireo_graph* graph, IsTuned is_tuned) : host_(host) {
  const GraphReader reader(host, graph);
  if (host.allocate == nullptr || !any_large(reader)) return;
  Carver counted;
  take_lists(counted, reader);
  bytes_ = counted.used();
  void* const block = host.allocate(host.context, bytes_, alignof(double));
  if (block == nullptr) return;
  Carver c(block);
  const Lists lists = take_lists(c, reader);
  memset(lists.inside, 0, reader.node_count());
  Finder(host, graph, is_tuned, lists).run();
  inside_ = lists.inside;  // the block's first bytes
}

Stretches::~Stretches() {
  if (inside_ != nullptr) host_.release(host_.context, inside_, bytes_, alignof(double));
}

}  // namespace vireo::cpu
