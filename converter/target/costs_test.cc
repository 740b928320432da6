#include "converter/target/costs.h"

#include <gtest/gtest.h>

#include <set>

#include "converter/target/profile.h"

namespace vireo::target::costs_test {
namespace {

TEST(Costs, EveryTableHasEveryRow) {
  std::set<std::string> names;
  for (const CostRow& row : cost_rows()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " stands twice";
    EXPECT_NE(std::string(row.text), "") << row.name;
    for (const CostTable& t : cost_tables()) {
      // A limit may be 0: there is no such kernel. A rate of 0 is one that was forgotten.
      EXPECT_TRUE(row.is_rate ? t.costs.*row.member > 0 : t.costs.*row.member >= 0) << t.kind << ": " << row.name;
    }
  }
  EXPECT_EQ(sizeof(KernelCosts), cost_rows().size() * sizeof(double));
}

TEST(Costs, AreFoundByKind) {
  ASSERT_NE(find_costs("cpu"), nullptr);
  EXPECT_EQ(&find_costs("cpu")->costs, &default_costs());
  EXPECT_EQ(find_costs("abacus"), nullptr);
}

// The first of a target's devices that has a table.
TEST(Costs, OfAProfile) {
  const KernelCosts& cpu = default_costs();
  Profile profile;
  profile.devices = {{"", "npu"}, {"cpu", ""}};
  EXPECT_EQ(&costs_of(profile), &cpu);
  profile.devices = {{"", "npu"}};
  EXPECT_EQ(&costs_of(profile), &cpu);  // nothing better is known
}

}  // namespace
}  // namespace vireo::target::costs_test
