// vireo inspect: what a model takes, gives and needs.
#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "c_api/cli/app.h"
#include "c_api/cli/folded_text.h"
#include "c_api/cli/options.h"

namespace vireo::cli {
namespace {

struct InspectOptions {
  std::string model, device;
  bool json = false, kernels = false;
};

const char* kind_text(vireo_meaning_kind kind) {
  switch (kind) {
    case VIREO_MEANING_IMAGE:
      return "image";
    case VIREO_MEANING_AUDIO:
      return "audio";
    case VIREO_MEANING_TOKENS:
      return "tokens";
    case VIREO_MEANING_FEATURES:
      return "features";
    case VIREO_MEANING_STATE:
      return "state";
    default:
      return "";
  }
}

Json meaning_json(const vireo_meaning& m) {
  Json out = {{"kind", kind_text(m.kind)}};
  const auto text = [&](const char* key, const char* value) {
    if (value != nullptr && value[0] != 0) out[key] = value;
  };
  text("layout", m.layout);
  text("color", m.color);
  text("resize", m.resize);
  out["range"] = {m.range_lo, m.range_hi};
  if (m.mean_count != 0) out["mean"] = std::vector<float>(m.mean, m.mean + m.mean_count);
  if (m.std_count != 0) out["std"] = std::vector<float>(m.std, m.std + m.std_count);
  if (m.sample_rate != 0) out["sample_rate"] = m.sample_rate;
  return out;
}

Json value_json(const vireo_value_info& info, const vireo_meaning& meaning) {
  Json shape = Json::array();
  for (int32_t d = 0; d < info.rank; ++d) {
    if (info.min_dims[d] == info.max_dims[d]) {
      shape.push_back(info.max_dims[d]);
      continue;
    }
    Json dim = {{"name", info.dim_names[d] != nullptr ? info.dim_names[d] : "?"}, {"min", info.min_dims[d]}};
    if (info.max_dims[d] >= 0)
      dim["max"] = info.max_dims[d];
    else
      dim["max"] = nullptr;
    shape.push_back(dim);
  }
  Json out = {
      {"name", info.name}, {"dtype", vireo_dtype_text(info.dtype)}, {"shape", shape}, {"type", type_text(info)}};
  if (info.state_of >= 0) out["state_of"] = info.state_of;
  if (meaning.kind != VIREO_MEANING_NONE) out["meaning"] = meaning_json(meaning);
  return out;
}

Json values_json(const Model& model, bool inputs) {
  Json out = Json::array();
  const auto& values = inputs ? model.inputs() : model.outputs();
  for (size_t i = 0; i < values.size(); ++i) {
    vireo_meaning meaning = VIREO_MEANING_INIT;
    vireo_error error = VIREO_ERROR_INIT;
    const uint32_t index = static_cast<uint32_t>(i);
    check_file(inputs ? vireo_model_input_meaning(model.get(), index, &meaning, &error)
                      : vireo_model_output_meaning(model.get(), index, &meaning, &error),
               error, "read the signature of", model.name());
    out.push_back(value_json(values[i], meaning));
  }
  return out;
}

Json histogram(const std::map<std::string, int>& counts) {
  std::vector<std::pair<std::string, int>> ops(counts.begin(), counts.end());
  std::stable_sort(ops.begin(), ops.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  Json out = Json::object();
  for (const auto& [op, count] : ops) out[op] = count;
  return out;
}

// "39: Conv 20, Relu 19", and how many nodes the file has with those inside of them.
std::string nodes_text(const Json& result, uint32_t all) {
  if (!result.contains("steps")) return std::to_string(all) + ", those inside fused nodes and bodies counted";
  int count = 0;
  std::string ops;
  for (const auto& [op, n] : result["steps"].items()) {
    count += n.get<int>();
    ops += (ops.empty() ? ": " : ", ") + op + " " + std::to_string(n.get<int>());
  }
  const bool inside = all > static_cast<uint32_t>(count);
  return std::to_string(count) + (inside ? " (" + std::to_string(all) + " with those inside)" : "") + ops;
}

// For pasting behind -DVIREO_KERNELS=: one line, however long.
void print_kernels(const InspectOptions& options, const Model& model, const Context& context) {
  if (model.converted())
    throw Failure("--kernels lists the operators of a .vireo file, and " + options.model + " is none",
                  "convert it as the firmware gets it: vireo convert " + options.model + " -o MODEL.vireo",
                  {"failed", options.model, "", "", "", ""});
  const std::vector<std::string> kernels = context.extensions.kernels_of(options.model);
  if (options.json) return print_json({{"model", options.model}, {"kernels", kernels}});
  std::string list;
  for (const std::string& kernel : kernels) list += (list.empty() ? "" : ";") + kernel;
  std::cout << as_is << (list.empty() ? "none" : list) << "\n";
}

void inspect(const InspectOptions& options, Context& context) {
  const Model model(options.model, 1, context.extensions.convert);
  if (options.kernels) return print_kernels(options, model, context);
  const vireo_model_about about = model.about();
  const auto text = [](const char* s) { return s != nullptr ? s : ""; };
  Json result = {{"model", options.model},
                 {"format", std::to_string(about.format_major) + "." + std::to_string(about.format_minor)},
                 {"source", text(about.source)},
                 {"producer", text(about.producer)},
                 {"converter", text(about.converter)},
                 {"file_bytes", about.file_bytes},
                 {"weight_bytes", about.weight_bytes},
                 {"hashes", model.converted() ? "not stored yet" : "good"},
                 {"integer_only", about.integer_only != 0},
                 {"nodes", about.node_count},
                 {"plans", about.plan_count},
                 {"segments", about.segment_count},
                 {"tests", vireo_model_test_count(model.get())},
                 {"inputs", values_json(model, true)},
                 {"outputs", values_json(model, false)}};

  Json targets = Json::array();
  for (uint32_t i = 1; i < vireo_model_plan_count(model.get()); ++i) {
    vireo_plan_info plan = VIREO_PLAN_INFO_INIT;
    vireo_error error = VIREO_ERROR_INIT;
    check_file(vireo_model_plan(model.get(), i, &plan, &error), error, "read the plans of", model.name());
    targets.push_back({{"target", plan.target},
                       {"devices", plan.devices},
                       {"usable", plan.usable != 0},
                       {"automatic", plan.automatic != 0},
                       {"reason", plan.reason}});
  }
  result["targets"] = targets;

  Bounds bounds;
  std::vector<std::string> open;
  std::set<std::string> names;
  for (const vireo_value_info& info : model.inputs()) {
    for (int32_t d = 0; d < info.rank; ++d) {
      if (info.max_dims[d] < 0 && info.dim_names[d] != nullptr) names.insert(info.dim_names[d]);
    }
    for (const std::string& line : bounds.close(info, 1)) open.push_back(line);
  }
  result["open_dimensions"] = open;
  std::string problem;
  std::map<std::string, int> steps;  // by operator; what is inside a fused node or a body belongs to its owner
  try {
    const SessionChoice choice{options.device, 1, false};
    if (open.empty()) {
      const vireo_memory memory = memory_of(model, choice, bounds);
      result["memory"] = {{"arena_bytes", memory.total_bytes},
                          {"tensor_bytes", memory.tensor_bytes},
                          {"scratch_bytes", memory.scratch_bytes},
                          {"state_bytes", memory.state_bytes},
                          {"lower_bound_bytes", memory.lower_bound_bytes},
                          {"packed_bytes", memory.packed_bytes}};
    }
    const Session session = make_session(model, {options.device, 1, false, VIREO_PACKING_NEVER}, bounds);
    std::map<std::string, int> counts;
    for (const vireo_node_info& node : nodes_of(session.get())) {
      ++counts[node.op];
      if (node.depth == 0) ++steps[node.op];
    }
    result["ops"] = histogram(counts);
    result["steps"] = histogram(steps);
  } catch (const ApiFailure& failure) {  // a file for another device is still worth looking at
    problem = failure.what();
    result["not_runnable_here"] = problem;
  }
  if (context.extensions.inspect_file && !model.converted()) context.extensions.inspect_file(options.model, &result);
  if (options.json) return print_json(result);

  std::cout << options.model << ": " << bytes_text(about.file_bytes) << ", format "
            << result["format"].get<std::string>() << ", weights " << bytes_text(about.weight_bytes)
            << (model.converted() ? ", converted in memory\n" : ", all hashes good\n");
  std::cout << "  from        " << text(about.source)
            << (about.producer != nullptr && about.producer[0] != 0 ? std::string(" by ") + about.producer : "")
            << ", converted by " << text(about.converter) << "\n";
  std::cout << "  integer     " << (about.integer_only != 0 ? "yes: the same bits on every device" : "no") << "\n";
  if (about.integer_only == 0 && result.value("quantized", false)) {
    constexpr size_t kShown = 10;
    const Json& nodes = result["float_nodes"];
    std::cout << "              " << nodes.size() << (nodes.size() == 1 ? " node computes" : " nodes compute")
              << " in floating point:";
    for (size_t i = 0; i < nodes.size() && i < kShown; ++i) {
      std::cout << (i == 0 ? " " : ", ") << nodes[i]["op"].get<std::string>() << " \""
                << nodes[i]["name"].get<std::string>() << "\"";
    }
    std::cout << (nodes.size() > kShown ? "; all with --json\n" : "\n");
  }
  std::cout << "  tests       " << vireo_model_test_count(model.get())
            << (vireo_model_test_count(model.get()) != 0 ? " (vireo selftest runs them)\n" : "\n");
  for (const char* side : {"inputs", "outputs"}) {
    for (const Json& v : result[side]) {
      std::cout << (side[0] == 'i' ? "  input       " : "  output      ") << v["name"].get<std::string>() << ": "
                << shortened(v["type"].get<std::string>(), kTypeColumns);
      if (v.contains("meaning")) std::cout << " (" << v["meaning"]["kind"].get<std::string>() << ")";
      std::cout << "\n";
    }
  }
  if (!open.empty()) {
    std::cout << "  memory      depends on open dimensions (convert with --bound NAME=8 to bound them):";
    for (const std::string& name : names) std::cout << " " << name;
    std::cout << "\n";
  } else if (result.contains("memory")) {
    const Json& m = result["memory"];
    std::cout << "  memory      " << bytes_text(m["arena_bytes"].get<uint64_t>()) << " arena: tensors "
              << bytes_text(m["tensor_bytes"].get<uint64_t>()) << " (lower bound "
              << bytes_text(m["lower_bound_bytes"].get<uint64_t>()) << "), scratch "
              << bytes_text(m["scratch_bytes"].get<uint64_t>()) << ", state "
              << bytes_text(m["state_bytes"].get<uint64_t>()) << "; packed weights "
              << bytes_text(m["packed_bytes"].get<uint64_t>()) << "\n";
  }
  for (const Json& plan : result["targets"]) {
    std::cout << "  target      " << plan["target"].get<std::string>() << ": " << plan["devices"].get<std::string>()
              << (plan["usable"].get<bool>() ? "" : "; not usable here: " + plan["reason"].get<std::string>()) << "\n";
  }
  std::cout << "  nodes       " << nodes_text(result, about.node_count) << "\n";
  if (!problem.empty()) std::cout << "  not runnable here: " << problem << "\n";
}

}  // namespace

void add_inspect(Command app, Context& context) {
  auto options = std::make_shared<InspectOptions>();
  Command verb = app.add_verb("inspect", "Show a model's inputs, outputs, memory, operators and origin");
  add_model(verb, context, &options->model);
  add_device(verb, &options->device);
  if (context.extensions.kernels_of)
    verb.add_flag("--kernels", options->kernels,
                  "print the operators that a build must have to run the file, as VIREO_KERNELS takes them");
  add_json(verb, &options->json);
  verb.footer(
      "Examples:\n"
      "  vireo inspect model.vireo\n"
      "  vireo inspect model.vireo --json\n"
      "  cmake --preset cortex-m4 -DVIREO_KERNELS=\"$(vireo inspect model.vireo --kernels)\"");
  verb.callback([options, &context] { inspect(*options, context); });
}

}  // namespace vireo::cli
