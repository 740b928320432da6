// Which calls run strip by strip (delegates/mcu/plan/strips.h), and where all memory of a plan lies.
//
// A segment keeps rows of the values between its nodes instead of the values, which lowers the arena's peak. It costs
// calls, copies of rows, and blocks that are not full. Segments are chosen where they make the arena smaller by a
// larger part than they make the run longer, or where the model would not fit without.
#ifndef VIREO_CONVERTER_FIRMWARE_SEGMENTS_H_
#define VIREO_CONVERTER_FIRMWARE_SEGMENTS_H_

#include <map>
#include <string>

#include "converter/firmware/calls.h"
#include "converter/firmware/flat_plan.h"
#include "delegates/mcu/plan/strips.h"

namespace vireo::firmware {

// Some calls as one record. Places in its values and nodes are absent until write().
struct Segment {
  uint32_t first = 0, count = 0;  // calls
  vireo_segment head = {};
  std::vector<vireo_segment_value> values;
  std::vector<vireo_segment_node> nodes;
  std::vector<int32_t> tensors;  // of the values
  // Of each node.
  std::vector<std::vector<uint8_t>> parameters;
  std::vector<std::vector<int32_t>> operands;
  std::vector<uint32_t> scratch;
  std::vector<bool> keeps;             // its scratch memory keeps its bytes from call to call
  std::vector<bool> in_place;          // its rows may lie where its input's do
  std::vector<uint64_t> instructions;  // of a run, with the copies of its rows
  uint16_t cost = 1;                   // of the dearest unit (vireo_plan_record)
};

// Offsets in the arena.
struct Memory {
  std::vector<uint64_t> tensors;         // of the file
  std::map<uint32_t, uint64_t> scratch;  // by call
  struct Rows {
    std::vector<uint64_t> fresh, kept;            // by value
    std::vector<std::array<uint64_t, 2>> gather;  // by node
  };
  std::vector<Rows> segments;
  uint64_t state = 0;  // of the segment that runs
  uint64_t bytes = 0, lower_bound = 0;
};

// `tries`: of the planner's search (sdk/plan/planner.h). False: `error` says why.
bool plan_memory(const CallList& list, const std::vector<Segment>& segments, int64_t tries, Memory* out,
                 std::string* error);

// In the order of their calls; none where nothing pays. costs: as make_flat_plan. limit: bytes of the arena that has to
// do, 0: any.
std::vector<Segment> choose_segments(const CallList& list, const Core& core, const std::string& costs, uint64_t limit);

// The scratch memory of a call with these parameters on a core.
uint32_t scratch_of(uint16_t kernel, const void* parameters, const Core& core);

}  // namespace vireo::firmware

#endif  // VIREO_CONVERTER_FIRMWARE_SEGMENTS_H_
