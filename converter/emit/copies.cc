#include "converter/emit/copies.h"

#include <algorithm>
#include <memory>

#include "sdk/ops/shared/parts.h"

namespace vireo::emit {
namespace {

class Declared final : public PartQuery {
 public:
  Declared(const fb::SubgraphT& g, const fb::NodeT& n, const BoundsOf& bounds_of,
           const std::function<const void*(int32_t)>& constant_of)
      : g_(g), n_(n), bounds_of_(bounds_of), constant_of_(constant_of) {}
  TensorType input(size_t i) const override { return type(n_.inputs, i); }
  TensorType output(size_t o) const override { return type(n_.outputs, o); }
  const void* constant(size_t i) const override {
    return i < n_.inputs.size() && n_.inputs[i] >= 0 ? constant_of_(n_.inputs[i]) : nullptr;
  }
  Span<const uint8_t> attr_bytes() const override { return {n_.attrs.data(), n_.attrs.size()}; }

 private:
  // A dimension that its bounds leave one value has that value.
  TensorType type(const std::vector<int32_t>& list, size_t i) const {
    if (i >= list.size() || list[i] < 0) return {};
    const fb::TensorT& t = *g_.tensors[static_cast<size_t>(list[i])];
    TensorType out{static_cast<DType>(t.dtype), {}};
    out.shape.rank = static_cast<int32_t>(t.dims.size());
    for (size_t k = 0; k < t.dims.size(); ++k) {
      const Interval d = bounds_of_(t.dims[k]);
      out.shape.dims[k] = d.lo == d.hi ? d.hi : t.dims[k];
    }
    return out;
  }
  const fb::SubgraphT& g_;
  const fb::NodeT& n_;
  const BoundsOf& bounds_of_;
  const std::function<const void*(int32_t)>& constant_of_;
};

std::string why_copied(const PlanTensor& part, const PlanTensor& whole, int64_t at, bool apart) {
  for (const PlanTensor* t : {&part, &whole}) {
    if (t->kind == PlanTensor::kConstant) return "a constant";
    if (t->kind == PlanTensor::kInput || t->kind == PlanTensor::kState) return "an input, which the caller may bind";
    if (t->kind == PlanTensor::kBound) return "memory of a body's owner";
  }
  if (at < 0) return "not one run of bytes, or not known before the data";
  if (at % static_cast<int64_t>(kPartAlignment) != 0) return "not aligned";
  return apart ? "the arena would grow" : "its place is needed by another";
}

}  // namespace

std::vector<int64_t> parts_of(const fb::SubgraphT& g, const fb::NodeT& n, const BoundsOf& bounds_of,
                              const std::function<const void*(int32_t)>& constant_of) {
  const OpRow* row = find_op(static_cast<Op>(n.op));
  std::vector<int64_t> at;
  if (row == nullptr || row->def->parts == nullptr) return at;
  const OpDef& def = *row->def;
  at.resize((def.flags & OpDef::kInputsInside) != 0 ? n.inputs.size() : n.outputs.size());
  if (!part_offsets(def, Declared(g, n, bounds_of, constant_of), {at.data(), at.size()})) at.clear();
  return at;
}

void count_copies(const fb::NodeT& n, Span<const PlanTensor> tensors, const std::vector<uint64_t>& offsets,
                  const std::vector<int64_t>& at, bool apart, CopyReport* report) {
  const OpRow* row = find_op(static_cast<Op>(n.op));
  if (row == nullptr || row->def->parts == nullptr) return;
  if (at.empty() && static_cast<Op>(n.op) == Op::kGather) return;  // a lookup
  const bool joins = (row->def->flags & OpDef::kInputsInside) != 0;
  const std::vector<int32_t>& parts = joins ? n.inputs : n.outputs;
  const auto whole = static_cast<size_t>(joins ? n.outputs[0] : n.inputs[0]);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] < 0) continue;
    const auto part = static_cast<size_t>(parts[i]);
    const auto bytes = static_cast<uint64_t>(tensors[part].kind == PlanTensor::kConstant ? 0 : tensors[part].bytes);
    const int64_t place = at.empty() ? -1 : at[i];
    if (place >= 0 && offsets[part] < kFirstAlias && offsets[whole] < kFirstAlias &&
        offsets[part] == offsets[whole] + static_cast<uint64_t>(place)) {
      ++report->saved;
      report->saved_bytes += bytes;
    } else {
      ++report->reasons[why_copied(tensors[part], tensors[whole], place, apart)];
      report->left_bytes += bytes;
    }
  }
}

CopyReport count_copies(const fb::Model& model, const uint8_t* file) {
  CopyReport report;
  const std::unique_ptr<const fb::ModelT> unpacked(model.UnPack());
  const fb::ModelT& m = *unpacked;
  if (m.plans.empty() || m.plans[0]->subgraphs.size() != m.subgraphs.size()) return report;
  const auto bounds_of = [](int64_t d) { return is_symbolic(d) ? Interval{} : Interval{d, d}; };
  for (size_t s = 0; s < m.subgraphs.size(); ++s) {
    const fb::SubgraphT& g = *m.subgraphs[s];
    std::vector<PlanTensor> tensors(g.tensors.size());
    for (size_t t = 0; t < tensors.size(); ++t) {
      TensorType type{static_cast<DType>(g.tensors[t]->dtype), {}};
      type.shape.rank = static_cast<int32_t>(g.tensors[t]->dims.size());
      std::copy(g.tensors[t]->dims.begin(), g.tensors[t]->dims.end(), type.shape.dims);
      tensors[t].bytes = std::max<int64_t>(tensor_bytes(type), 0);
      if (g.tensors[t]->segment >= 0) tensors[t].kind = PlanTensor::kConstant;
      if (m.plans[0]->subgraphs[s]->offsets[t] == kNoOffset && g.tensors[t]->segment < 0)
        tensors[t].kind = PlanTensor::kBound;
    }
    for (const uint32_t t : g.inputs) tensors[t].kind = s == 0 ? PlanTensor::kInput : PlanTensor::kBound;
    const auto constant_of = [&](int32_t t) -> const void* {
      const fb::TensorT& tensor = *g.tensors[static_cast<size_t>(t)];
      return tensor.segment < 0 ? nullptr
                                : file + m.segments[static_cast<size_t>(tensor.segment)]->offset + tensor.offset;
    };
    for (const auto& n : g.nodes) {
      count_copies(*n, {tensors.data(), tensors.size()}, m.plans[0]->subgraphs[s]->offsets,
                   parts_of(g, *n, bounds_of, constant_of), false, &report);
    }
  }
  return report;
}

}  // namespace vireo::emit
