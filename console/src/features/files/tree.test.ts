// Tests that paths become a tree with folders first.
import { expect, it } from 'vitest';
import { buildTree } from './tree.ts';

it('puts folders before files, each by name', () => {
  expect(buildTree(['public/index.html', 'readme.md', 'functions/a/b.js', 'public/app.js'])).toEqual([
    {
      name: 'functions',
      path: 'functions',
      children: [{ name: 'a', path: 'functions/a', children: [{ name: 'b.js', path: 'functions/a/b.js' }] }],
    },
    {
      name: 'public',
      path: 'public',
      children: [
        { name: 'app.js', path: 'public/app.js' },
        { name: 'index.html', path: 'public/index.html' },
      ],
    },
    { name: 'readme.md', path: 'readme.md' },
  ]);
});
