// The driver of NVIDIA's cards and the cards that it lists. No card is opened by that.
#ifndef VIREO_DELEGATES_CUDA_DRIVER_H_
#define VIREO_DELEGATES_CUDA_DRIVER_H_

#include <memory>
#include <string>
#include <vector>

#include "delegates/cuda/functions.h"
#include "delegates/gpu/device/device.h"

namespace vireo::cuda {

struct Card : gpu::Facts {
  DeviceNumber number = 0;
  uint32_t multiprocessors = 1;
};

class Driver {
 public:
  // Opens `library` (NULL: VIREO_CUDA_LIBRARY of the environment, else libcuda.so.1). Returns NULL if there is no
  // card; *why then says what is missing. The library stays open: it keeps threads of its own.
  static std::unique_ptr<Driver> open(const char* library, std::string* why);

  const Functions& call() const { return call_; }
  const std::vector<Card>& cards() const { return cards_; }  // at least one
  // Machine code of a PTX text for the thread's card. From several threads, which do not wait for each other.
  Result link(const char* text, std::vector<uint8_t>* out) const;
  // "CUDA_ERROR_..." or a number.
  std::string name_of(Result result) const;

 private:
  Driver() = default;
  bool find_functions(void* library, std::string* why);
  bool find_cards(std::string* why);
  std::string read(int ordinal, int version, Card* out) const;

  Functions call_;
  std::vector<Card> cards_;
};

}  // namespace vireo::cuda

#endif  // VIREO_DELEGATES_CUDA_DRIVER_H_
