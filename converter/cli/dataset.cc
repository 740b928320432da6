#include "converter/cli/dataset.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "c_api/cli/columns.h"
#include "c_api/cli/inputs.h"

namespace vireo::cli {
namespace {

// The shape `dims` with dimensions of 1 put between, so that the input takes it.
std::optional<std::vector<int64_t>> spread(const std::vector<int64_t>& dims, const vireo_value_info& info) {
  const auto takes = [&](size_t d, int64_t extent) {
    return extent >= info.min_dims[d] && (info.max_dims[d] < 0 || extent <= info.max_dims[d]);
  };
  const auto rank = static_cast<size_t>(info.rank);
  if (dims.size() > rank) return std::nullopt;
  std::vector<bool> own(rank, false);  // which of the input's dimensions are the array's: the last ones are tried first
  std::fill(own.end() - static_cast<ptrdiff_t>(dims.size()), own.end(), true);
  do {
    std::vector<int64_t> out;
    size_t next = 0;
    for (size_t d = 0; d < rank; ++d) out.push_back(own[d] ? dims[next++] : 1);
    bool good = true;
    for (size_t d = 0; d < rank; ++d) good = good && takes(d, out[d]);
    if (good) return out;
  } while (std::next_permutation(own.begin(), own.end()));
  return std::nullopt;
}

// Whether every number of type `from` is one of type `to`.
bool widens(vireo_dtype from, vireo_dtype to) {
  const auto is_signed = [](vireo_dtype t) {
    return t == VIREO_INT8 || t == VIREO_INT16 || t == VIREO_INT32 || t == VIREO_INT64;
  };
  const auto is_unsigned = [](vireo_dtype t) {
    return t == VIREO_UINT8 || t == VIREO_UINT16 || t == VIREO_UINT32 || t == VIREO_UINT64;
  };
  const bool real = from == VIREO_FLOAT16 || from == VIREO_BFLOAT16 || from == VIREO_FLOAT32;
  if (real) return (to == VIREO_FLOAT32 || to == VIREO_FLOAT64) && dtype_bits(to) > dtype_bits(from);
  if (is_signed(from)) return is_signed(to) && dtype_bits(to) > dtype_bits(from);
  if (is_unsigned(from)) return (is_signed(to) || is_unsigned(to)) && dtype_bits(to) > dtype_bits(from);
  return false;
}

// Bytes as numbers, scaled as the pictures of read_picture() are.
Array scaled_bytes(const Array& array, const vireo_value_info& info, const vireo_meaning& meaning,
                   const std::string& where, std::string* assumed) {
  const bool told = meaning.kind == VIREO_MEANING_IMAGE;
  const std::string layout = told && meaning.layout != nullptr ? meaning.layout : "";
  const bool last = layout == "NHWC" || layout == "HWC";
  const size_t rank = array.dims.size(), axis = rank < 3 ? rank : last ? rank - 1 : rank - 3;
  int64_t behind = 1;
  for (size_t d = axis + 1; d < rank; ++d) behind *= array.dims[d];
  const double lo = told ? static_cast<double>(meaning.range_lo) : 0,
               hi = told ? static_cast<double>(meaning.range_hi) : 1;
  const auto channel = [&](const float* list, uint32_t count, int64_t c, double otherwise) {
    if (!told || list == nullptr || count == 0) return otherwise;
    return static_cast<double>(list[std::min<int64_t>(c, count - 1)]);
  };
  Array out = make_array(info.dtype, array.dims);
  for (int64_t i = 0; i < array.count(); ++i) {
    const int64_t c = axis < rank ? i / behind % array.dims[axis] : 0;
    const double v = lo + (hi - lo) * real_at(array, i) / 255;
    set_real(&out, i,
             (v - channel(meaning.mean, meaning.mean_count, c, 0)) / channel(meaning.std, meaning.std_count, c, 1));
  }
  *assumed = std::string(info.name) + ": bytes of " + where + ", 0..255 taken as " + formatted("%g..%g", lo, hi) +
             (told && meaning.mean_count != 0 ? ", mean and std of the model's signature" : "") +
             (told ? " (as the model's signature says)"
                   : " (the model has no signature; convert with --signature to change it)");
  return out;
}

}  // namespace

void Dataset::assume(const std::string& line) {
  if (line.empty() || std::find(assumed_.begin(), assumed_.end(), line) != assumed_.end()) return;
  assumed_.push_back(line);
}

Array fit_input(const Array& given, const Model& model, size_t input, const std::string& where, std::string* assumed) {
  const vireo_value_info& info = model.inputs()[input];
  Array array = fit_dtype(given, info.dtype);
  const std::optional<std::vector<int64_t>> dims = spread(array.dims, info);
  if (!dims.has_value()) {
    throw Failure("input '" + std::string(info.name) + "' takes " + type_text(info) + ", but a sample of " + where +
                      " has shape " + shape_text(given.dims),
                  "a sample is one row of the array, with a batch of 1 in front; --input " + std::string(info.name) +
                      "=KEY names another array",
                  {"failed", "", "", info.name, "", ""});
  }
  array.dims = *dims;
  if (array.dtype == info.dtype) return array;
  const bool reals = info.dtype == VIREO_FLOAT32 || info.dtype == VIREO_FLOAT16 || info.dtype == VIREO_FLOAT64;
  if (array.dtype == VIREO_UINT8 && reals) {
    return scaled_bytes(array, info, input_meaning(model, input), where, assumed);
  }
  if (!widens(array.dtype, info.dtype)) require_dtype(info, array, where);
  Array out = make_array(info.dtype, array.dims);
  for (int64_t i = 0; i < array.count(); ++i) set_real(&out, i, real_at(array, i));
  return out;
}

std::unique_ptr<Dataset> open_dataset(const DataOptions& options, const Model& model) {
  const std::string kinds =
      "--data takes an .npz file, a folder of pictures or sounds with labels.csv or a folder a "
      "class, or COCO's .json";
  struct stat info = {};
  if (stat(options.data.c_str(), &info) != 0)
    throw Failure("there is no " + options.data, kinds, {"VIREO_IO", options.data, "", "", "", ""});
  return at_file(options.data, "", [&] {
    if (S_ISDIR(info.st_mode)) return open_folder(options, model);
    const std::string ending = S_ISREG(info.st_mode) ? std::filesystem::path(options.data).extension().string() : "";
    if (ending == ".txt" || (ending == ".npz" && options.window > 0)) return open_tokens(options, model);
    if (ending == ".npz") return open_npz(options, model);
    if (ending == ".json") return open_coco(options, model);
    throw Failure(options.data + " holds no data that is known", kinds);
  });
}

}  // namespace vireo::cli
