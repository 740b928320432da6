// The functions of vireo_host (vireo/delegate.h) over a graph of one's own: what makes a graph readable for delegates
// and for the forms of sdk/composites.
//
// A View is made from a `const vireo_graph*` and says what is there, in every member of the struct but struct_size. It
// does not look at bounds:
//   uint32_t node_count(), value_count(), input_count(), output_count()
//   void node(uint32_t index, vireo_graph_node* out), void value(uint32_t number, vireo_graph_value* out)
//   int32_t input(uint32_t index), output(uint32_t index)
#ifndef VIREO_SDK_GRAPH_GRAPH_HOST_H_
#define VIREO_SDK_GRAPH_GRAPH_HOST_H_

#include <stdint.h>

#include "sdk/base/config.h"
#include "sdk/base/sized.h"
#include "vireo/delegate.h"

namespace vireo {

// Fills the struct of a delegate by `say(out)`. A plug-in's header may be older or newer; a delegate that is linked in
// has this one.
template <class Struct, class Say>
vireo_status show(const Say& say, Struct* out, SizedName name) {
  if constexpr (VIREO_PLUGINS) {
    Struct said = VIREO_INIT_(Struct);
    say(&said);
    if (check_sized(out, name, nullptr) != Status::kOk) return VIREO_INVALID_ARGUMENT;
    write_sized(&said, uint32_t{sizeof(said)}, out);
  } else {
    say(out);
  }
  return VIREO_OK;
}

// Log and allocator are missing: the caller adds what it has.
template <class View>
vireo_host graph_host() {
  vireo_host h = VIREO_HOST_INIT;
  h.abi = VIREO_DELEGATE_ABI;
  h.node_count = [](const vireo_graph* g) { return View(g).node_count(); };
  h.value_count = [](const vireo_graph* g) { return View(g).value_count(); };
  h.node = [](const vireo_graph* g, uint32_t index, vireo_graph_node* out) -> vireo_status {
    const View view(g);
    if (index >= view.node_count()) return VIREO_INVALID_ARGUMENT;
    const auto say = [&](vireo_graph_node* node) { view.node(index, node); };
    return show(say, out, {"vireo_graph_node", "VIREO_GRAPH_NODE_INIT"});
  };
  h.value = [](const vireo_graph* g, uint32_t number, vireo_graph_value* out) -> vireo_status {
    const View view(g);
    if (number >= view.value_count()) return VIREO_INVALID_ARGUMENT;
    const auto say = [&](vireo_graph_value* value) { view.value(number, value); };
    return show(say, out, {"vireo_graph_value", "VIREO_GRAPH_VALUE_INIT"});
  };
  h.input_count = [](const vireo_graph* g) { return View(g).input_count(); };
  h.input = [](const vireo_graph* g, uint32_t i) { return i < View(g).input_count() ? View(g).input(i) : -1; };
  h.output_count = [](const vireo_graph* g) { return View(g).output_count(); };
  h.output = [](const vireo_graph* g, uint32_t i) { return i < View(g).output_count() ? View(g).output(i) : -1; };
  return h;
}

}  // namespace vireo

#endif  // VIREO_SDK_GRAPH_GRAPH_HOST_H_
