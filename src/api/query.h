/*
 * api/query.h - query parameters of a route that are not parameters of its operation, such as the
 * form of the answer.
 *
 * REST accepts these and no others, each at most once. The OpenAPI document is generated from them.
 */
#ifndef CARREL_API_QUERY_H
#define CARREL_API_QUERY_H

#include <stddef.h>

enum api_query_kind { API_QUERY_TEXT, API_QUERY_FLAG, API_QUERY_WORD };

struct api_query {
        const char *method, *route;
        const char *name;
        enum api_query_kind kind;
        const char *words[4]; /* API_QUERY_WORD: the allowed words, ended by NULL */
        int is_required;
        const char *help;
};

/* Returns the rows of this route one by one. `*at` starts at 0. NULL at the end. */
const struct api_query *api_query_next(const char *method, const char *route, size_t *at);

#endif
