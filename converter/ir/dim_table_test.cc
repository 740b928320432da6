#include "converter/ir/dim_table.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

namespace vireo::ir::dim_table_test {
namespace {

struct Dims : ::testing::Test {
  DimTable t;
  Dim n = t.symbol("N"), p = t.symbol("P"), s = t.symbol("S");
};

TEST_F(Dims, OneNormalForm) {
  EXPECT_EQ(t.add(n, p), t.add(p, n));
  EXPECT_EQ(t.sub(t.add(n, p), p), n);
  EXPECT_EQ(t.sub(n, n), 0);
  EXPECT_EQ(t.mul(t.add(n, 1), t.sub(n, 1)), t.sub(t.mul(n, n), 1));
  EXPECT_EQ(t.mul(n, 0), 0);
}

TEST_F(Dims, ExactDivision) {
  EXPECT_EQ(t.floor_div(t.mul(t.mul(n, 4), s), t.mul(n, 2)), t.mul(s, 2));
  EXPECT_EQ(t.floor_div(t.add(t.mul(n, s), t.mul(n, p)), t.add(s, p)), n);
  EXPECT_EQ(t.floor_div(t.mul(n, 768), 64), t.mul(n, 12));
}

TEST_F(Dims, FloorDivision) {
  // floor((4 N + 7) / 4) = N + 1; floor(floor(N / 2) / 3) = floor(N / 6); floor((2 N + 1) / 4) = floor(N / 2).
  EXPECT_EQ(t.floor_div(t.add(t.mul(n, 4), 7), 4), t.add(n, 1));
  EXPECT_EQ(t.floor_div(t.floor_div(n, 2), 3), t.floor_div(n, 6));
  EXPECT_EQ(t.floor_div(t.add(t.mul(n, 2), 1), 4), t.floor_div(n, 2));
  EXPECT_EQ(t.floor_div(n, 0), 0);
}

TEST_F(Dims, BoundsDecideMinAndMax) {
  ASSERT_TRUE(t.set_bounds("P", 1, 8));
  EXPECT_EQ(t.max(p, 1), p);
  EXPECT_EQ(t.min(p, 8), p);
  EXPECT_EQ(t.min(p, 100), p);
  EXPECT_EQ(t.max(t.add(n, p), n), t.add(n, p));
  EXPECT_TRUE(is_symbolic(t.min(p, 7)));
  EXPECT_EQ(t.floor_div(p, 9), 0);
}

// x and the lesser of x and another broadcast to x: a table of positions that is cut to a sequence's length.
TEST_F(Dims, Absorption) {
  EXPECT_EQ(t.max(n, t.min(n, p)), n);
  EXPECT_EQ(t.max(t.min(512, n), n), n);
  EXPECT_EQ(t.min(t.max(p, n), n), n);
  EXPECT_TRUE(is_symbolic(t.max(t.min(n, 512), p)));
  EXPECT_NE(t.max(t.min(n, 512), p), p);
  EXPECT_NE(t.max(t.add(t.min(n, p), 1), n), n);
}

TEST_F(Dims, NarrowingFindsTheSymbol) {
  const size_t atoms = t.atoms().size();
  // floor((2 N + 1) / 3) >= 2 from N = 3 on.
  ASSERT_TRUE(t.narrow(t.floor_div(t.add(t.mul(n, 2), 1), 3), 2, INT64_MAX, atoms));
  EXPECT_EQ(t.interval(n).lo, 3);
  EXPECT_TRUE(t.interval(n).open());
  ASSERT_TRUE(t.narrow(t.sub(p, 3), 1, 1, atoms));
  EXPECT_EQ(t.interval(p).lo, 4);
  EXPECT_EQ(t.interval(p).hi, 4);
  EXPECT_EQ(t.sub(t.min(p, 4), 4), t.sub(p, 4));
}

TEST_F(Dims, WhatCannotBeNarrowedStays) {
  const size_t atoms = t.atoms().size();
  const Dim data = t.fresh("data");
  ASSERT_TRUE(t.set_bounds("P", 5, 8));
  for (const Dim d : {t.add(n, s), t.mul(n, s), data, t.min(n, s), t.sub(0, n), p, Dim{7}}) {
    EXPECT_FALSE(t.narrow(d, 2, 4, atoms)) << t.text(d);
  }
  EXPECT_EQ(t.interval(n).lo, 0);
  EXPECT_EQ(t.interval(p).lo, 5);
  EXPECT_TRUE(t.interval(data).open());
}

TEST_F(Dims, DataDependentIsBoundedByItsUpper) {
  ASSERT_TRUE(t.set_bounds("P", 1, 8));
  const Dim k = t.fresh_bounded("k", t.mul(p, 3));
  EXPECT_EQ(t.interval(k).lo, 0);
  EXPECT_EQ(t.interval(k).hi, 24);
  EXPECT_NE(k, t.fresh_bounded("k", t.mul(p, 3)));  // each is an extent of its own
}

TEST_F(Dims, OverflowIsLargerThanEveryExtent) {
  const Dim big = int64_t{1} << 62;
  EXPECT_EQ(t.mul(t.mul(n, big), 4), INT64_MAX);
}

// "All of them" as exporters write it. Differences with it fall among the handles, or overflow.
TEST_F(Dims, TheLargestNumberIsAboveEveryExtent) {
  ASSERT_TRUE(t.set_bounds("P", 1, 8));
  for (const Dim x : {n, p, t.sub(n, 5), t.mul(n, p), t.add(n, p)}) {
    EXPECT_EQ(t.min(x, INT64_MAX), x) << t.text(x);
    EXPECT_EQ(t.min(INT64_MAX, x), x) << t.text(x);
    EXPECT_EQ(t.max(x, INT64_MAX), INT64_MAX) << t.text(x);
    EXPECT_EQ(t.max(INT64_MAX, x), INT64_MAX) << t.text(x);
  }
  EXPECT_EQ(t.min(p, INT64_MAX - 1), p);
  EXPECT_TRUE(is_symbolic(t.min(n, INT64_MAX - 1)));
  EXPECT_EQ(t.text(t.sub(n, INT64_MAX)), "N - 9223372036854775807");
}

TEST_F(Dims, DifferencesThatOverflowAreOpen) {
  const Dim low = t.sub(n, 5), far = t.sub(0, t.mul(n, INT64_MAX - 1)), near = t.mul(n, 4);
  EXPECT_EQ(t.sub(low, INT64_MAX), DimTable::kTooSmall);
  EXPECT_EQ(t.sub(0, INT64_MAX), DimTable::kTooSmall);
  EXPECT_EQ(t.sub(near, far), DimTable::kTooLarge);
  EXPECT_EQ(t.difference(near, far).lo, INT64_MIN);
  EXPECT_EQ(t.difference(near, far).hi, INT64_MAX);
}

TEST_F(Dims, MoreTermsThanAreWorthItAreTooLarge) {
  Dim product = 1, power = n;
  for (int i = 0; i < 6; ++i) {
    Dim sum = 0;
    for (int k = 0; k < 20; ++k) sum = t.add(sum, t.symbol("x" + std::to_string(20 * i + k)));
    product = t.mul(product, sum);
    if (i < 2) {
      EXPECT_TRUE(is_symbolic(product));
    } else {
      EXPECT_EQ(product, DimTable::kTooLarge);  // and stays so
    }
  }
  for (int i = 0; i < 6; ++i) power = t.mul(power, power);
  EXPECT_TRUE(is_symbolic(power));
  EXPECT_EQ(t.mul(power, power), DimTable::kTooLarge);
}

TEST_F(Dims, TextReadsBack) {
  for (const char* text :
       {"N", "2*N + 3", "N*P - S", "floor((N + 1) / (2))", "max(N, P)", "4*floor((N + 3) / (4))", "`a b`"}) {
    Dim a = 0, b = 0;
    ASSERT_TRUE(t.parse(text, &a)) << text;
    ASSERT_TRUE(t.parse(t.text(a), &b)) << t.text(a);
    EXPECT_EQ(a, b) << text << " printed as " << t.text(a);
  }
  Dim d = 0;
  for (const char* text : {"", "N +", "floor(N)", "(N", "2 N", "max(N)"}) EXPECT_FALSE(t.parse(text, &d)) << text;
}

// Random expressions, evaluated at random points: simplification must not change what they mean, and the interval must
// hold the value.
TEST(DimTable, SimplifiesWithoutChangingValues) {
  std::mt19937 rng(7);
  for (int round = 0; round < 2000; ++round) {
    DimTable t;
    const int64_t point[3] = {1 + static_cast<int64_t>(rng() % 9), 1 + static_cast<int64_t>(rng() % 9),
                              1 + static_cast<int64_t>(rng() % 9)};
    Dim symbols[3];
    for (int i = 0; i < 3; ++i) {
      const std::string name(1, static_cast<char>('a' + i));
      t.symbol(name);
      t.set_bounds(name, 1, 9);
      symbols[i] = t.symbol(name);
    }
    const std::function<std::pair<Dim, int64_t>(int)> make = [&](int depth) -> std::pair<Dim, int64_t> {
      if (depth == 0 || rng() % 5 == 0) {
        if (rng() % 2 == 0) {
          const int64_t c = static_cast<int64_t>(rng() % 13) - 4;
          return {c, c};
        }
        const size_t i = rng() % 3;
        return {symbols[i], point[i]};
      }
      const auto [a, va] = make(depth - 1);
      const auto [b, vb] = make(depth - 1);
      switch (rng() % 6) {
        case 0:
          return {t.add(a, b), va + vb};
        case 1:
          return {t.sub(a, b), va - vb};
        case 2:
          return {t.mul(a, b), va * vb};
        case 3:
          if (vb == 0) return {a, va};  // (x * b) / b = x is only promised where b is not 0
          return {t.floor_div(a, b), floor_div(va, vb)};
        case 4:
          return {t.min(a, b), std::min(va, vb)};
        default:
          return {t.max(a, b), std::max(va, vb)};
      }
    };
    const auto [d, v] = make(4);
    // Substitute the point by evaluating the normal form.
    const std::function<int64_t(Dim)> value = [&](Dim x) -> int64_t {
      if (!is_symbolic(x)) return x;
      int64_t sum = 0;
      for (const auto& [m, c] : t.polynomial(x)) {
        int64_t term = c;
        for (const uint32_t id : m) {
          const DimTable::Atom& atom = t.atoms()[id];
          const int64_t va = atom.kind == ExprKind::kSymbol ? 0 : value(atom.a),
                        vb = atom.kind == ExprKind::kSymbol ? 0 : value(atom.b);
          switch (atom.kind) {
            case ExprKind::kSymbol:
              term *= point[atom.symbol.name[0] - 'a'];
              break;
            case ExprKind::kFloorDiv:
              term *= floor_div(va, vb);
              break;
            case ExprKind::kMin:
              term *= std::min(va, vb);
              break;
            default:
              term *= std::max(va, vb);
              break;
          }
        }
        sum += term;
      }
      return sum;
    };
    ASSERT_EQ(value(d), v) << t.text(d) << " at " << point[0] << ", " << point[1] << ", " << point[2];
    const Interval range = t.interval(d);
    ASSERT_LE(range.lo, v) << t.text(d);
    ASSERT_GE(range.hi, v) << t.text(d);
  }
}

TEST(DimTable, TextEndsWhereNobodyReadsOn) {
  DimTable t;
  Dim a = t.symbol("N"), b = 0;
  for (int i = 0; i < 60; ++i) {  // each doubles the text
    b = a;
    a = t.add(t.floor_div(t.add(t.mul(a, 3), 1), 2), t.floor_div(a, 5));
  }
  EXPECT_LT(t.text(a).size(), 1100u);
  EXPECT_NE(t.text(a), t.text(b));
}

TEST(DimTable, ExpressionsAreSoDeepAtMost) {
  DimTable t;
  const Dim n = t.symbol("N");
  Dim d = n, bound = n;
  int levels = 0, bounds = 0;
  for (; d != DimTable::kTooLarge && levels < 2000; ++levels) d = t.add(t.floor_div(t.add(d, 1), 2), n);
  EXPECT_EQ(levels, 513);
  EXPECT_EQ(t.limit_met(), "512 divisions, minimums, maximums and bounds inside each other");
  for (; bound != DimTable::kTooLarge && bounds < 2000; ++bounds) bound = t.fresh_bounded("size", bound);
  EXPECT_EQ(bounds, 513);
}

TEST(DimTable, TermsEnd) {
  DimTable t;
  std::vector<Dim> sums{t.symbol("N0")};
  for (int i = 1; i < 40; ++i) sums.push_back(t.add(sums.back(), t.symbol("N" + std::to_string(i))));
  EXPECT_EQ(t.limit_met(), "");
  Dim square = 0;
  int squares = 0;
  for (; square != DimTable::kTooLarge && squares < 100000; ++squares) square = t.mul(sums.back(), sums.back());
  EXPECT_LT(squares, 1000);
  EXPECT_EQ(t.limit_met(), "524288 terms of extents' expressions");
  // What is there stays, and numbers are no terms.
  EXPECT_EQ(t.add(t.mul(3, 4), 5), 17);
  EXPECT_EQ(t.interval(sums.back()).lo, 0);
  EXPECT_EQ(t.text(sums[1]), "N0 + N1");
}

TEST(DimTable, FreshNamesOfOneStem) {
  DimTable t;
  t.symbol("x.size.2");
  EXPECT_EQ(t.text(t.fresh("x.size")), "x.size");
  EXPECT_EQ(t.text(t.fresh("x.size")), "x.size.1");
  EXPECT_EQ(t.text(t.fresh_bounded("x.size", 8)), "x.size.3");
}

}  // namespace
}  // namespace vireo::ir::dim_table_test
