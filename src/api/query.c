/*
 * api/query.c - the table of query parameters that are not fields of an operation.
 *
 * Room: api (deciding, pure). Touches: nothing.
 */
#include "api/query.h"

#include <string.h>

#define BASE64 API_QUERY_WORD, { "base64", "utf-8", "utf8" }, 0
#define FLAG API_QUERY_FLAG, { NULL }, 0
#define EXECS "/v1/sandboxes/{id}/execs"
#define FILES "/v1/sandboxes/{id}/files"

static const struct api_query rows[] = {
        { "POST", EXECS, "encoding", BASE64, "base64: output is written so." },
        { "POST", "/v1/sandboxes/{id}/code", "encoding", BASE64, "base64: output is written so." },
        { "GET", EXECS "/{exec}", "encoding", BASE64, "base64: what is bytes is written so." },
        { "GET", EXECS "/{exec}/output", "encoding", BASE64, "base64: output is written so." },
        { "GET", EXECS "/{exec}/output", "wait", FLAG, "true: answer when it has ended." },
        { "GET",
          EXECS "/{exec}/output",
          "stream",
          API_QUERY_WORD,
          { "stdout", "stderr" },
          0,
          "Which one an application/octet-stream holds (stdout)." },
        { "GET", EXECS "/{exec}/output", "follow", FLAG,
          "false: of an application/octet-stream what is there now, and no waiting for more." },
        { "POST", EXECS "/{exec}/stdin", "end", FLAG, "true: standard input ends after it." },
        { "PUT",
          FILES,
          "path",
          API_QUERY_TEXT,
          { NULL },
          1,
          "Path inside; a relative one begins at the working directory." },
        { "PUT", FILES, "mode", API_QUERY_TEXT, { NULL }, 0, "Permission bits: 0644, or 420." },
        { "GET", FILES "/list", "encoding", BASE64, "base64: names are written so." },
        { "GET", FILES "/stat", "encoding", BASE64, "base64: names are written so." },
        { "GET", "/v1/events", "encoding", BASE64, "base64: what is bytes is written so." },
};

const struct api_query *
api_query_next(const char *method, const char *route, size_t *at)
{
        while (*at < sizeof rows / sizeof *rows) {
                const struct api_query *row = &rows[(*at)++];

                if (strcmp(row->method, method) == 0 && strcmp(row->route, route) == 0)
                        return row;
        }
        return NULL;
}
