#include <zip.h>

#include <memory>

#include "c_api/tool/failure.h"
#include "c_api/tool/file.h"
#include "c_api/tool/npy.h"

namespace vireo::tool {
namespace {

struct Close {
  void operator()(zip_t* z) const { zip_discard(z); }
  void operator()(zip_file_t* f) const { zip_fclose(f); }
};

std::string text_of(zip_error_t* error) {
  std::string text = zip_error_strerror(error);
  zip_error_fini(error);
  return text;
}

}  // namespace

std::map<std::string, Array> read_npz(const std::string& path) {
  const std::vector<uint8_t> bytes = read_file(path);
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  std::unique_ptr<zip_t, Close> archive(source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error));
  if (archive == nullptr) {
    if (source != nullptr) zip_source_free(source);
    throw Failure(path + " is not an .npz archive: " + text_of(&error), "write it with numpy.savez");
  }
  std::map<std::string, Array> arrays;
  const zip_int64_t entries = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    const char* raw_name = zip_get_name(archive.get(), static_cast<zip_uint64_t>(i), 0);
    std::string name = raw_name == nullptr ? "" : raw_name;
    std::unique_ptr<zip_file_t, Close> file(zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(i), 0));
    if (file == nullptr) throw Failure(path + ": entry '" + name + "' cannot be read: " + zip_strerror(archive.get()));
    const auto unpack = [&](uint8_t* to, size_t size) {
      const zip_int64_t got = zip_fread(file.get(), to, size);
      if (got < 0) throw Failure(path + ": entry '" + name + "' is damaged", "copy or write the file again");
      return static_cast<size_t>(got);
    };
    const std::vector<uint8_t> content = read_npy(unpack, path + " (" + name + ")");
    if (name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0) name.resize(name.size() - 4);
    if (!arrays.emplace(name, parse_npy(content.data(), content.size(), path + " (" + name + ")")).second) {
      throw Failure(path + " has two entries named '" + name + "'");
    }
  }
  return arrays;
}

void write_npz(const std::string& path, const std::vector<std::pair<std::string, Array>>& arrays) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* memory = zip_source_buffer_create(nullptr, 0, 0, &error);
  if (memory == nullptr) throw Failure("cannot build " + path + ": " + text_of(&error));
  zip_source_keep(memory);  // read back after zip_close has given up its own reference
  std::unique_ptr<zip_source_t, void (*)(zip_source_t*)> keep(memory, zip_source_free);
  std::unique_ptr<zip_t, Close> archive(zip_open_from_source(memory, ZIP_TRUNCATE, &error));
  if (archive == nullptr) throw Failure("cannot build " + path + ": " + text_of(&error));
  std::vector<std::vector<uint8_t>> parts;
  for (const auto& [name, array] : arrays) parts.push_back(format_npy(array));
  for (size_t i = 0; i < arrays.size(); ++i) {
    zip_source_t* part = zip_source_buffer(archive.get(), parts[i].data(), parts[i].size(), 0);
    const zip_int64_t index =
        part == nullptr ? -1 : zip_file_add(archive.get(), (arrays[i].first + ".npy").c_str(), part, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(part);
      throw Failure("cannot add '" + arrays[i].first + "' to " + path + ": " + zip_strerror(archive.get()));
    }
    zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
  }
  if (zip_close(archive.get()) != 0) throw Failure("cannot build " + path + ": " + zip_strerror(archive.get()));
  static_cast<void>(archive.release());  // zip_close has freed it
  zip_stat_t stat;
  if (zip_source_stat(memory, &stat) != 0 || zip_source_open(memory) != 0) throw Failure("cannot build " + path);
  std::vector<uint8_t> bytes(static_cast<size_t>(stat.size));
  const zip_int64_t got = zip_source_read(memory, bytes.data(), bytes.size());
  zip_source_close(memory);
  if (got != static_cast<zip_int64_t>(bytes.size())) throw Failure("cannot build " + path);
  write_file(path, bytes.data(), bytes.size());
}

}  // namespace vireo::tool
