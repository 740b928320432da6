/* Needs of the installed package what every program needs: the headers agree with the library, and a device is there.
 */
#include <stdio.h>
#include <vireo/vireo.h>

int main(void) {
  const uint32_t header = VIREO_VERSION_MAJOR << 16 | VIREO_VERSION_MINOR << 8 | VIREO_VERSION_PATCH;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_runtime* runtime = NULL;
  vireo_model* model = NULL;
  if (vireo_version() != header) {
    printf("header %lx, library %lx\n", (unsigned long)header, (unsigned long)vireo_version());
    return 1;
  }
  if (vireo_runtime_create(NULL, &runtime, &error) != VIREO_OK) {
    printf("%s\n", error.message);
    return 2;
  }
  const uint32_t devices = vireo_runtime_device_count(runtime);
  const vireo_status missing = vireo_model_load_file(runtime, "no such file", &model, &error);
  vireo_runtime_release(runtime);
  printf("%lu devices; a missing file: %s\n", (unsigned long)devices, vireo_status_text(missing));
  return devices > 0 && missing == VIREO_IO && model == NULL ? 0 : 3;
}
