// Views of every kind over drawn shapes, on the least target and on a rich one, against plain loops.
#include <gtest/gtest.h>

#include "delegates/gpu/spirv/emit.h"
#include "delegates/gpu/templates/chain.h"
#include "delegates/gpu/templates/testing.h"

namespace vireo::gpu::chain_test {
namespace {

int64_t count(const Extents& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  return n;
}

template <class F>
void for_places(const Extents& shape, const F& f) {
  Extents at(shape.size(), 0);
  for (int64_t n = count(shape); n-- > 0;) {
    f(at);
    for (size_t i = shape.size(); i-- > 0;) {
      if (++at[i] < shape[i]) break;
      at[i] = 0;
    }
  }
}

int64_t index_of(const View& v, const Extents& at) {
  int64_t sum = v.offset;
  for (size_t i = 0; i < at.size(); ++i) sum += v.strides[i] * at[i];
  return sum;
}

// What a problem without steps moves, element by element.
Bytes moved(const ChainProblem& p, const std::vector<Bytes>& inputs, size_t bytes, Bytes y) {
  for_places(p.shape, [&](const Extents& place) {
    const uint8_t* from = nullptr;
    uint64_t fill = 0;
    for (int i = p.expression.outputs[0].value; from == nullptr && i >= 0;) {
      const View& v = p.expression.inputs[static_cast<size_t>(i)].view;
      Extents at = place;
      if (v.gather_axis >= 0) {
        const auto& picked = inputs[static_cast<size_t>(v.gather_input)];
        const int64_t where = index_of(p.expression.inputs[static_cast<size_t>(v.gather_input)].view, place);
        int64_t index = 0;
        memcpy(&index, picked.data() + where * 8, 8);
        at[static_cast<size_t>(v.gather_axis)] = index < 0 ? index + v.gather_extent : index;
      }
      bool inside = true;
      for (size_t a = 0; a < v.begin.size(); ++a) {
        at[a] -= v.begin[a];
        inside = inside && at[a] >= 0 && at[a] < v.extent[a];
      }
      if (inside) from = inputs[static_cast<size_t>(i)].data() + index_of(v, at) * static_cast<int64_t>(bytes);
      fill = v.fill;
      i = v.otherwise;
    }
    const int64_t to = index_of(p.expression.outputs[0].view, place);
    memcpy(y.data() + to * static_cast<int64_t>(bytes),
           from == nullptr ? reinterpret_cast<const uint8_t*>(&fill) : from, bytes);
  });
  return y;
}

void add_move(Trials& trials, const std::string& name, const ChainProblem& p, const std::vector<Bytes>& inputs,
              size_t bytes, size_t out_count, const Target& target) {
  const Dispatch d = make_chain(p, choose_chain(p, target), target);
  std::vector<Bytes> bindings = inputs;
  bindings.push_back(Bytes(out_count * bytes, 0x55));
  const Bytes wanted = moved(p, inputs, bytes, bindings.back());
  trials.add(name, d, target, bindings, [wanted](const std::vector<Bytes>& out) { EXPECT_EQ(out.back(), wanted); });
}

struct Width {
  DType type;
  size_t bytes;
};
const Width kWidths[] = {{DType::kU8, 1}, {DType::kF16, 2}, {DType::kF32, 4}, {DType::kF64, 8}};

TEST(Chain, MovesElementsOfEveryWidth) {
  Trials trials;
  const Extents shapes[] = {{}, {1}, {7}, {64}, {3, 5}, {2, 3, 8}, {5, 1, 4, 3}, {2, 1, 3, 2, 5}};
  uint32_t seed = 1;
  for (const Target& target : {plain_target(), rich_target(), opened(plain_target()), opened(rich_target())}) {
    for (const Width& w : kWidths) {
      for (const Extents& shape : shapes) {
        // The source lies with its axes reversed: a transpose.
        ChainProblem p;
        p.shape = shape;
        View from;
        int64_t step = 1;
        for (const int64_t d : shape) {
          from.strides.push_back(step);
          step *= d;
        }
        p.expression.inputs = {{w.type, from}};
        p.expression.outputs = {{0, dense(shape)}};
        const size_t n = static_cast<size_t>(count(shape));
        add_move(trials, "transpose", p, {random_bytes(n * w.bytes, seed++)}, w.bytes, n, target);
      }
    }
  }
}

// What is the same for all elements of a row is worked out once for the four of a lane.
TEST(Chain, RowsShareWhatRepeats) {
  Trials trials;
  std::vector<size_t> words;
  for (const bool repeats : {false, true}) {
    ChainProblem p;
    p.shape = {5, 7};
    View row;
    row.strides = {7, repeats ? 0 : 1};
    p.expression.inputs = {{DType::kF32, dense(p.shape)}, {DType::kF32, row}};
    Step power, mul;
    power.function = Function::kExp;
    power.a = 1;
    mul.function = Function::kMul;
    mul.a = 0;
    mul.b = 2;
    p.expression.steps = {power, mul};
    p.expression.outputs = {{3, dense(p.shape)}};
    const Dispatch d = make_chain(p, choose_chain(p, rich_target()), rich_target());
    words.push_back(emit_spirv(d.program, rich_target()).size());
    const std::vector<float> x = random_floats(35, 1), r = random_floats(35, 2);
    trials.add("rows", d, rich_target(), {bytes_of(x), bytes_of(r), Bytes(140, 1)}, [=](const std::vector<Bytes>& out) {
      const std::vector<float> y = as<float>(out.back());
      for (size_t i = 0; i < 35; ++i) {
        const double e = exp(static_cast<double>(r[repeats ? i / 7 * 7 : i]));
        ASSERT_NEAR(static_cast<double>(y[i]), static_cast<double>(x[i]) * e, 1e-5) << i;
      }
    });
  }
  EXPECT_LT(words[1] * 4, words[0] * 3);
}

TEST(Chain, SlicesBroadcastsPadsConcatsAndGathers) {
  Trials trials;
  uint32_t seed = 100;
  for (const Target& target : {plain_target(), rich_target(), opened(plain_target()), opened(rich_target())}) {
    for (const Width& w : kWidths) {
      const Extents shape = {4, 6, 8};
      ChainProblem slice;  // of [9, 7, 20], backwards along the second axis, every second of the last
      slice.shape = shape;
      View v;
      v.offset = 2 * 140 + 6 * 20 + 3;
      v.strides = {140, -20, 2};
      slice.expression.inputs = {{w.type, v}};
      slice.expression.outputs = {{0, dense(shape)}};
      add_move(trials, "slice", slice, {random_bytes(9 * 140 * w.bytes, seed++)}, w.bytes, 192, target);

      ChainProblem expand = slice;
      expand.expression.inputs[0].view.offset = 0;
      expand.expression.inputs[0].view.strides = {0, 1, 0};
      add_move(trials, "expand", expand, {random_bytes(6 * w.bytes, seed++)}, w.bytes, 192, target);

      ChainProblem pad = slice;  // [2, 5, 3] inside [4, 6, 8]
      View& inner = pad.expression.inputs[0].view;
      inner.offset = 0;
      inner.strides = {15, 3, 1};
      inner.begin = {1, -1, 2};
      inner.extent = {2, 5, 3};
      inner.fill = w.bytes == 8 ? 0x3F8000003F800000 : 0x3C3C3C3C & ((uint64_t{1} << (8 * w.bytes)) - 1);
      add_move(trials, "pad", pad, {random_bytes(30 * w.bytes, seed++)}, w.bytes, 192, target);

      ChainProblem concat = slice;  // along the last axis: 3 and 5
      View first = dense({4, 6, 3}), second = dense({4, 6, 5});
      first.begin = second.begin = {0, 0, 0};
      first.extent = {4, 6, 3};
      second.extent = {4, 6, 5};
      second.begin = {0, 0, 3};
      second.otherwise = 0;
      concat.expression.inputs = {{w.type, first}, {w.type, second}};
      concat.expression.outputs = {{1, dense(shape)}};
      add_move(trials, "concat", concat, {random_bytes(72 * w.bytes, seed), random_bytes(120 * w.bytes, seed + 1)},
               w.bytes, 192, target);

      ChainProblem gather = slice;  // rows of [4, 10, 8] by indices [6]
      View table = dense({4, 10, 8}), indices;
      indices.strides = {0, 1, 0};
      table.gather_axis = 1;
      table.gather_input = 0;
      table.gather_extent = 10;
      gather.expression.inputs = {{DType::kI64, indices}, {w.type, table}};
      gather.expression.outputs = {{1, dense(shape)}};
      const std::vector<int64_t> picked = {9, 0, -1, -10, 3, 3};
      add_move(trials, "gather", gather, {bytes_of(picked), random_bytes(320 * w.bytes, seed++)}, w.bytes, 192, target);
    }
  }
}

TEST(Chain, NarrowElementsThatAreNotWholeWordsNeedStorage) {
  ChainProblem p;
  p.shape = {4, 3};
  View wide;
  wide.strides = {8, 1};  // into a wider output
  p.expression.inputs = {{DType::kU8, dense(p.shape)}};
  p.expression.outputs = {{0, wide}};
  EXPECT_NE(make_chain(p, {}, plain_target()).refusal, "");
  Trials trials;
  add_move(trials, "into a wider one", p, {random_bytes(12, 1)}, 1, 32, rich_target());
}

TEST(Chain, StepsOfSeveralInputsAndOutputs) {
  Trials trials;
  const Extents shape = {3, 4, 5};
  ChainProblem p;
  p.shape = shape;
  View bias;
  bias.strides = {0, 1, 0};
  p.expression.inputs = {{DType::kF32, dense(shape)}, {DType::kF32, bias}};
  Step add, relu, half;
  add.function = Function::kAdd;
  add.a = 0;
  add.b = 1;
  relu.function = Function::kRelu;
  relu.a = 2;
  half.function = Function::kConstant;
  half.bits = 0x3F000000;
  Step mul;
  mul.function = Function::kMul;
  mul.a = 3;
  mul.b = 4;
  p.expression.steps = {add, relu, half, mul};
  p.expression.outputs = {{2, dense(shape)}, {5, dense(shape)}};
  const std::vector<float> x = random_floats(60, 1), b = random_floats(4, 2);
  for (const Target& target : {plain_target(), rich_target(), opened(plain_target()), opened(rich_target())}) {
    trials.add("bias, relu, half", make_chain(p, choose_chain(p, target), target), target,
               {bytes_of(x), bytes_of(b), Bytes(240), Bytes(240)}, [x, b](const std::vector<Bytes>& out) {
                 const std::vector<float> sum = as<float>(out[2]), y = as<float>(out[3]);
                 for (size_t i = 0; i < 60; ++i) {
                   const float s = x[i] + b[i / 5 % 4];
                   EXPECT_EQ(sum[i], s);
                   EXPECT_EQ(y[i], (s < 0 ? 0 : s) * 0.5f);
                 }
               });
  }
}

TEST(Chain, ShapesShareAProgram) {
  const auto program = [](Extents shape) {
    ChainProblem p;
    p.shape = shape;
    View column;
    column.strides = {1, 0};
    Step add;
    add.function = Function::kAdd;
    add.a = 0;
    add.b = 1;
    p.expression.inputs = {{DType::kF32, dense(shape)}, {DType::kF32, column}};
    p.expression.steps = {add};
    p.expression.outputs = {{2, dense(shape)}};
    return make_chain(p, {}, plain_target()).program;
  };
  const Program a = program({6, 8}), b = program({60, 128});
  ASSERT_EQ(a.body.size(), b.body.size());
  for (size_t i = 0; i < a.body.size(); ++i) EXPECT_EQ(a.body[i].bits, b.body[i].bits) << i;
}

// Elements at computed places: y[i, j] = x[k[i], j] for indices of both widths, some of which are outside; and a view
// that gathers, which reports them likewise.
void add_indexed(Trials& trials, DType index, bool by_view, bool wrong, const Target& target) {
  constexpr int64_t kRows = 5, kColumns = 3, kPicked = 6;
  const std::vector<int64_t> picked = {4, -5, 0, -1, wrong ? 5 : 2, 1};
  std::vector<float> x = random_floats(kRows * kColumns, 3);
  std::vector<int32_t> narrow(picked.begin(), picked.end());
  ChainProblem p;
  p.shape = {kPicked, kColumns};
  Expression& e = p.expression;
  Input which, from;
  which.dtype = index;
  which.view.strides = {1, 0};
  from.view.strides = by_view ? Extents{kColumns, 1} : Extents{0, 0};
  from.indexed = !by_view;
  if (by_view) {
    from.view.gather_axis = 0;
    from.view.gather_input = 0;
    from.view.gather_extent = kRows;
    from.view.gather_reports = true;
  }
  e.inputs = {which, from};
  e.slot = 2;
  const auto step = [&e](Function f, DType type, int a, int b, int64_t bits) {
    Step s;
    s.function = f;
    s.type = type;
    s.a = a;
    s.b = b;
    s.bits = static_cast<uint64_t>(bits);
    e.steps.push_back(s);
    return static_cast<int>(e.inputs.size() + e.steps.size()) - 1;
  };
  int y = 1;
  if (!by_view) {
    const int row = step(Function::kIndex, DType::kI32, 0, -1, kRows);
    const int column = step(Function::kPlace, DType::kI32, -1, -1, 1);
    const int width = step(Function::kNumber, DType::kI32, -1, -1, kColumns);
    const int first = step(Function::kMul, DType::kI32, row, width, 0);
    y = step(Function::kElement, DType::kF32, 1, step(Function::kAdd, DType::kI32, first, column, 0), 0);
  }
  Output out;
  out.value = y;
  out.view = dense(p.shape);
  e.outputs = {out};
  const std::string name = std::string(by_view ? "view " : "element ") + dtype_name(index) + (wrong ? " wrong" : "");
  trials.add(name, make_chain(p, choose_chain(p, target), target), target,
             {index == DType::kI64 ? bytes_of(picked) : bytes_of(narrow), bytes_of(x),
              Bytes(kPicked * kColumns * 4, 0x55), Bytes(16, 0)},
             [=](const std::vector<Bytes>& result) {
               const std::vector<float> got = as<float>(result[2]);
               for (size_t i = 0; i < picked.size(); ++i) {
                 if (wrong && i == 4) continue;  // of no meaning
                 const int64_t row = picked[i] < 0 ? picked[i] + kRows : picked[i];
                 for (int64_t j = 0; j < kColumns; ++j)
                   ASSERT_EQ(got[i * kColumns + static_cast<size_t>(j)], x[static_cast<size_t>(row * kColumns + j)]);
               }
               EXPECT_EQ(as<uint32_t>(result[3]), (std::vector<uint32_t>{0, 0, wrong ? 1u : 0u, 0}));
             });
}

TEST(Chain, IndicesOfARun) {
  Trials trials;
  for (const DType index : {DType::kI32, DType::kI64}) {
    for (const bool by_view : {false, true}) {
      for (const bool wrong : {false, true}) {
        add_indexed(trials, index, by_view, wrong, rich_target());
        if (index == DType::kI32 || by_view) add_indexed(trials, index, by_view, wrong, plain_target());
      }
    }
  }
}

// Positions, which do not count from the end.
TEST(Chain, AnIndexBelowZeroMayBeAnError) {
  Trials trials;
  for (const bool from_end : {true, false}) {
    ChainProblem p;
    p.shape = {2};
    Input which, from;
    which.dtype = DType::kI32;
    which.view.strides = {1};
    from.view.strides = {1};
    from.view.gather_axis = from.view.gather_input = 0;
    from.view.gather_extent = 4;
    from.view.gather_reports = true;
    from.view.gather_from_end = from_end;
    p.expression.inputs = {which, from};
    Output out;
    out.value = 1;
    out.view = dense(p.shape);
    p.expression.outputs = {out};
    const std::vector<int32_t> picked = {1, -1};
    trials.add("from end", make_chain(p, choose_chain(p, plain_target()), plain_target()), plain_target(),
               {bytes_of(picked), bytes_of(random_floats(4, 1)), Bytes(8, 0x55), Bytes(4, 0)},
               [=](const std::vector<Bytes>& result) { EXPECT_EQ(as<uint32_t>(result[3])[0], from_end ? 0u : 1u); });
  }
}

// An index whose low word alone would be one.
TEST(Chain, AnIndexOfSixtyFourBitsIsReadWhole) {
  Trials trials;
  ChainProblem p;
  p.shape = {2};
  Input which, from;
  which.dtype = DType::kI64;
  which.view.strides = {1};
  from.view.strides = {1};
  from.view.gather_axis = from.view.gather_input = 0;
  from.view.gather_extent = 4;
  from.view.gather_reports = true;
  p.expression.inputs = {which, from};
  Output out;
  out.value = 1;
  out.view = dense(p.shape);
  p.expression.outputs = {out};
  const std::vector<int64_t> picked = {1, (int64_t{1} << 32) + 1};
  trials.add("wide", make_chain(p, choose_chain(p, plain_target()), plain_target()), plain_target(),
             {bytes_of(picked), bytes_of(random_floats(4, 1)), Bytes(8, 0x55), Bytes(4, 0)},
             [=](const std::vector<Bytes>& result) { EXPECT_EQ(as<uint32_t>(result[3])[0], 1u); });
}

}  // namespace
}  // namespace vireo::gpu::chain_test
