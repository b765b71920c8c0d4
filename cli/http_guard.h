/* Who may not ask a server on loopback that has no token: pages of other sites that a browser on this machine has open.  They could
   reach it under a name of their own for this machine, or with requests that they send blindly. */
#ifndef HTTP_GUARD_H
#define HTTP_GUARD_H

#include <microhttpd.h>
#include <stdbool.h>

bool http_is_foreign(struct MHD_Connection *c);

#endif
