#include "delegates/gpu/lower/fuse.h"

#include <algorithm>
#include <map>
#include <set>

namespace vireo::gpu {
namespace {

constexpr size_t kMostSteps = 48;  // of one expression: registers run out somewhere

// The space of a work's last expression.
Extents space_of(const Problem& problem) {
  if (const auto* const chain = std::get_if<ChainProblem>(&problem)) return chain->shape;
  if (const auto* const rows = std::get_if<RowsProblem>(&problem)) {
    Extents shape = rows->shape;
    if (rows->per_row) shape.resize(shape.size() - static_cast<size_t>(rows->row_axes));
    return shape;
  }
  if (const auto* const product = std::get_if<ProductProblem>(&problem)) {
    Extents shape = product->batch;
    shape.push_back(product->m);
    shape.push_back(product->n);
    return shape;
  }
  if (const auto* const attention = std::get_if<AttentionProblem>(&problem)) {
    Extents shape = attention->batch;
    shape.push_back(attention->queries);
    shape.push_back(attention->value_head);
    return shape;
  }
  Extents places;
  const auto set = [&places](Extents before, const Window& w, int64_t last) {
    places = std::move(before);
    places.insert(places.end(), w.out.begin(), w.out.end());
    places.push_back(last);
  };
  if (const auto* const conv = std::get_if<ConvolutionProblem>(&problem)) {
    set({conv->groups, conv->images}, conv->window, conv->outputs);
  } else if (const auto* const pool = std::get_if<PoolProblem>(&problem)) {
    set({pool->images}, pool->window, pool->channels);
  } else {
    const auto& depthwise = std::get<DepthwiseProblem>(problem);
    set({depthwise.images}, depthwise.window, depthwise.channels * depthwise.multiplier);
  }
  return places;
}

int64_t count_of(const Extents& extents) {
  int64_t n = 1;
  for (const int64_t e : extents) n *= e;
  return n;
}

bool is_plain(const View& view) { return view.begin.empty() && view.gather_axis < 0; }
// What reads elements by a computed index is done where it stands: such an input has no place of its own.
bool is_plain(const Input& in) { return is_plain(in.view) && !in.indexed; }

// How the places of a producer's space are places of the reader's: coordinate a adds a times `step[a]` to the reader's
// coordinate on `axis[a]`.
struct Mapping {
  std::vector<int> axis;
  Extents step;
};

// Both see the same elements; the reader's dimensions may be cut in several axes of the producer, not the other way.
bool map_places(const Extents& space, const View& made, const Extents& shape, const View& read, Mapping* out) {
  if (count_of(space) != count_of(shape) || made.offset != read.offset) return false;
  out->axis.assign(space.size(), -1);
  out->step.assign(space.size(), 0);
  Extents covered(shape.size(), 1);
  // From the smallest step: each axis goes on where the axes before it ended on the reader's dimension.
  std::vector<size_t> order;
  for (size_t a = 0; a < space.size(); ++a) {
    if (space[a] != 1) order.push_back(a);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return made.strides[a] < made.strides[b]; });
  for (const size_t a : order) {
    for (size_t b = 0; b < shape.size() && out->axis[a] < 0; ++b) {
      if (shape[b] == 1 || read.strides[b] <= 0 || covered[b] * space[a] > shape[b]) continue;
      if (made.strides[a] != read.strides[b] * covered[b]) continue;
      out->axis[a] = static_cast<int>(b);
      out->step[a] = covered[b];
      covered[b] *= space[a];
    }
    if (out->axis[a] < 0) return false;
  }
  return covered == shape;
}

View mapped(const View& view, const Mapping& mapping) {
  View out;
  out.offset = view.offset;
  for (size_t a = 0; a < mapping.axis.size(); ++a)
    out.strides.push_back(mapping.axis[a] < 0 ? 0
                                              : view.strides[static_cast<size_t>(mapping.axis[a])] * mapping.step[a]);
  return out;
}

// Whether two views of one memory take every place to the same element.
bool same_elements(const View& a, const View& b, const Extents& shape) {
  if (a.offset != b.offset || !is_plain(a) || !is_plain(b)) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

class Fuser {
 public:
  explicit Fuser(Lowering* l) : l_(*l), works_(l->works) {}

  void run() {
    for (size_t k = 1; k < works_.size(); ++k) {
      const auto* const chain = std::get_if<ChainProblem>(&works_[k].problem);
      if (chain == nullptr) continue;
      for (size_t i = 0; i < works_[k].reads.size(); ++i) {
        if (join(k, works_[k].reads[i])) {
          gone_.insert(k);
          break;
        }
      }
    }
    std::vector<Work> kept;
    for (size_t k = 0; k < works_.size(); ++k) {
      if (gone_.count(k) == 0) kept.push_back(std::move(works_[k]));
    }
    works_ = std::move(kept);
  }

 private:
  // The only work that writes it; works_.size(): none or several.
  size_t maker(int memory) const {
    size_t found = works_.size();
    for (size_t k = 0; k < works_.size(); ++k) {
      if (gone_.count(k) != 0 || std::count(works_[k].writes.begin(), works_[k].writes.end(), memory) == 0) continue;
      if (found != works_.size()) return works_.size();
      found = k;
    }
    return found;
  }
  bool read_elsewhere(int memory, size_t but) const {
    for (size_t k = 0; k < works_.size(); ++k) {
      if (gone_.count(k) != 0 || k == but) continue;
      const Work& w = works_[k];
      if (std::count(w.reads.begin(), w.reads.end(), memory) != 0 ||
          std::count(w.operands.begin(), w.operands.end(), memory) != 0)
        return true;
    }
    return false;
  }
  // Whether everything that work `k` reads but for `memory` is there when work `at` runs.
  bool is_there(size_t k, size_t at, int memory) const {
    for (const int m : works_[k].reads) {
      if (m == memory) continue;
      for (size_t j = at; j < works_.size(); ++j) {
        if (gone_.count(j) == 0 && std::count(works_[j].writes.begin(), works_[j].writes.end(), m) != 0) return false;
      }
    }
    return true;
  }

  // A place on an axis is the same place only where the axes are the same.
  static bool places_stay(const Expression& from, const Mapping& mapping, const Extents& shape) {
    for (const Step& s : from.steps) {
      if (s.function != Function::kPlace) continue;
      if (mapping.axis.size() != shape.size()) return false;
      for (size_t a = 0; a < shape.size(); ++a) {
        if (shape[a] != 1 && (mapping.axis[a] != static_cast<int>(a) || mapping.step[a] != 1)) return false;
      }
    }
    return true;
  }

  // Makes chain `k` the end of the work that makes `memory`.
  bool join(size_t k, int memory) {
    if (l_.memories[static_cast<size_t>(memory)].where == Where::kInput) return false;
    const size_t at = maker(memory);
    if (at >= k || !is_there(k, at, memory)) return false;
    Work& first = works_[at];
    if (expressions_of(first.problem).empty()) return false;
    auto& chain = std::get<ChainProblem>(works_[k].problem);
    Expression& to = last_expression(first.problem);
    const Expression& from = chain.expression;
    if (to.steps.size() + from.steps.size() > kMostSteps || from.reports()) return false;
    const size_t place =
        static_cast<size_t>(std::find(first.writes.begin(), first.writes.end(), memory) - first.writes.begin());
    const Extents space = space_of(first.problem);
    const View made = to.outputs[place].view;
    Mapping mapping;
    bool mapped_once = false;
    for (size_t i = 0; i < from.inputs.size(); ++i) {
      if (!is_plain(from.inputs[i])) return false;
      if (works_[k].reads[i] != memory) continue;
      if (from.inputs[i].dtype != to.type_of(to.outputs[place].value)) return false;
      if (!mapped_once && !map_places(space, made, chain.shape, from.inputs[i].view, &mapping)) return false;
      mapped_once = true;
      if (!same_elements(mapped(from.inputs[i].view, mapping), made, space)) return false;
    }
    if (!places_stay(from, mapping, chain.shape)) return false;
    const bool keeps = l_.memories[static_cast<size_t>(memory)].where == Where::kOutput || read_elsewhere(memory, k);
    const size_t bindings = first.operands.size() + first.reads.size() + first.writes.size() + works_[k].reads.size() +
                            works_[k].writes.size() + (first.errors >= 0 ? 1 : 0);
    if (bindings > l_.target().bindings) return false;
    append(&first, &to, works_[k], from, memory, place, mapping, keeps);
    return true;
  }

  // Inputs come before steps, so that every number of a step moves by the inputs that are new.
  static void append(Work* first, Expression* to, const Work& second, const Expression& from, int memory, size_t place,
                     const Mapping& mapping, bool keeps) {
    const int old_inputs = static_cast<int>(to->inputs.size());
    std::vector<int> number(from.inputs.size());
    for (size_t i = 0; i < from.inputs.size(); ++i) {
      if (second.reads[i] == memory) continue;
      number[i] = static_cast<int>(to->inputs.size());
      Input in = from.inputs[i];
      in.view = mapped(in.view, mapping);
      to->inputs.push_back(std::move(in));
      first->reads.push_back(second.reads[i]);
    }
    const int moved = static_cast<int>(to->inputs.size()) - old_inputs;
    const auto shift = [&](int* value) {
      if (*value >= old_inputs) *value += moved;
    };
    for (Step& s : to->steps) {
      shift(&s.a);
      shift(&s.b);
      shift(&s.c);
    }
    for (Output& o : to->outputs) shift(&o.value);
    for (size_t i = 0; i < from.inputs.size(); ++i) {
      if (second.reads[i] == memory) number[i] = to->outputs[place].value;
    }
    const int old_steps = static_cast<int>(to->steps.size());
    const auto renumber = [&](int value) {
      if (value < 0) return value;
      const auto v = static_cast<size_t>(value);
      if (v < number.size()) return number[v];
      return static_cast<int>(to->inputs.size()) + old_steps + static_cast<int>(v - number.size());
    };
    for (Step s : from.steps) {
      s.a = renumber(s.a);
      s.b = renumber(s.b);
      s.c = renumber(s.c);
      to->steps.push_back(s);
    }
    std::vector<Output> outputs;
    for (size_t o = 0; o < from.outputs.size(); ++o) {
      Output out;
      out.value = renumber(from.outputs[o].value);
      out.view = mapped(from.outputs[o].view, mapping);
      outputs.push_back(std::move(out));
    }
    if (!keeps) {
      to->outputs.erase(to->outputs.begin() + static_cast<std::ptrdiff_t>(place));
      first->writes.erase(first->writes.begin() + static_cast<std::ptrdiff_t>(place));
    }
    for (size_t o = 0; o < outputs.size(); ++o) {
      to->outputs.push_back(std::move(outputs[o]));
      first->writes.push_back(second.writes[o]);
    }
  }

  Lowering& l_;
  std::vector<Work>& works_;
  std::set<size_t> gone_;
};

}  // namespace

void fuse(Lowering* lowering) { Fuser(lowering).run(); }

}  // namespace vireo::gpu
