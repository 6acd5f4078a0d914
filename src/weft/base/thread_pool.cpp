#include "weft/base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "weft/base/cpu_features.h"
#include "weft/base/fail.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
using Body = FunctionRef<void(std::int64_t, std::int64_t)>;

constexpr auto spin_time = std::chrono::microseconds(100);
constexpr std::size_t cache_line = 64;

thread_local const void* current_pool = nullptr;  // whose region this thread is in
thread_local int current_index = 0;

class Inside {
 public:
  Inside(const void* pool, int index)
      : pool_(std::exchange(current_pool, pool)), index_(std::exchange(current_index, index)) {}
  ~Inside() {
    current_pool = pool_;
    current_index = index_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  const void* pool_;
  int index_;
};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Whether `ready` came true within `time`. The clock is read now and then only.
template <class Ready>
bool spin_until(std::chrono::nanoseconds time, Ready ready) {
  if (ready()) return true;
  if (time.count() == 0) return false;
  const auto end = Clock::now() + time;
  do {
    for (int i = 0; i < 16; ++i) {
      pause();
      if (ready()) return true;
    }
  } while (Clock::now() < end);
  return false;
}

void pin_to_cpu(std::thread& thread, int index) {
  cpu_set_t allowed, one;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  int wanted = index % std::max(CPU_COUNT(&allowed), 1);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || wanted-- != 0) continue;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    // A wish: where it is refused the scheduler decides.
    (void)::pthread_setaffinity_np(thread.native_handle(), sizeof(one), &one);
  }
}

}  // namespace

// The gate is one word: the number of the region, how many workers are inside, and whether more may enter. The caller
// opens it, works along, closes it when the items are handed out and waits for those inside. A worker that comes too
// late finds it closed, so that nobody waits for a thread that the system keeps from running.
//
// What describes the region (body, count, next) is written while the gate is closed and empty, and read between
// entering (acquire) and leaving (release).
struct ThreadPool::State {
  static constexpr std::uint64_t open = 1, one_worker = 2;
  static constexpr int region_shift = 16;
  static std::uint64_t region_of(std::uint64_t gate) { return gate >> region_shift; }
  static std::uint64_t inside(std::uint64_t gate) { return gate & ((1u << region_shift) - one_worker); }

  alignas(cache_line) std::atomic<std::uint64_t> gate{0};
  alignas(cache_line) std::atomic<std::int64_t> next{0};
  const Body* body = nullptr;  // beside `next`: who takes a range needs them all
  std::int64_t count = 0, grain = 1;
  std::exception_ptr error;  // the first; guarded by mutex

  // Sleeping. A sleeper first says so, then looks at the gate; who changes the gate looks for sleepers afterwards. Both
  // sides are sequentially consistent, so one of them sees the other.
  alignas(cache_line) std::atomic<int> sleeping{0};
  std::atomic<bool> caller_waits{false}, stopping{false};
  std::mutex mutex;
  std::condition_variable wake, finished;

  std::mutex callers;  // one region at a time
  std::vector<std::thread> workers;
  std::chrono::nanoseconds spin{0};

  std::int64_t threads() const { return static_cast<std::int64_t>(workers.size()) + 1; }

  // One large range for each thread, in which it reads memory without a jump; what is left evens out, in ranges that
  // grow smaller, what the threads differ in speed.
  bool take(std::int64_t& begin, std::int64_t& end) {
    const std::int64_t large = (count - count / 16 + threads() - 1) / threads(), even_from = large * threads();
    begin = next.load(std::memory_order_relaxed);
    do {
      if (begin >= count) return false;
      const std::int64_t size = begin < even_from ? large : (count - begin) / (2 * threads());
      end = begin + std::min(std::max(grain, size), count - begin);
    } while (!next.compare_exchange_weak(begin, end, std::memory_order_relaxed));
    return true;
  }

  void work(int index) {
    const Inside guard(this, index);
    try {
      for (std::int64_t begin = 0, end = 0; take(begin, end);) (*body)(begin, end);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      next.store(count, std::memory_order_relaxed);
    }
  }

  bool enter(std::uint64_t seen) {
    std::uint64_t now = gate.load(std::memory_order_relaxed);
    while ((now & open) != 0 && region_of(now) != seen)
      if (gate.compare_exchange_weak(now, now + one_worker, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    return false;
  }

  void leave() {
    const std::uint64_t before = gate.fetch_sub(one_worker, std::memory_order_seq_cst);
    if (inside(before) != one_worker || !caller_waits.load(std::memory_order_seq_cst)) return;
    { const std::lock_guard lock(mutex); }
    finished.notify_one();
  }

  void run_worker(int index) {
    std::uint64_t seen = 0;
    const auto changed = [&] {
      return region_of(gate.load(std::memory_order_seq_cst)) != seen || stopping.load(std::memory_order_relaxed);
    };
    for (;;) {
      if (!spin_until(spin, changed)) {
        std::unique_lock lock(mutex);
        sleeping.fetch_add(1, std::memory_order_seq_cst);
        wake.wait(lock, changed);
        sleeping.fetch_sub(1, std::memory_order_relaxed);
      }
      if (stopping.load(std::memory_order_relaxed)) return;
      // Read before entering: of a region that opens in between this worker asks once more, and finds work or none.
      const std::uint64_t region = region_of(gate.load(std::memory_order_relaxed));
      if (enter(seen)) {
        work(index);
        leave();
      }
      seen = region;
    }
  }

  // With `callers` held.
  void run_region(const Body& of, std::int64_t items, std::int64_t smallest) {
    body = &of;
    count = items;
    grain = smallest;
    next.store(0, std::memory_order_relaxed);
    const std::uint64_t region = region_of(gate.load(std::memory_order_relaxed)) + 1;
    gate.store(region << region_shift | open, std::memory_order_seq_cst);
    if (sleeping.load(std::memory_order_seq_cst) > 0) {
      { const std::lock_guard lock(mutex); }
      wake.notify_all();
    }
    work(0);
    gate.fetch_and(~open, std::memory_order_relaxed);
    const auto empty = [&] { return inside(gate.load(std::memory_order_seq_cst)) == 0; };
    if (!spin_until(spin, empty)) {
      std::unique_lock lock(mutex);
      caller_waits.store(true, std::memory_order_seq_cst);
      finished.wait(lock, empty);
      caller_waits.store(false, std::memory_order_relaxed);
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    wake.notify_all();
    for (std::thread& worker : workers) worker.join();
  }
};

ThreadPool::ThreadPool(int threads, ThreadPoolOptions options) : state_(std::make_unique<State>()) {
  if (threads < 0 || threads > max_threads)
    fail(ErrorKind::invalid_argument, "InvalidThreads", "threads",
         "{} threads; give 1 to {}, or 0 for one per usable CPU", threads, max_threads);
  const int usable = cpu_info().usable_cpus;
  if (threads == 0) threads = std::min(usable, max_threads);
  State& s = *state_;
  if (threads <= usable) s.spin = spin_time;
  // Workers read the list's size, so it has its size before the first of them runs.
  s.workers.resize(static_cast<std::size_t>(threads) - 1);
  int started = 0;
  try {
    for (std::thread& worker : s.workers) {
      const int index = ++started;
      worker = std::thread([&s, index] { s.run_worker(index); });
      if (options.pin_workers) pin_to_cpu(worker, index);
    }
  } catch (const std::system_error& error) {
    s.workers.resize(static_cast<std::size_t>(started) - 1);
    s.stop();
    fail(ErrorKind::out_of_memory, "ThreadsUnavailable", "threads", "the system starts {} of {} threads: {}", started,
         threads, error.what());
  }
}

ThreadPool::~ThreadPool() { state_->stop(); }

int ThreadPool::size() const { return static_cast<int>(state_->threads()); }

int ThreadPool::thread_index() { return current_index; }

void ThreadPool::parallel_for(std::int64_t count, std::int64_t grain, Body body) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  State& s = *state_;
  if (current_pool != nullptr || s.workers.empty() || count <= grain) {
    // From a region of another pool: this thread is this pool's caller.
    const Inside guard(current_pool, current_pool == &s ? current_index : 0);
    body(0, count);
    return;
  }
  const std::lock_guard region(s.callers);
  s.run_region(body, count, grain);
  if (s.error) std::rethrow_exception(std::exchange(s.error, nullptr));
}

}  // namespace weft
