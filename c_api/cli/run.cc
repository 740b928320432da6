// vireo run: a model once, on files.
#include <math.h>
#include <stdio.h>

#include <algorithm>
#include <iostream>
#include <numeric>

#include "c_api/cli/app.h"
#include "c_api/cli/file.h"
#include "c_api/cli/growing.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/npy.h"
#include "c_api/cli/options.h"
#include "c_api/cli/tuner.h"

namespace vireo::cli {
namespace {

struct RunOptions {
  std::string model, output, tuning, cache;
  std::vector<std::string> inputs;
  SessionRequest session;
  vireo_packing packing = VIREO_PACKING_DEFAULT;
  double tune_at_load_ms = 0;
  bool json = false;
};

// A vector for this purpose has one dimension above 1: class scores, probabilities.
bool is_vector(const Array& a) {
  const auto big = std::count_if(a.dims.begin(), a.dims.end(), [](int64_t d) { return d > 1; });
  return big == 1 && (dtype_is_float(a.dtype)) && a.count() >= 5;
}

std::vector<int64_t> top(const Array& a, size_t most) {
  std::vector<int64_t> order(static_cast<size_t>(a.count()));
  std::iota(order.begin(), order.end(), 0);
  most = std::min(most, order.size());
  const auto key = [&](int64_t i) {
    const double v = real_at(a, i);
    return isnan(v) ? -INFINITY : v;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(most), order.end(),
                    [&](int64_t i, int64_t j) { return key(i) != key(j) ? key(i) > key(j) : i < j; });
  order.resize(most);
  return order;
}

Json summary(const char* name, const Array& a) {
  Json out = {{"name", name}, {"dtype", vireo_dtype_text(a.dtype)}, {"shape", a.dims}};
  const int64_t count = a.count();
  if (count == 0) return out;
  const int64_t shown = std::min<int64_t>(count, 8);
  if (a.dtype == VIREO_STRING || count <= shown) {
    for (int64_t i = 0; i < shown; ++i) {
      const size_t at = static_cast<size_t>(i);
      if (a.dtype == VIREO_STRING)
        out["values"].push_back(a.strings[at]);
      else if (dtype_is_complex(a.dtype))
        out["values"].push_back(text_at(a, i));
      else if (a.dtype == VIREO_BOOL)
        out["values"].push_back(a.bytes[at] != 0);
      else if (dtype_is_float(a.dtype))
        out["values"].push_back(real_at(a, i));
      else
        out["values"].push_back(parse_json(text_at(a, i)));
    }
  }
  if (a.dtype == VIREO_STRING || dtype_is_complex(a.dtype)) return out;
  double lo = INFINITY, hi = -INFINITY, sum = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double v = real_at(a, i);
    if (!isfinite(v)) continue;
    lo = std::min(lo, v);
    hi = std::max(hi, v);
    sum += v;
    ++finite;
  }
  if (finite > 0) {
    out["min"] = lo;
    out["max"] = hi;
    out["mean"] = sum / static_cast<double>(finite);
  }
  if (finite != count) out["not_finite"] = count - finite;
  if (is_vector(a)) {
    for (const int64_t i : top(a, 5)) out["top"].push_back({{"index", i}, {"value", real_at(a, i)}});
  }
  return out;
}

void print_summary(const Json& out, const Array& a) {
  std::cout << out["name"].get<std::string>() << ": " << out["dtype"].get<std::string>() << " " << shape_text(a.dims);
  char text[128];
  if (out.contains("min") && a.count() > 1) {
    snprintf(text, sizeof(text), ", min %.6g, max %.6g, mean %.6g", out["min"].get<double>(), out["max"].get<double>(),
             out["mean"].get<double>());
    std::cout << text;
  }
  if (out.contains("not_finite")) std::cout << ", " << out["not_finite"] << " NaN or infinite";
  std::cout << "\n";
  if (out.contains("top")) {
    for (const Json& entry : out["top"]) {
      snprintf(text, sizeof(text), "  %6lld  %.6g\n", static_cast<long long>(entry["index"].get<int64_t>()),
               entry["value"].get<double>());
      std::cout << text;
    }
  } else if (out.contains("values")) {
    std::cout << "  [";
    for (size_t i = 0; i < out["values"].size(); ++i)
      std::cout << (i == 0 ? "" : ", ") << text_at(a, static_cast<int64_t>(i));
    std::cout << (static_cast<int64_t>(out["values"].size()) < a.count() ? ", ..." : "") << "]\n";
  }
}

void run(const RunOptions& options, Context& context) {
  require_apart(files_read(options.model, options.inputs), {options.output});
  if (!options.output.empty()) require_writable(options.output);
  const Model model(options.model, options.session.threads, context.extensions.convert);
  Bounds bounds;
  std::vector<std::string> assumed;
  apply_shapes(model, options.session.shapes, &bounds);
  apply_bounds(options.session.bounds, &bounds);
  const std::vector<Array> inputs = load_inputs(model, options.inputs, &bounds, &assumed);
  Tuning tuning(tuning_file(options.tuning, options.tune_at_load_ms), model.runtime(), options.session.threads,
                /*must_exist=*/options.tune_at_load_ms == 0);
  SessionChoice choice = choice_of(options.session);
  choice.packing = options.packing;
  choice.preference = tuning.preference();
  choice.cache = options.cache;
  if (options.tune_at_load_ms > 0) bounds = fitted_bounds(model, choice, bounds, inputs);
  if (options.tune_at_load_ms > 0) tune_at_load(model, choice, bounds, inputs, options.tune_at_load_ms, &tuning);
  GrowingSession session(model, choice, bounds);
  const std::vector<Array> outputs = session.run(inputs);

  if (!options.output.empty()) {
    std::vector<std::pair<std::string, Array>> named;
    for (size_t i = 0; i < outputs.size(); ++i) named.emplace_back(model.outputs()[i].name, outputs[i]);
    write_npz(options.output, named);
  }
  Json result = {
      {"model", options.model}, {"device", devices_of(session.get())}, {"inputs", assumed}, {"outputs", Json::array()}};
  for (size_t i = 0; i < outputs.size(); ++i) result["outputs"].push_back(summary(model.outputs()[i].name, outputs[i]));
  if (options.json) {
    if (!options.output.empty()) result["output"] = options.output;
    print_json(result);
    return;
  }
  for (const std::string& line : assumed) std::cout << line << "\n";
  if (!options.output.empty()) {
    std::cout << "wrote " << options.output << "\n";
    return;
  }
  for (size_t i = 0; i < outputs.size(); ++i) print_summary(result["outputs"][i], outputs[i]);
}

}  // namespace

void add_run(Command app, Context& context) {
  auto options = std::make_shared<RunOptions>();
  Command verb = app.add_verb("run", "Run a model once on files");
  add_model(verb, context, &options->model);
  add_inputs(verb, &options->inputs,
             "NAME=FILE: .npy, .npz (key NAME, or its only array), a picture (.png, .jpg, .webp, .tif, .bmp, .ppm) "
             "or .wav; once for each input");
  verb.add_option("-o,--output", options->output, "write all outputs to this .npz; without it a summary is printed")
      .file({".npz"});
  add_session(verb, &options->session);
  add_tuning(verb, &options->tuning);
  add_tune_at_load(verb, &options->tune_at_load_ms);
  add_packing(verb, &options->packing);
  add_cache(verb, &options->cache);
  add_json(verb, &options->json, "print the summary as JSON");
  verb.footer(
      "Examples:\n"
      "  vireo run digits.vireo --input image=seven.png\n"
      "  vireo run detector.vireo --input image=street.jpg --output boxes.npz\n"
      "  vireo run model.vireo --input ids=ids.npy --input mask=mask.npy --json\n"
      "A picture or sound is scaled as the model's signature says; what was assumed is printed.");
  verb.callback([options, &context] { run(*options, context); });
}

}  // namespace vireo::cli
