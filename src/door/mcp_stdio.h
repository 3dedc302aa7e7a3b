/*
 * door/mcp_stdio.h - `carrel-door mcp`: the Model Context Protocol over standard input and output, one message a line.
 */
#ifndef CARREL_DOOR_MCP_STDIO_H
#define CARREL_DOOR_MCP_STDIO_H

/*
 * argv[0] is "mcp". Descriptors are named by options: --keeper-fd N, a socket to the keeper; --manifest-fd N, a packed manifest. Gives the exit status: 0 at
 * the end of input, 125 or 126 with a line on stderr where it could not begin.
 */
int mcp_stdio_main(int argc, char **argv);

#endif
