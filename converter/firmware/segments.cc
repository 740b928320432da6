#include "converter/firmware/segments.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <tuple>

#include "converter/firmware/cost.h"
#include "converter/firmware/kernel_numbers.h"
#include "delegates/mcu/kernels/codes.h"
#include "delegates/mcu/kernels/depthwise.h"
#include "delegates/mcu/kernels/pool.h"
#include "delegates/mcu/kernels/product.h"
#include "delegates/mcu/kernels/reals.h"
#include "delegates/mcu/plan/call.h"
#include "delegates/mcu/plan/parameters.h"

namespace vireo::firmware {
namespace {

// Copies of rows, and what a call of a node takes besides its kernel: instructions, about the same on all cores.
constexpr double kCopyByte = 1.6, kCopyPlane = 50, kOfCall = 500, kOfNode = 30;

// An image's height, and what a row of it has.
struct Rows {
  int64_t rows = 0, planes = 0, elements = 0;
  bool operator==(const Rows& o) const { return rows == o.rows && planes == o.planes && elements == o.elements; }
};

// A call as a node of a segment: the geometry alone, with tensors in place of values.
struct Form {
  bool able = false;
  vireo_segment_node node = {};
  int32_t inputs[2] = {kNothing, kNothing}, output = kNothing;
};

template <class T>
T read(const Call& c) {
  T t;
  std::memcpy(&t, c.parameters.data(), sizeof t);
  return t;
}
constexpr uint8_t word(size_t offset) { return static_cast<uint8_t>(offset / 4); }

class Forms {
 public:
  explicit Forms(const CallList& list) : list_(list), shapes_(list.tensors.size()), forms(list.calls.size()) {
    for (size_t c = 0; c < list.calls.size(); ++c) read_windows(c);
    for (int pass = 0; pass < 2; ++pass) {
      for (size_t c = 0; c < list.calls.size(); ++c) read_elements(c, pass == 1);
    }
  }
  const Rows& shape(int32_t tensor) const { return shapes_[static_cast<size_t>(tensor)]; }

 private:
  const CallTensor& tensor(int32_t t) const { return list_.tensors[static_cast<size_t>(t)]; }
  // Sees to it that each tensor has one shape.
  bool take(int32_t t, const Rows& rows) {
    Rows& known = shapes_[static_cast<size_t>(t)];
    if (known.rows == 0) known = rows;
    const int64_t elements = rows.rows * rows.planes * rows.elements;
    return known == rows && elements * tensor(t).element_bytes == tensor(t).bytes && rows.rows > 0 &&
           rows.rows <= VIREO_SEGMENT_MOST_ROWS && rows.planes <= VIREO_SEGMENT_MOST_ROWS && !tensor(t).constant;
  }
  // Begins a form whose first operand and operand `output` have rows; the others have to be constants.
  Form begin(const Call& call, size_t output) const {
    Form f;
    f.node.kernel = call.kernel;
    f.node.taps = f.node.stride = 1;
    f.node.inputs[0] = f.node.inputs[1] = f.node.output = 255;
    f.node.rows_read_at = f.node.rows_made_at = f.node.above_at = f.node.below_at = f.node.elements_at =
        VIREO_SEGMENT_NOWHERE;
    f.node.output_at = static_cast<uint8_t>(output);
    f.inputs[0] = call.operands[0];
    f.output = call.operands[output];
    f.able = f.inputs[0] >= 0 && f.output >= 0;
    return f;
  }
  bool rest_is_constant(const Call& call, const Form& f) const {
    for (size_t i = 0; i < call.operands.size(); ++i) {
      if (i == f.node.output_at || i == f.node.input_at[0] || (f.inputs[1] >= 0 && i == f.node.input_at[1])) continue;
      if (call.operands[i] >= 0 && !tensor(call.operands[i]).constant) return false;
    }
    return true;
  }

  // Channels last, of a kernel that has the two orders.
  template <class Kernel>
  static auto is_last(const Kernel& k, int) -> decltype(k.last != 0) {
    return k.last != 0;
  }
  template <class Kernel>
  static bool is_last(const Kernel&, long) {
    return false;
  }
  template <class Kernel>
  static auto images(const Kernel& k, int) -> decltype(k.batch) {
    return k.batch;
  }
  template <class Kernel>
  static int32_t images(const Kernel&, long) {
    return 1;  // planes of several are planes
  }

  template <class Kernel>
  bool window(const Kernel& k, int64_t in_planes, int64_t out_planes, Form* f) {
    const int64_t taps = int64_t{k.kernel[0] - 1} * k.dilation[0] + 1;
    f->node.taps = static_cast<uint16_t>(taps);
    f->node.stride = static_cast<uint16_t>(k.stride[0]);
    f->node.pad = static_cast<uint16_t>(k.pad[0]);
    f->node.rows_read_at = word(offsetof(Kernel, in));
    f->node.rows_made_at = word(offsetof(Kernel, out));
    f->node.above_at = word(offsetof(Kernel, pad));
    const bool last = is_last(k, 0);
    const Rows x = {k.in[0], last ? 1 : in_planes, last ? in_planes * k.in[1] : k.in[1]};
    const Rows y = {k.out[0], last ? 1 : out_planes, last ? out_planes * k.out[1] : k.out[1]};
    // A window that has no row of x has nothing to be called with.
    const bool touches = k.pad[0] < taps && int64_t{k.out[0] - 1} * k.stride[0] - k.pad[0] < k.in[0];
    return touches && images(k, 0) == 1 && k.stride[0] <= 256 && taps < 256 && take(f->inputs[0], x) &&
           take(f->output, y);
  }

  void read_windows(size_t c) {
    const Call& call = list_.calls[c];
    Form f;
    if (call.kernel == k_conv || call.kernel == k_depthwise) {
      const auto conv = read<vireo_mcu_conv>(call);
      f = begin(call, 5);
      f.able =
          f.able && window(conv, int64_t{conv.groups} * conv.in_channels, int64_t{conv.groups} * conv.out_channels, &f);
    } else if (call.kernel == k_average || call.kernel == k_max) {
      const auto pool = read<vireo_mcu_pool>(call);
      f = begin(call, call.kernel == k_average ? 2 : 1);
      f.node.below_at = word(offsetof(vireo_mcu_pool, pad_end));
      f.able = f.able && ends_inside(pool) && window(pool, pool.channels, pool.channels, &f);
    } else if (call.kernel == k_conv_reals || call.kernel == k_depthwise_reals) {
      const auto conv = read<vireo_mcu_conv_reals>(call);
      f = begin(call, 3);
      f.able =
          f.able && window(conv, int64_t{conv.groups} * conv.in_channels, int64_t{conv.groups} * conv.out_channels, &f);
    } else if (call.kernel == k_average_reals || call.kernel == k_max_reals) {
      const auto pool = read<vireo_mcu_pool_reals>(call);
      f = begin(call, 1);
      f.node.below_at = word(offsetof(vireo_mcu_pool_reals, pad_end));
      f.able = f.able && ends_inside(pool) && window(pool, pool.planes, pool.planes, &f);
    } else {
      return;
    }
    f.able = f.able && rest_is_constant(call, f);
    forms[c] = f;
  }
  // A last window beyond its padding counts fewer taps than one in a strip.
  template <class Pool>
  static bool ends_inside(const Pool& p) {
    const int64_t end = int64_t{p.out[0] - 1} * p.stride[0] - p.pad[0] + int64_t{p.kernel[0] - 1} * p.dilation[0] + 1;
    return end <= int64_t{p.in[0]} + p.pad_end[0];
  }

  // A binary kernel of one row, with both operands of a result's size.
  template <class Binary>
  bool begin_both(const Call& call, Form* f) const {
    const auto b = read<Binary>(call);
    if (b.rows != 1 || b.a_step != 1 || b.b_step != 1) return false;
    *f = begin(call, 2);
    f->inputs[1] = call.operands[1];
    f->node.input_at[1] = 1;
    f->node.elements_at = word(offsetof(Binary, columns));
    return true;
  }

  // Element by element: rows of what stands beside it, or those of [1, planes, rows, elements].
  void read_elements(size_t c, bool guess) {
    const Call& call = list_.calls[c];
    if (forms[c].able) return;
    Form f;
    bool both = false;
    switch (call.kernel) {
      case k_add:
      case k_mul:
        if (!begin_both<vireo_mcu_binary>(call, &f)) return;
        both = true;
        break;
      case k_binary_reals:
        if (!begin_both<vireo_mcu_binary_reals>(call, &f)) return;
        both = true;
        break;
      case k_table:
        f = begin(call, 2);
        f.node.elements_at = 0;
        break;
      case k_quantize:
      case k_dequantize:
      case k_function:
        f = begin(call, 1);
        f.node.elements_at = 0;
        break;
      default:
        return;
    }
    if (!f.able || (both && f.inputs[1] < 0)) return;
    Rows rows = shape(f.output);
    if (rows.rows == 0) rows = shape(f.inputs[0]);
    const std::vector<int64_t>& dims = tensor(f.output).dims;
    if (rows.rows == 0 && guess && dims.size() == 4 && dims[0] == 1) rows = {dims[2], dims[1], dims[3]};
    if (rows.rows == 0) return;
    const uint32_t bytes = tensor(f.output).element_bytes;
    f.node.element_shift = static_cast<uint8_t>(bytes == 4 ? 2 : bytes == 2 ? 1 : 0);
    f.able = take(f.output, rows) && take(f.inputs[0], rows) && (!both || take(f.inputs[1], rows)) &&
             rest_is_constant(call, f);
    forms[c] = f;
  }

  const CallList& list_;
  std::vector<Rows> shapes_;

 public:
  std::vector<Form> forms;
};

class Chooser {
 public:
  Chooser(const CallList& list, const Core& core, const std::string& costs, uint64_t limit)
      : list_(list), core_(core), costs_(costs), limit_(limit), forms_(list) {
    readers_.resize(list.tensors.size());
    for (uint32_t c = 0; c < list.calls.size(); ++c) {
      for (const int32_t t : list.calls[c].inputs) {
        if (t >= 0) readers_[static_cast<size_t>(t)].push_back(c);
      }
    }
  }

  std::vector<Segment> run() {
    std::vector<Segment> chosen;
    Memory memory;
    std::string error;
    if (!plan_memory(list_, chosen, kTries, &memory, &error)) return chosen;
    Worth now{memory.bytes, 0};
    for (uint32_t c = 0; c < list_.calls.size(); ++c) now.instructions += cost(c, list_.calls[c].parameters);
    for (;;) {
      Segment best;
      const Worth with = best_beside(chosen, now, &best);
      if (!is_better(with, now)) return chosen;
      chosen = with_segment(chosen, best);
      now = with;
    }
  }

 private:
  static constexpr int64_t kTries = 200, kQuick = -1;
  static constexpr size_t kLooked = 12;  // candidates that are looked at closely

  struct Worth {
    uint64_t bytes = UINT64_MAX;
    double instructions = 0;
  };
  // What has to fit, fits first. Else a hundredth of the arena is worth a hundredth of the time.
  bool is_better(const Worth& a, const Worth& b) const {
    if (a.bytes == UINT64_MAX || b.bytes == UINT64_MAX) return b.bytes == UINT64_MAX && a.bytes != UINT64_MAX;
    if (limit_ != 0 && (a.bytes > limit_ || b.bytes > limit_)) {
      if ((a.bytes <= limit_) != (b.bytes <= limit_)) return a.bytes <= limit_;
      return a.bytes < b.bytes;
    }
    return static_cast<double>(a.bytes) * a.instructions < static_cast<double>(b.bytes) * b.instructions;
  }

  static std::vector<Segment> with_segment(std::vector<Segment> list, const Segment& s) {
    list.insert(std::upper_bound(list.begin(), list.end(), s,
                                 [](const Segment& a, const Segment& b) { return a.first < b.first; }),
                s);
    return list;
  }

  uint64_t bytes_with(const std::vector<Segment>& chosen, const Segment& s, int64_t tries) const {
    Memory memory;
    std::string error;
    if (!plan_memory(list_, with_segment(chosen, s), tries, &memory, &error)) return UINT64_MAX;
    return tries < 0 ? memory.lower_bound : memory.bytes;
  }

  static uint64_t instructions(const Segment& s) {
    uint64_t sum = 0;
    for (const uint64_t count : s.instructions) sum += count;
    return sum;
  }

  // The plan with the best segment beside the chosen ones.
  Worth best_beside(const std::vector<Segment>& chosen, const Worth& now, Segment* best) {
    struct Candidate {
      Worth worth;
      uint32_t first, count, chunk;
    };
    std::vector<Candidate> candidates;
    const auto calls = static_cast<uint32_t>(list_.calls.size());
    for (uint32_t first = 0; first < calls; ++first) {
      for (uint32_t count = 1; count <= VIREO_SEGMENT_NODES && first + count <= calls; ++count) {
        const uint32_t end = first + count;
        const bool taken = std::any_of(chosen.begin(), chosen.end(),
                                       [&](const Segment& s) { return first < s.first + s.count && s.first < end; });
        if (taken || !forms_.forms[end - 1].able) break;
        if (count < 2) continue;
        for (const uint32_t chunk : {1u, 2u, 4u, 8u}) {
          Segment s;
          if (!make(first, std::vector<uint32_t>(count, chunk), &s)) break;
          candidates.push_back({worth_with(chosen, now, s, kQuick), first, count, chunk});
        }
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [this](const Candidate& a, const Candidate& b) { return is_better(a.worth, b.worth); });
    Worth most;
    for (size_t i = 0; i < candidates.size() && i < kLooked; ++i) {
      Segment s;
      make(candidates[i].first, std::vector<uint32_t>(candidates[i].count, candidates[i].chunk), &s);
      const Worth with = worth_with(chosen, now, s, kTries);
      if (is_better(with, most)) {
        most = with;
        *best = s;
      }
    }
    if (most.bytes != UINT64_MAX) widen(chosen, now, &most, best);
    return most;
  }

  Worth worth_with(const std::vector<Segment>& chosen, const Worth& now, const Segment& s, int64_t tries) const {
    Worth w{bytes_with(chosen, s, tries), now.instructions + static_cast<double>(instructions(s))};
    for (uint32_t c = s.first; c < s.first + s.count; ++c) w.instructions -= cost(c, list_.calls[c].parameters);
    return w;
  }

  // More rows a call of some nodes, where that is better: fewer calls, fuller blocks.
  void widen(const std::vector<Segment>& chosen, const Worth& now, Worth* most, Segment* s) {
    std::vector<uint32_t> chunks(s->count);
    for (uint32_t k = 0; k < s->count; ++k) chunks[k] = s->nodes[k].chunk;
    for (bool again = true; again;) {
      again = false;
      for (uint32_t k = s->count; k-- > 0;) {
        std::vector<uint32_t> more = chunks;
        more[k] *= 2;
        Segment wider;
        if (more[k] > s->values[s->nodes[k].output].rows || !make(s->first, more, &wider) ||
            !is_better(worth_with(chosen, now, wider, kQuick), *most))
          continue;
        const Worth with = worth_with(chosen, now, wider, kTries);
        if (!is_better(with, *most)) continue;
        chunks = more;
        *most = with;
        *s = wider;
        again = true;
      }
    }
  }

  double cost(uint32_t call, const std::vector<uint8_t>& parameters) const {
    // Without measured costs a product counts as much as anything.
    const Features f = features_of(list_.calls[call].kernel, parameters.data(), core_);
    if (!costs_.empty()) return static_cast<double>(instructions_of(f, costs_));
    double sum = 0;
    for (const double n : f) sum += n;
    return sum;
  }

  // A segment of calls from `first` on with these rows a call; false: they make none.
  bool make(uint32_t first, const std::vector<uint32_t>& chunks, Segment* s) {
    const auto count = static_cast<uint32_t>(chunks.size());
    s->first = first;
    s->count = count;
    bool inner = false;
    std::map<int32_t, uint8_t> numbers;
    const auto number = [&](int32_t t, uint32_t maker) {
      const auto known = numbers.find(t);
      if (known != numbers.end()) return known->second;
      const Rows& rows = forms_.shape(t);
      const CallTensor& tensor = list_.tensors[static_cast<size_t>(t)];
      vireo_segment_value v = {};
      v.rows = static_cast<uint32_t>(rows.rows);
      v.planes = static_cast<uint32_t>(rows.planes);
      v.row_bytes = static_cast<uint32_t>(rows.elements) * tensor.element_bytes;
      v.fresh = v.kept = 0;
      v.whole = VIREO_PLAN_ABSENT;
      v.maker = v.last_reader = static_cast<uint8_t>(maker);
      bool outside = maker == 255 || tensor.output;
      for (const uint32_t c : readers_[static_cast<size_t>(t)]) {
        if (c < first || c >= first + count) {
          outside = true;
        } else if (maker == 255 || c - first > v.last_reader) {
          v.last_reader = static_cast<uint8_t>(c - first);
        }
      }
      if (outside) v.whole = 0;
      if (maker != 255 && !outside) inner = true;
      if (maker != 255) v.fresh_rows = static_cast<uint16_t>(std::min<int64_t>(chunks[maker], rows.rows));
      s->values.push_back(v);
      s->tensors.push_back(t);
      return numbers[t] = static_cast<uint8_t>(s->values.size() - 1);
    };
    for (uint32_t k = 0; k < count; ++k) {
      const Form& f = forms_.forms[first + k];
      vireo_segment_node n = f.node;
      for (int i = 0; i < 2 && f.inputs[i] >= 0; ++i) n.inputs[i] = number(f.inputs[i], 255);
      n.output = number(f.output, k);
      if (s->values[n.output].maker != k) return false;  // read before it is made: the order is another
      n.chunk = static_cast<uint16_t>(std::min<int64_t>(chunks[k], s->values[n.output].rows));
      s->nodes.push_back(n);
    }
    s->head.nodes = static_cast<uint16_t>(s->nodes.size());
    s->head.values = static_cast<uint16_t>(s->values.size());
    return inner && s->values.size() <= 2 * VIREO_SEGMENT_NODES && simulate(s);
  }

  // Goes through the calls: rows that have to be kept and gathered, scratch memory, units, instructions.
  bool simulate(Segment* s) {
    std::vector<vireo_segment_rows> rows(s->values.size());
    s->scratch.assign(s->count, 0);
    s->in_place.assign(s->count, false);
    s->instructions.assign(s->count, 0);
    std::vector<double> costs(s->count);
    std::vector<bool> alone(s->count, true);
    for (uint32_t k = 0; k < s->count; ++k) {
      const vireo_segment_node& n = s->nodes[k];
      alone[k] = n.taps == 1 && n.stride == 1 && n.pad == 0 && (list_.calls[s->first + k].inplace & 1) != 0 &&
                 n.inputs[1] == 255 && s->values[n.inputs[0]].whole == VIREO_PLAN_ABSENT &&
                 s->values[n.output].whole == VIREO_PLAN_ABSENT && s->values[n.inputs[0]].last_reader == k &&
                 readers_[static_cast<size_t>(s->tensors[n.inputs[0]])].size() == 1 &&
                 s->values[n.inputs[0]].row_bytes * s->values[n.inputs[0]].planes ==
                     s->values[n.output].row_bytes * s->values[n.output].planes;
    }
    vireo_segment_begin(&s->head, s->values.data(), rows.data());
    uint32_t made = 0;
    for (;;) {
      made = 0;
      const int32_t k = vireo_segment_next(&s->head, s->values.data(), s->nodes.data(), rows.data(), &made);
      if (k < 0) break;
      double copied = kOfCall + kOfNode * s->count;
      const auto copy = [&](const vireo_segment_value& v, uint32_t count) {
        copied += v.planes * (kCopyPlane + kCopyByte * count * v.row_bytes);
      };
      for (uint32_t v = 0; v < s->values.size(); ++v) {
        if (!vireo_segment_moves(&s->values[v], &rows[v], k)) continue;
        const uint32_t low = vireo_segment_unread(s->values.data(), s->nodes.data(), rows.data(), v);
        const uint32_t keeps = rows[v].done - low;
        s->values[v].kept_rows = static_cast<uint16_t>(std::max<uint32_t>(s->values[v].kept_rows, keeps));
        if (keeps > 0) copy(s->values[v], keeps);
        rows[v].low = static_cast<uint16_t>(low);
        rows[v].fresh = rows[v].done;
      }
      vireo_segment_node& n = s->nodes[static_cast<size_t>(k)];
      vireo_segment_value& y = s->values[n.output];
      const vireo_row_window w = vireo_segment_window(&n);
      vireo_rows_read r = {};
      for (int i = 0; i < 2 && n.inputs[i] != 255; ++i) {
        vireo_segment_value x = s->values[n.inputs[i]];
        const vireo_segment_rows& held = rows[n.inputs[i]];
        r = vireo_rows_of(&w, rows[n.output].done, static_cast<int32_t>(made), static_cast<int32_t>(x.rows));
        if (r.read < 1) return false;
        uint32_t place = 0;
        x.kept_rows =
            0;  // of several planes only what is gathered lies as kernels read it, whatever is kept in the end
        if (vireo_segment_direct(&x, &held, static_cast<uint32_t>(r.from), static_cast<uint32_t>(r.read), &place) ==
            UINT32_MAX) {
          n.gather_rows = static_cast<uint16_t>(std::max<int32_t>(n.gather_rows, r.read));
          copy(x, static_cast<uint32_t>(r.read));
          alone[static_cast<size_t>(k)] = false;
        }
        if (r.from != held.fresh || r.from + r.read != held.done || static_cast<uint32_t>(r.read) != made)
          alone[static_cast<size_t>(k)] = false;
      }
      if (y.whole != VIREO_PLAN_ABSENT && y.planes != 1) copy(y, made);
      const PerCall& one = per_call(s->first + static_cast<uint32_t>(k), n, y, r, made);
      costs[static_cast<size_t>(k)] += one.instructions + copied;
      s->scratch[static_cast<size_t>(k)] = std::max(s->scratch[static_cast<size_t>(k)], one.scratch);
      if (!one.in_place) alone[static_cast<size_t>(k)] = false;
      s->cost = std::max(s->cost, static_cast<uint16_t>(std::min(65535.0, one.unit_cost + copied / 64)));
      rows[n.output].done = static_cast<uint16_t>(rows[n.output].done + made);
    }
    for (const vireo_segment_node& n : s->nodes) {
      if (rows[n.output].done != s->values[n.output].rows) return false;
    }
    for (uint32_t k = 0; k < s->count; ++k) {
      s->in_place[k] = alone[k];
      s->instructions[k] = static_cast<uint64_t>(costs[k]);
    }
    return true;
  }

  struct PerCall {
    double instructions;
    uint32_t scratch;
    uint16_t unit_cost;
    bool in_place;
  };
  const PerCall& per_call(uint32_t call, const vireo_segment_node& n, const vireo_segment_value& y,
                          const vireo_rows_read& r, uint32_t made) {
    const auto key = std::make_tuple(call, made, r.read, r.above);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    std::vector<uint8_t> parameters = list_.calls[call].parameters;
    const auto put = [&](uint8_t at, uint32_t value) {
      if (at != VIREO_SEGMENT_NOWHERE) std::memcpy(parameters.data() + 4 * at, &value, 4);
    };
    put(n.rows_read_at, static_cast<uint32_t>(r.read));
    put(n.rows_made_at, made);
    put(n.above_at, static_cast<uint32_t>(r.above));
    put(n.below_at, static_cast<uint32_t>(r.below));
    put(n.elements_at, y.planes * made * (y.row_bytes >> n.element_shift));
    PerCall one = {};
    one.instructions = cost(call, parameters);
    one.scratch = scratch_of(n.kernel, parameters.data(), core_);
    one.unit_cost = unit_cost(n.kernel, parameters, core_, costs_);
    one.in_place = true;
    if (n.kernel == k_conv) {
      vireo_mcu_conv conv;
      std::memcpy(&conv, parameters.data(), sizeof conv);
      one.in_place = vireo_mcu_conv_in_place(&conv, core_.tile) != 0;
    }
    if (n.kernel == k_conv_reals) {
      vireo_mcu_conv_reals conv;
      std::memcpy(&conv, parameters.data(), sizeof conv);
      one.in_place = vireo_mcu_conv_reals_in_place(&conv) != 0;
    }
    if (n.kernel == k_depthwise || n.kernel == k_depthwise_reals) one.in_place = false;
    return known_.emplace(key, one).first->second;
  }

  const CallList& list_;
  const Core& core_;
  const std::string& costs_;
  const uint64_t limit_;
  Forms forms_;
  std::vector<std::vector<uint32_t>> readers_;
  std::map<std::tuple<uint32_t, uint32_t, int32_t, int32_t>, PerCall> known_;
};

}  // namespace

uint32_t scratch_of(uint16_t kernel, const void* parameters, const Core& core) {
  switch (kernel) {
    case k_conv:
      return vireo_mcu_conv_scratch_on(static_cast<const vireo_mcu_conv*>(parameters), core.tile);
    case k_depthwise:
      return vireo_mcu_depthwise_scratch(static_cast<const vireo_mcu_conv*>(parameters));
    case k_gemm:
      return vireo_mcu_gemm_scratch_on(static_cast<const vireo_mcu_gemm*>(parameters), core.tile);
    case k_conv_reals:
      return vireo_mcu_conv_reals_scratch(static_cast<const vireo_mcu_conv_reals*>(parameters));
    case k_depthwise_reals:
      return vireo_mcu_depthwise_reals_scratch(static_cast<const vireo_mcu_conv_reals*>(parameters));
    default:
      return 0;
  }
}

std::vector<Segment> choose_segments(const CallList& list, const Core& core, const std::string& costs, uint64_t limit) {
  return Chooser(list, core, costs, limit).run();
}

}  // namespace vireo::firmware
