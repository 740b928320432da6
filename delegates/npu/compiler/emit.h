// Writes the commands of one section: addresses are those of buffers until the section is whole; then buffers get
// places in local memory by the time they are in use.
#ifndef VIREO_DELEGATES_NPU_COMPILER_EMIT_H_
#define VIREO_DELEGATES_NPU_COMPILER_EMIT_H_

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "delegates/npu/compiler/section.h"

namespace vireo::npu {

// Rows of a tensor in local memory: row r lies at place (r - box.begin[0]) % rows of the buffer.
struct Ring {
  int tensor = -1;
  Box box;
  int64_t rows = 0, pixel = 0, pitch = 0;
  int buffer = -1;
};

// Results along channels come in multiples of this.
int64_t channel_unit(const Graph& graph, const Layer& layer);

class Emitter {
 public:
  Emitter(const Surroundings& world, const Cut& cut, Blob* blob)
      : w_(world), g_(*world.graph), cut_(cut), blob_(blob), sizes_(cut.last - cut.first) {}

  std::string why;  // not empty: it cannot be done

  int buffer(int64_t bytes);
  void load(const Ring& ring, const Box& rows, int64_t image, int layer);
  void store(const Ring& ring, const Box& rows, int64_t image, int layer);
  void transpose(int layer, const Ring& ring, const Box& rows, int64_t image);
  void layer(int layer, const std::vector<const Ring*>& rings, const std::vector<Box>& boxes, const Ring& to,
             const Box& y);
  // A convolution of one group whose input comes from outside in parts along its channels.
  void conv_in_parts(int layer, const Ring& to, const Box& y, int64_t image);
  Built finish(bool flip);

 private:
  struct Buffer {
    int64_t bytes = 0, address = 0;
    size_t first = SIZE_MAX, last = 0;  // commands that use it
    bool used = false;
  };
  struct Use {
    size_t command;
    const Field* field;
    int buffer;
  };

  const GraphTensor& tensor(int i) const { return g_.tensors[static_cast<size_t>(i)]; }
  size_t command(Op op, int layer);
  void set(const Field& f, int64_t v);
  void point(const Field& f, int buffer, int64_t offset);
  void set_a(const Ring& ring, const Box& box);
  void set_b(const Ring& ring, const Box& box);
  void set_y(const Ring& ring, const Box& box);
  void set_codes(const Layer& l, Type a, Type b);
  void set_window(const Layer& l, const Box& x, const Box& y);
  void move(const Ring& ring, const Box& rows, int64_t address, Region region, const int64_t strides[3], bool out,
            int layer);
  // A buffer with these constants, loaded where `key` is new.
  int constants(int layer, int64_t from, int64_t to, int64_t copy, const std::vector<uint8_t>& bytes,
                const std::vector<uint8_t>* packed = nullptr);
  const Weights& weights(int layer, int64_t from, int64_t to);
  int64_t place(const std::vector<uint8_t>& bytes) { return blob_ == nullptr ? 0 : blob_->add(bytes); }
  void conv(int index, const Ring& from, const Box& x, const Ring& to, const Box& y);

  const Surroundings& w_;
  const Graph& g_;
  const Cut& cut_;
  Blob* blob_;
  std::vector<Command> commands_;
  std::vector<size_t> compute_;  // commands that are no transfers
  std::vector<Buffer> buffers_;
  std::vector<Use> uses_;
  std::map<std::tuple<int, int64_t, int64_t, int64_t>, int> loaded_;
  std::map<std::tuple<int, int64_t, int64_t>, bool> counted_;
  std::vector<LayerSizes> sizes_;
  int64_t copies_ = 0;
};

}  // namespace vireo::npu

#endif  // VIREO_DELEGATES_NPU_COMPILER_EMIT_H_
