// A host's graph as it is for one image of a batch: what is not constant has the extent 1 along its first axis. A node
// may be shown with some rows of its values.
//
// Kernels are asked for scratch and prepared with this view, so that they need not know of batches that run image by
// image. It holds only for nodes that `runs_by_image` (by_image.h) takes: of those each value that is not constant has
// the batch along its first axis.
#ifndef VIREO_DELEGATES_CPU_DEPTH_FIRST_IMAGE_GRAPH_H_
#define VIREO_DELEGATES_CPU_DEPTH_FIRST_IMAGE_GRAPH_H_

#include "vireo/delegate.h"

namespace vireo::cpu {

// Shows one node at a time, because it has room for one body.
class ImageGraph {
 public:
  ImageGraph(const vireo_host& host, const vireo_graph* graph);
  ImageGraph(const ImageGraph&) = delete;
  ImageGraph& operator=(const ImageGraph&) = delete;

  // How a node that runs strip by strip (by_row.h) is shown: with the rows of one strip and a window's attributes.
  struct Rows {
    int64_t read = 0, made = 0;  // 0: all of them
    int32_t x = -1;              // value that is read by windows; all others have `made` rows
    int32_t inner_x = -1;        // the same in the body
    int32_t node = -1;           // that has the window: of the graph, or of the body
    bool in_body = false;
    const uint8_t* attrs = nullptr;
  };
  void show(const Rows& rows) { own_.rows = body_.rows = rows; }

  const vireo_host& host() const { return view_; }
  const vireo_graph* graph() const { return reinterpret_cast<const vireo_graph*>(&own_); }

  struct Shown {
    const vireo_host* host = nullptr;
    const vireo_graph* graph = nullptr;
    Shown* body = nullptr;  // where a node's body is shown; null inside of one
    // Of a body: the node that owns it, whose constants it knows as inputs alone.
    const Shown* owner = nullptr;
    const int32_t* inputs = nullptr;
    uint32_t input_count = 0;
    Rows rows;
  };

 private:
  vireo_host view_;
  Shown own_, body_;
};

}  // namespace vireo::cpu

#endif  // VIREO_DELEGATES_CPU_DEPTH_FIRST_IMAGE_GRAPH_H_
