// Which values take 16 bits where the format is w8a8 and the model's outputs are put together from several results in
// float, as a detector's boxes and scores are: those of few elements that make much of the noise there.
#ifndef VIREO_QUANT_INT8_WIDE_H_
#define VIREO_QUANT_INT8_WIDE_H_

#include <map>
#include <string>
#include <vector>

#include "quant/calibrate/statistics.h"
#include "quant/int8/plan.h"
#include "quant/int8/ranges.h"

namespace vireo::quant {

// What is computed from a product's result is float up to the model's outputs, element by element or moved, and joined
// with others. Indices in Plan::values.
std::vector<size_t> joined_exits(const Plan& plan);

// Of a value that may take 16 bits.
struct NoiseShare {
  size_t value = 0;     // in Plan::values
  double elements = 0;  // its share of the elements of all values
  double noise = 0;     // its largest share of the noise at an exit
};

// Those that are worth it, as few elements as kWideElements of all.
std::vector<size_t> worth_16_bits(std::vector<NoiseShare> shares);

// Of the values that were not measured one by one (`open`), those nearest to the outputs, as far as the elements go
// that `wide` leaves: `elements`, each value's share, in the order of Plan::values.
std::vector<size_t> nearest_of_trunk(const std::vector<double>& elements, const std::vector<bool>& open,
                                     const std::vector<size_t>& wide);

// Measures what 8 bits of single values do to the exits, and adds what is worth 16 bits to `wide`: `may[i]`, whether
// value i is asked for. False with `error` where the graph does not run within the options.
bool find_wide_values(const ir::Graph& graph, const Plan& plan, const std::vector<ValueScale>& scales,
                      const std::vector<bool>& may, const std::map<uint32_t, Statistics>& statistics, Samples& samples,
                      Evaluator& evaluator, const PassOptions& options, std::vector<size_t>* wide, std::string* error);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_INT8_WIDE_H_
