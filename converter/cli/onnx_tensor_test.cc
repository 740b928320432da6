#include "converter/cli/onnx_tensor.h"

#include <gtest/gtest.h>
#include <onnx/onnx-ml.pb.h>

#include "c_api/cli/failure.h"
#include "c_api/cli/file.h"

namespace vireo::cli::onnx_tensor_test {
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

// Packed in raw_data, one to an entry in int32_data (onnx.proto, both fields).
TEST(OnnxTensor, ReadsSixBitFloats) {
  onnx::TensorProto raw = proto(onnx::TensorProto::FLOAT6E2M3, {5});
  raw.set_raw_data(std::string("\x81\x30\xFC\x20"));
  onnx::TensorProto typed = proto(onnx::TensorProto::FLOAT6E2M3, {5});
  for (const int code : {0x01, 0x02, 0x03, 0x3F, 0x20}) typed.add_int32_data(code);
  const Array a = round(raw);
  EXPECT_EQ(a.bytes, round(typed).bytes);
  EXPECT_EQ(real_at(a, 1), 0.25);
  EXPECT_EQ(real_at(a, 3), -7.5);
  raw.set_raw_data("12345");
  EXPECT_THROW(round(raw), Failure);
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

// A field of onnx-data.proto: bytes, or a number.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string field(int number, uint8_t value) { return {static_cast<char>(number << 3), static_cast<char>(value)}; }
std::string scalar(int64_t value) {
  onnx::TensorProto t = proto(onnx::TensorProto::INT64, {});
  t.add_int64_data(value);
  return t.SerializeAsString();
}

CaseValue read_map(const std::string& bytes, bool sequence) {
  write_file(::testing::TempDir() + "vireo_map.pb", bytes);
  CaseType type;
  type.map = true;
  type.sequence = sequence;
  return read_case_value(::testing::TempDir() + "vireo_map.pb", type);
}

TEST(OnnxTensor, ReadsMapsInTheOrderOfTheirKeys) {
  const std::string values = field(5, field(3, scalar(10)) + field(3, scalar(20)) + field(3, scalar(30)));
  const std::string alone = field(3, uint8_t{9}) + field(3, uint8_t{2}) + field(3, uint8_t{5});
  const std::string packed = field(3, std::string{9, 2, 5});
  for (const std::string& keys : {alone, packed}) {
    const CaseValue map = read_map(keys + values, false);
    ASSERT_EQ(map.tensors.size(), 2u);
    EXPECT_EQ(text_at(map.tensors[0], 0) + text_at(map.tensors[0], 1) + text_at(map.tensors[0], 2), "259");
    EXPECT_EQ(text_at(map.tensors[1], 0) + text_at(map.tensors[1], 1) + text_at(map.tensors[1], 2), "203010");
  }
  const std::string texts = field(4, std::string("b")) + field(4, std::string("")) + field(4, std::string("aa"));
  const CaseValue two = read_map(field(6, texts + values) + field(6, texts + values), true);
  EXPECT_EQ(two.tensors[0].strings, (std::vector<std::string>{"", "aa", "b"}));
  EXPECT_EQ(two.tensors[1].dims, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(text_at(two.tensors[1], 3), "20");
}

TEST(OnnxTensor, RefusesMapsThatAreNone) {
  const std::string value = field(3, scalar(10)), one = field(5, value), two = field(5, value + value);
  EXPECT_THROW(read_map(field(3, uint8_t{9}) + two, false), Failure);                            // a key too few
  EXPECT_THROW(read_map(field(3, uint8_t{9}) + field(3, uint8_t{9}) + two, false), Failure);     // one key twice
  EXPECT_THROW(read_map(field(3, std::string{static_cast<char>(0x80)}) + one, false), Failure);  // a number cut short
  EXPECT_THROW(read_map("", true), Failure);
  const std::string other = field(6, field(3, uint8_t{8}) + one);
  EXPECT_THROW(read_map(field(6, field(3, uint8_t{9}) + one) + other, true), Failure);  // of different keys
  Array keys = make_array(VIREO_INT64, {2}), values = make_array(VIREO_FLOAT32, {2, 3});
  EXPECT_FALSE(sort_by_key(&keys, &values));
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
}  // namespace vireo::cli::onnx_tensor_test
