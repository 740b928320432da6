#include "c_api/cli/inputs.h"

#include <string.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "c_api/cli/nearest.h"
#include "c_api/cli/npy.h"
#include "c_api/cli/picture.h"
#include "c_api/cli/sound.h"

namespace vireo::cli {
namespace {

std::string input_list(const Model& model) {
  std::string text;
  for (const vireo_value_info& info : model.inputs()) {
    text += "\n    " + std::string(info.name) + ": " + type_text(info) +
            (info.state_of >= 0 ? " (carried state, optional)" : "");
  }
  return text.empty() ? "the model has no inputs" : "the model's inputs are:" + text;
}

// An ONNX file may list an input and hold a value for it: conversion makes that a constant.
std::string constant_hint(const Model& model, const std::string& name) {
  return std::string("\n    an input that the ONNX file has a value for is a constant, unless ") +
         (model.converted() ? "" : "it was converted with ") + "--keep-input " + name +
         (model.converted() ? " keeps it" : "");
}

// For a name that no input has. `form`: how to write what names it.
Failure no_input(const Model& model, const std::string& what, const std::string& name, const std::string& form) {
  std::vector<std::string> names;
  for (const vireo_value_info& info : model.inputs()) names.emplace_back(info.name);
  return Failure(
      what, form + did_you_mean(name, names) + input_list(model) + (name.empty() ? "" : constant_hint(model, name)),
      {"failed", model.name(), "", name, "", ""});
}

bool starts_with(const std::vector<uint8_t>& bytes, const char* magic, size_t size) {
  return bytes.size() >= size && memcmp(bytes.data(), magic, size) == 0;
}

// Archives that inputs come from, by path.
using Archives = std::map<std::string, std::unique_ptr<NpzFile>>;

// The array of the input's name, or the only one.
Array load_entry(const NpzFile& archive, const std::string& path, const std::string& input) {
  const std::vector<std::string>& names = archive.names();
  if (std::find(names.begin(), names.end(), input) != names.end()) return archive.read(input);
  if (names.size() == 1) return archive.read(names[0]);
  constexpr size_t kShown = 20;
  std::string keys;
  for (size_t i = 0; i < names.size() && i < kShown; ++i) keys += (keys.empty() ? "" : ", ") + names[i];
  if (names.size() > kShown) keys += " and " + std::to_string(names.size() - kShown) + " more";
  throw Failure(path + " has no array '" + input + "' and not just one; it has: " + keys,
                "save the input under its name: numpy.savez(FILE, **{'" + input + "': array})");
}

Array load_one(const std::string& path, const vireo_value_info& info, const vireo_meaning& meaning, Archives* archives,
               std::string* assumed, PictureFit* fit) {
  const auto opened = archives->find(path);
  if (opened != archives->end()) return fit_dtype(load_entry(*opened->second, path, info.name), info.dtype);
  std::vector<uint8_t> bytes = read_file(path);
  if (bytes.empty()) throw Failure(path + " is empty", "write it again: it may have been cut short");
  if (starts_with(bytes, "\x93NUMPY", 6)) return fit_dtype(parse_npy(bytes.data(), bytes.size(), path), info.dtype);
  if (starts_with(bytes, "PK", 2)) {
    const auto& archive = (*archives)[path] = std::make_unique<NpzFile>(std::move(bytes), path);
    return fit_dtype(load_entry(*archive, path, info.name), info.dtype);
  }
  if (is_picture(bytes)) return read_picture(path, info, meaning, assumed, fit);
  if (starts_with(bytes, "RIFF", 4) || starts_with(bytes, "RIFX", 4)) return read_sound(path, info, meaning, assumed);
  throw Failure(path + " is neither .npy nor .npz, nor a picture (.png, .jpg, .webp, .tif, .bmp, .ppm) or .wav",
                "give input '" + std::string(info.name) + "' a file of one of these");
}

// "8" or "1..8".
bool read_range(const std::string& text, int64_t* lo, int64_t* hi) {
  const size_t dots = text.find("..");
  const std::string first = text.substr(0, dots), second = dots == std::string::npos ? first : text.substr(dots + 2);
  for (const std::string& s : {first, second}) {
    if (s.empty() || s.size() > 15 || s.find_first_not_of("0123456789") != std::string::npos) return false;
  }
  *lo = std::stoll(first);
  *hi = std::stoll(second);
  return *lo <= *hi;
}

}  // namespace

vireo_meaning input_meaning(const Model& model, size_t input) {
  vireo_meaning meaning = VIREO_MEANING_INIT;
  vireo_error error = VIREO_ERROR_INIT;
  check_file(vireo_model_input_meaning(model.get(), static_cast<uint32_t>(input), &meaning, &error), error,
             "read the signature of", model.name());
  return meaning;
}

Array load_file(const std::string& path, const Model& model, size_t input, std::string* assumed, PictureFit* fit) {
  const vireo_value_info& info = model.inputs()[input];
  return at_file(path, info.name, [&] {
    Archives archives;
    Array array = load_one(path, info, input_meaning(model, input), &archives, assumed, fit);
    require_dtype(info, array, path);
    return array;
  });
}

std::pair<std::string, std::string> split_assignment(const std::string& text) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos) return {"", text};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::vector<std::string> files_read(const std::string& model, const std::vector<std::string>& assignments) {
  std::vector<std::string> files = {model};
  for (const std::string& text : assignments) files.push_back(split_assignment(text).second);
  return files;
}

Array fit_dtype(Array array, vireo_dtype want) {
  const bool byte_float = dtype_is_float(want) && dtype_bits(want) == 8;
  if ((want == VIREO_BFLOAT16 && array.dtype == VIREO_UINT16) || (byte_float && array.dtype == VIREO_UINT8)) {
    array.dtype = want;
    return array;
  }
  const int bits = dtype_bits(want);
  if (bits != 4 && bits != 2) return array;
  if (array.dtype != VIREO_INT8 && array.dtype != VIREO_UINT8) return array;
  Array packed = make_array(want, array.dims);
  const int per_byte = 8 / bits;
  for (size_t i = 0; i < array.bytes.size(); ++i) {
    const unsigned code = array.bytes[i] & ((1u << bits) - 1);
    packed.bytes[i / per_byte] =
        static_cast<uint8_t>(packed.bytes[i / per_byte] | code << (bits * static_cast<int>(i % per_byte)));
  }
  return packed;
}

void require_dtype(const vireo_value_info& info, const Array& array, const std::string& where) {
  if (array.dtype == info.dtype) return;
  throw Failure("input '" + std::string(info.name) + "' takes " + type_text(info) + ", but " + where + " holds " +
                    vireo_dtype_text(array.dtype) + " " + shape_text(array.dims),
                "convert the array to " + std::string(vireo_dtype_text(info.dtype)) + " and save it again");
}

std::vector<Array> load_inputs(const Model& model, const std::vector<std::string>& assignments, Bounds* bounds,
                               std::vector<std::string>* assumed) {
  std::vector<Array> arrays(model.inputs().size());
  std::vector<bool> given(arrays.size(), false);
  Archives archives;
  for (const std::string& text : assignments) {
    auto [name, path] = split_assignment(text);
    if (text.find('=') == std::string::npos) {
      if (model.inputs().size() != 1)
        throw Failure("--input " + text + " does not say which input it is for",
                      "write --input NAME=FILE; " + input_list(model), {"failed", "", "", text, "", ""});
      name = model.inputs()[0].name;
      std::error_code ignored;
      if (text == name && !std::filesystem::exists(text, ignored))
        throw Failure("--input " + text + " names no file", "write --input " + text + "=FILE",
                      {"failed", "", "", text, "", ""});
    }
    const auto it = std::find_if(model.inputs().begin(), model.inputs().end(),
                                 [&, wanted = name](const vireo_value_info& info) { return wanted == info.name; });
    if (it == model.inputs().end()) throw no_input(model, model.name() + " has no input '" + name + "'", name, "");
    const size_t index = static_cast<size_t>(it - model.inputs().begin());
    if (given[index]) throw Failure("input '" + name + "' is given twice", "give each --input once");
    given[index] = true;
    const vireo_meaning meaning = input_meaning(model, index);
    arrays[index] = at_file(path, name, [&, file = path] {
      std::string line;
      Array array = load_one(file, *it, meaning, &archives, &line, nullptr);
      if (!line.empty()) assumed->push_back(line);
      require_dtype(*it, array, file);
      bounds->add(*it, array.dims, file);
      return array;
    });
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (given[i] || model.inputs()[i].state_of >= 0) continue;
    const std::string name = model.inputs()[i].name;
    throw Failure("input '" + name + "' is missing", "add --input " + name + "=FILE; " + input_list(model),
                  {"failed", model.name(), "", name, "", ""});
  }
  return arrays;
}

void apply_shapes(const Model& model, const std::vector<std::string>& shapes, Bounds* bounds) {
  for (const std::string& text : shapes) {
    const auto [name, list] = split_assignment(text);
    const std::string what = "--shape " + text + " is not understood", form = "write --shape NAME=1,3,224,224; ";
    const auto fail = [&] { throw Failure(what, form + input_list(model)); };
    const auto it = std::find_if(model.inputs().begin(), model.inputs().end(),
                                 [&, wanted = name](const vireo_value_info& info) { return wanted == info.name; });
    if (it == model.inputs().end()) throw no_input(model, what, name, form);
    std::vector<int64_t> lo, hi;
    for (size_t at = 0; at < list.size();) {
      size_t end = list.find(',', at);
      if (end == std::string::npos) end = list.size();
      const std::string part = list.substr(at, end - at);
      int64_t first = 0, last = 0;
      if (!read_range(part, &first, &last)) fail();
      lo.push_back(first);
      hi.push_back(last);
      at = end + 1;
    }
    bounds->add(*it, lo, "--shape " + text);
    bounds->add(*it, hi, "--shape " + text);
  }
}

void apply_bounds(const std::vector<std::string>& texts, Bounds* bounds) {
  for (const std::string& text : texts) {
    const auto [name, range] = split_assignment(text);
    int64_t lo = 0, hi = 0;
    if (name.empty() || !read_range(range, &lo, &hi))
      throw Failure("--bound " + text + " is not understood", "write --bound DIMENSION=8 or DIMENSION=1..8");
    bounds->set(name, range.find("..") == std::string::npos ? 0 : lo, hi);
  }
}

Array sample_input(const vireo_value_info& info, const std::vector<int64_t>& dims, uint64_t seed) {
  Array a = make_array(info.dtype, dims);
  if (info.dtype != VIREO_FLOAT32 && info.dtype != VIREO_FLOAT64 && info.dtype != VIREO_FLOAT16 &&
      info.dtype != VIREO_BFLOAT16)
    return a;
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (int64_t i = 0, n = a.count(); i < n; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth, MMIX
    set_real(&a, i, static_cast<double>(state >> 40) / (1 << 24));
  }
  return a;
}

std::vector<Array> inputs_to_measure(const Model& model, const std::vector<std::string>& files,
                                     const std::vector<std::string>& shapes,
                                     const std::vector<std::string>& bounds_given, Bounds* bounds,
                                     std::vector<std::string>* assumed) {
  std::vector<Array> inputs(model.inputs().size());
  if (!files.empty()) inputs = load_inputs(model, files, bounds, assumed);
  apply_shapes(model, shapes, bounds);
  apply_bounds(bounds_given, bounds);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const vireo_value_info& info = model.inputs()[i];
    for (const std::string& line : bounds->close(info, 1)) assumed->push_back(line);
    if (inputs[i].dtype == VIREO_NONE && info.state_of < 0) inputs[i] = sample_input(info, bounds->dims_of(info), i);
  }
  return inputs;
}

}  // namespace vireo::cli
