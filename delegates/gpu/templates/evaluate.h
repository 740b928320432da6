// An expression inside a program: its views as addresses, its steps as statements.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_EVALUATE_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_EVALUATE_H_

#include <array>
#include <string>
#include <vector>

#include "delegates/gpu/templates/elements.h"
#include "delegates/gpu/templates/expression.h"
#include "delegates/gpu/templates/numbers.h"

namespace vireo::gpu {

// "" or why there is no code for it over a space of `axes` axes: views of another rank, types, functions.
std::string refuse(const Expression& expression, size_t axes, const Target& target);

// What it does, for a kernel's name: "add_relu".
std::string describe(const Expression& expression);

// Whether a step asks for a coordinate: the space then keeps its axes.
bool sees_places(const Expression& expression);
uint32_t bound_inputs(const Expression& expression);  // those that have a buffer
size_t code_size(const Expression& expression);       // a measure of its code

class Evaluator {
 public:
  // Buffers of inputs are bindings from *next_binding on, which moves on; those of outputs are given later. All its
  // numbers are fetched here, so it is to be made where the program begins.
  Evaluator(Builder& builder, const Target& target, Numbers& numbers, const Expression& expression,
            uint32_t* next_binding);
  // Bindings of the outputs, and their views' numbers; of the words of errors, where there are any.
  void bind_outputs(Numbers& numbers, uint32_t* next_binding);

  // Values of all inputs and steps at a place, one coordinate an axis of the space. `given`: of the inputs that are.
  // `neighbour`: what it gave for a place that differs on the last axis alone; what is the same there is taken from it.
  std::vector<Value> at(const std::vector<Value>& place, const std::vector<Value>& given = {},
                        const std::vector<Value>* neighbour = nullptr);
  Value output(const std::vector<Value>& values, size_t i) const;
  bool reports() const { return e_.reports(); }
  size_t size() const { return code_size(e_); }
  DType output_type(size_t i) const { return e_.type_of(e_.outputs[i].value); }

  // The element of output `i` at a place.
  Value output_index(size_t i, const std::vector<Value>& place) const { return index(outputs_[i], place); }
  Tensor output_tensor(size_t i) const { return {output_type(i), output_bindings_[i]}; }
  // Writes all outputs at a place, element by element.
  void store(const std::vector<Value>& values, const std::vector<Value>& place);
  // The same at four places, `place` and those behind it on the last axis, all of the space. `given`: of input 0, the
  // only one that is. Where the first is a multiple of 4, views that allow it are read and written in one go.
  void store_four(const std::vector<Value>& place, const std::array<Value, 4>& given) {
    write_four(place, four_at(place, given));
  }
  // The two halves of it: the outputs' numbers at four places, and writing them.
  using Four = std::vector<std::array<Value, 4>>;
  Four four_at(const std::vector<Value>& place, const std::array<Value, 4>& given);
  void write_four(const std::vector<Value>& place, const Four& outputs);

 private:
  struct Address {  // of a view
    Value offset;
    std::vector<Value> strides, begin, extent;
    Value gather_extent;
  };
  Address address(Numbers& numbers, const View& view) const;
  Value index(const Address& a, const std::vector<Value>& place) const;
  std::array<Value, 4> read_four(size_t input, const std::vector<Value>& place);
  void store_four(size_t output, Value index, const std::array<Value, 4>& numbers);
  Value read(size_t input, std::vector<Value> place, const std::vector<Value>& known);
  void report(Value wrong, RunError what);
  Value held(Value index, Value extent);
  void find_steady();
  Value step_value(size_t step, const std::vector<Value>& place, const std::vector<Value>& known);

  Builder& b_;
  const Target& target_;
  const Expression& e_;
  Elements elements_;
  std::vector<Address> inputs_, outputs_;
  std::vector<Value> numbers_;  // one a step that has one
  std::vector<bool> steady_;    // values that do not change along the last axis
  std::vector<uint32_t> bindings_, output_bindings_;
  uint32_t errors_ = 0;
  Value slot_;
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_EVALUATE_H_
