/*
 * fuzz/image.c - any bytes as a layer, as an archive of files, or as a document of an image.
 *
 * The first byte chooses. Beyond not crashing: whatever an archive says, no name appears beside the
 * directory that it is unpacked into, and what lies there keeps its content.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/oci.h"
#include "image/unpack/archive.h"
#include "volume/erase.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define CANARY "canary"

static char name[] = "/tmp/carrel-fuzz-XXXXXX";
static int directory = -1;

static void
must(int holds)
{
        if (!holds)
                abort();
}

static void
remove_directory(void)
{
        (void)erase_all(directory, "tree");
        (void)unlinkat(directory, CANARY, 0);
        (void)rmdir(name);
}

static void
begin(void)
{
        int fd;

        if (directory >= 0)
                return;
        must(mkdtemp(name) != NULL);
        directory = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(directory >= 0 && atexit(remove_directory) == 0);
        fd = openat(directory, CANARY, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        must(fd >= 0 && write(fd, "alive", 5) == 5);
        (void)close(fd);
}

/* Only the tree and the canary are there. */
static void
look_around(void)
{
        int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *entries = fdopendir(copy);
        struct dirent *entry;
        struct stat st;

        must(entries != NULL);
        while ((entry = readdir(entries)))
                must(entry->d_name[0] == '.' || strcmp(entry->d_name, "tree") == 0 ||
                     strcmp(entry->d_name, CANARY) == 0);
        (void)closedir(entries);
        must(fstatat(directory, CANARY, &st, 0) == 0 && st.st_size == 5 && st.st_nlink == 1);
}

static void
no_step(void *ctx)
{
        (void)ctx;
}

static void
unpack(int source, bool is_layer)
{
        static const struct target_limits limits = { 200, 1 << 20, 0 };
        struct archive_result result;
        struct target target;
        int tree;

        must(mkdirat(directory, "tree", 0700) == 0);
        tree = openat(directory, "tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        must(tree >= 0);
        target_open(&target, tree, is_layer, &limits);
        if (archive_unpack(source, &target, no_step, NULL, &result) < 0)
                must(target.refusal.reason != NULL);
        target_close(&target);
        (void)close(tree);
        look_around();
        must(erase_all(directory, "tree") == 0);
}

static void
look(int source)
{
        static const struct target_limits limits = { 0, 0, 0 };
        struct archive_result result;
        struct target target;
        bool is_image;

        target_open(&target, directory, false, &limits);
        (void)archive_look(source, &target, &result, &is_image);
        must(lseek(source, 0, SEEK_SET) == 0);
        (void)archive_hash(source, &target, no_step, NULL, &result);
        target_close(&target);
}

static void
read_archive(const uint8_t *data, size_t len, unsigned how)
{
        int source = memfd_create("fuzz", MFD_CLOEXEC);

        must(source >= 0 && write(source, data, len) == (ssize_t)len);
        must(lseek(source, 0, SEEK_SET) == 0);
        if (how == 2)
                look(source);
        else
                unpack(source, how == 0);
        (void)close(source);
}

static void
read_document(const char *text, size_t len, unsigned how)
{
        static struct oci_choice choices[OCI_CHOICES_MAX];
        static struct oci_manifest manifest;
        static struct oci_config config;
        const struct oci_choice *chosen;
        struct arena arena;
        struct error e;
        size_t count;

        arena_init(&arena, 16 << 20);
        if (how == 3 && oci_read_index(&arena, text, len, choices, &count, &e) == 0)
                (void)oci_choose(choices, count, NULL, "amd64", &chosen, &e);
        if (how == 4 && oci_read_manifest(&arena, text, len, &manifest, &e) == 0)
                must(manifest.layer_count > 0 && manifest.layer_count <= OCI_LAYERS_MAX);
        if (how == 5 && oci_read_config(&arena, text, len, &config, &e) == 0)
                must(config.layer_count > 0 && config.layer_count <= OCI_LAYERS_MAX);
        if (how == 6)
                (void)oci_read_saved(&arena, text, len, NULL, &manifest, &e);
        arena_fini(&arena);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
        if (len == 0 || len > 1 << 16)
                return 0;
        begin();
        if (data[0] % 7 < 3)
                read_archive(data + 1, len - 1, data[0] % 7);
        else
                read_document((const char *)data + 1, len - 1, data[0] % 7);
        return 0;
}
