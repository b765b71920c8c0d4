/* Answers, and what GET is answered with: the page, the model. */
#include <stdlib.h>
#include <string.h>

#include "serve_request.h"

enum MHD_Result send_text(request *r, int code, const char *type, const char *text, size_t size,
                          enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *a = MHD_create_response_from_buffer(size, (void *)text, mode);
    if (!a) return MHD_NO;
    MHD_add_response_header(a, "Content-Type", type);
    if (code != 200 || !r->working) { /* predictions are numbers, and answers to POST are not kept */
        MHD_add_response_header(a, "X-Content-Type-Options", "nosniff");
        MHD_add_response_header(a, "Cache-Control", "no-store");
    }
    if (code == 401) MHD_add_response_header(a, "WWW-Authenticate", "Bearer");
    if (code == 413 || code == 503) MHD_add_response_header(a, "Connection", "close");
    enum MHD_Result result = MHD_queue_response(r->c, (unsigned)code, a);
    MHD_destroy_response(a);
    if (code >= 500) r->s->counts->failed++;
    if (code >= 400 && code < 500) r->s->counts->refused++;
    return result;
}

enum MHD_Result send_error(request *r, int code, const char *sentence)
{
    char text[700];
    FILE *f = fmemopen(text, sizeof text, "w");
    if (!f) return MHD_NO;
    fputs("{\"error\": ", f);
    print_json_text(f, sentence);
    fputs("}\n", f);
    long n = ftell(f);
    fclose(f);
    return send_text(r, code, "application/json", text, (size_t)n, MHD_RESPMEM_MUST_COPY);
}

/* -------------------------------------------------------------------------------------------- paths */

static enum MHD_Result send_info(request *r)
{
    served *m = shelf_take(r->s->shelf);
    enum MHD_Result result = send_text(r, 200, "application/json", m->info, strlen(m->info), MHD_RESPMEM_MUST_COPY);
    shelf_return(r->s->shelf, m);
    return result;
}

/* The inputs of the model, for the page. */
static enum MHD_Result send_inputs(request *r)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) return MHD_NO;
    served *m = shelf_take(r->s->shelf);
    fputs("[", f);
    for (int64_t i = 0; i < m->inputs; i++) {
        double centre, spread;
        anygp_input_scale(m->model, i, &centre, &spread);
        fputs(i ? ", {\"name\": " : "{\"name\": ", f);
        print_json_text(f, anygp_input_name(m->model, i));
        fprintf(f, ", \"centre\": %.17g, \"spread\": %.17g, \"categories\": [", centre, spread);
        for (int64_t k = 0; k < anygp_input_categories(m->model, i); k++) {
            if (k) fputs(", ", f);
            print_json_text(f, anygp_input_category(m->model, i, k));
        }
        fputs("]}", f);
    }
    fputs("]\n", f);
    shelf_return(r->s->shelf, m);
    fclose(f);
    return send_text(r, 200, "application/json", text, size, MHD_RESPMEM_MUST_FREE);
}

enum MHD_Result send_path(request *r, const char *path)
{
    if (!strcmp(path, "/health")) return send_text(r, 200, "text/plain", "ok\n", 3, MHD_RESPMEM_PERSISTENT);
    if (!strcmp(path, "/info")) return send_info(r);
    if (!strcmp(path, "/inputs")) return send_inputs(r);
    if (!strcmp(path, "/metrics")) return send_metrics(r);
    if (!strcmp(path, "/"))
        return send_text(r, 200, "text/html; charset=utf-8", serve_page, strlen(serve_page), MHD_RESPMEM_PERSISTENT);
    if (!strcmp(path, "/predict") || !strcmp(path, "/update")) return send_error(r, 405, "use POST here");
    return send_error(r, 404, "there is nothing here; the paths are /, /predict, /update, /info, /metrics and /health");
}
