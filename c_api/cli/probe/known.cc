#include "c_api/cli/probe/known.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "c_api/cli/chain_model.h"
#include "integer_model.h"

namespace vireo::cli {
namespace {

struct Handles {
  vireo_model* model = nullptr;
  vireo_session* session = nullptr;
  Handles() = default;
  ~Handles() {
    vireo_session_release(session);
    vireo_model_release(model);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
};

KnownModel chained(const char* name, const Chain& chain) {
  KnownModel out;
  ModelBytes bytes = chain_model(chain);
  out.name = name;
  if (chain.nodes > 1) out.name = std::to_string(chain.nodes) + " x " + out.name;
  out.name += " " + std::to_string(chain.rows) + "x" + std::to_string(chain.columns);
  out.owner = bytes.owner;
  out.data = bytes.data;
  out.size = bytes.size;
  out.integer = chain.op == ChainOp::kIntGemm;
  return out;
}

// Products of two values, and second operands that are broadcast, each in sizes that fill vectors and that fill none.
void add_broadcasts(std::vector<KnownModel>* out) {
  const struct {
    const char* name;
    ChainSpread spread;
  } spreads[] = {{"", ChainSpread::kNone},
                 {" a row", ChainSpread::kRow},
                 {" a column", ChainSpread::kColumn},
                 {" a scalar", ChainSpread::kScalar}};
  for (const ChainOp op : {ChainOp::kAdd, ChainOp::kMul}) {
    for (const auto& [name, spread] : spreads) {
      if (op == ChainOp::kAdd && spread == ChainSpread::kNone) continue;  // as one of the kinds
      const std::string text = std::string(op == ChainOp::kAdd ? "float32 Add" : "float32 Mul") + name;
      for (const int nodes : {1, 2}) {  // of more, products of large values overflow
        for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{37, 64}, {5, 33}})
          out->push_back(chained(text.c_str(), {op, VIREO_FLOAT32, rows, columns, nodes, spread}));
      }
    }
  }
}

std::string differs(size_t at, size_t count, float got, float want) {
  char text[128];
  snprintf(text, sizeof(text), " (element %zu of %zu is %.9g, expected %.9g)", at, count, static_cast<double>(got),
           static_cast<double>(want));
  return text;
}

}  // namespace

std::vector<KnownModel> known_models(bool all) {
  std::vector<KnownModel> out;
  KnownModel integers;
  integers.name = "integer operators";
  integers.data = integer_model;
  integers.size = integer_model_size;
  integers.integer = true;
  out.push_back(integers);
  if (all) add_broadcasts(&out);
  const struct {
    const char* name;
    ChainOp op;
    vireo_dtype dtype;
  } kinds[] = {{"float32 Relu", ChainOp::kRelu, VIREO_FLOAT32},
               {"float32 Add", ChainOp::kAdd, VIREO_FLOAT32},
               {"float32 MatMul", ChainOp::kMatMul, VIREO_FLOAT32},
               {"int8 IntGemm", ChainOp::kIntGemm, VIREO_INT8}};
  for (const auto& kind : kinds) {
    if (!all) {
      out.push_back(chained(kind.name, {kind.op, kind.dtype, 5, 64, 3}));
      continue;
    }
    for (const int nodes : {1, 2, 8}) {
      for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 16}, {37, 64}, {8, 256}})
        out.push_back(chained(kind.name, {kind.op, kind.dtype, rows, columns, nodes}));
      if (kind.op == ChainOp::kIntGemm) continue;  // its columns are a power of two
      for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1}, {3, 7}, {5, 33}})
        out.push_back(chained(kind.name, {kind.op, kind.dtype, rows, columns, nodes}));
    }
  }
  for (KnownModel& m : out) {
    m.slack = all ? 1e-3f : m.slack;
    m.runs = all ? 3 : m.runs;
  }
  return out;
}

void fill_inputs(const vireo_model* model, vireo_session* session, bool integer, uint32_t run) {
  uint32_t state = 12345 + run * 0x9E3779B9u;
  vireo_error error = VIREO_ERROR_INIT;
  for (uint32_t i = 0; i < vireo_model_input_count(model); ++i) {
    vireo_tensor in = {};
    if (vireo_session_input(session, i, &in, &error) != VIREO_OK) throw Wrong{error.message};
    const int64_t step = integer ? 1 : 4;
    const bool wide = run >= 2, codes = in.dtype == VIREO_INT8 || in.dtype == VIREO_UINT8;
    for (int64_t k = 0; k + step <= in.capacity; k += step) {
      state = state * 1664525u + 1013904223u;
      if (integer) {
        static_cast<uint8_t*>(in.data)[k] = static_cast<uint8_t>(state >> 24) & (wide && codes ? 255 : 63);
      } else {
        const float value = ldexpf(static_cast<float>(static_cast<int32_t>(state >> 8) - (1 << 23)) / (1 << 22),
                                   wide ? static_cast<int>(state >> 8 & 15) * 2 - 10 : 0);
        memcpy(static_cast<char*>(in.data) + k, &value, 4);
      }
    }
  }
}

uint32_t run_known(const vireo_runtime* runtime, const KnownModel& model, const std::string& device,
                   vireo_session_options options, Runs* out) {
  Handles h;
  vireo_error error = VIREO_ERROR_INIT;
  if (vireo_model_load_memory(const_cast<vireo_runtime*>(runtime), model.data, model.size, &h.model, &error) !=
      VIREO_OK)
    throw Wrong{"the model \"" + model.name + "\" does not load: " + error.message};
  const std::string list = device == "cpu" ? device : device + ",cpu";
  options.device = list.c_str();
  if (vireo_session_create(h.model, &options, &h.session, &error) != VIREO_OK)
    throw Wrong{"it claimed " + model.name + " and then failed: " + error.message};
  uint32_t there = 0;
  for (uint32_t i = 0; i < vireo_session_node_count(h.session); ++i) {
    vireo_node_info node = VIREO_NODE_INFO_INIT;
    if (vireo_session_node(h.session, i, &node, nullptr) == VIREO_OK && device == node.device) ++there;
  }
  out->clear();
  for (uint32_t run = 0; run < model.runs; ++run) {
    fill_inputs(h.model, h.session, model.integer, run);
    std::vector<vireo_tensor> results(vireo_model_output_count(h.model)), inputs(vireo_model_input_count(h.model));
    Values given;
    for (uint32_t i = 0; run == 1 && i < inputs.size(); ++i) {
      (void)vireo_session_input(h.session, i, &inputs[i], &error);
      const auto* const p = static_cast<const uint8_t*>(inputs[i].data);
      given.emplace_back(p, p + inputs[i].capacity);
    }
    Values passed = given;
    for (size_t i = 0; i < passed.size(); ++i) inputs[i].data = passed[i].data();
    const bool ours = run == 1;
    if (vireo_session_run(h.session, ours ? inputs.data() : nullptr, ours ? static_cast<uint32_t>(inputs.size()) : 0,
                          results.data(), static_cast<uint32_t>(results.size()), &error) != VIREO_OK)
      throw Wrong{"it failed to run " + model.name + ": " + error.message};
    if (passed != given) throw Wrong{"device \"" + device + "\" wrote into an input of " + model.name};
    out->emplace_back();
    for (const vireo_tensor& y : results) {
      const auto* const p = static_cast<const uint8_t*>(y.data);
      out->back().emplace_back(p, p + y.capacity);
    }
  }
  return there;
}

void require_same(const KnownModel& model, const std::string& device, const Values& got, const Values& want,
                  uint32_t run) {
  const std::string wrong = "device \"" + device + "\" computed wrong values in " + model.name;
  for (size_t o = 0; o < want.size(); ++o) {
    for (size_t k = 0; model.integer && k < want[o].size(); ++k) {
      if (got[o][k] != want[o][k])
        throw Wrong{wrong + " (output " + std::to_string(o) + ", byte " + std::to_string(k) + " of " +
                    std::to_string(want[o].size()) + " is " + std::to_string(got[o][k]) + ", expected " +
                    std::to_string(want[o][k]) + ")"};
    }
    float most = 1;
    for (const bool judge : {false, true}) {
      for (size_t k = 0; !model.integer && k + 4 <= want[o].size(); k += 4) {
        float a = 0, b = 0;
        memcpy(&a, got[o].data() + k, 4);
        memcpy(&b, want[o].data() + k, 4);
        if (run >= 2) most = fmaxf(most, fabsf(b));
        if (judge && !(fabsf(a - b) <= 1e-3f * most + model.slack * fabsf(b)))
          throw Wrong{wrong + differs(k / 4, want[o].size() / 4, a, b)};
      }
    }
  }
}

void require_same(const KnownModel& model, const std::string& device, const Runs& got, const Runs& want) {
  const char* const which[] = {"", ", in the second run of a session", ", in a run on values of any size"};
  for (uint32_t run = 0; run < want.size(); ++run) {
    try {
      require_same(model, device, got[run], want[run], run);
    } catch (const Wrong& wrong) {
      throw Wrong{wrong.why + which[run]};
    }
  }
}

void DriverLog::write(void* self, vireo_log_level level, const char* text) {
  auto& log = *static_cast<DriverLog*>(self);
  if (level != VIREO_LOG_ERROR) return;
  const std::lock_guard<std::mutex> guard(log.lock_);
  log.last_ = text;
}

std::string DriverLog::take() {
  const std::lock_guard<std::mutex> guard(lock_);
  std::string text = last_.empty() ? "" : " (it logged: " + last_ + ")";
  last_.clear();
  return text;
}

}  // namespace vireo::cli
