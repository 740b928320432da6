// What pipeline and split share: memory, errors, and what they ask of a model before they make sessions of it.
#ifndef VIREO_C_API_FLEET_COMMON_H_
#define VIREO_C_API_FLEET_COMMON_H_

#include <string.h>

#include <new>

#include "runtime/platform/platform.h"
#include "sdk/base/c_error.h"
#include "vireo/fleet.h"

namespace vireo::fleet {

vireo_allocator allocator_of(const vireo_allocator* given);

// `count` objects, each made with its constructor; null when there is no memory.
template <class T>
T* make(const vireo_allocator& from, size_t count) {
  void* const memory = from.allocate(from.context, count * sizeof(T), alignof(T));
  if (memory == nullptr) return nullptr;
  T* const all = static_cast<T*>(memory);
  for (size_t i = 0; i < count; ++i) new (all + i) T();
  return all;
}
template <class T>
void destroy(const vireo_allocator& from, T* all, size_t count) {
  if (all == nullptr) return;
  for (size_t i = 0; i < count; ++i) all[i].~T();
  from.release(from.context, all, count * sizeof(T), alignof(T));
}

// In a process that was forked since `what` was made: its threads are the parent's.
inline vireo_status refuse_fork(const char* what, vireo_error* error) {
  return refuse(error, Status::kInvalidArgument,
                "this {} was made before the process forked, and its threads are the parent's: make one in the child",
                what);
}

// VIREO_INVALID_ARGUMENT with the input's name where the model carries state.
vireo_status refuse_state(const vireo_model* model, const char* what, vireo_error* error);

// The first operator of a session that draws random numbers: VIREO_UNSUPPORTED with its name, and the way out that
// `what` tells.
vireo_status refuse_random(const vireo_session* session, const char* what, vireo_error* error);

// An estimate with the shares that it counts.
struct Estimate {
  vireo_estimate whole = VIREO_ESTIMATE_INIT;
  vireo_load loads[VIREO_FLEET_DEVICES] = {};
};

// vireo_fleet_estimate, with checked options.
vireo_status choose(const vireo_model* model, const vireo_session_options& options, bool emulated, Estimate* out,
                    vireo_error* error);

// Into the caller's structs: `out` and the first `capacity` of `loads` (may be null).
vireo_status give_estimate(const Estimate& from, vireo_estimate* out, vireo_load* loads, uint32_t capacity,
                           vireo_error* error);
// The first `capacity` of `count` loads into the caller's array (may be null).
vireo_status give_loads(const vireo_load* from, uint32_t count, vireo_load* loads, uint32_t capacity,
                        vireo_error* error);

// The device's entry, made where there is none; null when there is no room.
vireo_load* find_load(vireo_load* loads, uint32_t* count, uint32_t capacity, const char* device);

}  // namespace vireo::fleet

#endif  // VIREO_C_API_FLEET_COMMON_H_
