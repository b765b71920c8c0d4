#include "model/inducing_arrays.h"

#include <math.h>

static const char *const names[][2] = {{"Z", "widths"}, {"O", "O_widths"}}, frequencies[] = "frequencies";
static const double WIDTH_MOST = 300; /* beyond this, squares of the widths overflow */

void inducing_arrays(inducing_set *v, inducing_place place, array_list *list)
{
    const char *name = v->ops == &inducing_fourier ? frequencies : names[place][0];
    array_list_add(list, (named_array){name, v->D, v->set.M, (double *)v->set.Z, false});
    if (v->L) array_list_add(list, (named_array){"L", v->M, v->M, v->L, true});
    if (v->set.C) array_list_add(list, (named_array){names[place][1], v->D, v->M, (double *)v->set.C, false});
}

static anygp_status find(named_array *list, int64_t count, const char *name, int64_t rows, int64_t cols,
                         named_array **out, anygp_error *e)
{
    named_array *a = *out = named_array_need(list, count, name, e);
    return a ? named_array_check(a, rows, cols < 0 ? a->cols : cols, e) : ANYGP_ERR_FILE;
}

bool is_factor(int64_t M, const double *L)
{
    for (int64_t i = 0; i < M; i++)
        if (!(L[i + i * M] > 0)) return false;
    return true;
}

static bool are_widths(const named_array *a)
{
    for (int64_t i = 0; i < a->rows * a->cols; i++)
        if (!(fabs(a->values[i]) <= WIDTH_MOST)) return false;
    return a->cols > 0;
}

static anygp_status find_frequencies(named_array *list, int64_t count, const kernel *k, int64_t D, inducing_found *f,
                                     anygp_error *e)
{
    f->kind = &inducing_fourier;
    TRY(find(list, count, frequencies, D, -1, &f->Z, e));
    f->M = f->Z->cols;
    if (f->M > 0 && !ANYGP_FAILED(f->kind->check(k, NULL))) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_FILE, "the model file's frequencies are not those of its kernel; it is damaged");
}

anygp_status inducing_find_arrays(named_array *list, int64_t count, inducing_place place, const kernel *k, int64_t D,
                                  inducing_found *f, anygp_error *e)
{
    *f = (inducing_found){.kind = &inducing_points};
    if (named_array_find(list, count, frequencies)) return find_frequencies(list, count, k, D, f, e);
    TRY(find(list, count, names[place][0], D, -1, &f->Z, e));
    f->M = f->Z->cols;
    if (place == INDUCING_FIRST) {
        TRY(find(list, count, "L", f->M, f->M, &f->L, e));
        if (!is_factor(f->M, f->L->values))
            return fail_with(e, ANYGP_ERR_FILE, "the model file's Cholesky factors are not valid; it is damaged");
    }
    if (!named_array_find(list, count, names[place][1])) return ANYGP_OK;
    f->kind = &inducing_scaled;
    TRY(find(list, count, names[place][1], D, f->M, &f->C, e));
    if (are_widths(f->C) && !ANYGP_FAILED(f->kind->check(k, NULL))) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_FILE, "the model file's widths of inducing variables are not valid; it is damaged");
}

void inducing_take_arrays(inducing_found *f, inducing_set *v)
{
    double *Z = named_array_take(f->Z), *C = f->C ? named_array_take(f->C) : NULL;
    inducing_take(v, f->M, Z, C, f->L ? named_array_take(f->L) : NULL);
}
