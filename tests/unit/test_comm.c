#include "support.h"

#include "comm/comm.h"

static void one_process_sums_and_broadcasts_to_itself(void **state)
{
    (void)state;
    const comm *c = comm_self();
    anygp_error e;
    double x[3] = {1, 2.5, -3};
    assert_true(c->rank == 0 && c->size == 1);
    assert_int_equal(c->sum(c->ctx, 3, x, &e), ANYGP_OK);
    assert_int_equal(c->broadcast(c->ctx, 0, sizeof x, x, &e), ANYGP_OK);
    assert_int_equal(c->barrier(c->ctx, &e), ANYGP_OK);
    assert_true(x[0] == 1 && x[1] == 2.5 && x[2] == -3);
    c->abort(c->ctx, ANYGP_ERR_DATA);
    assert_int_equal(c->broadcast(c->ctx, 1, sizeof x, x, &e), ANYGP_ERR_INTERNAL);
}

static void a_process_started_alone_joins_nobody(void **state)
{
    (void)state;
    anygp_error e;
    assert_ptr_equal(comm_world(), comm_self());
    assert_int_equal(anygp_world_begin(NULL, NULL, &e), ANYGP_OK);
    assert_ptr_equal(comm_world(), comm_self());
    assert_true(anygp_world_rank() == 0 && anygp_world_size() == 1);
    anygp_world_abort(ANYGP_ERR_DATA);
    anygp_world_end();
    anygp_world_end();
    assert_ptr_equal(comm_world(), comm_self());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_process_sums_and_broadcasts_to_itself),
                                       cmocka_unit_test(a_process_started_alone_joins_nobody)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
