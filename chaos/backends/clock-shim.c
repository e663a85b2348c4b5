/*
 * Preloaded into a database server: its wall clock is off by as many microseconds as the first eight bytes of the file in
 * CLOCK_SHIM_FILE say, at any moment. Monotonic clocks are left alone.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *off_us;

__attribute__((constructor)) static void start(void) {
  const char *file = getenv("CLOCK_SHIM_FILE");
  if (!file) return;
  int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  void *at = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (at != MAP_FAILED) off_us = at;
}

static int is_wall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

static void shift(struct timespec *t) {
  if (!off_us) return;
  int64_t ns = t->tv_nsec + (*off_us % 1000000) * 1000;
  t->tv_sec += *off_us / 1000000;
  if (ns >= 1000000000) t->tv_sec += 1, ns -= 1000000000;
  if (ns < 0) t->tv_sec -= 1, ns += 1000000000;
  t->tv_nsec = ns;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
  int result = (int)syscall(SYS_clock_gettime, clock, t);
  if (result == 0 && is_wall(clock)) shift(t);
  return result;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
  (void)zone;
  struct timespec t;
  if (clock_gettime(CLOCK_REALTIME, &t) != 0) return -1;
  tv->tv_sec = t.tv_sec;
  tv->tv_usec = t.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (out) *out = t.tv_sec;
  return t.tv_sec;
}
