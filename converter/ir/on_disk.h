// Weights that lie in a file of the system's temporary folder, where the program would else hold them in memory beside
// a run of the graph, which has its own.
#ifndef VIREO_CONVERTER_IR_ON_DISK_H_
#define VIREO_CONVERTER_IR_ON_DISK_H_

#include <cstdint>

#include "converter/ir/graph.h"

namespace vireo::ir {

// The bytes of the large constants that are in memory of the program's own: those that move_to_disk() would move.
uint64_t bytes_in_memory(const Graph& graph);

// Writes them to a file without a name, which goes with the last constant or with the process, and maps them from
// there. Other graphs' references keep what they had. False where the folder does not take them (errno says why): the
// graph is as it was.
bool move_to_disk(Graph& graph);

// The same for one constant: a window of a file of its own. The constant itself where it is small, or the folder takes
// no file.
ConstantPtr on_disk(const ConstantPtr& c);

// The pages of mapped constants leave memory; reading them again brings them back.
void forget_pages(const Graph& graph);

}  // namespace vireo::ir

#endif  // VIREO_CONVERTER_IR_ON_DISK_H_
