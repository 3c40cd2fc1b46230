// Reads HTTP bodies, sends responses, and simulates faults before and after a request is processed.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../faults.ts';
import { Refusal } from './pulls.ts';
import type { GitCall, State } from './state.ts';

/** `run` processes the request and returns a function that sends the response. */
export async function answerWithFault(
  state: State,
  fault: Fault | undefined,
  { call, repository }: { readonly call: GitCall; readonly repository: string },
  response: ServerResponse,
  run: () => Promise<() => unknown>,
): Promise<void> {
  const drop = () => {
    state.record({ event: 'dropped', call, repository });
    response.destroy();
  };
  if (fault?.fault === 'drop_before') return drop();
  if (fault?.fault === 'error_before') throw new Refusal(500, 'Server Error');
  if (fault?.fault === 'refuse') throw new Refusal(403, 'Refused on purpose');
  if (fault?.fault === 'delay') await sleep(fault.delay_ms ?? 1_000);
  let answer = await run();
  if (fault?.fault === 'duplicate') answer = await run();
  if (fault?.fault === 'drop_after') return drop();
  if (fault?.fault === 'error_after') throw new Refusal(500, 'Server Error');
  await answer();
}

export function sendJson(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
    .end(JSON.stringify(body));
}

export const sendText = (response: ServerResponse, status: number, text: string, headers: object = {}): void =>
  void response.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(text);

export async function readAll(parts: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const part of parts) chunks.push(part);
  return Buffer.concat(chunks);
}

export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new Refusal(413, 'Payload Too Large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
