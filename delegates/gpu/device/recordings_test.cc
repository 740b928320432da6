// Into which pieces a schedule is cut, by what its steps took. No card: pieces are only told.
#include <gtest/gtest.h>

#include "delegates/gpu/device/device.h"

namespace vireo::gpu::recordings_test {
namespace {

using Groups = std::array<uint32_t, 3>;

class Told final : public Recordings {
 public:
  Told(const std::vector<Groups>& steps, bool parts) : parts_(parts) {
    for (const Groups& groups : steps) {
      Launch launch;
      launch.groups = groups;
      schedule_.steps.push_back(launch);
    }
  }
  vireo_status make(Schedule, std::string*) override { return VIREO_OK; }

  // A run whose steps take so long, the parts of one equally.
  void run(const std::vector<uint64_t>& ns) {
    const std::vector<Commands>* all = nullptr;
    ASSERT_EQ(at(nullptr, {}, &all), VIREO_OK);
    for (size_t p = 0; p < pieces.size(); ++p) {
      uint64_t sum = 0;
      for (uint32_t s = pieces[p].first; s < pieces[p].end; ++s) sum += ns[s] / pieces[p].parts;
      took(p, sum);
    }
    (void)ran();
    ASSERT_EQ(at(nullptr, {}, &all), VIREO_OK);
  }

  std::vector<Stretch> pieces;
  int recorded = 0;

 private:
  bool launches_parts() const override { return parts_; }
  vireo_status record(uint32_t, const std::vector<Stretch>& to, const Place*, const OwnPlaces&,
                      std::vector<Commands>* out) override {
    ++recorded;
    pieces = to;
    EXPECT_LE(to.size(), most_pieces());
    out->assign(to.size(), nullptr);
    return VIREO_OK;
  }
  const bool parts_;
};

TEST(GpuRecordings, LongStepsAreCutByTheirWorkgroups) {
  Told r({{{4, 1, 1}, {2, 100, 1}, {1, 1, 1}, {8, 1, 1}}}, true);
  r.cut(100);
  const std::vector<uint64_t> ns = {50, 1000, 400, 60};
  r.run(ns);
  r.run(ns);
  ASSERT_EQ(r.pieces.size(), 1u + 10 + 1 + 1);
  for (uint32_t p = 0; p < 10; ++p) {
    const Stretch& piece = r.pieces[1 + p];
    EXPECT_EQ(piece.first, 1u);
    EXPECT_EQ(piece.part, p);
    EXPECT_EQ(piece.parts, 10u);
  }
  EXPECT_EQ(r.pieces[11].parts, 1u) << "one workgroup stays one";
  EXPECT_EQ(r.pieces[12].first, 3u);
  // Later runs change nothing, unless the step takes longer than was thought.
  const int before = r.recorded;
  r.run(ns);
  EXPECT_EQ(r.recorded, before);
  r.run({50, 2000, 400, 60});
  EXPECT_EQ(r.pieces.size(), 1u + 20 + 1 + 1);
}

TEST(GpuRecordings, PiecesAreNotMoreThanTheyMayBe) {
  Told r({{{1000, 1, 1}, {1000, 1, 1}, {3, 1, 1}}}, true);
  r.cut(1);
  for (int i = 0; i < 4; ++i) r.run({1000, 1000, 1000});
  EXPECT_EQ(r.pieces.size(), 3u + 64);
  EXPECT_EQ(r.pieces.back().parts, 1u);
}

TEST(GpuRecordings, StepsStayWholeWhereTheApiHasNoFirstWorkgroup) {
  Told r({{{100, 1, 1}, {100, 1, 1}}}, false);
  r.cut(100);
  for (int i = 0; i < 3; ++i) r.run({1000, 50});
  EXPECT_EQ(r.pieces.size(), 2u);
}

// Every workgroup is in one part.
TEST(GpuRecordings, PartsCoverALaunch) {
  for (const Groups& groups : {Groups{7, 1, 1}, Groups{3, 64, 2}, Groups{1, 1, 5}}) {
    for (uint32_t parts = 1; parts <= 5; ++parts) {
      uint32_t next = 0;
      const size_t axis = groups[0] == 7 ? 0 : groups[1] == 64 ? 1 : 2;
      for (uint32_t p = 0; p < parts; ++p) {
        const Range r = part_of(groups, p, parts);
        EXPECT_EQ(r.base[axis], next);
        EXPECT_GT(r.groups[axis], 0u);
        next += r.groups[axis];
        for (size_t other = 0; other < 3; ++other) {
          if (other == axis) continue;
          EXPECT_TRUE(r.base[other] == 0 && r.groups[other] == groups[other]);
        }
      }
      EXPECT_EQ(next, groups[axis]);
    }
  }
}

}  // namespace
}  // namespace vireo::gpu::recordings_test
