#include "sdk/base/sizes.h"
#include "sdk/media/image_codec.h"
#include "sdk/ops/image_decoder/image_decoder_generated.h"
#include "sdk/ops/kernel.h"

namespace vireo {
namespace {

// Nothing that can be shown: the empty image, unless the model declares another.
Status nothing(const KernelContext& ctx, const char* why) {
  const auto& a = ctx.attrs<attrs::ImageDecoder>();
  Tensor& y = *ctx.out(0);
  if (a.height() > 0 || a.width() > 0) {
    return ctx.fail(Status::kInvalidArgument, "ImageDecoder: {}, and the model declares {} x {} pixels", why,
                    a.height(), a.width());
  }
  y.shape[0] = y.shape[1] = 0;
  return Status::kOk;
}

// ITU-R 601-2 luma in 16 bits of fraction; the weights add up to 1, so that grey stays as it is.
uint8_t luma(const uint8_t* p) {
  return static_cast<uint8_t>((p[0] * 19595 + p[1] * 38470 + p[2] * 7471 + 32768) >> 16);
}

Status run_image_decoder(const KernelContext& ctx) {
  const Tensor& x = *ctx.in(0);
  const Span<const uint8_t> stream(x.as<const uint8_t>(), static_cast<size_t>(x.count()));
  const auto& a = ctx.attrs<attrs::ImageDecoder>();
  const bool grey = a.pixel_format() == attrs::PixelFormat::Grayscale;
  Tensor& y = *ctx.out(0);

  const ImageCodec* codec = find_codec(stream);
  if (codec == nullptr) return nothing(ctx, "the stream is of no known image format");
  if (codec->decode == nullptr) {
    return ctx.fail(Status::kUnsupported, "ImageDecoder: a {} stream, and this build is without {}", codec->name,
                    codec->library);
  }
  ImageSize size;
  const char* why = codec->size(stream, &size);
  if (why != nullptr) return nothing(ctx, why);
  if ((a.height() >= 0 && a.height() != size.height) || (a.width() >= 0 && a.width() != size.width)) {
    return ctx.fail(Status::kInvalidArgument, "ImageDecoder: {} x {} pixels, the model declares {} x {} (-1: any)",
                    size.height, size.width, a.height(), a.width());
  }
  const int64_t room = y.capacity / (grey ? 1 : 3);
  if (size.height > 0 && size.width > room / size.height) {
    return ctx.fail(Status::kOutOfArena, "ImageDecoder: {} x {} pixels, above the bound of {}: give a larger one",
                    size.height, size.width, room);
  }
  y.shape[0] = size.height;
  y.shape[1] = size.width;
  if (size.height <= 0 || size.width <= 0) return nothing(ctx, "the image has no pixels");

  uint8_t* rgb = grey ? ctx.scratch.data() : y.as<uint8_t>();
  const int64_t pixels = size.height * size.width;
  if (grey && static_cast<size_t>(pixels) * 3 > ctx.scratch.size()) {
    return ctx.fail(Status::kOutOfArena, "ImageDecoder: scratch for {} pixels of {}", ctx.scratch.size() / 3, pixels);
  }
  why = codec->decode(stream, size, rgb);
  if (why != nullptr) return nothing(ctx, why);
  if (grey) {
    for (int64_t i = 0; i < pixels; ++i) y.as<uint8_t>()[i] = luma(rgb + 3 * i);
  } else if (a.pixel_format() == attrs::PixelFormat::BGR) {
    for (int64_t i = 0; i < pixels; ++i) {
      const uint8_t red = rgb[3 * i];
      rgb[3 * i] = rgb[3 * i + 2];
      rgb[3 * i + 2] = red;
    }
  }
  return Status::kOk;
}

int64_t decoder_scratch(const KernelQuery& query) {
  if (query.attrs<attrs::ImageDecoder>().pixel_format() != attrs::PixelFormat::Grayscale) return 0;
  return size_product(element_count(query.outputs[0].shape), 3);
}

}  // namespace

extern const RefKernel kImageDecoderRef;
const RefKernel kImageDecoderRef = {run_image_decoder, decoder_scratch};

}  // namespace vireo
