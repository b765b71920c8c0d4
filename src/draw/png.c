/* A picture as PNG: its own SVG, drawn by librsvg.  The library is opened when it is needed: a program that never draws PNG does not
   carry it, and one that was built with it runs without.  Built without it (ANYGP_RSVG), there is no PNG. */
#include "draw/draw.h"

#ifndef ANYGP_RSVG

bool figures_png(FILE *to, const figures *f, const char **why)
{
    (void)to, (void)f;
    *why = "this build cannot draw PNG (it needs librsvg); write .svg instead";
    return false;
}

#else

#include <dlfcn.h>
#include <librsvg/rsvg.h>
#include <stdlib.h>

/* The functions that are used, with the types of their headers. */
typedef struct drawer {
    __typeof__(&rsvg_handle_new_from_data) open;
    __typeof__(&rsvg_handle_get_intrinsic_size_in_pixels) size;
    __typeof__(&rsvg_handle_render_document) render;
    __typeof__(&g_object_unref) release;
    __typeof__(&cairo_image_surface_create) surface;
    __typeof__(&cairo_create) create;
    __typeof__(&cairo_destroy) destroy;
    __typeof__(&cairo_surface_destroy) surface_destroy;
    __typeof__(&cairo_surface_write_to_png_stream) write;
} drawer;

/* A symbol of the library or of those it brings with it. */
static bool find(void *library, const char *name, void *to)
{
    void *symbol = dlsym(library, name);
    *(void **)to = symbol;
    return symbol != NULL;
}

static bool drawer_open(drawer *d)
{
    void *library = dlopen("librsvg-2.so.2", RTLD_NOW | RTLD_LOCAL);
    return library && find(library, "rsvg_handle_new_from_data", &d->open) &&
           find(library, "rsvg_handle_get_intrinsic_size_in_pixels", &d->size) &&
           find(library, "rsvg_handle_render_document", &d->render) && find(library, "g_object_unref", &d->release) &&
           find(library, "cairo_image_surface_create", &d->surface) && find(library, "cairo_create", &d->create) &&
           find(library, "cairo_destroy", &d->destroy) && find(library, "cairo_surface_destroy", &d->surface_destroy) &&
           find(library, "cairo_surface_write_to_png_stream", &d->write);
}

static cairo_status_t write_bytes(void *ctx, const unsigned char *bytes, unsigned size)
{
    return fwrite(bytes, 1, size, ctx) == size ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static bool draw(const drawer *d, RsvgHandle *svg, FILE *to)
{
    enum { SCALE = 2 };
    double width, height;
    if (!d->size(svg, &width, &height)) return false;
    cairo_surface_t *surface = d->surface(CAIRO_FORMAT_RGB24, (int)(SCALE * width), (int)(SCALE * height));
    cairo_t *cairo = d->create(surface);
    RsvgRectangle page = {0, 0, SCALE * width, SCALE * height};
    bool done = d->render(svg, cairo, &page, NULL) && d->write(surface, write_bytes, to) == CAIRO_STATUS_SUCCESS;
    d->destroy(cairo);
    d->surface_destroy(surface);
    return done;
}

bool figures_png(FILE *to, const figures *f, const char **why)
{
    drawer d;
    char *text = NULL;
    size_t size = 0;
    *why = "PNG needs the library librsvg-2.so.2 (Debian: librsvg2-2), which is not installed; write .svg instead";
    if (!drawer_open(&d)) return false;
    *why = "the picture could not be drawn as PNG; write .svg instead";
    FILE *memory = open_memstream(&text, &size);
    if (!memory) return false;
    figures_write(memory, f, false);
    bool done = fclose(memory) == 0;
    RsvgHandle *svg = done ? d.open((const guint8 *)text, size, NULL) : NULL;
    done = svg && draw(&d, svg, to);
    if (svg) d.release(svg);
    free(text);
    return done;
}

#endif
