/* What the files of checkpoints share: checkpoint.c has the entries, checkpoint_file.c the file with all of them, checkpoint_log.c what has
   changed since. */
#ifndef PARAMS_CHECKPOINT_PARTS_H
#define PARAMS_CHECKPOINT_PARTS_H

#include <xxhash.h>

#include "data/text/name_table.h"
#include "params/checkpoint.h"

enum { NAME_BYTES = 32, WORD = 8, ENTRY_BYTES = NAME_BYTES + 2 * WORD };

typedef enum entry_type { ARRAY, INTEGER, TEXT, TYPES, PARTS = TYPES } entry_type; /* PARTS: in a log only */

typedef struct entry {
    char name[NAME_BYTES];
    entry_type type;
    int64_t length;
    void *payload;    /* a text is followed by a zero */
    int64_t each;     /* numbers of a part, for an array that changes in parts; else 0 */
    changes *changed; /* those that have */
    bool lent;        /* the payload is the caller's */
} entry;

struct checkpoint {
    int64_t count, room;
    entry *list;
    name_table names; /* entry i has the name i */
    bool on_disk;     /* large arrays that are read */
    anygp_status status;
    anygp_error error;
};

entry *entry_find(const checkpoint *c, const char *name); /* NULL: none */
int64_t entry_item(const entry *t);                       /* bytes of one of its items, */
int64_t entry_bytes(const entry *t);                      /* and of its payload */
/* Room for the payload, and a zero after it. */
anygp_status entry_make_room(const checkpoint *c, entry *t, anygp_error *e);
void entry_free(entry *t);
bool entry_append(checkpoint *c, const entry *t); /* takes t over, whose name is new; false: out of memory */

/* ------------------------------------------------------------------------------ [checkpoint_file.c] */

/* Bytes on their way from or to the file, and into the checksum. */
typedef struct passage {
    FILE *file;
    XXH64_state_t *hash;
    uint64_t left; /* reading: bytes before the checksum */
} passage;

bool passage_begin(passage *p, uint64_t seed); /* false: out of memory */
void passage_give(const passage *p, const void *bytes, size_t size);
void passage_give_word(const passage *p, uint64_t word);
void passage_give_entry(const passage *p, const entry *t);
bool passage_take(passage *p, void *bytes, uint64_t size);
bool passage_take_word(passage *p, uint64_t *word);
void passage_end(passage *p);
uint64_t word_of_bytes(const unsigned char bytes[WORD]);
void word_to_bytes(uint64_t word, unsigned char bytes[WORD]);

anygp_status checkpoint_damaged(anygp_error *e, const char *name, const char *what);
/* The next entry without its payload; types from `types` on are not known. */
anygp_status entry_read_head(passage *p, const char *name, int types, entry *t, anygp_error *e);
anygp_status entry_check_length(const passage *p, const char *name, const entry *t,
                                anygp_error *e); /* that it fits into the rest */
anygp_status entry_read_payload(passage *p, const char *name, entry *t, anygp_error *e);
/* All of it; *digest is its checksum. */
anygp_status checkpoint_write_whole(const checkpoint *c, const char *path, uint64_t *digest, anygp_error *e);
anygp_status checkpoint_read_whole(FILE *f, const char *name, checkpoint *c, uint64_t *digest, anygp_error *e);

#endif
