/* The model file: the safetensors layout (docs/model-file.md).
       8 bytes   length of the header, little-endian
       header    JSON: {"__metadata__": {...}, "0/X": {"dtype": "F64", "shape": [...], "data_offsets": [...]}, ...}
       arrays    raw little-endian doubles
   Everything is validated before anything is used; a damaged or hostile file gets an error message, never a crash. */
#ifndef IO_MODEL_FILE_H
#define IO_MODEL_FILE_H

#include <stdio.h>

#include "gp/gp.h"

/* The latest version: a file has the first one that can describe what is in it, 2 where a target has a likelihood, 3 where
   targets share arrays. */
enum { MODEL_FILE_SCHEMA = 4 };

anygp_status model_file_write(const gp_set *m, const char *path, anygp_error *e);
anygp_status model_file_write_stream(const gp_set *m, FILE *f, anygp_error *e); /* the caller looks at ferror() */
/* memory: bytes for what is made from the arrays (model_ops.load_within); 0: what is free. */
anygp_status model_file_read(const char *path, double memory, gp_set **out, anygp_error *e);
/* The same from an open, seekable stream; `name` is for messages. */
anygp_status model_file_read_stream(FILE *f, const char *name, double memory, gp_set **out, anygp_error *e);

/* 16 hexadecimal digits: XXH64 of the whole file with the digits of its checksum field read as zeros; written into
   `digits`.  False if the stream cannot be read or has no such field.  *at: where the digits are. */
bool model_file_checksum(FILE *f, char digits[17], int64_t *at);

#endif
