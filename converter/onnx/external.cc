// Tensor data in other files. A model comes from a stranger: what it names must lie in its own folder, also after
// symbolic links are followed. Where the model file itself is a link, which the user chose, the folder of the file that
// it leads to is the model's too: caches like Hugging Face's keep all files in one folder and show links to them in
// another. Files are mapped, never read into memory.
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "converter/onnx/load.h"
#include "converter/onnx/six_bits.h"
#include "converter/onnx/tensors.h"

namespace vireo::importer {
namespace {

namespace fs = std::filesystem;

bool parse_number(const std::string& text, int64_t* out) {
  if (text.empty() || text.size() > 18) return false;
  int64_t n = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    n = n * 10 + (c - '0');
  }
  *out = n;
  return true;
}

bool below(const fs::path& folder, const fs::path& file) {
  auto f = file.begin();
  for (auto d = folder.begin(); d != folder.end(); ++d, ++f) {
    if (f == file.end() || *f != *d) return false;
  }
  return f != file.end();
}

}  // namespace

std::shared_ptr<ir::MappedFile> TensorReader::map(const std::string& location, const std::string& name) {
  const auto it = files_.find(location);
  if (it != files_.end()) return it->second;
  std::shared_ptr<ir::MappedFile>& slot = files_[location];
  const fs::path relative(location);
  bool climbs = false;
  for (const fs::path& part : relative) climbs = climbs || part == "..";
  if (location.empty() || relative.is_absolute() || climbs || location.find('\0') != std::string::npos) {
    fail(Code::kExternalData, name, "its data are said to lie at \"" + location + "\", outside the model's folder",
         "external data must lie beside the model or in a folder below it");
    return nullptr;
  }
  std::error_code error;
  const fs::path parent = fs::path(model_path_).parent_path();
  const fs::path folder = fs::canonical(parent.empty() ? fs::path(".") : parent, error);
  std::error_code unresolved;
  fs::path behind_link = fs::canonical(model_path_, unresolved).parent_path();
  if (unresolved) behind_link = folder;
  fs::path file = error ? fs::path() : fs::canonical(folder / relative, error);
  if (error) {
    const fs::path there = fs::canonical(behind_link / relative, unresolved);
    if (!unresolved) {
      file = there;
      error.clear();
    }
  }
  if (error) {
    fail(Code::kExternalData, name, "its data file \"" + location + "\" cannot be found: " + error.message(),
         "copy the model together with its data file(s); expected \"" + (parent / relative).string() + "\"");
    return nullptr;
  }
  if (!below(folder, file) && !below(behind_link, file)) {
    fail(Code::kExternalData, name,
         "its data file \"" + location + "\" is a link that leads outside the model's folder",
         "put the file itself into the model's folder");
    return nullptr;
  }
  std::string why;
  slot = ir::MappedFile::open(file.string(), &why);
  if (slot == nullptr) fail(Code::kExternalData, name, "its data file \"" + location + "\" cannot be read: " + why);
  return slot;
}

ir::ConstantPtr TensorReader::read_external(const ::onnx::TensorProto& tensor, const TensorType& type, int64_t bytes,
                                            const std::string& name) {
  std::string location;
  int64_t offset = 0, length = -1;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset" || entry.key() == "length") {
      if (!parse_number(entry.value(), entry.key() == "offset" ? &offset : &length)) {
        return fail(Code::kExternalData, name,
                    "external data: " + entry.key() + " is \"" + entry.value() + "\", not a number");
      }
    }
  }
  if (type.dtype == DType::kString) return fail(Code::kExternalData, name, "strings cannot be external data");
  const std::shared_ptr<ir::MappedFile> file = map(location, name);
  if (file == nullptr) return nullptr;
  const int64_t size = static_cast<int64_t>(file->bytes().size());
  if (length < 0) length = bytes;
  if (length != bytes) {
    return fail(
        Code::kExternalData, name,
        "external data: length is " + std::to_string(length) + ", its shape and type want " + std::to_string(bytes));
  }
  if (offset > size || bytes > size - offset) {
    return fail(Code::kExternalData, name,
                "its data file \"" + location + "\" has " + std::to_string(size) + " bytes, wanted " +
                    std::to_string(bytes) + " at " + std::to_string(offset),
                is_lfs_pointer(file->bytes()) ? "it is a Git LFS pointer: fetch the file itself with `git lfs pull`"
                                              : "the file was cut short or belongs to another model: get it again");
  }
  const Span<const uint8_t> data(file->bytes().data() + offset, static_cast<size_t>(bytes));
  if (is_six_bits(type.dtype)) return ir::make_constant(type, unpack_six_bits(data, element_count(type.shape)));
  return ir::make_window(type, file, data);
}

}  // namespace vireo::importer
