#include "delegates/npu/compiler/section.h"

#include <algorithm>
#include <cstring>

#include "delegates/npu/compiler/emit.h"

namespace vireo::npu {
namespace {

// Builds one image's tile of a section: once dry, to learn what rings must hold, and once in earnest.
class Builder {
 public:
  Builder(const Surroundings& world, const Cut& cut, Emitter* emitter)
      : w_(world), g_(*world.graph), cut_(cut), e_(emitter) {}

  // The part `window` (of all sinks; whole but for a single layer) of image `image`.
  bool run(int64_t image, const Box* window) {
    image_ = image;
    collect(window);
    dry_ = true;
    go();
    size_rings();
    dry_ = false;
    go();
    return e_->why.empty();
  }

 private:
  struct Event {
    int64_t time, row;
  };
  struct Held {
    Ring ring;
    int layer = -1;  // that writes it; -1: loaded
    int64_t done = 0;
    std::vector<Event> writes, reads;  // writes: rows up to; reads: rows from
  };

  size_t root(int tensor) const { return static_cast<size_t>(w_.root[static_cast<size_t>(tensor)]); }
  const GraphTensor& tensor(int i) const { return g_.tensors[static_cast<size_t>(i)]; }
  const Layer& layer(int i) const { return g_.layers[static_cast<size_t>(i)]; }

  bool stored(int t) const {
    if (w_.wanted[root(t)]) return true;
    for (const size_t r : w_.readers[root(t)]) {
      if (r < cut_.first || r >= cut_.last) return true;
    }
    return false;
  }

  Held& held(int t) {
    Held& h = held_[t];
    h.ring.tensor = t;
    return h;
  }

  void collect(const Box* window) {
    for (size_t i = cut_.first; i < cut_.last; ++i) {
      if (layer(static_cast<int>(i)).kind == Kind::kReshape) continue;
      Held& h = held(layer(static_cast<int>(i)).output);
      h.layer = static_cast<int>(i);
      h.ring.box = window != nullptr ? *window : whole(tensor(h.ring.tensor));
    }
    // From the last layer to the first: inputs from outside hold what their readers need.
    for (size_t i = cut_.last; i-- > cut_.first;) {
      const Layer& l = layer(static_cast<int>(i));
      if (l.kind == Kind::kReshape || l.kind == Kind::kTranspose || cut_.reduction_tiles > 1) continue;
      for (size_t k = 0; k < l.inputs.size(); ++k) {
        const Box box = needed(g_, l, k, held(l.output).ring.box);
        if (box.empty()) continue;
        Held& x = held(source(l.inputs[k]));
        if (x.layer < 0) x.ring.box.cover(box);
      }
    }
    for (size_t i = cut_.first; i < cut_.last; ++i) {
      const Layer& l = layer(static_cast<int>(i));
      if (l.kind == Kind::kReshape) continue;
      bool read = false;
      for (const size_t r : w_.readers[root(l.output)])
        read = read || (r > i && r < cut_.last && reads_directly(r, l.output));
      if (!read) sinks_.push_back(static_cast<int>(i));
    }
  }

  // A reshape that changes nothing is read as its input; any other one's input comes from outside, under the new shape.
  int source(int t) const {
    while (true) {
      const int p = w_.producer[static_cast<size_t>(t)];
      if (p < 0 || static_cast<size_t>(p) < cut_.first || layer(p).kind != Kind::kReshape) return t;
      if (tensor(layer(p).inputs[0]).shape != tensor(t).shape) return t;
      t = layer(p).inputs[0];
    }
  }
  bool reads_directly(size_t reader, int t) const {
    const Layer& l = layer(static_cast<int>(reader));
    if (l.kind == Kind::kReshape) return false;
    for (const int i : l.inputs) {
      if (source(i) == t) return true;
    }
    return false;
  }

  void go() {
    for (auto& [k, h] : held_) h.done = h.ring.box.begin[0];
    time_ = 0;
    for (int64_t s = 1; s <= cut_.steps; ++s) {
      for (const int sink : sinks_) {
        const Box& b = held(layer(sink).output).ring.box;
        produce(layer(sink).output, b.begin[0] + (b.size(0) * s + cut_.steps - 1) / cut_.steps);
        if (!e_->why.empty()) return;
      }
    }
  }

  // Sees to it that rows below `end` of `t` are in local memory.
  void produce(int t, int64_t end) {
    Held& h = held(t);
    end = std::min(end, h.ring.box.end[0]);
    if (end <= h.done) return;
    Box y = h.ring.box;
    y.begin[0] = h.done;
    y.end[0] = end;
    if (h.layer < 0) {
      h.writes.push_back({time_++, end});
      if (!dry_) e_->load(h.ring, y, image_, current_);
      h.done = end;
      return;
    }
    const Layer& l = layer(h.layer);
    const int before = current_;
    if (l.kind == Kind::kTranspose || cut_.reduction_tiles > 1) {
      h.writes.push_back({time_++, end});
      if (!dry_ && l.kind == Kind::kTranspose) e_->transpose(h.layer, h.ring, y, image_);
      if (!dry_ && l.kind != Kind::kTranspose) e_->conv_in_parts(h.layer, h.ring, y, image_);
    } else {
      for (size_t k = 0; k < l.inputs.size(); ++k) {
        const Box x = needed(g_, l, k, y);
        if (x.empty()) continue;
        current_ = h.layer;
        produce(source(l.inputs[k]), x.end[0]);
        current_ = before;
        if (!e_->why.empty()) return;
      }
      std::vector<const Ring*> rings;
      std::vector<Box> boxes;
      for (size_t k = 0; k < l.inputs.size(); ++k) {
        const Box x = needed(g_, l, k, y);
        rings.push_back(x.empty() ? nullptr : &held(source(l.inputs[k])).ring);
        boxes.push_back(x);
        if (!x.empty()) held(source(l.inputs[k])).reads.push_back({time_, x.begin[0]});
      }
      h.writes.push_back({time_++, end});
      if (!dry_) e_->layer(h.layer, rings, boxes, h.ring, y);
    }
    h.done = end;
    if (stored(t)) {
      h.reads.push_back({time_++, y.begin[0]});
      if (!dry_) e_->store(h.ring, y, image_, h.layer);
    }
  }

  void size_rings() {
    for (auto& [k, h] : held_) {
      const Box& b = h.ring.box;
      int64_t rows = 1, chunk = 0, top = b.begin[0];
      for (const Event& write : h.writes) {
        chunk = std::max(chunk, write.row - top);
        top = write.row;
      }
      // From the last write to the first, with the least row that is read from then on. Both lists are in order of
      // time.
      int64_t least = INT64_MAX;
      for (auto write = h.writes.rbegin(), read = h.reads.rbegin(); write != h.writes.rend(); ++write) {
        for (; read != h.reads.rend() && read->time >= write->time; ++read) least = std::min(least, read->row);
        rows = std::max(rows, write->row - std::min(write->row - 1, least));
      }
      rows = std::max(rows, chunk);
      if (cut_.double_buffer && h.writes.size() > 1) rows += chunk;
      h.ring.rows = std::min(rows, b.size(0));
      const int64_t pixel = b.size(2) * bytes_of(tensor(h.ring.tensor).type);
      h.ring.pixel = pixel;
      h.ring.pitch = pixel * b.size(1);
      h.ring.buffer = e_->buffer(h.ring.pitch * h.ring.rows);
      h.writes.clear();
      h.reads.clear();
    }
  }

  const Surroundings& w_;
  const Graph& g_;
  const Cut& cut_;
  Emitter* e_;
  std::map<int, Held> held_;
  std::vector<int> sinks_;
  int64_t image_ = 0, time_ = 0;
  int current_ = -1;  // the layer that asks
  bool dry_ = true;
};

}  // namespace

uint32_t Blob::add(const std::vector<uint8_t>& bytes) {
  const auto [at, fresh] = known_.try_emplace(bytes, 0);
  if (fresh) {
    pad();
    at->second = static_cast<uint32_t>(bytes_.size());
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  return at->second;
}

bool can_join(const Surroundings& w, size_t first, size_t last) {
  const Graph& g = *w.graph;
  int64_t images = -1;
  for (size_t i = first; i < last; ++i) {
    const Layer& l = g.layers[i];
    const auto made_here = [&](int t) {
      const int p = w.producer[static_cast<size_t>(t)];
      return p >= 0 && static_cast<size_t>(p) >= first && static_cast<size_t>(p) < i;
    };
    if (l.kind == Kind::kReshape) {
      const auto &x = g.tensors[static_cast<size_t>(l.inputs[0])].shape,
                 &y = g.tensors[static_cast<size_t>(l.output)].shape;
      if (made_here(l.inputs[0]) && x != y) return false;
      continue;
    }
    const int64_t n = g.tensors[static_cast<size_t>(l.output)].shape[0];
    if (images >= 0 && n != images) return false;
    images = n;
    if (l.kind != Kind::kTranspose) continue;
    // A transposition reads what lies outside.
    const int r = w.root[static_cast<size_t>(l.inputs[0])];
    if (made_here(l.inputs[0]) || made_here(r)) return false;
  }
  return true;
}

Built build_section(const Surroundings& w, const Cut& cut, bool flip, Blob* blob) {
  const Graph& g = *w.graph;
  Emitter e(w, cut, blob);
  int64_t images = 1;
  const GraphTensor* y = nullptr;
  for (size_t i = cut.first; i < cut.last; ++i) {
    if (g.layers[i].kind == Kind::kReshape) continue;
    y = &g.tensors[static_cast<size_t>(g.layers[i].output)];
    images = y->shape[0];
  }
  for (int64_t n = 0; y != nullptr && n < images && e.why.empty(); ++n) {
    if (cut.column_tiles == 1 && cut.channel_tiles == 1) {
      Builder(w, cut, &e).run(n, nullptr);
      continue;
    }
    const Layer& l = g.layers[cut.last - 1];
    const int64_t width = (y->shape[2] + cut.column_tiles - 1) / cut.column_tiles;
    const int64_t unit = channel_unit(g, l), units = y->shape[3] / unit;
    const int64_t depth = (units + cut.channel_tiles - 1) / cut.channel_tiles * unit;
    for (int64_t k = 0; k < y->shape[3] && e.why.empty(); k += depth) {
      for (int64_t c = 0; c < y->shape[2] && e.why.empty(); c += width) {
        Box window = whole(*y);
        window.begin[1] = c;
        window.end[1] = std::min(c + width, y->shape[2]);
        window.begin[2] = k;
        window.end[2] = std::min(k + depth, y->shape[3]);
        Builder(w, cut, &e).run(n, &window);
      }
    }
  }
  return e.finish(flip);
}

}  // namespace vireo::npu
