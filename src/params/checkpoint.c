/* What is in a checkpoint: entries by name.  checkpoint_file.c writes and reads them, checkpoint_log.c what has changed since. */
#include "params/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mapped.h"
#include "base/memory.h"
#include "params/checkpoint_parts.h"

static const int64_t COUNTER_MOST = INT64_C(1) << 50;

static const int64_t ITEM_BYTES[TYPES] = {[ARRAY] = 8, [INTEGER] = 8, [TEXT] = 1};

checkpoint *checkpoint_new(void) { return calloc(1, sizeof(checkpoint)); }

/* An array may be in a scratch file, or be the caller's. */
void entry_free(entry *t)
{
    if (t->type == ARRAY && !t->lent) mapped_free(t->payload);
    if (t->type != ARRAY) free(t->payload);
    t->payload = NULL;
}

void checkpoint_free(checkpoint *c)
{
    if (!c) return;
    for (int64_t i = 0; i < c->count; i++) entry_free(&c->list[i]);
    free(c->list);
    name_table_free(&c->names);
    free(c);
}

entry *entry_find(const checkpoint *c, const char *name)
{
    int64_t i = name_find(&c->names, name, strlen(name));
    return i >= 0 ? &c->list[i] : NULL;
}

bool entry_append(checkpoint *c, const entry *t)
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

int64_t entry_item(const entry *t) { return ITEM_BYTES[t->type]; }

int64_t entry_bytes(const entry *t) { return t->length * ITEM_BYTES[t->type]; }

anygp_status entry_make_room(const checkpoint *c, entry *t, anygp_error *e)
{
    size_t bytes;
    if (t->type == ARRAY) {
        double *values;
        TRY(mapped_doubles(c->on_disk && t->length >= CHECKPOINT_LARGE, t->length, 1, "a checkpoint", &values, e));
        t->payload = values;
        return ANYGP_OK;
    }
    if (!size_mul(t->length, ITEM_BYTES[t->type], &bytes) || !(t->payload = mem_alloc((int64_t)bytes + 1, 1)))
        return fail_memory(e, "a checkpoint", (double)t->length);
    ((char *)t->payload)[bytes] = 0;
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------ put and get */

static anygp_status check_name(const checkpoint *c, const char *name, anygp_error *e)
{
    size_t length = strlen(name);
    if (length == 0 || length >= NAME_BYTES)
        return fail_with(e, ANYGP_ERR_INTERNAL, "a checkpoint cannot hold the name '%.60s'; give it 1 to %d characters",
                         name, NAME_BYTES - 1);
    if (entry_find(c, name))
        return fail_with(e, ANYGP_ERR_INTERNAL, "a checkpoint was given '%s' twice; give each name once", name);
    return ANYGP_OK;
}

/* An entry of this name, without a payload; false: failed before or now. */
static bool begin(checkpoint *c, const char *name, entry *t)
{
    if (!c || ANYGP_FAILED(c->status)) return false;
    c->status = check_name(c, name, &c->error);
    if (ANYGP_FAILED(c->status)) return false;
    memcpy(t->name, name, strlen(name));
    return true;
}

static void add(checkpoint *c, entry *t)
{
    if (ANYGP_FAILED(c->status) || entry_append(c, t)) return;
    entry_free(t);
    c->status = fail_memory(&c->error, "a checkpoint", (double)entry_bytes(t));
}

static void copy(checkpoint *c, entry *t, const void *payload)
{
    c->status = entry_make_room(c, t, &c->error);
    if (!ANYGP_FAILED(c->status) && t->length > 0) memcpy(t->payload, payload, (size_t)entry_bytes(t));
}

static void put(checkpoint *c, const char *name, entry_type type, int64_t length, const void *payload)
{
    entry t = {.type = type, .length = length};
    if (!begin(c, name, &t)) return;
    copy(c, &t, payload);
    add(c, &t);
}

void checkpoint_put_parts(checkpoint *c, const char *name, int64_t count, const double *values, int64_t each,
                          changes *changed)
{
    entry t = {.type = ARRAY, .length = count, .each = each, .changed = changed, .lent = count >= CHECKPOINT_LARGE};
    if (!begin(c, name, &t)) return;
    if (each < 1 || changed->parts != (count + each - 1) / each)
        c->status = fail_with(&c->error, ANYGP_ERR_INTERNAL, "parts of '%s' do not fit into a checkpoint", name);
    else if (t.lent)
        t.payload = (void *)(uintptr_t)values;
    else
        copy(c, &t, values);
    add(c, &t);
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

static const entry *find_type(const checkpoint *c, const char *name, entry_type type)
{
    const entry *t = entry_find(c, name);
    return t && t->type == type ? t : NULL;
}

static bool get(const entry *t, int64_t length, void *payload)
{
    if (!t || t->length != length) return false;
    if (length > 0) memcpy(payload, t->payload, (size_t)entry_bytes(t));
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

/* ------------------------------------------------------------------------------------------ parts */

void checkpoint_put_all(checkpoint *c, const char *prefix, const checkpoint *part)
{
    if (c && !ANYGP_FAILED(c->status) && ANYGP_FAILED(part->status)) c->status = part->status, c->error = part->error;
    for (int64_t i = 0; i < part->count; i++) {
        const entry *t = &part->list[i];
        char name[2 * NAME_BYTES];
        snprintf(name, sizeof name, "%.*s%s", NAME_BYTES - 1, prefix, t->name);
        put(c, name, t->type, t->length, t->payload);
    }
}

static entry copy_of(const entry *t, size_t skipped)
{
    entry mine = {.type = t->type, .length = t->length};
    memcpy(mine.name, t->name + skipped, NAME_BYTES - skipped);
    return mine;
}

checkpoint *checkpoint_part(const checkpoint *c, const char *prefix)
{
    size_t length = strlen(prefix);
    checkpoint *part = checkpoint_new();
    for (int64_t i = 0; part && i < c->count; i++) {
        const entry *t = &c->list[i];
        if (strncmp(t->name, prefix, length) || !t->name[length]) continue;
        entry mine = copy_of(t, length);
        copy(part, &mine, t->payload);
        add(part, &mine);
        if (!ANYGP_FAILED(part->status)) continue;
        checkpoint_free(part);
        return NULL;
    }
    return part;
}
