/*
 * cli/docs_api.h - the part of the manual that the table of operations knows.
 */
#ifndef CARREL_CLI_DOCS_API_H
#define CARREL_CLI_DOCS_API_H

#include "cli/sheet.h"

/* Prints every operation that has a route, with its fields. 0. */
int docs_api_print(struct sheet *sheet);

/* The same table as an OpenAPI document. 0, or 125 without memory. */
int docs_api_print_openapi(struct sheet *sheet);

#endif
