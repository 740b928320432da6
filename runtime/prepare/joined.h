// Parts of several nodes: neighbours on one device that it runs as one step.
//
// A part is a run of nodes that follow each other in the file's order, which is an order in which they can run. So
// every part is convex (no value leaves it and comes back), no two parts wait for each other, and nothing has to be
// sorted on a device. Weighed against it: any convex set of nodes. That joins more where branches on several devices
// are written one after the other, but each union has to be checked for cycles through all others, and the arena
// planner would need an order of its own; the converter can write branches in an order that suits its target instead.
//
// Inner values of a part have no memory here: the device keeps them. Nothing of a part lies in place of its inputs, so
// when the device is lost the inputs are as they were, and another device can run the nodes one by one. For that the
// part has a region in the arena, as bodies of control flow have, in which its inner values are planned among
// themselves.
//
// A part computes what its nodes compute, so the same second device says whether the first one can be believed: before
// a compiled part is used it runs once on made-up inputs on both. A part that differs is refused as if it had not
// compiled: it is halved until the nodes that are wrong stand alone, and those are placed elsewhere.
#ifndef VIREO_RUNTIME_PREPARE_JOINED_H_
#define VIREO_RUNTIME_PREPARE_JOINED_H_

#include "runtime/prepare/layout.h"

namespace vireo {

struct JoinedPart {
  JoinedPart* next = nullptr;  // of the layout's
  size_t bytes = 0;            // of this struct and its lists
  uint32_t subgraph = 0;
  uint32_t first = 0;
  uint32_t count = 0;
  const Blob* blob = nullptr;
  uint32_t* nodes = nullptr;
  const void** claimed = nullptr;  // one a node
  int32_t* inputs = nullptr;       // boundary values, without constants, in the order in which the nodes name them
  int32_t* outputs = nullptr;
  uint32_t input_count = 0;
  uint32_t output_count = 0;
  // Where every node has a second device: inner values, and where they lie in the part's region of the arena.
  bool falls_back = false;
  int32_t* inner = nullptr;
  uint64_t* inner_at = nullptr;
  uint32_t inner_count = 0;
  uint64_t region_bytes = 0;
  uint64_t region_base = 0;  // from the arena's start
  // vireo_part_memory: in buffers of the device
  uint64_t device_state_bytes = 0;
  uint64_t device_scratch_bytes = 0;
};

// Whether a node may share a part with others. What data decide the shape of, or a generator's state orders, may not.
bool may_join(const SessionLayout& layout, uint32_t subgraph, uint32_t node);

// Makes the parts of a subgraph of which every node has its device. *anew: a device refused to compile nodes that it
// had taken; the nodes have to be claimed anew (refused_reason() now says no for them), and there are no parts.
Status join_parts(SessionLayout& layout, uint32_t subgraph, const vireo_host& host, bool* anew, Error* error);
void free_parts(SessionLayout& layout, uint32_t subgraph);

// The device has no memory for it: from now on none of the part's nodes is placed there, whatever their part, while the
// model lives. Another session that has them keeps them.
void refuse_nodes(const SessionLayout& layout, const Device& device, const JoinedPart& part, const char* why);
// A device said no to the part's bytes: where they come from a file, they are forgotten and `error` cleared, and the
// part is compiled anew. False where this process compiled them.
bool give_up_file(const SessionLayout& layout, const JoinedPart& part, Error* error);
// Why the device would not compile this node when it was tried; null: it was not tried, or works.
const char* refused_reason(const SessionLayout& layout, const Device& device, uint32_t subgraph, uint32_t node);

}  // namespace vireo

#endif  // VIREO_RUNTIME_PREPARE_JOINED_H_
