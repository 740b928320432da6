// Files are made here: by hand, or by the libraries that also read them (lossless formats, so that pixels are known).
// ONNX's own cases, with pixels that pillow decoded, run in tests/conformance.py.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "sdk/ops/image_decoder/image_decoder_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::image_decoder_test {
namespace {

using Bytes = std::vector<uint8_t>;
using Format = attrs::PixelFormat;

OpTest decoder(const Bytes& stream, Format format = Format::RGB, int64_t height = -1, int64_t width = -1) {
  attrs::ImageDecoderT a;
  a.pixel_format = format;
  a.height = height;
  a.width = width;
  OpTest t(Op::kImageDecoder, pack<attrs::ImageDecoder>(a));
  t.unknown(4).input<uint8_t>({static_cast<int64_t>(stream.size())}, stream);
  return t;
}

Bytes from_hex(const std::string& hex) {
  Bytes out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return out;
}

// Two rows of red, green and blue, yellow; as each lossless writer of pillow 13 stores them.
const Bytes kPixels = {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 0};
struct File {
  const char* name;
  Bytes bytes;
};
std::vector<File> all_files() {
  return {
      {"bmp",
       from_hex("424d460000000000000036000000280000000200000002000000010018000000000010000000c40e0000c40e000000000000"
                "00000000ff000000ffff00000000ff00ff000000")},
      {"png",
       from_hex("89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a730000001549444154789c05c10101000000"
                "8010ff4f174250191eef04fca40174f30000000049454e44ae426082")},
      {"pnm", from_hex("50360a3220320a3235350aff000000ff000000ffffff00")},
      {"tiff",
       from_hex("49492a00080000000a0000010400010000000200000001010400010000000200000002010300030000008600000003010300"
                "010000000100000006010300010000000200000011010400010000008c000000150103000100000003000000160104000100"
                "00000200000017010400010000000c0000001c010300010000000100000000000000080008000800ff000000ff000000ffff"
                "ff00")},
      {"tiff, deflated",
       from_hex("49492a001a000000789cfbcfc0c0f01f84ffff6700001cef04fc0a0000010300010000000200000001010300010000000200"
                "0000020103000300000098000000030103000100000008000000060103000100000002000000110104000100000008000000"
                "1501030001000000030000001601030001000000020000001701040001000000120000001c01030001000000010000000000"
                "0000080008000800")},
      {"webp",
       from_hex("524946462c000000574542505650384c1f0000002f014000001f201048da1f7a8df9171014f93fdafc075f24e0070811fd0f"
                "0100")},
      {"jpeg2000",
       from_hex("0000000c6a5020200d0a870a00000014667479706a703220000000006a7032200000002d6a70326800000016696864720000"
                "0002000000020003070700000000000f636f6c7201000000000010000000a46a703263ff4fff51002f000000000002000000"
                "020000000000000000000000020000000200000000000000000003070101070101070101ff52000c00000001000104040001"
                "ff5c00074040484850ff640025000143726561746564206279204f70656e4a5045472076657273696f6e20322e352e34ff90"
                "000a0000000000290001ff938080cfb4040793f30200dfcfc00400cfc0067e0031f80080070409ffd9")},
  };
}

class ImageDecoder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (find_ref(Op::kImageDecoder) == nullptr) GTEST_SKIP() << "this build is without VIREO_HOST_OPERATORS";
    std::vector<File> files = all_files();
    for (File& f : files) {
      OpTest t = decoder(f.bytes);
      if (t.run() == Status::kUnsupported) {
        printf("SKIPPED: %s: %s\n", f.name, t.message());
      } else {
        files_.push_back(std::move(f));
      }
    }
  }
  std::vector<File> files_;
};

TEST_F(ImageDecoder, EveryLosslessFormat) {
  for (const File& f : files_) {
    OpTest t = decoder(f.bytes);
    ASSERT_EQ(t.run(), Status::kOk) << f.name << ": " << t.message();
    EXPECT_EQ(t.y().type.shape, make_shape({2, 2, 3})) << f.name;
    EXPECT_EQ(t.y().bytes, kPixels) << f.name;
  }
}

TEST_F(ImageDecoder, OrderAndLuma) {
  for (const File& f : files_) {
    OpTest bgr = decoder(f.bytes, Format::BGR);
    ASSERT_EQ(bgr.run(), Status::kOk) << f.name << ": " << bgr.message();
    EXPECT_EQ(bgr.y().bytes, (Bytes{0, 0, 255, 0, 255, 0, 255, 0, 0, 0, 255, 255})) << f.name;
    OpTest grey = decoder(f.bytes, Format::Grayscale);
    ASSERT_EQ(grey.run(), Status::kOk) << f.name << ": " << grey.message();
    EXPECT_EQ(grey.y().type.shape, make_shape({2, 2, 1})) << f.name;
    EXPECT_EQ(grey.y().bytes, (Bytes{76, 150, 29, 226})) << f.name;  // 0.299 R + 0.587 G + 0.114 B, rounded
  }
}

// What is missing is seen: no picture with a grey end.
TEST_F(ImageDecoder, CutOffStreamsAreEmpty) {
  for (const File& f : files_) {
    for (size_t n = 0; n < f.bytes.size(); ++n) {
      OpTest t = decoder(Bytes(f.bytes.begin(), f.bytes.begin() + static_cast<std::ptrdiff_t>(n)));
      ASSERT_EQ(t.run(), Status::kOk) << f.name << " cut at " << n << ": " << t.message();
      // Some writers end with what no reader needs: an end marker, padding, tags behind the pixels.
      EXPECT_TRUE(t.y().type.shape == make_shape({0, 0, 3}) || t.y().bytes == kPixels) << f.name << " cut at " << n;
    }
  }
}

// Every byte changed in three ways: a status or some pixels, within the bound; the sanitizers see the rest.
TEST_F(ImageDecoder, DamagedStreamsEndWithAStatus) {
  for (const File& f : files_) {
    for (size_t i = 0; i < f.bytes.size(); ++i) {
      for (const uint8_t change : {0x01, 0x80, 0xFF}) {
        Bytes bytes = f.bytes;
        bytes[i] = static_cast<uint8_t>(bytes[i] ^ change);
        OpTest t = decoder(bytes, change == 0x01 ? Format::Grayscale : Format::RGB);
        const Status s = t.run();
        EXPECT_TRUE(s == Status::kOk || s == Status::kOutOfArena) << f.name << " byte " << i << ": " << t.message();
        EXPECT_LE(s == Status::kOk ? t.y().bytes.size() : 0, 4u * 4u * 3u);
      }
    }
  }
}

TEST_F(ImageDecoder, LargerThanTheBoundIsRefusedBeforeItIsDecoded) {
  const std::string header = "P6 100000 100000 255\n";
  OpTest t = decoder(Bytes(header.begin(), header.end()));
  EXPECT_EQ(t.run(), Status::kOutOfArena);
  EXPECT_NE(std::string(t.message()).find("100000 x 100000"), std::string::npos) << t.message();
}

TEST_F(ImageDecoder, DeclaredExtentsMustBeTheStreams) {
  const std::string text = "P2 2 1 9 # grey\n0 9";
  const Bytes stream(text.begin(), text.end());
  OpTest fits = decoder(stream, Format::RGB, 1, 2);
  ASSERT_EQ(fits.run(), Status::kOk) << fits.message();
  EXPECT_EQ(fits.y().bytes, (Bytes{0, 0, 0, 255, 255, 255}));
  OpTest other = decoder(stream, Format::RGB, 2, 1);
  EXPECT_EQ(other.run(), Status::kInvalidArgument);
  OpTest garbage = decoder({1, 2, 3}, Format::RGB, 1, 2);
  EXPECT_EQ(garbage.run(), Status::kInvalidArgument);
  EXPECT_NE(std::string(garbage.message()).find("no known image format"), std::string::npos) << garbage.message();
}

TEST_F(ImageDecoder, KindsOfPnm) {
  const auto run = [](const std::string& text) {
    OpTest t = decoder(Bytes(text.begin(), text.end()), Format::Grayscale);
    EXPECT_EQ(t.run(), Status::kOk) << t.message();
    return t.y().bytes;
  };
  EXPECT_EQ(run("P1\n3 1\n010"), (Bytes{255, 0, 255}));
  EXPECT_EQ(run("P4 3 1\n\x40"), (Bytes{255, 0, 255}));
  EXPECT_EQ(run("P2#comment\n2 1 4 2 1"), (Bytes{128, 64}));
  EXPECT_EQ(run("P3 1 1 1 1 1 1"), (Bytes{255}));
  EXPECT_EQ(run(std::string("P5 1 1 65535\n\x80\x00", 15)), (Bytes{128}));
  EXPECT_EQ(run("P2 1 1 4 5"), Bytes{});  // above its own maximum
}

// Headers by hand: 1 and 4 bits with a palette, 16 bits from above, the 12-byte header of OS/2.
TEST_F(ImageDecoder, KindsOfBmp) {
  const auto run = [](const std::string& hex) {
    OpTest t =
        decoder(from_hex("424d00000000"
                         "00000000" +
                         hex));
    EXPECT_EQ(t.run(), Status::kOk) << t.message();
    return t.y().bytes;
  };
  const std::string core =
      "1a000000"
      "0c000000"
      "0200"
      "0100"
      "0100";
  EXPECT_EQ(run("20000000"
                "0c000000"
                "0200"
                "0100"
                "0100"
                "0100"
                "010203"
                "f0e0d0"
                "40000000"),
            (Bytes{3, 2, 1, 0xd0, 0xe0, 0xf0}));
  EXPECT_EQ(run(core + "1800"
                       "010203"
                       "040506"
                       "0000"),
            (Bytes{3, 2, 1, 6, 5, 4}));
  const std::string wide =
      "28000000"
      "02000000"
      "ffffffff"
      "0100";  // two pixels, one row from above
  const std::string rest =
      "00000000"
      "00000000"
      "00000000"
      "02000000"
      "00000000";
  EXPECT_EQ(run("3e000000" + wide +
                "0400"
                "00000000" +
                rest +
                "01020300"
                "f0e0d000"
                "10000000"),
            (Bytes{0xd0, 0xe0, 0xf0, 3, 2, 1}));
  EXPECT_EQ(run("36000000" + wide +
                "1000"
                "00000000" +
                rest +
                "007c"
                "1f00"),
            (Bytes{255, 0, 0, 0, 0, 255}));
  EXPECT_EQ(run("42000000" + wide +
                "1000"
                "03000000" +
                rest +
                "00f80000"
                "e0070000"
                "1f000000"
                "00f8"
                "e007"),
            (Bytes{255, 0, 0, 0, 255, 0}));
}

TEST_F(ImageDecoder, RefusesWhatIsNoStream) {
  attrs::ImageDecoderT a;
  OpTest floats(Op::kImageDecoder, pack<attrs::ImageDecoder>(a));
  EXPECT_EQ(floats.input<float>({1}, {1}).infer(), Status::kInvalidModel);
  OpTest matrix(Op::kImageDecoder, pack<attrs::ImageDecoder>(a));
  EXPECT_EQ(matrix.input<uint8_t>({1, 1}, {1}).infer(), Status::kInvalidModel);
}

}  // namespace
}  // namespace vireo::image_decoder_test
