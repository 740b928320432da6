#include "runtime/devices/claims.h"

#include "runtime/devices/fault.h"
#include "sdk/base/config.h"
#include "sdk/base/sized.h"

namespace vireo {

Status ask_claims(const Device& device, const vireo_host& host, const vireo_graph& graph,
                  [[maybe_unused]] vireo_math math, const Claimant& claimant, Error* error) {
  Fault fault;
  vireo_claims claims = VIREO_CLAIMS_INIT;
  claims.context = claimant.context;
  claims.take = claimant.take;
  claims.leave = claimant.leave;
  claims.fault = kOnlyCpu ? nullptr : &fault;
  if (!kOnlyCpu) claims.math = math;
  const vireo_status status = device.delegate->claim(device.handle, &host, &graph, &claims);
  if (status == VIREO_OK) return Status::kOk;
  if (!kOnlyCpu) blame(error, fault);
  return fail(error, static_cast<Status>(status), "device \"{}\" failed to look at the graph: {}{}", device.info.name,
              fault.lead(), fault.said(status));
}

const vireo_claim* read_claim(const vireo_claim* said, uint32_t nodes, [[maybe_unused]] vireo_claim* room,
                              Error* error) {
  if constexpr (VIREO_PLUGINS) {  // else every delegate is linked in, and has this header
    if (!ok(read_sized(said, room, {"vireo_claim", "VIREO_CLAIM_INIT"}, error))) return nullptr;
    said = room;
  }
  if (said->node < nodes) return said;
  (void)fail(error, Status::kInvalidArgument, "a claim names node {}, and the graph has {}", said->node, nodes);
  return nullptr;
}

}  // namespace vireo
