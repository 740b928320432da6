/* Prints the size of each struct of vireo.h and the offset of its last field: bindings that write them down again
 * compare. */
#include <stddef.h>
#include <stdio.h>
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
  return 0;
}
