#include "sdk/base/sized.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "sdk/base/c_error.h"

namespace vireo::sized_test {
namespace {

struct Options {
  uint32_t struct_size;
  uint32_t first;
  uint64_t second;
};
struct OlderOptions {
  uint32_t struct_size;
  uint32_t first;
};
struct NewerOptions {
  uint32_t struct_size;
  uint32_t first;
  uint64_t second;
  uint64_t third;
};

constexpr SizedName kName = {"options", "OPTIONS_INIT"};

TEST(Sized, NothingIsAllDefaults) {
  Options to;
  ASSERT_EQ(read_sized(static_cast<const Options*>(nullptr), &to, kName, nullptr), Status::kOk);
  EXPECT_EQ(to.struct_size, sizeof(Options));
  EXPECT_EQ(to.first, 0u);
  EXPECT_EQ(to.second, 0u);
}

TEST(Sized, AnOlderStructHasDefaultsBehindItsEnd) {
  struct {
    OlderOptions options;
    uint64_t another = 9;  // lies where today's second field would
  } older = {{sizeof(OlderOptions), 7}};
  Options to;
  ASSERT_EQ(read_sized(&older.options, &to, sizeof(to), kName, nullptr), Status::kOk);
  EXPECT_EQ(to.struct_size, sizeof(Options));
  EXPECT_EQ(to.first, 7u);
  EXPECT_EQ(to.second, 0u);
}

TEST(Sized, ANewerStructIsTakenWhileWhatIsNotKnownIsZero) {
  NewerOptions newer = {sizeof(newer), 7, 8, 0};
  Options to;
  ASSERT_EQ(read_sized(&newer, &to, sizeof(to), kName, nullptr), Status::kOk);
  EXPECT_EQ(to.second, 8u);
  newer.third = 1;
  Error error;
  EXPECT_EQ(read_sized(&newer, &to, sizeof(to), kName, &error), Status::kInvalidArgument);
  EXPECT_NE(std::string(error.message).find("options: the field at byte 16"), std::string::npos) << error.message;
}

TEST(Sized, ASizeThatWasNeverSetIsRefused) {
  for (const uint32_t size : {0u, 3u, kMostStructBytes + 5, 0xdeadbeefu}) {
    Options from = {size, 7, 8}, to;
    Error error;
    EXPECT_EQ(read_sized(&from, &to, kName, &error), Status::kInvalidArgument) << size;
    EXPECT_NE(std::string(error.message).find("OPTIONS_INIT"), std::string::npos) << error.message;
    EXPECT_EQ(check_sized(&from, kName, nullptr), Status::kInvalidArgument) << size;
  }
}

TEST(Sized, AResultEndsWhereTheCallersStructDoes) {
  const Options value = {sizeof(value), 7, 8};
  NewerOptions to = {sizeof(OlderOptions), 1, 2, 3};
  write_sized(&value, sizeof(value), &to);
  EXPECT_EQ(to.struct_size, sizeof(OlderOptions));
  EXPECT_EQ(to.first, 7u);
  EXPECT_EQ(to.second, 2u) << "the caller's struct ends in front of it";

  to = {sizeof(NewerOptions), 1, 2, 3};
  write_sized(&value, sizeof(value), &to);
  EXPECT_EQ(to.struct_size, sizeof(NewerOptions));
  EXPECT_EQ(to.second, 8u);
  EXPECT_EQ(to.third, 0u) << "what this library does not know";
}

TEST(Sized, ElementsAreAsFarApartAsTheFirstOneSays) {
  const Options value = {sizeof(value), 7, 8};
  NewerOptions all[3] = {{sizeof(NewerOptions), 1, 1, 1}, {0, 1, 1, 1}, {0, 1, 1, 1}};
  for (uint32_t i = 0; i < 2; ++i) write_sized_at(&value, sizeof(value), all, i);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(all[i].struct_size, sizeof(NewerOptions));
    EXPECT_EQ(all[i].second, 8u);
    EXPECT_EQ(all[i].third, 0u);
  }
  EXPECT_EQ(all[2].first, 1u);
}

TEST(CError, FieldsThatDoNotFitAreLeftOut) {
  vireo_error error;
  std::memset(&error, 'x', sizeof(error));
  error.struct_size = offsetof(vireo_error, node) + 8;  // ends within `node`
  Error from;
  (void)fail(&from, Status::kBusy, "story");
  from.node = from.tensor = "place";
  EXPECT_EQ(report(Status::kBusy, from, &error), VIREO_BUSY);
  EXPECT_EQ(error.status, VIREO_BUSY);
  EXPECT_STREQ(error.message, "story");
  EXPECT_EQ(error.node[0], 'x');
  EXPECT_EQ(error.tensor[0], 'x');
  clear(&error);
  EXPECT_EQ(error.status, VIREO_OK);
  EXPECT_EQ(error.node[0], 'x');

  error.struct_size = 0;
  EXPECT_EQ(refuse(&error, VIREO_IO, "other"), VIREO_IO);
  EXPECT_EQ(error.status, VIREO_OK) << "nothing is written where no size was set";
}

}  // namespace
}  // namespace vireo::sized_test
