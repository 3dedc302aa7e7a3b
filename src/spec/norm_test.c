/* spec/norm_test.c - the normal form, compared byte by byte. */
#include "spec/norm.h"

#include <string.h>

#include "base/unit.h"
#include "text/yaml.h"

static void
blocks_have_one_form(void **state)
{
        static const struct {
                const char *yaml, *norm;
        } cases[] = {
                { "{provider: local, config: {}}",
                  "{\"provider\":\"local\",\"config\":{},\"limits\":{\"timeout_ms\":30000,\"memory_"
                  "mb\":null,\"cpu_ms\":null},"
                  "\"env\":{\"auth\":{\"ref\":null,\"env\":[]},\"passthrough\":[]},\"network\":{"
                  "\"egress\":[]},\"mounts\":[],"
                  "\"lifecycle\":{\"pause\":null,\"destroy_on\":\"workspace-close\"},\"read_only\":"
                  "false,\"metadata\":{}}" },
                { "{id: '@a/b', version: 1.0.0, provider: mastra-modal, config: {app_name: a, "
                  "function_name: f},\n"
                  "limits: {memoryMb: 4}, env: {auth: {ref: ./SECRETS.md, state: {env: [K]}}, "
                  "passthrough: [A]},\n"
                  "network: {egress: ['*.X.test', 'y.test:22']}, readOnly: true, metadata: {acme: "
                  "{n: 1}},\n"
                  "mounts: [{source: workspace, at: /w/}, {source: {ref: '@a/b'}, at: /r, mode: "
                  "read-only},\n"
                  "{source: {file: ./s}, at: /f}, {source: {inline: {provider: local-fs, config: "
                  "{path: /x}}}, at: /i}],\n"
                  "lifecycle: {pause_after_idle_ms: 1500}}",
                  "{\"id\":\"@a/"
                  "b\",\"version\":\"1.0.0\",\"provider\":\"mastra-modal\",\"config\":{\"app_"
                  "name\":\"a\","
                  "\"function_name\":\"f\"},\"limits\":{\"timeout_ms\":30000,\"memory_mb\":4,\"cpu_"
                  "ms\":null},"
                  "\"env\":{\"auth\":{\"ref\":\"./"
                  "SECRETS.md\",\"env\":[\"K\"]},\"passthrough\":[\"A\"]},"
                  "\"network\":{\"egress\":[{\"host\":\"x.test\",\"wildcard\":true,\"ports\":[80,"
                  "443]},"
                  "{\"host\":\"y.test\",\"wildcard\":false,\"ports\":[22]}]},"
                  "\"mounts\":[{\"source\":{\"kind\":\"workspace\"},\"at\":\"/"
                  "w\",\"mode\":\"read-write\"},"
                  "{\"source\":{\"kind\":\"ref\",\"ref\":\"@a/b\"},\"at\":\"/"
                  "r\",\"mode\":\"read-only\"},"
                  "{\"source\":{\"kind\":\"file\",\"file\":\"./s\"},\"at\":\"/"
                  "f\",\"mode\":\"read-write\"},"
                  "{\"source\":{\"kind\":\"inline\",\"provider\":\"local-fs\",\"config\":{\"path\":"
                  "\"/x\"}},\"at\":\"/i\","
                  "\"mode\":\"read-write\"}],"
                  "\"lifecycle\":{\"pause\":{\"event\":\"idle-2\",\"idle_ms\":1500},\"destroy_on\":"
                  "null},"
                  "\"read_only\":true,\"metadata\":{\"acme\":{\"n\":1}}}" },
        };

        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct manifest m = { .kind = MANIFEST_BLOCK,
                                      .syntax = MANIFEST_YAML,
                                      .block_path = "" };
                struct findings findings;
                struct json_writer w;
                struct arena arena;
                struct spec *spec;
                struct error e;

                arena_init(&arena, 1 << 20);
                findings_init(&findings, &arena);
                if (yaml_read(&arena, cases[i].yaml, strlen(cases[i].yaml), 1,
                              &text_limits_manifest, &m.block, &e) < 0 ||
                    spec_read(&arena, &m, &spec, &findings, &e) < 0)
                        fail_msg("%s: %s", e.path, e.message);
                json_init(&w, false);
                spec_norm_write(&w, spec);
                assert_false(w.is_broken);
                assert_string_equal(w.text, cases[i].norm);
                json_fini(&w);
                arena_fini(&arena);
        }
}

int
main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(blocks_have_one_form) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
