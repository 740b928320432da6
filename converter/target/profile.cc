#include "converter/target/profile.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "sdk/base/dtype.h"

namespace vireo::target {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxText = 64;
constexpr size_t kMaxDevices = 16;

// Walks one profile. The first fault ends it: `error` then has the file, the key and what is allowed.
class Reader {
 public:
  Reader(const std::string& source, const std::vector<std::string>& precisions, std::string* error)
      : source_(source), precisions_(precisions), error_(error) {}

  bool read(const Json& json, Profile* out) {
    if (!json.is_object()) return bad("", "a profile is an object with \"name\" and \"devices\"");
    const bool good = keys(json, "",
                           {"name", "description", "devices", "memory", "types", "precision", "layout", "skip",
                            "alignment", "pack", "firmware"}) &&
                      text(json, "name", true, &out->name) && text(json, "description", false, &out->description) &&
                      devices(json, out) && memory(json, out) && types(json, out) && precision(json, out) &&
                      layout(json, out) && skip(json, out) && alignment(json, out) && pack(json, out) &&
                      firmware(json, out);
    if (!good) return false;
    if (out->name == "none" || out->name == "help" || out->name.find_first_of(",=/") != std::string::npos)
      return bad("name", "a name of its own, without , = and /");
    return true;
  }

 private:
  bool bad(const std::string& key, const std::string& allowed) {
    *error_ = source_ + ": " + (key.empty() ? "" : "\"" + key + "\": ") + "wanted is " + allowed;
    return false;
  }

  bool keys(const Json& json, const std::string& where, const std::vector<std::string>& known) {
    for (const auto& [key, value] : json.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      std::string list;
      for (const std::string& k : known) list += (list.empty() ? "" : ", ") + k;
      *error_ = source_ + ": there is no key \"" + where + key + "\"; allowed are " + list;
      return false;
    }
    return true;
  }

  bool text(const Json& json, const std::string& key, bool needed, std::string* out, const std::string& where = "") {
    if (!json.contains(key)) return needed ? bad(where + key, "a text: it is missing") : true;
    const Json& value = json[key];
    const size_t most = key == "description" || key == "flags" ? 400 : kMaxText;
    if (!value.is_string() || value.get_ref<const std::string&>().size() > most ||
        (needed && value.get_ref<const std::string&>().empty()) ||
        value.get_ref<const std::string&>().find('\0') != std::string::npos)
      return bad(where + key,
                 "a text of " + std::string(needed ? "1" : "0") + " to " + std::to_string(most) + " bytes");
    *out = value.get<std::string>();
    return true;
  }

  bool number(const Json& json, const std::string& key, const std::string& where, double* out) {
    if (!json.contains(key)) return true;
    const Json& value = json[key];
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0)
      return bad(where + key, "a number of 0 or more");
    *out = value.get<double>();
    return true;
  }

  bool whole(const Json& json, const std::string& key, const std::string& where, uint64_t low, uint64_t high,
             uint64_t* out) {
    if (!json.contains(key)) return true;
    const Json& value = json[key];
    if (!value.is_number_unsigned() || value.get<uint64_t>() < low || value.get<uint64_t>() > high)
      return bad(where + key, "a whole number, " + std::to_string(low) + " to " + std::to_string(high));
    *out = value.get<uint64_t>();
    return true;
  }

  bool devices(const Json& json, Profile* out) {
    if (!json.contains("devices") || !json["devices"].is_array() || json["devices"].empty() ||
        json["devices"].size() > kMaxDevices)
      return bad("devices",
                 "a list of 1 to " + std::to_string(kMaxDevices) + " devices, the one to be preferred first");
    for (size_t i = 0; i < json["devices"].size(); ++i) {
      const Json& d = json["devices"][i];
      const std::string where = "devices[" + std::to_string(i) + "].";
      ProfileDevice device;
      if (!d.is_object()) return bad(where.substr(0, where.size() - 1), "an object with \"device\" or \"delegate\"");
      if (!keys(d, where, {"device", "delegate", "rates", "watts"}) ||
          !text(d, "device", false, &device.device, where) || !text(d, "delegate", false, &device.delegate, where) ||
          !number(d, "watts", where, &device.watts))
        return false;
      if (device.device.empty() == device.delegate.empty())
        return bad(where.substr(0, where.size() - 1), "either \"device\", a name, or \"delegate\"");
      if (device.device == "auto" || device.text().find(',') != std::string::npos)
        return bad(where + "device", "the name of one device");
      for (const ProfileDevice& other : out->devices) {
        if (other.device == device.device && other.delegate == device.delegate)
          return bad(where.substr(0, where.size() - 1), "a device that is not in the list yet");
      }
      if (d.contains("rates")) {
        const Json& r = d["rates"];
        const std::string in = where + "rates.";
        if (!r.is_object()) return bad(where + "rates", "an object");
        if (!keys(r, in, {"f32", "f16", "i8", "bandwidth", "transfer", "launch_ns"}) ||
            !number(r, "f32", in, &device.rates.f32_rate) || !number(r, "f16", in, &device.rates.f16_rate) ||
            !number(r, "i8", in, &device.rates.i8_rate) || !number(r, "bandwidth", in, &device.rates.bandwidth) ||
            !number(r, "transfer", in, &device.rates.transfer) || !number(r, "launch_ns", in, &device.rates.launch_ns))
          return false;
        if (r.contains("launch_ns") && device.rates.launch_ns == 0) device.rates.launch_ns = -1;  // it costs nothing
      }
      out->devices.push_back(device);
    }
    return true;
  }

  bool memory(const Json& json, Profile* out) {
    if (!json.contains("memory")) return true;
    const Json& m = json["memory"];
    if (!m.is_object()) return bad("memory", "an object with \"arena\", \"file\" and \"pointer\", in bytes");
    constexpr uint64_t kMost = uint64_t{1} << 62;
    if (!keys(m, "memory.", {"arena", "file", "pointer"}) ||
        !whole(m, "arena", "memory.", 1, kMost, &out->arena_bytes) ||
        !whole(m, "file", "memory.", 1, kMost, &out->file_bytes) ||
        !whole(m, "pointer", "memory.", 4, 8, &out->pointer_bytes))
      return false;
    return out->pointer_bytes % 4 == 0 || bad("memory.pointer", "4 or 8");
  }

  bool firmware(const Json& json, Profile* out) {
    if (!json.contains("firmware")) return true;
    const Json& f = json["firmware"];
    if (!f.is_object()) return bad("firmware", "an object with \"core\", \"compiler\", \"flags\" and \"board\"");
    const std::string in = "firmware.";
    if (f.contains("strips") && !f["strips"].is_boolean()) return bad("firmware.strips", "true or false");
    out->firmware.strips = f.value("strips", true);
    return keys(f, in, {"core", "compiler", "flags", "board", "strips"}) &&
           text(f, "core", true, &out->firmware.core, in) && text(f, "compiler", true, &out->firmware.compiler, in) &&
           text(f, "flags", true, &out->firmware.flags, in) && text(f, "board", true, &out->firmware.board, in);
  }

  bool types(const Json& json, Profile* out) {
    if (!json.contains("types")) return true;
    std::string known;
    for (int t = VIREO_FLOAT32; t <= VIREO_FLOAT6E3M2; ++t)
      known += (known.empty() ? "" : ", ") + std::string(dtype_name(static_cast<DType>(t)));
    const Json& list = json["types"];
    if (!list.is_array() || list.empty()) return bad("types", "a list of types: " + known);
    for (const Json& name : list) {
      uint64_t bit = 0;
      for (int t = VIREO_FLOAT32; name.is_string() && t <= VIREO_FLOAT6E3M2; ++t) {
        if (name.get_ref<const std::string&>() == dtype_name(static_cast<DType>(t))) bit = uint64_t{1} << t;
      }
      if (bit == 0) return bad("types", "a list of types: " + known);
      out->types |= bit;
    }
    return true;
  }

  bool precision(const Json& json, Profile* out) {
    if (!text(json, "precision", false, &out->precision)) return false;
    if (out->precision.empty() ||
        std::find(precisions_.begin(), precisions_.end(), out->precision) != precisions_.end())
      return true;
    std::string known;
    for (const std::string& p : precisions_) known += (known.empty() ? "" : ", ") + p;
    return bad("precision", "one of " + known);
  }

  // Models come with channels first; the pass that turns regions is left out where they are to stay.
  bool layout(const Json& json, Profile* out) {
    std::string layout = "auto";
    if (!text(json, "layout", false, &layout)) return false;
    if (layout == "nchw") out->skip.push_back("choose_layout");
    return layout == "auto" || layout == "nchw" || bad("layout", "\"auto\" or \"nchw\"");
  }

  bool skip(const Json& json, Profile* out) {
    if (!json.contains("skip")) return true;
    const Json& list = json["skip"];
    if (!list.is_array()) return bad("skip", "a list of passes to leave out, as in --skip");
    for (const Json& name : list) {
      if (!name.is_string()) return bad("skip", "a list of passes to leave out, as in --skip");
      out->skip.push_back(name.get<std::string>());
    }
    return true;
  }

  bool alignment(const Json& json, Profile* out) {
    uint64_t value = out->alignment;
    if (!whole(json, "alignment", "", 64, 65536, &value)) return false;
    if ((value & (value - 1)) != 0) return bad("alignment", "a power of two, 64 to 65536");
    out->alignment = static_cast<uint32_t>(value);
    return true;
  }

  bool pack(const Json& json, Profile* out) {
    if (!json.contains("pack")) return true;
    if (!json["pack"].is_boolean()) return bad("pack", "true or false");
    out->pack = json["pack"].get<bool>();
    return true;
  }

  const std::string& source_;
  const std::vector<std::string>& precisions_;
  std::string* error_;
};

}  // namespace

bool parse_profile(const std::string& text, const std::string& source, const std::vector<std::string>& precisions,
                   Profile* out, std::string* error) {
  // A key that stands twice says two things.
  std::string twice;
  std::vector<std::vector<std::string>> seen;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) seen.emplace_back();
    if (event == Json::parse_event_t::object_end) seen.pop_back();
    if (event == Json::parse_event_t::key && !seen.empty()) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (std::find(seen.back().begin(), seen.back().end(), key) != seen.back().end()) twice = key;
      seen.back().push_back(key);
    }
    return true;
  };
  if (text.size() > (size_t{1} << 20)) {
    *error = source + ": a profile has at most a megabyte";
    return false;
  }
  const Json json = Json::parse(text, watch, /*allow_exceptions=*/false, /*ignore_comments=*/false);
  if (json.is_discarded()) {
    *error = source + ": it is not JSON";
    return false;
  }
  if (!twice.empty()) {
    *error = source + ": the key \"" + twice + "\" stands twice";
    return false;
  }
  *out = Profile();
  return Reader(source, precisions, error).read(json, out);
}

const KernelCosts& costs_of(const Profile& profile) {
  for (const ProfileDevice& device : profile.devices) {
    if (const CostTable* table = find_costs(device.text())) return table->costs;
  }
  return default_costs();
}

}  // namespace vireo::target
