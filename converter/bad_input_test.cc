// Whatever comes in, out comes one clear error for each problem, and no file.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <random>

#include "converter/convert.h"
#include "converter/testing/model_builder.h"
#include "tests/support/roots.h"
#include "tests/support/sample.h"

namespace vireo::bad_input_test {
namespace {

using testing::Dims;
using testing::Folder;
using testing::ModelBuilder;

// Converts, wants a failure that leaves no file, and returns the text of the diagnostics.
std::string refuse(const Folder& folder, const std::string& model, std::initializer_list<Code> codes,
                   ConvertOptions options = {}) {
  Diagnostics d;
  const size_t before = folder.files();
  EXPECT_FALSE(convert_file(model, folder.at("out.vireo"), options, &d, nullptr));
  EXPECT_EQ(folder.files(), before) << "something was left behind";
  std::vector<Code> met;
  for (const Diagnostic& one : d.all()) {
    if (one.severity == Severity::kError) met.push_back(one.code);
  }
  EXPECT_EQ(met, std::vector<Code>(codes)) << d.text();
  return d.text();
}

std::string refuse(const ModelBuilder& m, std::initializer_list<Code> codes, ConvertOptions options = {}) {
  Folder folder;
  return refuse(folder, folder.write("model.onnx", m.bytes()), codes, std::move(options));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void relu(ModelBuilder& m) {
  m.input("x", {"2", "3"}).output("y");
  m.node("Relu", {"x"}, {"y"})->set_name("act");
}

TEST(BadInput, MissingFileAndFolder) {
  Folder folder;
  refuse(folder, folder.at("nothing.onnx"), {Code::kFileUnreadable});
  std::filesystem::create_directory(folder.at("folder.onnx"));
  refuse(folder, folder.at("folder.onnx"), {Code::kFileUnreadable});
}

TEST(BadInput, EmptyAndForeignFiles) {
  Folder folder;
  const auto bytes = [](const char* text, size_t n) { return std::string(text, n); };
  const std::pair<std::string, const char*> kFiles[] = {
      {"", "empty"},
      {"\x1f\x8b rest of a gzip file", "gzip"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "git lfs pull"},
      {bytes("\x1c\0\0\0TFL3\x14\0\x20\0", 12), "TensorFlow Lite"},
      {bytes("\x1c\0\0\0ORTM\x14\0\x20\0", 12), ".ort"},
      {"GGUF\x03 and so on", "GGUF"},
      {"\n <!DOCTYPE html>\n<html lang=\"en\">", "web page"},
      {"<html><head><title>Sign in</title>", "web page"},
      {"<?xml version=\"1.0\"?>\n<net name=\"m\">", "XML"},
      {"{\"error\": \"not found\"}", "JSON"},
      {"\x80\x02\x8a\nl\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", "pickle"},
      {"\x80\x04\x95\x10 more", "pickle"},
      {"PK\x03\x04 head archive/data.pkl PK\x01\x02 archive/data.pkl", "PyTorch"},
      {"PK\x03\x04 head model.onnx PK\x01\x02 model.onnx", "ZIP archive with an ONNX file"},
      {"PK\x03\x04 head read.me PK\x01\x02 read.me", "ZIP archive: unpack"},
      {"\x93NUMPY\x01 header", "NumPy"},
      {bytes("\x0a\0\0\0\0\0\0\0{\"w\":{\"a\"}", 18), "safetensors"},
      {"\x08\x01\x12 neither", "cut short"},
  };
  for (const auto& [content, help] : kFiles) {
    const std::string text = refuse(folder, folder.write("model.onnx", content), {Code::kNotOnnx});
    EXPECT_TRUE(has(text, help)) << help << "\n" << text;
  }
}

TEST(BadInput, AboveTwoGiB) {
  Folder folder;
  const std::string path = folder.write("big.onnx", "x");
  ASSERT_EQ(truncate(path.c_str(), (int64_t{2} << 30) + 1), 0);  // a hole: takes no disk
  EXPECT_TRUE(has(refuse(folder, path, {Code::kFileTooLarge}), "external data"));
}

TEST(BadInput, EveryTruncationAndManyMutations) {
  ModelBuilder m;
  m.input("x", {"N", "3"}).output("y").floats("w", {3, 4}, std::vector<float>(12, 0.5f)).floats("b", {4}, {1, 2, 3, 4});
  m.node("MatMul", {"x", "w"}, {"h"});
  m.node("Add", {"h", "b"}, {"y"});
  const std::string good = m.bytes();
  Folder folder;
  Diagnostics fine;
  ASSERT_TRUE(convert_file(folder.write("m.onnx", good), folder.at("m.vireo"), {}, &fine, nullptr)) << fine.text();
  for (size_t n = 0; n < good.size(); ++n) {
    if (!tests::in_sample(static_cast<int64_t>(n))) continue;
    Diagnostics d;
    const bool ok = check_model(folder.write("cut.onnx", good.substr(0, n)), {}, &d, nullptr);
    EXPECT_NE(ok, d.failed()) << "cut at " << n;  // protobuf may end between fields: then the rest decides
  }
  std::mt19937 rng(11);
  const int mutations = static_cast<int>(2000 / tests::sample_step());
  for (int i = 0; i < mutations; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 3; ++k) bytes[rng() % bytes.size()] = static_cast<char>(rng());
    Diagnostics d;
    const bool ok = check_model(folder.write("mutated.onnx", bytes), {}, &d, nullptr);
    EXPECT_NE(ok, d.failed());
  }
}

// Real files, damaged: their graphs hold control flow, weights and names that a built model does not. A try that
// converts must leave a whole file, one that does not must leave none; what hangs meets the test's time limit.
TEST(BadInput, DamagedSampleModels) {
  const int rounds = static_cast<int>(200 / tests::sample_step());
  std::mt19937 rng(23);
  for (const char* name : {"kws_frontend", "kws_dscnn_mfcc", "kws_gru"}) {
    std::ifstream in(tests::source_path(std::string("samples/models/") + name + ".onnx"), std::ios::binary);
    const std::string good{std::istreambuf_iterator<char>(in), {}};
    ASSERT_GT(good.size(), 1000u) << name;
    Folder folder;
    const auto attempt = [&](const std::string& bytes, const std::string& what) {
      Diagnostics d;
      const std::string path = folder.write("damaged.onnx", bytes);
      const std::string out = folder.at("out.vireo");
      const bool done = convert_file(path, out, {}, &d, nullptr);
      EXPECT_NE(done, d.failed()) << name << " " << what;
      EXPECT_EQ(folder.files(), done ? 2u : 1u) << name << " " << what << ": something was left behind";
      std::filesystem::remove(out);
    };
    for (int i = 0; i < rounds / 4; ++i) {
      const size_t n = rng() % good.size();
      attempt(good.substr(0, n), "cut at " + std::to_string(n));
    }
    for (int i = 0; i < rounds; ++i) {
      // Most of a file is weights, whose values no code depends on: half of the rounds change its first 4 KiB, where
      // nodes are.
      const size_t size = i % 2 == 0 ? std::min<size_t>(good.size(), 4096) : good.size();
      std::string bytes = good;
      for (unsigned k = 0; k <= rng() % 4; ++k) bytes[rng() % size] = static_cast<char>(rng());
      attempt(bytes, "round " + std::to_string(i));
    }
    std::string noise(good.size(), 0);
    for (char& c : noise) c = static_cast<char>(rng());
    attempt(noise, "noise");
  }
}

TEST(BadInput, UnknownOperatorsAreListedAtOnce) {
  ModelBuilder m;
  m.input("x", {"2"}).output("y");
  m.node("NoSuchThing", {"x"}, {"a"})->set_name("first");
  m.node("NoSuchThing", {"a"}, {"b"})->set_name("second");
  m.node("AnotherOne", {"b"}, {"y"}, "my.domain");
  const std::string text = refuse(m, {Code::kUnknownOperator, Code::kUnknownOperator});
  EXPECT_TRUE(has(text, "\"first\", \"second\"")) << text;
  EXPECT_TRUE(has(text, "my.domain")) << text;
}

TEST(BadInput, DomainsOfOthersSayWhatTheyAre) {
  const struct {
    const char *domain, *op, *what, *help;
  } kCases[] = {
      {"qonnx.custom_op.general", "Quant", "QONNX", "QCDQ"},
      {"onnx.brevitas", "Quant", "QONNX", "QCDQ"},
      {"ai.onnx.contrib", "BertTokenizer", "onnxruntime-extensions", "extract_model"},
      {"com.microsoft.extensions", "DecodeImage", "onnxruntime-extensions", "extract_model"},
      {"com.microsoft", "Tokenizer", "splits text", "extract_model"},
      {"com.microsoft", "BeamSearch", "decoding loop", "export the decoder"},
      {"com.microsoft", "SoftmaxCrossEntropyLossGrad", "training", "inference"},
      {"com.microsoft", "SomethingNew", "ONNX Runtime", "ORT_ENABLE_BASIC"},
      {"com.microsoft.nchwc", "Nothing", "machine that saved it", "ORT_ENABLE_EXTENDED"},
      {"ai.onnx.preview.training", "Unknown", "training", "inference"},
      {"org.pytorch.aten", "ATen", "PyTorch operator", "dynamo"},
      {"mmdeploy", "Thing", "MMDeploy", "NonMaxSuppression"},
      {"my.own", "Thing", "no standard one", "model-local function"},
      {"", "EfficientNMS_TRT", "TensorRT", "NonMaxSuppression"},
  };
  for (const auto& c : kCases) {
    ModelBuilder m;
    m.input("x", {"2"}).output("y");
    m.node(c.op, {"x"}, {"y"}, c.domain);
    if (c.domain[0] != 0) {
      auto* import = m.model.add_opset_import();
      import->set_domain(c.domain);
      import->set_version(1);
    }
    const std::string text = refuse(m, {Code::kUnknownOperator});
    EXPECT_TRUE(has(text, c.what) && has(text, c.help)) << c.domain << " " << c.op << "\n" << text;
  }
}

TEST(BadInput, ConstantIndicesBeyondTheData) {
  const auto model = [](const char* op, const std::vector<int64_t>& dims, const std::vector<int64_t>& indices,
                        const Dims& x) {
    auto m = std::make_unique<ModelBuilder>();
    m->input("x", x).ints("i", dims, indices).output("y");
    m->floats("u", dims, std::vector<float>(indices.size(), 1));
    const bool writes = std::string(op).rfind("Scatter", 0) == 0;
    m->node(op, writes ? std::vector<std::string>{"x", "i", "u"} : std::vector<std::string>{"x", "i"}, {"y"});
    return m;
  };
  const auto converts = [](const ModelBuilder& m) {
    Folder folder;
    Diagnostics d;
    const bool good = check_model(folder.write("m.onnx", m.bytes()), {}, &d, nullptr);
    EXPECT_TRUE(good) << d.text();
  };
  for (const int64_t index : {3, -4}) {
    EXPECT_TRUE(has(refuse(*model("Gather", {2}, {0, index}, {"3", "4"}), {Code::kBadNode}),
                    "constant index " + std::to_string(index) + " lies outside an extent of 3"));
  }
  refuse(*model("GatherElements", {1, 1}, {3}, {"3", "4"}), {Code::kBadNode});
  refuse(*model("GatherND", {1, 2}, {2, 4}, {"3", "4"}), {Code::kBadNode});
  refuse(*model("ScatterElements", {1, 1}, {-4}, {"3", "4"}), {Code::kBadNode});
  converts(*model("Gather", {2}, {2, -3}, {"3", "4"}));
  converts(*model("GatherND", {1, 2}, {-3, 3}, {"3", "4"}));
  converts(*model("Gather", {1}, {7}, {"N", "4"}));  // a run may have as many
  // What a branch would read, no run may come to.
  ModelBuilder branch;
  branch.input("x", {"3"}).input("c", {}, 9).output("y");
  auto* n = branch.node("If", {"c"}, {"y"});
  testing::GraphBuilder then_branch = testing::add_body(n, "then_branch");
  then_branch.ints("i", {1}, {5}).node("Gather", {"x", "i"}, {"p"});
  then_branch.output("p");
  testing::GraphBuilder else_branch = testing::add_body(n, "else_branch");
  else_branch.ints("i2", {1}, {1}).node("Gather", {"x", "i2"}, {"q"});
  else_branch.output("q");
  converts(branch);
}

TEST(BadInput, RanksAreSaidInTheFewestWords) {
  ModelBuilder m;
  m.input("x", {"3", "4"}).input("i", {"3"}, 7).output("y");
  m.node("GatherElements", {"x", "i"}, {"y"});
  const std::string text = refuse(m, {Code::kBadNode});
  EXPECT_TRUE(has(text, "input 1 has rank 1, wanted 2\n")) << text;
  ModelBuilder split;
  split.input("x", {"2"}).output("y");
  split.node("TopK", {"x"}, {"y", "i"});
  EXPECT_TRUE(has(refuse(split, {Code::kBadNode}), "has 1 input, wanted 2\n"));
}

// Files of IR version 4 and later list those initialisers as inputs that a run may give another value.
TEST(BadInput, InputsWithValuesInTheFile) {
  ModelBuilder m;
  m.input("x", {"2"}).input("k", {"2"}).floats("k", {2}, {1, 2}).output("y");
  m.node("Mul", {"x", "k"}, {"y"});
  Folder folder;
  const std::string path = folder.write("m.onnx", m.bytes());
  const auto check = [&](ConvertOptions options, Diagnostics* d, ConvertReport* report) {
    return check_model(path, options, d, report);
  };
  Diagnostics constant, kept, shaped, unknown;
  ConvertReport report;
  ASSERT_TRUE(check({}, &constant, &report)) << constant.text();
  ASSERT_EQ(constant.all().size(), 1u) << constant.text();
  EXPECT_EQ(constant.all()[0].code, Code::kConstantInput);
  EXPECT_TRUE(has(constant.text(), "input \"k\" has a value in the file") && has(constant.text(), "--keep-input k"));
  EXPECT_EQ(report.inputs.size(), 1u);
  ConvertOptions options;
  options.keep_inputs = {"k"};
  ASSERT_TRUE(check(options, &kept, &report)) << kept.text();
  EXPECT_TRUE(kept.all().empty()) << kept.text();
  EXPECT_EQ(report.inputs.size(), 2u);
  options.keep_inputs = {"other"};
  EXPECT_FALSE(check(options, &unknown, nullptr));
  EXPECT_TRUE(has(unknown.text(), "--keep-input names \"other\", which the model does not list")) << unknown.text();
  ConvertOptions shapes;
  shapes.shapes = {{"k", {{2, 2}}}};
  EXPECT_FALSE(check(shapes, &shaped, nullptr));
  EXPECT_TRUE(has(shaped.text(), "which is a constant") && has(shaped.text(), "--keep-input k")) << shaped.text();
  // Before IR version 4 a file lists all of them, and says nothing by it.
  m.model.set_ir_version(3);
  folder.write("m.onnx", m.bytes());
  Diagnostics old;
  ASSERT_TRUE(check({}, &old, nullptr)) << old.text();
  EXPECT_TRUE(old.all().empty()) << old.text();
}

// is_test of opsets 1 to 6 is 0 for training.
TEST(BadInput, TrainingOfOldOpsetsIsTakenForInference) {
  for (const int64_t is_test : {0, 1}) {
    ModelBuilder m(6);
    m.input("x", {"2", "3"}).output("y");
    testing::add_int(m.node("Dropout", {"x"}, {"y"}), "is_test", is_test);
    Folder folder;
    Diagnostics d;
    ASSERT_TRUE(check_model(folder.write("m.onnx", m.bytes()), {}, &d, nullptr)) << d.text();
    EXPECT_EQ(d.all().size(), is_test == 0 ? 1u : 0u) << d.text();
    EXPECT_EQ(has(d.text(), "taken for inference"), is_test == 0) << d.text();
  }
}

TEST(BadInput, OpsetOfTheFuture) {
  ModelBuilder m(99);
  relu(m);
  EXPECT_TRUE(has(refuse(m, {Code::kVersionTooNew}), "99"));
}

TEST(BadInput, DomainThatIsNotImported) {
  ModelBuilder m;
  m.model.clear_opset_import();
  auto* ml = m.model.add_opset_import();
  ml->set_domain("ai.onnx.ml");
  ml->set_version(3);
  relu(m);
  refuse(m, {Code::kUnknownDomain});
}

TEST(BadInput, Names) {
  ModelBuilder two;
  two.input("x", {"2"}).input("x", {"2"}).output("y");
  two.node("Relu", {"x"}, {"y"});
  EXPECT_TRUE(has(refuse(two, {Code::kDuplicateName}), "\"x\""));

  ModelBuilder twice;
  twice.input("x", {"2"}).output("y");
  twice.node("Relu", {"x"}, {"y"});
  twice.node("Exp", {"x"}, {"y"});
  refuse(twice, {Code::kDuplicateName});

  ModelBuilder nobody;
  nobody.input("x", {"2"}).output("y").output("z");
  nobody.node("Add", {"x", "missing"}, {"y"});
  const std::string text = refuse(nobody, {Code::kMissingValue, Code::kMissingValue});
  EXPECT_TRUE(has(text, "\"missing\"") && has(text, "\"z\"")) << text;
}

TEST(BadInput, OpsetsAndFunctionsThatAreThereTwice) {
  for (const char* domain : {"", "ai.onnx"}) {
    for (const int version : {13, 17}) {
      ModelBuilder m;
      relu(m);
      auto* row = m.model.add_opset_import();
      row->set_domain(domain);
      row->set_version(version);
      if (version == 17) {
        Folder folder;
        Diagnostics d;
        EXPECT_TRUE(check_model(folder.write("m.onnx", m.bytes()), {}, &d, nullptr)) << d.text();
        continue;
      }
      const std::string text = refuse(m, {Code::kUnknownDomain});
      EXPECT_TRUE(has(text, "version 17 and version 13 of ai.onnx are imported together")) << text;
    }
  }
  for (const char* overload : {"", "other"}) {
    ModelBuilder m;
    relu(m);
    for (const char* name : {"", overload}) {
      auto* f = m.model.add_functions();
      f->set_name("Twice");
      f->set_domain("f");
      f->set_overload(name);
    }
    if (overload[0] != 0) {
      Folder folder;
      Diagnostics d;
      EXPECT_TRUE(check_model(folder.write("m.onnx", m.bytes()), {}, &d, nullptr)) << d.text();
      continue;
    }
    EXPECT_TRUE(has(refuse(m, {Code::kBadFunction}), "function Twice of f is there twice"));
  }
}

TEST(BadInput, Cycle) {
  ModelBuilder m;
  m.input("x", {"2"}).output("y");
  m.node("Add", {"x", "c"}, {"a"})->set_name("one");
  m.node("Relu", {"a"}, {"c"})->set_name("two");
  m.node("Exp", {"c"}, {"y"})->set_name("behind");
  Diagnostics d;
  Folder folder;
  EXPECT_FALSE(check_model(folder.write("m.onnx", m.bytes()), {}, &d, nullptr));
  EXPECT_EQ(d.all()[0].code, Code::kCycle);
  EXPECT_TRUE(has(d.all()[0].what, "\"one\"") && has(d.all()[0].what, "\"two\"")) << d.text();
  EXPECT_FALSE(has(d.all()[0].what, "\"behind\"")) << d.text();
}

TEST(BadInput, AllProblemsAtOnceAndNoneTwice) {
  ModelBuilder m;
  m.input("x", {"2", "3"}).output("y").floats("w", {4, 5}, std::vector<float>(20, 1)).floats("short", {8}, {1, 2});
  m.node("MatMul", {"x", "w"}, {"a"})->set_name("mm");  // 3 against 4
  m.node("Relu", {"a"}, {"b"});                         // follows from it
  m.node("Add", {"x", "short"}, {"c"});                 // its constant is cut short
  m.node("Add", {"b", "c"}, {"y"});
  const std::string text = refuse(m, {Code::kTensorData, Code::kBadNode});
  EXPECT_TRUE(has(text, "MatMul node \"mm\"")) << text;
}

TEST(BadInput, SixBitFloats) {
  const auto model = [](const std::string& raw, const std::vector<int>& entries) {
    auto m = std::make_unique<ModelBuilder>(28);
    m->input("s", {}).output("y");
    auto* t = m->model.mutable_graph()->add_initializer();
    t->set_name("w");
    t->set_data_type(::onnx::TensorProto::FLOAT6E2M3);
    t->add_dims(5);
    if (!raw.empty()) t->set_raw_data(raw);
    for (const int v : entries) t->add_int32_data(v);
    m->node("DequantizeLinear", {"w", "s"}, {"y"});
    return m;
  };
  // One to a byte: four bytes hold the five.
  const std::string bytes = refuse(*model("12345", {}), {Code::kTensorData});
  EXPECT_TRUE(has(bytes, "want 4") && has(bytes, "four elements in three bytes")) << bytes;
  const std::string wide = refuse(*model("", {1, 2, 3, 64, 5}), {Code::kTensorData});
  EXPECT_TRUE(has(wide, "\"w\"") && has(wide, "element 3 of its int32_data is 64")) << wide;
  EXPECT_TRUE(has(refuse(*model("", {1, 2, -1, 4, 5}), {Code::kTensorData}), "is -1"));
}

// x + w, with w in another file.
std::string model_with_data_at(const std::string& location, int64_t offset = 0) {
  ModelBuilder m;
  m.input("x", {"4"}).output("y");
  auto* t = m.model.mutable_graph()->add_initializer();
  t->set_name("w");
  t->set_data_type(1);
  t->add_dims(4);
  t->set_data_location(::onnx::TensorProto::EXTERNAL);
  for (const auto& [k, v] :
       {std::pair<std::string, std::string>{"location", location}, {"offset", std::to_string(offset)}}) {
    auto* e = t->add_external_data();
    e->set_key(k);
    e->set_value(v);
  }
  m.node("Add", {"x", "w"}, {"y"});
  return m.bytes();
}

TEST(BadInput, ExternalData) {
  Folder outer;
  outer.write("secret.bin", std::string(64, 's'));
  std::filesystem::create_directory(outer.at("model"));
  const auto run = [&](const std::string& bytes) {
    Diagnostics d;
    outer.write("model/m.onnx", bytes);
    const bool ok = check_model(outer.at("model/m.onnx"), {}, &d, nullptr);
    EXPECT_NE(ok, d.failed());
    EXPECT_TRUE(ok || d.all()[0].code == Code::kExternalData) << d.text();
    return ok ? std::string() : d.text();
  };
  outer.write("model/weights.bin", std::string(16, '\0'));
  EXPECT_EQ(run(model_with_data_at("weights.bin")), "");
  EXPECT_EQ(run(model_with_data_at("./weights.bin")), "");
  EXPECT_TRUE(has(run(model_with_data_at("nothing.bin")), "cannot be found"));
  EXPECT_TRUE(has(run(model_with_data_at("../secret.bin")), "outside"));
  EXPECT_TRUE(has(run(model_with_data_at(outer.at("secret.bin"))), "outside"));
  EXPECT_TRUE(has(run(model_with_data_at("a/../../secret.bin")), "outside"));
  std::filesystem::create_symlink(outer.at("secret.bin"), outer.at("model/link.bin"));
  EXPECT_TRUE(has(run(model_with_data_at("link.bin")), "link"));
  std::filesystem::create_directory_symlink(outer.at(""), outer.at("model/up"));
  EXPECT_TRUE(has(run(model_with_data_at("up/secret.bin")), "link"));
  EXPECT_TRUE(has(run(model_with_data_at("weights.bin", 4)), "16 bytes"));
  outer.write("model/pointer.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 16\n");
  EXPECT_TRUE(has(run(model_with_data_at("pointer.bin", 64)), "git lfs pull"));
  EXPECT_TRUE(has(run(model_with_data_at("")), "outside"));
}

// Hugging Face's cache: all files in one folder, and links to them in another, under the names that the model uses.
TEST(BadInput, ExternalDataBehindLinks) {
  Folder cache;
  for (const char* folder : {"blobs", "snapshot", "elsewhere"}) std::filesystem::create_directory(cache.at(folder));
  cache.write("blobs/1234", model_with_data_at("model.onnx_data"));
  cache.write("blobs/5678", std::string(16, '\0'));
  cache.write("elsewhere/data", std::string(16, '\0'));
  std::filesystem::create_symlink("../blobs/1234", cache.at("snapshot/model.onnx"));
  const auto converts = [&] {
    Diagnostics d;
    return check_model(cache.at("snapshot/model.onnx"), {}, &d, nullptr);
  };
  EXPECT_FALSE(converts());  // no data anywhere
  std::filesystem::create_symlink("../elsewhere/data", cache.at("snapshot/model.onnx_data"));
  EXPECT_FALSE(converts());  // in neither folder
  std::filesystem::remove(cache.at("snapshot/model.onnx_data"));
  std::filesystem::create_symlink("../blobs/5678", cache.at("snapshot/model.onnx_data"));
  EXPECT_TRUE(converts());
  // A link to the model only: its data lie beside the file itself.
  std::filesystem::remove(cache.at("snapshot/model.onnx_data"));
  cache.write("blobs/model.onnx_data", std::string(16, '\0'));
  EXPECT_TRUE(converts());
}

TEST(BadInput, ShapesThatOverflow) {
  ModelBuilder m;
  m.input("x", {"4611686018427387904", "4611686018427387904"}).output("y");
  m.node("Relu", {"x"}, {"y"});
  refuse(m, {Code::kShapeOverflow});

  ModelBuilder grown;
  grown.input("x", {"2147483648", "1"}).input("z", {"1", "2147483648"}).output("y");
  grown.node("Add", {"x", "z"}, {"y"});
  refuse(grown, {Code::kBadNode});

  // Slices that fit, stacked.
  ModelBuilder stacked;
  stacked.input("x", {"4", "1"}).input("big", {"1152921504606846976"}).output("y");
  auto* n = stacked.node("Scan", {"x"}, {"y"});
  testing::add_int(n, "num_scan_inputs", 1);
  testing::GraphBuilder body = testing::add_body(n, "body");
  body.input("slice", {"1"}).output("out");
  body.node("Identity", {"big"}, {"out"});
  const std::string text = refuse(stacked, {Code::kUnsupportedNode});
  EXPECT_TRUE(has(text, "Scan") && has(text, "more bytes than can be counted")) << text;

  // float4 that fits, sliced as float32.
  ModelBuilder wider(23);
  wider.input("x", {"4", "1152921504606846976"}, 23).output("y");
  n = wider.node("Scan", {"x"}, {"y"});
  testing::add_int(n, "num_scan_inputs", 1);
  testing::GraphBuilder slices = testing::add_body(n, "body");
  slices.input("slice", {"1152921504606846976"}, 23).output("out");
  slices.node("Shape", {"slice"}, {"out"});
  EXPECT_TRUE(has(refuse(wider, {Code::kShapeOverflow}), "more bytes than can be counted"));
}

TEST(BadInput, InputsWithoutRankOrTensors) {
  ModelBuilder m;
  m.input("x", {"2"}).output("y");
  m.model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  m.node("Relu", {"x"}, {"y"});
  EXPECT_TRUE(has(refuse(m, {Code::kUnknownRank}), "--shape x="));
  Folder folder;
  ConvertOptions options;
  std::string error;
  options.shapes.resize(1);
  ASSERT_TRUE(parse_shape_option("x=2,3", &options.shapes[0], &error));
  Diagnostics d;
  EXPECT_TRUE(check_model(folder.write("m.onnx", m.bytes()), options, &d, nullptr)) << d.text();

  ModelBuilder sequence;
  sequence.input("x", {"2"}).output("y");
  sequence.model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_sequence_type();
  sequence.node("Relu", {"x"}, {"y"});
  EXPECT_TRUE(has(refuse(sequence, {Code::kUnsupportedType}), "a sequence"));
}

TEST(BadInput, ShapeOptions) {
  ShapeOption s;
  std::string error;
  for (const char* text : {"", "x", "=1,2", "x=1,,2", "x=_a", "x=1..", "x=3..2", "x=1,", "x=99999999999999999999"}) {
    EXPECT_FALSE(parse_shape_option(text, &s, &error)) << text;
  }
  ASSERT_TRUE(parse_shape_option("a=b=1..8,3", &s, &error));
  EXPECT_EQ(s.input, "a=b");
  EXPECT_EQ(s.dims[0].hi, 8);

  ModelBuilder m;
  relu(m);
  ConvertOptions options;
  options.shapes.resize(1);
  ASSERT_TRUE(parse_shape_option("z=1", &options.shapes[0], &error));
  EXPECT_TRUE(has(refuse(m, {Code::kBadShapeOption}, options), "its inputs are: x"));
  ASSERT_TRUE(parse_shape_option("x=1", &options.shapes[0], &error));
  refuse(m, {Code::kBadShapeOption}, options);
}

TEST(BadInput, FunctionsThatCallThemselves) {
  ModelBuilder m;
  auto* import = m.model.add_opset_import();
  import->set_domain("f");
  import->set_version(1);
  m.input("x", {"2"}).output("y");
  m.node("Loop1", {"x"}, {"y"}, "f");
  auto* f = m.model.add_functions();
  f->set_name("Loop1");
  f->set_domain("f");
  f->add_input("a");
  f->add_output("b");
  auto* n = f->add_node();
  n->set_op_type("Loop1");
  n->set_domain("f");
  n->add_input("a");
  n->add_output("b");
  refuse(m, {Code::kBadFunction});
}

void import_domain(ModelBuilder& m, const std::string& domain) {
  auto* row = m.model.add_opset_import();
  row->set_domain(domain);
  row->set_version(1);
}

// The chain is deeper than the search for unknown operators goes, and its end is also called by itself.
TEST(BadInput, UnknownOperatorsBehindManyCalls) {
  ModelBuilder m;
  import_domain(m, "f");
  for (int i = 0; i <= 64; ++i) {
    auto* f = m.model.add_functions();
    f->set_name("f" + std::to_string(i));
    f->set_domain("f");
    f->add_input("a");
    f->add_output("b");
    for (const char* domain : {"", "f"}) {
      auto* row = f->add_opset_import();
      row->set_domain(domain);
      row->set_version(domain[0] == 0 ? 17 : 1);
    }
    auto* n = f->add_node();
    n->set_op_type(i == 64 ? "NoSuchThing" : "f" + std::to_string(i + 1));
    n->set_domain(i == 64 ? "" : "f");
    n->add_input("a");
    n->add_output("b");
  }
  m.input("x", {"2"}).output("y").output("z");
  m.node("f0", {"x"}, {"y"}, "f");
  m.node("f64", {"x"}, {"z"}, "f");
  refuse(m, {Code::kUnknownOperator, Code::kBadFunction});
}

TEST(BadInput, UnknownOperatorsInAnyGraph) {
  for (const char* part : {"score_mod", "prob_mod"}) {
    ModelBuilder m;
    import_domain(m, "ai.onnx.preview");
    for (const char* name : {"q", "k", "v"}) m.input(name, {"1", "1", "2", "2"});
    m.output("y");
    auto* n = m.node("FlexAttention", {"q", "k", "v"}, {"y"}, "ai.onnx.preview");
    testing::GraphBuilder body = testing::add_body(n, part);
    body.input("s", {"1", "1", "2", "2"}).output("t").node("NoSuchThing", {"s"}, {"t"});
    EXPECT_TRUE(has(refuse(m, {Code::kUnknownOperator}), "NoSuchThing")) << part;
  }
}

TEST(BadInput, HeadsThatCannotBeListed) {
  ModelBuilder m;
  import_domain(m, "ai.onnx.preview");
  m.input("q", {"1", "1099511627776", "1", "1"}).input("k", {"1", "1", "1", "1"}).input("v", {"1", "1", "1", "1"});
  m.output("y");
  auto* n = m.node("FlexAttention", {"q", "k", "v"}, {"y"}, "ai.onnx.preview");
  testing::GraphBuilder body = testing::add_body(n, "score_mod");
  body.input("s", {"1", "1099511627776", "1", "1"}).output("t").node("Neg", {"s"}, {"t"});
  refuse(m, {Code::kUnsupportedNode});
}

TEST(BadInput, NodesThatReadNothing) {
  const std::vector<std::vector<std::string>> nothing = {{}, {"", ""}};
  for (const auto& inputs : nothing) {
    ModelBuilder clip(6), dft(20), turned;
    clip.output("y").node("Clip", inputs, {"y"});
    refuse(clip, {Code::kBadNode});
    dft.output("y").node("DFT", inputs, {"y"});
    refuse(dft, {Code::kBadNode});
    turned.output("y").node("ConvTranspose", inputs, {"y"});
    refuse(turned, {Code::kBadNode});
  }
  // A filter without what it is for, and with what has no channels.
  ModelBuilder line;
  line.input("x", {"4"}).input("w", {"1", "1", "3"}).output("y");
  testing::add_ints(line.node("ConvTranspose", {"x", "w"}, {"y"}), "output_shape", {6});
  refuse(line, {Code::kBadNode});
}

TEST(BadInput, ConstantsWithoutElements) {
  for (const bool training : {false, true}) {
    ModelBuilder m(13);
    m.input("x", {"2"}).floats("ratio", {training ? 1 : 0}, std::vector<float>(training ? 1 : 0, 0.5f)).output("y");
    auto* t = m.model.mutable_graph()->add_initializer();
    t->set_name("training");
    t->set_data_type(9);
    t->add_dims(training ? 0 : 1);
    if (!training) t->add_int32_data(1);
    m.node("Dropout", {"x", "ratio", "training"}, {"y"});
    refuse(m, {Code::kBadNode});
  }
}

// 192 MiB each; their indices are for another rank, so that none is made.
TEST(BadInput, SparseTensorsThatAreTooLargeTogether) {
  ModelBuilder m;
  m.input("x", {"1"}).output("y");
  for (const char* name : {"a", "b"}) {
    auto* s = m.model.mutable_graph()->add_sparse_initializer();
    s->add_dims(int64_t{3} << 24);
    s->mutable_values()->set_name(name);
    s->mutable_values()->set_data_type(1);
    s->mutable_values()->add_dims(1);
    s->mutable_values()->add_float_data(1);
    s->mutable_indices()->set_data_type(7);
    for (const int64_t d : {1, 2}) s->mutable_indices()->add_dims(d);
    for (const int64_t i : {0, 0}) s->mutable_indices()->add_int64_data(i);
  }
  m.node("Relu", {"x"}, {"y"});
  refuse(m, {Code::kTensorData, Code::kShapeOverflow});
}

TEST(BadInput, RotaryTablesOfManyColumns) {
  for (const char* columns : {"1073741824", "2147483648"}) {
    ModelBuilder m;
    import_domain(m, "com.microsoft");
    m.input("x", {"1", "4", "64"})
        .input("ids", {"1", "4"}, 7)
        .input("cos", {"1", columns})
        .input("sin", {"1", columns});
    m.output("y").node("RotaryEmbedding", {"x", "ids", "cos", "sin"}, {"y"}, "com.microsoft");
    EXPECT_TRUE(has(refuse(m, {Code::kBadNode}), std::string(columns) + " columns"));
  }
}

// A .vireo file keeps these in 32 or 8 bits: what is not among those numbers is refused, not cut down to one that fits.
TEST(BadInput, AttributesBeyond32Bits) {
  const int64_t beyond = int64_t{1} << 32;
  struct Case {
    const char *op, *attribute;
    std::vector<int64_t> values;
    bool two = false;
  };
  for (const Case& c : {Case{"Concat", "axis", {beyond}, true},
                        {"GatherElements", "axis", {-beyond}, true},
                        {"Gather", "axis", {beyond + 1}, true},
                        {"ArgMax", "axis", {beyond}},
                        {"Softmax", "axis", {beyond}},
                        {"Flatten", "axis", {beyond + 1}},
                        {"Unique", "axis", {-beyond}},
                        {"Split", "axis", {beyond + 1}},
                        {"Transpose", "perm", {beyond + 1, beyond, beyond + 2, beyond + 3}},
                        {"DepthToSpace", "blocksize", {beyond + 2}},
                        {"EyeLike", "dtype", {257}}}) {
    SCOPED_TRACE(c.op);
    ModelBuilder m;
    m.input("x", {"4", "4", "4", "4"}, 7).output("y");
    auto* n = m.node(c.op, c.two ? std::vector<std::string>{"x", "x"} : std::vector<std::string>{"x"}, {"y"});
    if (c.values.size() == 1) {
      testing::add_int(n, c.attribute, c.values[0]);
    } else {
      testing::add_ints(n, c.attribute, c.values);
    }
    refuse(m, {Code::kBadNode});
  }
}

TEST(BadInput, OutputCannotBeWritten) {
  ModelBuilder m;
  relu(m);
  Folder folder;
  const std::string path = folder.write("m.onnx", m.bytes());
  Diagnostics d;
  EXPECT_FALSE(convert_file(path, folder.at("no/such/folder/out.vireo"), {}, &d, nullptr));
  EXPECT_EQ(d.all()[0].code, Code::kWriteFailed);
  Diagnostics e;
  std::filesystem::create_directory(folder.at("out.vireo"));
  EXPECT_FALSE(convert_file(path, folder.at("out.vireo"), {}, &e, nullptr));
  EXPECT_EQ(e.all()[0].code, Code::kWriteFailed);
  EXPECT_EQ(folder.files(), 2u);
  Diagnostics full;
  EXPECT_FALSE(convert_file(path, "/dev/full", {}, &full, nullptr));
  EXPECT_EQ(full.all()[0].code, Code::kWriteFailed);
}

}  // namespace
}  // namespace vireo::bad_input_test
