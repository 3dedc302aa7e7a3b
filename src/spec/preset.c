/*
 * spec/preset.c - named lists of hosts in network.egress.
 *
 * Room: spec (deciding, pure). Touches: nothing.
 * Theory: a preset is only a shorthand: its hosts are judged, planned and printed as if they were
 * written out. A host is in a list only if the tool's default configuration contacts it.
 */
#include "spec/preset.h"

#include <stdio.h>
#include <string.h>

#include "text/nearest.h"

static const struct egress_preset presets[] = {
        { "@npm",
          { "registry.npmjs.org", "registry.yarnpkg.com" },
          "npm, pnpm, yarn: packages. Packages can be published there too." },
        { "@pypi", { "pypi.org", "files.pythonhosted.org" }, "pip, uv, Poetry: packages." },
        { "@crates", { "index.crates.io", "static.crates.io", "crates.io" }, "cargo: packages." },
        { "@go", { "proxy.golang.org", "sum.golang.org" }, "go: modules and their checksums." },
        { "@maven",
          { "repo.maven.apache.org", "repo1.maven.org" },
          "Maven, Gradle: Maven Central." },
        { "@debian", { "deb.debian.org", "security.debian.org" }, "apt: packages of Debian." },
        { "@github",
          { "github.com", "api.github.com", "codeload.github.com", "raw.githubusercontent.com",
            "objects.githubusercontent.com", "release-assets.githubusercontent.com" },
          "git over HTTPS, releases and the API of GitHub. Anybody can store data there." },
};

const struct egress_preset *
egress_preset_at(size_t index)
{
        return index < sizeof presets / sizeof *presets ? &presets[index] : NULL;
}

bool
egress_preset_is(const char *text)
{
        return text[0] == '@';
}

int
egress_preset_find(const char *text, const struct egress_preset **ret, struct error *e)
{
        struct nearest n = nearest_begin(text);
        char list[256] = "";

        for (size_t i = 0; egress_preset_at(i); i++) {
                size_t used = strlen(list);

                if (strcmp(presets[i].name, text) == 0) {
                        *ret = &presets[i];
                        return 0;
                }
                (void)nearest_try(&n, presets[i].name, presets[i].name);
                (void)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "",
                               presets[i].name);
        }
        (void)fail_at(e, ERROR_EGRESS_INVALID, NULL, "preset", "there is no preset of this name");
        error_hint(e, "%s%s%sThe presets are %s.", n.found ? "Did you mean " : "",
                   n.found ? n.found : "", n.found ? "? " : "", list);
        return -1;
}
