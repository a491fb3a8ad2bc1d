// Contents of an array or image that a program uses: what is kept before it is overwritten, and put back later.
#pragma once
#include "autodiff/api/shadow_arrays.h"

namespace pumice::derive {

/// An array, or all of an image: its memory, and what lies there.
class Contents {
public:
    explicit Contents(std::shared_ptr<detail::ArrayState> array) : array(std::move(array)) {}
    explicit Contents(std::shared_ptr<detail::ImageState> image) : image(std::move(image)) {}

    const std::shared_ptr<Allocation>& memory() const { return image ? image->allocation() : array->memory; }
    int64_t bytes() const { return image ? image->allocation()->bytes : array->bytes; }
    /// New memory of the same size. Throws Error where there is none.
    Contents room() const {
        if (image) return Contents(detail::new_image(image->device, image->shape, image->is_native()));
        return Contents(allocate_like(*array, array->bytes, false));
    }
    void copy_to(const Contents& to) const { image ? detail::copy_image(*image, *to.image) : detail::copy(*array, *to.array); }

private:
    std::shared_ptr<detail::ArrayState> array;
    std::shared_ptr<detail::ImageState> image;
};

}  // namespace pumice::derive
