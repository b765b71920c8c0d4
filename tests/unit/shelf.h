/* What a model that learns by steps saves. */
#ifndef TEST_SHELF_H
#define TEST_SHELF_H

#include <stdlib.h>
#include <unistd.h>

#include "model/model.h"
#include "support.h"

typedef struct shelf {
    checkpoint *c;
} shelf;

static inline shelf shelf_of(const model_ops *m, void *state)
{
    shelf k = {checkpoint_new()};
    anygp_error e;
    assert_int_equal(m->steps->save(state, k.c, &e), ANYGP_OK);
    return k;
}

/* As they would be written: names, sizes and bits. */
static inline void shelf_check_same(const shelf *a, const shelf *b)
{
    char path[2][32] = {"/tmp/shelfXXXXXX", "/tmp/shelfXXXXXX"};
    FILE *f[2];
    anygp_error e;
    int x, y;
    for (int i = 0; i < 2; i++) {
        int fd = mkstemp(path[i]);
        assert_true(fd >= 0);
        close(fd);
        assert_int_equal(checkpoint_write(i ? b->c : a->c, path[i], &e), ANYGP_OK);
        f[i] = fopen(path[i], "rb");
        assert_non_null(f[i]);
    }
    do {
        x = getc(f[0]), y = getc(f[1]);
        assert_int_equal(x, y);
    } while (x != EOF);
    for (int i = 0; i < 2; i++) fclose(f[i]), remove(path[i]);
}

static inline void shelf_clear(shelf *k)
{
    checkpoint_free(k->c);
    *k = (shelf){0};
}

#endif
