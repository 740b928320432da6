// A tensor that the command line owns: what it reads from files, feeds to a session, and compares.
#ifndef VIREO_C_API_CLI_ARRAY_H_
#define VIREO_C_API_CLI_ARRAY_H_

#include <stdint.h>

#include <string>
#include <vector>

#include "vireo/vireo.h"

namespace vireo::cli {

// Dense and row-major. `bytes` is laid out as vireo_tensor.data is (4-bit and 2-bit types packed); of strings it is
// empty.
struct Array {
  vireo_dtype dtype = VIREO_NONE;
  std::vector<int64_t> dims;
  std::vector<uint8_t> bytes;
  std::vector<std::string> strings;

  int64_t count() const;  // product of dims; 1 for a scalar
};

// Bits of one element, 0 for strings and unknown types.
int dtype_bits(vireo_dtype dtype);
bool dtype_is_float(vireo_dtype dtype);  // every real floating type, down to float4
bool dtype_is_complex(vireo_dtype dtype);

// Element i as a double; complex: the real part. Exact for all types but int64 and uint64 beyond 2^53.
double real_at(const Array& a, int64_t i);
double imaginary_at(const Array& a, int64_t i);  // 0 unless complex
// Rounds to nearest even for float16 and bfloat16, to the nearest integer (saturating) for integers. Types: float64 to
// float16, bfloat16, 8- to 64-bit integers, bool; throws Failure for others.
void set_real(Array* a, int64_t i, double value);
// Element i as it should be printed: integers exact, strings quoted.
std::string text_at(const Array& a, int64_t i);
// Same type and shape apart, the same element bit for bit.
bool same_bits(const Array& a, int64_t i, const Array& b, int64_t j);

std::string shape_text(const std::vector<int64_t>& dims);  // "1x3x224x224", "scalar"

// Allocates zeros (empty strings). Throws Failure when the size overflows.
Array make_array(vireo_dtype dtype, const std::vector<int64_t>& dims);
// Every step-th element, as a vector.
Array take_every(const Array& a, int64_t step);

// Views and copies across the C API. A view keeps pointers into `a` and, for strings, into `refs`.
vireo_tensor view_of(const Array& a, std::vector<vireo_string>* refs);
Array copy_of(const vireo_tensor& t);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_ARRAY_H_
