// Runs one ONNX node through its importer and the reference kernels of what the importer emits, at once: every emitted
// operator is executed where it is emitted, so the result is the node's result. For tests alone.
#ifndef VIREO_SDK_OPS_IMPORT_TESTING_H_
#define VIREO_SDK_OPS_IMPORT_TESTING_H_

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo {

class ImportTest {
 public:
  ImportTest(std::string op_type, int opset, std::string domain = "")
      : op_type_(std::move(op_type)), domain_(std::move(domain)), opset_(opset) {}

  ImportTest& attr(const std::string& name, int64_t v);
  ImportTest& attr(const std::string& name, int v) { return attr(name, static_cast<int64_t>(v)); }
  ImportTest& attr(const std::string& name, float v);
  ImportTest& attr(const std::string& name, const std::string& v);
  ImportTest& attr(const std::string& name, const char* v) { return attr(name, std::string(v)); }
  ImportTest& attr(const std::string& name, const std::vector<int64_t>& v);
  ImportTest& attr(const std::string& name, const std::vector<float>& v);
  ImportTest& attr(const std::string& name, const std::vector<std::string>& v);
  ImportTest& attr(const std::string& name, const TestTensor& v);

  ImportTest& input(TestTensor t);     // dtype kNone: absent
  ImportTest& constant(TestTensor t);  // as an initializer: the importer sees its contents
  template <class T>
  ImportTest& input(const std::vector<int64_t>& dims, const std::vector<T>& values) {
    return input(tensor(dims, values));
  }
  template <class T>
  ImportTest& constant(const std::vector<int64_t>& dims, const std::vector<T>& values) {
    return constant(tensor(dims, values));
  }
  ImportTest& outputs(int n);  // default 1

  Status run();
  const TestTensor& y(int i = 0) const { return results_[static_cast<size_t>(i)]; }
  const std::vector<Op>& emitted() const { return emitted_; }  // in order
  const std::string& message() const { return message_; }      // of the failure

  template <class T>
  static TestTensor tensor(const std::vector<int64_t>& dims, const std::vector<T>& values) {
    TestTensor t;
    t.type = {DTypeOf<T>::value, make_shape(dims)};
    t.bytes.resize(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
    return t;
  }

 private:
  friend class EagerImport;
  struct Attr {
    int64_t i = 0;
    float f = 0;
    std::string s;
    std::vector<int64_t> ints;
    std::vector<float> floats;
    std::vector<std::string> strings;
    ConstTensor tensor;
    std::vector<uint8_t> bytes;  // of `tensor`
  };
  struct Held {
    TestTensor tensor;
    bool constant = false;
    ConstTensor view;
  };

  std::string op_type_, domain_;
  int opset_;
  std::map<std::string, Attr> attrs_;
  std::deque<Held> values_;  // Value id - 1; the inputs come first
  int inputs_ = 0, outputs_ = 1;
  std::vector<TestTensor> results_;
  std::vector<Op> emitted_;
  std::string message_;
};

}  // namespace vireo

#endif  // VIREO_SDK_OPS_IMPORT_TESTING_H_
