// Owns one request and its answer while it passes the pipeline.
import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Operation } from './operation.ts';

/** Who acted, as far as the request log is concerned. */
export interface Actor {
  readonly id: string | null;
  readonly workspaceId: string | null;
}

const acceptableId = /^[A-Za-z0-9_.:-]{1,128}$/;

export class Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly operation: Operation;
  readonly now: Date;
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly rawQuery: Readonly<Record<string, string | string[] | undefined>>;
  /** Set by the guard once it knows. */
  actor: Actor | undefined;
  /** Parts the guard could not do as promised (contract §0.9, X-Partial-Result). */
  readonly partial: string[] = [];

  constructor(request: FastifyRequest, reply: FastifyReply, operation: Operation, now: Date) {
    this.request = request;
    this.reply = reply;
    this.operation = operation;
    this.now = now;
    this.requestId = requestIdOf(request);
    this.params = request.params as Record<string, string>;
    this.rawQuery = request.query as Record<string, string | string[] | undefined>;
    request.exchange = this;
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value[0] : value;
  }

  /** The client's address: the socket's peer, or what a trusted proxy says of it. */
  get address(): string {
    return this.request.ip;
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Absent until an operation was matched. */
    exchange: Exchange | undefined;
  }
}

export function requestIdOf(request: FastifyRequest): string {
  const sent = request.headers['x-request-id'];
  return typeof sent === 'string' && acceptableId.test(sent) ? sent : randomUUID();
}
