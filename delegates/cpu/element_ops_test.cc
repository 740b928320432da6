// Casts, signs, choices and integer sums against the reference kernels, to the bit.
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "delegates/cpu/ops_testing.h"
#include "sdk/ops/binary/binary_generated.h"
#include "sdk/ops/cast/cast_generated.h"
#include "sdk/ops/pad/pad_generated.h"
#include "sdk/ops/unary/unary_generated.h"
#include "sdk/ops/view.h"
#include "sdk/ops/where/where_generated.h"

namespace vireo {
namespace {

using cpu::testing::for_each_level;

TEST(CpuCast, SameBits) {
  struct Pair {
    DType from, to;
    const char* kernel;
  };
  const Pair pairs[] = {{DType::kI32, DType::kF32, "cast_i32_f32"},   {DType::kI64, DType::kF32, "cast_i64_f32"},
                        {DType::kU8, DType::kF32, "cast_u8_f32"},     {DType::kI8, DType::kF32, "cast_i8_f32"},
                        {DType::kI32, DType::kI64, "cast_i32_i64"},   {DType::kBool, DType::kF32, "cast_bool_f32"},
                        {DType::kBool, DType::kI64, "cast_bool_i64"}, {DType::kBool, DType::kI32, "cast_bool_i32"},
                        {DType::kI64, DType::kI32, "cast_i64_i32"},   {DType::kI32, DType::kBool, "cast_i32_bool"},
                        {DType::kI64, DType::kBool, "cast_i64_bool"}, {DType::kU8, DType::kBool, "cast_u8_bool"},
                        {DType::kU8, DType::kI32, "cast_u8_i32"},     {DType::kI8, DType::kI32, "cast_i8_i32"},
                        {DType::kU8, DType::kI64, "cast_u8_i64"},     {DType::kI8, DType::kI64, "cast_i8_i64"}};
  for (const int32_t slots : {1, 3}) {
    for (const int64_t count : {1, 17, 40000}) {
      for (const Pair& p : pairs) {
        attrs::CastT a;
        a.to = static_cast<uint8_t>(p.to);
        TestTensor x = Values(1).bytes(p.from, {count});
        if (p.from == DType::kBool) {
          for (uint8_t& v : x.bytes) v &= 1;
        }
        Case(Op::kCast, pack<attrs::Cast>(a), {x}).expect_same_bits(p.kernel, slots);
      }
      // Of any bits, NaN and what no integer holds among them.
      for (const Pair& p : {Pair{DType::kF32, DType::kBool, "cast_f32_bool"},
                            {DType::kF32, DType::kI32, "cast_f32_i32"},
                            {DType::kF32, DType::kI64, "cast_f32_i64"}}) {
        attrs::CastT a;
        a.to = static_cast<uint8_t>(p.to);
        TestTensor any = Values(4).bytes(DType::kF32, {count});
        if (count > 8) {
          const float edges[] = {0, -0.0F, INFINITY, -INFINITY, NAN, 0x1p63F, -0x1p63F, 0x1.fffffep62F};
          memcpy(any.bytes.data(), edges, sizeof(edges));
        }
        Case(Op::kCast, pack<attrs::Cast>(a), {any}).expect_same_bits(p.kernel, slots);
        Case(Op::kCast, pack<attrs::Cast>(a), {Values(5).reals({count}, -300, 300)}).expect_same_bits(p.kernel, slots);
      }
      for_each_level([&](const char*) {
        attrs::CastT a;
        a.to = static_cast<uint8_t>(DType::kF16);
        Case(Op::kCast, pack<attrs::Cast>(a), {Values(2).reals({count}, -70000, 70000)})
            .expect_same_bits("cast_f32_f16", slots);
        a.to = static_cast<uint8_t>(DType::kF32);
        Case(Op::kCast, pack<attrs::Cast>(a), {Values(3).halves({count}, -9, 9)})
            .expect_same_bits("cast_f16_f32", slots);
      });
    }
  }
}

TEST(CpuIntegers, SameBits) {
  struct Way {
    Op op;
    const char* kernel;
  };
  for (const DType type : {DType::kI32, DType::kI64}) {
    for (const Way& way : {Way{Op::kAdd, "add_integers"},
                           {Op::kSub, "sub_integers"},
                           {Op::kMul, "mul_integers"},
                           {Op::kMin, "min_integers"},
                           {Op::kMax, "max_integers"}}) {
      for (const int64_t count : {1, 17, 20000}) {
        const TestTensor many = Values(1).bytes(type, {count, 3}), more = Values(2).bytes(type, {count, 3}),
                         one = Values(3).bytes(type, {1});
        for (const auto& [a, b] : {std::pair(many, more), {many, one}, {one, many}, {many, many}})
          Case(way.op, pack<attrs::Binary>(attrs::BinaryT{}), {a, b}).expect_same_bits(way.kernel, 2);
        const TestTensor row = Values(4).bytes(type, {3}), column = Values(5).bytes(type, {count, 1});
        for (const auto& [a, b] : {std::pair(many, row), {row, many}, {many, column}, {column, many}, {row, column}})
          Case(way.op, pack<attrs::Binary>(attrs::BinaryT{}), {a, b}).expect_same_bits(way.kernel, 2);
      }
    }
  }
}

TEST(CpuWhere, SameBits) {
  struct Kind {
    DType type;
    const char* kernel;
  };
  const auto flags = [](std::initializer_list<int64_t> dims) {
    TestTensor c = Values(9).bytes(DType::kBool, dims);
    for (uint8_t& v : c.bytes) v &= 1;
    return c;
  };
  for (const Kind& k : {Kind{DType::kF32, "where_32bit"},
                        {DType::kI64, "where_64bit"},
                        {DType::kF16, "where_16bit"},
                        {DType::kU8, "where_8bit"}}) {
    for (const int64_t n : {1, 17, 600}) {
      const TestTensor x = Values(1).bytes(k.type, {5, n}), z = Values(2).bytes(k.type, {5, n}),
                       one = Values(3).bytes(k.type, {}), row = Values(4).bytes(k.type, {n}),
                       column = Values(6).bytes(k.type, {5, 1});
      const TestTensor all = flags({5, n}), by_row = flags({5, 1}), by_column = flags({n}), alone = flags({});
      for (const TestTensor& c : {all, by_row, by_column, alone}) {
        for (const auto& [a, b] : {std::pair(x, z), {x, one}, {one, z}, {x, row}, {column, z}, {row, column}})
          Case(Op::kWhere, pack<attrs::Where>(attrs::WhereT{}), {c, a, b}).expect_same_bits(k.kernel, 3);
      }
      Case(Op::kNot, pack<attrs::Unary>(attrs::UnaryT{}), {all}).expect_same_bits("not", 2);
    }
  }
  Case(Op::kNot, pack<attrs::Unary>(attrs::UnaryT{}), {flags({70001})}).expect_same_bits("not", 3);
}

TEST(CpuSign, SameBits) {
  for (const int64_t count : {1, 17, 40000}) {
    TestTensor any = Values(4).bytes(DType::kF32, {count});
    const float edges[] = {0, -0.0F, NAN, INFINITY};
    if (count > 4) memcpy(any.bytes.data(), edges, sizeof(edges));
    Case(Op::kSign, pack<attrs::Unary>(attrs::UnaryT{}), {any}).expect_same_bits("sign_f32", 2);
  }
}

TEST(CpuPad, SameBits) {
  struct Kind {
    DType type;
    const char* kernel;
  };
  const auto list = [](const std::vector<int64_t>& values) {
    TestTensor t = Values(0).bytes(DType::kI64, {static_cast<int64_t>(values.size())});
    memcpy(t.bytes.data(), values.data(), t.bytes.size());
    return t;
  };
  for (const Kind& k : {Kind{DType::kF32, "pad_32bit"},
                        {DType::kI64, "pad_64bit"},
                        {DType::kF16, "pad_16bit"},
                        {DType::kU8, "pad_8bit"}}) {
    const TestTensor x = Values(1).bytes(k.type, {3, 5, 7, 33}), one = Values(2).bytes(k.type, {});
    attrs::PadT a;
    for (const auto& pads :
         {list({0, 0, 1, 2, 0, 0, 3, 4}), list({0, 1, 2, 0, 0, 2, 1, 0}), list({1, 0, 0, 0, 2, 0, 0, 0}),
          list({-1, 0, 2, -3, 0, -2, -1, 4}), list({0, 0, 0, 0, 0, 0, 0, 0}), list({0, 0, -7, 1, 0, 0, 3, 1})}) {
      Case(Op::kPad, pack<attrs::Pad>(a), {x, pads}).expect_same_bits(k.kernel, 2);
      Case(Op::kPad, pack<attrs::Pad>(a), {x, pads, one}).expect_same_bits(k.kernel, 1);
    }
    Case(Op::kPad, pack<attrs::Pad>(a), {x, list({1, 2, 3, 4}), one, list({-1, 1})}).expect_same_bits(k.kernel, 1);
    a.mode = attrs::PadMode::edge;
    Case(Op::kPad, pack<attrs::Pad>(a), {x, list({0, 0, 1, 2, 0, 0, 3, 4})}).expect_same_bits("reference", 1);
  }
}

TEST(CpuSine, NearTheReference) {
  for_each_level([](const char*) {
    for (const int64_t count : {1, 17, 40000}) {
      for (const auto& [op, kernel] : {std::pair(Op::kSin, "sin_f32"), {Op::kCos, "cos_f32"}}) {
        for (const float most : {4.0F, 1e4F, 1e6F})
          Case(op, pack<attrs::Unary>(attrs::UnaryT{}), {Values(1).reals({count}, -most, most)})
              .expect_close(kernel, 4e-7, 2);
        Case(op, pack<attrs::Unary>(attrs::UnaryT{}), {Values(2).halves({count}, -4, 4)})
            .expect_same_bits("reference", 1);
      }
    }
  });
}

}  // namespace
}  // namespace vireo
