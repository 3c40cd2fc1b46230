// Checks that every sentence of the specification is the name of one test in this folder, or says why it is not.
import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { specification } from './sentences.ts';

const folder = new URL('./', import.meta.url);
const isOwn = (file: string) => file.endsWith('.test.ts') && file !== 'sentences.test.ts';
const tested = readdirSync(folder).filter(isOwn).flatMap(listTests);

/** Lists a file's tests as `section > sentence`. */
function listTests(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(new URL(file, folder), 'utf8'), ts.ScriptTarget.Latest);
  const found: string[] = [];
  const visit = (node: ts.Node, section: string): void => {
    const call = ts.isCallExpression(node) && ts.isIdentifier(node.expression) ? node.expression.text : undefined;
    const name = ts.isCallExpression(node) ? node.arguments[0] : undefined;
    const text = name !== undefined && ts.isStringLiteral(name) ? name.text : undefined;
    if (call === 'it') found.push(`${section} > ${text}`);
    ts.forEachChild(node, (child) => visit(child, call === 'describe' && text !== undefined ? text : section));
  };
  visit(source, '');
  return found;
}

const sentences = specification.flatMap(({ name, sentences }) =>
  sentences.map((sentence) => (typeof sentence === 'string' ? { name, text: sentence } : { name, ...sentence })),
);
const nameOf = ({ name, text }: { name: string; text: string }) => `${name} > ${text}`;

describe('the sentences of the specification', () => {
  it('are each tested, or say why they are not', () => {
    const checked = sentences.filter((sentence) => !('unchecked' in sentence)).map(nameOf);
    expect(tested.toSorted()).toEqual(checked.toSorted());
  });

  it('are each listed once', () => {
    const names = sentences.map(nameOf);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  it('give a reason if they are not tested', () => {
    for (const sentence of sentences) if ('unchecked' in sentence) expect(sentence.unchecked).toMatch(/^[A-Z].*\.$/);
  });
});
