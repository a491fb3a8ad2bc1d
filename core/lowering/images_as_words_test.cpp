#include <gtest/gtest.h>

#include "core/lowering/images_as_words.h"
#include "core/lowering/specialise_images.h"

namespace pumice::ir {
namespace {

TEST(images_as_words, stores_of_a_texel_become_one_store_of_its_word) {
    const Kernel k = parse(
        R"(kernel "k" math contract rank 1 (arg1: out {x: u32 @0, y: u32 @4}:8[1] storage 1 format rg8_uint levels 1) files [] {
  %0 = global_index 0 : i32
  %1 = constant 5 : u32
  %2 = bitcast %0 : u32
  store arg1[%0].x, %1 : u32
  store arg1[%0].y, %2 : u32
  return
}
)");
    ASSERT_EQ(verify(k), "");
    ASSERT_TRUE(has_images_as_words(k));
    const Kernel lowered = images_as_words(k);
    EXPECT_EQ(verify(lowered), "");
    EXPECT_EQ(print(lowered), R"(kernel "k" math contract rank 1 (arg1: out u32[1]) files [] {
  %0 = global_index 0 : i32
  %1 = constant 5 : u32
  %2 = bitcast %0 : u32
  %3 = constant 255 : u32
  %4 = and %2, %3 : u32
  %5 = constant 8 : u32
  %6 = shl %4, %5 : u32
  %7 = or %1, %6 : u32
  store arg1[%0], %7 : u32
  return
}
)");
}

TEST(images_as_words, channels_of_a_read_only_texel_share_the_load_of_their_word) {
    const Kernel k = parse(
        R"(kernel "k" math contract rank 1 (arg1: in {x: f32 @0, y: f32 @4, z: f32 @8, w: f32 @12}:16[1] storage 1 format rgba8_unorm levels 1, arg2: out f32[1]) files [] {
  %0 = global_index 0 : i32
  %1 = load arg1[%0].x : f32
  %2 = load arg1[%0].w : f32
  %3 = add %1, %2 : f32
  store arg2[%0], %3 : f32
  return
}
)");
    const std::string text = print(images_as_words(k));
    EXPECT_EQ(text.find("load arg1"), text.rfind("load arg1")) << text;
}

TEST(specialise_images, a_texture_of_one_level_has_no_index_for_it) {
    const Kernel k = parse(R"(kernel "k" math contract rank 1 (arg1: in f32[2] texture 1, arg2: out f32[1]) files [] {
  %0 = global_index 0 : i32
  %1 = constant 0 : i32
  %2 = load arg1[%1, %0] : f32
  %3 = extent arg1, 1 : i32
  %4 = cast %3 : f32
  %5 = add %2, %4 : f32
  store arg2[%0], %5 : f32
  return
}
)");
    ASSERT_TRUE(has_unresolved_images(k));
    std::vector<ImageInfo> images(2);
    images[0] = k.memories[0].image;
    images[0].resolved = true;
    const Kernel resolved = specialise_images(k, images, false);
    EXPECT_EQ(verify(resolved), "");
    EXPECT_NE(print(resolved).find("load arg1[%0] : f32"), std::string::npos) << print(resolved);
    EXPECT_NE(print(resolved).find("constant 1 : i32"), std::string::npos) << print(resolved);
    images[0].levels = 4;
    EXPECT_NE(print(specialise_images(k, images, false)).find("load arg1[%1, %0] : f32"), std::string::npos);
}

TEST(specialise_images, a_fast_texture_is_sampled_by_a_device_that_has_it) {
    const Kernel k = parse(R"(kernel "k" math contract rank 1 (arg1: in f32[2] texture 1, arg2: out f32[1]) files [] {
  %0 = global_index 0 : i32
  %1 = cast %0 : f32
  %2 = sample arg1[%1, %1] : f32
  store arg2[%0], %2 : f32
  return
}
)");
    std::vector<ImageInfo> images(2);
    images[0] = k.memories[0].image;
    images[0].resolved = images[0].native = true;
    images[0].sampling = Sampling::fast;
    EXPECT_NE(print(specialise_images(k, images, true)).find("sample"), std::string::npos);
    EXPECT_EQ(print(specialise_images(k, images, false)).find("sample"), std::string::npos);
    images[0].native = false;
    EXPECT_EQ(print(specialise_images(k, images, true)).find("sample"), std::string::npos);
}

}  // namespace
}  // namespace pumice::ir
