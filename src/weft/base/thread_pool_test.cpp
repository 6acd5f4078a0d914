#include "weft/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "allocation_count.h"
#include "weft/base/cpu_features.h"
#include "weft/base/error.h"

namespace weft {
namespace {

TEST(ThreadPool, CoversTheRangeExactlyOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (const std::int64_t count : {1, 2, 7, 64, 1000, 12345}) {
      for (const std::int64_t grain : {1, 3, 100, 100000}) {
        std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
        pool.parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
          EXPECT_LT(begin, end);
          for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
        });
        for (const auto& n : visits) ASSERT_EQ(n, 1) << threads << " threads, " << count << ", grain " << grain;
      }
    }
  }
}

TEST(ThreadPool, AnEmptyRangeRunsNothing) {
  ThreadPool pool(2);
  for (const std::int64_t count : {0, -3}) pool.parallel_for(count, 1, [](auto, auto) { ADD_FAILURE(); });
}

TEST(ThreadPool, OnlyTheLastRangeMayBeSmallerThanTheGrain) {
  ThreadPool pool(3);
  std::mutex mutex;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  pool.parallel_for(1003, 100, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    ranges.emplace_back(begin, end);
  });
  for (const auto& [begin, end] : ranges) {
    EXPECT_TRUE(end == 1003 || end - begin >= 100) << begin << " to " << end;
  }
}

TEST(ThreadPool, AnExceptionReachesTheCallerAndThePoolLivesOn) {
  ThreadPool pool(4);
  for (int repeat = 0; repeat < 20; ++repeat) {
    try {
      pool.parallel_for(1000, 1, [](std::int64_t begin, std::int64_t end) {
        if (begin <= 777 && 777 < end) throw std::runtime_error("item 777");
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "item 777");
    }
    std::atomic<std::int64_t> sum = 0;
    pool.parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
    EXPECT_EQ(sum, 100);
  }
}

TEST(ThreadPool, ANestedRegionRunsInline) {
  ThreadPool pool(3);
  std::atomic<std::int64_t> visits = 0;
  pool.parallel_for(30, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto outer = std::this_thread::get_id();
      pool.parallel_for(50, 1, [&](std::int64_t from, std::int64_t to) {
        EXPECT_EQ(std::this_thread::get_id(), outer);
        visits += to - from;
      });
    }
  });
  EXPECT_EQ(visits, 30 * 50);
}

TEST(ThreadPool, RegionsOfSeveralCallersQueue) {
  ThreadPool pool(3);
  std::vector<std::int64_t> sums(4);
  std::vector<std::thread> callers;
  for (std::size_t c = 0; c < sums.size(); ++c) {
    callers.emplace_back([&, c] {
      for (int repeat = 0; repeat < 200; ++repeat) {
        std::atomic<std::int64_t> sum = 0;
        pool.parallel_for(256, 4, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) sum += i;
        });
        sums[c] += sum;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const std::int64_t sum : sums) EXPECT_EQ(sum, 200 * (255 * 256 / 2));
}

TEST(ThreadPool, ABodyMayBeAnyCallable) {
  ThreadPool pool(2);
  std::atomic<std::int64_t> sum = 0;
  const auto add = [&](std::int64_t begin, std::int64_t end) { sum += end - begin; };
  pool.parallel_for(100, 1, add);
  const std::function<void(std::int64_t, std::int64_t)> function = add;
  pool.parallel_for(100, 1, function);
  EXPECT_EQ(sum, 200);
}

TEST(ThreadPool, ARegionAllocatesNothing) {
  ThreadPool pool(3);
  std::atomic<std::int64_t> sum = 0;
  const auto region = [&] {
    pool.parallel_for(1000, 1, [&](std::int64_t begin, std::int64_t end) {
      sum += end - begin;
      pool.parallel_for(3, 1, [&](std::int64_t from, std::int64_t to) { sum += to - from; });
    });
  };
  region();
  const test::AllocationCount before = test::allocations();
  for (int repeat = 0; repeat < 100; ++repeat) region();
  EXPECT_EQ(test::allocations(), before);
}

TEST(ThreadPool, ThreadsHaveIndicesOfTheirOwnInsideARegion) {
  ThreadPool pool(4);
  EXPECT_EQ(ThreadPool::thread_index(), 0);
  std::mutex mutex;
  std::map<int, std::set<std::thread::id>> threads_of;
  for (int repeat = 0; repeat < 50; ++repeat) {
    pool.parallel_for(64, 1, [&](std::int64_t, std::int64_t) {
      const int index = ThreadPool::thread_index();
      pool.parallel_for(2, 1, [&](std::int64_t, std::int64_t) { EXPECT_EQ(ThreadPool::thread_index(), index); });
      std::this_thread::sleep_for(std::chrono::microseconds(20));
      const std::lock_guard lock(mutex);
      threads_of[index].insert(std::this_thread::get_id());
    });
  }
  EXPECT_EQ(threads_of[0], std::set{std::this_thread::get_id()});
  for (const auto& [index, threads] : threads_of) {
    EXPECT_GE(index, 0);
    EXPECT_LT(index, pool.size());
    EXPECT_EQ(threads.size(), 1u) << index;
  }
  EXPECT_EQ(ThreadPool::thread_index(), 0);
}

TEST(ThreadPool, ARegionOfAnotherPoolRunsInlineAsItsCaller) {
  ThreadPool outer(3), inner(2);
  std::atomic<int> visits = 0;
  outer.parallel_for(30, 1, [&](std::int64_t begin, std::int64_t end) {
    const int index = ThreadPool::thread_index();
    const auto thread = std::this_thread::get_id();
    inner.parallel_for(end - begin, 1, [&](std::int64_t from, std::int64_t to) {
      EXPECT_EQ(std::this_thread::get_id(), thread);
      EXPECT_EQ(ThreadPool::thread_index(), 0);
      visits += static_cast<int>(to - from);
    });
    EXPECT_EQ(ThreadPool::thread_index(), index);
  });
  EXPECT_EQ(visits, 30);
}

TEST(ThreadPool, WorkersTakePartInALongRegion) {
  ThreadPool pool(2);
  std::set<std::thread::id> threads;
  std::mutex mutex;
  // A worker that the system is slow to start still finds work left.
  pool.parallel_for(2000, 1, [&](std::int64_t, std::int64_t) {
    {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
      if (threads.size() == 2) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  });
  EXPECT_EQ(threads.size(), 2u);
}

TEST(ThreadPool, SleepersWakeUpForTheNextRegion) {
  for (const int threads : {2, 8}) {  // some that spin first, where there are CPUs, and some that do not
    ThreadPool pool(threads);
    for (int repeat = 0; repeat < 60; ++repeat) {
      std::this_thread::sleep_for(std::chrono::microseconds(repeat * 5));
      std::atomic<std::int64_t> sum = 0;
      pool.parallel_for(64, 1, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
      ASSERT_EQ(sum, 64);
    }
  }
}

TEST(ThreadPool, PlainMemoryThatARegionWritesIsSeenByTheNext) {
  ThreadPool pool(3);
  std::vector<std::int64_t> values(97, 0);
  for (int repeat = 0; repeat < 20000; ++repeat)
    pool.parallel_for(97, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<std::size_t>(i);
        values[96 - at] += 1;
      }
    });
  for (const std::int64_t value : values) EXPECT_EQ(value, 20000);
}

TEST(ThreadPool, CallersExceptionsAndPoolsUnderStress) {
  for (const int threads : {2, 3, 6}) {
    ThreadPool pool(threads, {.pin_workers = threads == 3});
    std::vector<std::thread> callers;
    std::atomic<std::int64_t> wrong = 0;
    for (int c = 0; c < 3; ++c) {
      callers.emplace_back([&, c] {
        for (int repeat = 0; repeat < 1500; ++repeat) {
          const std::int64_t count = 1 + (repeat * 7 + c) % 200;
          const bool throws = repeat % 13 == c;
          std::atomic<std::int64_t> sum = 0;
          try {
            pool.parallel_for(count, 1 + repeat % 5, [&](std::int64_t begin, std::int64_t end) {
              if (throws && end > count / 2) throw repeat;
              sum += end - begin;
            });
            if (throws || sum != count) ++wrong;
          } catch (int thrown) {
            if (!throws || thrown != repeat) ++wrong;
          }
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong, 0);
  }
  for (int repeat = 0; repeat < 100; ++repeat) {  // pools that end in every phase of their workers' lives
    ThreadPool pool(4);
    if (repeat % 2 == 0) pool.parallel_for(10, 1, [](auto, auto) {});
    if (repeat % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(repeat * 2));
  }
}

TEST(ThreadPool, AbsurdCountsAreRefused) {
  for (const int threads : {-1, -100, ThreadPool::max_threads + 1, 1 << 30}) {
    try {
      ThreadPool pool(threads);
      ADD_FAILURE() << threads;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), "InvalidThreads");
    }
  }
  EXPECT_EQ(ThreadPool().size(), cpu_info().usable_cpus);
}

}  // namespace
}  // namespace weft
