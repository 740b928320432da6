#include "delegates/npu/compiler/emit.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "delegates/npu/compiler/pack.h"

namespace vireo::npu {
namespace {

// Of one section. Places in local memory are looked for by pairs of buffers, and every cut that is tried is written
// out: a layer of more pieces than this would take minutes.
constexpr size_t kMostBuffers = 1 << 15, kMostCommands = 1 << 20;

void append(std::vector<uint8_t>* to, const void* from, size_t bytes) {
  const auto* const p = static_cast<const uint8_t*>(from);
  to->insert(to->end(), p, p + bytes);
}
template <class T>
void append(std::vector<uint8_t>* to, T v) {
  append(to, &v, sizeof(v));
}

uint32_t bits_of(float v) {
  uint32_t u = 0;
  std::memcpy(&u, &v, sizeof(u));
  return u;
}

// A zero point as the engines see it.
int32_t shifted(int32_t zero, Type type) { return type == kU8 ? zero - 128 : zero; }

template <class T>
T one_of(const std::vector<T>& v, int64_t i, T otherwise) {
  return v.empty() ? otherwise : v[v.size() == 1 ? 0 : static_cast<size_t>(i)];
}

// What stands in front of the weights of result channel `o`.
void record(std::vector<uint8_t>* to, const Layer& l, int64_t o) {
  append(to, one_of<int32_t>(l.bias, o, 0));
  append(to, bits_of(one_of<float>(l.m, o, 1)));
  append(to, one_of<int32_t>(l.w_zero, o, 0));
  append(to, int32_t{0});
}

}  // namespace

int64_t channel_unit(const Graph& g, const Layer& l) {
  const int64_t channels = g.tensors[static_cast<size_t>(l.output)].shape[3];
  if (l.kind == Kind::kSoftmax) return channels;
  return is_depthwise(g, l) ? channels / l.groups : 1;
}

int Emitter::buffer(int64_t bytes) {
  if (buffers_.size() == kMostBuffers && why.empty()) why = "it would have to be cut into too many pieces";
  buffers_.push_back({});
  buffers_.back().bytes = bytes;
  return static_cast<int>(buffers_.size()) - 1;
}

size_t Emitter::command(Op op, int layer) {
  if (commands_.size() == kMostCommands && why.empty()) why = "it would have to be cut into too many pieces";
  commands_.push_back({});
  set(field::op, static_cast<int64_t>(op));
  set(field::layer, layer);
  if (op_info(static_cast<uint32_t>(op))->queue >= kMatrix) compute_.push_back(commands_.size() - 1);
  return commands_.size() - 1;
}

void Emitter::set(const Field& f, int64_t v) {
  if (!commands_.back().set(f, v) && why.empty()) {
    why = std::string("the field ") + f.name + " does not hold " + std::to_string(v);
  }
}

void Emitter::point(const Field& f, int b, int64_t offset) {
  set(f, offset);
  Buffer& buffer = buffers_[static_cast<size_t>(b)];
  const size_t at = commands_.size() - 1;
  if (!buffer.used) {
    buffer.used = true;
    // Loads may run ahead of commands that compute, where there is room.
    buffer.first = at;
    if (cut_.ahead > 0 && (f.groups & (kDma | kPack)) != 0)
      buffer.first = compute_.size() >= cut_.ahead ? compute_[compute_.size() - cut_.ahead] : 0;
  }
  buffer.last = at;
  uses_.push_back({at, &f, b});
}

void Emitter::move(const Ring& ring, const Box& rows, int64_t address, Region region, const int64_t strides[3],
                   bool out, int layer) {
  const int64_t size = bytes_of(tensor(ring.tensor).type);
  // Rows that follow each other in the ring, one or two parts.
  for (int64_t r = rows.begin[0]; r < rows.end[0];) {
    const int64_t place = (r - ring.box.begin[0]) % ring.rows, n = std::min(ring.rows - place, rows.end[0] - r);
    command(out ? Op::store : Op::load, layer);
    set(field::region, region);
    // Counts, and steps outside and inside, from the innermost axis on; axes that continue each other become one.
    int64_t count[3] = {rows.size(2), rows.size(1), n};
    int64_t outer[3] = {strides[2], strides[1], strides[0]}, inner[3] = {size, ring.pixel, ring.pitch};
    int axes = 1;
    for (int a = 1; a < 3; ++a) {
      const int before = axes - 1;
      if (count[before] == 1 ||
          (outer[a] == outer[before] * count[before] && inner[a] == inner[before] * count[before])) {
        if (count[before] == 1) {
          outer[before] = outer[a];
          inner[before] = inner[a];
        }
        count[before] *= count[a];
        continue;
      }
      count[axes] = count[a];
      outer[axes] = outer[a];
      inner[axes++] = inner[a];
    }
    for (; axes < 3; ++axes) {
      count[axes] = 1;
      outer[axes] = inner[axes] = 0;
    }
    if (count[0] == 1) outer[0] = inner[0] = size;
    set(field::element, size);
    set(field::n0, count[0]);
    set(field::n1, count[1]);
    set(field::n2, count[2]);
    set(field::d0, outer[0]);
    set(field::d1, outer[1]);
    set(field::d2, outer[2]);
    set(field::s0, inner[0]);
    set(field::s1, inner[1]);
    set(field::s2, inner[2]);
    set(field::dram, address + r * strides[0] + rows.begin[1] * strides[1] + rows.begin[2] * strides[2]);
    point(field::sram, ring.buffer,
          place * ring.pitch + (rows.begin[1] - ring.box.begin[1]) * ring.pixel +
              (rows.begin[2] - ring.box.begin[2]) * size);
    r += n;
  }
}

void Emitter::load(const Ring& ring, const Box& rows, int64_t image, int layer) {
  const GraphTensor& t = tensor(ring.tensor);
  const int64_t size = bytes_of(t.type), pixel = t.shape[3] * size, pitch = t.shape[2] * pixel;
  const int64_t strides[3] = {pitch, pixel, size};
  const int r = w_.root[static_cast<size_t>(ring.tensor)];
  const GraphTensor& root = tensor(r);
  const int64_t base = root.data.empty() ? w_.address[static_cast<size_t>(r)] : place(root.data);
  const int64_t offset = t.shape[0] == 1 ? 0 : image * t.shape[1] * pitch;
  move(ring, rows, base + offset, root.data.empty() ? w_.region[static_cast<size_t>(r)] : kConstants, strides, false,
       layer);
}

void Emitter::store(const Ring& ring, const Box& rows, int64_t image, int layer) {
  const GraphTensor& t = tensor(ring.tensor);
  const int64_t size = bytes_of(t.type), pixel = t.shape[3] * size, pitch = t.shape[2] * pixel;
  const int64_t strides[3] = {pitch, pixel, size};
  const auto r = static_cast<size_t>(w_.root[static_cast<size_t>(ring.tensor)]);
  move(ring, rows, w_.address[r] + image * t.shape[1] * pitch, w_.region[r], strides, true, layer);
}

void Emitter::transpose(int index, const Ring& ring, const Box& rows, int64_t image) {
  const Layer& l = g_.layers[static_cast<size_t>(index)];
  const GraphTensor& x = tensor(l.inputs[0]);
  int64_t of[4];
  of[3] = bytes_of(x.type);
  for (size_t a = 3; a-- > 0;) of[a] = of[a + 1] * x.shape[a + 1];
  const int64_t strides[3] = {of[l.perm[1]], of[l.perm[2]], of[l.perm[3]]};
  const int r = w_.root[static_cast<size_t>(l.inputs[0])];
  const int64_t base = tensor(r).data.empty() ? w_.address[static_cast<size_t>(r)] : place(tensor(r).data);
  move(ring, rows, base + image * of[l.perm[0]],
       tensor(r).data.empty() ? w_.region[static_cast<size_t>(r)] : kConstants, strides, false, index);
}

void Emitter::set_a(const Ring& ring, const Box& box) {
  const GraphTensor& t = tensor(ring.tensor);
  const int64_t size = bytes_of(t.type);
  set(field::a_pitch, ring.pitch);
  set(field::a_pixel, ring.pixel);
  set(field::a_ring, ring.rows);
  set(field::a_row, (box.begin[0] - ring.box.begin[0]) % ring.rows);
  set(field::a_rows, box.size(0));
  set(field::a_cols, box.size(1));
  set(field::a_type, t.type);
  point(field::a_addr, ring.buffer,
        (box.begin[1] - ring.box.begin[1]) * ring.pixel + (box.begin[2] - ring.box.begin[2]) * size);
}

void Emitter::set_b(const Ring& ring, const Box& box) {
  const GraphTensor& t = tensor(ring.tensor);
  set(field::b_pitch, ring.pitch);
  set(field::b_pixel, ring.pixel);
  set(field::b_ring, ring.rows);
  set(field::b_row, (box.begin[0] - ring.box.begin[0]) % ring.rows);
  set(field::b_type, t.type);
  point(field::b_addr, ring.buffer,
        (box.begin[1] - ring.box.begin[1]) * ring.pixel + (box.begin[2] - ring.box.begin[2]) * bytes_of(t.type));
}

void Emitter::set_y(const Ring& ring, const Box& box) {
  const GraphTensor& t = tensor(ring.tensor);
  set(field::y_pitch, ring.pitch);
  set(field::y_pixel, ring.pixel);
  set(field::y_ring, ring.rows);
  set(field::y_row, (box.begin[0] - ring.box.begin[0]) % ring.rows);
  set(field::y_rows, box.size(0));
  set(field::y_cols, box.size(1));
  set(field::y_chan, box.size(2));
  set(field::y_type, t.type);
  point(field::y_addr, ring.buffer,
        (box.begin[1] - ring.box.begin[1]) * ring.pixel + (box.begin[2] - ring.box.begin[2]) * bytes_of(t.type));
}

void Emitter::set_codes(const Layer& l, Type a, Type b) {
  set(field::a_zero, shifted(l.a_zero, a));
  set(field::b_zero, l.inputs.size() > 1 ? shifted(l.b_zero, b) : 0);
  set(field::y_zero, l.y_zero);
  set(field::low, l.low);
  set(field::high, l.high);
}

void Emitter::set_window(const Layer& l, const Box& x, const Box& y) {
  set(field::kernel_h, l.kernel[0]);
  set(field::kernel_w, l.kernel[1]);
  set(field::stride_h, l.stride[0]);
  set(field::stride_w, l.stride[1]);
  set(field::dilation_h, l.dilation[0]);
  set(field::dilation_w, l.dilation[1]);
  set(field::pad_top, x.begin[0] - (y.begin[0] * l.stride[0] - l.pad_begin[0]));
  set(field::pad_left, x.begin[1] - (y.begin[1] * l.stride[1] - l.pad_begin[1]));
}

int Emitter::constants(int layer, int64_t from, int64_t to, int64_t copy, const std::vector<uint8_t>& bytes,
                       const std::vector<uint8_t>* packed) {
  const auto key = std::make_tuple(layer, from, to, copy);
  if (const auto at = loaded_.find(key); at != loaded_.end()) return at->second;
  const int b = buffer(static_cast<int64_t>(bytes.size()));
  loaded_[key] = b;
  const bool use_packed = packed != nullptr && !packed->empty() && packed->size() < bytes.size();
  command(use_packed ? Op::unpack : Op::load, layer);
  set(field::region, kConstants);
  set(field::dram, place(use_packed ? *packed : bytes));
  const auto size = static_cast<int64_t>(bytes.size());
  if (use_packed) {
    set(field::packed, static_cast<int64_t>(packed->size()));
    set(field::unpacked, size);
  } else {
    set(field::element, 1);
    set(field::n0, size);
    set(field::n1, 1);
    set(field::n2, 1);
    set(field::d0, 1);
    set(field::s0, 1);
  }
  point(field::sram, b, 0);
  bool& counted = counted_[{layer, from, to}];
  if (packed != nullptr && !counted) {
    counted = true;
    LayerSizes& sizes = sizes_[static_cast<size_t>(layer) - cut_.first];
    sizes.weight_bytes += size;
    sizes.packed_bytes += use_packed ? static_cast<int64_t>(packed->size()) : size;
  }
  return b;
}

const Weights& Emitter::weights(int index, int64_t from, int64_t to) {
  const auto [at, fresh] = w_.cache->try_emplace(std::make_tuple(index, from, to));
  Weights& weights = at->second;
  if (!fresh) return weights;
  const Layer& l = g_.layers[static_cast<size_t>(index)];
  const int64_t taps = l.kernel[0] * l.kernel[1], filter = taps * tensor(l.inputs[0]).shape[3] / l.groups;
  for (int64_t o = from; o < to; ++o) {
    record(&weights.bytes, l, o);
  }
  if (is_depthwise(g_, l)) {
    for (int64_t t = 0; t < taps; ++t) {
      for (int64_t o = from; o < to; ++o)
        weights.bytes.push_back(static_cast<uint8_t>(l.weights[static_cast<size_t>(o * taps + t)]));
    }
  } else {
    append(&weights.bytes, l.weights.data() + from * filter, static_cast<size_t>((to - from) * filter));
  }
  if (w_.compress) weights.packed = pack(weights.bytes);
  return weights;
}

void Emitter::conv(int index, const Ring& from, const Box& x, const Ring& to, const Box& y) {
  const Layer& l = g_.layers[static_cast<size_t>(index)];
  const Type type = tensor(l.inputs[0]).type;
  const bool depthwise = is_depthwise(g_, l);
  const int64_t in = tensor(l.inputs[0]).shape[3] / l.groups, filter = l.kernel[0] * l.kernel[1] * in;
  const int64_t group = tensor(l.output).shape[3] / l.groups;  // results of one
  const int64_t unit = depthwise ? group : 1;
  int64_t block = std::max(unit, cut_.weight_bytes / (16 + filter) / unit * unit);
  const int64_t wide = std::max<int64_t>(std::lcm<int64_t>(unit, w_.config->array_out), 1);
  if (block > wide) block = block / wide * wide;
  for (int64_t k = y.begin[2], n = 0; k < y.end[2] && why.empty(); k += n) {
    // Whole groups, or a part of one.
    const int64_t most = std::min(block, y.end[2] - k), rest = group - k % group;
    n = depthwise ? most : rest == group && most >= group ? most / group * group : std::min(most, rest);
    Box part = y;
    part.begin[2] = k;
    part.end[2] = k + n;
    const int64_t copy = cut_.keep_weights ? 0 : ++copies_;
    const Weights& block_weights = weights(index, k, part.end[2]);
    const int params = constants(index, k, part.end[2], copy, block_weights.bytes, &block_weights.packed);
    Box a = x;
    a.begin[2] = k / group * in;
    a.end[2] = (part.end[2] - 1) / group * in + in;
    command(depthwise ? Op::depthwise : Op::conv, index);
    set_a(from, a);
    set_y(to, part);
    set_codes(l, type, kI8);
    set_window(l, a, part);
    set(field::groups, depthwise ? unit : n < group ? 1 : n / group);
    set(field::in_chan, depthwise ? 0 : in);
    point(field::params, params, 0);
  }
}

void Emitter::conv_in_parts(int index, const Ring& to, const Box& y, int64_t image) {
  const Layer& l = g_.layers[static_cast<size_t>(index)];
  const GraphTensor& t = tensor(l.inputs[0]);
  const int64_t in = t.shape[3], taps = l.kernel[0] * l.kernel[1];
  const int64_t slice = (in + cut_.reduction_tiles - 1) / cut_.reduction_tiles;
  const int64_t block =
      std::clamp<int64_t>(cut_.weight_bytes / (16 + taps * slice), 1, static_cast<int64_t>(w_.config->array_out));
  for (int64_t k = y.begin[2]; k < y.end[2]; k += block) {
    Box part = y;
    part.begin[2] = k;
    part.end[2] = std::min(k + block, y.end[2]);
    for (int64_t i = 0; i < in && why.empty(); i += slice) {
      const int64_t n = std::min(slice, in - i);
      Ring x;
      x.tensor = l.inputs[0];
      x.box = needed(g_, l, 0, y);
      x.box.begin[2] = i;
      x.box.end[2] = i + n;
      x.rows = x.box.size(0);
      x.pixel = n * bytes_of(t.type);
      x.pitch = x.pixel * x.box.size(1);
      x.buffer = buffer(x.pitch * x.rows);
      load(x, x.box, image, index);
      std::vector<uint8_t> bytes;
      for (int64_t o = k; o < part.end[2]; ++o) record(&bytes, l, o);
      for (int64_t o = k; o < part.end[2]; ++o) {
        for (int64_t tap = 0; tap < taps; ++tap)
          append(&bytes, l.weights.data() + (o * taps + tap) * in + i, static_cast<size_t>(n));
      }
      const std::vector<uint8_t> packed = w_.compress ? pack(bytes) : std::vector<uint8_t>();
      const int params = constants(index, k * in + i, (part.end[2] - 1) * in + i + n, ++copies_, bytes, &packed);
      command(Op::conv, index);
      set_a(x, x.box);
      set_y(to, part);
      set_codes(l, t.type, kI8);
      set_window(l, x.box, part);
      set(field::groups, 1);
      set(field::in_chan, n);
      set(field::keep, i + n < in ? 1 : 0);
      set(field::carry, i > 0 ? 1 : 0);
      point(field::params, params, 0);
    }
  }
}

void Emitter::layer(int index, const std::vector<const Ring*>& rings, const std::vector<Box>& boxes, const Ring& to,
                    const Box& y) {
  const Layer& l = g_.layers[static_cast<size_t>(index)];
  const Type type = tensor(l.inputs[0]).type;
  // Broadcast operands: one row, one pixel or one channel for all.
  const auto spread = [&](size_t i, const Field& pitch, const Field& pixel, const Field& ring, const Field& row,
                          const Field& one) {
    const auto& s = tensor(l.inputs[i]).shape;
    const auto& ys = tensor(l.output).shape;
    if (s[1] == 1) {
      set(pitch, 0);
      set(ring, 1);
      set(row, 0);
    }
    if (s[2] == 1) set(pixel, 0);
    if (s[3] == 1 && ys[3] != 1) set(one, 1);
  };
  std::vector<uint8_t> bytes;
  switch (l.kind) {
    case Kind::kConv:
      return conv(index, *rings[0], boxes[0], to, y);
    case Kind::kAdd:
    case Kind::kMul:
      command(l.kind == Kind::kAdd ? Op::add : Op::mul, index);
      set_a(*rings[0], boxes[0]);
      set(field::a_rows, y.size(0));
      set(field::a_cols, y.size(1));
      set_b(*rings[1], boxes[1]);
      spread(0, field::a_pitch, field::a_pixel, field::a_ring, field::a_row, field::a_one);
      spread(1, field::b_pitch, field::b_pixel, field::b_ring, field::b_row, field::b_one);
      set_y(to, y);
      if (type != kF32) set_codes(l, type, tensor(l.inputs[1]).type);
      set(field::m0, bits_of(l.m[0]));
      if (l.kind == Kind::kAdd) set(field::m1, bits_of(l.m[1]));
      return;
    case Kind::kAffine: {
      for (int64_t c = y.begin[2]; c < y.end[2]; ++c) {
        const float factor = one_of<float>(l.factor, c, 1);
        append(&bytes, bits_of(factor));
        append(&bytes, bits_of(one_of<float>(l.below, c, factor)));
        append(&bytes, bits_of(one_of<float>(l.offset, c, 0)));
      }
      const int params = constants(index, y.begin[2], y.end[2], 0, bytes);
      command(Op::affine, index);
      point(field::params, params, 0);
      break;
    }
    case Kind::kQuantize:
    case Kind::kDequantize: {
      const bool to_codes = l.kind == Kind::kQuantize;
      for (int64_t c = y.begin[2]; c < y.end[2]; ++c) {
        append(&bytes, bits_of(one_of<float>(l.factor, c, 1)));
        const int32_t zero = one_of<int32_t>(l.zero, c, 0);
        append(&bytes, to_codes ? zero : shifted(zero, type));
      }
      const int params = constants(index, y.begin[2], y.end[2], 0, bytes);
      command(to_codes ? Op::quantize : Op::dequantize, index);
      point(field::params, params, 0);
      set_a(*rings[0], boxes[0]);
      set_y(to, y);
      return;
    }
    case Kind::kTable: {
      const int params = constants(index, 0, 0, 0, l.table);
      command(Op::table, index);
      point(field::params, params, 0);
      set_a(*rings[0], boxes[0]);
      set_y(to, y);
      return;
    }
    case Kind::kMaxPool:
      command(Op::max_pool, index);
      set_window(l, boxes[0], y);
      set_a(*rings[0], boxes[0]);
      set_y(to, y);
      return;
    case Kind::kAveragePool: {
      for (const float m : l.m) append(&bytes, bits_of(m));
      const int params = constants(index, 0, 0, 0, bytes);
      command(Op::average_pool, index);
      point(field::params, params, 0);
      set_window(l, boxes[0], y);
      set(field::groups, static_cast<int64_t>(l.m.size()));
      const auto& s = tensor(l.inputs[0]).shape;
      set(field::limit_rows, s[1] + l.pad_end[0] - boxes[0].begin[0]);
      set(field::limit_cols, s[2] + l.pad_end[1] - boxes[0].begin[1]);
      set(field::count_padding, l.count_padding ? 1 : 0);
      break;
    }
    case Kind::kResize: {
      const int axes[2] = {0, 1};
      for (const int a : axes) {
        const ResizeAxis& r = l.resize[a];
        for (int64_t i = y.begin[a]; i < y.end[a]; ++i) {
          for (int64_t t = 0; t < std::max<int64_t>(1, r.taps); ++t) {
            const auto at = static_cast<size_t>(i * r.taps + t);
            append(&bytes, static_cast<int32_t>((r.taps == 0 ? i : r.places[at]) - boxes[0].begin[a]));
            append(&bytes, r.taps == 0 ? int32_t{1} : r.weights[at]);
          }
        }
      }
      const int params = constants(index, 0, 0, ++copies_, bytes);
      command(Op::resize, index);
      point(field::params, params, 0);
      set(field::taps_h, std::max<int64_t>(1, l.resize[0].taps));
      set(field::taps_w, std::max<int64_t>(1, l.resize[1].taps));
      set(field::m0, bits_of(l.m[0]));
      break;
    }
    case Kind::kSoftmax: {
      for (const int32_t v : l.exp_table) append(&bytes, v);
      const int params = constants(index, 0, 0, 0, bytes);
      command(Op::softmax, index);
      point(field::params, params, 0);
      set(field::m0, bits_of(l.m[0]));
      break;
    }
    case Kind::kConcat:
    case Kind::kSlice:
      for (size_t i = 0; i < rings.size(); ++i) {
        if (rings[i] == nullptr) continue;
        Box part = y;
        Layer shape = l;  // how the copy walks over its input
        if (l.kind == Kind::kConcat) {
          const int a = l.axis - 1;
          const int64_t at = concat_offset(g_, l, i);
          part.begin[a] = boxes[i].begin[a] + at;
          part.end[a] = boxes[i].end[a] + at;
          shape.begin = {0, 0, 0, 0};
          shape.begin[static_cast<size_t>(l.axis)] = -at;
          shape.step = {1, 1, 1, 1};
        }
        command(Op::copy, index);
        set_a(*rings[i], boxes[i]);
        set_y(to, part);
        set(field::kernel_h, 1);
        set(field::kernel_w, 1);
        set(field::stride_h, shape.step[1]);
        set(field::stride_w, shape.step[2]);
        set(field::dilation_h, 1);
        set(field::dilation_w, 1);
        set(field::pad_top, boxes[i].begin[0] - (shape.begin[1] + part.begin[0] * shape.step[1]));
        set(field::pad_left, boxes[i].begin[1] - (shape.begin[2] + part.begin[1] * shape.step[2]));
        set(field::first_chan, shape.begin[3] + part.begin[2] * shape.step[3] - boxes[i].begin[2]);
        set(field::a_chan, boxes[i].size(2));
        set(field::step_chan, shape.step[3]);
        const int32_t fill = l.kind == Kind::kSlice ? shifted(l.fill, type) : 0;
        set(field::a_zero, fill);
      }
      return;
    case Kind::kReshape:
    case Kind::kTranspose:
      return;
  }
  set_a(*rings[0], boxes[0]);
  set_y(to, y);
  set_codes(l, type, kI8);
}

Built Emitter::finish(bool flip) {
  Built built;
  built.why = why;
  if (!why.empty()) return built;
  const int64_t sram = w_.config->sram_bytes, bank = sram / w_.config->banks;
  std::vector<size_t> order(buffers_.size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(std::remove_if(order.begin(), order.end(), [&](size_t i) { return !buffers_[i].used; }), order.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return buffers_[a].bytes > buffers_[b].bytes; });
  // At the beginning of banks first, so that fewer buffers share one; then as close as it goes.
  const int64_t grains[] = {bank, w_.config->bank_width, 4};
  bool fits = false;
  for (const int64_t grain : grains) {
    built.sram_bytes = 0;
    std::vector<size_t> placed;
    for (const size_t i : order) {
      Buffer& b = buffers_[i];
      std::vector<std::pair<int64_t, int64_t>> taken;
      for (const size_t p : placed) {
        const Buffer& o = buffers_[p];
        if (o.first <= b.last && b.first <= o.last) taken.emplace_back(o.address, o.address + o.bytes);
      }
      std::sort(taken.begin(), taken.end());
      int64_t at = 0;
      for (const auto& [begin, end] : taken) {
        if (at + b.bytes <= begin) break;
        at = std::max(at, (end + grain - 1) / grain * grain);
      }
      b.address = at;
      built.sram_bytes = std::max(built.sram_bytes, at + b.bytes);
      placed.push_back(i);
    }
    fits = built.sram_bytes <= sram;
    if (fits) break;
  }
  if (!fits) {
    built.why =
        "needs " + std::to_string(built.sram_bytes) + " bytes of local memory, the machine has " + std::to_string(sram);
    return built;
  }
  for (const Use& u : uses_) {
    const Buffer& b = buffers_[static_cast<size_t>(u.buffer)];
    const int64_t address = flip ? (sram - b.address - b.bytes) / 4 * 4 : b.address;
    Command& k = commands_[u.command];
    k.set(*u.field, k.u(*u.field) + address);
  }
  std::vector<int64_t> change(commands_.size() + 1, 0);
  for (const Buffer& b : buffers_) {
    if (!b.used) continue;
    change[b.first] += b.bytes;
    change[b.last + 1] -= b.bytes;
  }
  int64_t live = 0;
  for (size_t i = 0; i < commands_.size(); ++i) {
    live += change[i];
    LayerSizes& sizes = sizes_[commands_[i].u(field::layer) - cut_.first];
    sizes.sram_peak = std::max(sizes.sram_peak, live);
  }
  built.commands = std::move(commands_);
  built.layers = std::move(sizes_);
  return built;
}

}  // namespace vireo::npu
