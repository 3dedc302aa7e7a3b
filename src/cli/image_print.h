/*
 * cli/image_print.h - prints the images of a store, for people or as JSON.
 */
#ifndef CARREL_CLI_IMAGE_PRINT_H
#define CARREL_CLI_IMAGE_PRINT_H

#include <stdbool.h>

#include "image/collect.h"
#include "image/import.h"
#include "image/record.h"

/* Each returns the exit status. */
int image_print_imported(const struct image_imported *i, bool is_json);
/* One image, whole; `name` is how it was asked for. */
int image_print(const char *name, const struct image_record *r, bool is_json);
int image_print_disk(const char *name, bool is_new, bool is_json);
/* bytes 0: those of the image were removed. */
int image_print_machine(const char *name, uint64_t bytes, bool is_json);
int image_print_collected(const struct image_collected *c, bool is_json);

/* A name and its image, as a list shows it. */
struct image_row {
        char name[IMAGE_NAME_MAX + 1];
        struct digest id;
        uint64_t bytes, imported_ms;
        size_t layers;
};
int image_print_list(const struct image_row *rows, size_t count, bool is_json, bool is_quiet);

#endif
