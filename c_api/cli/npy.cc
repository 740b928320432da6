#include "c_api/cli/npy.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "c_api/cli/failure.h"

namespace vireo::cli {
namespace {

constexpr char kMagic[] = "\x93NUMPY";

// The header is a Python dict literal with three keys; this reads just that.
class HeaderReader {
 public:
  HeaderReader(std::string text, std::string name) : text_(std::move(text)), name_(std::move(name)) {}

  void read() {
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        skip();
        if (at_ < text_.size() && text_[at_] == '[') fail("holds records; only plain arrays are read");
        descr = quoted();
      } else if (key == "fortran_order") {
        fortran = word() == "True";
      } else if (key == "shape") {
        expect('(');
        while (!accept(')')) {
          shape.push_back(number());
          accept(',');
        }
        has_shape = true;
      } else {
        fail("has an unknown header key '" + key + "'");
      }
      accept(',');
    }
    if (descr.empty() || !has_shape) fail("lacks type or shape in its header");
  }

  std::string descr;
  bool fortran = false;
  bool has_shape = false;
  std::vector<int64_t> shape;

  [[noreturn]] void fail(const std::string& why) const {
    throw Failure(name_ + " " + why, "write it with numpy.save or numpy.savez from an array of numbers or text");
  }

 private:
  void skip() {
    while (at_ < text_.size() && strchr(" \t\r\n", text_[at_]) != nullptr) ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ < text_.size() && text_[at_] == c) return ++at_, true;
    return false;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("has a damaged header: '") + c + "' is missing");
  }
  std::string quoted() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : 0;
    if (quote != '\'' && quote != '"') fail("has a damaged header: a quote is missing");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos) fail("has a damaged header: a quote is missing");
    std::string result = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return result;
  }
  std::string word() {
    skip();
    const size_t from = at_;
    while (at_ < text_.size() && isalpha(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return text_.substr(from, at_ - from);
  }
  int64_t number() {
    skip();
    const size_t from = at_;
    while (at_ < text_.size() && isdigit(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    if (at_ == from || at_ - from > 18) fail("has a damaged shape in its header");
    const int64_t value = strtoll(text_.c_str() + from, nullptr, 10);
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote 3L
    return value;
  }

  std::string text_, name_;
  size_t at_ = 0;
};

struct Element {
  vireo_dtype dtype;
  size_t size;  // bytes of one element in the file
  size_t unit;  // bytes that a byte order applies to
  bool swap, text32, text8;
};

Element element_of(const HeaderReader& header) {
  std::string d = header.descr;
  char order = '|';
  if (!d.empty() && strchr("<>|=", d[0]) != nullptr) {
    order = d[0];
    d.erase(0, 1);
  }
  const char kind = d.empty() ? 0 : d[0];
  const long long size = d.size() > 1 ? strtoll(d.c_str() + 1, nullptr, 10) : 0;
  if (kind == 'O') header.fail("holds Python objects, which would need pickle");
  if (size < 0 || size > (1 << 26)) header.fail("has an impossible element type '" + header.descr + "'");
  Element e{VIREO_NONE, static_cast<size_t>(size), static_cast<size_t>(size), order == '>', false, false};
  const auto is = [&](char k, long long s) { return kind == k && size == s; };
  if (is('b', 1))
    e.dtype = VIREO_BOOL;
  else if (is('i', 1))
    e.dtype = VIREO_INT8;
  else if (is('i', 2))
    e.dtype = VIREO_INT16;
  else if (is('i', 4))
    e.dtype = VIREO_INT32;
  else if (is('i', 8))
    e.dtype = VIREO_INT64;
  else if (is('u', 1) || is('V', 1))
    e.dtype = VIREO_UINT8;
  else if (is('u', 2) || is('V', 2))
    e.dtype = VIREO_UINT16;
  else if (is('u', 4))
    e.dtype = VIREO_UINT32;
  else if (is('u', 8))
    e.dtype = VIREO_UINT64;
  else if (is('f', 2))
    e.dtype = VIREO_FLOAT16;
  else if (is('f', 4))
    e.dtype = VIREO_FLOAT32;
  else if (is('f', 8))
    e.dtype = VIREO_FLOAT64;
  else if (is('c', 8))
    e.dtype = VIREO_COMPLEX64, e.unit = 4;
  else if (is('c', 16))
    e.dtype = VIREO_COMPLEX128, e.unit = 8;
  else if (kind == 'U')
    e.dtype = VIREO_STRING, e.size *= 4, e.unit = 4, e.text32 = true;
  else if (kind == 'S' || kind == 'a')
    e.dtype = VIREO_STRING, e.unit = 1, e.text8 = true;
  else
    header.fail("has element type '" + header.descr + "', which is not read");
  return e;
}

void append_utf8(uint32_t c, std::string* out) {
  if (c > 0x10FFFF) c = 0xFFFD;
  if (c < 0x80) {
    out->push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out->push_back(static_cast<char>(0xC0 | (c >> 6)));
    out->push_back(static_cast<char>(0x80 | (c & 63)));
  } else if (c < 0x10000) {
    out->push_back(static_cast<char>(0xE0 | (c >> 12)));
    out->push_back(static_cast<char>(0x80 | ((c >> 6) & 63)));
    out->push_back(static_cast<char>(0x80 | (c & 63)));
  } else {
    out->push_back(static_cast<char>(0xF0 | (c >> 18)));
    out->push_back(static_cast<char>(0x80 | ((c >> 12) & 63)));
    out->push_back(static_cast<char>(0x80 | ((c >> 6) & 63)));
    out->push_back(static_cast<char>(0x80 | (c & 63)));
  }
}

// Bytes that are no UTF-8 become U+FFFD, one each, so that a broken string can still be looked at.
std::vector<uint32_t> code_points(const std::string& s) {
  std::vector<uint32_t> out;
  for (size_t i = 0; i < s.size();) {
    const uint8_t b = static_cast<uint8_t>(s[i]);
    const size_t extra = b < 0x80 ? 0 : b >= 0xF0 && b < 0xF8 ? 3 : b >= 0xE0 ? 2 : b >= 0xC0 ? 1 : 9;
    uint32_t c = extra == 0 ? b : extra == 1 ? b & 31u : extra == 2 ? b & 15u : b & 7u;
    bool good = extra <= 3 && b < 0xF8 && i + extra < s.size();
    for (size_t k = 1; good && k <= extra; ++k) {
      const uint8_t follow = static_cast<uint8_t>(s[i + k]);
      good = (follow & 0xC0) == 0x80;
      c = (c << 6) | (follow & 63u);
    }
    out.push_back(good ? c : 0xFFFDu);
    i += good ? extra + 1 : 1;
  }
  return out;
}

std::string text_of(const uint8_t* p, const Element& e) {
  std::string out;
  if (e.text8) {
    out.assign(reinterpret_cast<const char*>(p), e.size);
    out.erase(out.find_last_not_of('\0') + 1);
    return out;
  }
  size_t length = e.size / 4;
  const auto code = [&](size_t i) {
    uint32_t c;
    memcpy(&c, p + 4 * i, 4);
    return c;
  };
  while (length > 0 && code(length - 1) == 0) --length;  // numpy pads with zeros
  for (size_t i = 0; i < length; ++i) append_utf8(e.swap ? __builtin_bswap32(code(i)) : code(i), &out);
  return out;
}

// Flat position in the file of each element in row-major order, for an array stored column by column.
std::vector<size_t> fortran_positions(const std::vector<int64_t>& shape, size_t count) {
  std::vector<size_t> positions(count);
  std::vector<size_t> stride(shape.size()), index(shape.size(), 0);
  size_t step = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    stride[d] = step;
    step *= static_cast<size_t>(shape[d]);
  }
  size_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    positions[i] = at;
    for (size_t d = shape.size(); d-- > 0;) {
      at += stride[d];
      if (++index[d] < static_cast<size_t>(shape[d])) break;
      at -= stride[d] * index[d];
      index[d] = 0;
    }
  }
  return positions;
}

}  // namespace

namespace {

// What stands in front of the data.
struct Front {
  HeaderReader header;
  Element element;
  size_t count = 1, start = 0, need = 0;  // elements, where their bytes begin, and how many those are
};

// How long a header can be is in its first bytes.
constexpr size_t kFirstBytes = 12, kMostHeader = size_t{1} << 20;

size_t header_end(const uint8_t* bytes, size_t size, const std::string& name) {
  if (size < 10 || memcmp(bytes, kMagic, 6) != 0) {
    throw Failure(name + " is not a .npy file", "write it with numpy.save");
  }
  const int major = bytes[6];
  if (major < 1 || major > 3)
    throw Failure(name + " has .npy version " + std::to_string(major) + "; versions 1 to 3 are read");
  size_t start = 10, length = bytes[8] | static_cast<size_t>(bytes[9]) << 8;
  if (major > 1) {
    if (size < 12) throw Failure(name + " ends inside its header");
    start = 12;
    length |= static_cast<size_t>(bytes[10]) << 16 | static_cast<size_t>(bytes[11]) << 24;
  }
  if (length > kMostHeader) throw Failure(name + " has a header of " + std::to_string(length) + " bytes");
  return start + length;
}

Front read_front(const uint8_t* bytes, size_t size, const std::string& name) {
  const size_t end = header_end(bytes, size, name), begin = bytes[6] > 1 ? 12 : 10;
  if (end > size) throw Failure(name + " ends inside its header");
  Front f{HeaderReader(std::string(reinterpret_cast<const char*>(bytes) + begin, end - begin), name), {}};
  f.header.read();
  f.element = element_of(f.header);
  f.start = end;
  for (const int64_t d : f.header.shape) {
    if (__builtin_mul_overflow(f.count, static_cast<size_t>(d), &f.count)) f.header.fail("has an impossible shape");
  }
  size_t whole = 0;
  if (__builtin_mul_overflow(f.count, f.element.size, &f.need) || __builtin_add_overflow(f.need, end, &whole) ||
      (f.element.size == 0 && f.count > (1u << 24)))
    f.header.fail("has an impossible shape");
  return f;
}

// What a stream gives, up to `wanted` bytes in `bytes`. It grows with what is there: a header's word on sizes may be a
// lie.
void fill(const ReadSome& read, size_t wanted, std::vector<uint8_t>* bytes) {
  while (bytes->size() < wanted) {
    const size_t have = bytes->size();
    bytes->resize(std::min(wanted, std::max<size_t>(65536, 2 * have)));
    const size_t got = read(bytes->data() + have, bytes->size() - have);
    bytes->resize(have + got);
    if (got == 0) return;
  }
}

// Reads no further than the header.
Front read_front(const ReadSome& read, const std::string& name, std::vector<uint8_t>* bytes) {
  fill(read, kFirstBytes, bytes);
  fill(read, header_end(bytes->data(), bytes->size(), name), bytes);
  return read_front(bytes->data(), bytes->size(), name);
}

// Whether bytes of the file are bytes of the array.
bool is_plain(const Front& front, size_t rank) {
  const Element& e = front.element;
  return e.dtype != VIREO_STRING && !(front.header.fortran && rank > 1) && !(e.swap && e.unit > 1);
}

// `dims`: of the array that `data` holds, `count` elements as `front` has them.
Array decode(const Front& front, const std::vector<int64_t>& dims, size_t count, const uint8_t* data) {
  const Element& e = front.element;
  const size_t need = count * e.size;
  Array a = make_array(e.dtype, dims);
  std::vector<size_t> positions;
  if (front.header.fortran && dims.size() > 1) positions = fortran_positions(dims, count);
  if (e.dtype == VIREO_STRING) {
    for (size_t i = 0; i < count; ++i)
      a.strings[i] = text_of(data + (positions.empty() ? i : positions[i]) * e.size, e);
    return a;
  }
  if (positions.empty()) {
    if (need != 0) memcpy(a.bytes.data(), data, need);
  } else {
    for (size_t i = 0; i < count; ++i) memcpy(a.bytes.data() + i * e.size, data + positions[i] * e.size, e.size);
  }
  if (e.swap && e.unit > 1) {
    for (size_t i = 0; i < need; i += e.unit)
      std::reverse(a.bytes.begin() + static_cast<ptrdiff_t>(i), a.bytes.begin() + static_cast<ptrdiff_t>(i + e.unit));
  }
  return a;
}

}  // namespace

std::vector<uint8_t> read_npy(const ReadSome& read, const std::string& name) {
  std::vector<uint8_t> bytes;
  const Front front = read_front(read, name, &bytes);
  fill(read, front.start + front.need, &bytes);
  uint8_t more;
  if (bytes.size() == front.start + front.need && read(&more, 1) != 0)
    throw Failure(name + " goes on behind its array", "write it with numpy.savez");
  return bytes;
}

Array parse_npy(const uint8_t* bytes, size_t size, const std::string& name) {
  const Front front = read_front(bytes, size, name);
  if (front.need > size - front.start) {
    throw Failure(name + " is cut short: shape " + shape_text(front.header.shape) + " of '" + front.header.descr +
                  "' needs more bytes than it has");
  }
  return decode(front, front.header.shape, front.count, bytes + front.start);
}

struct NpyRows::Source {
  ReadSome read;
  std::string name;
  Front front;
  std::vector<int64_t> row;  // dims
  size_t count = 1;          // elements of a row
  int64_t at = 0;
};

NpyRows::NpyRows(ReadSome read, std::string name) {
  std::vector<uint8_t> bytes;
  const Front front = read_front(read, name, &bytes);
  const std::vector<int64_t>& shape = front.header.shape;
  if (shape.empty()) throw Failure(name + " is a single value, and has no rows", "give it a first axis of samples");
  if (front.header.fortran && shape.size() > 1) {
    throw Failure(name + " is stored column by column, so its rows cannot be read one by one",
                  "save it again: numpy.savez(FILE, NAME=numpy.ascontiguousarray(array))");
  }
  source_ = std::make_unique<Source>(Source{std::move(read), std::move(name), front, {}, 1, 0});
  source_->row.assign(shape.begin() + 1, shape.end());
  for (const int64_t d : source_->row) source_->count *= static_cast<size_t>(d);
}

NpyRows::~NpyRows() = default;
NpyRows::NpyRows(NpyRows&&) noexcept = default;
NpyRows& NpyRows::operator=(NpyRows&&) noexcept = default;

vireo_dtype NpyRows::dtype() const { return source_->front.element.dtype; }
const std::vector<int64_t>& NpyRows::dims() const { return source_->front.header.shape; }

Array NpyRows::next() {
  Source& s = *source_;
  const size_t need = s.count * s.front.element.size;
  std::vector<uint8_t> bytes;
  if (s.at > 0) bytes.reserve(need);  // the header did not lie on the first row
  if (s.at < dims()[0]) fill(s.read, need, &bytes);
  if (s.at >= dims()[0] || bytes.size() < need)
    throw Failure(s.name + " is cut short: row " + std::to_string(s.at) + " is not there", "copy or write it again");
  ++s.at;
  if (!is_plain(s.front, s.row.size())) return decode(s.front, s.row, s.count, bytes.data());
  Array row;
  row.dtype = s.front.element.dtype;
  row.dims = s.row;
  row.bytes = std::move(bytes);
  return row;
}

std::vector<uint8_t> format_npy(const Array& array) {
  std::string descr;
  std::vector<uint8_t> data;
  const size_t count = static_cast<size_t>(array.count());
  switch (array.dtype) {
    case VIREO_BOOL:
      descr = "|b1";
      break;
    case VIREO_INT8:
    case VIREO_INT4:
    case VIREO_INT2:
      descr = "|i1";
      break;
    case VIREO_UINT8:
    case VIREO_UINT4:
    case VIREO_UINT2:
      descr = "|u1";
      break;
    case VIREO_INT16:
      descr = "<i2";
      break;
    case VIREO_INT32:
      descr = "<i4";
      break;
    case VIREO_INT64:
      descr = "<i8";
      break;
    case VIREO_UINT16:
      descr = "<u2";
      break;
    case VIREO_UINT32:
      descr = "<u4";
      break;
    case VIREO_UINT64:
      descr = "<u8";
      break;
    case VIREO_FLOAT16:
      descr = "<f2";
      break;
    case VIREO_FLOAT32:
      descr = "<f4";
      break;
    case VIREO_FLOAT64:
      descr = "<f8";
      break;
    case VIREO_COMPLEX64:
      descr = "<c8";
      break;
    case VIREO_COMPLEX128:
      descr = "<c16";
      break;
    case VIREO_BFLOAT16:
      descr = "<V2";
      break;
    case VIREO_STRING:
      break;
    default:
      descr = "|V1";
      break;
  }
  if (array.dtype == VIREO_STRING) {
    std::vector<std::vector<uint32_t>> texts;
    size_t longest = 1;  // numpy knows no text of width 0
    for (const std::string& s : array.strings) {
      texts.push_back(code_points(s));
      longest = std::max(longest, texts.back().size());
    }
    descr = "<U" + std::to_string(longest);
    data.resize(count * longest * 4);
    for (size_t i = 0; i < count; ++i) {
      if (!texts[i].empty()) memcpy(data.data() + i * longest * 4, texts[i].data(), texts[i].size() * 4);
    }
  } else if (dtype_bits(array.dtype) < 8) {
    const bool codes = array.dtype == VIREO_FLOAT4E2M1;
    for (size_t i = 0; i < count; ++i) {
      data.push_back(codes ? static_cast<uint8_t>(array.bytes[i / 2] >> (4 * (i % 2)) & 15)
                           : static_cast<uint8_t>(static_cast<int>(real_at(array, static_cast<int64_t>(i)))));
    }
  } else {
    data = array.bytes;
  }
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (const int64_t d : array.dims) header += std::to_string(d) + ",";
  if (array.dims.size() > 1) header.pop_back();
  header += "), }";
  header.append((64 - (10 + header.size() + 1) % 64) % 64, ' ');  // data begin at a multiple of 64
  header += '\n';
  header = std::string(kMagic, 6) + '\1' + '\0' + static_cast<char>(header.size() & 255) +
           static_cast<char>(header.size() >> 8) + header;
  std::vector<uint8_t> out(header.size() + data.size());
  memcpy(out.data(), header.data(), header.size());
  if (!data.empty()) memcpy(out.data() + header.size(), data.data(), data.size());
  return out;
}

}  // namespace vireo::cli
