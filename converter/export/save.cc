// The model to disk. Both files are written under temporary names and then renamed, the constants' first: whoever sees
// the model sees all of it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "converter/export/export.h"
#include "converter/onnx/six_bits.h"

namespace vireo::exporter {
namespace {

constexpr int64_t kAlways = 1024;  // constants below this stay in the model: readers want to see shapes
constexpr int64_t kPage = 4096;    // ONNX asks for this alignment, so that files can be mapped

class Output {
 public:
  explicit Output(std::string path) : path_(std::move(path)), temporary_(path_ + ".part" + std::to_string(getpid())) {
    struct stat info;
    if (stat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
      error_ = S_ISDIR(info.st_mode) ? EISDIR : EEXIST;  // a rename would replace a device or fail on a folder
      return;
    }
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0) error_ = errno;
  }
  ~Output() {
    if (fd_ >= 0) close(fd_);
    if (made()) unlink(temporary_.c_str());
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool write(const void* data, size_t n) {
    const auto* p = static_cast<const uint8_t*>(data);
    while (error_ == 0 && n > 0) {
      const ssize_t done = ::write(fd_, p, n);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) {
        error_ = done < 0 ? errno : ENOSPC;
        break;
      }
      p += done;
      n -= static_cast<size_t>(done);
    }
    return error_ == 0;
  }
  bool finish() {
    if (error_ == 0 && fsync(fd_) != 0 && errno != EINVAL) error_ = errno;
    if (fd_ >= 0 && close(fd_) != 0 && error_ == 0) error_ = errno;
    written_ = fd_ >= 0;
    fd_ = -1;
    return error_ == 0;
  }
  bool rename() {
    if (error_ == 0 && ::rename(temporary_.c_str(), path_.c_str()) != 0) error_ = errno;
    written_ = written_ && error_ != 0;
    return error_ == 0;
  }
  void refuse(Diagnostics* diagnostics) const {
    std::string help;
    if (error_ == ENOSPC || error_ == EDQUOT) help = "the disk is full";
    if (error_ == ENOENT || error_ == EACCES || error_ == EROFS || error_ == ENOTDIR)
      help = "choose a folder that exists and can be written to";
    diagnostics->error(Code::kWriteFailed, "cannot write \"" + path_ + "\": " + std::strerror(error_), help);
  }

 private:
  bool made() const { return fd_ >= 0 || written_; }
  std::string path_, temporary_;
  int fd_ = -1, error_ = 0;
  bool written_ = false;  // the temporary file is complete, and there
};

void set_entry(::onnx::TensorProto* t, const char* key, const std::string& value) {
  auto* e = t->add_external_data();
  e->set_key(key);
  e->set_value(value);
}

// Moves what is large into `file`.
bool write_external(const std::vector<ir::ConstantPtr>& constants, const std::string& location,
                    ::onnx::GraphProto* graph, Output* file) {
  int64_t at = 0;
  const std::vector<uint8_t> gap(static_cast<size_t>(kPage));
  for (size_t i = 0; i < constants.size(); ++i) {
    const ir::Constant& c = *constants[i];
    if (c.size_bytes() < kAlways || c.tensor.type.dtype == DType::kString) continue;
    std::vector<uint8_t> packed;
    const Span<const uint8_t> raw = raw_bytes(c.tensor.type.dtype, c.tensor.bytes, &packed);
    const int64_t begin = (at + kPage - 1) / kPage * kPage;
    if (!file->write(gap.data(), static_cast<size_t>(begin - at)) || !file->write(raw.data(), raw.size())) return false;
    at = begin + static_cast<int64_t>(raw.size());
    ::onnx::TensorProto* t = graph->mutable_initializer(static_cast<int>(i));
    t->set_data_location(::onnx::TensorProto::EXTERNAL);
    set_entry(t, "location", location);
    set_entry(t, "offset", std::to_string(begin));
    set_entry(t, "length", std::to_string(raw.size()));
  }
  return file->finish();
}

}  // namespace

bool export_onnx(const ir::Graph& graph, const std::string& path, Diagnostics* diagnostics, int64_t inline_bytes) {
  ::onnx::ModelProto model;
  std::vector<ir::ConstantPtr> constants;
  if (!build_model(graph, &model, &constants, diagnostics)) return false;
  int64_t total = 0;
  for (const ir::ConstantPtr& c : constants) total += c->size_bytes();
  const bool external = total > inline_bytes;
  const std::string data_path = path + ".data";
  std::optional<Output> data;
  if (external) {
    data.emplace(data_path);
    const size_t slash = data_path.find_last_of('/');
    if (!write_external(constants, slash == std::string::npos ? data_path : data_path.substr(slash + 1),
                        model.mutable_graph(), &*data)) {
      data->refuse(diagnostics);
      return false;
    }
  }
  for (size_t i = 0; i < constants.size(); ++i) {
    ::onnx::TensorProto* t = model.mutable_graph()->mutable_initializer(static_cast<int>(i));
    const ConstTensor& c = constants[i]->tensor;
    if (t->data_location() == ::onnx::TensorProto::EXTERNAL) continue;
    for (const std::string& s : c.strings) t->add_string_data(s);
    if (c.type.dtype == DType::kString) continue;
    std::vector<uint8_t> packed;
    const Span<const uint8_t> raw = raw_bytes(c.type.dtype, c.bytes, &packed);
    t->set_raw_data(raw.data(), raw.size());
  }
  std::string bytes;
  if (model.ByteSizeLong() > INT32_MAX || !model.SerializeToString(&bytes)) {
    diagnostics->error(Code::kFileTooLarge, "\"" + path + "\" would be larger than 2 GiB, where a protobuf ends");
    return false;
  }
  Output file(path);
  if (!file.write(bytes.data(), bytes.size()) || !file.finish()) {
    file.refuse(diagnostics);
    return false;
  }
  if (external && !data->rename()) {
    data->refuse(diagnostics);
    return false;
  }
  if (!file.rename()) {
    file.refuse(diagnostics);
    return false;
  }
  return true;
}

}  // namespace vireo::exporter
