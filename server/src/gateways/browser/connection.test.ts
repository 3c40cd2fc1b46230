// Tests reading messages from a browser, which arrive in parts of any size.
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { connect } from './connection.ts';

it('reads messages that arrive in parts, several at once, and cut between characters', async () => {
  const fromBrowser = new PassThrough();
  const connection = connect(new PassThrough(), fromBrowser);
  const methods: string[] = [];
  connection.onEvent(({ method }) => methods.push(method));
  const bytes = Buffer.from(['a', 'bü', 'c'].map((method) => `${JSON.stringify({ method })}\0`).join(''));
  for (const byte of bytes) fromBrowser.write(Buffer.from([byte]));
  fromBrowser.write(Buffer.concat([bytes, bytes.subarray(0, 5)]));
  fromBrowser.write(bytes.subarray(5));
  await expect.poll(() => methods).toEqual(['a', 'bü', 'c', 'a', 'bü', 'c', 'a', 'bü', 'c']);
});

it('reads a long message in time that grows with its length only', async () => {
  const fromBrowser = new PassThrough();
  const connection = connect(new PassThrough(), fromBrowser);
  const answer = connection.send('Page.captureScreenshot');
  const text = Buffer.from(`${JSON.stringify({ id: 1, result: 'x'.repeat(24 * 1024 * 1024) })}\0`);
  const startedAt = performance.now();
  const partBytes = 4 * 1024;
  for (let from = 0; from < text.length; from += partBytes) fromBrowser.write(text.subarray(from, from + partBytes));
  expect(await answer).toHaveLength(24 * 1024 * 1024);
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});
