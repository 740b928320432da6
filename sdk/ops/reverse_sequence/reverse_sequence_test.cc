#include <gtest/gtest.h>

#include "sdk/ops/reverse_sequence/reverse_sequence_generated.h"
#include "sdk/ops/testing.h"
#include "sdk/ops/view.h"

namespace vireo::reverse_sequence_test {
namespace {

using F32 = std::vector<float>;

TEST(ReverseSequence, OnnxExamples) {  // ONNX "ReverseSequence": reversesequence_time, reversesequence_batch
  OpTest time(Op::kReverseSequence, pack<attrs::ReverseSequence>(attrs::ReverseSequenceT{}));
  time.input<float>({4, 4}, {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15}).input<int64_t>({4}, {4, 3, 2, 1});
  ASSERT_EQ(time.run(), Status::kOk) << time.message();
  EXPECT_EQ(time.y().as<float>(), (F32{3, 6, 9, 12, 2, 5, 8, 13, 1, 4, 10, 14, 0, 7, 11, 15}));
  attrs::ReverseSequenceT a;
  a.batch_axis = 0;
  a.time_axis = 1;
  OpTest batch(Op::kReverseSequence, pack<attrs::ReverseSequence>(a));
  batch.input<float>({4, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}).input<int64_t>({4}, {1, 2, 3, 4});
  ASSERT_EQ(batch.run(), Status::kOk) << batch.message();
  EXPECT_EQ(batch.y().as<float>(), (F32{0, 1, 2, 3, 5, 4, 6, 7, 10, 9, 8, 11, 15, 14, 13, 12}));
}

TEST(ReverseSequence, LengthsOutsideAreRefusedZeroKeeps) {
  OpTest zero(Op::kReverseSequence, pack<attrs::ReverseSequence>(attrs::ReverseSequenceT{}));
  zero.input<float>({2, 1, 2}, {1, 2, 3, 4}).input<int64_t>({1}, {0});
  ASSERT_EQ(zero.run(), Status::kOk) << zero.message();
  EXPECT_EQ(zero.y().as<float>(), (F32{1, 2, 3, 4}));
  for (const int64_t n : {3, -1}) {
    OpTest t(Op::kReverseSequence, pack<attrs::ReverseSequence>(attrs::ReverseSequenceT{}));
    EXPECT_EQ(t.input<float>({2, 1}, {1, 2}).input<int64_t>({1}, {n}).run(), Status::kInvalidArgument);
  }
}

}  // namespace
}  // namespace vireo::reverse_sequence_test
