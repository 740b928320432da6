// Finds digits in a picture and draws boxes around them.   detector digit_det_nms.vireo digits_0.png boxes.png
#include <vireo/vireo.h>

#include <cstdio>
#include <cstdlib>

#include "picture.h"

static vireo_error error = VIREO_ERROR_INIT;

static void check(vireo_status status) {
  if (status == VIREO_OK) return;
  std::fprintf(stderr, "error: %s\n", error.message);
  std::exit(1);
}

int main(int argc, char** argv) {
  Picture picture;
  if (argc != 4 || !load_picture(argv[2], &picture)) {
    std::fprintf(stderr, "usage: %s digit_det_nms.vireo PICTURE.png OUT.png\n", argv[0]);
    return 2;
  }
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_session* session = nullptr;
  vireo_tensor in{}, out[3] = {};
  check(vireo_runtime_create(nullptr, &runtime, &error));
  check(vireo_model_load_file(runtime, argv[1], &model, &error));
  check(vireo_session_create(model, nullptr, &session, &error));
  check(vireo_session_input(session, 0, &in, &error));
  const int height = static_cast<int>(in.dims[2]), width = static_cast<int>(in.dims[3]);
  if (picture.width != width || picture.height != height) {
    std::fprintf(stderr, "error: %s must be %d by %d pixels\n", argv[2], width, height);
    return 1;
  }
  for (int i = 0; i < width * height; ++i) {
    for (int c = 0; c < 3; ++c) static_cast<float*>(in.data)[c * width * height + i] = picture.rgb[3 * i + c] / 255.0f;
  }
  check(vireo_session_run(session, nullptr, 0, out, 3, &error));

  const auto* boxes = static_cast<const float*>(out[0].data);
  const auto* scores = static_cast<const float*>(out[1].data);
  const auto* classes = static_cast<const int64_t*>(out[2].data);
  for (int64_t i = 0; i < out[1].dims[0]; ++i) {
    if (scores[i] < 0.5f) continue;
    const float* b = boxes + 4 * i;
    std::printf("%d  %.2f  at %.0f,%.0f to %.0f,%.0f\n", static_cast<int>(classes[i]), scores[i], b[0], b[1], b[2],
                b[3]);
    draw_box(&picture, b[0], b[1], b[2], b[3], static_cast<int>(classes[i]));
  }
  if (!save_png(argv[3], picture)) {
    std::fprintf(stderr, "error: cannot write %s\n", argv[3]);
    return 1;
  }
  vireo_session_release(session);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
  return 0;
}
