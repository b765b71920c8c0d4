/* Files that appear whole or not at all.  Written under a temporary name in the same directory, synced, renamed: a
   crash or a full disk leaves the old file or the new one.  A symbolic link stays, its target is replaced; an existing
   file's permissions are kept.  Temporary files of the same name that killed processes left are removed.  Devices and
   pipes (/dev/null, /dev/stdout) are written directly. */
#ifndef BASE_ATOMIC_FILE_H
#define BASE_ATOMIC_FILE_H

#include <stdio.h>

#include "anygp/anygp.h"

typedef struct atomic_file atomic_file;

anygp_status fail_write(const char *path, anygp_error *e); /* the sentence for errno */

anygp_status atomic_open(const char *path, atomic_file **out, anygp_error *e);
FILE *atomic_stream(atomic_file *f);
const char *atomic_temporary(const atomic_file *f); /* the name written under, for libraries that open it themselves */

/* Flushes, syncs and renames.  On failure the temporary is removed and the old file stays.  Always frees f. */
anygp_status atomic_commit(atomic_file *f, anygp_error *e);
void atomic_abort(atomic_file *f); /* removes the temporary and frees f; accepts NULL */

#endif
