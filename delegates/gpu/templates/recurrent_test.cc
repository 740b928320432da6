#include "delegates/gpu/templates/recurrent.h"

#include <gtest/gtest.h>
#include <math.h>

#include <algorithm>

#include "delegates/gpu/templates/testing.h"

namespace vireo::gpu {
namespace recurrent_test {
namespace {

double activate(const RecurrentProblem::Applied& a, double x) {
  const auto alpha = static_cast<double>(a.alpha), beta = static_cast<double>(a.beta);
  switch (a.kind) {
    case Activation::kSigmoid:
      return 1 / (1 + exp(-x));
    case Activation::kTanh:
      return tanh(x);
    case Activation::kRelu:
      return x > 0 ? x : 0;
    case Activation::kAffine:
      return alpha * x + beta;
    case Activation::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case Activation::kThresholdedRelu:
      return x > alpha ? x : 0;
    case Activation::kScaledTanh:
      return alpha * tanh(beta * x);
    case Activation::kHardSigmoid:
      return std::clamp(alpha * x + beta, 0.0, 1.0);
    case Activation::kElu:
      return x < 0 ? alpha * expm1(x) : x;
    case Activation::kSoftsign:
      return x / (1 + fabs(x));
    case Activation::kSoftplus:
      return log1p(exp(x));
  }
  return x;
}

// Operands in the order of the bindings; empty: absent.
struct Drawn {
  RecurrentProblem p;
  std::vector<float> sums, r, b, h, c, peep;
  std::vector<int32_t> lengths;
};
struct Results {
  std::vector<double> y, y_h, y_c;
};

Results reference(const Drawn& d) {
  const RecurrentProblem& p = d.p;
  const int64_t n = p.hidden, gates = p.cell == Cell::kLstm ? 4 : p.cell == Cell::kGru ? 3 : 1;
  Results out;
  out.y.assign(static_cast<size_t>(p.steps * p.directions * p.batch * n), 0);
  out.y_h.resize(static_cast<size_t>(p.directions * p.batch * n));
  out.y_c.resize(out.y_h.size());
  const auto at = [](const std::vector<float>& v, int64_t i) {
    return v.empty() ? 0 : static_cast<double>(v[static_cast<size_t>(i)]);
  };
  const auto seen = [&p](double v) {
    if (p.state_scale <= 0) return v;
    const double s = static_cast<double>(p.state_scale);
    return (std::clamp(nearbyint(v / s) + p.state_zero, 0.0, 255.0) - p.state_zero) * s;
  };
  for (int64_t dir = 0; dir < p.directions; ++dir) {
    for (int64_t batch = 0; batch < p.batch; ++batch) {
      const int64_t state = (dir * p.batch + batch) * n;
      std::vector<double> h(static_cast<size_t>(n)), c(h);
      for (int64_t k = 0; k < n; ++k) {
        h[static_cast<size_t>(k)] = at(d.h, state + k);
        c[static_cast<size_t>(k)] = at(d.c, state + k);
      }
      const int64_t length = d.lengths.empty() ? p.steps : d.lengths[static_cast<size_t>(batch)];
      const bool reverse = p.reverse || dir == 1;
      const auto clipped = [&p](double x) {
        const auto bound = static_cast<double>(p.clip);
        return p.clip > 0 ? std::clamp(x, -bound, bound) : x;
      };
      const auto f = [&](int which, double x) { return activate(p.functions[which], clipped(x)); };
      for (int64_t s = 0; s < length; ++s) {
        const int64_t t = reverse ? length - 1 - s : s;
        const auto input = [&](int64_t row) {
          return at(d.sums, ((t * p.batch + batch) * p.directions + dir) * gates * n + row);
        };
        const auto product = [&](int64_t row, const std::vector<double>& v) {
          double sum = at(d.b, dir * gates * n + row);
          for (int64_t k = 0; k < n; ++k)
            sum += at(d.r, (dir * gates * n + row) * n + k) * seen(v[static_cast<size_t>(k)]);
          return sum;
        };
        std::vector<double> next(h), gated(h);
        for (int64_t k = 0; k < n; ++k) {
          const auto i = static_cast<size_t>(k);
          const auto peep = [&](int64_t which, double v) {
            return d.peep.empty() ? 0 : at(d.peep, dir * 3 * n + which * n + k) * v;
          };
          if (p.cell == Cell::kRnn) {
            next[i] = f(0, input(k) + product(k, h));
          } else if (p.cell == Cell::kLstm) {
            const double in = f(0, input(k) + product(k, h) + peep(0, c[i]));
            const double forget =
                p.input_forget ? 1 - in : f(0, input(2 * n + k) + product(2 * n + k, h) + peep(2, c[i]));
            c[i] = forget * c[i] + in * f(1, input(3 * n + k) + product(3 * n + k, h));
            next[i] = f(0, input(n + k) + product(n + k, h) + peep(1, c[i])) * f(2, c[i]);
          } else {
            gated[i] = f(0, input(n + k) + product(n + k, h)) * (p.linear_before_reset ? 1 : h[i]);
          }
        }
        for (int64_t k = 0; k < n && p.cell == Cell::kGru; ++k) {
          const auto i = static_cast<size_t>(k);
          const double z = f(0, input(k) + product(k, h));
          const double candidate = p.linear_before_reset ? product(2 * n + k, h) * gated[i] : product(2 * n + k, gated);
          next[i] = (1 - z) * f(1, input(2 * n + k) + candidate) + z * h[i];
        }
        h = next;
        for (int64_t k = 0; k < n; ++k)
          out.y[static_cast<size_t>(((t * p.directions + dir) * p.batch + batch) * n + k)] = h[static_cast<size_t>(k)];
      }
      for (int64_t k = 0; k < n; ++k) {
        out.y_h[static_cast<size_t>(state + k)] = h[static_cast<size_t>(k)];
        out.y_c[static_cast<size_t>(state + k)] = c[static_cast<size_t>(k)];
      }
    }
  }
  return out;
}

View view(const Extents& shape) {
  View v;
  v.strides = dense_strides(shape);
  return v;
}

Drawn draw(uint32_t seed, Cell cell, int64_t hidden) {
  std::mt19937 rng(seed);
  const auto one_of = [&rng](uint32_t n) { return rng() % n == 0; };
  Drawn d;
  RecurrentProblem& p = d.p;
  p.cell = cell;
  p.steps = 1 + rng() % 6;
  p.batch = 1 + rng() % 3;
  p.directions = 1 + rng() % 2;
  p.hidden = hidden;
  p.reverse = p.directions == 1 && one_of(2);
  p.linear_before_reset = one_of(2);
  p.input_forget = one_of(4);
  p.clip = one_of(4) ? 0.5f : 0;
  p.functions[0] = {Activation::kSigmoid};
  p.functions[1] = p.functions[2] = {Activation::kTanh};
  if (cell == Cell::kRnn) p.functions[0] = {Activation::kTanh};
  const int64_t gates = cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1;
  uint32_t next = seed;
  const auto floats = [&](const Extents& shape, View* at, float bound) {
    int64_t count = 1;
    for (const int64_t e : shape) count *= e;
    *at = view(shape);
    return random_floats(static_cast<size_t>(count), ++next, -bound, bound);
  };
  d.sums = floats({p.steps, p.batch, p.directions, gates * hidden}, &p.sums, 2);
  d.r = floats({p.directions, gates * hidden, hidden}, &p.r, 2 / sqrtf(static_cast<float>(hidden)));
  if (one_of(2)) d.b = floats({p.directions, gates * hidden}, &p.b, 1);
  if (one_of(2)) d.h = floats({p.directions, p.batch, hidden}, &p.h, 1);
  if (one_of(2) && cell == Cell::kLstm) d.c = floats({p.directions, p.batch, hidden}, &p.c, 1);
  if (one_of(3) && cell == Cell::kLstm) d.peep = floats({p.directions, 3 * hidden}, &p.p, 1);
  if (one_of(3)) {
    p.lengths = view({p.batch});
    for (int64_t b = 0; b < p.batch; ++b) d.lengths.push_back(static_cast<int32_t>(rng() % (p.steps + 1)));
  }
  const bool all = one_of(2);
  if (all || one_of(2)) p.y = view({p.steps, p.directions, p.batch, hidden});
  if (all || p.y.strides.empty()) p.y_h = view({p.directions, p.batch, hidden});
  if (all && cell == Cell::kLstm) p.y_c = p.y_h;
  return d;
}

void add(Trials* trials, const std::string& name, const Drawn& d, const RecurrentTiling& tiling, const Target& target) {
  std::vector<Bytes> bindings = {bytes_of(d.sums), bytes_of(d.r)};
  for (const auto* operand : {&d.b}) {
    if (!operand->empty()) bindings.push_back(bytes_of(*operand));
  }
  if (!d.lengths.empty()) bindings.push_back(bytes_of(d.lengths));
  for (const auto* operand : {&d.h, &d.c, &d.peep}) {
    if (!operand->empty()) bindings.push_back(bytes_of(*operand));
  }
  const Results wanted = reference(d);
  std::vector<std::vector<double>> results;
  if (!d.p.y.strides.empty()) results.push_back(wanted.y);
  if (!d.p.y_h.strides.empty()) results.push_back(wanted.y_h);
  if (!d.p.y_c.strides.empty()) results.push_back(wanted.y_c);
  const size_t first = bindings.size();
  for (const auto& r : results) bindings.emplace_back(r.size() * 4, uint8_t{0xA5});
  trials->add(
      name, make_recurrent(d.p, tiling, target), target, std::move(bindings), [=](const std::vector<Bytes>& made) {
        // Each step adds up hidden products of at most 2 |r| and passes through functions with slopes of at most 1:
        // few of 2^-24 a step, carried over the steps.
        for (size_t i = 0; i < results.size(); ++i) {
          const std::vector<float> got = as<float>(made[first + i]);
          for (size_t k = 0; k < got.size(); ++k)
            ASSERT_NEAR(static_cast<double>(got[k]), results[i][k], 2e-5) << name << ", result " << i << " at " << k;
        }
      });
}

TEST(Recurrent, CellsOfAnySize) {
  Trials trials;
  uint32_t seed = 1;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnn}) {
    for (const int64_t hidden : {1, 3, 8, 20, 64}) {
      for (const Target& target : {plain_target(), rich_target()}) {
        const Drawn d = draw(++seed, cell, hidden);
        add(&trials, "seed " + std::to_string(seed), d, choose_recurrent(d.p, target), target);
      }
    }
  }
}

// Rows that a lane has several of, rows that lanes share, and rows in registers.
TEST(Recurrent, EachTiling) {
  Trials trials;
  uint32_t seed = 100;
  for (const Cell cell : {Cell::kLstm, Cell::kGru, Cell::kRnn}) {
    for (const RecurrentTiling& tiling : {RecurrentTiling{32, 1, false}, RecurrentTiling{32, 4, false},
                                          RecurrentTiling{64, 2, true}, RecurrentTiling{96, 1, true}}) {
      const Drawn d = draw(++seed, cell, 16);
      add(&trials, "seed " + std::to_string(seed), d, tiling, rich_target());
    }
  }
}

TEST(Recurrent, EachFunction) {
  Trials trials;
  for (int kind = 0; kind <= static_cast<int>(Activation::kSoftplus); ++kind) {
    Drawn d = draw(200, Cell::kRnn, 5);
    d.p.clip = 0;
    d.p.functions[0] = {static_cast<Activation>(kind), 0.7f, 0.3f};
    add(&trials, "function " + std::to_string(kind), d, choose_recurrent(d.p, plain_target()), plain_target());
  }
}

// What R multiplies goes through codes; the state that is kept does not. States lie away from halves of a code, so that
// a rounding error chooses no other one.
TEST(Recurrent, StateInCodes) {
  Trials trials;
  for (const bool before : {false, true}) {
    Drawn d = draw(300, Cell::kGru, 8);
    d.p.linear_before_reset = before;
    d.p.state_scale = 1 / 64.0f;
    d.p.state_zero = 100;
    d.p.steps = 1;
    d.p.sums = view({1, d.p.batch, d.p.directions, 24});
    d.p.h = view({d.p.directions, d.p.batch, 8});
    d.h = random_floats(static_cast<size_t>(d.p.directions * d.p.batch * 8), 7, -1, 1);
    d.lengths.clear();
    d.p.lengths = {};
    d.p.y = view({1, d.p.directions, d.p.batch, 8});
    const Results coded = reference(d);
    Drawn plain = d;
    plain.p.state_scale = 0;
    const Results exact = reference(plain);
    double apart = 0;
    for (size_t i = 0; i < coded.y.size(); ++i) apart = std::max(apart, fabs(coded.y[i] - exact.y[i]));
    EXPECT_GT(apart, 1e-4) << "codes make no difference";
    add(&trials, before ? "before" : "behind", d, choose_recurrent(d.p, rich_target()), rich_target());
  }
}

TEST(Recurrent, SmallStatesStayInRegisters) {
  RecurrentProblem p;
  p.hidden = 64;
  Target target = rich_target();
  target.workgroup = target.workgroup_x = 1024;
  RecurrentTiling t = choose_recurrent(p, target);
  EXPECT_TRUE(t.kept);
  EXPECT_EQ(t.rows * t.parts, 1024u);
  p.hidden = 512;
  EXPECT_FALSE(choose_recurrent(p, target).kept);
  p.hidden = 4096;  // 98,304 bytes of gates and state
  EXPECT_NE(make_recurrent(p, choose_recurrent(p, target), target).refusal.find("shared memory"), std::string::npos);
  p.hidden = 4;
  p.dtype = DType::kF64;
  EXPECT_NE(make_recurrent(p, choose_recurrent(p, target), target).refusal.find("float64"), std::string::npos);
}

}  // namespace
}  // namespace recurrent_test
}  // namespace vireo::gpu
