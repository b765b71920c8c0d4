/* Models made from an expression NAME(...): one of the family with other numbers, under the expression's name in a normal form. */
#ifndef MODEL_MADE_H
#define MODEL_MADE_H

#include "base/scanner.h"
#include "data/text/number.h"
#include "model/local/experts.h"
#include "model/local/lagp.h"
#include "model/mixture/moe.h"
#include "model/local/patchwork.h"
#include "model/sparse/sparse_posterior.h"
#include "model/variational/chain.h"
#include "model/weights/qsgp.h"

/* MADE_WORD_MOST: the name of a model in an expression, with the zero after it. */
enum { MADE_WORD_MOST = 16, MADE_NAME_MOST = 32 + TERMS_MOST * (MADE_WORD_MOST + NUMBER_TEXT_MOST + 2) };

typedef struct made_model {
    model_ops ops; /* first: they are one object */
    union {        /* whatever family it belongs to */
        sparse_kind sparse;
        chain_kind chain;
        qsgp_kind qsgp;
        aggregation aggregation;
        lagp_kind lagp;
        moe_kind moe;
        patch_kind patch;
    } kind;
    char name[MADE_NAME_MOST], local[MADE_NAME_MOST]; /* local: of the kernel; empty: there is none */
} made_model;

/* A copy of a model of the list, to be changed; its name and kind, of this many bytes, are its own. */
anygp_status made_new(const model_ops *from, size_t kind, made_model **out, anygp_error *e);

void made_connect(made_model *m); /* once its texts are there */

/* All options there are: one, KEY=NUMBER or just NUMBER; *at: where the number is.  what: "a power", for the message where it is missing. */
anygp_status made_number(scanner *s, const char *key, const char *what, int64_t *at, double *value);

/* Options KEY=VALUE in any order [made_options.c]: one of some words, by its number, or a whole number of at least 1.
   Where it is not given it is 0: the first word, or no number. */
typedef struct made_option {
    const char *key;
    const char *const *words; /* NULL after the last; NULL: a number */
} made_option;

anygp_status made_options(scanner *s, const char *model, int count, const made_option *options, int64_t *value);
/* What they are read by: whether the n characters at hand are this word; one of the words, NULL after the last; a whole number. */
bool made_is_word(const scanner *s, int64_t n, const char *word);
anygp_status made_word(scanner *s, const char *const *words, int64_t *which);
anygp_status made_count(scanner *s, double least, int64_t *value);
/* The name of the model with these values: the options that are not 0, in their order. */
void made_write(const char *model, int count, const made_option *options, const int64_t *value, char *to, size_t room);

/* From what is in parentheses, with nothing after them. */
anygp_status made_combine(scanner *s, made_model **out, anygp_error *e);   /* combine.c */
anygp_status made_pep(scanner *s, made_model **out, anygp_error *e);       /* pep.c */
anygp_status made_deep(scanner *s, made_model **out, anygp_error *e);      /* deep.c */
anygp_status made_qsgp(scanner *s, made_model **out, anygp_error *e);      /* qsgp_model.c */
anygp_status made_gpoe(scanner *s, made_model **out, anygp_error *e);      /* committees.c */
anygp_status made_npae(scanner *s, made_model **out, anygp_error *e);      /* the same */
anygp_status made_lagp(scanner *s, made_model **out, anygp_error *e);      /* lagp.c */
anygp_status made_hier(scanner *s, made_model **out, anygp_error *e);      /* hier.c */
anygp_status made_qsrvm(scanner *s, made_model **out, anygp_error *e);     /* qsgp_model.c */
anygp_status made_lma(scanner *s, made_model **out, anygp_error *e);       /* lma.c */
anygp_status made_moe(scanner *s, made_model **out, anygp_error *e);       /* moe_model.c */
anygp_status made_patchwork(scanner *s, made_model **out, anygp_error *e); /* patchwork.c */

#endif
