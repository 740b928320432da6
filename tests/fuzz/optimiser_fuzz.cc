// Fuzzing of the optimiser: generated graphs (mutate.h) run as they are and optimised, by the reference kernels, in
// this process. What is asked of each:
//   - the pipeline ends, keeps the graph's promises, and finds nothing to do when it runs again
//   - outputs have the same types and shapes, and differ by no more than rounding may make them
//
// How much that is, is measured and not guessed, because a graph may be as ill-conditioned as it likes: the graph as it
// is runs kRuns more times with each float result of each node moved by up to 4 units in the last place. Of an output's
// largest deviation in these runs the optimised graph may have kSlack times, besides kFloor of its largest value.
// Recognising an activation may move its constants by 1e-5 (fuse_activation.cc): where that pass changed something, the
// graph runs kRuns more times with each constant that may be one of a formula's moved by that much, up or down.
// Where integer arithmetic took the place of float arithmetic, what moves in further runs is each code that a
// QuantizeLinear gives, by one, and codes may differ by one more.
//
//   optimiser_fuzz [--seed S] [--count N] [--seconds T] [--only I]   graph I of seed S alone, told in full
// VIREO_SOURCE_ROOT names another checkout than the one that it was built from.
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <string>

#include "converter/ir/infer.h"
#include "converter/passes/pipeline.h"
#include "sdk/base/half.h"
#include "sdk/ops/shared/value_reader.h"
#include "sdk/ops/unary/unary_generated.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/roots.h"

namespace vireo::fuzz {
namespace {

constexpr int kRuns = 4;
constexpr int64_t kMostBytes = 1 << 20;  // of a result: mutated extents multiply
constexpr double kSlack = 8, kFloor = 2e-6;
constexpr double kConstant = 1e-5, kLeastConstant = 0.04;  // of an activation: how far it may be moved, the smallest
constexpr double kFloor16 = 4e-3;  // float16 and bfloat16: a cast that a pass took out rounded to 8 bits

using Values = std::vector<ir::ConstantPtr>;
enum class Shake { kNone, kRounding, kCodes };

// One element of a 16-bit or 32-bit float tensor.
double read(const ConstTensor& t, int64_t i) { return read_real(t.type.dtype, t.bytes.data(), i); }

// `c` with each element moved by up to 4 units in the last place.
ir::ConstantPtr moved(const ir::ConstantPtr& c, std::mt19937* rng) {
  const ConstTensor& t = c->tensor;
  std::vector<uint8_t> bytes(t.bytes.begin(), t.bytes.end());
  for (int64_t i = 0; i < t.count(); ++i) {
    const double by = (static_cast<double>((*rng)() % 2001) - 1000) / 1000 * 4;
    if (t.type.dtype == DType::kF32) {
      const float v = static_cast<float>(read(t, i) * (1 + by * 0x1p-24));
      std::memcpy(bytes.data() + i * 4, &v, 4);
    } else if (t.type.dtype == DType::kF16) {
      const uint16_t v = f32_to_f16(static_cast<float>(read(t, i) * (1 + by * 0x1p-11)));
      std::memcpy(bytes.data() + i * 2, &v, 2);
    } else if (t.type.dtype == DType::kBF16) {
      const uint16_t v = f32_to_bf16(static_cast<float>(read(t, i) * (1 + by * 0x1p-8)));
      std::memcpy(bytes.data() + i * 2, &v, 2);
    }
  }
  return ir::make_constant(t.type, std::move(bytes));
}

ir::ConstantPtr next_codes(const ir::ConstantPtr& c, std::mt19937* rng) {
  const ConstTensor& t = c->tensor;
  std::vector<uint8_t> bytes(t.bytes.begin(), t.bytes.end());
  const bool is_signed = t.type.dtype == DType::kI8;
  for (uint8_t& b : bytes) {
    const int v = (is_signed ? static_cast<int8_t>(b) : b) + static_cast<int>((*rng)() % 3) - 1;
    b = static_cast<uint8_t>(std::min(std::max(v, is_signed ? -128 : 0), is_signed ? 127 : 255));
  }
  return ir::make_constant(t.type, std::move(bytes));
}

// `g` with each number that fuse_activation may take for a formula's moved as far as it may.
std::unique_ptr<ir::Graph> with_moved_constants(const ir::Graph& g, std::mt19937* rng) {
  auto h = g.clone();
  const auto by = [rng] { return (*rng)() % 2 == 0 ? kConstant : -kConstant; };
  for (ir::Node& n : h->nodes()) {
    if (n.op == Op::kHardSigmoid) {
      attrs::HardSigmoidT a;
      n.attributes<attrs::HardSigmoid>().UnPackTo(&a);
      a.alpha = static_cast<float>(a.alpha + by());
      a.beta = static_cast<float>(a.beta + by());
      n.attrs = pack<attrs::HardSigmoid>(a);
    }
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const ir::Value* v = n.inputs[i];
      if (v == nullptr || v->constant == nullptr || !dtype_is_float(v->type.dtype)) continue;
      const ConstTensor& t = v->constant->tensor;
      if (t.count() != 1 || dtype_bits(t.type.dtype) < 16) continue;
      const double c = read(t, 0);
      if (!std::isfinite(c) || (n.op != Op::kClip && std::fabs(c) < kLeastConstant)) continue;
      const double most = dtype_bits(t.type.dtype) == 16 ? std::max(kConstant, std::fabs(c) / 256) : kConstant;
      const double to = c + by() / kConstant * most;
      std::vector<uint8_t> bytes(t.bytes.size());
      if (t.type.dtype == DType::kF64) {
        std::memcpy(bytes.data(), &to, sizeof(to));
      } else {
        const auto f = static_cast<float>(to);
        const uint16_t half = t.type.dtype == DType::kF16 ? f32_to_f16(f) : f32_to_bf16(f);
        std::memcpy(bytes.data(), t.type.dtype == DType::kF32 ? static_cast<const void*>(&f) : &half, bytes.size());
      }
      h->set_input(&n, i, h->add_constant(v->name, ir::make_constant(t.type, std::move(bytes))));
    }
  }
  return h;
}

bool has_nan(const ir::Constant& c) {
  for (int64_t i = 0; dtype_is_float(c.tensor.type.dtype) && i < c.tensor.count(); ++i) {
    if (std::isnan(read(c.tensor, i))) return true;
  }
  return false;
}

bool is_finite(const Values& all) {
  for (const ir::ConstantPtr& c : all) {
    for (int64_t i = 0; c != nullptr && dtype_is_float(c->tensor.type.dtype) && i < c->tensor.count(); ++i) {
      if (!std::isfinite(read(c->tensor, i))) return false;
    }
  }
  return true;
}

bool run(const ir::Graph& g, const Values& inputs, Shake shake, std::mt19937* rng, Values* outputs,
         std::string* error) {
  std::map<const ir::Value*, ir::ConstantPtr> values{{nullptr, nullptr}};
  for (size_t i = 0; i < inputs.size(); ++i) values[g.inputs()[i]] = inputs[i];
  const auto get = [&](const ir::Value* v) { return v != nullptr && v->constant != nullptr ? v->constant : values[v]; };
  for (const ir::Node& n : g.nodes()) {
    Values in, out;
    for (const ir::Value* v : n.inputs) in.push_back(get(v));
    const bool good = n.op == Op::kComposite ? run(*n.bodies[0], in, shake, rng, &out, error)
                                             : ir::evaluate_node(n, in, kMostBytes, &out, error);
    if (!good) {
      *error = std::string(op_name(n.op)) + " \"" + n.name + "\": " + *error;
      return false;
    }
    // What these make of a NaN depends on how they are spelled: where it stands among the taps, padding included, and
    // whether a mask chooses or is added.
    if ((n.op == Op::kMaxPool && has_nan(*in[0])) || (n.op == Op::kWhere && (has_nan(*in[1]) || has_nan(*in[2])))) {
      *error = "a NaN that may be hidden";
      return false;
    }
    // A spelled-out form may overflow inside where the operator that it stands for does not.
    if ((n.op == Op::kExp || n.op == Op::kMul || n.op == Op::kPow) && is_finite(in) && !is_finite(out)) {
      *error = "an overflow, NaN behind it, that may be hidden";
      return false;
    }
    // A row of -inf alone: Softmax has no number for it, and Attention gives 0 to a query that may see nothing.
    if (n.op == Op::kSoftmax && !has_nan(*in[0]) && has_nan(*out[0])) {
      *error = "a NaN that may be hidden";
      return false;
    }
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      if (n.outputs[i] == nullptr) continue;
      const DType t = out[i]->tensor.type.dtype;
      const bool codes =
          (n.op == Op::kQuantizeLinear || n.op == Op::kDynamicQuantizeLinear) && (t == DType::kI8 || t == DType::kU8);
      if (shake == Shake::kRounding && dtype_is_float(t) && n.op != Op::kComposite) out[i] = moved(out[i], rng);
      if (shake == Shake::kCodes && codes && i == 0) out[i] = next_codes(out[i], rng);
      values[n.outputs[i]] = out[i];
    }
  }
  outputs->clear();
  for (const ir::Value* v : g.outputs()) outputs->push_back(get(v));
  return true;
}

// Every symbol gets an extent of 1 to 4.
Values random_inputs(const ir::Graph& g, std::mt19937* rng) {
  std::map<Dim, int64_t> extents;
  Values out;
  for (const ir::Value* v : g.inputs()) {
    TensorType t = v->type;
    for (int i = 0; i < t.shape.rank; ++i) {
      if (!is_symbolic(t.shape[i])) continue;
      int64_t& e = extents[t.shape[i]];
      if (e == 0) e = 1 + (*rng)() % 4;
      t.shape[i] = e;
    }
    std::vector<uint8_t> bytes(static_cast<size_t>(std::max<int64_t>(tensor_bytes(t), 0)));
    const auto size = static_cast<int64_t>(dtype_bits(t.dtype) / 8);
    for (int64_t i = 0; i < element_count(t.shape); ++i) {
      const float x = static_cast<float>(static_cast<int>((*rng)() % 4097) - 2048) / 600;
      const auto put = [&](auto v16) { std::memcpy(bytes.data() + i * size, &v16, sizeof(v16)); };
      if (t.dtype == DType::kF32) {
        put(x);
      } else if (t.dtype == DType::kF16) {
        put(f32_to_f16(x));
      } else if (t.dtype == DType::kBF16) {
        put(f32_to_bf16(x));
      } else if (t.dtype == DType::kI8 || t.dtype == DType::kU8) {
        put(static_cast<uint8_t>((*rng)()));
      } else {
        bytes[static_cast<size_t>(i * size)] = static_cast<uint8_t>((*rng)() % 2);
      }
    }
    out.push_back(ir::make_constant(t, std::move(bytes)));
  }
  return out;
}

// Of output `o`: how far the runs in `shaken` are from `reference`, and where a number came or went.
struct Spread {
  double deviation = 0;
  std::vector<bool> unstable;
};
Spread spread(const ir::ConstantPtr& reference, const std::vector<Values>& shaken, size_t o) {
  Spread s;
  const ConstTensor& r = reference->tensor;
  s.unstable.resize(static_cast<size_t>(r.count()));
  for (const Values& v : shaken) {
    const ConstTensor& x = v[o]->tensor;
    for (int64_t i = 0; i < r.count(); ++i) {
      const double a = read(x, i), b = read(r, i);
      if (std::isfinite(a) && std::isfinite(b)) {
        s.deviation = std::max(s.deviation, std::fabs(a - b));
      } else if (std::isnan(a) != std::isnan(b) || (!std::isnan(a) && a != b)) {
        s.unstable[static_cast<size_t>(i)] = true;
      }
    }
  }
  return s;
}

// "" or what differs. `integer`: integer arithmetic may have taken the place of float arithmetic.
std::string compare(const ir::ConstantPtr& reference, const ir::ConstantPtr& got, const Spread& s, bool integer) {
  const ConstTensor &r = reference->tensor, &x = got->tensor;
  if (r.type.dtype != x.type.dtype || !(r.type.shape == x.type.shape)) return "its type is another";
  if (r.type.dtype == DType::kString || dtype_bits(r.type.dtype) < 8) return "";
  const bool real = dtype_is_float(r.type.dtype);
  double top = 0;
  for (int64_t i = 0; real && i < r.count(); ++i)
    top = std::isfinite(read(r, i)) ? std::max(top, std::fabs(read(r, i))) : top;
  double allowed = kSlack * s.deviation + (dtype_bits(r.type.dtype) == 16 ? kFloor16 : kFloor) * top;
  if (real) allowed += 1e-30;  // below: subnormal products
  if (!real) allowed = (integer ? kSlack * s.deviation + 1 : (s.deviation > 0 ? kSlack * s.deviation : 0));
  for (int64_t i = 0; i < r.count(); ++i) {
    if (s.unstable[static_cast<size_t>(i)]) continue;
    const double a = real ? read(x, i) : static_cast<double>(read_integer(x.type.dtype, x.bytes.data(), i));
    const double b = real ? read(r, i) : static_cast<double>(read_integer(r.type.dtype, r.bytes.data(), i));
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    if (std::fabs(a - b) <= allowed) continue;
    char text[160];
    std::snprintf(text, sizeof(text), "element %lld is %.9g, was %.9g; allowed is %.3g", static_cast<long long>(i), a,
                  b, allowed);
    return text;
  }
  return "";
}

enum class Verdict { kNoGraph, kCannotRun, kFine, kDiffers };

struct Outcome {
  Verdict verdict = Verdict::kNoGraph;
  std::string what;
  std::map<std::string, size_t> changes;  // by pass
};

bool replaces_arithmetic(const std::string& pass) {
  const passes::Pass* p = passes::find_pass(pass);
  return p != nullptr && p->check_atol > 0;
}

// Optimises a copy of `g` without the passes in `skip`.
std::unique_ptr<ir::Graph> optimise(const ir::Graph& g, const std::vector<std::string>& skip, Outcome* out) {
  auto copy = g.clone();
  ConvertOptions options;
  options.skip = skip;
  Diagnostics diagnostics;
  ConvertReport report, again;
  const auto differs = [&](const std::string& what) {
    out->verdict = Verdict::kDiffers;
    out->what = what;
    return nullptr;
  };
  if (!passes::run_pipeline(*copy, options, nullptr, &diagnostics, &report)) return differs(diagnostics.text());
  const std::string once = ir::print_graph(*copy);
  if (!passes::run_pipeline(*copy, options, nullptr, &diagnostics, &again)) return differs(diagnostics.text());
  for (const PassLog& p : again.passes) {
    if (p.changes != 0) return differs("a second run of the pipeline changes something: " + p.name);
  }
  out->changes.clear();
  for (const PassLog& p : report.passes) {
    if (p.changes != 0) out->changes[p.name] = p.changes;
  }
  return copy;
}

Outcome examine(const std::string& text, uint32_t seed, const std::vector<std::string>& skip = {}) {
  Outcome out;
  std::string error;
  const auto g = ir::parse_graph(text, &error);
  if (g == nullptr || g->nodes().empty() || g->outputs().empty()) return out;
  std::mt19937 rng(seed);
  struct Case {
    Values inputs, reference;
    std::vector<Values> rounding, codes;  // runs of the graph with something moved
  };
  std::vector<Case> cases(2);  // two sets of extents
  out.verdict = Verdict::kCannotRun;
  for (Case& c : cases) {
    c.inputs = random_inputs(*g, &rng);
    if (!run(*g, c.inputs, Shake::kNone, nullptr, &c.reference, &error)) return out;
    c.rounding.resize(kRuns);
    for (Values& v : c.rounding) {
      if (!run(*g, c.inputs, Shake::kRounding, &rng, &v, &error)) return out;
      for (size_t o = 0; o < v.size(); ++o) {  // a run whose shapes follow the numbers
        if (!(v[o]->tensor.type == c.reference[o]->tensor.type)) return out;
      }
    }
  }
  out.verdict = Verdict::kFine;
  const auto optimised = optimise(*g, skip, &out);
  if (optimised == nullptr) return out;
  std::vector<std::string> exact = skip;
  for (const auto& [pass, n] : out.changes) {
    if (replaces_arithmetic(pass)) exact.push_back(pass);
  }
  const bool integer = exact.size() != skip.size();
  for (Case& c : cases) {
    for (int i = 0; out.changes.count("fuse_activation") != 0 && i < kRuns; ++i) {
      Values v;
      if (!run(*with_moved_constants(*g, &rng), c.inputs, Shake::kNone, nullptr, &v, &error)) return out;
      for (size_t o = 0; o < v.size(); ++o) {
        if (!(v[o]->tensor.type == c.reference[o]->tensor.type)) return out;
      }
      c.rounding.push_back(std::move(v));
    }
    c.codes.resize(integer ? kRuns : 0);
    for (Values& v : c.codes) {
      if (!run(*g, c.inputs, Shake::kCodes, &rng, &v, &error)) return out;
      for (size_t o = 0; o < v.size(); ++o) {
        if (!(v[o]->tensor.type == c.reference[o]->tensor.type)) return out;
      }
    }
  }
  const auto check = [&](const ir::Graph& h, bool with_codes) {
    for (const Case& c : cases) {
      Values got;
      if (!run(h, c.inputs, Shake::kNone, nullptr, &got, &error)) {
        if (error.find("NaN") != std::string::npos) continue;
        out.verdict = Verdict::kDiffers;
        out.what = "optimised it does not run: " + error;
        return;
      }
      for (size_t o = 0; o < got.size(); ++o) {
        Spread s = spread(c.reference[o], c.rounding, o);
        if (with_codes) {
          const Spread more = spread(c.reference[o], c.codes, o);
          s.deviation = std::max(s.deviation, more.deviation);
          for (size_t i = 0; i < s.unstable.size(); ++i) s.unstable[i] = s.unstable[i] || more.unstable[i];
        }
        const std::string what = compare(c.reference[o], got[o], s, with_codes);
        if (what.empty()) continue;
        out.verdict = Verdict::kDiffers;
        out.what = "output \"" + h.output_names()[o] + "\": " + what;
        return;
      }
    }
  };
  check(*optimised, integer);
  if (out.verdict != Verdict::kFine || !integer) return out;
  const std::map<std::string, size_t> changes = out.changes;
  const auto plain = optimise(*g, exact, &out);
  if (plain != nullptr) check(*plain, false);
  if (out.verdict == Verdict::kFine) out.changes = changes;
  return out;
}

// The graph with every line left out that the fault can do without.
std::string shrink(std::string text, uint32_t seed) {
  for (bool again = true; again;) {
    again = false;
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    for (size_t drop = 0; drop < lines.size() && !again; ++drop) {
      std::string shorter;
      for (size_t i = 0; i < lines.size(); ++i) shorter += i == drop ? "" : lines[i] + "\n";
      if (examine(shorter, seed).verdict != Verdict::kDiffers) continue;
      text = shorter;
      again = true;
    }
  }
  return text;
}

void tell(const std::string& text, uint64_t seed, uint64_t number, const Outcome& outcome) {
  const std::string small = shrink(text, static_cast<uint32_t>(number));
  const Outcome fault = examine(small, static_cast<uint32_t>(number));
  std::cout << "\nseed " << seed << ", graph " << number << ": " << outcome.what << "\nshrunk to\n" << small;
  std::cout << "where " << fault.what << "\nchanged by";
  for (const auto& [pass, n] : fault.changes) std::cout << " " << pass;
  std::cout << "\ngood without";
  for (const auto& [pass, n] : fault.changes) {
    if (examine(small, static_cast<uint32_t>(number), {pass}).verdict == Verdict::kFine) std::cout << " " << pass;
  }
  std::string error;
  const auto g = ir::parse_graph(small, &error);
  Outcome unused;
  if (g != nullptr) {
    const auto h = optimise(*g, {}, &unused);
    if (h != nullptr) std::cout << "\noptimised it is\n" << ir::print_graph(*h);
  }
  std::cout << std::endl;
}

uint64_t g_seed = 0, g_number = 0;
void on_crash(int signal) {
  char text[128];
  const int n =
      std::snprintf(text, sizeof(text), "\nseed %llu, graph %llu: signal %d\n", static_cast<unsigned long long>(g_seed),
                    static_cast<unsigned long long>(g_number), signal);
  if (write(1, text, static_cast<size_t>(n)) < 0) _exit(3);
  _exit(2);
}

int fuzz(uint64_t seed, uint64_t count, double seconds, int64_t only) {
  const char* root = std::getenv("VIREO_SOURCE_ROOT");
  const std::vector<Draft> seeds =
      read_seeds(root != nullptr ? std::string(root) + "/converter/passes" : tests::source_path("converter/passes"));
  if (seeds.empty()) {
    std::cout << "no seeds in converter/passes\n";
    return 1;
  }
  for (const int s : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGTERM}) std::signal(s, on_crash);
  const auto start = std::chrono::steady_clock::now();
  std::map<std::string, size_t> fired;
  size_t graphs = 0, changed = 0, no_graph = 0, cannot_run = 0, faults = 0;
  g_seed = seed;
  for (g_number = only < 0 ? 0 : static_cast<uint64_t>(only); graphs < count; ++g_number) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds) break;
    Mutator mutator(seeds, seed * 1000003 + g_number);
    const std::string text = mutator.next().text();
    if (only >= 0) std::cout << text << std::flush;  // also of a graph that ends the program
    const Outcome o = examine(text, static_cast<uint32_t>(g_number));
    no_graph += o.verdict == Verdict::kNoGraph;
    cannot_run += o.verdict == Verdict::kCannotRun;
    if (o.verdict == Verdict::kFine || o.verdict == Verdict::kDiffers) {
      ++graphs;
      changed += !o.changes.empty();
      for (const auto& [pass, n] : o.changes) ++fired[pass];
    }
    if (o.verdict == Verdict::kDiffers) {
      ++faults;
      tell(text, seed, g_number, o);
    }
    if (only >= 0) break;
  }
  std::cout << graphs << " graphs of seed " << seed << " from " << seeds.size() << " patterns, " << changed
            << " changed by passes, " << faults << " faults; besides " << no_graph << " that are no graphs and "
            << cannot_run << " that cannot run\n";
  for (const auto& [pass, n] : fired) std::cout << "  " << pass << " " << n << "\n";
  return faults == 0 && (graphs == count || seconds < 1e9 || only >= 0) ? 0 : 1;
}

}  // namespace
}  // namespace vireo::fuzz

int main(int argc, char** argv) {
  uint64_t seed = 1, count = 3000;
  double seconds = 1e18;
  int64_t only = -1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--count") count = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--seconds") seconds = std::strtod(argv[i + 1], nullptr);
    if (option == "--only") only = std::strtoll(argv[i + 1], nullptr, 10);
  }
  return vireo::fuzz::fuzz(seed, count, seconds, only);
}
