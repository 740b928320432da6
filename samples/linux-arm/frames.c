/* A model on a Linux board, beside the process that has the sensor:   sensor | frames MODEL.vireo
 *
 * Standard input brings frames: the model's inputs as float32, one after the other, until it ends. For each frame the
 * index of the largest output is printed. One thread, because other programs share the board, and no memory after the
 * first run. */
#include <stdio.h>
#include <vireo/vireo.h>

static int fail(const char* what, const vireo_error* error) {
  fprintf(stderr, "error: %s%s\n", what, error != NULL ? error->message : "");
  return 1;
}

static size_t count_of(const vireo_tensor* t) {
  size_t count = 1;
  int32_t d;
  for (d = 0; d < t->rank; ++d) count *= (size_t)t->dims[d];
  return count;
}

int main(int argc, char** argv) {
  vireo_runtime_options options = VIREO_RUNTIME_OPTIONS_INIT;
  vireo_error error = VIREO_ERROR_INIT;
  vireo_runtime* runtime = NULL;
  vireo_model* model = NULL;
  vireo_session* session = NULL;
  vireo_tensor input = {0}, output = {0};
  int status = 0;
  if (argc != 2) return fail("usage: sensor | frames MODEL.vireo", NULL);
  options.threads = 1;
  if (vireo_runtime_create(&options, &runtime, &error) != VIREO_OK ||
      vireo_model_load_file(runtime, argv[1], &model, &error) != VIREO_OK ||
      vireo_session_create(model, NULL, &session, &error) != VIREO_OK ||
      vireo_session_input(session, 0, &input, &error) != VIREO_OK) {
    status = fail("", &error);
  } else if (input.dtype != VIREO_FLOAT32) {
    status = fail("the model's input is not of float32", NULL);
  } else {
    const size_t frame = count_of(&input) * sizeof(float);
    size_t got;
    while ((got = fread(input.data, 1, frame, stdin)) == frame) {
      if (vireo_session_run(session, NULL, 0, &output, 1, &error) != VIREO_OK || output.dtype != VIREO_FLOAT32) {
        status = fail("a frame: ", &error);
        break;
      }
      const float* const y = (const float*)output.data;
      const size_t count = count_of(&output);
      size_t best = 0, i;
      for (i = 1; i < count; ++i) best = y[i] > y[best] ? i : best;
      printf("%lu\n", (unsigned long)best);
      fflush(stdout); /* who reads this waits for it */
    }
    if (status == 0 && got != 0) status = fail("the last frame is not whole", NULL);
  }
  vireo_session_release(session);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
  return status;
}
