// The graph as a .vireo file: tables, plan, segments, hash tree.
#ifndef VIREO_CONVERTER_EMIT_MODEL_FILE_H_
#define VIREO_CONVERTER_EMIT_MODEL_FILE_H_

#include <memory>
#include <string>
#include <vector>

#include "converter/convert.h"
#include "converter/emit/segments.h"
#include "converter/ir/graph.h"
#include "sdk/format/container.h"
#include "sdk/format/model_generated.h"

namespace vireo::emit {

struct Provenance {
  std::string source;       // file name, without its folder
  std::string source_hash;  // 32 bytes
  std::string producer;
  std::vector<std::string> opsets;
  std::vector<std::string> passes;
};

// Readies a graph for the file: outputs that are inputs, constants or other outputs get a node of their own.
void separate_outputs(ir::Graph& g);

class ModelFile {
 public:
  // Lays out everything; `graph` has gone through separate_outputs. Null with diagnostics on failure. `report` gets
  // sizes.
  static std::unique_ptr<ModelFile> build(const ir::Graph& graph, const ConvertOptions& options,
                                          const Provenance& provenance, Diagnostics* diagnostics,
                                          ConvertReport* report);

  // Under a temporary name in the same folder, then renamed: `path` appears whole or not at all.
  bool write(const std::string& path, Diagnostics* diagnostics) const;
  void write(FileBytes* out) const;  // where it has the file's size, its memory stays
  // All but large constants, whose places are left as they are. What is loaded from it says how much a session takes;
  // before one runs, write() has to bring the constants. The system has no memory to find for places nobody touched.
  void write_sketch(FileBytes* out) const;
  uint64_t file_bytes() const { return file_bytes_; }

 private:
  template <class Sink>
  bool stream(Sink&& sink, std::vector<uint8_t>* header) const;
  FileHeader header() const;  // without the hash

  Segments segments_;
  std::vector<uint8_t> model_;  // the FlatBuffer
  std::vector<uint64_t> segment_offsets_;
  uint64_t hash_offset_ = 0, hash_size_ = 0, file_bytes_ = 0;
};

// A copy of `graph`, with `taps`, values that its nodes make or that it is given, as further outputs behind its own.
// Null with `error` where it cannot be laid out.
std::unique_ptr<ModelFile> build_with_taps(const ir::Graph& graph, const std::vector<const ir::Value*>& taps,
                                           std::string* error);
// The same as a file in memory. False with `error`.
bool write_with_taps(const ir::Graph& graph, const std::vector<const ir::Value*>& taps, FileBytes* out,
                     std::string* error);

}  // namespace vireo::emit

#endif  // VIREO_CONVERTER_EMIT_MODEL_FILE_H_
