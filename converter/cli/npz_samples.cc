#include "converter/cli/npz_samples.h"

#include <zip.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "c_api/cli/failure.h"
#include "c_api/cli/nearest.h"
#include "c_api/cli/npy.h"
#include "converter/cli/onnx_source.h"

namespace vireo::cli {
namespace {

constexpr char kWriteNpz[] = "write it with numpy.savez(FILE, INPUT=array) from arrays of numbers";

// What stands between `key` and the end of its value in the header of an .npy file, a Python dict.
std::string header_value(const std::string& header, const std::string& key, char first, char last) {
  const size_t at = header.find("'" + key + "'");
  const size_t from = at == std::string::npos ? at : header.find(first, header.find(':', at));
  const size_t to = from == std::string::npos ? from : header.find(last, from + 1);
  return to == std::string::npos ? "" : header.substr(from + 1, to - from - 1);
}

std::vector<int64_t> shape_of_header(const std::string& header) {
  std::vector<int64_t> dims;
  const std::string list = header_value(header, "shape", '(', ')');
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (list.find_first_of("0123456789", at) < end) dims.push_back(std::strtoll(list.c_str() + at, nullptr, 10));
    at = end + 1;
  }
  return dims;
}

// An .npy file's beginning, version 1, for one sample.
std::string head_of(const std::string& descr, const std::vector<int64_t>& dims) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (const int64_t d : dims) header += std::to_string(d) + ",";
  header += "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(header.size() & 255);
  head += static_cast<char>(header.size() >> 8);
  return head + header;
}

std::string shape_or_scalar(const ir::DimTable& dims, const Shape& shape) {
  std::string out;
  for (int i = 0; i < shape.rank; ++i) out += (i == 0 ? "" : "x") + dims.text(shape[i]);
  return out.empty() ? "scalar" : out;
}

}  // namespace

NpzSamples::NpzSamples(std::string path) : path_(std::move(path)) {
  int code = 0;
  archive_ = zip_open(path_.c_str(), ZIP_RDONLY, &code);
  if (archive_ != nullptr) return;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw Failure(path_ + " is not an .npz archive that can be read: " + text, kWriteNpz);
}

NpzSamples::~NpzSamples() {
  close();
  zip_discard(archive_);
}

void NpzSamples::close() {
  for (Column& c : columns_) {
    if (c.file != nullptr) zip_fclose(c.file);
  }
  columns_.clear();
}

void NpzSamples::unpack(Column* column, uint8_t* to, uint64_t bytes) const {
  while (bytes != 0) {
    const zip_int64_t got = zip_fread(column->file, to, bytes);
    if (got <= 0)
      throw Failure(path_ + " (" + column->name + ") is cut short or damaged", "copy or write the file again");
    to += got;
    bytes -= static_cast<uint64_t>(got);
  }
}

void NpzSamples::rewind(Column* column) const {
  if (column->file != nullptr) zip_fclose(column->file);
  column->file = zip_fopen_index(archive_, column->index, 0);
  if (column->file == nullptr)
    throw Failure(path_ + " (" + column->name + ") cannot be read: " + zip_strerror(archive_), "write the file again");
  std::vector<uint8_t> skipped(column->start);
  unpack(column, skipped.data(), column->start);
  column->next = 0;
}

// The array `name`, as its header describes it; `dims` are still those of the whole.
NpzSamples::Column NpzSamples::open(const std::string& name) const {
  Column c;
  c.name = name;
  const zip_int64_t index = zip_name_locate(archive_, (name + ".npy").c_str(), 0);
  if (index < 0) {
    std::vector<std::string> names;
    for (zip_int64_t i = 0; i < zip_get_num_entries(archive_, 0); ++i) {
      std::string entry = zip_get_name(archive_, static_cast<zip_uint64_t>(i), 0);
      names.push_back(entry.substr(0, entry.rfind(".npy")));
    }
    std::string all;
    for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
    throw Failure(path_ + " has no array for the model's input \"" + name + "\"",
                  did_you_mean(name, names) + "it has: " + (all.empty() ? "nothing" : all) +
                      "; arrays bear the names of the model's inputs");
  }
  c.index = static_cast<uint64_t>(index);
  rewind(&c);
  uint8_t front[12];
  unpack(&c, front, 10);
  const bool wide = front[6] > 1;  // version 2 and 3: four bytes of length
  if (wide) unpack(&c, front + 10, 2);
  uint32_t length = front[8] | front[9] << 8;
  if (wide) length |= static_cast<uint32_t>(front[10]) << 16 | static_cast<uint32_t>(front[11]) << 24;
  if (std::memcmp(front, "\x93NUMPY", 6) != 0 || length > (1u << 20))
    throw Failure(path_ + " (" + name + ") is no array of numpy's", kWriteNpz);
  std::string header(length, ' ');
  unpack(&c, reinterpret_cast<uint8_t*>(&header[0]), length);
  c.start = (wide ? 12u : 10u) + length;
  c.descr = header_value(header, "descr", '\'', '\'');
  c.dims = shape_of_header(header);
  if (c.descr.empty() || c.descr[0] == 'O' || (c.descr.size() > 1 && c.descr[1] == 'O'))
    throw Failure(path_ + " (" + name + ") holds objects; only plain arrays are read", kWriteNpz);
  if (header.find("'fortran_order': True") != std::string::npos && c.dims.size() > 1)
    throw Failure(path_ + " (" + name + ") is stored column by column", "store numpy.ascontiguousarray(array)");
  return c;
}

void NpzSamples::fit_input(const ir::Value& input, const ir::DimTable& dims) {
  Column c = open(input.name);
  const Shape& shape = input.type.shape;
  const std::string wanted = std::string(dtype_name(input.type.dtype)) + " " + shape_or_scalar(dims, shape);
  const auto refuse = [&](const std::string& why, const std::string& help) {
    const Failure failure(path_ + " (" + c.name + ") is " + c.descr + " " + shape_text(c.dims) + ": " + why +
                              "; the input \"" + input.name + "\" of the model is " + wanted,
                          help);
    zip_fclose(c.file);
    throw failure;
  };
  const char* const along = "samples lie along the first dimension, each as the model takes it";
  if (static_cast<int>(c.dims.size()) != shape.rank || shape.rank == 0)
    refuse("it has " + std::to_string(c.dims.size()) + " dimensions, not " + std::to_string(shape.rank), along);
  const int64_t rows = is_symbolic(shape[0]) ? 1 : shape[0], all = c.dims[0];
  for (int i = 1; i < shape.rank; ++i) {
    const Interval range = dims.interval(shape[i]);
    const int64_t extent = c.dims[static_cast<size_t>(i)];
    if (extent < range.lo || (!range.open() && extent > range.hi))
      refuse("dimension " + std::to_string(i) + " does not fit", along);
  }
  if (rows < 1 || all % rows != 0) refuse("its first dimension is no multiple of " + std::to_string(rows), along);
  const auto count = static_cast<size_t>(all / rows);
  if (count == 0) refuse("it holds no samples", "put at least one sample into it, better 100 to 500");
  if (!columns_.empty() && count != count_)
    refuse(
        "it holds " + std::to_string(count) + " samples, \"" + columns_[0].name + "\" holds " + std::to_string(count_),
        "give each input as many samples");
  count_ = count;
  c.dims[0] = rows;
  c.head = head_of(c.descr, c.dims);
  // The type, from an array without elements.
  const std::string none = head_of(c.descr, {0});
  const Array sample =
      parse_npy(reinterpret_cast<const uint8_t*>(none.data()), none.size(), path_ + " (" + c.name + ")");
  if (static_cast<DType>(sample.dtype) != input.type.dtype)
    refuse("it is of another type", "convert it with numpy's astype(), scaled as the model takes it");
  c.type = input.type.dtype;
  uint64_t elements = 1;
  for (const int64_t d : c.dims) elements *= static_cast<uint64_t>(d);
  c.item_bytes = elements * static_cast<uint64_t>(dtype_bits(sample.dtype)) / 8;
  columns_.push_back(std::move(c));
}

void NpzSamples::fit(const ir::Graph& graph) {
  close();
  count_ = 0;
  for (const ir::Value* input : graph.inputs()) fit_input(*input, graph.dims());
}

std::vector<HostTensor> NpzSamples::read(size_t i) {
  std::vector<HostTensor> inputs;
  for (Column& c : columns_) {
    if (c.file == nullptr || i < c.next || c.next == 0) rewind(&c);
    std::vector<uint8_t> npy(c.head.size() + c.item_bytes);
    for (; c.next < i; ++c.next) unpack(&c, npy.data(), c.item_bytes);
    std::memcpy(npy.data(), c.head.data(), c.head.size());
    unpack(&c, npy.data() + c.head.size(), c.item_bytes);
    ++c.next;
    inputs.push_back(to_host(parse_npy(npy.data(), npy.size(), path_ + " (" + c.name + ")")));
  }
  return inputs;
}

}  // namespace vireo::cli
