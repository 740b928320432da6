#include "delegates/gpu/templates/evaluate.h"

#include <map>

#include "delegates/gpu/templates/functions.h"

namespace vireo::gpu {
namespace {

void operand_types(const Expression& e, const Step& step, DType out[3]) {
  const int operands[3] = {step.a, step.b, step.c};
  for (int i = 0; i < 3; ++i) out[i] = operands[i] < 0 ? DType::kNone : e.type_of(operands[i]);
}

std::string refuse_view(const Expression& e, int self, const View& view, size_t axes) {
  if (axes > kMostAxes) return "more than " + std::to_string(kMostAxes) + " axes";
  if (view.strides.size() != axes)
    return "a view of " + std::to_string(view.strides.size()) + " axes in a space of " + std::to_string(axes);
  if (!view.begin.empty() && (view.begin.size() != axes || view.extent.size() != axes))
    return "a view's bounds are of another rank";
  if (view.otherwise >= self) return "a view hands on a later input";
  if (view.gather_axis < 0) return "";
  if (view.gather_axis >= static_cast<int>(axes) || view.gather_input < 0 || view.gather_input >= self)
    return "a gather of a later input or of an axis that is not there";
  const DType index = e.inputs[static_cast<size_t>(view.gather_input)].dtype;
  return index == DType::kI32 || index == DType::kI64 ? "" : "indices of " + std::string(dtype_name(index));
}

}  // namespace

DType Expression::type_of(int value) const {
  const size_t at = static_cast<size_t>(value);
  return at < inputs.size() ? inputs[at].dtype : steps[at - inputs.size()].type;
}

bool Expression::reports() const {
  for (const Input& in : inputs) {
    if (in.view.gather_reports) return true;
  }
  for (const Step& step : steps) {
    if (step.function == Function::kIndex || step.function == Function::kDivisor) return true;
  }
  return false;
}

namespace {

// Of the functions that are the evaluator's own: all but kPlace read a value.
bool is_of_places(Function f) {
  return f == Function::kIndex || f == Function::kElement || f == Function::kNumber || f == Function::kDivisor;
}

std::string refuse_places(const Expression& e, const Step& step) {
  const auto type = [&e](int value) { return value < 0 ? DType::kNone : e.type_of(value); };
  switch (step.function) {
    case Function::kNumber:
      return step.type == DType::kI32 ? "" : "a number that is not an int32";
    case Function::kDivisor:
      return dtype_is_integer(step.type) && step.type == type(step.a) ? "" : "a divisor that is no integer";
    case Function::kIndex:
      if (type(step.a) != DType::kI32 && type(step.a) != DType::kI64) return "an index that is no integer";
      return step.type == DType::kI32 ? "" : "an index that is not an int32";
    default:
      if (step.a < 0 || step.a >= static_cast<int>(e.inputs.size()) || !e.inputs[static_cast<size_t>(step.a)].indexed)
        return "an element of no indexed input";
      if (type(step.b) != DType::kI32) return "an index that is not an int32";
      return step.type == type(step.a) ? "" : "an element of another type than its input";
  }
}

bool takes_indexed(const Expression& e, const Step& step) {
  const auto indexed = [&e](int value) {
    return value >= 0 && value < static_cast<int>(e.inputs.size()) && e.inputs[static_cast<size_t>(value)].indexed;
  };
  return (step.function != Function::kElement && indexed(step.a)) || indexed(step.b) || indexed(step.c);
}

}  // namespace

std::string refuse(const Expression& e, size_t axes, const Target& target) {
  std::vector<bool> is_index(e.inputs.size(), false);
  bool computing = false;
  for (size_t i = 0; i < e.inputs.size(); ++i) {
    if (computing && e.inputs[i].given) return "inputs that are given do not come first";
    computing = !e.inputs[i].given;
    if (e.inputs[i].given) continue;
    if (e.inputs[i].shares >= static_cast<int>(i)) return "an input that shares a later one's buffer";
    std::string why = refuse_view(e, static_cast<int>(i), e.inputs[i].view, axes);
    if (!why.empty()) return why;
    if (e.inputs[i].view.gather_axis >= 0) is_index[static_cast<size_t>(e.inputs[i].view.gather_input)] = true;
  }
  for (size_t i = 0; i < e.inputs.size(); ++i) {
    if (!is_index[i] && lane_type(e.inputs[i].dtype, target) == Type::kNone) {
      return "this GPU does not compute with " + std::string(dtype_name(e.inputs[i].dtype));
    }
  }
  for (size_t i = 0; i < e.steps.size(); ++i) {
    DType types[3];
    const int here = static_cast<int>(e.inputs.size() + i);
    if (e.steps[i].a >= here || e.steps[i].b >= here || e.steps[i].c >= here) return "a step takes a later value";
    operand_types(e, e.steps[i], types);
    if (takes_indexed(e, e.steps[i])) return "a step takes an indexed input as a value";
    if (is_of_places(e.steps[i].function)) {
      if (std::string why = refuse_places(e, e.steps[i]); !why.empty()) return why;
      continue;
    }
    if (e.steps[i].function == Function::kPlace && (e.steps[i].bits >= axes || e.steps[i].type != DType::kI32))
      return "a place on an axis that is not there, or not an int32";
    std::string why = refuse(e.steps[i], types, target);
    if (!why.empty()) return why;
  }
  for (const Output& o : e.outputs) {
    if (o.value < 0 || static_cast<size_t>(o.value) >= e.inputs.size() + e.steps.size()) return "an output of no value";
    if (!o.view.begin.empty() || o.view.gather_axis >= 0) return "an output with bounds";
  }
  return "";
}

std::string describe(const Expression& e) {
  std::string out;
  size_t named = 0;
  for (const Step& step : e.steps) {
    if (step.function == Function::kConstant || step.function == Function::kNumber || named == 4) continue;
    out += std::string("_") + name_of(step.function);
    ++named;
  }
  return out;
}

bool sees_places(const Expression& e) {
  for (const Step& step : e.steps) {
    if (step.function == Function::kPlace) return true;
  }
  return false;
}

uint32_t bound_inputs(const Expression& e) {
  uint32_t count = 0;
  for (const Input& in : e.inputs) count += in.given || in.shares >= 0 ? 0u : 1u;
  return count;
}

Evaluator::Evaluator(Builder& builder, const Target& target, Numbers& numbers, const Expression& expression,
                     uint32_t* next_binding)
    : b_(builder), target_(target), e_(expression), elements_(builder, target) {
  std::map<int64_t, Value> steps;  // between neighbours in one buffer
  for (size_t i = 0; i < e_.inputs.size(); ++i) {
    const Input& in = e_.inputs[i];
    const Input* const before = i == 0 ? nullptr : &e_.inputs[i - 1];
    const bool behind = in.shares >= 0 && (in.shares == static_cast<int>(i) - 1 || in.shares == before->shares) &&
                        in.view.strides == before->view.strides && in.view.begin.empty() &&
                        before->view.begin.empty() && in.view.gather_axis < 0 && before->view.gather_axis < 0;
    if (behind) {  // words of push constants are few
      if (before->shares < 0) steps.clear();
      const int64_t step = in.view.offset - before->view.offset;
      const auto known = steps.find(step);
      const Value by = known != steps.end() ? known->second : steps.emplace(step, numbers(step)).first->second;
      Address next = inputs_.back();
      next.offset = next.offset + by;
      inputs_.push_back(std::move(next));
    } else {
      inputs_.push_back(in.given ? Address() : address(numbers, in.view));
    }
    if (in.shares >= 0) {
      bindings_.push_back(bindings_[static_cast<size_t>(in.shares)]);
    } else {
      bindings_.push_back(in.given ? 0 : (*next_binding)++);
    }
  }
  for (const Step& step : e_.steps) {
    const bool has_one = step.function == Function::kNumber || step.function == Function::kIndex;
    numbers_.push_back(has_one ? numbers(static_cast<int32_t>(step.bits)) : Value());
  }
  find_steady();
}

void Evaluator::find_steady() {
  const auto steady = [this](int v) { return v < 0 || steady_[static_cast<size_t>(v)]; };
  for (const Input& in : e_.inputs) {
    const View& v = in.view;
    steady_.push_back(!in.given && !in.indexed && v.begin.empty() && v.gather_axis < 0 && !v.strides.empty() &&
                      v.strides.back() == 0);
  }
  for (const Step& step : e_.steps) {
    const bool places = step.function == Function::kPlace || is_of_places(step.function);
    steady_.push_back(!places && steady(step.a) && steady(step.b) && steady(step.c));
  }
}

void Evaluator::bind_outputs(Numbers& numbers, uint32_t* next_binding) {
  for (const Output& out : e_.outputs) {
    outputs_.push_back(address(numbers, out.view));
    output_bindings_.push_back((*next_binding)++);
  }
  if (!e_.reports()) return;
  slot_ = numbers(e_.slot);
  errors_ = (*next_binding)++;
}

Evaluator::Address Evaluator::address(Numbers& numbers, const View& view) const {
  Address out;
  out.offset = numbers(view.offset);
  for (const int64_t s : view.strides) out.strides.push_back(numbers(s));
  for (const int64_t v : view.begin) out.begin.push_back(numbers(v));
  for (const int64_t v : view.extent) out.extent.push_back(numbers(v));
  if (view.gather_axis >= 0) out.gather_extent = numbers(view.gather_extent);
  return out;
}

Value Evaluator::index(const Address& a, const std::vector<Value>& place) const {
  Value sum = a.offset;
  for (size_t i = 0; i < place.size(); ++i) sum = sum + place[i] * a.strides[i];
  return sum;
}

Value Evaluator::read(size_t input, std::vector<Value> place, const std::vector<Value>& known) {
  const Input& in = e_.inputs[input];
  const Address& a = inputs_[input];
  if (in.view.gather_axis >= 0) {
    const Value picked = b_.bitcast(known[static_cast<size_t>(in.view.gather_input)], Type::kU32);
    const Value negative = b_.bitcast(picked, Type::kI32) < 0;
    const Value wrapped = in.view.gather_from_end ? b_.select(negative, picked + a.gather_extent, picked) : picked;
    const Value inside = wrapped < a.gather_extent;
    if (in.view.gather_reports) report(!inside, RunError::kIndex);
    place[static_cast<size_t>(in.view.gather_axis)] = b_.select(inside, wrapped, a.gather_extent - 1);
  }
  Value inside = b_.boolean(true);
  for (size_t i = 0; i < a.begin.size(); ++i) {
    place[i] = place[i] - a.begin[i];  // below 0 is above every extent
    inside = inside & (place[i] < a.extent[i]);
  }
  const Value at = a.begin.empty() ? index(a, place) : b_.select(inside, index(a, place), b_.u32(0));
  // An index of 64 bits: its low word is it, where it is one at all; else the lowest, which no axis has.
  for (const Input& other : e_.inputs) {
    if (other.view.gather_axis < 0 || static_cast<size_t>(other.view.gather_input) != input || in.dtype != DType::kI64)
      continue;
    const Value low = elements_.load({DType::kI32, bindings_[input]}, at * 2);
    if (!other.view.gather_reports) return low;
    const Value high = elements_.load({DType::kI32, bindings_[input]}, at * 2 + 1);
    return b_.select(high == (low >> 31), low, b_.i32(INT32_MIN));
  }
  const Value element = elements_.load({in.dtype, bindings_[input]}, at);
  if (a.begin.empty()) return element;
  Value other;
  if (in.view.otherwise >= 0) {
    other = known[static_cast<size_t>(in.view.otherwise)];
  } else if (dtype_bits(in.dtype) == 64) {
    other = b_.constant(element.type, in.view.fill);
  } else {
    other = decode(in.dtype, b_.u32(static_cast<uint32_t>(in.view.fill)));
  }
  return b_.select(inside, element, other);
}

void Evaluator::report(Value wrong, RunError what) {
  const auto word = static_cast<uint32_t>(what);
  b_.when(wrong, [&] { b_.store(b_.buffer(errors_, Element::kWord, true), slot_, b_.u32(word)); });
}

// An index that counts from the end where it is below 0, held within an axis; outside of it, an error is set.
Value Evaluator::held(Value index, Value extent) {
  Value inside = b_.boolean(true), low = index;
  if (is_wide(index.type)) {
    const Value wide = b_.convert(b_.bitcast(extent, Type::kI32), Type::kI64);
    const Value wrapped = b_.select(index < 0, index + wide, index);
    inside = (wrapped >= 0) & (wrapped < wide);
    low = b_.convert(wrapped, Type::kU32);
  } else {
    low = b_.bitcast(index, Type::kU32);
    low = b_.select(index < 0, low + extent, low);
    inside = low < extent;
  }
  report(!inside, RunError::kIndex);
  return b_.bitcast(b_.select(inside, low, b_.u32(0)), Type::kI32);
}

Value Evaluator::step_value(size_t k, const std::vector<Value>& place, const std::vector<Value>& known) {
  const Step& step = e_.steps[k];
  const auto value = [&known](int v) { return v < 0 ? Value() : known[static_cast<size_t>(v)]; };
  switch (step.function) {
    case Function::kPlace:
      return b_.bitcast(place[step.bits], Type::kI32);
    case Function::kNumber:
      return b_.bitcast(numbers_[k], Type::kI32);
    case Function::kIndex:
      return held(value(step.a), numbers_[k]);
    case Function::kDivisor: {
      const Value v = known[static_cast<size_t>(step.a)], none = v == 0;
      report(none, RunError::kDivisor);
      return b_.select(none, b_.number(v.type, 1), v);
    }
    case Function::kElement: {
      const auto input = static_cast<size_t>(step.a);
      return elements_.load({step.type, bindings_[input]},
                            inputs_[input].offset + b_.bitcast(value(step.b), Type::kU32));
    }
    default: {
      DType types[3];
      operand_types(e_, step, types);
      const Value taken[3] = {value(step.a), value(step.b), value(step.c)};
      return apply(step, types, taken, b_, target_);
    }
  }
}

std::vector<Value> Evaluator::at(const std::vector<Value>& place, const std::vector<Value>& given,
                                 const std::vector<Value>* neighbour) {
  std::vector<Value> values;
  for (size_t i = 0; i < e_.inputs.size(); ++i) {
    if (e_.inputs[i].indexed) {
      values.emplace_back();
    } else if (neighbour != nullptr && steady_[i]) {
      values.push_back((*neighbour)[i]);
    } else {
      values.push_back(e_.inputs[i].given ? given[i] : read(i, place, values));
    }
  }
  for (size_t k = 0; k < e_.steps.size(); ++k) {
    const size_t v = e_.inputs.size() + k;
    values.push_back(neighbour != nullptr && steady_[v] ? (*neighbour)[v] : step_value(k, place, values));
  }
  return values;
}

size_t code_size(const Expression& e) {
  constexpr size_t kLong = 12;  // statements of a function that is a polynomial, in those of a sum
  size_t all = e.inputs.size() + e.outputs.size();
  for (const Step& s : e.steps)
    all += s.function >= Function::kExp && s.function <= Function::kErf && s.function != Function::kRelu ? kLong : 1;
  return all;
}

Value Evaluator::output(const std::vector<Value>& values, size_t i) const {
  return values[static_cast<size_t>(e_.outputs[i].value)];
}

namespace {
// Whether elements at a multiple of four on the last axis, and the three behind it, are side by side from a multiple of
// four on.
bool lies_in_fours(const View& view) {
  if (!view.begin.empty() || view.gather_axis >= 0 || view.strides.empty() || view.strides.back() != 1) return false;
  for (size_t i = 0; i + 1 < view.strides.size(); ++i) {
    if (view.strides[i] % 4 != 0) return false;
  }
  return view.offset % 4 == 0;
}
}  // namespace

// Of an input whose last stride is 0, or that lies in fours and has elements of 8, 16 or 32 bits.
std::array<Value, 4> Evaluator::read_four(size_t input, const std::vector<Value>& place) {
  const DType dtype = e_.inputs[input].dtype;
  const Value at = index(inputs_[input], place);
  if (e_.inputs[input].view.strides.back() == 0) {
    const Value one = elements_.load({dtype, bindings_[input]}, at);
    return {one, one, one, one};
  }
  std::array<Value, 4> out;
  if (dtype_bits(dtype) == 8) {
    const Value word = b_.load(Type::kU32, b_.buffer(bindings_[input], Element::kWord, false), at >> 2);
    for (uint32_t j = 0; j < 4; ++j) out[j] = decode(dtype, word >> (8 * j) & 0xff);
    return out;
  }
  if (dtype_bits(dtype) == 16) {
    const uint32_t buffer = b_.buffer(bindings_[input], Element::kWord, false);
    const std::array<Value, 2> words = {b_.load(Type::kU32, buffer, at >> 1),
                                        b_.load(Type::kU32, buffer, (at >> 1) + 1)};
    for (uint32_t j = 0; j < 4; ++j) {
      out[j] = dtype == DType::kF16 && b_.converts_halves ? b_.unpack_half(words[j / 2], j % 2)
                                                          : decode(dtype, words[j / 2] >> (16 * (j % 2)) & 0xffff);
    }
    return out;
  }
  const Value quad = b_.load(Type::kQuad, b_.buffer(bindings_[input], Element::kQuad, false), at >> 2);
  for (uint32_t j = 0; j < 4; ++j) out[j] = decode(dtype, b_.part(quad, j));
  return out;
}

void Evaluator::store_four(size_t output, Value index, const std::array<Value, 4>& numbers) {
  const Tensor to = output_tensor(output);
  const bool fours = lies_in_fours(e_.outputs[output].view);
  if (fours && dtype_bits(to.dtype) == 32) {
    std::array<Value, 4> words;
    for (size_t j = 0; j < 4; ++j) words[j] = encode(to.dtype, numbers[j]);
    return b_.store(b_.buffer(to.binding, Element::kQuad, true), index >> 2, b_.join(words));
  }
  if (fours && dtype_bits(to.dtype) == 16) {
    elements_.store_word(to, index, numbers.data());
    return elements_.store_word(to, index + 2, numbers.data() + 2);
  }
  if (fours && dtype_bits(to.dtype) == 8) return elements_.store_word(to, index, numbers.data());
  const int64_t step = e_.outputs[output].view.strides.back();
  for (size_t j = 0; j < 4; ++j)
    elements_.store(to, step == 0 || j == 0 ? index : index + outputs_[output].strides.back() * static_cast<int64_t>(j),
                    numbers[j]);
}

Evaluator::Four Evaluator::four_at(const std::vector<Value>& place, const std::array<Value, 4>& given) {
  std::array<std::vector<Value>, 4> places, values;
  for (size_t j = 0; j < 4; ++j) {
    places[j] = place;
    places[j].back() = place.back() + static_cast<int64_t>(j);
  }
  for (size_t i = 0; i < e_.inputs.size(); ++i) {
    const Input& in = e_.inputs[i];
    const bool picks = in.view.gather_axis >= 0 || !in.view.begin.empty();
    bool is_index = false;
    for (const Input& other : e_.inputs)
      is_index = is_index || (other.view.gather_axis >= 0 && static_cast<size_t>(other.view.gather_input) == i);
    const bool at_once = !in.given && !in.indexed && !picks && !is_index && !in.view.strides.empty() &&
                         (in.view.strides.back() == 0 ||
                          (lies_in_fours(in.view) && dtype_bits(in.dtype) >= 8 && dtype_bits(in.dtype) <= 32));
    const std::array<Value, 4> all = at_once ? read_four(i, place) : given;
    for (size_t j = 0; j < 4; ++j)
      values[j].push_back(at_once || in.given ? all[j] : in.indexed ? Value() : read(i, places[j], values[j]));
  }
  for (size_t j = 0; j < 4; ++j) {
    for (size_t k = 0; k < e_.steps.size(); ++k) values[j].push_back(step_value(k, places[j], values[j]));
  }
  Four out(e_.outputs.size());
  for (size_t o = 0; o < out.size(); ++o) {
    for (size_t j = 0; j < 4; ++j) out[o][j] = output(values[j], o);
  }
  return out;
}

void Evaluator::write_four(const std::vector<Value>& place, const Four& outputs) {
  for (size_t o = 0; o < outputs.size(); ++o) store_four(o, output_index(o, place), outputs[o]);
}

void Evaluator::store(const std::vector<Value>& values, const std::vector<Value>& place) {
  for (size_t i = 0; i < e_.outputs.size(); ++i) {
    elements_.store(output_tensor(i), output_index(i, place), output(values, i));
  }
}

}  // namespace vireo::gpu
