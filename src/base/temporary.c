/* Temporary files: their names, and the removal of those that a killed process left. */
#define _GNU_SOURCE /* gethostname, kill, O_TMPFILE */
#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

enum { NAME_TRIES = 1000, SUFFIX_MOST = 64 };
#define SUFFIX "%08lx-%ld-%d.tmp"

/* Identifies the machine and, if the system has them, the namespace in which process ids are unique. */
static unsigned long machine(void)
{
    char host[256] = "";
    struct stat space;
    if (gethostname(host, sizeof host - 1)) host[0] = 0;
    uint64_t seed = stat("/proc/self/ns/pid", &space) ? 0 : (uint64_t)space.st_ino;
    return (unsigned long)(XXH64(host, strlen(host), seed) & UINT32_MAX);
}

int temporary_open(const char *path, char **name)
{
    size_t size = strlen(path) + SUFFIX_MOST;
    unsigned long here = machine();
    if (!(*name = malloc(size))) return errno = ENOMEM, -1;
    int fd = -1;
    for (int k = 0; k < NAME_TRIES; k++) {
        snprintf(*name, size, "%s." SUFFIX, path, here, (long)getpid(), k);
        fd = open(*name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666); /* the system applies the umask */
        if (fd >= 0 || errno != EEXIST) break;
    }
    if (fd >= 0) return fd;
    int why = errno;
    free(*name), *name = NULL;
    errno = why;
    return -1;
}

/* Whether what follows PATH. is a suffix that temporary_open made on this machine, for a process that no longer runs. */
static bool is_stale(const char *suffix, unsigned long here)
{
    unsigned long where;
    long pid;
    int k;
    char again[SUFFIX_MOST];
    if (sscanf(suffix, "%8lx-%ld-%d", &where, &pid, &k) != 3 || where != here || pid <= 0) return false;
    snprintf(again, sizeof again, SUFFIX, where, pid, k);
    return !strcmp(suffix, again) && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

void temporary_remove_stale(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t length = strlen(base);
    unsigned long here = machine();
    char *folder = malloc((size_t)(base - path) + 2);
    if (folder) snprintf(folder, (size_t)(base - path) + 2, "%.*s.", (int)(base - path), path);
    DIR *d = folder ? opendir(folder) : NULL;
    for (struct dirent *f; d && (f = readdir(d));)
        if (!strncmp(f->d_name, base, length) && f->d_name[length] == '.' && is_stale(f->d_name + length + 1, here))
            unlinkat(dirfd(d), f->d_name, 0);
    if (d) closedir(d);
    free(folder);
}

/* ------------------------------------------------------------------------------------------ scratch files */

const char *temporary_directory(void)
{
    const char *d = getenv("TMPDIR");
    return d && *d ? d : "/tmp";
}

/* For file systems that have no files without a name: one that is taken away at once.  A process that is killed in between
   leaves it to the next one. */
static int open_and_unlink(void)
{
    size_t size = strlen(temporary_directory()) + sizeof "/anygp-scratch";
    char *path = malloc(size), *name = NULL;
    if (!path) return errno = ENOMEM, -1;
    snprintf(path, size, "%s/anygp-scratch", temporary_directory());
    temporary_remove_stale(path);
    int fd = temporary_open(path, &name);
    if (fd >= 0) unlink(name);
    free(name);
    free(path);
    return fd;
}

int temporary_nameless(void)
{
    int fd = -1;
#ifdef O_TMPFILE
    fd = open(temporary_directory(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#endif
    return fd >= 0 ? fd : open_and_unlink();
}
