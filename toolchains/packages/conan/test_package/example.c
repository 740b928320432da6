/* Says which version and devices the package brings. */
#include <stdio.h>
#include <vireo/vireo.h>

int main(void) {
  vireo_error error = VIREO_ERROR_INIT;
  vireo_runtime* runtime = NULL;
  vireo_device_info device = VIREO_DEVICE_INFO_INIT;
  const unsigned long version = vireo_version();
  if (vireo_runtime_create(NULL, &runtime, &error) != VIREO_OK ||
      vireo_runtime_device(runtime, 0, &device, &error) != VIREO_OK) {
    printf("%s\n", error.message);
    return 1;
  }
  printf("vireo %lu.%lu.%lu on %s\n", version >> 16, version >> 8 & 255, version & 255, device.name);
  vireo_runtime_release(runtime);
  return 0;
}
