/* Files under a name that no other process uses, PATH.MACHINE-PID-K.tmp, and the removal of those that a killed process has
   left.  MACHINE distinguishes machines and containers that share a disk, where the same process id may mean another process. */
#ifndef BASE_TEMPORARY_H
#define BASE_TEMPORARY_H

/* A new file beside path, open for reading and writing; *name is the caller's to free.  -1: errno says why, *name is NULL. */
int temporary_open(const char *path, char **name);

/* Removes the temporary files of path whose process is gone; never those of a running process or of another machine. */
void temporary_remove_stale(const char *path);

/* Scratch files are in $TMPDIR, or in /tmp. */
const char *temporary_directory(void);
/* A scratch file there that has no name and ends with the process, open for reading and writing.  -1: errno says why. */
int temporary_nameless(void);

#endif
