#include "delegates/cpu/kernels/recurrent/recurrent.h"

#include <utility>

#include "delegates/cpu/kernels/testing.h"
#include "sdk/base/half.h"

namespace vireo::cpu {
namespace {

using testing::Floats;
using testing::for_each_level;
using testing::Guarded;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One step in double beside the kernel's, all operands against unreadable pages. `half`: weights in bfloat16, which r
// then has the values of.
struct Case {
  int64_t batch, hidden, gates;
  bool half;
  Floats r, sums, h, c, bias, y, room, packed;
  Guarded<uint16_t> packed_half;

  static size_t size(int64_t n) { return static_cast<size_t>(n); }
  Case(int64_t batch_, int64_t hidden_, int64_t gates_, bool half_ = false)
      : batch(batch_),
        hidden(hidden_),
        gates(gates_),
        half(half_),
        r(size(gates * hidden * hidden)),
        sums(size(batch * gates * hidden)),
        h(size(batch * hidden)),
        c(size(batch * hidden)),
        bias(size(gates * hidden)),
        y(size(batch * hidden)),
        room(size(2 * batch * hidden)),
        packed(size(packed_gates_floats(gates, hidden))),
        packed_half(size(packed_gates_bf16(gates, hidden))) {
    const auto seed = static_cast<uint32_t>(batch * 1000 + hidden);
    testing::fill_uniform(r, seed, -0.5f, 0.5f);
    testing::fill_uniform(sums, seed + 1, -2, 2);
    testing::fill_uniform(h, seed + 2);
    testing::fill_uniform(c, seed + 3, -2, 2);
    testing::fill_uniform(bias, seed + 4);
    testing::fill_uniform(packed, 9);  // what is not written shows
    for (uint16_t& v : packed_half) v = f32_to_bf16(777);
    if (!half) {
      pack_gates_f32(gates, hidden, r.data(), Parallel{}, packed.data());
      return;
    }
    Guarded<uint16_t> bits(r.size());
    for (size_t i = 0; i < r.size(); ++i) {
      bits[i] = f32_to_bf16(r[i]);
      r[i] = bf16_to_f32(bits[i]);
    }
    pack_gates_bf16(gates, hidden, bits.data(), Parallel{}, packed_half.data());
  }
  RecurrentStepF32 step() {
    RecurrentStepF32 s;
    s.batch = batch;
    s.hidden = hidden;
    if (half) {
      s.packed_bf16 = packed_half.data();
    } else {
      s.packed = packed.data();
    }
    s.sums = sums.data();
    s.h = h.data();
    s.y = y.data();
    s.c = c.data();
    s.room = room.data();
    return s;
  }
  double product(const Floats& of, int64_t b, int64_t gate, int64_t unit) const {
    double sum = 0;
    for (int64_t k = 0; k < hidden; ++k)
      sum += static_cast<double>(of[size(b * hidden + k)]) * r[size((gate * hidden + unit) * hidden + k)];
    return sum;
  }
  double given(int64_t b, int64_t gate, int64_t unit) const { return sums[size((b * gates + gate) * hidden + unit)]; }
  // A sum's error moves a gate by a quarter of it at most, and a state of up to 3 by as much again.
  double bound() const {
    return 2 * testing::sum_bound(hidden + 2, 0.5 * static_cast<double>(hidden) + 4) + 12 * 0x1p-24;
  }
};

const int64_t kHidden[] = {1, 3, 8, 15, 16, 17, 33, 64, 100};
const int64_t kBatches[] = {1, 2, 3, 4, 5, 8, 9, 16, 37};

TEST(Recurrent, Lstm) {
  for_each_level([](const char*) {
    for (const bool half : {false, true}) {
      for (const int64_t batch : kBatches) {
        for (const int64_t hidden : kHidden) {
          Case k(batch, hidden, 4, half);
          Floats before(k.c.size());
          memcpy(before.data(), k.c.data(), k.c.size() * sizeof(float));
          lstm_step_f32(k.step(), Parallel{});
          for (int64_t b = 0; b < batch; ++b) {
            for (int64_t u = 0; u < hidden; ++u) {
              double gate[4];
              for (int64_t g = 0; g < 4; ++g) gate[g] = k.given(b, g, u) + k.product(k.h, b, g, u);
              const size_t at = Case::size(b * hidden + u);
              const double c = sigmoid(gate[2]) * before[at] + sigmoid(gate[0]) * std::tanh(gate[3]);
              ASSERT_NEAR(k.c[at], c, k.bound())
                  << batch << " x " << hidden << " unit " << u << (half ? ", bfloat16" : "");
              ASSERT_NEAR(k.y[at], sigmoid(gate[1]) * std::tanh(c), k.bound()) << batch << " x " << hidden;
            }
          }
        }
      }
    }
  });
}

TEST(Recurrent, Gru) {
  for_each_level([](const char*) {
    for (const bool linear : {false, true}) {
      for (const bool with_bias : {false, true}) {
        for (const int64_t batch : kBatches) {
          for (const int64_t hidden : kHidden) {
            Case k(batch, hidden, 3);
            RecurrentStepF32 step = k.step();
            step.c = nullptr;
            step.linear_before_reset = linear;
            if (linear) step.room = nullptr;
            step.bias = with_bias ? k.bias.data() : nullptr;
            gru_step_f32(step, Parallel{});
            const auto bias = [&](int64_t g, int64_t u) {
              return with_bias ? k.bias[Case::size(g * hidden + u)] : 0.0f;
            };
            Floats reset(k.h.size()), reset_h(k.h.size());
            for (int64_t b = 0; b < batch; ++b) {
              for (int64_t u = 0; u < hidden; ++u) {
                const size_t at = Case::size(b * hidden + u);
                reset[at] = static_cast<float>(sigmoid(k.given(b, 1, u) + k.product(k.h, b, 1, u) + bias(1, u)));
                reset_h[at] = reset[at] * k.h[at];
              }
            }
            for (int64_t b = 0; b < batch; ++b) {
              for (int64_t u = 0; u < hidden; ++u) {
                const size_t at = Case::size(b * hidden + u);
                const double z = sigmoid(k.given(b, 0, u) + k.product(k.h, b, 0, u) + bias(0, u));
                const double inner = linear ? reset[at] * (k.product(k.h, b, 2, u) + bias(2, u))
                                            : k.product(reset_h, b, 2, u) + bias(2, u);
                const double want = (1 - z) * std::tanh(k.given(b, 2, u) + inner) + z * k.h[at];
                ASSERT_NEAR(k.y[at], want, k.bound()) << batch << " x " << hidden << " unit " << u;
              }
            }
          }
        }
      }
    }
  });
}

// Which thread takes a panel changes nothing.
TEST(Recurrent, ThreadsGiveTheSameBits) {
  for_each_level([](const char*) {
    for (const auto& [gates, half] : {std::pair<int64_t, bool>{3, false}, {4, false}, {4, true}}) {
      Case one(3, 260, gates, half), three(3, 260, gates, half);
      testing::Threads threads(3);
      const auto run = [](Case* k, const Parallel& parallel) {
        k->gates == 4 ? lstm_step_f32(k->step(), parallel) : gru_step_f32(k->step(), parallel);
      };
      run(&one, Parallel{});
      run(&three, threads.parallel());
      ASSERT_EQ(memcmp(one.y.data(), three.y.data(), one.y.size() * sizeof(float)), 0);
      ASSERT_EQ(memcmp(one.c.data(), three.c.data(), one.c.size() * sizeof(float)), 0);
    }
  });
}

}  // namespace
}  // namespace vireo::cpu
