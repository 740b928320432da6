// "auto": the devices of a subgraph's nodes by cost, where one of them runs parts.
#ifndef VIREO_RUNTIME_PREPARE_AUTO_PLACE_H_
#define VIREO_RUNTIME_PREPARE_AUTO_PLACE_H_

#include "runtime/place/predict.h"
#include "runtime/prepare/layout.h"

namespace vireo {

// What a node is expected to take on a device by one of its kernels: as the session's preference measured it, as the
// delegate claimed it (`claimed_ns`, 0: not), or by the device's rates.
PredictedTime expected_time(const SessionLayout& layout, uint32_t subgraph, uint32_t node, const Device& device,
                            const char* kernel, double claimed_ns);

// Whether cost decides, and not the order of the list: the list begins with "auto", and a device that it allows
// compiles parts. Between devices that run node by node in the host's memory nobody knows better than `vireo tune`.
bool places_by_cost(const SessionLayout& layout, const vireo_session_options& options);

// Asks the devices what each node takes there and fills SubLayout::wanted, least time in all (runtime/place), and
// SubLayout::otherwise_ns.
Status place_by_cost(SessionLayout& layout, uint32_t subgraph, const vireo_host& host,
                     const vireo_session_options& options, Error* error);

// Compilers know better than claims what a part takes: one that takes longer than its nodes would elsewhere is given up
// (SubLayout::wanted). True when there was any: the nodes have to be claimed anew.
bool give_up_slow_parts(SessionLayout& layout, uint32_t subgraph);

}  // namespace vireo

#endif  // VIREO_RUNTIME_PREPARE_AUTO_PLACE_H_
