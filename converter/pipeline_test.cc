// The whole pipeline over real models: it ends, and a second run finds nothing to do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "converter/onnx/import.h"
#include "converter/onnx/load.h"
#include "converter/passes/pipeline.h"
#include "converter/passes/shared/measure.h"
#include "tests/support/roots.h"
#include "tests/support/sample.h"

namespace vireo::pipeline_test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> models_below(const fs::path& folder) {
  std::vector<std::string> out;
  if (!fs::exists(folder)) return out;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

void twice(const std::string& path) {
  SCOPED_TRACE(path);
  Diagnostics diagnostics;
  ::onnx::ModelProto model;
  std::string hash;
  ASSERT_TRUE(importer::load_model(path, &model, &hash, &diagnostics)) << diagnostics.text();
  const importer::ImportedModel imported =
      importer::import_model(model, path, {}, importer::Guess::kUsual, &diagnostics);
  if (imported.graph == nullptr) {  // one that needs --shape
    std::cout << "not imported without options: " << path << "\n";
    return;
  }
  ConvertReport first, second;
  const passes::Measure before = passes::measure(*imported.graph);
  ASSERT_TRUE(passes::run_pipeline(*imported.graph, {}, nullptr, &diagnostics, &first)) << diagnostics.text();
  const passes::Measure after = passes::measure(*imported.graph);
  EXPECT_FALSE(before < after);
  ASSERT_TRUE(passes::run_pipeline(*imported.graph, {}, nullptr, &diagnostics, &second)) << diagnostics.text();
  for (const PassLog& p : second.passes) EXPECT_EQ(p.changes, 0u) << p.name;
}

TEST(Pipeline, ASecondRunChangesNothingInTheSamples) {
  const std::vector<std::string> models = models_below(tests::source_path("samples/models"));
  ASSERT_FALSE(models.empty());
  for (const std::string& path : models) twice(path);
}

TEST(Pipeline, ASecondRunChangesNothingInTheSharedModels) {
  const char* named = std::getenv("VIREO_SHARED");
  const fs::path shared = named != nullptr ? fs::path(named) : fs::path(tests::source_path("../shared"));
  if (!fs::exists(shared)) GTEST_SKIP() << shared << " is not there: set VIREO_SHARED to the folder that holds models/";
  const std::vector<std::string> models = models_below(shared);
  ASSERT_FALSE(models.empty());
  const auto step = static_cast<size_t>(tests::sample_step());  // all of them take most of a minute
  if (step > 1) std::cout << "every fourth of " << models.size() << " models; VIREO_FULL=1 takes all\n";
  for (size_t i = 0; i < models.size(); i += step) twice(models[i]);
}

}  // namespace
}  // namespace vireo::pipeline_test
