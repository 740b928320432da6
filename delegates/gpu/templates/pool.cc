// Windows over single channels: pools and depthwise convolutions. One lane makes one element of the output.
#include "delegates/gpu/templates/pool.h"

#include <math.h>

#include <algorithm>
#include <array>

#include "delegates/gpu/templates/elements.h"
#include "delegates/gpu/templates/evaluate.h"
#include "delegates/gpu/templates/math.h"
#include "delegates/gpu/templates/space.h"
#include "delegates/gpu/templates/window_reader.h"

namespace vireo::gpu {
namespace {

constexpr int64_t kWrittenOut = 9;  // taps that stand in the code one after the other: their loads do not wait

// body(tap) for every tap of a window; axes of one tap have no loop.
void for_taps(Builder& b, const Window& w, const std::vector<Value>& kernel, bool written_out,
              const std::function<void(const WindowReader::Place&)>& body) {
  WindowReader::Place tap = {b.u32(0), b.u32(0), b.u32(0)};
  const std::function<void(size_t)> along = [&](size_t axis) {
    if (axis == 3) return body(tap);
    if (w.kernel[axis] == 1) return along(axis + 1);
    if (written_out && w.taps() <= kWrittenOut) {
      for (uint32_t at = 0; at < w.kernel[axis]; ++at) {
        tap[axis] = b.u32(at);
        along(axis + 1);
      }
      tap[axis] = b.u32(0);
      return;
    }
    b.loop(b.u32(0), kernel[axis], 1, [&](Value at) {
      tap[axis] = at;
      along(axis + 1);
    });
    tap[axis] = b.u32(0);
  };
  along(0);
}

// What both templates do around their sums: a lane's place, the epilogue, the launch.
class WindowBody {
 public:
  WindowBody(int64_t images, int64_t channels, const Window& window, const Expression& epilogue,
             const WindowTiling& tiling, const Target& target)
      : images_(images),
        channels_(channels),
        window_(window),
        epilogue_(epilogue),
        tiling_(tiling),
        target_(target),
        numbers_(b_, target) {}

  std::string refusal(DType given) const {
    if (epilogue_.inputs.empty() || !epilogue_.inputs[0].given || epilogue_.inputs[0].dtype != given)
      return "an epilogue without its value";
    std::string why = refuse(epilogue_, 5, target_);
    for (const Output& o : epilogue_.outputs) {
      const DType type = epilogue_.type_of(o.value);
      if (why.empty() && !can_store(type, target_))
        why = "this GPU cannot write elements of " + std::string(dtype_name(type)) + " one by one";
    }
    return why;
  }

  // value(image, channel, output place): what the epilogue gets. make_four: the same of four neighbouring channels, in
  // place of it.
  using Make = std::function<Value(Value, Value, const WindowReader::Place&)>;
  using MakeFour = std::function<std::array<Value, 4>(Value, Value, const WindowReader::Place&)>;
  MakeFour make_four;
  Dispatch run(const char* name, const ImageView& x, uint32_t operands,
               const std::function<Make(const WindowReader&)>& begin) {
    Dispatch out;
    const int64_t of_lane = fours ? 4 : 1, total = images_ * channels_ * window_.places() / of_lane;
    out.refusal = cover((total + tiling_.lanes - 1) / tiling_.lanes, target_, &out);
    if (!out.refusal.empty()) return out;
    const WindowReader reader(b_, numbers_, window_, x);
    const Make value = begin(reader);
    const Value all = numbers_(total), channels = numbers_(channels_ / of_lane), images = numbers_(images_);
    uint32_t binding = operands;
    Evaluator e(b_, target_, numbers_, epilogue_, &binding);
    e.bind_outputs(numbers_, &binding);
    std::vector<Value> extents = reader.out_extents();
    extents.insert(tiling_.channels_last ? extents.end() : extents.begin(), channels);
    extents.insert(extents.begin(), images);
    const Value at = group_number(b_, numbers_, out) * tiling_.lanes + b_.lane();
    b_.when(at < all, [&] {
      const std::vector<Value> p = unravel(at, extents);
      const size_t first = tiling_.channels_last ? 1 : 2;
      const WindowReader::Place o = {p[first], p[first + 1], p[first + 2]};
      const Value channel = (tiling_.channels_last ? p[4] : p[1]) * of_lane;
      const std::vector<Value> place = {p[0], o[0], o[1], o[2], channel};
      if (fours) return e.store_four(place, make_four(p[0], channel, o));
      e.store(e.at(place, {value(p[0], channel, o)}), place);
    });
    out.program = std::move(b_.program());
    out.program.name = name + describe(epilogue_);
    out.program.size = {tiling_.lanes, 1, 1};
    out.push = numbers_.words();
    return out;
  }

  bool fours = false;  // a lane has four channels; set before run(), which begins with `begin`
  Builder& builder() { return b_; }
  Numbers& numbers() { return numbers_; }

 private:
  int64_t images_, channels_;
  const Window& window_;
  const Expression& epilogue_;
  const WindowTiling& tiling_;
  const Target& target_;
  Builder b_;
  Numbers numbers_;
};

Value lowest(Builder& b, DType type) {
  if (dtype_is_float(type)) return b.f32(-INFINITY);
  return type == DType::kI8    ? b.i32(-128)
         : type == DType::kI16 ? b.i32(-32768)
         : type == DType::kI32 ? b.i32(INT32_MIN)
                               : b.u32(0);
}

WindowTiling choose_window(const ImageView& x, const Target& target) {
  return {std::min({64u, target.workgroup, target.workgroup_x}), x.channel == 1};
}

}  // namespace

WindowTiling choose_pool(const PoolProblem& problem, const Target& target) { return choose_window(problem.x, target); }
WindowTiling choose_depthwise(const DepthwiseProblem& problem, const Target& target) {
  return choose_window(problem.x, target);
}

Dispatch make_pool(const PoolProblem& problem, const WindowTiling& tiling, const Target& target) {
  const PoolProblem& p = problem;
  WindowBody body(p.images, p.channels, p.window, p.epilogue, tiling, target);
  Dispatch out;
  out.refusal = body.refusal(p.x_dtype);
  const bool greatest = p.pool == Pool::kMax;
  const Type type = lane_type(p.x_dtype, target);
  if (out.refusal.empty() && (type == Type::kNone || type == Type::kBool || (!greatest && type != Type::kF32))) {
    out.refusal = "the GPU has no pool of " + std::string(dtype_name(p.x_dtype));
  }
  if (!out.refusal.empty()) return out;
  Builder& b = body.builder();
  return body.run(greatest ? "maxpool" : "averagepool", p.x, 1, [&](const WindowReader& reader) -> WindowBody::Make {
    WindowReader::Place before, counted;  // padding in front, and how far what counts reaches
    for (size_t i = 0; i < 3 && p.pool == Pool::kAverageAll; ++i) {
      before[i] = body.numbers()(p.window.pad[i]);
      counted[i] = body.numbers()(p.window.in[i] + p.window.pad[i] + p.pad_end[i]);
    }
    return [=, &reader, &b, &p](Value image, Value channel, const WindowReader::Place& o) {
      constexpr bool written_out = false;
      Elements elements(b, target);
      const Value base = reader.offset() + reader.image(image) + reader.channel(channel);
      const WindowReader::Place origin = reader.origin(o);
      const Variable sum = b.variable(greatest ? lowest(b, p.x_dtype) : b.f32(0)), count = b.variable(b.u32(0));
      for_taps(b, p.window, reader.kernel_extents(), written_out, [&](const WindowReader::Place& tap) {
        const WindowReader::Place at = reader.at(origin, tap);
        const Value inside = reader.inside(at);
        const Value v = elements.load({p.x_dtype, 0}, base + b.select(inside, reader.index(at), b.u32(0)));
        const Value now = sum.get();
        if (greatest) {
          const Value stays = is_float(type) ? (v <= now) | is_nan(now) : v <= now;
          sum.set(b.select(inside & !stays, v, now));
          return;
        }
        sum.set(now + b.select(inside, v, b.f32(0)));
        Value counts = inside;
        if (p.pool == Pool::kAverageAll) {
          counts = b.boolean(true);
          for (size_t i = 0; i < 3; ++i) counts = counts & (at[i] + before[i] < counted[i]);
        }
        count.set(count.get() + b.convert(counts, Type::kU32));
      });
      const Value made = greatest ? sum.get() : sum.get() / b.convert(count.get(), Type::kF32);
      return rounded(p.x_dtype, made);
    };
  });
}

namespace {

// Whether four neighbouring channels are a quad of the image, and of the weights.
bool lies_in_fours(const DepthwiseProblem& p, const WindowTiling& tiling) {
  const auto whole = [](const ImageView& v) {
    return v.channel == 1 && v.offset % 4 == 0 && v.image % 4 == 0 &&
           std::all_of(v.spatial.begin(), v.spatial.end(), [](int64_t step) { return step % 4 == 0; });
  };
  return tiling.channels_last && p.multiplier == 1 && p.channels % 4 == 0 && p.x_dtype == DType::kF32 &&
         p.w_dtype == DType::kF32 && p.sum == DType::kF32 && whole(p.x) && whole(p.w) && !p.epilogue.reports();
}

}  // namespace

Dispatch make_depthwise(const DepthwiseProblem& problem, const WindowTiling& tiling, const Target& target) {
  const DepthwiseProblem& p = problem;
  WindowBody body(p.images, p.channels * p.multiplier, p.window, p.epilogue, tiling, target);
  Dispatch out;
  out.refusal = body.refusal(p.sum);
  const bool floats = p.sum == DType::kF32;
  const Type type = floats ? Type::kF32 : Type::kI32;
  const auto fits = [&](DType t) {
    return floats ? lane_type(t, target) == Type::kF32 : t == DType::kI8 || t == DType::kU8;
  };
  if (out.refusal.empty() && (!fits(p.x_dtype) || !fits(p.w_dtype) || (!floats && p.sum != DType::kI32))) {
    out.refusal =
        "the GPU has no convolution of " + std::string(dtype_name(p.x_dtype)) + " and " + dtype_name(p.w_dtype);
  }
  if (!out.refusal.empty()) return out;
  Builder& b = body.builder();
  body.fours = lies_in_fours(p, tiling);
  return body.run("depthwise", p.x, 2, [&](const WindowReader& reader) -> WindowBody::Make {
    const Value w_offset = body.numbers()(p.w.offset), w_channel = body.numbers()(p.w.channel),
                multiplier = body.numbers()(p.multiplier);
    WindowReader::Place w_step;
    for (size_t i = 0; i < 3; ++i) w_step[i] = body.numbers()(p.w.spatial[i]);
    body.make_four = [=, &reader, &b, &p](Value image, Value channel, const WindowReader::Place& o) {
      const uint32_t xs = b.buffer(0, Element::kQuad, false), ws = b.buffer(1, Element::kQuad, false);
      const Value base = reader.offset() + reader.image(image) + channel, w_base = w_offset + channel;
      const WindowReader::Place origin = reader.origin(o);
      std::array<Variable, 4> sums;
      for (Variable& sum : sums) sum = b.variable(b.f32(0));
      for_taps(b, p.window, reader.kernel_extents(), true, [&](const WindowReader::Place& tap) {
        const WindowReader::Place at = reader.at(origin, tap);
        const Value inside = reader.inside(at);
        const Value x = b.load(Type::kQuad, xs, (base + b.select(inside, reader.index(at), b.u32(0))) >> 2);
        const Value w =
            b.load(Type::kQuad, ws, (w_base + tap[0] * w_step[0] + tap[1] * w_step[1] + tap[2] * w_step[2]) >> 2);
        for (uint32_t e = 0; e < 4; ++e) {
          const auto part = [&](Value quad) { return b.bitcast(b.part(quad, e), Type::kF32); };
          const Value now = sums[e].get();
          sums[e].set(b.select(inside, b.fma(part(x), part(w), now), now));
        }
      });
      return std::array<Value, 4>{sums[0].get(), sums[1].get(), sums[2].get(), sums[3].get()};
    };
    return [=, &reader, &b, &p](Value image, Value channel, const WindowReader::Place& o) {
      constexpr bool written_out = false;
      Elements elements(b, target);
      const Value base = reader.offset() + reader.image(image) + reader.channel(channel / multiplier);
      const Value w_base = w_offset + channel * w_channel;
      const WindowReader::Place origin = reader.origin(o);
      const Variable sum = b.variable(b.number(type, 0));
      for_taps(b, p.window, reader.kernel_extents(), written_out, [&](const WindowReader::Place& tap) {
        const WindowReader::Place at = reader.at(origin, tap);
        const Value inside = reader.inside(at);
        Value x = b.convert(elements.load({p.x_dtype, 0}, base + b.select(inside, reader.index(at), b.u32(0))), type);
        Value w = b.convert(
            elements.load({p.w_dtype, 1}, w_base + tap[0] * w_step[0] + tap[1] * w_step[1] + tap[2] * w_step[2]), type);
        if (p.x_zero != 0) x = x - p.x_zero;
        if (p.w_zero != 0) w = w - p.w_zero;
        const Value now = sum.get();  // a tap outside leaves it, whatever the weight is
        sum.set(b.select(inside, floats ? b.fma(x, w, now) : x * w + now, now));
      });
      return sum.get();
    };
  });
}

}  // namespace vireo::gpu
