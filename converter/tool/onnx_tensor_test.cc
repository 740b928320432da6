#include "converter/tool/onnx_tensor.h"

#include <gtest/gtest.h>
#include <onnx/onnx-ml.pb.h>

#include "c_api/tool/failure.h"
#include "c_api/tool/file.h"

namespace vireo::tool {
namespace {

Array round(const onnx::TensorProto& tensor) {
  write_file(::testing::TempDir() + "vireo_tensor.pb", tensor.SerializeAsString());
  return read_tensor_file(::testing::TempDir() + "vireo_tensor.pb");
}

onnx::TensorProto proto(int dtype, const std::vector<int64_t>& dims) {
  onnx::TensorProto t;
  t.set_data_type(dtype);
  for (const int64_t d : dims) t.add_dims(d);
  return t;
}

TEST(OnnxTensor, ReadsTypedFieldsAndRawBytes) {
  onnx::TensorProto t = proto(onnx::TensorProto::FLOAT, {2});
  t.add_float_data(1);
  t.add_float_data(-2.5f);
  const Array typed = round(t);
  EXPECT_EQ(real_at(typed, 1), -2.5);
  onnx::TensorProto r = proto(onnx::TensorProto::FLOAT, {2});
  r.set_raw_data(std::string("\0\0\x80\x3f\0\0\x20\xc0", 8));
  EXPECT_EQ(round(r).bytes, typed.bytes);
}

// ONNX keeps float16 bits and packed 4-bit pairs in int32_data (onnx.proto, TensorProto.int32_data).
TEST(OnnxTensor, ReadsWidenedTypes) {
  onnx::TensorProto half = proto(onnx::TensorProto::FLOAT16, {1});
  half.add_int32_data(0x3C00);
  EXPECT_EQ(real_at(round(half), 0), 1);
  onnx::TensorProto int4 = proto(onnx::TensorProto::INT4, {3});
  int4.add_int32_data(0xF1);
  int4.add_int32_data(0x08);
  const Array a = round(int4);
  EXPECT_EQ(real_at(a, 0), 1);
  EXPECT_EQ(real_at(a, 1), -1);
  EXPECT_EQ(real_at(a, 2), -8);
}

TEST(OnnxTensor, ReadsTextsAndScalars) {
  onnx::TensorProto text = proto(onnx::TensorProto::STRING, {2});
  text.add_string_data("a");
  text.add_string_data("");
  EXPECT_EQ(round(text).strings, (std::vector<std::string>{"a", ""}));
  onnx::TensorProto scalar = proto(onnx::TensorProto::INT64, {});
  scalar.add_int64_data(7);
  EXPECT_EQ(text_at(round(scalar), 0), "7");
}

TEST(OnnxTensor, RefusesWhatDoesNotFit) {
  onnx::TensorProto few = proto(onnx::TensorProto::FLOAT, {3});
  few.add_float_data(1);
  EXPECT_THROW(round(few), Failure);
  onnx::TensorProto raw = proto(onnx::TensorProto::FLOAT, {3});
  raw.set_raw_data("12345");
  EXPECT_THROW(round(raw), Failure);
  EXPECT_THROW(round(proto(99, {1})), Failure);
  EXPECT_THROW(round(proto(onnx::TensorProto::FLOAT, {int64_t{1} << 60, 1 << 20})), Failure);
  write_file(::testing::TempDir() + "vireo_tensor.pb", std::string("\xff\xff\xff\xff"));
  EXPECT_THROW(read_tensor_file(::testing::TempDir() + "vireo_tensor.pb"), Failure);
}

}  // namespace
}  // namespace vireo::tool
