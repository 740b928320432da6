// Watches the passes: the graph before them, and which pass made each node from which others.
#ifndef VIREO_CONVERTER_REPORT_RECORDER_H_
#define VIREO_CONVERTER_REPORT_RECORDER_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "converter/passes/pipeline.h"
#include "converter/report/origin.h"
#include "converter/report/side.h"

namespace vireo::report {

// Passes do not say what they made from what, and thirty of them would have to learn it. What they keep is the names of
// values: one name means the same before and after (passes/README.md). So a new node comes from the nodes that are gone
// and stood between its result and what still has a name; a node that is gone otherwise went into the one that changed
// beside it, or nobody used it.
class Recorder final : public passes::Observer {
 public:
  // Has the conversion with these options recorded.
  void watch(ConvertOptions* options);

  bool begin(const ir::Graph& graph) override;
  bool after(const char* pass, const ir::Graph& graph, PassLog* report) override;

  // The imported graph and `after`, each node with its kin on the other side.
  Side finish(Side* after) const;
  bool empty() const { return before_.nodes.empty(); }

 private:
  struct Made {
    std::set<int32_t> from;           // nodes of before_
    std::vector<std::string> passes;  // that made or changed it, each once
  };
  struct Node {
    std::string op, name;
    std::vector<uint32_t> inputs, outputs;  // values, 0: none
    uint64_t print = 0;                     // of operator, attributes, constants and bodies
    Made made;
  };
  // A graph as it was when the last pass was done. A value's number is its graph's own and never used again.
  struct Snapshot {
    std::map<uint32_t, Node> nodes;  // by the first output
    std::vector<uint32_t> order;
    std::map<uint32_t, uint32_t> maker;  // value to node
    std::map<uint32_t, std::string> names;
    std::set<std::string> alive;  // names of what nodes make and of inputs
    std::set<uint32_t> constants;
    std::string path;                       // of the graph: its owners' results
    std::map<uint32_t, std::string> shown;  // names of the graph's outputs
  };
  using Snapshots = std::map<const ir::Graph*, Snapshot>;

  static void take(const ir::Graph& g, const std::string& path, Snapshots* out);
  void number(const ir::Graph& g, int32_t* next);
  void compare(const std::string& pass, const Snapshot& old, Snapshot* now,
               const std::map<std::string, std::set<int32_t>>& elsewhere);

  Side before_;
  std::map<std::string, Origin> origins_;  // by the name of the node
  Snapshots last_;
  std::map<int32_t, std::string> fates_;
};

}  // namespace vireo::report

#endif  // VIREO_CONVERTER_REPORT_RECORDER_H_
