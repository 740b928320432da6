// What spells out an attention: from Softmax up to the product of queries and keys, and down to the product with
// values.
#ifndef VIREO_CONVERTER_PASSES_RECOGNISE_ATTENTION_SCORES_H_
#define VIREO_CONVERTER_PASSES_RECOGNISE_ATTENTION_SCORES_H_

#include <vector>

#include "converter/passes/pass.h"

namespace vireo::passes {

struct AttentionMatch {
  ir::Value *q = nullptr, *k_turned = nullptr, *v = nullptr;
  ir::Value* mask = nullptr;   // as it is added, before its rank is that of the scores
  ir::Value* may = nullptr;    // of a Where; `low` is put where it is false
  bool may_is_masked = false;  // Where(masked, low, scores): the other way round
  ir::Value* low = nullptr;
  double scale = 1;
  double softcap = 0;          // of a Tanh between the scaled scores and the mask; 0: none
  Shape scores;                // as Softmax sees them
  bool widened = false;        // 16-bit scores are float32 for Softmax
  ir::Node* end = nullptr;     // whose output is the result
  ir::Node* parted = nullptr;  // the Reshape of scores of grouped queries
  std::vector<ir::Node*> inside;
  const char* refused = nullptr;
};

// v = number * x: x, and the number; null: it is no such product.
ir::Value* scaled(const ir::Value* v, double* number);

// The attention around `softmax`. Without an `end`: there is none, and no reader would take it for one.
AttentionMatch match_attention(ir::Node& softmax);

}  // namespace vireo::passes

#endif  // VIREO_CONVERTER_PASSES_RECOGNISE_ATTENTION_SCORES_H_
