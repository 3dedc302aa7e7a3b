import assert from 'node:assert/strict';
import test from 'node:test';
import { render } from '../src/render.js';

test('the first heading is the title', () => assert.match(render('# Hello\n\ntext'), /<title>Hello<\/title>/));
test('a note without a heading has a title', () => assert.match(render('text'), /<title>Untitled<\/title>/));
test('Markdown becomes HTML', () => assert.match(render('*text*'), /<em>text<\/em>/));
