#include "delegates/gpu/templates/space.h"

#include <algorithm>

namespace vireo::gpu {
namespace {

template <class F>
void for_views(const std::vector<Expression*>& expressions, const F& f) {
  for (Expression* e : expressions) {
    for (Input& in : e->inputs) {
      if (!in.given) f(in.view);
    }
    for (Output& out : e->outputs) f(out.view);
  }
}

bool is_free(const View& v, size_t axis, int64_t extent) {  // without meaning of its own for bounds and gathers
  if (v.gather_axis == static_cast<int>(axis)) return false;
  return v.begin.empty() || (v.begin[axis] == 0 && v.extent[axis] == extent);
}

void erase(View* v, size_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(axis);
  v->strides.erase(v->strides.begin() + at);
  if (!v->begin.empty()) {
    v->begin.erase(v->begin.begin() + at);
    v->extent.erase(v->extent.begin() + at);
  }
  if (v->gather_axis > static_cast<int>(axis)) --v->gather_axis;
}

bool can_join(const View& v, size_t a, int64_t inner) {
  return v.strides[a] == v.strides[a + 1] * inner && v.gather_axis != static_cast<int>(a) && is_free(v, a + 1, inner);
}
void join(View* v, size_t a, int64_t inner) {
  if (!v->begin.empty()) {
    v->begin[a + 1] = v->begin[a] * inner;
    v->extent[a + 1] = v->extent[a] * inner;
  }
  erase(v, a);
}

}  // namespace

int64_t count_of(const Extents& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  return n;
}

void collapse(Extents* shape, const std::vector<Expression*>& expressions, std::vector<size_t>* parts) {
  for (const Expression* e : expressions) {
    if (sees_places(*e)) return;
  }
  size_t end = shape->size();
  for (size_t part = parts->size(); part-- > 0;) {
    const size_t begin = end - (*parts)[part];
    for (size_t a = end; a-- > begin;) {
      bool can = (*shape)[a] == 1;
      for_views(expressions, [&](View& v) { can = can && is_free(v, a, 1); });
      if (!can) continue;
      shape->erase(shape->begin() + static_cast<std::ptrdiff_t>(a));
      for_views(expressions, [&](View& v) { erase(&v, a); });
      --end;
    }
    for (size_t a = end; a-- > begin + 1;) {  // a with the one before it
      const int64_t inner = (*shape)[a];
      bool can = true;
      for_views(expressions, [&](View& v) { can = can && can_join(v, a - 1, inner); });
      if (!can) continue;
      (*shape)[a] *= (*shape)[a - 1];
      shape->erase(shape->begin() + static_cast<std::ptrdiff_t>(a - 1));
      for_views(expressions, [&](View& v) { join(&v, a - 1, inner); });
      --end;
    }
    (*parts)[part] = end - begin;
    end = begin;
  }
}

bool as_moves(Extents* shape, Expression* e) {
  if (!e->steps.empty()) return false;
  int bits = 0;
  std::vector<bool> is_index(e->inputs.size(), false);
  for (const Input& in : e->inputs) {
    if (in.given) return false;
    if (in.view.gather_axis >= 0 && in.view.gather_input >= 0)
      is_index[static_cast<size_t>(in.view.gather_input)] = true;
  }
  for (size_t i = 0; i < e->inputs.size(); ++i) {
    if (is_index[i]) continue;
    const int here = dtype_bits(e->inputs[i].dtype);
    if ((bits != 0 && here != bits) || here < 8 || e->inputs[i].dtype == DType::kString) return false;
    if (here > 32 && (e->inputs[i].view.fill >> 32) != (e->inputs[i].view.fill & 0xFFFFFFFF)) return false;
    bits = here;
  }
  for (const Output& out : e->outputs) {
    if (is_index[static_cast<size_t>(out.value)]) return false;
  }
  const int64_t words = bits > 32 ? bits / 32 : 1;
  for (size_t i = 0; i < e->inputs.size(); ++i) {
    if (!is_index[i]) e->inputs[i].dtype = bits == 8 ? DType::kU8 : bits == 16 ? DType::kU16 : DType::kU32;
  }
  if (words == 1) return true;
  const auto widen = [&](View& v, int64_t by) {
    for (int64_t& s : v.strides) s *= by;
    v.offset *= by;
    v.strides.push_back(by == 1 ? 0 : 1);
    if (v.begin.empty()) return;
    v.begin.push_back(0);
    v.extent.push_back(words);
  };
  for (size_t i = 0; i < e->inputs.size(); ++i) widen(e->inputs[i].view, is_index[i] ? 1 : words);
  for (Output& out : e->outputs) widen(out.view, words);
  shape->push_back(words);
  return true;
}

std::vector<Value> unravel(Value linear, const std::vector<Value>& extents) {
  std::vector<Value> place(extents.size());
  for (size_t i = extents.size(); i-- > 1;) {
    const Value outer = linear / extents[i];
    place[i] = linear - outer * extents[i];
    linear = outer;
  }
  if (!place.empty()) place[0] = linear;
  return place;
}

Line line_of(Numbers& numbers, const View& view, const std::vector<Value>& place) {
  Value first = numbers(view.offset);
  for (size_t i = 0; i < place.size(); ++i) first = first + place[i] * numbers(view.strides[i]);
  return {first, view.strides.size() > place.size() ? numbers(view.strides.back()) : Value()};
}

std::string cover(int64_t count, const Target& target, Dispatch* out) {
  const int64_t x = std::clamp<int64_t>(count, 1, target.groups_x), y = (count + x - 1) / x;
  if (y > target.groups_y) return std::to_string(count) + " workgroups are more than this GPU takes in a launch";
  out->groups = {static_cast<uint32_t>(x), static_cast<uint32_t>(y), 1};
  return "";
}

Value group_number(Builder& b, Numbers& numbers, const Dispatch& dispatch) {
  if (dispatch.groups[1] == 1) return b.group(0);
  return b.group(1) * numbers(dispatch.groups[0]) + b.group(0);
}

}  // namespace vireo::gpu
