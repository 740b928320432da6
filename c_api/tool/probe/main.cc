// vireo-probe PLUGIN: what a runtime lets a plug-in do in a process of its own before it opens it
// (runtime/platform/probe.h).
//
// Lines on standard output: "at ..." before each step, so that the parent knows where a crash or a hang was; at the end
// "ok", "refused REASON" (the runtime would say the same), or "wrong REASON".
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <exception>
#include <string>
#include <vector>

#include "c_api/tool/chain_model.h"
#include "integer_model.h"
#include "vireo/vireo.h"

namespace {

using vireo::tool::Chain;
using vireo::tool::ChainOp;
using Values = std::vector<std::vector<uint8_t>>;

void say(const char* word, const std::string& text) {
  printf("%s%s%s\n", word, text.empty() ? "" : " ", text.c_str());
  fflush(stdout);
}

struct Wrong {
  std::string why;
};

struct Model {
  std::string name;
  const void* data;
  size_t size;
  bool integer;
};

// Outputs of one run on values that depend on nothing. False where the device runs none of it.
bool run(vireo_runtime* runtime, const Model& what, const std::string& device, Values* out) {
  struct Handles {
    vireo_model* model = nullptr;
    vireo_session* session = nullptr;
    ~Handles() {
      vireo_session_release(session);
      vireo_model_release(model);
    }
  } h;
  vireo_error error = VIREO_ERROR_INIT;
  if (vireo_model_load_memory(runtime, what.data, what.size, &h.model, &error) != VIREO_OK)
    throw Wrong{std::string("the probe's own model does not load: ") + error.message};
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  const std::string list = device == "cpu" ? device : device + ",cpu";
  options.device = list.c_str();
  options.failover = VIREO_FAILOVER_NEVER;  // nothing is put right behind the probe's back
  const vireo_status made = vireo_session_create(h.model, &options, &h.session, &error);
  if (made != VIREO_OK) throw Wrong{"it claimed " + what.name + " and then failed: " + error.message};
  bool there = false;
  for (uint32_t i = 0; i < vireo_session_node_count(h.session); ++i) {
    vireo_node_info node = VIREO_NODE_INFO_INIT;
    there = there || (vireo_session_node(h.session, i, &node, nullptr) == VIREO_OK && device == node.device);
  }
  if (!there) return false;
  uint32_t state = 12345;
  for (uint32_t i = 0; i < vireo_model_input_count(h.model); ++i) {
    vireo_tensor in = {};
    if (vireo_session_input(h.session, i, &in, &error) != VIREO_OK) throw Wrong{error.message};
    for (int64_t k = 0; k < in.capacity; ++k) {
      state = state * 1664525u + 1013904223u;
      if (!what.integer) {
        if (k % 4 == 0) {
          const float value = static_cast<float>(static_cast<int32_t>(state >> 8) - (1 << 23)) / (1 << 22);
          if (k + 4 <= in.capacity) memcpy(static_cast<char*>(in.data) + k, &value, 4);
        }
      } else {
        static_cast<uint8_t*>(in.data)[k] = static_cast<uint8_t>(state >> 24) & 63;
      }
    }
  }
  std::vector<vireo_tensor> results(vireo_model_output_count(h.model));
  if (vireo_session_run(h.session, nullptr, results.data(), &error) != VIREO_OK)
    throw Wrong{"it failed to run " + what.name + ": " + error.message};
  for (const vireo_tensor& y : results) {
    const auto* const p = static_cast<const uint8_t*>(y.data);
    out->emplace_back(p, p + y.capacity);
  }
  return true;
}

void compare(const Model& what, const std::string& device, const Values& got, const Values& want) {
  for (size_t o = 0; o < want.size(); ++o) {
    if (what.integer) {
      if (got[o] != want[o]) throw Wrong{"device \"" + device + "\" computed wrong values in " + what.name};
      continue;
    }
    for (size_t k = 0; k + 4 <= want[o].size(); k += 4) {
      float a = 0, b = 0;
      memcpy(&a, got[o].data() + k, 4);
      memcpy(&b, want[o].data() + k, 4);
      if (!(fabsf(a - b) <= 1e-3f + 1e-2f * fabsf(b)))
        throw Wrong{"device \"" + device + "\" computed wrong values in " + what.name};
    }
  }
}

int probe(const char* path) {
  say("at", "was opened");
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.plugins = path;
  options.probe = VIREO_PROBE_NEVER;
  options.threads = 2;
  vireo_runtime* runtime = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  if (vireo_runtime_create(&options, &runtime, &error) != VIREO_OK) {
    say("refused", error.message);
    return 0;
  }
  vireo_plugin_info info = VIREO_PLUGIN_INFO_INIT;
  if (vireo_runtime_plugin_count(runtime) != 1 || vireo_runtime_plugin(runtime, 0, &info, &error) != VIREO_OK ||
      info.reason[0] != 0) {
    say("refused", info.reason);
    return 0;
  }
  const Model integers = {"integer operators", integer_model, integer_model_size, true};
  std::vector<Model> models = {integers};
  std::vector<vireo::tool::ModelBytes> kept;
  const auto add = [&](const char* name, Chain chain) {
    kept.push_back(vireo::tool::chain_model(chain));
    models.push_back({name, kept.back().data, kept.back().size, chain.op == ChainOp::kIntGemm});
  };
  add("float32 Relu", {ChainOp::kRelu, VIREO_FLOAT32, 5, 64, 3});
  add("float32 Add", {ChainOp::kAdd, VIREO_FLOAT32, 5, 64, 3});
  add("float32 MatMul", {ChainOp::kMatMul, VIREO_FLOAT32, 5, 64, 3});
  add("int8 IntGemm", {ChainOp::kIntGemm, VIREO_INT8, 5, 64, 3});
  // Plug-ins stand behind what is built in.
  const uint32_t count = vireo_runtime_device_count(runtime);
  for (uint32_t d = count - info.device_count; d < count; ++d) {
    vireo_device_info device = VIREO_DEVICE_INFO_INIT;
    if (vireo_runtime_device(runtime, d, &device, &error) != VIREO_OK) throw Wrong{error.message};
    for (const Model& m : models) {
      say("at", std::string("ran ") + m.name + " on \"" + device.name + "\"");
      Values got, want;
      if (!run(runtime, m, device.name, &got)) continue;
      (void)run(runtime, m, "cpu", &want);
      compare(m, device.name, got, want);
    }
  }
  say("at", "was closed");
  vireo_runtime_release(runtime);
  say("ok", "");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: vireo-probe PLUGIN\n");
    return 2;
  }
  try {
    return probe(argv[1]);
  } catch (const Wrong& wrong) {
    say("wrong", wrong.why);
  } catch (const std::exception& e) {
    say("wrong", e.what());
  }
  return 0;
}
