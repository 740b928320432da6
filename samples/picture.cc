#include "picture.h"

#include <algorithm>
#include <cmath>

#include <png.h>

namespace {

// Digits of 3 by 5 dots, a row an octal figure, the left dot its highest bit.
constexpr const char* kDots[10] = {"75557", "26227", "71747", "71717", "55711",
                                   "74717", "74757", "71222", "75757", "75717"};
constexpr uint8_t kColors[10][3] = {{230, 60, 60}, {60, 160, 230}, {70, 180, 75},  {245, 130, 48}, {145, 30, 180},
                                    {0, 150, 136}, {240, 50, 230}, {120, 144, 20}, {63, 81, 181},  {121, 85, 72}};

void fill(Picture* p, int x0, int y0, int x1, int y1, const uint8_t* color) {
  for (int y = std::max(y0, 0); y < std::min(y1, p->height); ++y) {
    for (int x = std::max(x0, 0); x < std::min(x1, p->width); ++x) {
      std::copy_n(color, 3, &p->rgb[(static_cast<size_t>(y) * p->width + x) * 3]);
    }
  }
}

}  // namespace

bool load_picture(const std::string& path, Picture* picture) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&image, path.c_str()) == 0) return false;
  image.format = PNG_FORMAT_RGB;
  picture->width = static_cast<int>(image.width);
  picture->height = static_cast<int>(image.height);
  picture->rgb.resize(PNG_IMAGE_SIZE(image));
  const png_color black = {0, 0, 0};  // behind what is transparent
  return png_image_finish_read(&image, &black, picture->rgb.data(), 0, nullptr) != 0;
}

bool save_png(const std::string& path, const Picture& picture) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  return png_image_write_to_file(&image, path.c_str(), 0, picture.rgb.data(), 0, nullptr) != 0;
}

void draw_box(Picture* picture, float x0, float y0, float x1, float y1, int digit) {
  const int l = static_cast<int>(std::lround(x0)), t = static_cast<int>(std::lround(y0));
  const int r = static_cast<int>(std::lround(x1)), b = static_cast<int>(std::lround(y1));
  const uint8_t* color = kColors[digit % 10];
  const uint8_t white[3] = {255, 255, 255};
  fill(picture, l, t, r, t + 2, color);
  fill(picture, l, b - 2, r, b, color);
  fill(picture, l, t, l + 2, b, color);
  fill(picture, r - 2, t, r, b, color);
  const int dot = 2, top = std::max(t - 7 * dot, 0);
  fill(picture, l, top, l + 5 * dot, top + 7 * dot, color);
  for (int row = 0; row < 5; ++row) {
    for (int column = 0; column < 3; ++column) {
      if ((kDots[digit % 10][row] - '0') >> (2 - column) & 1) {
        fill(picture, l + (1 + column) * dot, top + (1 + row) * dot, l + (2 + column) * dot, top + (2 + row) * dot,
             white);
      }
    }
  }
}
