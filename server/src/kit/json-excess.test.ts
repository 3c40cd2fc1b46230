// Tests the limits on JSON text: the check without parsing must agree with a parser.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findJsonExcess } from './json-excess.ts';

/** Strings with quotes and backslashes anywhere, and with lengths around the long-string threshold. */
const text = fc
  .array(fc.constantFrom('"', '\\', 'x', 'é', ',[{', 'y'.repeat(40)), { maxLength: 30 })
  .map((parts) => parts.join(''));
const json = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, text, fc.integer(), tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 5 }),
  object: fc.dictionary(text, tie('value'), { maxKeys: 5 }),
})).value;

/** Once strings are removed, every comma and bracket separates or opens a value. */
const countValues = (source: string): number =>
  1 + (source.replace(/"(\\.|[^"\\])*"/gs, '').match(/[,[{]/g)?.length ?? 0);

it('counts the values of any JSON, whatever its strings contain', () => {
  fc.assert(
    fc.property(json, (value) => {
      const source = JSON.stringify(value);
      const count = countValues(source);
      expect(findJsonExcess(Buffer.from(source), count)).toBeUndefined();
      expect(findJsonExcess(Buffer.from(source), count - 1)?.problem).toBe(`must have at most ${count - 1} values`);
    }),
    { numRuns: 500 },
  );
});

it('ends where the JSON ends, if a string is not closed', () => {
  for (const source of ['"', '"\\', `"${'x'.repeat(100)}`, `"${'x'.repeat(100)}\\`, `"${'x'.repeat(100)}\\"`])
    expect(findJsonExcess(Buffer.from(source))).toBeUndefined();
});
