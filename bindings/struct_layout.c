/* Prints the size of each struct of the headers that bindings use and the offset of its last field: bindings that write
 * them down again compare. */
#include <stddef.h>
#include <stdio.h>
#include <vireo/fleet.h>
#include <vireo/telemetry.h>
#include <vireo/trust.h>
#include <vireo/vireo.h>

#define ROW(type, last) printf("%s %lu %lu\n", #type, (unsigned long)sizeof(type), (unsigned long)offsetof(type, last))

int main(void) {
  ROW(vireo_error, tensor);
  ROW(vireo_string, size);
  ROW(vireo_tensor, capacity);
  ROW(vireo_runtime_options, probe_timeout_ms);
  ROW(vireo_device_info, busy_watts);
  ROW(vireo_value_info, state_of);
  ROW(vireo_meaning, sample_rate);
  ROW(vireo_model_about, converter);
  ROW(vireo_bound, max);
  ROW(vireo_session_options, target);
  ROW(vireo_memory, device_bytes);
  ROW(vireo_node_info, bytes);
  ROW(vireo_dimension, max);
  ROW(vireo_plan_info, reason);
  ROW(vireo_rates, launch_ns);
  ROW(vireo_plugin_info, reason);
  ROW(vireo_candidate, kernel);
  ROW(vireo_preference, time_ns);
  ROW(vireo_verdict, time_ns);
  ROW(vireo_placed_node, verdict_count);
  ROW(vireo_placement_visitor, node);
  ROW(vireo_limits, prices);
  ROW(vireo_device_choice, nodes_there);
  ROW(vireo_signature, encrypted);
  ROW(vireo_trust, secret_key);
  ROW(vireo_telemetry, reserved);
  ROW(vireo_load, busy_ns);
  ROW(vireo_estimate, reason);
  ROW(vireo_pipeline_options, allocator);
  ROW(vireo_finished, run_ns);
  ROW(vireo_split_options, allocator);
  ROW(vireo_share, row_ns);
  return 0;
}
