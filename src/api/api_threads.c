/* Threads of a call of the C interface: set when it begins, as before when it ends. */
#include "api/handles.h"
#include "comm/comm.h"
#include "linalg/linalg.h"

int threads_begin(const settings *s)
{
    int asked = (int)settings_integer(s, SET_THREADS);
    return la_threads(asked > 0 ? asked : comm_world()->processors);
}

anygp_status threads_end(int former, anygp_status status)
{
    la_threads(former);
    return status;
}
