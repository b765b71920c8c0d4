/* Blocks of rows to predict, where the user gives them: names of blocks to their numbers in the model, and a file of names
   that is read beside the data, a block of rows at a time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "gp/gp.h"

/* ------------------------------------------------------------------------------------------ names */

typedef struct block_name {
    int64_t name, block;
} block_name;

struct block_map {
    int64_t count;
    block_name *entry; /* by name, ascending */
};

void block_map_free(block_map *m)
{
    if (!m) return;
    free(m->entry);
    free(m);
}

static int by_name(const void *a, const void *b)
{
    const block_name *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

anygp_status block_map_new(const gp *g, block_map **out, anygp_error *e)
{
    const posterior *p = g->posterior;
    const double *names = NULL;
    int64_t count = p->ops->blocks && p->ops->marginal_in ? p->ops->blocks(p, &names) : 0;
    if (count == 0)
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "blocks-from: a %s model does not look at blocks when it predicts; only pic does", g->name);
    block_map *m = calloc(1, sizeof *m);
    if (!m || !(m->entry = mem_alloc(count, sizeof *m->entry))) {
        block_map_free(m);
        return fail_memory(e, "the names of the blocks", 16.0 * (double)count);
    }
    m->count = count;
    for (int64_t i = 0; i < count; i++) m->entry[i] = (block_name){(int64_t)names[i], i};
    qsort(m->entry, (size_t)count, sizeof *m->entry, by_name);
    *out = m;
    return ANYGP_OK;
}

anygp_status block_map_find(const block_map *m, int64_t n, const int64_t *name, int64_t first, int64_t *block,
                            anygp_error *e)
{
    for (int64_t i = 0; i < n; i++) {
        block_name wanted = {name[i], 0};
        const block_name *found = bsearch(&wanted, m->entry, (size_t)m->count, sizeof wanted, by_name);
        if (!found)
            return fail_with(e, ANYGP_ERR_DATA,
                             "row %lld is given block %lld, which the model does not have; its %lld blocks are %lld to "
                             "%lld",
                             (long long)(first + i) + 1, (long long)name[i], (long long)m->count,
                             (long long)m->entry[0].name, (long long)m->entry[m->count - 1].name);
        block[i] = found->block;
    }
    return ANYGP_OK;
}

/* ------------------------------------------------------------------------------------------- file */

struct block_file {
    reader *reader;
    int64_t targets;
    block_map **map; /* targets: they may have been fitted to different rows, and so have different blocks */
    int64_t room;    /* rows */
    double *cell;
    int64_t *name, *block; /* room; targets x room */
};

void block_file_close(block_file *b)
{
    if (!b) return;
    for (int64_t k = 0; b->map && k < b->targets; k++) block_map_free(b->map[k]);
    free(b->map);
    free(b->cell);
    free(b->name);
    free(b->block);
    reader_close(b->reader);
    free(b);
}

static anygp_status check_columns(const reader *r, anygp_error *e)
{
    if (reader_columns(r) == 1 && reader_column(r, 0)->kind == COLUMN_NUMBER) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA,
                     "%s must have one column of numbers, the block of each row of the data; it has %lld column%s%s",
                     reader_name(r), (long long)reader_columns(r), reader_columns(r) == 1 ? "" : "s",
                     reader_columns(r) == 1 ? " of text" : "");
}

anygp_status block_file_open(const gp_set *m, const settings *s, const char *path, const char *in, block_file **out,
                             anygp_error *e)
{
    read_options o = gp_side_options(s);
    anygp_status status = ANYGP_OK;
    *out = NULL;
    if (!*path) return ANYGP_OK;
    if (!strcmp(path, "-") && !strcmp(in, "-"))
        return fail_with(e, ANYGP_ERR_ARGUMENT,
                         "data and blocks cannot both come from standard input; use a file for one of them");
    block_file *b = calloc(1, sizeof *b);
    if (!b) return fail_memory(e, "the blocks of the rows", sizeof *b);
    if (!(b->map = mem_zeroed(m->targets, sizeof *b->map))) {
        status = fail_memory(e, "the names of the blocks", 8.0 * (double)m->targets);
        goto done;
    }
    b->targets = m->targets;
    for (int64_t k = 0; k < m->targets; k++) TRY_DONE(block_map_new(m->gp[k], &b->map[k], e));
    TRY_DONE(reader_open(path, &o, &b->reader, e));
    TRY_DONE(check_columns(b->reader, e));
done:
    if (ANYGP_FAILED(status))
        block_file_close(b);
    else
        *out = b;
    return status;
}

static anygp_status make_room(block_file *b, int64_t n, anygp_error *e)
{
    if (n <= b->room) return ANYGP_OK;
    free(b->cell);
    free(b->name);
    free(b->block);
    b->room = 0;
    b->cell = mem_alloc(n, sizeof *b->cell);
    b->name = mem_alloc(n, sizeof *b->name);
    b->block = mem_zeroed(n * b->targets, sizeof *b->block);
    if (!b->cell || !b->name || !b->block)
        return fail_memory(e, "the blocks of the rows", 8.0 * (double)n * (double)(b->targets + 2));
    b->room = n;
    return ANYGP_OK;
}

anygp_status block_file_next(block_file *b, int64_t n, anygp_error *e)
{
    if (!b || n == 0) return ANYGP_OK;
    int64_t got, first = reader_row_number(b->reader);
    TRY(make_room(b, n, e));
    TRY(reader_next(b->reader, n, b->cell, &got, e));
    if (got < n)
        return fail_with(e, ANYGP_ERR_DATA, "%s has no row %lld; it needs a block for each row of the data",
                         reader_name(b->reader), (long long)(first + got) + 1);
    TRY(block_names_of(n, b->cell, reader_name(b->reader), first, b->name, e));
    for (int64_t k = 0; k < b->targets; k++)
        TRY(block_map_find(b->map[k], n, b->name, first, b->block + k * b->room, e));
    return ANYGP_OK;
}

const int64_t *block_file_of(const block_file *b, int64_t target) { return b ? b->block + target * b->room : NULL; }

anygp_status block_file_end(block_file *b, anygp_error *e)
{
    double one;
    int64_t got;
    if (!b) return ANYGP_OK;
    int64_t rows = reader_row_number(b->reader);
    TRY(reader_next(b->reader, 1, &one, &got, e));
    if (got == 0) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA,
                     "%s has a row %lld, but the data end before it; it needs as many rows as the data",
                     reader_name(b->reader), (long long)rows + 1);
}
