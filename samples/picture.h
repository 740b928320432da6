// PNG in and out, and drawing: what both detector samples need beside Vireo.
#ifndef VIREO_SAMPLES_PICTURE_H_
#define VIREO_SAMPLES_PICTURE_H_

#include <cstdint>
#include <string>
#include <vector>

struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> rgb;  // height x width x 3
};

// Both return false when the file cannot be read or written.
bool load_picture(const std::string& path, Picture* picture);
bool save_png(const std::string& path, const Picture& picture);

// A frame two pixels wide, with the digit in a filled label at its upper left corner. Parts outside are cut off.
void draw_box(Picture* picture, float x0, float y0, float x1, float y1, int digit);

#endif  // VIREO_SAMPLES_PICTURE_H_
