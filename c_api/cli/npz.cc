#include <zip.h>

#include <algorithm>
#include <memory>

#include "c_api/cli/app.h"
#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "c_api/cli/machine.h"
#include "c_api/cli/npy.h"

namespace vireo::cli {
namespace {

struct Close {
  void operator()(zip_t* z) const { zip_discard(z); }
  void operator()(zip_file_t* f) const {  // a shared_ptr also asks it to close nothing
    if (f != nullptr) zip_fclose(f);
  }
};

std::string text_of(zip_error_t* error) {
  std::string text = zip_error_strerror(error);
  zip_error_fini(error);
  return text;
}

}  // namespace

NpzFile::NpzFile(std::vector<uint8_t> bytes, std::string path) : bytes_(std::move(bytes)), path_(std::move(path)) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes_.data(), bytes_.size(), 0, &error);
  std::unique_ptr<zip_t, Close> archive(source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error));
  if (archive == nullptr) {
    if (source != nullptr) zip_source_free(source);
    throw Failure(path_ + " is not an .npz archive: " + text_of(&error), "write it with numpy.savez");
  }
  index(archive.get());
  archive_ = archive.release();
}

NpzFile::NpzFile(const std::string& path) : path_(path) {
  int code = 0;
  std::unique_ptr<zip_t, Close> archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive == nullptr) {
    if (code == ZIP_ER_NOENT)
      throw Failure("there is no file " + path, "arrays are read from what numpy.savez writes",
                    {"VIREO_IO", path, "", "", "", ""});
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    throw Failure(path_ + " is not an .npz archive: " + text_of(&error), "write it with numpy.savez",
                  {"failed", path, "", "", "", ""});
  }
  index(archive.get());
  archive_ = archive.release();
}

void NpzFile::index(zip_t* archive) {
  const auto count = static_cast<uint64_t>(zip_get_num_entries(archive, 0));
  if (count > kMostEntries) {
    throw Failure(
        path_ + " has " + std::to_string(count) + " entries, at most " + std::to_string(kMostEntries) + " are read",
        "put the arrays that are needed into a file of their own");
  }
  for (uint64_t i = 0; i < count; ++i) {
    zip_stat_t stat;
    if (zip_stat_index(archive, i, 0, &stat) != 0 || (stat.valid & ZIP_STAT_SIZE) == 0)
      throw Failure(path_ + ": entry " + std::to_string(i) + " is damaged", "copy or write the file again");
    std::string name = stat.name == nullptr ? "" : stat.name;
    if (name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0) name.resize(name.size() - 4);
    if (!entries_.emplace(name, Entry{i, stat.size}).second)
      throw Failure(path_ + " has two entries named '" + name + "'", "write it with numpy.savez");
    names_.push_back(std::move(name));
  }
}

NpzFile::~NpzFile() { zip_discard(archive_); }

// An array stands in memory twice while it is taken out of its entry.
void NpzFile::require_memory(const std::string& what, uint64_t bytes, uint64_t largest) const {
  const double wanted = static_cast<double>(bytes) + static_cast<double>(largest), have = memory_allowed();
  if (wanted <= have) return;
  throw Failure(what + " takes " + bytes_text(static_cast<uint64_t>(wanted)) +
                    " to unpack, and this process may have " + bytes_text(static_cast<uint64_t>(have)),
                "use smaller arrays, or allow more (ulimit -v, --max-memory)");
}

const NpzFile::Entry& NpzFile::entry_of(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) throw Failure(path_ + " has no array '" + name + "'");
  return found->second;
}

// No more than the entry declares, whatever is packed there.
ReadSome NpzFile::unpacking(const std::string& name) const {
  const Entry& entry = entry_of(name);
  const std::string called = path_ + " (" + name + ")";
  const std::shared_ptr<zip_file_t> file(zip_fopen_index(archive_, entry.index, 0), Close());
  if (file == nullptr) throw Failure(called + " cannot be read: " + zip_strerror(archive_));
  return [file, called, left = entry.bytes](uint8_t* to, size_t size) mutable {
    if (size > left) size = static_cast<size_t>(left);
    const zip_int64_t got = size == 0 ? 0 : zip_fread(file.get(), to, size);
    if (got < 0) throw Failure(called + " is damaged", "copy or write the file again");
    left -= static_cast<uint64_t>(got);
    return static_cast<size_t>(got);
  };
}

Array NpzFile::read(const std::string& name) const {
  const std::string called = path_ + " (" + name + ")";
  const uint64_t bytes = entry_of(name).bytes;
  require_memory(called, bytes, bytes);
  const std::vector<uint8_t> content = read_npy(unpacking(name), called);
  return parse_npy(content.data(), content.size(), called);
}

NpyRows NpzFile::rows(const std::string& name) const { return NpyRows(unpacking(name), path_ + " (" + name + ")"); }

std::map<std::string, Array> NpzFile::read_all() const {
  uint64_t sum = 0, largest = 0;
  for (const auto& [name, entry] : entries_) {
    if (__builtin_add_overflow(sum, entry.bytes, &sum)) sum = UINT64_MAX;
    largest = std::max(largest, entry.bytes);
  }
  require_memory(path_, sum, largest);
  std::map<std::string, Array> arrays;
  for (const auto& [name, entry] : entries_) arrays.emplace(name, read(name));
  return arrays;
}

std::map<std::string, Array> read_npz(const std::string& path) { return NpzFile(read_file(path), path).read_all(); }

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

}  // namespace vireo::cli
