// A request's last two steps: the response is checked against the operation's declaration, and then serialised and
// sent. The serialiser is compiled from the schema, so undeclared fields can't leak.
import { Readable } from 'node:stream';
import fastJsonStringify from 'fast-json-stringify';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import { type Answer, noNotes, toHeaders } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import { inlineRefs, toJsonSchema } from '../json-schema.ts';
import type { AnswerShape, Operation } from '../operation.ts';

export type Send = (exchange: Exchange, answer: Answer<unknown>, ignored: readonly string[]) => FastifyReply;

interface Writer {
  readonly type: string;
  check(body: unknown): void;
  write(body: unknown): unknown;
}

export function createSender(operation: Operation, strict: boolean): Send {
  const writers = new Map(
    Object.entries(operation.answers).map(([status, shape]) => [Number(status), createWriter(shape)]),
  );
  return (exchange, answer, ignored) => {
    const writer = writers.get(answer.status);
    if (writer === undefined) throw new Error(`${operation.name} answered ${answer.status}, which it does not declare`);
    if (strict && answer.media === undefined) writer.check(answer.body);
    const { reply } = exchange;
    reply
      .code(answer.status)
      .header('x-request-id', exchange.requestId)
      .type(answer.media ?? writer.type);
    addNoteHeaders(reply, exchange, answer, ignored);
    const body = answer.media === undefined ? writer.write(answer.body) : answer.body;
    // For HEAD, Fastify would read a stream to its end, which may take minutes, although nobody receives it.
    if (exchange.request.method === 'HEAD' && body instanceof Readable) body.destroy();
    return reply.send(body);
  };
}

function addNoteHeaders(
  reply: FastifyReply,
  exchange: Exchange,
  { notes }: Answer<unknown>,
  ignored: readonly string[],
): void {
  const { partial, warnings } = exchange;
  if (notes === noNotes && ignored.length === 0 && partial.length === 0 && warnings.length === 0) return;
  const all = {
    ...notes,
    ignored: [...ignored, ...(notes.ignored ?? [])],
    partial: [...partial, ...(notes.partial ?? [])],
    warnings: [...warnings, ...(notes.warnings ?? [])],
  };
  reply.headers(toHeaders(all));
}

function createWriter(shape: AnswerShape): Writer {
  if ('media' in shape) return { type: shape.media, check: () => {}, write: (body) => body };
  let stringify: Stringify | undefined;
  return {
    type: 'application/json; charset=utf-8',
    // The compiled serialiser coerces wrong values silently. This check finds them in tests.
    check: (body) => void shape.parse(body),
    write(body) {
      stringify ??= compile(shape);
      return stringify(body as object);
    },
  };
}

type Stringify = (body: object) => string;
const compiled = new WeakMap<z.ZodType, Stringify>();

/**
 * Compiles the serialiser on the first response, because compiling all of them would take most of the startup time, and
 * workers send no responses.
 */
function compile(shape: z.ZodType): Stringify {
  const known = compiled.get(shape);
  if (known !== undefined) return known;
  const stringify = fastJsonStringify(inlineRefs(toJsonSchema(shape, 'output')) as unknown as fastJsonStringify.Schema);
  compiled.set(shape, stringify);
  return stringify;
}
