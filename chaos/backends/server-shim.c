/*
 * Preloaded into a database server. SERVER_SHIM_FILE has three numbers of eight bytes, which may change at any moment:
 * by how many microseconds the wall clock is off (monotonic clocks are left alone); whether the disk is full; and, by
 * the shim itself, how many writes were refused for that. A full disk takes what fits into files as they are: whatever
 * would make one longer is refused.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *words;

__attribute__((constructor)) static void start(void) {
  const char *file = getenv("SERVER_SHIM_FILE");
  if (!file) return;
  int fd = open(file, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *at = mmap(NULL, 3 * sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at != MAP_FAILED) words = at;
}

static int is_wall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

static void shift(struct timespec *t) {
  if (!words) return;
  int64_t off_us = words[0];
  int64_t ns = t->tv_nsec + (off_us % 1000000) * 1000;
  t->tv_sec += off_us / 1000000;
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

/* The first three are the log's: a server that cannot say what is wrong is not what is tried. */
static int is_full_for(int fd, off_t end) {
  struct stat s;
  if (!words || words[1] == 0 || fd < 3) return 0;
  if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || end <= s.st_size) return 0;
  __sync_fetch_and_add((int64_t *)&words[2], 1);
  return 1;
}

static off_t length_of(const struct iovec *parts, int count) {
  off_t sum = 0;
  for (int i = 0; i < count; i++) sum += (off_t)parts[i].iov_len;
  return sum;
}

/* Where a write without an offset would end; appending ones end behind the file. */
static off_t end_of(int fd, off_t length) {
  int flags = fcntl(fd, F_GETFL);
  return lseek(fd, 0, flags >= 0 && (flags & O_APPEND) ? SEEK_END : SEEK_CUR) + length;
}

#define REFUSE_WHEN_FULL(fd, end)                                              \
  if (words && words[1] != 0 && is_full_for(fd, end)) return errno = ENOSPC, -1

ssize_t write(int fd, const void *bytes, size_t length) {
  REFUSE_WHEN_FULL(fd, end_of(fd, (off_t)length));
  return syscall(SYS_write, fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  REFUSE_WHEN_FULL(fd, end_of(fd, length_of(parts, count)));
  return syscall(SYS_writev, fd, parts, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
  REFUSE_WHEN_FULL(fd, at + (off_t)length);
  return syscall(SYS_pwrite64, fd, bytes, length, at);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  REFUSE_WHEN_FULL(fd, at + length_of(parts, count));
  return syscall(SYS_pwritev, fd, parts, count, at, 0);
}

int fallocate(int fd, int mode, off_t at, off_t length) {
  REFUSE_WHEN_FULL(fd, at + length);
  return (int)syscall(SYS_fallocate, fd, mode, at, length);
}

/* This one returns its error; without support of the file system it writes, which the C library does for itself. */
int posix_fallocate(int fd, off_t at, off_t length) {
  if (words && words[1] != 0 && is_full_for(fd, at + length)) return ENOSPC;
  return syscall(SYS_fallocate, fd, 0, at, length) == 0 ? 0 : errno;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { return pwrite(fd, bytes, length, at); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { return pwritev(fd, parts, count, at); }
int fallocate64(int fd, int mode, off64_t at, off64_t length) { return fallocate(fd, mode, at, length); }
int posix_fallocate64(int fd, off64_t at, off64_t length) { return posix_fallocate(fd, at, length); }
