// Messages of Protocol Buffers without their schema (https://protobuf.dev/programming-guides/encoding/), to change
// ONNX models where they say something: fields left out, doubled, moved, numbers and texts put in place of others.
#ifndef VIREO_TESTS_FUZZ_WIRE_H_
#define VIREO_TESTS_FUZZ_WIRE_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace vireo::fuzz {

struct WireField {
  uint32_t number = 0;
  int type = 0;        // 0: varint, 1: 8 bytes, 2: bytes, 5: 4 bytes
  uint64_t value = 0;  // of 0, 1 and 5
  std::string bytes;   // of 2, where they are no message
  std::vector<WireField> fields;
  bool is_message = false;
};

// A run of bytes counts as a message where all of it reads as one, and as text where it is all letters: names of ONNX
// are texts, so what only looks like a message is rare. False: it is none.
bool read_wire(const uint8_t* data, size_t size, int depth, std::vector<WireField>* out);
std::string write_wire(const std::vector<WireField>& fields);

// One change.
void change_wire(std::vector<WireField>* message, std::mt19937& rng);

}  // namespace vireo::fuzz

#endif  // VIREO_TESTS_FUZZ_WIRE_H_
