/*
 * cli/docs_api.h - prints the part of the manual that comes from the table of operations.
 */
#ifndef CARREL_CLI_DOCS_API_H
#define CARREL_CLI_DOCS_API_H

#include "cli/sheet.h"

/* Prints every operation that has a route, with its fields. Returns 0. */
int docs_api_print(struct sheet *sheet);

/* Prints the same table as an OpenAPI document. Returns 0, or 125 if out of memory. */
int docs_api_print_openapi(struct sheet *sheet);

#endif
