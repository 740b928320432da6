#include "delegates/xnnpack/weights.h"

#include <pthread.h>
#include <stdlib.h>

#include <new>

#include "delegates/xnnpack/probe.h"
#include "sdk/base/fnv.h"

namespace vireo::xnnpack {

struct PackedWeights {
  PackedWeights* next = nullptr;
  const void *kernel = nullptr, *bias = nullptr, *scales = nullptr;
  uint32_t seed = 0, tag = 0;
  uint32_t holders = 0;
  size_t bytes = 0;

  static constexpr size_t kHeader = 64;
  void* data() { return reinterpret_cast<uint8_t*>(this) + kHeader; }
};
static_assert(sizeof(PackedWeights) <= PackedWeights::kHeader, "the data follow at 64");

namespace {

// One list for all models: the address of a constant says whose it is.
pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
PackedWeights* list = nullptr;
size_t list_bytes = 0;

constexpr size_t kNotFound = SIZE_MAX;

// std::mutex would bring the C++ library into programs that are linked without it.
class Lock {
 public:
  Lock() { (void)pthread_mutex_lock(&list_mutex); }
  ~Lock() { (void)pthread_mutex_unlock(&list_mutex); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

}  // namespace

size_t packed_weight_bytes() {
  const Lock lock;
  return list_bytes;
}

Weights::Weights() {
  provider_.context = this;
  provider_.look_up = look_up;
  provider_.reserve_space = reserve;
  provider_.look_up_or_insert = insert;
  provider_.is_finalized = [](void*) { return true; };  // copies never move
  provider_.offset_to_addr = [](void*, size_t offset) { return reinterpret_cast<void*>(offset); };
  provider_.delete_cache = [](void*) { return xnn_status_success; };
}

Weights::~Weights() {
  drop_reserved();
  const Lock lock;
  for (uint32_t i = 0; i < held_count_; ++i) {
    PackedWeights* const mine = held_[i];
    if (--mine->holders != 0) continue;
    PackedWeights** at = &list;
    while (*at != mine) at = &(*at)->next;
    *at = mine->next;
    list_bytes -= mine->bytes;
    free(mine);
  }
}

void Weights::stands_for(const Name& name) {
  if (name_count_ < kMost) names_[name_count_++] = name;
}

void Weights::write_to(void* memory) {
  mode_ = Mode::kWrite;
  first_data_ = memory;
}

void Weights::use(const void* packed) {
  mode_ = Mode::kUse;
  first_data_ = const_cast<void*>(packed);  // XNNPACK reads it
}

bool Weights::is_first(const Key& key) {
  if (!has_first_) first_ = key;
  has_first_ = true;
  return first_ == key;
}

bool Weights::describe(vireo_packed* out) const {
  if (!has_first_ || first_bytes_ == 0) return false;
  constexpr uint32_t kLayout = 1;
  uint64_t with = kEmptyHash;  // what is packed beside the filter
  for (uint32_t i = 0; i < name_count_; ++i) {
    const Name& n = names_[i];
    if (n.original == first_.bias) with = hash_bytes(with, n.original, n.original_bytes);
    if (n.original == first_.kernel && n.scales != nullptr) with = hash_bytes(with, n.scales, n.scales_bytes);
  }
  out->layout = kLayout;
  out->constant = first_.kernel;
  out->sizes[0] = first_.seed;
  out->sizes[1] = first_.tag;
  out->sizes[2] = static_cast<int64_t>(with);
  out->sizes[3] = static_cast<int64_t>(kernels().layout);
  out->bytes = first_bytes_ + XNN_EXTRA_BYTES;
  return true;
}

Weights::Key Weights::key_of(const xnn_weights_cache_look_up_key& key) const {
  Key k;
  k.kernel = key.kernel;
  k.bias = key.bias;
  k.seed = key.seed;
  for (uint32_t i = 0; i < name_count_; ++i) {
    if (names_[i].given == key.bias) k.bias = names_[i].original;
    if (names_[i].given != key.kernel) continue;
    k.kernel = names_[i].original;
    k.tag = names_[i].tag;
    k.scales = names_[i].scales;
  }
  return k;
}

// The lock is the caller's. Null when there is none.
PackedWeights* Weights::hold(const Key& key) {
  for (PackedWeights* p = list; p != nullptr; p = p->next) {
    if (p->kernel != key.kernel || p->bias != key.bias || p->seed != key.seed || p->tag != key.tag ||
        p->scales != key.scales)
      continue;
    if (held_count_ == kMost) return nullptr;
    ++p->holders;
    held_[held_count_++] = p;
    return p;
  }
  return nullptr;
}

void Weights::drop_reserved() {
  free(reserved_);
  reserved_ = nullptr;
}

size_t Weights::look_up(void* self, const xnn_weights_cache_look_up_key* key) {
  auto& w = *static_cast<Weights*>(self);
  if (w.mode_ == Mode::kPretend) {
    w.looked_up_ = true;
    return reinterpret_cast<size_t>(self);  // any address
  }
  const Key k = w.key_of(*key);
  if (w.mode_ != Mode::kShare && w.is_first(k)) {
    w.looked_up_ = true;
    return w.mode_ == Mode::kUse ? reinterpret_cast<size_t>(w.first_data_) : kNotFound;
  }
  if (w.mode_ == Mode::kMeasure || w.mode_ == Mode::kWrite) return kNotFound;
  const Lock lock;
  PackedWeights* const p = w.hold(k);
  return p == nullptr ? kNotFound : reinterpret_cast<size_t>(p->data());
}

void* Weights::reserve(void* self, size_t bytes) {
  auto& w = *static_cast<Weights*>(self);
  if (w.mode_ == Mode::kMeasure || w.mode_ == Mode::kWrite) {
    if (w.first_bytes_ != 0) return nullptr;  // it is done
    w.first_bytes_ = bytes;
    if (w.mode_ == Mode::kWrite) return w.first_data_;
    if (w.looked_up_) return nullptr;  // now all is known; depthwise kernels pack before they ask
  }
  w.drop_reserved();
  void* const block = aligned_alloc(64, (PackedWeights::kHeader + bytes + XNN_EXTRA_BYTES + 63) / 64 * 64);
  if (block == nullptr) return nullptr;
  w.reserved_ = new (block) PackedWeights();
  w.reserved_->bytes = bytes;
  return w.reserved_->data();
}

size_t Weights::insert(void* self, const xnn_weights_cache_look_up_key* key, void* data, size_t) {
  auto& w = *static_cast<Weights*>(self);
  if (w.mode_ == Mode::kPretend) {  // packed before it was asked for
    w.looked_up_ = true;
    w.drop_reserved();
    return reinterpret_cast<size_t>(self);
  }
  if (w.mode_ != Mode::kShare && w.is_first(w.key_of(*key))) {
    if (w.mode_ == Mode::kMeasure) return reinterpret_cast<size_t>(data);
    w.drop_reserved();
    return reinterpret_cast<size_t>(w.first_data_);
  }
  if (w.mode_ == Mode::kMeasure || w.mode_ == Mode::kWrite) return kNotFound;
  const Key k = w.key_of(*key);
  const Lock lock;
  // Another session may have been quicker, and depthwise kernels pack before they ask.
  if (PackedWeights* const p = w.hold(k)) {
    w.drop_reserved();
    return reinterpret_cast<size_t>(p->data());
  }
  if (w.reserved_ == nullptr || w.held_count_ == kMost) return kNotFound;
  PackedWeights* const p = w.reserved_;
  w.reserved_ = nullptr;
  p->kernel = k.kernel;
  p->bias = k.bias;
  p->seed = k.seed;
  p->tag = k.tag;
  p->scales = k.scales;
  p->holders = 1;
  p->next = list;
  list = p;
  list_bytes += p->bytes;
  w.held_[w.held_count_++] = p;
  return reinterpret_cast<size_t>(p->data());
}

}  // namespace vireo::xnnpack
