// vireo verify: a model's answers beside stored ones.
#include <math.h>
#include <stdio.h>

#include <algorithm>
#include <iostream>

#include "c_api/cli/app.h"
#include "c_api/cli/compare.h"
#include "c_api/cli/growing.h"
#include "c_api/cli/inputs.h"
#include "c_api/cli/options.h"
#include "c_api/cli/placements.h"
#include "c_api/cli/probe/marked_memory.h"
#include "c_api/cli/reference.h"

namespace vireo::cli {
namespace {

struct VerifyOptions {
  std::string model, reference;
  SessionRequest session;
  Tolerance tolerance;
  bool json = false, failover = false;
  std::vector<std::string> inputs;
  int placements = 0;
  uint64_t seed = 1;
};

Difference compare_stored(const Array& got, const Expected& expected, const Tolerance& tolerance) {
  const Array want = fit_dtype(*expected.values, got.dtype);
  if (expected.step == 0) return compare(got, want, tolerance);
  if (got.dims != expected.dims) {
    Difference out;
    out.reason = "shape is " + shape_text(got.dims) + ", expected " + shape_text(expected.dims);
    return out;
  }
  Array flat = want;
  flat.dims = {want.count()};
  return compare(take_every(got, expected.step), flat, tolerance);
}

// A random output: its type, and a shape within what the model declares.
Difference compare_declared(const Array& got, const vireo_value_info& info) {
  Difference out;
  bool fits = got.dtype == info.dtype && got.dims.size() == static_cast<size_t>(info.rank);
  for (int32_t d = 0; fits && d < info.rank; ++d) {
    const int64_t extent = got.dims[static_cast<size_t>(d)];
    fits = extent >= info.min_dims[d] && (info.max_dims[d] < 0 || extent <= info.max_dims[d]);
  }
  out.pass = fits;
  if (!fits)
    out.reason =
        std::string("is ") + vireo_dtype_text(got.dtype) + " " + shape_text(got.dims) + ", declared " + type_text(info);
  return out;
}

// What a map of the original model is here, where the reference has one array for it.
std::string map_hint(const vireo_value_info& info, const Array* want, const Array& got) {
  const std::string name = info.name, end = ".keys";
  const bool keys = name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
  if (!keys || want == nullptr || want->dtype == got.dtype) return "";
  const std::string map = name.substr(0, name.size() - end.size());
  return "; the map \"" + map + "\" is two outputs, \"" + name + "\" and \"" + map +
         ".values\": give the reference an array for each";
}

Json verify_output(const Array& got, const vireo_value_info& info, const Arrays& arrays, const std::string& key,
                   const Tolerance& tolerance) {
  Difference best;
  bool second_answer = false, declared_only = false;
  const Expected first = stored(arrays, key, key);
  const Expected second = stored(arrays, key + "_noopt", key);
  if (first.values == nullptr && second.values == nullptr) {
    best = compare_declared(got, info);
    declared_only = true;
  } else if (first.values == nullptr) {
    best = compare_stored(got, second, tolerance);
  } else {
    best = compare_stored(got, first, tolerance);
    if (second.values != nullptr) {
      const Difference other = compare_stored(got, second, tolerance);
      second_answer = other.pass != best.pass ? other.pass : other.max_abs < best.max_abs;
      if (second_answer) best = other;
    }
  }
  Json out = {{"name", info.name}, {"dtype", vireo_dtype_text(got.dtype)}, {"shape", got.dims}};
  if (declared_only) {
    out["reference"] = "none: random by design, type and shape are checked";
    for (const char* figure : {"sqnr_db", "cosine", "max_rel", "max_abs"}) out[figure] = nullptr;
  } else {
    if (second.values != nullptr) out["reference"] = second_answer ? key + "_noopt" : key;
    out["max_abs"] = best.max_abs;
    out["max_rel"] = best.max_rel;
    out["cosine"] = best.cosine;
    out["sqnr_db"] = best.sqnr_db;
  }
  out["pass"] = best.pass;
  if (!best.pass) {
    out["reason"] = best.reason + map_hint(info, first.values, got);
    if (isfinite(best.atol)) out["atol_to_pass"] = best.atol;
  }
  return out;
}

// What to do about answers that are near: every output that fails has a cosine of at least 0.99.
std::string rounding_hint(const Json& outputs) {
  double atol = 0;
  for (const Json& e : outputs) {
    if (e["pass"].get<bool>()) continue;
    if (!e.contains("atol_to_pass") || e["cosine"].get<double>() < 0.99) return "";
    atol = std::max(atol, e["atol_to_pass"].get<double>());
  }
  if (atol <= 0) return "";
  const double digit = pow(10, floor(log10(atol)));
  char text[200];
  snprintf(text, sizeof(text),
           "  help: --atol %g would pass. Models in integers or with rounded weights differ like this; float32 models\n"
           "    should not\n",
           ceil(atol / digit) * digit);
  return text;
}

// Nothing is put right before it is judged, unless that is asked for.
SessionChoice choice_to_judge(const VerifyOptions& options) {
  SessionChoice choice = choice_of(options.session);
  choice.failover = options.failover ? VIREO_FAILOVER_DEFAULT : VIREO_FAILOVER_NEVER;
  return choice;
}

void finish_placements(const VerifyOptions& options, const Model& model, Bounds bounds,
                       const std::vector<std::vector<Array>>& cases, Context& context) {
  const SessionChoice choice = choice_to_judge(options);
  const Answers want = answers_of_cpu(model, choice, &bounds, cases);
  const Json tried =
      try_placements(model, choice, bounds, cases, want, options.placements, options.seed, options.tolerance);
  const bool pass = tried["pass"].get<bool>();
  context.exit_status = pass ? 0 : 1;
  Json result = {{"model", options.model}, {"reference", "the CPU alone"}};
  result.update(tried);
  if (options.json) return print_json(result);
  std::cout << placements_text(tried) << (pass ? "pass: " : "FAIL: ") << options.model << " under "
            << options.placements << " placements against the CPU alone\n";
}

void verify(const VerifyOptions& options, Context& context) {
  if (options.reference.empty()) {
    if (options.placements == 0)
      throw Failure("there is nothing to compare with",
                    "name a file of reference answers (vireo verify MODEL REF.npz), or compare with the CPU by "
                    "--placements");
    const Model model(options.model, options.session.threads, context.extensions.convert, marked_memory());
    Bounds bounds;
    std::vector<std::string> assumed;
    const std::vector<Array> inputs =
        inputs_to_measure(model, options.inputs, options.session.shapes, options.session.bounds, &bounds, &assumed);
    return finish_placements(options, model, bounds, {inputs, inputs}, context);  // a fault may show in a second run
  }
  if (!options.inputs.empty() || !options.session.shapes.empty())
    throw Failure("--input and --shape go with --placements without a reference: " + options.reference +
                  " brings its own inputs");
  const Arrays arrays = read_reference(options.reference);
  const std::vector<int> cases = cases_of(arrays);
  const Model model(options.model, options.session.threads, context.extensions.convert, marked_memory());
  Bounds bounds;
  apply_bounds(options.session.bounds, &bounds);
  std::vector<std::vector<Array>> inputs;
  for (const int number : cases) {
    const std::string prefix = "c" + std::to_string(number) + "_in";
    std::vector<Array> values;
    for (size_t i = 0; i < model.inputs().size(); ++i) {
      const vireo_value_info& info = model.inputs()[i];
      const std::string key = prefix + std::to_string(i);
      const Array* array = find(arrays, key);
      if (array == nullptr) {
        if (info.state_of >= 0) {
          values.emplace_back();
          continue;
        }
        throw Failure(options.reference + " has no key " + key + " for input '" + info.name + "'");
      }
      values.push_back(fit_dtype(*array, info.dtype));
      require_dtype(info, values.back(), options.reference + " (" + key + ")");
      bounds.add(info, values.back().dims, options.reference + " (" + key + ")");
    }
    const std::string surplus = prefix + std::to_string(model.inputs().size());
    if (find(arrays, surplus) != nullptr) {
      throw Failure(options.reference + " has key " + surplus + ", but " + options.model + " has only " +
                    std::to_string(model.inputs().size()) + " inputs");
    }
    inputs.push_back(std::move(values));
    for (size_t j = 0; j < model.outputs().size(); ++j) {
      const std::string key = "c" + std::to_string(number) + "_out" + std::to_string(j);
      const Expected expected = stored(arrays, key, key);
      if (expected.values != nullptr) bounds.add_output(model.outputs()[j], expected.dims);
    }
  }

  if (options.placements > 0) return finish_placements(options, model, bounds, inputs, context);
  GrowingSession session(model, choice_to_judge(options), bounds);
  Json result = {{"model", options.model},
                 {"reference", options.reference},
                 {"device", devices_of(session.get())},
                 {"pass", true},
                 {"outputs", Json::array()}};
  Progress progress;
  for (size_t k = 0; k < cases.size(); ++k) {
    progress.show("verify " + model.name(), k, cases.size());
    vireo_error error = VIREO_ERROR_INIT;
    check(vireo_session_reset(session.get(), &error), error, "reset the carried state");
    const std::vector<Array> outputs = session.run(inputs[k]);
    for (size_t j = 0; j < outputs.size(); ++j) {
      const std::string key = "c" + std::to_string(cases[k]) + "_out" + std::to_string(j);
      Json entry = {{"case", cases[k]}, {"output", j}};
      entry.update(verify_output(outputs[j], model.outputs()[j], arrays, key, options.tolerance));
      if (!entry["pass"].get<bool>()) result["pass"] = false;
      result["outputs"].push_back(std::move(entry));
    }
  }
  progress.show("");
  const bool pass = result["pass"].get<bool>();
  context.exit_status = pass ? 0 : 1;
  if (options.json) return print_json(result);
  std::vector<std::vector<std::string>> rows{{"case", "output", "max_abs", "max_rel", "cosine", "sqnr dB", ""}};
  const auto number = [](const Json& v, const char* format) {
    char text[48];
    if (v.is_null()) return std::string("-");
    snprintf(text, sizeof(text), format, v.get<double>());
    return std::string(text);
  };
  for (const Json& e : result["outputs"]) {
    rows.push_back({std::to_string(e["case"].get<int>()), e["name"].get<std::string>(), number(e["max_abs"], "%.3g"),
                    number(e["max_rel"], "%.3g"), number(e["cosine"], "%.7f"), number(e["sqnr_db"], "%.1f"),
                    e["pass"].get<bool>() ? "pass" : "FAIL " + e["reason"].get<std::string>()});
  }
  std::cout << table_text(rows) << (pass ? "pass: " : "FAIL: ") << options.model << " against " << options.reference
            << "\n"
            << (pass ? "" : rounding_hint(result["outputs"]));
}

}  // namespace

void add_verify(Command app, Context& context) {
  auto options = std::make_shared<VerifyOptions>();
  Command verb = app.add_verb("verify", "Compare a model's answers with stored reference answers");
  add_model(verb, context, &options->model);
  verb.add_option("reference", options->reference, "an .npz with c0_in0, c0_out0, ...; not needed with --placements")
      .file({".npz"});
  verb.add_option("--atol", options->tolerance.atol,
                  "allowed difference as a share of the output's largest value; default 1e-5, 16-bit floats 1e-2")
      .non_negative();
  verb.add_option("--rtol", options->tolerance.rtol, "allowed difference as a share of each value; default 1e-4")
      .non_negative();
  add_session(verb, &options->session);
  verb.add_option("--placements", options->placements,
                  "N times: place the nodes at random on the devices of --device, run twice and compare with the CPU")
      .non_negative();
  verb.add_flag("--failover", options->failover,
                "let another device take over where a device is lost or computes wrongly, as sessions of an "
                "application do; without it that is a failure");
  verb.add_option("--seed", options->seed, "seed of the first placement of --placements; default 1");
  add_inputs(verb, &options->inputs, "without a reference: an input, NAME=FILE; else values are made up");
  add_json(verb, &options->json, "print every output's figures as JSON");
  verb.footer(
      "An output passes when |d| <= atol max|ref| + rtol |ref| for every element; integers, booleans and\n"
      "strings must be equal, NaNs and infinities stand at the same places. The exit status is 0 when all\n"
      "pass.\n"
      "Examples:\n"
      "  vireo verify model.vireo reference.npz\n"
      "  vireo verify quantized.vireo reference.npz --atol 0.05 --json\n"
      "  vireo verify quantized.vireo --placements 10 --device npu,cpu --plugins plugins/\n"
      "The .npz holds c<case>_in<i> and c<case>_out<j> in the graph's order; c0_out0_sub with c0_out0_step\n"
      "and c0_out0_shape for every step-th value of a large output; c0_out0_noopt for a second accepted\n"
      "answer. An output without a key is random: only its type and shape are compared.");
  verb.callback([options, &context] { verify(*options, context); });
}

}  // namespace vireo::cli
