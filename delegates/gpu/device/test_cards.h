// The cards that a test or a bench runs on: each API's delegate defines the function in what it links them with.
#ifndef VIREO_DELEGATES_GPU_DEVICE_TEST_CARDS_H_
#define VIREO_DELEGATES_GPU_DEVICE_TEST_CARDS_H_

#include <memory>
#include <string>

#include "delegates/gpu/device/table.h"

namespace vireo::gpu {

// NULL if this machine has no such card; *why then says what is missing.
std::unique_ptr<System> test_cards(std::string* why);

}  // namespace vireo::gpu

#endif  // VIREO_DELEGATES_GPU_DEVICE_TEST_CARDS_H_
