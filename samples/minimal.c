/* Which digit is it?   minimal digit_mobile.vireo digit_7.pgm */
#include <stdio.h>
#include <vireo/vireo.h>

int main(int argc, char** argv) {
  static unsigned char pixels[32 * 32];
  static float image[32 * 32];
  vireo_runtime* runtime = NULL;
  vireo_model* model = NULL;
  vireo_session* session = NULL;
  vireo_error error = VIREO_ERROR_INIT;
  const int64_t dims[] = {1, 1, 32, 32};
  vireo_tensor in = vireo_tensor_of(VIREO_FLOAT32, dims, 4, image, sizeof(image)), out = {0};
  FILE* file = argc == 3 ? fopen(argv[2], "rb") : NULL;
  int i, best = 0;

  if (!file || fscanf(file, "P5 32 32 %d", &i) != 1 || fgetc(file) == EOF || fread(pixels, 1, 1024, file) != 1024) {
    fprintf(stderr, "usage: %s digit_mobile.vireo PICTURE.pgm (32x32)\n", argv[0]);
    return 2;
  }
  for (i = 0; i < 1024; ++i) image[i] = pixels[i] / 255.0f;

  if (vireo_runtime_create(NULL, &runtime, &error) || vireo_model_load_file(runtime, argv[1], &model, &error) ||
      vireo_session_create(model, NULL, &session, &error) || vireo_session_run(session, &in, 1, &out, 1, &error)) {
    fprintf(stderr, "error: %s\n", error.message);
  } else {
    for (i = 1; i < 10; ++i) best = ((float*)out.data)[i] > ((float*)out.data)[best] ? i : best;
    printf("%d\n", best);
  }
  vireo_session_release(session);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
  return error.status != VIREO_OK;
}
