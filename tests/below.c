/* Calls of the system that fail, fall short or kill, one chosen call of one process at a time.
 *
 * Loaded before the C library. Counted are only calls that reach a file below a
 * chosen folder: what SQLite and Python do to it goes through here, on its way to the kernel.
 *
 *   below_arm(call, nth, error, mode, folder)  call: an index of NAMES, or -1 for any of them
 *     mode 0: the nth call fails; 1: the nth and every later one; 2: the process is killed before the nth;
 *     3: the nth write takes half of what it was given, the rest fails as in mode 1
 *   below_seen()   how many calls were counted since
 *   below_hit()    whether the nth was reached
 *   below_kind(at) of which kind the call of that number was
 *   below_clock(seconds)  by how much the clock on the wall differs from then on
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OPEN, WRITE, SYNC, TRUNCATE, RENAME, UNLINK };

static int armed = 0, chosen = -1, error_number = EIO, mode = 0;
static long nth = 0, seen = 0, hit = 0;
static char folder[4096] = "";
static unsigned char kinds[1 << 20];

void below_arm(int call, long number, int error, int how, const char *under) {
    snprintf(folder, sizeof folder, "%s", under);
    chosen = call, nth = number, error_number = error, mode = how;
    seen = hit = 0;
    armed = 1;
}

void below_disarm(void) { armed = 0; }
long below_seen(void) { return seen; }
long below_hit(void) { return hit; }
int below_kind(long at) { return kinds[at]; }

static int is_below(const char *path) { return path && strncmp(path, folder, strlen(folder)) == 0; }

static int is_fd_below(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return is_below(path);
}

/* 0: go on; 1: fail; 2: fall short */
static int judged(int call, int concerns) {
    if (!armed || !concerns || (chosen >= 0 && chosen != call)) return 0;
    long at = seen++;
    if (at < (long)sizeof kinds) kinds[at] = call;
    if (at < nth || (at > nth && mode == 0)) return 0;
    hit = 1;
    if (mode == 2) { armed = 0; kill(getpid(), SIGKILL); for (;;) pause(); }
    if (mode == 3 && at == nth && call == WRITE) return 2;
    errno = error_number;
    return 1;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__) = 0; \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define MAKES(flags) ((flags) & (O_CREAT | O_TMPFILE | O_WRONLY | O_RDWR))

#define OPENS(name, first, firsts, path) \
    int name(firsts, int flags, ...) { \
        va_list rest; va_start(rest, flags); mode_t bits = va_arg(rest, mode_t); va_end(rest); \
        REAL(int, #name, firsts, int, ...); \
        if (judged(OPEN, MAKES(flags) && is_below(path))) return -1; \
        return real(first, flags, bits); \
    }
OPENS(open, path, const char *path, path)
OPENS(open64, path, const char *path, path)
int openat(int at, const char *path, int flags, ...) {
    va_list rest; va_start(rest, flags); mode_t bits = va_arg(rest, mode_t); va_end(rest);
    REAL(int, "openat", int, const char *, int, ...);
    if (judged(OPEN, MAKES(flags) && (is_below(path) || (path[0] != '/' && at >= 0 && is_fd_below(at))))) return -1;
    return real(at, path, flags, bits);
}
int openat64(int at, const char *path, int flags, ...) {
    va_list rest; va_start(rest, flags); mode_t bits = va_arg(rest, mode_t); va_end(rest);
    REAL(int, "openat64", int, const char *, int, ...);
    if (judged(OPEN, MAKES(flags) && (is_below(path) || (path[0] != '/' && at >= 0 && is_fd_below(at))))) return -1;
    return real(at, path, flags, bits);
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, "write", int, const void *, size_t);
    int how = armed ? judged(WRITE, is_fd_below(fd)) : 0;
    if (how == 1) return -1;
    return real(fd, data, how == 2 ? size / 2 : size);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
    int how = armed ? judged(WRITE, is_fd_below(fd)) : 0;
    if (how == 1) return -1;
    return real(fd, data, how == 2 ? size / 2 : size, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
    int how = armed ? judged(WRITE, is_fd_below(fd)) : 0;
    if (how == 1) return -1;
    return real(fd, data, how == 2 ? size / 2 : size, at);
}

#define ON_FD(name, call) \
    int name(int fd) { \
        REAL(int, #name, int); \
        if (armed && judged(call, is_fd_below(fd))) return -1; \
        return real(fd); \
    }
ON_FD(fsync, SYNC)
ON_FD(fdatasync, SYNC)

int ftruncate(int fd, off_t size) {
    REAL(int, "ftruncate", int, off_t);
    if (armed && judged(TRUNCATE, is_fd_below(fd))) return -1;
    return real(fd, size);
}
int ftruncate64(int fd, off64_t size) {
    REAL(int, "ftruncate64", int, off64_t);
    if (armed && judged(TRUNCATE, is_fd_below(fd))) return -1;
    return real(fd, size);
}
int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    if (armed && judged(RENAME, is_below(to))) return -1;
    return real(from, to);
}
int renameat(int at, const char *from, int on, const char *to) {
    REAL(int, "renameat", int, const char *, int, const char *);
    if (armed && judged(RENAME, is_below(to))) return -1;
    return real(at, from, on, to);
}
int link(const char *from, const char *to) {
    REAL(int, "link", const char *, const char *);
    if (armed && judged(RENAME, is_below(to))) return -1;
    return real(from, to);
}
int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    if (armed && judged(UNLINK, is_below(path))) return -1;
    return real(path);
}

/* -- the clock on the wall; the one that only runs on is left alone -- */

static long clock_s = 0;

void below_clock(long seconds) { clock_s = seconds; }

int clock_gettime(clockid_t clock, struct timespec *at) {
    REAL(int, "clock_gettime", clockid_t, struct timespec *);
    int failed = real(clock, at);
    if (!failed && clock == CLOCK_REALTIME) at->tv_sec += clock_s;
    return failed;
}
int gettimeofday(struct timeval *at, void *zone) {
    REAL(int, "gettimeofday", struct timeval *, void *);
    int failed = real(at, zone);
    if (!failed && at) at->tv_sec += clock_s;
    return failed;
}
time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
