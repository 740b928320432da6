// What must be known of NCHWc forms before one of them can be mapped back. Private to this folder.
#ifndef VIREO_CONVERTER_ONNX_BLOCKED_NCHWC_PLAN_H_
#define VIREO_CONVERTER_ONNX_BLOCKED_NCHWC_PLAN_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/constant.h"
#include "converter/onnx/tools.h"

namespace vireo::importer {

// The way out of what cannot be mapped back.
constexpr char kSaveAgain[] =
    "save the model again with ORT_ENABLE_EXTENDED instead of ORT_ENABLE_ALL, or convert the original";

// A convolution's filter: [O, I, taps] under its shape, in blocks of b outputs as [O/b, I, taps, b] (OIHWBo), or of
// inputs as well as [O/b, I/b, taps, b, b] (OIHWBiBo).
struct BlockedFilter {
  int64_t out = 0, in = 0, taps = 0;  // in: of one group
  bool in_blocks = false;

  // Where an element lies.
  int64_t at(int64_t block, int64_t o, int64_t i, int64_t tap) const {
    if (!in_blocks) return ((o / block * in + i) * taps + tap) * block + o % block;
    return (((o / block * (in / block) + i / block) * taps + tap) * block + i % block) * block + o % block;
  }
};

// Of one list of nodes. Belongs to the Scope that the list is imported in.
struct BlockedPlan {
  // Tensors that have the same channels: what is elementwise, pools, or convolves each channel by itself joins them.
  struct Set {
    size_t parent = 0;     // itself: this one counts
    int64_t padded = 0;    // channels as the file has them; 0: nothing says it
    int64_t needed = 1;    // somebody reads as many
    int64_t channels = 0;  // that are kept; 0: ReorderInput will say
    bool decided = false;  // a tensor was made with them
  };
  struct Conv {
    BlockedFilter filter;
    ir::ConstantPtr weights;
    int64_t group = 1;
    bool depthwise = false;
  };

  Set* find(const std::string& name);  // null: not in blocks

  int64_t block = 0;  // 0: no node hangs on it, or it cannot be told
  std::map<std::string, size_t> names;
  std::vector<Set> sets;
  std::map<const ::onnx::NodeProto*, Conv> convs;
  // Under the shape that memory has, [N, C/b, H, W, b]: what broadcasts over height and width is reshaped to it and
  // back. Both are nothing here, by plain reshapes.
  std::set<std::string> split;
  std::set<const ::onnx::NodeProto*> reshapes;
  std::map<const ::onnx::NodeProto*, std::pair<std::string, std::string>> refused;  // what is wrong, what to do
  std::set<const ::onnx::NodeProto*> passed_over;  // for the reason that another is refused for
};

// Whether the node is one of the domain's, and no call of a function that the model calls so.
bool is_blocked(const ImportState& state, const ::onnx::NodeProto& node);

// `nodes` in `order`, their constants known. `block`: what is known of it (0: nothing), or was found.
std::shared_ptr<BlockedPlan> plan_blocks(const Tools& tools, const Scope& scope, const Nodes& nodes,
                                         const std::vector<int>& order, const std::set<std::string>& results,
                                         int64_t* block);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_BLOCKED_NCHWC_PLAN_H_
