/* The loops of strips.c over vectors of WIDTH numbers, which it includes once for each width.  A tile of TALL vectors of rows and WIDE columns
   stays in registers.

   NAME(f): the name of f for this width;  HERE: the attributes of its functions. */

typedef real NAME(vector) __attribute__((vector_size(sizeof(real) * WIDTH), aligned(sizeof(real)), may_alias));
#define VECTOR NAME(vector)

/* A strip of R times WIDE columns, row after row of which are in b. */
INLINE void NAME(multiply)(int64_t depth, const real *P, const real *b, VECTOR sum[TALL][WIDE])
{
    UNROLL for (int r = 0; r < TALL; r++) UNROLL for (int c = 0; c < WIDE; c++) sum[r][c] = (VECTOR){0};
    for (int64_t j = 0; j < depth; j++, P += TALL * WIDTH, b += WIDE) {
        VECTOR a[TALL];
        UNROLL for (int r = 0; r < TALL; r++) a[r] = *(const VECTOR *)(P + r * WIDTH);
        UNROLL for (int c = 0; c < WIDE; c++) UNROLL for (int r = 0; r < TALL; r++) sum[r][c] += a[r] * b[c];
    }
}

/* square[WIDE] += the squares of it; lanes are added up later. */
INLINE void NAME(add_squares)(int64_t depth, const real *P, const real *b, VECTOR *square)
{
    VECTOR sum[TALL][WIDE];
    NAME(multiply)(depth, P, b, sum);
    UNROLL for (int c = 0; c < WIDE; c++)
    {
        VECTOR s = square[c];
        UNROLL for (int r = 0; r < TALL; r++) s += sum[r][c] * sum[r][c];
        square[c] = s;
    }
}

/* C[rows,cols] = it, of which C has no more. */
INLINE void NAME(store)(int64_t depth, const real *P, const real *b, int64_t rows, int64_t cols, real *C, int64_t ldc)
{
    VECTOR sum[TALL][WIDE];
    real kept[TALL * WIDTH];
    NAME(multiply)(depth, P, b, sum);
    if (rows >= TALL * WIDTH && cols >= WIDE) {
        UNROLL for (int c = 0; c < WIDE; c++) UNROLL for (int r = 0; r < TALL; r++) *
            (VECTOR *)(C + r * WIDTH + c * ldc) = sum[r][c];
        return;
    }
    for (int64_t c = 0; c < WIDE && c < cols; c++) {
        for (int r = 0; r < TALL; r++) *(VECTOR *)(kept + r * WIDTH) = sum[r][c];
        for (int64_t i = 0; i < TALL * WIDTH && i < rows; i++) C[i + c * ldc] = kept[i];
    }
}

/* Columns of B, at most WIDE of them, row after row; the others are 0. */
INLINE void NAME(gather)(int64_t n, int64_t m, const real *B, int64_t ldb, real *b)
{
    if (m >= WIDE)
        for (int64_t j = 0; j < n; j++) UNROLL for (int c = 0; c < WIDE; c++) b[j * WIDE + c] = B[j + c * ldb];
    else
        for (int64_t j = 0; j < n; j++)
            for (int c = 0; c < WIDE; c++) b[j * WIDE + c] = c < m ? B[j + c * ldb] : 0;
}

/* m columns of B, for which there is room in `work`: products with them to C or, where C is NULL, their norms. */
HERE static void NAME(columns)(bool lower, int64_t n, const real *P, int64_t m, const real *B, int64_t ldb, real *work,
                               real *C, int64_t ldc, real *norm)
{
    real *square = work + (m + WIDE - 1) / WIDE * WIDE * n;
    if (!C) memset(square, 0, (size_t)((m + WIDE - 1) / WIDE * WIDE * WIDTH) * sizeof *square);
    for (int64_t c = 0; c < m; c += WIDE) NAME(gather)(n, m - c, B + c * ldb, ldb, work + c * n);
    for (int64_t first = 0; first < n; first += TALL * WIDTH) {
        int64_t depth = lower && first + TALL * WIDTH < n ? first + TALL * WIDTH : n;
        for (int64_t c = 0; c < m; c += WIDE)
            if (C)
                NAME(store)(depth, P, work + c * n, n - first, m - c, C + first + c * ldc, ldc);
            else
                NAME(add_squares)(depth, P, work + c * n, (VECTOR *)(square + c * WIDTH));
        P += depth * TALL * WIDTH;
    }
    for (int64_t c = 0; !C && c < m; c++) {
        norm[c] = 0;
        for (int l = 0; l < WIDTH; l++) norm[c] += square[c * WIDTH + l];
    }
}

#undef VECTOR
