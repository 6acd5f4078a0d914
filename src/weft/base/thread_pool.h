// Workers for data-parallel regions. One pool per process is the rule; regions from several callers queue.
// An exception in a worker reaches the caller of the region. A region allocates nothing.
//
// Between regions workers spin for some tens of microseconds, so that the next one starts at once, and then sleep. They
// do not spin when there are more of them than CPUs to run them.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/base/export.h"
#include "weft/base/function_ref.h"

namespace weft {

struct ThreadPoolOptions {
  bool pin_workers = false;  // each worker stays on one of the CPUs that the process may use; the caller roams
};

class WEFT_API ThreadPool {
 public:
  static constexpr int max_threads = 1024;

  // 0 threads: as many as the machine offers this process. InvalidThreads below 0 and above max_threads,
  // ThreadsUnavailable when the system does not start them.
  explicit ThreadPool(int threads = 0, ThreadPoolOptions options = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;  // workers, the calling thread included
  // Calls body(begin, end) on disjoint ranges that cover [0, count), each of at least `grain` items but the last.
  // Returns when all are done. A nested call from within a body runs inline. Which thread takes which range, and how
  // large it is, differs from run to run: results must not depend on either.
  void parallel_for(std::int64_t count, std::int64_t grain,
                    FunctionRef<void(std::int64_t begin, std::int64_t end)> body);
  // Of the running thread, for scratch that a region's caller owns: 0 for that caller, 1 to size() - 1 for workers.
  static int thread_index();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
