#include "c_api/cli/run_log.h"

#include <gtest/gtest.h>

namespace vireo::cli::run_log_test {
namespace {

vireo_node_info node(uint32_t depth, uint64_t total_ns, uint64_t calls) {
  vireo_node_info n = VIREO_NODE_INFO_INIT;
  n.depth = depth;
  n.total_ns = total_ns;
  n.calls = calls;
  return n;
}

TEST(RunLog, PercentilesAreOfRunsAndNotOfSums) {
  RunLog log({node(0, 7000, 1), node(0, 500, 1)});
  // One run of five was interrupted: the mean of the first node is 3.6 us, its median 2.
  uint64_t a = 7000, b = 500;
  for (const uint64_t ns : {2000u, 1000u, 10000u, 2000u, 3000u}) {
    a += ns, b += 1000;
    TracedRun run;
    run.end_us = static_cast<double>(ns) / 1000 + 1.5;
    log.add(run, {node(0, a, 2), node(0, b, 2)});
  }
  const std::vector<Percentiles> nodes = log.node_us();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].p50, 2);
  EXPECT_NEAR(nodes[0].p10, 1.4, 1e-9);
  EXPECT_NEAR(nodes[0].p90, 7.2, 1e-9);
  EXPECT_EQ(nodes[1].p50, 1);
  EXPECT_EQ(log.wall_us().p50, 3.5);
  EXPECT_NEAR(log.between_us().p50, 0.5, 1e-9);
  EXPECT_EQ(log.count(), 5u);
}

// However long it goes on, what is kept stays bounded and lies over the whole time.
TEST(RunLog, KeepsRunsEvenly) {
  const std::vector<vireo_node_info> nodes(40000, node(0, 0, 0));
  RunLog log(nodes);
  for (int i = 0; i < 50; ++i) {
    TracedRun run;
    run.start_us = i;
    run.end_us = i + 1;
    log.add(run, nodes);
  }
  EXPECT_EQ(log.count(), 50u);
  EXPECT_EQ(log.first().size(), 1u);  // traced_runs()
  ASSERT_LE(log.runs().size(), logged_runs(nodes.size()));
  ASSERT_GE(log.runs().size(), logged_runs(nodes.size()) / 2);
  const double step = log.runs()[1].start_us - log.runs()[0].start_us;
  for (size_t i = 1; i < log.runs().size(); ++i) EXPECT_EQ(log.runs()[i].start_us - log.runs()[i - 1].start_us, step);
  EXPECT_GT(log.runs().back().start_us + 2 * step, 49);
}

TEST(RunLog, SlicesLieInTheOrderOfNodesInsideTheirOwners) {
  TracedRun run;
  run.ns = {10000, 30000, 20000, 90000, 5000, 7000};
  run.calls = {1, 1, 3, 1, 0, 1};
  const std::vector<Slice> slices =
      slices_of({node(0, 0, 0), node(0, 0, 0), node(1, 0, 0), node(1, 0, 0), node(0, 0, 0), node(0, 0, 0)}, run);
  ASSERT_EQ(slices.size(), 5u);
  EXPECT_EQ(slices[1].start_us, 10);
  EXPECT_EQ(slices[2].start_us, 10);
  EXPECT_EQ(slices[3].start_us, 30);
  EXPECT_EQ(slices[3].length_us, 10);  // what its owner has left
  EXPECT_EQ(slices[4].node, 5u);
  EXPECT_EQ(slices[4].start_us, 40);
}

TEST(RunLog, WithoutRunsThereIsNothing) {
  const RunLog log({node(0, 0, 0)});
  EXPECT_EQ(log.wall_us().p50, 0);
  EXPECT_EQ(log.node_us()[0].p90, 0);
}

}  // namespace
}  // namespace vireo::cli::run_log_test
