// Finds digits in a picture and draws boxes around them.   detector digit_det_nms.vireo digits_0.png boxes.png
//
// The model decodes its boxes and suppresses overlapping ones itself (NonMaxSuppression is a node of the graph), so its
// outputs have a first dimension that depends on the picture: K boxes [K, 4], K scores [K], K classes [K].
#include <vireo/vireo.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "picture.h"

namespace {

// Handles that release themselves. Members of a struct are released from the last to the first: session, model,
// runtime.
struct Release {
  void operator()(vireo_runtime* r) const { vireo_runtime_release(r); }
  void operator()(vireo_model* m) const { vireo_model_release(m); }
  void operator()(vireo_session* s) const { vireo_session_release(s); }
};

// The C API reports by status; C++ turns that into an exception that carries the sentence the library wrote.
void check(vireo_status status, const vireo_error& error) {
  if (status != VIREO_OK) throw std::runtime_error(error.message[0] != 0 ? error.message : vireo_status_text(status));
}

struct Box {
  float x0, y0, x1, y1, score;
  int digit;
};

class Detector {
 public:
  explicit Detector(const char* path) {
    vireo_error error = VIREO_ERROR_INIT;
    vireo_runtime* runtime = nullptr;
    check(vireo_runtime_create(nullptr, &runtime, &error), error);  // defaults: one thread a core
    runtime_.reset(runtime);
    vireo_model* model = nullptr;
    check(vireo_model_load_file(runtime, path, &model, &error), error);
    model_.reset(model);
    vireo_session* session = nullptr;
    check(vireo_session_create(model, nullptr, &session, &error), error);
    session_.reset(session);
    // The file says what it takes: a program that reads it here does not repeat the numbers.
    vireo_value_info info = VIREO_VALUE_INFO_INIT;
    check(vireo_model_input(model, 0, &info, &error), error);
    if (info.dtype != VIREO_FLOAT32 || info.rank != 4 || info.max_dims[1] != 3)
      throw std::runtime_error("this model takes no RGB picture");
    height_ = static_cast<int>(info.max_dims[2]);
    width_ = static_cast<int>(info.max_dims[3]);
    // Outputs are found by name, not by place: a newer model may list them in another order.
    boxes_ = output("boxes");
    scores_ = output("scores");
    classes_ = output("classes");
  }

  std::vector<Box> find(const Picture& picture, float least_score) {
    if (picture.width != width_ || picture.height != height_) {
      throw std::runtime_error("the picture must be " + std::to_string(width_) + " by " + std::to_string(height_) +
                               " pixels");
    }
    vireo_error error = VIREO_ERROR_INIT;
    // The session's own memory for the input: pixels are written to where the first kernel reads them. It must be
    // written before every run, because the plan uses the place for other tensors later.
    vireo_tensor in{};
    check(vireo_session_input(session_.get(), 0, &in, &error), error);
    auto* planes = static_cast<float*>(in.data);
    const size_t area = static_cast<size_t>(width_) * height_;
    for (size_t i = 0; i < area; ++i) {
      for (size_t c = 0; c < 3; ++c) planes[c * area + i] = picture.rgb[3 * i + c] / 255.0f;  // RGB, planes, 0..1
    }
    // Outputs without memory of their own come back as views, valid until the next run.
    std::vector<vireo_tensor> out(vireo_model_output_count(model_.get()));
    check(vireo_session_run(session_.get(), nullptr, 0, out.data(), static_cast<uint32_t>(out.size()), &error), error);

    std::vector<Box> found;
    const auto* boxes = static_cast<const float*>(out[boxes_].data);
    const auto* scores = static_cast<const float*>(out[scores_].data);
    const auto* classes = static_cast<const int64_t*>(out[classes_].data);
    for (int64_t i = 0; i < out[scores_].dims[0]; ++i, boxes += 4) {
      if (scores[i] >= least_score)
        found.push_back({boxes[0], boxes[1], boxes[2], boxes[3], scores[i], static_cast<int>(classes[i])});
    }
    return found;
  }

 private:
  size_t output(const char* name) const {
    for (uint32_t i = 0; i < vireo_model_output_count(model_.get()); ++i) {
      vireo_value_info info = VIREO_VALUE_INFO_INIT;
      vireo_error error = VIREO_ERROR_INIT;
      check(vireo_model_output(model_.get(), i, &info, &error), error);
      if (std::strcmp(info.name, name) == 0) return i;
    }
    throw std::runtime_error(std::string("this model has no output ") + name);
  }

  std::unique_ptr<vireo_runtime, Release> runtime_;
  std::unique_ptr<vireo_model, Release> model_;
  std::unique_ptr<vireo_session, Release> session_;
  int width_ = 0, height_ = 0;
  size_t boxes_ = 0, scores_ = 0, classes_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s digit_det_nms.vireo PICTURE.png OUT.png\n", argv[0]);
    return 2;
  }
  try {
    Picture picture;
    if (!load_picture(argv[2], &picture)) throw std::runtime_error(std::string("cannot read ") + argv[2]);
    Detector detector(argv[1]);
    for (const Box& b : detector.find(picture, 0.5f)) {
      std::printf("%d  %.2f  at %.0f,%.0f to %.0f,%.0f\n", b.digit, b.score, b.x0, b.y0, b.x1, b.y1);
      draw_box(&picture, b.x0, b.y0, b.x1, b.y1, b.digit);
    }
    if (!save_png(argv[3], picture)) throw std::runtime_error(std::string("cannot write ") + argv[3]);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "error: %s\n", failure.what());
    return 1;
  }
  return 0;
}
