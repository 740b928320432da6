// NCHWc forms: what ONNX Runtime's layout optimiser (ORT_ENABLE_ALL) writes into saved models, domain
// com.microsoft.nchwc. Channels lie there in blocks of 8 (AVX, AVX2) or 16 (AVX-512), rounded up, [N, C/b, H, W, b]
// under the shape [N, C, H, W]; the file says neither the block nor, between its Reorder nodes, how many channels
// there were. Both are found here before a list of nodes is imported; the nodes then become the plain ones they were.
// Private to this folder's parent.
//
// `Blocked` owns the size of the blocks, which is one in a model. Made behind all of Tools. plan() comes before the
// nodes of a list that has such forms, import() for every node behind its functions and before all other ways.
#ifndef VIREO_CONVERTER_ONNX_BLOCKED_NCHWC_H_
#define VIREO_CONVERTER_ONNX_BLOCKED_NCHWC_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "converter/onnx/tools.h"

namespace vireo::importer {

constexpr char kBlockedDomain[] = "com.microsoft.nchwc";

// Operators of the domain that are served.
bool is_blocked_operator(const std::string& domain, const std::string& op);

class Blocked {
 public:
  // `block`: --nchwc-block, 0 where it is not given.
  Blocked(const Tools& tools, int64_t block) : tools_(tools), block_(block) {}

  // Sets the scope's plan for `nodes` in `order`, among which are such forms. `results`: names that leave the graph.
  void plan(Scope& scope, const Nodes& nodes, const std::vector<int>& order, const std::set<std::string>& results);
  // False: a node like any other. Else its outputs are bound, or it is refused.
  bool import(Scope& scope, ::onnx::NodeProto& node);
  // Nodes that are not imported for the reason that another is refused for.
  size_t passed_over() const { return passed_over_; }

 private:
  const Tools& tools_;
  int64_t block_;  // or what nodes so far were seen to be in; 0: neither
  size_t passed_over_ = 0;
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_BLOCKED_NCHWC_H_
