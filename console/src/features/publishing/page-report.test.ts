// Tests what the console makes of the messages of a page in a preview.
import { describe, expect, it } from 'vitest';
import { addMessage, askToFix, nothingReported, type PageReport } from './page-report.ts';

const loaded = (revision: number) => ({ type: 'plinth.preview_loaded', revision, path: '/' });
const failed = (message: string, line: number | null = 41) => ({
  type: 'plinth.preview_error',
  revision: 9,
  message,
  source: '/app.js',
  line,
  column: 5,
});
const read = (...messages: readonly unknown[]): PageReport => messages.reduce(addMessage, nothingReported);

describe('the report of a page', () => {
  it('has the revision that the page itself names, and no other', () => {
    expect(read().revision).toBe(undefined);
    expect(read(loaded(9)).revision).toBe(9);
    expect(read(loaded(9), loaded(8)).revision).toBe(8);
  });

  it('lists each error once, and begins again with the next page', () => {
    const errors = [{ message: 'x is not defined', source: '/app.js', line: 41 }];
    expect(read(loaded(9), failed('x is not defined'), failed('x is not defined'))).toEqual({ revision: 9, errors });
    expect(read(loaded(9), failed('x is not defined'), loaded(10))).toEqual({ revision: 10, errors: [] });
  });

  it('lists at most twenty errors', () => {
    const many = Array.from({ length: 50 }, (_, index) => failed(`error ${index}`));
    expect(read(loaded(9), ...many).errors).toHaveLength(20);
  });

  it.each([[null], ['text'], [{ type: 'plinth.preview_loaded' }], [{ type: 'other', revision: 3 }]])(
    'ignores %j, which is no message of a preview',
    (message) => expect(read(loaded(9), message)).toEqual({ revision: 9, errors: [] }),
  );
});

it('the assistant is asked with the revision, the error and its place', () => {
  expect(askToFix(9, read(loaded(9), failed('x is not defined'), failed('no place', null)).errors)).toBe(
    'The preview of revision 9 shows an error. Please fix it.\n\nx is not defined, in /app.js:41\nno place, in /app.js',
  );
});
