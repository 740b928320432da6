#include "c_api/cli/picture.h"

#include <math.h>

#include <algorithm>
#include <vector>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "c_api/cli/handles.h"
#include "sdk/media/image_codec.h"

namespace vireo::cli {
namespace {

struct Pixels {
  int width = 0, height = 0, channels = 0;
  std::vector<float> values;  // 0..255, height x width x channels
};

// Where the picture's dimensions stand in the input's shape.
struct Layout {
  int channel = -1, height = -1, width = -1;  // channel -1: none
  std::string text;
};

bool is_channels(int64_t extent) { return extent == 1 || extent == 3 || extent == 4; }

Layout layout_of(const vireo_value_info& info, const std::string& told) {
  const int last = info.rank - 1;
  Layout first{last - 2, last - 1, last, "channels first"}, behind{last, last - 2, last - 1, "channels last"};
  if (info.rank == 2) return {-1, 0, 1, "height x width"};
  if (info.rank != 3 && info.rank != 4) return {};
  if (told == "NHWC" || told == "HWC") return behind;
  if (told == "NCHW" || told == "CHW") return first;
  if (is_channels(info.max_dims[first.channel])) return first;
  if (is_channels(info.max_dims[behind.channel])) return behind;
  if (info.rank == 3) return {-1, 1, 2, "height x width"};
  return {};
}

constexpr int64_t kMostPixels = int64_t{1} << 26;  // a small file can claim any size

// A fourth channel is opaque: transparency is not read.
Pixels decoded(const std::string& path, int channels) {
  const auto fail = [&path](const std::string& why) {
    throw Failure(path + " is not a readable picture: " + why, "check the file, or save it again as PNG");
  };
  const std::vector<uint8_t> bytes = read_file(path);
  const Span<const uint8_t> stream(bytes.data(), bytes.size());
  const ImageCodec* const codec = find_codec(stream);
  if (codec == nullptr) fail("it has the beginning of no known format");
  if (codec->decode == nullptr)
    fail(std::string(codec->name) + " needs " + codec->library + ", which this build lacks");
  ImageSize size;
  if (const char* const why = codec->size(stream, &size); why != nullptr) fail(why);
  if (size.width <= 0 || size.height <= 0 || size.width > kMostPixels / size.height)
    fail(std::to_string(size.width) + " x " + std::to_string(size.height) + " pixels, at most 64 million are read");
  const auto pixels = static_cast<size_t>(size.width * size.height);
  std::vector<uint8_t> rgb(3 * pixels);
  if (const char* const why = codec->decode(stream, size, rgb.data()); why != nullptr) fail(why);
  Pixels out{static_cast<int>(size.width), static_cast<int>(size.height), channels,
             std::vector<float>(pixels * static_cast<size_t>(channels))};
  for (size_t i = 0; i < pixels; ++i) {
    const uint8_t* const from = &rgb[3 * i];
    float* const to = &out.values[i * static_cast<size_t>(channels)];
    if (channels == 1) to[0] = static_cast<float>((77 * from[0] + 150 * from[1] + 29 * from[2]) >> 8);  // ITU-R BT.601
    for (int c = 0; channels != 1 && c < channels; ++c) to[c] = c < 3 ? from[c] : 255.0f;
  }
  return out;
}

// Bilinear, with pixel centres at half positions.
Pixels resized(const Pixels& from, int width, int height) {
  Pixels out{width, height, from.channels, std::vector<float>(static_cast<size_t>(width) * height * from.channels)};
  for (int y = 0; y < height; ++y) {
    const float sy = std::clamp((y + 0.5f) * from.height / height - 0.5f, 0.0f, from.height - 1.0f);
    const int y0 = static_cast<int>(sy), y1 = std::min(y0 + 1, from.height - 1);
    for (int x = 0; x < width; ++x) {
      const float sx = std::clamp((x + 0.5f) * from.width / width - 0.5f, 0.0f, from.width - 1.0f);
      const int x0 = static_cast<int>(sx), x1 = std::min(x0 + 1, from.width - 1);
      for (int c = 0; c < from.channels; ++c) {
        const auto at = [&](int px, int py) {
          return from.values[(static_cast<size_t>(py) * from.width + px) * from.channels + c];
        };
        const float top = at(x0, y0) + (at(x1, y0) - at(x0, y0)) * (sx - x0);
        const float low = at(x0, y1) + (at(x1, y1) - at(x0, y1)) * (sx - x0);
        out.values[(static_cast<size_t>(y) * width + x) * out.channels + c] = top + (low - top) * (sy - y0);
      }
    }
  }
  return out;
}

// The whole picture in the middle of the frame, black around it.
Pixels letterboxed(const Pixels& from, int width, int height, PictureFit* fit) {
  const double scale = std::min(static_cast<double>(width) / from.width, static_cast<double>(height) / from.height);
  const Pixels inner = resized(from, std::max(1, static_cast<int>(lround(from.width * scale))),
                               std::max(1, static_cast<int>(lround(from.height * scale))));
  Pixels out{width, height, from.channels,
             std::vector<float>(static_cast<size_t>(width) * height * from.channels, 0.0f)};
  const int left = (width - inner.width) / 2, top = (height - inner.height) / 2;
  *fit = {static_cast<double>(inner.width) / from.width, static_cast<double>(inner.height) / from.height, left, top};
  for (int y = 0; y < inner.height; ++y) {
    std::copy_n(inner.values.begin() + static_cast<ptrdiff_t>(y) * inner.width * inner.channels,
                inner.width * inner.channels,
                out.values.begin() + (static_cast<ptrdiff_t>(y + top) * width + left) * out.channels);
  }
  return out;
}

}  // namespace

bool is_picture(const std::vector<uint8_t>& bytes) { return find_codec({bytes.data(), bytes.size()}) != nullptr; }

Array read_picture(const std::string& path, const vireo_value_info& info, const vireo_meaning& meaning,
                   std::string* assumed, PictureFit* fit) {
  const std::string input = "input '" + std::string(info.name) + "' (" + type_text(info) + ")";
  const bool told = meaning.kind == VIREO_MEANING_IMAGE;
  const Layout layout = layout_of(info, told && meaning.layout != nullptr ? meaning.layout : "");
  if (layout.width < 0) {
    throw Failure(path + " is a picture, but " + input + " has not the shape of one",
                  "give a .npy file of the input's shape, or convert the model with --signature");
  }
  const int64_t channels = layout.channel < 0                  ? 1
                           : info.max_dims[layout.channel] < 0 ? 3
                                                               : info.max_dims[layout.channel];
  if (!is_channels(channels))
    throw Failure(path + " is a picture, but " + input + " takes " + std::to_string(channels) + " channels");

  Pixels picture = decoded(path, static_cast<int>(channels));
  const int64_t want_h = info.max_dims[layout.height], want_w = info.max_dims[layout.width];
  const bool any_h = want_h < 0 || info.min_dims[layout.height] != want_h;
  const bool any_w = want_w < 0 || info.min_dims[layout.width] != want_w;
  if ((!any_h && (want_h == 0 || want_h > kMostPixels)) || (!any_w && (want_w == 0 || want_w > kMostPixels)))
    throw Failure(path + " is a picture, and " + input + " takes none: " + std::to_string(want_w) + "x" +
                  std::to_string(want_h) + " pixels");
  const int height = any_h ? picture.height : static_cast<int>(want_h);
  const int width = any_w ? picture.width : static_cast<int>(want_w);
  std::string done;
  PictureFit unasked;
  if (fit == nullptr) fit = &unasked;
  *fit = {};
  if (width != picture.width || height != picture.height) {
    const std::string resize = told && meaning.resize != nullptr ? meaning.resize : "";
    const std::string sizes = std::to_string(picture.width) + "x" + std::to_string(picture.height) + " to " +
                              std::to_string(width) + "x" + std::to_string(height);
    if (resize == "stretch") {
      *fit = {static_cast<double>(width) / picture.width, static_cast<double>(height) / picture.height, 0, 0};
      picture = resized(picture, width, height);
      done = "stretched from " + sizes + ", ";
    } else if (resize == "letterbox") {
      picture = letterboxed(picture, width, height, fit);
      done = "letterboxed from " + sizes + ", ";
    } else {
      throw Failure(path + " is " + std::to_string(picture.width) + "x" + std::to_string(picture.height) +
                        " pixels, but " + input + " takes " + std::to_string(width) + "x" + std::to_string(height),
                    "resize the picture, or convert the model with a --signature that says \"resize\": \"stretch\" or "
                    "\"letterbox\"");
    }
  }

  std::vector<int64_t> dims(static_cast<size_t>(info.rank), 1);
  dims[static_cast<size_t>(layout.height)] = height;
  dims[static_cast<size_t>(layout.width)] = width;
  if (layout.channel >= 0) dims[static_cast<size_t>(layout.channel)] = channels;
  Array out = make_array(info.dtype, dims);
  const bool bgr = told && meaning.color != nullptr && std::string(meaning.color) == "BGR" && channels >= 3;
  const bool raw = info.dtype == VIREO_UINT8;
  const float lo = told ? meaning.range_lo : 0.0f, hi = told ? meaning.range_hi : 1.0f;
  const auto per_channel = [](const float* values, uint32_t count, int c, float otherwise) {
    return values == nullptr || count == 0 ? otherwise
                                           : values[std::min<uint32_t>(static_cast<uint32_t>(c), count - 1)];
  };
  const bool planar = layout.channel >= 0 && layout.channel < layout.height;
  const int64_t area = static_cast<int64_t>(width) * height;
  for (int c = 0; c < picture.channels; ++c) {
    const int source = bgr && c < 3 ? 2 - c : c;
    const float mean = told ? per_channel(meaning.mean, meaning.mean_count, c, 0.0f) : 0.0f;
    const float deviation = told ? per_channel(meaning.std, meaning.std_count, c, 1.0f) : 1.0f;
    for (int64_t p = 0; p < area; ++p) {
      const float v = picture.values[static_cast<size_t>(p * picture.channels + source)];
      set_real(&out, planar ? c * area + p : p * picture.channels + c,
               raw ? v : (static_cast<double>(lo) + static_cast<double>(hi - lo) * v / 255.0 - mean) / deviation);
    }
  }
  const std::string color = channels == 1 ? "gray" : bgr ? "BGR" : channels == 4 ? "RGBA" : "RGB";
  char range[96];
  snprintf(range, sizeof(range), raw ? "0..255 unscaled" : "%g..%g", static_cast<double>(lo), static_cast<double>(hi));
  *assumed = std::string(info.name) + ": picture " + path + ", " + done + color + ", " + range +
             (told && meaning.mean_count != 0 ? ", mean and std of the model's signature" : "") + ", " + layout.text +
             (told ? " (as the model's signature says)"
                   : " (the model has no signature; convert with --signature to change it)");
  return out;
}

}  // namespace vireo::cli
