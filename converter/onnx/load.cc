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

struct Format {
  size_t at;  // of the magic in the file
  const void* magic;
  size_t length;
  const char* help;
};

constexpr char kPickle[] =
    "this is a Python pickle (PyTorch's older .pt and .pth files are such): load it in PyTorch and export the model "
    "with torch.onnx.export";

constexpr Format kFormats[] = {
    {0, kMagic, sizeof(kMagic), "this is a .vireo file already: load or run it"},
    {0, "\x1f\x8b", 2, "the file is compressed with gzip: unpack it first"},
    {0, "\x28\xb5\x2f\xfd", 4, "the file is compressed with Zstandard: unpack it first"},
    {0, "\x89HDF", 4, "the file is HDF5 (Keras): export the model to ONNX with tf2onnx first"},
    {4, "TFL3", 4,
     "this is a TensorFlow Lite model: convert the model that it was made from, or this one, to ONNX with tf2onnx"},
    {4, "ORTM", 4, "this is ONNX Runtime's own format (.ort): convert the .onnx file that it was made from"},
    {0, "GGUF", 4, "this is a GGUF file (llama.cpp): export the original model to ONNX"},
    {0, "\x93NUMPY", 6, "this is a NumPy array: give it to a model as an input"},
    {0, "\x80\x02", 2, kPickle},
    {0, "\x80\x03", 2, kPickle},
    {0, "\x80\x04", 2, kPickle},
    {0, "\x80\x05", 2, kPickle},
};

// By the names of what is in it, which a ZIP archive lists at its end.
std::string guess_archive(Span<const uint8_t> bytes) {
  constexpr size_t kList = 1 << 20;
  const uint8_t* end = bytes.data() + bytes.size();
  const uint8_t* begin = end - std::min(bytes.size(), kList);
  const auto holds = [&](const std::string& name) { return std::search(begin, end, name.begin(), name.end()) != end; };
  if (holds("data.pkl"))
    return "this is a PyTorch file (.pt, .pth): load it in PyTorch and export the model with torch.onnx.export";
  if (holds(".onnx")) return "this is a ZIP archive with an ONNX file in it: unpack it first";
  if (holds("model.weights.h5"))
    return "this is a Keras model (.keras): export it to ONNX with model.export(..., format=\"onnx\") or tf2onnx first";
  if (holds(".npy")) return "these are NumPy arrays (.npz): give them to a model as inputs";
  return "this is a ZIP archive: unpack it, and convert the .onnx file in it";
}

// Safetensors begin with the length of a header and the header, which is JSON.
bool is_safetensors(Span<const uint8_t> bytes) {
  if (bytes.size() < 10 || bytes[8] != '{' || bytes[9] != '"') return false;
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header >= 2 && header <= bytes.size() - 8;
}

// What a text that is no model might be; "": it is no text that is known.
std::string guess_text(Span<const uint8_t> bytes) {
  std::string start(reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 512));
  start.erase(0, std::min(start.find_first_not_of(" \t\r\n\xef\xbb\xbf"), start.size()));
  for (char& c : start) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (start.rfind("<!doctype html", 0) == 0 || start.rfind("<html", 0) == 0)
    return "this is a web page in place of the file: download the file itself (at GitHub its raw form, at Hugging Face "
           "/resolve/ in place of /blob/), signed in where that is needed";
  if (start.rfind("<?xml", 0) == 0)
    return "this is XML (OpenVINO's models are, and servers' refusals): export the original model to ONNX, or download "
           "it again";
  if (start.rfind('{', 0) == 0) return "this is JSON: a configuration or a server's answer, and not the model itself";
  return "";
}

// What a file that is no ONNX model might be, for the help line.
std::string guess(Span<const uint8_t> bytes) {
  if (bytes.empty()) return "the file is empty";
  for (const Format& f : kFormats) {
    if (bytes.size() >= f.at && begins({bytes.data() + f.at, bytes.size() - f.at}, f.magic, f.length)) return f.help;
  }
  if (is_lfs_pointer(bytes)) return "this is a Git LFS pointer: fetch the file itself with `git lfs pull`";
  if (begins(bytes, "PK\x03\x04", 4)) return guess_archive(bytes);
  if (is_safetensors(bytes))
    return "this is a safetensors file, which holds weights and no graph: load it in the framework that made it, and "
           "export the model to ONNX";
  std::string text = guess_text(bytes);
  if (!text.empty()) return text;
  return "the file may be cut short or of another format (TensorFlow's .pb is one, which tf2onnx exports to ONNX): "
         "export or download it again";
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

bool is_lfs_pointer(Span<const uint8_t> bytes) { return begins(bytes, "version https://git-lfs", 23); }

bool load_model(const std::string& path, ::onnx::ModelProto* model, std::string* sha256, Diagnostics* diagnostics) {
  std::string why;
  const std::shared_ptr<ir::MappedFile> file = ir::MappedFile::open(path, &why);
  if (file == nullptr) {
    diagnostics->error(Code::kFileUnreadable, "cannot read \"" + path + "\": " + why,
                       "check that the path is right and the file may be read");
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
