#include <math.h>

#include "sdk/base/requantize.h"
#include "sdk/base/sizes.h"
#include "sdk/ops/kernel.h"
#include "sdk/ops/recurrent/recurrent.h"
#include "sdk/ops/shared/dispatch.h"

namespace vireo {
namespace {

using Activation = attrs::RecurrentActivation;

struct Function {
  Activation kind;
  float alpha, beta;
};

// Called once an element of a gate: the sums before it cost more than the call, and inlined it would be there 30 times.
template <class C>
[[gnu::noinline]] C apply(const Function& f, C x) {
  const C alpha = static_cast<C>(f.alpha), beta = static_cast<C>(f.beta);
  const auto logistic = [](C v) { return static_cast<C>(1 / (1 + exp(-v))); };
  switch (f.kind) {
    case Activation::Sigmoid:
      return logistic(x);
    case Activation::Tanh:
      return static_cast<C>(tanh(x));
    case Activation::Relu:
      return x > 0 ? x : 0;
    case Activation::Affine:
      return alpha * x + beta;
    case Activation::LeakyRelu:
      return x < 0 ? alpha * x : x;
    case Activation::ThresholdedRelu:
      return x > alpha ? x : 0;
    case Activation::ScaledTanh:
      return alpha * static_cast<C>(tanh(beta * x));
    case Activation::HardSigmoid: {
      const C y = alpha * x + beta;
      return y < 0 ? 0 : (y > 1 ? 1 : y);
    }
    case Activation::Elu:
      return x < 0 ? alpha * static_cast<C>(expm1(x)) : x;
    case Activation::Softsign:
      return x / (1 + (x < 0 ? -x : x));
    case Activation::Softplus:  // exp of nothing positive: no overflow
      return (x > 0 ? x : 0) + static_cast<C>(log1p(exp(x > 0 ? -x : x)));
  }
  return x;
}

enum class Cell : uint8_t { kLstm, kGru, kRnn };
constexpr int kGates[] = {4, 3, 1};
constexpr int kFunctions[] = {3, 2, 1};
constexpr Activation kDefaults[] = {Activation::Sigmoid, Activation::Tanh, Activation::Tanh};

// out[i] += dot(m[i], v), m: [rows, columns]
template <class T, class V, class C>
void add_product(const T* m, const V* v, int64_t rows, int64_t columns, C* out) {
  constexpr int kSums = 8;  // a single sum would wait for each of its additions
  for (int64_t i = 0; i < rows; ++i) {
    const T* row = m + i * columns;
    C sums[kSums] = {};
    int64_t k = 0;
    for (; k + kSums <= columns; k += kSums) {
      for (int u = 0; u < kSums; ++u) sums[u] += static_cast<C>(row[k + u]) * static_cast<C>(v[k + u]);
    }
    for (int u = 0; k < columns; ++k, ++u) sums[u] += static_cast<C>(row[k]) * static_cast<C>(v[k]);
    for (C sum : sums) out[i] += sum;
  }
}

template <class T>
void add_bias(const T* bias, int64_t n, compute_t<T>* out) {
  if (bias == nullptr) return;
  for (int64_t i = 0; i < n; ++i) out[i] += static_cast<compute_t<T>>(bias[i]);
}

// One direction's parameters and one batch's state.
template <class T>
struct Direction {
  using C = compute_t<T>;
  const T *w, *r, *b, *p;  // b, p: null when absent
  Function functions[3];
  C clip;  // 0: none
  bool input_forget, linear_before_reset;
  float state_scale;  // 0: none
  int32_t state_zero;
  int64_t inputs, hidden;
  C *h, *c, *gates, *extra, *seen;  // [hidden], [hidden], [gates hidden], [hidden], [hidden]

  // What the recurrence's weights multiply in place of `v`.
  const C* through_codes(const C* v) const {
    if (state_scale == 0) return v;
    for (int64_t k = 0; k < hidden; ++k) {
      const int32_t code = round_and_clamp(static_cast<float>(v[k]) * (1 / state_scale), state_zero, 0, 255);
      seen[k] = static_cast<C>(code - state_zero) * static_cast<C>(state_scale);
    }
    return seen;
  }

  C activate(int f, C x) const {
    if (clip > 0) x = x < -clip ? -clip : (x > clip ? clip : x);
    return apply(functions[f], x);
  }

  void lstm(const T* x) const {
    const int64_t n = hidden;
    for (int64_t i = 0; i < 4 * n; ++i) gates[i] = 0;
    add_product(w, x, 4 * n, inputs, gates);
    add_product(r, through_codes(h), 4 * n, n, gates);
    if (b != nullptr) {
      add_bias(b, 4 * n, gates);
      add_bias(b + 4 * n, 4 * n, gates);
    }
    // No peephole is not one of 0: the state may be infinite.
    const auto peep = [&](int64_t k, C state) { return p == nullptr ? C(0) : static_cast<C>(p[k]) * state; };
    for (int64_t k = 0; k < n; ++k) {
      const C input = activate(0, gates[k] + peep(k, c[k]));
      const C forget = input_forget ? 1 - input : activate(0, gates[2 * n + k] + peep(2 * n + k, c[k]));
      c[k] = forget * c[k] + input * activate(1, gates[3 * n + k]);
      const C output = activate(0, gates[n + k] + peep(n + k, c[k]));
      h[k] = output * activate(2, c[k]);
    }
  }

  void gru(const T* x) const {
    const int64_t n = hidden;
    for (int64_t i = 0; i < 3 * n; ++i) gates[i] = 0;
    add_product(w, x, 3 * n, inputs, gates);
    const C* from = through_codes(h);
    add_product(r, from, 2 * n, n, gates);
    add_bias(b, 3 * n, gates);
    if (b != nullptr) add_bias(b + 3 * n, 2 * n, gates);
    C* reset = gates + n;
    for (int64_t k = 0; k < 2 * n; ++k) gates[k] = activate(0, gates[k]);
    // extra = R h + b of the candidate, of h itself or of what the reset gate leaves of it.
    for (int64_t k = 0; k < n; ++k) extra[k] = 0;
    if (linear_before_reset) {
      add_product(r + 2 * n * n, from, n, n, extra);
      if (b != nullptr) add_bias(b + 5 * n, n, extra);
      for (int64_t k = 0; k < n; ++k) extra[k] *= reset[k];
    } else {
      for (int64_t k = 0; k < n; ++k) reset[k] *= h[k];
      add_product(r + 2 * n * n, through_codes(reset), n, n, extra);
      if (b != nullptr) add_bias(b + 5 * n, n, extra);
    }
    for (int64_t k = 0; k < n; ++k) {
      const C z = gates[k];
      h[k] = (1 - z) * activate(1, gates[2 * n + k] + extra[k]) + z * h[k];
    }
  }

  void rnn(const T* x) const {
    const int64_t n = hidden;
    for (int64_t i = 0; i < n; ++i) gates[i] = 0;
    add_product(w, x, n, inputs, gates);
    add_product(r, h, n, n, gates);
    if (b != nullptr) {
      add_bias(b, n, gates);
      add_bias(b + n, n, gates);
    }
    for (int64_t k = 0; k < n; ++k) h[k] = activate(0, gates[k]);
  }
};

// A state's offset, [D, B, H] or [B, D, H].
struct Extents {
  int64_t steps, batch, directions, hidden, inputs;
  bool batch_first;
  int64_t state(int64_t d, int64_t b) const { return (batch_first ? b * directions + d : d * batch + b) * hidden; }
  int64_t x(int64_t t, int64_t b) const { return (batch_first ? b * steps + t : t * batch + b) * inputs; }
  int64_t y(int64_t t, int64_t d, int64_t b) const {
    return (batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b) * hidden;
  }
};

template <class T>
const T* part(const Tensor* t, int64_t d, int64_t elements) {
  return t == nullptr ? nullptr : t->as<const T>() + d * elements;
}

template <class T, class C>
void load_state(const Tensor* from, int64_t offset, int64_t n, C* to) {
  for (int64_t k = 0; k < n; ++k) to[k] = from == nullptr ? C(0) : static_cast<C>(from->as<const T>()[offset + k]);
}

template <class T, class C>
void store_state(const C* from, int64_t n, int64_t offset, Tensor* to) {
  if (to == nullptr) return;
  for (int64_t k = 0; k < n; ++k) to->as<T>()[offset + k] = T(from[k]);
}

template <class T>
Status run_typed(const KernelContext& ctx, Cell cell) {
  using C = compute_t<T>;
  const int gates = kGates[static_cast<int>(cell)], functions = kFunctions[static_cast<int>(cell)];
  const auto& a = ctx.attrs<attrs::Recurrent>();
  const Tensor &x = *ctx.in(0), &r = *ctx.in(2);
  const Extents e = {x.shape[a.batch_first() ? 1 : 0],
                     x.shape[a.batch_first() ? 0 : 1],
                     recurrent_directions(a),
                     r.shape[2],
                     x.shape[2],
                     a.batch_first()};
  const int64_t n = e.hidden;
  const int32_t* lens = ctx.in(4) == nullptr ? nullptr : ctx.in(4)->as<const int32_t>();
  for (int64_t b = 0; lens != nullptr && b < e.batch; ++b) {
    if (lens[b] < 0 || lens[b] > e.steps) {
      return ctx.fail(Status::kInvalidArgument, "sequence_lens[{}] is {}, wanted 0 to {}", b, lens[b], e.steps);
    }
  }
  const bool lstm = cell == Cell::kLstm;
  C* scratch = reinterpret_cast<C*>(ctx.scratch.data());
  for (int64_t d = 0; d < e.directions; ++d) {
    Direction<T> step;
    step.w = part<T>(ctx.in(1), d, gates * n * e.inputs);
    step.r = part<T>(ctx.in(2), d, gates * n * n);
    step.b = part<T>(ctx.in(3), d, 2 * gates * n);
    step.p = lstm ? part<T>(ctx.in(7), d, 3 * n) : nullptr;
    for (int f = 0; f < functions; ++f) {
      step.functions[f] = {cell == Cell::kRnn ? Activation::Tanh : kDefaults[f], 0, 0};
      if (a.activations() == nullptr) continue;
      const auto i = static_cast<flatbuffers::uoffset_t>(d * functions + f);
      step.functions[f] = {static_cast<Activation>(a.activations()->Get(i)), a.alpha()->Get(i), a.beta()->Get(i)};
    }
    step.clip = static_cast<C>(a.clip());
    step.input_forget = a.input_forget();
    step.linear_before_reset = a.linear_before_reset();
    step.state_scale = a.state_scale();
    step.state_zero = a.state_zero();
    step.inputs = e.inputs;
    step.hidden = n;
    step.h = scratch;
    step.c = scratch + n;
    step.extra = scratch + 2 * n;
    step.seen = scratch + 3 * n;
    step.gates = scratch + 4 * n;
    const bool reverse = d == 1 || a.direction() == attrs::RecurrentDirection::Reverse;
    for (int64_t b = 0; b < e.batch; ++b) {
      const int64_t length = lens == nullptr ? e.steps : lens[b];
      load_state<T>(ctx.in(5), e.state(d, b), n, step.h);
      if (lstm) load_state<T>(ctx.in(6), e.state(d, b), n, step.c);
      for (int64_t s = 0; s < length; ++s) {
        const int64_t t = reverse ? length - 1 - s : s;
        const T* xt = x.as<const T>() + e.x(t, b);
        switch (cell) {
          case Cell::kLstm:
            step.lstm(xt);
            break;
          case Cell::kGru:
            step.gru(xt);
            break;
          case Cell::kRnn:
            step.rnn(xt);
            break;
        }
        store_state<T>(step.h, n, e.y(t, d, b), ctx.out(0));
      }
      store_state<T>(step.h, n, e.state(d, b), ctx.out(1));
      if (lstm) store_state<T>(step.c, n, e.state(d, b), ctx.out(2));
      for (int64_t k = 0; k < n; ++k) step.h[k] = 0;
      for (int64_t t = length; t < e.steps; ++t) store_state<T>(step.h, n, e.y(t, d, b), ctx.out(0));
    }
  }
  return Status::kOk;
}

Status run_recurrent(const KernelContext& ctx, Cell cell) {
  return dispatch_float(ctx.in(0)->dtype, [&](auto tag) { return run_typed<decltype(tag)>(ctx, cell); });
}
template <Cell kCell>
Status run_cell(const KernelContext& ctx) {
  return run_recurrent(ctx, kCell);
}

// h, c, extra, what goes through codes, and the gates of one step.
template <Cell kCell>
int64_t scratch(const KernelQuery& query) {
  const int64_t element = query.inputs[0].dtype == DType::kF64 ? 8 : 4;
  return size_product(query.inputs[2].shape[2], (4 + kGates[static_cast<int>(kCell)]) * element);
}

}  // namespace

extern const RefKernel kLSTMRef;
const RefKernel kLSTMRef = {run_cell<Cell::kLstm>, scratch<Cell::kLstm>};
extern const RefKernel kGRURef;
const RefKernel kGRURef = {run_cell<Cell::kGru>, scratch<Cell::kGru>};
extern const RefKernel kRNNRef;
const RefKernel kRNNRef = {run_cell<Cell::kRnn>, scratch<Cell::kRnn>};

}  // namespace vireo
