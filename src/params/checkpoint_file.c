/* The file of a whole checkpoint, numbers little-endian:
       "anygpck1"   count                                    8 bytes each
       count times: name[32] (zeros behind), type, length    48 bytes, then the payload:
                    ARRAY: length doubles;  INTEGER: 8 bytes, length 1;  TEXT: length bytes
       xxh64 of all bytes before                             8 bytes
   Every length is checked against what is left of the file before memory is allocated. */
#include <stdlib.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/memory.h"
#include "params/checkpoint_parts.h"

static const char MAGIC[8] = "anygpck1"; /* without the zero */

/* --------------------------------------------------------------------------------------- passages */

void word_to_bytes(uint64_t word, unsigned char bytes[WORD])
{
    for (int i = 0; i < WORD; i++) bytes[i] = (unsigned char)(word >> (8 * i));
}

uint64_t word_of_bytes(const unsigned char bytes[WORD])
{
    uint64_t word = 0;
    for (int i = WORD - 1; i >= 0; i--) word = word << 8 | bytes[i];
    return word;
}

bool passage_begin(passage *p, uint64_t seed)
{
    p->hash = XXH64_createState();
    return p->hash && XXH64_reset(p->hash, seed) == XXH_OK;
}

void passage_end(passage *p)
{
    XXH64_freeState(p->hash);
    p->hash = NULL;
}

/* A failed write shows in the stream when the file is committed. */
void passage_give(const passage *p, const void *bytes, size_t size)
{
    XXH64_update(p->hash, bytes, size);
    fwrite(bytes, 1, size, p->file);
}

void passage_give_word(const passage *p, uint64_t word)
{
    unsigned char bytes[WORD];
    word_to_bytes(word, bytes);
    passage_give(p, bytes, WORD);
}

void passage_give_entry(const passage *p, const entry *t)
{
    passage_give(p, t->name, NAME_BYTES);
    passage_give_word(p, t->type);
    passage_give_word(p, (uint64_t)t->length);
    passage_give(p, t->payload, (size_t)entry_bytes(t));
}

bool passage_take(passage *p, void *bytes, uint64_t size)
{
    if (size > p->left || fread(bytes, 1, size, p->file) != size) return false;
    p->left -= size;
    XXH64_update(p->hash, bytes, size);
    return true;
}

bool passage_take_word(passage *p, uint64_t *word)
{
    unsigned char bytes[WORD];
    if (!passage_take(p, bytes, WORD)) return false;
    *word = word_of_bytes(bytes);
    return true;
}

/* ------------------------------------------------------------------------------------------ write */

static void give_all(const passage *p, const checkpoint *c)
{
    passage_give(p, MAGIC, sizeof MAGIC);
    passage_give_word(p, (uint64_t)c->count);
    for (const entry *t = c->list; t < c->list + c->count; t++) passage_give_entry(p, t);
}

anygp_status checkpoint_write_whole(const checkpoint *c, const char *path, uint64_t *digest, anygp_error *e)
{
    atomic_file *f = NULL;
    passage p = {0};
    anygp_status status = ANYGP_OK;
    if (!c || !passage_begin(&p, 0)) TRY_DONE(fail_memory(e, "a checkpoint", sizeof *c));
    TRY_DONE(ANYGP_FAILED(c->status) ? fail_with(e, c->status, "%s", c->error.text) : ANYGP_OK);
    TRY_DONE(atomic_open(path, &f, e));
    p.file = atomic_stream(f);
    give_all(&p, c);
    *digest = XXH64_digest(p.hash);
    passage_give_word(&p, *digest);
    status = atomic_commit(f, e);
done:
    passage_end(&p);
    return status;
}

anygp_status checkpoint_write(const checkpoint *c, const char *path, anygp_error *e)
{
    uint64_t digest;
    return checkpoint_write_whole(c, path, &digest, e);
}

/* ------------------------------------------------------------------------------------------- read */

anygp_status checkpoint_damaged(anygp_error *e, const char *name, const char *what)
{
    return fail_with(e, ANYGP_ERR_FILE, "the checkpoint %.300s is damaged: %s; start without it", name, what);
}

static anygp_status foreign(anygp_error *e, const char *name)
{
    return fail_with(e, ANYGP_ERR_FILE, "%.300s is not a checkpoint; name a file that --checkpoint has written", name);
}

/* The size of the file, without its checksum, and that it begins as a checkpoint does. */
static anygp_status open_passage(passage *p, const char *name, anygp_error *e)
{
    char magic[sizeof MAGIC];
    long size = fseek(p->file, 0, SEEK_END) == 0 ? ftell(p->file) : -1;
    rewind(p->file);
    if (!passage_begin(p, 0)) return fail_memory(e, "a checksum", 0);
    if (size < (long)sizeof MAGIC) return foreign(e, name);
    p->left = sizeof MAGIC;
    if (!passage_take(p, magic, sizeof magic) || memcmp(magic, MAGIC, sizeof magic) != 0) return foreign(e, name);
    if (size < (long)sizeof MAGIC + 2 * WORD) return checkpoint_damaged(e, name, "it is cut short");
    p->left = (uint64_t)size - sizeof MAGIC - WORD;
    return ANYGP_OK;
}

/* At least one character, and nothing but zeros from the first zero on. */
static bool name_is_valid(const char name[NAME_BYTES])
{
    size_t length = strnlen(name, NAME_BYTES);
    if (length == 0 || length == NAME_BYTES) return false;
    for (size_t i = length; i < NAME_BYTES; i++)
        if (name[i]) return false;
    return true;
}

anygp_status entry_read_head(passage *p, const char *name, int types, entry *t, anygp_error *e)
{
    unsigned char head[ENTRY_BYTES];
    if (!passage_take(p, head, ENTRY_BYTES)) return checkpoint_damaged(e, name, "it is cut short");
    memcpy(t->name, head, NAME_BYTES);
    uint64_t type = word_of_bytes(head + NAME_BYTES), length = word_of_bytes(head + NAME_BYTES + WORD);
    if (!name_is_valid(t->name)) return checkpoint_damaged(e, name, "a name in it is not valid");
    if (type >= (uint64_t)types || (type == INTEGER && length != 1))
        return checkpoint_damaged(e, name, "it has an entry of no known type");
    t->type = (entry_type)type, t->length = (int64_t)length;
    return ANYGP_OK;
}

anygp_status entry_check_length(const passage *p, const char *name, const entry *t, anygp_error *e)
{
    if ((uint64_t)t->length > p->left / (uint64_t)entry_item(t)) return checkpoint_damaged(e, name, "it is cut short");
    return ANYGP_OK;
}

anygp_status entry_read_payload(passage *p, const char *name, entry *t, anygp_error *e)
{
    if (!passage_take(p, t->payload, (uint64_t)entry_bytes(t)))
        return checkpoint_damaged(e, name, "it cannot be read to its end");
    if (t->type == TEXT && strlen(t->payload) != (size_t)t->length)
        return checkpoint_damaged(e, name, "a text in it is not valid");
    return ANYGP_OK;
}

static anygp_status read_entry(passage *p, checkpoint *c, const char *name, anygp_error *e)
{
    entry t = {0};
    TRY(entry_read_head(p, name, TYPES, &t, e));
    if (entry_find(c, t.name)) return checkpoint_damaged(e, name, "a name comes twice");
    TRY(entry_check_length(p, name, &t, e));
    TRY(entry_make_room(c, &t, e));
    if (!entry_append(c, &t)) {
        entry_free(&t);
        return fail_memory(e, "a checkpoint", (double)entry_bytes(&t));
    }
    return entry_read_payload(p, name, &t, e);
}

/* Nothing may be left but the checksum of what was read. */
static anygp_status check_end(passage *p, const char *name, uint64_t *digest, anygp_error *e)
{
    unsigned char bytes[WORD];
    if (p->left) return checkpoint_damaged(e, name, "there are bytes after its last entry");
    if (fread(bytes, 1, WORD, p->file) != WORD) return checkpoint_damaged(e, name, "it cannot be read to its end");
    *digest = XXH64_digest(p->hash);
    if (word_of_bytes(bytes) != *digest) return checkpoint_damaged(e, name, "its checksum does not match");
    return ANYGP_OK;
}

static anygp_status read_all(passage *p, checkpoint *c, const char *name, uint64_t *digest, anygp_error *e)
{
    uint64_t count;
    TRY(open_passage(p, name, e));
    if (!passage_take_word(p, &count)) return checkpoint_damaged(e, name, "it cannot be read");
    if (count > p->left / ENTRY_BYTES) return checkpoint_damaged(e, name, "it has too many entries for its size");
    for (uint64_t i = 0; i < count; i++) TRY(read_entry(p, c, name, e));
    return check_end(p, name, digest, e);
}

anygp_status checkpoint_read_whole(FILE *f, const char *name, checkpoint *c, uint64_t *digest, anygp_error *e)
{
    passage p = {.file = f};
    anygp_status status = read_all(&p, c, name, digest, e);
    passage_end(&p);
    return status;
}

anygp_status checkpoint_read_stream(FILE *f, const char *name, checkpoint **out, anygp_error *e)
{
    uint64_t digest;
    checkpoint *c = checkpoint_new();
    *out = NULL;
    anygp_status status = c ? checkpoint_read_whole(f, name, c, &digest, e) : fail_memory(e, "a checkpoint", sizeof *c);
    if (ANYGP_FAILED(status))
        checkpoint_free(c);
    else
        *out = c;
    return status;
}
