// Threads that share work of many parts, none of which sees another: what comes out depends neither on their number nor
// on who takes which part.
#ifndef VIREO_QUANT_CALIBRATE_WORKERS_H_
#define VIREO_QUANT_CALIBRATE_WORKERS_H_

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace vireo::quant {

class Workers {
 public:
  Workers();  // one a core, the caller included
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Calls part(0) ... part(count - 1) and returns when all are done. The first exception goes on to the caller.
  void share(size_t count, const std::function<void(size_t part)>& part);

 private:
  void wait_for_work();
  void take_parts(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable begun_, done_;
  const std::function<void(size_t)>* part_ = nullptr;
  size_t next_ = 0, count_ = 0, at_work_ = 0;
  bool over_ = false;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace vireo::quant

#endif  // VIREO_QUANT_CALIBRATE_WORKERS_H_
