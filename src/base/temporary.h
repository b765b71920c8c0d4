/* Files under a name that no other process uses, PATH.MACHINE-PID-K.tmp, and the removal of those that a killed process has
   left.  MACHINE tells apart the machines and containers that share a disk, where equal process ids are other processes. */
#ifndef BASE_TEMPORARY_H
#define BASE_TEMPORARY_H

/* A new file beside path, open for reading and writing; *name is the caller's to free.  -1: errno says why, *name is NULL. */
int temporary_open(const char *path, char **name);

/* Removes the temporary files of path whose process is gone; never those of one that lives, or of another machine. */
void temporary_remove_stale(const char *path);

#endif
