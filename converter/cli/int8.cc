#include "converter/cli/int8.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <utility>

#include "c_api/cli/app.h"
#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "c_api/cli/machine.h"
#include "converter/export/export.h"
#include "quant/int8/unnamed.h"
#include "sdk/files/whole_file.h"

namespace vireo::cli {
namespace {

constexpr size_t kWorstLayers = 5;            // that people are shown
constexpr uint64_t kSharedBytes = 16u << 20;  // for values that one pass observes together

std::string decibels(double db) {
  if (std::isfinite(db)) return formatted("%.1f", db);
  return std::isnan(db) ? "-" : db < 0 ? "none" : "exact";
}

Json decibels_json(double db) { return std::isfinite(db) ? Json(db) : Json(nullptr); }

double integer_share(const quant::Int8Report& report) {
  return report.multiply_adds.all > 0 ? report.multiply_adds.integer / report.multiply_adds.all : 0;
}

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

Int8Run::Int8Run(const QuantizeRequest& request, quant::Recipe recipe, const std::string& model, LoadModel in_float,
                 Progress* progress)
    : request_(request), calibration_(request, model, std::move(in_float), progress, &recipe) {
  quant::Int8Options options;
  options.recipe = std::move(recipe);
  options.shared = kSharedBytes;
  calibration_.fill(&options);
  if (!request.stats.empty()) {
    kept_ = std::make_unique<quant::Kept>(version_text(), options.recipe.model);
    read_kept();
    options.kept = kept_.get();
  }
  stage_ = std::make_shared<quant::StaticInt8>(std::move(options));
}

void Int8Run::read_kept() {
  if (!std::filesystem::exists(request_.stats)) return;
  std::string why;
  if (!kept_->read(read_file(request_.stats), &why))
    throw Failure(request_.stats + " " + why, "name another file with --stats, or remove this one to make it anew");
}

void Int8Run::write_kept() const {
  if (kept_ == nullptr || !kept_->changed()) return;
  files::WholeFile file(request_.stats);
  bool good = true;
  kept_->write([&](const void* data, size_t size) { good = good && file.write(data, size); });
  if (!good || !file.finish() || !file.appear())
    throw Failure("cannot write " + request_.stats + ": " + std::strerror(file.error()),
                  files::what_to_do(request_.stats, file.error()));
}

Stages Int8Run::stages() const { return {stage_, std::make_shared<quant::Unnamed>()}; }

bool Int8Run::write(Diagnostics* diagnostics) const {
  if (!request_.qdq.empty() && !exporter::export_onnx(*stage_->annotated(), request_.qdq, diagnostics)) return false;
  save_recipe(request_, stage_->report().recipe, measured());
  write_kept();
  return true;
}

std::string Int8Run::text() const {
  const quant::Int8Report& r = stage_->report();
  std::string out =
      formatted("  data    %zu samples; %zu values in codes, %zu products\n", r.samples, r.values, r.layers.size());
  for (const std::string& line : calibration_.assumed()) out += "  data    " + line + "\n";
  if (kept_ != nullptr && kept_->found() != 0)
    out += "  data    " + (r.runs == 0 ? std::string("no run") : formatted("%zu runs", r.runs)) +
           " to observe values besides what " + request_.stats + " has\n";
  out += formatted("  work    %.1f %% of multiply-adds on integers\n", 100 * integer_share(r));
  if (r.recipe.wide && !r.recipe.wide->empty())
    out += formatted("  wide    %zu values near the outputs take 16 bits\n", r.recipe.wide->size());
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
  out["wide"] = Json::array();
  for (const std::string& name : stage_->report().recipe.wide.value_or(std::vector<std::string>()))
    out["wide"].push_back(name);
  return out;
}

Json Int8Run::measured() const {
  const quant::Int8Report& r = stage_->report();
  Json out = {{"samples", r.samples}, {"values", r.values}, {"integer_share", integer_share(r)}};
  out["runs"] = r.runs;
  out["assumed"] = Json::array();
  for (const std::string& line : calibration_.assumed()) out["assumed"].push_back(line);
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
