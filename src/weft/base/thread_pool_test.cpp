#include "weft/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

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

}  // namespace
}  // namespace weft
