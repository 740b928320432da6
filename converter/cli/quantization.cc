#include "converter/cli/quantization.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "c_api/cli/app.h"
#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "c_api/cli/keys.h"
#include "c_api/cli/process_memory.h"
#include "sdk/format/sha256.h"

namespace vireo::cli {
namespace {

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

DataOptions data_options(const QuantizeRequest& request) {
  DataOptions options;
  options.data = request.data;
  options.inputs = request.inputs;
  options.tokenizer = request.tokenizer;
  options.window = request.window;
  options.labelled = false;
  return options;
}

}  // namespace

quant::Recipe recipe_of(const QuantizeRequest& request, const std::string& model) {
  quant::Recipe recipe;
  if (!request.format.empty()) quant::find_format(request.format, &recipe.format);
  const quant::Format asked = recipe.format;
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
  if (request.format.empty() || recipe.format == asked) return recipe;
  // What a recipe says for values in float means nothing for codes, and the other way round.
  if (asked == quant::Format::kW4 || recipe.format == quant::Format::kW4)
    throw Failure(request.recipe + " is for " + quant::format_names()[static_cast<size_t>(recipe.format)] + ", and " +
                      request.format + " is asked for",
                  "leave the format to the recipe, or take another recipe");
  recipe.format = asked;
  return recipe;
}

Calibration::Calibration(const QuantizeRequest& request, const std::string& model, LoadModel in_float,
                         Progress* progress, quant::Recipe* recipe) {
  hold_what_is_used();
  if (!request.data.empty()) {
    samples_ = std::make_unique<SampleData>(data_options(request), std::move(in_float));
    const size_t slash = request.data.find_last_of('/');
    recipe->data_file = slash == std::string::npos ? request.data : request.data.substr(slash + 1);
    if (std::filesystem::is_regular_file(request.data)) recipe->data_digest = sha256_of_file(request.data);
  }
  constexpr uint64_t kLeast = 512u << 20;
  const uint64_t size = file_size(model);
  memory_ = request.memory.empty() ? std::max(2 * size, kLeast) : parse_bytes(request.memory);
  if (size > memory_)
    throw Failure(
        model + " has " + bytes_text(size) + ", which are read as they are, and --memory allows " + bytes_text(memory_),
        "allow more; without --memory it is twice the model, and at least 512 MB");
  tell_ = [progress, model](const std::string& step, double share) { progress->show(model + ": " + step, share); };
}

// Also what the steps behind a pass come to hold: code that was not run before, and small blocks.
uint64_t Calibration::held() {
  constexpr uint64_t kToCome = 512u << 10;
  trim_memory();
  return resident_bytes() + kToCome;
}

std::vector<std::string> Calibration::assumed() const {
  return samples_ == nullptr ? std::vector<std::string>() : samples_->assumed();
}

void save_recipe(const QuantizeRequest& request, const quant::Recipe& recipe, const Json& measured) {
  if (request.save_recipe.empty()) return;
  Json json = quant::write_recipe(recipe);
  json["measured"] = measured;
  write_file(request.save_recipe, json_text(json, 1) + "\n");
}

}  // namespace vireo::cli
