#include "converter/emit/schedule.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace vireo::emit {
namespace {

// The graph as the search sees it: buffers (tensors that a view chain shares memory with count once) and, for each
// node, which ones it makes and reads.
struct Flow {
  struct Node {
    std::vector<uint32_t> reads;   // buffers, each once
    std::vector<uint32_t> makes;   // buffers
    std::vector<uint32_t> needed;  // nodes that must run before, each once
    std::vector<uint32_t> feeds;   // nodes that wait for this one
    std::vector<uint32_t> reuses;  // buffers whose memory the first result may take over
    int64_t region = 0;
  };
  std::vector<int64_t> bytes;     // per buffer
  std::vector<uint32_t> readers;  // per buffer: nodes that read it, one more when it must outlive the run
  std::vector<Node> nodes;
  int64_t live = 0;  // before the first node
};

Flow make_flow(Span<const PlanTensor> tensors, Span<const PlanNode> nodes) {
  Flow f;
  // Sizes that no machine has are all the same to an order; as they are, their sums would not fit.
  const int64_t most =
      std::numeric_limits<int64_t>::max() / 4 / static_cast<int64_t>(tensors.size() + nodes.size() + 1);
  const auto counted = [most](int64_t bytes) {
    return static_cast<uint64_t>(std::min(std::max<int64_t>(bytes, 0), most));
  };
  f.nodes.resize(nodes.size());
  std::vector<uint32_t> buffer(tensors.size());
  std::vector<int32_t> maker(tensors.size(), -1);
  for (size_t t = 0; t < tensors.size(); ++t) buffer[t] = static_cast<uint32_t>(t);
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (const int32_t y : nodes[n].outputs) {
      if (y >= 0) maker[static_cast<size_t>(y)] = static_cast<int32_t>(n);
    }
    if (!nodes[n].view || nodes[n].inputs.empty() || nodes[n].outputs.empty()) continue;
    const int32_t x = nodes[n].inputs[0], y = nodes[n].outputs[0];
    if (x < 0 || y < 0) continue;
    const PlanTensor &from = tensors[static_cast<size_t>(x)], &to = tensors[static_cast<size_t>(y)];
    const uint32_t root = buffer[static_cast<size_t>(x)];
    if (from.bytes == to.bytes && tensors[root].kind == PlanTensor::kValue && to.kind == PlanTensor::kValue) {
      buffer[static_cast<size_t>(y)] = root;
    }
  }
  f.bytes.resize(tensors.size());
  f.readers.resize(tensors.size());
  for (size_t t = 0; t < tensors.size(); ++t) {
    const PlanTensor& tensor = tensors[t];
    if (tensor.output || tensor.kind == PlanTensor::kState) ++f.readers[buffer[t]];
    if (tensor.kind == PlanTensor::kConstant || tensor.kind == PlanTensor::kBound || buffer[t] != t) continue;
    f.bytes[t] =
        static_cast<int64_t>((counted(tensor.bytes) + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment);
    if (tensor.kind == PlanTensor::kInput || tensor.kind == PlanTensor::kState) f.live += f.bytes[t];
  }
  const auto add = [](std::vector<uint32_t>* list, uint32_t v) {
    if (std::find(list->begin(), list->end(), v) == list->end()) list->push_back(v);
  };
  for (size_t n = 0; n < nodes.size(); ++n) {
    Flow::Node& node = f.nodes[n];
    node.region = static_cast<int64_t>(counted(nodes[n].region_bytes));
    for (size_t i = 0; i < nodes[n].inputs.size(); ++i) {
      const int32_t x = nodes[n].inputs[i];
      if (x < 0) continue;
      const uint32_t b = buffer[static_cast<size_t>(x)];
      add(&node.reads, b);
      if (maker[static_cast<size_t>(x)] >= 0) add(&node.needed, static_cast<uint32_t>(maker[static_cast<size_t>(x)]));
      const bool takes =
          i < 32 && (nodes[n].inplace >> i & 1u) != 0 && !nodes[n].outputs.empty() && nodes[n].outputs[0] >= 0 &&
          tensors[b].kind == PlanTensor::kValue &&
          tensors[static_cast<size_t>(x)].bytes == tensors[static_cast<size_t>(nodes[n].outputs[0])].bytes;
      if (takes) add(&node.reuses, b);
    }
    for (const uint32_t b : node.reads) ++f.readers[b];
    for (const int32_t y : nodes[n].outputs) {
      if (y >= 0 && buffer[static_cast<size_t>(y)] == static_cast<uint32_t>(y)) {
        node.makes.push_back(static_cast<uint32_t>(y));
      }
    }
    for (const uint32_t before : node.needed) f.nodes[before].feeds.push_back(static_cast<uint32_t>(n));
  }
  return f;
}

// A set of nodes that have run, and what is alive after them.
struct State {
  std::vector<uint32_t> waits;    // per node: inputs not made yet
  std::vector<uint32_t> readers;  // per buffer: readers left
  std::vector<uint32_t> ready;    // nodes that can run, the latest made ready last
  int64_t live = 0;
  int64_t peak = 0;
  uint64_t key = 0;      // of the set
  uint32_t history = 0;  // index of its last step
};

struct Step {
  uint32_t before;
  uint32_t node;
};

struct Effect {
  int64_t during;  // bytes alive while the node runs
  int64_t after;
};

Effect effect(const Flow& f, const State& s, uint32_t n) {
  const Flow::Node& node = f.nodes[n];
  int64_t during = s.live + node.region, after = s.live;
  for (const uint32_t b : node.makes) {
    during += f.bytes[b];
    if (f.readers[b] > 0) after += f.bytes[b];  // read by nobody: free at once
  }
  for (const uint32_t b : node.reads) {
    if (s.readers[b] == 1) after -= f.bytes[b];
  }
  for (const uint32_t b : node.reuses) {
    if (s.readers[b] != 1) continue;
    during -= f.bytes[b];
    break;
  }
  return {during, after};
}

uint64_t scatter(uint64_t n) {  // splitmix64
  n += 0x9E3779B97F4A7C15u;
  n = (n ^ (n >> 30)) * 0xBF58476D1CE4E5B9u;
  n = (n ^ (n >> 27)) * 0x94D049BB133111EBu;
  return n ^ (n >> 31);
}

void advance(const Flow& f, uint32_t n, const Effect& e, State* s) {
  s->ready.erase(std::find(s->ready.rbegin(), s->ready.rend(), n).base() - 1);
  for (const uint32_t b : f.nodes[n].reads) --s->readers[b];
  for (const uint32_t next : f.nodes[n].feeds) {
    if (--s->waits[next] == 0) s->ready.push_back(next);
  }
  s->peak = std::max(s->peak, e.during);
  s->live = e.after;
  s->key ^= scatter(n);
}

State first_state(const Flow& f) {
  State s;
  s.readers = f.readers;
  s.live = s.peak = f.live;
  for (size_t n = f.nodes.size(); n-- > 0;) {
    if (f.nodes[n].needed.empty()) s.ready.push_back(static_cast<uint32_t>(n));
  }
  for (const Flow::Node& node : f.nodes) s.waits.push_back(static_cast<uint32_t>(node.needed.size()));
  return s;
}

// Always the node that was made ready last: branches run one after another.
std::vector<uint32_t> depth_first(const Flow& f) {
  State s = first_state(f);
  std::vector<uint32_t> order;
  while (!s.ready.empty()) {
    const uint32_t n = s.ready.back();
    advance(f, n, effect(f, s, n), &s);
    order.push_back(n);
  }
  return order;
}

// Looks at each node that can run, before each step: tens of thousands of nodes that all can would take for ever.
constexpr size_t kMostEffects = size_t{1} << 24;

// Empty where there is no order, or too much to look at.
std::vector<uint32_t> search(const Flow& f, size_t width) {
  struct Choice {
    uint32_t state, node;
    Effect effect;
    int64_t peak;
    uint64_t key;
  };
  size_t effects = 0;
  std::vector<State> beam{first_state(f)};
  std::vector<Step> steps{{0, 0}};
  for (size_t done = 0; done < f.nodes.size(); ++done) {
    std::vector<Choice> choices;
    for (size_t i = 0; i < beam.size(); ++i) {
      const State& s = beam[i];
      if ((effects += s.ready.size()) > kMostEffects) return {};
      for (size_t k = s.ready.size(); k-- > 0;) {
        const uint32_t n = s.ready[k];
        const Effect e = effect(f, s, n);
        choices.push_back({static_cast<uint32_t>(i), n, e, std::max(s.peak, e.during), s.key ^ scatter(n)});
      }
    }
    // Equal ones keep the order in which they were found, so that the same file comes out of every run.
    std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
      return std::make_pair(a.peak, a.effect.after) < std::make_pair(b.peak, b.effect.after);
    });
    std::vector<State> next;
    std::unordered_map<uint64_t, bool> seen;
    for (const Choice& c : choices) {
      if (next.size() == width) break;
      if (!seen.emplace(c.key, true).second) continue;  // the same set, reached with a smaller peak
      State s = width == 1 ? std::move(beam[c.state]) : beam[c.state];
      advance(f, c.node, c.effect, &s);
      steps.push_back({s.history, c.node});
      s.history = static_cast<uint32_t>(steps.size() - 1);
      next.push_back(std::move(s));
    }
    if (next.empty()) return {};  // a cycle: no order
    beam = std::move(next);
  }
  std::vector<uint32_t> order;
  for (uint32_t h = beam[0].history; h != 0; h = steps[h].before) order.push_back(steps[h].node);
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

std::vector<std::vector<uint32_t>> candidate_orders(Span<const PlanTensor> tensors, Span<const PlanNode> nodes,
                                                    size_t width) {
  std::vector<std::vector<uint32_t>> orders(1);
  for (size_t n = 0; n < nodes.size(); ++n) orders[0].push_back(static_cast<uint32_t>(n));
  const Flow f = make_flow(tensors, nodes);
  const auto offer = [&orders, &nodes](std::vector<uint32_t> order) {
    if (order.size() == nodes.size() && std::find(orders.begin(), orders.end(), order) == orders.end()) {
      orders.push_back(std::move(order));
    }
  };
  offer(depth_first(f));
  // A step copies a state: the width keeps the whole below some 2^28 words.
  const size_t words = (nodes.size() + tensors.size() + 1) * (nodes.size() + 1);
  offer(search(f, std::min<size_t>(width, std::max<size_t>(1, (size_t{1} << 28) / words))));
  return orders;
}

}  // namespace vireo::emit
