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
void Forward::find_kept(const ir::Value& value, const std::vector<const ir::Value*>& later) {
  std::set<const ir::Node*> done, seen;
  std::set<uint32_t> met;
  if (value.producer != nullptr) {
    for (const ir::Value* in : value.producer->inputs) {
      if (in != nullptr) collect(*in, kept_, &done, &met);
    }
  }
  goes_on_.clear();
  new_.clear();
  std::vector<const ir::Value*> open = {&value};
  open.insert(open.end(), later.begin(), later.end());
  while (!open.empty()) {
    const ir::Value* const v = open.back();
    open.pop_back();
    if (kept_.count(v->id) != 0) {
      goes_on_.push_back(v->id);
    } else if (v->producer != nullptr && done.count(v->producer) != 0 && can_be_kept(graph_, *v)) {
      new_[v->id];
    } else if (v->producer != nullptr && seen.insert(v->producer).second) {
      for (const ir::Value* in : v->producer->inputs) {
        if (in != nullptr) open.push_back(in);
      }
    }
  }
}

bool Forward::prepare(const ir::Value& value, const std::vector<const ir::Value*>& later, std::string* error) {
  program_.reset();
  find_kept(value, later);
  std::set<const ir::Node*> nodes;
  std::set<uint32_t> met;
  if (kept_.count(value.id) != 0) met.insert(value.id);
  collect(value, kept_, &nodes, &met);
  for (const auto& [id, samples] : new_) collect(*graph_.value(id), kept_, &nodes, &met);
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
  add_output(value.id);
  for (const auto& [id, samples] : new_) add_output(id);
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

bool Forward::run(size_t sample, std::vector<HostTensor> inputs, TensorView* value, std::string* error) {
  std::vector<TensorView> outputs;
  if (!program_->run(with_kept(sample, std::move(inputs)), &outputs, error)) return false;
  *value = outputs[0];
  size_t at = 1;
  for (auto& [id, samples] : new_) {
    const TensorView& v = outputs[at++];
    if (forgets_) continue;
    samples.resize(std::max(samples.size(), sample + 1));
    samples[sample] = {v.dtype, v.dims, {v.bytes.begin(), v.bytes.end()}, {}};
  }
  return true;
}

uint64_t Forward::left() const {
  uint64_t sum = 0;
  for (const auto& [id, samples] : new_) {
    for (const HostTensor& t : samples) sum += t.bytes.size();
  }
  return sum;
}

void Forward::finish() {
  program_.reset();
  if (std::exchange(forgets_, false)) {
    kept_.clear();
    new_.clear();
    goes_on_.clear();
  }
  for (const uint32_t id : goes_on_) {
    const auto found = kept_.find(id);
    if (found != kept_.end()) new_[id] = std::move(found->second);
    kept_.erase(id);
  }
  kept_ = std::exchange(new_, {});
  goes_on_.clear();
}

}  // namespace vireo::quant
