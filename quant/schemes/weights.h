// Weights of products in codes of 4 or 8 bits; all else stays float32.
#ifndef VIREO_QUANT_SCHEMES_WEIGHTS_H_
#define VIREO_QUANT_SCHEMES_WEIGHTS_H_

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "quant/schemes/matrix_codes.h"
#include "quant/schemes/scheme.h"

namespace vireo::quant {

extern const Scheme kInt4;         // "int4": a scale for each 32 weights of a column
extern const Scheme kInt8Weights;  // "int8-weights": a scale for each column

// What of a graph gets codes.
struct CodedNodes {
  std::vector<ir::Node*> products, lookups;  // in the order of the graph
  // A product's weights: the table that they are, turned.
  std::map<const ir::Constant*, ir::Value*> turned;
};

// `keep`: nodes that stay in float. The log gets the reasons of what is left.
CodedNodes find_coded_nodes(ir::Graph& g, const std::function<bool(const ir::Node&)>& keep, PassLog& log);
// The lookups in tables of tokens alone, whatever else reads them.
std::vector<ir::Node*> find_tables(ir::Graph& g, PassLog& log);
// The table of one of `lookups` whose numbers a product multiplies, as they lie or turned; null: none.
ir::Value* table_of(const ir::Node& product, const std::vector<ir::Node*>& lookups);
// Whether a product has its weights as [N, K].
bool has_columns_in_rows(const ir::Node& product);

// A constant, and whether its columns are rows.
using MatrixKey = std::pair<const ir::Constant*, bool>;
using KnownCodes = std::map<MatrixKey, CodedMatrix>;
// Codes of `bits` for all of `nodes`; of matrices that are in `known` these.
void code_nodes(ir::Graph& g, const CodedNodes& nodes, int bits, KnownCodes known, PassLog& log);

}  // namespace vireo::quant

#endif  // VIREO_QUANT_SCHEMES_WEIGHTS_H_
