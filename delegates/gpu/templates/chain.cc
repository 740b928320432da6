#include "delegates/gpu/templates/chain.h"

#include <algorithm>

#include "delegates/gpu/templates/evaluate.h"
#include "delegates/gpu/templates/space.h"

namespace vireo::gpu {
namespace {

constexpr int64_t kLeast = 4;  // neighbours of a lane

// How a lane's neighbours lie: along the last axis, or along the whole space where only that makes whole words.
enum class Way { kRows, kLinear };

bool is_narrow(DType t) { return dtype_bits(t) < 32; }

bool rows_are_whole_words(const Extents& shape, const View& v, int64_t run) {
  if (v.strides.back() != 1 || v.offset % run != 0) return false;
  if (shape.size() > 1 && shape.back() % run != 0) return false;
  for (size_t i = 0; i + 1 < shape.size(); ++i) {
    if (v.strides[i] % run != 0) return false;
  }
  return true;
}

bool is_dense(const Extents& shape, const View& v, int64_t run) {
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (v.strides[i] != step) return false;
    step *= shape[i];
  }
  return v.offset % run == 0;
}

class Chain {
 public:
  Chain(const ChainProblem& problem, const ChainTiling& tiling, const Target& target)
      : problem_(problem), tiling_(tiling), target_(target), elements_(b_, target), numbers_(b_, target) {}

  Dispatch run() {
    Dispatch out;
    Expression& e = problem_.expression;
    as_moves(&problem_.shape, &e);
    out.refusal = refuse(e, problem_.shape.size(), target_);
    if (!out.refusal.empty()) return out;
    const std::string name = "chain" + describe(e);
    std::vector<size_t> parts = {problem_.shape.size()};
    collapse(&problem_.shape, {&e}, &parts);
    if (problem_.shape.empty()) add_axis();
    for (const Output& o : e.outputs) run_ = std::max<int64_t>(run_, 32 / std::max(dtype_bits(e.type_of(o.value)), 1));
    out.refusal = choose_way();
    if (!out.refusal.empty()) return out;
    const int64_t last = problem_.shape.back();
    runs_ = way_ == Way::kLinear ? (count_of(problem_.shape) + run_ - 1) / run_
                                 : count_of(problem_.shape) / std::max<int64_t>(last, 1) * ((last + run_ - 1) / run_);
    out.refusal = cover((runs_ + tiling_.lanes - 1) / tiling_.lanes, target_, &out);
    if (!out.refusal.empty()) return out;
    write(out);
    out.program = std::move(b_.program());
    out.program.name = name;
    out.program.size = {tiling_.lanes, 1, 1};
    out.push = numbers_.words();
    return out;
  }

 private:
  void add_axis() {  // of one place; what has bounds or gathers kept an axis of its own
    problem_.shape.push_back(1);
    for (Input& in : problem_.expression.inputs) in.view.strides.push_back(0);
    for (Output& o : problem_.expression.outputs) o.view.strides.push_back(1);
  }

  // Where extents are open, not by what divides them, as far as there is another way.
  bool has_whole_rows(const View& v, DType type) const {
    if (target_.open && problem_.shape.size() > 1 && (can_store(type, target_) || is_dense(problem_.shape, v, run_)))
      return false;
    return rows_are_whole_words(problem_.shape, v, run_);
  }

  std::string choose_way() {
    const Expression& e = problem_.expression;
    bool rows = true, linear = true, narrow = false;
    for (const Output& o : e.outputs) {
      const DType type = e.type_of(o.value);
      if (!is_narrow(type)) continue;
      narrow = true;
      const bool alone = can_store(type, target_);
      rows = rows && (has_whole_rows(o.view, type) || alone);
      linear = linear && (is_dense(problem_.shape, o.view, run_) || alone);
    }
    way_ = narrow && !rows ? Way::kLinear : Way::kRows;
    if (rows || linear) return "";
    return "elements of one byte or two do not make whole words here, and this GPU cannot write them one by one";
  }

  bool is_packed(size_t output) const {
    const Output& o = problem_.expression.outputs[output];
    if (!is_narrow(problem_.expression.type_of(o.value))) return false;
    return way_ == Way::kRows ? has_whole_rows(o.view, problem_.expression.type_of(o.value))
                              : is_dense(problem_.shape, o.view, run_);
  }

  void write(const Dispatch& launch) {
    std::vector<Value> extents;
    for (const int64_t d : problem_.shape) extents.push_back(numbers_(d));
    const Value runs = numbers_(runs_);
    const Value runs_of_row =
        way_ == Way::kRows && problem_.shape.size() > 1 ? numbers_((problem_.shape.back() + run_ - 1) / run_) : runs;
    const Value total = way_ == Way::kLinear ? numbers_(count_of(problem_.shape)) : Value();
    uint32_t binding = 0;
    Evaluator e(b_, target_, numbers_, problem_.expression, &binding);
    e.bind_outputs(numbers_, &binding);
    const Value run = group_number(b_, numbers_, launch) * tiling_.lanes + b_.lane();
    b_.when(run < runs, [&] {
      if (way_ == Way::kLinear) {
        write_run(e, [&](int64_t j, Value* inside) {
          const Value at = run * run_ + j;
          *inside = at < total;
          return unravel(b_.select(*inside, at, total - 1), extents);
        });
        return;
      }
      const Value row = problem_.shape.size() > 1 ? run / runs_of_row : b_.u32(0);
      const Value first = (run - row * runs_of_row) * run_;
      std::vector<Value> place = unravel(row, {extents.begin(), extents.end() - 1});
      place.push_back(first);
      const bool whole = !target_.open && problem_.shape.back() % run_ == 0;
      write_run(e, [&](int64_t j, Value* inside) {
        std::vector<Value> here = place;
        const Value at = first + j, end = extents.back();
        *inside = whole || j == 0 ? b_.boolean(true) : at < end;
        here.back() = b_.select(*inside, at, end - 1);
        return here;
      });
    });
  }

  // place(j, &inside): where the j-th of four lies; a place inside the space in any case.
  template <class Place>
  void write_run(Evaluator& e, const Place& place) {
    const auto count = static_cast<size_t>(run_);
    std::vector<std::vector<Value>> places(count), values(count);
    std::vector<Value> inside(count);
    for (size_t j = 0; j < count; ++j) {
      places[j] = place(static_cast<int64_t>(j), &inside[j]);
      values[j] = e.at(places[j], {}, j > 0 && way_ == Way::kRows ? &values[0] : nullptr);
    }
    for (size_t o = 0; o < problem_.expression.outputs.size(); ++o) {
      const Tensor tensor = e.output_tensor(o);
      if (is_packed(o)) {
        std::vector<Value> all;
        for (size_t j = 0; j < count; ++j) {
          const Value v = e.output(values[j], o);
          all.push_back(b_.select(inside[j], v, b_.number(v.type, 0)));
        }
        store_words(tensor, e.output_index(o, places[0]), all, inside);
        continue;
      }
      for (size_t j = 0; j < count; ++j) {
        b_.when(inside[j], [&] { elements_.store(tensor, e.output_index(o, places[j]), e.output(values[j], o)); });
      }
    }
  }

  // Narrow elements; a word that lies behind the last one is not there.
  void store_words(const Tensor& tensor, Value index, const std::vector<Value>& all, const std::vector<Value>& inside) {
    const auto each = static_cast<size_t>(32 / dtype_bits(tensor.dtype));
    elements_.store_word(tensor, index, all.data());
    for (size_t at = each; at < all.size(); at += each) {
      b_.when(inside[at], [&] { elements_.store_word(tensor, index + static_cast<int64_t>(at), all.data() + at); });
    }
  }

  ChainProblem problem_;
  ChainTiling tiling_;
  const Target& target_;
  Builder b_;
  Elements elements_;
  Numbers numbers_;
  Way way_ = Way::kRows;
  int64_t run_ = kLeast;  // neighbours of a lane
  int64_t runs_ = 0;
};

}  // namespace

ChainTiling choose_chain(const ChainProblem& problem, const Target& target) {
  (void)problem;
  return {std::min(64u, target.workgroup_x)};
}

Dispatch make_chain(const ChainProblem& problem, const ChainTiling& tiling, const Target& target) {
  return Chain(problem, tiling, target).run();
}

}  // namespace vireo::gpu
