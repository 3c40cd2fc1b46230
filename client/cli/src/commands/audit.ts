// `plinthctl audit verify`: proves that the audit log is whole, and that it still contains what was noted earlier.
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type NotedEntry, verifyAuditChain } from '../../../sdk/src/audit.ts';
import type { AuditEntry } from '../../../sdk/src/index.ts';
import type { Cli, Define } from '../cli.ts';
import { CommandError, exitCodes } from '../exit.ts';
import { configFolder, readJson, writeJson } from '../files.ts';
import { parseJson } from '../values.ts';

interface VerifyOptions {
  readonly pin?: boolean;
  readonly all?: boolean;
  readonly file?: string;
}

type Pins = Readonly<Record<string, NotedEntry & { readonly at: string }>>;

export const define: Define = (command, cli) => {
  command
    .command('verify')
    .description('Check the chain of the audit log, without trusting the server')
    .option('--pin', 'note the last entry: later checks prove that the log still contains it')
    .option('--all', 'check from the first entry on, and not only from the noted one')
    .option('--file <file>', 'check an export that you have, instead of the log of the server; - for stdin')
    .action((options: VerifyOptions) => (options.file === undefined ? verify(cli, options) : verifyFile(cli, options)));
};

const file = () => join(configFolder(), 'audit-pins.json');

async function verify(cli: Cli, { pin, all }: VerifyOptions): Promise<void> {
  const { plinth, url } = await cli.connect();
  const { id } = await plinth.getWorkspace();
  const pins = (await readJson<Pins>(file())) ?? {};
  const place = `${url} ${id}`;
  const noted = pins[place];
  const from = all || noted === undefined ? 1 : noted.sequence;
  const bar = cli.output.progress('Checking');
  const watched = watch(plinth.exportAuditLog({ from_sequence: from }, { signal: cli.signal }), bar.set, noted);
  const { entries, last } = await requireWhole(watched).finally(bar.end);
  if (pin && last !== undefined)
    await writeJson(file(), { ...pins, [place]: { ...last, at: new Date().toISOString() } });
  const result = {
    whole: true,
    from_sequence: from,
    entries,
    last: last ?? null,
    noted: noted ?? null,
    pinned: pin === true,
  };
  await cli.output.show(result, () =>
    [
      `Whole: ${entries} entries from number ${from} on, last hash ${last?.hash ?? 'none'}.`,
      ...(noted === undefined ? [] : [`It still contains entry ${noted.sequence}, which was noted on ${noted.at}.`]),
      ...(noted === undefined && !pin
        ? ['Nothing was noted before. With --pin, later checks prove that nothing up to now was changed.']
        : []),
      ...(pin && last !== undefined ? [`Noted entry ${last.sequence}.`] : []),
    ].join('\n'),
  );
}

async function requireWhole(entries: AsyncIterable<AuditEntry>) {
  const verdict = await verifyAuditChain(entries);
  if (verdict.whole) return verdict;
  throw new CommandError(
    `The audit log is not whole: at entry ${verdict.brokenAt}, ${verdict.reason}.`,
    'audit_log_broken',
    exitCodes.refused,
  );
}

async function verifyFile(cli: Cli, { file = '-', pin }: VerifyOptions): Promise<void> {
  if (pin) throw new CommandError('Only the log of the server can be pinned, not a file.');
  const { entries, last } = await requireWhole(readExport(file));
  const result = { whole: true, entries, last: last ?? null };
  await cli.output.show(result, () => `Whole: ${entries} entries, last hash ${last?.hash ?? 'none'}.`);
}

async function* readExport(file: string): AsyncGenerator<AuditEntry> {
  let number = 0;
  for await (const line of await openLines(file)) {
    number += 1;
    const entry = parseJson(line, `Line ${number}`);
    if (typeof entry !== 'object' || entry === null)
      throw new CommandError(`Line ${number} must be an entry of the audit log.`, 'file_invalid');
    yield entry as AuditEntry;
  }
  // An export that failed must not pass for one that is whole.
  if (number === 0) throw new CommandError('There is no entry, so this proves nothing.', 'file_invalid');
}

async function openLines(file: string): Promise<AsyncIterable<string>> {
  if (file === '-') return createInterface({ input: process.stdin });
  const opened = await open(file).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${file} can't be read (${error.code}).`, 'file_unreadable');
  });
  return opened.readLines();
}

/** Passes entries on, and looks for the noted one among them. */
async function* watch(
  entries: AsyncIterable<AuditEntry>,
  onEntry: (count: number) => void,
  noted: NotedEntry | undefined,
): AsyncGenerator<AuditEntry> {
  let count = 0;
  let isFound = noted === undefined;
  for await (const entry of entries) {
    count += 1;
    onEntry(count);
    if (entry.sequence === noted?.sequence) {
      isFound = true;
      if (entry.hash !== noted.hash) refuseNoted(noted);
    }
    yield entry;
  }
  if (!isFound && noted !== undefined) refuseNoted(noted);
}

function refuseNoted({ sequence }: NotedEntry): never {
  throw new CommandError(
    `The audit log is not whole: entry ${sequence}, which was noted earlier, is missing or was changed.`,
    'audit_log_broken',
    exitCodes.refused,
  );
}
