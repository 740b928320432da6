#include <algorithm>
#include <array>

#include "converter/firmware/segments.h"
#include "sdk/plan/planner.h"

namespace vireo::firmware {
namespace {

// Of what lies in the arena. The planner's own is 64, so it is shown eight times the bytes.
constexpr int64_t kScale = static_cast<int64_t>(kTensorAlignment) / VIREO_PLAN_ALIGNMENT;
constexpr int64_t scaled(int64_t bytes) {
  return (bytes + VIREO_PLAN_ALIGNMENT - 1) / VIREO_PLAN_ALIGNMENT * VIREO_PLAN_ALIGNMENT * kScale;
}

// The planner's view of calls: what each node reads and makes, and pieces of memory beside the file's tensors.
class Builder {
 public:
  Builder(const CallList& list, const std::vector<Segment>& segments) : list_(list), segments_(segments) {
    for (const CallTensor& t : list.tensors)
      tensors_.push_back({scaled(t.bytes),
                          t.constant ? PlanTensor::kConstant
                          : t.input  ? PlanTensor::kInput
                                     : PlanTensor::kValue,
                          t.output});
    items_.resize(segments.size());
    size_t next = 0;
    for (uint32_t c = 0; c < list.calls.size();) {
      if (next < segments.size() && segments[next].first == c) {
        add_segment(next);
        c += segments[next++].count;
      } else {
        add_call(c++);
      }
    }
  }

  bool plan(int64_t tries, Memory* out, std::string* error) {
    std::vector<PlanNode> nodes(rows_.size());
    for (size_t n = 0; n < rows_.size(); ++n) {
      nodes[n].inputs = {rows_[n].inputs.data(), rows_[n].inputs.size()};
      nodes[n].outputs = {rows_[n].outputs.data(), rows_[n].outputs.size()};
      nodes[n].inplace = rows_[n].inplace;
      nodes[n].view = rows_[n].view;
      nodes[n].region_bytes = -1;
    }
    std::vector<uint64_t> work(static_cast<size_t>(
        plan_workspace_bytes(static_cast<int64_t>(tensors_.size()), static_cast<int64_t>(nodes.size())) / 8 + 1));
    std::vector<uint64_t> offsets(tensors_.size()), regions;
    PlanResult result;
    Error e;
    const Span<uint8_t> workspace{reinterpret_cast<uint8_t*>(work.data()), work.size() * 8};
    const Span<const PlanTensor> tensors{tensors_.data(), tensors_.size()};
    const Span<const PlanNode> all{nodes.data(), nodes.size()};
    const Status status = tries < 0 ? plan_arena(tensors, all, PackOrder::kSize, false, workspace,
                                                 {offsets.data(), offsets.size()}, {regions.data(), 0}, &result, &e)
                                    : plan_arena_best(tensors, all, false, workspace, {offsets.data(), offsets.size()},
                                                      {regions.data(), 0}, &result, &e, tries);
    if (status != Status::kOk) {
      *error = std::string("no plan of the arena: ") + e.message;
      return false;
    }
    for (uint64_t& offset : offsets) offset = offset == kNoOffset || is_alias(offset) ? offset : offset / kScale;
    result.bytes /= kScale;
    result.lower_bound = (result.lower_bound + kScale - 1) / kScale;
    const auto at = [&](int32_t item) { return item < 0 ? 0 : offsets[static_cast<size_t>(item)]; };
    out->tensors.assign(offsets.begin(), offsets.begin() + static_cast<std::ptrdiff_t>(list_.tensors.size()));
    out->scratch.clear();
    for (const auto& [call, item] : scratch_) out->scratch[call] = at(item);
    out->segments.clear();
    uint64_t state = 0;
    for (size_t s = 0; s < segments_.size(); ++s) {
      Memory::Rows& rows = out->segments.emplace_back();
      for (const int32_t item : items_[s].fresh) rows.fresh.push_back(at(item));
      for (const int32_t item : items_[s].kept) rows.kept.push_back(at(item));
      for (const auto& pair : items_[s].gather) rows.gather.push_back({at(pair[0]), at(pair[1])});
      state = std::max<uint64_t>(state, segments_[s].values.size() * sizeof(vireo_segment_rows) + 12);
    }
    out->state = result.bytes;
    out->bytes = result.bytes + (state + 7) / 8 * 8;
    out->lower_bound = result.lower_bound + (state + 7) / 8 * 8;
    return true;
  }

 private:
  struct Row {
    std::vector<int32_t> inputs, outputs;
    uint32_t inplace = 0;
    bool view = false;
  };
  struct Items {
    std::vector<int32_t> fresh, kept;  // by value; -1: none
    std::vector<std::array<int32_t, 2>> gather;
  };

  int32_t item(int64_t bytes) {
    tensors_.push_back({scaled(bytes), PlanTensor::kValue, false});
    return static_cast<int32_t>(tensors_.size() - 1);
  }
  // Scratch memory is a result that nobody reads.
  void add_scratch(uint32_t call, uint32_t bytes, Row* row) {
    if (bytes == 0) return;
    scratch_[call] = item(bytes);
    row->outputs.push_back(scratch_[call]);
  }

  void add_call(uint32_t c) {
    const Call& call = list_.calls[c];
    Row row;
    row.inputs = call.inputs;
    row.outputs = call.outputs;
    row.view = call.kernel == 0;
    const int64_t result = list_.tensors[static_cast<size_t>(call.outputs[0])].bytes;
    for (uint32_t i = 0; i < call.inputs.size() && i < 2; ++i) {
      const int32_t t = call.inputs[i];
      if ((call.inplace >> i & 1) != 0 && t >= 0 && list_.tensors[static_cast<size_t>(t)].bytes == result)
        row.inplace |= 1u << i;
    }
    add_scratch(c, call.scratch_bytes, &row);
    rows_.push_back(std::move(row));
  }

  // What is kept, and whole values, live as long as the segment: a node before it makes them, one behind it reads them.
  void add_segment(size_t index) {
    const Segment& s = segments_[index];
    Items& items = items_[index];
    Row before, behind;
    for (size_t v = 0; v < s.values.size(); ++v) {
      const vireo_segment_value& value = s.values[v];
      const int64_t row_bytes = int64_t{value.planes} * value.row_bytes;
      const bool whole = value.whole != VIREO_PLAN_ABSENT;
      items.kept.push_back(whole || value.kept_rows == 0 ? -1 : item(value.kept_rows * row_bytes));
      items.fresh.push_back(whole && (value.planes == 1 || value.maker == 255) ? -1
                                                                               : item(value.fresh_rows * row_bytes));
      if (items.kept[v] >= 0) {
        before.outputs.push_back(items.kept[v]);
        behind.inputs.push_back(items.kept[v]);
      }
      const int32_t tensor = s.tensors[v];
      if (whole) {
        if (value.maker != 255) before.outputs.push_back(tensor);
        behind.inputs.push_back(tensor);
      } else {
        tensors_[static_cast<size_t>(tensor)] = {0, PlanTensor::kConstant, false};
      }
    }
    for (uint32_t k = 0; k < s.count; ++k) {
      if (!s.keeps[k] || s.scratch[k] == 0) continue;
      add_scratch(s.first + k, s.scratch[k], &before);
      behind.inputs.push_back(before.outputs.back());
    }
    if (!before.outputs.empty()) rows_.push_back(std::move(before));
    for (uint32_t k = 0; k < s.count; ++k) {
      const vireo_segment_node& n = s.nodes[k];
      Row row;
      if (items.fresh[n.output] >= 0) row.outputs.push_back(items.fresh[n.output]);
      std::array<int32_t, 2> gather = {-1, -1};
      for (size_t i = 0; i < 2 && n.inputs[i] != 255; ++i) {
        if (items.fresh[n.inputs[i]] >= 0 && s.values[n.inputs[i]].whole == VIREO_PLAN_ABSENT) {
          if (i == 0 && s.in_place[k] && !row.outputs.empty()) row.inplace = 1;
          row.inputs.push_back(items.fresh[n.inputs[i]]);
        }
        if (n.gather_rows == 0) continue;
        const vireo_segment_value& x = s.values[n.inputs[i]];
        const uint32_t planes = vireo_segment_by_planes(&n) ? n.planes : x.planes;
        gather[i] = item(int64_t{n.gather_rows} * planes * x.row_bytes);
        row.outputs.push_back(gather[i]);
      }
      items.gather.push_back(gather);
      if (!s.keeps[k]) add_scratch(s.first + k, s.scratch[k], &row);
      if (!row.outputs.empty()) rows_.push_back(std::move(row));
    }
    if (!behind.inputs.empty()) {
      behind.outputs.push_back(item(0));
      rows_.push_back(std::move(behind));
    }
  }

  const CallList& list_;
  const std::vector<Segment>& segments_;
  std::vector<PlanTensor> tensors_;
  std::vector<Row> rows_;
  std::vector<Items> items_;
  std::map<uint32_t, int32_t> scratch_;
};

}  // namespace

bool plan_memory(const CallList& list, const std::vector<Segment>& segments, int64_t tries, Memory* out,
                 std::string* error) {
  return Builder(list, segments).plan(tries, out, error);
}

}  // namespace vireo::firmware
