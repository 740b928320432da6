// Whichever part a device cannot load when a session is made: those that it has loaded are unloaded, in bodies too.
#include <gtest/gtest.h>

#include <set>

#include "converter/convert.h"
#include "converter/testing/model_builder.h"
#include "runtime/devices/runtime.h"
#include "vireo/vireo.h"

extern "C" const vireo_delegate vireo_cpu_delegate;

namespace vireo {
namespace {

struct Loads {
  int left = -1;  // that still go well; -1: all
  int made = 0;
  std::set<void*> loaded;
} loads;

// The CPU's, each part with a handle of its own.
struct Handle {
  void* inner;
};

vireo_status load(void* device, const vireo_host* host, const vireo_graph* graph, const vireo_part* part,
                  const vireo_load_request* with, void** loaded) {
  if (loads.left == 0) return VIREO_OUT_OF_ARENA;
  if (loads.left > 0) --loads.left;
  auto* const handle = new Handle();
  const vireo_status status = vireo_cpu_delegate.load(device, host, graph, part, with, &handle->inner);
  if (status != VIREO_OK) {
    delete handle;
    return status;
  }
  ++loads.made;
  loads.loaded.insert(handle);
  *loaded = handle;
  return VIREO_OK;
}

vireo_status submit(void* loaded, const vireo_tensor* const* inputs, uint32_t input_count, vireo_tensor* const* outputs,
                    uint32_t output_count, const vireo_submit* with) {
  return vireo_cpu_delegate.submit(static_cast<Handle*>(loaded)->inner, inputs, input_count, outputs, output_count,
                                   with);
}

void unload(void* loaded) {
  EXPECT_EQ(loads.loaded.erase(loaded), 1u);
  if (vireo_cpu_delegate.unload != nullptr) vireo_cpu_delegate.unload(static_cast<Handle*>(loaded)->inner);
  delete static_cast<Handle*>(loaded);
}

const vireo_delegate kCounted = [] {
  vireo_delegate d = vireo_cpu_delegate;
  d.load = load;
  d.submit = submit;
  d.unload = unload;
  return d;
}();

// An If in a branch of an If, and nodes in front of and behind each.
void add_nodes(testing::ModelBuilder& m) {
  m.input("x", {"2", "8"}).input("flag", {}, ::onnx::TensorProto::BOOL).output("y");
  m.node("Exp", {"x"}, {"a"});
  auto* outer = m.node("If", {"flag"}, {"b"});
  auto yes = testing::add_body(outer, "then_branch");
  yes.node("Softmax", {"a"}, {"t"});
  auto* inner = yes.node("If", {"flag"}, {"u"});
  auto deep = testing::add_body(inner, "then_branch");
  deep.node("Sin", {"t"}, {"v"});
  deep.node("Cos", {"v"}, {"w"});
  deep.output("w");
  auto deeper = testing::add_body(inner, "else_branch");
  deeper.node("Neg", {"t"}, {"p"});
  deeper.output("p");
  yes.node("Tanh", {"u"}, {"q"});
  yes.output("q");
  auto no = testing::add_body(outer, "else_branch");
  no.node("Abs", {"a"}, {"e"});
  no.node("Sqrt", {"e"}, {"f"});
  no.output("f");
  m.node("Softmax", {"b"}, {"y"});
}

TEST(Loads, APartThatFailsLeavesNoOtherLoaded) {
  testing::ModelBuilder m;
  add_nodes(m);
  testing::Folder folder;
  ConvertOptions options;
  options.optimize = false;
  Diagnostics diagnostics;
  FileBytes file;
  ASSERT_TRUE(convert_to_memory(folder.write("m.onnx", m.bytes()), options, &file, &diagnostics, nullptr))
      << diagnostics.text();
  vireo_runtime* runtime = nullptr;
  vireo_model* model = nullptr;
  vireo_error error = VIREO_ERROR_INIT;
  ASSERT_EQ(vireo_runtime_create(nullptr, &runtime, &error), VIREO_OK) << error.message;
  ASSERT_EQ(vireo_model_load_memory(runtime, file.data(), file.size(), &model, &error), VIREO_OK) << error.message;
  int failed = 0;
  for (bool done = false; !done; ++failed) {
    ASSERT_LT(failed, 100);
    loads.left = failed;
    vireo_session* session = nullptr;
    done = vireo_session_create(model, nullptr, &session, &error) == VIREO_OK;
    if (!done) {
      EXPECT_TRUE(loads.loaded.empty()) << loads.loaded.size() << " parts stay where load " << failed << " fails";
      loads.loaded.clear();
    }
    vireo_session_release(session);
    EXPECT_TRUE(loads.loaded.empty());
  }
  EXPECT_GT(failed, 8);
  EXPECT_GT(loads.made, 30);
  vireo_model_release(model);
  vireo_runtime_release(runtime);
}

}  // namespace

// In the place of the build's own list.
Span<const vireo_delegate* const> builtin_delegates() {
  static const vireo_delegate* const rows[] = {&kCounted};
  return rows;
}

}  // namespace vireo
