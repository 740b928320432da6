// What sample data show of a model, kept from one quantization to the next: entries by the hash of all that they depend
// on (the part of the graph that makes a value, how it was observed). So what is found is right whatever else a recipe
// changed, and what it changed is not found. A file of entries belongs to one version of the program, one model and one
// set of samples.
#ifndef VIREO_QUANT_CALIBRATE_KEPT_H_
#define VIREO_QUANT_CALIBRATE_KEPT_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "converter/ir/graph.h"
#include "quant/calibrate/samples.h"

namespace vireo::quant {

using KeptKey = std::array<uint8_t, 32>;

// Appends numbers and lists of them, as hosts lay them out: little-endian.
class KeptWriter {
 public:
  template <class T>
  void put(const T& x) {
    static_assert(std::is_trivially_copyable_v<T>);
    add(&x, sizeof(T));
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(static_cast<uint64_t>(list.size()));
    if (!list.empty()) add(list.data(), list.size() * sizeof(T));
  }
  template <class T>
  void put(const std::map<uint64_t, std::vector<T>>& lists) {
    put(static_cast<uint64_t>(lists.size()));
    for (const auto& [number, list] : lists) {
      put(number);
      put(list);
    }
  }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  void add(const void* data, size_t size) {
    const auto* p = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), p, p + size);
  }

  std::vector<uint8_t> bytes_;
};

class KeptReader {
 public:
  explicit KeptReader(const std::vector<uint8_t>& bytes) : at_(bytes.data()), left_(bytes.size()) {}
  template <class T>
  void get(T* x) {
    if (has(sizeof(T))) take(x, sizeof(T));
  }
  template <class T>
  void get(std::vector<T>* list) {
    uint64_t count = 0;
    get(&count);
    if (count > left_ / sizeof(T)) good_ = false;
    if (!good_ || count == 0) return;
    list->resize(static_cast<size_t>(count));
    take(list->data(), list->size() * sizeof(T));
  }
  template <class T>
  void get(std::map<uint64_t, std::vector<T>>* lists) {
    uint64_t count = 0;
    get(&count);
    for (uint64_t i = 0; i < count && good_; ++i) {
      uint64_t number = 0;
      get(&number);
      get(&(*lists)[number]);
    }
  }
  // All was there, and nothing is left.
  bool done() const { return good_ && left_ == 0; }

 private:
  bool has(size_t bytes) { return good_ = good_ && bytes <= left_; }
  void take(void* to, size_t bytes) {
    std::memcpy(to, at_, bytes);
    at_ += bytes;
    left_ -= bytes;
  }

  const uint8_t* at_;
  size_t left_;
  bool good_ = true;
};

class Kept {
 public:
  // `version`: of the program. `model`: the digest of its file.
  Kept(std::string version, std::string model) : version_(std::move(version)), model_(std::move(model)) {}

  // False with `why` for what is no such file, was changed, or belongs to another version or model.
  bool read(const std::vector<uint8_t>& file, std::string* why);
  // Entries are of these data from now on. False: those that were read are of others.
  bool is_of(const KeptKey& data);
  // What was found or put since read(), and the rest, which other recipes use, while it is no more than three times as
  // much.
  void write(const std::function<void(const void* data, size_t size)>& put) const;

  // Null where nothing is kept.
  const std::vector<uint8_t>* find(const KeptKey& key);
  void put(const KeptKey& key, std::vector<uint8_t> entry);
  size_t found() const { return found_; }
  // Whether write() would give other bytes than were read.
  bool changed() const;

 private:
  struct Entry {
    std::vector<uint8_t> bytes;
    bool used = false;
  };
  bool keeps_unused() const;

  const std::string version_, model_;
  KeptKey data_ = {};
  std::map<KeptKey, Entry> entries_;
  size_t found_ = 0, put_ = 0;
};

// The hash of what samples feed a model.
KeptKey key_of(Samples& samples);

// Hashes of what makes each value of a graph.
class ValueKeys {
 public:
  explicit ValueKeys(const ir::Graph& graph);
  const KeptKey& of(const ir::Value& v) const { return keys_.at(v.id); }

 private:
  std::map<uint32_t, KeptKey> keys_;
};

// The key of an entry: what it is, and all that it depends on.
KeptKey joined_key(const std::string& what, const std::vector<KeptKey>& of, const std::vector<int64_t>& numbers = {});
KeptKey key_of_bytes(const void* data, size_t size);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_CALIBRATE_KEPT_H_
