#include "delegates/gpu/lower/redirect.h"

#include <algorithm>
#include <utility>

namespace vireo::gpu {
namespace {

bool contains(const std::vector<int>& memories, int memory) {
  return std::find(memories.begin(), memories.end(), memory) != memories.end();
}

// A work that takes elements from one place to another as they are.
const ChainProblem* copy_of(const Work& w) {
  const auto* const chain = std::get_if<ChainProblem>(&w.problem);
  if (chain == nullptr || w.errors >= 0 || w.updates) return nullptr;
  const Expression& e = chain->expression;
  if (e.inputs.size() != 1 || !e.steps.empty() || e.outputs.size() != 1 || e.inputs[0].indexed) return nullptr;
  const View& from = e.inputs[0].view;
  return from.begin.empty() && from.gather_axis < 0 ? chain : nullptr;
}

// Where elements of the memory that a copy reads go to.
class Way {
 public:
  explicit Way(const ChainProblem& copy) : shape_(copy.shape), from_(copy.expression.inputs[0].view) {
    const View& to = copy.expression.outputs[0].view;
    to_ = to.strides;
    offset_ = to.offset;
    for (size_t a = 0; a < shape_.size(); ++a) {
      if (shape_[a] > 1) axes_.push_back(a);
    }
    std::sort(axes_.begin(), axes_.end(), [&](size_t a, size_t b) { return from_.strides[a] > from_.strides[b]; });
    // Elements in order are coordinates in order: each stride is above all that the axes behind it span.
    int64_t span = 0;
    for (size_t i = axes_.size(); i-- > 0 && in_order_;) {
      in_order_ = from_.strides[axes_[i]] > span;
      span += from_.strides[axes_[i]] * (shape_[axes_[i]] - 1);
    }
  }

  // A view that writes elements which the copy reads, over `space`, as one that writes where they go. False: there is
  // none.
  bool take(const View& made, const Extents& space, View* out) const {
    if (!in_order_ || !made.begin.empty() || made.gather_axis >= 0 || made.strides.size() < space.size()) return false;
    Extents last(shape_.size(), 0);  // coordinates of the last element
    int64_t rest = made.offset - from_.offset;
    *out = made;
    out->offset = offset_;
    if (rest < 0 || !spread(rest, 1, &last, &out->offset)) return false;
    for (size_t a = 0; a < space.size(); ++a) {
      out->strides[a] = 0;
      if (space[a] != 1 && (made.strides[a] <= 0 || !spread(made.strides[a], space[a] - 1, &last, &out->strides[a])))
        return false;
    }
    for (size_t a = 0; a < shape_.size(); ++a) {
      if (last[a] >= shape_[a]) return false;
    }
    return true;
  }

 private:
  // `elements` as coordinates: adds `times` of them to *last, and what they are in the copy's result to *to.
  bool spread(int64_t elements, int64_t times, Extents* last, int64_t* to) const {
    for (const size_t a : axes_) {
      const int64_t steps = elements / from_.strides[a];
      elements -= steps * from_.strides[a];
      (*last)[a] += steps * times;
      *to += steps * to_[a];
    }
    return elements == 0;
  }

  Extents shape_;
  View from_;
  Extents to_;
  int64_t offset_ = 0;
  std::vector<size_t> axes_;  // the longest strides first
  bool in_order_ = true;
};

class Redirection {
 public:
  explicit Redirection(Lowering* l) : l_(*l), works_(l->works) {}

  void run() {
    for (size_t k = 1; k < works_.size();) {
      if (remove(k)) {
        works_.erase(works_.begin() + static_cast<std::ptrdiff_t>(k));
      } else {
        ++k;
      }
    }
  }

 private:
  bool remove(size_t k) {
    const ChainProblem* const copy = copy_of(works_[k]);
    if (copy == nullptr) return false;
    const int from = works_[k].reads[0], to = works_[k].writes[0];
    if (l_.memories[static_cast<size_t>(from)].where != Where::kInner || from == to) return false;
    const DType type = copy->expression.inputs[0].dtype;
    const Way way(*copy);
    std::vector<std::pair<size_t, Problem>> changed;
    for (size_t j = 0; j < works_.size(); ++j) {
      const Work& w = works_[j];
      if (j != k && (contains(w.reads, from) || contains(w.operands, from))) return false;
      if (j == k || !contains(w.writes, from)) continue;
      Problem p = w.problem;
      if (j > k || w.updates || !change(w, from, type, way, &p)) return false;
      changed.emplace_back(j, std::move(p));
    }
    if (changed.empty()) return false;
    // Nobody may look at the other memory before the copy would have been made.
    for (size_t j = changed[0].first; j < k; ++j) {
      if (contains(works_[j].reads, to) || contains(works_[j].operands, to) ||
          (contains(works_[j].writes, to) && works_[j].updates))
        return false;
    }
    for (auto& [j, p] : changed) {
      works_[j].problem = std::move(p);
      std::replace(works_[j].writes.begin(), works_[j].writes.end(), from, to);
    }
    return true;
  }

  // Only works over a space of their own shape, of which a view's strides are known to be axes.
  bool change(const Work& w, int from, DType type, const Way& way, Problem* p) const {
    auto* const chain = std::get_if<ChainProblem>(p);
    if (chain == nullptr) return false;
    Expression& e = chain->expression;
    if (e.outputs.size() != w.writes.size()) return false;
    for (size_t o = 0; o < e.outputs.size(); ++o) {
      if (w.writes[o] != from) continue;
      View view;
      if (e.type_of(e.outputs[o].value) != type || !way.take(e.outputs[o].view, chain->shape, &view)) return false;
      e.outputs[o].view = std::move(view);
    }
    return dispatch_of(*p, l_.target()).refusal.empty();
  }

  Lowering& l_;
  std::vector<Work>& works_;
};

}  // namespace

void redirect(Lowering* lowering) {
  if (!lowering->target().open) Redirection(lowering).run();
}

}  // namespace vireo::gpu
