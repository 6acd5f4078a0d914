// Workers for data-parallel regions. One pool per process is the rule; regions from several callers queue.
// An exception in a worker reaches the caller of the region.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "weft/base/export.h"

namespace weft {

class WEFT_API ThreadPool {
 public:
  // 0 threads: as many as the machine offers this process.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const;  // workers, the calling thread included
  // Calls body(begin, end) on disjoint ranges that cover [0, count), each of at least `grain` items but the last.
  // Returns when all are done. A nested call from within a body runs inline.
  void parallel_for(std::int64_t count, std::int64_t grain,
                    const std::function<void(std::int64_t begin, std::int64_t end)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
