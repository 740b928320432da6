#include "runtime/memory/texts.h"

#include <gtest/gtest.h>
#include <time.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace vireo::texts_test {
namespace {

// Counts what is held; refuses from `most` bytes on.
struct Heap {
  size_t held = 0, most = SIZE_MAX;

  vireo_allocator allocator() {
    vireo_allocator a = {};
    a.context = this;
    a.allocate = [](void* context, size_t bytes, size_t) -> void* {
      auto& heap = *static_cast<Heap*>(context);
      if (__atomic_add_fetch(&heap.held, bytes, __ATOMIC_RELAXED) <= heap.most) return std::malloc(bytes);
      __atomic_sub_fetch(&heap.held, bytes, __ATOMIC_RELAXED);
      return nullptr;
    };
    a.release = [](void* context, void* memory, size_t bytes, size_t) {
      __atomic_sub_fetch(&static_cast<Heap*>(context)->held, bytes, __ATOMIC_RELAXED);
      std::free(memory);
    };
    return a;
  }
};

std::string reason(int node) { return "node " + std::to_string(node) + " is not for this device"; }

TEST(Texts, KeepsEachOnce) {
  Heap heap;
  const vireo_allocator allocator = heap.allocator();
  Texts texts;
  EXPECT_STREQ(texts.keep(allocator, nullptr), "");
  EXPECT_STREQ(texts.keep(allocator, ""), "");
  EXPECT_EQ(texts.bytes(), 0u);
  std::string text = "its shapes vary";
  const char* const first = texts.keep(allocator, text.c_str());
  EXPECT_NE(first, text.c_str());
  text[0] = 'I';
  EXPECT_STREQ(first, "its shapes vary");
  EXPECT_EQ(texts.keep(allocator, "its shapes vary"), first);
  EXPECT_NE(texts.keep(allocator, text.c_str()), first);
  EXPECT_EQ(texts.bytes(), heap.held);
  texts.release(allocator);
  EXPECT_EQ(heap.held, 0u);
}

TEST(Texts, WithoutMemoryThereIsNone) {
  Heap heap;
  const vireo_allocator allocator = heap.allocator();
  Texts texts;
  const char* const first = texts.keep(allocator, "a");
  ASSERT_NE(first, nullptr);
  heap.most = heap.held;  // one text, not two
  EXPECT_EQ(texts.keep(allocator, "b"), nullptr);
  EXPECT_EQ(texts.keep(allocator, "a"), first);
  EXPECT_EQ(texts.bytes(), heap.held);
  texts.release(allocator);
  EXPECT_EQ(heap.held, 0u);
}

// A text for each node of a large graph, twice: as two sessions have them. Comparing each with all before it takes
// minutes; the limit is processor time, and some hundred times what it takes.
TEST(Texts, ManyTakeTimeByTheirNumber) {
  constexpr int kNodes = 100000;
  Heap heap;
  const vireo_allocator allocator = heap.allocator();
  Texts texts;
  const clock_t begin = clock();
  std::vector<const char*> kept;
  for (int i = 0; i < kNodes; ++i) kept.push_back(texts.keep(allocator, reason(i).c_str()));
  const size_t bytes = texts.bytes();
  for (int i = 0; i < kNodes; ++i) ASSERT_EQ(texts.keep(allocator, reason(i).c_str()), kept[static_cast<size_t>(i)]);
  EXPECT_EQ(texts.bytes(), bytes);
  EXPECT_LT(clock() - begin, 10 * CLOCKS_PER_SEC);
  texts.release(allocator);
  EXPECT_EQ(heap.held, 0u);
}

TEST(Texts, ThreadsShareThem) {
  constexpr int kThreads = 4, kTexts = 2000;
  Heap heap;
  const vireo_allocator allocator = heap.allocator();
  Texts texts;
  std::vector<std::vector<const char*>> kept(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kTexts; ++i) kept[static_cast<size_t>(t)].push_back(texts.keep(allocator, reason(i).c_str()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& list : kept) EXPECT_EQ(list, kept[0]);
  EXPECT_EQ(texts.bytes(), heap.held);
  texts.release(allocator);
  EXPECT_EQ(heap.held, 0u);
}

}  // namespace
}  // namespace vireo::texts_test
