/* Threads of a call of the C interface: set when it begins, as before when it ends. */
#include "api/handles.h"
#include "base/threads.h"
#include "comm/comm.h"
#include "linalg/linalg.h"

int threads_begin(const settings *s)
{
    int asked = (int)settings_integer(s, SET_THREADS), wished = threads_wished(), share = comm_world()->processors;
    if (asked > 1 && !threads_built())
        settings_log(s, ANYGP_WARNING,
                     "threads = %d has no effect: this anygp was built without OpenMP and uses one thread", asked);
    if (wished > 0 && (share == 0 || wished < share)) share = wished;
    return la_threads(asked > 0 ? asked : share);
}

anygp_status threads_end(int former, anygp_status status)
{
    la_threads(former);
    return status;
}
