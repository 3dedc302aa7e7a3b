/*
 * door/mcp_stdio.h - `carrel-door mcp`: the Model Context Protocol over standard input and output.
 * Each line is one message.
 */
#ifndef CARREL_DOOR_MCP_STDIO_H
#define CARREL_DOOR_MCP_STDIO_H

/*
 * argv[0] is "mcp". Options name the descriptors: --keeper-fd N, a socket to the keeper;
 * --manifest-fd N, a packed manifest. Returns the exit status: 0 at the end of input; 125 or 126
 * with a line on stderr if it could not start.
 */
int mcp_stdio_main(int argc, char **argv);

#endif
