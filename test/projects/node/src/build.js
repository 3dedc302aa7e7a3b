import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { render } from './render.js';

await mkdir('dist', { recursive: true });
const names = (await readdir('notes')).filter((name) => name.endsWith('.md')).sort();
for (const name of names) {
  await writeFile(`dist/${name.replace(/\.md$/, '.html')}`, render(await readFile(`notes/${name}`, 'utf8')));
}
console.log(`${names.length} pages`);
