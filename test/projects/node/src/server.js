import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { render } from './render.js';

const port = Number(process.env.PORT ?? 3000);
createServer(async (request, response) => {
  try {
    const name = /^\/([a-z]+)\.html$/.exec(request.url)?.[1] ?? 'index';
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    response.end(render(await readFile(`notes/${name}.md`, 'utf8')));
  } catch {
    response.statusCode = 404;
    response.end('no such note\n');
  }
}).listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/`));
