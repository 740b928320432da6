#include "converter/cli/report_data.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>

#include "c_api/cli/file.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/latency.h"
#include "converter/cli/onnx_source.h"
#include "converter/cli/verbs.h"
#include "converter/ir/constant.h"
#include "converter/report/page.h"
#include "converter/report/text.h"
#include "sdk/format/container.h"
#include "sdk/format/model_generated.h"

namespace vireo::cli {
namespace {

std::string text_of(const char* s) { return s == nullptr ? "" : report::safe_text(s, report::kMostText); }
std::string text_of(const flatbuffers::String* s) { return s == nullptr ? "" : text_of(s->c_str()); }

Json text_list(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* list) {
  Json out = Json::array();
  for (flatbuffers::uoffset_t i = 0; list != nullptr && i < list->size(); ++i) out.push_back(text_of(list->Get(i)));
  return out;
}

Json provenance_json(const fb::Model& model) {
  const fb::Provenance* from = model.provenance();
  if (from == nullptr) return Json();
  std::string hash;
  if (from->source_hash() != nullptr) hash = report::hex(from->source_hash()->data(), from->source_hash()->size());
  return {{"source", text_of(from->source())},     {"source_sha256", hash},
          {"producer", text_of(from->producer())}, {"converter", text_of(from->converter())},
          {"options", text_list(from->options())}, {"opset", text_list(from->opset())}};
}

// Where tensors of the main graph lie, and from which step to which they live. Values of "after".
Json memory_json(const fb::Model& model, const report::Side& after) {
  const report::SideGraph& g = after.graphs[0];
  const fb::Plan* plan = model.plans() == nullptr || model.plans()->size() == 0 ? nullptr : model.plans()->Get(0);
  const fb::SubgraphPlan* main = plan == nullptr || plan->subgraphs() == nullptr || plan->subgraphs()->size() == 0
                                     ? nullptr
                                     : plan->subgraphs()->Get(0);
  const auto steps = static_cast<int64_t>(g.nodes.size());
  struct Life {
    int64_t first = -1, last = -1;
  };
  const size_t tensors = model.subgraphs()->Get(0)->tensors()->size();  // values of graph 0 are these, in this order
  std::vector<Life> lives(tensors);
  const auto life = [&](int32_t v) {
    return v >= 0 && static_cast<size_t>(v) < tensors ? &lives[static_cast<size_t>(v)] : nullptr;
  };
  for (const int32_t v : g.inputs) *life(v) = {0, 0};
  for (int64_t step = 0; step < steps; ++step) {
    const report::SideNode& n = after.nodes[static_cast<size_t>(g.nodes[static_cast<size_t>(step)])];
    for (const int32_t v : n.outputs) {
      if (Life* l = life(v); l != nullptr) *l = {step, step};
    }
    for (const int32_t v : n.inputs) {
      if (Life* l = life(v); l != nullptr && l->first >= 0) l->last = step;
    }
  }
  for (const int32_t v : g.outputs) life(v)->last = std::max<int64_t>(steps - 1, 0);
  constexpr uint64_t kNowhere = UINT64_MAX / 2;  // above: no place of its own, see model.fbs
  Json list = Json::array();
  bool open = false;
  for (size_t t = 0; t < tensors; ++t) {
    const report::SideValue& v = after.values[t];
    if (v.constant || lives[t].first < 0) continue;
    open = open || v.open || v.bytes < 0;
    Json entry = {
        {"value", t}, {"first", lives[t].first}, {"last", lives[t].last}, {"bytes", std::max<int64_t>(v.bytes, 0)}};
    if (main != nullptr) {
      const uint64_t offset = main->offsets()->Get(static_cast<flatbuffers::uoffset_t>(t));
      if (offset < kNowhere) entry["offset"] = offset;
    }
    list.push_back(std::move(entry));
  }
  Json out = {{"steps", steps}, {"planned", main != nullptr}, {"open", open}};
  if (main != nullptr) out["arena_bytes"] = main->bytes(), out["lower_bound_bytes"] = main->lower_bound();
  out["tensors"] = std::move(list);
  if (main == nullptr || main->regions() == nullptr) return out;
  // What bodies work in lies in their owner's region.
  flatbuffers::uoffset_t region = 0;
  const fb::Subgraph& graph = *model.subgraphs()->Get(0);
  for (int64_t step = 0; step < steps; ++step) {
    const fb::Node& n = *graph.nodes()->Get(static_cast<flatbuffers::uoffset_t>(step));
    if (n.subgraphs() == nullptr || n.subgraphs()->size() == 0) continue;
    uint64_t bytes = 0;
    for (const uint32_t b : *n.subgraphs()) bytes = std::max(bytes, plan->subgraphs()->Get(b)->bytes());
    if (region < main->regions()->size() && bytes > 0) {
      out["regions"].push_back({{"node", g.nodes[static_cast<size_t>(step)]},
                                {"step", step},
                                {"offset", main->regions()->Get(region)},
                                {"bytes", bytes}});
    }
    ++region;
  }
  return out;
}

// Texts of the model among what the converter tells. Names are cut as those of nodes are, so that they are found.
void make_safe(Json* json, size_t most) {
  if (json->is_string()) *json = report::safe_text(json->get<std::string>(), most);
  if (json->is_array()) {
    for (Json& value : *json) make_safe(&value, most);
  }
  if (!json->is_object()) return;
  for (auto& [key, value] : json->items()) {
    const bool name = key == "node" || key == "name" || key == "tensor" || key == "value";
    make_safe(&value, name ? report::kMostName : most);
  }
}

// Nodes of a side in the order in which sessions list them, with their depth.
void walk(const report::Side& side, int32_t graph, uint32_t depth, std::vector<std::pair<int32_t, uint32_t>>* out) {
  for (const int32_t id : side.graphs[static_cast<size_t>(graph)].nodes) {
    out->emplace_back(id, depth);
    for (const int32_t b : side.nodes[static_cast<size_t>(id)].bodies) walk(side, b, depth + 1, out);
  }
}

}  // namespace

Json file_report(const ModelBytes& file, const report::Recorder& before) {
  const auto* bytes = static_cast<const uint8_t*>(file.data);
  FileHeader header;
  Error error;
  if (read_header({bytes, file.size}, file.size, &header, &error) != Status::kOk)
    throw Failure("the file for the report changed while it was read", "write the report again");
  if (header.cipher_offset != 0)
    throw Failure("the graph of an enciphered file cannot be shown", "write the report when the model is converted");
  flatbuffers::Verifier verifier(bytes + header.model_offset, header.model_size);
  if (!fb::VerifyModelBuffer(verifier))
    throw Failure("the file for the report changed while it was read", "write the report again");
  const fb::Model& model = *fb::GetModel(bytes + header.model_offset);
  report::Side after = report::side_of(model, bytes);
  Json out = {{"provenance", provenance_json(model)}, {"file_bytes", file.size}, {"memory", memory_json(model, after)}};
  if (!before.empty()) out["before"] = report::side_json(before.finish(&after));
  out["after"] = report::side_json(after);
  std::vector<std::pair<int32_t, uint32_t>> listed;
  walk(after, 0, 0, &listed);
  Json order = Json::array();
  for (const auto& [id, depth] : listed) order.push_back({id, depth});
  out["after"]["order"] = std::move(order);
  return out;
}

Json placement_report(const Model& model, const SessionChoice& choice, const Bounds& bounds, const Json& after) {
  Json nodes = Json::object();
  NodeFinder finder(after);
  visit_placement(model, choice, bounds, [&](const vireo_placed_node& n) {
    const int32_t id = finder.find(n.depth, text_of(n.name), text_of(n.op));
    if (id < 0) return;
    Json entry = {{"device", text_of(n.device)}, {"kernel", text_of(n.kernel)}};
    if (n.reason != nullptr && *n.reason != 0) entry["reason"] = text_of(n.reason);
    if (n.part != UINT32_MAX) {
      entry["part"] = n.part;
      if (n.part_ns > 0) entry["part_ns"] = n.part_ns;
    }
    if (n.second != nullptr) entry["second_device"] = text_of(n.second);
    if (n.bytes_crossing != 0) entry["bytes_crossing"] = n.bytes_crossing;
    for (uint32_t i = 0; i < n.verdict_count; ++i) {
      const vireo_verdict& v = *n.verdicts[i];
      if (entry["device"] == text_of(v.device)) continue;
      entry["others"].push_back({{"device", text_of(v.device)},
                                 {"takes", v.takes != 0},
                                 {"allowed", v.allowed != 0},
                                 {"kernel", text_of(v.kernel)},
                                 {"reason", text_of(v.reason)}});
      if (v.time_ns > 0) entry["others"].back()["time_ns"] = v.time_ns;
    }
    nodes[std::to_string(id)] = std::move(entry);
  });
  return {{"nodes", std::move(nodes)}};
}

ModelBytes mapped(const std::string& path) {
  std::string error;
  const std::shared_ptr<ir::MappedFile> file = ir::MappedFile::open(path, &error);
  if (file == nullptr) throw Failure(path + ": " + error, "write the report again");
  return {file, file->bytes().data(), file->bytes().size()};
}

namespace {

Json told_by_converter(const std::string& path, const ModelBytes& file, const report::Recorder& recorder,
                       const ConvertReport& report, const Diagnostics& diagnostics) {
  Json data = {{"vireo_report", kReportVersion}, {"model", report::safe_text(path)}};
  Json told = report_json(report);
  told["diagnostics"] = diagnostics_json(diagnostics);
  make_safe(&told, report::kMostText);
  data.update(told);
  data.update(file_report(file, recorder));
  if (struct stat info = {}; stat(path.c_str(), &info) == 0) data["source_bytes"] = info.st_size;
  // Which step makes each value that was compared.
  if (data.contains("layers")) {
    std::map<std::string, int32_t> makers;
    for (const Json& node : data["after"]["graphs"][0]["nodes"]) {
      for (const Json& v : data["after"]["nodes"][node.get<size_t>()]["outputs"]) {
        if (v.get<int64_t>() >= 0)
          makers[data["after"]["values"][v.get<size_t>()]["name"].get<std::string>()] = node.get<int32_t>();
      }
    }
    for (Json& layer : data["layers"]) {
      const auto maker = makers.find(layer["value"].get<std::string>());
      if (maker != makers.end()) layer["node"] = maker->second;
    }
  }
  return data;
}

}  // namespace

namespace {

void add_session(const Model& model, const SessionChoice& choice, const Bounds& bounds, const Json& assumed,
                 Json* data) {
  const vireo_memory memory = memory_of(model, choice, bounds);
  (*data)["session"] = {{"arena_bytes", memory.total_bytes},
                        {"arena_lower_bound_bytes", memory.lower_bound_bytes},
                        {"packed_bytes", memory.packed_bytes},
                        {"assumed", assumed}};
  (*data)["placement"] = placement_report(model, choice, bounds, (*data)["after"]);
}

// What a session without further options would have, and its times where `seconds` are given for that. Open dimensions
// are taken as 1, which is said.
void add_session(const ModelBytes& file, double seconds, Json* data) {
  try {
    const Model model(file, "the model", seconds > 0 ? 0 : 1);
    Bounds bounds;
    std::vector<std::string> lines;
    const std::vector<Array> inputs = inputs_to_measure(model, {}, {}, {}, &bounds, &lines);
    Json assumed = Json::array();
    for (const std::string& line : lines) assumed.push_back(report::safe_text(line));
    const SessionChoice choice;
    add_session(model, choice, bounds, assumed, data);
    if (seconds > 0) add_latency(measure_latency(model, choice, bounds, inputs, seconds), data);
  } catch (const Failure& failure) {
    (*data)["placement"] = {{"error", report::safe_text(failure.what(), report::kMostText)}};
  }
}

}  // namespace

void add_latency(const Json& latency, Json* data) {
  Json out = latency, nodes = Json::object();
  NodeFinder finder((*data)["after"]);
  std::vector<int32_t> ids;  // by place in the list
  for (Json& n : out["nodes"]) {
    const int32_t id =
        finder.find(n["depth"].get<uint32_t>(), n["name"].get<std::string>(), n["op"].get<std::string>());
    ids.push_back(id);
    n.erase("name");
    n.erase("op");
    if (id >= 0) nodes[std::to_string(id)] = n;
  }
  out["nodes"] = std::move(nodes);
  for (Json& run : out["timeline"]) {
    Json slices = Json::array();
    for (Json& slice : run["slices"]) {
      slice[0] = ids[slice[0].get<size_t>()];
      if (slice[0].get<int32_t>() >= 0) slices.push_back(std::move(slice));
    }
    run["slices"] = std::move(slices);
  }
  (*data)["latency"] = std::move(out);
}

namespace {

// Of a model as a verb has loaded it, and of a session over it.
Json model_report(const Model& model, const SessionChoice& choice, const Bounds& bounds) {
  Json data;
  if (model.converted()) {  // once more, the same way, to see the passes at work
    report::Recorder recorder;
    ConvertOptions options;
    recorder.watch(&options);
    Diagnostics diagnostics;
    ConvertReport report;
    FileBytes bytes;
    if (!convert_to_memory(model.name(), options, &bytes, &diagnostics, &report))
      throw refusal(model.name(), diagnostics);
    data = told_by_converter(model.name(), share(std::move(bytes)), recorder, report, diagnostics);
  } else {
    data = {{"vireo_report", kReportVersion}, {"model", report::safe_text(model.name())}};
    data.update(file_report(mapped(model.name()), report::Recorder()));
  }
  add_session(model, choice, bounds, Json::array(), &data);
  return data;
}

}  // namespace

void bench_report(const Model& model, const std::string& path, const SessionChoice& choice, const Bounds& bounds,
                  const Json& latency) {
  Json data = model_report(model, choice, bounds);
  add_latency(latency, &data);
  write_report(path, data);
}

void eval_report(const Model& model, const std::string& path, const SessionChoice& choice, const Bounds& bounds,
                 const Json& evaluation) {
  Json data = model_report(model, choice, bounds);
  data["evaluation"] = evaluation;
  make_safe(&data["evaluation"], report::kMostText);
  write_report(path, data);
}

void add_quantization(const Json& quantization, Json* data) {
  (*data)["quantization"] = quantization;
  make_safe(&(*data)["quantization"], report::kMostText);
}

NodeFinder::NodeFinder(const Json& after) {
  for (const Json& entry : after["order"]) {
    const auto id = entry[0].get<int32_t>();
    const Json& node = after["nodes"][static_cast<size_t>(id)];
    list_.push_back({id, entry[1].get<uint32_t>(), node.value("name", ""), node.value("kind", node.value("op", ""))});
  }
}

int32_t NodeFinder::find(uint32_t depth, const std::string& name, const std::string& kind) {
  const std::string wanted = report::safe_text(name), of = report::safe_text(kind);
  // What sessions list stands in this order, with bodies left out here and there.
  for (size_t i = next_; i < list_.size(); ++i) {
    const Entry& e = list_[i];
    if (e.depth != depth || e.name != wanted || e.kind != of) continue;
    next_ = i + 1;
    return e.id;
  }
  return -1;
}

Json conversion_report(const std::string& path, const ModelBytes& file, const report::Recorder& recorder,
                       const ConvertReport& report, const Diagnostics& diagnostics, double bench_seconds) {
  Json data = told_by_converter(path, file, recorder, report, diagnostics);
  add_session(file, bench_seconds, &data);
  return data;
}

void write_report(const std::string& path, const Json& data) {
  const bool page = path.size() > 5 && path.compare(path.size() - 5, 5, ".html") == 0;
  write_file(path, page ? report::page_of(data, data.value("model", "Vireo report")) : json_text(data, 1) + "\n");
}

}  // namespace vireo::cli
