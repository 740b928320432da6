// What a row needs as a whole, inside a program: of the rows template, and of a product whose x is such a row.
#ifndef VIREO_DELEGATES_GPU_TEMPLATES_ROWS_BODY_H_
#define VIREO_DELEGATES_GPU_TEMPLATES_ROWS_BODY_H_

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "delegates/gpu/templates/evaluate.h"
#include "delegates/gpu/templates/rows.h"

namespace vireo::gpu {

// "" or why there is no code for the problem.
std::string refuse_rows(const RowsProblem& problem, const Target& target);

// Makes each view of the problem one over all axes of its shape, and joins axes. *parts: how many there are of the
// rows' own and of a row's.
void fit_rows(RowsProblem* problem, std::vector<size_t>* parts);

class RowsBody {
 public:
  // Where the program begins. `problem` is fitted, and both outlive this. Inputs are bound from *binding on.
  RowsBody(Builder& builder, const Target& target, Numbers& numbers, const RowsProblem& problem,
           const std::vector<size_t>& parts, const RowsTiling& tiling, uint32_t* binding);

  // An element of a row: its place, its number in the row, and v and the statistics.
  using Store = std::function<void(const std::vector<Value>& place, Value element, const std::vector<Value>& given)>;
  // What row `row` gets, by the lanes that have it; `row` may be none. All lanes of the workgroup come here. With
  // per_row the first lane stores once, without v.
  void run(Value row, const Store& store);

 private:
  struct Kept {
    std::vector<Value> place;
    Value element, v, inside;
  };
  using Visit = std::function<void(const Kept&)>;

  std::vector<Value> place_at(Value element);
  void keep();
  void for_elements(const Visit& visit);
  Value statistic(const Statistic& s, Evaluator* map, const std::vector<Value>& before);
  Value over_lanes(const Statistic& s, Value mine);
  Value over_subgroups(const Statistic& s, Value mine);

  Builder& b_;
  const Target& target_;
  Numbers& numbers_;
  const RowsProblem& problem_;
  const RowsTiling& tiling_;
  std::vector<Value> outer_extents_, inner_extents_, place_;
  int64_t count_of_rows_ = 1, length_of_row_ = 1;
  Value rows_, length_, lane_, within_;
  Evaluator prologue_;
  std::deque<Evaluator> maps_;  // of the statistics
  std::vector<Kept> kept_;
};

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_TEMPLATES_ROWS_BODY_H_
