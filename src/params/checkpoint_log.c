/* What has changed since a checkpoint was written whole, in a log beside it.  Numbers are little-endian:
       "anygplg1"   checksum of the whole checkpoint it belongs to, xxh64 of these two    8 bytes each
       records:     bytes of the body, number from 0, xxh64 of these two                  8 bytes each
                    body: count, and so many entries as in the whole checkpoint (checkpoint_file.c), or
                          PARTS: name[32], type, length of the array; numbers of a part, parts that follow; number of a part, its numbers
                    commit: xxh64 of the record, which begins with that of the record before    8 bytes
   The commit is written once the rest is on disk, so a record without one was not finished and does not count; any other record that does not
   fit its checksums is damaged.  A log of another checkpoint was there before the file was replaced: it does not count either. */
#define _XOPEN_SOURCE 700 /* fileno, ftruncate */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/memory.h"
#include "params/checkpoint_parts.h"

static const char LOG_MAGIC[8] = "anygplg1"; /* without the zero */
enum { LOG_HEAD = 3 * WORD, RECORD_HEAD = 3 * WORD, COMMIT = WORD, SCAN = 1 << 16 };

static char *log_name(const char *path)
{
    size_t size = strlen(path) + sizeof ".log";
    char *name = malloc(size);
    if (name) snprintf(name, size, "%s.log", path);
    return name;
}

static anygp_status no_memory(anygp_error *e) { return fail_memory(e, "a checkpoint", 0); }

/* ------------------------------------------------------------------------------------------ write */

static int64_t part_length(const entry *t, int64_t part)
{
    int64_t left = t->length - part * t->each;
    return left < t->each ? left : t->each;
}

static int64_t changed_bytes(const entry *t)
{
    int64_t last = t->changed->parts - 1, short_of = t->each - part_length(t, last);
    bool has_last = changes_has(t->changed, last);
    return t->changed->count * WORD * (1 + t->each) - (has_last ? short_of * WORD : 0);
}

static int64_t body_bytes(const checkpoint *c)
{
    int64_t bytes = WORD;
    for (const entry *t = c->list; t < c->list + c->count; t++)
        bytes += ENTRY_BYTES + (t->each ? 2 * WORD + changed_bytes(t) : entry_bytes(t));
    return bytes;
}

static void give_changed(const passage *p, const entry *t)
{
    const double *values = t->payload;
    passage_give(p, t->name, NAME_BYTES);
    passage_give_word(p, PARTS);
    passage_give_word(p, (uint64_t)t->length);
    passage_give_word(p, (uint64_t)t->each);
    passage_give_word(p, (uint64_t)t->changed->count);
    for (int64_t i = changes_next(t->changed, 0); i >= 0; i = changes_next(t->changed, i + 1)) {
        passage_give_word(p, (uint64_t)i);
        passage_give(p, values + i * t->each, (size_t)part_length(t, i) * sizeof *values);
    }
}

static uint64_t head_digest(uint64_t base, uint64_t bytes, uint64_t number)
{
    unsigned char head[2 * WORD];
    word_to_bytes(bytes, head);
    word_to_bytes(number, head + WORD);
    return XXH64(head, sizeof head, base);
}

static uint64_t commit_of(const passage *p)
{
    uint64_t digest = XXH64_digest(p->hash);
    return digest ? digest : 1; /* zeros are what a file system may leave of bytes that were not written */
}

static void give_record(const passage *p, const checkpoint *c, const checkpoint_trail *t)
{
    uint64_t bytes = (uint64_t)body_bytes(c);
    passage_give_word(p, bytes);
    passage_give_word(p, t->records);
    passage_give_word(p, head_digest(t->base, bytes, t->records));
    passage_give_word(p, (uint64_t)c->count);
    for (const entry *x = c->list; x < c->list + c->count; x++)
        if (x->each)
            give_changed(p, x);
        else
            passage_give_entry(p, x);
}

static void make_log_head(uint64_t base, unsigned char head[LOG_HEAD])
{
    memcpy(head, LOG_MAGIC, sizeof LOG_MAGIC);
    word_to_bytes(base, head + WORD);
    word_to_bytes(XXH64(head, 2 * WORD, 0), head + 2 * WORD);
}

static bool is_on_disk(FILE *f) { return fflush(f) == 0 && !ferror(f) && fsync(fileno(f)) == 0; }

/* The record after the bytes that are there, and its commit. */
static bool write_record(const passage *p, const checkpoint *c, const checkpoint_trail *t, uint64_t *commit)
{
    unsigned char head[LOG_HEAD], end[COMMIT];
    make_log_head(t->base, head);
    if (t->log == 0) fwrite(head, 1, LOG_HEAD, p->file);
    give_record(p, c, t);
    if (!is_on_disk(p->file)) return false;
    *commit = commit_of(p);
    word_to_bytes(*commit, end);
    return fwrite(end, 1, COMMIT, p->file) == COMMIT && is_on_disk(p->file);
}

/* What could not be written is taken away; where that fails too, the next checkpoint is written whole. */
static anygp_status take_back(FILE *f, checkpoint_trail *t, const char *name, anygp_error *e)
{
    int why = errno;
    t->begun = ftruncate(fileno(f), t->log) == 0;
    errno = why;
    return fail_write(name, e);
}

static anygp_status append_to(FILE *f, const checkpoint *c, checkpoint_trail *t, const char *name, anygp_error *e)
{
    passage p = {.file = f};
    uint64_t commit;
    if (!passage_begin(&p, t->records ? t->last : t->base)) return no_memory(e);
    bool fine = fseek(f, t->log, SEEK_SET) == 0 && write_record(&p, c, t, &commit);
    passage_end(&p);
    if (!fine) return take_back(f, t, name, e);
    t->log += (t->log ? 0 : LOG_HEAD) + RECORD_HEAD + body_bytes(c) + COMMIT;
    t->last = commit, t->records++;
    return ANYGP_OK;
}

/* A log that is not as this run left it is not added to: *there is false. */
static anygp_status append(const checkpoint *c, checkpoint_trail *t, const char *name, bool *there, anygp_error *e)
{
    struct stat st;
    int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | (t->log ? 0 : O_TRUNC), 0666);
    if (fd < 0) return fail_write(name, e);
    *there = fstat(fd, &st) == 0 && st.st_size == t->log;
    FILE *f = *there ? fdopen(fd, "r+") : NULL;
    if (!f) {
        close(fd);
        return *there ? no_memory(e) : ANYGP_OK;
    }
    anygp_status status = append_to(f, c, t, name, e);
    fclose(f); /* its bytes are on disk, or were taken back */
    return status;
}

static bool is_in_place(const checkpoint_trail *t, const char *path)
{
    struct stat st;
    return t->begun && stat(path, &st) == 0 && (uint64_t)st.st_dev == t->device && (uint64_t)st.st_ino == t->inode &&
           st.st_size == t->whole;
}

static bool is_large(const checkpoint *c)
{
    bool any = false;
    for (const entry *t = c->list; t < c->list + c->count; t++) any = any || (t->each && t->length >= CHECKPOINT_LARGE);
    return any;
}

static anygp_status write_whole(const checkpoint *c, checkpoint_trail *t, const char *path, const char *log,
                                anygp_error *e)
{
    struct stat st;
    uint64_t digest;
    TRY(checkpoint_write_whole(c, path, &digest, e));
    unlink(log);
    bool there = stat(path, &st) == 0;
    *t = (checkpoint_trail){.begun = there, .base = digest};
    if (there) t->device = (uint64_t)st.st_dev, t->inode = (uint64_t)st.st_ino, t->whole = st.st_size;
    return ANYGP_OK;
}

static void forget_changes(const checkpoint *c)
{
    for (const entry *t = c->list; t < c->list + c->count; t++)
        if (t->changed) changes_forget(t->changed);
}

anygp_status checkpoint_save(const checkpoint *c, checkpoint_trail *t, const char *path, bool *whole, anygp_error *e)
{
    char *log = log_name(path);
    bool there = false;
    anygp_status status = ANYGP_OK;
    *whole = true;
    if (!log || !c) TRY_DONE(no_memory(e));
    if (!ANYGP_FAILED(c->status) && is_large(c) && is_in_place(t, path) && t->log + body_bytes(c) <= t->whole)
        TRY_DONE(append(c, t, log, &there, e));
    *whole = !there;
    if (*whole) TRY_DONE(write_whole(c, t, path, log, e));
    forget_changes(c);
done:
    free(log);
    return status;
}

void checkpoint_remove(const char *path)
{
    char *log = log_name(path);
    unlink(path);
    if (log) unlink(log);
    free(log);
}

/* ------------------------------------------------------------------------------------------- read */

/* A number, integer or text takes the place of the old one. */
static anygp_status replace(passage *p, checkpoint *c, const char *name, entry *t, anygp_error *e)
{
    entry *old = entry_find(c, t->name);
    TRY(entry_check_length(p, name, t, e));
    if (!old || old->type != t->type) return checkpoint_damaged(e, name, "its log has another name or type");
    TRY(entry_make_room(c, t, e));
    anygp_status status = entry_read_payload(p, name, t, e);
    entry_free(ANYGP_FAILED(status) ? t : old);
    if (!ANYGP_FAILED(status)) *old = *t;
    return status;
}

static anygp_status change_parts(passage *p, checkpoint *c, const char *name, const entry *t, anygp_error *e)
{
    entry *old = entry_find(c, t->name);
    uint64_t each, count, part;
    if (!old || old->type != ARRAY || old->length != t->length || t->length < 1)
        return checkpoint_damaged(e, name, "its log changes an array that is not there");
    if (!passage_take_word(p, &each) || !passage_take_word(p, &count) || each < 1 || each > (uint64_t)t->length)
        return checkpoint_damaged(e, name, "its log has parts that do not fit");
    entry now = *old;
    now.each = (int64_t)each;
    for (; count > 0; count--) {
        if (!passage_take_word(p, &part) || part > (uint64_t)(t->length - 1) / each)
            return checkpoint_damaged(e, name, "its log has parts that do not fit");
        double *to = (double *)old->payload + part * each;
        if (!passage_take(p, to, (uint64_t)part_length(&now, (int64_t)part) * sizeof *to))
            return checkpoint_damaged(e, name, "its log is cut short");
    }
    return ANYGP_OK;
}

static anygp_status read_body(passage *p, checkpoint *c, const char *name, anygp_error *e)
{
    uint64_t count;
    if (!passage_take_word(p, &count)) return checkpoint_damaged(e, name, "its log is cut short");
    for (; count > 0; count--) {
        entry t = {0};
        TRY(entry_read_head(p, name, PARTS + 1, &t, e));
        TRY(t.type == PARTS ? change_parts(p, c, name, &t, e) : replace(p, c, name, &t, e));
    }
    return p->left ? checkpoint_damaged(e, name, "its log has bytes after the last entry of a record") : ANYGP_OK;
}

/* A record of the log, as it lies there. */
typedef struct record {
    int64_t at; /* of its head */
    uint64_t bytes, number, commit;
} record;

static bool read_at(FILE *f, int64_t at, void *bytes, size_t size)
{
    return fseek(f, at, SEEK_SET) == 0 && fread(bytes, 1, size, f) == size;
}

static bool is_zero(const unsigned char *bytes, size_t size)
{
    unsigned char any = 0;
    for (size_t i = 0; i < size; i++) any |= bytes[i];
    return !any;
}

/* Head and commit; *whole is false where it was not finished. */
static anygp_status find_record(FILE *f, int64_t size, uint64_t base, record *r, const char *name, bool *whole,
                                anygp_error *e)
{
    unsigned char head[RECORD_HEAD], end[COMMIT];
    int64_t left = size - r->at - RECORD_HEAD - COMMIT;
    *whole = false;
    if (left < 0) return ANYGP_OK;
    if (!read_at(f, r->at, head, RECORD_HEAD)) return checkpoint_damaged(e, name, "its log cannot be read");
    uint64_t number = r->number;
    r->bytes = word_of_bytes(head), r->number = word_of_bytes(head + WORD);
    if (is_zero(head, RECORD_HEAD)) return ANYGP_OK;
    if (word_of_bytes(head + 2 * WORD) != head_digest(base, r->bytes, r->number) || r->number != number)
        return checkpoint_damaged(e, name, "a record of its log has no head");
    if (r->bytes > (uint64_t)left) return ANYGP_OK;
    if (!read_at(f, r->at + RECORD_HEAD + (int64_t)r->bytes, end, COMMIT))
        return checkpoint_damaged(e, name, "its log cannot be read");
    r->commit = word_of_bytes(end);
    *whole = r->commit != 0 || r->bytes < (uint64_t)left;
    return ANYGP_OK;
}

/* Before anything of it is used. */
static anygp_status check_commit(FILE *f, const record *r, uint64_t before, const char *name, anygp_error *e)
{
    unsigned char piece[SCAN];
    passage p = {.file = f, .left = RECORD_HEAD + r->bytes};
    if (!passage_begin(&p, before)) return no_memory(e);
    bool fine = fseek(f, r->at, SEEK_SET) == 0;
    while (fine && p.left > 0) fine = passage_take(&p, piece, p.left < SCAN ? p.left : SCAN);
    fine = fine && commit_of(&p) == r->commit;
    passage_end(&p);
    return fine ? ANYGP_OK : checkpoint_damaged(e, name, "a checksum of its log does not match");
}

static anygp_status apply(FILE *f, const record *r, checkpoint *c, const char *name, anygp_error *e)
{
    passage p = {.file = f, .left = r->bytes};
    if (!passage_begin(&p, 0)) return no_memory(e);
    anygp_status status = fseek(f, r->at + RECORD_HEAD, SEEK_SET) == 0
                              ? read_body(&p, c, name, e)
                              : checkpoint_damaged(e, name, "its log cannot be read");
    passage_end(&p);
    return status;
}

static anygp_status replay(FILE *f, checkpoint *c, uint64_t base, const char *name, anygp_error *e)
{
    unsigned char head[LOG_HEAD], right[LOG_HEAD];
    int64_t size = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    bool whole;
    if (size >= 0 && size < LOG_HEAD) return ANYGP_OK; /* killed before the first record */
    if (size < 0 || !read_at(f, 0, head, LOG_HEAD)) return checkpoint_damaged(e, name, "its log cannot be read");
    if (is_zero(head, LOG_HEAD)) return ANYGP_OK;
    make_log_head(word_of_bytes(head + WORD), right);
    if (memcmp(head, right, LOG_HEAD) != 0) return checkpoint_damaged(e, name, "its log has no head");
    if (word_of_bytes(head + WORD) != base) return ANYGP_OK;
    for (record r = {.at = LOG_HEAD, .commit = base};; r.at += RECORD_HEAD + (int64_t)r.bytes + COMMIT, r.number++) {
        uint64_t before = r.commit;
        TRY(find_record(f, size, base, &r, name, &whole, e));
        if (!whole) return ANYGP_OK;
        TRY(check_commit(f, &r, before, name, e));
        TRY(apply(f, &r, c, name, e));
    }
}

static anygp_status read_log(const char *path, checkpoint *c, uint64_t base, anygp_error *e)
{
    char *name = log_name(path);
    if (!name) return no_memory(e);
    FILE *f = fopen(name, "rb");
    anygp_status status = f                 ? replay(f, c, base, path, e)
                          : errno == ENOENT ? ANYGP_OK
                                            : checkpoint_damaged(e, path, "its log cannot be opened");
    if (f) fclose(f);
    free(name);
    return status;
}

anygp_status checkpoint_read(const char *path, bool on_disk, checkpoint **out, anygp_error *e)
{
    uint64_t base;
    *out = NULL;
    FILE *f = fopen(path, "rb");
    if (!f) return fail_with(e, ANYGP_ERR_FILE, "the checkpoint %.300s cannot be opened; start without --resume", path);
    checkpoint *c = checkpoint_new();
    if (c) c->on_disk = on_disk;
    anygp_status status = c ? checkpoint_read_whole(f, path, c, &base, e) : no_memory(e);
    fclose(f);
    if (!ANYGP_FAILED(status)) status = read_log(path, c, base, e);
    if (ANYGP_FAILED(status))
        checkpoint_free(c);
    else
        *out = c;
    return status;
}
