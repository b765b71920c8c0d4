#define _GNU_SOURCE /* O_TMPFILE */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool path_is_file(const char *path) { return path && *path && strcmp(path, "-") != 0; }

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The directory a path lies in; false if there is none. */
static bool directory_of(const char *path, struct stat *st)
{
    char directory[4096];
    int n = snprintf(directory, sizeof directory, "%.*s.", (int)(last_part(path) - path), path);
    return n < (int)sizeof directory && !stat(directory, st);
}

/* Whether two names are one file: an existing one, or one to be made. */
bool path_same_file(const char *a, const char *b)
{
    struct stat sa, sb;
    if (!path_is_file(a) || !path_is_file(b)) return false;
    bool both_exist = !stat(a, &sa) && !stat(b, &sb);
    if (both_exist && !S_ISREG(sa.st_mode)) return false; /* a device can be written twice */
    if (!both_exist && (strcmp(last_part(a), last_part(b)) || !directory_of(a, &sa) || !directory_of(b, &sb)))
        return false;
    return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

anygp_status paths_distinct(const char *const *paths, int inputs, int count, anygp_error *e)
{
    for (int i = 0; i < count; i++)
        for (int j = i + 1 > inputs ? i + 1 : inputs; j < count; j++)
            if (path_same_file(paths[i], paths[j]))
                return complain(e, ANYGP_ERR_ARGUMENT, "%.200s would be %s; give each output a name of its own",
                                paths[j], i < inputs ? "both read and written" : "written twice");
    return ANYGP_OK;
}

/* Whether a file can be created in a directory.  One without a name, if the system has them: a process that is killed at the
   wrong moment leaves nothing behind. */
static bool can_hold_files(const char *directory, char *probe)
{
    int fd = -1;
#ifdef O_TMPFILE
    fd = open(directory, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
#else
    (void)directory;
#endif
    if (fd < 0 && (fd = mkstemp(probe)) >= 0) unlink(probe);
    if (fd >= 0) close(fd);
    return fd >= 0;
}

/* Can the result be written there, under a longer name first? */
anygp_status path_check_writable(const char *path, anygp_error *e)
{
    struct stat st;
    char probe[4096], directory[4096];
    if (!path_is_file(path) || (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) return ANYGP_OK;
    if (!stat(path, &st) && S_ISDIR(st.st_mode))
        return complain(e, ANYGP_ERR_FILE, "%.200s is a directory; give a file name", path);
    int n = snprintf(probe, sizeof probe, "%s.01234567-01234567-0.tmp", path);
    if (n >= (int)sizeof probe || (stat(probe, &st) && errno == ENAMETOOLONG))
        return complain(e, ANYGP_ERR_ARGUMENT, "the file name is too long");
    snprintf(probe, sizeof probe, "%s.XXXXXX", path);
    snprintf(directory, sizeof directory, "%.*s.", (int)(last_part(path) - path), path);
    if (!can_hold_files(directory, probe))
        return complain(e, ANYGP_ERR_FILE, "%.200s cannot be written: the directory is missing or read-only", path);
    return ANYGP_OK;
}
