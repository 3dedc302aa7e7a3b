/*
 * base/sanitized.h - IS_SANITIZED: 1 in a build with a sanitizer, else 0.
 *
 * A sanitizer reserves more memory than any limit, and makes system calls of its own.
 */
#ifndef CARREL_BASE_SANITIZED_H
#define CARREL_BASE_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
        __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

#endif
