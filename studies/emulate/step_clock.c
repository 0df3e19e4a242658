/* Preloaded into the emulator by endurance.py step: sets the wall clock forward by an hour after five seconds and back after ten, as this
 * process sees it. The machine's own clock is left alone. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t shift(void) {
    static time_t begun;
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    if (begun == 0) begun = now.tv_sec;
    time_t since = now.tv_sec - begun;
    return since < 5 ? 0 : since < 10 ? 3600 : -3600;
}

int clock_gettime(clockid_t clock, struct timespec *into) {
    int result = syscall(SYS_clock_gettime, clock, into);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) into->tv_sec += shift();
    return result;
}

int gettimeofday(struct timeval *restrict into, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    into->tv_sec = now.tv_sec;
    into->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *into) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (into) *into = now.tv_sec;
    return now.tv_sec;
}
