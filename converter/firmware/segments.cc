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
#include "delegates/mcu/kernels/pool_rows.h"
#include "delegates/mcu/kernels/product.h"
#include "delegates/mcu/kernels/reals.h"
#include "delegates/mcu/plan/call.h"
#include "delegates/mcu/plan/parameters.h"

namespace vireo::firmware {
namespace {

// Copies of rows, and what a call of a node takes besides its kernel: instructions, about the same on all cores.
constexpr double kCopyByte = 1.6, kCopyPlane = 50, kOfCall = 500, kOfNode = 30, kOfPlanes = 400;

// Of what is gathered of a node that can run some planes at a time: less is more calls.
constexpr uint32_t kGathered = 896;

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
  // As the node has them, which are the call's but for an average of all rows.
  std::vector<uint8_t> parameters;
  std::vector<int32_t> operands;
  bool one_row = false;     // of the output
  std::vector<size_t> own;  // operands of which each plane has its part
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
        f.node.first_at = f.node.planes_at = VIREO_SEGMENT_NOWHERE;
    f.parameters = call.parameters;
    f.operands = call.operands;
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
      if (call.kernel == k_depthwise && conv.last == 0)
        by_planes(word(offsetof(vireo_mcu_conv, groups)), {1, 2, 3, 4}, &f);
    } else if (is_average_of_all(call)) {
      return;
    } else if (call.kernel == k_average || call.kernel == k_max) {
      const auto pool = read<vireo_mcu_pool>(call);
      f = begin(call, call.kernel == k_average ? 2 : 1);
      if (pool.last == 0) by_planes(word(offsetof(vireo_mcu_pool, channels)), {}, &f);
      f.node.below_at = word(offsetof(vireo_mcu_pool, pad_end));
      f.able = f.able && ends_inside(pool) && window(pool, pool.channels, pool.channels, &f);
    } else if (call.kernel == k_conv_reals || call.kernel == k_depthwise_reals) {
      const auto conv = read<vireo_mcu_conv_reals>(call);
      f = begin(call, 3);
      f.able =
          f.able && window(conv, int64_t{conv.groups} * conv.in_channels, int64_t{conv.groups} * conv.out_channels, &f);
      if (call.kernel == k_depthwise_reals) by_planes(word(offsetof(vireo_mcu_conv_reals, groups)), {1, 2}, &f);
    } else if (call.kernel == k_average_reals || call.kernel == k_max_reals) {
      const auto pool = read<vireo_mcu_pool_reals>(call);
      f = begin(call, 1);
      by_planes(word(offsetof(vireo_mcu_pool_reals, planes)), {}, &f);
      f.node.below_at = word(offsetof(vireo_mcu_pool_reals, pad_end));
      f.able = f.able && ends_inside(pool) && window(pool, pool.planes, pool.planes, &f);
    } else {
      return;
    }
    f.able = f.able && rest_is_constant(call, f);
    forms[c] = f;
  }
  // Planes that do not meet. `own`: operands of which each may have its part, besides x and y.
  static void by_planes(uint8_t at, std::vector<size_t> own, Form* f) {
    f->node.planes_at = at;
    f->own = std::move(own);
  }

  // One window, of all that there is.
  template <class Pool>
  static bool is_over_all(const Pool& p) {
    bool all = images(p, 0) == 1;
    for (int i = 0; i < 2; ++i)
      all = all && p.out[i] == 1 && p.kernel[i] == p.in[i] && p.dilation[i] == 1 && p.pad[i] == 0 && p.pad_end[i] == 0;
    return all;
  }
  static bool is_average_of_all(const Call& call) {
    return (call.kernel == k_average && is_over_all(read<vireo_mcu_pool>(call))) ||
           (call.kernel == k_average_reals && is_over_all(read<vireo_mcu_pool_reals>(call)));
  }
  // An average that gets rows as they are made. Its result is no image: what reads it is no node of the segment. It may
  // know all of an image as one row.
  Form average_of(const Call& call, uint16_t kernel, size_t output, bool last, vireo_mcu_rows* r) {
    Form f = begin(call, output);
    const Rows& x = shape(f.inputs[0]);
    const int64_t elements = int64_t{r->planes} * r->all * r->columns;
    if (x.rows > 0 && x.planes == (last ? 1 : r->planes) && x.rows * x.planes * x.elements == elements) {
      r->rows = r->all = static_cast<int32_t>(x.rows);
      r->columns = static_cast<int32_t>(elements / x.rows / r->planes);
    }
    f.one_row = true;
    f.node.kernel = kernel;
    f.node.rows_read_at = word(offsetof(vireo_mcu_rows, rows));
    f.node.first_at = word(offsetof(vireo_mcu_rows, first));
    const Rows rows = {r->all, last ? 1 : r->planes, last ? r->planes * r->columns : r->columns};
    f.able = f.able && r->all > 1 && take(f.inputs[0], rows);
    return f;
  }
  Form average_of_codes(const Call& call) {
    const auto pool = read<vireo_mcu_pool>(call);
    vireo_mcu_rows r = {pool.channels, pool.in[0], pool.in[1], 0, pool.in[0]};
    Form f = average_of(call, k_average_rows, 2, pool.last != 0, &r);
    f.parameters =
        bytes_of(vireo_mcu_pool_rows{r, pool.codes, pool.x_zero, pool.x_flip, pool.last, pool.one_multiplier});
    f.operands.push_back(kScratch);
    return f;
  }
  Form average_of_reals(const Call& call) {
    const auto pool = read<vireo_mcu_pool_reals>(call);
    vireo_mcu_rows r = {pool.planes, pool.in[0], pool.in[1], 0, pool.in[0]};
    Form f = average_of(call, k_average_rows_reals, 1, false, &r);
    f.parameters = bytes_of(r);
    return f;
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
    if (is_average_of_all(call)) {
      f = call.kernel == k_average ? average_of_codes(call) : average_of_reals(call);
      f.able = f.able && rest_is_constant(call, f);
      forms[c] = f;
      return;
    }
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
    if (memory.bytes <= (limit_ != 0 ? limit_ : kEnough)) return chosen;
    Worth now{memory.bytes, 0};
    for (uint32_t c = 0; c < list_.calls.size(); ++c) now.instructions += cost(c);
    slowest_ = now.instructions * kSlowest;
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
  // Where no limit is given, a run gets longer by no more than this, and an arena that every part has stays as it is.
  static constexpr double kSlowest = 1.5;
  static constexpr uint64_t kEnough = 16384;

  struct Worth {
    uint64_t bytes = UINT64_MAX;
    double instructions = 0;
  };
  // With a limit: the fastest that fits, else the smallest. Without: a hundredth of the arena is worth a hundredth of
  // the time, up to a bound.
  bool is_better(const Worth& a, const Worth& b) const {
    if (a.bytes == UINT64_MAX || b.bytes == UINT64_MAX) return b.bytes == UINT64_MAX && a.bytes != UINT64_MAX;
    if (limit_ != 0 && (a.bytes > limit_ || b.bytes > limit_)) {
      if ((a.bytes <= limit_) != (b.bytes <= limit_)) return a.bytes <= limit_;
      return a.bytes < b.bytes;
    }
    if (limit_ != 0) return a.instructions < b.instructions;
    if ((a.instructions > slowest_) != (b.instructions > slowest_)) return b.instructions > slowest_;
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
    for (uint32_t c = s.first; c < s.first + s.count; ++c) w.instructions -= cost(c);
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

  double cost(uint32_t call) const { return cost(list_.calls[call].kernel, list_.calls[call].parameters); }
  double cost(uint16_t kernel, const std::vector<uint8_t>& parameters) const {
    // Without measured costs a product counts as much as anything.
    const Features f = features_of(kernel, parameters.data(), core_);
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
      const CallTensor& tensor = list_.tensors[static_cast<size_t>(t)];
      const bool one_row = maker != 255 && forms_.forms[first + maker].one_row;
      const Rows rows = !one_row ? forms_.shape(t)
                                 : Rows{forms_.shape(forms_.forms[first + maker].inputs[0]).rows, 1,
                                        tensor.bytes / tensor.element_bytes};
      vireo_segment_value v = {};
      v.rows = static_cast<uint32_t>(rows.rows);
      v.planes = static_cast<uint32_t>(rows.planes);
      v.row_bytes = static_cast<uint32_t>(rows.elements) * tensor.element_bytes;
      v.one_row = one_row ? 1 : 0;
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
      if (outside || one_row) v.whole = 0;
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
      if (s->values[n.inputs[0]].one_row != 0 || (n.inputs[1] != 255 && s->values[n.inputs[1]].one_row != 0))
        return false;
      n.chunk = static_cast<uint16_t>(std::min<int64_t>(chunks[k], s->values[n.output].rows));
      s->nodes.push_back(n);
      s->parameters.push_back(f.parameters);
      s->operands.push_back(f.operands);
      s->keeps.push_back(f.one_row);
    }
    for (uint32_t k = 0; k < count; ++k) divide_planes(s, k);
    s->head.nodes = static_cast<uint16_t>(s->nodes.size());
    s->head.values = static_cast<uint16_t>(s->values.size());
    return inner && s->values.size() <= 2 * VIREO_SEGMENT_NODES && simulate(s);
  }

  // How many planes node k runs at a time, if it can, and whether it keeps their rows.
  void divide_planes(Segment* s, uint32_t k) const {
    vireo_segment_node& n = s->nodes[k];
    const vireo_segment_value& x = s->values[n.inputs[0]];
    if (n.planes_at == VIREO_SEGMENT_NOWHERE) return;
    if (x.planes == 1 || (n.taps == 1 && n.stride == 1)) {
      n.planes_at = VIREO_SEGMENT_NOWHERE;
      return;
    }
    const uint32_t rows = std::min<uint32_t>(x.rows, (n.chunk - 1u) * n.stride + n.taps);
    // By four, so that what has half a byte for each has whole ones.
    const uint32_t planes = std::min(x.planes, std::max(4u, kGathered / (rows * x.row_bytes) / 4 * 4));
    uint32_t some[VIREO_PLAN_OPERANDS] = {}, twice[VIREO_PLAN_OPERANDS] = {};
    needs(n, s->parameters[k], planes, some);
    needs(n, s->parameters[k], 2 * planes, twice);
    n.planes = static_cast<uint16_t>(planes);
    n.filters = static_cast<uint8_t>(s->values[n.output].planes / x.planes);
    bool able = s->values[n.output].planes / x.planes < 256;
    for (const size_t i : forms_.forms[s->first + k].own) {
      // What all planes share has the same bytes whatever their number.
      const uint32_t part = twice[i] - some[i];
      able = able && part <= UINT16_MAX;
      n.part_bytes[i] = static_cast<uint16_t>(part);
    }
    if (!able) {
      n.planes_at = VIREO_SEGMENT_NOWHERE;
      return;
    }
    n.slides = x.whole == VIREO_PLAN_ABSENT && x.last_reader == k &&
               readers_[static_cast<size_t>(s->tensors[n.inputs[0]])].size() == 1;
  }
  static void needs(const vireo_segment_node& n, std::vector<uint8_t> parameters, uint32_t planes, uint32_t* bytes) {
    std::memcpy(parameters.data() + size_t{4} * n.planes_at, &planes, 4);
    (void)vireo_mcu_kernel_of(n.kernel)->needs(parameters.data(), bytes);
  }

  // Goes through the calls: rows that have to be kept and gathered, scratch memory, units, instructions.
  bool simulate(Segment* s) {
    std::vector<vireo_segment_rows> rows(s->values.size());
    s->scratch.assign(s->count, 0);
    s->in_place.assign(s->count, false);
    s->instructions.assign(s->count, 0);
    std::vector<double> costs(s->count);
    std::vector<bool> alone(s->count, true), over(s->count, true);
    for (uint32_t k = 0; k < s->count; ++k) {
      const vireo_segment_node& n = s->nodes[k];
      over[k] = n.slides != 0 && s->values[n.output].whole == VIREO_PLAN_ABSENT;
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
      const auto keep = [&](uint32_t v, uint32_t keeps) {
        s->values[v].kept_rows = static_cast<uint16_t>(std::max<uint32_t>(s->values[v].kept_rows, keeps));
        if (keeps > 0) copy(s->values[v], keeps);
      };
      uint32_t slid = 0;
      for (uint32_t v = 0; v < s->values.size(); ++v) {
        if (!vireo_segment_moves(&s->values[v], &rows[v], k)) continue;
        const uint32_t low = vireo_segment_unread(s->values.data(), s->nodes.data(), rows.data(), v);
        keep(v, rows[v].done - low);
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
        if (vireo_segment_by_planes(&n)) {
          n.gather_rows = static_cast<uint16_t>(std::max<int32_t>(n.gather_rows, r.read));
          copy(x, static_cast<uint32_t>(r.read));
          copied += kOfPlanes * ((x.planes - 1) / n.planes);
          // Its rows go where the input's lie, of which those of these planes were kept before.
          const uint32_t fresh = held.done - held.fresh;
          if (fresh > 0 && uint64_t{made} * y.row_bytes * (y.planes / x.planes) > uint64_t{fresh} * x.row_bytes)
            over[static_cast<size_t>(k)] = false;
          if (n.slides != 0) {
            const uint32_t low = vireo_segment_slides_to(&n, &x, &y, &held, rows[n.output].done + made);
            keep(n.inputs[i], held.done - low);
            slid = low;
          }
        } else if (vireo_segment_direct(&x, &held, static_cast<uint32_t>(r.from), static_cast<uint32_t>(r.read),
                                        &place) == UINT32_MAX) {
          n.gather_rows = static_cast<uint16_t>(std::max<int32_t>(n.gather_rows, r.read));
          copy(x, static_cast<uint32_t>(r.read));
          alone[static_cast<size_t>(k)] = false;
        }
        if (r.from != held.fresh || r.from + r.read != held.done || static_cast<uint32_t>(r.read) != made)
          alone[static_cast<size_t>(k)] = false;
      }
      if (y.whole != VIREO_PLAN_ABSENT && y.planes != 1) copy(y, made);
      const PerCall& one = per_call(*s, static_cast<uint32_t>(k), r, made, rows[n.output].done);
      costs[static_cast<size_t>(k)] += one.instructions + copied;
      s->scratch[static_cast<size_t>(k)] = std::max(s->scratch[static_cast<size_t>(k)], one.scratch);
      if (!one.in_place) alone[static_cast<size_t>(k)] = false;
      s->cost = std::max(s->cost, static_cast<uint16_t>(std::min(65535.0, one.unit_cost + copied / 64)));
      rows[n.output].done = static_cast<uint16_t>(rows[n.output].done + made);
      if (n.slides != 0) {
        vireo_segment_rows& held = rows[n.inputs[0]];
        held.low = static_cast<uint16_t>(slid);
        held.fresh = held.done;
      }
    }
    for (const vireo_segment_node& n : s->nodes) {
      if (rows[n.output].done != s->values[n.output].rows) return false;
    }
    for (uint32_t k = 0; k < s->count; ++k) {
      s->in_place[k] = alone[k] || over[k];
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
  const PerCall& per_call(const Segment& s, uint32_t k, const vireo_rows_read& r, uint32_t made, uint32_t done) {
    const vireo_segment_node& n = s.nodes[k];
    const vireo_segment_value& y = s.values[n.output];
    const uint32_t planes = s.values[n.inputs[0]].planes;
    const uint32_t first = y.one_row != 0 ? done : 0;
    const auto key = std::make_tuple(s.first + k, made, r.read, r.above, first,
                                     vireo_segment_by_planes(&n) ? uint32_t{n.planes} : 0);
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    std::vector<uint8_t> parameters = s.parameters[k];
    const auto put = [&](uint8_t at, uint32_t value) {
      if (at != VIREO_SEGMENT_NOWHERE) std::memcpy(parameters.data() + 4 * at, &value, 4);
    };
    put(n.rows_read_at, static_cast<uint32_t>(r.read));
    put(n.rows_made_at, made);
    put(n.above_at, static_cast<uint32_t>(r.above));
    put(n.below_at, static_cast<uint32_t>(r.below));
    put(n.elements_at, y.planes * made * (y.row_bytes >> n.element_shift));
    put(n.first_at, first);
    put(n.planes_at, n.planes);
    PerCall one = {};
    one.instructions = cost(n.kernel, parameters);
    if (vireo_segment_by_planes(&n)) {
      one.instructions *= planes / n.planes;
      std::vector<uint8_t> rest = parameters;
      const uint32_t left = planes % n.planes;
      std::memcpy(rest.data() + size_t{4} * n.planes_at, &left, 4);
      if (left > 0) one.instructions += cost(n.kernel, rest);
    }
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
  double slowest_ = 0;
  Forms forms_;
  std::vector<std::vector<uint32_t>> readers_;
  std::map<std::tuple<uint32_t, uint32_t, int32_t, int32_t, uint32_t, uint32_t>, PerCall> known_;
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
    case k_average_rows:
      return static_cast<uint32_t>(static_cast<const vireo_mcu_pool_rows*>(parameters)->rows.planes) * 4;
    default:
      return 0;
  }
}

std::vector<Segment> choose_segments(const CallList& list, const Core& core, const std::string& costs, uint64_t limit) {
  return Chooser(list, core, costs, limit).run();
}

}  // namespace vireo::firmware
