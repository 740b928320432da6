#include "c_api/cli/handles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <set>

#include "c_api/cli/clock.h"
#include "c_api/cli/file.h"
#include "c_api/cli/keys.h"
#include "c_api/cli/speeds.h"
#include "sdk/files/regular_file.h"

namespace vireo::cli {
namespace {

void log_warning(void*, vireo_log_level level, const char* text) {
  if (level <= VIREO_LOG_WARNING) std::cerr << (level == VIREO_LOG_ERROR ? "error: " : "warning: ") << text << "\n";
}

// What the library refuses has one status, and several ways out.
std::string help_for(vireo_status status, const vireo_error& error, const std::string& message,
                     const std::string& if_invalid) {
  const auto says = [&message](const char* words) { return message.find(words) != std::string::npos; };
  if (status == VIREO_IO && error.node[0] != 0) return "";  // a device's own fault, no file's
  switch (status) {
    case VIREO_INVALID_MODEL:
      if (says("not a .vireo file"))
        return "check that it is the right file; vireo convert makes one from an ONNX model";
      return if_invalid;
    case VIREO_UNSUPPORTED:
      if (says("is encrypted with key")) return "name the file of this key in --keys, or in VIREO_KEYS";
      if (says("this build reads"))
        return "convert the model again with this version, or take the version that wrote it";
      if (says("no plan for target")) return "convert the model with this --target, or leave --target away";
      return "choose another --device, or a build with the missing part";
    case VIREO_IO:
      return "check that the path is right and the file may be read";
    default:
      return "";
  }
}

// The status as C programs write it.
const char* code_of(vireo_status status) {
  switch (status) {
    case VIREO_INVALID_ARGUMENT:
      return "VIREO_INVALID_ARGUMENT";
    case VIREO_INVALID_MODEL:
      return "VIREO_INVALID_MODEL";
    case VIREO_UNSUPPORTED:
      return "VIREO_UNSUPPORTED";
    case VIREO_OUT_OF_ARENA:
      return "VIREO_OUT_OF_ARENA";
    case VIREO_DEVICE_LOST:
      return "VIREO_DEVICE_LOST";
    case VIREO_IO:
      return "VIREO_IO";
    case VIREO_BUSY:
      return "VIREO_BUSY";
    case VIREO_CANCELLED:
      return "VIREO_CANCELLED";
    default:
      return "failed";
  }
}

// Whether the runtime's loader judges what lies there: a file with the name or the content of ours, so that a damaged
// one is never taken for ONNX, and whatever is no file that can be read.
bool for_loader(const std::string& path) {
  size_t size = 0;
  int error = 0;
  const int file = files::open_regular(path, &size, &error);
  if (file < 0) return true;
  char start[8] = {};
  size_t have = 0;
  while (have < sizeof(start)) {
    const ssize_t got = read(file, start + have, sizeof(start) - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<size_t>(got);
  }
  close(file);
  return memcmp(start, "\x89VIREO\n\x1a", sizeof(start)) == 0 || ends_with(path, ".vireo");
}

// The name of a dimension that a session can bound; NULL where it is fixed, or follows from others ("2 * length").
const char* symbol(const vireo_value_info& info, int32_t d) {
  return info.dim_names[d] == nullptr || info.dim_names[d][0] == 0 ? nullptr : info.dim_names[d];
}

}  // namespace

Runtime start_runtime(int threads, const vireo_allocator* allocator) {
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.threads = threads;
  options.allocator = allocator;
  options.log = log_warning;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_runtime* runtime = nullptr;
  check(vireo_runtime_create(&options, &runtime, &error), error, "start the runtime");
  Runtime made(runtime);
  use_measured_speeds(runtime);
  use_keys(runtime);
  return made;
}

void check(vireo_status status, const vireo_error& error, const std::string& doing) {
  check_file(status, error, doing, "");
}

void check_file(vireo_status status, const vireo_error& error, const std::string& doing, const std::string& file,
                const std::string& if_invalid) {
  if (status == VIREO_OK) return;
  std::string said = error.message[0] != 0 ? error.message : vireo_status_text(status);
  const std::string named = "\"" + file + "\": ";  // the library names the file as well
  if (said.rfind(named, 0) == 0) said.erase(0, named.size());
  const std::string message = "cannot " + doing + (file.empty() ? "" : " " + file) + ": " + said;
  std::string what = message;
  if (error.node[0] != 0) what += std::string("\n  node: ") + error.node;
  if (error.tensor[0] != 0) what += std::string("\n  tensor: ") + error.tensor;
  throw ApiFailure(status, what, help_for(status, error, message, if_invalid),
                   {code_of(status), file, error.node, error.tensor, message, ""});
}

std::optional<vireo_signature> signature_as_it_stands(const std::string& path) {
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  options.threads = 1;
  vireo_runtime* made = nullptr;
  if (vireo_runtime_create(&options, &made, nullptr) != VIREO_OK) return std::nullopt;
  const Runtime runtime(made);
  const char* const ciphers = getenv("VIREO_KEYS");
  set_trust(made, "", ciphers == nullptr ? "" : ciphers);
  vireo_model* loaded = nullptr;
  if (vireo_model_load_file(made, path.c_str(), &loaded, nullptr) != VIREO_OK) return std::nullopt;
  const std::unique_ptr<vireo_model, ReleaseHandle> model(loaded);
  vireo_signature s = VIREO_SIGNATURE_INIT;
  if (vireo_model_signature(loaded, &s, nullptr) != VIREO_OK) return std::nullopt;
  return s;
}

namespace {

// What to do about a file that does not load: it may be good, and load where nobody asks for a signature.
std::string help_to_load(const std::string& path) {
  const char* const trusted = getenv("VIREO_TRUSTED");
  if (trusted == nullptr || trusted[0] == 0) return kDamaged;
  const std::optional<vireo_signature> s = signature_as_it_stands(path);
  if (!s.has_value()) return kDamaged;
  if (s->present == 0)
    return "the file itself is good: sign it (vireo sign) with a key whose public half --trust names, or leave --trust "
           "away";
  return "the file itself is good: name the public key of its signer, " + hex_text(s->key, sizeof(s->key)) +
         ", in --trust, or leave --trust away";
}

}  // namespace

Model::Model(const std::string& path, int threads, const ConvertOnnx& convert, const vireo_allocator* allocator)
    : name_(path) {
  if (for_loader(path)) {
    runtime_ = start_runtime(threads, allocator);
    vireo_error error = VIREO_ERROR_INIT;
    vireo_model* model = nullptr;
    const auto start = std::chrono::steady_clock::now();
    const vireo_status loaded = vireo_model_load_file(runtime_.get(), path.c_str(), &model, &error);
    check_file(loaded, error, "load", path, loaded == VIREO_INVALID_MODEL ? help_to_load(path) : "");
    model_.reset(model);
    load_ms_ = ms_since(start);
    check_file(vireo_model_check_hashes(model, &error), error, "trust", path, kDamaged);
    read_values();
    return;
  }
  if (!convert) {
    throw Failure("cannot load " + path + ": it is not a .vireo file",
                  "convert it first, with a vireo that has the converter: vireo convert MODEL.onnx -o MODEL.vireo",
                  {"failed", path, "", "", "", ""});
  }
  *this = Model(convert(path), path, threads, {}, allocator);
  converted_ = true;
}

Model::Model(const ModelBytes& bytes, const std::string& name, int threads,
             const std::function<void(vireo_runtime*)>& prepare, const vireo_allocator* allocator)
    : name_(name), bytes_(bytes) {
  runtime_ = start_runtime(threads, allocator);
  if (prepare) prepare(runtime_.get());
  vireo_error error = VIREO_ERROR_INIT;
  vireo_model* model = nullptr;
  const auto start = std::chrono::steady_clock::now();
  check_file(vireo_model_load_memory(runtime_.get(), bytes_.data, bytes_.size, &model, &error), error, "load", name,
             kDamaged);
  model_.reset(model);
  load_ms_ = ms_since(start);
  read_values();
}

void Model::read_values() {
  vireo_error error = VIREO_ERROR_INIT;
  for (uint32_t i = 0; i < vireo_model_input_count(model_.get()); ++i) {
    vireo_value_info info = VIREO_VALUE_INFO_INIT;
    check(vireo_model_input(model_.get(), i, &info, &error), error, "read input " + std::to_string(i));
    inputs_.push_back(info);
  }
  for (uint32_t i = 0; i < vireo_model_output_count(model_.get()); ++i) {
    vireo_value_info info = VIREO_VALUE_INFO_INIT;
    check(vireo_model_output(model_.get(), i, &info, &error), error, "read output " + std::to_string(i));
    outputs_.push_back(info);
  }
}

vireo_model_about Model::about() const {
  vireo_model_about about = VIREO_MODEL_ABOUT_INIT;
  vireo_error error = VIREO_ERROR_INIT;
  check_file(vireo_model_describe(model_.get(), &about, &error), error, "describe", name_);
  return about;
}

std::string type_text(const vireo_value_info& info) {
  std::string text = vireo_dtype_text(info.dtype);
  text += '[';
  for (int32_t d = 0; d < info.rank; ++d) {
    if (d != 0) text += ',';
    if (info.min_dims[d] == info.max_dims[d]) {
      text += std::to_string(info.max_dims[d]);
      continue;
    }
    text += symbol(info, d) != nullptr ? symbol(info, d) : "?";
    if (info.max_dims[d] >= 0 || info.min_dims[d] > 0) text += "=" + std::to_string(info.min_dims[d]) + "..";
    if (info.max_dims[d] >= 0) text += std::to_string(info.max_dims[d]);
  }
  return text + "]";
}

std::vector<int64_t> most_dims(const vireo_value_info& info) {
  return std::vector<int64_t>(info.max_dims, info.max_dims + info.rank);
}

void Bounds::add(const vireo_value_info& info, const std::vector<int64_t>& dims, const std::string& where) {
  const auto fail = [&] {
    throw Failure("input '" + std::string(info.name) + "' takes " + type_text(info) + ", but " + where + " has shape " +
                      shape_text(dims),
                  "give the array that shape, or convert the model with --shape " + std::string(info.name) + "=...");
  };
  if (dims.size() != static_cast<size_t>(info.rank)) fail();
  for (int32_t d = 0; d < info.rank; ++d) {
    const int64_t extent = dims[static_cast<size_t>(d)];
    if (extent < info.min_dims[d] || (info.max_dims[d] >= 0 && extent > info.max_dims[d])) fail();
    if (info.max_dims[d] >= 0) continue;
    if (symbol(info, d) == nullptr) continue;
    const auto [it, fresh] = ranges_.try_emplace(info.dim_names[d], extent, extent);
    if (fresh) continue;
    it->second.first = std::min(it->second.first, extent);
    it->second.second = std::max(it->second.second, extent);
  }
}

void Bounds::add_output(const vireo_value_info& info, const std::vector<int64_t>& dims) {
  if (dims.size() != static_cast<size_t>(info.rank)) return;
  for (int32_t d = 0; d < info.rank; ++d) {
    if (info.max_dims[d] >= 0 || symbol(info, d) == nullptr) continue;
    const auto [it, fresh] = ranges_.try_emplace(info.dim_names[d], 0, dims[static_cast<size_t>(d)]);
    if (!fresh && it->second.first == 0) it->second.second = std::max(it->second.second, dims[static_cast<size_t>(d)]);
  }
}

std::vector<std::string> Bounds::close(const vireo_value_info& info, int64_t extent) {
  std::vector<std::string> closed;
  for (int32_t d = 0; d < info.rank; ++d) {
    if (info.max_dims[d] >= 0 || symbol(info, d) == nullptr) continue;
    const int64_t fits = std::max(extent, info.min_dims[d]);
    if (ranges_.try_emplace(info.dim_names[d], fits, fits).second)
      closed.push_back(std::string("dimension ") + info.dim_names[d] + " of " + info.name + ": " +
                       std::to_string(fits) + " is assumed (--shape changes it)");
  }
  return closed;
}

std::vector<vireo_bound> Bounds::list() const {
  std::vector<vireo_bound> bounds;
  for (const auto& [name, range] : ranges_) bounds.push_back({name.c_str(), range.first, range.second});
  return bounds;
}

std::vector<int64_t> Bounds::dims_of(const vireo_value_info& info) const {
  std::vector<int64_t> dims = most_dims(info);
  for (int32_t d = 0; d < info.rank; ++d) {
    if (symbol(info, d) == nullptr) continue;
    const auto it = ranges_.find(info.dim_names[d]);
    if (it != ranges_.end()) dims[static_cast<size_t>(d)] = it->second.second;
  }
  return dims;
}

vireo_session_options options_of(const SessionChoice& choice, const std::vector<vireo_bound>& bounds) {
  vireo_session_options options = VIREO_SESSION_OPTIONS_INIT;
  options.device = choice.device.empty() ? nullptr : choice.device.c_str();
  options.threads = choice.threads;
  options.profile = choice.profile ? 1 : 0;
  options.packing = choice.packing;
  options.preference = choice.preference;
  options.cache = choice.cache.empty() ? nullptr : choice.cache.c_str();
  options.require = choice.require.empty() ? nullptr : choice.require.c_str();
  options.failover = choice.failover;
  options.math = choice.math;
  options.priority = choice.priority;
  options.slice_ns = choice.slice_ns;
  options.target = choice.target.empty() ? nullptr : choice.target == "none" ? "" : choice.target.c_str();
  options.bounds = bounds.empty() ? nullptr : bounds.data();
  options.bound_count = static_cast<uint32_t>(bounds.size());
  return options;
}

namespace {

// Whether a session with these bounds takes no more than kAssumedBytes.
bool is_modest(const Model& model, const SessionChoice& choice, const std::vector<vireo_bound>& bounds) {
  const vireo_session_options options = options_of(choice, bounds);
  vireo_memory memory = VIREO_MEMORY_INIT;
  return vireo_model_memory(model.get(), &options, &memory, nullptr) == VIREO_OK && memory.total_bytes <= kAssumedBytes;
}

}  // namespace

std::vector<vireo_bound> complete(const Model& model, const SessionChoice& choice, const Bounds& bounds, bool say) {
  std::vector<vireo_bound> list = bounds.list();
  const size_t given = list.size();
  for (uint32_t i = 0; i < vireo_model_dimension_count(model.get()); ++i) {
    vireo_dimension d = VIREO_DIMENSION_INIT;
    vireo_error error = VIREO_ERROR_INIT;
    check_file(vireo_model_dimension(model.get(), i, &d, &error), error, "read", model.name());
    const auto is_d = [&](const vireo_bound& b) { return std::string(b.name) == d.name; };
    const auto own = std::find_if(list.begin(), list.end(), is_d);
    if (own != list.end() && own->max >= d.min) own->min = std::max(own->min, d.min);
    if (own == list.end() && d.max < 0) list.push_back({d.name, d.min, 0});
  }
  if (list.size() == given) return list;
  int64_t assumed = kAssumedExtent;
  for (;; assumed /= 2) {
    for (size_t i = given; i < list.size(); ++i) list[i].max = std::max(list[i].min, assumed);
    if (assumed <= kLeastAssumedExtent || is_modest(model, choice, list)) break;
  }
  for (size_t i = given; say && i < list.size(); ++i) {
    std::cerr << "note: dimension \"" << list[i].name << "\" of " << model.name() << " has no bound; at most "
              << list[i].max << " is assumed (--bound " << list[i].name << "=N gives one)\n";
  }
  return list;
}

Session make_session(const Model& model, const SessionChoice& choice, const Bounds& bounds) {
  const std::vector<vireo_bound> list = complete(model, choice, bounds, true);
  const vireo_session_options options = options_of(choice, list);
  vireo_error error = VIREO_ERROR_INIT;
  vireo_session* session = nullptr;
  check_file(vireo_session_create(model.get(), &options, &session, &error), error, "prepare", model.name());
  return Session(session);
}

void visit_placement(const Model& model, const SessionChoice& choice, const Bounds& bounds,
                     const std::function<void(const vireo_placed_node&)>& visit) {
  const std::vector<vireo_bound> list = complete(model, choice, bounds, true);
  const vireo_session_options options = options_of(choice, list);
  using Visit = std::function<void(const vireo_placed_node&)>;
  const vireo_placement_visitor visitor = {const_cast<Visit*>(&visit), [](void* context, const vireo_placed_node* n) {
                                             (*static_cast<Visit*>(context))(*n);
                                           }};
  vireo_error error = VIREO_ERROR_INIT;
  check_file(vireo_model_placement(model.get(), &options, &visitor, &error), error, "place", model.name());
}

vireo_memory memory_of(const Model& model, const SessionChoice& choice, const Bounds& bounds) {
  const std::vector<vireo_bound> list = complete(model, choice, bounds, false);
  const vireo_session_options options = options_of(choice, list);
  vireo_memory memory = VIREO_MEMORY_INIT;
  vireo_error error = VIREO_ERROR_INIT;
  check_file(vireo_model_memory(model.get(), &options, &memory, &error), error, "measure", model.name());
  return memory;
}

std::vector<vireo_tensor> run_in_place(const Model& model, vireo_session* session, const std::vector<Array>& inputs) {
  std::vector<std::vector<vireo_string>> refs(inputs.size());
  std::vector<vireo_tensor> in(inputs.size()), out(model.outputs().size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype != VIREO_NONE) in[i] = view_of(inputs[i], &refs[i]);
  }
  vireo_error error = VIREO_ERROR_INIT;
  check_file(vireo_session_run(session, in.empty() ? nullptr : in.data(), static_cast<uint32_t>(in.size()),
                               out.empty() ? nullptr : out.data(), static_cast<uint32_t>(out.size()), &error),
             error, "run", model.name());
  return out;
}

std::vector<Array> run_once(const Model& model, vireo_session* session, const std::vector<Array>& inputs) {
  std::vector<Array> results;
  for (const vireo_tensor& t : run_in_place(model, session, inputs)) results.push_back(copy_of(t));
  return results;
}

std::vector<vireo_node_info> nodes_of(const vireo_session* session) {
  std::vector<vireo_node_info> nodes;
  for (uint32_t i = 0; i < vireo_session_node_count(session); ++i) {
    vireo_node_info info = VIREO_NODE_INFO_INIT;
    vireo_error error = VIREO_ERROR_INIT;
    check(vireo_session_node(session, i, &info, &error), error, "read node " + std::to_string(i));
    nodes.push_back(info);
  }
  return nodes;
}

std::string devices_of(const vireo_session* session) {
  std::set<std::string> names;
  for (const vireo_node_info& node : nodes_of(session)) {
    if (node.device != nullptr && strcmp(node.device, "-") != 0) names.insert(node.device);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace vireo::cli
