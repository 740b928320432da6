#include "quant/calibrate/kept.h"

#include <algorithm>

#include "sdk/format/sha256.h"

namespace vireo::quant {
namespace {

constexpr char kMagic[] = {'V', 'I', 'R', 'S', 'T', 'A', 'T', '1'};  // the last letter: the version of the layout
constexpr size_t kMostText = 4096;                                   // of a version or a digest

class Hash {
 public:
  template <class T>
  void add(const T& x) {
    static_assert(std::is_trivially_copyable_v<T>);
    sha_.update(&x, sizeof(T));
  }
  void add_bytes(const void* data, size_t size) {
    add(static_cast<uint64_t>(size));
    if (size != 0) sha_.update(data, size);
  }
  void add_text(const std::string& text) { add_bytes(text.data(), text.size()); }
  KeptKey key() {
    KeptKey out;
    sha_.finish(out.data());
    return out;
  }

 private:
  Sha256 sha_;
};

// Takes a file apart; everything is false and nothing taken once bytes are missing.
class Pieces {
 public:
  Pieces(const uint8_t* at, size_t left) : at_(at), left_(left) {}
  size_t left() const { return left_; }

  bool take(void* to, size_t size) {
    if (size > left_) return false;
    std::memcpy(to, at_, size);
    at_ += size;
    left_ -= size;
    return true;
  }
  bool take(std::string* text) {
    uint64_t size = 0;
    if (!take(&size, sizeof(size)) || size > kMostText) return false;
    text->resize(static_cast<size_t>(size));
    return take(text->data(), text->size());
  }
  bool take(std::vector<uint8_t>* bytes) {
    uint64_t size = 0;
    if (!take(&size, sizeof(size)) || size > left_) return false;
    bytes->assign(at_, at_ + size);
    at_ += size;
    left_ -= static_cast<size_t>(size);
    return true;
  }

 private:
  const uint8_t* at_;
  size_t left_;
};

KeptKey key_of_constant(const ConstTensor& t) {
  Hash h;
  h.add(static_cast<int32_t>(t.type.dtype));
  h.add(static_cast<int32_t>(t.type.shape.rank));
  for (int d = 0; d < t.type.shape.rank; ++d) h.add(t.type.shape[d]);
  h.add_bytes(t.bytes.data(), t.bytes.size());
  for (const std::string& s : t.strings) h.add_text(s);
  return h.key();
}

// What a graph makes of its inputs; fills `keys` by the values' ids.
KeptKey key_of_graph(const ir::Graph& graph, std::map<uint32_t, KeptKey>* keys) {
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    Hash h;
    h.add_text("input");
    h.add(static_cast<uint64_t>(i));
    h.add(static_cast<int32_t>(graph.inputs()[i]->type.dtype));
    (*keys)[graph.inputs()[i]->id] = h.key();
  }
  const auto of = [&](const ir::Value* v) {
    if (v == nullptr) return KeptKey{};
    const auto [at, is_new] = keys->try_emplace(v->id);
    if (is_new && v->constant != nullptr) at->second = key_of_constant(v->constant->tensor);
    return at->second;
  };
  for (const ir::Node& n : graph.nodes()) {
    Hash h;
    h.add(static_cast<int32_t>(n.op));
    h.add(static_cast<int32_t>(n.version));
    h.add_bytes(n.attrs.data(), n.attrs.size());
    for (const ir::Value* v : n.inputs) h.add(of(v));
    for (const auto& body : n.bodies) {
      std::map<uint32_t, KeptKey> inside;  // a body reads nothing of the graph around it
      h.add(key_of_graph(*body, &inside));
    }
    const KeptKey node = h.key();
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      if (n.outputs[o] == nullptr) continue;
      Hash of_output;
      of_output.add(node);
      of_output.add(static_cast<uint64_t>(o));
      (*keys)[n.outputs[o]->id] = of_output.key();
    }
  }
  Hash outputs;
  for (const ir::Value* v : graph.outputs()) outputs.add(of(v));
  return outputs.key();
}

}  // namespace

bool Kept::read(const std::vector<uint8_t>& file, std::string* why) {
  KeptKey end;
  if (file.size() < sizeof(kMagic) + end.size() || std::memcmp(file.data(), kMagic, sizeof(kMagic) - 1) != 0) {
    *why = "is no file of statistics";
    return false;
  }
  if (std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0) {
    *why = "was made by another version of vireo";
    return false;
  }
  const size_t whole = file.size() - end.size();
  std::memcpy(end.data(), file.data() + whole, end.size());
  Sha256 sha;
  sha.update(file.data(), whole);
  KeptKey hash;
  sha.finish(hash.data());
  Pieces pieces(file.data() + sizeof(kMagic), whole - sizeof(kMagic));
  std::string version, model;
  bool good = hash == end && pieces.take(&version) && pieces.take(&model) && pieces.take(data_.data(), data_.size());
  if (good && version != version_) {
    *why = "was made by another version of vireo: " + version + ", this is " + version_;
    return false;
  }
  if (good && model != model_) {
    *why = "is of another model: it says " + model + ", this one is " + model_;
    return false;
  }
  while (good && pieces.left() != 0) {
    KeptKey key;
    good = pieces.take(key.data(), key.size()) && pieces.take(&entries_[key].bytes);
  }
  if (good) return true;
  entries_.clear();
  *why = "is damaged";
  return false;
}

bool Kept::is_of(const KeptKey& data) {
  if (entries_.empty()) data_ = data;
  return data_ == data;
}

void Kept::write(const std::function<void(const void*, size_t)>& put) const {
  Sha256 sha;
  const auto out = [&](const void* data, size_t size) {
    sha.update(data, size);
    put(data, size);
  };
  const auto sized = [&](const void* data, size_t size) {
    const uint64_t number = size;
    out(&number, sizeof(number));
    if (size != 0) out(data, size);
  };
  out(kMagic, sizeof(kMagic));
  sized(version_.data(), version_.size());
  sized(model_.data(), model_.size());
  out(data_.data(), data_.size());
  const bool with_unused = keeps_unused();
  for (const auto& [key, entry] : entries_) {
    if (!entry.used && !with_unused) continue;
    out(key.data(), key.size());
    sized(entry.bytes.data(), entry.bytes.size());
  }
  KeptKey hash;
  sha.finish(hash.data());
  put(hash.data(), hash.size());
}

const std::vector<uint8_t>* Kept::find(const KeptKey& key) {
  const auto at = entries_.find(key);
  if (at == entries_.end()) return nullptr;
  at->second.used = true;
  ++found_;
  return &at->second.bytes;
}

void Kept::put(const KeptKey& key, std::vector<uint8_t> entry) {
  entries_[key] = {std::move(entry), true};
  ++put_;
}

bool Kept::keeps_unused() const {
  constexpr size_t kMost = 4;
  size_t used = 0, all = 0;
  for (const auto& [key, entry] : entries_) {
    all += entry.bytes.size();
    if (entry.used) used += entry.bytes.size();
  }
  return all <= kMost * used;
}

bool Kept::changed() const {
  const bool all_used =
      std::all_of(entries_.begin(), entries_.end(), [](const auto& entry) { return entry.second.used; });
  return put_ != 0 || (!all_used && !keeps_unused());
}

KeptKey key_of(Samples& samples) {
  Hash h;
  h.add(static_cast<uint64_t>(samples.count()));
  for (size_t s = 0; s < samples.count(); ++s) {
    for (const HostTensor& t : samples.read(s)) {
      h.add(static_cast<int32_t>(t.dtype));
      h.add(static_cast<uint64_t>(t.dims.size()));
      for (const int64_t d : t.dims) h.add(d);
      h.add_bytes(t.bytes.data(), t.bytes.size());
      for (const std::string& text : t.strings) h.add_text(text);
    }
  }
  return h.key();
}

ValueKeys::ValueKeys(const ir::Graph& graph) { (void)key_of_graph(graph, &keys_); }

KeptKey joined_key(const std::string& what, const std::vector<KeptKey>& of, const std::vector<int64_t>& numbers) {
  Hash h;
  h.add_text(what);
  for (const KeptKey& key : of) h.add(key);
  for (const int64_t n : numbers) h.add(n);
  return h.key();
}

KeptKey key_of_bytes(const void* data, size_t size) {
  Hash h;
  h.add_bytes(data, size);
  return h.key();
}

}  // namespace vireo::quant
