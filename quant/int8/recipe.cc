#include "quant/int8/recipe.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "quant/int8/plan.h"

namespace vireo::quant {
namespace {

// How many letters have to be changed, put in or left out.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

// What conditions a graph for a format, and what rounds by data, as recipes call them.
std::string step_name(Format format) { return format == Format::kW4 ? "scale" : "equalise"; }
std::string rounding_name(Format format) { return format == Format::kW4 ? "feedback" : "descent"; }

class RecipeReader {
 public:
  RecipeReader(Recipe* out, std::string* error, std::string* help) : out_(*out), error_(*error), help_(*help) {}

  bool read(const Json& json) {
    static const std::vector<std::string> known = {"vireo_recipe", "model",  "data", "condition", "defaults",
                                                   "layers",       "ranges", "wide", "measured"};
    if (!json.is_object()) return fail("a recipe is an object of JSON", "start from one that --save-recipe wrote");
    for (const Json::Member& m : json.items()) {
      for (const char* later : {"prune", "search", "budget", "seed", "code"}) {
        if (m.key == later)
          return fail("the recipe has \"" + m.key + "\", which this version does not do",
                      "take the key out; static int8 obeys condition, defaults, layers and ranges");
      }
      if (!one_of(m.key, known, "the recipe")) return false;
    }
    if (!json.contains("vireo_recipe") || !json.at("vireo_recipe").is_number_integer() ||
        json.at("vireo_recipe").get<int>() != 1)
      return fail("the recipe is not of version 1", "\"vireo_recipe\": 1 has to stand in it");
    // What else may stand in it is the format's.
    return text(json, "model", &out_.model) && data(json) && defaults(json) && condition(json) && layers(json) &&
           ranges(json) && wide(json);
  }

 private:
  bool fail(const std::string& error, const std::string& help) {
    error_ = error;
    help_ = help;
    return false;
  }

  bool one_of(const std::string& word, const std::vector<std::string>& known, const std::string& where) {
    if (std::find(known.begin(), known.end(), word) != known.end()) return true;
    const std::string* best = &known[0];
    std::string all;
    for (const std::string& k : known) {
      all += (all.empty() ? "" : ", ") + k;
      if (edit_distance(word, k) < edit_distance(word, *best)) best = &k;
    }
    const bool is_near = edit_distance(word, *best) <= std::max<size_t>(2, best->size() / 3);
    return fail(where + " has \"" + word + "\", which means nothing here",
                (is_near ? "did you mean \"" + *best + "\"? " : "") + "known: " + all);
  }

  bool text(const Json& object, const std::string& key, std::string* to) {
    if (!object.contains(key)) return true;
    if (!object.at(key).is_string()) return fail("\"" + key + "\" of the recipe is not a text", "write it in quotes");
    *to = object.at(key).get<std::string>();
    return true;
  }

  bool object_of(const Json& json, const std::string& key, const Json** to) {
    *to = nullptr;
    if (!json.contains(key)) return true;
    if (!json.at(key).is_object()) return fail("\"" + key + "\" of the recipe is not an object", "write { ... }");
    *to = &json.at(key);
    return true;
  }

  bool data(const Json& json) {
    const Json* object = nullptr;
    if (!object_of(json, "data", &object)) return false;
    if (object == nullptr) return true;
    for (const Json::Member& m : object->items()) {
      if (!one_of(m.key, {"calibrate", "samples", "sha256"}, "\"data\" of the recipe")) return false;
    }
    return text(*object, "calibrate", &out_.data_file) && text(*object, "sha256", &out_.data_digest);
  }

  bool condition(const Json& json) {
    if (!json.contains("condition")) return true;
    const Json& list = json.at("condition");
    if (!list.is_array())
      return fail("\"condition\" of the recipe is not a list",
                  "write [{\"" + step_name(out_.format) + "\": \"*\"}] or []");
    const std::string known = step_name(out_.format);
    bool& wanted = out_.format == Format::kW4 ? out_.scale_gains : out_.equalise;
    wanted = false;
    for (const Json& step : list) {
      if (!step.is_object() || step.size() != 1)
        return fail("a step of \"condition\" is not an object of one key", "write {\"" + known + "\": \"*\"}");
      for (const Json::Member& m : step.items()) {
        if (!one_of(m.key, {known}, "a step of \"condition\"")) return false;
        if (!m.value.is_string() || m.value.get<std::string>() != "*")
          return fail("\"" + known + "\" of the recipe is not \"*\"",
                      "it is done wherever layers follow each other, or not");
        wanted = true;
      }
    }
    return true;
  }

  bool defaults(const Json& json) {
    const Json* object = nullptr;
    if (!object_of(json, "defaults", &object)) return false;
    if (object == nullptr) return true;
    std::string format = format_names()[static_cast<size_t>(out_.format)], weights = "channel", range = "mse",
                bias = "correct";
    bool says_bias = false;
    const std::string where = "of \"defaults\" in the recipe";
    if (!text(*object, "format", &format) || !one_of(format, format_names(), "\"format\" " + where)) return false;
    find_format(format, &out_.format);
    const std::vector<std::string> keys =
        out_.format == Format::kW4 ? std::vector<std::string>{"format", "rounding"}
                                   : std::vector<std::string>{"format", "weights", "range", "rounding", "bias"};
    for (const Json::Member& m : object->items()) {
      if (!one_of(m.key, keys, "\"defaults\" of the recipe")) return false;
      says_bias = says_bias || m.key == "bias";
    }
    const std::string by_data = rounding_name(out_.format);
    std::string rounding = by_data;
    if (!text(*object, "weights", &weights) || !text(*object, "range", &range) ||
        !text(*object, "rounding", &rounding) || !text(*object, "bias", &bias) ||
        !one_of(weights, {"channel", "tensor"}, "\"weights\" " + where) ||
        !one_of(range, range_method_names(), "\"range\" " + where) ||
        !one_of(rounding, {by_data, "nearest"}, "\"rounding\" " + where) ||
        !one_of(bias, {"correct", "keep"}, "\"bias\" " + where))
      return false;
    out_.per_channel = weights == "channel";
    if (says_bias) out_.correct_bias = bias == "correct";
    out_.descend = rounding == by_data;
    return find_range_method(range, &out_.range);
  }

  bool layers(const Json& json) {
    const Json* object = nullptr;
    if (!object_of(json, "layers", &object)) return false;
    if (object == nullptr) return true;
    for (const Json::Member& m : object->items()) {
      const std::string where = "layer \"" + m.key + "\" of the recipe";
      if (!m.value.is_object())
        return fail(where + " is not an object", "write {\"keep\": true} or {\"format\": \"w8a16\"}");
      LayerRule rule;
      for (const Json::Member& option : m.value.items()) {
        if (option.key == "format" && out_.format == Format::kW4)
          return fail(where + " has a format of its own, and with w4/32 all layers have one",
                      "write {\"keep\": true}, or take w8a8 as the default");
        if (!one_of(option.key, {"keep", "format"}, where)) return false;
        if (option.key == "keep" ? !keep(option.value, where, &rule) : !format(m.value, where, &rule)) return false;
      }
      out_.rules.emplace_back(m.key, rule);
    }
    return true;
  }

  bool keep(const Json& value, const std::string& where, LayerRule* rule) {
    if (!value.is_boolean()) return fail("\"keep\" of " + where + " is neither true nor false", "write true");
    rule->keep = value.get<bool>();
    return true;
  }

  bool format(const Json& object, const std::string& where, LayerRule* rule) {
    std::string name;
    Format found{};
    std::vector<std::string> names = format_names();
    names.pop_back();  // w4/32 is no format of a single layer
    if (!text(object, "format", &name) || !one_of(name, names, "\"format\" of " + where)) return false;
    find_format(name, &found);
    rule->format = found;
    return true;
  }

  bool ranges(const Json& json) {
    const Json* object = nullptr;
    if (!object_of(json, "ranges", &object)) return false;
    if (object == nullptr) return true;
    if (out_.format == Format::kW4 && object->size() != 0)
      return fail("the recipe has ranges, and with w4/32 values stay in float", "take \"ranges\" out");
    for (const Json::Member& m : object->items()) {
      const std::string where = "the range of \"" + m.key + "\" in the recipe";
      if (!m.value.is_array() || m.value.size() != 2 || !m.value[size_t{0}].is_number() ||
          !m.value[size_t{1}].is_number())
        return fail(where + " is not two numbers", "write [low, high]");
      const ValueRange r = {m.value[size_t{0}].get<double>(), m.value[size_t{1}].get<double>()};
      if (!std::isfinite(r.low) || !std::isfinite(r.high) || r.low > 0 || r.high < 0)
        return fail(where + " does not hold 0", "zero is always a code: low is at most 0 and high at least 0");
      out_.ranges[m.key] = r;
    }
    return true;
  }

  bool wide(const Json& json) {
    if (!json.contains("wide")) return true;
    const Json& list = json.at("wide");
    const char* const help = out_.format == Format::kW4
                                 ? "write the names of layers whose matrix takes 8 bits, or [] for none"
                                 : "write the names of values that take 16 bits, or [] for none";
    if (!list.is_array()) return fail("\"wide\" of the recipe is not a list", help);
    out_.wide.emplace();
    for (const Json& name : list) {
      if (!name.is_string()) return fail("\"wide\" of the recipe has something that is no name", help);
      out_.wide->push_back(name.get<std::string>());
    }
    return true;
  }

  Recipe& out_;
  std::string& error_;
  std::string& help_;
};

}  // namespace

namespace {

bool stands_for(const std::string& pattern, const std::string& name) {
  // Of the last * seen: where it stands, and what of the name it stands for.
  size_t p = 0, n = 0, star = std::string::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] == name[n] && pattern[p] != '*'))) {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

bool matches(const std::string& pattern, const std::string& name) {
  if (stands_for(pattern, name)) return true;
  const size_t whole = name.size() < 4 ? 0 : name.size() - 4;
  const std::string part = name.substr(whole);
  return whole != 0 && (part == " (q)" || part == " (k)" || part == " (v)") &&
         stands_for(pattern, name.substr(0, whole));
}

bool kept(const Recipe& recipe, const std::string& name) {
  bool keep = false;
  for (const auto& [pattern, rule] : recipe.rules) {
    if (rule.keep && matches(pattern, name)) keep = *rule.keep;
  }
  return keep;
}

Format format_of(const Recipe& recipe, const std::string& name) {
  Format format = recipe.format;
  for (const auto& [pattern, rule] : recipe.rules) {
    if (rule.format && matches(pattern, name)) format = *rule.format;
  }
  return format;
}

bool has_format(const Recipe& recipe, const std::string& name) {
  return std::any_of(recipe.rules.begin(), recipe.rules.end(),
                     [&](const auto& rule) { return rule.second.format && matches(rule.first, name); });
}

bool knows_patterns(std::initializer_list<const ir::Graph*> graphs, const Recipe& recipe, std::string* unknown) {
  for (const auto& [pattern, rule] : recipe.rules) {
    const std::string& p = pattern;
    if (std::any_of(graphs.begin(), graphs.end(), [&](const ir::Graph* g) {
          return std::any_of(g->nodes().begin(), g->nodes().end(),
                             [&](const ir::Node& n) { return matches(p, layer_name(n)); });
        }))
      continue;
    *unknown = pattern;
    return false;
  }
  return true;
}

const std::vector<std::string>& format_names() {
  static const std::vector<std::string> names = {"w8a8", "w8a16", "w4a8", "w4/32"};
  return names;
}

bool find_format(const std::string& name, Format* format) {
  const auto& names = format_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return false;
  *format = static_cast<Format>(found - names.begin());
  return true;
}

bool read_recipe(const Json& json, Recipe* out, std::string* error, std::string* help) {
  return RecipeReader(out, error, help).read(json);
}

Json write_recipe(const Recipe& recipe) {
  Json json = {{"vireo_recipe", 1}};
  if (!recipe.model.empty()) json["model"] = recipe.model;
  if (!recipe.data_digest.empty()) json["data"] = {{"calibrate", recipe.data_file}, {"sha256", recipe.data_digest}};
  json["condition"] = Json::array();
  const bool in_float = recipe.format == Format::kW4;
  if (in_float ? recipe.scale_gains : recipe.equalise) {
    Json step = Json::object();
    step[step_name(recipe.format)] = "*";
    json["condition"].push_back(step);
  }
  json["defaults"] = {{"format", format_names()[static_cast<size_t>(recipe.format)]}};
  if (!in_float) json["defaults"]["weights"] = recipe.per_channel ? "channel" : "tensor";
  if (!in_float) json["defaults"]["range"] = range_method_names()[static_cast<size_t>(recipe.range)];
  json["defaults"]["rounding"] = recipe.descend ? rounding_name(recipe.format) : "nearest";
  if (!in_float && recipe.correct_bias) json["defaults"]["bias"] = *recipe.correct_bias ? "correct" : "keep";
  json["layers"] = Json::object();
  for (const auto& [pattern, rule] : recipe.rules) {
    Json said = Json::object();
    if (rule.keep) said["keep"] = *rule.keep;
    if (rule.format) said["format"] = format_names()[static_cast<size_t>(*rule.format)];
    json["layers"][pattern] = said;
  }
  if (!in_float) json["ranges"] = Json::object();
  for (const auto& [name, range] : recipe.ranges) {
    Json pair = Json::array();
    pair.push_back(range.low);
    pair.push_back(range.high);
    json["ranges"][name] = pair;
  }
  if (!recipe.wide) return json;
  json["wide"] = Json::array();
  for (const std::string& name : *recipe.wide) json["wide"].push_back(name);
  return json;
}

}  // namespace vireo::quant
