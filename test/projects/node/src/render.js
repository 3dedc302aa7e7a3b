import { marked } from 'marked';

/** The page of a note: its first heading is the title. */
export function render(markdown) {
  const title = /^#\s+(.+)$/m.exec(markdown)?.[1] ?? 'Untitled';
  return `<!doctype html>\n<title>${title}</title>\n${marked.parse(markdown)}`;
}
