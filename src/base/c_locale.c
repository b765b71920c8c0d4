/* Numbers are printed and read with a decimal point in any locale of the program. */
#define _GNU_SOURCE
#include "base/c_locale.h"

c_locale c_locale_enter(void)
{
    c_locale l = {.own = newlocale(LC_ALL_MASK, "C", (locale_t)0)}; /* all of it: glibc then allocates nothing */
    if (l.own) l.former = uselocale(l.own);
    return l;
}

void c_locale_leave(c_locale l)
{
    if (!l.own) return;
    uselocale(l.former);
    freelocale(l.own);
}
