// Pictures as model inputs.
#ifndef VIREO_C_API_CLI_PICTURE_H_
#define VIREO_C_API_CLI_PICTURE_H_

#include <stdint.h>

#include <string>
#include <vector>

#include "c_api/cli/array.h"

namespace vireo::cli {

// Of a format in sdk/media, whether this build can read it or not.
bool is_picture(const std::vector<uint8_t>& bytes);

// Where the picture went: a pixel's x is at left + x scale_x of the input.
struct PictureFit {
  double scale_x = 1, scale_y = 1;
  int left = 0, top = 0;
};

// Reads a picture into the input's type and shape. With a meaning of kind image its layout, colour order, range,
// mean, std and resize hold. Without one the layout is told from the shape (1, 3 or 4 channels first or last), the
// picture must have exactly the input's size, values go in as 0..1 in RGB order (1 channel: luma; the fourth is
// opaque), uint8 unscaled. Open dimensions take the picture's size, 64 million pixels at most. `assumed` gets one line
// that says what was done; `fit`, unless NULL, where it went.
Array read_picture(const std::string& path, const vireo_value_info& info, const vireo_meaning& meaning,
                   std::string* assumed, PictureFit* fit = nullptr);

}  // namespace vireo::cli

#endif  // VIREO_C_API_CLI_PICTURE_H_
