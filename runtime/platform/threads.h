// A thread, a lock and what to wait on, where the target has threads: for those above sessions (c_api/fleet). In a
// process that was forked, locks and waiting are as the parent's threads left them: Home says so before either is used.
#ifndef VIREO_RUNTIME_PLATFORM_THREADS_H_
#define VIREO_RUNTIME_PLATFORM_THREADS_H_

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "runtime/platform/forks.h"

namespace vireo::platform {

// The process that this object was made in.
class Home {
 public:
  Home() {
    count_forks();
    forks_ = forks();
  }
  bool here() const { return forks_ == forks(); }

 private:
  uint32_t forks_ = 0;
};

class Mutex {
 public:
  Mutex() { pthread_mutex_init(&mutex_, nullptr); }
  ~Mutex() {
    if (home_.here()) pthread_mutex_destroy(&mutex_);
  }
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  bool here() const { return home_.here(); }  // else nothing may lock it
  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }

 private:
  friend class Condition;
  Home home_;
  pthread_mutex_t mutex_;
};

class Lock {
 public:
  explicit Lock(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Lock() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& mutex_;
};

class Condition {
 public:
  Condition() {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
#if !defined(__APPLE__)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
    pthread_cond_init(&condition_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  ~Condition() {
    if (home_.here()) pthread_cond_destroy(&condition_);  // it waits for those that wait, and there are none in a child
  }
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;
  void wait(Mutex& mutex) { pthread_cond_wait(&condition_, &mutex.mutex_); }
  // False: `left_ns` are over, or the 34 years at which they are cut, as a clock of 32 bits ends soon after.
  bool wait_for(Mutex& mutex, uint64_t left_ns) {
    if (left_ns > kLongest) left_ns = kLongest;
#if defined(__APPLE__)
    const struct timespec left = {static_cast<time_t>(left_ns / kSecond), static_cast<long>(left_ns % kSecond)};
    return pthread_cond_timedwait_relative_np(&condition_, &mutex.mutex_, &left) != ETIMEDOUT;
#else
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const uint64_t ns = static_cast<uint64_t>(until.tv_nsec) + left_ns % kSecond;
    until.tv_sec += static_cast<time_t>(left_ns / kSecond + ns / kSecond);
    until.tv_nsec = static_cast<long>(ns % kSecond);
    return pthread_cond_timedwait(&condition_, &mutex.mutex_, &until) != ETIMEDOUT;
#endif
  }
  void wake_one() { pthread_cond_signal(&condition_); }
  void wake_all() { pthread_cond_broadcast(&condition_); }

 private:
  static constexpr uint64_t kSecond = 1000000000;
  static constexpr uint64_t kLongest = (uint64_t{1} << 30) * kSecond;
  Home home_;
  pthread_cond_t condition_;
};

class Thread {
 public:
  // False: the system starts no more.
  bool start(void* (*body)(void*), void* argument) {
    started_ = pthread_create(&thread_, nullptr, body, argument) == 0;
    return started_;
  }
  void join() {
    if (started_ && home_.here()) pthread_join(thread_, nullptr);
    started_ = false;
  }

 private:
  Home home_;
  pthread_t thread_;
  bool started_ = false;
};

}  // namespace vireo::platform

#endif  // VIREO_RUNTIME_PLATFORM_THREADS_H_
