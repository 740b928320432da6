#include "delegates/gpu/templates/evaluate.h"

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

std::string refuse(const Expression& e, size_t axes, const Target& target) {
  std::vector<bool> is_index(e.inputs.size(), false);
  bool computing = false;
  for (size_t i = 0; i < e.inputs.size(); ++i) {
    if (computing && e.inputs[i].given) return "inputs that are given do not come first";
    computing = !e.inputs[i].given;
    if (e.inputs[i].given) continue;
    const std::string why = refuse_view(e, static_cast<int>(i), e.inputs[i].view, axes);
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
    if (e.steps[i].function == Function::kPlace && (e.steps[i].bits >= axes || e.steps[i].type != DType::kI32))
      return "a place on an axis that is not there, or not an int32";
    const std::string why = refuse(e.steps[i], types, target);
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
    if (step.function == Function::kConstant || named == 4) continue;
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
  for (const Input& in : e.inputs) count += in.given ? 0u : 1u;
  return count;
}

Evaluator::Evaluator(Builder& builder, const Target& target, Numbers& numbers, const Expression& expression,
                     uint32_t* next_binding)
    : b_(builder), target_(target), e_(expression), elements_(builder, target) {
  for (const Input& in : e_.inputs) {
    inputs_.push_back(in.given ? Address() : address(numbers, in.view));
    bindings_.push_back(in.given ? 0 : (*next_binding)++);
  }
}

void Evaluator::bind_outputs(Numbers& numbers, uint32_t* next_binding) {
  for (const Output& out : e_.outputs) {
    outputs_.push_back(address(numbers, out.view));
    output_bindings_.push_back((*next_binding)++);
  }
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
    const Value wrapped = b_.select(b_.bitcast(picked, Type::kI32) < 0, picked + a.gather_extent, picked);
    const Value last = a.gather_extent - 1;
    place[static_cast<size_t>(in.view.gather_axis)] = b_.select(last < wrapped, last, wrapped);
  }
  Value inside = b_.boolean(true);
  for (size_t i = 0; i < a.begin.size(); ++i) {
    place[i] = place[i] - a.begin[i];  // below 0 is above every extent
    inside = inside & (place[i] < a.extent[i]);
  }
  const Value at = a.begin.empty() ? index(a, place) : b_.select(inside, index(a, place), b_.u32(0));
  // An index of 64 bits: its low word is it, where it is one at all.
  for (const Input& other : e_.inputs) {
    if (other.view.gather_axis < 0 || static_cast<size_t>(other.view.gather_input) != input || in.dtype != DType::kI64)
      continue;
    return elements_.load({DType::kI32, bindings_[input]}, at * 2);
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

std::vector<Value> Evaluator::at(const std::vector<Value>& place, const std::vector<Value>& given) {
  std::vector<Value> values;
  for (size_t i = 0; i < e_.inputs.size(); ++i) {
    values.push_back(e_.inputs[i].given ? given[i] : read(i, place, values));
  }
  for (const Step& step : e_.steps) {
    if (step.function == Function::kPlace) {
      values.push_back(b_.bitcast(place[step.bits], Type::kI32));
      continue;
    }
    DType types[3];
    operand_types(e_, step, types);
    const int operands[3] = {step.a, step.b, step.c};
    Value taken[3];
    for (int i = 0; i < 3; ++i) {
      if (operands[i] >= 0) taken[i] = values[static_cast<size_t>(operands[i])];
    }
    values.push_back(apply(step, types, taken, b_, target_));
  }
  return values;
}

Value Evaluator::output(const std::vector<Value>& values, size_t i) const {
  return values[static_cast<size_t>(e_.outputs[i].value)];
}

void Evaluator::store(const std::vector<Value>& values, const std::vector<Value>& place) {
  for (size_t i = 0; i < e_.outputs.size(); ++i) {
    elements_.store(output_tensor(i), output_index(i, place), output(values, i));
  }
}

}  // namespace vireo::gpu
