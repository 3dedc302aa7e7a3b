/*
 * fuzz/replay.c - runs a fuzz target once over each of its seeds. Prints TAP.
 *
 * usage: seeds-NOUN FOLDER. Needs no fuzzing engine, so every build of the unit tests has it. A
 * target that finds something aborts, and the seed named on the last line is the one.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Gives the bytes of a file and their count; the caller frees them. NULL where it cannot be read.
 */
static uint8_t *
read_seed(const char *folder, const char *name, size_t *ret_len)
{
        char path[4096];
        uint8_t *data = NULL;
        FILE *f;
        long len;

        (void)snprintf(path, sizeof path, "%s/%s", folder, name);
        f = fopen(path, "rb");
        if (!f)
                return NULL;
        if (fseek(f, 0, SEEK_END) == 0 && (len = ftell(f)) >= 0 && fseek(f, 0, SEEK_SET) == 0) {
                data = malloc((size_t)len + 1);
                *ret_len = data ? fread(data, 1, (size_t)len, f) : 0;
                if (data && *ret_len != (size_t)len) {
                        free(data);
                        data = NULL;
                }
        }
        (void)fclose(f);
        return data;
}

int
main(int argc, char **argv)
{
        struct dirent **names;
        int count = argc == 2 ? scandir(argv[1], &names, NULL, alphasort) : -1, run = 0, is_bad = 0;

        for (int i = 0; i < count; i++) {
                size_t len = 0;
                uint8_t *data;

                if (names[i]->d_name[0] == '.')
                        continue;
                (void)printf("# %s\n", names[i]->d_name);
                (void)fflush(stdout);
                data = read_seed(argv[1], names[i]->d_name, &len);
                if (data)
                        (void)LLVMFuzzerTestOneInput(data, len);
                is_bad |= !data;
                run++;
                free(data);
        }
        (void)printf("%s - %d seeds\n1..1\n", run > 0 && !is_bad ? "ok" : "not ok", run);
        return run > 0 && !is_bad ? 0 : 1;
}
