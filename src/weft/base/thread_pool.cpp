#include "weft/base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weft {
namespace {

thread_local bool inside_region = false;

int available_cpus() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

struct ThreadPool::State {
  std::vector<std::thread> workers;
  std::mutex region;  // one region at a time
  std::mutex mutex;
  std::condition_variable start, finished;
  std::uint64_t generation = 0;
  bool stopping = false;

  // The region in progress. Chunks are handed out through `next`; `active` counts workers inside it.
  const std::function<void(std::int64_t, std::int64_t)>* body = nullptr;
  std::int64_t count = 0, chunk = 0;
  std::atomic<std::int64_t> next{0};
  int active = 0;
  std::exception_ptr error;

  void work() {
    inside_region = true;
    try {
      for (;;) {
        const std::int64_t begin = next.fetch_add(chunk);
        if (begin >= count) break;
        (*body)(begin, std::min(begin + chunk, count));
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      next = count;
    }
    inside_region = false;
  }

  void run_worker() {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      start.wait(lock, [&] { return stopping || generation != seen; });
      if (stopping) return;
      seen = generation;
      lock.unlock();
      work();
      lock.lock();
      if (--active == 0) finished.notify_one();
    }
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  if (threads <= 0) threads = available_cpus();
  for (int i = 1; i < threads; ++i) state_->workers.emplace_back([this] { state_->run_worker(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->start.notify_all();
  for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::size() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::parallel_for(std::int64_t count, std::int64_t grain,
                              const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  if (inside_region || state_->workers.empty() || count <= grain) {
    body(0, count);
    return;
  }
  const std::lock_guard region(state_->region);
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  // Four chunks a worker even out their speeds; boundaries never influence results.
  s.chunk = std::max(grain, count / (4 * size()) + 1);
  s.body = &body;
  s.count = count;
  s.next = 0;
  s.error = nullptr;
  s.active = static_cast<int>(s.workers.size());
  ++s.generation;
  lock.unlock();
  s.start.notify_all();
  s.work();
  lock.lock();
  s.finished.wait(lock, [&] { return s.active == 0; });
  s.body = nullptr;
  if (s.error) std::rethrow_exception(std::exchange(s.error, nullptr));
}

}  // namespace weft
