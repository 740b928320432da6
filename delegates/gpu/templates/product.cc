#include "delegates/gpu/templates/product.h"

#include "delegates/gpu/templates/product_body.h"
#include "delegates/gpu/templates/space.h"
#include "delegates/gpu/templates/window_reader.h"

namespace vireo::gpu {
namespace {

constexpr size_t kMostBatchAxes = 4;

bool is_code(DType t) { return t == DType::kI8 || t == DType::kU8; }

std::string refuse_types(DType x, DType w, DType sum, int32_t x_zero, int32_t w_zero, const Expression& epilogue) {
  const auto narrow_float = [](DType t) { return t == DType::kF32 || t == DType::kF16 || t == DType::kBF16; };
  const bool floats = sum == DType::kF32 && narrow_float(x) && narrow_float(w) && x_zero == 0 && w_zero == 0;
  if (!floats && !(sum == DType::kI32 && is_code(x) && is_code(w))) {
    return "the GPU has no product of " + std::string(dtype_name(x)) + " and " + dtype_name(w);
  }
  if (epilogue.inputs.empty() || !epilogue.inputs[0].given || epilogue.inputs[0].dtype != sum)
    return "an epilogue without the sum";
  return "";
}

std::string refuse_outputs(const Expression& e, const Target& target) {
  for (const Output& o : e.outputs) {
    const DType type = e.type_of(o.value);
    if (!can_store(type, target))
      return "this GPU cannot write elements of " + std::string(dtype_name(type)) + " one by one";
  }
  return "";
}

std::string set_groups(int64_t m, int64_t n, int64_t batch, const ProductTiling& t, const Target& target,
                       Dispatch* out) {
  const int64_t x = (m + t.tile_m - 1) / t.tile_m, y = (n + t.tile_n - 1) / t.tile_n;
  if (x > target.groups_x || y > target.groups_y || batch > target.groups_z)
    return "a product of more tiles than this GPU takes in a launch";
  out->groups = {static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(batch)};
  return "";
}

// Whether a matrix unit of halves may multiply them: they are halves, or the caller takes products of halves.
bool may_be_halves(DType x, DType w, DType sum, const Target& target) {
  const auto is = [&](DType t) { return t == DType::kF16 || (t == DType::kF32 && target.half_products); };
  return sum == DType::kF32 && is(x) && is(w);
}

// Types of which a tile goes to a matrix unit as it lies.
bool is_copied(DType x, DType w) { return (x == DType::kF16 && w == DType::kF16) || (is_code(x) && is_code(w)); }

// Whether bytes are multiplied as they are.
template <class P>
bool is_raw(const P& p) {
  return p.sum == DType::kI32 && (p.raw || (p.x_zero == 0 && p.w_zero == 0));
}

// ProductOperand::neighbours of an operand whose fastest axis has a stride of 1 and `extent` elements; every other
// number that makes an index is in `others`.
uint32_t neighbours_of(DType type, int64_t extent, const Extents& others) {
  const auto divides = [&](uint32_t count) {
    return extent % count == 0 && std::all_of(others.begin(), others.end(), [&](int64_t v) { return v % count == 0; });
  };
  const uint32_t count = type == DType::kF16 ? 8 : type == DType::kF32 ? 4 : is_code(type) ? 16 : 1;
  return divides(count) ? count : is_code(type) && divides(4) ? 4 : 1;
}

uint32_t neighbours_of(const MatrixView& v, int64_t lines, int64_t line_stride, int64_t depth, int64_t k_stride) {
  if (k_stride != 1 && (line_stride != 1 || is_code(v.dtype))) return 1;
  Extents others = v.batch;
  others.push_back(v.offset);
  if (k_stride != 1) others.push_back(k_stride);
  if (k_stride == 1 && lines > 1) others.push_back(line_stride);
  return neighbours_of(v.dtype, k_stride == 1 ? depth : lines, others);
}

// Whether w's k is one stride, `step`: then no tap has to be found.
bool is_linear(const ConvolutionProblem& p, bool channels_last, int64_t* step);

bool is_channels_last(const ConvolutionProblem& p) { return p.w.channel == 1 || p.channels == 1; }
int64_t depth_of(const ConvolutionProblem& p) { return p.channels * p.window.taps() / p.shares; }

// Windows whose taps along the last axis are whole vectors of the picture, as those of patches are: with channels that
// do not lie side by side, and k runs over taps first.
uint32_t tap_neighbours(const ConvolutionProblem& p, const Target& target) {
  const Window& w = p.window;
  if (target.open || is_channels_last(p) || p.shares > 1 || w.transposed || p.x.spatial[2] != 1 || w.dilation[2] != 1)
    return 1;
  return neighbours_of(p.x_dtype, w.kernel[2],
                       {p.x.offset, p.x.image, p.x.channel, p.x.spatial[0], p.x.spatial[1], w.in[2], w.pad[2],
                        w.out[2] == 1 ? 0 : w.stride[2]});
}
bool x_along_k(const ConvolutionProblem& p, const Target& target) {
  return p.x.channel == 1 || tap_neighbours(p, target) > 1;
}
uint32_t x_neighbours(const ConvolutionProblem& p, const Target& target) {
  if (p.x.channel != 1 || !is_channels_last(p)) return tap_neighbours(p, target);
  const Extents others = {p.x.offset,     p.x.image,      p.x.spatial[0],
                          p.x.spatial[1], p.x.spatial[2], p.shares > 1 ? depth_of(p) : 0};
  return neighbours_of(p.x_dtype, p.channels, others);
}
uint32_t w_neighbours(const ConvolutionProblem& p) {
  int64_t step = 0;
  if (!is_linear(p, is_channels_last(p), &step)) return 1;
  if (p.w.output == 1 && is_code(p.w_dtype)) return 1;
  if (p.w.output == 1) return neighbours_of(p.w_dtype, p.outputs, {p.w.offset, p.w.group, step});
  return step != 1 ? 1 : neighbours_of(p.w_dtype, depth_of(p), {p.w.offset, p.w.group, p.w.output});
}

// Whether a matrix unit may have both operands copied as they lie.
bool can_copy(const ProductProblem& p) {
  return is_copied(p.x.dtype, p.w.dtype) && neighbours_of(p.x, p.m, p.x.row, p.k, p.x.column) > 4 &&
         neighbours_of(p.w, p.n, p.w.column, p.k, p.w.row) > 4;
}
bool can_copy(const ConvolutionProblem& p, const Target& target) {
  return is_copied(p.x_dtype, p.w_dtype) && x_neighbours(p, target) > 4 && w_neighbours(p) > 4;
}

// "" or why a unit cannot read such tiles.
std::string refuse_tiles(const ProductTiling& t, bool copied, bool w_turned) {
  if (!t.unit.reads_tiles || (copied && (!w_turned || t.tile_n % 64 == 0))) return "";
  return "operands that cannot be copied to tiles as they lie";
}

std::vector<Value> numbers_of(Numbers& numbers, const Extents& values) {
  std::vector<Value> out;
  for (const int64_t v : values) out.push_back(numbers(v));
  return out;
}

void finish(const char* name, const Expression& epilogue, const ProductTiling& tiling, const Numbers& numbers,
            Builder& b, Dispatch* out) {
  out->program = std::move(b.program());
  out->program.name = name + describe(epilogue);
  out->program.size = {product_lanes(tiling), 1, 1};
  out->push = numbers.words();
}

// The order in which k runs over channels and taps is that of the weights.
struct DepthOrder {
  bool channels_last;
  Value channels, taps;
  std::vector<Value> kernel;

  // first + k as a channel and a tap. one_tap: the tap is that of `first`.
  Value channel(Value first, Value k, bool one_tap, WindowReader::Place* tap) const {
    const Value at = one_tap ? first : first + k, many = channels_last ? channels : taps;
    const Value outer = at / many, inner = at - outer * many;
    const std::vector<Value> t = unravel(channels_last ? outer : inner, kernel);
    *tap = {t[0], t[1], t[2]};
    if (!channels_last) return outer;
    return one_tap ? inner + k : inner;
  }
};

bool is_linear(const ConvolutionProblem& p, bool channels_last, int64_t* step) {
  const Window& w = p.window;
  *step = channels_last ? p.w.channel : 0;
  int64_t expected = channels_last ? p.w.channel * p.channels : 0;
  for (size_t i = 3; i-- > 0;) {
    if (w.kernel[i] == 1) continue;
    if (expected == 0) expected = *step = p.w.spatial[i];
    if (p.w.spatial[i] != expected) return false;
    expected *= w.kernel[i];
  }
  if (channels_last) return true;
  if (expected == 0) expected = *step = p.w.channel;
  return p.channels == 1 || p.w.channel == expected;
}

// Tiles for a product that no matrix unit takes; `t` are those of elements one by one.
void prefer_quads(DType x, DType w, int64_t m, int64_t n, int64_t k, int64_t batch, const Target& target,
                  ProductTiling* t) {
  if (t->unit.m != 0 || t->depth_lanes != 0 || x != DType::kF32 || w != DType::kF32) return;
  const ProductTiling floats = choose_float_tiles(m, n, k, batch, target);
  if (floats.parts != 0) *t = floats;
}

// A tile's depth in one tap costs the fewest divisions. Elements that are fetched one by one stand in the code one by
// one.
ProductTiling with_depth_in_a_tap(const ConvolutionProblem& p, const Target& target, ProductTiling t) {
  const uint32_t whole = 8 * t.unit.of_quad(), half = whole / 2;
  const bool narrow = tap_neighbours(p, target) == 1 && (p.x.channel != 1 || p.channels % 4 != 0);
  const bool in_half = p.channels % whole != 0 && p.channels % half == 0;
  if (t.unit.m != 0 && !t.unit.reads_tiles && half % t.unit.k == 0 && (narrow || in_half)) t.tile_k = half;
  return t;
}

// What a lane fetches ahead of a large tile of float32 leaves too few registers for the sums.
void limit_depth(DType x, DType w, ProductTiling* t) {
  const bool floats = x == DType::kF32 || w == DType::kF32;
  if (floats && t->unit.m != 0 && t->tile_m * t->tile_n >= 128 * 128 && 32 % t->unit.k == 0) t->tile_k = 32;
}

}  // namespace

ProductOperand matrix_operand(Builder& b, Numbers& numbers, const MatrixView& v, uint32_t binding, int32_t zero,
                              int64_t lines, int64_t line_stride, int64_t depth, int64_t k_stride,
                              const std::vector<Value>& batch) {
  ProductOperand out;
  out.tensor = {v.dtype, binding};
  out.zero = zero;
  out.k_is_fastest = k_stride == 1;
  out.neighbours = neighbours_of(v, lines, line_stride, depth, k_stride);
  Value base = numbers(v.offset);
  for (size_t i = 0; i < batch.size(); ++i) base = base + batch[i] * numbers(v.batch[i]);
  const Value along = numbers(line_stride), step = numbers(k_stride);
  out.line = [=](Value line) { return ProductOperand::Line{{base + line * along}}; };
  out.read = [=, &b](const ProductOperand::Line& line, Value first, Value k) {
    return ProductOperand::Element{line.parts[0] + (first + k) * step, b.boolean(true)};
  };
  return out;
}

ProductTiling choose_product(const ProductProblem& problem, const Target& target) {
  const bool nk_open = target.open && problem.made_w;
  if (is_raw(problem)) {
    const ProductTiling t =
        choose_code_tiles(problem.m, problem.n, problem.k, count_of(problem.batch), can_copy(problem) && !nk_open,
                          problem.x.dtype == DType::kI8, problem.w.dtype == DType::kI8, problem.epilogue, target);
    if (t.unit.m != 0) return t;
  }
  if (target.tile_unit && problem.sum == DType::kF32 && !nk_open && can_copy(problem)) {
    const ProductTiling t = choose_tile_unit(problem.m, problem.n, problem.k, count_of(problem.batch),
                                             problem.w.row != 1, problem.epilogue, target);
    if (t.unit.m != 0) return t;
  }
  ProductTiling t = choose_tiles(problem.m, problem.n, problem.k, count_of(problem.batch), problem.w.row == 1,
                                 may_be_halves(problem.x.dtype, problem.w.dtype, problem.sum, target), target, nk_open);
  limit_depth(problem.x.dtype, problem.w.dtype, &t);
  if (!nk_open)
    prefer_quads(problem.x.dtype, problem.w.dtype, problem.m, problem.n, problem.k, count_of(problem.batch), target,
                 &t);
  return t;
}
ProductTiling choose_convolution(const ConvolutionProblem& problem, const Target& target) {
  if (is_raw(problem)) {
    const ProductTiling t =
        choose_code_tiles(problem.images * problem.window.places(), problem.outputs, depth_of(problem),
                          problem.groups * problem.shares, can_copy(problem, target), problem.x_dtype == DType::kI8,
                          problem.w_dtype == DType::kI8, problem.epilogue, target);
    if (t.unit.m != 0) return with_depth_in_a_tap(problem, target, t);
  }
  if (target.tile_unit && problem.sum == DType::kF32 && can_copy(problem, target)) {
    const ProductTiling t =
        choose_tile_unit(problem.images * problem.window.places(), problem.outputs, depth_of(problem),
                         problem.groups * problem.shares, problem.w.output == 1, problem.epilogue, target);
    if (t.unit.m != 0) return t;
  }
  ProductTiling t =
      choose_tiles(problem.images * problem.window.places(), problem.outputs,
                   problem.channels * problem.window.taps() / problem.shares, problem.groups * problem.shares,
                   problem.w.output != 1, may_be_halves(problem.x_dtype, problem.w_dtype, problem.sum, target), target);
  limit_depth(problem.x_dtype, problem.w_dtype, &t);
  prefer_quads(problem.x_dtype, problem.w_dtype, problem.images * problem.window.places(), problem.outputs,
               depth_of(problem), problem.groups * problem.shares, target, &t);
  return with_depth_in_a_tap(problem, target, t);
}

Dispatch make_product(const ProductProblem& problem, const ProductTiling& tiling, const Target& target) {
  ProductProblem p = problem;
  Dispatch out;
  const size_t axes = p.batch.size() + (p.inner == 0 ? 2 : 3);
  if (p.batch.size() > kMostBatchAxes) out.refusal = "a product over more than 4 axes of matrices";
  if (p.x.batch.size() != p.batch.size() || p.w.batch.size() != p.batch.size())
    out.refusal = "a product's batch of different ranks";
  if (out.refusal.empty()) out.refusal = refuse_types(p.x.dtype, p.w.dtype, p.sum, p.x_zero, p.w_zero, p.epilogue);
  if (out.refusal.empty()) out.refusal = refuse(p.epilogue, axes, target);
  if (out.refusal.empty()) out.refusal = refuse_outputs(p.epilogue, target);
  if (out.refusal.empty()) out.refusal = refuse_tiling(tiling, target);
  if (out.refusal.empty()) out.refusal = refuse_tiles(tiling, can_copy(p), p.w.row != 1);
  if (out.refusal.empty()) out.refusal = set_groups(p.m, p.n, count_of(p.batch), tiling, target, &out);
  if (!out.refusal.empty()) return out;

  Builder b;
  Numbers numbers(b, target);
  const std::vector<Value> batch = unravel(b.group(2), numbers_of(numbers, p.batch));
  const bool nk_open = target.open && p.made_w;
  ProductOperand x = matrix_operand(b, numbers, p.x, 0, p.raw ? 0 : p.x_zero, p.m, p.x.row, p.k, p.x.column, batch);
  ProductOperand w = matrix_operand(b, numbers, p.w, 1, p.raw ? 0 : p.w_zero, p.n, p.w.column, p.k, p.w.row, batch);
  if (nk_open) x.neighbours = w.neighbours = 1;  // extents are no multiple of them in some run
  uint32_t binding = 2;
  Evaluator epilogue(b, target, numbers, p.epilogue, &binding);
  epilogue.bind_outputs(numbers, &binding);
  const ProductShape shape = {p.m, p.n, p.k, p.sum, target.open, nk_open, !p.made_w};
  const Value inner = p.inner == 0 ? Value() : numbers(p.inner);
  write_product(b, target, numbers, shape, tiling, x, w, epilogue, [&](Value row, Value column) {
    std::vector<Value> place = batch;
    if (p.inner == 0) {
      place.push_back(row);
    } else {
      const Value outer = row / inner, rest = row - outer * inner;
      place.push_back(p.turned ? rest : outer);
      place.push_back(p.turned ? outer : rest);
    }
    place.push_back(column);
    return place;
  });
  finish("product", p.epilogue, tiling, numbers, b, &out);
  return out;
}

Dispatch make_convolution(const ConvolutionProblem& problem, const ProductTiling& tiling, const Target& target) {
  ConvolutionProblem p = problem;
  Dispatch out;
  const int64_t m = p.images * p.window.places(), k = p.channels * p.window.taps() / p.shares;
  out.refusal = refuse_types(p.x_dtype, p.w_dtype, p.sum, p.x_zero, p.w_zero, p.epilogue);
  if (out.refusal.empty()) out.refusal = refuse(p.epilogue, 6, target);
  if (out.refusal.empty()) out.refusal = refuse_outputs(p.epilogue, target);
  if (out.refusal.empty()) out.refusal = refuse_tiling(tiling, target);
  if (out.refusal.empty()) out.refusal = refuse_tiles(tiling, can_copy(p, target), p.w.output == 1);
  if (out.refusal.empty()) out.refusal = set_groups(m, p.outputs, p.groups * p.shares, tiling, target, &out);
  if (out.refusal.empty() && p.raw && tiling.depth_lanes > 0) out.refusal = "few rows of codes as they are";
  if (out.refusal.empty() && p.shares > 1 && (p.groups != 1 || p.channels * p.window.taps() % p.shares != 0))
    out.refusal = "a convolution whose depth cannot be shared";
  if (!out.refusal.empty()) return out;

  Extents space = {p.groups * p.shares, p.images, p.window.out[0], p.window.out[1], p.window.out[2], p.outputs};
  std::vector<size_t> parts = {1, 4, 1};
  collapse(&space, {&p.epilogue}, &parts);
  const auto middle = space.begin() + static_cast<std::ptrdiff_t>(parts[0]);
  const Extents row_axes(middle, middle + static_cast<std::ptrdiff_t>(parts[1]));

  Builder b;
  Numbers numbers(b, target);
  const WindowReader window(b, numbers, p.window, p.x, true);
  const bool channels_last = is_channels_last(p);
  const DepthOrder order = {channels_last, numbers(p.channels), window.taps(), window.kernel_extents()};
  const Value share = b.group(2), group = p.shares > 1 ? b.u32(0) : share;
  const Value depth0 = p.shares > 1 ? share * numbers(k) : b.u32(0);
  const bool one_tap =
      channels_last && tiling.depth_lanes == 0 && p.channels % tiling.tile_k == 0 && k % tiling.tile_k == 0;
  const Value x_base = window.offset() + window.channel(group * order.channels);
  std::vector<Value> rows = window.out_extents();
  rows.insert(rows.begin(), numbers(p.images));

  ProductOperand x;
  x.tensor = {p.x_dtype, 0};
  x.zero = p.raw ? 0 : p.x_zero;
  x.outside = p.raw ? p.x_zero : 0;
  x.k_is_fastest = x_along_k(p, target);
  x.neighbours = x_neighbours(p, target);
  x.line = [&](Value row) {  // its image's base, then the window's origin
    const std::vector<Value> at = unravel(row, rows);
    const WindowReader::Place origin = window.origin({at[1], at[2], at[3]});
    return ProductOperand::Line{{x_base + window.image(at[0]), origin[0], origin[1], origin[2]}};
  };
  x.read = [&](const ProductOperand::Line& line, Value first, Value depth) {
    WindowReader::Place tap;
    const Value channel = order.channel(depth0 + first, depth, one_tap, &tap);
    const WindowReader::Place at = window.at({line.parts[1], line.parts[2], line.parts[3]}, tap);
    return ProductOperand::Element{line.parts[0] + window.channel(channel) + window.index(at), window.inside(at)};
  };

  ProductOperand w;
  int64_t step = 0;
  const bool linear = is_linear(p, channels_last, &step);
  w.tensor = {p.w_dtype, 1};
  w.zero = p.raw ? 0 : p.w_zero;
  w.k_is_fastest = p.w.output != 1;
  w.neighbours = w_neighbours(p);
  const Value offset = numbers(p.w.offset), of_group = numbers(p.w.group), along = numbers(p.w.output),
              k_step = numbers(step);
  const Value channel_step = linear ? Value() : numbers(p.w.channel);
  const std::vector<Value> tap_steps =
      linear ? std::vector<Value>() : numbers_of(numbers, {p.w.spatial.begin(), p.w.spatial.end()});
  w.line = [&](Value column) { return ProductOperand::Line{{offset + group * of_group + column * along}}; };
  w.read = [&](const ProductOperand::Line& line, Value first, Value depth) {
    first = depth0 + first;
    if (linear) return ProductOperand::Element{line.parts[0] + (first + depth) * k_step, b.boolean(true)};
    WindowReader::Place tap;
    Value index = line.parts[0] + order.channel(first, depth, one_tap, &tap) * channel_step;
    for (size_t i = 0; i < 3; ++i) index = index + tap[i] * tap_steps[i];
    return ProductOperand::Element{index, b.boolean(true)};
  };

  uint32_t binding = 2;
  Evaluator epilogue(b, target, numbers, p.epilogue, &binding);
  epilogue.bind_outputs(numbers, &binding);
  const std::vector<Value> row_extents = numbers_of(numbers, row_axes);
  const ProductShape shape = {m, p.outputs, k, p.sum, target.open, false};
  write_product(b, target, numbers, shape, tiling, x, w, epilogue, [&](Value row, Value column) {
    std::vector<Value> place;
    if (parts[0] == 1) place.push_back(share);
    for (const Value v : unravel(row, row_extents)) place.push_back(v);
    if (parts[2] == 1) place.push_back(column);
    return place;
  });
  finish("convolution", p.epilogue, tiling, numbers, b, &out);
  return out;
}

}  // namespace vireo::gpu
