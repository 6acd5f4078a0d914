#include "weft/cli/interrupt.h"

#include <csignal>

namespace weft::cli {
namespace {

volatile std::sig_atomic_t signaled = 0;

void on_interrupt(int) {
  signaled = 1;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  signaled = 0;
  std::signal(SIGINT, on_interrupt);
}

InterruptGuard::~InterruptGuard() { std::signal(SIGINT, SIG_DFL); }

bool InterruptGuard::interrupted() { return signaled != 0; }

}  // namespace weft::cli
