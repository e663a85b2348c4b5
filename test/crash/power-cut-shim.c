/*
 * Preloaded into a process under test: writes down, in their true order, everything that process does to the files of
 * one folder, so that a test can work out what a disk would hold had the power gone at any moment in between.
 *
 *   POWER_CUT_FOLDER     the folder; files outside it are left alone
 *   POWER_CUT_LOG        where the log goes: op u8, file u32, offset u64, length u32, then `length` bytes
 *   POWER_CUT_FAIL_SYNC  optional, `n,m,…`: the n-th, m-th, … sync of all watched files fails with EIO
 *
 * A write is logged when it is done, a sync when it has ended. All other calls reach the kernel unchanged.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OPENED = 1, WRITTEN = 2, TRUNCATED = 3, SYNCED = 4, REMOVED = 5, SYNC_FAILED = 6 };
enum { FD_MAX = 4096, FILES_MAX = 256 };

static int log_fd = -1;
static const char *folder;
static size_t folder_length;
static char fail_syncs[256]; /* `,n,m,` */
static long syncs_total;
static char *paths[FILES_MAX];
static int files_total;
static int file_of[FD_MAX]; /* file number plus one; zero: not watched */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void start(void) {
  const char *log = getenv("POWER_CUT_LOG");
  const char *fail = getenv("POWER_CUT_FAIL_SYNC");
  folder = getenv("POWER_CUT_FOLDER");
  if (!log || !folder) return;
  folder_length = strlen(folder);
  if (fail) snprintf(fail_syncs, sizeof fail_syncs, ",%s,", fail);
  log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void put(const void *bytes, size_t length) {
  const char *at = bytes;
  while (length > 0) {
    long done = syscall(SYS_write, log_fd, at, length);
    if (done <= 0) abort(); /* a log with a hole would prove anything */
    at += done;
    length -= (size_t)done;
  }
}

static void note(uint8_t op, uint32_t file, uint64_t offset, const void *bytes, uint32_t length) {
  char head[17];
  head[0] = (char)op;
  memcpy(head + 1, &file, 4);
  memcpy(head + 5, &offset, 8);
  memcpy(head + 13, &length, 4);
  put(head, sizeof head);
  put(bytes, length);
}

static int watched(int fd) { return log_fd >= 0 && fd >= 0 && fd < FD_MAX ? file_of[fd] : 0; }

static int opened(const char *path, int flags, mode_t mode) {
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (fd < 0 || log_fd < 0) return fd;
  if (strncmp(path, folder, folder_length) != 0) return fd;
  if (fd >= FD_MAX) abort();
  pthread_mutex_lock(&lock);
  int file = 0;
  while (file < files_total && strcmp(paths[file], path) != 0) file++;
  if (file == files_total) {
    if (file == FILES_MAX) abort();
    paths[files_total++] = strdup(path);
  }
  file_of[fd] = file + 1;
  note(OPENED, (uint32_t)file, 0, path, (uint32_t)strlen(path));
  if (flags & O_TRUNC) note(TRUNCATED, (uint32_t)file, 0, "", 0);
  pthread_mutex_unlock(&lock);
  return fd;
}

#define OPEN(name)                                  \
  int name(const char *path, int flags, ...) {      \
    mode_t mode = 0;                                \
    if (flags & (O_CREAT | O_TMPFILE)) {            \
      va_list rest;                                 \
      va_start(rest, flags);                        \
      mode = va_arg(rest, mode_t);                  \
      va_end(rest);                                 \
    }                                               \
    return opened(path, flags, mode);               \
  }
OPEN(open)
OPEN(open64)

int close(int fd) {
  if (watched(fd)) file_of[fd] = 0;
  return (int)syscall(SYS_close, fd);
}

static ssize_t written_at(int fd, const void *bytes, size_t length, off_t offset) {
  if (!watched(fd)) return syscall(SYS_pwrite64, fd, bytes, length, offset);
  pthread_mutex_lock(&lock);
  ssize_t done = syscall(SYS_pwrite64, fd, bytes, length, offset);
  int error = errno;
  if (done > 0) note(WRITTEN, (uint32_t)(file_of[fd] - 1), (uint64_t)offset, bytes, (uint32_t)done);
  pthread_mutex_unlock(&lock);
  errno = error;
  return done;
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return written_at(fd, bytes, length, offset); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) { return written_at(fd, bytes, length, offset); }

ssize_t write(int fd, const void *bytes, size_t length) {
  if (!watched(fd)) return syscall(SYS_write, fd, bytes, length);
  pthread_mutex_lock(&lock);
  off_t offset = syscall(SYS_lseek, fd, 0, SEEK_CUR);
  ssize_t done = syscall(SYS_write, fd, bytes, length);
  int error = errno;
  if (done > 0) note(WRITTEN, (uint32_t)(file_of[fd] - 1), (uint64_t)offset, bytes, (uint32_t)done);
  pthread_mutex_unlock(&lock);
  errno = error;
  return done;
}

static int truncated(int fd, off_t length) {
  if (!watched(fd)) return (int)syscall(SYS_ftruncate, fd, length);
  pthread_mutex_lock(&lock);
  int result = (int)syscall(SYS_ftruncate, fd, length);
  int error = errno;
  if (result == 0) note(TRUNCATED, (uint32_t)(file_of[fd] - 1), (uint64_t)length, "", 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int ftruncate(int fd, off_t length) { return truncated(fd, length); }
int ftruncate64(int fd, off_t length) { return truncated(fd, length); }

static int must_fail(void) {
  char wanted[32];
  snprintf(wanted, sizeof wanted, ",%ld,", ++syncs_total);
  return strstr(fail_syncs, wanted) != NULL;
}

static int synced(int fd, long call) {
  if (!watched(fd)) return (int)syscall(call, fd);
  pthread_mutex_lock(&lock);
  int result;
  int error = 0;
  if (must_fail()) {
    result = -1;
    error = EIO;
  } else {
    result = (int)syscall(call, fd);
    error = errno;
  }
  note(result == 0 ? SYNCED : SYNC_FAILED, (uint32_t)(file_of[fd] - 1), 0, "", 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

int unlink(const char *path) {
  int result = (int)syscall(SYS_unlink, path);
  int error = errno;
  if (result == 0 && log_fd >= 0 && strncmp(path, folder, folder_length) == 0) {
    pthread_mutex_lock(&lock);
    for (int file = 0; file < files_total; file++) {
      if (strcmp(paths[file], path) == 0) note(REMOVED, (uint32_t)file, 0, "", 0);
    }
    pthread_mutex_unlock(&lock);
  }
  errno = error;
  return result;
}
