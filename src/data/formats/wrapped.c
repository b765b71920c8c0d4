/* Files that hold a table in a wrapping: .zip, JSON lines; and those that are refused by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/formats/format.h"
#include "data/formats/zip.h"

/* Folders, and what some systems add to every archive. */
static bool is_file(const zip_entry *z)
{
    size_t n = strlen(z->name);
    return n > 0 && z->name[n - 1] != '/' && strncmp(z->name, "__MACOSX/", 9) != 0;
}

static anygp_status choose_member(const reader *r, const zip_entry *entries, int64_t count, const zip_entry **one,
                                  anygp_error *e)
{
    char list[160] = "";
    int64_t files = 0;
    for (int64_t k = 0; k < count; k++) {
        if (!is_file(&entries[k])) continue;
        size_t used = strlen(list);
        if (files++ < 4) snprintf(list + used, sizeof list - used, "%s%.30s", used ? ", " : "", entries[k].name);
        *one = &entries[k];
    }
    if (files == 1) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_DATA,
                     "%.200s holds %lld files%s%s%s; a .zip must hold one table, so unpack it and name one of them",
                     input_name(r->in), (long long)files, files ? ": " : "", list, files > 4 ? ", ..." : "");
}

/* The member's name has the ending that tells its format; the archive's says where it is. */
static char *member_name(const char *archive, const char *member)
{
    size_t size = strlen(archive) + strlen(member) + 2;
    char *name = malloc(size);
    if (name) snprintf(name, size, "%s:%s", archive, member);
    return name;
}

static anygp_status enter_zip(reader *r, anygp_error *e)
{
    zip_entry *entries = NULL;
    const zip_entry *one = NULL;
    int64_t count = 0;
    input *member = NULL;
    char *name = NULL;
    anygp_status status;
    TRY_DONE(input_make_random(r->in, e));
    TRY_DONE(zip_list(r->in, &entries, &count, e));
    TRY_DONE(choose_member(r, entries, count, &one, e));
    if (!(name = member_name(input_name(r->in), one->name))) {
        status = fail_memory(e, "a name", 0);
        goto done;
    }
    TRY_DONE(zip_open(r->in, one, name, &member, e));
    r->archive = r->in;
    r->in = member;
done:
    free(name);
    zip_free(entries, count);
    return status;
}

/* ---------------------------------------------------------------------------------------- refused */

typedef struct unreadable {
    const char *ending, *what, *way;
} unreadable;

static const unreadable refused[] = {
    {".parquet", "a Parquet file",
     "python3 -c \"import pandas; pandas.read_parquet('FILE').to_csv('data.csv', index=False)\""},
    {".feather", "a Feather file",
     "python3 -c \"import pandas; pandas.read_feather('FILE').to_csv('data.csv', index=False)\""},
    {".arrow", "an Arrow file",
     "python3 -c \"import pandas; pandas.read_feather('FILE').to_csv('data.csv', index=False)\""},
    {".xlsx", "an Excel workbook",
     "save the sheet as CSV there, or python3 -c \"import pandas; pandas.read_excel('FILE').to_csv('data.csv', "
     "index=False)\""},
    {".xls", "an Excel workbook", "save the sheet as CSV there"},
    {".ods", "a spreadsheet", "save the sheet as CSV there"},
    {".rds", "an R file", "write.csv(readRDS('FILE'), 'data.csv', row.names = FALSE) in R"},
    {".json", "a JSON document", "write one object per line, as .jsonl: jq -c '.[]' FILE >data.jsonl"},
};

static anygp_status refuse(const reader *r, anygp_error *e)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (reader_ends_with(input_name(r->in), refused[i].ending))
            return fail_with(e, ANYGP_ERR_DATA, "%.200s is %s, which anygp does not read; make a text table of it: %s",
                             input_name(r->in), refused[i].what, refused[i].way);
    return ANYGP_OK;
}

anygp_status reader_unwrap(reader *r, bool *csv, anygp_error *e)
{
    *csv = false;
    if (reader_ends_with(input_name(r->in), ".zip")) TRY(enter_zip(r, e));
    TRY(refuse(r, e));
    *csv = reader_ends_with(input_name(r->in), ".jsonl") || reader_ends_with(input_name(r->in), ".ndjson");
    if (!*csv) return ANYGP_OK;
    r->lines_added = 1;
    return jsonl_as_csv(&r->in, e);
}
