/*
 * cli/docs_api.h - prints the parts of the manual that come from the tables of operations
 * and events.
 */
#ifndef CARREL_CLI_DOCS_API_H
#define CARREL_CLI_DOCS_API_H

#include "cli/doc_table.h"

/* Prints every operation that has a route, with its fields. Returns 0. */
int docs_api_print(struct doc_table *sheet);

/* Prints every event of a sandbox. Returns 0. */
int docs_api_print_events(struct doc_table *sheet);

/* Prints the operations as an OpenAPI document. Returns 0, or 125 if out of memory. */
int docs_api_print_openapi(struct doc_table *sheet);

#endif
