#include "converter/cli/int4.h"

#include <algorithm>
#include <utility>

#include "c_api/cli/app.h"

namespace vireo::cli {
namespace {

constexpr size_t kWorstLayers = 5;  // that people are shown

// The layers that lost most, worst first.
std::vector<quant::Int4Layer> worst_of(std::vector<quant::Int4Layer> layers) {
  std::stable_sort(layers.begin(), layers.end(), [](const auto& a, const auto& b) { return a.sqnr_db < b.sqnr_db; });
  layers.resize(std::min(layers.size(), kWorstLayers));
  return layers;
}

}  // namespace

Int4Run::Int4Run(const QuantizeRequest& request, quant::Recipe recipe, const std::string& model, LoadModel in_float,
                 Progress* progress)
    : request_(request), calibration_(request, model, std::move(in_float), progress, &recipe) {
  quant::Int4Options options;
  options.recipe = std::move(recipe);
  calibration_.fill(&options);
  stage_ = std::make_shared<quant::CalibratedInt4>(std::move(options));
}

Stages Int4Run::stages() const { return {stage_, std::make_shared<quant::Int4InBodies>(stage_)}; }

bool Int4Run::write(Diagnostics*) const {
  save_recipe(request_, stage_->report().recipe, json());
  return true;
}

std::string Int4Run::text() const {
  const quant::Int4Report& r = stage_->report();
  std::string out = formatted("  data    %zu samples, %zu steps over them\n", r.samples, r.rounds);
  for (const std::string& line : calibration_.assumed()) out += "  data    " + line + "\n";
  for (const auto& [step, seconds] : r.seconds) out += formatted("  time    %6.1f s  ", seconds) + step + "\n";
  if (r.gains_moved != 0) out += formatted("  repair  gains of %zu normalisations moved into weights\n", r.gains_moved);
  if (r.gains_fitted != 0)
    out += formatted("  repair  gains of %zu normalisations fitted to the codes behind them\n", r.gains_fitted);
  if (!r.eight_bits.empty())
    out += formatted("  8 bits  %zu matrices, which lose most for their bytes:", r.eight_bits.size());
  for (size_t i = 0; i < r.eight_bits.size(); ++i) out += (i == 0 ? " \"" : ", \"") + r.eight_bits[i] + "\"";
  if (!r.eight_bits.empty()) out += "\n";
  for (const auto& [name, why] : r.nearest) out += "  note    \"" + name + "\" has the nearest codes: " + why + "\n";
  const std::vector<quant::Int4Layer> worst = worst_of(r.layers);
  if (!worst.empty())
    out += "  layers that lose most, in dB: signal to noise by themselves, and what rounding by their product won\n";
  for (const quant::Int4Layer& l : worst)
    out += formatted("    %6.1f %6.1f  \"", l.sqnr_db, l.gain_db) + l.name + "\"\n";
  return out;
}

Json Int4Run::json() const {
  const quant::Int4Report& r = stage_->report();
  Json out = {{"samples", r.samples}, {"rounds", r.rounds}};
  out["assumed"] = Json::array();
  for (const std::string& line : calibration_.assumed()) out["assumed"].push_back(line);
  out["gains_moved"] = r.gains_moved;
  out["gains_fitted"] = r.gains_fitted;
  out["eight_bits"] = Json::array();
  for (const std::string& name : r.eight_bits) out["eight_bits"].push_back(name);
  out["seconds"] = Json::object();
  for (const auto& [step, seconds] : r.seconds) out["seconds"][step] = seconds;
  out["layers"] = Json::object();
  for (const quant::Int4Layer& l : r.layers)
    out["layers"][l.name] = Json{{"sqnr_db", l.sqnr_db}, {"gain_db", l.gain_db}};
  out["nearest"] = Json::object();
  for (const auto& [name, why] : r.nearest) out["nearest"][name] = why;
  return out;
}

}  // namespace vireo::cli
