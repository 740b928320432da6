/* Which digit is it?   minimal digit_mobile.vireo digit_7.pgm
 *
 * The whole way from a .vireo file to an answer, in C99. The terse form is minimal.c; this one says why each line is
 * there. The model was converted with a fixed batch, so that no dimension is open:
 *
 *     vireo convert digit_mobile.onnx -o digit_mobile.vireo --shape image=1,1,32,32
 */
#include <stdio.h>
#include <vireo/vireo.h>

enum { SIDE = 32, DIGITS = 10 };

/* Reads a binary PGM picture of 32 by 32 pixels. Returns 0 when it is one. */
static int read_picture(const char* path, unsigned char* pixels) {
  FILE* file = fopen(path, "rb");
  int width = 0, height = 0, most = 0, good;
  if (file == NULL) return 1;
  good = fscanf(file, "P5 %d %d %d", &width, &height, &most) == 3 && width == SIDE && height == SIDE && most == 255 &&
         fgetc(file) != EOF && fread(pixels, 1, SIDE * SIDE, file) == SIDE * SIDE;
  fclose(file);
  return !good;
}

int main(int argc, char** argv) {
  static unsigned char pixels[SIDE * SIDE];
  static float image[SIDE * SIDE];
  vireo_runtime* runtime = NULL; /* threads and devices; one for the whole program */
  vireo_model* model = NULL;     /* the verified file; sessions and threads share it */
  vireo_session* session = NULL; /* one running instance with its memory */
  vireo_error error = VIREO_ERROR_INIT;
  const int64_t dims[] = {1, 1, SIDE, SIDE};
  vireo_tensor in, out = {0};
  vireo_status status;
  int i, best = 0;

  if (argc != 3 || read_picture(argv[2], pixels) != 0) {
    fprintf(stderr, "usage: %s digit_mobile.vireo PICTURE.pgm (32x32)\n", argv[0]);
    return 2;
  }

  /* The model wants 0..1, one image, one channel. */
  for (i = 0; i < SIDE * SIDE; ++i) image[i] = (float)pixels[i] / 255.0f;

  /* A tensor borrows memory: the run reads `image` where it stands. */
  in = vireo_tensor_of(VIREO_FLOAT32, dims, 4, image, sizeof(image));

  /* Each call returns a status and, on failure, fills `error` with a sentence that says what to do. */
  status = vireo_runtime_create(NULL, &runtime, &error);
  /* Maps the file and verifies it: a damaged one is refused here, and never read past its end. */
  if (status == VIREO_OK) status = vireo_model_load_file(runtime, argv[1], &model, &error);
  /* Plans the memory and takes all of it. From here to the release nothing is allocated. */
  if (status == VIREO_OK) status = vireo_session_create(model, NULL, &session, &error);
  /* out.data is NULL, so the result is left in the session's memory, valid until its next run. */
  if (status == VIREO_OK) status = vireo_session_run(session, &in, 1, &out, 1, &error);

  if (status == VIREO_OK) {
    const float* scores = (const float*)out.data; /* [1, 10], one score a digit */
    for (i = 1; i < DIGITS; ++i) {
      if (scores[i] > scores[best]) best = i;
    }
    printf("%d\n", best);
  } else {
    fprintf(stderr, "error: %s\n", error.message);
  }

  /* In this order: a session uses its model, a model its runtime. NULL is fine. */
  vireo_session_release(session);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
  return status == VIREO_OK ? 0 : 1;
}
