// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Order of QEMU's two threads, loaded in front of its libraries (LD_PRELOAD).
 *
 * With -icount sleep=off the main thread advances the clock to the next timer when it sees that the processor is halted. Between the halt
 * and the account of the instructions before it lies a moment; a main thread that looks then advances by as much too far, and nothing
 * afterwards has the same times. How often depends on the load of the host.
 *
 * So the main thread goes on after a poll only while the thread of the processor waits for its condition, whose instructions are
 * accounted then. Whoever wakes that thread ends its waiting, before it runs. A main thread that has QEMU's lock meanwhile, as at the
 * end, goes on at once: the other thread may wait for the lock.
 *
 * Declared by hand: the compiler of the laboratory comes without headers.
 */

#define NULL ((void *)0)
#define NEXT ((void *)-1L)
#define PRIVATE_WAIT 128
#define PRIVATE_WAKE 129
#define GET_NAME 16
#define TIMED_OUT 110

#if defined(__x86_64__)
#define CONDITIONS "GLIBC_2.3.2"
#define FUTEX 202
#define GETTID 186
#define GETPID 39
#elif defined(__aarch64__)
#define CONDITIONS "GLIBC_2.17"
#define FUTEX 98
#define GETTID 178
#define GETPID 172
#else
#error "no such processor"
#endif

struct moment {
	long seconds;
	long nanoseconds;
};

extern void *dlsym(void *library, const char *name);
extern void *dlvsym(void *library, const char *name, const char *version);
extern long syscall(long number, ...);
extern int prctl(int option, ...);
extern int *__errno_location(void);

/* Longest time for which the main thread is held: a guest that waits for it without a halt must go on. */
static const struct moment LONGEST = { 2, 0 };

/* The condition for which the thread of the processor waits; NULL before its first wait. */
static void *condition;
/* QEMU's lock, which goes with the condition, and whether the main thread has it. */
static void *lock;
static int is_locked;
/* 1 while the thread of the processor waits and nobody has woken it. */
static int waits;
static __thread int is_processor = -1, is_main = -1;

static int of_processor(void)
{
	char name[16] = "";

	if (is_processor < 0) {
		prctl(GET_NAME, name);
		/* "ALL CPUs/TCG", with -name debug-threads=on. */
		is_processor = name[0] == 'A' && name[1] == 'L' && name[2] == 'L';
	}
	return is_processor;
}

static int of_main(void)
{
	if (is_main < 0)
		is_main = syscall(GETTID) == syscall(GETPID);
	return is_main;
}

static void *next(const char *name, const char *version)
{
	void *found = dlvsym(NEXT, name, version);

	return found ? found : dlsym(NEXT, name);
}

int pthread_cond_wait(void *which, void *mutex)
{
	static int (*real)(void *, void *);
	int result;

	if (!real)
		real = next("pthread_cond_wait", CONDITIONS);
	if (!of_processor()) {
		result = real(which, mutex);
		if (mutex == __atomic_load_n(&lock, __ATOMIC_SEQ_CST) && of_main())
			is_locked = 1;
		return result;
	}
	__atomic_store_n(&lock, mutex, __ATOMIC_SEQ_CST);
	__atomic_store_n(&condition, which, __ATOMIC_SEQ_CST);
	__atomic_store_n(&waits, 1, __ATOMIC_SEQ_CST);
	syscall(FUTEX, &waits, PRIVATE_WAKE, 1, NULL, NULL, 0);
	result = real(which, mutex);
	__atomic_store_n(&waits, 0, __ATOMIC_SEQ_CST);
	return result;
}

static void woken(void *which)
{
	if (which == __atomic_load_n(&condition, __ATOMIC_SEQ_CST))
		__atomic_store_n(&waits, 0, __ATOMIC_SEQ_CST);
}

int pthread_cond_broadcast(void *which)
{
	static int (*real)(void *);

	if (!real)
		real = next("pthread_cond_broadcast", CONDITIONS);
	woken(which);
	return real(which);
}

int pthread_cond_signal(void *which)
{
	static int (*real)(void *);

	if (!real)
		real = next("pthread_cond_signal", CONDITIONS);
	woken(which);
	return real(which);
}

int pthread_mutex_lock(void *mutex)
{
	static int (*real)(void *);
	int result;

	if (!real)
		real = dlsym(NEXT, "pthread_mutex_lock");
	result = real(mutex);
	if (mutex == __atomic_load_n(&lock, __ATOMIC_SEQ_CST) && of_main())
		is_locked = 1;
	return result;
}

int pthread_mutex_unlock(void *mutex)
{
	static int (*real)(void *);

	if (!real)
		real = dlsym(NEXT, "pthread_mutex_unlock");
	if (mutex == __atomic_load_n(&lock, __ATOMIC_SEQ_CST) && of_main())
		is_locked = 0;
	return real(mutex);
}

int ppoll(void *descriptors, unsigned long count, const void *limit, const void *signals)
{
	static int (*real)(void *, unsigned long, const void *, const void *);
	int result;

	if (!real)
		real = next("ppoll", "GLIBC_2.4");
	result = real(descriptors, count, limit, signals);
	if (!__atomic_load_n(&condition, __ATOMIC_SEQ_CST) || !of_main() || is_locked)
		return result;
	while (!__atomic_load_n(&waits, __ATOMIC_SEQ_CST))
		if (syscall(FUTEX, &waits, PRIVATE_WAIT, 0, &LONGEST, NULL, 0) < 0 && *__errno_location() == TIMED_OUT)
			break;
	return result;
}
