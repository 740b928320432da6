// AMD's HIP and the cards that it lists. No card is opened by that.
#ifndef VIREO_DELEGATES_HIP_DRIVER_H_
#define VIREO_DELEGATES_HIP_DRIVER_H_

#include <memory>
#include <string>
#include <vector>

#include "delegates/gpu/device/device.h"
#include "delegates/hip/compiler.h"
#include "delegates/hip/functions.h"

namespace vireo::hip {

struct Card : gpu::Facts {
  DeviceNumber number = 0;
  std::string chip;  // "gfx90a:sramecc+:xnack-"
};

class Driver {
 public:
  // Opens `library` (NULL: VIREO_HIP_LIBRARY of the environment, else libamdhip64.so in its versions, else the one in
  // /opt/rocm). Returns NULL if there is no card; *why then says what is missing. The library stays open: it keeps
  // threads of its own.
  static std::unique_ptr<Driver> open(const char* library, std::string* why);

  const Functions& call() const { return call_; }
  const Compiler& compiler() const { return *compiler_; }
  const std::vector<Card>& cards() const { return cards_; }  // at least one
  // "hipError..." or a number.
  std::string name_of(Result result) const;

 private:
  Driver() = default;
  bool find_functions(void* library, std::string* why);
  bool find_cards(std::string* why);
  std::string read(int ordinal, int version, Card* out) const;
  std::string chip_of(int ordinal) const;

  Functions call_;
  std::unique_ptr<Compiler> compiler_;
  std::vector<Card> cards_;
};

}  // namespace vireo::hip

#endif  // VIREO_DELEGATES_HIP_DRIVER_H_
