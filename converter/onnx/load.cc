#include "converter/onnx/load.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <memory>

#include "converter/ir/constant.h"
#include "sdk/format/container.h"
#include "sdk/format/sha256.h"

namespace vireo::importer {
namespace {

// Graphs nest as Graph > Node > Attribute > Graph: 99 levels are 33 graphs inside each other.
constexpr int kMaxNesting = 99;

bool begins(Span<const uint8_t> bytes, const void* magic, size_t n) {
  return bytes.size() >= n && std::memcmp(bytes.data(), magic, n) == 0;
}

// What a file that is no ONNX model might be, for the help line.
std::string guess(Span<const uint8_t> bytes) {
  if (bytes.empty()) return "the file is empty";
  if (begins(bytes, kMagic, sizeof(kMagic))) return "this is a .vireo file already: load or run it";
  if (begins(bytes, "\x1f\x8b", 2)) return "the file is compressed with gzip: unpack it first";
  if (begins(bytes, "PK\x03\x04", 4))
    return "the file is a ZIP archive (a PyTorch checkpoint is one): export the model to ONNX first";
  if (begins(bytes, "version https://git-lfs", 23))
    return "this is a Git LFS pointer: fetch the file itself with `git lfs pull`";
  if (begins(bytes, "\x89HDF", 4)) return "the file is HDF5 (Keras): export the model to ONNX first";
  return "the file may be cut short or of another format: export or download it again";
}

// A mapped file in blocks, each hashed on its way and let go behind the parser: parsing copies what it reads, and both
// whole would be twice the model.
class Blocks final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit Blocks(Span<const uint8_t> bytes) : bytes_(bytes) {}

  bool Next(const void** data, int* size) override {
    if (at_ == bytes_.size()) return false;
    const size_t n = std::min(kBlockBytes, bytes_.size() - at_);
    *data = bytes_.data() + at_;
    *size = static_cast<int>(n);
    if (at_ > forgotten_) ir::MappedFile::forget({bytes_.data() + forgotten_, at_ - forgotten_});
    forgotten_ = at_;
    at_ += n;
    hash_to(at_);
    return true;
  }
  void BackUp(int count) override {
    at_ -= static_cast<size_t>(count);
    forgotten_ = std::min(forgotten_, at_);
  }
  bool Skip(int count) override {
    const size_t n = std::min(static_cast<size_t>(count), bytes_.size() - at_);
    at_ += n;
    return n == static_cast<size_t>(count);
  }
  int64_t ByteCount() const override { return static_cast<int64_t>(at_); }

  std::string sha256() {  // of the whole file, read or not
    hash_to(bytes_.size());
    uint8_t digest[32];
    sha_.finish(digest);
    return std::string(reinterpret_cast<const char*>(digest), sizeof(digest));
  }

 private:
  static constexpr size_t kBlockBytes = 4 << 20;

  void hash_to(size_t end) {
    if (end <= hashed_) return;
    sha_.update(bytes_.data() + hashed_, end - hashed_);
    hashed_ = end;
  }

  Span<const uint8_t> bytes_;
  size_t at_ = 0, forgotten_ = 0, hashed_ = 0;
  Sha256 sha_;
};

}  // namespace

bool load_model(const std::string& path, ::onnx::ModelProto* model, std::string* sha256, Diagnostics* diagnostics) {
  std::string why;
  const std::shared_ptr<ir::MappedFile> file = ir::MappedFile::open(path, &why);
  if (file == nullptr) {
    diagnostics->error(Code::kFileUnreadable, "cannot read \"" + path + "\": " + why);
    return false;
  }
  const Span<const uint8_t> bytes = file->bytes();
  if (bytes.size() > static_cast<size_t>(INT_MAX)) {
    diagnostics->error(
        Code::kFileTooLarge,
        "\"" + path + "\" has " + std::to_string(bytes.size()) + " bytes; an ONNX file ends at 2 GiB, as protobuf does",
        "save the model with external data (onnx.save_model(..., save_as_external_data=True))");
    return false;
  }
  Blocks blocks(bytes);
  bool parsed = false;
  {
    google::protobuf::io::CodedInputStream stream(&blocks);
    stream.SetRecursionLimit(kMaxNesting);
    parsed = model->ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
  }
  if (!parsed) {
    diagnostics->error(Code::kNotOnnx, "\"" + path + "\" is not an ONNX model: its bytes do not parse", guess(bytes));
    return false;
  }
  if (!model->has_graph()) {
    diagnostics->error(Code::kNotOnnx, "\"" + path + "\" is not an ONNX model: it holds no graph", guess(bytes));
    return false;
  }
  *sha256 = blocks.sha256();
  ir::MappedFile::forget(bytes);
  return true;
}

}  // namespace vireo::importer
