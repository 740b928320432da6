#include "delegates/gpu/lower/known_problems.h"

#include <gtest/gtest.h>

namespace vireo::gpu::known_problems_test {
namespace {

// Parts of one run make a problem once. What stands for the bounds is not kept: runs would not ask for it.
TEST(KnownProblems, PartsOfARunShareProblems) {
  Target open;
  open.bindings = 16;
  open.open = true;
  ChainProblem chain;
  chain.shape = {4, 100};
  ExpressionBuilder b(&chain.expression);
  View dense;
  dense.strides = {100, 1};
  b.output(b.function(Function::kExp, kReal, b.input(kReal, dense)), dense);
  ChainProblem longer = chain;
  longer.shape = {5, 100};
  MadeBefore made;
  KnownProblems bounds(open, &made), first(open, &made, true), second(open, &made, true), without(open, nullptr, true);
  const MadeProblem& of_bounds = bounds(chain);
  const MadeProblem& of_first = first(chain);
  EXPECT_NE(&of_bounds, &of_first);
  EXPECT_EQ(&of_first, &second(chain));
  EXPECT_NE(&of_first, &second(longer));
  EXPECT_NE(&of_first, &without(chain));
  EXPECT_EQ(of_first.refusal, "");
  EXPECT_EQ(of_first.kernel, of_bounds.kernel);
  EXPECT_EQ(of_first.kernel, second(longer).kernel);
  EXPECT_NE(of_first.push, second(longer).push);
}

}  // namespace
}  // namespace vireo::gpu::known_problems_test
