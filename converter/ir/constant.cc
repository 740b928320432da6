#include "converter/ir/constant.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "sdk/files/regular_file.h"

namespace vireo::ir {
namespace {

bool write_all(int fd, const uint8_t* data, size_t size) {
  constexpr size_t kMost = 1 << 30;  // more than this a call may refuse
  while (size > 0) {
    const ssize_t n = ::write(fd, data, std::min(size, kMost));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

std::shared_ptr<MappedFile> MappedFile::open(const std::string& path, std::string* error) {
  size_t size = 0;
  int why = 0;
  const int fd = files::open_regular(path, &size, &why);
  if (fd < 0) {
    *error = files::why_unreadable(why);
    return nullptr;
  }
  void* data = nullptr;
  if (size > 0) {
    data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      *error = std::strerror(errno);
      data = nullptr;
    }
  }
  close(fd);
  if (size > 0 && data == nullptr) return nullptr;
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->data_ = static_cast<const uint8_t*>(data);
  file->size_ = size;
  return file;
}

std::shared_ptr<MappedFile> MappedFile::write(const std::vector<Span<const uint8_t>>& parts, size_t alignment) {
  std::error_code no_folder;
  std::string path = (std::filesystem::temp_directory_path(no_folder) / "vireo.XXXXXX").string();
  if (no_folder) {
    errno = no_folder.value();
    return nullptr;
  }
  const int fd = mkstemp(path.data());
  if (fd < 0) return nullptr;
  unlink(path.c_str());
  const std::vector<uint8_t> zeros(alignment, 0);
  size_t size = 0;
  bool good = true;
  for (const Span<const uint8_t> part : parts) {
    const size_t gap = (alignment - part.size() % alignment) % alignment;
    good = good && write_all(fd, part.data(), part.size()) && write_all(fd, zeros.data(), gap);
    size += part.size() + gap;
  }
  void* const data = good && size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  const int why = errno;
  close(fd);
  errno = why;
  if (data == MAP_FAILED) return nullptr;
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->data_ = static_cast<const uint8_t*>(data);
  file->size_ = size;
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<uint8_t*>(data_), size_);
}

void MappedFile::forget(Span<const uint8_t> part) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(part.data()) + page - 1) & ~(page - 1);
  const uintptr_t end = reinterpret_cast<uintptr_t>(part.data() + part.size()) & ~(page - 1);
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

ConstantPtr make_constant(const TensorType& type, std::vector<uint8_t> bytes) {
  auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  auto c = std::make_shared<Constant>();
  c->tensor.type = type;
  c->tensor.bytes = {owner->data(), owner->size()};
  c->owner = std::move(owner);
  return c;
}

ConstantPtr make_constant(const TensorType& type, std::string bytes) {
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  // A short string lives inside its object, where nothing promises alignment.
  if (reinterpret_cast<uintptr_t>(owner->data()) % 8 != 0) {
    return make_constant(type, std::vector<uint8_t>(owner->begin(), owner->end()));
  }
  auto c = std::make_shared<Constant>();
  c->tensor.type = type;
  c->tensor.bytes = {reinterpret_cast<const uint8_t*>(owner->data()), owner->size()};
  c->owner = std::move(owner);
  return c;
}

ConstantPtr make_window(const TensorType& type, std::shared_ptr<MappedFile> file, Span<const uint8_t> bytes) {
  // Kernels read elements directly; a window that a writer put at an odd place is copied.
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0) {
    return make_constant(type, std::vector<uint8_t>(bytes.begin(), bytes.end()));
  }
  auto c = std::make_shared<Constant>();
  c->tensor.type = type;
  c->tensor.bytes = bytes;
  c->owner = std::move(file);
  c->mapped = true;
  return c;
}

ConstantPtr make_strings(const Shape& shape, std::vector<std::string> strings) {
  auto c = std::make_shared<Constant>();
  c->tensor.type = {DType::kString, shape};
  c->tensor.strings = std::move(strings);
  return c;
}

ConstantPtr with_shape(const ConstantPtr& c, const Shape& shape) {
  auto out = std::make_shared<Constant>(*c);
  out->tensor.type.shape = shape;
  return out;
}

bool same_content(const Constant& a, const Constant& b) {
  if (a.tensor.type != b.tensor.type || a.tensor.strings != b.tensor.strings) return false;
  const Span<const uint8_t> x = a.tensor.bytes, y = b.tensor.bytes;
  return x.size() == y.size() && (x.data() == y.data() || x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
}

}  // namespace vireo::ir
