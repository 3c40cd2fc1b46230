// Runs an operation after its request has been admitted and validated: its precheck, its handler, the follow-up
// after the commit, and replays with an Idempotency-Key (docs/api/conventions.md#idempotency).
import type { AnyDb } from '../../db/database.ts';
import { hold } from '../../process-time.ts';
import { Answer, type Notes, toHeaders } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import {
  type AnswerText,
  answerNotStored,
  hasStoredAnswer,
  type IdempotentRequest,
  idempotencyInProgress,
  maxStoredAnswerBytes,
  parseIdempotencyKey,
  replaceStoredAnswer,
  runOnce,
  type StoredAnswer,
} from '../idempotency.ts';
import type { Input } from './validate.ts';

/** Whether there is space to store an answer of `bytes` bytes in the caller's workspace. */
export type AnswerSpace = (db: AnyDb, workspaceId: string, bytes: number, now: Date) => Promise<boolean> | boolean;

export interface StorageSpace {
  /** Throws 402 if there is no space in the caller's workspace for `bytes` more bytes. Undefined if that is known. */
  readonly admit: (db: AnyDb, exchange: Exchange, bytes: number) => Promise<void> | undefined;
  readonly hasSpace: AnswerSpace;
}

export function runOperation(
  db: AnyDb,
  exchange: Exchange,
  input: Input,
  space: StorageSpace,
): Promise<Answer<unknown>> {
  const request = toIdempotentRequest(exchange, input);
  return request === undefined
    ? runPlain(db, exchange, input, space)
    : runIdempotent(db, exchange, input, request, space);
}

/** Refuses at the storage quota what would store more (`stores`). */
async function admitStored(db: AnyDb, exchange: Exchange, space: StorageSpace): Promise<void> {
  const { stores } = exchange.operation;
  if (typeof stores === 'number') await space.admit(db, exchange, stores + (exchange.rawBody?.length ?? 0));
}

/** An anonymous caller's key is ignored, because all anonymous callers would share it. */
const honoursKey = ({ operation, actor }: Exchange): boolean => Boolean(actor?.id && operation.idempotency);

export const hasHonouredKey = (exchange: Exchange): boolean =>
  honoursKey(exchange) && exchange.header('idempotency-key') !== undefined;

/** Undefined if there is no key, if it is ignored, or if the operation stores keys itself. */
function toIdempotentRequest(exchange: Exchange, input: Input): IdempotentRequest | undefined {
  const { operation, actor, now } = exchange;
  if (!actor?.id || !honoursKey(exchange)) return undefined;
  const key = parseIdempotencyKey(exchange.header('idempotency-key'), operation.idempotency === 'required');
  if (key === undefined || operation.keepsKeys) return undefined;
  const path = exchange.request.url.split('?')[0] ?? '';
  const scope = [actor.id, actor.workspaceId ?? '', actor.appIds, operation.method, path];
  return {
    scope,
    key,
    workspaceId: actor.workspaceId ?? null,
    request: [input.rawBody ?? null, exchange.rawQuery],
    now,
  };
}

async function runPlain(db: AnyDb, exchange: Exchange, input: Input, space: StorageSpace): Promise<Answer<unknown>> {
  const { access, operation } = exchange;
  await admitStored(db, exchange, space);
  const checked = await operation.precheck?.(toCall(db, access, exchange, input));
  return finish(db, exchange, await handle(db, access, exchange, input, checked));
}

async function runIdempotent(
  db: AnyDb,
  exchange: Exchange,
  input: Input,
  request: IdempotentRequest,
  space: StorageSpace,
): Promise<Answer<unknown>> {
  const { operation, access } = exchange;
  const { hasSpace } = space;
  // A repeated request gets its stored response even if the precheck would now fail.
  const isReplay = operation.precheck !== undefined && (await hasStoredAnswer(db, request));
  if (operation.precheck && !isReplay) await admitStored(db, exchange, space);
  const checked = isReplay ? undefined : await operation.precheck?.(toCall(db, access, exchange, input));
  const outcome = await runOnce(db, request, async (tx) => {
    if (isReplay) throw idempotencyInProgress(); // the stored response has just expired
    if (!operation.precheck) await admitStored(tx, exchange, space);
    const answer = await handle(tx, access, exchange, input, checked);
    return { result: answer, store: await chooseStored(tx, exchange, request, answer, hasSpace) };
  });
  if ('replayed' in outcome) return replay(db, access, exchange, input, outcome.replayed);
  const answer = await finish(db, exchange, outcome.result);
  if (answer !== outcome.result && !operation.resume)
    await replaceStoredAnswer(db, request, await chooseStored(db, exchange, request, answer, hasSpace));
  return answer;
}

/**
 * Returns the answer as it is stored, or what it takes to read a large one again, or nothing but the key: if a large
 * one can't be read again, or the workspace has no space left. The caller gets a warning.
 */
async function chooseStored(
  db: AnyDb,
  { operation, warnings }: Exchange,
  { workspaceId, now }: IdempotentRequest,
  { status, body, notes }: Answer<unknown>,
  hasSpace: AnswerSpace,
): Promise<AnswerText> {
  const headers = toStoredHeaders(notes);
  const whole = JSON.stringify(withoutSecrets(body, operation.secretFields));
  const is_reread = Buffer.byteLength(whole) > maxStoredAnswerBytes;
  const text = is_reread ? operation.reread && JSON.stringify(operation.reread.keep(body)) : whole;
  const bytes = Buffer.byteLength(text ?? '');
  const isKept = operation.resume || workspaceId === null || (await hasSpace(db, workspaceId, bytes, now));
  if (text !== undefined && bytes <= maxStoredAnswerBytes && isKept) return { status, text, headers, is_reread };
  if (!warnings.includes(notStored)) warnings.push(notStored);
  return { status, text: 'null', headers, is_reread: true };
}

const notStored = 'answer_not_stored';

/** Cookies are left out: they contain a credential. They are the only headers with several values. */
const toStoredHeaders = (notes: Notes): Record<string, string> =>
  Object.fromEntries(
    Object.entries(toHeaders(notes)).flatMap(([name, value]) =>
      typeof value === 'string' && name !== 'set-cookie' ? [[name, value]] : [],
    ),
  );

async function replay(
  db: AnyDb,
  access: unknown,
  exchange: Exchange,
  input: Input,
  { status, body, headers, is_reread }: StoredAnswer,
): Promise<Answer<unknown>> {
  const { operation, reply } = exchange;
  if (is_reread && body === null) throw answerNotStored();
  reply.headers({ 'idempotent-replayed': 'true' });
  if (is_reread && operation.reread !== undefined) {
    const answer = await operation.reread.answer(toCall(db, access, exchange, input), body);
    return new Answer(answer.body, joinNotes(toNotes(headers, []), answer.notes), status);
  }
  if (operation.resume !== undefined) {
    return finish(db, exchange, await operation.resume(toCall(db, access, exchange, input), body));
  }
  const warnings = hasWithheldSecret(body, operation.secretFields) ? ['secret_withheld'] : [];
  return new Answer(body, toNotes(headers, warnings), status);
}

/** Lists are separated again, because what this request adds to them is joined with them. */
function toNotes(stored: StoredAnswer['headers'], warnings: readonly string[]): Notes {
  const { 'x-warning': warning, 'x-partial-result': partial, 'x-ignored-fields': ignored, ...headers } = stored;
  return {
    headers,
    warnings: [...split(warning), ...warnings],
    partial: split(partial),
    ignored: split(ignored).map(decodeURIComponent),
  };
}

/** The notes of the first answer, and those of the records as they are now. */
const joinNotes = (stored: Notes, now: Notes): Notes => ({
  ...now,
  headers: { ...stored.headers, ...now.headers },
  warnings: [...(stored.warnings ?? []), ...(now.warnings ?? [])],
  partial: [...(stored.partial ?? []), ...(now.partial ?? [])],
  ignored: [...(stored.ignored ?? []), ...(now.ignored ?? [])],
});

const split = (list: string | undefined): string[] => list?.split(',') ?? [];

function toCall(db: AnyDb, access: unknown, exchange: Exchange, { query, body }: Input) {
  exchange.handlerStarted = true;
  const { params, request, now, countBytes = withoutBudget } = exchange;
  return { db, access, params, query, body, headers: request.headers, now, countBytes, held: exchange };
}

const withoutBudget = () => Promise.resolve(undefined);

async function handle(
  db: AnyDb,
  access: unknown,
  exchange: Exchange,
  input: Input,
  checked: unknown,
): Promise<Answer<unknown>> {
  const result = await hold(() => exchange.operation.handle(toCall(db, access, exchange, input), checked));
  return result instanceof Answer ? result : new Answer(result);
}

/** Runs the response's follow-up, if any. The change has already been committed, even if the follow-up fails. */
async function finish(db: AnyDb, exchange: Exchange, answer: Answer<unknown>): Promise<Answer<unknown>> {
  if (answer.finish === undefined) return answer;
  exchange.committed = true;
  exchange.releaseShare(); // a follow-up waits for the network and may take minutes
  return answer.finish(db);
}

/** Replaces secret fields, which are shown only once, with null at any depth. */
const withoutSecrets = (body: unknown, fields: readonly string[] = []): unknown =>
  fields.length === 0 ? body : JSON.parse(JSON.stringify(body, (key, value) => (fields.includes(key) ? null : value)));

const hasWithheldSecret = (body: unknown, fields: readonly string[] = []): boolean =>
  fields.some((field) => JSON.stringify(body).includes(`"${field}":null`));
