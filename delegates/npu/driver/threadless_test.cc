// The device without a thread: submit runs the part, and nobody can cancel it meanwhile.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "delegates/npu/compiler/compiler.h"
#include "delegates/npu/driver/device.h"

namespace vireo::npu {
namespace {

TEST(NpuThreadless, AStreamOfAnyLengthEnds) {
  Graph g;
  g.tensors.resize(2);
  g.tensors[0].shape = g.tensors[1].shape = {1, 40, 40, 32};
  g.inputs = {0};
  g.outputs = {1};
  Layer l;
  l.inputs = {0};
  l.output = 1;
  l.kernel = {3, 3};
  l.pad_begin = l.pad_end = {1, 1};
  l.weights.assign(32 * 9 * 32, 1);
  l.m = {0.001f};
  g.layers = {l};
  const MachineConfig config;
  const Compiled c = compile(g, config);
  ASSERT_EQ(c.error, "");
  std::vector<Command> commands(c.stream.size() / kCommandWords);
  std::memcpy(commands.data(), c.stream.data(), c.stream.size() * sizeof(uint32_t));
  size_t at = commands.size() - 1;
  while (at > 0 && commands[at].op() != Op::conv) --at;
  ASSERT_GT(at, 0u);

  const Boundary boundary[] = {{kTensors, static_cast<uint32_t>(c.address[0]), 40 * 40 * 32},
                               {kTensors, static_cast<uint32_t>(c.address[1]), 40 * 40 * 32}};
  BlobHeader header{};
  header.inputs = header.outputs = 1;
  std::vector<uint8_t> sram(Machine::memory_bytes(config)), tensors(static_cast<size_t>(c.tensor_bytes)),
      x(boundary[0].bytes, 1), y(boundary[1].bytes);
  vireo_tensor in = {}, out = {};
  in.data = x.data();
  out.data = y.data();
  Device device(config, sram.data(), FaultPlan());
  Part part;
  part.blob.header = &header;
  part.blob.boundary = boundary;
  part.blob.constants = c.constants.data();
  part.tensors = tensors.data();
  part.inputs[0] = &in;
  part.outputs[0] = &out;
  device.load(&part);
  const auto run = [&] {
    Fault fault;
    EXPECT_EQ(verify_stream(config, commands.data(), commands.size() * sizeof(Command), &part.blob.stream, &fault),
              Status::kOk)
        << fault.reason;
    EXPECT_EQ(device.submit(&part), VIREO_OK);
    return device.wait(&part, 0);
  };
  EXPECT_EQ(run(), VIREO_OK);
  std::vector<Command> longer = commands;
  longer.insert(longer.begin() + static_cast<std::ptrdiff_t>(at), 40000, commands[at]);
  reinterpret_cast<StreamHeader*>(longer.data())->command_count += 40000;
  longer.swap(commands);
  device.limit = std::chrono::milliseconds(50);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(run(), VIREO_DEVICE_LOST);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(device.health(), VIREO_OK);
  longer.swap(commands);
  device.limit = std::chrono::minutes(1);
  EXPECT_EQ(run(), VIREO_OK) << "the next one has all of its time";
}

}  // namespace
}  // namespace vireo::npu
