#include "runtime/devices/claims.h"

#include "runtime/devices/fault.h"
#include "sdk/base/config.h"
#include "sdk/base/sized.h"

namespace vireo {

Status ask_claims(const Device& device, const vireo_host& host, const vireo_graph& graph, const Claimant& claimant,
                  Error* error) {
  Fault fault;
  vireo_claims claims = VIREO_CLAIMS_INIT;
  claims.context = claimant.context;
  claims.take = claimant.take;
  claims.leave = claimant.leave;
  claims.fault = &fault;
  const vireo_status status = device.delegate->claim(device.handle, &host, &graph, &claims);
  if (status == VIREO_OK) return Status::kOk;
  blame(error, fault);
  return fail(error, static_cast<Status>(status), "device \"{}\" failed to look at the graph: {}{}", device.info.name,
              fault.lead(), fault.said(status));
}

Status read_claim(const vireo_claim* said, uint32_t nodes, vireo_claim* out, Error* error) {
  if constexpr (VIREO_PLUGINS) {
    VIREO_TRY(read_sized(said, out, {"vireo_claim", "VIREO_CLAIM_INIT"}, error));
  } else {
    *out = *said;  // a delegate that is linked in has this header
  }
  if (out->node < nodes) return Status::kOk;
  return fail(error, Status::kInvalidArgument, "a claim names node {}, and the graph has {}", out->node, nodes);
}

}  // namespace vireo
