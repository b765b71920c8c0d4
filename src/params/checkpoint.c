/* The file, numbers little-endian:
       "anygpck1"   count                                    8 bytes each
       count times: name[32] (zeros behind), type, length    48 bytes, then the payload:
                    ARRAY: length doubles;  INTEGER: 8 bytes, length 1;  TEXT: length bytes
       xxh64 of all bytes before                             8 bytes
   Every length is checked against what is left of the file before memory is allocated. */
#include "params/checkpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/atomic_file.h"
#include "base/memory.h"
#include "data/text/name_table.h"

static const char MAGIC[8] = "anygpck1"; /* without the zero */
enum { NAME_BYTES = 32, WORD = 8, ENTRY_BYTES = NAME_BYTES + 2 * WORD };

static const int64_t COUNTER_MOST = INT64_C(1) << 50;

typedef enum entry_type { ARRAY, INTEGER, TEXT, TYPES } entry_type;

static const int64_t ITEM_BYTES[TYPES] = {[ARRAY] = 8, [INTEGER] = 8, [TEXT] = 1};

typedef struct entry {
    char name[NAME_BYTES];
    entry_type type;
    int64_t length;
    void *payload; /* a text is followed by a zero */
} entry;

struct checkpoint {
    int64_t count, room;
    entry *list;
    name_table names; /* entry i has the name i */
    anygp_status status;
    anygp_error error;
};

checkpoint *checkpoint_new(void) { return calloc(1, sizeof(checkpoint)); }

void checkpoint_free(checkpoint *c)
{
    if (!c) return;
    for (int64_t i = 0; i < c->count; i++) free(c->list[i].payload);
    free(c->list);
    name_table_free(&c->names);
    free(c);
}

static const entry *find(const checkpoint *c, const char *name)
{
    int64_t i = name_find(&c->names, name, strlen(name));
    return i >= 0 ? &c->list[i] : NULL;
}

/* Takes t over, whose name is new; false: out of memory. */
static bool append(checkpoint *c, const entry *t)
{
    if (c->count == c->room) {
        int64_t room = c->room ? 2 * c->room : 32;
        entry *moved = realloc(c->list, (size_t)room * sizeof *moved);
        if (!moved) return false;
        c->list = moved, c->room = room;
    }
    if (name_add(&c->names, t->name, strlen(t->name)) < 0) return false;
    c->list[c->count++] = *t;
    return true;
}

static const entry *find_type(const checkpoint *c, const char *name, entry_type type)
{
    const entry *t = find(c, name);
    return t && t->type == type ? t : NULL;
}

static int64_t payload_bytes(const entry *t) { return t->length * ITEM_BYTES[t->type]; }

/* Room for the payload of t, and a zero after it. */
static bool make_room(entry *t)
{
    size_t bytes;
    if (!size_mul(t->length, ITEM_BYTES[t->type], &bytes) || !(t->payload = mem_alloc((int64_t)bytes + 1, 1)))
        return false;
    ((char *)t->payload)[bytes] = 0;
    return true;
}

/* ------------------------------------------------------------------------------------ put and get */

static anygp_status check_name(const checkpoint *c, const char *name, anygp_error *e)
{
    size_t length = strlen(name);
    if (length == 0 || length >= NAME_BYTES)
        return fail_with(e, ANYGP_ERR_INTERNAL, "a checkpoint cannot hold the name '%.60s'; give it 1 to %d characters",
                         name, NAME_BYTES - 1);
    if (find(c, name))
        return fail_with(e, ANYGP_ERR_INTERNAL, "a checkpoint was given '%s' twice; give each name once", name);
    return ANYGP_OK;
}

static void put(checkpoint *c, const char *name, entry_type type, int64_t length, const void *payload)
{
    if (!c || ANYGP_FAILED(c->status)) return;
    entry t = {.type = type, .length = length};
    c->status = check_name(c, name, &c->error);
    if (ANYGP_FAILED(c->status)) return;
    memcpy(t.name, name, strlen(name));
    if (!make_room(&t) || !append(c, &t)) {
        free(t.payload);
        c->status = fail_memory(&c->error, "a checkpoint", 8.0 * (double)length);
        return;
    }
    if (length > 0) memcpy(t.payload, payload, (size_t)payload_bytes(&t));
}

void checkpoint_put(checkpoint *c, const char *name, int64_t count, const double *values)
{
    put(c, name, ARRAY, count, values);
}

void checkpoint_put_number(checkpoint *c, const char *name, double value) { put(c, name, ARRAY, 1, &value); }
void checkpoint_put_integer(checkpoint *c, const char *name, int64_t value) { put(c, name, INTEGER, 1, &value); }

void checkpoint_put_text(checkpoint *c, const char *name, const char *text)
{
    put(c, name, TEXT, (int64_t)strlen(text), text);
}

static bool get(const entry *t, int64_t length, void *payload)
{
    if (!t || t->length != length) return false;
    if (length > 0) memcpy(payload, t->payload, (size_t)payload_bytes(t));
    return true;
}

bool checkpoint_get(const checkpoint *c, const char *name, int64_t count, double *values)
{
    return get(find_type(c, name, ARRAY), count, values);
}

bool checkpoint_get_number(const checkpoint *c, const char *name, double *value)
{
    return checkpoint_get(c, name, 1, value);
}

bool checkpoint_get_integer(const checkpoint *c, const char *name, int64_t *value)
{
    return get(find_type(c, name, INTEGER), 1, value);
}

bool checkpoint_get_counter(const checkpoint *c, const char *name, int64_t least, int64_t *value)
{
    return checkpoint_get_integer(c, name, value) && *value >= least && *value <= COUNTER_MOST;
}

bool checkpoint_get_finite(const checkpoint *c, const char *name, int64_t count, double *values)
{
    if (!checkpoint_get(c, name, count, values)) return false;
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

bool checkpoint_get_jitter(const checkpoint *c, const char *name, double *value)
{
    return checkpoint_get_number(c, name, value) && *value >= 0 && *value <= 1;
}

int64_t checkpoint_count(const checkpoint *c, const char *name)
{
    const entry *t = find_type(c, name, ARRAY);
    return t ? t->length : -1;
}

const char *checkpoint_text(const checkpoint *c, const char *name)
{
    const entry *t = find_type(c, name, TEXT);
    return t ? t->payload : NULL;
}

/* ----------------------------------------------------------------------------------------- write */

/* Bytes on their way from or to the file, and into the checksum. */
typedef struct passage {
    FILE *file;
    XXH64_state_t *hash;
    uint64_t left; /* reading: bytes of the file before the checksum */
} passage;

static void word_to_bytes(uint64_t word, unsigned char bytes[WORD])
{
    for (int i = 0; i < WORD; i++) bytes[i] = (unsigned char)(word >> (8 * i));
}

static uint64_t word_of_bytes(const unsigned char bytes[WORD])
{
    uint64_t word = 0;
    for (int i = WORD - 1; i >= 0; i--) word = word << 8 | bytes[i];
    return word;
}

/* A failed write shows in the stream when the file is committed. */
static void give(const passage *p, const void *bytes, size_t size)
{
    XXH64_update(p->hash, bytes, size);
    fwrite(bytes, 1, size, p->file);
}

static void give_word(const passage *p, uint64_t word)
{
    unsigned char bytes[WORD];
    word_to_bytes(word, bytes);
    give(p, bytes, WORD);
}

static void give_all(const passage *p, const checkpoint *c)
{
    give(p, MAGIC, sizeof MAGIC);
    give_word(p, (uint64_t)c->count);
    for (const entry *t = c->list; t < c->list + c->count; t++) {
        give(p, t->name, NAME_BYTES);
        give_word(p, t->type);
        give_word(p, (uint64_t)t->length);
        give(p, t->payload, (size_t)payload_bytes(t));
    }
    give_word(p, XXH64_digest(p->hash));
}

static bool start_hash(passage *p)
{
    p->hash = XXH64_createState();
    return p->hash && XXH64_reset(p->hash, 0) == XXH_OK;
}

anygp_status checkpoint_write(const checkpoint *c, const char *path, anygp_error *e)
{
    atomic_file *f = NULL;
    passage p = {0};
    anygp_status status = ANYGP_OK;
    if (!c || !start_hash(&p)) {
        status = fail_memory(e, "a checkpoint", sizeof *c);
        goto done;
    }
    TRY_DONE(ANYGP_FAILED(c->status) ? fail_with(e, c->status, "%s", c->error.text) : ANYGP_OK);
    TRY_DONE(atomic_open(path, &f, e));
    p.file = atomic_stream(f);
    give_all(&p, c);
    status = atomic_commit(f, e);
done:
    XXH64_freeState(p.hash);
    return status;
}

/* ------------------------------------------------------------------------------------------ read */

static anygp_status damaged(anygp_error *e, const char *name, const char *what)
{
    return fail_with(e, ANYGP_ERR_FILE, "the checkpoint %.300s is damaged: %s; start without it", name, what);
}

static anygp_status foreign(anygp_error *e, const char *name)
{
    return fail_with(e, ANYGP_ERR_FILE, "%.300s is not a checkpoint; name a file that --checkpoint has written", name);
}

static bool take(passage *p, void *bytes, uint64_t size)
{
    if (size > p->left || fread(bytes, 1, size, p->file) != size) return false;
    p->left -= size;
    XXH64_update(p->hash, bytes, size);
    return true;
}

/* The size of the file, without its checksum, and that it begins as a checkpoint does. */
static anygp_status open_passage(passage *p, const char *name, anygp_error *e)
{
    char magic[sizeof MAGIC];
    long size = fseek(p->file, 0, SEEK_END) == 0 ? ftell(p->file) : -1;
    rewind(p->file);
    if (!start_hash(p)) return fail_memory(e, "a checksum", 0);
    if (size < (long)sizeof MAGIC) return foreign(e, name);
    p->left = sizeof MAGIC;
    if (!take(p, magic, sizeof magic) || memcmp(magic, MAGIC, sizeof magic) != 0) return foreign(e, name);
    if (size < (long)sizeof MAGIC + 2 * WORD) return damaged(e, name, "it is cut short");
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

/* The next entry without its payload, which is known to fit into the rest of the file. */
static anygp_status read_entry_head(passage *p, const checkpoint *c, const char *name, entry *t, anygp_error *e)
{
    unsigned char head[ENTRY_BYTES];
    if (!take(p, head, ENTRY_BYTES)) return damaged(e, name, "it is cut short");
    memcpy(t->name, head, NAME_BYTES);
    uint64_t type = word_of_bytes(head + NAME_BYTES), length = word_of_bytes(head + NAME_BYTES + WORD);
    if (!name_is_valid(t->name)) return damaged(e, name, "a name in it is not valid");
    if (find(c, t->name)) return damaged(e, name, "a name comes twice");
    if (type >= TYPES || (type == INTEGER && length != 1)) return damaged(e, name, "it has an entry of no known type");
    if (length > p->left / (uint64_t)ITEM_BYTES[type]) return damaged(e, name, "it is cut short");
    t->type = (entry_type)type;
    t->length = (int64_t)length;
    return ANYGP_OK;
}

static anygp_status read_entry(passage *p, checkpoint *c, const char *name, anygp_error *e)
{
    entry t = {0};
    TRY(read_entry_head(p, c, name, &t, e));
    if (!make_room(&t) || !append(c, &t)) {
        free(t.payload);
        return fail_memory(e, "a checkpoint", (double)payload_bytes(&t));
    }
    if (!take(p, t.payload, (uint64_t)payload_bytes(&t))) return damaged(e, name, "it cannot be read to its end");
    if (t.type == TEXT && strlen(t.payload) != (size_t)t.length) return damaged(e, name, "a text in it is not valid");
    return ANYGP_OK;
}

/* Nothing may be left but the checksum of what was read. */
static anygp_status check_end(passage *p, const char *name, anygp_error *e)
{
    unsigned char bytes[WORD];
    if (p->left) return damaged(e, name, "there are bytes after its last entry");
    if (fread(bytes, 1, WORD, p->file) != WORD) return damaged(e, name, "it cannot be read to its end");
    if (word_of_bytes(bytes) != XXH64_digest(p->hash)) return damaged(e, name, "its checksum does not match");
    return ANYGP_OK;
}

static anygp_status read_all(passage *p, checkpoint *c, const char *name, anygp_error *e)
{
    unsigned char bytes[WORD];
    TRY(open_passage(p, name, e));
    if (!take(p, bytes, WORD)) return damaged(e, name, "it cannot be read");
    uint64_t count = word_of_bytes(bytes);
    if (count > p->left / ENTRY_BYTES) return damaged(e, name, "it has too many entries for its size");
    for (uint64_t i = 0; i < count; i++) TRY(read_entry(p, c, name, e));
    return check_end(p, name, e);
}

anygp_status checkpoint_read_stream(FILE *f, const char *name, checkpoint **out, anygp_error *e)
{
    passage p = {.file = f};
    checkpoint *c = checkpoint_new();
    *out = NULL;
    anygp_status status = c ? read_all(&p, c, name, e) : fail_memory(e, "a checkpoint", sizeof *c);
    XXH64_freeState(p.hash);
    if (ANYGP_FAILED(status))
        checkpoint_free(c);
    else
        *out = c;
    return status;
}

anygp_status checkpoint_read(const char *path, checkpoint **out, anygp_error *e)
{
    *out = NULL;
    FILE *f = fopen(path, "rb");
    if (!f) return fail_with(e, ANYGP_ERR_FILE, "the checkpoint %.300s cannot be opened; start without --resume", path);
    anygp_status status = checkpoint_read_stream(f, path, out, e);
    fclose(f);
    return status;
}
