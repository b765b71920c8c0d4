/* NumPy's .npz: a zip file of .npy arrays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/formats/array.h"
#include "data/formats/members.h"
#include "data/formats/zip.h"

typedef struct listing {
    zip_entry *entries; /* the .npy ones first, their ending cut off */
    int64_t all, count;
} listing;

/* Moves the .npy entries to the front, in their order. */
static void keep_arrays(listing *l)
{
    for (int64_t k = 0; k < l->all; k++) {
        char *name = l->entries[k].name;
        size_t n = strlen(name);
        if (n <= 4 || strcmp(name + n - 4, ".npy")) continue;
        name[n - 4] = 0;
        zip_entry former = l->entries[l->count];
        l->entries[l->count++] = l->entries[k];
        l->entries[k] = former;
    }
}

static anygp_status list_arrays(reader *r, listing *l, members *m, anygp_error *e)
{
    TRY(input_make_random(r->in, e));
    TRY(zip_list(r->in, &l->entries, &l->all, e));
    keep_arrays(l);
    if (l->count == 0) return fail_with(e, ANYGP_ERR_DATA, "%s holds no arrays", input_name(r->in));
    const char **names = mem_alloc(l->count, sizeof *names);
    if (!names) return fail_memory(e, "the arrays of a file", (double)l->count);
    for (int64_t k = 0; k < l->count; k++) names[k] = l->entries[k].name;
    *m = members_choose(names, l->count);
    free(names);
    return ANYGP_OK;
}

static anygp_status open_array(reader *r, const zip_entry *z, array *a, anygp_error *e)
{
    char name[256];
    snprintf(name, sizeof name, "array %.40s of %.180s", z->name, input_name(r->in));
    TRY(zip_open(r->in, z, name, &a->in, e));
    return npy_head(a, e);
}

static const zip_entry *chosen(const listing *l, const members *m, int64_t k)
{
    return &l->entries[m->count == 2 ? m->order[k] : k];
}

static anygp_status name_columns(reader *r, const listing *l, const members *m, anygp_error *e)
{
    const array_set *s = r->state;
    int64_t first = 0;
    for (int64_t k = 0; k < s->count; k++) {
        bool plain = s->count == 1 || (m->count == 2 && k == 0);
        if (!(plain && s->count == 1)) TRY(members_name(r, first, s->arrays[k].cols, chosen(l, m, k)->name, plain, e));
        first += s->arrays[k].cols;
    }
    return ANYGP_OK;
}

static anygp_status npz_open(reader *r, const read_options *o, anygp_error *e)
{
    (void)o;
    listing l = {0};
    members m;
    anygp_status status;
    TRY_DONE(list_arrays(r, &l, &m, e));
    array_set *s = r->state = array_set_new(m.count ? m.count : l.count);
    if (!s) {
        status = fail_memory(e, "a reader", sizeof *s);
        goto done;
    }
    for (int64_t k = 0; k < s->count; k++) TRY_DONE(open_array(r, chosen(&l, &m, k), &s->arrays[k], e));
    TRY_DONE(arrays_ready(r, e));
    TRY_DONE(name_columns(r, &l, &m, e));
    if (m.target) r->target = r->cols - 1;
done:
    zip_free(l.entries, l.all);
    return status;
}

static bool npz_sniff(const unsigned char *head, size_t n) { return n >= 4 && !memcmp(head, "PK\3\4", 4); }

static const char *const endings[] = {".npz", NULL};
const format format_npz = {"npz",        endings, npz_sniff,       npz_open,    arrays_next,
                           arrays_close, true,    arrays_can_seek, arrays_seek, NULL};
