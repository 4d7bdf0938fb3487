/* Makes an OSD's writes to its disk slower while it runs, by so many percent. LD_PRELOAD it.
 *
 * fdatasync() takes as much longer as the file $QA_SLOW_SYNC says (a number, in percent; none: not
 * at all). BlueStore's kv_sync thread waits for little else, so its time rises by about as much,
 * however fast the disk is at the time and however busy the machine: what is added is a share of
 * what this very call took, and the thread sleeps for it.
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

/* Read anew each time: some microseconds beside a call that takes milliseconds. */
static double asked_percent(void)
{
    const char *path = getenv("QA_SLOW_SYNC");
    char text[32];
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    return strtod(text, NULL);
}

int fdatasync(int fd)
{
    static int (*next)(int);
    if (next == NULL) {
        next = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
        if (next == NULL)
            abort();
    }
    long long began_ns = now_ns();
    int result = next(fd);
    int error = errno;
    long long ended_ns = now_ns();
    double percent = asked_percent();
    if (percent > 0) {
        long long until_ns = ended_ns + (long long)((ended_ns - began_ns) * percent / 100);
        struct timespec until = {until_ns / NS_PER_S, until_ns % NS_PER_S};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            ;
    }
    errno = error;
    return result;
}
