#include "quant/calibrate/forward.h"

#include <algorithm>
#include <set>
#include <utility>

namespace vireo::quant {
namespace {

// What a step may begin with: an input of a graph has extents that are numbers or names. Numbers of extents are made
// anew, because shapes follow from them before anything runs.
bool can_be_kept(const ir::Graph& graph, const ir::Value& v) {
  if (v.constant != nullptr || v.producer == nullptr || v.type.dtype != DType::kF32 || v.type.shape.rank < 2)
    return false;
  for (int d = 0; d < v.type.shape.rank; ++d) {
    uint32_t atom = 0;
    const Dim extent = v.type.shape[d];
    if (is_symbolic(extent) &&
        (!graph.dims().is_symbol(extent, &atom) || graph.dims().atoms()[atom].symbol.data_dependent))
      return false;
  }
  return true;
}

// What makes `value`, from `ends` and the graph's inputs on.
void collect(const ir::Value& value, const std::map<uint32_t, std::vector<HostTensor>>& ends,
             std::set<const ir::Node*>* nodes, std::set<uint32_t>* met) {
  std::vector<const ir::Value*> open = {&value};
  while (!open.empty()) {
    const ir::Value* const v = open.back();
    open.pop_back();
    if (ends.count(v->id) != 0) {
      met->insert(v->id);
    } else if (v->producer != nullptr && nodes->insert(v->producer).second) {
      for (const ir::Value* in : v->producer->inputs) {
        if (in != nullptr) open.push_back(in);
      }
    }
  }
}

}  // namespace

// From what is made later back to what this step, or one before it, has made.
Forward::Left Forward::left_by(const Values& values, const Values& later) const {
  Left out;
  std::set<const ir::Node*> done, seen;
  std::set<uint32_t> met;
  for (const ir::Value* v : values) {
    if (weights_ == Weights::kStay) {
      collect(*v, kept_, &done, &met);
    } else if (v->producer != nullptr) {
      for (const ir::Value* in : v->producer->inputs) {
        if (in != nullptr) collect(*in, kept_, &done, &met);
      }
    }
  }
  std::vector<const ir::Value*> open = later;
  if (weights_ == Weights::kChange) open.insert(open.begin(), values.begin(), values.end());
  while (!open.empty()) {
    const ir::Value* const v = open.back();
    open.pop_back();
    if (kept_.count(v->id) != 0) {
      if (std::find(out.goes_on.begin(), out.goes_on.end(), v->id) == out.goes_on.end()) out.goes_on.push_back(v->id);
    } else if (v->producer != nullptr && done.count(v->producer) != 0 && can_be_kept(graph_, *v)) {
      out.made[v->id];
    } else if (v->producer != nullptr && seen.insert(v->producer).second) {
      for (const ir::Value* in : v->producer->inputs) {
        if (in != nullptr) open.push_back(in);
      }
    }
  }
  return out;
}

uint64_t Forward::would_keep(const Values& values, const Values& later) const {
  const Left left = left_by(values, later);
  uint64_t sum = 0;
  for (const auto& [id, samples] : left.made) {
    const Shape& shape = graph_.values()[id - 1].type.shape;
    uint64_t elements = 1;
    for (int d = 0; d < shape.rank; ++d) elements *= static_cast<uint64_t>(std::max<int64_t>(shape[d], 1));
    sum += elements * sizeof(float);
  }
  for (const uint32_t id : left.goes_on) sum += kept_.at(id).empty() ? 0 : kept_.at(id)[0].bytes.size();
  return sum;
}

bool Forward::prepare(const Values& values, const Values& later, std::string* error) {
  program_.reset();
  left_ = left_by(values, later);
  std::set<const ir::Node*> nodes;
  std::set<uint32_t> met;
  for (const ir::Value* v : values) {
    if (kept_.count(v->id) != 0) met.insert(v->id);
    collect(*v, kept_, &nodes, &met);
  }
  for (const auto& [id, samples] : left_.made) collect(graph_.values()[id - 1], kept_, &nodes, &met);
  const std::unique_ptr<ir::Graph> part = graph_.clone();
  for (size_t i = part->outputs().size(); i-- > 0;) part->remove_output(i);
  std::map<uint32_t, ir::Value*> given;
  read_.assign(met.begin(), met.end());
  for (const uint32_t id : read_) {
    ir::Value* const made = part->value(id);
    given[id] = part->add_input("kept:" + made->name, made->type);
    part->replace_uses(made, given[id]);
  }
  const auto add_output = [&](uint32_t id) {
    const auto found = given.find(id);
    part->add_output(found == given.end() ? part->value(id) : found->second, "value:" + part->value(id)->name);
  };
  std::map<uint32_t, size_t> place;  // of an output
  count_ = values.size();
  for (size_t i = 0; i < count_; ++i) {
    place.emplace(values[i]->id, i);
    add_output(values[i]->id);
  }
  made_at_.clear();
  size_t next = count_;
  for (const auto& [id, samples] : left_.made) {
    const auto [at, is_more] = place.emplace(id, next);
    if (is_more) {
      add_output(id);
      ++next;
    }
    made_at_.push_back(at->second);
  }
  for (auto it = part->nodes().end(); it != part->nodes().begin();) {
    ir::Node& n = *--it;
    const bool wanted = std::any_of(n.outputs.begin(), n.outputs.end(),
                                    [](const ir::Value* v) { return v != nullptr && !v->unused(); });
    if (wanted) continue;
    ++it;
    part->remove(&n);
  }
  part->drop_unused_values();
  program_ = evaluator_.prepare(*part, {}, error);
  return program_ != nullptr;
}

std::vector<HostTensor> Forward::with_kept(size_t sample, std::vector<HostTensor> inputs) const {
  for (const uint32_t id : read_) inputs.push_back(kept_.at(id)[sample]);
  return inputs;
}

uint64_t Forward::bytes(const std::vector<HostTensor>& inputs, std::string* error) {
  return program_->bytes(with_kept(0, inputs), error);
}

bool Forward::run(size_t sample, std::vector<HostTensor> inputs, std::vector<TensorView>* values, std::string* error) {
  if (!program_->run(with_kept(sample, std::move(inputs)), values, error)) return false;
  size_t next = 0;
  for (auto& [id, samples] : left_.made) {
    const TensorView& v = (*values)[made_at_[next++]];
    if (forgets_) continue;
    samples.resize(std::max(samples.size(), sample + 1));
    samples[sample] = {v.dtype, v.dims, {v.bytes.begin(), v.bytes.end()}, {}};
  }
  values->resize(count_);
  return true;
}

uint64_t Forward::held() const {
  uint64_t sum = 0;
  for (const auto& [id, samples] : kept_) {
    for (const HostTensor& t : samples) sum += t.bytes.size();
  }
  return sum;
}

uint64_t Forward::left() const {
  uint64_t sum = 0;
  for (const auto& [id, samples] : left_.made) {
    for (const HostTensor& t : samples) sum += t.bytes.size();
  }
  return sum;
}

void Forward::finish() {
  program_.reset();
  if (std::exchange(forgets_, false)) {
    kept_.clear();
    left_.made.clear();
    left_.goes_on.clear();
  }
  for (const uint32_t id : left_.goes_on) {
    const auto found = kept_.find(id);
    if (found != kept_.end()) left_.made[id] = std::move(found->second);
    kept_.erase(id);
  }
  kept_ = std::exchange(left_.made, {});
  left_.goes_on.clear();
}

}  // namespace vireo::quant
