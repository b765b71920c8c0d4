/* The loops of lanes.c over vectors of WIDTH lanes, which it includes once for each width: LANES / WIDTH vectors make an element, and a
   function is called for each of them.  Tiles of ROWS x COLUMNS elements stay in registers.

   NAME(f): the name of f for this width;  HERE: the attributes of its functions;  TALL: rows of a tile of products. */

typedef double NAME(vector) __attribute__((vector_size(8 * WIDTH), may_alias));
#define VECTOR NAME(vector)
#define STEP (LANES / WIDTH) /* from one element to the next */

INLINE void NAME(root)(VECTOR *x) { UNROLL for (int l = 0; l < WIDTH; l++)(*x)[l] = sqrt((*x)[l]); }

/* --------------------------------------------------------------------------------------- factor */

/* Rows j .. j + count - 1 of the triangle from their column j on, all before it being done. */
INLINE void NAME(corner)(const int count, int64_t j, VECTOR *const *row, VECTOR *inverse)
{
    VECTOR a[COLUMNS][COLUMNS];
    UNROLL for (int r = 0; r < count; r++) UNROLL for (int c = 0; c <= r; c++) a[r][c] = row[r][(j + c) * STEP];
    for (int64_t k = 0; k < j * STEP; k += STEP)
        UNROLL for (int r = 0; r < count; r++) UNROLL for (int c = 0; c <= r; c++) a[r][c] -= row[r][k] * row[c][k];
    UNROLL for (int c = 0; c < count; c++)
    {
        UNROLL for (int k = 0; k < c; k++) UNROLL for (int r = c; r < count; r++) a[r][c] -= a[r][k] * a[c][k];
        VECTOR pivot = a[c][c];
        NAME(root)(&pivot);
        VECTOR i = 1 / pivot;
        inverse[(j + c) * STEP] = i;
        row[c][(j + c) * STEP] = pivot;
        UNROLL for (int r = c + 1; r < count; r++) row[r][(j + c) * STEP] = a[r][c] *= i;
    }
}

/* Columns j .. j + columns - 1 of `rows` rows below them; col: the rows of the triangle with these numbers. */
INLINE void NAME(below)(const int rows, const int columns, int64_t j, VECTOR *const *row, VECTOR *const *col,
                        const VECTOR *inverse)
{
    VECTOR a[ROWS][COLUMNS];
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int c = 0; c < columns; c++) a[r][c] = row[r][(j + c) * STEP];
    for (int64_t k = 0; k < j * STEP; k += STEP) {
        VECTOR b[COLUMNS];
        UNROLL for (int c = 0; c < columns; c++) b[c] = col[c][k];
        UNROLL for (int r = 0; r < rows; r++)
        {
            VECTOR x = row[r][k];
            UNROLL for (int c = 0; c < columns; c++) a[r][c] -= x * b[c];
        }
    }
    UNROLL for (int c = 0; c < columns; c++) UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int k = 0; k < c; k++) a[r][c] -= a[r][k] * col[c][(j + k) * STEP];
        row[r][(j + c) * STEP] = a[r][c] *= inverse[(j + c) * STEP];
    }
}

INLINE VECTOR *NAME(row_at)(double *A, int64_t n, int64_t i)
{
    return (VECTOR *)(A + (i < n ? lanes_row(i) : lanes_row(n) + (i - n) * n * LANES));
}

/* A column block: its corner, then the rows below in pairs. */
INLINE void NAME(factor_columns)(const int columns, int64_t n, int64_t all, int64_t j, double *A, VECTOR *inverse)
{
    VECTOR *col[COLUMNS], *row[ROWS];
    int64_t r = j + columns;
    for (int c = 0; c < columns; c++) col[c] = NAME(row_at)(A, n, j + c);
    NAME(corner)(columns, j, col, inverse);
    for (; r + ROWS <= all; r += ROWS) {
        for (int i = 0; i < ROWS; i++) row[i] = NAME(row_at)(A, n, r + i);
        NAME(below)(ROWS, columns, j, row, col, inverse);
    }
    for (; r < all; r++) {
        row[0] = NAME(row_at)(A, n, r);
        NAME(below)(1, columns, j, row, col, inverse);
    }
}

HERE static void NAME(factor)(int64_t n, int64_t more, double *A, double *inverse)
{
    int64_t j = 0;
    for (; j + COLUMNS <= n; j += COLUMNS) NAME(factor_columns)(COLUMNS, n, n + more, j, A, (VECTOR *)inverse);
    for (; j < n; j++) NAME(factor_columns)(1, n, n + more, j, A, (VECTOR *)inverse);
}

/* ---------------------------------------------------------------------------------------- solve */

/* Columns j .. j + columns - 1 of `rows` rows of R, those after them being done. */
INLINE void NAME(solve_tile)(const int rows, const int columns, int64_t n, int64_t j, const double *L,
                             const VECTOR *inverse, VECTOR *const *row)
{
    VECTOR a[ROWS][COLUMNS];
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int c = 0; c < columns; c++) a[r][c] = row[r][(j + c) * STEP];
    for (int64_t k = j + columns; k < n; k++) {
        const VECTOR *l = (const VECTOR *)(L + lanes_row(k)) + j * STEP;
        VECTOR b[COLUMNS];
        UNROLL for (int c = 0; c < columns; c++) b[c] = l[c * STEP];
        UNROLL for (int r = 0; r < rows; r++)
        {
            VECTOR x = row[r][k * STEP];
            UNROLL for (int c = 0; c < columns; c++) a[r][c] -= x * b[c];
        }
    }
    UNROLL for (int c = columns - 1; c >= 0; c--) UNROLL for (int r = 0; r < rows; r++)
    {
        UNROLL for (int k = columns - 1; k > c; k--) a[r][c] -=
            a[r][k] * ((const VECTOR *)(L + lanes_row(j + k)))[(j + c) * STEP];
        row[r][(j + c) * STEP] = a[r][c] *= inverse[(j + c) * STEP];
    }
}

INLINE void NAME(solve_rows)(const int rows, int64_t n, const double *L, const VECTOR *inverse, VECTOR *const *row)
{
    int64_t j = n;
    for (; j >= COLUMNS; j -= COLUMNS) NAME(solve_tile)(rows, COLUMNS, n, j - COLUMNS, L, inverse, row);
    for (; j > 0; j--) NAME(solve_tile)(rows, 1, n, j - 1, L, inverse, row);
}

HERE static void NAME(solve)(int64_t n, int64_t m, const int64_t *last, const double *L, const double *inverse,
                             double *R)
{
    VECTOR *row[ROWS];
    int64_t i = 0;
    for (; i + ROWS <= m; i += ROWS) {
        for (int r = 0; r < ROWS; r++) row[r] = (VECTOR *)(R + (i + r) * n * LANES);
        int64_t most = last[i] > last[i + 1] ? last[i] : last[i + 1];
        NAME(solve_rows)(ROWS, most + 1, L, (const VECTOR *)inverse, row);
    }
    for (; i < m; i++) {
        row[0] = (VECTOR *)(R + i * n * LANES);
        NAME(solve_rows)(1, last[i] + 1, L, (const VECTOR *)inverse, row);
    }
}

/* The same for rows of their own: columns 0 .. most of `rows` rows become those of R L^-T. */
INLINE void NAME(forward_rows)(const int rows, int64_t most, const double *L, const VECTOR *inverse, VECTOR *const *row)
{
    VECTOR *col[COLUMNS];
    int64_t j = 0;
    for (; j + COLUMNS <= most + 1; j += COLUMNS) {
        for (int c = 0; c < COLUMNS; c++) col[c] = (VECTOR *)(L + lanes_row(j + c));
        NAME(below)(rows, COLUMNS, j, row, col, inverse);
    }
    for (; j <= most; j++) {
        col[0] = (VECTOR *)(L + lanes_row(j));
        NAME(below)(rows, 1, j, row, col, inverse);
    }
}

HERE static void NAME(forward)(int64_t n, int64_t m, const int64_t *last, const double *L, const double *inverse,
                               double *R)
{
    VECTOR *row[ROWS];
    int64_t i = 0;
    for (; i + ROWS <= m; i += ROWS) {
        for (int r = 0; r < ROWS; r++) row[r] = (VECTOR *)(R + (i + r) * n * LANES);
        int64_t most = last[i] > last[i + 1] ? last[i] : last[i + 1];
        NAME(forward_rows)(ROWS, most, L, (const VECTOR *)inverse, row);
    }
    for (; i < m; i++) {
        row[0] = (VECTOR *)(R + i * n * LANES);
        NAME(forward_rows)(1, last[i], L, (const VECTOR *)inverse, row);
    }
}

/* ------------------------------------------------------------------------------------ symmetric */

/* Columns j .. j + columns - 1 of `rows` rows of W S, of which columns 0 .. most of W are not 0. */
INLINE void NAME(symmetric_tile)(const int rows, const int columns, int64_t most, int64_t j, const double *S,
                                 const VECTOR *const *w, VECTOR *const *to)
{
    VECTOR a[ROWS][COLUMNS];
    const VECTOR *s[COLUMNS];
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int c = 0; c < columns; c++) a[r][c] = (VECTOR){0};
    UNROLL for (int c = 0; c < columns; c++) s[c] = (const VECTOR *)(S + lanes_row(j + c));
    for (int64_t k = 0; k < j * STEP; k += STEP)
        UNROLL for (int r = 0; r < rows; r++) UNROLL for (int c = 0; c < columns; c++) a[r][c] += w[r][k] * s[c][k];
    UNROLL for (int k = 0; k < columns; k++) UNROLL for (int r = 0; r < rows; r++)
    {
        VECTOR x = w[r][(j + k) * STEP];
        UNROLL for (int c = 0; c < columns; c++) a[r][c] += x * (c <= k ? s[k][(j + c) * STEP] : s[c][(j + k) * STEP]);
    }
    for (int64_t k = j + columns; k <= most; k++) {
        const VECTOR *below = (const VECTOR *)(S + lanes_row(k)) + j * STEP;
        UNROLL for (int r = 0; r < rows; r++)
        {
            VECTOR x = w[r][k * STEP];
            UNROLL for (int c = 0; c < columns; c++) a[r][c] += x * below[c * STEP];
        }
    }
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int c = 0; c < columns; c++) to[r][(j + c) * STEP] = a[r][c];
}

INLINE void NAME(symmetric_rows)(const int rows, int64_t most, const double *S, const VECTOR *const *w,
                                 VECTOR *const *to)
{
    int64_t j = 0;
    for (; j + COLUMNS <= most + 1; j += COLUMNS) NAME(symmetric_tile)(rows, COLUMNS, most, j, S, w, to);
    for (; j <= most; j++) NAME(symmetric_tile)(rows, 1, most, j, S, w, to);
}

HERE static void NAME(symmetric)(int64_t n, int64_t m, const int64_t *last, const double *W, const double *S, double *T)
{
    const VECTOR *w[ROWS];
    VECTOR *to[ROWS];
    int64_t i = 0;
    for (; i + ROWS <= m; i += ROWS) {
        for (int r = 0; r < ROWS; r++) {
            w[r] = (const VECTOR *)(W + (i + r) * n * LANES);
            to[r] = (VECTOR *)(T + (i + r) * n * LANES);
        }
        int64_t most = last[i] > last[i + 1] ? last[i] : last[i + 1];
        NAME(symmetric_rows)(ROWS, most, S, w, to);
    }
    for (; i < m; i++) {
        w[0] = (const VECTOR *)(W + i * n * LANES), to[0] = (VECTOR *)(T + i * n * LANES);
        NAME(symmetric_rows)(1, last[i], S, w, to);
    }
}

/* ------------------------------------------------------------------------------------- products */

/* Rows `first` .. m - 1 of W and S, the others being 0 there. */
INLINE void NAME(product_tile)(const int rows, const int columns, int64_t n, int64_t first, int64_t m, int64_t i,
                               int64_t j, const VECTOR *W, const VECTOR *S, double *G)
{
    VECTOR a[TALL][COLUMNS];
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int c = 0; c < columns; c++) a[r][c] = (VECTOR){0};
    for (int64_t k = first; k < m; k++) {
        const VECTOR *w = W + k * n * STEP, *s = S + k * n * STEP;
        UNROLL for (int r = 0; r < rows; r++)
        {
            VECTOR x = w[(i + r) * STEP], z = s[(i + r) * STEP];
            UNROLL for (int c = 0; c < columns; c++) a[r][c] += x * s[(j + c) * STEP] + z * w[(j + c) * STEP];
        }
    }
    UNROLL for (int r = 0; r < rows; r++)
        UNROLL for (int c = 0; c < columns; c++)((VECTOR *)(G + lanes_row(i + r)))[(j + c) * STEP] = a[r][c];
}

/* Columns j .. end - 1 of `rows` rows from row i on. */
INLINE void NAME(product_rows)(const int rows, int64_t n, int64_t first, int64_t m, int64_t i, int64_t j, int64_t end,
                               const VECTOR *W, const VECTOR *S, double *G)
{
    for (; j + COLUMNS <= end; j += COLUMNS) NAME(product_tile)(rows, COLUMNS, n, first, m, i, j, W, S, G);
    for (; j < end; j++) NAME(product_tile)(rows, 1, n, first, m, i, j, W, S, G);
}

HERE static void NAME(products)(int64_t n, int64_t m, const int64_t *last, const double *w, const double *s, double *G)
{
    const VECTOR *W = (const VECTOR *)w, *S = (const VECTOR *)s;
    int64_t i = 0, first = 0;
    for (; i + TALL <= n; i += TALL) {
        while (first < m && last[first] < i) first++;
        NAME(product_rows)(TALL, n, first, m, i, 0, i + 1, W, S, G);
        for (int r = 1; r < TALL; r++) NAME(product_rows)(1, n, first, m, i + r, i + 1, i + r + 1, W, S, G);
    }
    for (; i < n; i++) {
        while (first < m && last[first] < i) first++;
        NAME(product_rows)(1, n, first, m, i, 0, i + 1, W, S, G);
    }
}

#undef VECTOR
#undef STEP
