#include "quant/calibrate/workers.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace vireo::quant {

Workers::Workers() {
  constexpr unsigned kMost = 16;
  const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1u, kMost);
  try {
    for (unsigned i = 1; i < cores; ++i) threads_.emplace_back([this] { wait_for_work(); });
  } catch (const std::system_error&) {  // no more of them are to be had: those that are there do the work
  }
}

Workers::~Workers() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    over_ = true;
  }
  begun_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void Workers::share(size_t count, const std::function<void(size_t)>& part) {
  std::unique_lock<std::mutex> lock(mutex_);
  part_ = &part;
  next_ = 0;
  count_ = count;
  failure_ = nullptr;
  if (count > 1) begun_.notify_all();
  take_parts(lock);
  done_.wait(lock, [this] { return at_work_ == 0; });
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Workers::wait_for_work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    begun_.wait(lock, [this] { return over_ || next_ < count_; });
    if (over_) return;
    take_parts(lock);
  }
}

void Workers::take_parts(std::unique_lock<std::mutex>& lock) {
  ++at_work_;
  while (next_ < count_) {
    const size_t mine = next_++;
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*part_)(mine);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure == nullptr) continue;
    if (failure_ == nullptr) failure_ = failure;
    next_ = count_;
  }
  if (--at_work_ == 0) done_.notify_all();
}

}  // namespace vireo::quant
