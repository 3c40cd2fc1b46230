// Creates records in parts, each with a key of its own, and remembers how far it came: an import that was interrupted
// continues when it is started again, and creates nothing twice.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { isPlinthError, type PlinthApp } from '../../sdk/src/index.ts';
import { CommandError, exitCodes } from './exit.ts';
import type { RecordFields } from './record-files.ts';
import { readState, removeState, writeState } from './state.ts';
import { waitForLimit } from './waiting.ts';

interface ImportState {
  readonly key: string;
  /** The SHA-256 of the file, because other content would have other parts. */
  readonly file: string;
  readonly parts: number;
  readonly records: number;
  /** When the part after these was first sent. Keys are remembered for 24 hours. */
  readonly sentAt: string;
}

export interface ImportDeps {
  readonly app: PlinthApp;
  readonly app_id: string;
  readonly signal: AbortSignal;
  onContinue(records: number): void;
  onProgress(records: number): void;
}

const maxRecords = 500;
const maxBytes = 8 * 1024 * 1024;
/** An hour less than keys are remembered. */
const keyHours = 23;

export async function importRecords(
  { app, app_id, signal, onContinue, onProgress }: ImportDeps,
  entity_name: string,
  file: string,
  records: AsyncIterable<RecordFields>,
): Promise<number> {
  const digest = await hashFile(file);
  const name = `import-${createHash('sha256').update(`${app_id} ${entity_name} ${digest}`).digest('hex').slice(0, 24)}`;
  const now = () => new Date().toISOString();
  const earlier = await readState<ImportState>(name);
  let state = earlier ?? { key: crypto.randomUUID(), file: digest, parts: 0, records: 0, sentAt: now() };
  if (earlier !== undefined) {
    refuseOld(earlier);
    onContinue(earlier.records);
  }
  let part = 0;
  for await (const body of cutIntoParts(records)) {
    part += 1;
    if (part <= state.parts) continue;
    await writeState(name, state);
    const options = { idempotencyKey: `${state.key}.${part}`, signal };
    const { notes } = await app
      .createRecords({ entity_name, body }, options)
      .answer()
      .catch(async (error) => {
        // A part that was refused did not take effect, and the file has to be corrected: then it is another import.
        if (isPlinthError(error) && !error.outcomeUnknown && state.records === 0) await removeState(name);
        throw error;
      });
    state = { ...state, parts: part, records: state.records + body.length, sentAt: now() };
    onProgress(state.records);
    await waitForLimit(notes, signal);
  }
  await removeState(name);
  return state.records;
}

function refuseOld({ sentAt, records }: ImportState): void {
  if (Date.now() - Date.parse(sentAt) < keyHours * 3600_000) return;
  throw new CommandError(
    `An import of this file stopped after ${records} records, more than ${keyHours} hours ago, so nobody can tell whether the next ones were created. Count the records, remove those that are imported from the file, and import the rest.`,
    'import_too_old',
    exitCodes.outcomeUnknown,
  );
}

/** The parts depend on the records alone, so an import that is continued has the same ones. */
async function* cutIntoParts(records: AsyncIterable<RecordFields>): AsyncGenerator<RecordFields[]> {
  let part: RecordFields[] = [];
  let bytes = 0;
  for await (const record of records) {
    const size = Buffer.byteLength(JSON.stringify(record)) + 1;
    if (part.length === maxRecords || (part.length > 0 && bytes + size > maxBytes)) {
      yield part;
      [part, bytes] = [[], 0];
    }
    part.push(record);
    bytes += size;
  }
  if (part.length > 0) yield part;
}

async function hashFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return hash.digest('hex');
}
