#include "c_api/cli/sound.h"

#include <sndfile.h>
#include <stdio.h>

#include <memory>
#include <vector>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"
#include "c_api/cli/handles.h"

namespace vireo::cli {
namespace {

// The file in memory, as libsndfile asks for it: it would open a pipe or a folder in its own way otherwise.
struct Source {
  std::vector<uint8_t> bytes;
  sf_count_t at = 0;
};
sf_count_t length(void* user) { return static_cast<sf_count_t>(static_cast<Source*>(user)->bytes.size()); }
sf_count_t tell(void* user) { return static_cast<Source*>(user)->at; }
sf_count_t seek(sf_count_t offset, int whence, void* user) {
  auto* s = static_cast<Source*>(user);
  const sf_count_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? s->at : length(user);
  if (base + offset < 0 || base + offset > length(user)) return -1;
  return s->at = base + offset;
}
sf_count_t read_some(void* to, sf_count_t count, void* user) {
  auto* s = static_cast<Source*>(user);
  const sf_count_t n = std::min(count, length(user) - s->at);
  std::copy_n(s->bytes.begin() + s->at, n, static_cast<uint8_t*>(to));
  s->at += n;
  return n;
}

struct CloseSound {
  void operator()(SNDFILE* f) const { sf_close(f); }
};

}  // namespace

Array read_sound(const std::string& path, const vireo_value_info& info, const vireo_meaning& meaning,
                 std::string* assumed) {
  const std::string input = "input '" + std::string(info.name) + "' (" + type_text(info) + ")";
  const bool told = meaning.kind == VIREO_MEANING_AUDIO;
  Source source{read_file(path)};
  SF_VIRTUAL_IO io{length, seek, read_some, nullptr, tell};
  SF_INFO format{};
  std::unique_ptr<SNDFILE, CloseSound> file(sf_open_virtual(&io, SFM_READ, &format, &source));
  if (file == nullptr)
    throw Failure(path + " is not a readable WAV file: " + sf_strerror(nullptr), "save it as 16-bit PCM WAV");
  if (format.channels < 1 || format.frames < 1) throw Failure(path + " holds no sound");
  if (told && meaning.sample_rate != 0 && static_cast<uint32_t>(format.samplerate) != meaning.sample_rate) {
    throw Failure(path + " has " + std::to_string(format.samplerate) + " samples a second, but " + input + " takes " +
                      std::to_string(meaning.sample_rate),
                  "resample the file to " + std::to_string(meaning.sample_rate) + " Hz");
  }

  int axis = -1;
  for (int d = 0; d < info.rank; ++d) {
    if (info.min_dims[d] == info.max_dims[d] && info.max_dims[d] != 1) axis = d;
  }
  for (int d = 0; axis < 0 && d < info.rank; ++d) {
    if (info.min_dims[d] != info.max_dims[d] && (d == info.rank - 1 || info.min_dims[d + 1] == info.max_dims[d + 1]))
      axis = d;
  }
  if (axis < 0) throw Failure(path + " is a sound, but " + input + " has no dimension for its samples");
  std::vector<int64_t> dims(static_cast<size_t>(info.rank), 1);
  dims[static_cast<size_t>(axis)] = format.frames;
  for (int d = 0; d < info.rank; ++d) {
    const int64_t extent = dims[static_cast<size_t>(d)];
    if (info.max_dims[d] >= 0 && (extent < info.min_dims[d] || extent > info.max_dims[d])) {
      throw Failure(
          path + " has " + std::to_string(format.frames) + " samples, but " + input + " does not take that many",
          "cut or pad the file to the input's length");
    }
  }

  const bool integer = !dtype_is_float(info.dtype);
  std::vector<float> frames(static_cast<size_t>(format.frames) * static_cast<size_t>(format.channels));
  if (sf_readf_float(file.get(), frames.data(), format.frames) != format.frames) {
    throw Failure(path + " is cut short: its header promises " + std::to_string(format.frames) + " samples",
                  "copy or save it again");
  }
  const double lo = told ? meaning.range_lo : -1.0, hi = told ? meaning.range_hi : 1.0;
  const double mean = told && meaning.mean_count != 0 ? meaning.mean[0] : 0.0;
  const double deviation = told && meaning.std_count != 0 ? meaning.std[0] : 1.0;
  Array out = make_array(info.dtype, dims);
  for (int64_t i = 0; i < format.frames; ++i) {
    double v = 0;
    for (int c = 0; c < format.channels; ++c)
      v += static_cast<double>(frames[static_cast<size_t>(i * format.channels + c)]);
    v /= format.channels;
    set_real(&out, i, integer ? v * 32768.0 : (lo + (hi - lo) * (v + 1.0) / 2.0 - mean) / deviation);
  }
  char text[160];
  snprintf(text, sizeof(text), ", %d Hz%s, values %s", format.samplerate,
           format.channels > 1 ? ", channels averaged" : "", integer ? "as 16-bit integers" : "");
  char range[64];
  snprintf(range, sizeof(range), "%g..%g", lo, hi);
  *assumed = std::string(info.name) + ": sound " + path + text + (integer ? "" : range) +
             (told ? " (as the model's signature says)"
                   : " (the model has no signature; convert with --signature to change it)");
  return out;
}

}  // namespace vireo::cli
