#include "delegates/gpu/lower/known_problems.h"

#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "delegates/gpu/emit/kernel.h"

namespace vireo::gpu {
namespace {

// Structured bindings name every member, so a new member does not compile until it is added here.
class Writer {
 public:
  Writer() { words_.reserve(kUsual); }
  template <class... T>
  void all(const T&... each) {
    (add(each), ...);
  }
  std::vector<uint64_t> take() { return std::move(words_); }

  template <class T, std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>, int> = 0>
  void add(T v) {
    words_.push_back(static_cast<uint64_t>(v));
  }
  void add(float v) {
    uint32_t bits = 0;
    std::memcpy(&bits, &v, sizeof(bits));
    words_.push_back(bits);
  }
  template <class T>
  void add(const std::vector<T>& list) {
    add(list.size());
    for (const T& v : list) add(v);
  }
  template <class T, size_t N>
  void add(const std::array<T, N>& list) {
    for (const T& v : list) add(v);
  }
  template <class T, size_t N>
  void add(const T (&list)[N]) {
    for (const T& v : list) add(v);
  }

  void add(const View& v) {
    const auto& [offset, strides, begin, extent, otherwise, fill, axis, input, gathered, reports, from_end] = v;
    all(offset, strides, begin, extent, otherwise, fill, axis, input, gathered, reports, from_end);
  }
  void add(const Input& v) {
    const auto& [dtype, view, given, shares, indexed] = v;
    all(dtype, view, given, shares, indexed);
  }
  void add(const Step& v) {
    const auto& [function, type, a, b, c, p, bits] = v;
    all(function, type, a, b, c, p, bits);
  }
  void add(const Output& v) {
    const auto& [value, view] = v;
    all(value, view);
  }
  void add(const Expression& v) {
    const auto& [inputs, steps, outputs, slot] = v;
    all(inputs, steps, outputs, slot);
  }
  void add(const Statistic& v) {
    const auto& [combine, map] = v;
    all(combine, map);
  }
  void add(const MatrixView& v) {
    const auto& [dtype, offset, batch, row, column] = v;
    all(dtype, offset, batch, row, column);
  }
  void add(const Window& v) {
    const auto& [in, out, kernel, stride, dilation, pad, transposed] = v;
    all(in, out, kernel, stride, dilation, pad, transposed);
  }
  void add(const ImageView& v) {
    const auto& [offset, image, channel, spatial] = v;
    all(offset, image, channel, spatial);
  }
  void add(const ConvolutionProblem::Weights& v) {
    const auto& [offset, group, output, channel, spatial] = v;
    all(offset, group, output, channel, spatial);
  }
  void add(const ChainProblem& v) {
    const auto& [shape, expression] = v;
    all(shape, expression);
  }
  void add(const RowsProblem& v) {
    const auto& [shape, axes, prologue, statistics, epilogue, per_row] = v;
    all(shape, axes, prologue, statistics, epilogue, per_row);
  }
  void add(const ProductProblem& v) {
    const auto& [batch, m, n, k, x, w, sum, x_zero, w_zero, raw, made_w, epilogue, inner, turned] = v;
    all(batch, m, n, k, x, w, sum, x_zero, w_zero, raw, made_w, epilogue, inner, turned);
  }
  void add(const GemvProblem::Columns& v) {
    const auto& [offset, steps] = v;
    all(offset, steps);
  }
  void add(const GemvProblem& v) {
    const auto& [shape, k, x_dtype, x_offset, rows, w_dtype, columns, scales, epilogue] = v;
    const auto& [dtype, block, zero] = scales;
    all(shape, k, x_dtype, x_offset, rows, w_dtype, columns, dtype, block, zero, epilogue);
  }
  void add(const ConvolutionProblem& v) {
    const auto& [images, groups, channels, outputs, shares, window, x_dtype, w_dtype, x, w, sum, x_zero, w_zero, raw,
                 epilogue] = v;
    all(images, groups, channels, outputs, shares, window, x_dtype, w_dtype, x, w, sum, x_zero, w_zero, raw, epilogue);
  }
  void add(const PoolProblem& v) {
    const auto& [pool, images, channels, window, pad_end, x_dtype, x, epilogue] = v;
    all(pool, images, channels, window, pad_end, x_dtype, x, epilogue);
  }
  void add(const DepthwiseProblem& v) {
    const auto& [images, channels, multiplier, window, x_dtype, w_dtype, x, w, sum, x_zero, w_zero, epilogue] = v;
    all(images, channels, multiplier, window, x_dtype, w_dtype, x, w, sum, x_zero, w_zero, epilogue);
  }
  void add(const AttentionProblem& v) {
    const auto& [batch, queries, keys, head, value_head, q, k, values, score, epilogue, shares, share_keys] = v;
    all(batch, queries, keys, head, value_head, q, k, values, score, epilogue, shares, share_keys);
  }
  void add(const RecurrentProblem::Applied& v) {
    const auto& [kind, alpha, beta] = v;
    all(kind, alpha, beta);
  }
  void add(const RecurrentProblem& v) {
    const auto& [cell, steps, batch, directions, hidden, reverse, input_forget, linear_before_reset, functions, clip,
                 state_scale, state_zero, dtype, r_dtype, sums, r, b, lengths, h, c, p, y, y_h, y_c] = v;
    all(cell, steps, batch, directions, hidden, reverse, input_forget, linear_before_reset, functions, clip,
        state_scale, state_zero, dtype, r_dtype, sums, r, b, lengths, h, c, p, y, y_h, y_c);
  }
  void add(const ScatterProblem::Component& v) {
    const auto& [offset, extent, step] = v;
    all(offset, extent, step);
  }
  void add(const ScatterProblem& v) {
    const auto& [shape, updates, dtype, index_dtype, index, update, y, components, combine, reports, slot] = v;
    all(shape, updates, dtype, index_dtype, index, update, y, components, combine, reports, slot);
  }
  void add(const TopProblem& v) {
    const auto& [shape, count, largest, dtype, x, values, indices] = v;
    all(shape, count, largest, dtype, x, values, indices);
  }
  void add(const ScanProblem& v) {
    const auto& [shape, dtype, x, y, product, exclusive, reverse] = v;
    all(shape, dtype, x, y, product, exclusive, reverse);
  }

 private:
  static constexpr size_t kUsual = 256;
  std::vector<uint64_t> words_;
};

}  // namespace

std::vector<uint64_t> key_of(const Problem& problem) {
  Writer w;
  w.add(problem.index());
  std::visit([&w](const auto& p) { w.add(p); }, problem);
  return w.take();
}

std::shared_ptr<const MadeProblem> KnownProblems::make(const Problem& problem) const {
  auto out = std::make_shared<MadeProblem>();
  Dispatch d = dispatch_of(problem, target_);
  out->refusal = std::move(d.refusal);
  if (!out->refusal.empty()) return out;
  out->kernel = before_ != nullptr ? before_->kernels.of(d.program, target_)
                                   : std::make_shared<const Kernel>(kernel_of(d.program, target_));
  out->push = std::move(d.push);
  out->push.resize(d.program.push_words);  // the last ones may be of no use to the code
  out->groups = d.groups;
  return out;
}

const MadeProblem& KnownProblems::operator()(const Problem& problem) {
  const auto [at, fresh] = made_.try_emplace(key_of(problem));
  if (!fresh) return *at->second;
  const bool asks = before_ != nullptr && of_a_run_;
  if (asks) at->second = before_->find(at->first);
  if (at->second == nullptr) {
    at->second = make(problem);
    if (asks) before_->keep(at->first, at->second);
  }
  return *at->second;
}

}  // namespace vireo::gpu
