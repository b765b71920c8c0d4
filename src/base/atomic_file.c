/* Files that appear whole or not at all: written under a temporary name, synced and renamed. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/temporary.h"

struct atomic_file {
    char *path;      /* the file to be replaced, links followed */
    char *temporary; /* NULL where path is written directly */
    FILE *stream;
};

static void release(atomic_file *f)
{
    if (f->stream) fclose(f->stream);
    free(f->temporary);
    free(f->path);
    free(f);
}

void atomic_abort(atomic_file *f)
{
    if (!f) return;
    if (f->temporary && f->stream) unlink(f->temporary);
    release(f);
}

FILE *atomic_stream(atomic_file *f) { return f->stream; }
const char *atomic_temporary(const atomic_file *f) { return f->temporary ? f->temporary : f->path; }

anygp_status fail_write(const char *path, anygp_error *e)
{
    int why = errno ? errno : EIO;
    const char *advice = why == ENOENT                    ? "; make its directory first"
                         : why == EACCES || why == EROFS  ? "; choose a directory you may write to"
                         : why == ENOSPC || why == EDQUOT ? "; make room or choose another disk"
                         : why == EFBIG                   ? "; raise the limit on file sizes (ulimit -f)"
                                                          : "";
    return fail_with(e, ANYGP_ERR_FILE, "%s cannot be written: %s%s", path, strerror(why), advice);
}

/* Where the directory part of path ends, the slash included. */
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The path with links resolved if the file exists; the path itself if it does not. */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL);
    return real ? real : mem_strdup(path);
}

static int open_for_writing(atomic_file *f, anygp_error *e)
{
    struct stat st;
    bool exists = stat(f->path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) {
        fail_with(e, ANYGP_ERR_FILE, "%s is a directory; name a file to write", f->path);
        return -1;
    }
    bool direct = exists && !S_ISREG(st.st_mode);
    if (!direct) temporary_remove_stale(f->path);
    int fd = direct ? open(f->path, O_WRONLY | O_CLOEXEC) : temporary_open(f->path, &f->temporary);
    if (fd < 0)
        fail_write(f->path, e);
    else if (exists && !direct && fchmod(fd, st.st_mode & 07777))
        errno = 0; /* not ours: the default has to do */
    return fd;
}

anygp_status atomic_open(const char *path, atomic_file **out, anygp_error *e)
{
    *out = NULL;
    atomic_file *f = calloc(1, sizeof *f);
    if (!f || !(f->path = resolve(path))) {
        free(f);
        return fail_memory(e, "a path", (double)strlen(path));
    }
    int fd = open_for_writing(f, e);
    if (fd < 0) {
        release(f);
        return ANYGP_ERR_FILE;
    }
    if (!(f->stream = fdopen(fd, "w"))) {
        close(fd);
        if (f->temporary) unlink(f->temporary);
        release(f);
        return fail_memory(e, "a file's buffer", BUFSIZ);
    }
    *out = f;
    return ANYGP_OK;
}

/* The rename itself is on disk only once the directory is; a file system that cannot sync one is trusted. */
static void sync_directory(char *path)
{
    size_t n = directory_length(path);
    char keep = path[n];
    path[n] = 0;
    int fd = open(n ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    path[n] = keep;
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

/* Everything up to the rename; errno says what failed. */
static bool finish(atomic_file *f)
{
    bool fine = fflush(f->stream) == 0 && !ferror(f->stream);
    if (fine && f->temporary) fine = fsync(fileno(f->stream)) == 0;
    int saved = errno;
    bool closed = fclose(f->stream) == 0;
    f->stream = NULL;
    if (!fine) errno = saved;
    return fine && closed && (!f->temporary || rename(f->temporary, f->path) == 0);
}

anygp_status atomic_commit(atomic_file *f, anygp_error *e)
{
    anygp_status status = ANYGP_OK;
    if (!finish(f)) {
        status = fail_write(f->path, e);
        if (f->temporary) unlink(f->temporary);
    } else if (f->temporary) {
        sync_directory(f->path);
    }
    release(f);
    return status;
}
