#include "quant/metrics/decode.h"

#include <math.h>

#include <algorithm>

namespace vireo::quant {
namespace {

// An output as a matrix of boxes and what is known of each. A batch of 1 in front is left out.
struct Table {
  const Output* output = nullptr;
  size_t rows = 0, width = 0;
  bool columns = false;

  float at(size_t row, size_t column) const {
    return output->values[columns ? column * rows + row : row * width + column];
  }
};

const Output* find(const std::vector<Output>& outputs, const std::string& name) {
  for (const Output& output : outputs) {
    if (name.empty() || output.name == name) return &output;
  }
  return nullptr;
}

std::string table_of(const std::vector<Output>& outputs, const std::string& name, bool columns, Table* table) {
  const Output* const output = find(outputs, name);
  if (output == nullptr) return "the model has no output '" + name + "'";
  std::vector<int64_t> dims = output->dims;
  if (dims.size() > 2 && dims[0] == 1) dims.erase(dims.begin());
  if (dims.size() == 1) dims.push_back(1);
  if (dims.size() != 2 || !output->texts.empty())
    return "output '" + output->name + "' is no table of boxes: it has " + std::to_string(output->dims.size()) +
           " dimensions";
  table->output = output;
  table->columns = columns;
  table->rows = static_cast<size_t>(dims[columns ? 1 : 0]);
  table->width = static_cast<size_t>(dims[columns ? 0 : 1]);
  return "";
}

// Middle and size of the cell that each row stands for.
struct Cell {
  float x, y, stride;
};

int64_t cell_count(const Decoding& how) {
  int64_t count = 0;
  for (const int64_t stride : how.strides) count += how.height / stride * (how.width / stride);
  return count;
}

std::vector<Cell> cells_of(const Decoding& how) {
  std::vector<Cell> cells;
  for (const int64_t stride : how.strides) {
    for (int64_t y = 0; y < how.height / stride; ++y) {
      for (int64_t x = 0; x < how.width / stride; ++x) {
        cells.push_back({static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f, static_cast<float>(stride)});
      }
    }
  }
  return cells;
}

Box corners(const Decoding& how, const float (&v)[4], const Cell& cell) {
  Box box{v[0], v[1], v[2], v[3], 1, 0};
  float x = v[0], y = v[1], w = v[2], h = v[3];
  if (how.form == BoxForm::kGrid) {
    x = (v[0] + cell.x) * cell.stride;
    y = (v[1] + cell.y) * cell.stride;
    w = expf(v[2]) * cell.stride;
    h = expf(v[3]) * cell.stride;
  }
  if (how.form != BoxForm::kCorners) box = {x - w / 2, y - h / 2, x + w / 2, y + h / 2, 1, 0};
  if (!how.shares) return box;
  const auto width = static_cast<float>(how.width), height = static_cast<float>(how.height);
  return {box.x0 * width, box.y0 * height, box.x1 * width, box.y1 * height, 1, 0};
}

float squashed(float x) { return 1 / (1 + expf(-x)); }

std::string final_boxes(const Decoding& how, const std::vector<Output>& outputs, std::vector<Box>* boxes) {
  Table places, scores, classes;
  std::string fault = table_of(outputs, how.boxes, false, &places);
  if (fault.empty()) fault = table_of(outputs, how.scores, false, &scores);
  if (fault.empty()) fault = table_of(outputs, how.classes, false, &classes);
  if (!fault.empty() || places.output == nullptr || scores.output == nullptr || classes.output == nullptr) return fault;
  const size_t count = scores.output->values.size();
  if (places.width != 4 || places.rows != count || classes.output->values.size() != count) {
    return "boxes have " + std::to_string(places.rows) + " rows of " + std::to_string(places.width) + ", scores " +
           std::to_string(count) + ", classes " + std::to_string(classes.output->values.size());
  }
  for (size_t i = 0; i < count; ++i) {
    const float v[4] = {places.at(i, 0), places.at(i, 1), places.at(i, 2), places.at(i, 3)};
    Box box = corners(how, v, {});
    box.score = scores.output->values[i];
    box.label = static_cast<int32_t>(lroundf(classes.output->values[i]));
    if (box.score > how.floor) boxes->push_back(box);
  }
  std::stable_sort(boxes->begin(), boxes->end(), [](const Box& a, const Box& b) { return a.score > b.score; });
  return "";
}

}  // namespace

std::string decode(const Decoding& how, const std::vector<Output>& outputs, std::vector<Box>* boxes) {
  boxes->clear();
  if (how.final) return final_boxes(how, outputs, boxes);
  Table places, scores;
  std::string fault = table_of(outputs, how.boxes, how.columns, &places);
  if (fault.empty()) fault = table_of(outputs, how.scores, how.columns, &scores);
  if (!fault.empty() || places.output == nullptr || scores.output == nullptr) return fault;
  const size_t end = how.score_end == 0 ? scores.width : how.score_end;
  if (places.width < how.box_column + 4 || scores.width < end || how.score_column >= end ||
      places.rows != scores.rows || how.objectness_column >= static_cast<int64_t>(scores.width)) {
    return "output '" + places.output->name + "' has " + std::to_string(places.rows) + " boxes of " +
           std::to_string(places.width) + " numbers, '" + scores.output->name + "' " + std::to_string(scores.rows) +
           " of " + std::to_string(scores.width) + "; the decoding reads boxes from column " +
           std::to_string(how.box_column) + " and scores from " + std::to_string(how.score_column);
  }
  if (how.form == BoxForm::kGrid && cell_count(how) != static_cast<int64_t>(places.rows)) {
    return "the strides give " + std::to_string(cell_count(how)) + " cells, and output '" + places.output->name +
           "' has " + std::to_string(places.rows) + " boxes";
  }
  std::vector<Cell> cells;
  if (how.form == BoxForm::kGrid) cells = cells_of(how);
  for (size_t i = 0; i < places.rows; ++i) {
    const size_t c = how.box_column;
    const float v[4] = {places.at(i, c), places.at(i, c + 1), places.at(i, c + 2), places.at(i, c + 3)};
    Box box = corners(how, v, cells.empty() ? Cell{} : cells[i]);
    float sure = 1;
    if (how.objectness_column >= 0) sure = scores.at(i, static_cast<size_t>(how.objectness_column));
    if (how.objectness_column >= 0 && how.sigmoid) sure = squashed(sure);
    for (size_t s = how.score_column; s < end; ++s) {
      const float score = scores.at(i, s);
      box.score = sure * (how.sigmoid ? squashed(score) : score);
      box.label = static_cast<int32_t>(s - how.score_column);
      if (box.score > how.floor) boxes->push_back(box);
    }
  }
  *boxes = suppress(std::move(*boxes), how.limit, how.floor, how.most);
  return "";
}

}  // namespace vireo::quant
