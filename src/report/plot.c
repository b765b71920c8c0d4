/* One picture as a file, and the list of those that apply. */
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "report/output.h"
#include "report/picture.h"
#include "report/report.h"

/* The target that the settings name, by name or by number among the targets; the first without. */
static anygp_status chosen_target(const gp_set *m, const settings *s, int64_t *target, anygp_error *e)
{
    const char *name = settings_text(s, SET_TARGET);
    char *end;
    *target = 0;
    if (!*name) return ANYGP_OK;
    for (int64_t t = 0; t < m->targets; t++)
        if (m->gp[t]->schema.target && !strcmp(m->gp[t]->schema.target, name)) return *target = t, ANYGP_OK;
    long long number = strtoll(name, &end, 10);
    if (!*end && number >= 0 && number < m->targets) return *target = number, ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT, "target: the model does not predict '%.80s'; anygp info lists its targets",
                     name);
}

static anygp_status find_picture(const char *what, const picture **p, anygp_error *e)
{
    char list[320] = "";
    if ((*p = picture_find(what))) return ANYGP_OK;
    for (int64_t i = 0; i < picture_count(); i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", picture_at(i)->name);
    }
    return fail_with(e, ANYGP_ERR_ARGUMENT, "what: there is no picture '%.60s'; there are %s", what, list);
}

static bool ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path), k = strlen(ending);
    return n > k && !strcmp(path + n - k, ending);
}

static anygp_status write_figures(const figures *list, const char *path, anygp_error *e)
{
    output_file to;
    const char *why;
    anygp_status status = ANYGP_OK;
    TRY(output_open(path, &to, e));
    if (!path || !ends_in(path, ".png"))
        figures_write(to.stream, list, true);
    else if (!figures_png(to.stream, list, &why))
        status = fail_with(e, ANYGP_ERR_FILE, "%.200s: %s", path, why);
    return output_close(&to, status, e);
}

static anygp_status draw_picture(scene *c, const picture *p, const char *out, anygp_error *e)
{
    int64_t places[2];
    bool found;
    TRY(map_columns(c, places, &found, e));
    if (!p->applies(c))
        return fail_with(e, ANYGP_ERR_ARGUMENT, "what: %s cannot be drawn here: it needs %s%s", p->name, p->needs,
                         c->path ? "" : "; give a table of rows as well");
    figures *list = figures_new();
    if (!list) return fail_memory(e, "a picture", 0);
    anygp_status status = p->draw(c, list, e);
    if (!ANYGP_FAILED(status) && figures_failed(list)) status = fail_memory(e, "a picture", 0);
    if (!ANYGP_FAILED(status)) status = write_figures(list, out, e);
    figures_free(list);
    return status;
}

static anygp_status check_ending(const char *out, anygp_error *e)
{
    if (!out || !strcmp(out, "-") || ends_in(out, ".svg") || ends_in(out, ".png")) return ANYGP_OK;
    return fail_with(e, ANYGP_ERR_ARGUMENT,
                     "%.200s: a picture is written as .svg or .png; name a file with one of these endings", out);
}

static anygp_status open_scene(const gp_set *m, const settings *s, const char *in, scene **c, anygp_error *e)
{
    int64_t target;
    TRY(chosen_target(m, s, &target, e));
    if (m->targets > 1 && !*settings_text(s, SET_TARGET))
        settings_log(s, ANYGP_NOTE, "the model has %lld targets; this is the first (--target NAME for another)",
                     (long long)m->targets);
    return report_target(m, target, s, in, c, e);
}

anygp_status plot_write(const gp_set *m, const settings *s, const char *in, const char *what, const char *out,
                        anygp_error *e)
{
    const picture *p;
    scene *c = NULL;
    TRY(find_picture(what, &p, e));
    TRY(check_ending(out, e));
    TRY(open_scene(m, s, in, &c, e));
    c_locale l = c_locale_enter();
    anygp_status status = draw_picture(c, p, out && strcmp(out, "-") ? out : NULL, e);
    c_locale_leave(l);
    scene_close(c);
    return status;
}

anygp_status plot_list(const gp_set *m, const settings *s, const char *in, char **text, anygp_error *e)
{
    scene *c = NULL;
    size_t size = 0;
    *text = NULL;
    TRY(open_scene(m, s, in, &c, e));
    FILE *f = open_memstream(text, &size);
    for (int64_t i = 0; f && i < picture_count(); i++)
        if (picture_at(i)->applies(c)) fprintf(f, "%-12s %s\n", picture_at(i)->name, picture_at(i)->help);
    bool ok = f && !fclose(f);
    scene_close(c);
    return ok ? ANYGP_OK : fail_memory(e, "the list of pictures", 0);
}
