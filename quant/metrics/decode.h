// From the outputs of a detector to boxes, as a declaration says: nothing is guessed.
#ifndef VIREO_QUANT_METRICS_DECODE_H_
#define VIREO_QUANT_METRICS_DECODE_H_

#include <string>
#include <vector>

#include "quant/metrics/metric.h"

namespace vireo::quant {

enum class BoxForm {
  kCorners,  // x0 y0 x1 y1
  kCentre,   // x y width height, x and y of the middle
  kGrid,     // dx dy log(width) log(height), of the middles and sizes of the cells of the strides, row by row
};

struct Decoding {
  std::string boxes, scores, classes;  // outputs; "": the first one. `classes` only with `final`
  bool final = false;                  // boxes (K, 4), scores (K) and classes (K) are the answer
  bool columns = false;                // a box is a column of the output, not a row
  size_t box_column = 0;
  size_t score_column = 4, score_end = 0;  // 0: all that follow
  int64_t objectness_column = -1;          // multiplied with the scores; -1: no such column
  BoxForm form = BoxForm::kCorners;
  std::vector<int64_t> strides;   // kGrid
  int64_t width = 0, height = 0;  // of the picture: kGrid, and where boxes are shares of it
  bool shares = false;            // boxes are 0..1
  bool sigmoid = false;           // on scores and objectness
  float floor = 0.001f, limit = 0.7f;
  size_t most = 300;  // for each class
};

// "" or why the outputs are not what `how` says.
std::string decode(const Decoding& how, const std::vector<Output>& outputs, std::vector<Box>* boxes);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_METRICS_DECODE_H_
