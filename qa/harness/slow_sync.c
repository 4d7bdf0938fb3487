/* Makes an OSD's writes to its disk slower, or its syncs free, while it runs. LD_PRELOAD it.
 *
 * fdatasync() takes as much longer as the file $QA_SLOW_SYNC says (a number, in percent; none: not
 * at all). BlueStore's kv_sync thread waits for little else, so its time rises by about as much,
 * however fast the disk is at the time and however busy the machine: what is added is a share of
 * what this very call took, and the thread sleeps for it. A second number is what a call takes at
 * least, in milliseconds: a disk of that speed, where the real one is faster. Below 0 a call returns
 * at once: a disk whose cache survives a power failure. What an OSD stores is then as safe as the
 * machine.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL

static long long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

struct slowness {
    double percent;
    double least_ms;
};

/* Read anew each time: some microseconds beside a call that takes milliseconds. */
static struct slowness asked(void)
{
    struct slowness found = {0, 0};
    const char *path = getenv("QA_SLOW_SYNC");
    char text[32];
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return found;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    char *rest = text;
    found.percent = strtod(text, &rest);
    found.least_ms = strtod(rest, NULL);
    return found;
}

int fdatasync(int fd)
{
    static int (*next)(int);
    if (next == NULL) {
        next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
        if (next == NULL)
            abort();
    }
    struct slowness slow = asked();
    if (slow.least_ms < 0)
        return 0;
    long long began_ns = now_ns();
    int result = next(fd);
    int error = errno;
    long long ended_ns = now_ns();
    long long until_ns = ended_ns + (long long)((ended_ns - began_ns) * slow.percent / 100);
    long long least_ns = began_ns + (long long)(slow.least_ms * 1e6);
    if (least_ns > until_ns)
        until_ns = least_ns;
    if (until_ns > ended_ns) {
        struct timespec until = {until_ns / NS_PER_S, until_ns % NS_PER_S};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            ;
    }
    errno = error;
    return result;
}
