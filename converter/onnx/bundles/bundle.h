// Sequences, optionals and maps as bundles of tensors. Private to this folder's parent.
//
// `Bundles` owns all that an import makes, and remembers which of --elements were asked for. Made behind ImportState,
// before the parts that read names. How two bundles become one is in choose.h, the operators are in sequences.h and
// maps.h.
#ifndef VIREO_CONVERTER_ONNX_BUNDLES_BUNDLE_H_
#define VIREO_CONVERTER_ONNX_BUNDLES_BUNDLE_H_

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "converter/convert.h"
#include "converter/ir/graph.h"

namespace vireo::importer {

struct ImportState;

// There is none in a graph, it is made of tensors here. Its `marker` is what names mean, and stands in no graph.
struct Bundle {
  ir::Value marker;
  bool optional = false;
  bool map = false;
  // A sequence: its elements, each with a type of its own. An optional: what it holds (a value or a marker), or nothing
  // when it is empty. A map: its keys [E] and its values [E]; a sequence of maps of the same keys: keys [E], values [N,
  // E].
  std::vector<ir::Value*> elements;
  ir::Value* length = nullptr;   // of a sequence, an i64 scalar, where only the data tell how many elements it has
  ir::Value* present = nullptr;  // of an optional, a bool scalar, where only the data tell
  // Of a sequence that SplitToSequence made: what it split, and how.
  ir::Value* whole = nullptr;
  int axis = 0;             // of `whole`
  bool keeps_axis = false;  // in the elements
  bool single = false;      // one element of the axis each
  // Nothing bounds how many elements there are, or they are too many, and none are listed: `whole` stands for them. The
  // name of the sequence.
  std::string open;
};

// "a sequence", "an optional", "a map"...
const char* kind(const Bundle& b);
// An i64 scalar of `graph`.
ir::Value* length_of(ir::Graph& graph, const Bundle& sequence);

class Bundles {
 public:
  explicit Bundles(ImportState& state) : state_(state) {}

  Bundle* find(const ir::Value* v) const;  // null: a tensor
  // Its marker, which lives as long as this; poison where the budget has no more elements, which is recorded.
  ir::Value* add(Bundle b);
  // Whether `v` is there, where it is an optional: a bool scalar of `graph`.
  ir::Value* presence(ir::Graph& graph, ir::Value* v) const;

  const ElementsOption* elements_option(const std::string& name);  // null: not given
  // A warning for each --elements that nothing asked for.
  void warn_of_unasked();

 private:
  ImportState& state_;
  std::deque<Bundle> all_;
  std::map<const ir::Value*, Bundle*> markers_;
  std::set<std::string> asked_;  // names of those --elements that something wanted
};

}  // namespace vireo::importer

#endif  // VIREO_CONVERTER_ONNX_BUNDLES_BUNDLE_H_
