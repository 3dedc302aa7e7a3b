/*
 * api/query.h - what the query of a route may hold beside the parameters of its operation: forms of the answer, and what has no field.
 *
 * REST takes these and no others, each once; the OpenAPI document is printed from them.
 */
#ifndef CARREL_API_QUERY_H
#define CARREL_API_QUERY_H

#include <stddef.h>

enum api_query_kind { API_QUERY_TEXT, API_QUERY_FLAG, API_QUERY_WORD };

struct api_query {
        const char *method, *route;
        const char *name;
        enum api_query_kind kind;
        const char *words[4];          /* API_QUERY_WORD: those it may be, ended by NULL */
        int is_required;
        const char *help;
};

/* The rows of this route in turn, `*at` starting at 0; NULL at the end. */
const struct api_query *api_query_next(const char *method, const char *route, size_t *at);

#endif
