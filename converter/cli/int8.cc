#include "converter/cli/int8.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "c_api/cli/app.h"
#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "c_api/cli/keys.h"
#include "c_api/cli/process_memory.h"
#include "converter/export/export.h"
#include "quant/int8/unnamed.h"
#include "sdk/format/sha256.h"

namespace vireo::cli {
namespace {

constexpr size_t kWorstLayers = 5;            // that people are shown
constexpr uint64_t kSharedBytes = 16u << 20;  // for values that one pass observes together

std::string sha256_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Sha256 sha;
  std::vector<char> block(1 << 16);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0)
    sha.update(block.data(), static_cast<size_t>(file.gcount()));
  uint8_t hash[32];
  sha.finish(hash);
  return "sha256:" + hex_text(hash, sizeof(hash));
}

uint64_t file_size(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  return file ? static_cast<uint64_t>(file.tellg()) : 0;
}

// "2G", "500M", "64K" or a number of bytes; units of 1024.
uint64_t parse_bytes(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  double unit = 1;
  std::string rest = end;
  if (!rest.empty() && (rest.back() == 'B' || rest.back() == 'b')) rest.pop_back();
  if (rest == "K" || rest == "k") unit = 1024.0;
  if (rest == "M" || rest == "m") unit = 1024.0 * 1024;
  if (rest == "G" || rest == "g") unit = 1024.0 * 1024 * 1024;
  const bool good = end != text.c_str() && (rest.empty() || (rest.size() == 1 && unit > 1));
  if (!good || !(number > 0) || number * unit > 9e18)
    throw Failure("--memory " + text + " is no amount of memory",
                  "write --memory 2G, --memory 500M or a number of bytes");
  return static_cast<uint64_t>(number * unit);
}

quant::Recipe recipe_of(const Int8Request& request, const std::string& model) {
  quant::Recipe recipe;
  if (!request.recipe.empty()) {
    const Json json = parse_json(read_file(request.recipe));
    if (json.is_discarded()) throw Failure(request.recipe + " is no JSON", "start from one that --save-recipe wrote");
    std::string error, help;
    if (!quant::read_recipe(json, &recipe, &error, &help)) throw Failure(request.recipe + ": " + error, help);
  }
  const std::string digest = sha256_of_file(model);
  if (!recipe.model.empty() && recipe.model != digest)
    throw Failure(request.recipe + " is for another model: it says " + recipe.model + ", " + model + " is " + digest,
                  "use the recipe with its model, or take \"model\" out of it to try it with this one");
  recipe.model = digest;
  if (!request.format.empty()) quant::find_format(request.format, &recipe.format);
  return recipe;
}

DataOptions data_options(const Int8Request& request) {
  DataOptions options;
  options.data = request.data;
  options.inputs = request.inputs;
  options.tokenizer = request.tokenizer;
  options.window = request.window;
  options.labelled = false;
  return options;
}

std::string decibels(double db) { return std::isfinite(db) ? formatted("%.1f", db) : std::isnan(db) ? "-" : "exact"; }

Json decibels_json(double db) { return std::isfinite(db) ? Json(db) : Json(nullptr); }

// The layers that lost most, worst first.
std::vector<quant::LayerAccount> worst_of(const quant::Int8Report& report) {
  std::vector<quant::LayerAccount> layers;
  for (const quant::LayerAccount& l : report.layers) {
    if (!std::isnan(l.own_db)) layers.push_back(l);
  }
  std::stable_sort(layers.begin(), layers.end(), [](const auto& a, const auto& b) { return a.own_db < b.own_db; });
  layers.resize(std::min(layers.size(), kWorstLayers));
  return layers;
}

}  // namespace

Int8Run::Int8Run(const Int8Request& request, const std::string& model, LoadModel in_float, Progress* progress)
    : request_(request) {
  quant::Int8Options options;
  options.recipe = recipe_of(request, model);
  if (!request.data.empty()) {
    samples_ = std::make_unique<SampleData>(data_options(request), std::move(in_float));
    const size_t slash = request.data.find_last_of('/');
    options.recipe.data_file = slash == std::string::npos ? request.data : request.data.substr(slash + 1);
    if (std::filesystem::is_regular_file(request.data)) options.recipe.data_digest = sha256_of_file(request.data);
  }
  options.samples = samples_.get();
  options.evaluator = &evaluator_;
  constexpr uint64_t kLeast = 512u << 20;
  options.memory = request.memory.empty() ? std::max(2 * file_size(model), kLeast) : parse_bytes(request.memory);
  options.shared = kSharedBytes;
  options.held = [] {
    trim_memory();
    return resident_bytes();
  };
  options.tell = [progress, model](const std::string& step, double share) {
    progress->show(model + ": " + step, share);
  };
  stage_ = std::make_shared<quant::StaticInt8>(std::move(options));
}

Stages Int8Run::stages() const { return {stage_, std::make_shared<quant::Unnamed>()}; }

bool Int8Run::write(Diagnostics* diagnostics) const {
  if (!request_.qdq.empty() && !exporter::export_onnx(*stage_->annotated(), request_.qdq, diagnostics)) return false;
  if (!request_.save_recipe.empty()) {
    Json recipe = quant::write_recipe(stage_->report().recipe);
    recipe["measured"] = measured();
    write_file(request_.save_recipe, json_text(recipe, 1) + "\n");
  }
  return true;
}

std::string Int8Run::text() const {
  const quant::Int8Report& r = stage_->report();
  std::string out =
      formatted("  data    %zu samples; %zu values in codes, %zu products\n", r.samples, r.values, r.layers.size());
  if (samples_ != nullptr) {
    for (const std::string& line : samples_->assumed()) out += "  data    " + line + "\n";
  }
  if (!r.equalised.empty()) {
    double most = 0;
    for (const auto& e : r.equalised) most = std::max(most, e.gain_db);
    out += formatted("  repair  channels of %zu values equalised: up to %.1f dB less lost\n", r.equalised.size(), most);
  }
  if (r.biases_corrected != 0) out += formatted("  repair  %zu biases corrected\n", r.biases_corrected);
  if (r.rounding_gain_db > 0)
    out += formatted("  repair  weights rounded by their products: %.1f dB less lost\n", r.rounding_gain_db);
  for (const std::string& name : r.never_fires) out += "  note    \"" + name + "\" is 0 for all samples\n";
  for (const auto& [name, why] : r.left) out += "  float   \"" + name + "\": " + why + "\n";
  const auto left_out = std::count_if(r.layers.begin(), r.layers.end(), [](const auto& l) { return !l.compared; });
  if (left_out != 0)
    out += formatted("  note    %zu layers were not compared, because they do not fit under --memory\n",
                     static_cast<size_t>(left_out));
  const std::vector<quant::LayerAccount> worst = worst_of(r);
  if (!worst.empty()) out += "  layers that lose most, signal to noise in dB: by themselves, with all before them\n";
  for (const quant::LayerAccount& l : worst) {
    out += formatted("    %6s %6s  ", decibels(l.own_db).c_str(), decibels(l.accumulated_db).c_str()) + l.op + " \"" +
           l.name + "\"" + (l.why.empty() ? "" : ": " + l.why) + "\n";
  }
  return out;
}

Json Int8Run::json() const {
  Json out = measured();
  out["ranges"] = Json::object();
  for (const auto& [name, range] : stage_->report().recipe.ranges) out["ranges"][name] = Json{range.low, range.high};
  return out;
}

Json Int8Run::measured() const {
  const quant::Int8Report& r = stage_->report();
  Json out = {{"samples", r.samples}, {"values", r.values}};
  out["assumed"] = Json::array();
  if (samples_ != nullptr) {
    for (const std::string& line : samples_->assumed()) out["assumed"].push_back(line);
  }
  out["equalised"] = Json::object();
  for (const auto& e : r.equalised) out["equalised"][e.value] = Json{{"gain_db", e.gain_db}};
  out["biases_corrected"] = r.biases_corrected;
  out["rounding_gain_db"] = r.rounding_gain_db;
  out["seconds"] = Json::object();
  for (const auto& [step, seconds] : r.seconds) out["seconds"][step] = seconds;
  out["layers"] = Json::object();
  for (const quant::LayerAccount& l : r.layers) {
    Json layer = {{"op", l.op}, {"bytes", l.bytes}};
    layer["sqnr_db"] = decibels_json(l.own_db);
    layer["accumulated_db"] = decibels_json(l.accumulated_db);
    layer["compared"] = l.compared;
    if (!l.why.empty()) layer["why"] = l.why;
    out["layers"][l.name] = layer;
  }
  out["float"] = Json::object();
  for (const auto& [name, why] : r.left) out["float"][name] = why;
  out["never_fires"] = Json::array();
  for (const std::string& name : r.never_fires) out["never_fires"].push_back(name);
  return out;
}

}  // namespace vireo::cli
