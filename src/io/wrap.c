#include "io/wrap.h"

#include <stdbool.h>
#include <string.h>

static bool is_continued(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
} /* further bytes of a character in UTF-8 */

/* Where a line of n bytes that begins in `column` is to be broken: how many bytes stay, of which blanks at the end are dropped. */
static size_t break_at(const char *line, size_t n, int column, int indent, int width)
{
    size_t part = 0, blank = 0, comma = 0, first = 0;
    while (column == 0 && first < n && line[first] == ' ') first++; /* a break within the indentation is none */
    for (size_t i = 0; i < n; i++) {
        if (!is_continued(line[i]) && ++column > width) return part ? part : blank ? blank : comma;
        if (line[i] == ' ' && i > first && column > indent + 1) blank = i + 1;
        if (blank == i + 1 && i > 0 && line[i - 1] == ';') part = i + 1;
        if (line[i] == ',' && i + 1 < n && column < width) comma = i + 1;
    }
    return n;
}

static void wrap_line(const char *line, size_t n, int width, int indent, FILE *out)
{
    int column = 0;
    for (;;) {
        size_t stays = break_at(line, n, column, indent, width);
        if (stays == 0) stays = n;
        size_t shown = stays;
        while (shown > 0 && stays < n && line[shown - 1] == ' ') shown--;
        fwrite(line, 1, shown, out);
        line += stays, n -= stays;
        if (n == 0) break;
        fprintf(out, "\n%*s", indent, "");
        column = indent;
    }
}

void wrap_lines(const char *text, int width, int indent, FILE *out)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        wrap_line(text, n, width, indent, out);
        text += n;
        if (*text) fputc(*text++, out);
    }
}
