// Structs that cross the C API and the delegate's ABI: the other side may be compiled with an older or a newer header.
// Each begins with struct_size, the size that its header had, grows at the end, and has 0 as the default of every
// field.
//   - Read: what an older header did not have is 0. What a newer one has and this library does not know must be 0: a
//     caller that sets it wants something that would silently not happen.
//   - Written: no byte beyond the caller's struct_size, and 0 where the caller has more than this library knows.
// Weighed: a version number a call (every struct of a program would have to change at once), a list of tagged
// extensions (nothing here is large enough to pay for the walk).
#ifndef VIREO_SDK_BASE_SIZED_H_
#define VIREO_SDK_BASE_SIZED_H_

#include <stddef.h>
#include <stdint.h>

#include "sdk/base/error.h"

namespace vireo {

// More is no struct of ours but a struct_size that was never set.
constexpr uint32_t kMostStructBytes = 1 << 16;

// A struct of the other side, with what a message calls it and the macro that sets it up.
struct SizedName {
  const char* argument;
  const char* macro;
};

// Whether a struct of the other side can be read where this library knows `size` bytes of it.
Status check_read(const void* from, uint32_t size, SizedName name, Error* error);
// Copies `from` (null: all defaults) into `to` of `size` bytes. kInvalidArgument, and `to` is then not to be used.
Status read_sized(const void* from, void* to, uint32_t size, SizedName name, Error* error);
template <class T>
Status read_sized(const T* from, T* to, SizedName name, Error* error) {
  return read_sized(from, to, uint32_t{sizeof(T)}, name, error);
}

// Whether struct_size was set, so that `out` can be written.
Status check_sized(const void* out, SizedName name, Error* error);
// Writes `value` of `size` bytes to `out`, which was checked and keeps its struct_size.
void write_sized(const void* value, uint32_t size, void* out);

// The same for element `index` of the caller's array, whose elements are as large as the first one says; the others'
// struct_size need not be set.
void write_sized_at(const void* value, uint32_t size, void* first, uint32_t index);

}  // namespace vireo

#endif  // VIREO_SDK_BASE_SIZED_H_
