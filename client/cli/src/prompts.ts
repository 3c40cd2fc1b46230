// Questions to the person at the terminal. Without a terminal nothing is asked, and the command is refused.
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { CommandError } from './exit.ts';

export interface Prompts {
  /** Removing and spending: asks on a terminal, and needs --yes elsewhere. */
  confirm(what: string): Promise<void>;
  /** Reads a secret: hidden on a terminal, and from stdin elsewhere. */
  secret(what: string): Promise<string>;
}

const isTerminal = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

export const createPrompts = (settings: () => { readonly yes?: boolean }): Prompts => ({
  async confirm(what) {
    if (settings().yes) return;
    if (!isTerminal())
      throw new CommandError(`${what} Nothing was done. To do this without a terminal, pass --yes.`, 'not_confirmed');
    const answer = await ask(`${what} Continue? [y/N] `, process.stderr);
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('Nothing was done.', 'cancelled');
  },
  async secret(what) {
    if (!isTerminal()) return (await text(process.stdin)).replace(/\r?\n$/, '');
    process.stderr.write(`${what}: `);
    const typed = await ask('', new Writable({ write: (_chunk, _encoding, done) => done() }));
    process.stderr.write('\n');
    return typed;
  },
});

async function ask(question: string, output: NodeJS.WritableStream): Promise<string> {
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  const cancelled = new Promise<never>((_, fail) => {
    lines.once('SIGINT', () => fail(new CommandError('Nothing was done.', 'cancelled')));
    lines.once('close', () => fail(new CommandError('Nothing was done.', 'cancelled')));
  });
  try {
    return await Promise.race([lines.question(question), cancelled]);
  } finally {
    cancelled.catch(() => undefined);
    lines.close();
  }
}
