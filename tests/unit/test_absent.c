/* What a library built without HDF5 or zlib says when it meets their files: the files that take their place, under other names. */
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "data/formats/format.h"
#include "data/formats/writer_format.h"

#define format_hdf5 format_hdf5_absent
#define writer_hdf5 writer_hdf5_absent
#define source_inflate source_inflate_absent
#define inflate_attach inflate_attach_absent
#define packer_begin packer_begin_absent
#define packer_put packer_put_absent
#define packer_end packer_end_absent
#define packer_free packer_free_absent
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "data/formats/hdf5_absent.c"
#include "data/formats/zlib_absent.c"

static void hdf5_files_are_recognised_and_refused_by_name(void **unused)
{
    (void)unused;
    anygp_error e;
    input *in;
    assert_int_equal(input_memory("\x89HDF\r\n\x1a\n", 8, "table.h5", &in, &e), ANYGP_OK);
    reader r = {.in = in};
    assert_true(format_hdf5_absent.sniff((const unsigned char *)"\x89HDF\r\n\x1a\n", 8));
    assert_int_equal(format_hdf5_absent.open(&r, NULL, &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "table.h5 is an HDF5 file and cannot be read: this anygp was built without HDF5"));
    input_close(in);
    char path[] = "out.h5";
    writer w = {.path = path};
    assert_int_equal(writer_hdf5_absent.begin(&w, NULL, &e), ANYGP_ERR_FILE);
    assert_non_null(strstr(e.text, "out.h5"));
}

static void compressed_files_are_refused_by_name(void **unused)
{
    (void)unused;
    anygp_error e;
    input *in, *packed;
    assert_int_equal(input_memory("\x1f\x8b", 2, "table.csv.gz", &packed, &e), ANYGP_OK);
    assert_int_equal(input_new("table.csv.gz", &in, &e), ANYGP_OK);
    assert_int_equal(inflate_attach_absent(in, packed, true, &e), ANYGP_ERR_DATA);
    assert_non_null(strstr(e.text, "table.csv.gz is compressed (gzip), and this anygp was built without zlib"));
    input_close(in);
    char path[] = "out.csv.gz";
    writer w = {.path = path};
    packer *p;
    assert_int_equal(packer_begin_absent(&w, &p, &e), ANYGP_ERR_ARGUMENT);
    assert_null(p);
    assert_non_null(strstr(e.text, "out.csv.gz cannot be written: this anygp was built without zlib"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hdf5_files_are_recognised_and_refused_by_name),
                                       cmocka_unit_test(compressed_files_are_refused_by_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
