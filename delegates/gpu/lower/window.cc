// Convolutions and pools.
#include <functional>

#include "delegates/gpu/lower/work.h"
#include "sdk/ops/conv/conv_generated.h"
#include "sdk/ops/conv_transpose/conv_transpose.h"
#include "sdk/ops/int_conv/int_conv_generated.h"
#include "sdk/ops/int_pool/int_pool_generated.h"
#include "sdk/ops/pool/pool_generated.h"
#include "sdk/ops/shared/window.h"
#include "vireo/ops.h"

namespace vireo::gpu {
namespace {

// The operator's window at its extents; spatial dimensions that it does not have are in front, with extent 1.
Window window_of(const Geometry& g) {
  Window w;
  for (size_t i = 0; i < 3; ++i) {
    w.in[i] = g.in[i];
    w.out[i] = g.out[i];
    w.kernel[i] = g.kernel[i];
    w.stride[i] = g.stride[i];
    w.dilation[i] = g.dilation[i];
    w.pad[i] = g.pad[i];
  }
  return w;
}

// Where axis i of the last `spatial` of three lies among the three.
size_t last_axes(int spatial, int i) {
  const int axis = kMaxSpatial - spatial + i;
  return static_cast<size_t>(axis);
}

ImageView image_of(const Laid& at, const vireo::Window& w) {
  ImageView view;
  view.offset = at.offset;
  view.image = at.strides[0];
  view.channel = at.strides[static_cast<size_t>(w.channel_axis())];
  for (int i = 0; i < w.spatial; ++i)
    view.spatial[last_axes(w.spatial, i)] = at.strides[static_cast<size_t>(w.spatial_axis(i))];
  return view;
}

// The places of y over [images, out0, out1, out2, channels].
View places_of(const ImageView& y) {
  View view;
  view.offset = y.offset;
  view.strides = {y.image, y.spatial[0], y.spatial[1], y.spatial[2], y.channel};
  return view;
}

// What a convolution's sum becomes; `channel`: steps of a channel's parameters over the epilogue's space, `view`: y's;
// `addends`: requantized()'s.
using EndSum = std::function<std::vector<int>(Expression* to, const Extents& channel, const View& view, int addends)>;

std::vector<int> end_real(Lowering& l, Expression* to, const Extents& channel, const View& view) {
  ExpressionBuilder b(to);
  std::vector<int> reads;
  int y = b.given(kReal);
  if (l.has(2)) {
    const Laid bias = l.laid(l.node().inputs[2]);
    View at;
    at.offset = bias.offset;
    for (const int64_t step : channel) at.strides.push_back(step * bias.strides[0]);
    int addend = b.input(l.in(2).dtype, at);
    if (l.in(2).dtype != kReal) addend = b.function(Function::kCast, kReal, addend);
    y = b.function(Function::kAdd, kReal, y, addend);
    reads.push_back(bias.memory);
  }
  if (l.out(0).dtype != kReal) y = b.function(Function::kCast, l.out(0).dtype, y);
  b.output(y, view);
  return reads;
}

// The parts that Conv and IntConv share.
struct Convolution {
  DType sum = kReal;
  int32_t x_zero = 0, w_zero = 0;
  int64_t groups = 1;
  vireo::Window sliding;
  EndSum end;
};

template <class P>
void set_types(const Lowering& l, const Convolution& c, P* p) {
  p->x_dtype = l.in(0).dtype;
  p->w_dtype = l.in(1).dtype;
  p->sum = c.sum;
  p->x_zero = c.x_zero;
  p->w_zero = c.w_zero;
}

// Whether a unit may multiply the codes as they are; *addends: what makes up for it.
bool multiplies_raw(Lowering& l, ConvolutionProblem p, const Extents& w, int* addends) {
  if (p.sum != DType::kI32 || l.target().open || p.w_zero != 0) return false;
  p.raw = true;
  if (choose_convolution(p, l.target()).unit.m == 0) return false;
  const Laid at = l.laid(l.node().inputs[1]);
  *addends = raw_addends(l, p.x_zero, w, at.strides, at.offset);
  return *addends >= 0;
}

std::string convolve(Lowering& l, Convolution c) {
  const Datum &x = l.in(0), &w = l.in(1), &y = l.out(0);
  const int spatial = c.sliding.spatial;
  if (spatial < 1 || spatial > kMaxSpatial) return "a convolution of more than three spatial dimensions";
  for (int i = 0; i < spatial; ++i) c.sliding.kernel[i] = w.dims[static_cast<size_t>(i) + 2];
  const Geometry g = make_geometry(c.sliding, shape_of(x), shape_of(y));
  const Laid from = l.laid(l.node().inputs[0]), weights = l.laid(l.node().inputs[1]);
  const Laid to = l.make(l.node().outputs[0]);
  const ImageView image_y = image_of(to, c.sliding);
  std::array<int64_t, 3> taps{0, 0, 0};
  for (int i = 0; i < spatial; ++i) taps[last_axes(spatial, i)] = weights.strides[static_cast<size_t>(i) + 2];
  const int64_t outputs = w.dims[0] / c.groups;
  Problem problem;
  Laid kept = weights;
  std::vector<int> reads;
  if (w.dims[1] == 1 && c.groups > 1) {
    DepthwiseProblem p;
    set_types(l, c, &p);
    p.images = g.batch;
    p.channels = c.groups;
    p.multiplier = outputs;
    p.window = window_of(g);
    p.x = image_of(from, c.sliding);
    bool turned = false;  // channels become neighbours, as they are in the image
    kept = l.weights(l.node().inputs[1], weights, p.x.channel == 1 ? w.dims[0] : 1, p.window.taps(), false, &p.w_dtype,
                     &turned);
    p.w.offset = weights.offset;
    p.w.channel = turned ? 1 : weights.strides[0];
    p.w.spatial = taps;
    for (int64_t& step : p.w.spatial) step *= turned ? w.dims[0] : 1;
    reads = c.end(&p.epilogue, {0, 0, 0, 0, 1}, places_of(image_y), -1);
    problem = std::move(p);
  } else {
    ConvolutionProblem p;
    set_types(l, c, &p);
    p.images = g.batch;
    p.groups = c.groups;
    p.channels = w.dims[1];
    p.outputs = outputs;
    p.window = window_of(g);
    p.x = image_of(from, c.sliding);
    // Where channels are neighbours in the image, they are to be in the weights.
    bool turned = false;
    kept = l.weights(l.node().inputs[1], weights, p.channels, p.x.channel == 1 ? p.window.taps() : 1, true, &p.w_dtype,
                     &turned);
    p.w.offset = weights.offset;
    p.w.group = outputs * weights.strides[0];
    p.w.output = weights.strides[0];
    p.w.channel = turned ? 1 : weights.strides[1];
    p.w.spatial = taps;
    for (int64_t& step : p.w.spatial) step *= turned ? p.channels : 1;
    View view = places_of(image_y);
    view.strides.insert(view.strides.begin(), image_y.channel * outputs);
    int addends = -1;
    p.raw = multiplies_raw(l, p, w.dims, &addends);
    reads = c.end(&p.epilogue, {outputs, 0, 0, 0, 0, 1}, view, addends);
    problem = std::move(p);
  }
  Work& work = l.push(std::move(problem));
  work.operands = {from.memory, kept.memory};
  work.reads = std::move(reads);
  work.writes = {to.memory};
  return "";
}

std::string conv(Lowering& l) {
  const auto& a = l.node().attrs<attrs::Conv>();
  if (!is_real(l.in(0).dtype)) return std::string("a convolution of ") + dtype_name(l.in(0).dtype);
  Convolution c;
  c.groups = a.group();
  c.sliding = read_window(l.in(0).rank(), a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads());
  c.end = [&l](Expression* to, const Extents& channel, const View& view, int) {
    return end_real(l, to, channel, view);
  };
  return convolve(l, std::move(c));
}

std::string int_conv(Lowering& l) {
  const auto& a = l.node().attrs<attrs::IntConv>();
  if (!is_byte(l.in(0).dtype) || !is_byte(l.in(1).dtype)) return "an integer convolution of other than bytes";
  Convolution c;
  if (!l.zero_point(4, &c.w_zero)) return "zero points of channels";
  c.sum = DType::kI32;
  c.x_zero = a.x_zero();
  c.groups = a.group();
  c.sliding = read_window(l.in(0).rank(), a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads());
  c.end = [&l, &a](Expression* to, const Extents& channel, const View& view, int addends) {
    ExpressionBuilder b(to);
    std::vector<int> reads;
    const int y = requantized(l, &b, codes_of(a), channel, &reads, addends);
    b.output(y, view);
    return reads;
  };
  return convolve(l, std::move(c));
}

// A convolution whose window goes from outputs to inputs.
std::string conv_transpose(Lowering& l) {
  const auto& a = l.node().attrs<attrs::ConvTranspose>();
  const Datum &x = l.in(0), &w = l.in(1), &y = l.out(0);
  if (!is_real(x.dtype)) return std::string("a convolution of ") + dtype_name(x.dtype);
  const vireo::Window sliding = read_window(x.rank(), a.layout(), 0, nullptr, nullptr, nullptr);
  if (sliding.spatial < 1 || sliding.spatial > kMaxSpatial)
    return "a convolution of more than three spatial dimensions";
  const Geometry g = conv_transpose_geometry(a, shape_of(x), shape_of(w), shape_of(y));
  const Laid from = l.laid(l.node().inputs[0]), weights = l.laid(l.node().inputs[1]);
  const Laid to = l.make(l.node().outputs[0]);
  const ImageView image_y = image_of(to, sliding);
  ConvolutionProblem p;
  p.x_dtype = x.dtype;
  p.w_dtype = w.dtype;
  p.images = g.batch;
  p.groups = a.group();
  p.channels = w.dims[0] / p.groups;
  p.outputs = w.dims[1];
  p.window = window_of(g);
  p.window.transposed = true;
  p.x = image_of(from, sliding);
  p.w.offset = weights.offset;
  p.w.group = p.channels * weights.strides[0];
  p.w.output = weights.strides[1];
  p.w.channel = weights.strides[0];
  for (int i = 0; i < sliding.spatial; ++i)
    p.w.spatial[last_axes(sliding.spatial, i)] = weights.strides[static_cast<size_t>(i) + 2];
  View view = places_of(image_y);
  view.strides.insert(view.strides.begin(), image_y.channel * p.outputs);
  std::vector<int> reads = end_real(l, &p.epilogue, {p.outputs, 0, 0, 0, 0, 1}, view);
  Work& work = l.push(std::move(p));
  work.operands = {from.memory, weights.memory};
  work.reads = std::move(reads);
  work.writes = {to.memory};
  return "";
}

std::string pool(Lowering& l) {
  const Node& n = l.node();
  const auto& a = n.attrs<attrs::Pool>();
  const Datum &x = l.in(0), &y = l.out(0);
  if (n.output(1) >= 0) return "MaxPool that also gives indices";
  const bool average = n.op == VIREO_OP_AVERAGE_POOL;
  if (!is_real(x.dtype) && (average || (x.dtype != DType::kI8 && x.dtype != DType::kU8)))
    return std::string("a pool of ") + dtype_name(x.dtype);
  vireo::Window sliding = read_window(x.rank(), a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads());
  if (sliding.spatial < 1 || sliding.spatial > kMaxSpatial) return "a pool of more than three spatial dimensions";
  sliding.ceil_mode = a.ceil_mode();
  for (int i = 0; i < sliding.spatial; ++i) sliding.kernel[i] = a.kernel_shape()->Get(static_cast<uint32_t>(i));
  const Geometry g = make_geometry(sliding, shape_of(x), shape_of(y));
  const Laid from = l.laid(n.inputs[0]), to = l.make(n.outputs[0]);
  PoolProblem p;
  p.pool = !average ? Pool::kMax : a.count_include_pad() ? Pool::kAverageAll : Pool::kAverage;
  p.images = g.batch;
  p.channels = g.channels_in;
  p.window = window_of(g);
  for (size_t i = 0; i < 3; ++i) p.pad_end[i] = g.pad_end[i];
  p.x_dtype = x.dtype;
  p.x = image_of(from, sliding);
  ExpressionBuilder b(&p.epilogue);
  b.output(b.given(x.dtype), places_of(image_of(to, sliding)));
  Work& work = l.push(std::move(p));
  work.operands = {from.memory};
  work.writes = {to.memory};
  return "";
}

// The sum of a window is a depthwise convolution by ones. Its multiplier belongs to the number of elements that count,
// which is the same at all places.
std::string int_average_pool(Lowering& l) {
  const Node& n = l.node();
  const auto& a = n.attrs<attrs::IntAveragePool>();
  const Datum &x = l.in(0), &y = l.out(0);
  if (!l.has(1)) return "an operand is left out";
  if (!is_byte(x.dtype)) return std::string("an integer pool of ") + dtype_name(x.dtype);
  vireo::Window sliding = read_window(x.rank(), a.layout(), a.auto_pad(), a.strides(), a.dilations(), a.pads());
  if (sliding.spatial < 1 || sliding.spatial > kMaxSpatial) return "a pool of more than three spatial dimensions";
  sliding.ceil_mode = a.ceil_mode();
  int64_t taps = 1;
  for (int i = 0; i < sliding.spatial; ++i) {
    sliding.kernel[i] = a.kernel_shape()->Get(static_cast<uint32_t>(i));
    taps *= sliding.kernel[i];
  }
  const Geometry g = make_geometry(sliding, shape_of(x), shape_of(y));
  for (size_t i = 0; i < 3 && l.in(1).count() != 1; ++i) {
    const int64_t reach = (g.out[i] - 1) * g.stride[i] + (g.kernel[i] - 1) * g.dilation[i] - g.pad[i];
    const int64_t padding = a.count_include_pad() ? g.pad_end[i] : 0;
    if ((g.pad[i] != 0 && !a.count_include_pad()) || reach >= g.in[i] + padding)
      return "an integer pool whose windows have different numbers of elements";
  }
  const Laid from = l.laid(n.inputs[0]), multiplier = l.laid(n.inputs[1]), to = l.make(n.outputs[0]);
  DepthwiseProblem p;
  p.images = g.batch;
  p.channels = g.channels_in;
  p.window = window_of(g);
  p.x_dtype = x.dtype;
  p.w_dtype = DType::kI8;
  p.x = image_of(from, sliding);
  p.sum = kSum;
  p.x_zero = a.x_zero();
  ExpressionBuilder b(&p.epilogue);
  const int sum = b.given(kSum);
  View at;
  at.offset = multiplier.offset + (l.in(1).count() == 1 ? 0 : taps * multiplier.strides[0]);
  at.strides.assign(5, 0);
  const int factor = b.input(l.in(1).dtype, at);
  const int real = b.function(Function::kMul, kReal, b.function(Function::kCast, kReal, sum), factor);
  b.output(b.code(real, codes_of(a)), places_of(image_of(to, sliding)));
  const int ones = l.table({1, 1, 1, 1});
  Work& work = l.push(std::move(p));
  work.operands = {from.memory, ones};
  work.reads = {multiplier.memory};
  work.writes = {to.memory};
  return "";
}

}  // namespace

std::string lower_window(Lowering& l) {
  if (l.node().input(0) < 0) return "no input";
  if (l.node().op == VIREO_OP_CONV) return conv(l);
  if (l.node().op == VIREO_OP_CONV_TRANSPOSE) return conv_transpose(l);
  if (l.node().op == VIREO_OP_INT_AVERAGE_POOL) return int_average_pool(l);
  return l.node().op == VIREO_OP_INT_CONV ? int_conv(l) : pool(l);
}

}  // namespace vireo::gpu
