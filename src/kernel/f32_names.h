/* What is defined in both types of numbers (real.h) has these names in float.  Included after kind.h, where `tile` is a member. */
#ifndef KERNEL_F32_NAMES_H
#define KERNEL_F32_NAMES_H

#define tile tile_f32
#define radial_profile radial_profile_f32
#define column_use column_use_f32
#define tile_work tile_work_f32
#define tile_place tile_place_f32
#define tile_add tile_add_f32
#define tile_multiply tile_multiply_f32
#define slice_pack slice_pack_f32
#define slice_clear slice_clear_f32
#define slice_unpack slice_unpack_f32
#define slice_sqdist slice_sqdist_f32
#define radial_tile radial_tile_f32
#define radial_reverse radial_reverse_f32
#define leaf_tile leaf_tile_f32
#define leaf_reverse leaf_reverse_f32
#define profile_rbf profile_rbf_f32
#define profile_matern12 profile_matern12_f32
#define profile_matern32 profile_matern32_f32
#define profile_matern52 profile_matern52_f32
#define profile_rq profile_rq_f32
#define profile_wendland0 profile_wendland0_f32
#define profile_wendland profile_wendland_f32
#define gram_walk_cross gram_walk_cross_f32
#define gram_walk_symmetric gram_walk_symmetric_f32
#define gram_walk_tile gram_walk_tile_f32
#define kernel_gram kernel_gram_f32
#define kernel_gram_sym kernel_gram_sym_f32
#define kernel_gram_reverse kernel_gram_reverse_f32
#define kernel_gram_sym_reverse kernel_gram_sym_reverse_f32

#endif
