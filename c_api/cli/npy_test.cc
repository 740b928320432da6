#include "c_api/cli/npy.h"

#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <functional>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"

namespace vireo::cli::npy_test {
namespace {

// The bytes that numpy.save writes: magic, version, header padded to 64, data.
std::vector<uint8_t> npy(const std::string& header, const std::string& data, int version = 1) {
  std::string text = header;
  const size_t start = version == 1 ? 10 : 12;
  text.append((64 - (start + text.size() + 1) % 64) % 64, ' ');
  text += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (size_t i = 0; i < start - 8; ++i) bytes += static_cast<char>(text.size() >> (8 * i) & 255);
  bytes += text + data;
  return {bytes.begin(), bytes.end()};
}

Array parse(const std::vector<uint8_t>& bytes) { return parse_npy(bytes.data(), bytes.size(), "test.npy"); }

std::string refusal(const std::vector<uint8_t>& bytes) {
  try {
    parse(bytes);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

template <typename T>
std::string raw(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

TEST(Npy, ReadsAllVersions) {
  for (const int version : {1, 2, 3}) {
    const Array a = parse(
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", raw<float>({0, 1, 2, 3, 4, 5.5f}), version));
    EXPECT_EQ(a.dtype, VIREO_FLOAT32);
    EXPECT_EQ(a.dims, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(real_at(a, 5), 5.5);
  }
}

// A stream of `bytes`, a few at a time.
ReadSome in_pieces(std::vector<uint8_t> bytes) {
  return [bytes = std::move(bytes), at = size_t{0}](uint8_t* to, size_t size) mutable {
    const size_t take = std::min({size, bytes.size() - at, size_t{7}});
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(at), take, to);
    at += take;
    return take;
  };
}

TEST(NpyRows, ReadsOneRowAfterTheOther) {
  NpyRows rows(in_pieces(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }",
                             std::string("\0\0\0\0\x3f\x80\0\0\x40\0\0\0\x40\x40\0\0\x40\x80\0\0\x40\xb0\0\0", 24))),
               "x.npy");
  EXPECT_EQ(rows.dtype(), VIREO_FLOAT32);
  EXPECT_EQ(rows.dims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(real_at(rows.next(), 2), 2);
  const Array last = rows.next();
  EXPECT_EQ(last.dims, std::vector<int64_t>{3});
  EXPECT_EQ(real_at(last, 2), 5.5);
  EXPECT_THROW(rows.next(), Failure);
}

TEST(NpyRows, RefusesWhatHasNoRowsToReadOneByOne) {
  const auto open = [](const std::string& header, const std::string& data) {
    return NpyRows(in_pieces(npy(header, data)), "x.npy");
  };
  EXPECT_THROW(open("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", raw<int64_t>({1})), Failure);
  EXPECT_THROW(open("{'descr': '<i4', 'fortran_order': True, 'shape': (1, 2), }", raw<int32_t>({1, 2})), Failure);
  NpyRows cut = open("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }", raw<int32_t>({1, 2, 3}));
  cut.next();
  EXPECT_THROW(cut.next(), Failure);
}

TEST(Npy, ScalarHasNoDimensions) {
  const Array a = parse(npy("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", raw<int64_t>({-7})));
  EXPECT_TRUE(a.dims.empty());
  EXPECT_EQ(text_at(a, 0), "-7");
}

// Column by column in the file: element [i,j,k] of shape 2x3x2 stands at i + 2 j + 6 k.
TEST(Npy, FortranOrderIsTurned) {
  std::vector<int16_t> file(12);
  for (int16_t i = 0; i < 2; ++i)
    for (int16_t j = 0; j < 3; ++j)
      for (int16_t k = 0; k < 2; ++k)
        file[static_cast<size_t>(i + 2 * j + 6 * k)] = static_cast<int16_t>(100 * i + 10 * j + k);
  const Array a = parse(npy("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3, 2), }", raw(file)));
  EXPECT_EQ(real_at(a, 0), 0);
  EXPECT_EQ(real_at(a, 1), 1);     // [0,0,1]
  EXPECT_EQ(real_at(a, 2), 10);    // [0,1,0]
  EXPECT_EQ(real_at(a, 11), 121);  // [1,2,1]
}

TEST(Npy, BigEndianIsSwapped) {
  const Array a =
      parse(npy("{'descr': '>u4', 'fortran_order': False, 'shape': (1,), }", std::string("\x00\x00\x01\x02", 4)));
  EXPECT_EQ(real_at(a, 0), 258);
  const Array c = parse(npy("{'descr': '>c8', 'fortran_order': False, 'shape': (1,), }",
                            std::string("\x3f\x80\x00\x00\x40\x00\x00\x00", 8)));
  EXPECT_EQ(real_at(c, 0), 1);
  EXPECT_EQ(imaginary_at(c, 0), 2);
}

TEST(Npy, UnicodeBecomesUtf8AndComesBack) {
  const std::vector<uint32_t> codes{'a', 0xE9, 0x4E2D, 0x1F600, 0, 0, 0, 0};
  const Array a = parse(npy("{'descr': '<U4', 'fortran_order': False, 'shape': (2,), }", raw(codes)));
  ASSERT_EQ(a.strings.size(), 2u);
  EXPECT_EQ(a.strings[0], "a\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80");
  EXPECT_EQ(a.strings[1], "");
  const std::vector<uint8_t> again = format_npy(a);
  EXPECT_EQ(parse(again).strings, a.strings);
}

TEST(Npy, EveryWholeByteTypeComesBack) {
  for (const vireo_dtype t :
       {VIREO_BOOL, VIREO_INT8, VIREO_UINT8, VIREO_INT16, VIREO_UINT16, VIREO_INT32, VIREO_UINT32, VIREO_INT64,
        VIREO_UINT64, VIREO_FLOAT16, VIREO_FLOAT32, VIREO_FLOAT64, VIREO_COMPLEX64, VIREO_COMPLEX128}) {
    Array a = make_array(t, {3, 5});
    for (size_t i = 0; i < a.bytes.size(); ++i) a.bytes[i] = static_cast<uint8_t>(t == VIREO_BOOL ? i & 1 : i * 7);
    const std::vector<uint8_t> file = format_npy(a);
    EXPECT_EQ((file.size() - a.bytes.size()) % 64, 0u);
    const Array b = parse(file);
    EXPECT_EQ(b.dtype, t);
    EXPECT_EQ(b.dims, a.dims);
    EXPECT_EQ(b.bytes, a.bytes);
  }
}

TEST(Npy, PackedIntegersAreWidened) {
  Array a = make_array(VIREO_INT4, {3});
  a.bytes = {0xF1, 0x08};  // 1, -1, -8
  const Array b = parse(format_npy(a));
  EXPECT_EQ(b.dtype, VIREO_INT8);
  EXPECT_EQ(real_at(b, 0), 1);
  EXPECT_EQ(real_at(b, 1), -1);
  EXPECT_EQ(real_at(b, 2), -8);
}

TEST(Npy, RefusesWhatItCannotRead) {
  const std::string shape = "'fortran_order': False, 'shape': (4,), }";
  EXPECT_NE(refusal(npy("{'descr': '|O', " + shape, "")).find("pickle"), std::string::npos);
  EXPECT_NE(refusal(npy("{'descr': [('x', '<f4')], " + shape, "")).find("records"), std::string::npos);
  EXPECT_NE(refusal(npy("{'descr': '<f4', " + shape, "1234")).find("cut short"), std::string::npos);
  EXPECT_NE(
      refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 4000000000, 4000000000), }", ""))
          .find("impossible"),
      std::string::npos);
  EXPECT_NE(refusal({'h', 'e', 'l', 'l', 'o'}), "");
}

TEST(Npy, EveryTruncationAndMutationIsAnsweredCleanly) {
  const std::vector<uint8_t> good =
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", raw<float>({0, 1, 2, 3, 4, 5}));
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(refusal({good.begin(), good.begin() + static_cast<ptrdiff_t>(size)}), "") << size;
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int bit : {1, 16, 128}) {
      std::vector<uint8_t> bad = good;
      bad[at] = static_cast<uint8_t>(bad[at] ^ bit);
      refusal(bad);  // any answer but a crash
    }
  }
}

TEST(Npz, ComesBackWithItsNames) {
  Array a = make_array(VIREO_FLOAT32, {2});
  set_real(&a, 1, 2.5);
  Array s = make_array(VIREO_STRING, {1});
  s.strings[0] = "yes";
  write_npz("round.npz", {{"x/y", a}, {"text", s}});
  const auto read = read_npz("round.npz");
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read.at("x/y").bytes, a.bytes);
  EXPECT_EQ(read.at("text").strings, s.strings);
}

// An archive may unpack to anything: what its header does not ask for is never in memory.
TEST(Npy, StreamsAreReadAsFarAsTheirHeaderAsks) {
  const std::vector<uint8_t> file = npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", "abc");
  size_t given = 0;
  const auto stream = [&](size_t behind) {
    given = 0;
    return [&given, &file, behind](uint8_t* to, size_t size) {
      const size_t n = std::min<size_t>({size, file.size() + behind - given, 7});
      for (size_t i = 0; i < n; ++i) to[i] = given + i < file.size() ? file[given + i] : 0;
      given += n;
      return n;
    };
  };
  EXPECT_EQ(read_npy(stream(0), "x"), file);
  EXPECT_THROW(read_npy(stream(size_t{1} << 40), "x"), Failure);
  EXPECT_LE(given, file.size() + 1);
  std::vector<uint8_t> lies = file;  // a header of 4 GiB
  lies[6] = 2;
  lies[10] = lies[11] = 0xff;
  EXPECT_NE(refusal(lies).find("header of"), std::string::npos) << refusal(lies);
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

// `count` arrays of one element, in an archive that declares `bytes` for each where that is not 0.
std::vector<uint8_t> archive_of(size_t count, uint32_t bytes) {
  std::vector<std::pair<std::string, Array>> arrays;
  for (size_t i = 0; i < count; ++i) arrays.emplace_back("a" + std::to_string(i), make_array(VIREO_UINT8, {1}));
  write_npz("many.npz", arrays);
  std::vector<uint8_t> file = read_file("many.npz");
  const std::string directory = "PK\x01\x02";
  for (auto at = file.begin(); bytes != 0;) {
    at = std::search(at, file.end(), directory.begin(), directory.end());
    if (at == file.end()) break;
    memcpy(&*at + 24, &bytes, sizeof(bytes));
    at += 46;
  }
  return file;
}

TEST(Npz, OneEntryIsReadByItsName) {
  const NpzFile file(archive_of(3, 0), "many.npz");
  EXPECT_EQ(file.names(), (std::vector<std::string>{"a0", "a1", "a2"}));
  EXPECT_EQ(file.read("a2").dims, std::vector<int64_t>{1});
  EXPECT_NE(refusal_of([&] { file.read("a3"); }).find("no array 'a3'"), std::string::npos);
}

TEST(Npz, EntriesAreLimited) {
  EXPECT_EQ(NpzFile(archive_of(NpzFile::kMostEntries, 0), "most.npz").names().size(), NpzFile::kMostEntries);
  const std::string text = refusal_of([] { NpzFile(archive_of(NpzFile::kMostEntries + 1, 0), "many.npz"); });
  EXPECT_NE(text.find("65537 entries, at most 65536"), std::string::npos) << text;
}

// What an archive declares is looked at before anything is unpacked: a thousand arrays of 4 GiB are more than there is.
TEST(Npz, SizesAreComparedWithMemoryBeforeUnpacking) {
  const NpzFile file(archive_of(1000, 0xfffffff0u), "bomb.npz");
  const std::string text = refusal_of([&] { file.read_all(); });
  EXPECT_NE(text.find("bomb.npz takes"), std::string::npos) << text;
  EXPECT_NE(text.find("to unpack"), std::string::npos) << text;
}

TEST(Npz, NoMoreIsUnpackedThanDeclared) {
  const NpzFile file(archive_of(1, 100), "short.npz");  // of 129 bytes
  EXPECT_NE(refusal_of([&] { file.read("a0"); }), "");
}

TEST(Npz, DamageIsNamed) {
  write_file("bad.npz", std::string("PK\x03\x04 not really"));
  EXPECT_THROW(read_npz("bad.npz"), Failure);
  EXPECT_THROW(read_npz("missing.npz"), Failure);
}

}  // namespace
}  // namespace vireo::cli::npy_test
