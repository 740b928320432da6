// numpy's .npy files (format versions 1 to 3, numpy.lib.format) and .npz archives of them.
//
// Read: booleans, integers, floats, complex numbers, fixed-width text (U, and S as UTF-8) of either byte order, C or
// Fortran order. Raw bytes V1 and V2 (how numpy stores bfloat16 and float8) are read as uint8 and uint16; the input
// that takes them knows better. Refused: objects (they need pickle, which runs code) and records. Written: version 1, C
// order, little-endian; text as U; bfloat16 as V2, float8 as V1; 4-bit and 2-bit integers widened to 8 bits, float4
// codes to V1.
#ifndef VIREO_C_API_CLI_NPY_H_
#define VIREO_C_API_CLI_NPY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "c_api/cli/array.h"

struct zip;  // libzip's

namespace vireo::cli {

// `name` is what error messages call the file.
Array parse_npy(const uint8_t* bytes, size_t size, const std::string& name);
// Up to so many bytes to `to`; how many there were, 0 at the end.
using ReadSome = std::function<size_t(uint8_t* to, size_t size)>;
// A .npy file out of a stream: no more memory is taken than its header asks for, nor than comes. Throws where it goes
// on.
std::vector<uint8_t> read_npy(const ReadSome& read, const std::string& name);
std::vector<uint8_t> format_npy(const Array& array);

// An array of a .npy file out of a stream, row by row along its first axis: no more than a row is in memory.
class NpyRows {
 public:
  // Throws Failure for what is no such file, for a scalar, and for an array stored column by column.
  NpyRows(ReadSome read, std::string name);
  ~NpyRows();
  NpyRows(NpyRows&&) noexcept;
  NpyRows& operator=(NpyRows&&) noexcept;

  vireo_dtype dtype() const;
  const std::vector<int64_t>& dims() const;  // of the whole array
  // The next row, of dims() without the first. Throws Failure where the file ends before, or all rows were read.
  Array next();

 private:
  struct Source;
  std::unique_ptr<Source> source_;
};

// An archive, indexed once; an entry is unpacked when it is asked for. At most kMostEntries, each name once.
class NpzFile {
 public:
  static constexpr size_t kMostEntries = 1u << 16;

  // `path` is what error messages call it. Throws Failure for what is no such archive.
  NpzFile(std::vector<uint8_t> bytes, std::string path);
  // Leaves the archive on the disk: for rows of arrays that are larger than memory.
  explicit NpzFile(const std::string& path);
  ~NpzFile();
  NpzFile(const NpzFile&) = delete;
  NpzFile& operator=(const NpzFile&) = delete;

  const std::vector<std::string>& names() const { return names_; }  // without ".npy", as they stand in the file
  // Throws Failure if the archive has no such array, or if this process has too little memory to unpack it.
  Array read(const std::string& name) const;
  std::map<std::string, Array> read_all() const;
  // The same array row by row. Refers to this object.
  NpyRows rows(const std::string& name) const;

 private:
  struct Entry {
    uint64_t index = 0, bytes = 0;  // unpacked, as the archive declares it
  };
  void index(zip* archive);
  const Entry& entry_of(const std::string& name) const;
  ReadSome unpacking(const std::string& name) const;
  void require_memory(const std::string& what, uint64_t bytes, uint64_t largest) const;

  std::vector<uint8_t> bytes_;
  std::string path_;
  zip* archive_ = nullptr;
  std::vector<std::string> names_;
  std::map<std::string, Entry> entries_;
};

std::map<std::string, Array> read_npz(const std::string& path);
// Order of entries is kept. Complete or not there at all.
void write_npz(const std::string& path, const std::vector<std::pair<std::string, Array>>& arrays);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_NPY_H_
