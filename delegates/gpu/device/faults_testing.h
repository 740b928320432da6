// What each delegate of GPUs makes of a driver that fails: the tests that hold for every API, over its fake driver.
//
// An Api has
//   Control                         what a test sets in the fake driver, and what it reads
//   kVariable, kLibrary, kControl   the variable that names a driver, the fake one in the build, its symbol for Control
//   open(host, out)                 the delegate's table
//   target()                        what the fake card is
//   compiled(control)               kernels that the fake driver has compiled
//   submits(control, priority)      what it was given to do with a priority
//   have_priorities(control, have)  its cards have a queue for each priority, or one for all
//   kStepNs                         what a launch takes by its clock
//   kParts                          into how many pieces a long launch of 13 workgroups is cut
//   served(control, priority)       the priority that work of this one has there
//   expect_no_misuse(control), expect_left_after_loss(control)
#ifndef VIREO_DELEGATES_GPU_DEVICE_FAULTS_TESTING_H_
#define VIREO_DELEGATES_GPU_DEVICE_FAULTS_TESTING_H_

#include <dlfcn.h>

#include <chrono>
#include <new>
#include <thread>

#include "delegates/gpu/device/table_testing.h"
#include "tests/support/roots.h"

namespace vireo::gpu::testing {

template <class Api>
class GpuFaults : public ::testing::Test {
 public:
  using Control = typename Api::Control;
  struct Session : gpu::testing::Session {
    Session(const vireo_delegate* delegate, void* on, const vireo_host& with, const Target& target = Api::target())
        : gpu::testing::Session(delegate, on, with, target) {}
  };

 protected:
  static std::string fake_path() { return tests::build_path(Api::kLibrary); }

  void SetUp() override {
    ASSERT_EQ(setenv(Api::kVariable, fake_path().c_str(), 1), 0);
    void* const library = dlopen(fake_path().c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    ASSERT_NE(library, nullptr) << dlerror();
    control_ = reinterpret_cast<Control* (*)()>(dlsym(library, Api::kControl))();
    control_->~Control();
    new (control_) Control();
  }
  void TearDown() override {
    unsetenv(Api::kVariable);
    EXPECT_EQ(host_.lent, 0);
    Api::expect_no_misuse(*control_);
  }

  const vireo_delegate* open() {
    const vireo_delegate* d = nullptr;
    EXPECT_EQ(Api::open(&host_.table, &d), VIREO_OK);
    return d;
  }
  // The devices' names, and what was logged.
  std::string devices() {
    host_.log.clear();
    const vireo_delegate* const d = open();
    if (d == nullptr) return "";
    std::string names;
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    void* device = nullptr;
    for (uint32_t i = 0; d->enumerate(d->self, nullptr, i, &info, &device) == VIREO_OK; ++i)
      (names += info.name) += " ";
    d->release(d->self);
    EXPECT_EQ(control_->alive, 0);
    return names + host_.log;
  }

  // d_ and device_ between these.
  void start() {
    d_ = open();
    vireo_device_info info = VIREO_DEVICE_INFO_INIT;
    ASSERT_EQ(d_->enumerate(d_->self, nullptr, 0, &info, &device_), VIREO_OK) << host_.log;
  }
  void end() {
    d_->release(d_->self);
    EXPECT_EQ(control_->alive, 0);
    EXPECT_EQ(control_->taken, 0);
  }

  // The driver's work goes on after a while; join it.
  std::thread goes_on_after(std::chrono::milliseconds time) {
    return std::thread([this, time] {
      std::this_thread::sleep_for(time);
      control_->hangs = false;
    });
  }

  Control* control_ = nullptr;
  Host host_;
  const vireo_delegate* d_ = nullptr;
  void* device_ = nullptr;
};

TYPED_TEST_SUITE_P(GpuFaults);

TYPED_TEST_P(GpuFaults, LargeCopiesGoInPieces) {
  this->start();
  void* buffer = nullptr;
  constexpr uint64_t kSize = (13u << 20) + 5;
  ASSERT_EQ(this->d_->buffer_create(this->device_, &this->host_.table, kSize, &buffer), VIREO_OK);
  std::vector<uint8_t> there(kSize), back(kSize);
  uint32_t state = 1;
  for (uint8_t& b : there) b = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  ASSERT_EQ(this->d_->buffer_write(this->device_, buffer, 0, there.data(), kSize), VIREO_OK);
  ASSERT_EQ(this->d_->buffer_read(this->device_, buffer, 0, back.data(), kSize), VIREO_OK);
  EXPECT_TRUE(there == back);
  EXPECT_EQ(this->d_->buffer_write(this->device_, buffer, kSize, there.data(), 8), VIREO_INVALID_ARGUMENT);
  EXPECT_EQ(this->d_->buffer_read(this->device_, buffer, UINT64_MAX, back.data(), 8), VIREO_INVALID_ARGUMENT);
  this->d_->buffer_release(this->device_, buffer);
  this->end();
}

TYPED_TEST_P(GpuFaults, WantOfDeviceMemoryIsSaid) {
  this->start();
  void* buffer = nullptr;
  EXPECT_EQ(this->d_->buffer_create(this->device_, &this->host_.table, 65u << 20, &buffer), VIREO_OUT_OF_ARENA);
  EXPECT_EQ(this->d_->buffer_create(this->device_, &this->host_.table, uint64_t{1} << 40, &buffer), VIREO_OUT_OF_ARENA);
  EXPECT_EQ(this->d_->buffer_create(this->device_, &this->host_.table, UINT64_MAX, &buffer), VIREO_OUT_OF_ARENA);
  EXPECT_EQ(this->d_->health(this->device_), VIREO_OK);
  this->end();
}

TYPED_TEST_P(GpuFaults, CancelWaitsForWhatEnds) {
  this->start();
  {
    typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    this->control_->hangs = true;
    ASSERT_EQ(s.submit(), VIREO_OK);
    EXPECT_EQ(s.wait(0), VIREO_BUSY);
    EXPECT_EQ(s.wait(5'000'000), VIREO_BUSY);
    std::thread later = this->goes_on_after(std::chrono::milliseconds(20));
    this->d_->cancel(s.loaded);
    later.join();
    EXPECT_EQ(s.wait(0), VIREO_CANCELLED);
    EXPECT_EQ(this->d_->health(this->device_), VIREO_OK);
    EXPECT_EQ(s.run(4), VIREO_OK);
  }
  this->end();
}

TYPED_TEST_P(GpuFaults, WhatDoesNotEndIsLostAndKeepsItsMemory) {
  this->start();
  {
    typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    this->control_->hangs = true;
    ASSERT_EQ(s.submit(), VIREO_OK);
    this->d_->cancel(s.loaded);
    EXPECT_EQ(s.wait(0), VIREO_DEVICE_LOST);
    EXPECT_EQ(this->d_->health(this->device_), VIREO_DEVICE_LOST);
    EXPECT_EQ(s.submit(), VIREO_DEVICE_LOST);
    EXPECT_EQ(s.write(s.buffer, 0), VIREO_DEVICE_LOST);
  }
  EXPECT_GT(this->control_->taken, 0);  // the card may still write there
  EXPECT_EQ(this->d_->reset(this->device_), VIREO_OK);
  this->control_->hangs = false;
  {
    typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
    EXPECT_EQ(s.run(50), VIREO_OK);
  }
  this->d_->release(this->d_->self);
  TypeParam::expect_left_after_loss(*this->control_);
}

TYPED_TEST_P(GpuFaults, ABufferStaysUntilItsCopiesAreDone) {
  this->start();
  {
    typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    void* buffer = nullptr;
    ASSERT_EQ(this->d_->buffer_create(this->device_, &this->host_.table, kRoom, &buffer), VIREO_OK);
    this->control_->hangs = true;
    ASSERT_EQ(s.write(buffer, 7), VIREO_OK);  // on its way
    std::thread later = this->goes_on_after(std::chrono::milliseconds(20));
    this->d_->buffer_release(this->device_, buffer);
    later.join();
    EXPECT_EQ(this->d_->health(this->device_), VIREO_OK);
  }
  this->end();
}

TYPED_TEST_P(GpuFaults, RecordingsFollowTheirPlaces) {
  this->start();
  {
    typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
    ASSERT_EQ(s.run(1), VIREO_OK);
    // More sets of places than recordings; then a new buffer, which may have an old one's address.
    std::vector<void*> buffers(6);
    for (void*& b : buffers)
      ASSERT_EQ(this->d_->buffer_create(this->device_, &this->host_.table, 2 * kRoom, &b), VIREO_OK);
    for (uint32_t round = 0; round < 20; ++round) {
      void*& b = buffers[round * 5 % buffers.size()];
      ASSERT_EQ(s.write(b, round), VIREO_OK);
      ASSERT_EQ(s.bind(b), VIREO_OK);
      ASSERT_EQ(s.submit(), VIREO_OK);
      ASSERT_EQ(s.wait(), VIREO_OK);
      ASSERT_EQ(s.check(b, round), VIREO_OK);
      if (round % 3 != 0) continue;
      this->d_->buffer_release(this->device_, b);
      ASSERT_EQ(this->d_->buffer_create(this->device_, &this->host_.table, 2 * kRoom, &b), VIREO_OK);
    }
    // Where they are unchanged nothing is recorded again.
    ASSERT_EQ(s.bind(buffers[0]), VIREO_OK);
    const int64_t calls = this->control_->calls;
    ASSERT_EQ(s.bind(buffers[0]), VIREO_OK);
    EXPECT_EQ(this->control_->calls, calls);
    void* small = nullptr;
    ASSERT_EQ(this->d_->buffer_create(this->device_, &this->host_.table, kRoom, &small), VIREO_OK);
    EXPECT_EQ(s.bind(small), VIREO_INVALID_ARGUMENT);
    EXPECT_EQ(s.bind(nullptr), VIREO_INVALID_ARGUMENT);
    this->d_->buffer_release(this->device_, small);
    for (void* b : buffers) this->d_->buffer_release(this->device_, b);
  }
  this->end();
}

TYPED_TEST_P(GpuFaults, OneKernelIsCompiledOnce) {
  this->start();
  {
    typename TestFixture::Session first(this->d_, this->device_, this->host_.table),
        second(this->d_, this->device_, this->host_.table);
    ASSERT_EQ(first.run(1), VIREO_OK);
    const int64_t made = TypeParam::compiled(*this->control_);
    ASSERT_EQ(second.run(1), VIREO_OK);
    EXPECT_EQ(TypeParam::compiled(*this->control_), made);
  }
  this->end();
}

TYPED_TEST_P(GpuFaults, SessionsRunSideBySide) {
  this->start();
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
      for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(s.run(t * 1000 + i), VIREO_OK) << s.fault.text;
    });
  }
  for (std::thread& t : threads) t.join();
  this->end();
}

// Pieces are as long as they may be, once it was seen how long their steps take. A step that is longer is cut where the
// API has parts of a launch.
TYPED_TEST_P(GpuFaults, LongWorkHasGaps) {
  this->start();
  for (const auto& [slice_ns, pieces] :
       {std::pair{uint64_t{0}, 1u}, {uint64_t{1}, kDepth * TypeParam::kParts}, {uint64_t{1} << 40, 1u}}) {
    typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
    s.slice_ns = slice_ns;
    ASSERT_EQ(s.create(), VIREO_OK);
    ASSERT_EQ(s.load(), VIREO_OK) << s.fault.text;
    ASSERT_EQ(s.bind(s.buffer), VIREO_OK);
    for (uint32_t r = 0; r < 6; ++r) {
      ASSERT_EQ(s.write(s.buffer, 100 * r), VIREO_OK);
      const bool trial = slice_ns != 0 && r < 2;
      EXPECT_EQ(s.run_counted(), trial ? kDepth : pieces) << slice_ns << " ns, run " << r;
      ASSERT_EQ(s.check(s.buffer, 100 * r), VIREO_OK);
    }
  }
  this->end();
}

TYPED_TEST_P(GpuFaults, CancelDropsThePiecesThatAreLeft) {
  this->start();
  {
    typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
    s.slice_ns = 1;
    ASSERT_EQ(s.run(1), VIREO_OK);
    const uint64_t before = s.submits();
    this->control_->hangs = true;
    ASSERT_EQ(s.submit(), VIREO_OK);
    EXPECT_EQ(s.wait(1'000'000), VIREO_BUSY);
    EXPECT_EQ(s.write(s.buffer, 5), VIREO_BUSY);  // it would come between the pieces
    std::thread later = this->goes_on_after(std::chrono::milliseconds(20));
    this->d_->cancel(s.loaded);
    later.join();
    EXPECT_EQ(s.wait(0), VIREO_CANCELLED);
    EXPECT_EQ(s.submits(), before + 1);
    // The first piece is done, and nobody has asked for it yet: the others are dropped all the same.
    ASSERT_EQ(s.submit(), VIREO_OK);
    this->d_->cancel(s.loaded);
    EXPECT_EQ(s.wait(0), VIREO_CANCELLED);
    EXPECT_EQ(s.submits(), before + 2);
    EXPECT_EQ(this->d_->health(this->device_), VIREO_OK);
    EXPECT_EQ(s.run(4), VIREO_OK);
  }
  this->end();
}

// Calls on a buffer keep their order, also where a part before has pieces left.
TYPED_TEST_P(GpuFaults, PartsWaitForThePiecesBeforeThem) {
  this->start();
  for (const bool asks_first : {true, false}) {
    typename TestFixture::Session first(this->d_, this->device_, this->host_.table),
        second(this->d_, this->device_, this->host_.table);
    first.slice_ns = second.slice_ns = 1;
    ASSERT_EQ(first.run(1), VIREO_OK);
    ASSERT_EQ(second.run(1), VIREO_OK);
    void* const buffer = first.buffer;
    ASSERT_EQ(first.write(buffer, 40), VIREO_OK);
    ASSERT_EQ(second.bind(buffer, kRoom, 0), VIREO_OK);
    ASSERT_EQ(first.submit(), VIREO_OK);
    ASSERT_EQ(second.submit(), VIREO_OK);
    if (asks_first) {
      EXPECT_EQ(first.wait(), VIREO_OK);
    }
    EXPECT_EQ(second.wait(), VIREO_OK);
    EXPECT_EQ(first.wait(), VIREO_OK);
    EXPECT_EQ(second.check(buffer, 40 + kDepth, 0), VIREO_OK);
  }
  this->end();
}

TYPED_TEST_P(GpuFaults, PrioritiesHaveTheirOwnOrder) {
  for (const bool have : {false, true}) {
    this->SetUp();
    TypeParam::have_priorities(this->control_, have);
    this->start();
    for (const vireo_priority priority : {0u, 1u, 2u, 77u}) {
      for (const uint64_t slice_ns : {0, 1}) {
        const vireo_priority served = TypeParam::served(*this->control_, priority);
        const int64_t before = TypeParam::submits(*this->control_, served);
        typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
        s.priority = priority;
        s.slice_ns = slice_ns;
        for (uint32_t r = 0; r < 5; ++r) ASSERT_EQ(s.run(r * 10), VIREO_OK) << s.fault.text;
        EXPECT_GE(TypeParam::submits(*this->control_, served), before + 5) << priority;
      }
    }
    this->end();
  }
}

TYPED_TEST_P(GpuFaults, LaunchesAreTimedWhereASessionIsProfiled) {
  this->start();
  for (const uint64_t slice_ns : {0, 1}) {
    typename TestFixture::Session s(this->d_, this->device_, this->host_.table),
        plain(this->d_, this->device_, this->host_.table);
    s.slice_ns = slice_ns;
    s.profile = 1;
    for (uint32_t r = 0; r < 30; ++r) {
      ASSERT_EQ(s.run(r), VIREO_OK) << s.fault.text;
      EXPECT_EQ(s.times(), std::vector<uint64_t>(kDepth, TypeParam::kStepNs)) << "run " << r;
    }
    ASSERT_EQ(plain.run(1), VIREO_OK);
    EXPECT_EQ(plain.times(), std::vector<uint64_t>());
  }
  this->end();
}

TYPED_TEST_P(GpuFaults, BlobsAreChecked) {
  this->start();
  {
    typename TestFixture::Session s(this->d_, this->device_, this->host_.table);
    ASSERT_EQ(s.create(), VIREO_OK);
    s.blob_bytes -= 9;
    EXPECT_EQ(s.load(), VIREO_INVALID_MODEL);
    s.blob_bytes = 0;
    EXPECT_EQ(s.load(), VIREO_INVALID_MODEL);
  }
  this->end();
}

REGISTER_TYPED_TEST_SUITE_P(GpuFaults, LargeCopiesGoInPieces, WantOfDeviceMemoryIsSaid, CancelWaitsForWhatEnds,
                            WhatDoesNotEndIsLostAndKeepsItsMemory, ABufferStaysUntilItsCopiesAreDone,
                            RecordingsFollowTheirPlaces, OneKernelIsCompiledOnce, SessionsRunSideBySide,
                            LongWorkHasGaps, CancelDropsThePiecesThatAreLeft, PartsWaitForThePiecesBeforeThem,
                            PrioritiesHaveTheirOwnOrder, LaunchesAreTimedWhereASessionIsProfiled, BlobsAreChecked);

}  // namespace vireo::gpu::testing

#endif  // VIREO_DELEGATES_GPU_DEVICE_FAULTS_TESTING_H_
