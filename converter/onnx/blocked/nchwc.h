// NCHWc forms: what ONNX Runtime's layout optimiser (ORT_ENABLE_ALL) writes into saved models, domain
// com.microsoft.nchwc. Channels lie there in blocks of 8 (AVX, AVX2) or 16 (AVX-512), rounded up, [N, C/b, H, W, b]
// under the shape [N, C, H, W]; the file says neither the block nor, between its Reorder nodes, how many channels
// there were. Both are found here before a list of nodes is imported; the nodes then become the plain ones they were.
#ifndef VIREO_CONVERTER_ONNX_BLOCKED_NCHWC_H_
#define VIREO_CONVERTER_ONNX_BLOCKED_NCHWC_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "converter/ir/constant.h"
#include "onnx/onnx-ml.pb.h"

namespace vireo::importer {

constexpr char kBlockedDomain[] = "com.microsoft.nchwc";

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

// Of one list of nodes.
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

// Operators of the domain that import_blocked serves.
bool is_blocked_operator(const std::string& domain, const std::string& op);

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_BLOCKED_NCHWC_H_
