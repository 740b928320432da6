#include "delegates/gpu/templates/recurrent.h"

#include <algorithm>

#include "delegates/gpu/templates/elements.h"
#include "delegates/gpu/templates/math.h"
#include "delegates/gpu/templates/numbers.h"

namespace vireo::gpu {
namespace {

constexpr int64_t kTogether = 4;  // elements of a row that are fetched at once, into sums of their own
// Elements of a row in a lane's registers, of which it has 64 where a workgroup has 1,024 lanes on the most common
// cards.
constexpr int64_t kMostKept = 32, kMostKeptOfMany = 16, kManyLanes = 512;

int64_t gates_of(Cell cell) { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1; }
// The candidate's product has to wait for the reset gate.
bool has_two_products(const RecurrentProblem& p) { return p.cell == Cell::kGru && !p.linear_before_reset; }
int64_t most_rows(const RecurrentProblem& p) { return (has_two_products(p) ? 2 : gates_of(p.cell)) * p.hidden; }

// What R multiplies, h, c, what the reset gate leaves of h, and the gates' sums.
int64_t shared_words(const RecurrentProblem& p, int64_t parts) {
  return p.hidden * (2 + (p.cell == Cell::kLstm ? 1 : 0) + (has_two_products(p) ? 1 : 0) + parts * gates_of(p.cell));
}

const char* name_of(Cell cell) { return cell == Cell::kLstm ? "lstm" : cell == Cell::kGru ? "gru" : "rnn"; }

class Recurrence {
 public:
  Recurrence(const RecurrentProblem& p, const RecurrentTiling& t, const Target& target)
      : p_(p), t_(t), numbers_(b_, target), elements_(b_, target) {}

  void write(Dispatch* out) {
    const Value group = b_.group(0), batch = numbers_(p_.batch);
    direction_ = group / batch;
    batch_ = group % batch;
    steps_ = numbers_(p_.steps);
    run();
    out->program = std::move(b_.program());
    out->program.name = std::string("recurrent_") + name_of(p_.cell);
    out->program.size = {lanes(), 1, 1};
    out->push = numbers_.words();
  }

 private:
  uint32_t lanes() const { return t_.rows * t_.parts; }
  uint32_t gates() const { return static_cast<uint32_t>(gates_of(p_.cell)); }
  uint32_t hidden() const { return static_cast<uint32_t>(p_.hidden); }

  // An operand at fixed first coordinates; the last ones come with each access.
  struct Place {
    Tensor tensor;
    Value first;
    std::vector<Value> strides;  // of those
    bool present() const { return first.valid(); }
  };
  Place place(const View& view, DType dtype, const std::vector<std::pair<size_t, Value>>& at) {
    Place out;
    if (view.strides.empty()) return out;
    out.tensor = {dtype, binding_++};
    out.first = numbers_(view.offset);
    for (size_t axis = 0; axis < view.strides.size(); ++axis) {
      const auto fixed = std::find_if(at.begin(), at.end(), [axis](const auto& a) { return a.first == axis; });
      if (fixed != at.end()) {
        out.first = out.first + fixed->second * numbers_(view.strides[axis]);
      } else {
        out.strides.push_back(numbers_(view.strides[axis]));
      }
    }
    return out;
  }
  static Value index(const Place& at, const std::vector<Value>& coordinates) {
    Value i = at.first;
    for (size_t k = 0; k < coordinates.size(); ++k) i = i + coordinates[k] * at.strides[k];
    return i;
  }
  Value load(const Place& at, const std::vector<Value>& coordinates) {
    return elements_.load(at.tensor, index(at, coordinates));
  }
  void store(const Place& at, const std::vector<Value>& coordinates, Value v) {
    if (at.present()) elements_.store(at.tensor, index(at, coordinates), v);
  }

  void find_places() {
    sums_ = place(p_.sums, DType::kF32, {{1, batch_}, {2, direction_}});
    r_ = place(p_.r, p_.r_dtype, {{0, direction_}});
    bias_ = place(p_.b, p_.dtype, {{0, direction_}});
    lengths_ = place(p_.lengths, DType::kI32, {{0, batch_}});
    h_ = place(p_.h, p_.dtype, {{0, direction_}, {1, batch_}});
    c_ = place(p_.c, p_.dtype, {{0, direction_}, {1, batch_}});
    peep_ = place(p_.p, p_.dtype, {{0, direction_}});
    y_ = place(p_.y, p_.dtype, {{1, direction_}, {2, batch_}});
    y_h_ = place(p_.y_h, p_.dtype, {{0, direction_}, {1, batch_}});
    y_c_ = place(p_.y_c, p_.dtype, {{0, direction_}, {1, batch_}});
  }

  void find_shared() {
    seen_ = b_.shared(Type::kF32, hidden());
    own_ = b_.shared(Type::kF32, hidden());
    if (p_.cell == Cell::kLstm) cell_ = b_.shared(Type::kF32, hidden());
    if (has_two_products(p_)) left_ = b_.shared(Type::kF32, hidden());
    made_ = b_.shared(Type::kF32, t_.parts * gates() * hidden());
  }

  // body(unit) for the hidden units that are the lane's own.
  void for_units(const std::function<void(Value)>& body) {
    if (lanes() >= hidden()) {
      b_.when(b_.lane() < b_.u32(hidden()), [&] { body(b_.lane()); });
    } else {
      b_.loop(b_.lane(), b_.u32(hidden()), lanes(), body);
    }
  }

  // What the recurrence's weights multiply in place of v.
  Value through_codes(Value v) {
    if (p_.state_scale <= 0) return v;
    const Value low = b_.f32(static_cast<float>(-p_.state_zero)),
                high = b_.f32(static_cast<float>(255 - p_.state_zero));
    const Value q = v * b_.f32(1 / p_.state_scale);
    const Value held = b_.select(low < q, b_.select(q < high, q, high), low);
    return b_.unary(Op::kRoundEven, held) * b_.f32(p_.state_scale);
  }

  Value activate(int f, Value x) {
    const RecurrentProblem::Applied& a = p_.functions[f];
    if (p_.clip > 0) x = clamp(x, -p_.clip, p_.clip);
    const Value alpha = b_.f32(a.alpha), beta = b_.f32(a.beta), zero = b_.f32(0), one = b_.f32(1);
    switch (a.kind) {
      case Activation::kSigmoid:
        return sigmoid_of(x);
      case Activation::kTanh:
        return tanh_of(x);
      case Activation::kRelu:
        return b_.select(zero < x, x, zero);
      case Activation::kAffine:
        return alpha * x + beta;
      case Activation::kLeakyRelu:
        return b_.select(x < zero, alpha * x, x);
      case Activation::kThresholdedRelu:
        return b_.select(alpha < x, x, zero);
      case Activation::kScaledTanh:
        return alpha * tanh_of(beta * x);
      case Activation::kHardSigmoid:
        return clamp(alpha * x + beta, 0, 1);
      case Activation::kElu:
        return b_.select(x < zero, alpha * expm1_of(x), x);
      case Activation::kSoftsign:
        return x / (one + absolute(x));
      case Activation::kSoftplus:
        return softplus_of(x);
    }
    return x;
  }

  // Rows `first` and behind it, `count` of them, times what array `from` has.
  struct Product {
    uint32_t first, count, from;
    std::vector<Value> kept;
  };
  Value part_begin() const { return b_part_ * static_cast<int64_t>(p_.hidden / t_.parts); }
  Value r_at(Value row, Value k) { return load(r_, {row, k}); }

  void keep(Product* product) {
    if (!t_.kept) return;
    const Value row = b_.u32(product->first) + b_.select(b_row_ < b_.u32(product->count), b_row_, b_.u32(0));
    for (int64_t k = 0; k < p_.hidden / t_.parts; ++k) product->kept.push_back(r_at(row, part_begin() + k));
  }

  void multiply(const Product& product) {
    const auto store = [&](Value row, Value sum) {
      b_.shared_store(made_, b_part_ * (gates() * hidden()) + (row + product.first), sum);
    };
    if (t_.kept) {
      b_.when(b_row_ < b_.u32(product.count), [&] {
        std::vector<Value> sums(kTogether, b_.f32(0));
        for (size_t k = 0; k < product.kept.size(); ++k) {
          Value& sum = sums[k % kTogether];
          sum = fma(product.kept[k], b_.shared_load(product.from, part_begin() + static_cast<int64_t>(k)), sum);
        }
        store(b_row_, (sums[0] + sums[1]) + (sums[2] + sums[3]));
      });
      return;
    }
    b_.loop(b_row_, b_.u32(product.count), t_.rows, [&](Value at) {
      const Value row = at + product.first, begin = part_begin();
      const int64_t length = p_.hidden / t_.parts, whole = length / kTogether * kTogether;
      std::vector<Variable> sums;
      for (int64_t u = 0; u < kTogether; ++u) sums.push_back(b_.variable(b_.f32(0)));
      b_.loop(b_.u32(0), b_.u32(static_cast<uint32_t>(whole)), kTogether, [&](Value k) {
        for (int64_t u = 0; u < kTogether; ++u) {
          const Variable& sum = sums[static_cast<size_t>(u)];
          const Value j = begin + k + u;
          sum.set(fma(r_at(row, j), b_.shared_load(product.from, j), sum.get()));
        }
      });
      for (int64_t k = whole; k < length; ++k) {
        const Variable& sum = sums[static_cast<size_t>(k - whole)];
        const Value j = begin + k;
        sum.set(fma(r_at(row, j), b_.shared_load(product.from, j), sum.get()));
      }
      store(at, (sums[0].get() + sums[1].get()) + (sums[2].get() + sums[3].get()));
    });
  }

  // Of gate `g` of a unit: R's part with its bias, and W's part.
  Value from_state(uint32_t g, Value unit) {
    const Value row = unit + int64_t{g} * p_.hidden;
    Value sum = b_.shared_load(made_, row);
    for (uint32_t part = 1; part < t_.parts; ++part)
      sum = sum + b_.shared_load(made_, row + int64_t{part} * gates() * p_.hidden);
    return bias_.present() ? sum + load(bias_, {row}) : sum;
  }
  Value from_input(uint32_t g, Value unit, Value step) { return load(sums_, {step, unit + int64_t{g} * p_.hidden}); }
  Value gate(uint32_t g, Value unit, Value step) { return from_input(g, unit, step) + from_state(g, unit); }
  Value with_peephole(uint32_t which, Value unit, Value sum, Value state) {
    return peep_.present() ? sum + load(peep_, {unit + int64_t{which} * p_.hidden}) * state : sum;
  }

  void end_unit(Value unit, Value step, Value h) {
    b_.shared_store(own_, unit, h);
    b_.shared_store(seen_, unit, through_codes(h));
    store(y_, {step, unit}, h);
  }

  void lstm(Value unit, Value step) {
    const Value before = b_.shared_load(cell_, unit);
    const Value input = activate(0, with_peephole(0, unit, gate(0, unit, step), before));
    const Value forget =
        p_.input_forget ? b_.f32(1) - input : activate(0, with_peephole(2, unit, gate(2, unit, step), before));
    const Value state = forget * before + input * activate(1, gate(3, unit, step));
    const Value output = activate(0, with_peephole(1, unit, gate(1, unit, step), state));
    b_.shared_store(cell_, unit, state);
    end_unit(unit, step, output * activate(2, state));
  }

  void gru_end(Value unit, Value step, Value update, Value candidate) {
    const Value h = activate(1, from_input(2, unit, step) + candidate);
    end_unit(unit, step, (b_.f32(1) - update) * h + update * b_.shared_load(own_, unit));
  }

  void step(Value at, Value active, const std::vector<Product>& products) {
    multiply(products[0]);
    b_.barrier();
    const auto units = [&](const std::function<void(Value)>& body) {
      if (!lengths_.present()) return for_units(body);
      b_.when(active, [&] { for_units(body); });
    };
    switch (p_.cell) {
      case Cell::kLstm:
        units([&](Value unit) { lstm(unit, at); });
        break;
      case Cell::kRnn:
        units([&](Value unit) { end_unit(unit, at, activate(0, gate(0, unit, at))); });
        break;
      case Cell::kGru:
        if (p_.linear_before_reset) {
          units([&](Value unit) {
            const Value reset = activate(0, gate(1, unit, at));
            gru_end(unit, at, activate(0, gate(0, unit, at)), from_state(2, unit) * reset);
          });
          break;
        }
        for_units([&](Value unit) {
          const Value reset = activate(0, gate(1, unit, at));
          b_.shared_store(left_, unit, through_codes(reset * b_.shared_load(own_, unit)));
        });
        b_.barrier();
        multiply(products[1]);
        b_.barrier();
        units([&](Value unit) { gru_end(unit, at, activate(0, gate(0, unit, at)), from_state(2, unit)); });
        break;
    }
    if (lengths_.present() && y_.present()) {
      b_.when(!active, [&] { for_units([&](Value unit) { store(y_, {at, unit}, b_.f32(0)); }); });
    }
    b_.barrier();
  }

  void run() {
    find_places();
    find_shared();
    b_row_ = b_.lane() % int64_t{t_.rows};
    b_part_ = b_.lane() / int64_t{t_.rows};
    std::vector<Product> products;
    if (has_two_products(p_)) {
      products = {{0, 2 * hidden(), seen_, {}}, {2 * hidden(), hidden(), left_, {}}};
    } else {
      products = {{0, gates() * hidden(), seen_, {}}};
    }
    for (Product& product : products) keep(&product);
    for_units([&](Value unit) {
      const Value h = h_.present() ? load(h_, {unit}) : b_.f32(0);
      b_.shared_store(own_, unit, h);
      b_.shared_store(seen_, unit, through_codes(h));
      if (p_.cell == Cell::kLstm) b_.shared_store(cell_, unit, c_.present() ? load(c_, {unit}) : b_.f32(0));
    });
    b_.barrier();
    Value length = steps_;
    if (lengths_.present()) {
      const Value given = b_.convert(load(lengths_, {}), Type::kU32);
      length = b_.select(given < steps_, given, steps_);
    }
    const Value turned = p_.reverse ? b_.boolean(true) : direction_ == 1;
    b_.loop(b_.u32(0), steps_, 1, [&](Value k) {
      const Value active = lengths_.present() ? k < length : b_.boolean(true);
      const Value at = b_.select(active & turned, length - 1 - k, k);
      step(at, active, products);
    });
    for_units([&](Value unit) {
      store(y_h_, {unit}, b_.shared_load(own_, unit));
      if (p_.cell == Cell::kLstm) store(y_c_, {unit}, b_.shared_load(cell_, unit));
    });
  }

  const RecurrentProblem& p_;
  const RecurrentTiling& t_;
  Builder b_;
  Numbers numbers_;
  Elements elements_;
  uint32_t binding_ = 0, seen_ = 0, own_ = 0, cell_ = 0, left_ = 0, made_ = 0;
  Value direction_, batch_, steps_, b_row_, b_part_;
  Place sums_, r_, bias_, lengths_, h_, c_, peep_, y_, y_h_, y_c_;
};

}  // namespace

RecurrentTiling choose_recurrent(const RecurrentProblem& p, const Target& target) {
  const int64_t most = std::min(target.workgroup, target.workgroup_x), rows = most_rows(p);
  RecurrentTiling t;
  // A multiple of a subgroup, where that can be.
  t.rows = static_cast<uint32_t>(std::min(most / 32 * 32, (rows + 31) / 32 * 32));
  const auto may = [&](int64_t parts) {
    return t.rows * parts <= most && p.hidden % (parts * kTogether) == 0 &&
           shared_words(p, parts) * 4 <= int64_t{target.shared_bytes};
  };
  while (t.rows >= rows && may(int64_t{t.parts} * 2)) t.parts *= 2;
  const int64_t length = p.hidden / t.parts * (has_two_products(p) ? 2 : 1);
  t.kept = t.rows >= rows && length <= (t.rows * t.parts > kManyLanes ? kMostKeptOfMany : kMostKept);
  return t;
}

Dispatch make_recurrent(const RecurrentProblem& p, const RecurrentTiling& t, const Target& target) {
  Dispatch out;
  if (lane_type(p.dtype, target) != Type::kF32 || lane_type(p.r_dtype, target) != Type::kF32) {
    out.refusal = std::string("the GPU has no recurrent operator of ") + dtype_name(p.dtype);
  } else if (!can_store(p.dtype, target)) {
    out.refusal = std::string("this GPU cannot write elements of ") + dtype_name(p.dtype) + " one by one";
  } else if (shared_words(p, t.parts) * 4 > int64_t{target.shared_bytes}) {
    out.refusal = "a state of " + std::to_string(p.hidden) + " units, whose gates do not fit into this GPU's " +
                  std::to_string(target.shared_bytes) + " bytes of shared memory";
  } else if (p.batch * p.directions > int64_t{target.groups_x}) {
    out.refusal = "more sequences than this GPU takes workgroups in a launch";
  } else {
    out.groups[0] = static_cast<uint32_t>(p.batch * p.directions);
    Recurrence(p, t, target).write(&out);
  }
  return out;
}

}  // namespace vireo::gpu
